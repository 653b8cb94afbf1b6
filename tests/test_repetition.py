"""Which examples are repeated, and what their tickets are."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from labelboost.label_sets import LabelSets
from labelboost.repetition import FEW_COLUMNS, find_tickets


def tickets(X: NDArray[np.float64], Y: NDArray[np.uint8]) -> NDArray[np.int32] | None:
    weights = np.ones(len(X))
    return find_tickets(X, LabelSets.of(Y, weights), weights)


@pytest.mark.parametrize("n_columns", [1, FEW_COLUMNS, 3 * FEW_COLUMNS + 5, 40 * FEW_COLUMNS])
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


def test_many_rows_alike_in_most_columns() -> None:
    """Looking at columns one after the other would take too long."""
    X = np.zeros((40, 30 * FEW_COLUMNS))
    X[:, -1] = np.arange(40)
    Y = np.ones((40, 1), dtype=np.uint8)
    assert tickets(X, Y) is None
    X[7] = X[5]
    assert tickets(X, Y) is not None


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
