"""Rules on their way from the core to Python and back, and what the core does in place of NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from labelboost import RuleBoostingClassifier, _core
from labelboost._core import RuleMaker
from labelboost.data import load_digits_display
from labelboost.model import OPERATORS, RULE_MAKER, Condition, Rule, pack_rules

ONE = np.ones(1)


@given(st.integers(0, 2**32 - 1))
@example(0)
@example(2**32 - 1)
def test_seeds_are_those_of_numpy(seed: int) -> None:
    generator = np.random.RandomState(seed)
    expected = generator.randint(0, 2**63 - 1, dtype=np.int64)
    assert _core.first_draw_of_numpy(seed) == expected


@dataclass(frozen=True)
class WithoutSlots:
    feature: int
    operator: str
    value: float
    missing: str


@pytest.mark.parametrize("condition", [WithoutSlots, int, Rule])
def test_only_classes_with_the_right_slots_are_filled(condition: type) -> None:
    with pytest.raises((ValueError, AttributeError)):
        RuleMaker(Rule, condition, OPERATORS, "fails")
    with pytest.raises(ValueError, match="a name for each operator"):
        RuleMaker(Rule, Condition, OPERATORS[:3], "fails")


def rule(*conditions: Any) -> Rule:
    return Rule(conditions, ONE, 1)


EMPTY = object.__new__(Condition)


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ("a rule", TypeError, "another class"),
        (object.__new__(Rule), TypeError, "not complete"),
        (rule(3), TypeError, "another class"),
        (rule(EMPTY), TypeError, "not complete"),
        (rule(Condition(0, "<", 0.5)), ValueError, "operator"),  # type: ignore[arg-type]
        (rule(Condition(0, "=", np.nan)), ValueError, "missing"),
        (rule(Condition(1, "=", 0.0)), ValueError, "index"),
        (rule(Condition(-1, "=", 0.0)), ValueError, "index"),
    ],
)
def test_rules_that_are_none_are_refused(wrong: Any, error: type, message: str) -> None:
    good = rule(Condition(0, ">", 0.5))
    with pytest.raises(error, match=message):
        RULE_MAKER.pack([good, wrong], np.ones((2, 1)), 1)
    with pytest.raises(ValueError, match="a head for each rule"):
        RULE_MAKER.pack([good], np.ones((2, 1)), 1)


def test_numbers_of_numpy_are_packed_as_those_of_python() -> None:
    operator = "".join((">", ""))  # equal to the one that is known, not the same
    made = rule(Condition(np.int64(0), operator, np.float32(0.5)))  # type: ignore[arg-type]
    scores = pack_rules([made], 1, 1).predict_dense(np.array([[0.25], [0.75]]), 1)
    np.testing.assert_array_equal(scores, [[0.0], [1.0]])


def test_conditions_that_rules_have_in_common_are_one_object() -> None:
    data = load_digits_display()
    model = RuleBoostingClassifier(n_rules=30, random_state=0).fit(data.X[:200], data.Y[:200])
    conditions = [condition for rule in model.rules_ for condition in rule.conditions]
    assert len(set(conditions)) < len(conditions)
    assert len(set(map(id, conditions))) == len(set(conditions))
