"""TreeBoostingClassifier: what its trees predict, how they read as rules, and what it refuses."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from oracle import real_data
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from test_oracle import random_problem

from labelboost import TreeBoostingClassifier, _core
from labelboost.trees import pack_trees

LOSSES = ("example_logistic", "label_logistic", "labelset_softmax")


def fitted(
    loss: str = "labelset_softmax", n: int = 120, **parameters: Any
) -> tuple[TreeBoostingClassifier, NDArray[np.float64], NDArray[np.uint8]]:
    X, Y, nominal = random_problem(seed=2, n=n)
    given = {"n_trees": 12, "random_state": 0, "categorical_features": nominal} | parameters
    return TreeBoostingClassifier(loss=loss, **given).fit(X, Y), X, Y


def sum_of_rules(model: TreeBoostingClassifier, X: NDArray[np.float64]) -> NDArray[np.float64]:
    scores = np.zeros((len(X), len(model.classes_)))
    for rule in model.rules_:
        covered = np.ones(len(X), dtype=bool)
        for condition in rule.conditions:
            covered &= condition.covers(X[:, condition.feature])
        scores[covered] += rule.head
    return scores


@pytest.mark.parametrize("loss", LOSSES)
def test_a_tree_is_the_rules_of_its_leaves(loss: str) -> None:
    model, X, _ = fitted(loss)
    # Values that training never saw, missing ones among them.
    unseen = np.random.default_rng(1).normal(scale=3.0, size=(200, X.shape[1]))
    unseen[np.random.default_rng(2).random(unseen.shape) < 0.3] = np.nan
    unseen[:, 2] = np.round(unseen[:, 2])
    for rows in (X, unseen):
        np.testing.assert_array_equal(model.decision_function(rows), sum_of_rules(model, rows))
        for tree in model.trees_:
            covering = sum(
                np.logical_and.reduce(
                    [c.covers(rows[:, c.feature]) for c in rule.conditions], axis=0
                ).astype(int)
                for rule in tree.rules()
            )
            assert (covering == 1).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_every_form_of_the_data_gives_the_same_scores(loss: str) -> None:
    model, X, _ = fitted(loss)
    expected = model.decision_function(X)
    for rows in (sp.csr_array(X), sp.csc_array(X), np.asfortranarray(X), X[::-1][::-1]):
        np.testing.assert_array_equal(model.decision_function(rows), expected)
    for i in range(0, len(X), 17):
        np.testing.assert_array_equal(model.decision_function(X[i : i + 1])[0], expected[i])
    model.set_params(n_jobs=3)
    np.testing.assert_array_equal(model.decision_function(np.tile(X, (3, 1)))[: len(X)], expected)


def test_stages_are_shorter_ensembles() -> None:
    model, X, _ = fitted()
    stages = list(model.staged_decision_function(X))
    assert len(stages) == model.n_trees_ == 12
    short, _, _ = fitted(n_trees=5)
    np.testing.assert_array_equal(stages[4], short.decision_function(X))
    np.testing.assert_array_equal(stages[-1], model.decision_function(X))
    sets = list(model.staged_predict(X, [3, 12]))
    np.testing.assert_array_equal(sets[1], model.predict(X))


def test_coverage_counts_all_training_examples() -> None:
    model, X, _ = fitted(subsample=0.5)
    for tree in model.trees_:
        assert tree.coverage[0] == len(X)
        inner = tree.features >= 0
        children = tree.coverage[tree.left[inner]] + tree.coverage[tree.right[inner]]
        np.testing.assert_array_equal(children, tree.coverage[inner])


@pytest.mark.parametrize("direction", ["<", ">"])
def test_missing_values_go_where_they_fit(direction: str) -> None:
    """Whether missing values behave like small or like large ones is found out."""
    rng = np.random.default_rng(0)
    x = rng.random(400)
    y = x < 0.5 if direction == "<" else x >= 0.5
    x[y & (rng.random(400) < 0.4)] = np.nan
    model = TreeBoostingClassifier(n_trees=20, random_state=0).fit(x[:, None], y[:, None])
    assert model.predict([[np.nan]])[0, 0] == 1
    assert all(tree.missing_seen[0] for tree in model.trees_[:3])
    present = TreeBoostingClassifier(n_trees=5, random_state=0, max_features=None)
    present.fit(np.arange(30.0)[:, None], (np.arange(30) < 10)[:, None])
    assert present.predict([[np.nan]])[0, 0] == 0  # with most of the others
    assert not present.trees_[0].missing_seen.any()


def test_training_gets_better_with_every_tree() -> None:
    model, X, Y = fitted(subsample=1.0, n_trees=30, learning_rate=0.3)
    losses = [
        -np.log(np.maximum((probability * Y + (1 - probability) * (1 - Y)), 1e-12)).mean()
        for probability in model.staged_predict_proba(X)
    ]
    assert losses[-1] < 0.5 * losses[0]
    assert (model.predict(X) == Y).all(axis=1).mean() > 0.9


def test_pickle_and_clone() -> None:
    model, X, Y = fitted()
    assert len(model.rules_) == 1 + sum(tree.n_leaves for tree in model.trees_)
    copy = pickle.loads(pickle.dumps(model))
    assert "rules_" not in vars(copy)
    np.testing.assert_array_equal(copy.decision_function(X), model.decision_function(X))
    assert len(copy.rules_) == len(model.rules_)
    again = clone(model).fit(X, Y)
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    former = model.rules_
    model.set_params(n_trees=2).fit(X, Y)
    assert len(model.rules_) < len(former)


def test_rules_of_an_unfitted_model() -> None:
    assert not hasattr(TreeBoostingClassifier(), "rules_")


@pytest.mark.parametrize(
    ("parameters", "error", "said"),
    [
        ({"n_trees": 0}, ValueError, "n_trees"),
        ({"max_depth": 0}, ValueError, "max_depth"),
        ({"max_leaves": 1}, ValueError, "max_leaves"),
        ({"subsample": 0.0}, ValueError, "subsample"),
        ({"subsample": 1.5}, ValueError, "subsample"),
        ({"growth": "best-first"}, ValueError, "did you mean 'best_first'"),
        ({"feature_bins": 1}, ValueError, "feature_bins"),
        ({"loss": "softmax"}, ValueError, "labelset_softmax"),
        ({"min_coverage": 2.5}, TypeError, "min_coverage"),
    ],
)
def test_wrong_parameters_are_named(
    parameters: dict[str, Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        fitted(**parameters)


@pytest.mark.parametrize("Y", [np.zeros((8, 2)), np.ones((8, 2)), np.zeros((8, 1), dtype=bool)])
@pytest.mark.parametrize("loss", LOSSES)
def test_labels_that_are_all_alike(Y: NDArray[np.float64], loss: str) -> None:
    X = np.arange(16.0).reshape(8, 2)
    model = TreeBoostingClassifier(loss=loss, n_trees=3, random_state=0)
    with pytest.warns(ConvergenceWarning, match="ended with 0 of 3 trees"):
        model.fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), Y)


def test_one_example() -> None:
    with pytest.warns(ConvergenceWarning, match="0 of 3 trees"):
        model = TreeBoostingClassifier(n_trees=3).fit([[1.0, 2.0]], [[1, 0]])
    np.testing.assert_array_equal(model.predict([[5.0, np.nan]]), [[1, 0]])
    assert len(model.rules_) == 1


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_any_small_data(data: st.DataObject) -> None:
    n = data.draw(st.integers(2, 12))
    numbers = st.sampled_from([np.nan, -1e300, -1.0, 0.0, 0.5, 1.0, 1e300])
    X = np.array(data.draw(st.lists(st.tuples(numbers, numbers), min_size=n, max_size=n)))
    Y = np.array(
        data.draw(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=n, max_size=n))
    ).astype(int)
    model = TreeBoostingClassifier(
        loss=data.draw(st.sampled_from(LOSSES)),
        n_trees=3,
        l2=data.draw(st.sampled_from([0.0, 1e-3, 1.0])),
        max_depth=data.draw(st.sampled_from([1, 2, None])),
        subsample=data.draw(st.sampled_from([0.5, 1.0])),
        label_bins=data.draw(st.sampled_from([None, 2])),
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, Y)
    scores = model.decision_function(X)
    assert np.isfinite(scores).all()
    np.testing.assert_array_equal(scores, sum_of_rules(model, X))


def test_the_core_refuses_broken_trees() -> None:
    model, _, _ = fitted(n_trees=2)
    good = _core.Forest.__getstate__(pack_trees(model.default_, model.trees_, 10))
    names = ("trees", "features", "operators", "values", "missing_left", "left", "right",
             "default_head", "heads", "n_features")  # fmt: skip
    state = dict(zip(names, good, strict=True))
    _core.Forest(**state)

    def changed(name: str, place: int, value: int) -> dict[str, Any]:
        array = state[name].copy()
        array[place] = value
        return state | {name: array}

    for broken in (
        changed("features", 0, 10),
        changed("features", 0, -2),
        changed("left", 0, 0),  # a loop
        changed("left", 0, 10**6),
        changed("right", 0, -1),
        changed("operators", 0, 1),
        changed("trees", 1, 10**6),
        changed("trees", 0, 1),
        changed("left", len(state["left"]) - 1, 10**6),  # no such head
        state | {"values": state["values"][:-1]},
        state | {"heads": state["heads"][:, :-1].copy()},
        state | {"n_features": 1},
        state | {"default_head": np.empty(0)},
    ):
        with pytest.raises(ValueError, match=r"range|head|node|offset|entries|label"):
            _core.Forest(**broken)


@pytest.mark.parametrize(("name", "limit"), [("emotions", 0.66), ("medical", 0.30)])
def test_real_data(name: str, limit: float) -> None:
    """With defaults, better than all that the reference implementation reaches with rules."""
    data = real_data(name)
    test = np.arange(len(data.Y)) % 3 == 0
    model = TreeBoostingClassifier(random_state=1).fit(data.X[~test], data.Y[~test])
    assert (model.predict(data.X[test]) != data.Y[test]).any(axis=1).mean() < limit
