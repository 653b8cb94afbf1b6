"""Checks of single parameters: each error names the parameter, the value and what is allowed.

What is right is let through at once: small models are learned in less time than it takes to ask
abstract classes, or to word an error, some thirty times.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable
from difflib import get_close_matches
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray


def is_integer(value: object) -> TypeGuard[int]:
    """Tell whether the value is an integer (of Python or NumPy), booleans excluded."""
    if type(value) is int:
        return True
    return isinstance(value, numbers.Integral) and not isinstance(value, bool | np.bool_)


def is_real(value: object) -> TypeGuard[float]:
    """Tell whether the value is a real number, booleans excluded."""
    if type(value) in (float, int):
        return True
    return isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)


def check_integer(name: str, value: object, *, minimum: int) -> int:
    """Return the value as int, or raise."""
    if not is_integer(value):
        raise TypeError(f"{name} must be an integer >= {minimum}, got {_show(value)}")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {value}")
    return int(value)


def check_optional_integer(name: str, value: object, *, minimum: int) -> int | None:
    """Return the value as int, or None, or raise."""
    if value is None:
        return None
    if not is_integer(value):
        raise TypeError(f"{name} must be None or an integer >= {minimum}, got {_show(value)}")
    return check_integer(name, value, minimum=minimum)


def check_real(
    name: str,
    value: object,
    *,
    minimum: float | None = None,
    above: float | None = None,
    maximum: float = math.inf,
) -> float:
    """Return the value as float if it is finite and within the bounds, or raise."""

    def allowed() -> str:
        low = f">= {minimum:g}" if minimum is not None else f"> {above:g}"
        return low if math.isinf(maximum) else f"{low} and <= {maximum:g}"

    if not is_real(value):
        raise TypeError(f"{name} must be a number {allowed()}, got {_show(value)}")
    try:
        number = float(value)
    except OverflowError:  # an integer or a fraction
        number = math.inf if value > 0 else -math.inf
    too_low = (minimum is not None and number < minimum) or (above is not None and number <= above)
    if not math.isfinite(number) or too_low or number > maximum:
        raise ValueError(f"{name} must be a finite number {allowed()}, got {value!r}")
    return number


def check_boolean(name: str, value: object) -> bool:
    """Return the value as bool, or raise."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {_show(value)}")
    return bool(value)


def check_stages(stages: object, most: int) -> NDArray[np.int64]:
    """Return ascending sizes of an ensemble, at most `most`, as an array; None stands for all."""
    if stages is None:
        return np.arange(1, most + 1)
    allowed = f"stages must be None or ascending integers from 1 to {most}"
    if isinstance(stages, str | bytes) or not isinstance(stages, Iterable):
        raise TypeError(f"{allowed}, got {_show(stages)}")
    chosen = list(stages)
    for position, stage in enumerate(chosen):
        if not is_integer(stage):
            raise TypeError(f"{allowed}, got {_show(stage)} at position {position}")
        if not (chosen[position - 1] if position else 1) <= stage <= most:
            raise ValueError(f"{allowed}, got {stage} at position {position}")
    return np.array(chosen, dtype=np.int64)


def check_choice(name: str, value: object, choices: Iterable[str]) -> str:
    """Return the value if it is one of the choices, or raise with the nearest one."""
    allowed = list(choices)
    if isinstance(value, str) and value in allowed:
        return value
    listed = ", ".join(repr(choice) for choice in allowed)
    if not isinstance(value, str):
        raise TypeError(f"{name} must be one of {listed}, got {_show(value)}")
    near = get_close_matches(value, allowed, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"{name} must be one of {listed}, got {value!r}{hint}")


def _show(value: object) -> str:
    text = repr(value)
    return f"{text if len(text) <= 80 else text[:77] + '...'} of type {type(value).__name__}"
