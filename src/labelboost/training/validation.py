"""Examples that are not trained on: their scores, and how good the predictions are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labelboost.label_sets import LabelSets
from labelboost.model import Rule
from labelboost.training.coverage import FeatureColumns
from labelboost.training.measures import LABEL_SET_MEASURES, LOSS, LabelSetQuality
from labelboost.training.validation_loss import example_loss
from labelboost.validation import FeatureMatrix

NUMBERS_AT_ONCE = 2**21
"""Examples times labels or label sets, so that memory stays small."""


@dataclass(frozen=True, slots=True, eq=False)
class Examples:
    """Checked data, for training or validation."""

    matrix: FeatureMatrix
    labels: NDArray[np.uint8]
    weights: NDArray[np.float64]


class Validation:
    """Follows the predictions for held-out examples, at the cost of what each rule covers."""

    def __init__(
        self,
        data: Examples,
        measures: Sequence[str],
        *,
        loss: str,
        known: LabelSets,
        decode: Callable[[NDArray[np.float64]], NDArray[np.uint8]],
    ) -> None:
        """Begin without any rule. `decode` turns scores into label sets, row by row."""
        self._columns = FeatureColumns(data.matrix)
        self._scores = np.zeros(data.labels.shape)
        self._changed = np.ones(len(data.labels), dtype=bool)
        self._measures = [name for name in measures if name != LOSS]
        self._decode = decode
        self._quality = LabelSetQuality(data.labels, data.weights)
        self._loss, countable = example_loss(loss, data.labels, known)
        self._loss_weights = np.where(countable, data.weights, 0.0)
        self._losses = np.zeros(len(data.labels))
        self._together = max(1, NUMBERS_AT_ONCE // max(known.vectors.shape))

    @property
    def has_loss(self) -> bool:
        """Whether the loss is defined for any example."""
        return bool(self._loss_weights.any())

    def add(self, rules: Sequence[Rule]) -> None:
        """Add the heads of rules to the scores of what they cover, in their order."""
        for rule, covered in zip(rules, self._columns.covered(rules), strict=True):
            labels = np.flatnonzero(rule.head)
            if len(labels) < len(rule.head):
                self._scores[covered[:, np.newaxis], labels] += rule.head[labels]
            else:
                self._scores[covered] += rule.head
            self._changed[covered] = True

    def evaluate(self) -> dict[str, float]:
        """Compute the loss and the other measures."""
        changed = np.flatnonzero(self._changed)
        self._changed[:] = False
        values: dict[str, float] = {}
        for begin in range(0, len(changed), self._together):
            some = changed[begin : begin + self._together]
            scores = self._scores[some]
            self._losses[some] = self._loss(some, scores)
            if self._measures:
                self._quality.update(some, self._decode(scores))
        if self.has_loss:
            values[LOSS] = float(self._loss_weights @ self._losses / self._loss_weights.sum())
        for name in self._measures:
            values[name] = LABEL_SET_MEASURES[name](self._quality)
        return values
