"""Rules as lists that can be read: a condition is [feature, operator, value].

A head is the list of all scores, or, where that is shorter, a list of groups: a score and the
labels that get it, as in [[0.37, 2, 5], [-0.24, 0]]. Labels in no group get the score 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelboost.model import Condition, Rule
from labelboost.persistence.codec import Budget
from labelboost.persistence.nodes import EXACT, Malformed, Node

SCORE_BYTES = 24
"""Of an entry of a head: in the rule, in the packed ensemble and on the way there."""
LARGEST_TOTAL = 1e300
"""Of the absolute scores of all rules, so that no sum of them overflows. Those of training stay
below 1e100 times small factors."""
SCORE_LENGTH, LABEL_LENGTH = 20, 4
"""Characters, roughly."""


def encode_rule(rule: Rule) -> dict[str, Any]:
    return {
        "conditions": [[c.feature, c.operator, float(c.value)] for c in rule.conditions],
        "head": _encode_head(rule.head),
        "coverage": int(rule.coverage),
        "gain": None if math.isnan(rule.gain) else float(rule.gain),
    }


def decode_rules(
    node: Node, nominal: NDArray[np.bool_], n_labels: int, budget: Budget
) -> list[Rule]:
    items = node.items(fewest=1)
    budget.spend(SCORE_BYTES * len(items) * n_labels, f"{len(items)} rules x {n_labels} labels")
    rules = [decode_rule(item, nominal, n_labels) for item in items]
    check_total(*(rule.head for rule in rules))
    return rules


def check_total(*heads: NDArray[np.float64]) -> None:
    """Refuse scores so large that sums of them may overflow."""
    with np.errstate(over="ignore"):
        total = sum(float(np.abs(head).sum()) for head in heads)
    if not total <= LARGEST_TOTAL:
        raise Malformed(f"the scores of its rules add up to more than {LARGEST_TOTAL:g}")


def decode_rule(node: Node, nominal: NDArray[np.bool_], n_labels: int) -> Rule:
    conditions, head, coverage, gain = node.fields("conditions", "head", "coverage", "gain")
    scores = _decode_head(head, n_labels)
    scores.flags.writeable = False  # as after training
    return Rule(
        tuple(_decode_condition(condition, nominal) for condition in conditions.items()),
        scores,
        coverage.integer(0, EXACT),
        math.nan if gain.value is None else gain.number(),
    )


def _decode_condition(node: Node, nominal: NDArray[np.bool_]) -> Condition:
    feature, operator, value = node.items(exactly=3)
    j = feature.integer(0, len(nominal) - 1)
    symbol: Any = operator.choice(("=", "!=") if nominal[j] else ("<=", ">"))
    return Condition(j, symbol, value.number())


def _encode_head(head: NDArray[np.float64]) -> list[Any]:
    bits = np.ascontiguousarray(head, dtype=np.float64).view(np.int64)
    labels = np.flatnonzero(bits)  # -0.0 is not 0.0 here: what is loaded has the same bits
    _, first, group_of = np.unique(bits[labels], return_index=True, return_inverse=True)
    grouped = SCORE_LENGTH * len(first) + LABEL_LENGTH * len(labels)
    if grouped > SCORE_LENGTH * len(labels) + LABEL_LENGTH * (len(head) - len(labels)):
        return list(head.tolist())
    groups = [[float(head[labels[position]])] for position in first]
    for label, group in zip(labels.tolist(), group_of.tolist(), strict=True):
        groups[group].append(label)
    return [groups[group] for group in np.argsort(first)]


def _decode_head(node: Node, n_labels: int) -> NDArray[np.float64]:
    items = node.items()
    if items and type(items[0].value) is not list:
        return node.numbers(exactly=n_labels)
    head = np.zeros(n_labels)
    seen = np.zeros(n_labels, dtype=bool)
    for item in items:
        entries = item.items(fewest=2)
        score = entries[0].number()
        for entry in entries[1:]:
            label = entry.integer(0, n_labels - 1)
            if seen[label]:
                raise entry.fault("a label without a score before")
            seen[label] = True
            head[label] = score
    return head
