"""The one type that every reader and generator of data returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Features: TypeAlias = "NDArray[np.floating[Any]] | sp.csr_array[Any] | sp.csc_array[Any]"
DENSE_ENOUGH = 0.5
"""Sparse matrices with a larger share of entries are better stored densely."""


def stored_well(X: Features) -> Features:
    """Return X in the form that is quicker to train on; the model is the same."""
    if isinstance(X, np.ndarray) or X.nnz <= DENSE_ENOUGH * X.shape[0] * X.shape[1]:
        return X
    return X.toarray()


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """Examples, their labels, and the names of both. Checked when it is made."""

    name: str
    X: Features
    """Features, (N, L) of float32 or float64, dense or sparse. NaN: missing."""
    Y: NDArray[np.uint8]
    """Labels, (N, K), 1 where the label applies and 0 elsewhere. K = 0 if they are not known."""
    feature_names: tuple[str, ...]
    label_names: tuple[str, ...]
    nominal: NDArray[np.bool_]
    """(L,), true for features whose values are codes of categories: 0, 1, 2, ..."""
    categories: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """Feature index to the names of its categories, in the order of their codes."""

    def __post_init__(self) -> None:
        _check_features(self.X)
        _check_labels(self.Y, n_examples=self.X.shape[0])
        _check_names("feature_names", self.feature_names, self.n_features, "columns of X")
        _check_names("label_names", self.label_names, self.n_labels, "columns of Y")
        _check_nominal(self.X, self.nominal, self.categories)

    @property
    def n_examples(self) -> int:
        """N, the number of examples."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """L, the number of features."""
        return int(self.X.shape[1])

    @property
    def n_labels(self) -> int:
        """K, the number of labels."""
        return int(self.Y.shape[1])

    @property
    def nominal_indices(self) -> list[int]:
        """The columns of the nominal features, ascending."""
        return [int(index) for index in np.flatnonzero(self.nominal)]

    def without_labels(self) -> Dataset:
        """The same examples, as if nothing were known about their labels."""
        unknown = np.zeros((self.n_examples, 0), dtype=np.uint8)
        return replace(self, Y=unknown, label_names=())

    @property
    def cardinality(self) -> float:
        """Mean number of labels per example."""
        return float(np.count_nonzero(self.Y)) / self.n_examples

    @property
    def n_label_sets(self) -> int:
        """Number of distinct label sets."""
        if not self.n_labels:
            return 1
        # One opaque item per row: np.unique then compares bytes and does not sort by K columns.
        packed = np.ascontiguousarray(np.packbits(self.Y, axis=1))
        return len(np.unique(packed.view(f"V{packed.shape[1]}")))


def _check_features(X: Features) -> None:
    if not isinstance(X, np.ndarray | sp.csr_array | sp.csc_array):
        raise TypeError(
            f"X must be a NumPy array, a csr_array or a csc_array of SciPy, got {type(X).__name__}"
        )
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions (examples, features), got shape {X.shape}")
    if X.dtype not in (np.float32, np.float64):
        raise TypeError(f"X must be float32 or float64, got {X.dtype}; convert it with X.astype")
    if 0 in X.shape:
        raise ValueError(f"X needs at least one example and one feature, got shape {X.shape}")
    infinite = np.isinf(X.data) if sp.issparse(X) else np.isinf(X)
    if infinite.any():
        raise ValueError("X holds infinite values; use NaN for a value that is missing")


def _check_labels(Y: NDArray[np.uint8], n_examples: int) -> None:
    if not isinstance(Y, np.ndarray) or Y.dtype != np.uint8:
        got = f"an array of {Y.dtype}" if isinstance(Y, np.ndarray) else type(Y).__name__
        raise TypeError(f"Y must be a NumPy array of uint8, got {got}")
    if Y.ndim != 2:
        raise ValueError(f"Y must have the shape (examples, labels), got {Y.shape}")
    if Y.shape[0] != n_examples:
        raise ValueError(f"X has {n_examples} examples, but Y has {Y.shape[0]}")
    if Y.max(initial=0) > 1:
        row, column = np.argwhere(Y > 1)[0]
        raise ValueError(f"Y must hold 0 and 1 only, got {Y[row, column]} at [{row}, {column}]")


def _check_names(what: str, names: tuple[str, ...], expected: int, of: str) -> None:
    if not isinstance(names, tuple) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"{what} must be a tuple of strings")
    if len(names) != expected:
        raise ValueError(f"{what} holds {len(names)} names for {expected} {of}")


def _check_nominal(
    X: Features, nominal: NDArray[np.bool_], categories: Mapping[int, tuple[str, ...]]
) -> None:
    n_features = X.shape[1]
    if not isinstance(nominal, np.ndarray) or nominal.dtype != np.bool_:
        raise TypeError("nominal must be a NumPy array of bool, one entry per feature")
    if nominal.shape != (n_features,):
        raise ValueError(f"nominal must have the shape ({n_features},), got {nominal.shape}")
    for feature in categories:
        if not 0 <= feature < n_features or not nominal[feature]:
            raise ValueError(f"categories names feature {feature}, which is not a nominal one")
    limit = np.full(n_features, np.inf)
    for feature, names in categories.items():
        limit[feature] = len(names)
    columns = np.flatnonzero(nominal)
    if isinstance(X, np.ndarray):
        for column in columns:
            _check_codes(X[:, column], limit[column], np.full(1, column))
        return
    stored = X.tocsr()
    selected = nominal[stored.indices]
    owners = stored.indices[selected]
    _check_codes(stored.data[selected], limit[owners], owners)


def _check_codes(
    values: NDArray[Any], limit: NDArray[np.float64] | np.float64, columns: NDArray[Any]
) -> None:
    wrong = (values < 0) | (values >= limit) | ((values != np.floor(values)) & ~np.isnan(values))
    if wrong.any():
        position = int(np.argmax(wrong))
        raise ValueError(
            f"nominal feature {columns[min(position, len(columns) - 1)]} holds "
            f"{values[position]:g}, which is not the code of a category"
        )
