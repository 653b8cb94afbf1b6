"""Every parameter: values out of range or of a wrong type get a helpful error, all others work."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from labelboost import RuleBoostingClassifier
from labelboost.data.dataset import Dataset
from labelboost.data.synthetic import make_multilabel
from labelboost.parameters import (
    check_boolean,
    check_choice,
    check_integer,
    check_optional_integer,
    check_real,
)
from labelboost.sampling import resolve_max_features

NAN, INFINITY = float("nan"), float("inf")

OUT_OF_RANGE: list[tuple[str, Any]] = [
    *[("n_rules", value) for value in (0, -1, np.int64(-5))],
    *[("loss", value) for value in ("hinge", "", "EXAMPLE_LOGISTIC")],
    *[("head", value) for value in ("both", "none")],
    *[("label_bins", value) for value in (0, 1, -2, 0.0, -0.04, 1.5, NAN, INFINITY)],
    *[("label_bin_aggregation", value) for value in ("mean", "auto")],
    *[("learning_rate", value) for value in (0, 0.0, -0.3, NAN, INFINITY, 1e101, 10**400)],
    *[("l2", value) for value in (-1, -1e-9, NAN, INFINITY, -INFINITY, 1e101, -(10**400))],
    *[("max_features", value) for value in (0, -1, 0.0, -0.5, 1.5, NAN, "all", "auto")],
    *[("feature_bins", value) for value in (1, 0, -8)],
    *[("max_conditions", value) for value in (0, -1)],
    *[("min_coverage", value) for value in (0, -1)],
    *[("decoding", value) for value in ("probability", "all")],
    *[("categorical_features", value) for value in ("dtype", [99], [-1], [True, False])],
    *[("random_state", value) for value in (-1, 2**32, 10**40)],
    ("n_jobs", 0),
    ("verbose", -1),
]

WRONG_TYPE: list[tuple[str, Any]] = [
    *[("n_rules", value) for value in (1.5, 10.0, "10", None, True, [10], np.float64(10))],
    *[("loss", value) for value in (None, 1, ["example_logistic"], b"label_logistic")],
    *[("head", value) for value in (None, 1, True)],
    *[("label_bins", value) for value in (True, False, [2], 2j, Decimal("0.5"))],
    *[("label_bin_aggregation", value) for value in (None, 0, False)],
    *[("learning_rate", value) for value in ("0.3", None, True, [0.3], 1j, Decimal("0.3"))],
    *[("l2", value) for value in ("1", None, False, np.array([1.0]))],
    *[("bootstrap", value) for value in (0, 1, "yes", None)],
    *[("max_features", value) for value in (True, [1], 1j)],
    *[("feature_bins", value) for value in (2.5, 16.0, "16", True)],
    *[("max_conditions", value) for value in (1.0, "1", False)],
    *[("min_coverage", value) for value in (0.5, 1.0, None, "1", True)],
    *[("decoding", value) for value in (None, 1, True)],
    *[("categorical_features", value) for value in (1, [0.5], [None])],
    *[("random_state", value) for value in (1.5, "seed", [1, 2], np.random.default_rng(0))],
    *[("n_jobs", value) for value in (1.5, "2", True, [1])],
    *[("verbose", value) for value in (1.5, "yes", None, [1])],
]

ALLOWED: list[tuple[str, Any]] = [
    *[("n_rules", value) for value in (1, 2, np.int8(3), np.uint64(3))],
    *[
        ("loss", value)
        for value in ("example_logistic", "label_logistic", np.str_("label_logistic"))
    ],
    *[("head", value) for value in ("auto", "complete", "single")],
    *[("label_bins", value) for value in ("auto", None, 2, 3, 10**30, 1e-300, 0.04, 1.0, 1 / 3)],
    *[("label_bins", value) for value in (np.int64(4), np.float32(0.5), Fraction(1, 3))],
    *[("label_bin_aggregation", value) for value in ("paper", "exact")],
    *[("learning_rate", value) for value in (1e-300, 0.3, 1, 1000, 1e100, np.float16(0.5))],
    *[("l2", value) for value in (0, 0.0, 1e-300, 1, 1e6, np.float32(0.1), Fraction(1, 7))],
    *[("bootstrap", value) for value in (True, False, np.True_, np.False_)],
    *[("max_features", value) for value in ("log2", "sqrt", None, 1, 3, 10**30, 1e-300, 0.5, 1.0)],
    *[("max_features", value) for value in (np.int32(2), np.float64(0.5))],
    *[("feature_bins", value) for value in (None, 2, 255, 10**30, np.int16(4))],
    *[("max_conditions", value) for value in (None, 1, 10**30, np.int64(2))],
    *[("min_coverage", value) for value in (1, 5, np.uint8(2))],
    *[("decoding", value) for value in ("auto", "known", "sign")],
    *[("categorical_features", value) for value in ("from_dtype", None, [], [0], np.array([1, 2]))],
    *[("random_state", value) for value in (None, 0, 2**32 - 1, np.int64(5), np.random)],
    ("random_state", np.random.RandomState(5)),
    *[("n_jobs", value) for value in (None, 1, 2, -1, -2, -(10**6), 500, np.int64(2))],
    *[("verbose", value) for value in (0, 1, 10, True, False, np.int64(1))],
]


@pytest.fixture(scope="module")
def data() -> Dataset:
    return make_multilabel(60, 6, 4, random_state=7)


def identify(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) < 30 else f"{text[:12]}..."


def fails_naming(
    error: type[Exception], name: str, value: Any, data: Dataset, method: str = "fit"
) -> str:
    """Expect an error whose message names the parameter and the value; return the message."""
    model = RuleBoostingClassifier(n_rules=3)
    if method != "fit":
        model.fit(data.X, data.Y)
    model.set_params(**{name: value})
    with pytest.raises(error) as caught:
        getattr(model, method)(data.X, *([data.Y] if method == "fit" else []))
    assert type(caught.value) is error
    message = str(caught.value)
    assert name in message
    shown = value[0] if isinstance(value, list) and name == "categorical_features" else value
    assert str(shown)[:12] in message or "length 2" in message
    return message


@pytest.mark.parametrize(("name", "value"), OUT_OF_RANGE, ids=identify)
def test_values_out_of_range(name: str, value: Any, data: Dataset) -> None:
    message = fails_naming(ValueError, name, value, data)
    assert len(message) < 600


@pytest.mark.parametrize(("name", "value"), WRONG_TYPE, ids=identify)
def test_values_of_a_wrong_type(name: str, value: Any, data: Dataset) -> None:
    fails_naming(TypeError, name, value, data)


@pytest.mark.parametrize("value", ["many", "None", ""])
def test_words_for_the_number_of_label_bins(value: str, data: Dataset) -> None:
    model = RuleBoostingClassifier(label_bins=value)  # type: ignore[arg-type]
    with pytest.raises((ValueError, TypeError), match="label_bins must be 'auto', None, an int"):
        model.fit(data.X, data.Y)


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("decoding", "probability", ValueError),
        ("decoding", None, TypeError),
        ("n_jobs", 0, ValueError),
        ("n_jobs", "2", TypeError),
    ],
)
def test_parameters_of_prediction_are_checked_when_predicting(
    name: str, value: Any, error: type[Exception], data: Dataset
) -> None:
    fails_naming(error, name, value, data, method="predict")


@pytest.mark.parametrize(("name", "value"), ALLOWED, ids=identify)
def test_allowed_values(name: str, value: Any, data: Dataset) -> None:
    X = np.round(data.X) if name == "categorical_features" else data.X
    model = RuleBoostingClassifier(**{"n_rules": 3, "random_state": 0} | {name: value})
    assert model.fit(X, data.Y) is model
    assert model.n_rules_ == len(model.rules_) == min(int(model.n_rules), 3)
    assert all(np.isfinite(rule.head).all() for rule in model.rules_)
    assert model.predict(X).shape == data.Y.shape
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_rules": 5, "min_coverage": 2, "max_conditions": 2, "max_features": 3, "n_jobs": 1},
        {"label_bins": 4, "feature_bins": 4, "random_state": 9, "bootstrap": False},
        {"label_bins": 0.5, "learning_rate": 0.5, "l2": 0.25, "max_features": 0.5},
        {"loss": "label_logistic", "head": "single", "decoding": "sign"},
    ],
)
def test_numpy_scalars_mean_the_same(parameters: dict[str, Any], data: Dataset) -> None:
    common = {"n_rules": 5, "random_state": 1}
    plain = RuleBoostingClassifier(**common | parameters).fit(data.X, data.Y)
    scalars = {name: np.array([value])[0] for name, value in parameters.items()}
    assert all(isinstance(value, np.generic) for value in scalars.values())
    model = RuleBoostingClassifier(**common | scalars).fit(data.X, data.Y)
    assert [rule.conditions for rule in model.rules_] == [rule.conditions for rule in plain.rules_]
    np.testing.assert_array_equal(model.decision_function(data.X), plain.decision_function(data.X))
    np.testing.assert_array_equal(model.predict(data.X), plain.predict(data.X))


def test_a_coverage_that_nothing_reaches(data: Dataset) -> None:
    model = RuleBoostingClassifier(n_rules=5, min_coverage=10**30)
    with pytest.warns(ConvergenceWarning, match="1 of 5 rules"):
        model.fit(data.X, data.Y)
    assert model.n_rules_ == 1


def test_a_penalty_that_allows_no_rule(data: Dataset) -> None:
    model = RuleBoostingClassifier(n_rules=5, l2=1e100)
    with pytest.warns(ConvergenceWarning, match="1 of 5 rules"):
        model.fit(data.X, data.Y)
    assert 0.0 < np.abs(model.rules_[0].head).max() < 1e-97


def test_misspelled_choices_get_a_hint(data: Dataset) -> None:
    message = fails_naming(ValueError, "loss", "exmple_logistic", data)
    assert "'example_logistic', 'label_logistic'" in message
    assert "did you mean 'example_logistic'?" in message


def test_unknown_and_positional_parameters() -> None:
    with pytest.raises(TypeError, match="rules"):
        RuleBoostingClassifier(rules=5)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="positional"):
        RuleBoostingClassifier(100)  # type: ignore[misc]
    with pytest.raises(ValueError, match="rules"):
        RuleBoostingClassifier().set_params(rules=5)


def test_parameters_are_kept_as_given_until_fit() -> None:
    given = {"n_rules": "ten", "l2": None, "loss": 3}
    model = RuleBoostingClassifier(**given)  # type: ignore[arg-type]
    assert {name: model.get_params()[name] for name in given} == given


@pytest.mark.parametrize(("name", "value"), [("n_rules", 0), ("verbose", -1), ("l2", "1")])
def test_a_wrong_parameter_leaves_the_fitted_model_alone(
    name: str, value: Any, data: Dataset
) -> None:
    model = RuleBoostingClassifier(n_rules=3, random_state=0).fit(data.X, data.Y)
    before = model.decision_function(data.X)
    rules = model.rules_
    with pytest.raises((ValueError, TypeError), match=name):
        model.set_params(**{name: value}).fit(data.X, 1 - data.Y)
    assert model.rules_ is rules
    np.testing.assert_array_equal(model.decision_function(data.X), before)


def test_wrong_parameters_are_reported_before_the_data_is_looked_at() -> None:
    with pytest.raises(ValueError, match="n_rules"):
        RuleBoostingClassifier(n_rules=0).fit(None, None)


@pytest.mark.parametrize(
    ("max_features", "n_features", "expected"),
    [("log2", n, e) for n, e in ((1, 1), (2, 1), (3, 2), (5, 3), (64, 6), (65, 7), (1000, 10))]
    + [("sqrt", n, e) for n, e in ((1, 1), (3, 1), (4, 2), (99, 9))]
    + [(None, 7, 7), (3, 7, 3), (9, 7, 7), (0.5, 7, 3), (0.01, 7, 1), (1.0, 7, 7), (1, 7, 1)],
)
def test_number_of_features_to_draw(max_features: Any, n_features: int, expected: int) -> None:
    assert resolve_max_features(max_features, n_features) == expected


def test_the_checks_return_plain_python_values() -> None:
    assert type(check_integer("n", np.int32(4), minimum=1)) is int
    assert type(check_real("x", np.float32(0.5), above=0.0)) is float
    assert check_real("x", 3, minimum=3.0, maximum=3.0) == 3.0
    assert check_boolean("flag", np.False_) is False
    assert check_optional_integer("n", None, minimum=1) is None
    assert check_choice("kind", "b", ("a", "b")) == "b"


def test_errors_of_the_checks_say_what_is_allowed() -> None:
    with pytest.raises(ValueError, match=r"^n must be at least 2, got 1$"):
        check_integer("n", 1, minimum=2)
    with pytest.raises(TypeError, match=r"^n must be None or an integer >= 2, got 2.0 of type flo"):
        check_optional_integer("n", 2.0, minimum=2)
    with pytest.raises(ValueError, match=r"^x must be a finite number > 0 and <= 1, got 1.5$"):
        check_real("x", 1.5, above=0.0, maximum=1.0)
    with pytest.raises(TypeError, match=r"^x must be a number >= 0, got '1' of type str$"):
        check_real("x", "1", minimum=0.0)
    with pytest.raises(TypeError, match=r"^flag must be True or False, got 1 of type int$"):
        check_boolean("flag", 1)


def test_long_values_are_cut_short() -> None:
    with pytest.raises(TypeError) as caught:
        check_integer("n", list(range(10000)), minimum=1)
    assert len(str(caught.value)) < 200
