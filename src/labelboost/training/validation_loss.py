"""The loss of held-out examples, as training minimises it, while few scores change at a time."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from labelboost.label_sets import LabelSets, softmax_logits

Indices = NDArray[np.intp]
Numbers = NDArray[np.float64]


class ValidationLoss(Protocol):
    """Follows the loss of examples whose scores are given."""

    weights: Numbers
    """Zero for examples that have no loss."""

    def update(self, examples: Indices, labels: Indices, scores: Numbers) -> None:
        """Look again at examples, of whose scores those of `labels` may have changed.

        `scores` are those of all examples and labels.
        """

    def mean(self) -> float:
        """Return the weighted mean."""


def validation_loss(
    loss: str, truth: NDArray[np.uint8], weights: Numbers, known: LabelSets
) -> ValidationLoss:
    """Return what computes the loss of examples with the given labels."""
    if loss == "labelset_softmax":
        return SoftmaxLoss(truth, weights, known)
    return (JointLoss if loss == "example_logistic" else SeparateLoss)(truth, weights)


class JointLoss:
    """The example-wise logistic loss: log(1 + sum_k exp(-y_k p_k))."""

    def __init__(self, truth: NDArray[np.uint8], weights: Numbers) -> None:
        self.weights = weights
        self._signs = 1.0 - 2.0 * truth
        self._losses = np.zeros(len(truth))

    def update(self, examples: Indices, labels: Indices, scores: Numbers) -> None:
        exponents = self._signs[examples]
        exponents *= scores[examples]
        shift = np.maximum(exponents.max(axis=1), 0.0)
        exponents -= shift[:, np.newaxis]
        np.exp(exponents, out=exponents)
        self._losses[examples] = shift + np.log(np.exp(-shift) + exponents.sum(axis=1))

    def mean(self) -> float:
        return float(self.weights @ self._losses / self.weights.sum())


class SeparateLoss:
    """The label-wise logistic loss: the sum of log(1 + exp(-y_k p_k)) over the labels."""

    def __init__(self, truth: NDArray[np.uint8], weights: Numbers) -> None:
        self.weights = weights
        self._truth = truth
        # By label, as most rules change the scores of one only.
        self._losses = np.zeros(truth.shape[::-1])
        self._means = np.zeros(truth.shape[1])

    def update(self, examples: Indices, labels: Indices, scores: Numbers) -> None:
        cells = np.ix_(examples, labels)
        margins = np.where(self._truth[cells] == 1, scores[cells], -scores[cells]).T
        losses = np.maximum(-margins, 0.0) + np.log1p(np.exp(-np.abs(margins)))
        self._losses[labels[:, np.newaxis], examples] = losses
        self._means[labels] = self._losses[labels] @ self.weights / self.weights.sum()

    def mean(self) -> float:
        return float(self._means.sum())


class SoftmaxLoss:
    """Minus the logarithm of the probability of the label set.

    A set that training has not seen has none, and no rule can change that: it is left out.
    """

    def __init__(self, truth: NDArray[np.uint8], weights: Numbers, known: LabelSets) -> None:
        position = {vector.tobytes(): s for s, vector in enumerate(known.vectors)}
        sets = [position.get(vector.tobytes(), -1) for vector in truth]
        self._known = known
        self._set_of = np.array(sets, dtype=np.intp)
        self.weights = np.where(self._set_of >= 0, weights, 0.0)
        self._losses = np.zeros(len(truth))

    def update(self, examples: Indices, labels: Indices, scores: Numbers) -> None:
        logits = softmax_logits(scores[examples], self._known.vectors, self._known.weights)
        own = logits[np.arange(len(examples)), self._set_of[examples]]
        shift = logits.max(axis=1)
        np.exp(logits - shift[:, np.newaxis], out=logits)
        self._losses[examples] = shift + np.log(logits.sum(axis=1)) - own

    def mean(self) -> float:
        return float(self.weights @ self._losses / self.weights.sum())
