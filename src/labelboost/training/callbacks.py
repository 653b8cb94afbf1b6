"""Functions of the user that follow training and may end it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from labelboost.validation.frames import show


class TrainingState:
    """What a callback is told after each rule or tree.

    size: rules (or trees) learned so far, the default rule included where it counts as one.
    learned: the newest Rule or tree; at the very beginning the default rule.
    seconds: since `fit` was called; of a resumed or continued training, what came before included.
    validation: measures on the validation data by name, if they were evaluated at this size.
    """

    __slots__ = ("_compute_loss", "_loss", "learned", "seconds", "size", "validation")

    def __init__(
        self,
        size: int,
        learned: Any,
        seconds: float,
        validation: Mapping[str, float] | None,
        compute_loss: Callable[[], float],
    ) -> None:
        self.size = size
        self.learned = learned
        self.seconds = seconds
        self.validation = validation
        self._compute_loss: Callable[[], float] | None = compute_loss
        self._loss: float | None = None

    @property
    def training_loss(self) -> float:
        """The mean loss of the training examples: computed when asked for, as that takes time."""
        if self._loss is None:
            if self._compute_loss is None:
                raise RuntimeError(
                    "training_loss was not asked for while the callback ran, and training has gone "
                    "on since then. Read it within the callback."
                )
            self._loss = self._compute_loss()
        return self._loss

    def __repr__(self) -> str:
        return (
            f"TrainingState(size={self.size}, seconds={self.seconds:.3g}, "
            f"validation={self.validation})"
        )

    def expire(self) -> None:
        """From now on the training loss is that of another state."""
        self._compute_loss = None


Callback = Callable[[TrainingState], "bool | None"]


def check_callbacks(callbacks: object) -> tuple[Callback, ...]:
    """Return callbacks as a tuple, or raise."""
    if callbacks is None:
        return ()
    remedy = "Pass a list of functions that take the state of training and return True to end it."
    if callable(callbacks) or isinstance(callbacks, str) or not isinstance(callbacks, Sequence):
        raise TypeError(
            f"callbacks must be a list of functions, got {show(callbacks)} of type "
            f"{type(callbacks).__name__}. {remedy}"
        )
    for position, callback in enumerate(callbacks):
        if not callable(callback):
            raise TypeError(f"callbacks[{position}] is {show(callback)}, no function. {remedy}")
    return tuple(callbacks)


def wants_to_stop(callbacks: Sequence[Callback], state: TrainingState) -> bool:
    """Call all of them; tell whether any asks for the end."""
    stop = False
    try:
        for position, callback in enumerate(callbacks):
            answer = callback(state)
            if answer is not None and not isinstance(answer, bool | np.bool_):
                raise TypeError(
                    f"callbacks[{position}] returned {show(answer)} of type "
                    f"{type(answer).__name__}. Return True to end training, False or None to go on."
                )
            stop = stop or bool(answer)
    finally:
        state.expire()
    return stop
