"""The extension itself: its arguments, its determinism and its behaviour at the edges."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from oracle import CORE_SETTINGS as SETTINGS

from labelboost import _core
from labelboost.label_sets import LabelSets
from labelboost.model import RULE_MAKER, Rule, pack_rules

VARIANTS = {
    "joint": {},
    "two bins": {"use_bins": True},
    "many bins": {"use_bins": True, "bin_ratio": 0.5, "exact_aggregation": True},
    "single": {"single_head": True},
    "label-wise": {"loss": "label_logistic"},
    "label-wise single": {"loss": "label_logistic", "single_head": True},
    "label-wise bins": {"loss": "label_logistic", "use_bins": True},
    "label sets": {"loss": "labelset_softmax"},
    "label sets in bins": {"loss": "labelset_softmax", "use_bins": True, "bin_ratio": 0.5},
    "label sets single": {"loss": "labelset_softmax", "single_head": True},
}


def dense_columns(X: Any, max_bins: int = 0, n_threads: int = 1) -> _core.Columns:
    return _core.Columns.from_dense(X, np.zeros(X.shape[1], dtype=np.uint8), max_bins, n_threads)


def problem(n: int = 200, n_features: int = 6, n_labels: int = 5) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, n_features))
    X[rng.random(X.shape) < 0.1] = np.nan
    Y = (np.nan_to_num(X) @ rng.normal(size=(n_features, n_labels)) > 0).astype(np.uint8)
    return X, Y


def covered_by(rule: Rule, X: Any) -> Any:
    covered = np.ones(len(X), dtype=bool)
    for condition in rule.conditions:
        covered &= condition.covers(X[:, condition.feature])
    return covered


def learn(columns: _core.Columns, Y: Any, n_rules: int = 10, **changes: Any) -> tuple[Any, Any]:
    sets = LabelSets.of(Y, np.ones(len(Y)))
    known = {"sets": sets.vectors, "set_weights": sets.weights, "set_of": sets.set_of}
    booster = _core.Booster(columns, Y, np.ones(len(Y)), **(SETTINGS | known | changes))
    rules = (booster.learn_rule(attempt, RULE_MAKER) for attempt in range(n_rules))
    return booster, [booster.add_default_rule(RULE_MAKER), *rules]


@pytest.mark.parametrize("n_labels", [1, 7, 8, 9, 97, 130])
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_number_of_threads_gives_the_same_bits(variant: str, n_labels: int) -> None:
    X, Y = problem(n=700 if n_labels < 10 else 150, n_labels=n_labels)
    results = []
    for n_threads in (1, 2, 5):
        columns = dense_columns(X, n_threads=n_threads)
        booster, rules = learn(columns, Y, 5, n_threads=n_threads, **VARIANTS[variant])
        results.append((pickle.dumps(rules), booster.scores().tobytes(), booster.mean_loss()))
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("variant", ["joint", "label-wise", "label-wise single"])
@pytest.mark.parametrize("n_labels", [47, 50, 121])
def test_parts_of_sums_that_are_left_over_are_shared_by_all_threads(
    n_labels: int, variant: str, sparse: bool
) -> None:
    """Each has its own labels then. Of 1,700 examples there are three parts, of 500 but one."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2700, 3)).round(1)
    if sparse:
        X[rng.random(X.shape) < 0.7] = 0.0
    Y = (X @ rng.normal(size=(3, n_labels)) > 1.0).astype(np.uint8)
    results = []
    for n_threads in (1, 2, 3, 4):
        _, rules = learn(dense_columns(X), Y, 3, n_threads=n_threads, **VARIANTS[variant])
        results.append(pickle.dumps(rules))
    assert results.count(results[0]) == 4


@pytest.mark.parametrize("variant", ["joint", "label-wise single"])
def test_attempts_may_come_in_any_order(variant: str) -> None:
    """With several threads the sample of the next number is drawn before it is asked for."""
    X, Y = problem(n=400)
    results = []
    for n_threads in (1, 2, 3):
        booster, _ = learn(dense_columns(X), Y, 0, n_threads=n_threads, **VARIANTS[variant])
        attempts = (0, 1, 7, 2, 3, 3, 2**40, 4)
        rules = [booster.learn_rule(attempt, RULE_MAKER) for attempt in attempts]
        results.append((pickle.dumps(rules), booster.scores().tobytes()))
    assert results[0] == results[1] == results[2]


def test_the_last_condition_counts_if_no_search_follows() -> None:
    """The list of all that is covered is brought up to date during the next search, or at last."""
    X, Y = problem(n=400)
    for n_threads, max_conditions in [(1, 1), (1, 3), (2, 1), (2, 3)]:
        changes = {"n_threads": n_threads, "max_conditions": max_conditions}
        _, rules = learn(dense_columns(X), Y, 20, **changes)
        assert {rule.coverage - covered_by(rule, X).sum() for rule in rules} == {0}
        assert max(len(rule.conditions) for rule in rules) == max_conditions


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_number_of_threads_at_work_may_change_while_rules_are_learned(variant: str) -> None:
    """After every few rules it is tried out again whether one thread alone is faster."""
    X, Y = problem(n=300, n_labels=5)
    results = []
    for n_threads in (1, 2, 3):
        columns = dense_columns(X, n_threads=n_threads)
        booster, rules = learn(columns, Y, 200, n_threads=n_threads, **VARIANTS[variant])
        results.append((pickle.dumps(rules), booster.scores().tobytes()))
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("n", "n_features"),
    [(60, 1300), (301, 513), (13_000, 1100)],
    ids=["wide", "odd", "many values"],
)
def test_the_order_in_memory_does_not_matter(n: int, n_features: int, dtype: type) -> None:
    """Row by row, features are looked through in panels; of the last matrix each on its own."""
    rng = np.random.default_rng(3)
    shares = rng.choice([0.0, 0.01, 0.4, 0.499, 0.5, 1.0], n_features)
    if n > 10_000:
        shares = np.full(n_features, 0.48)
    X = rng.normal(size=(n, n_features)).round(1).astype(dtype)
    X[rng.random(X.shape) >= shares] = 0.0
    X[:, 0] = np.where(np.arange(n) % 2 == 0, 0.0, 3.0)
    X[:, 1] = np.where(np.arange(n) % 2 == 0, 2.0, -0.0)
    X[rng.random(n) < 0.3, 2] = np.nan
    Y = (X[:, 3:7] + X[:, 8:12] > 0.5).astype(np.uint8)
    Y[:, 0] = X[:, 0] > 0.0
    results = []
    for matrix, n_threads in [(X, 1), (X, 3), (np.asfortranarray(X), 2), (X[:, ::-1][:, ::-1], 1)]:
        _, rules = learn(dense_columns(matrix, n_threads=n_threads), Y, 6, max_features=60)
        results.append(pickle.dumps(rules))
    assert len(set(results)) == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [60, 3000, 9000])
@pytest.mark.parametrize("max_bins", [0, 16])
def test_numbers_of_any_size_are_put_in_order(max_bins: int, n: int, dtype: type) -> None:
    """They are sorted digit by digit: rules cover what they cover if there are ranks instead."""
    rng = np.random.default_rng(5)
    limits = np.finfo(dtype)
    edges = [0.0, limits.smallest_subnormal, limits.tiny, limits.eps, 1.0, limits.max]
    sizes = 10.0 ** rng.integers(-30, 30, n)
    values = np.concatenate([edges, np.negative(edges), sizes * rng.normal(size=n)]).astype(dtype)
    X = rng.choice(values, size=(n, 4))
    X[rng.random(n) < 0.6, 2] = 0.0
    X[rng.random(n) < 0.6, 3] = -1.0
    X[rng.random(n) < 0.05, 1] = np.nan
    ranks = np.full(X.shape, np.nan)
    for j in range(X.shape[1]):
        present = ~np.isnan(X[:, j])
        ranks[present, j] = np.unique(X[present, j], return_inverse=True)[1]
    Y = (np.nan_to_num(ranks) / n + rng.normal(size=X.shape) > 0.5).astype(np.uint8)
    learned = []
    for matrix in (X, ranks):
        _, rules = learn(dense_columns(matrix, max_bins), Y, 10, bootstrap=False)
        learned.append([(rule.coverage, rule.head.tobytes()) for rule in filter(None, rules)])
    assert len(learned[0]) > 5
    assert learned[0] == learned[1]


@pytest.mark.parametrize("variant", VARIANTS)
def test_scores_are_the_sum_of_the_rules(variant: str) -> None:
    X, Y = problem()
    booster, rules = learn(dense_columns(X), Y, **VARIANTS[variant])
    ensemble = pack_rules(rules, X.shape[1], Y.shape[1])
    expected = booster.scores().tobytes()
    assert ensemble.predict_dense(X, 2).tobytes() == expected
    csr = sp.csr_array(X)
    assert ensemble.predict_csr(csr.data, csr.indices, csr.indptr, 3).tobytes() == expected
    restored = pickle.loads(pickle.dumps(ensemble))
    assert restored.predict_dense(np.asfortranarray(X), 1).tobytes() == expected


@pytest.mark.parametrize("single_head", [True, False])
def test_scores_may_become_too_many_for_groups(single_head: bool) -> None:
    """Scores of the label-wise loss are stored one by one as soon as a label has more than 256."""
    X, Y = problem(n=700, n_labels=2)
    Y[:, 0] = 1 - Y[:, 1]
    booster, rules = learn(dense_columns(X), Y, 100, loss="label_logistic", single_head=single_head)
    scores = np.zeros(Y.shape)
    for rule in filter(None, rules):
        scores[covered_by(rule, X)] += rule.head
    assert max(len(np.unique(scores[:, k])) for k in (0, 1)) > 256
    np.testing.assert_array_equal(scores, booster.scores())
    margins = np.where(Y == 1, scores, -scores)
    loss = np.logaddexp(0.0, -margins).sum(axis=1).mean()
    np.testing.assert_allclose(booster.mean_loss(), loss, rtol=1e-12)


@pytest.mark.parametrize("l2", [0.0, 1.0])
@pytest.mark.parametrize("variant", VARIANTS)
def test_extreme_scores_stay_finite(variant: str, l2: float) -> None:
    """A huge learning rate drives scores to 1e3 and beyond, where Hessians vanish."""
    X, Y = problem(n=60)
    Y[:, 1] = 1 - Y[:, 0]
    booster, rules = learn(dense_columns(X), Y, 40, l2=l2, learning_rate=100.0, **VARIANTS[variant])
    assert all(np.isfinite(rule.head).all() for rule in rules if rule is not None)
    assert np.isfinite(booster.scores()).all()
    assert np.isfinite(booster.mean_loss())


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("n", [1, 2])
def test_tiny_data(variant: str, n: int) -> None:
    X, Y = problem(n=n)
    _, rules = learn(dense_columns(X), Y, 3, l2=0.0, **VARIANTS[variant])
    assert np.isfinite(rules[0].head).all()
    if n == 1:
        assert rules[1:] == [None, None, None]


def test_huge_and_tiny_values_are_told_apart() -> None:
    """Neighbouring floating-point numbers and the largest ones are separated by a threshold."""
    one = np.nextafter(1.0, 2.0)
    for low, high in [(1.0, one), (-1.7e308, 1.7e308), (0.0, 5e-324), (-5e-324, 5e-324)]:
        X = np.array([[low], [high]] * 20)
        Y = np.array([[0, 1], [1, 0]] * 20, dtype=np.uint8)
        _, rules = learn(dense_columns(X), Y, 1, bootstrap=False)
        threshold = rules[1].conditions[0].value
        assert low <= threshold < high


@pytest.mark.parametrize("max_bins", [2, 3, 16, 255])
@pytest.mark.parametrize("sparse", [False, True])
def test_quantile_bins(max_bins: int, sparse: bool) -> None:
    rng = np.random.default_rng(1)
    X = np.where(rng.random((500, 2)) < 0.4, 0.0, rng.normal(size=(500, 2)))
    Y = (X > 0.3).astype(np.uint8)
    nominal = np.zeros(2, dtype=np.uint8)
    if sparse:
        csc = sp.csc_array(X)
        arrays = (csc.data, csc.indices, csc.indptr)
        columns = _core.Columns.from_csc(*arrays, 500, nominal, max_bins, 1)
    else:
        columns = dense_columns(X, max_bins)
    booster, rules = learn(columns, Y, 80)
    found: dict[int, set[float]] = {0: set(), 1: set()}
    scores = np.zeros_like(booster.scores())
    for rule in filter(None, rules):
        for condition in rule.conditions:
            found[condition.feature].add(condition.value)
        covered = covered_by(rule, X)
        assert covered.sum() == rule.coverage
        scores[covered] += rule.head
    np.testing.assert_array_equal(scores, booster.scores())
    # A bin that is empty in a sample may move a threshold, but never into a bin.
    distinct = {tuple(np.unique(X[X[:, j] <= t, j]).tolist()) for j in (0, 1) for t in found[j]}
    assert len(distinct) <= 2 * (max_bins - 1)


def test_failed_attempts_return_none_and_change_nothing() -> None:
    X, Y = np.ones((20, 3)), np.eye(20, 4, dtype=np.uint8)
    booster, rules = learn(dense_columns(X), Y, 0)
    before = booster.scores()
    assert booster.learn_rule(0, RULE_MAKER) is None
    np.testing.assert_array_equal(booster.scores(), before)
    assert len(rules) == 1


@pytest.mark.parametrize("variant", VARIANTS)
def test_replayed_rules_lead_to_the_same_state(variant: str) -> None:
    X, Y = problem()
    columns = dense_columns(X)
    booster, rules = learn(columns, Y, 80, **VARIANTS[variant])
    other, _ = learn(columns, Y, 0, **VARIANTS[variant])  # it has a default rule already
    everything = np.arange(len(X), dtype=np.int32)
    for rule in rules[1:]:
        covered = everything[covered_by(rule, X)]
        assert len(covered) == rule.coverage
        other.replay(np.array([0, rule.coverage]), covered, rule.head[np.newaxis])
    assert other.scores().tobytes() == booster.scores().tobytes()
    assert other.mean_loss() == booster.mean_loss()
    # Gradients are the same, too: they decide what comes next.
    after = [each.learn_rule(99, RULE_MAKER) for each in (other, booster)]
    assert pickle.dumps(after[0]) == pickle.dumps(after[1])


def test_invalid_replays_are_refused_and_change_nothing() -> None:
    X, Y = problem(n_labels=2)
    booster, _ = learn(dense_columns(X), Y, 1)
    before = booster.scores()

    def replay(offsets: list[int], examples: list[int], heads: Any) -> None:
        booster.replay(np.array(offsets), np.array(examples, dtype=np.int32), heads)

    for offsets, examples, heads in (
        ([0, 2], [3, 3], np.ones((1, 2))),
        ([0, 1, 2], [3, 3], np.ones((2, 2))),
        ([0, 1], [len(X)], np.ones((1, 2))),
        ([0, 1], [-1], np.ones((1, 2))),
        ([0, 2], [1], np.ones((1, 2))),
        ([0, 1], [1], np.ones((2, 2))),
        ([0, 1], [1], np.ones((1, 3))),
    ):
        with pytest.raises(ValueError, match=r"overlap|range|offset|heads"):
            replay(offsets, examples, heads)
    np.testing.assert_array_equal(booster.scores(), before)
    replay([0, 0, 1], [4], np.ones((2, 2)))
    assert (booster.scores() != before).any(axis=1).tolist() == [i == 4 for i in range(len(X))]


WRONG_SIZES = {
    "labels": lambda c, Y: _core.Booster(c, Y[1:], np.ones(len(Y)), **SETTINGS),
    "weights": lambda c, Y: _core.Booster(c, Y, np.ones(len(Y) - 1), **SETTINGS),
    "no labels": lambda c, Y: _core.Booster(
        c, np.empty((len(Y), 0), dtype=np.uint8), np.ones(len(Y)), **SETTINGS
    ),
    "loss": lambda c, Y: _core.Booster(c, Y, np.ones(len(Y)), **(SETTINGS | {"loss": "hinge"})),
}


@pytest.mark.parametrize("case", WRONG_SIZES)
def test_wrong_arguments_are_refused(case: str) -> None:
    X, Y = problem()
    with pytest.raises(ValueError, match=r"must|differ|unknown"):
        WRONG_SIZES[case](dense_columns(X), Y)


@pytest.mark.parametrize(
    ("indices", "indptr"),
    [
        ([0, 9], [0, 1, 2]),
        ([0, -1], [0, 1, 2]),
        ([0, 1], [0, 3, 2]),
        ([0, 1], [1, 1, 2]),
        ([0, 1], [0, 1, 1]),
        ([1, 0], [0, 2, 2]),
        ([1, 1], [0, 2, 2]),
    ],
)
def test_invalid_sparse_structure_is_refused(indices: list[int], indptr: list[int]) -> None:
    arrays = (np.ones(2), np.array(indices, dtype=np.int32), np.array(indptr, dtype=np.int32))
    with pytest.raises(ValueError, match=r"offset|index|indices"):
        _core.Columns.from_csc(*arrays, 3, np.zeros(2, dtype=np.uint8), 0, 1)


def test_invalid_ensembles_are_refused() -> None:
    valid: dict[str, Any] = {
        "conditions": np.array([0, 1]),
        "features": np.array([0], dtype=np.int32),
        "operators": np.array([0], dtype=np.uint8),
        "values": np.array([0.5]),
        "heads": np.array([0, 1]),
        "head_labels": np.array([0], dtype=np.int32),
        "head_scores": np.array([1.0]),
        "n_features": 1,
        "n_labels": 1,
    }
    assert _core.Ensemble(**valid).predict_dense(np.zeros((2, 1)), 1).tolist() == [[1.0], [1.0]]
    broken = {
        "conditions": np.array([0, 2]),
        "features": np.array([1], dtype=np.int32),
        "operators": np.array([0, 1], dtype=np.uint8),
        "values": np.array([]),
        "heads": np.array([0, 0]),
        "head_labels": np.array([-1], dtype=np.int32),
        "head_scores": np.array([1.0, 2.0]),
    }
    for name, value in broken.items():
        with pytest.raises(ValueError, match=r"offset|index|length|many"):
            _core.Ensemble(**(valid | {name: value}))
    with pytest.raises(ValueError, match="features"):
        _core.Ensemble(**valid).predict_dense(np.zeros((2, 2)), 1)
