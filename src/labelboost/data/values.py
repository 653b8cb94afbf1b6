"""Numbers as text: many at a time, exact in both directions."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labelboost.data.dataset import Features
from labelboost.data.files import show

# Possessive quantifiers: a long wrong token must fail at once, not after trying all its parts.
NUMBER = re.compile(r"[-+]?+(?:\d++(?:\.\d*+)?+|\.\d++)(?:[eE][-+]?+\d++)?+", re.ASCII)
ODD = re.compile(r"[^0-9eE.+\-]")
INFINITE = re.compile(r"[-+]?(?:inf|infinity)", re.IGNORECASE)
EXACT = 2.0**24
"""float32 holds every integer up to this one."""


class BadTokenError(Exception):
    """A text that is not a value, by its position among those to be read."""

    def __init__(self, position: int, problem: str) -> None:
        super().__init__(problem)
        self.position = position
        self.problem = problem


def read_numbers(tokens: Sequence[str | None]) -> NDArray[np.float64]:
    """Turn texts into numbers, and None or nan into NaN. Raises BadTokenError."""
    values = read_plain_numbers(tokens)
    if values is not None:
        return values
    return np.array([_number(token, i) for i, token in enumerate(tokens)], dtype=np.float64)


def read_plain_numbers(tokens: Sequence[str | None]) -> NDArray[np.float64] | None:
    """Turn texts into numbers, quickly; None if some of them are anything else."""
    texts = [token for token in tokens if token is not None]
    # float() alone would also take 1_000, inf and the digits of other scripts.
    if len(texts) < len(tokens) or ODD.search("".join(texts)):
        return None
    try:
        values = np.fromiter(map(float, texts), np.float64, len(texts))
    except ValueError:
        return None
    return values if np.isfinite(values).all() else None


def _number(token: str | None, position: int) -> float:
    if token is None or token.lower() == "nan":
        return math.nan
    if NUMBER.fullmatch(token):
        value = float(token)
        if math.isfinite(value):
            return value
        raise BadTokenError(position, f"{show(token)} is beyond the range of floating point")
    if INFINITE.fullmatch(token):
        raise BadTokenError(position, f"{show(token)} is infinite; only a missing value is allowed")
    raise BadTokenError(position, f"{show(token)} is not a number")


def narrow(values: NDArray[np.float64]) -> NDArray[np.floating[Any]]:
    """Convert to float32, unless that would change an integer or make a value infinite."""
    large = values[np.abs(values) > EXACT]
    with np.errstate(over="ignore"):
        changed = large.astype(np.float32) != large
        lost = changed & ((large == np.floor(large)) | (np.abs(large) > np.finfo(np.float32).max))
        return values if lost.any() else values.astype(np.float32)


def write_numbers(values: NDArray[np.floating[Any]], missing: str) -> list[str]:
    """Write numbers in the fewest digits that `read_numbers` and `narrow` turn back into them."""
    # By their bits, as 0.0 and -0.0 differ; equal ones once, as data often repeat a few values.
    bits = np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}")
    distinct, inverse = np.unique(bits, return_inverse=True)
    texts = [_text(value, missing) for value in distinct.view(values.dtype)]
    return [texts[i] for i in inverse.tolist()]


def _text(value: np.floating[Any], missing: str) -> str:
    number = float(value)
    if math.isnan(number):
        return missing
    if isinstance(value, np.float32):
        if abs(number) > EXACT:
            # All digits, as fewer would be another integer in double precision.
            return str(int(number))
        text = str(value)
        if np.float32(float(text)) != value:  # rounded twice on the way back: write all digits
            text = repr(number)
    else:
        text = repr(number)
    return text.removesuffix(".0")


def csr_of(X: Features) -> sp.csr_array[Any, tuple[int, int]]:
    """The entries other than 0 row by row, ascending; missing values and -0.0 are entries."""
    if isinstance(X, np.ndarray):
        rows, columns = np.nonzero((X != 0) | np.signbit(X))
        data = X[rows, columns]
        n_rows = X.shape[0]
        shape = (X.shape[0], X.shape[1])
    else:
        entries = X.tocsr(copy=True)
        entries.sum_duplicates()
        n_rows = entries.shape[0]
        shape = (entries.shape[0], entries.shape[1])
        rows = np.repeat(np.arange(n_rows), np.diff(entries.indptr))
        kept = (entries.data != 0) | np.signbit(entries.data)
        rows, columns, data = rows[kept], entries.indices[kept], entries.data[kept]
    return csr_from(rows, columns, data, shape)


def csr_from(
    rows: NDArray[Any], columns: NDArray[Any], data: NDArray[Any], shape: tuple[int, int]
) -> sp.csr_array[Any, tuple[int, int]]:
    """Make a matrix of entries that come row by row, with ascending columns."""
    counts = np.bincount(rows, minlength=shape[0])
    index = np.int32 if max(len(data), *shape) <= np.iinfo(np.int32).max else np.int64
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(index)
    return sp.csr_array((data, columns.astype(index), indptr), shape=shape)
