"""The rules: conditions in words, heads, and whom they cover."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from labelboost.model import Condition, Rule
from labelboost.report.packing import Content, pack_array, pack_integers
from labelboost.report.subject import Subject
from labelboost.wording import describe_conditions

ROWS_AT_ONCE = 4096
PRIVATE_CHARACTERS = range(0xE000, 0xF900)


def used_features(rules: Sequence[Rule]) -> list[int]:
    """Return the features that occur in conditions, ascending."""
    return sorted({condition.feature for rule in rules for condition in rule.conditions})


def describe_rules(
    subject: Subject, used: Sequence[int], covered_here: NDArray[np.int64]
) -> Content:
    """Pack all rules. Of features, the positions in `used` are stored."""
    position = {feature: index for index, feature in enumerate(used)}
    mark = _unused_character(subject)
    names = [mark] * len(subject.feature_names)
    texts: dict[str, int] = {}
    features, wordings, ends = [], [], [0]
    for rule in subject.rules:
        for feature, conditions in _by_feature(rule):
            text = describe_conditions(conditions, names, subject.categories)
            features.append(position[feature])
            wordings.append(texts.setdefault(text, len(texts)))
        ends.append(len(features))
    return {
        "mark": mark,
        "texts": list(texts),
        "ends": pack_integers(np.array(ends)),
        "features": pack_integers(np.array(features, dtype=np.int64)),
        "wordings": pack_integers(np.array(wordings, dtype=np.int64)),
        "conditions": pack_integers(np.array([len(r.conditions) for r in subject.rules])),
        "coverage": pack_integers(np.array([rule.coverage for rule in subject.rules])),
        "here": pack_integers(covered_here),
        "heads": pack_heads(np.array([rule.head for rule in subject.rules])),
    }


def pack_heads(heads: NDArray[np.float64]) -> Content:
    """Pack heads in single precision, or as palettes where labels share their scores.

    A palette lists the distinct scores of a rule; a byte per label tells which one it has.
    """
    single = heads.astype(np.float32)
    palettes = [np.unique(head, return_inverse=True) for head in single]
    sizes = [len(values) for values, _ in palettes]
    if max(sizes) <= 256 and 4 * sum(sizes) + heads.size < 4 * heads.size:
        return {
            "palette": pack_array(np.concatenate([values for values, _ in palettes]), "f4"),
            "sizes": pack_integers(np.array(sizes)),
            "codes": pack_array(np.stack([codes.ravel() for _, codes in palettes]), "u1"),
        }
    return {"scores": pack_array(single, "f4")}


def covering(
    subject: Subject, used: Sequence[int], rows: slice | NDArray[np.intp]
) -> NDArray[np.bool_]:
    """Tell which rules cover which of some examples: (n_examples, n_rules)."""
    columns = np.asfortranarray(subject.columns(rows, used), dtype=np.float64)
    position = {feature: index for index, feature in enumerate(used)}
    covered = np.ones((len(subject.rules), len(columns)), dtype=bool)
    for number, rule in enumerate(subject.rules):
        for condition in rule.conditions:
            covered[number] &= condition.covers(columns[:, position[condition.feature]])
    return covered.T


def count_covered(subject: Subject, used: Sequence[int]) -> NDArray[np.int64]:
    """Count the examples of the data that each rule covers."""
    counts = np.zeros(len(subject.rules), dtype=np.int64)
    for start in range(0, len(subject.Y), ROWS_AT_ONCE):
        counts += np.count_nonzero(
            covering(subject, used, slice(start, start + ROWS_AT_ONCE)), axis=0
        )
    return counts


def _by_feature(rule: Rule) -> Iterator[tuple[int, list[Condition]]]:
    grouped: dict[int, list[Condition]] = {}
    for condition in rule.conditions:
        grouped.setdefault(condition.feature, []).append(condition)
    yield from grouped.items()


def _unused_character(subject: Subject) -> str:
    """Find a character to stand for the feature in wordings: one that is in no category."""
    taken = set(chain.from_iterable(str(c) for cs in subject.categories.values() for c in cs))
    return next(chr(code) for code in PRIVATE_CHARACTERS if chr(code) not in taken)
