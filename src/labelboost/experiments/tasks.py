"""One task: train on all folds but one, evaluate on that one."""

from __future__ import annotations

import os
import platform
import time
import traceback
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

from labelboost import RuleBoostingClassifier
from labelboost._core import instruction_set
from labelboost.data import Dataset, load_dataset, load_digits_display, make_multilabel
from labelboost.data.dataset import stored_well
from labelboost.experiments.measures import Predictions, compute_measures
from labelboost.experiments.memory import PeakMemory
from labelboost.experiments.records import Checkpoint, Failure, Result, Seconds

EMBEDDED = ("digits", "synthetic")


@dataclass(frozen=True, slots=True)
class Source:
    """Where data comes from: a file, or the package itself."""

    name: str
    path: Path | None
    labels: str | int | tuple[str, ...] | None = None
    """Which columns of the file are labels, as `load_dataset` understands it."""

    def load(self) -> Dataset:
        """Read or generate the data; repeated calls within a process are cheap."""
        return _load(self)


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """What to train and how to evaluate it. Travels between processes."""

    source: Source
    variant: str
    fold: int
    n_folds: int
    seed: int
    settings: Mapping[str, Any]
    checkpoints: tuple[int, ...]
    measures: tuple[str, ...]

    @property
    def name(self) -> str:
        """Short name for people."""
        return f"{self.source.name}, {self.variant}, fold {self.fold}"

    def identity(self) -> dict[str, Any]:
        """What a stored result must agree in to count as the result of this task."""
        return {
            "data": self.source.name,
            "variant": self.variant,
            "fold": self.fold,
            "n_folds": self.n_folds,
            "seed": self.seed,
            "settings": dict(self.settings),
        }


@lru_cache(maxsize=1)
def _load(source: Source) -> Dataset:
    if source.path is not None:
        labels = source.labels
        return load_dataset(source.path, list(labels) if isinstance(labels, tuple) else labels)
    if source.name == "digits":
        return load_digits_display()
    return make_multilabel(2000, 50, 30, random_state=1)


def run_task(task: Task) -> Result:
    """Train and evaluate."""
    data = task.source.load()
    X = stored_well(data.X)
    folds = KFold(task.n_folds, shuffle=True, random_state=task.seed)
    train, test = list(folds.split(data.Y))[task.fold]
    X_train, X_test, Y_train = X[train], X[test], data.Y[train]
    model = RuleBoostingClassifier(
        **task.settings, categorical_features=data.nominal_indices or None, profile=True, n_jobs=1
    )
    memory = PeakMemory()
    start, start_cpu = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        # Fewer rules than asked for are a result like any other: their number is stored.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X_train, Y_train)
    train_seconds = time.perf_counter() - start
    train_cpu = time.process_time() - start_cpu
    peak = memory.used_mb()
    start = time.perf_counter()
    model.predict(X_test)
    predict_seconds = time.perf_counter() - start
    profile = model.training_profile_
    evaluating, summing = profile["candidate_evaluation"], profile["summing_statistics"]
    return Result(
        **task.identity(),
        n_train=len(train),
        n_test=len(test),
        n_features=data.n_features,
        n_labels=data.n_labels,
        n_rules=model.n_rules_,
        n_conditions=sum(len(rule.conditions) for rule in model.rules_),
        seconds=Seconds(
            train=_rounded(train_seconds),
            train_cpu=_rounded(train_cpu),
            predict=_rounded(predict_seconds),
            candidate_evaluation=_rounded(evaluating),
            summing_statistics=_rounded(summing),
            everything_else=_rounded(train_seconds - evaluating - summing),
        ),
        peak_memory_mb=_rounded(peak),
        checkpoints=_evaluate(model, X_test, data.Y[test], task),
        versions=_versions(),
        machine=_machine(),
        finished=_now(),
    )


def run_safely(task: Task) -> Result | Failure:
    """Train and evaluate; an error becomes a record of it."""
    try:
        return run_task(task)
    except Exception as error:  # whatever goes wrong in one task must not end the others
        return failure(task, f"{type(error).__name__}: {error}", traceback.format_exc())


def failure(task: Task, error: str, details: str = "") -> Failure:
    """Make the record of a task that went wrong."""
    return Failure(task.source.name, task.variant, task.fold, error, details, _now())


def _evaluate(
    model: RuleBoostingClassifier, X: Any, truth: Any, task: Task
) -> tuple[Checkpoint, ...]:
    """Evaluate the first rules at each checkpoint in one pass over them, and all of them."""
    stages = [*(n for n in task.checkpoints if n < model.n_rules_), model.n_rules_]
    predictions = zip(
        model.staged_predict(X, stages),
        model.staged_decision_function(X, stages),
        model.staged_predict_proba(X, stages),
        strict=True,
    )
    checkpoints = []
    for n_rules, (label_sets, scores, probabilities) in zip(stages, predictions, strict=True):
        values = compute_measures(
            task.measures, Predictions(truth, label_sets, scores, probabilities)
        )
        checkpoints.append(
            Checkpoint(
                n_rules=n_rules,
                train_seconds=_rounded(float(model.training_times_[n_rules - 1])),
                measures={name: _rounded(value) for name, value in values.items()},
            )
        )
    return tuple(checkpoints)


def _rounded(value: float) -> float:
    """Six significant digits are more than any of these numbers deserves."""
    return float(f"{value:.6g}")


def _versions() -> dict[str, str]:
    names = ("labelboost", "numpy", "scipy", "scikit-learn")
    return {"python": platform.python_version(), **{name: _version(name) for name in names}}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


def _machine() -> dict[str, str]:
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "system": platform.system(),
        "instruction_set": instruction_set(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.partition(":")[2].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
