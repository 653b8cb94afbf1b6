"""The label sets seen in training, and distributions over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import logsumexp

from labelboost import _core

ROUNDING = 1e-12
"""Sets whose logits differ by less than this are equally likely: the first one is chosen."""


class LabelSetPrediction(NamedTuple):
    """The most likely label sets of each example, the likeliest first."""

    label_sets: NDArray[np.int8]
    """(n_examples, top, n_labels), 1 where the set contains the label."""
    probabilities: NDArray[np.float64]
    """(n_examples, top)"""


@dataclass(frozen=True, slots=True, eq=False)
class LabelSets:
    """Distinct label vectors, the heaviest first, equal ones in descending order."""

    vectors: NDArray[np.uint8]
    """(n_sets, n_labels)"""
    weights: NDArray[np.float64]
    """Summed weights of the training examples that have the set."""
    set_of: NDArray[np.int32]
    """The set of each training example."""

    @classmethod
    def of(cls, Y: NDArray[np.uint8], weights: NDArray[np.float64]) -> LabelSets:
        """Find the distinct rows of a 0/1 matrix."""
        first, total, set_of = _core.distinct_rows(Y, weights)
        return cls(Y[first], total, set_of)


def softmax_logits(
    scores: NDArray[np.float64], vectors: NDArray[np.uint8], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return log(pi_s) + sum of the scores of the set's labels: (n_examples, n_sets)."""
    # Sets have few labels; a sparse product also adds them up in the same order for any example.
    indicators = sp.csr_array(vectors.astype(np.float64))
    sums: NDArray[np.float64] = np.asarray((indicators @ scores.T).T)
    prior: NDArray[np.float64] = weights / weights.sum()
    return sums + np.log(prior)


def probabilities(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return exp(logits), scaled to a sum of 1 per example."""
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    result: NDArray[np.float64] = weights / weights.sum(axis=1, keepdims=True)
    return result


def most_likely(logits: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the first of the likeliest sets of each example."""
    best = logits.max(axis=1, keepdims=True)
    found: NDArray[np.intp] = np.argmax(
        logits >= best - ROUNDING * np.maximum(1.0, np.abs(best)), axis=1
    )
    return found


def example_losses(scores: NDArray[np.float64], vectors: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return the example-wise logistic loss of each label set: (n_examples, n_sets).

    It is log(1 + sum_k exp(-y_k p_k)), with y_k = 1 for the labels of the set and -1 for others.
    """
    signs = 2.0 * vectors - 1.0
    losses = np.empty((len(scores), len(vectors)))
    for s, sign in enumerate(signs):
        losses[:, s] = np.logaddexp(0.0, logsumexp(-sign * scores, axis=1))
    return losses


def class_log_odds(vectors: NDArray[np.uint8], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what the shares of the classes add to the logits of the labels that stand for them.

    A single label stands for the second of two classes: its share against that of the first. A
    class that has no weight is next to impossible.
    """
    least = np.finfo(np.float64).tiny
    shares = weights / weights.sum()
    of_labels = np.log(np.maximum(shares @ vectors, least))
    if vectors.shape[1] > 1:
        return np.asarray(of_labels)
    of_others = np.log(np.maximum(shares @ (1.0 - vectors), least))
    return np.asarray(of_labels - of_others)
