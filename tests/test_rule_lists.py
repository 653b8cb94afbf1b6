"""Models in words and as data frames, and the gains of their rules."""

from __future__ import annotations

import copy
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from explained import DATA, ESTIMATORS, ODD_NAMES, SETTINGS, dense, odd_frames, real_model
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import assert_same_rules, fit_both, real_data
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectFromModel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from labelboost import Condition, Rule, RuleBoostingClassifier, load_model, save_model
from labelboost.explanations import label_dependence
from labelboost.explanations.curves import _training_loss
from labelboost.explanations.importances import feature_importances, label_feature_importances

pytestmark = pytest.mark.filterwarnings("ignore:Training ended with")
FIXTURES = Path(__file__).parent / "fixtures"

# Rule lists


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_an_unfitted_model_reads_as_scikit_learn_has_it(estimator: Any) -> None:
    assert str(clone(estimator)) == repr(estimator)
    assert "random_state=1" in repr(estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_fitted_model_reads_like_a_rule_list(estimator: Any) -> None:
    X, Y = odd_frames()
    model = clone(estimator).fit(X, Y)
    text = str(model)
    lines = text.splitlines()
    n_rules = len(model.rules_)
    assert lines[0].startswith(type(model).__name__)
    assert "4 labels from 5 features" in lines[0]
    assert "  0. in general: " in text
    assert "  9. if " in text
    assert " 10. if " not in text
    assert lines[-1] == f"  and {n_rules - 10} more rules; rules_to_frame() has all"
    assert max(map(len, lines)) <= 100
    assert all(line.isprintable() for line in lines)
    assert any(name in text.replace("\n", " ") for name in ODD_NAMES[:3])
    assert repr(model) == repr(estimator)


def test_few_rules_are_all_listed() -> None:
    X = np.arange(8.0).reshape(8, 1)
    y = (X[:, 0] > 3).astype(int)
    model = RuleBoostingClassifier(n_rules=1).fit(X, y)
    assert str(model) == (
        "RuleBoostingClassifier: 1 rule for 1 label from 1 feature\n  0. in general: no effect"
    )
    model = RuleBoostingClassifier(n_rules=3, random_state=0).fit(X, y)
    assert "more" not in str(model)
    assert "  1. if feature 0 " in str(model)
    model = RuleBoostingClassifier(n_rules=11, random_state=0).fit(X, y)
    assert str(model).endswith("  and 1 more rule; rules_to_frame() has all")


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_scikit_learn_can_still_show_whatever_contains_a_model(estimator: Any) -> None:
    X, Y = odd_frames()
    numeric = X.drop(columns=X.columns[3]).fillna(0.0)
    model = clone(estimator).fit(X, Y)
    assert "<script>alert(1)" not in model._repr_html_()
    assert model._repr_mimebundle_()["text/plain"] == repr(model)
    pipeline = make_pipeline(StandardScaler(), clone(estimator)).fit(numeric.to_numpy(), Y)
    assert type(estimator).__name__ + "(" in repr(pipeline)
    assert "in general" not in repr(pipeline)
    search = GridSearchCV(clone(estimator), {"learning_rate": [0.1, 0.3]}, cv=2)
    search.fit(numeric.to_numpy(), Y)
    assert "in general" not in repr(search)
    assert str(search.best_estimator_).startswith(type(estimator).__name__)
    assert "<script>alert(1)" not in search._repr_html_()


# Frames


@pytest.mark.parametrize("backend", ["pandas", "polars"])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_rules_as_frames(estimator: Any, backend: Any) -> None:
    X, Y = odd_frames()
    model = clone(estimator).fit(X, Y)
    frame = model.rules_to_frame(backend)
    assert isinstance(frame, {"pandas": pd.DataFrame, "polars": pl.DataFrame}[backend])
    assert list(frame.columns) == [
        "rule", "conditions", "n_conditions", "coverage", "gain", "head", "scores",
    ]  # fmt: skip
    assert list(frame["rule"]) == list(range(len(model.rules_)))
    assert frame["conditions"][0] == "always"
    assert list(frame["n_conditions"]) == [len(rule.conditions) for rule in model.rules_]
    assert list(frame["coverage"]) == [rule.coverage for rule in model.rules_]
    assert list(frame["gain"]) == [rule.gain for rule in model.rules_]
    assert np.array_equal(np.array(list(frame["scores"])), [rule.head for rule in model.rules_])
    one = model.rules_to_frame(backend, max_labels=1)
    assert "more" in one["head"][1]


def test_wrong_frames_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    model = RuleBoostingClassifier(n_rules=2).fit(np.eye(5), np.eye(5))
    with pytest.raises(ValueError, match="backend must be one of 'pandas', 'polars', got 'spark'"):
        model.rules_to_frame("spark")
    with pytest.raises(ValueError, match="max_labels must be at least 1"):
        model.rules_to_frame(max_labels=0)
    with pytest.raises(NotFittedError):
        RuleBoostingClassifier().rules_to_frame()
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match=r"pip install labelboost\[polars\]"):
        model.rules_to_frame("polars")


# Gains


@pytest.mark.parametrize("learning_rate", [0.3, 1.0, 1.7, 2.5])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"label_bins": 0.3},
        {"label_bins": 4, "label_bin_aggregation": "exact"},
        {"head": "single"},
        {"loss": "label_logistic"},
        {"loss": "label_logistic", "head": "complete"},
        {"loss": "label_logistic", "head": "complete", "label_bins": 4},
        {"loss": "labelset_softmax"},
        {"loss": "labelset_softmax", "head": "single"},
    ],
)
def test_gains_are_those_of_the_reference(parameters: Any, learning_rate: float) -> None:
    data = real_data("flags")
    nominal = np.isin(np.arange(data.n_features), data.nominal_indices)
    weights = np.random.default_rng(0).integers(1, 4, data.n_examples) * 0.5
    model, rules = fit_both(
        dense(data.X).astype(np.float64), dense(data.Y), nominal, weights,
        n_rules=6, max_conditions=2, learning_rate=learning_rate, **parameters,
    )  # fmt: skip
    assert_same_rules(model.rules_, rules)
    sign = np.sign(2.0 - learning_rate)
    assert all(np.sign(rule.gain) == sign for rule in model.rules_[1:])


@pytest.mark.parametrize("name", ["emotions", "birds"])
def test_gains_of_real_data_are_those_of_the_reference(name: str) -> None:
    data = real_data(name)
    X, Y = dense(data.X).astype(np.float64)[:80], dense(data.Y)[:80]
    model, rules = fit_both(X, Y, n_rules=4, max_conditions=2)
    assert_same_rules(model.rules_, rules)


@pytest.mark.parametrize("setting", ["example-wise, unbinned", "label-wise", "softmax"])
@pytest.mark.parametrize("name", ["emotions", "yeast"])
@pytest.mark.parametrize("which", range(len(ESTIMATORS)))
def test_gains_add_up_to_about_what_the_loss_falls(name: str, setting: str, which: int) -> None:
    model, X, Y = real_model(name, setting, which=which)
    gains = np.array([rule.gain for rule in model.rules_])
    of_examples = _training_loss(model, Y)
    start = of_examples(np.tile(model.rules_[0].head, (len(Y), 1))).mean()
    fallen = start - of_examples(model.decision_function(X)).mean()
    # Short of it by the L2 term, and as far as the loss is no parabola.
    assert 0.6 * fallen < gains[1:].sum() < 1.1 * fallen
    assert (gains[1:] > 0.0).all()


@pytest.mark.parametrize("scale", [1e-200, 1e-8, 1e8, 1e200])
def test_gains_do_not_depend_on_the_scale_of_the_weights(scale: float) -> None:
    rng = np.random.default_rng(0)
    X, Y, weights = rng.normal(size=(50, 4)), rng.integers(0, 2, (50, 3)), rng.random(50) + 0.5
    common: dict[str, Any] = {"n_rules": 10, "random_state": 0}
    plain = RuleBoostingClassifier(**common, l2=1e-3).fit(X, Y, weights)
    scaled = RuleBoostingClassifier(**common, l2=1e-3 * min(scale, 1e100))
    scaled.fit(X, Y, weights * scale)
    if scale > 1e100:  # so large an l2 is not allowed
        assert all(np.isfinite(rule.gain) for rule in scaled.rules_)
        return
    np.testing.assert_allclose(
        [rule.gain for rule in scaled.rules_], [rule.gain for rule in plain.rules_], rtol=1e-9
    )


def test_gains_survive_files_copies_and_pickles(tmp_path: Path) -> None:
    model, _, _ = real_model("flags")
    gains = [rule.gain for rule in model.rules_]
    save_model(model, tmp_path / "model")
    for other in (load_model(tmp_path / "model"), copy.deepcopy(model),
                  pickle.loads(pickle.dumps(model))):  # fmt: skip
        assert [rule.gain for rule in other.rules_] == gains
        assert np.array_equal(other.feature_importances_, model.feature_importances_)


def test_a_file_without_gains_explains_all_but_importances(tmp_path: Path) -> None:
    model = load_model(FIXTURES / "model-format-1.json.gz")
    assert all(np.isnan(rule.gain) for rule in model.rules_)
    assert not hasattr(model, "feature_importances_")
    for name in ("feature_importances_", "label_feature_importances_"):
        with pytest.raises(ValueError, match=r"gain of rule 1 is unknown.*fit it again"):
            getattr(model, name)
    assert str(model).startswith("RuleBoostingClassifier: 40 rules for 5 labels")
    assert model.rules_to_frame()["gain"].isna().all()
    assert label_dependence(model).shape == (5, 5)
    save_model(model, tmp_path / "again")
    assert all(np.isnan(rule.gain) for rule in load_model(tmp_path / "again").rules_)


# Importances


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("name", DATA)
def test_importances_are_shares(name: str, setting: str) -> None:
    model, X, Y = real_model(name, setting)
    shares, by_label = model.feature_importances_, model.label_feature_importances_
    assert shares.shape == (X.shape[1],)
    assert by_label.shape == (Y.shape[1], X.shape[1])
    assert (shares >= 0.0).all()
    assert (by_label >= 0.0).all()
    if setting == "huge scores":  # steps of a million overshoot: nothing is gained
        assert not shares.any()
        assert not by_label.any()
        return
    assert shares.sum() == pytest.approx(1.0)
    touched = np.any([rule.head != 0 for rule in model.rules_[1:]], axis=0)
    np.testing.assert_allclose(by_label.sum(axis=1), touched.astype(float), atol=1e-12)
    used = {c.feature for rule in model.rules_ for c in rule.conditions}
    assert set(np.flatnonzero(shares)) <= used


def a_rule(features: list[int], head: list[float], gain: float) -> Rule:
    return Rule(tuple(Condition(j, "<=", 0.0) for j in features), np.array(head), 3, gain)


def test_importances_by_hand() -> None:
    rules = [
        a_rule([], [9.0, 9.0, 0.0], 100.0),  # belongs to no feature
        a_rule([0, 0, 1], [1.0, 3.0, 0.0], 3.0),
        a_rule([2], [-2.0, 0.0, 0.0], 1.0),
        a_rule([1], [0.0, 5.0, 0.0], -7.0),  # gained nothing
        a_rule([3], [0.0, 0.0, 0.0], 0.0),
    ]
    np.testing.assert_allclose(feature_importances(rules, 4), [2 / 4, 1 / 4, 1 / 4, 0.0])
    np.testing.assert_allclose(
        label_feature_importances(rules, 4, 3),
        [[0.5 / 1.75, 0.25 / 1.75, 1.0 / 1.75, 0.0], [2 / 3, 1 / 3, 0.0, 0.0], [0.0] * 4],
    )


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.lists(st.integers(0, 4), max_size=3),
            st.lists(st.floats(-1e300, 1e300), min_size=3, max_size=3),
            st.floats(-1e300, 1e300),
        ),
        min_size=1,
        max_size=6,
    )
)
def test_importances_of_any_numbers_are_shares(parts: Any) -> None:
    rules = [a_rule(*part) for part in parts]
    for rows in (feature_importances(rules, 5)[None], label_feature_importances(rules, 5, 3)):
        assert (rows >= 0.0).all()
        sums = rows.sum(axis=1)
        assert ((np.abs(sums - 1.0) < 1e-9) | (sums == 0.0)).all()


def test_importances_of_the_default_rule_are_zero() -> None:
    model = RuleBoostingClassifier(n_rules=1).fit(np.eye(4), np.eye(4))
    assert model.feature_importances_.tolist() == [0.0] * 4
    assert model.label_feature_importances_.tolist() == [[0.0] * 4] * 4
    with pytest.raises(NotFittedError):
        _ = RuleBoostingClassifier().feature_importances_
    assert not hasattr(RuleBoostingClassifier(), "feature_importances_")


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_importances_find_what_matters_and_serve_scikit_learn(estimator: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6))
    Y = np.column_stack([X[:, 1] > 0, X[:, 4] > 0.2]).astype(int)
    model = clone(estimator).set_params(loss="label_logistic").fit(X, Y)
    assert set(np.argsort(-model.feature_importances_)[:2]) == {1, 4}
    assert model.label_feature_importances_.argmax(axis=1).tolist() == [1, 4]
    selection = SelectFromModel(clone(estimator), max_features=2, threshold=-np.inf).fit(X, Y)
    assert selection.transform(X).shape == (200, 2)


# Label dependence


def test_label_dependence_is_the_cosine_over_covered_examples() -> None:
    model, X, _ = real_model("emotions", "example-wise, unbinned")
    dense = np.asarray(X, dtype=np.float64)
    rows = []
    for rule in model.rules_[1:]:
        covered = np.ones(len(dense), dtype=bool)
        for c in rule.conditions:
            covered &= c.covers(dense[:, c.feature])
        rows += [rule.head] * int(covered.sum())
    scores = np.array(rows)
    length = np.sqrt((scores**2).sum(axis=0))
    np.testing.assert_allclose(
        label_dependence(model), scores.T @ scores / np.outer(length, length), atol=1e-9
    )


def test_label_dependence_of_copies_opposites_and_single_heads() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    a = (X[:, 0] > 0).astype(int)
    Y = np.column_stack([a, a, 1 - a])
    model = RuleBoostingClassifier(n_rules=30, label_bins=None, random_state=0).fit(X, Y)
    found = label_dependence(model)
    np.testing.assert_allclose(found, [[1, 1, -1], [1, 1, -1], [-1, -1, 1]], atol=1e-6)
    single = RuleBoostingClassifier(n_rules=30, head="single", random_state=0).fit(X, Y)
    found = label_dependence(single)
    assert np.array_equal(found, np.diag(np.diag(found)))
    none = RuleBoostingClassifier(n_rules=1).fit(X, Y)
    assert not label_dependence(none).any()
    with pytest.raises(NotFittedError):
        label_dependence(RuleBoostingClassifier())
