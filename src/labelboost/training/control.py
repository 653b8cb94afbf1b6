"""What looks after the training loop: after each rule or tree it may say that this is the end."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from labelboost._core import Booster
from labelboost.model import Rule
from labelboost.training.boosted import Boosted
from labelboost.training.callbacks import Callback, TrainingState, wants_to_stop
from labelboost.training.early_stopping import History
from labelboost.training.validation import Validation

Learned = TypeVar("Learned")

CALLBACK, EARLY, TIME = "callback", "early_stopping", "time_limit"
SIZE, NOTHING_BETTER = "size", "no_improvement"
STOP_REASONS = (SIZE, NOTHING_BETTER, EARLY, TIME, CALLBACK)
"""Enough was learned; nothing was found that improves the training loss; and the controls."""
MOST_TIME_FOR_SAVING = 1 / 20
"""Of the training time, where checkpoints are due by the clock."""


class Store(Protocol):
    """Where checkpoints are kept."""

    def save(self, boosted: Boosted[Any]) -> None: ...
    def remove(self) -> None: ...


@dataclass(slots=True)
class Checkpoints:
    """When to save what has been learned."""

    store: Store
    every: int | None
    """Rules or trees."""
    seconds: float | None
    saved: int = 0
    """How many had been learned when they were last saved."""
    due: float = 0.0
    """When the clock says so again."""

    def begin(self, boosted: Boosted[Any]) -> None:
        """Start from what has been saved or learned elsewhere."""
        self.saved = len(boosted.learned)
        self.due = time.monotonic() + (self.seconds or 0.0)

    def consider(self, boosted: Boosted[Any]) -> None:
        """Save if it is time."""
        by_number = self.every is not None and len(boosted.learned) - self.saved >= self.every
        by_clock = self.seconds is not None and time.monotonic() >= self.due
        if by_number or by_clock:
            self.save(boosted)

    def save(self, boosted: Boosted[Any]) -> None:
        """Save now, unless nothing is new."""
        if len(boosted.learned) == self.saved:
            return
        start = time.monotonic()
        self.store.save(boosted)
        self.saved = len(boosted.learned)
        end = time.monotonic()
        self.due = end + max(self.seconds or 0.0, (end - start) / MOST_TIME_FOR_SAVING)


@dataclass(slots=True)
class Control(Generic[Learned]):
    """Validation, callbacks, time limit and checkpoints. Without any of them it does nothing."""

    validation: Validation | None = None
    history: History | None = None
    """Must be there if `validation` is."""
    evaluate_every: int = 1
    callbacks: Sequence[Callback] = ()
    deadline: float | None = None
    """On the clock of `time.perf_counter`."""
    checkpoints: Checkpoints | None = None
    inherited: int = 0
    """How many of the learned ones come from a former model: these are kept in any case."""

    @property
    def watches(self) -> bool:
        """Whether there is anything to do after each step."""
        watchers = self.validation or self.callbacks or self.checkpoints
        return bool(watchers) or self.deadline is not None

    def begin(self, booster: Booster, boosted: Boosted[Learned]) -> str | None:
        """Catch up with what was there from the start: the default rule, or much more."""
        if self.checkpoints:
            self.checkpoints.begin(boosted)
        if self.validation and self._catch_up(self.validation, boosted):
            return EARLY
        if not boosted.learned:
            return self._verdict(booster, boosted, boosted.default)
        return self._time_is_up()

    def after_step(self, booster: Booster, boosted: Boosted[Learned]) -> str | None:
        """Look at what has just been learned; return why training should end, if it should."""
        newest = boosted.learned[-1]
        if self.validation:
            self.validation.add(newest)
            self._evaluate(len(boosted))
        reason = self._verdict(booster, boosted, newest)
        if self.checkpoints and reason is None:
            self.checkpoints.consider(boosted)
        return reason

    def finish(self, boosted: Boosted[Learned]) -> Boosted[Learned]:
        """Return what is kept: all of it, or the best size."""
        if self.history is None or self.validation is None:
            return boosted
        if self.history.sizes[-1] < len(boosted) and not self.history.is_exhausted():
            self._evaluate(len(boosted), always=True)
        best = self.history.best_size
        return boosted if best is None else boosted.first(best)

    def end(self) -> None:
        """Clean up: the result of training is where it belongs."""
        if self.checkpoints:
            self.checkpoints.store.remove()

    @contextmanager
    def rescuing(self, boosted: Boosted[Learned]) -> Iterator[None]:
        """Save what has been learned if an exception, such as that of Ctrl-C, ends training."""
        try:
            yield
        except BaseException as error:
            if self.checkpoints:
                try:
                    self.checkpoints.save(boosted)
                except (OSError, ValueError) as fault:
                    error.add_note(f"No checkpoint could be written: {fault}")
            raise

    def _catch_up(self, validation: Validation, boosted: Boosted[Learned]) -> bool:
        """Evaluate as if all had just been learned; tell whether training would have ended."""
        validation.begin(boosted.default)
        for n in range(len(boosted.learned) + 1):
            if n > 0:
                validation.add(boosted.learned[n - 1])
            if n >= self.inherited:
                self._evaluate(boosted.size_of(n), always=n == self.inherited)
                if self.history and self.history.is_exhausted():
                    return True
        return False

    def _evaluate(self, size: int, *, always: bool = False) -> None:
        assert self.validation is not None
        assert self.history is not None
        if always or size % self.evaluate_every == 0:
            self.history.note(size, self.validation.evaluate())

    def _verdict(
        self, booster: Booster, boosted: Boosted[Learned], newest: Learned | Rule
    ) -> str | None:
        if self.callbacks:
            state = TrainingState(
                len(boosted), newest, boosted.times[-1], self._latest(boosted), booster.mean_loss
            )
            if wants_to_stop(self.callbacks, state):
                return CALLBACK
        if self.history and self.history.is_exhausted():
            return EARLY
        return self._time_is_up()

    def _latest(self, boosted: Boosted[Learned]) -> dict[str, float] | None:
        if self.history is None or self.history.sizes[-1] != len(boosted):
            return None
        return {name: values[-1] for name, values in self.history.values.items()}

    def _time_is_up(self) -> str | None:
        return TIME if self.deadline is not None and time.perf_counter() >= self.deadline else None
