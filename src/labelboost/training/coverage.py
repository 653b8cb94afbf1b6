"""Which examples satisfy the conditions of rules, from the values of the features."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labelboost.model import Condition, Rule
from labelboost.validation import FeatureMatrix


class FeatureColumns:
    """A feature matrix that can be asked for what rules cover."""

    def __init__(self, matrix: FeatureMatrix) -> None:
        self._dense = matrix if isinstance(matrix, np.ndarray) else None
        self._sparse = None if isinstance(matrix, np.ndarray) else sp.csc_array(matrix)
        self.n_examples: int = matrix.shape[0]

    def covered(self, rules: Sequence[Rule]) -> list[NDArray[np.intp]]:
        """List the examples that each of the rules covers, ascending."""
        known: dict[Condition, NDArray[np.bool_]] = {}  # the leaves of a tree share conditions
        regions = []
        for rule in rules:
            region = np.ones(self.n_examples, dtype=bool)
            for condition in rule.conditions:
                if condition not in known:
                    known[condition] = condition.covers(self._column(condition.feature))
                region &= known[condition]
            regions.append(np.flatnonzero(region))
        return regions

    def _column(self, j: int) -> NDArray[np.float64]:
        if self._dense is not None:
            return np.asarray(self._dense[:, j], dtype=np.float64)
        assert self._sparse is not None
        begin, end = self._sparse.indptr[j : j + 2]
        column = np.zeros(self.n_examples)
        column[self._sparse.indices[begin:end]] = self._sparse.data[begin:end]
        return column
