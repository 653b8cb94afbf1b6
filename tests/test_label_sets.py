"""The softmax over the label sets seen in training: its formulas, its predictions, its edges."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import CORE_SETTINGS, assert_same_rules, fit_both, real_data
from sklearn.base import clone
from sklearn.model_selection import KFold

from labelboost import RuleBoostingClassifier, _core
from labelboost import reference as ref
from labelboost.data import make_multilabel
from labelboost.label_sets import LabelSets, most_likely, probabilities, softmax_logits
from labelboost.model import RULE_MAKER

SOFTMAX = "labelset_softmax"


def problem(n: int = 120, n_labels: int = 5, seed: int = 0) -> tuple[Any, Any]:
    data = make_multilabel(n, 8, n_labels, random_state=seed)
    return np.asarray(data.X, dtype=np.float64), data.Y


def fitted(n_rules: int = 30, **parameters: Any) -> tuple[RuleBoostingClassifier, Any, Any]:
    X, Y = problem()
    parameters = {"loss": SOFTMAX, "random_state": 1} | parameters
    return RuleBoostingClassifier(n_rules=n_rules, **parameters).fit(X, Y), X, Y


# --- Formulas -----------------------------------------------------------------------------------


def test_derivatives_match_finite_differences() -> None:
    rng = np.random.default_rng(1)
    Y, P, step = rng.integers(0, 2, (9, 4)), 2 * rng.normal(size=(9, 4)), 1e-5
    sets = ref.label_sets(Y, rng.random(9) + 0.1)
    for k in range(4):
        move = step * np.eye(4)[k]
        above, below = (ref.labelset_softmax_loss(Y, P + d, sets) for d in (move, -move))
        gradient = ref.labelset_softmax_gradient(Y, P, sets)
        np.testing.assert_allclose(gradient[:, k], (above - below) / (2 * step), atol=1e-9)
        up, down = (ref.labelset_softmax_gradient(Y, P + d, sets) for d in (move, -move))
        hessian = ref.labelset_softmax_hessian(P, sets)
        np.testing.assert_allclose(hessian[:, k], (up - down) / (2 * step), atol=1e-9)


def test_the_form_with_halves_is_the_same() -> None:
    """The definition with v_s in {-1/2, +1/2}: same distribution, gradient and Hessian."""
    rng = np.random.default_rng(2)
    Y, P = rng.integers(0, 2, (20, 3)), rng.normal(size=(20, 3))
    sets = ref.label_sets(Y, np.ones(20))
    v = sets.vectors - 0.5
    weights = sets.prior * np.exp(P @ v.T)
    weights /= weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(ref.label_set_probabilities(P, sets), weights, rtol=1e-12)
    m = weights @ v
    np.testing.assert_allclose(ref.labelset_softmax_gradient(Y, P, sets), m - (Y - 0.5), atol=1e-14)
    H = np.einsum("ns,sk,sj->nkj", weights, v, v) - m[:, :, None] * m[:, None, :]
    np.testing.assert_allclose(ref.labelset_softmax_hessian(P, sets), H, atol=1e-14)


def test_hessian_is_positive_semidefinite() -> None:
    rng = np.random.default_rng(3)
    Y, P = rng.integers(0, 2, (30, 5)), 3 * rng.normal(size=(30, 5))
    H = ref.labelset_softmax_hessian(P, ref.label_sets(Y, np.ones(30)))
    assert np.linalg.eigvalsh(H).min() > -1e-14


@given(
    Y=st.integers(1, 30).flatmap(
        lambda n: st.lists(
            st.lists(st.integers(0, 1), min_size=10, max_size=10), min_size=n, max_size=n
        )
    ),
    seed=st.integers(0, 1000),
)
@settings(max_examples=50, deadline=None)
def test_label_sets_are_found(Y: list[list[int]], seed: int) -> None:
    labels = np.array(Y, dtype=np.uint8)
    weights = np.random.default_rng(seed).integers(1, 4, len(labels)).astype(np.float64)
    sets = LabelSets.of(labels, weights)
    np.testing.assert_array_equal(sets.vectors, ref.known_label_vectors(labels, weights))
    np.testing.assert_array_equal(sets.vectors[sets.set_of], labels)
    np.testing.assert_allclose(sets.weights, np.bincount(sets.set_of, weights))


@pytest.mark.parametrize("n_labels", [1, 63, 64, 65, 130])
@pytest.mark.parametrize("n_sets", [1, 40, 1000])
def test_many_and_wide_label_sets_are_found(n_labels: int, n_sets: int) -> None:
    rng = np.random.default_rng(n_labels)
    different = (rng.random((n_sets, n_labels)) < 0.5).astype(np.uint8)
    labels = different[rng.integers(0, n_sets, 3 * n_sets)]
    weights = rng.integers(1, 3, len(labels)).astype(np.float64)
    sets = LabelSets.of(labels, weights)
    vectors, set_of = np.unique(labels, axis=0, return_inverse=True)
    total = np.bincount(set_of.ravel(), weights)
    heaviest_first = np.lexsort((np.arange(len(vectors)), total))[::-1]  # equal ones descending
    np.testing.assert_array_equal(sets.vectors, vectors[heaviest_first])
    np.testing.assert_array_equal(sets.weights, total[heaviest_first])
    np.testing.assert_array_equal(sets.vectors[sets.set_of], labels)


# --- Training -----------------------------------------------------------------------------------


@pytest.mark.parametrize("head", ["complete", "single"])
@pytest.mark.parametrize("weighted", [False, True])
def test_many_labels_and_sets_beside_the_reference(head: str, weighted: bool) -> None:
    """More labels than fit into the lanes of a batch, blocks that are not full, many sets."""
    X, Y = problem(n=80, n_labels=35)
    weights = np.random.default_rng(1).random(80) * 3 if weighted else None
    model, rules = fit_both(X, Y, sample_weight=weights, n_rules=6, loss=SOFTMAX, head=head)
    assert_same_rules(model.rules_, rules)


@pytest.mark.parametrize("name", ["medical", "enron"])
def test_many_labels_of_real_data_beside_the_reference(name: str) -> None:
    data = real_data(name)
    X, Y = data.X.toarray().astype(np.float64)[:250], data.Y[:250]
    model, rules = fit_both(X, Y, data.nominal, n_rules=4, loss=SOFTMAX)
    assert_same_rules(model.rules_, rules)


@pytest.mark.parametrize(
    "Y",
    [
        np.zeros((6, 3)),
        np.ones((6, 3)),
        np.tile([[1, 0, 1]], (6, 1)),
        np.array([[0], [1], [0], [1], [1], [0]], dtype=bool),
        np.array([[1, 1], [1, 1], [1, 1], [1, 1], [1, 1], [0, 0]]),
    ],
    ids=["nothing", "everything", "one set", "one label", "labels that go together"],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("l2", [0.0, 1.0])
def test_degenerate_labels(Y: Any, l2: float) -> None:
    X = np.arange(12.0).reshape(6, 2)
    model = RuleBoostingClassifier(n_rules=5, loss=SOFTMAX, l2=l2, random_state=1).fit(X, Y)
    assert np.isfinite(model.decision_function(X)).all()
    assert ((model.predict_proba(X) >= 0.0) & (model.predict_proba(X) <= 1.0)).all()
    if len(np.unique(Y, axis=0)) == 1:
        assert model.n_rules_ == 1
        np.testing.assert_array_equal(model.predict(X), Y)


def test_one_example() -> None:
    with pytest.warns(Warning, match="ended with 1 of"):
        model = RuleBoostingClassifier(n_rules=5, loss=SOFTMAX).fit([[1.0]], [[1, 0]])
    np.testing.assert_array_equal(model.predict([[0.0]]), [[1, 0]])


def test_huge_steps_stay_finite() -> None:
    model, X, _ = fitted(learning_rate=1e4, n_rules=20)
    assert np.isfinite(model.decision_function(X)).all()
    assert np.isfinite(model.predict_proba(X)).all()


def test_training_lowers_the_loss() -> None:
    model, X, Y = fitted(bootstrap=False, max_features=None, n_rules=40)
    sets = ref.label_sets(Y, np.ones(len(Y)))
    losses = [
        ref.labelset_softmax_loss(Y, scores, sets).mean()
        for scores in model.staged_decision_function(X)
    ]
    assert (np.diff(losses) < 0.0).all()
    assert losses[0] == pytest.approx(-(sets.prior * np.log(sets.prior)).sum())


@pytest.mark.parametrize("head", ["complete", "single"])
def test_the_core_knows_the_loss(head: str) -> None:
    X, Y = problem()
    sets = LabelSets.of(Y, np.ones(len(Y)))
    columns = _core.Columns.from_dense(X, np.zeros(X.shape[1], dtype=np.uint8), 0, 1)
    known = {"sets": sets.vectors, "set_weights": sets.weights, "set_of": sets.set_of}
    changes = {"loss": SOFTMAX, "single_head": head == "single", "max_features": 3}
    booster = _core.Booster(columns, Y, np.ones(len(Y)), **(CORE_SETTINGS | changes | known))
    booster.add_default_rule(RULE_MAKER)
    for attempt in range(10):
        booster.learn_rule(attempt, RULE_MAKER)
    expected = ref.labelset_softmax_loss(Y, booster.scores(), ref.label_sets(Y, np.ones(len(Y))))
    assert booster.mean_loss() == pytest.approx(expected.mean(), rel=1e-12)


def test_the_core_refuses_wrong_label_sets() -> None:
    X, Y = problem()
    sets = LabelSets.of(Y, np.ones(len(Y)))
    columns = _core.Columns.from_dense(X, np.zeros(X.shape[1], dtype=np.uint8), 0, 1)
    common = CORE_SETTINGS | {"loss": SOFTMAX}
    known = {"sets": sets.vectors, "set_weights": sets.weights, "set_of": sets.set_of}
    wrong: dict[str, Any] = {
        "sets": [None, sets.vectors[:-1], np.ascontiguousarray(sets.vectors[:, :-1])],
        "set_weights": [None, sets.weights[1:], 0.0 * sets.weights],
        "set_of": [None, sets.set_of[1:], sets.set_of + 1000, -sets.set_of - 1],
    }
    for name, values in wrong.items():
        for value in values:
            with pytest.raises(ValueError, match=r"label set|index"):
                _core.Booster(columns, Y, np.ones(len(Y)), **common, **(known | {name: value}))


# --- Prediction ---------------------------------------------------------------------------------


def test_predictions_are_those_of_the_reference() -> None:
    model, X, Y = fitted()
    sets = ref.label_sets(Y, np.ones(len(Y)))
    scores = model.decision_function(X)
    np.testing.assert_array_equal(model.predict(X), ref.decode_label_sets(scores, sets))
    marginals = ref.label_set_probabilities(scores, sets) @ sets.vectors
    np.testing.assert_allclose(model.predict_proba(X), marginals, rtol=1e-12, atol=1e-15)
    by_sign = clone(model).set_params(decoding="sign").fit(X, Y).predict(X)
    np.testing.assert_array_equal(by_sign, scores > 0.0)


@pytest.mark.parametrize("loss", [SOFTMAX, "example_logistic"])
def test_the_most_likely_label_sets(loss: str) -> None:
    model, X, Y = fitted(loss=loss)
    n_sets = len(np.unique(Y, axis=0))
    every = model.predict_label_sets(X, top=n_sets)
    assert every.label_sets.shape == (len(X), n_sets, 5)
    np.testing.assert_allclose(every.probabilities.sum(axis=1), 1.0, rtol=1e-12)
    assert (np.diff(every.probabilities, axis=1) <= 0.0).all()
    marginals = np.einsum("ns,nsk->nk", every.probabilities, every.label_sets)
    np.testing.assert_allclose(marginals, model.predict_proba(X), rtol=1e-9, atol=1e-12)
    best = model.predict_label_sets(X)
    assert best.label_sets.shape == (len(X), 1, 5)
    np.testing.assert_array_equal(best.label_sets[:, 0], model.predict(X))
    few, likely = model.predict_label_sets(X, top=3)
    np.testing.assert_array_equal(few, every.label_sets[:, :3])
    np.testing.assert_array_equal(likely, every.probabilities[:, :3])
    assert model.predict_label_sets(X, top=10**6).probabilities.shape == (len(X), n_sets)


@pytest.mark.parametrize(("top", "error"), [(0, ValueError), (1.5, TypeError), ("all", TypeError)])
def test_top_must_be_a_positive_number(top: Any, error: type[Exception]) -> None:
    model, X, _ = fitted(n_rules=2)
    with pytest.raises(error, match="top must be"):
        model.predict_label_sets(X, top=top)


def test_the_label_wise_loss_knows_no_label_sets() -> None:
    model, X, _ = fitted(loss="label_logistic")
    with pytest.raises(ValueError, match="loss='labelset_softmax'"):
        model.predict_label_sets(X)


def test_equally_likely_sets() -> None:
    """Scores of zero: the prior decides; equal priors: the first set."""
    vectors = np.array([[1, 1], [1, 0], [0, 0]], dtype=np.uint8)
    zero = np.zeros((1, 2))
    assert most_likely(softmax_logits(zero, vectors, np.array([1.0, 2.0, 2.0]))).tolist() == [1]
    assert most_likely(softmax_logits(zero, vectors, np.ones(3))).tolist() == [0]
    huge = softmax_logits(np.array([[1e300, -1e300]]), vectors, np.ones(3))
    np.testing.assert_allclose(probabilities(huge), [[0.0, 1.0, 0.0]])


def test_label_sets_never_seen_in_training() -> None:
    """They cannot be predicted, but whatever is measured of them is finite."""
    X, Y = problem()
    seen = ~(Y[:, 0] & Y[:, 1]).astype(bool)
    assert 10 < seen.sum() < len(Y)
    model = RuleBoostingClassifier(n_rules=20, loss=SOFTMAX, random_state=1).fit(X[seen], Y[seen])
    predicted = model.predict(X)
    assert not (predicted[:, 0] & predicted[:, 1]).any()
    assert 0.0 <= model.score(X, Y) < 1.0
    assert np.isfinite(model.predict_proba(X)).all()


def test_a_vector_of_labels() -> None:
    X, Y = problem()
    model = RuleBoostingClassifier(n_rules=20, loss=SOFTMAX, random_state=1).fit(X, Y[:, 0])
    assert model.predict(X).shape == (len(X),)
    assert model.predict_label_sets(X, top=2).label_sets.shape == (len(X), 2, 1)


def test_a_copy_predicts_the_same() -> None:
    model, X, _ = fitted()
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))


@pytest.mark.parametrize("name", ["emotions", "medical"])
def test_probabilities_of_label_sets_on_real_data(name: str) -> None:
    """Held-out log loss of whole sets: well below that of their shares in the training data."""
    data = real_data(name)
    train, test = next(iter(KFold(10, shuffle=True, random_state=1).split(data.Y)))
    model = RuleBoostingClassifier(n_rules=300, loss=SOFTMAX, learning_rate=0.1, random_state=1)
    model.fit(data.X[train], data.Y[train])
    sets, likely = model.predict_label_sets(data.X[test], top=10**6)
    true = (sets == data.Y[test][:, None, :]).all(axis=-1)
    known = true.any(axis=1)
    ours = -np.log((likely * true).sum(axis=1)[known]).mean()
    prior = ref.label_sets(data.Y[train], np.ones(len(train))).prior
    assert ours < -0.9 * (prior * np.log(prior)).sum()
