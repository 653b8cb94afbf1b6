"""Which labels the rules raise and lower together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from labelboost.estimators.explaining import ExplainableClassifier


def label_dependence(model: ExplainableClassifier) -> NDArray[np.float64]:
    """Return how much alike the rules treat each pair of labels, from -1 to 1: (K, K).

    It is the cosine of the scores that two labels get from the rules with conditions, each rule
    counted once for every training example that it covers:

        sum_r n_r h_ri h_rj / sqrt(sum_r n_r h_ri^2  sum_r n_r h_rj^2)

    1: whatever raises one label raises the other in proportion; -1: it lowers the other; 0: none
    of that, or no rule predicts for one of them. Rules for single labels find no dependence.
    """
    check_is_fitted(model)
    rules = [rule for rule in model.rules_ if rule.conditions]
    heads = np.array([rule.head for rule in rules]).reshape(len(rules), len(model._label_names))
    counts = np.array([rule.coverage for rule in rules], dtype=np.float64)
    # Each label on a scale of its own, as squares of huge or tiny scores are no numbers any more.
    scale = np.abs(heads).max(axis=0, initial=0.0)
    scaled = heads / np.where(scale > 0.0, scale, 1.0) * np.sqrt(counts)[:, np.newaxis]
    length = np.sqrt((scaled**2).sum(axis=0))
    unit = scaled / np.where(length > 0.0, length, 1.0)
    cosines: NDArray[np.float64] = np.clip(unit.T @ unit, -1.0, 1.0)
    return (cosines + cosines.T) / 2.0
