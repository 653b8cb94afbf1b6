"""How the loss of a model falls with the number of its rules or trees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelboost.explanations.given_labels import given_labels
from labelboost.label_sets import softmax_logits
from labelboost.parameters import check_choice, check_stages
from labelboost.validation import check_predict_features, check_sample_weight

if TYPE_CHECKING:
    from labelboost.estimators.explaining import ExplainableClassifier

Floats = NDArray[np.float64]
Labels = NDArray[np.uint8]
MEASURES = {
    "loss": "mean loss",
    "subset_01": "Subset 0/1 loss",
    "hamming": "Hamming loss",
}
"""What can be drawn against the number of rules, and its title."""


@dataclass(frozen=True, slots=True, eq=False)
class LossCurve:
    """A measure after so many rules or trees."""

    stages: NDArray[np.int64]
    values: Floats
    title: str = MEASURES["loss"]


def loss_curve(
    model: ExplainableClassifier,
    X: Any,
    Y: Any,
    *,
    measure: str = "loss",
    stages: Sequence[int] | None = None,
    sample_weight: ArrayLike | None = None,
) -> LossCurve:
    """Compute the mean loss of the first rules on any data: after each rule, or after `stages`.

    `measure`: "loss" is the one that was minimised, without the L2 term; "subset_01" and "hamming"
    are those of the predicted label sets. Trees count as rules do.
    """
    chosen = check_choice("measure", measure, MEASURES)
    decode = model._by_labels()._decoder()
    matrix = check_predict_features(X, model._schema, type(model).__name__)
    truth = given_labels(Y, matrix.shape[0], model)
    weights = check_sample_weight(sample_weight, matrix.shape[0])
    stops = check_stages(stages, model._n_stages)
    of_examples: Callable[[Floats], Floats]
    if chosen == "loss":
        of_examples = _training_loss(model, truth)
    else:

        def of_examples(scores: Floats) -> Floats:
            wrong = decode(scores).reshape(truth.shape) != truth
            errors: Floats = wrong.any(axis=1) if chosen == "subset_01" else wrong.mean(axis=1)
            return errors.astype(np.float64)

    means = [np.average(of_examples(s), weights=weights) for s in model._sum_stages(matrix, stops)]
    return LossCurve(stops, np.array(means, dtype=np.float64), MEASURES[chosen])


def _training_loss(model: ExplainableClassifier, truth: Labels) -> Callable[[Floats], Floats]:
    """Return what computes the loss of each example from scores."""
    signs = 1.0 - 2.0 * truth
    if model._fitted_loss == "label_logistic":
        return lambda scores: np.logaddexp(0.0, signs * scores).sum(axis=1)
    if model._fitted_loss == "example_logistic":
        return lambda scores: np.logaddexp(0.0, np.logaddexp.reduce(signs * scores, axis=1))
    position = {vector.tobytes(): s for s, vector in enumerate(model._known)}
    own = np.array([position.get(vector.tobytes(), -1) for vector in truth])
    if (own < 0).any():
        raise ValueError(
            f"training never saw the label sets of {int((own < 0).sum())} examples, the first in "
            f"row {int((own < 0).argmax())} of Y, so that their loss is infinite. Leave them out, "
            "or choose measure='subset_01' or 'hamming'."
        )

    def of_sets(scores: Floats) -> Floats:
        logits = softmax_logits(scores, model._known, model._known_weights)
        rows = np.arange(len(own))
        losses: Floats = np.logaddexp.reduce(logits, axis=1) - logits[rows, own]
        return losses

    return of_sets
