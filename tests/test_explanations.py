"""Explanations of single predictions: what fired, what it adds up to, how it was decoded."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from explained import DATA, ESTIMATORS, SETTINGS, odd_frames, real_model
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from labelboost import Rule, RuleBoostingClassifier, reference
from labelboost.explanations.label_sets import label_set_losses, rank_by_sign, rank_known

pytestmark = pytest.mark.filterwarnings("ignore:Training ended with")


def added_up(explanation: Any) -> list[float]:
    """Add contributions label by label in the order of the rules, in Python's own arithmetic."""
    totals = [0.0] * explanation.contributions.shape[1]
    for row in explanation.contributions.tolist():
        totals = [total + part for total, part in zip(totals, row, strict=True)]
    return totals


def assert_explains(model: Any, X: Any, i: int) -> None:
    row = X[[i]]
    explanation = model.explain(row)
    assert added_up(explanation) == model.decision_function(row)[0].tolist()
    assert explanation.scores.tolist() == model.decision_function(row)[0].tolist()
    assert explanation.predicted.tolist() == model.predict(row).reshape(-1).tolist()
    assert explanation.probabilities.tolist() == model.predict_proba(row)[0].tolist()
    dense = row.toarray() if sp.issparse(row) else row
    fired = [
        number
        for number, rule in enumerate(model.rules_)
        if reference.body(rule.conditions, dense.astype(np.float64))[0]
    ]
    assert explanation.rules.tolist() == fired
    for number, part in zip(fired, explanation.contributions, strict=True):
        assert part.tolist() == model.rules_[number].head.tolist()
    sets = explanation.label_sets
    assert sets.vectors[0].tolist() == explanation.predicted.tolist()
    assert len({tuple(vector) for vector in sets.vectors.tolist()}) == len(sets.vectors) == 5
    if (explanation.loss, explanation.decoding) != ("labelset_softmax", "sign"):
        # Prediction chooses the first of sets that are equal but for rounding.
        assert (sets.losses[1:] >= sets.losses[:-1] * (1.0 - 1e-9)).all()
    assert str(explanation)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("name", ["emotions", "flags"])
@pytest.mark.parametrize("which", range(len(ESTIMATORS)))
def test_contributions_add_up_to_the_bit(name: str, setting: str, which: int) -> None:
    model, X, _ = real_model(name, setting, which=which)
    for i in (0, 1, 150):
        assert_explains(model, X, i)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", DATA)
def test_contributions_add_up_on_sparse_and_dense_data(name: str, sparse: bool) -> None:
    model, X, _ = real_model(name, sparse=sparse)
    for i in (0, 17, X.shape[0] - 1):
        assert_explains(model, X, i)


def test_single_precision_is_compared_as_prediction_does() -> None:
    model, X, _ = real_model("yeast")
    for i in range(20):
        assert_explains(model, X.astype(np.float32), i)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_missing_values_and_categories_of_frames(estimator: Any) -> None:
    X, Y = odd_frames()
    model = clone(estimator).fit(X, Y)
    for i in range(0, 120, 7):
        explanation = model.explain(X.iloc[[i]])
        assert added_up(explanation) == model.decision_function(X.iloc[[i]])[0].tolist()
    unknown = X.iloc[[0]].assign(**{X.columns[3]: pd.Categorical(["never seen"])})
    explanation = model.explain(unknown)
    assert added_up(explanation) == model.decision_function(unknown)[0].tolist()
    nothing = X.iloc[[0]].assign(**dict.fromkeys(X.columns[[0, 1, 2, 4]], np.nan))
    assert model.explain(nothing).rules[0] == 0


@pytest.mark.parametrize("setting", SETTINGS)
def test_one_label(setting: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = (X[:, 0] > 0).astype(int)
    parameters = {"n_rules": 10, "random_state": 0} | SETTINGS[setting]
    model = RuleBoostingClassifier(**parameters).fit(X, y)
    explanation = model.explain(X[0])
    assert added_up(explanation) == explanation.scores.tolist()
    assert explanation.predicted.tolist() == [model.predict(X[:1])[0]]
    assert len(explanation.label_sets.losses) == 2
    assert "label 1" in str(explanation)  # the second of two classes


@pytest.mark.parametrize("setting", SETTINGS)
def test_default_rule_only(setting: str) -> None:
    X = np.arange(6.0).reshape(6, 1)
    Y = np.array([[1, 0], [1, 0], [0, 1], [0, 0], [1, 1], [1, 0]])
    model = RuleBoostingClassifier(**SETTINGS[setting] | {"n_rules": 1}).fit(X, Y)
    explanation = model.explain([2.5])
    assert explanation.rules.tolist() == [0]
    assert explanation.conditions == ("always",)
    assert added_up(explanation) == explanation.scores.tolist()
    assert "1 of 1 rules fired" in str(explanation)
    assert explanation.to_frame().shape[1] == 5


def test_one_example_and_one_label_set() -> None:
    model = RuleBoostingClassifier(n_rules=1).fit([[1.0]], [[1, 0]])
    explanation = model.explain([0.0])
    assert explanation.label_sets.vectors.tolist() == [[1, 0]]
    assert explanation.label_sets.probabilities.tolist() == [1.0]


def test_every_form_of_a_row() -> None:
    X, Y = odd_frames()
    X = X.drop(columns=X.columns[3]).fillna(0.0)
    X.columns = pd.Index(list("abcd"))
    named = RuleBoostingClassifier(n_rules=20, random_state=0).fit(X, Y)
    plain = RuleBoostingClassifier(n_rules=20, random_state=0).fit(X.to_numpy(), Y)
    expected = plain.decision_function(X.to_numpy()[[3]])[0].tolist()
    values = X.to_numpy()[3]
    forms = [
        values,
        values.tolist(),
        tuple(values.tolist()),
        values[None, :],
        [values.tolist()],
        sp.csr_array(values[None, :]),
        sp.csc_matrix(values[None, :]),
        sp.coo_array(values),
    ]
    for form in forms:
        assert plain.explain(form).scores.tolist() == expected
    for form in (X.iloc[[3]], X.iloc[3], pl.from_pandas(X)[3:4], pl.from_pandas(X)[3]):
        assert named.explain(form).scores.tolist() == expected


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (np.zeros((2, 5)), r"shape \(2, 5\).*X\[0\]"),
        (np.zeros((0, 5)), r"shape \(0, 5\)"),
        (np.zeros((1, 1, 5)), "single row"),
        (sp.csr_array((2, 5)), r"X\[\[0\]\]"),
        (np.zeros(4), "4 features"),
        (np.array([0, 0, np.inf, 0, 0]), "inf"),
        (3.0, "x"),
    ],
)
def test_what_is_no_row_is_refused(wrong: Any, said: str) -> None:
    model = RuleBoostingClassifier(n_rules=2).fit(np.eye(5), np.eye(5))
    with pytest.raises(ValueError, match=said):
        model.explain(wrong)


def test_rows_of_frames_that_cannot_be_explained() -> None:
    X, Y = odd_frames()
    model = RuleBoostingClassifier(n_rules=3, random_state=0).fit(X, Y)
    with pytest.raises(TypeError, match=r"X\.iloc\[\[0\]\] instead of X\.iloc\[0\]"):
        model.explain(X.iloc[0])
    with pytest.raises(ValueError, match=r"X\.iloc\[\[0\]\]"):
        model.explain(X.iloc[:2])
    with pytest.raises(ValueError, match="n_label_sets must be at least 1, got 0"):
        model.explain(X.iloc[[0]], n_label_sets=0)
    with pytest.raises(NotFittedError):
        RuleBoostingClassifier().explain([1.0])


def test_changed_rules_are_noticed() -> None:
    model = RuleBoostingClassifier(n_rules=3, random_state=0).fit(np.eye(5), np.eye(5))
    model.rules_[0] = Rule((), np.ones(5), 5)
    with pytest.raises(ValueError, match="changed after training"):
        model.explain(np.zeros(5))


# Label sets


def brute_force(loss: str, scores: Any) -> list[tuple[float, tuple[int, ...]]]:
    sets = np.array(list(itertools.product((0, 1), repeat=len(scores))))
    of_sets = {
        "label_logistic": reference.label_logistic_loss,
        "example_logistic": reference.example_logistic_loss,
    }[loss](sets, np.broadcast_to(scores, sets.shape))
    return sorted(zip(of_sets.tolist(), map(tuple, sets.tolist()), strict=True))


@settings(max_examples=60, deadline=None)
@given(
    scores=st.lists(st.floats(-20, 20, allow_subnormal=False), min_size=1, max_size=6),
    loss=st.sampled_from(["label_logistic", "example_logistic"]),
    top=st.integers(1, 70),
)
def test_runners_up_by_sign_are_the_cheapest_of_all_sets(
    scores: list[float], loss: str, top: int
) -> None:
    p = np.array(scores)
    none = np.zeros((0, len(p)), dtype=np.uint8)
    ranked = rank_by_sign(loss, p, none, np.zeros(0), top)
    best = brute_force(loss, p)
    assert len(ranked.losses) == min(top, len(best))
    np.testing.assert_allclose(
        np.sort(ranked.losses), [value for value, _ in best[:top]], rtol=1e-9, atol=1e-12
    )
    assert len({tuple(vector) for vector in ranked.vectors.tolist()}) == len(ranked.vectors)
    assert ranked.vectors[0].tolist() == (p > 0).astype(int).tolist()
    if loss == "label_logistic" and top >= len(best):
        assert ranked.probabilities.sum() == pytest.approx(1.0)


def test_runners_up_of_huge_scores() -> None:
    p = np.array([1e5, -3e4, 2e4, 0.0, -1e5])
    none = np.zeros((0, 5), dtype=np.uint8)
    for loss in ("label_logistic", "example_logistic"):
        ranked = rank_by_sign(loss, p, none, np.zeros(0), 4)
        assert ranked.vectors.tolist() == [
            [1, 0, 1, 0, 0],
            [1, 0, 1, 1, 0],
            [1, 0, 0, 0, 0],
            [1, 0, 0, 1, 0],
        ]
        assert np.isfinite(ranked.losses).all()


@pytest.mark.parametrize("setting", ["example-wise", "label-wise, known", "softmax"])
def test_known_sets_are_ranked_as_the_model_sees_them(setting: str) -> None:
    model, X, _ = real_model("emotions", setting)
    for i in (0, 5, 200):
        every = model.explain(X[i], n_label_sets=10**6).label_sets
        assert len(every.losses) == len(model._known)
        assert every.probabilities.sum() == pytest.approx(1.0)
        np.testing.assert_allclose(
            every.probabilities @ every.vectors,
            model.predict_proba(X[[i]])[0]
            if setting != "label-wise, known"
            else every.probabilities @ every.vectors,
            rtol=1e-9,
            atol=1e-12,
        )
        if setting == "label-wise, known":
            continue
        likely = model.predict_label_sets(X[[i]], top=3)
        assert every.vectors[:3].tolist() == likely.label_sets[0].tolist()
        np.testing.assert_allclose(
            every.probabilities[:3], likely.probabilities[0], rtol=1e-9, atol=1e-14
        )


def test_losses_are_those_of_the_reference() -> None:
    rng = np.random.default_rng(0)
    known = np.unique(rng.integers(0, 2, size=(9, 4)), axis=0).astype(np.uint8)
    prior = rng.random(len(known))
    p = rng.normal(size=4)
    P = np.broadcast_to(p, known.shape)
    sets = reference.LabelSets(known.astype(np.int64), prior / prior.sum())
    expected = {
        "example_logistic": reference.example_logistic_loss(known, P),
        "label_logistic": reference.label_logistic_loss(known, P),
        "labelset_softmax": reference.labelset_softmax_loss(known, P, sets),
    }
    for loss, values in expected.items():
        found = label_set_losses(loss, p, known, known, prior)
        np.testing.assert_allclose(found, values, rtol=1e-12)
        ranked = rank_known(loss, p, known, prior, chosen=2, top=3)
        assert ranked.vectors[0].tolist() == known[2].tolist()
    unseen = np.array([[1, 1, 1, 1]], dtype=np.uint8)
    assert label_set_losses("labelset_softmax", p, unseen, known[:1] * 0, prior[:1]) == [np.inf]


# Text and frames


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_text_survives_odd_names(estimator: Any) -> None:
    X, Y = odd_frames()
    model = clone(estimator).fit(X, Y)
    text = str(model.explain(X.iloc[[1]]))
    assert all(character.isprintable() for character in text.replace("\n", ""))
    assert "<i>one</i>" in text
    assert "two\\nlines" in text
    assert max(map(len, text.splitlines())) <= 100
    assert repr(model.explain(X.iloc[[1]])).startswith("<Explanation: {")
    console = Console(width=60, record=True, file=None, quiet=True)
    console.print(model.explain(X.iloc[[1]]))


def test_text_of_many_labels_and_rules_stays_short() -> None:
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 3)), rng.integers(0, 2, size=(60, 40))
    model = RuleBoostingClassifier(n_rules=60, random_state=0, max_conditions=1).fit(X, Y)
    text = str(model.explain(X[0]))
    assert len(text.splitlines()) < 110
    assert "more" in text
    assert "the other rules together" in text


@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_frames(backend: Any) -> None:
    X, Y = odd_frames()
    model = RuleBoostingClassifier(n_rules=30, random_state=0).fit(X, Y)
    explanation = model.explain(X.iloc[[2]])
    frame = explanation.to_frame(backend=backend)
    assert isinstance(frame, {"pandas": pd.DataFrame, "polars": pl.DataFrame}[backend])
    assert list(frame.columns) == ["rule", "conditions", "label", "contribution", "score_so_far"]
    so_far = dict.fromkeys(Y.columns, 0.0)
    columns = [list(frame[name]) for name in ("rule", "label", "contribution", "score_so_far")]
    for rule, label, contribution, score in zip(*columns, strict=True):
        assert contribution == model.rules_[rule].head[list(Y.columns).index(label)]
        so_far[label] += contribution
        assert so_far[label] == score
    assert list(so_far.values()) == explanation.scores.tolist()
    labels = explanation.to_frame("labels", backend=backend)
    assert list(labels["label"]) == list(Y.columns)
    assert list(labels["score"]) == explanation.scores.tolist()
    assert list(labels["predicted"]) == explanation.predicted.astype(bool).tolist()
    sets = explanation.to_frame("label_sets", backend=backend)
    assert list(sets["rank"]) == [0, 1, 2, 3, 4]
    assert [list(vector) for vector in sets["labels"]] == explanation.label_sets.vectors.tolist()
    with pytest.raises(ValueError, match="part must be one of 'contributions', 'labels'"):
        explanation.to_frame("rules")
    with pytest.raises(ValueError, match="did you mean 'polars'"):
        explanation.to_frame(backend="polar")


def test_numbered_labels_stay_numbers_in_frames() -> None:
    sets = [{3}, {7}, {3, 7}, {3}]
    model = RuleBoostingClassifier(n_rules=3, random_state=0).fit(np.eye(4), sets)
    frame = model.explain(np.zeros(4)).to_frame("labels")
    assert frame["label"].tolist() == [3, 7]
    assert "label 7" in str(model.explain(np.zeros(4)))
