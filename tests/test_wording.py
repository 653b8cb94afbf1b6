"""Rules in words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelboost.model import Condition, Operator, Rule
from labelboost.wording import describe_conditions, describe_rule, format_number, format_score

FEATURES = ("row 3, column 5", "colour", "width")
CATEGORIES = {1: ("red", "green", "blue", "black")}
SEGMENTS = ("top", "middle", "lower left", "bottom")


def rule(head: list[float], *conditions: tuple[int, Operator, float]) -> Rule:
    return Rule(
        tuple(Condition(*condition) for condition in conditions), np.array(head, dtype=float), 10
    )


def words(*conditions: tuple[int, Operator, float]) -> str:
    return describe_conditions(
        [Condition(*condition) for condition in conditions], FEATURES, CATEGORIES
    )


def test_conditions_and_scores_by_size() -> None:
    text = describe_rule(
        rule([1.32, 0.8, -0.55, 0.0], (0, "<=", 2.5), (1, "=", 0.0)), FEATURES, SEGMENTS, CATEGORIES
    )
    assert text == (
        "if row 3, column 5 <= 2.5 and colour = red: +1.32 top, +0.80 middle, -0.55 lower left"
    )


def test_labels_that_share_a_score_stand_together() -> None:
    text = describe_rule(rule([1.32, 1.32, 0.0, -0.55], (0, ">", 2.5)), FEATURES, SEGMENTS)
    assert text == "if row 3, column 5 > 2.5: +1.32 {top, middle}, -0.55 {bottom}"


def test_a_rule_without_conditions_holds_in_general() -> None:
    assert describe_rule(rule([0.5, 0, 0, -1]), FEATURES, SEGMENTS) == (
        "in general: -1.00 bottom, +0.50 top"
    )


def test_equal_sizes_put_the_positive_first() -> None:
    assert describe_rule(rule([-1, 1])) == "in general: +1.00 label 1, -1.00 label 0"


def test_a_head_of_zeros_has_no_effect() -> None:
    assert describe_rule(rule([0, 0], (0, ">", 1))) == "if feature 0 > 1: no effect"


def test_many_labels_are_cut_short() -> None:
    head = [9.0 - k for k in range(9)]
    text = describe_rule(rule(head))
    assert text.endswith("+4.00 label 5 and 3 more")
    assert text.count("label") == 6
    assert describe_rule(rule(head), max_labels=1) == "in general: +9.00 label 0 and 8 more"
    assert "more" not in describe_rule(rule(head), max_labels=9)


def test_every_group_of_labels_gets_a_name_before_any_gets_two() -> None:
    head = [0.5] * 5 + [-2.0] * 4 + [0.25]
    assert describe_rule(rule(head), max_labels=6) == (
        "in general: -2.00 {label 5, label 6, label 7 and 1 more}, "
        "+0.50 {label 0, label 1 and 3 more}, +0.25 {label 9}"
    )
    assert describe_rule(rule(head), max_labels=2) == (
        "in general: -2.00 {label 5 and 3 more}, +0.50 {label 0 and 4 more} and 1 more"
    )


def test_max_labels_must_be_positive() -> None:
    with pytest.raises(ValueError, match="max_labels must be at least 1, got 0"):
        describe_rule(rule([1]), max_labels=0)


def test_conditions_on_one_numeric_feature_become_an_interval() -> None:
    assert words((2, ">", 1), (0, ">", 3), (2, "<=", 7.5), (2, ">", 2.5)) == (
        "2.5 < width <= 7.5 and row 3, column 5 > 3"
    )
    assert words((2, "<=", 9), (2, "<=", 4)) == "width <= 4"


def test_bounds_that_differ_never_look_equal() -> None:
    assert words((2, ">", 2.500001), (2, "<=", 2.500002)) == "2.500001 < width <= 2.500002"


def test_conditions_on_one_nominal_feature() -> None:
    assert words((1, "!=", 2)) == "colour != blue"
    assert words((1, "!=", 2), (2, ">", 0), (1, "!=", 0)) == (
        "colour not in {blue, red} and width > 0"
    )
    assert words((1, "!=", 2), (1, "=", 0)) == "colour = red"
    assert words((1, "=", 9)) == "colour = 9"
    assert words((2, "=", 1)) == "width = 1"


def test_odd_names_are_shown_verbatim() -> None:
    odd = "[bold]Swainson's {Thrush}\\ <= é"
    text = describe_rule(rule([1.0], (0, "=", 0)), (odd,), (odd,), {0: (odd,)})
    assert text == f"if {odd} = {odd}: +1.00 {odd}"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2.5, "2.5"),
        (7.0, "7"),
        (0.0, "0"),
        (-0.125, "-0.125"),
        (1 / 3, "0.3333"),
        (float(np.float32(0.1)), "0.1"),
        (123.456, "123.5"),
        (12345.5, "12345.5"),
        (1234567.0, "1234567"),
        (0.000123456, "0.0001235"),
        (1.23456e-9, "1.235e-09"),
        (-1e20, "-1e+20"),
    ],
)
def test_numbers_have_sensible_digits(value: float, text: str) -> None:
    assert format_number(value) == text


@pytest.mark.parametrize(
    ("score", "text"),
    [(1.318, "+1.32"), (-0.5, "-0.50"), (12.0, "+12.00"), (0.00421, "+0.0042"), (0.0999, "+0.10")],
)
def test_scores_have_a_sign(score: float, text: str) -> None:
    assert format_score(score) == text


@given(
    head=st.lists(st.sampled_from([-2.0, -1.0, 0.0, 0.5, 2.0, 3.0]), min_size=1, max_size=30),
    max_labels=st.integers(1, 12),
)
def test_the_number_of_named_labels_is_right(head: list[float], max_labels: int) -> None:
    text = describe_rule(rule(head), max_labels=max_labels)
    present = sum(score != 0 for score in head)
    named = text.count("label")
    assert named == min(present, max_labels)
    words_ = text.split()
    hidden = sum(int(words_[i - 1]) for i, word in enumerate(words_) if word.startswith("more"))
    assert named + hidden == present


@given(st.floats(-1e300, 1e300))
def test_a_number_reads_back_nearly_the_same(value: float) -> None:
    assert float(format_number(value)) == pytest.approx(value, rel=1e-3)


def test_missing_values_are_mentioned_where_training_had_some() -> None:
    def words_of(*missing: str) -> str:
        bounds: tuple[tuple[Operator, float], ...] = ((">", 1.0), ("<=", 5.0))
        conditions = [
            Condition(2, operator, value, state)  # type: ignore[arg-type]
            for (operator, value), state in zip(bounds, missing, strict=False)
        ]
        return describe_conditions(conditions, FEATURES)

    assert words_of("passes") == "(width > 1 or width is missing)"
    assert words_of("assumed") == "width > 1"
    assert words_of("passes", "assumed") == "(1 < width <= 5 or width is missing)"
    assert words_of("passes", "fails") == "1 < width <= 5"
