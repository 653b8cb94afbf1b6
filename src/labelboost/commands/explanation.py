"""Which rules fired for an example, and how its label set was chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelboost.data.dataset import Features
from labelboost.estimators.base import BoostingClassifier
from labelboost.label_sets import example_losses


@dataclass(frozen=True, slots=True, eq=False)
class RankedLabelSets:
    """The likeliest label sets seen in training; none for losses that do not know label sets."""

    vectors: NDArray[Any]
    """(n_sets, K), 0 or 1."""
    losses: NDArray[np.float64]
    """The loss at the scores if this were the true set."""
    probabilities: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """Why a model predicts what it predicts for an example."""

    rules: NDArray[np.int64]
    """Numbers of the rules whose conditions hold, ascending; their heads add up to the scores."""
    scores: NDArray[np.float64]
    probabilities: NDArray[np.float64]
    predicted: NDArray[Any]
    label_sets: RankedLabelSets


def explain_example(model: BoostingClassifier, x: Features, *, n_label_sets: int) -> Explanation:
    """Explain the prediction for a matrix with one row."""
    row = np.asarray(x if isinstance(x, np.ndarray) else x.toarray()).ravel()
    fired = [
        number
        for number, rule in enumerate(model.rules_)
        if all(c.covers(row[c.feature : c.feature + 1])[0] for c in rule.conditions)
    ]
    scores = model.decision_function(x)
    return Explanation(
        rules=np.array(fired, dtype=np.int64),
        scores=scores[0],
        probabilities=model.predict_proba(x)[0],
        predicted=np.asarray(model.predict(x)).ravel(),
        label_sets=_ranked(model, x, scores, n_label_sets),
    )


def _ranked(
    model: BoostingClassifier, x: Features, scores: NDArray[np.float64], top: int
) -> RankedLabelSets:
    if model._fitted_loss == "label_logistic":
        nothing = np.zeros(0)
        return RankedLabelSets(np.zeros((0, scores.shape[1])), nothing, nothing)
    likely = model.predict_label_sets(x, top=top)
    vectors, probabilities = likely.label_sets[0], likely.probabilities[0]
    if model._fitted_loss == "labelset_softmax":
        with np.errstate(divide="ignore"):
            return RankedLabelSets(vectors, -np.log(probabilities), probabilities)
    losses = example_losses(scores, vectors.astype(np.uint8))[0]
    return RankedLabelSets(vectors, losses, probabilities)
