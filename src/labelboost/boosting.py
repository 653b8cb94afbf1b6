"""The training loop: one rule after the other, with progress and patience."""

from __future__ import annotations

import time
import warnings
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from sklearn.exceptions import ConvergenceWarning

from labelboost._core import Booster
from labelboost.model import OPERATORS, Condition, Rule

FAILURES_BEFORE_GIVING_UP = 10
SECONDS_BETWEEN_REPORTS = 0.1

RawRule = tuple[list[int], list[int], list[float], NDArray[np.float64], int]
"""What the core returns: features, operators and values of the conditions, head, coverage."""


class ProgressReport(Protocol):
    """Is told, now and then, how far training has come."""

    def __call__(self, n_rules: int, loss: float) -> None: ...


def boost(
    booster: Booster, n_rules: int, *, randomised: bool, report: ProgressReport | None
) -> tuple[list[Rule], list[float]]:
    """Learn up to `n_rules` rules, the default rule included; and note when each was finished.

    An attempt fails when no condition on the drawn features improves the rule; another draw may
    well succeed, so training ends early only after several failures in a row.
    """
    rules = [_rule_from_core(booster.add_default_rule())]
    times = [time.perf_counter()]
    patience = FAILURES_BEFORE_GIVING_UP if randomised else 1
    failures = 0
    attempt = 0
    next_report = _tell(report, booster, rules)
    while len(rules) < n_rules and failures < patience:
        learned = booster.learn_rule(attempt)
        attempt += 1
        if learned is None:
            failures += 1
            continue
        failures = 0
        rules.append(_rule_from_core(learned))
        times.append(time.perf_counter())
        if report and time.monotonic() > next_report:
            next_report = _tell(report, booster, rules)
    _tell(report, booster, rules)
    if len(rules) < n_rules:
        draws = f"{failures} draws in a row" if randomised else "the whole training set"
        warnings.warn(
            f"Training ended with {len(rules)} of {n_rules} rules: no condition found on {draws} "
            f"improves the training loss any further.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return rules, times


def _tell(report: ProgressReport | None, booster: Booster, rules: list[Rule]) -> float:
    """Report the state, if anybody listens; return when to do so again."""
    start = time.monotonic()
    if report:
        report(len(rules), booster.mean_loss())
    # The loss of millions of examples takes its time: reporting must not become the main work.
    now = time.monotonic()
    return now + max(SECONDS_BETWEEN_REPORTS, 20.0 * (now - start))


def progress_bar(verbose: int, n_rules: int) -> AbstractContextManager[ProgressReport | None]:
    """Return a live display for terminals, or nothing."""
    if verbose < 1:
        return nullcontext()
    console = Console(stderr=True)
    # Rich takes anything for a terminal when variables such as FORCE_COLOR are set.
    if not (console.is_terminal and console.file.isatty()):
        return nullcontext()
    return _Bar(console, n_rules)


class _Bar:
    def __init__(self, console: Console, n_rules: int) -> None:
        self._progress = Progress(
            TextColumn("boosting"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("rules, {task.fields[rate]}/s, loss {task.fields[loss]},"),
            TimeRemainingColumn(),
            TextColumn("left"),
            console=console,
        )
        self._task = self._progress.add_task("", total=n_rules, rate="-", loss="-")
        self._start = time.monotonic()

    def __enter__(self) -> ProgressReport:
        self._progress.start()
        return self._report

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def _report(self, n_rules: int, loss: float) -> None:
        rate = n_rules / max(time.monotonic() - self._start, 1e-9)
        shown = f"{rate:.0f}" if rate >= 10 else f"{rate:.2g}"
        self._progress.update(self._task, completed=n_rules, rate=shown, loss=f"{loss:.4f}")


def _rule_from_core(raw: RawRule) -> Rule:
    features, operators, values, head, coverage = raw
    head.setflags(write=False)
    names = [OPERATORS[operator] for operator in operators]
    return Rule(tuple(map(Condition, features, names, values)), head, coverage)
