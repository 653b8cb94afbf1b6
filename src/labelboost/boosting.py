"""The training loop: one rule or tree after the other, with progress and patience."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from sklearn.exceptions import ConvergenceWarning

from labelboost._core import Booster
from labelboost.model import OPERATORS, Condition, Rule

FAILURES_BEFORE_GIVING_UP = 10
SECONDS_BETWEEN_REPORTS = 0.1

RawRule = tuple[list[int], list[int], list[float], NDArray[np.float64], int, float]
"""What the core returns: features, operators and values of the conditions, head, coverage, gain."""


Learned = TypeVar("Learned")
"""A rule, or a tree."""


class ProgressReport(Protocol):
    """Is told, now and then, how far training has come."""

    def __call__(self, n_learned: int, loss: float) -> None: ...


@dataclass(frozen=True, slots=True)
class Boosted(Generic[Learned]):
    """What training has come to."""

    default: Rule
    learned: list[Learned]
    times: list[float]
    """When the default rule and each of the others was finished."""
    default_counts: bool

    def __len__(self) -> int:
        return len(self.learned) + self.default_counts


def boost(
    booster: Booster,
    learn: Callable[[int], Learned | None],
    size: int,
    *,
    unit: str,
    default_counts: bool,
    randomised: bool,
    report: ProgressReport | None,
) -> Boosted[Learned]:
    """Learn the default rule and then rules or trees, as `unit` calls them, up to `size` of them.

    `default_counts`: whether the default rule is one of those.

    An attempt fails when no condition on the drawn features improves the model; another draw may
    well succeed, so training ends early only after several failures in a row.
    """
    default = rule_from_core(booster.add_default_rule())
    boosted: Boosted[Learned] = Boosted(default, [], [], default_counts)
    boosted.times.append(time.perf_counter())
    patience = FAILURES_BEFORE_GIVING_UP if randomised else 1
    failures = 0
    attempt = 0
    next_report = _tell(report, booster, boosted)
    while len(boosted) < size and failures < patience:
        learned = learn(attempt)
        attempt += 1
        if learned is None:
            failures += 1
            continue
        failures = 0
        boosted.learned.append(learned)
        boosted.times.append(time.perf_counter())
        if report and time.monotonic() > next_report:
            next_report = _tell(report, booster, boosted)
    _tell(report, booster, boosted)
    if len(boosted) < size:
        draws = f"{failures} draws in a row" if randomised else "the whole training set"
        warnings.warn(
            f"Training ended with {len(boosted)} of {size} {unit}: no condition found on "
            f"{draws} improves the training loss any further.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return boosted


def _tell(report: ProgressReport | None, booster: Booster, boosted: Boosted[Any]) -> float:
    """Report the state, if anybody listens; return when to do so again."""
    start = time.monotonic()
    if report:
        report(len(boosted), booster.mean_loss())
    # The loss of millions of examples takes its time: reporting must not become the main work.
    now = time.monotonic()
    return now + max(SECONDS_BETWEEN_REPORTS, 20.0 * (now - start))


def progress_bar(
    verbose: int, size: int, unit: str
) -> AbstractContextManager[ProgressReport | None]:
    """Return a live display for terminals, or nothing."""
    if verbose < 1:
        return nullcontext()
    console = Console(stderr=True)
    # Rich takes anything for a terminal when variables such as FORCE_COLOR are set.
    if not (console.is_terminal and console.file.isatty()):
        return nullcontext()
    return _Bar(console, size, unit)


class _Bar:
    def __init__(self, console: Console, size: int, unit: str) -> None:
        self._progress = Progress(
            TextColumn("boosting"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn(unit + ", {task.fields[rate]}/s, loss {task.fields[loss]},"),
            TimeRemainingColumn(),
            TextColumn("left"),
            console=console,
        )
        self._task = self._progress.add_task("", total=size, rate="-", loss="-")
        self._start = time.monotonic()

    def __enter__(self) -> ProgressReport:
        self._progress.start()
        return self._report

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def _report(self, n_learned: int, loss: float) -> None:
        rate = n_learned / max(time.monotonic() - self._start, 1e-9)
        shown = f"{rate:.0f}" if rate >= 10 else f"{rate:.2g}"
        self._progress.update(self._task, completed=n_learned, rate=shown, loss=f"{loss:.4f}")


def rule_from_core(raw: RawRule) -> Rule:
    """Make a rule of what the core returns."""
    features, operators, values, head, coverage, gain = raw
    head.setflags(write=False)
    names = [OPERATORS[operator] for operator in operators]
    return Rule(tuple(map(Condition, features, names, values)), head, coverage, gain)
