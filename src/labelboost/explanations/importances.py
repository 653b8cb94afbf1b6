"""Which features matter, by the gain of the rules that ask for them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labelboost.model import Rule


class UnknownGainError(ValueError, AttributeError):
    """Raised for models whose rules do not know their gain.

    An AttributeError as well, so that `hasattr(model, "feature_importances_")` is False.
    """


def feature_importances(rules: Sequence[Rule], n_features: int) -> NDArray[np.float64]:
    """Return the share of each feature in the gain of all rules: (n_features,).

    A rule divides its gain equally among its conditions. The shares add up to 1, unless no rule
    has conditions and a positive gain: then they are 0.
    """
    total = np.asarray(_gains(rules) @ _condition_shares(rules, n_features))
    shares: NDArray[np.float64] = _normalised(total[np.newaxis])[0]
    return shares


def label_feature_importances(
    rules: Sequence[Rule], n_features: int, n_labels: int
) -> NDArray[np.float64]:
    """Return the share of each feature in the gain for each label: (n_labels, n_features).

    A rule divides its gain among the labels in proportion to the absolute scores of its head,
    and the part of each label equally among its conditions. Rows add up to 1; that of a label
    for which no rule has a gain is 0.
    """
    heads = np.array([rule.head for rule in rules]).reshape(len(rules), n_labels)
    largest = np.abs(heads).max(axis=1, keepdims=True, initial=0.0)
    sizes = np.abs(heads) / np.where(largest > 0.0, largest, 1.0)  # so that no sum overflows
    total = sizes.sum(axis=1, keepdims=True)
    of_labels = _gains(rules)[:, np.newaxis] * sizes / np.where(total > 0.0, total, 1.0)
    shares = sp.csr_array(of_labels.T) @ _condition_shares(rules, n_features)
    return _normalised(shares.toarray())


def _gains(rules: Sequence[Rule]) -> NDArray[np.float64]:
    """Get the gains of the rules that have conditions, relative to the largest one."""
    gains = np.array([rule.gain if rule.conditions else 0.0 for rule in rules])
    if np.isnan(gains).any():
        raise UnknownGainError(
            f"the gain of rule {int(np.isnan(gains).argmax())} is unknown, because this model "
            "comes from a file that did not store gains; fit it again to get importances"
        )
    # A learning rate above 2 overshoots: such a rule gains nothing.
    gains = np.maximum(gains, 0.0)
    relative: NDArray[np.float64] = gains / (gains.max(initial=0.0) or 1.0)
    return relative


def _condition_shares(rules: Sequence[Rule], n_features: int) -> sp.csr_array:
    """Count the conditions of each rule on each feature, divided by all of its conditions."""
    features = [c.feature for rule in rules for c in rule.conditions]
    sizes = np.array([len(rule.conditions) for rule in rules])
    owners = np.repeat(np.arange(len(rules)), sizes)
    shares = np.repeat(1.0 / np.maximum(sizes, 1), sizes)
    return sp.csr_array((shares, (owners, features)), shape=(len(rules), n_features))


def _normalised(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    total = rows.sum(axis=1, keepdims=True)
    result: NDArray[np.float64] = rows / np.where(total > 0.0, total, 1.0)
    return result
