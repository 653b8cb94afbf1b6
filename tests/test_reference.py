"""The oracle itself, checked against definitions, other solvers and hand-made examples."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from labelboost import random_draws as draws
from labelboost import reference as ref
from labelboost.model import Condition, Rule
from labelboost.reference import Floats, Ints, Settings

LOSSES = {
    "example_logistic": (
        ref.example_logistic_loss,
        ref.example_logistic_gradient,
        ref.example_logistic_hessian,
    ),
    "label_logistic": (
        ref.label_logistic_loss,
        ref.label_logistic_gradient,
        ref.label_logistic_hessian,
    ),
}
NOISE = 1e-12
both_losses = pytest.mark.parametrize("loss", list(LOSSES))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def plain(**changes: Any) -> Settings:
    """No sampling, so that a handful of rules is easy to reason about."""
    return Settings(**{"n_rules": 5, "bootstrap": False, **changes})


def problem(rng: np.random.Generator, n: int = 60, n_features: int = 4, k: int = 4) -> Any:
    X = np.round(rng.normal(size=(n, n_features)), 1)
    Y = (X[:, :1] + rng.normal(size=(n, k)) > 0.3).astype(int)
    return X, Y


def region(rng: np.random.Generator, k: int = 6, n: int = 30) -> tuple[Floats, Floats]:
    """Sums of gradients and Hessians over some examples."""
    Y, P = rng.integers(0, 2, (n, k)), rng.normal(size=(n, k))
    gradient = ref.example_logistic_gradient(Y, P).sum(axis=0)
    return gradient, ref.example_logistic_hessian(Y, P).sum(axis=0)


# --- Losses -------------------------------------------------------------------------------------


@both_losses
def test_derivatives_match_finite_differences(loss: str, rng: np.random.Generator) -> None:
    value, gradient, hessian = LOSSES[loss]
    Y, P, step = rng.integers(0, 2, (5, 4)), 2 * rng.normal(size=(5, 4)), 1e-5
    for k in range(4):
        move = step * np.eye(4)[k]
        slope = (value(Y, P + move) - value(Y, P - move)) / (2 * step)
        np.testing.assert_allclose(gradient(Y, P)[:, k], slope, atol=1e-9)
        bend = (gradient(Y, P + move) - gradient(Y, P - move)) / (2 * step)
        np.testing.assert_allclose(hessian(Y, P)[:, k], bend, atol=1e-9)


@both_losses
def test_hessian_is_symmetric_and_positive_semidefinite(
    loss: str, rng: np.random.Generator
) -> None:
    _, gradient, hessian = LOSSES[loss]
    Y, P = rng.integers(0, 2, (20, 5)), 3 * rng.normal(size=(20, 5))
    H = hessian(Y, P)
    np.testing.assert_array_equal(H, np.swapaxes(H, 1, 2))
    assert np.linalg.eigvalsh(H).min() > -1e-15
    np.testing.assert_allclose(
        np.diagonal(H, axis1=1, axis2=2), ref.hessian_diagonal(gradient(Y, P)), atol=1e-15
    )


def test_hessian_of_example_logistic_elementwise(rng: np.random.Generator) -> None:
    Y, P = rng.integers(0, 2, 3), rng.normal(size=3)
    s = 2 * Y - 1
    e = np.exp(-s * P)
    q = e / (1 + e.sum())
    H = ref.example_logistic_hessian(Y, P)
    for i, j in itertools.product(range(3), repeat=2):
        expected = q[i] * (1 - q[i]) if i == j else -s[i] * s[j] * q[i] * q[j]
        assert H[i, j] == pytest.approx(expected, rel=1e-13)


@both_losses
@pytest.mark.parametrize("size", [1e3, 1e6])
def test_huge_scores_neither_overflow_nor_warn(loss: str, size: float) -> None:
    value, gradient, hessian = LOSSES[loss]
    P = size * np.array([[1.0, -1.0, 1.0], [1.0, 1.0, 1.0], [-1.0, -1.0, -1.0]])
    Y = np.array([[1, 0, 1], [1, 0, 0], [1, 1, 1]])
    known = ref.known_label_vectors(Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for x in (value(Y, P), gradient(Y, P), hessian(Y, P)):
            assert np.isfinite(x).all()
        decoded = ref.decode_known(P, known, loss)  # type: ignore[arg-type]
        probability = ref.probabilities(P, known, loss)  # type: ignore[arg-type]
    np.testing.assert_array_equal(decoded[[0, 1]], [[1, 0, 1], [1, 1, 1]])
    assert ((probability >= 0) & (probability <= 1)).all()


# --- Linear systems -----------------------------------------------------------------------------


def test_solution_matches_numpy_and_qualities_agree(rng: np.random.Generator) -> None:
    g, H = region(rng)
    l2 = np.full(6, 0.7)
    p, quality = ref.evaluate_candidate(g, H, l2, NOISE)
    np.testing.assert_allclose(p, np.linalg.solve(H + np.diag(l2), -g), rtol=1e-10)
    assert quality == pytest.approx(float(ref.stagewise_objective(p, g, H, l2)), rel=1e-12)
    assert quality == pytest.approx(float(g @ p + 0.5 * p @ H @ p + 0.35 * p @ p), rel=1e-12)
    assert quality == pytest.approx(0.5 * float(p @ g), rel=1e-12)


def test_batch_equals_one_at_a_time(rng: np.random.Generator) -> None:
    systems = [region(rng) for _ in range(6)]
    g, H = (np.stack(x).reshape(2, 3, *x[0].shape) for x in zip(*systems, strict=True))
    for bins in (None, 0.3, 4):
        config = Settings(label_bins=bins)
        p, quality = ref.evaluate(g, H, config, NOISE)
        for i in np.ndindex(2, 3):
            one, q = ref.evaluate(g[i], H[i], config, NOISE)
            np.testing.assert_allclose(p[i], one, rtol=1e-12)
            assert quality[i] == pytest.approx(float(q), rel=1e-12)


def test_redundant_unknowns_are_dropped() -> None:
    # Labels 0 and 1 are copies of each other; label 3 has no curvature at all.
    A = np.array([[2.0, 2.0, 0.5, 0.0], [2.0, 2.0, 0.5, 0.0], [0.5, 0.5, 1.0, 0.0], [0.0] * 4])
    g = np.array([1.0, 1.0, -2.0, 0.0])
    p, quality = ref.solve_linear_system(A, g, NOISE)
    expected = np.linalg.solve(A[np.ix_([0, 2], [0, 2])], -g[[0, 2]])
    np.testing.assert_allclose(p, [expected[0], 0.0, expected[1], 0.0], rtol=1e-12)
    assert quality == pytest.approx(0.5 * float(p @ g), rel=1e-12)


def test_pivot_at_noise_level_is_dropped() -> None:
    A, g = np.diag([1.0, 1e-6]), np.array([1.0, 1.0])
    np.testing.assert_array_equal(ref.solve_linear_system(A, g, 1e-6)[0], [-1.0, 0.0])
    np.testing.assert_allclose(ref.solve_linear_system(A, g, 9e-7)[0], [-1.0, -1e6])
    np.testing.assert_array_equal(ref.solve_diagonal_system(np.diag(A), g, 1e-6)[0], [-1.0, 0.0])


@both_losses
@pytest.mark.parametrize("bins", [None, 0.5])
@pytest.mark.parametrize("head", ["complete", "single"])
def test_no_regularization_gives_finite_heads(
    loss: Any, bins: float | None, head: Any, rng: np.random.Generator
) -> None:
    X, Y = problem(rng, n=12, k=3)
    Y[:, 1], Y[:, 2] = Y[:, 0], 1
    config = plain(loss=loss, head=head, label_bins=bins, l2=0.0)
    rules = ref.fit(X, Y, config)
    assert len(rules) > 1
    assert all(np.isfinite(rule.head).all() for rule in rules)


def test_single_label_takes_first_of_equals() -> None:
    g, h = np.array([[0.5, -2.0, 2.0 * (1 + 1e-12)]]), np.ones((1, 3))
    scores, quality, label = ref.evaluate_single_label(g, h, 1.0, NOISE)
    np.testing.assert_allclose(scores, [[0.0, 1.0, 0.0]])
    assert label.tolist() == [1]
    np.testing.assert_allclose(quality, [-1.0])


# --- Label bins ---------------------------------------------------------------------------------


def minimum_over_bins(mapping: Ints, g: Floats, H: Floats, l2: float) -> tuple[Floats, float]:
    """Minimise eq. 5 numerically under the restriction that labels of a bin share a score."""
    member = (mapping[:, None] == np.arange(mapping.max() + 1)).astype(float)

    def objective(b: Floats) -> tuple[float, Floats]:
        p = member @ b
        value = g @ p + 0.5 * p @ H @ p + 0.5 * l2 * p @ p
        return float(value), member.T @ (g + H @ p + l2 * p)

    result = minimize(objective, np.zeros(member.shape[1]), jac=True, tol=1e-12)
    return member @ result.x, float(result.fun)


@pytest.mark.parametrize("aggregation", ["exact", "paper"])
def test_binned_scores_are_the_numerical_optimum(
    aggregation: Any, rng: np.random.Generator
) -> None:
    for _ in range(5):
        g, H = region(rng, k=9)
        p, quality, mapping = ref.evaluate_candidate_binned(
            g, H, 1.0, NOISE, label_bins=0.4, aggregation=aggregation
        )
        if aggregation == "paper":  # its objective has no off-diagonals within a bin
            within = (mapping[:, None] == mapping) & ~np.eye(9, dtype=bool)
            H = np.where(within, 0.0, H)
        expected, minimum = minimum_over_bins(mapping, g, H, 1.0)
        np.testing.assert_allclose(p, expected, atol=1e-6)
        assert quality == pytest.approx(minimum, rel=1e-9)


def test_aggregation_of_figure_1() -> None:
    # Five labels, bins {1, 2, 4} and {3, 5} of the paper, l2 = 1.
    mapping = np.array([0, 0, 1, 0, 1])
    g = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    H = np.array(
        [
            [11.0, 12.0, 13.0, 14.0, 15.0],
            [12.0, 22.0, 23.0, 24.0, 25.0],
            [13.0, 23.0, 33.0, 34.0, 35.0],
            [14.0, 24.0, 34.0, 44.0, 45.0],
            [15.0, 25.0, 35.0, 45.0, 55.0],
        ]
    )
    cross = 13.0 + 15.0 + 23.0 + 25.0 + 34.0 + 45.0
    own = 11.0 + 22.0 + 44.0, 33.0 + 55.0
    g2, H2, R2 = ref.aggregate(mapping, g, H, 1.0, "paper")
    np.testing.assert_array_equal(g2, [1.0 + 2.0 + 4.0, 3.0 + 5.0])
    np.testing.assert_array_equal(H2, [[own[0], cross], [cross, own[1]]])
    np.testing.assert_array_equal(R2, [3.0, 2.0])
    H2 = ref.aggregate(mapping, g, H, 1.0, "exact")[1]
    first, second = own[0] + 2 * (12.0 + 14.0 + 24.0), own[1] + 2 * 35.0
    np.testing.assert_array_equal(H2, [[first, cross], [cross, second]])
    for aggregation in ("paper", "exact"):
        h2 = ref.aggregate(mapping, g, np.diag(H), 1.0, aggregation)[1]
        np.testing.assert_array_equal(h2, own)


def test_bins_keep_signs_apart_and_zeros_out() -> None:
    c = np.array([-1.0, -2.0, 0.0, 1.0, 2.0, 3.0, 0.0])
    assert ref.equal_width_mapping(c, 2).tolist() == [0, 0, -1, 1, 1, 1, -1]
    assert ref.equal_width_mapping(c, 4).tolist() == [1, 0, -1, 2, 3, 3, -1]
    assert ref.equal_width_mapping(np.zeros(3), 0.5).tolist() == [-1, -1, -1]
    assert ref.equal_width_mapping(c[3:6], 2).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("n_labels", "label_bins", "expected"),
    [
        (10, 0.04, 1),
        (25, 0.04, 1),
        (26, 0.04, 2),
        (75, 0.04, 3),
        (100, 0.07, 7),  # 0.07 * 100 is a little more than 7
        (7, 1.0, 7),
        (0, 0.5, 0),
        (9, 2, 1),
        (9, 5, 2),
        (9, 100, 9),
        (0, 4, 0),
    ],
)
def test_number_of_bins(n_labels: int, label_bins: float, expected: int) -> None:
    assert int(ref.number_of_bins(np.array(n_labels), label_bins)) == expected


def test_boundary_belongs_to_the_upper_bin() -> None:
    # Width (0.7 - 0.1) / 3 is not exactly 0.2, yet 0.3 and 0.5 are boundaries.
    assert ref.equal_width_mapping(np.array([0.1, 0.3, 0.5, 0.7]), 6).tolist() == [0, 1, 2, 2]
    assert ref.equal_width_mapping(-np.array([0.1, 0.3, 0.5, 0.7]), 6).tolist() == [2, 2, 1, 0]


def test_equal_criteria_share_a_bin_and_empty_bins_are_dropped() -> None:
    assert ref.equal_width_mapping(np.full(4, 0.3), 1.0).tolist() == [0, 0, 0, 0]
    nearly: Floats = -0.3 - 1e-12 * np.arange(4.0)
    assert ref.equal_width_mapping(nearly, 1.0).tolist() == [0, 0, 0, 0]
    assert ref.equal_width_mapping(np.array([1.0, 1.1, 9.0, -1.0]), 1.0).tolist() == [1, 1, 2, 0]


def test_criterion_is_zero_at_noise_level() -> None:
    g, h = np.array([1e-9, 1.0, 1.0, -2.0]), np.array([1.0, 0.0, 1.0, 1.0])
    np.testing.assert_allclose(ref.criterion(g, h, 0.0, 1e-9), [0.0, 0.0, -1.0, 2.0])


@pytest.mark.parametrize("aggregation", ["paper", "exact"])
def test_one_to_one_mapping_equals_no_binning(aggregation: Any, rng: np.random.Generator) -> None:
    g, H = region(rng)
    l2 = np.full(6, 1.0)
    mapping = rng.permutation(6)
    p, quality = ref.evaluate_candidate(g, H, l2, NOISE)
    p2, quality2 = ref.evaluate_candidate(*ref.aggregate(mapping, g, H, 1.0, aggregation), NOISE)
    np.testing.assert_allclose(p2[mapping], p, rtol=1e-10)
    assert quality2 == pytest.approx(float(quality), rel=1e-10)


def test_exact_is_never_worse_and_paper_differs_in_general(rng: np.random.Generator) -> None:
    g, H = region(rng, k=8)
    exact = ref.evaluate_candidate_binned(g, H, 1.0, NOISE, label_bins=2, aggregation="exact")[0]
    paper = ref.evaluate_candidate_binned(g, H, 1.0, NOISE, label_bins=2, aggregation="paper")[0]
    l2 = np.ones(8)
    true_quality = [float(ref.stagewise_objective(p, g, H, l2)) for p in (exact, paper)]
    assert true_quality[0] < true_quality[1]


# --- Candidates ---------------------------------------------------------------------------------


def test_midpoints() -> None:
    np.testing.assert_array_equal(ref.midpoints(np.array([0.0, 1.0, 4.0])), [0.5, 2.5])
    neighbours = np.array([1.0, np.nextafter(1.0, 2.0)])
    assert ref.midpoints(neighbours).tolist() == [1.0]
    extreme = np.array([-np.inf, -1e308, 1e308, np.inf])
    np.testing.assert_array_equal(ref.midpoints(extreme), [-np.inf, 0.0, 1e308])


def brute_force(examples: ref.Examples, w: Floats, config: Settings) -> tuple[Condition, float]:
    """The best condition, every candidate summed and evaluated on its own."""
    X, nominal = examples.X, examples.nominal
    statistics = examples.gradient, examples.hessian
    noise, found = NOISE * float(w.sum()), []
    for j in range(X.shape[1]):
        values = np.unique(X[~np.isnan(X[:, j]), j])
        constants = values if nominal[j] else ref.midpoints(values)
        operators: Any = ("=", "!=") if nominal[j] else ("<=", ">")
        for value, operator in itertools.product(constants, operators):
            condition = Condition(j, operator, float(value))
            covered = condition.covers(X[:, j])
            if config.min_coverage <= covered.sum() < len(X) and covered.any():
                g_sum, h_sum = (np.tensordot(w[covered], x[covered], axes=1) for x in statistics)
                quality = ref.evaluate(g_sum, h_sum, config, noise)[1]
                found.append((condition, float(quality)))
    best = min(quality for _, quality in found)
    return next((c, q) for c, q in found if q <= best + 1e-9 * abs(best))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"label_bins": 0.4},
        {"label_bins": 2, "label_bin_aggregation": "exact"},
        {"head": "single"},
        {"loss": "label_logistic"},
        {"loss": "label_logistic", "label_bins": 0.4},
        {"min_coverage": 25},
    ],
)
def test_search_equals_brute_force(changes: dict[str, Any], rng: np.random.Generator) -> None:
    config = plain(**changes)
    for _ in range(4):
        X, Y = problem(rng)
        X[:, 3] = rng.integers(0, 3, len(X))
        X[rng.random(X.shape) < 0.1] = np.nan
        nominal = np.array([False, False, False, True])
        w = rng.integers(1, 3, len(X)).astype(float)
        statistics = ref.example_statistics(Y, rng.normal(size=Y.shape), config)
        examples = ref.Examples(X, nominal, *statistics)
        best = ref.refine_rule(examples, w, w > 0, range(4), config)
        assert best is not None
        condition, quality = brute_force(examples, w, config)
        assert best[0] == condition
        assert best[1] == pytest.approx(quality, rel=1e-9)


def feature_qualities(column: list[float], nominal: bool, **changes: Any) -> Any:
    """Constants and eligible candidates (T, 2) of one feature."""
    n = len(column)
    config = plain(loss="label_logistic", **changes)
    rng = np.random.default_rng(0)
    g = rng.normal(size=(n, 2))
    constants, quality, _ = ref.evaluate_feature(
        np.array(column), nominal, (g, np.abs(g)), config, NOISE
    )
    return constants.tolist(), np.isfinite(quality).tolist()


def test_candidates_with_missing_values() -> None:
    nan = np.nan
    assert feature_qualities([nan, nan], False) == ([], [])
    assert feature_qualities([nan, 1.0], False) == ([], [])
    assert feature_qualities([2.0, nan, 1.0], False) == ([1.5], [[True, True]])
    assert feature_qualities([1.0, nan], True) == ([1.0], [[True, False]])
    assert feature_qualities([1.0, 1.0], True) == ([1.0], [[False, False]])
    assert feature_qualities([1.0, 0.0, 1.0], True)[0] == [0.0, 1.0]
    coverage = feature_qualities([1.0, 2.0, 2.0], False, min_coverage=2)
    assert coverage == ([1.5], [[False, True]])


def test_missing_values_satisfy_nothing(rng: np.random.Generator) -> None:
    X, Y = problem(rng)
    X[:20] = np.nan
    nominal = np.array([True, False, False, False])
    rules = ref.fit(X, Y, plain(), nominal=nominal)
    assert len(rules) == 5
    scores = ref.decision_function(rules, X)
    np.testing.assert_array_equal(scores[:20], np.tile(rules[0].head, (20, 1)))


def test_nominal_conditions() -> None:
    X = np.array([[0.0], [1.0], [2.0], [1.0], [0.0], [2.0]] * 5)
    Y = (X == 1.0).astype(int)
    rules = ref.fit(X, Y, plain(n_rules=2), nominal=np.array([True]))
    assert rules[1].conditions[0] == Condition(0, "=", 1.0)
    assert rules[1].coverage == 10


# --- Training -----------------------------------------------------------------------------------


def test_default_rule_is_complete_joint_and_not_shrunk(rng: np.random.Generator) -> None:
    X, Y = problem(rng)
    P = np.zeros(Y.shape)
    g = ref.example_logistic_gradient(Y, P).sum(axis=0)
    H = ref.example_logistic_hessian(Y, P).sum(axis=0)
    expected = np.linalg.solve(H + np.eye(4), -g)
    for head in ("complete", "single"):
        (rule,) = ref.fit(X, Y, plain(n_rules=1, head=head, learning_rate=0.01))
        assert rule.conditions == ()
        assert rule.coverage == len(X)
        np.testing.assert_allclose(rule.head, expected, rtol=1e-10)


def test_heads_come_from_all_covered_examples(rng: np.random.Generator) -> None:
    X, Y = problem(rng)
    config = Settings(n_rules=4, max_features=2, seed=3)
    rules = ref.fit(X, Y, config)
    for t in range(1, 4):
        before = ref.decision_function(rules[:t], X)
        covered = ref.body(rules[t].conditions, X)
        g = ref.example_logistic_gradient(Y, before)[covered].sum(axis=0)
        H = ref.example_logistic_hessian(Y, before)[covered].sum(axis=0)
        expected = 0.3 * np.linalg.solve(H + np.eye(4), -g)
        np.testing.assert_allclose(rules[t].head, expected, rtol=1e-9)
        assert rules[t].coverage == covered.sum()


@pytest.mark.parametrize("head", ["complete", "single"])
def test_growth_replayed_step_by_step(head: Any, rng: np.random.Generator) -> None:
    """Each condition is the best one in the sample; growth ends when none improves."""
    X, Y = problem(rng)
    nominal = np.zeros(4, dtype=bool)
    other_label_is_better = 0
    for seed in range(10):
        config = Settings(n_rules=2, head=head, max_features=3, seed=seed)
        default, rule = ref.fit(X, Y, config)
        weights = draws.bootstrap_counts(seed, 0, len(X)).astype(float)
        g, H = ref.example_statistics(Y, np.tile(default.head, (len(X), 1)), config)
        examples = ref.Examples(X, nominal, g, H)
        covered, incumbent, label = weights > 0, 0.0, -1
        for i, condition in enumerate((*rule.conditions, None)):
            features = draws.sample_features(seed, 0, i, 4, 3)
            best = ref.refine_rule(examples, weights, covered, features, config)
            if condition is None:
                assert best is None or best[1] >= incumbent * (1 + 1e-9) - 1e-9
                break
            assert best is not None
            assert best[0] == condition
            assert best[1] < incumbent
            _, incumbent, label = best
            covered &= condition.covers(X[:, condition.feature])
        if head == "single":
            assert np.flatnonzero(rule.head).tolist() == [label]
            region = ref.body(rule.conditions, X)
            free, _ = ref.calculate_head(g[region], H[region], np.ones(region.sum()), config)
            other_label_is_better += int(np.argmax(free != 0) != label)
    # Otherwise nothing would show that the label of the search is kept.
    assert head == "complete" or other_label_is_better


def test_single_heads_have_one_label(rng: np.random.Generator) -> None:
    X, Y = problem(rng)
    rules = ref.fit(X, Y, Settings(n_rules=6, head="single", loss="label_logistic"))
    assert [np.count_nonzero(rule.head) for rule in rules[1:]] == [1] * 5


@given(seed=st.integers(0, 10_000), config=st.sampled_from(range(5)))
@settings(max_examples=15, deadline=None)
def test_training_loss_does_not_rise_without_sampling(seed: int, config: int) -> None:
    options: list[dict[str, Any]] = [
        {},
        {"label_bins": 0.5},
        {"label_bins": 2, "label_bin_aggregation": "exact"},
        {"loss": "label_logistic", "head": "single"},
        {"head": "single"},
    ]
    chosen = plain(learning_rate=0.1, **options[config])
    X, Y = problem(np.random.default_rng(seed), n=40)
    rules = ref.fit(X, Y, chosen)
    value = LOSSES[chosen.loss][0]
    losses = [value(Y, ref.decision_function(rules[:t], X)).sum() for t in range(1, len(rules) + 1)]
    assert (np.diff(losses) <= 1e-9).all()


@pytest.mark.parametrize("changes", [{}, {"label_bins": 0.4}, {"head": "single"}])
def test_weight_two_equals_duplicate(changes: dict[str, Any], rng: np.random.Generator) -> None:
    X, Y = problem(rng)
    weight = rng.integers(1, 3, len(X))
    weighted = ref.fit(X, Y, plain(**changes), sample_weight=weight.astype(float))
    repeated = ref.fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight, axis=0), plain(**changes))
    assert [rule.conditions for rule in weighted] == [rule.conditions for rule in repeated]
    for a, b in zip(weighted, repeated, strict=True):
        np.testing.assert_allclose(a.head, b.head, rtol=1e-8, atol=1e-12)


def test_weight_zero_equals_absent(rng: np.random.Generator) -> None:
    X, Y = problem(rng)
    weight = (rng.random(len(X)) < 0.7).astype(float)
    weighted = ref.fit(X, Y, plain(), sample_weight=weight)
    absent = ref.fit(X[weight > 0], Y[weight > 0], plain())
    assert [rule.conditions for rule in weighted] == [rule.conditions for rule in absent]


def test_limits_on_conditions_and_coverage(rng: np.random.Generator) -> None:
    X, Y = problem(rng)
    rules = ref.fit(X, Y, plain(max_conditions=1, min_coverage=20))
    assert all(len(rule.conditions) == 1 and rule.coverage >= 20 for rule in rules[1:])
    assert len(ref.fit(X, Y, plain(max_conditions=0))) == 1


def test_fit_is_deterministic_and_depends_on_the_seed(rng: np.random.Generator) -> None:
    X, Y = problem(rng)
    a, b, c = (ref.fit(X, Y, Settings(n_rules=5, max_features=2, seed=s)) for s in (1, 1, 2))
    assert [rule.conditions for rule in a] == [rule.conditions for rule in b]
    assert [rule.conditions for rule in a] != [rule.conditions for rule in c]


def test_gives_up_after_ten_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts: list[int] = []

    def never(*arguments: Any) -> None:
        attempts.append(arguments[2])

    monkeypatch.setattr(ref, "learn_rule", never)
    X, Y = np.zeros((4, 3)), np.array([[0], [1], [0], [1]])
    for config, expected in [
        (Settings(), 10),
        (plain(), 1),
        (plain(max_features=3), 1),
        (plain(max_features=2), 10),
    ]:
        attempts.clear()
        assert len(ref.fit(X, Y, config)) == 1
        assert attempts == list(range(expected))


def test_duplicated_columns_first_wins(rng: np.random.Generator) -> None:
    X, Y = problem(rng)
    rules = ref.fit(np.hstack([X, X]), Y, plain())
    assert {c.feature for rule in rules for c in rule.conditions} <= set(range(4))
    assert [r.conditions for r in rules] == [r.conditions for r in ref.fit(X, Y, plain())]


@pytest.mark.parametrize("changes", [{}, {"head": "single"}, {"label_bins": 0.04}])
@pytest.mark.parametrize("labels", ["zeros", "ones"])
def test_constant_labels(changes: dict[str, Any], labels: str, rng: np.random.Generator) -> None:
    X, _ = problem(rng)
    Y = np.full((len(X), 3), int(labels == "ones"))
    rules = ref.fit(X, Y, Settings(n_rules=4, **changes))
    assert all(np.isfinite(rule.head).all() for rule in rules)
    np.testing.assert_array_equal(ref.decode_sign(ref.decision_function(rules, X)), Y)


def test_small_and_degenerate_data(rng: np.random.Generator) -> None:
    X, Y = problem(rng, k=1)
    assert ref.decision_function(ref.fit(X, Y, plain()), X).shape == (len(X), 1)
    assert len(ref.fit(X[:1], Y[:1], Settings(n_rules=3))) == 1
    assert len(ref.fit(np.ones((5, 2)), Y[:5], Settings(n_rules=3))) == 1
    assert len(ref.fit(np.full((5, 2), np.nan), Y[:5], Settings(n_rules=3))) == 1


# --- Random draws -------------------------------------------------------------------------------


def test_mix_is_splitmix64() -> None:
    assert draws.mix(0) == 0xE220A8397B1DCDAF
    # The stream from state 0: draw(0, i) is output i + 1 of SplitMix64.
    expected = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    assert [draws.draw(0, i) for i in range(3)] == expected


def test_below_covers_its_range() -> None:
    assert draws.below(0, 7) == 0
    assert draws.below(draws.MASK, 7) == 6
    assert draws.below(draws.MASK, 2**53) == 2**53 - 1
    counts = np.bincount([draws.below(draws.draw(5, i), 7) for i in range(7000)], minlength=7)
    assert counts.min() > 850
    assert counts.max() < 1150


def test_keys_differ() -> None:
    keys = {draws.key(*k) for k in itertools.product((0, 1, draws.MASK), range(5), range(5))}
    assert len(keys) == 75


def test_bootstrap_counts() -> None:
    a, b = draws.bootstrap_counts(3, 0, 100), draws.bootstrap_counts(3, 1, 100)
    assert a.sum() == b.sum() == 100
    assert a.shape == b.shape == (100,)
    assert (a != b).any()
    np.testing.assert_array_equal(a, draws.bootstrap_counts(3, 0, 100))


def test_sampled_features() -> None:
    for attempt, condition in itertools.product(range(20), range(3)):
        features = draws.sample_features(9, attempt, condition, 10, 4)
        assert len(set(features)) == 4
        assert set(features) <= set(range(10))
        assert features == draws.sample_features(9, attempt, condition, 10, 4)
    drawn = [draws.sample_features(9, attempt, 0, 10, 4) for attempt in range(200)]
    for position in range(4):
        assert {features[position] for features in drawn} == set(range(10))
    assert draws.sample_features(9, 0, 0, 5, None) == list(range(5))
    assert draws.sample_features(9, 0, 0, 5, 5) == list(range(5))
    assert draws.sample_features(9, 0, 0, 10, 4) != draws.sample_features(9, 0, 1, 10, 4)


# --- Prediction ---------------------------------------------------------------------------------


def test_known_vectors_are_ordered_by_weight_then_descending() -> None:
    Y = np.array([[0, 1], [1, 0], [1, 1], [1, 1], [0, 0]])
    assert ref.known_label_vectors(Y).tolist() == [[1, 1], [1, 0], [0, 1], [0, 0]]
    weight = np.array([1.0, 1.0, 1.0, 1.0, 9.0])
    assert ref.known_label_vectors(Y, weight)[0].tolist() == [0, 0]


@both_losses
def test_ties_go_to_the_more_frequent_vector(loss: Any) -> None:
    known = ref.known_label_vectors(np.array([[1, 0, 0], [0, 1, 0], [0, 1, 0]]))
    almost = 0.7 * (1 - 1e-13)
    P = np.array([[0.7, 0.7, -0.2], [0.7, almost, -0.2], [1e3, 1e3, -1e3], [0.7, 0.6, -0.2]])
    expected = [[0, 1, 0], [0, 1, 0], [0, 1, 0], [1, 0, 0]]
    assert ref.decode_known(P, known, loss).tolist() == expected


@both_losses
def test_decoding_and_probabilities_match_brute_force(loss: Any, rng: np.random.Generator) -> None:
    Y, P = rng.integers(0, 2, (30, 4)), 3 * rng.normal(size=(10, 4))
    known = ref.known_label_vectors(Y)
    decoded, probability = (f(P, known, loss) for f in (ref.decode_known, ref.probabilities))
    value = LOSSES[loss][0]
    for i, p in enumerate(P):
        losses = np.array([value(v, p) for v in known])
        np.testing.assert_array_equal(decoded[i], known[losses.argmin()])
        if loss == "example_logistic":
            weight = np.array([1 / (1 + np.exp(-(2 * v - 1) * p).sum()) for v in known])
            expected = sum(w * v for w, v in zip(weight / weight.sum(), known, strict=True))
        else:
            expected = 1 / (1 + np.exp(-p))
        np.testing.assert_allclose(probability[i], expected, rtol=1e-12)
    assert ((probability >= 0) & (probability <= 1)).all()


def test_decode_sign_and_sum_of_rules() -> None:
    rules = [
        Rule((), np.array([-1.0, 0.0]), 2),
        Rule((Condition(0, ">", 0.5),), np.array([2.0, 3.0]), 1),
    ]
    scores = ref.decision_function(rules, np.array([[0.0], [1.0]]))
    np.testing.assert_array_equal(scores, [[-1.0, 0.0], [1.0, 3.0]])
    np.testing.assert_array_equal(ref.decode_sign(scores), [[0, 0], [1, 1]])
