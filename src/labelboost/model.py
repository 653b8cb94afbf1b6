"""What training produces: immutable conditions and rules, and how they read in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from labelboost._core import Ensemble, RuleMaker

Operator = Literal["<=", ">", "=", "!="]
OPERATORS: tuple[Operator, ...] = ("<=", ">", "=", "!=")
"""All operators; the position of each is its code in the C++ core."""


MissingValue = Literal["fails", "passes", "assumed"]
"""What a missing value does to a condition. It "passes" if training showed that this is right, or
is "assumed" to pass if training had none there; rules that are not leaves of trees it "fails"."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A comparison of one feature with a constant."""

    feature: int
    operator: Operator
    value: float
    missing: MissingValue = "fails"

    def covers(self, column: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Tell which entries of the feature's column satisfy the condition."""
        column = np.asarray(column, dtype=np.float64)  # NumPy would round the value to float32
        comparison = {"<=": np.less_equal, ">": np.greater, "=": np.equal, "!=": np.not_equal}
        covered: NDArray[np.bool_] = comparison[self.operator](column, self.value)
        missing: NDArray[np.bool_] = np.isnan(column)
        return covered & ~missing if self.missing == "fails" else covered | missing


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """A conjunction of conditions (none: everything is covered) and a score for each label."""

    conditions: tuple[Condition, ...]
    head: NDArray[np.float64]
    coverage: int
    """Number of training examples that satisfy the conditions."""
    gain: float = math.nan
    """By how much the rule lowered the mean training loss (with the L2 term), as the quadratic
    approximation saw it when the rule was added. NaN: unknown, as in old model files."""


RULE_MAKER = RuleMaker(Rule, Condition, OPERATORS, "fails")
"""What the core makes rules with."""


def pack_rules(rules: Sequence[Rule], n_features: int, n_labels: int) -> Ensemble:
    """Pack rules for prediction; a head with many zeros is stored without them."""
    conditions = [condition for rule in rules for condition in rule.conditions]
    codes = {operator: code for code, operator in enumerate(OPERATORS)}
    heads = np.array([rule.head for rule in rules])
    stored = heads != 0.0
    stored[2 * np.count_nonzero(stored, axis=1) > n_labels] = True
    return Ensemble(
        conditions=_offsets([len(rule.conditions) for rule in rules]),
        features=np.array([condition.feature for condition in conditions], dtype=np.int32),
        operators=np.array([codes[c.operator] for c in conditions], dtype=np.uint8),
        values=np.array([condition.value for condition in conditions], dtype=np.float64),
        heads=_offsets(np.count_nonzero(stored, axis=1)),
        head_labels=np.nonzero(stored)[1].astype(np.int32),
        head_scores=heads[stored],
        n_features=n_features,
        n_labels=n_labels,
    )


def _offsets(lengths: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
