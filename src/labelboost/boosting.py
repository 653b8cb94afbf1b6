"""The training loop: one rule or tree after the other, with progress and patience."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from itertools import count
from typing import Any, Protocol, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from sklearn.exceptions import ConvergenceWarning

from labelboost._core import Booster
from labelboost.model import RULE_MAKER
from labelboost.training.boosted import Boosted
from labelboost.training.control import NOTHING_BETTER, SIZE, Control

__all__ = ["Boosted", "ProgressReport", "boost", "progress_bar"]

FAILURES_BEFORE_GIVING_UP = 10
SECONDS_BETWEEN_REPORTS = 0.1

Learned = TypeVar("Learned")
"""A rule, or a tree."""


class ProgressReport(Protocol):
    """Is told, now and then, how far training has come."""

    def __call__(self, n_learned: int, loss: float) -> None: ...


def boost(
    booster: Booster,
    learn: Callable[[int], Learned | None],
    size: int,
    *,
    unit: str,
    default_counts: bool,
    randomised: bool,
    report: ProgressReport | None,
    control: Control[Learned] | None = None,
    start: Boosted[Learned] | None = None,
    began: float | None = None,
) -> Boosted[Learned]:
    """Learn the default rule and then rules or trees, as `unit` calls them, up to `size` of them.

    `default_counts`: whether the default rule is one of those. `start`: what the booster has been
    brought to by `replay`, if training goes on from there. `began`: when, on the clock of
    `time.perf_counter`, training began, if that was before this call.

    An attempt fails when no condition on the drawn features improves the model; another draw may
    well succeed, so training ends early only after several failures in a row.
    """
    began = time.perf_counter() if began is None else began
    control = control or Control()
    if start is None:
        default = booster.add_default_rule(RULE_MAKER)
        start = Boosted(default, [], [time.perf_counter() - began], [], default_counts)
    boosted = start
    attempts = count(boosted.next_attempt)
    patience = FAILURES_BEFORE_GIVING_UP if randomised else 1
    failures = 0
    next_report = _tell(report, booster, boosted)
    with control.rescuing(boosted):
        reason = control.begin(booster, boosted)
        watched, missing = control.watches, size - len(boosted)
        # Rules of small data take microseconds, so there is no call here that is not needed.
        while missing > 0 and reason is None and failures < patience:
            attempt = next(attempts)
            learned = learn(attempt)
            if learned is None:
                failures += 1
                continue
            failures = 0
            missing -= 1
            boosted.append(learned, attempt, time.perf_counter() - began)
            if watched:
                reason = control.after_step(booster, boosted)
            if report and time.monotonic() > next_report:
                next_report = _tell(report, booster, boosted)
        _tell(report, booster, boosted)
        if reason is None and len(boosted) < size:
            reason = NOTHING_BETTER
            draws = f"{failures} draws in a row" if randomised else "the whole training set"
            warnings.warn(
                f"Training ended with {len(boosted)} of {size} {unit}: no condition found on "
                f"{draws} improves the training loss any further.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return replace(control.finish(boosted), stop_reason=reason or SIZE)


def _tell(report: ProgressReport | None, booster: Booster, boosted: Boosted[Any]) -> float:
    """Report the state, if anybody listens; return when to do so again."""
    start = time.monotonic()
    if report:
        report(len(boosted), booster.mean_loss())
    # The loss of millions of examples takes its time: reporting must not become the main work.
    now = time.monotonic()
    return now + max(SECONDS_BETWEEN_REPORTS, 20.0 * (now - start))


def progress_bar(
    verbose: int, size: int, unit: str, already: int = 0
) -> AbstractContextManager[ProgressReport | None]:
    """Return a live display for terminals, or nothing. `already`: how many there are by then."""
    if verbose < 1:
        return nullcontext()
    console = Console(stderr=True)
    # Rich takes anything for a terminal when variables such as FORCE_COLOR are set.
    if not (console.is_terminal and console.file.isatty()):
        return nullcontext()
    return _Bar(console, size, unit, already)


class _Bar:
    def __init__(self, console: Console, size: int, unit: str, already: int = 0) -> None:
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
        self._already = already

    def __enter__(self) -> ProgressReport:
        self._progress.start()
        return self._report

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def _report(self, n_learned: int, loss: float) -> None:
        rate = (n_learned - self._already) / max(time.monotonic() - self._start, 1e-9)
        shown = f"{rate:.0f}" if rate >= 10 else f"{rate:.2g}"
        self._progress.update(self._task, completed=n_learned, rate=shown, loss=f"{loss:.4f}")
