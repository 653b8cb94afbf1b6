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
        self._all = np.arange(matrix.shape[0])

    def covered(self, rules: Sequence[Rule]) -> list[NDArray[np.intp]]:
        """List the examples that each of the rules covers, ascending."""
        # The leaves of a tree have the beginnings of their paths in common, the very objects.
        known: dict[tuple[int, ...], NDArray[np.intp]] = {(): self._all}
        return [self._region(rule.conditions, known) for rule in rules]

    def _region(
        self, conditions: tuple[Condition, ...], known: dict[tuple[int, ...], NDArray[np.intp]]
    ) -> NDArray[np.intp]:
        path = tuple(map(id, conditions))
        start = len(path)
        while path[:start] not in known:
            start -= 1
        region = known[path[:start]]
        for depth in range(start, len(path)):
            condition = conditions[depth]
            region = region[condition.covers(self._values(condition.feature, region))]
            known[path[: depth + 1]] = region
        return region

    def _values(self, j: int, examples: NDArray[np.intp]) -> NDArray[np.float64]:
        if self._dense is not None:
            return np.asarray(self._dense[examples, j], dtype=np.float64)
        assert self._sparse is not None
        begin, end = self._sparse.indptr[j : j + 2]
        column = np.zeros(len(self._all))
        column[self._sparse.indices[begin:end]] = self._sparse.data[begin:end]
        return column[examples]
