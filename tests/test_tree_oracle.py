"""The core grows the same trees as the reference."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from oracle import assert_same_trees, fit_both_trees, real_data
from test_oracle import random_problem

LOSSES = ("example_logistic", "label_logistic", "labelset_softmax")
CRITERIA = ("newton", "gradient")


def grid() -> list[dict[str, Any]]:
    bins: list[dict[str, Any]] = [{"label_bins": None}]
    for label_bins, aggregation in product((0.32, 0.04, 2), ("paper", "exact")):
        bins.append({"label_bins": label_bins, "label_bin_aggregation": aggregation})
    newton = [{"loss": a, "l2": b, **c} for a, b, c in product(LOSSES, (0.0, 0.1, 1.0), bins)]
    few_bins = [bins[0], bins[3]]  # which concern the leaves only
    gradient = [
        {"criterion": "gradient", "loss": a, "l2": b, **c}
        for a, b, c in product(LOSSES, (0.0, 1.0), few_bins)
    ]
    return newton + gradient


def name_of(parameters: dict[str, Any]) -> str:
    return "-".join(str(value) for value in parameters.values())


@pytest.mark.parametrize("parameters", grid(), ids=name_of)
@pytest.mark.parametrize("sampling", [False, True], ids=["all", "sampled"])
def test_random_data(parameters: dict[str, Any], sampling: bool) -> None:
    X, Y, nominal = random_problem(seed=3)
    sampled = {"subsample": 0.7, "max_features": 4} if sampling else {}
    everything = {"subsample": 1.0, "max_features": None}
    assert_same_trees(
        *fit_both_trees(
            X, Y, nominal, n_trees=4, max_depth=4, **(everything | sampled | parameters)
        )
    )


@pytest.mark.parametrize("growth", ["best_first", "by_level"])
@pytest.mark.parametrize("limits", [{"max_leaves": 5}, {"max_depth": 2}, {"min_coverage": 6}])
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("loss", LOSSES)
def test_limits(growth: str, limits: dict[str, Any], loss: str, criterion: str) -> None:
    X, Y, nominal = random_problem(seed=5, n=90)
    parameters = {"max_depth": None, "n_trees": 3, "max_features": 5} | limits
    model, default, trees = fit_both_trees(
        X, Y, nominal, growth=growth, loss=loss, criterion=criterion, **parameters
    )
    assert_same_trees(model, default, trees)
    for tree in model.trees_:
        assert tree.n_leaves <= limits.get("max_leaves", tree.n_leaves)
        assert max(len(rule.conditions) for rule in tree.rules()) <= limits.get("max_depth", 100)


@pytest.mark.parametrize("form", ["csr", "csc", "float32", "fortran"])
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("loss", LOSSES)
def test_other_forms_of_the_same_data(form: str, loss: str, criterion: str) -> None:
    X, Y, nominal = random_problem(seed=4)
    X = X.astype(np.float32).astype(np.float64)
    forms = {
        "csr": sp.csr_array,
        "csc": sp.csc_array,
        "float32": np.float32,
        "fortran": np.asfortranarray,
    }
    assert_same_trees(
        *fit_both_trees(
            X,
            Y,
            nominal,
            X_core=forms[form](X),
            n_trees=4,
            loss=loss,
            criterion=criterion,
            max_features=4,
        )
    )


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n_labels", [1, 36, 70])
@pytest.mark.parametrize("label_bins", [None, 2, 0.1])
def test_few_and_many_labels(
    loss: str, criterion: str, n_labels: int, label_bins: float | None
) -> None:
    X, Y, nominal = random_problem(seed=4, n=80, n_labels=n_labels)
    weights = np.random.default_rng(0).choice([0.5, 1.0, 3.0], len(X))
    assert_same_trees(
        *fit_both_trees(
            X, Y, nominal, weights, n_trees=3, max_depth=3, loss=loss, criterion=criterion,
            label_bins=label_bins, max_features=4,
        )
    )  # fmt: skip


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("subsample", [0.6, 1.0])
def test_whole_weights_count_as_repetitions(
    criterion: str, loss: str, sparse: bool, subsample: float
) -> None:
    """Also where the fewest examples of a leaf, and the way of missing values, are concerned."""
    X, Y, nominal = random_problem(seed=6, n=120)
    weights = np.random.default_rng(1).choice([1.0, 2.0, 6.0], len(X))
    model, default, trees = fit_both_trees(
        X, Y, nominal, weights, X_core=sp.csr_array(X) if sparse else None, n_trees=4, loss=loss,
        criterion=criterion, min_coverage=9, subsample=subsample, max_features=5,
    )  # fmt: skip
    assert_same_trees(model, default, trees)
    assert any(rule.coverage < 9 for tree in trees for rule in tree)


@pytest.mark.parametrize("name", ["flags", "emotions", "birds", "yeast"])
@pytest.mark.parametrize(
    "parameters", grid()[7:14] + grid()[21:22] + grid()[49:56] + grid()[63:], ids=name_of
)
def test_real_data(name: str, parameters: dict[str, Any]) -> None:
    data = real_data(name)
    X, Y = data.X.toarray().astype(np.float64)[:200], data.Y[:200]
    if parameters["loss"] != "example_logistic":
        Y = Y[:, :8]  # the reference keeps a vector per label set and pair of labels
    assert_same_trees(
        *fit_both_trees(X, Y, data.nominal, n_trees=2, max_depth=4, max_features=6, **parameters)
    )


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("loss", LOSSES)
def test_large_nodes_of_sparse_data(loss: str, criterion: str) -> None:
    """Where the frequent value of a feature becomes rare further down, sums must stay right."""
    rng = np.random.default_rng(0)
    n = 1200
    X = np.where(rng.random((n, 6)) < 0.55, 0.0, rng.integers(1, 5, (n, 6)).astype(float))
    X[:, 5] = np.where(X[:, 0] > 0.0, rng.integers(1, 4, n), 0.0)  # hardly ever 0 where x_0 is not
    X[rng.random(n) < 0.01, 5] = 0.0
    logits = X @ rng.normal(size=(6, 4)) + rng.normal(size=(n, 4))
    assert_same_trees(
        *fit_both_trees(
            X, (logits > 0.5).astype(np.uint8), X_core=sp.csr_array(X), n_trees=3, max_depth=5,
            max_features=None, loss=loss, criterion=criterion,
        )
    )  # fmt: skip


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("loss", LOSSES)
def test_threads_make_no_difference(threads: int, loss: str, criterion: str) -> None:
    X, Y, nominal = random_problem(seed=7, n=300, n_labels=8)
    one, _, _ = fit_both_trees(
        X, Y, nominal, n_trees=2, max_features=None, loss=loss, criterion=criterion
    )
    other = type(one)(**one.get_params() | {"n_jobs": threads}).fit(X, Y)
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("loss", ["example_logistic", "label_logistic"])
def test_more_examples_than_single_precision_is_good_for(loss: str, criterion: str) -> None:
    rng = np.random.default_rng(2)
    X = rng.integers(0, 5, (140_000, 3)).astype(np.float64)
    Y = (X @ rng.normal(size=(3, 3)) + rng.normal(size=(len(X), 3)) > 1.0).astype(np.uint8)
    assert_same_trees(*fit_both_trees(X, Y, n_trees=2, max_depth=2, loss=loss, criterion=criterion))
