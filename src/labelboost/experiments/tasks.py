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
from threadpoolctl import threadpool_limits

from labelboost._core import instruction_set
from labelboost.data import Dataset, load_dataset, load_digits_display, make_multilabel
from labelboost.data.dataset import stored_well
from labelboost.experiments.limits import NO_LIMITS, Limits, lift_memory_limit
from labelboost.experiments.measures import Predictions, compute_measures
from labelboost.experiments.memory import PeakMemory
from labelboost.experiments.methods import METHODS, OURS, RULES
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
    estimator: str = RULES
    limits: Limits = NO_LIMITS

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
            "estimator": self.estimator,
        }

    def attempt(self) -> dict[str, Any]:
        """What a failure must agree in to fail again: a limit that was reached then."""
        return {**self.identity(), **self.limits.as_dict()}


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
    model = METHODS[task.estimator].make(task.settings, data.nominal_indices)
    memory = PeakMemory()
    start, start_cpu = time.perf_counter(), time.process_time()
    with warnings.catch_warnings(), threadpool_limits(1):
        # Fewer rules than asked for are a result like any other: their number is stored. So is a
        # linear model that has not converged after the default number of iterations.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X_train, Y_train)
        train_seconds = time.perf_counter() - start
        train_cpu = time.process_time() - start_cpu
        peak = memory.used_mb()
        start = time.perf_counter()
        model.predict(X_test)
        predict_seconds = time.perf_counter() - start
        evaluate = _evaluate_stages if task.estimator in OURS else _evaluate_whole
        checkpoints = evaluate(model, X_test, data.Y[test], task, train_seconds)
    profile = getattr(model, "training_profile_", {})
    evaluating = profile.get("candidate_evaluation", 0.0)
    summing = profile.get("summing_statistics", 0.0)
    return Result(
        **task.identity(),
        n_train=len(train),
        n_test=len(test),
        n_features=data.n_features,
        n_labels=data.n_labels,
        n_rules=checkpoints[-1].n_rules,
        n_conditions=sum(len(rule.conditions) for rule in getattr(model, "rules_", ())),
        seconds=Seconds(
            train=_rounded(train_seconds),
            train_cpu=_rounded(train_cpu),
            predict=_rounded(predict_seconds),
            candidate_evaluation=_rounded(evaluating),
            summing_statistics=_rounded(summing),
            everything_else=_rounded(train_seconds - evaluating - summing),
        ),
        peak_memory_mb=_rounded(peak),
        checkpoints=checkpoints,
        versions=_versions(METHODS[task.estimator].packages),
        machine=_machine(),
        finished=_now(),
    )


def run_safely(task: Task) -> Result | Failure:
    """Train and evaluate; an error becomes a record of it."""
    try:
        return run_task(task)
    except Exception as error:  # whatever goes wrong in one task must not end the others
        lift_memory_limit()
        text = f"{type(error).__name__}: {error}"
        exceeded = ""
        if task.limits.exceeded_by(error):
            text = f"more than {task.limits.memory_mb} MB of memory, the limit: {text}"
            exceeded = "memory"
        return failure(task, text, traceback.format_exc(), exceeded)


def failure(task: Task, error: str, details: str = "", exceeded: str = "") -> Failure:
    """Make the record of a task that went wrong."""
    return Failure(
        data=task.source.name,
        variant=task.variant,
        fold=task.fold,
        error=error,
        traceback=details,
        finished=_now(),
        exceeded=exceeded,
        attempted=task.attempt(),
    )


def _evaluate_stages(
    model: Any, X: Any, truth: Any, task: Task, seconds: float
) -> tuple[Checkpoint, ...]:
    """Evaluate the first rules at each checkpoint in one pass over them, and all of them."""
    size = getattr(model, f"{OURS[task.estimator].size}_")
    times = model.training_times_[-size:]  # a default rule that does not count comes first
    stages = [*(n for n in task.checkpoints if n < size), size]
    predictions = zip(
        model.staged_predict(X, stages),
        model.staged_decision_function(X, stages),
        model.staged_predict_proba(X, stages),
        strict=True,
    )
    checkpoints = []
    for n_rules, (label_sets, scores, probabilities) in zip(stages, predictions, strict=True):
        # Scores of the softmax over label sets leave out how frequent the sets are.
        ranking = probabilities if task.settings["loss"] == "labelset_softmax" else scores
        found = (label_sets, ranking, probabilities)
        checkpoints.append(_checkpoint(n_rules, float(times[n_rules - 1]), truth, found, task))
    return tuple(checkpoints)


def _evaluate_whole(
    model: Any, X: Any, truth: Any, task: Task, seconds: float
) -> tuple[Checkpoint, ...]:
    """Evaluate a model that has no stages; it ranks labels by their probabilities."""
    probabilities = model.predict_proba(X)
    found = (model.predict(X), probabilities, probabilities)
    return (_checkpoint(0, seconds, truth, found, task),)


def _checkpoint(
    n_rules: int, seconds: float, truth: Any, found: tuple[Any, Any, Any], task: Task
) -> Checkpoint:
    values = compute_measures(task.measures, Predictions(truth, *found))
    return Checkpoint(
        n_rules=n_rules,
        train_seconds=_rounded(seconds),
        measures={name: _rounded(value) for name, value in values.items()},
    )


def _rounded(value: float) -> float:
    """Six significant digits are more than any of these numbers deserves."""
    return float(f"{value:.6g}")


def _versions(others: tuple[str, ...]) -> dict[str, str]:
    names = dict.fromkeys(("labelboost", "numpy", "scipy", "scikit-learn", *others))
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
