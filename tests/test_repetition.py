"""Which examples are repeated, and what their tickets are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

from labelboost import _core
from labelboost.label_sets import LabelSets
from labelboost.repetition import _row_keys, find_tickets


def tickets(X: NDArray[np.float64], Y: NDArray[np.uint8]) -> NDArray[np.int32] | None:
    weights = np.ones(len(X))
    return find_tickets(X, LabelSets.of(Y, weights), weights)


@pytest.mark.parametrize("n_columns", [1, 256, 773, 10_240])
@pytest.mark.parametrize("last", [False, True], ids=["first column", "last column"])
def test_rows_that_differ_in_one_place(n_columns: int, last: bool) -> None:
    """However wide the matrix, and wherever rows differ: in the features or the labels."""
    X = np.zeros((6, n_columns))
    Y = np.ones((6, 2), dtype=np.uint8)
    X[:, -1 if last else 0] = np.arange(6)
    assert tickets(X, Y) is None
    X[3] = X[1]
    found = tickets(X, Y)
    assert found is not None
    assert sorted(found) == list(range(6))
    Y[3, 0] = 0
    assert tickets(X, Y) is None


def test_tickets_do_not_depend_on_the_order_of_the_rows() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (50, 3)).astype(np.float64)
    Y = rng.integers(0, 2, (50, 2)).astype(np.uint8)
    order = rng.permutation(50)
    first, second = tickets(X, Y), tickets(X[order], Y[order])
    assert first is not None
    assert second is not None
    np.testing.assert_array_equal(X[first], X[order][second])
    np.testing.assert_array_equal(Y[first], Y[order][second])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_columns", [1, 2, 3, 5, 31, 32, 33, 70, 700])
def test_keys_do_not_depend_on_how_the_rows_are_stored(n_columns: int, dtype: type) -> None:
    """Zeros of either sign are passed over many at a time; rows may be parts of others."""
    rng = np.random.default_rng(n_columns)
    wide: NDArray[Any] = rng.normal(size=(40, 2 * n_columns + 1)).astype(dtype)
    wide[rng.random(wide.shape) < 0.7] = 0.0
    wide[rng.random(wide.shape) < 0.1] = -0.0
    wide[rng.random(wide.shape) < 0.1] = np.nan
    forms = [wide[:, 1 : n_columns + 1], wide[::-1, : 2 * n_columns : 2]]
    for X in forms:
        expected = _row_keys(sp.csr_array(X))
        np.testing.assert_array_equal(_row_keys(X), expected)
        np.testing.assert_array_equal(_row_keys(np.ascontiguousarray(X)), expected)
        np.testing.assert_array_equal(_row_keys(np.asfortranarray(X)), expected)
        nominal = np.zeros(n_columns, dtype=np.uint8)
        for n_threads in (1, 3):
            keys = _core.Columns.from_dense(
                np.ascontiguousarray(X), nominal, 0, n_threads
            ).row_keys()
            assert keys is not None
            np.testing.assert_array_equal(keys, expected)
