"""Boosted trees in NumPy: the tests' oracle, built from the parts of :mod:`labelboost.reference`.

The paper has no trees. A node is a region like that of a rule; a division of it is as good as the
best heads of its two parts together, found with the Hessian ("newton") or with the unit matrix in
its place ("gradient").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from labelboost.model import Condition, MissingValue, Operator, Rule
from labelboost.random_draws import sample_features, subsample
from labelboost.reference import (
    BLOCK,
    MAX_FAILURES,
    NOISE,
    TIE,
    Bools,
    Examples,
    Floats,
    Ints,
    Settings,
    calculate_head,
    decision_function,
    evaluate,
    example_logistic_loss,
    example_statistics,
    first_best,
    gain,
    label_logistic_loss,
    label_sets,
    learn_default_rule,
    midpoints,
    prefix_sums,
    weighted,
)


@dataclass(frozen=True, slots=True)
class TreeSettings(Settings):
    """What training depends on in addition; heads are complete, and `bootstrap` has no meaning."""

    n_trees: int = 100
    max_depth: int | None = None
    max_leaves: int | None = None
    best_first: bool = True
    subsample: float = 1.0
    criterion: Literal["newton", "gradient"] = "newton"


@dataclass(frozen=True, slots=True)
class Division:
    """The best way to divide a node: `condition` leads to the left, `other` to the right."""

    condition: Condition
    other: Condition
    left_quality: float
    right_quality: float


@dataclass(slots=True)
class Node:
    """A part of the training examples, and how it can be divided to advantage."""

    covered: Bools
    conditions: tuple[Condition, ...]
    quality: float
    division: Division | None = None
    children: list[Node] = field(default_factory=list)

    @property
    def gain(self) -> float:
        """What the division adds."""
        if self.division is None:
            return 0.0
        return self.quality - self.division.left_quality - self.division.right_quality


def evaluate_divisions(
    column: Floats,
    nominal: bool,
    statistics: tuple[Floats, Floats],
    multiplicity: Ints,
    settings: Settings,
    noise: float,
) -> tuple[Floats, Floats]:
    """Constants (T) and qualities (D, T, 2) of both parts.

    D is 2, missing values on the left or on the right, or 1 if there are none. `multiplicity` is
    what each example counts for in `min_coverage`.
    """
    present = ~np.isnan(column)
    order = np.argsort(column, kind="stable")[: np.count_nonzero(present)]
    values, starts = np.unique(column[order], return_index=True)
    constants = values if nominal else midpoints(values)
    directions = 1 if present.all() else 2
    quality = np.empty((directions, constants.size, 2))
    if constants.size == 0:
        return constants, quality
    counts = sides(multiplicity.astype(np.float64), order, ~present, starts, nominal)
    eligible: Bools = np.all(counts >= max(settings.min_coverage, 1), axis=-1)
    sums = [sides(x, order, ~present, starts, nominal) for x in statistics]
    for direction in range(directions):
        for i in range(0, constants.size, BLOCK):
            block = slice(i, i + BLOCK)
            g, H = (x[direction, block] for x in sums)
            quality[direction, block] = evaluate(g, H, settings, noise)[1]
    return constants, np.where(eligible[:directions, :, None], quality, np.inf)


def sides(
    x: Floats, order: NDArray[np.int64], missing: Bools, starts: NDArray[np.int64], nominal: bool
) -> Floats:
    """(2, T, 2, ...): sums on the left and on the right, with what is missing on either side."""
    without = x[missing].sum(axis=0)
    left, total = prefix_sums(x, order, starts, nominal)
    right = total - left
    return np.stack(
        [np.stack([left + without, right], axis=1), np.stack([left, right + without], axis=1)]
    )


def division_statistics(
    examples: Examples, settings: TreeSettings
) -> tuple[tuple[Floats, Floats], TreeSettings]:
    """What divisions are scored by: statistics of the examples, and settings for the scoring."""
    if settings.criterion == "newton":
        return (examples.gradient, examples.hessian), settings
    unit = np.ones_like(examples.gradient)
    return (examples.gradient, unit), replace(settings, label_bins=None)


def divide(
    examples: Examples,
    weights: Floats,
    multiplicity: Ints,
    node: Node,
    features: Sequence[int],
    settings: TreeSettings,
    root_noise: float,
) -> Division | None:
    """Find the best division (the first of equals), if it is better than none."""
    X, w, n = examples.X[node.covered], weights[node.covered], multiplicity[node.covered]
    (g, H), scoring = division_statistics(examples, settings)
    statistics = weighted(g[node.covered], w), weighted(H[node.covered], w)
    noise = NOISE * float(w.sum())
    found = [
        evaluate_divisions(X[:, j], bool(examples.nominal[j]), statistics, n, scoring, noise)
        for j in features
    ]
    together = np.concatenate([quality.sum(axis=-1).ravel() for _, quality in found])
    if not np.isfinite(together).any():
        return None
    winner = int(first_best(together))
    if not together[winner] < node.quality - TIE * abs(node.quality) - root_noise:
        return None
    ends = np.cumsum([quality[..., 0].size for _, quality in found])
    which = int(np.searchsorted(ends, winner, side="right"))
    feature, (constants, quality) = features[which], found[which]
    direction, place = divmod(winner - int(ends[which]) + quality[..., 0].size, constants.size)
    column = X[:, feature]
    operators: tuple[Operator, Operator] = ("=", "!=") if examples.nominal[feature] else ("<=", ">")
    value = float(constants[place])
    missing: tuple[MissingValue, MissingValue]
    if np.isnan(column).any():
        missing = ("passes", "fails") if direction == 0 else ("fails", "passes")
    else:
        left = n[Condition(feature, operators[0], value).covers(column)].sum()
        missing = ("assumed", "fails") if 2 * left >= n.sum() else ("fails", "assumed")
    return Division(
        Condition(feature, operators[0], value, missing[0]),
        Condition(feature, operators[1], value, missing[1]),
        *map(float, quality[direction, place]),
    )


def grow_tree(
    examples: Examples,
    sample_weight: Floats,
    attempt: int,
    settings: TreeSettings,
    tickets: Ints | None = None,
) -> list[Rule] | None:
    """Grow a tree on a sample; its leaves as rules, or None if the root cannot be divided.

    The sample is drawn from `tickets`: the example that each of them stands for.
    """
    X = examples.X
    n_examples, n_features = X.shape
    tickets = np.arange(n_examples) if tickets is None else tickets
    drawn_tickets = subsample(settings.seed, attempt, len(tickets), settings.subsample)
    multiplicity = np.bincount(tickets, drawn_tickets).round().astype(np.int64)
    weights = sample_weight * multiplicity / np.bincount(tickets)
    drawn = weights > 0.0
    root_noise = NOISE * float(weights.sum())
    nodes: list[Node] = []

    def add_node(covered: Bools, conditions: tuple[Condition, ...], quality: float) -> Node:
        node = Node(covered, conditions, quality)
        features = sample_features(
            settings.seed, attempt, len(nodes), n_features, settings.max_features
        )
        nodes.append(node)
        if settings.max_depth is None or len(conditions) < settings.max_depth:
            node.division = divide(
                examples, weights, multiplicity, node, features, settings, root_noise
            )
        return node

    statistics, scoring = division_statistics(examples, settings)
    g, H = (np.tensordot(weights, x, axes=1) for x in statistics)
    add_node(drawn, (), float(evaluate(g, H, scoring, root_noise)[1]))
    leaves = 1
    while settings.max_leaves is None or leaves < settings.max_leaves:
        divisible = [node for node in nodes if node.division and not node.children]
        if not divisible:
            break
        gains = np.array([node.gain for node in divisible])
        node = divisible[int(first_best(-gains)) if settings.best_first else 0]
        division = node.division
        assert division is not None
        for condition, quality in (
            (division.condition, division.left_quality),
            (division.other, division.right_quality),
        ):
            covered = node.covered & condition.covers(X[:, condition.feature])
            node.children.append(add_node(covered, (*node.conditions, condition), quality))
        leaves += 1
    if leaves == 1:
        return None
    return [
        leaf_rule(examples, sample_weight, node, settings) for node in nodes if not node.children
    ]


def leaf_rule(
    examples: Examples, sample_weight: Floats, leaf: Node, settings: TreeSettings
) -> Rule:
    """Give a leaf its head, found with all examples in it, whether in the sample or not."""
    covered = np.ones(len(examples.X), dtype=np.bool_)
    for condition in leaf.conditions:
        covered &= condition.covers(examples.X[:, condition.feature])
    head, quality = calculate_head(
        examples.gradient[covered], examples.hessian[covered], sample_weight[covered], settings
    )
    step = settings.learning_rate
    lowered = gain(quality, step, float(sample_weight.sum()))
    return Rule(leaf.conditions, step * head, int(covered.sum()), lowered)


def mean_loss(
    Y: NDArray[np.generic], scores: Floats, sample_weight: Floats, settings: TreeSettings
) -> float:
    """Weighted mean of a logistic loss if all examples have the same scores."""
    losses = {"example_logistic": example_logistic_loss, "label_logistic": label_logistic_loss}
    loss = losses[settings.loss](Y, np.tile(scores, (len(Y), 1)))
    return float(sample_weight @ loss / sample_weight.sum())


def learn_best_constant(
    Y: NDArray[np.generic], sample_weight: Floats, settings: TreeSettings
) -> Rule:
    """Repeat the step of the default rule, halved until it improves the loss, while it does.

    Where the same scores for all have something left to gain, no condition seems worth its while.
    """
    if settings.loss == "labelset_softmax":
        return learn_default_rule(Y, sample_weight, settings)
    p = np.zeros(Y.shape[1])
    start = loss = mean_loss(Y, p, sample_weight, settings)
    for _ in range(20):
        statistics = example_statistics(Y, np.tile(p, (len(Y), 1)), settings)
        step, _ = calculate_head(*statistics, sample_weight, settings)
        for halving in range(11):
            reached = mean_loss(Y, p + 0.5**halving * step, sample_weight, settings)
            if reached < loss:
                break
        if not reached < loss:
            break
        p = p + 0.5**halving * step
        gained, loss = loss - reached, reached
        if gained <= 1e-6 * loss:
            break
    return Rule((), p, Y.shape[0], start - loss)


def fit_trees(
    X: Floats,
    Y: NDArray[np.generic],
    settings: TreeSettings,
    sample_weight: Floats | None = None,
    nominal: Bools | None = None,
    tickets: Ints | None = None,
) -> tuple[Rule, list[list[Rule]]]:
    """Return the default rule, and each tree as the rules of its leaves."""
    n_examples, n_features = X.shape
    sample_weight = np.ones(n_examples) if sample_weight is None else sample_weight
    nominal = np.zeros(n_features, dtype=np.bool_) if nominal is None else nominal
    sampling = settings.subsample < 1.0 or (settings.max_features or n_features) < n_features
    sets = label_sets(Y, sample_weight)
    default = learn_best_constant(Y, sample_weight, settings)
    P = decision_function([default], X)
    trees: list[list[Rule]] = []
    attempt = failures = 0
    while len(trees) < settings.n_trees and failures < (MAX_FAILURES if sampling else 1):
        examples = Examples(X, nominal, *example_statistics(Y, P, settings, sets))
        tree = grow_tree(examples, sample_weight, attempt, settings, tickets)
        attempt += 1
        failures = failures + 1 if tree is None else 0
        if tree is not None:
            trees.append(tree)
            P += decision_function(tree, X)
    return default, trees
