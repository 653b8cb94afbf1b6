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
"""What the core makes rules with, and reads them."""


def pack_rules(rules: Sequence[Rule], n_features: int, n_labels: int) -> Ensemble:
    """Pack rules for prediction."""
    heads = np.array([rule.head for rule in rules], dtype=np.float64)
    return RULE_MAKER.pack(rules, heads.reshape(len(rules), n_labels), n_features)
