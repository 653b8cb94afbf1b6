"""Rules in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import groupby

from labelboost.model import Condition, Rule

Categories = Mapping[int, Sequence[object]]
"""Feature index to the names of its categories, in the order of their codes."""


def describe_rule(
    rule: Rule,
    feature_names: Sequence[str] | None = None,
    label_names: Sequence[str] | None = None,
    categories: Categories | None = None,
    *,
    max_labels: int = 6,
) -> str:
    """Put a rule into words: `if 2.5 < width <= 7 and colour = red: +1.32 {top, middle}, ...`.

    Labels come in order of the size of their scores; those that share a score stand together.
    Labels with score 0 are left out, and of the others at most `max_labels` are named. Names are
    shown as they are: escape the text where markup has a meaning.
    """
    head = describe_head(rule, label_names, max_labels=max_labels)
    if not rule.conditions:
        return f"in general: {head}"
    return f"if {describe_conditions(rule.conditions, feature_names, categories)}: {head}"


def describe_conditions(
    conditions: Sequence[Condition],
    feature_names: Sequence[str] | None = None,
    categories: Categories | None = None,
) -> str:
    """Put a conjunction into words, with one part for each feature, in order of appearance."""
    by_feature: dict[int, list[Condition]] = {}
    for condition in conditions:
        by_feature.setdefault(condition.feature, []).append(condition)
    return " and ".join(
        _describe_feature(_name(feature_names, feature, "feature"), parts, categories)
        for feature, parts in by_feature.items()
    )


def describe_head(
    rule: Rule, label_names: Sequence[str] | None = None, *, max_labels: int = 6
) -> str:
    """Put the scores of a rule into words."""
    if max_labels < 1:
        raise ValueError(f"max_labels must be at least 1, got {max_labels}")
    scores = [float(score) for score in rule.head]
    ranked = sorted(
        (k for k, score in enumerate(scores) if score != 0),
        key=lambda k: (-abs(scores[k]), -scores[k], k),
    )
    if not ranked:
        return "no effect"
    groups = [list(group) for _, group in groupby(ranked, key=lambda k: scores[k])]
    shown = _share_out([len(group) for group in groups], max_labels)
    braces = len(groups) < len(ranked)
    parts = []
    for group, count in zip(groups[: len(shown)], shown, strict=True):
        text = ", ".join(_name(label_names, k, "label") for k in group[:count])
        if len(group) > count:
            text += f" and {len(group) - count} more"
        parts.append(f"{format_score(scores[group[0]])} {f'{{{text}}}' if braces else text}")
    unseen = sum(len(group) for group in groups[len(shown) :])
    return ", ".join(parts) + (f" and {unseen} more" if unseen else "")


def format_score(score: float) -> str:
    """Show a score with its sign: two decimals, or two significant digits if it is small."""
    return f"{score:+.2f}" if abs(score) >= 0.0995 else f"{score:+.2g}"


def format_number(value: float, digits: int = 4) -> str:
    """Show a number with so many significant digits, but never round all decimals away.

    Thresholds are midpoints: 12345.5 must not read 12346, which lies on the other side.
    """
    if not math.isfinite(value) or value == 0:
        return f"{value:g}"
    exponent = math.floor(math.log10(abs(value)))
    if not -5 < exponent < 15:
        return f"{value:.{digits}g}"
    text = f"{value:.{max(digits - 1 - exponent, 1)}f}"
    return text.rstrip("0").rstrip(".")


def _describe_feature(
    name: str, conditions: Sequence[Condition], categories: Categories | None
) -> str:
    """Put all conditions on one feature into words; the sharpest ones imply the others."""
    feature = conditions[0].feature
    values: dict[str, list[float]] = {"<=": [], ">": [], "=": [], "!=": []}
    for condition in conditions:
        if condition.value not in values[condition.operator]:
            values[condition.operator].append(condition.value)
    parts = []
    if values[">"] or values["<="]:
        low, high = max(values[">"], default=-math.inf), min(values["<="], default=math.inf)
        parts.append(_describe_interval(name, low, high))
    equal = [_category(value, feature, categories) for value in values["="]]
    parts.extend(f"{name} = {category}" for category in equal)
    unequal = [_category(value, feature, categories) for value in values["!="]]
    if len(unequal) == 1 and not equal:
        parts.append(f"{name} != {unequal[0]}")
    elif unequal and not equal:
        parts.append(f"{name} not in {{{', '.join(unequal)}}}")
    text = " and ".join(parts)
    # Said only where training had missing values: elsewhere nobody would ask.
    passes = {condition.missing for condition in conditions}
    if "fails" in passes or "passes" not in passes:
        return text
    return f"({text} or {name} is missing)"


def _describe_interval(name: str, low: float, high: float) -> str:
    if low == -math.inf:
        return f"{name} <= {format_number(high)}"
    if high == math.inf:
        return f"{name} > {format_number(low)}"
    digits = 4
    # Bounds that differ must not look equal, or the interval would seem to be empty.
    while low != high and digits < 17 and format_number(low, digits) == format_number(high, digits):
        digits += 1
    return f"{format_number(low, digits)} < {name} <= {format_number(high, digits)}"


def _category(value: float, feature: int, categories: Categories | None) -> str:
    names = categories.get(feature) if categories is not None else None
    if names is not None and value == int(value) and 0 <= value < len(names):
        return str(names[int(value)])
    return format_number(value)


def _name(names: Sequence[str] | None, index: int, what: str) -> str:
    return str(names[index]) if names is not None else f"{what} {index}"


def _share_out(sizes: Sequence[int], places: int) -> list[int]:
    """How many labels of each group to name: one each, then one more each, as places last.

    Groups that get no place are not in the result.
    """
    shown = [1] * min(len(sizes), places)
    left = places - len(shown)
    while left and any(count < size for count, size in zip(shown, sizes, strict=False)):
        for index, count in enumerate(shown):
            if left and count < sizes[index]:
                shown[index] += 1
                left -= 1
    return shown
