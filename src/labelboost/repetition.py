"""Examples that count several times, whether they are repeated or have a weight.

Both must give the same model, even though the samples of the rules are drawn at random. So samples
are drawn from tickets: an example of weight 3 has three of them, as three equal examples have, and
tickets are sorted by what the examples hold, as nobody can tell the order of equal ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelboost import _core
from labelboost.label_sets import LabelSets
from labelboost.random_draws import GAMMA
from labelboost.validation import FeatureMatrix

TICKETS_PER_EXAMPLE = 8
FEW_TICKETS = 2**16
"""That many are always fine; more only if there are not many per example, as drawing takes time."""
BLOCK = 2**14
"""Entries of sparse data examined at a time."""


def find_tickets(
    X: FeatureMatrix,
    sets: LabelSets,
    weights: NDArray[np.float64],
    row_keys: NDArray[np.uint64] | None = None,
) -> NDArray[np.int32] | None:
    """Return the example that each ticket stands for; None if each example has just its own.

    `row_keys`: what `_core.row_keys` would return, if it is known.

    Only whole numbers can be numbers of repetitions: other weights have one ticket each, and so
    have weights that are too large in total. They multiply what has been drawn.
    """
    most = max(TICKETS_PER_EXAMPLE * len(weights), FEW_TICKETS)
    if weights.sum() > most or (weights % 1.0 != 0.0).any():
        return None
    keys = _scramble(_dense_keys(sets.vectors))[sets.set_of]
    keys += _row_keys(X) if row_keys is None else row_keys
    if weights.max() == 1.0:
        ascending = np.sort(keys)  # many times as fast as to find the order of the examples
        if (ascending[1:] != ascending[:-1]).all():
            return None  # in the order of the examples, then, as nothing is to be told apart
    order = np.argsort(keys, kind="stable")
    return np.repeat(order, weights[order].astype(np.int64)).astype(np.int32)


def _row_keys(X: FeatureMatrix) -> NDArray[np.uint64]:
    """Return a number for each row that depends on its values only, dense or sparse."""
    if isinstance(X, np.ndarray):
        return _dense_keys(X)
    columns = _column_keys(X.shape[1])
    keys = np.zeros(X.shape[0], dtype=np.uint64)
    for start in range(0, X.nnz, BLOCK):
        stop = min(start + BLOCK, X.nnz)
        minor = X.indices[start:stop]
        major = np.searchsorted(X.indptr, np.arange(start, stop), side="right") - 1
        row, column = (major, minor) if X.format == "csr" else (minor, major)
        np.add.at(keys, row, _fold(X.data[start:stop]) * columns[column])
    return _scramble(keys)


def _dense_keys(X: NDArray[np.generic]) -> NDArray[np.uint64]:
    numbers: NDArray[Any] = X if X.dtype in (np.float32, np.float64) else X.astype(np.float32)
    return _core.row_keys(numbers)


def _column_keys(n: int) -> NDArray[np.uint64]:
    return _scramble(np.arange(n, dtype=np.uint64)) | np.uint64(1)


def _fold(values: NDArray[np.generic]) -> NDArray[np.uint64]:
    """Turn numbers into bits that differ in the lower half, too; zeros into zeros."""
    numbers = values.astype(np.float64) + 0.0  # there is but one zero
    numbers[np.isnan(numbers)] = np.nan  # and one way to be missing
    bits = numbers.view(np.uint64)
    return bits ^ (bits >> np.uint64(32))


def _scramble(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix the bits as `random_draws.mix` does, for many numbers."""
    x = x + np.uint64(GAMMA)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
