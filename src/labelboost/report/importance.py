"""Which features matter."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from labelboost.model import Rule
from labelboost.report.packing import Content, rounded
from labelboost.report.subject import Subject

BY_GAIN = (
    "The importance that the model has recorded (feature_importances_): how much conditions on the "
    "feature improved the training loss, as a share of the whole."
)
BY_EFFECT = (
    "The sum over all rules of coverage times size of the head (the sum of its absolute scores), "
    "in equal parts for the features of the rule's conditions, as a share of the whole."
)


def describe_importance(subject: Subject, used: Sequence[int]) -> Content:
    """Return the importance of the features that rules use, and how it is defined."""
    recorded = getattr(subject.model, "feature_importances_", None)
    if recorded is None:
        importance = effect_importance(subject.rules, len(subject.feature_names))
    else:
        importance = np.asarray(recorded, dtype=np.float64)
    return {
        "definition": BY_EFFECT if recorded is None else BY_GAIN,
        "values": rounded(importance[list(used)], 4),
    }


def effect_importance(rules: Sequence[Rule], n_features: int) -> NDArray[np.float64]:
    """Share out coverage times size of the head among the features of each rule's conditions."""
    importance = np.zeros(n_features)
    for rule in rules:
        features = list({condition.feature for condition in rule.conditions})
        if features:
            importance[features] += rule.coverage * np.abs(rule.head).sum() / len(features)
    total = importance.sum()
    return importance / total if total > 0 else importance
