"""Which rules fired for an example, and how its label set was chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelboost.commands.rule_list import NumberedRule
from labelboost.data.dataset import Features
from labelboost.estimators.base import BoostingClassifier

LABEL_WISE = "label_logistic"


@dataclass(frozen=True, slots=True, eq=False)
class Alternative:
    """A label set and how likely it is."""

    labels: NDArray[Any]
    """(K,), 0 or 1."""
    probability: float


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """Why a model predicts what it predicts for an example."""

    fired: list[NumberedRule]
    """Rules whose conditions hold, in their order; their heads add up to the scores exactly."""
    scores: NDArray[np.float64]
    probabilities: NDArray[np.float64]
    predicted: NDArray[Any]
    alternatives: list[Alternative]
    """The likeliest label sets seen in training; none for losses that do not know label sets."""


def explain_example(model: BoostingClassifier, x: Features, top: int) -> Explanation:
    """Explain the prediction for a matrix with one row."""
    row = np.asarray(x if isinstance(x, np.ndarray) else x.toarray()).ravel()
    fired = [
        NumberedRule(i, rule)
        for i, rule in enumerate(model.rules_)
        if all(c.covers(row[c.feature : c.feature + 1])[0] for c in rule.conditions)
    ]
    alternatives: list[Alternative] = []
    if model._fitted_loss != LABEL_WISE:
        likely = model.predict_label_sets(x, top=top)
        pairs = zip(likely.label_sets[0], likely.probabilities[0].tolist(), strict=True)
        alternatives = [Alternative(labels, probability) for labels, probability in pairs]
    return Explanation(
        fired=fired,
        scores=model.decision_function(x)[0],
        probabilities=model.predict_proba(x)[0],
        predicted=np.asarray(model.predict(x)).ravel(),
        alternatives=alternatives,
    )
