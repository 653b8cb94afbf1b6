"""Digests that tell whether two trainings would learn the same."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labelboost.model import Rule
from labelboost.validation import FeatureMatrix

ROWS_AT_ONCE = 2**12


def digest_features(matrix: FeatureMatrix, nominal: NDArray[np.bool_]) -> str:
    """Digest all values; dense and sparse matrices of the same values differ."""
    if isinstance(matrix, np.ndarray):
        rows = range(0, len(matrix), ROWS_AT_ONCE)
        parts = (matrix[i : i + ROWS_AT_ONCE] for i in rows)  # small copies, if any
        return digest_arrays(nominal, *[np.array(matrix.shape)], parts=parts)
    csc = sp.csc_array(matrix)
    return digest_arrays(nominal, np.array(csc.shape), csc.indptr, csc.indices, csc.data)


def digest_rules(rules: Iterable[Rule]) -> str:
    """Digest conditions and heads."""
    sha = hashlib.sha256()
    for rule in rules:
        sha.update(
            repr([(c.feature, c.operator, float(c.value)) for c in rule.conditions]).encode()
        )
        sha.update(np.ascontiguousarray(rule.head).tobytes())
    return sha.hexdigest()


def digest_arrays(*arrays: NDArray[Any], parts: Iterable[NDArray[Any]] = ()) -> str:
    """Digest types, shapes and bytes."""
    sha = hashlib.sha256()
    for several in (arrays, parts):
        for array in several:
            sha.update(f"{array.dtype.str}{array.shape}".encode())
            sha.update(np.ascontiguousarray(array).data.cast("B"))
    return sha.hexdigest()
