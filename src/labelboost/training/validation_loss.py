"""The loss of single examples, as training minimises it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from labelboost.label_sets import LabelSets, softmax_logits

ExampleLoss = Callable[[NDArray[np.intp], NDArray[np.float64]], NDArray[np.float64]]
"""Takes examples and their scores (n_examples, n_labels); returns the loss of each."""


def example_loss(
    loss: str, truth: NDArray[np.uint8], known: LabelSets
) -> tuple[ExampleLoss, NDArray[np.bool_]]:
    """Return what computes the loss, and which of the examples have one.

    The softmax over the label sets seen in training gives no probability to any other set: no rule
    can change that, so examples with other sets are left out.
    """
    if loss == "labelset_softmax":
        return _softmax_loss(truth, known)
    joint = loss == "example_logistic"

    def logistic(examples: NDArray[np.intp], scores: NDArray[np.float64]) -> NDArray[np.float64]:
        exponents = np.where(truth[examples] == 1, -scores, scores)
        if joint:
            values: NDArray[np.float64] = np.logaddexp(0.0, logsumexp(exponents, axis=1))
        else:
            values = np.logaddexp(0.0, exponents).sum(axis=1)
        return values

    return logistic, np.ones(len(truth), dtype=bool)


def _softmax_loss(
    truth: NDArray[np.uint8], known: LabelSets
) -> tuple[ExampleLoss, NDArray[np.bool_]]:
    position = {vector.tobytes(): s for s, vector in enumerate(known.vectors)}
    set_of = np.array([position.get(vector.tobytes(), -1) for vector in truth], dtype=np.intp)

    def softmax(examples: NDArray[np.intp], scores: NDArray[np.float64]) -> NDArray[np.float64]:
        logits = softmax_logits(scores, known.vectors, known.weights)
        # Of unknown sets it is that of the last one, which nobody looks at.
        own: NDArray[np.float64] = logits[np.arange(len(examples)), set_of[examples]]
        losses: NDArray[np.float64] = logsumexp(logits, axis=1) - own
        return losses

    return softmax, set_of >= 0
