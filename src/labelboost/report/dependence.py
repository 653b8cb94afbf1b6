"""Which labels the heads of the rules raise and lower together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from labelboost.report.packing import Content, pack_array, rounded
from labelboost.report.subject import Subject

MOST_LABELS = 40
"""On the map; more would not be readable."""
MOST_PAIRS = 200
UNKNOWN = -128
"""Stands for the correlation of a label that always or never applies."""


def describe_dependence(subject: Subject) -> Content | None:
    """Compare the heads' scores of every two labels; None where rules move single labels only."""
    rules = subject.rules[1:]
    n_labels = subject.Y.shape[1]
    if n_labels < 2 or not rules:
        return None
    heads = np.array([rule.head for rule in rules])
    coverage = np.array([rule.coverage for rule in rules], dtype=np.float64)
    strength = joint_movement(heads, coverage)
    apart = strength - np.diag(np.diag(strength))
    if not apart.any():
        return None
    shown = np.sort(np.argsort(-np.abs(apart).sum(axis=0), kind="stable")[:MOST_LABELS])
    agreement, correlation = scale_to_one(strength), _correlation(subject.Y)
    order = shown[_alike_together(agreement[np.ix_(shown, shown)])]
    first, second = np.triu_indices(n_labels, 1)
    pairs = np.argsort(-np.abs(apart[first, second]), kind="stable")[:MOST_PAIRS]
    pairs = pairs[apart[first[pairs], second[pairs]] != 0]
    first, second = first[pairs], second[pairs]
    total = max(float(subject.rules[0].coverage), 1.0)
    return {
        "labels": order.tolist(),
        "heads": _percent(agreement[np.ix_(order, order)]),
        "truth": _percent(correlation[np.ix_(order, order)]),
        "pairs": {
            "first": first.tolist(),
            "second": second.tolist(),
            "agreement": rounded(agreement[first, second], 3),
            "strength": rounded(strength[first, second] / total, 3),
            "correlation": rounded(correlation[first, second], 3),
        },
    }


def joint_movement(
    heads: NDArray[np.float64], coverage: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Sum, over the rules, coverage times the product of the scores of two labels: (K, K)."""
    result: NDArray[np.float64] = (heads * coverage[:, np.newaxis]).T @ heads
    return result


def scale_to_one(products: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn sums of products into cosines, from -1 to 1; 0 for what never moves."""
    size = np.sqrt(np.diag(products))
    scale = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0)
    cosines: NDArray[np.float64] = np.clip(products * np.outer(scale, scale), -1.0, 1.0)
    return cosines


def _correlation(Y: NDArray[np.uint8]) -> NDArray[np.float64]:
    centred = Y - Y.mean(axis=0)
    products = centred.T @ centred
    constant = Y.min(axis=0) == Y.max(axis=0)
    result = scale_to_one(products)
    result[constant, :] = result[:, constant] = np.nan
    return result


def _alike_together(agreement: NDArray[np.float64]) -> NDArray[np.intp]:
    """Order labels so that those that move together stand together."""
    if len(agreement) < 3:
        return np.arange(len(agreement))
    distance = 1.0 - (agreement + agreement.T) / 2.0
    np.fill_diagonal(distance, 0.0)
    tree = linkage(squareform(distance, checks=False), "average", optimal_ordering=True)
    return np.asarray(leaves_list(tree), dtype=np.intp)


def _percent(values: NDArray[np.float64]) -> Content:
    whole = np.where(np.isnan(values), UNKNOWN, np.round(100.0 * np.nan_to_num(values)))
    return pack_array(whole.astype(np.int8), "i1")
