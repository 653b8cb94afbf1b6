"""Measures of label sets that are cheap to follow while few predictions change at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

LOSS = "loss"
"""The measure that is computed from scores, not from label sets."""


class LabelSetQuality:
    """True and predicted label sets, and how well they agree. All examples begin with no labels.

    Sums over labels are kept per example, and made anew only for the examples that changed. Where
    there is nothing to find and nothing was predicted, F1 is 1.
    """

    def __init__(self, truth: NDArray[np.uint8], weights: NDArray[np.float64]) -> None:
        self._truth = truth
        self._weights = weights
        self._total = float(weights.sum())
        self._predicted = np.zeros_like(truth)
        self._relevant = _row_sums(truth)
        self._found = np.zeros_like(self._relevant)
        self._right = np.zeros_like(self._relevant)

    def update(
        self,
        examples: NDArray[np.intp],
        predicted: NDArray[np.uint8],
        labels: NDArray[np.intp] | None = None,
    ) -> None:
        """Replace the predictions for some examples; for all labels, or for those given."""
        cells: Any = examples if labels is None else np.ix_(examples, labels)
        before, truth = self._predicted[cells], self._truth[cells]
        self._predicted[cells] = predicted
        self._found[examples] += _row_sums(predicted) - _row_sums(before)
        self._right[examples] += _row_sums(predicted & truth) - _row_sums(before & truth)

    def subset_01(self) -> float:
        """Return the share of examples whose label set is not right as a whole."""
        return self._mean(self._wrong() > 0)

    def hamming(self) -> float:
        """Return the share of labels that are wrong."""
        return self._mean(self._wrong()) / int(self._truth.shape[1])

    def f1_example(self) -> float:
        """Return the mean of the examples' F1."""
        return self._mean(_f1(self._right, self._found, self._relevant))

    def f1_micro(self) -> float:
        """Return the F1 of all pairs of examples and labels."""
        sums = (self._mean(n) for n in (self._right, self._found, self._relevant))
        return float(_f1(*map(np.asarray, sums)))

    def f1_macro(self) -> float:
        """Return the mean of the labels' F1."""
        weights = self._weights
        right = weights @ (self._predicted & self._truth)
        return float(_f1(right, weights @ self._predicted, weights @ self._truth).mean())

    def _wrong(self) -> NDArray[np.int64]:
        wrong: NDArray[np.int64] = self._relevant + self._found - 2 * self._right
        return wrong

    def _mean(self, values: NDArray[Any]) -> float:
        # Divided last: sums of equal weights are exact, so that equally many errors are a tie.
        return float(self._weights @ values) / self._total


def _row_sums(indicators: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Count labels: exact in single precision, and much faster than sums of integers."""
    counts = indicators.astype(np.float32) @ np.ones(indicators.shape[1], dtype=np.float32)
    return counts.astype(np.int64)


def _f1(right: NDArray[Any], found: NDArray[Any], relevant: NDArray[Any]) -> NDArray[np.float64]:
    total = np.asarray(found + relevant, dtype=np.float64)
    nothing = total == 0.0
    shares: NDArray[np.float64] = 2.0 * np.asarray(right) / np.where(nothing, 1.0, total)
    return np.where(nothing, 1.0, shares)


LABEL_SET_MEASURES: Mapping[str, Callable[[LabelSetQuality], float]] = {
    "subset_01": LabelSetQuality.subset_01,
    "hamming": LabelSetQuality.hamming,
    "f1_micro": LabelSetQuality.f1_micro,
    "f1_macro": LabelSetQuality.f1_macro,
    "f1_example": LabelSetQuality.f1_example,
}
MEASURES = (LOSS, *LABEL_SET_MEASURES)
"""What training can be stopped by."""
HIGHER_IS_BETTER = frozenset({"f1_micro", "f1_macro", "f1_example"})
