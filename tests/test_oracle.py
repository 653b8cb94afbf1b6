"""The core learns the same rules as the reference: same conditions, same coverage, same heads."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from oracle import assert_same_rules, fit_both, real_data

from labelboost import RuleBoostingClassifier, _core, reference

BINS = (0.32, 0.16, 0.08, 0.04, 2)
LOSSES = ("example_logistic", "label_logistic", "labelset_softmax")
L2 = (0.0, 0.1, 1.0)


def grid() -> list[dict[str, Any]]:
    """List every combination that can differ: single heads have no bins."""
    bins: list[dict[str, Any]] = [{"label_bins": None}]
    for label_bins, aggregation in product(BINS, ("paper", "exact")):
        bins.append({"label_bins": label_bins, "label_bin_aggregation": aggregation})
    complete = [
        {"loss": loss, "head": "complete", "l2": l2, **b}
        for loss, l2, b in product(LOSSES, L2, bins)
    ]
    single = [
        {"loss": loss, "head": "single", "l2": l2, "label_bins": b}
        for loss, l2, b in product(LOSSES, L2, (None, 0.04))
    ]
    return complete + single


def name_of(parameters: dict[str, Any]) -> str:
    return "-".join(str(value) for value in parameters.values())


def random_problem(
    seed: int, n: int = 60, n_labels: int = 5
) -> tuple[NDArray[np.float64], NDArray[np.uint8], NDArray[np.bool_]]:
    """Mix numeric, integer, nominal, sparse, missing, constant and duplicated columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 10))
    X[:, 1] = rng.integers(0, 4, n)
    X[:, 2] = rng.integers(0, 3, n)
    X[:, 3] = np.where(rng.random(n) < 0.8, 0.0, rng.normal(size=n))
    X[:, 4] = X[:, 0]
    X[:, 5] = 7.0
    X[:, 6] = rng.integers(0, 2, n)
    X[rng.random(n) < 0.2, 7] = np.nan
    X[rng.random(n) < 0.2, 2] = np.nan
    X[:, 8] = np.where(rng.random(n) < 0.7, 3.0, rng.integers(0, 6, n))
    nominal = np.isin(np.arange(10), (2, 6, 8))
    logits = np.nan_to_num(X) @ rng.normal(size=(10, n_labels)) + rng.normal(size=(n, n_labels))
    return X, (logits > 0.5).astype(np.uint8), nominal


@pytest.mark.parametrize("parameters", grid(), ids=name_of)
@pytest.mark.parametrize("sampling", [False, True], ids=["all", "sampled"])
def test_random_data(parameters: dict[str, Any], sampling: bool) -> None:
    X, Y, nominal = random_problem(seed=3)
    model, rules = fit_both(
        X, Y, nominal, n_rules=15, bootstrap=sampling, max_features=4 if sampling else None,
        **parameters,
    )  # fmt: skip
    assert_same_rules(model.rules_, rules)


# Examples, rules and conditions where all features are searched and nothing is sampled, then rules
# where examples and features are sampled: what the reference can do in a few seconds altogether.
PARTS = {
    "flags": (194, 3, 4, 6),
    "emotions": (593, 2, 3, 5),
    "birds": (130, 2, 2, 3),
    "yeast": (120, 2, 3, 2),
}
WHOLE = {
    "flags": (194, 20, None, 100),
    "emotions": (593, 4, None, 40),
    "birds": (645, 2, 6, 10),
    "yeast": (2417, 2, 3, 6),
}


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("parameters", grid(), ids=name_of)
def test_real_data(name: str, parameters: dict[str, Any], exhaustive: bool) -> None:
    data = real_data(name)
    X, Y = data.X.toarray().astype(np.float64), data.Y
    n_examples, n_rules, max_conditions, n_sampled = (WHOLE if exhaustive else PARTS)[name]
    searched, rules = fit_both(
        X[:n_examples], Y[:n_examples], data.nominal, n_rules=n_rules,
        max_conditions=max_conditions, bootstrap=False, max_features=None, **parameters,
    )  # fmt: skip
    assert_same_rules(searched.rules_, rules)
    sampled, rules = fit_both(X, Y, data.nominal, n_rules=n_sampled, **parameters)
    assert_same_rules(sampled.rules_, rules)


@pytest.mark.parametrize("form", ["csr", "csc", "float32", "fortran"])
@pytest.mark.parametrize("label_bins", [None, 0.3])
def test_other_forms_of_the_same_data(form: str, label_bins: float | None) -> None:
    X, Y, nominal = random_problem(seed=4)
    X = X.astype(np.float32).astype(np.float64)
    forms = {
        "csr": sp.csr_array,
        "csc": sp.csc_array,
        "float32": np.float32,
        "fortran": np.asfortranarray,
    }
    model, rules = fit_both(
        X, Y, nominal, X_core=forms[form](X), n_rules=20, label_bins=label_bins, max_features=4
    )
    assert_same_rules(model.rules_, rules)


@pytest.mark.parametrize("feature_bins", [2, 5, 20, 1000])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("label_bins", [None, 0.3])
@pytest.mark.parametrize("n_labels", [5, 36])
def test_feature_bins(
    feature_bins: int, sparse: bool, label_bins: float | None, n_labels: int
) -> None:
    """Quantile bins learn what exact thresholds learn on the numbers of the bins."""
    X, Y, nominal = random_problem(seed=8, n=150, n_labels=n_labels)
    binned = X.copy()
    for j in np.flatnonzero(~nominal):
        binned[:, j] = reference.quantile_bins(X[:, j], feature_bins)
    # Without a sample: where a threshold lies within a gap matters to examples outside of it.
    parameters = {"n_rules": 15, "label_bins": label_bins, "max_features": 4, "bootstrap": False}
    _, rules = fit_both(binned, Y, nominal, **parameters)
    model = RuleBoostingClassifier(
        random_state=1,
        feature_bins=feature_bins,
        categorical_features=np.flatnonzero(nominal),
        **parameters,
    ).fit(sp.csc_array(X) if sparse else X, Y)
    for comp, ref in zip(model.rules_, rules, strict=True):
        assert [(c.feature, c.operator) for c in comp.conditions] == [
            (c.feature, c.operator) for c in ref.conditions
        ]
        covered = reference.body(comp.conditions, X)
        np.testing.assert_array_equal(covered, reference.body(ref.conditions, binned))
        np.testing.assert_allclose(comp.head, ref.head, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("parameters", grid()[::5], ids=name_of)
def test_sample_weights(parameters: dict[str, Any]) -> None:
    X, Y, nominal = random_problem(seed=5)
    weights = np.random.default_rng(5).uniform(0.1, 4.0, len(X))
    model, rules = fit_both(X, Y, nominal, weights, n_rules=12, **parameters)
    assert_same_rules(model.rules_, rules)


@pytest.mark.parametrize("n_labels", [1, 2, 8, 17, 40, 110])
@pytest.mark.parametrize("label_bins", [None, 0.2])
def test_numbers_of_labels(n_labels: int, label_bins: float | None) -> None:
    X, Y, nominal = random_problem(seed=6, n_labels=n_labels)
    model, rules = fit_both(X, Y, nominal, n_rules=8, label_bins=label_bins, max_features=4)
    assert_same_rules(model.rules_, rules)


BOUNDED = [p for p in grid() if p["loss"] == "example_logistic" and p["head"] == "complete"]
BOUNDED = [p for p in BOUNDED if p["l2"] > 0]  # without it there are no bounds


@pytest.mark.parametrize("parameters", BOUNDED, ids=name_of)
def test_many_labels(parameters: dict[str, Any]) -> None:
    """More than 32: candidates are bounded, and settled without a system of their own."""
    X, Y, nominal = random_problem(seed=9, n=110, n_labels=36)
    model, rules = fit_both(X, Y, nominal, n_rules=10, max_features=4, **parameters)
    assert_same_rules(model.rules_, rules)


def word_problem(seed: int, n: int, n_labels: int) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    """Words that are there or not, or counted, some of them not known, and topics made of them."""
    rng = np.random.default_rng(seed)
    X = (rng.random((n, 24)) < rng.uniform(0.02, 0.4, 24)).astype(np.float64)
    X[:, 12:] *= rng.integers(1, 4, (n, 12))
    X[rng.random(n) < 0.1, 5] = np.nan
    logits = np.nan_to_num(X) @ rng.normal(size=(24, n_labels)) + rng.normal(size=(n, n_labels))
    shares = rng.uniform(0.02, 0.5, n_labels)
    return X, (logits > np.diag(np.quantile(logits, 1 - shares, axis=0))).astype(np.uint8)


@pytest.mark.parametrize("aggregation", ["paper", "exact"])
@pytest.mark.parametrize("label_bins", [None, 2, 4, 0.06, 0.32])
@pytest.mark.parametrize("l2", [0.01, 1.0])
@pytest.mark.parametrize("weighted", [False, True], ids=["even", "weighted"])
def test_many_labels_of_words(
    aggregation: str, label_bins: float | None, l2: float, weighted: bool
) -> None:
    """Rests lack few examples: heads that are nearly their best ones tell which may win."""
    X, Y = word_problem(seed=4, n=150, n_labels=37)
    rng = np.random.default_rng(5)
    weights = np.where(rng.random(len(X)) < 0.1, 1e6, rng.uniform(1.0, 10.0, len(X)))
    parameters = {"label_bins": label_bins, "label_bin_aggregation": aggregation, "l2": l2}
    model, rules = fit_both(
        X, Y, None, weights if weighted else None, n_rules=15, min_coverage=2, **parameters
    )
    assert_same_rules(model.rules_, rules)


@pytest.mark.parametrize("n_labels", [33, 39, 40, 41, 47, 64])
def test_many_labels_solved_eight_at_a_time(n_labels: int) -> None:
    """Rests are settled by substitution, in blocks of which the last one may be incomplete."""
    X, Y = word_problem(seed=n_labels, n=120, n_labels=n_labels)
    model, rules = fit_both(X, Y, None, n_rules=12, label_bins=None, l2=0.1)
    assert_same_rules(model.rules_, rules)


@pytest.mark.parametrize("label_bins", [None, 2, 0.06, 0.32])
@pytest.mark.parametrize("weighted", [False, True], ids=["even", "weighted"])
def test_words_among_numbers(label_bins: float | None, weighted: bool) -> None:
    """Fewer labels: in the same search words have bounds, while numbers are screened."""
    X, Y = word_problem(seed=6, n=120, n_labels=20)
    rng = np.random.default_rng(8)
    X[:, :3] = rng.normal(size=(len(X), 3)) + Y[:, :3]
    X[rng.random(len(X)) < 0.6, 3] = 2.5
    weights = np.where(rng.random(len(X)) < 0.1, 1e6, rng.uniform(1.0, 10.0, len(X)))
    model, rules = fit_both(
        X,
        Y,
        None,
        weights if weighted else None,
        n_rules=15,
        max_features=12,
        label_bins=label_bins,
    )
    assert_same_rules(model.rules_, rules)
    used = {condition.feature < 3 for rule in model.rules_ for condition in rule.conditions}
    assert used == {False, True}


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(
    "parameters",
    [{"label_bins": None}, {"label_bins": 2}, {"loss": "label_logistic"}],
    ids=["none", "2", "label-wise"],
)
@pytest.mark.parametrize("n_labels", [5, 40])
def test_searches_of_words_before_and_after_numbers(
    parameters: dict[str, Any], n_labels: int, n_jobs: int
) -> None:
    """What words drop is only marked until somebody goes through the lists of what is covered."""
    X, Y = word_problem(seed=11, n=200, n_labels=n_labels)
    rng = np.random.default_rng(12)
    X[:, :12] = (rng.normal(size=(len(X), 12)) + Y[:, [0]]).round(1)
    model, rules = fit_both(X, Y, None, n_rules=25, max_features=2, n_jobs=n_jobs, **parameters)
    assert_same_rules(model.rules_, rules)
    orders = {
        (before.feature < 12, after.feature < 12)
        for rule in model.rules_
        for before, after in pairwise(rule.conditions)
    }
    assert len(orders) == 4


@pytest.mark.parametrize("name", ["slashdot", "eukaryote-go"])
@pytest.mark.parametrize("label_bins", [None, 2, 0.32])
def test_real_data_of_words(name: str, label_bins: float | None) -> None:
    data = real_data(name)
    X, Y = data.X.toarray().astype(np.float64)[::4], data.Y[::4]
    model, rules = fit_both(X, Y, data.nominal, n_rules=3, max_conditions=6, label_bins=label_bins)
    assert_same_rules(model.rules_, rules)


@pytest.mark.parametrize("label_bins", [None, 2])
def test_constant_features_among_many_long_lists(label_bins: int | None) -> None:
    """There are too many lists to keep, and one feature has no candidates: it changes nothing."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(7000, 20))
    Y = (X @ rng.normal(size=(20, 33)) + rng.normal(size=(7000, 33)) > 3.0).astype(np.uint8)
    model = RuleBoostingClassifier(
        n_rules=3, label_bins=label_bins, max_features=1.0, max_conditions=2, random_state=1
    )
    alone = model.fit(X, Y).rules_
    beside = model.fit(np.column_stack([X, np.ones(len(X))]), Y).rules_
    assert [rule.conditions for rule in alone] == [rule.conditions for rule in beside]
    assert all(np.array_equal(a.head, b.head) for a, b in zip(alone, beside, strict=True))


@pytest.mark.parametrize("name", ["enron", "medical"])
@pytest.mark.parametrize("parameters", [p for p in BOUNDED if p["l2"] == 1.0], ids=name_of)
def test_real_data_with_many_labels(name: str, parameters: dict[str, Any]) -> None:
    data = real_data(name)
    X, Y = data.X.toarray().astype(np.float64), data.Y
    model, rules = fit_both(X, Y, data.nominal, n_rules=3, max_conditions=8, **parameters)
    assert_same_rules(model.rules_, rules)


def numeric_problem(
    seed: int, n: int, n_labels: int, values: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    """Numeric features only, with a few distinct values each or as many as there are examples."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    if values > 0:
        X = np.floor(values * rng.random((n, 4)) ** [1.0, 2.0, 3.0, 4.0])
    X[rng.random(n) < 0.1, 3] = np.nan
    logits = np.nan_to_num(X) @ rng.normal(size=(4, n_labels)) + rng.normal(size=(n, n_labels))
    shares = rng.uniform(0.05, 0.6, n_labels)
    thresholds = np.diag(np.quantile(logits, 1 - shares, axis=0))
    return X, (logits > thresholds).astype(np.uint8)


AGGREGATED = [(None, "paper"), *product((2, 0.32), ("paper", "exact"))]
SCREENED = [
    {"label_bins": label_bins, "label_bin_aggregation": aggregation, "l2": l2}
    for (label_bins, aggregation), l2 in product(AGGREGATED, (0.01, 1.0, 50.0))
]
"""Settings with which features that have many splits are screened, by leaps."""


@pytest.mark.parametrize("n_labels", [2, 7, 18, 32])
@pytest.mark.parametrize("parameters", SCREENED, ids=name_of)
def test_long_lists(parameters: dict[str, Any], n_labels: int) -> None:
    """Lists of one leap and of several, whose lanes are not all equally long."""
    for n, min_coverage in ((40, 1), (700, 12)):
        X, Y = numeric_problem(seed=n_labels, n=n, n_labels=n_labels)
        model, rules = fit_both(
            X, Y, n_rules=10, max_features=2, max_conditions=8, min_coverage=min_coverage,
            **parameters,
        )  # fmt: skip
        assert_same_rules(model.rules_, rules)


MANY = [
    *product((150,), (33, 70, 128), [{"label_bins": None}], (0.01, 1.0)),
    *product((150,), (33, 128, 250), [{"label_bins": 2}], (0.01, 1.0)),
    *product((400,), (40, 80), [{"label_bins": 0.08}], (0.01, 1.0)),
    *product((1000,), (100,), [{"label_bins": 0.08}], (1.0,)),
    *product((400,), (26, 56), [{"label_bins": 0.5}], (1.0,)),
    *product((400,), (26, 40), [{"label_bins": 0.5, "label_bin_aggregation": "exact"}], (1.0,)),
]
"""How many examples and labels there may, or must, be for long lists to be screened: that depends
on the label bins."""


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("case", MANY, ids=lambda case: f"{case[1]}-{name_of(case[2])}-{case[3]}")
def test_long_lists_of_many_labels(case: tuple[Any, ...], sparse: bool, n_jobs: int) -> None:
    """With bins they are screened at once, without where bounds leave most of the candidates."""
    n, n_labels, bins, l2 = case
    X, Y = numeric_problem(seed=n_labels, n=n, n_labels=n_labels)
    if sparse:  # what is not listed has no candidates of its own
        X[np.random.default_rng(1).random(X.shape) < 0.3] = 0.0
    model, rules = fit_both(
        X, Y, n_rules=3, max_features=2, max_conditions=3, min_coverage=3, l2=l2, n_jobs=n_jobs,
        **bins,
    )  # fmt: skip
    assert_same_rules(model.rules_, rules)


@pytest.mark.parametrize("head", ["single", "complete"])
@pytest.mark.parametrize("n_labels", [65, 150])
@pytest.mark.parametrize("l2", [0.01, 1.0])
def test_long_lists_of_many_labels_one_by_one(n_labels: int, head: str, l2: float) -> None:
    X, Y = numeric_problem(seed=n_labels, n=300, n_labels=n_labels)
    model, rules = fit_both(
        X, Y, n_rules=8, max_features=2, max_conditions=6, min_coverage=3, l2=l2, head=head,
        loss="label_logistic",
    )  # fmt: skip
    assert_same_rules(model.rules_, rules)


@pytest.mark.parametrize("label_bins", [None, 2, 0.04, 0.32])
@pytest.mark.parametrize("n_labels", [35, 60])
def test_real_data_with_many_labels_and_long_lists(n_labels: int, label_bins: float | None) -> None:
    data = real_data("reuters-k500")
    Y = data.Y[:, np.argsort(-data.Y.sum(axis=0), kind="stable")[:n_labels]]
    X = data.X.toarray() if sp.issparse(data.X) else np.asarray(data.X)
    model, rules = fit_both(
        X[::10].astype(np.float64), Y[::10], data.nominal, n_rules=4, max_conditions=4,
        label_bins=label_bins,
    )  # fmt: skip
    assert_same_rules(model.rules_, rules)


@pytest.mark.parametrize("n_labels", [1, 7, 18, 32])
@pytest.mark.parametrize("parameters", SCREENED, ids=name_of)
def test_few_values(parameters: dict[str, Any], n_labels: int) -> None:
    """Features with far fewer values than examples are screened by histograms."""
    X, Y = numeric_problem(seed=n_labels, n=400, n_labels=n_labels, values=9)
    model, rules = fit_both(X, Y, n_rules=20, max_features=3, min_coverage=12, **parameters)
    assert_same_rules(model.rules_, rules)


@pytest.mark.parametrize("n_labels", [2, 7, 18, 32])
@pytest.mark.parametrize("parameters", SCREENED, ids=name_of)
def test_short_lists(parameters: dict[str, Any], n_labels: int) -> None:
    """Several lists at once: more of them than fit, fewer, and some with missing values."""
    for n in (50, 250):
        X, Y = numeric_problem(seed=n_labels, n=n, n_labels=n_labels)
        more = np.random.default_rng(n).normal(size=(n, 5))
        model, rules = fit_both(
            np.hstack([X, more]), Y, n_rules=4, max_features=None, max_conditions=4, **parameters
        )
        assert_same_rules(model.rules_, rules)


@pytest.mark.parametrize("n_labels", [2, 7, 18])
@pytest.mark.parametrize("n_long", [0, 2, 5])
@pytest.mark.parametrize("parameters", SCREENED, ids=name_of)
def test_few_lists_with_many_values(parameters: dict[str, Any], n_long: int, n_labels: int) -> None:
    """Leaps go along several lists at once, if enough features have many values."""
    X, Y = numeric_problem(seed=n_labels, n=120, n_labels=n_labels, values=5)
    many_values = np.random.default_rng(n_long).normal(size=(120, n_long))
    model, rules = fit_both(
        np.hstack([X, many_values]), Y, n_rules=6, max_features=None, max_conditions=4, **parameters
    )
    assert_same_rules(model.rules_, rules)


@pytest.mark.parametrize("n_labels", [1, 7, 16, 17, 32, 40])
@pytest.mark.parametrize("parameters", SCREENED, ids=name_of)
def test_features_ruled_out_by_residuals(parameters: dict[str, Any], n_labels: int) -> None:
    """Where a feature is in bins, bounds come first; it is of no use itself, for the reference."""
    X, Y = numeric_problem(seed=n_labels, n=600, n_labels=n_labels, values=9)
    useless = np.full((600, 1), np.nan)
    useless[:20, 0] = np.arange(20)
    model, rules = fit_both(
        np.hstack([X, useless]), Y, n_rules=8, max_features=None, min_coverage=25,
        feature_bins=16, **parameters,
    )  # fmt: skip
    assert_same_rules(model.rules_, rules)


@pytest.mark.parametrize("label_bins", [None, 2])
def test_few_values_of_many_examples(label_bins: int | None) -> None:
    """Sums of more examples than single precision is good for."""
    X, Y = numeric_problem(seed=5, n=140_000, n_labels=3, values=5)
    model, rules = fit_both(X, Y, n_rules=3, label_bins=label_bins, max_conditions=2)
    assert_same_rules(model.rules_, rules)


@pytest.mark.parametrize("n_labels", [1, 7, 16, 20, 40])
@pytest.mark.parametrize("head", ["single", "complete"])
@pytest.mark.parametrize("l2", [0.01, 1.0, 50.0])
def test_few_values_of_many_examples_label_by_label(n_labels: int, head: str, l2: float) -> None:
    """Missing values, categories, a feature twice, weights, and few examples that are left."""
    rng = np.random.default_rng(n_labels)
    X, Y = numeric_problem(seed=n_labels, n=9000, n_labels=n_labels, values=9)
    X = np.hstack([X, X[:, :1], rng.integers(0, 4, (9000, 1)), rng.integers(0, 2, (9000, 1))])
    X[rng.random(9000) < 0.1, 1] = np.nan
    nominal = np.zeros(X.shape[1], dtype=bool)
    nominal[-2] = True
    weights = rng.choice([0.5, 1.0, 3.0], 9000) if n_labels % 2 else None
    model, rules = fit_both(
        X, Y, nominal, weights, n_rules=5, loss="label_logistic", head=head, l2=l2,
        max_features=None, max_conditions=6, min_coverage=25,
    )  # fmt: skip
    assert_same_rules(model.rules_, rules)


def many_values(n_labels: int) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    """So many examples and values that label-wise training looks at blocks of ranks.

    There are missing values, a feature twice, a shuffled one that tells nothing, a skewed one half
    of whose values are equal, and one with values next to each other that occur several times.
    """
    rng = np.random.default_rng(n_labels)
    X, Y = numeric_problem(seed=n_labels, n=40_000, n_labels=n_labels)
    skewed = np.where(X[:, 1] < 0, 0.0, np.exp(3 * X[:, 1]))
    repeated = np.round(2000 * X[:, 2])
    return np.column_stack([X, X[:, 0], rng.permutation(X[:, 0]), skewed, repeated]), Y


@pytest.mark.parametrize("n_labels", [1, 5, 20])
@pytest.mark.parametrize("head", ["single", "complete"])
@pytest.mark.parametrize("l2", [0.01, 1.0, 50.0])
def test_many_values_of_many_examples_label_by_label(n_labels: int, head: str, l2: float) -> None:
    """Candidates in the first and last block, in others, and in some that the rule before cut."""
    X, Y = many_values(n_labels)
    weights = np.random.default_rng(1).choice([0.5, 1.0, 3.0], len(X)) if n_labels % 2 else None
    model, rules = fit_both(
        X, Y, sample_weight=weights, n_rules=4, loss="label_logistic", head=head, l2=l2,
        max_features=None, max_conditions=4, min_coverage=25,
    )  # fmt: skip
    assert_same_rules(model.rules_, rules)


@pytest.mark.parametrize(
    "parameters",
    [
        {"loss": "label_logistic"},
        {"label_bins": None, "feature_bins": 32},
        {"label_bins": 2, "feature_bins": 200},
    ],
)
def test_many_values_with_several_threads(parameters: dict[str, Any]) -> None:
    """Threads share features, ranks of a feature, and blocks of ranks: nothing depends on that."""
    X, Y = many_values(n_labels=7)
    fitted = [
        RuleBoostingClassifier(n_rules=5, random_state=1, n_jobs=jobs, **parameters).fit(X, Y)
        for jobs in (1, 2, 3)
    ]
    for model in fitted[1:]:
        for rule, expected in zip(model.rules_, fitted[0].rules_, strict=True):
            assert rule.conditions == expected.conditions
            np.testing.assert_array_equal(rule.head, expected.head)


@pytest.mark.parametrize("l2", [1e-6, 1.0])
def test_blocks_after_huge_steps(l2: float) -> None:
    """Gradients next to 1, whose second derivatives single precision cannot tell from 0."""
    X, Y = many_values(n_labels=3)
    model, rules = fit_both(
        X, Y, n_rules=8, loss="label_logistic", l2=l2, learning_rate=8.0, max_conditions=3
    )
    assert_same_rules(model.rules_, rules)


def test_gains_too_small_for_blocks() -> None:
    """Labels that no feature tells anything of: sums in single precision could not decide."""
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=(40_000, 2)), rng.integers(0, 2, (40_000, 2), dtype=np.uint8)
    model, rules = fit_both(X, Y, n_rules=12, loss="label_logistic", max_conditions=3)
    assert_same_rules(model.rules_, rules)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("label_bins", [None, 0.5])
def test_labels_that_never_or_always_occur(loss: str, label_bins: float | None) -> None:
    X, Y, nominal = random_problem(seed=7)
    Y[:, 0], Y[:, 1] = 0, 1
    model, rules = fit_both(X, Y, nominal, n_rules=10, loss=loss, label_bins=label_bins)
    assert_same_rules(model.rules_, rules)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 40),
    n_labels=st.one_of(st.integers(1, 12), st.integers(33, 41)),
    loss=st.sampled_from(LOSSES),
    head=st.sampled_from(["complete", "single"]),
    label_bins=st.sampled_from([None, 0.04, 0.3, 1.0, 2, 3, 7]),
    aggregation=st.sampled_from(["paper", "exact"]),
    l2=st.sampled_from([0.1, 1.0, 30.0]),
    learning_rate=st.sampled_from([0.1, 0.3, 1.0]),
    bootstrap=st.booleans(),
    max_features=st.sampled_from([None, 1, 3]),
    min_coverage=st.sampled_from([1, 2, 5]),
    max_conditions=st.sampled_from([None, 1, 3]),
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_any_setting(seed: int, n: int, n_labels: int, aggregation: str, **other: Any) -> None:
    X, Y, nominal = random_problem(seed, n, n_labels)
    model, rules = fit_both(X, Y, nominal, n_rules=6, label_bin_aggregation=aggregation, **other)
    assert_same_rules(model.rules_, rules)


@pytest.mark.parametrize("isa", ["portable", "avx2", "avx512"])
def test_every_instruction_set(isa: str) -> None:
    """The other kernels of this machine pass the comparison, too."""
    environment = os.environ | {"LABELBOOST_ISA": isa}
    ask = "from labelboost import _core; print(_core.instruction_set())"
    answer = subprocess.run(
        [sys.executable, "-c", ask], env=environment, capture_output=True, text=True, check=False
    )
    if answer.returncode != 0:
        assert f"LABELBOOST_ISA={isa} is not available" in answer.stderr
        pytest.skip(f"this machine has no {isa}")
    assert answer.stdout.strip() == isa
    if isa == _core.instruction_set():
        return
    tests = "numbers_of_labels or many_labels or feature_bins or other_forms or sample_weights"
    tests = f"{tests} or few_values or ruled_out or short_lists or (long_lists and 18)"
    tests = f"({tests}) and not real_data"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-x", "-k", tests]
    done = subprocess.run(
        [*command, str(Path(__file__))],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
