"""Examples that are not trained on: their scores, and how good the predictions are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labelboost import _core
from labelboost.label_sets import LabelSets
from labelboost.model import Rule
from labelboost.training.coverage import FeatureColumns
from labelboost.training.measures import LABEL_SET_MEASURES, LOSS, LabelSetQuality
from labelboost.training.validation_loss import validation_loss
from labelboost.validation import FeatureMatrix

NUMBERS_AT_ONCE = 2**21
"""Examples times labels or label sets, so that memory stays small."""
FEW_NUMBERS = 2**20
"""Scores that one thread computes in less time than it takes to start others."""


@dataclass(frozen=True, slots=True, eq=False)
class Examples:
    """Checked data, for training or validation."""

    matrix: FeatureMatrix
    labels: NDArray[np.uint8]
    weights: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Prediction:
    """How an estimator makes predictions."""

    pack: Callable[[Sequence[Any]], _core.Ensemble | _core.Forest]
    """Makes a predictor that adds the scores of rules or trees to those it is given."""
    decode: Callable[[NDArray[np.float64]], NDArray[np.uint8]] | None
    """Turns scores into label sets, row by row; None: labels with positive scores."""
    n_threads: int


class Validation:
    """Follows the predictions for held-out examples. Only what changes is evaluated again."""

    def __init__(
        self,
        data: Examples,
        measures: Sequence[str],
        *,
        loss: str,
        known: LabelSets,
        prediction: Prediction,
    ) -> None:
        matrix = data.matrix
        self._matrix = matrix if isinstance(matrix, np.ndarray) else sp.csr_array(matrix)
        self._columns = FeatureColumns(matrix)
        self._scores = np.zeros(data.labels.shape)
        self._pending: list[Any] = []
        self._measures = [name for name in measures if name != LOSS]
        self._prediction = prediction
        self._quality = LabelSetQuality(data.labels, data.weights)
        self._loss = validation_loss(loss, data.labels, data.weights, known)
        self._together = max(1, NUMBERS_AT_ONCE // max(known.vectors.shape))
        self._update(np.arange(len(data.labels)), np.arange(data.labels.shape[1]))

    @property
    def has_loss(self) -> bool:
        """Whether the loss is defined for any example."""
        return bool(self._loss.weights.any())

    def begin(self, default: Rule) -> None:
        """Start with the default rule."""
        self._replace_scores(np.zeros_like(self._scores) + default.head)

    def add(self, learned: Any) -> None:
        """Take note of a rule or tree."""
        self._pending.append(learned)

    def evaluate(self) -> dict[str, float]:
        """Compute the loss and the other measures."""
        if len(self._pending) == 1 and isinstance(self._pending[0], Rule):
            self._add_rule(self._pending[0])
        elif self._pending:
            self._replace_scores(self._sum_up())
        self._pending.clear()
        values: dict[str, float] = {}
        if self.has_loss:
            values[LOSS] = self._loss.mean()
        for name in self._measures:
            values[name] = LABEL_SET_MEASURES[name](self._quality)
        return values

    def _add_rule(self, rule: Rule) -> None:
        """Add a single rule, at the cost of what it covers."""
        (covered,) = self._columns.covered([rule])
        labels = np.flatnonzero(rule.head)
        if len(labels) < len(rule.head):
            self._scores[covered[:, np.newaxis], labels] += rule.head[labels]
        else:
            self._scores[covered] += rule.head
        self._update(covered, labels)

    def _sum_up(self) -> NDArray[np.float64]:
        predictor, matrix = self._prediction.pack(self._pending), self._matrix
        few = self._scores.size * len(self._pending) <= FEW_NUMBERS
        n_threads = 1 if few else self._prediction.n_threads
        if isinstance(matrix, np.ndarray):
            return predictor.predict_dense(matrix, n_threads, start=self._scores)
        parts = (matrix.data, matrix.indices, matrix.indptr)
        return predictor.predict_csr(*parts, n_threads, start=self._scores)

    def _replace_scores(self, scores: NDArray[np.float64]) -> None:
        changed = scores != self._scores
        self._scores = scores
        self._update(np.flatnonzero(changed.any(axis=1)), np.flatnonzero(changed.any(axis=0)))

    def _update(self, examples: NDArray[np.intp], labels: NDArray[np.intp]) -> None:
        """Look again at what has changed."""
        decode = self._prediction.decode
        for begin in range(0, len(examples), self._together):
            some = examples[begin : begin + self._together]
            self._loss.update(some, labels, self._scores)
            if self._measures and decode is not None:
                self._quality.update(some, decode(self._scores[some]))
            elif self._measures:
                positive = self._scores[np.ix_(some, labels)] > 0.0
                self._quality.update(some, positive.view(np.uint8), labels)
