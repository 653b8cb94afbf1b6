"""Bad numerics are bugs: heads stay finite and choices are those of double precision.

Near-singular systems, large scores, large weights and a million examples: whatever the core does in
single precision, by bounds or by subtraction, each condition that it chooses must be the best one,
or tie with the best to 1e-5, by the reference's qualities at the core's own scores. Comparing step
by step rather than model by model tells a tie from a mistake.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from labelboost import Rule, RuleBoostingClassifier, reference
from labelboost.model import OPERATORS, Condition
from labelboost.sampling import resolve_max_features, resolve_seed

Floats = NDArray[np.float64]

TIE = 1e-5
"""Candidates whose qualities differ by less than this, relatively, are equally good choices."""

HEADS: dict[str, dict[str, Any]] = {
    "joint": {"loss": "example_logistic", "head": "complete", "label_bins": None},
    "two bins": {"loss": "example_logistic", "head": "complete", "label_bins": 2},
    "bins": {"loss": "example_logistic", "head": "complete", "label_bins": 0.2},
    "exact bins": {
        "loss": "example_logistic",
        "head": "complete",
        "label_bins": 0.2,
        "label_bin_aggregation": "exact",
    },
    "single": {"loss": "example_logistic", "head": "single", "label_bins": None},
    "label-wise": {"loss": "label_logistic", "head": "single", "label_bins": None},
    "label-wise complete": {"loss": "label_logistic", "head": "complete", "label_bins": None},
    "label-wise bins": {"loss": "label_logistic", "head": "complete", "label_bins": 0.2},
}
N_LABELS = (5, 20, 40)
"""Few labels are screened in single precision, many are bounded."""


def settings_of(model: RuleBoostingClassifier, n_features: int) -> reference.Settings:
    """Translate the estimator's parameters for the reference."""
    names = ("n_rules", "loss", "head", "label_bins", "label_bin_aggregation", "learning_rate",
             "l2", "bootstrap", "max_conditions", "min_coverage")  # fmt: skip
    parameters = model.get_params()
    return reference.Settings(
        **{name: parameters[name] for name in names},
        max_features=resolve_max_features(parameters["max_features"], n_features),
        seed=resolve_seed(parameters["random_state"]),
    )


class Checker:
    """Goes through a model's rules and asks the reference about every choice."""

    def __init__(
        self,
        model: RuleBoostingClassifier,
        X: Floats,
        Y: NDArray[np.uint8],
        weights: Floats | None = None,
    ) -> None:
        self.X, self.Y = X, Y
        self.weights = np.ones(len(X)) if weights is None else weights
        self.rules = model.rules_
        self.settings = settings_of(model, X.shape[1])
        self.scores = np.zeros(Y.shape)

    def run(self) -> None:
        """Check all rules. Nothing is sampled, so that all attempts but the last one succeed."""
        assert all(np.isfinite(rule.head).all() for rule in self.rules)
        default = replace(self.settings, head="complete", learning_rate=1.0)
        self._check_head(self.rules[0], self._statistics(default), default)
        self.scores += self.rules[0].head
        for rule in self.rules[1:]:
            statistics = self._statistics(self.settings)
            self._check_conditions(rule, statistics)
            self._check_head(rule, statistics, self.settings)
            self.scores[reference.body(rule.conditions, self.X)] += rule.head
        assert np.isfinite(self.scores).all()

    def _statistics(self, settings: reference.Settings) -> list[tuple[Floats, Floats]]:
        """Gradients and Hessians, and others that are as good in double precision.

        A loss that has come close to zero leaves few digits in q (1 - q): what changes when the
        last bits of q do is not a mistake.
        """
        g, H = reference.example_statistics(self.Y, self.scores, settings)
        other = g * (1.0 - 2.0 * np.finfo(np.float64).eps)
        if H.ndim == g.ndim:
            return [(g, H), (other, reference.hessian_diagonal(other))]
        outer = other[:, :, None] * other[:, None, :]
        return [(g, H), (other, reference.diagonal_matrix(np.abs(other)) - outer)]

    def _check_conditions(self, rule: Rule, statistics: list[tuple[Floats, Floats]]) -> None:
        """Each condition is the best one and an improvement, and nothing better is left over."""
        noise = reference.NOISE * float(self.weights.sum())
        covered, incumbent = self.weights > 0.0, 0.0
        for c in range(len(rule.conditions) + 1):
            if c == self.settings.max_conditions:
                break
            lowest, highest = self._qualities(covered, statistics)
            best = min(highest.values(), default=0.0)
            allowed = TIE * max(abs(incumbent), abs(best)) + noise
            if c == len(rule.conditions):
                assert best >= incumbent - allowed, f"{rule.conditions}: {best} was left behind"
                break
            condition = rule.conditions[c]
            chosen = lowest[condition]
            assert chosen <= best + allowed, f"{condition}: {chosen} chosen, {best} is best"
            assert chosen < incumbent + allowed, f"{condition}: {chosen} after {incumbent}"
            covered &= condition.covers(self.X[:, condition.feature])
            incumbent = chosen

    def _qualities(
        self, covered: NDArray[np.bool_], statistics: list[tuple[Floats, Floats]]
    ) -> tuple[dict[Condition, float], dict[Condition, float]]:
        """Between which qualities double precision leaves each condition.

        Once the examples are added up from below and those above a threshold are the total minus
        the rest, once the other way round: where rounding decides, the two differ.
        """
        w = self.weights[covered]
        noise = reference.NOISE * float(w.sum())
        up, down = (
            (reference.weighted(g[covered], w), reference.weighted(H[covered], w))
            for g, H in statistics
        )
        lowest: dict[Condition, float] = {}
        highest: dict[Condition, float] = {}
        for j in range(self.X.shape[1]):
            column = self.X[covered, j]
            constants, ascending, _ = reference.evaluate_feature(
                column, False, up, self.settings, noise
            )
            _, descending, _ = reference.evaluate_feature(
                -column, False, down, self.settings, noise
            )
            both = np.stack([ascending, descending[::-1, ::-1]])
            for side, operator in enumerate(OPERATORS[:2]):
                conditions = [Condition(j, operator, float(constant)) for constant in constants]
                lowest.update(zip(conditions, both.min(axis=0)[:, side].tolist(), strict=True))
                highest.update(zip(conditions, both.max(axis=0)[:, side].tolist(), strict=True))
        return lowest, highest

    def _check_head(
        self, rule: Rule, statistics: list[tuple[Floats, Floats]], settings: reference.Settings
    ) -> None:
        """The head is the solution for all covered examples, as exactly as rounding permits."""
        covered = reference.body(rule.conditions, self.X)
        assert covered.sum() == rule.coverage
        label = int(np.argmax(rule.head != 0.0)) if settings.head == "single" else None
        expected, other = (
            settings.learning_rate
            * reference.calculate_head(
                g[covered], H[covered], self.weights[covered], settings, label
            )[0]
            for g, H in statistics
        )
        error = np.abs(rule.head - expected)
        allowed = TIE * np.abs(expected).max() + 10.0 * np.abs(expected - other) + 1e-12
        assert (error <= allowed).all(), f"{rule}: expected {expected}"


def problem(
    seed: int, n_labels: int, n: int = 60, n_features: int = 3
) -> tuple[Floats, NDArray[np.uint8]]:
    """Numeric features without ties, so that every split may leave a single example on a side."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    logits = X @ rng.normal(size=(n_features, n_labels)) + rng.normal(size=(n, n_labels))
    return X, (logits > 1.0).astype(np.uint8)


def train_and_check(
    X: Floats, Y: NDArray[np.uint8], weights: Floats | None = None, **parameters: Any
) -> Checker:
    """Fit without sampling and compare with double precision."""
    common = {"n_rules": 5, "bootstrap": False, "max_features": None, "random_state": 0}
    model = RuleBoostingClassifier(**common | parameters).fit(X, Y, weights)
    checker = Checker(model, X, Y, weights)
    checker.run()
    return checker


pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
each_head = pytest.mark.parametrize("heads", HEADS.values(), ids=HEADS)
each_size = pytest.mark.parametrize("n_labels", N_LABELS)


@each_head
@each_size
@pytest.mark.parametrize("learning_rate", [0.3, 1e3])
def test_no_penalty(heads: dict[str, Any], n_labels: int, learning_rate: float) -> None:
    """Nothing keeps the systems from being singular."""
    X, Y = problem(0, n_labels)
    train_and_check(X, Y, l2=0.0, learning_rate=learning_rate, max_conditions=2, **heads)


@each_head
@each_size
@pytest.mark.parametrize("l2", [0.0, 1e-6])
def test_one_covered_example(heads: dict[str, Any], n_labels: int, l2: float) -> None:
    """A region of a single example has a Hessian that is nearly of rank one."""
    X, Y = problem(1, n_labels, n=30, n_features=2)
    Y[7] = 1 - Y[7]  # like no other example
    checker = train_and_check(X, Y, l2=l2, learning_rate=1.0, **heads)
    if heads == HEADS["joint"]:
        assert min(rule.coverage for rule in checker.rules) == 1


@each_head
@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("l2", [0.0, 1.0])
def test_hardly_any_examples(heads: dict[str, Any], n: int, l2: float) -> None:
    X, Y = problem(2, 12, n=n)
    train_and_check(X, Y, l2=l2, learning_rate=1.0, **heads)


@each_head
@each_size
@pytest.mark.parametrize("seed", [0, 1])
def test_scores_in_the_thousands(heads: dict[str, Any], n_labels: int, seed: int) -> None:
    """Probabilities of exactly zero and one, and gradients far apart."""
    X, Y = problem(seed, n_labels)
    checker = train_and_check(X, Y, learning_rate=5e3, max_conditions=2, **heads)
    assert np.abs(checker.scores).max() > 1e3


@each_head
@each_size
@pytest.mark.parametrize("share", [1.0, 0.3])
def test_weights_of_a_million(heads: dict[str, Any], n_labels: int, share: float) -> None:
    """All examples weigh that much, or some of them among examples of weight one."""
    X, Y = problem(3, n_labels)
    weights = np.where(np.random.default_rng(0).random(len(X)) < share, 1e6, 1.0)
    train_and_check(X, Y, weights, max_conditions=2, **heads)


@each_head
@pytest.mark.parametrize("weight", [1e13, 1e60])
def test_weights_beyond_single_precision(heads: dict[str, Any], weight: float) -> None:
    """Sums, or products of sums, that single precision has no numbers for."""
    for n_labels in (5, 20):
        X, Y = problem(4, n_labels)
        train_and_check(X, Y, np.full(len(X), weight), max_conditions=2, **heads)


@pytest.mark.parametrize("n_labels", [7, 40])
@pytest.mark.parametrize("factor", [1e-150, 1e-41, 1e39, 1e60])
def test_features_in_bins_whatever_the_scale(n_labels: int, factor: float) -> None:
    """Bounds in single precision rule nothing out because numbers vanish or are too large."""
    rng = np.random.default_rng(n_labels)
    X = rng.normal(size=(600, 4))
    Y = (X @ rng.normal(size=(4, n_labels)) + rng.normal(size=(600, n_labels)) > 1).astype(np.uint8)

    def conditions(scale: float) -> list[Any]:
        model = RuleBoostingClassifier(
            n_rules=8, label_bins=None, feature_bins=12, l2=scale, max_features=None, random_state=1
        )
        return [rule.conditions for rule in model.fit(X, Y, np.full(600, scale)).rules_]

    assert conditions(0.5 * factor) == conditions(0.5)


@each_head
@pytest.mark.parametrize("l2", [1e-3, 1.0])
@pytest.mark.parametrize("seed", [3, 6, 16, 33])
def test_scores_in_the_thousands_and_weights_of_a_million(
    heads: dict[str, Any], l2: float, seed: int
) -> None:
    """Second derivatives vanish beside the first ones, but not beside the penalty."""
    for n_labels in (5, 20):
        X, Y = problem(seed, n_labels)
        weights = np.full(len(X), 1e6)
        train_and_check(X, Y, weights, l2=l2, learning_rate=1e3, max_conditions=2, **heads)


def qualities_of_splits(
    column: Floats, g: Floats, settings: reference.Settings
) -> tuple[Floats, Floats]:
    """Thresholds (n - 1) and qualities (n - 1, 2) for distinct values and weights of one."""
    order = np.argsort(column)
    noise = reference.NOISE * len(column)
    g = g[order]
    joint = settings.loss == "example_logistic" and settings.head == "complete"
    if joint:
        H = reference.diagonal_matrix(np.abs(g)) - g[:, :, None] * g[:, None, :]
    else:
        H = reference.hessian_diagonal(g)
    before = [np.cumsum(x, axis=0, out=x) for x in (g, H)]
    sides = []
    for part in ([x[:-1] for x in before], [x[-1] - x[:-1] for x in before]):
        sides.append(reference.evaluate(part[0], part[1], settings, noise)[1])
    return reference.midpoints(column[order]), np.stack(sides, axis=-1)


@pytest.mark.parametrize(("name", "seed"), [("joint", 29), ("two bins", 15), ("label-wise", 7)])
def test_a_million_examples(name: str, seed: int) -> None:
    """The best of two million conditions covers a few dozen examples, at one end or the other.

    Their sums are tiny parts of the total: with these seeds, total minus the rest in single
    precision once made the wrong end look better.
    """
    rng = np.random.default_rng(seed)
    n = 1_000_000
    Y = (rng.random((n, 2)) < 0.5).astype(np.uint8)
    low = int(rng.integers(20, 80))
    high = low + int(rng.integers(-1, 2))
    Y[:low] = Y[n - high :] = 1
    order = rng.permutation(n)
    column, Y = order / n, Y[order]
    model = RuleBoostingClassifier(n_rules=2, max_conditions=1, bootstrap=False, **HEADS[name])
    default, rule = model.fit(column[:, None], Y).rules_
    assert np.isfinite(default.head).all()
    assert np.isfinite(rule.head).all()
    settings = settings_of(model, 1)
    P = np.broadcast_to(default.head, Y.shape)
    if settings.loss == "example_logistic":
        g = reference.example_logistic_gradient(Y, P)
    else:
        g = reference.label_logistic_gradient(Y, P)
    thresholds, qualities = qualities_of_splits(column, g, settings)
    (condition,) = rule.conditions
    position = int(np.flatnonzero(thresholds == condition.value)[0])
    chosen = qualities[position, OPERATORS.index(condition.operator)]
    best = qualities.min()
    assert chosen <= best + TIE * abs(best)
    assert rule.coverage == np.count_nonzero(condition.covers(column))
