"""What one rule sees around itself: labels on either side of the borders that it draws."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labelboost.explanations.given_labels import given_labels
from labelboost.explanations.naming import Names, rule_index
from labelboost.model import Condition
from labelboost.parameters import check_integer
from labelboost.validation import FeatureMatrix, check_predict_features
from labelboost.wording import format_number

if TYPE_CHECKING:
    from labelboost.estimators.explaining import ExplainableClassifier

MISSING = "missing"
OTHERS = "others"


@dataclass(frozen=True, slots=True, eq=False)
class Neighbourhood:
    """The examples that satisfy a rule's conditions on all features but one, by its values."""

    feature: int
    nominal: bool
    labels: NDArray[np.int64]
    """The labels with the largest scores in the rule's head."""
    groups: tuple[str, ...]
    """Intervals of the feature, or categories, in words; and the missing values, if any."""
    counts: NDArray[np.int64]
    """Examples in each group."""
    rates: NDArray[np.float64]
    """Their share with each label: (n_groups, n_labels)."""
    covered: NDArray[np.bool_]
    """Whether the rule covers the group; no group is covered in part."""


def rule_neighbourhood(
    model: ExplainableClassifier,
    rule: int,
    X: Any,
    Y: Any,
    *,
    max_labels: int = 3,
    max_groups: int = 8,
) -> list[Neighbourhood]:
    """Look around a rule in given data, once along each feature that it has conditions on.

    Examples that satisfy the other conditions are grouped by their values of the feature: into
    intervals with about equally many of them, with borders also where the rule has its
    thresholds, or by category. Where label rates jump at a border, the threshold is well placed.
    """
    number = rule_index(model, rule)
    n_labels = check_integer("max_labels", max_labels, minimum=1)
    n_groups = check_integer("max_groups", max_groups, minimum=2)
    matrix = check_predict_features(X, model._schema, type(model).__name__)
    truth = given_labels(Y, matrix.shape[0], model)
    chosen = model.rules_[number]
    if not chosen.conditions:
        raise ValueError(f"rule {number} has no conditions, and so no neighbourhood")
    by_feature: dict[int, list[Condition]] = {}
    for condition in chosen.conditions:
        by_feature.setdefault(condition.feature, []).append(condition)
    columns = {feature: _column(matrix, feature) for feature in by_feature}
    satisfied = {
        feature: np.logical_and.reduce([c.covers(columns[feature]) for c in conditions])
        for feature, conditions in by_feature.items()
    }
    strongest = np.argsort(-np.abs(chosen.head), kind="stable")[:n_labels]
    names = Names.of(model).for_display()
    found = []
    for feature, conditions in by_feature.items():
        near = np.ones(matrix.shape[0], dtype=bool)
        for other, covered in satisfied.items():
            if other != feature:
                near &= covered
        nominal = bool(model._schema.nominal[feature])
        group = _by_category if nominal else _by_interval
        index, texts = group(columns[feature][near], conditions, n_groups, names)
        counts = np.bincount(index, minlength=len(texts))
        rates = (
            np.stack(
                [np.bincount(index, truth[near, k], minlength=len(texts)) for k in strongest],
                axis=1,
            )
            / np.maximum(counts, 1)[:, np.newaxis]
        )
        inside = np.bincount(index, satisfied[feature][near], minlength=len(texts)) > 0
        shown = counts > 0
        found.append(
            Neighbourhood(
                feature,
                nominal,
                strongest,
                tuple(text for text, show in zip(texts, shown, strict=True) if show),
                counts[shown],
                rates[shown],
                inside[shown],
            )
        )
    return found


def _column(matrix: FeatureMatrix, feature: int) -> NDArray[np.float64]:
    if isinstance(matrix, np.ndarray):
        return np.asarray(matrix[:, feature], dtype=np.float64)
    column = sp.csc_array(matrix)[:, [feature]].toarray()
    return np.asarray(column[:, 0], dtype=np.float64)


Groups = tuple[NDArray[np.int64], list[str]]
"""The group of each example, and the groups in words."""


def _by_interval(
    values: NDArray[np.float64], conditions: list[Condition], n_groups: int, _: Names
) -> Groups:
    present = values[~np.isnan(values)]
    borders = [condition.value for condition in conditions]
    if present.size:
        shares = np.linspace(0.0, 1.0, n_groups + 1)[1:-1]
        borders += np.quantile(present, shares, method="inverted_cdf").tolist()
    inner = np.unique(borders)
    # To the left: an interval contains its upper border, as the conditions have it.
    index = np.searchsorted(inner, values, side="left")
    index[np.isnan(values)] = len(inner) + 1
    digits = 3
    while digits < 17 and len({format_number(b, digits) for b in inner}) < len(inner):
        digits += 1
    texts = [format_number(border, digits) for border in inner]
    middle = [f"{low} to {high}" for low, high in pairwise(texts)]
    return index, [f"≤ {texts[0]}", *middle, f"> {texts[-1]}", MISSING]


def _by_category(
    values: NDArray[np.float64], conditions: list[Condition], n_groups: int, names: Names
) -> Groups:
    present = values[~np.isnan(values)]
    codes, counts = np.unique(present, return_counts=True)
    mentioned = {condition.value for condition in conditions}
    # What the rule names comes first; of the rest, whatever is frequent.
    order = sorted(
        range(len(codes)), key=lambda i: (codes[i] not in mentioned, -counts[i], codes[i])
    )
    own = [float(codes[i]) for i in order[: max(n_groups - 1, len(mentioned))]]
    index = np.full(len(values), len(own), dtype=np.int64)
    for position, code in enumerate(own):
        index[values == code] = position
    index[np.isnan(values)] = len(own) + 1
    feature = conditions[0].feature
    return index, [*(names.category(feature, code) for code in own), OTHERS, MISSING]
