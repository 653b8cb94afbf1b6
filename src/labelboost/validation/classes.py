"""Vectors of classes: single-output targets, as scikit-learn understands them."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelboost.validation.arrays import as_float, first_entry
from labelboost.validation.frames import is_missing, show

_INT64_MAX = 2**63 - 1
_CLASSES = "A vector y holds one class per example: integers, strings or booleans."
_SUSPICIOUSLY_MANY = 20
"""Examples from which on it is odd if most have a class of their own."""


def find_classes(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the classes of a vector in ascending order, and the number of each entry's class."""
    values = _comparable(y)
    classes, codes = np.unique(values, return_inverse=True)
    if len(y) > _SUSPICIOUSLY_MANY and 2 * len(classes) > len(y):
        warnings.warn(
            f"y has {len(classes)} classes for {len(y)} examples. If these are quantities, "
            "this is no classification problem.",
            stacklevel=4,
        )
    return classes, codes


def indicators(n_classes: int, codes: NDArray[np.intp]) -> NDArray[np.uint8]:
    """Return labels: one per class, of which each example has its own; for two, the second only."""
    labelled = [n_classes - 1] if n_classes <= 2 else range(n_classes)
    return np.equal.outer(codes, labelled).astype(np.uint8)


def _place(i: int) -> str:
    return f"row {i} of y"


def _comparable(y: NDArray[Any]) -> NDArray[Any]:
    """Convert to the types that classes have: bool, int64, float64, str, or object for the rest."""
    kind = y.dtype.kind
    if kind == "b":
        return y
    if kind in "iu":
        large = kind == "u" and y.size and int(y.max()) > _INT64_MAX
        return y.astype(object if large else np.int64)
    if kind == "U":
        return y
    if kind == "T":
        return _strings(y.astype(object), object)
    if kind in "SO":
        return _from_objects(y.astype(object))
    return _whole(as_float(y, _place, _CLASSES))


def _from_objects(y: NDArray[np.object_]) -> NDArray[Any]:
    for i, value in enumerate(y):
        if is_missing(value):
            raise ValueError(f"{show(value)} at {_place(i)} is no class. {_CLASSES} Drop the row.")
        if isinstance(value, bytes):
            raise ValueError(f"{show(value)} at {_place(i)} is of type bytes. Decode it.")  # noqa: TRY004
    if any(isinstance(value, str) for value in y):
        return _strings(y, object)
    if _all(y, lambda value: isinstance(value, bool | np.bool_)):
        return y.astype(bool)
    if _all(y, lambda value: isinstance(value, numbers.Integral)):
        plain = [int(value) for value in y]
        fits = max(map(abs, plain), default=0) <= _INT64_MAX
        return np.array(plain, dtype=np.int64 if fits else object)
    return _whole(as_float(y, _place, _CLASSES))


def _all(y: NDArray[np.object_], test: Callable[[Any], bool]) -> bool:
    return all(test(value) for value in y)


def _strings(y: NDArray[np.object_], dtype: Any) -> NDArray[Any]:
    for i, value in enumerate(y):
        if not isinstance(value, str):
            other, text = next((j, v) for j, v in enumerate(y) if isinstance(v, str))
            raise ValueError(  # noqa: TRY004 (as for other values that are no classes)
                f"y mixes strings ({show(text)} at {_place(other)}) and others ({show(value)} at "
                f"{_place(i)}). {_CLASSES}"
            )
    return np.array([str(value) for value in y], dtype=dtype)


def _whole(y: NDArray[np.float32] | NDArray[np.float64]) -> NDArray[np.float64]:
    """Refuse missing values and fractions; the message begins as scikit-learn wants it."""
    bad = first_entry(y, lambda block: ~(np.isfinite(block) & (np.floor(block) == block)))
    if bad is None:
        return y.astype(np.float64) + 0.0  # there is but one zero
    value = y[bad]
    if np.isnan(value):
        raise ValueError(f"{show(value)} at {_place(*bad)} is no class. {_CLASSES} Drop the row.")
    raise ValueError(
        f"Unknown label type: continuous, as {show(value)} at {_place(*bad)} is no whole number. "
        f"{_CLASSES} Of scores, make labels by a threshold such as (y > 0.5)."
    )
