"""The method in NumPy, one function per equation or algorithm of the paper: the tests' oracle.

Equation numbers count the numbered equations of "Gradient-based Label Binning in Multi-label
Classification" (Rapp, Loza Mencia, Fuernkranz, Huellermeier 2021) in order; the names behind them
are the labels in its source. Functions work over leading axes `...`, so that the same function
serves one candidate rule and a batch of them. Where the paper is silent, the docstring says what
is done here.

A Hessian comes in one of two forms: *joint*, (..., K, K), or *diagonal*, (..., K), which is all
that is needed when the labels do not interact (label-wise loss) or only one of them is predicted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from labelboost.model import Condition, Operator, Rule
from labelboost.random_draws import bootstrap_counts, sample_features

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Loss = Literal["example_logistic", "label_logistic", "labelset_softmax"]
Aggregation = Literal["paper", "exact"]

TIE = 1e-9
"""Relative difference below which two qualities (or criteria) count as equal."""
NOISE = 1e-12
"""What rounding may leave of a sum of statistics, relative to the sum of the weights."""
SINGULAR = 1e-10
"""A pivot this small relative to its diagonal element means a redundant unknown."""
BLOCK = 512
"""Thresholds that are evaluated together: what their systems take fits into the cache."""
MAX_FAILURES = 10
"""Failed attempts in a row after which no further rule is looked for."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that training depends on besides the data."""

    n_rules: int = 1000
    loss: Loss = "example_logistic"
    head: Literal["complete", "single"] = "complete"
    label_bins: float | int | None = None
    label_bin_aggregation: Aggregation = "paper"
    learning_rate: float = 0.3
    l2: float = 1.0
    bootstrap: bool = True
    max_features: int | None = None
    max_conditions: int | None = None
    min_coverage: int = 1
    seed: int = 0


# --- Losses -------------------------------------------------------------------------------------


def signs(Y: NDArray[np.generic]) -> Floats:
    """Turn labels 0/1 into -1/+1, the `y` of the paper."""
    return 2.0 * Y.astype(np.float64) - 1.0


def log_sum_exp(x: Floats) -> Floats:
    """Return log(sum_k exp(x_k)) over the last axis, shifted by the maximum."""
    top = x.max(axis=-1)
    result: Floats = top + np.log(np.exp(x - top[..., None]).sum(axis=-1))
    return result


def example_logistic_loss(Y: NDArray[np.generic], P: Floats) -> Floats:
    """Eq. 9 (eq:log_loss_example_wise), one value per example."""
    return np.logaddexp(0.0, log_sum_exp(-signs(Y) * P))


def label_logistic_loss(Y: NDArray[np.generic], P: Floats) -> Floats:
    """Sum of the labels' own logistic losses, one value per example."""
    losses: Floats = np.logaddexp(0.0, -signs(Y) * P).sum(axis=-1)
    return losses


def example_logistic_gradient(Y: NDArray[np.generic], P: Floats) -> Floats:
    """Eq. 6, left, of eq. 9: g_k = -y_k q_k, q_k = exp(-y_k p_k) / (1 + sum_j exp(-y_j p_j))."""
    s = signs(Y)
    margins = -s * P
    top = np.maximum(margins.max(axis=-1, keepdims=True), 0.0)
    e = np.exp(margins - top)
    g: Floats = -s * e / (np.exp(-top) + e.sum(axis=-1, keepdims=True))
    return g


def label_logistic_gradient(Y: NDArray[np.generic], P: Floats) -> Floats:
    """Eq. 6, left, of the label-wise loss: g_k = -y_k / (1 + exp(y_k p_k))."""
    s = signs(Y)
    return -s * np.exp(-np.logaddexp(0.0, s * P))


def example_logistic_hessian(Y: NDArray[np.generic], P: Floats) -> Floats:
    """Eq. 6, right, of eq. 9: diag(|g|) - g g^T."""
    g = example_logistic_gradient(Y, P)
    return diagonal_matrix(np.abs(g)) - g[..., :, None] * g[..., None, :]


def label_logistic_hessian(Y: NDArray[np.generic], P: Floats) -> Floats:
    """Eq. 6, right, of the label-wise loss: diag(|g| (1 - |g|))."""
    return diagonal_matrix(hessian_diagonal(label_logistic_gradient(Y, P)))


@dataclass(frozen=True, slots=True)
class LabelSets:
    """The distinct label vectors of the training data (S, K), and their shares of it (S)."""

    vectors: Ints
    prior: Floats


def label_sets(Y: NDArray[np.generic], sample_weight: Floats) -> LabelSets:
    """Find the label sets of the training data."""
    known, index = np.unique(Y.astype(np.int64), axis=0, return_inverse=True)
    return LabelSets(known, np.bincount(index.ravel(), sample_weight) / sample_weight.sum())


def label_set_probabilities(P: Floats, sets: LabelSets) -> Floats:
    """P(s | x), proportional to pi_s exp(b_s . p): (n, S).

    The vectors b_s of 0 and 1 give the same distribution as those of -1/2 and +1/2, as both differ
    by the same vector for all sets.
    """
    logits = P @ sets.vectors.T + np.log(sets.prior)
    return np.exp(logits - log_sum_exp(logits)[..., None])


def decode_label_sets(P: Floats, sets: LabelSets) -> Ints:
    """Predict the likeliest set; of equally likely ones, rounding apart, the more frequent one.

    Of equally frequent ones the last in lexicographic order, as in `known_label_vectors`.
    """
    probabilities = label_set_probabilities(P, sets)
    likely = probabilities >= probabilities.max(axis=-1, keepdims=True) * (1.0 - TIE)
    order = np.argsort(-sets.prior[::-1], kind="stable")
    decoded: Ints = sets.vectors[::-1][order][np.argmax(likely[:, ::-1][:, order], axis=-1)]
    return decoded


def labelset_softmax_loss(Y: NDArray[np.generic], P: Floats, sets: LabelSets) -> Floats:
    """-log P(true set), one value per example; infinite for a set that was never seen."""
    logits = P @ sets.vectors.T + np.log(sets.prior)
    true = (Y[:, None, :] == sets.vectors).all(axis=-1)
    own = np.where(true, logits, -np.inf).max(axis=-1)
    loss: Floats = log_sum_exp(logits) - own
    return loss


def labelset_softmax_gradient(Y: NDArray[np.generic], P: Floats, sets: LabelSets) -> Floats:
    """Eq. 6, left: g = mu - b_true, mu being the marginal probabilities of the labels."""
    mu: Floats = label_set_probabilities(P, sets) @ sets.vectors
    return mu - Y.astype(np.float64)


def labelset_softmax_hessian(P: Floats, sets: LabelSets) -> Floats:
    """Eq. 6, right: the covariance matrix of the labels, sum_s P_s b_s b_s^T - mu mu^T."""
    probabilities = label_set_probabilities(P, sets)
    mu = probabilities @ sets.vectors
    pairs = np.einsum("sk,sj->skj", sets.vectors, sets.vectors)
    second: Floats = np.tensordot(probabilities, pairs, axes=1)
    return second - mu[..., :, None] * mu[..., None, :]


def hessian_diagonal(gradient: Floats) -> Floats:
    """Diagonal of the Hessian of one example: the same function of g for all losses."""
    return np.abs(gradient) * (1.0 - np.abs(gradient))


def diagonal_matrix(diagonal: Floats) -> Floats:
    """Put (..., K) on the diagonals of (..., K, K)."""
    return diagonal[..., :, None] * np.eye(diagonal.shape[-1])


def diagonal_of(gradient: Floats, hessian: Floats) -> Floats:
    """Return the h_kk of a Hessian in either form."""
    if hessian.ndim == gradient.ndim:
        return hessian
    return np.diagonal(hessian, axis1=-2, axis2=-1)


# --- Objective and linear system ----------------------------------------------------------------


def stagewise_objective(
    scores: Floats, gradient: Floats, hessian: Floats, regularization: Floats
) -> Floats:
    """Eq. 5 (eq:objective_stagewise) with eq. 8 (eq:regterm) for one region, in joint form.

    Alg. 1 leaves the regularization term out of its score; here it is part of it.
    """
    slope = np.einsum("...i,...i->...", gradient, scores)
    curvature = np.einsum("...i,...ij,...j->...", scores, hessian, scores)
    penalty = np.einsum("...i,...i->...", regularization, scores**2)
    objective: Floats = slope + 0.5 * curvature + 0.5 * penalty
    return objective


def solve_linear_system(matrix: Floats, gradient: Floats, noise: float) -> tuple[Floats, Floats]:
    """Eq. 7 (eq:linear_system): scores p with `matrix` p = -g, and the objective (eq. 5) at p.

    Cholesky factorisation in natural order. An unknown whose pivot is negligible is dropped: its
    column of the factor is zero, as is its score. With z = L^-1 (-g) the objective is -0.5 |z|^2.
    """
    # Label axes in front: A[i, j] and g[i] are then contiguous arrays over the candidates.
    A = np.ascontiguousarray(np.moveaxis(matrix, (-2, -1), (0, 1)))
    g = np.ascontiguousarray(np.moveaxis(gradient, -1, 0))
    L, z, p = np.zeros_like(A), np.zeros_like(g), np.zeros_like(g)
    inverse = np.zeros_like(g)  # 1 / L_kk, or 0 for a dropped unknown
    for k in range(len(g)):
        column = A[k:, k] - np.einsum("ij...,j...->i...", L[k:, :k], L[k, :k])
        pivot = column[0]
        kept = pivot > np.maximum(SINGULAR * A[k, k], noise)
        inverse[k] = np.where(kept, 1.0 / np.sqrt(np.where(kept, pivot, 1.0)), 0.0)
        L[k:, k] = column * inverse[k]
        z[k] = (-g[k] - np.einsum("j...,j...->...", L[k, :k], z[:k])) * inverse[k]
    for k in reversed(range(len(g))):
        p[k] = (z[k] - np.einsum("i...,i...->...", L[k + 1 :, k], p[k + 1 :])) * inverse[k]
    return np.moveaxis(p, 0, -1), -0.5 * (z * z).sum(axis=0)


def solve_diagonal_system(
    diagonal: Floats, gradient: Floats, noise: float
) -> tuple[Floats, Floats]:
    """Eq. 7 for labels that do not interact: the score and the objective of each label."""
    kept = diagonal > noise
    p = np.where(kept, -gradient / np.where(kept, diagonal, 1.0), 0.0)
    return p, 0.5 * p * gradient


# --- Label bins ---------------------------------------------------------------------------------


def criterion(gradient: Floats, diagonal: Floats, l2: float, noise: float) -> Floats:
    """Eq. 11: c_k = -g_k / (h_kk + l2), zero where rounding could decide about the sign."""
    zero = (np.abs(gradient) <= noise) | (diagonal + l2 <= noise)
    return np.where(zero, 0.0, -gradient / np.where(zero, 1.0, diagonal + l2))


def number_of_bins(n_labels: Ints, label_bins: float | int) -> Ints:
    """Bins for a sign that has `n_labels` labels: a ratio of them, or half of an integer."""
    if isinstance(label_bins, int):
        wanted = np.full_like(n_labels, label_bins // 2)
    else:  # 1e-9: a product such as 0.04 * 75 must not be rounded up to the next integer
        wanted = np.ceil(label_bins * n_labels - TIE).astype(np.int64)
    return np.minimum(n_labels, np.maximum(wanted, 1))


def equal_width_bins_of_sign(c: Floats, member: Bools, n_bins: Ints) -> Ints:
    """Eq. 14 and one case of eq. 15 (eq:binfun), counted from 0; meaningless for non-members.

    A criterion on the boundary of two bins belongs to the upper one, whatever the rounding.
    """
    lo = np.where(member, c, np.inf).min(axis=-1)
    hi = np.where(member, c, -np.inf).max(axis=-1)
    flat = hi - lo <= TIE * np.maximum(np.abs(lo), np.abs(hi))
    width = np.where(flat, 1.0, (hi - lo) / np.maximum(n_bins, 1))
    spread = member & ~flat[..., None]
    steps = np.where(spread, c - np.where(flat, 0.0, lo)[..., None], 0.0) / width[..., None]
    bins = np.floor(steps + TIE).astype(np.int64)
    return np.minimum(bins, n_bins[..., None] - 1)


def equal_width_mapping(c: Floats, label_bins: float | int) -> Ints:
    """Eq. 15 (eq:binfun): the bin of each label, from 0; -1 for labels that leave the system.

    Negative bins come first, then positive ones; bins that got no label are not counted.
    """
    negative, positive = c < 0.0, c > 0.0
    n_negative = number_of_bins(negative.sum(axis=-1), label_bins)
    n_positive = number_of_bins(positive.sum(axis=-1), label_bins)
    below_zero = equal_width_bins_of_sign(c, negative, n_negative)
    above_zero = equal_width_bins_of_sign(c, positive, n_positive) + n_negative[..., None]
    bins = np.where(negative, below_zero, np.where(positive, above_zero, -1))
    candidates = np.arange((n_negative + n_positive).max(initial=0))
    occupied = (bins[..., :, None] == candidates).any(axis=-2, keepdims=True)
    rank = (occupied & (candidates < bins[..., :, None])).sum(axis=-1)
    return np.where(bins < 0, -1, rank)


def map_to_bins(
    gradient: Floats, hessian: Floats, l2: float, noise: float, label_bins: float | int
) -> Ints:
    """MAP_TO_BINS of Alg. 1 (alg:evaluate_rule)."""
    c = criterion(gradient, diagonal_of(gradient, hessian), l2, noise)
    return equal_width_mapping(c, label_bins)


def aggregate(
    mapping: Ints, gradient: Floats, hessian: Floats, l2: float, aggregation: Aggregation
) -> tuple[Floats, Floats, Floats]:
    """AGGREGATE of Alg. 1: gradient, Hessian and diagonal of the regularization matrix of bins.

    Eq. 18 (eq:aggregation1), 19 (eq:aggregation2) and 22 over the bins of eq. 12. Eq. 18 leaves
    out the off-diagonals within a bin: that is "paper"; "exact" has them and so minimises eq. 5
    under eq. 13 (eq:binning_equality).
    """
    bins = np.arange(mapping.max(initial=-1) + 1)
    member = (mapping[..., :, None] == bins).astype(np.float64)
    bin_gradient = (gradient[..., None, :] @ member)[..., 0, :]
    own = (diagonal_of(gradient, hessian)[..., None, :] @ member)[..., 0, :]
    regularization = l2 * member.sum(axis=-2)
    if hessian.ndim == gradient.ndim:
        return bin_gradient, own, regularization
    bin_hessian = np.swapaxes(member, -1, -2) @ hessian @ member
    if aggregation == "paper":
        bin_hessian[..., bins, bins] = own
    return bin_gradient, bin_hessian, regularization


# --- Candidate evaluation -----------------------------------------------------------------------


def evaluate_candidate(
    gradient: Floats, hessian: Floats, regularization: Floats, noise: float
) -> tuple[Floats, Floats]:
    """Alg. 1 (alg:evaluate_rule), left: scores and quality (lower is better)."""
    if hessian.ndim == gradient.ndim:
        # Total minus prefix may come out just below zero.
        diagonal = np.maximum(hessian, 0.0) + regularization
        scores, qualities = solve_diagonal_system(diagonal, gradient, noise)
        return scores, qualities.sum(axis=-1)
    matrix = hessian.copy()
    np.einsum("...kk->...k", matrix)[...] += regularization  # a view of the diagonals
    return solve_linear_system(matrix, gradient, noise)


def evaluate_candidate_binned(
    gradient: Floats,
    hessian: Floats,
    l2: float,
    noise: float,
    *,
    label_bins: float | int,
    aggregation: Aggregation,
) -> tuple[Floats, Floats, Ints]:
    """Alg. 1 (alg:evaluate_rule), right: scores, quality and mapping."""
    mapping = map_to_bins(gradient, hessian, l2, noise, label_bins)
    system = aggregate(mapping, gradient, hessian, l2, aggregation)
    bin_scores, quality = evaluate_candidate(*system, noise)
    padded = np.concatenate([bin_scores, np.zeros_like(gradient[..., :1])], axis=-1)
    return np.take_along_axis(padded, mapping, axis=-1), quality, mapping


def evaluate_single_label(
    gradient: Floats, diagonal: Floats, l2: float, noise: float
) -> tuple[Floats, Floats, Ints]:
    """Scores, quality and label of the best head that predicts for one label only."""
    diagonal = np.maximum(diagonal, 0.0) + l2
    scores, qualities = solve_diagonal_system(diagonal, gradient, noise)
    label = first_best(qualities)
    chosen = np.arange(gradient.shape[-1]) == label[..., None]
    return np.where(chosen, scores, 0.0), qualities.min(axis=-1), label


def first_best(qualities: Floats) -> Ints:
    """Position of the first quality that is as good as the best, rounding apart."""
    best = qualities.min(axis=-1, keepdims=True)
    position: Ints = np.argmax(qualities <= best + TIE * np.abs(best), axis=-1)
    return position


def evaluate(
    gradient: Floats, hessian: Floats, settings: Settings, noise: float
) -> tuple[Floats, Floats]:
    """Scores and quality of the kind of head that the settings ask for."""
    l2, bins = settings.l2, settings.label_bins
    if settings.head == "single":
        return evaluate_single_label(gradient, hessian, l2, noise)[:2]
    if bins is None:
        return evaluate_candidate(gradient, hessian, np.full_like(gradient, l2), noise)
    aggregation = settings.label_bin_aggregation
    return evaluate_candidate_binned(
        gradient, hessian, l2, noise, label_bins=bins, aggregation=aggregation
    )[:2]


# --- Rules (Section 2.3: top-down greedy search) ------------------------------------------------


@dataclass(frozen=True, slots=True)
class Examples:
    """What the search looks at: features (NaN: missing) and statistics of the examples."""

    X: Floats
    nominal: Bools
    gradient: Floats
    hessian: Floats


def example_statistics(
    Y: NDArray[np.generic], P: Floats, settings: Settings, sets: LabelSets | None = None
) -> tuple[Floats, Floats]:
    """Eq. 6 at the current scores: gradients and, in joint form where heads need it, Hessians.

    `sets` are the label sets of the training data, those of Y unless given.
    """
    if settings.loss == "label_logistic":
        gradient = label_logistic_gradient(Y, P)
        return gradient, hessian_diagonal(gradient)
    if settings.loss == "example_logistic":
        gradient, hessian = example_logistic_gradient(Y, P), example_logistic_hessian(Y, P)
    else:
        sets = label_sets(Y, np.ones(len(Y))) if sets is None else sets
        gradient = labelset_softmax_gradient(Y, P, sets)
        hessian = labelset_softmax_hessian(P, sets)
    return gradient, hessian if settings.head == "complete" else hessian_diagonal(gradient)


def weighted(x: Floats, weights: Floats) -> Floats:
    """Multiply each example's part of (n, ...) by its weight."""
    return x * weights.reshape(-1, *[1] * (x.ndim - 1))


def quantile_bins(column: Floats, max_bins: int) -> Floats:
    """Number the values of a feature by bins with about equally many examples; NaN stays NaN.

    A value belongs where the middle of its run of examples falls; few values keep a bin each.
    """
    present = ~np.isnan(column)
    values, index, counts = np.unique(column[present], return_inverse=True, return_counts=True)
    bins = np.arange(len(values))
    if len(values) > max_bins:
        middle = 2 * np.cumsum(counts) - counts
        _, bins = np.unique(middle * max_bins // (2 * counts.sum()), return_inverse=True)
    binned = np.full(len(column), np.nan)
    binned[present] = bins[index]
    return binned


def midpoints(values: Floats) -> Floats:
    """Thresholds between neighbouring distinct values, which must be in ascending order."""
    a, b = values[:-1], values[1:]
    with np.errstate(invalid="ignore"):  # between -inf and inf
        middle = 0.5 * a + 0.5 * b
    return np.where((a <= middle) & (middle < b), middle, a)


def prefix_sums(x: Floats, order: Ints, starts: Ints, nominal: bool) -> tuple[Floats, Floats]:
    """Sums of (n, ...) over the examples with "<=" each threshold or "=" each category, and total.

    `order` sorts the examples without the missing values, `starts` tells where each distinct value
    begins.
    """
    x = np.take(x, order, axis=0)
    total = x.sum(axis=0)
    if nominal:
        return np.add.reduceat(x, starts), total
    return np.cumsum(x, axis=0, out=x)[starts[1:] - 1], total


def both_sides(part: Floats, total: Floats) -> Floats:
    """(T, 2, ...): put the sums over the other examples, those with ">" or "!=", beside `part`."""
    return np.stack([part, total - part], axis=1)


def evaluate_feature(
    column: Floats,
    nominal: bool,
    statistics: tuple[Floats, Floats],
    settings: Settings,
    noise: float,
) -> tuple[Floats, Floats, Ints]:
    """Constants (T), qualities and labels (of single-label heads), (T, 2), of all candidates."""
    order = np.argsort(column, kind="stable")[: np.count_nonzero(~np.isnan(column))]
    values, starts = np.unique(column[order], return_index=True)
    constants = values if nominal else midpoints(values)
    quality, label = np.empty((constants.size, 2)), np.empty((constants.size, 2), dtype=np.int64)
    if constants.size == 0:
        return constants, quality, label
    sums = [prefix_sums(x, order, starts, nominal) for x in statistics]
    for i in range(0, constants.size, BLOCK):
        block = slice(i, i + BLOCK)
        g, H = (both_sides(part[block], total) for part, total in sums)
        scores, quality[block] = evaluate(g, H, settings, noise)
        label[block] = np.argmax(scores != 0.0, axis=-1)
    coverage = both_sides(*prefix_sums(np.ones(column.size), order, starts, nominal))
    eligible = (coverage >= max(settings.min_coverage, 1)) & (coverage < column.size)
    return constants, np.where(eligible, quality, np.inf), label


def refine_rule(
    examples: Examples,
    weights: Floats,
    covered: Bools,
    features: Sequence[int],
    settings: Settings,
) -> tuple[Condition, float, int] | None:
    """Find the best condition to add (the first of equals), its quality and its single label."""
    X, nominal, w = examples.X[covered], examples.nominal, weights[covered]
    statistics = weighted(examples.gradient[covered], w), weighted(examples.hessian[covered], w)
    noise = NOISE * float(w.sum())
    found = [
        evaluate_feature(X[:, j], bool(nominal[j]), statistics, settings, noise) for j in features
    ]
    constants, quality, labels = (np.concatenate(parts) for parts in zip(*found, strict=True))
    quality, labels = quality.ravel(), labels.ravel()
    if not np.isfinite(quality).any():
        return None
    winner = int(first_best(quality))
    feature = int(np.repeat(features, [part[0].size for part in found])[winner // 2])
    operators: tuple[Operator, Operator] = ("=", "!=") if nominal[feature] else ("<=", ">")
    condition = Condition(feature, operators[winner % 2], float(constants[winner // 2]))
    return condition, float(quality[winner]), int(labels[winner])


def body(conditions: Sequence[Condition], X: Floats) -> Bools:
    """Eq. 10: tell which examples satisfy all conditions."""
    covered = np.ones(X.shape[0], dtype=np.bool_)
    for condition in conditions:
        covered &= condition.covers(X[:, condition.feature])
    return covered


def calculate_head(
    gradient: Floats, hessian: Floats, weights: Floats, settings: Settings, label: int | None = None
) -> tuple[Floats, float]:
    """Eq. 7 for all examples of a region, and the objective (eq. 5) at its solution.

    `label`: the one label that keeps its score.
    """
    g, H = (np.tensordot(weights, x, axes=1) for x in (gradient, hessian))
    noise = NOISE * float(weights.sum())
    if label is None:
        scores, quality = evaluate(g, H, settings, noise)
        return scores, float(quality)
    scores, qualities = solve_diagonal_system(H + settings.l2, g, noise)
    return np.where(np.arange(scores.size) == label, scores, 0.0), float(qualities[label])


def gain(quality: float, step: float, total_weight: float) -> float:
    """By how much eq. 5 falls, per unit of weight, when a head is added `step` times.

    Along p the objective is t p.g + 0.5 t^2 p.(H + R) p, which is (2 t - t^2) times its value at
    the solution, where (H + R) p = -g.
    """
    return -(2.0 * step - step**2) * quality / total_weight


def learn_default_rule(Y: NDArray[np.generic], sample_weight: Floats, settings: Settings) -> Rule:
    """First rule: it covers everything, has a complete head and is not shrunk.

    The softmax over label sets starts with their shares, which leaves nothing to this rule.
    """
    if settings.loss == "labelset_softmax":
        return Rule((), np.zeros(Y.shape[1]), Y.shape[0], 0.0)
    settings = replace(settings, head="complete")
    gradient, hessian = example_statistics(Y, np.zeros(Y.shape), settings)
    head, quality = calculate_head(gradient, hessian, sample_weight, settings)
    return Rule((), head, Y.shape[0], gain(quality, 1.0, float(sample_weight.sum())))


def learn_rule(
    examples: Examples,
    sample_weight: Floats,
    attempt: int,
    settings: Settings,
    tickets: Ints | None = None,
) -> Rule | None:
    """Grow a rule greedily on a sample and give it a head; None if no condition is any use.

    The sample is drawn from `tickets`: the example that each of them stands for.
    """
    X = examples.X
    n_examples, n_features = X.shape
    weights = sample_weight
    if settings.bootstrap:
        tickets = np.arange(n_examples) if tickets is None else tickets
        counts = bootstrap_counts(settings.seed, attempt, len(tickets))
        weights = weights * np.bincount(tickets, counts) / np.bincount(tickets)
    covered, incumbent, label = weights > 0.0, 0.0, None
    noise = NOISE * float(weights.sum())
    conditions: list[Condition] = []
    while settings.max_conditions is None or len(conditions) < settings.max_conditions:
        features = sample_features(
            settings.seed, attempt, len(conditions), n_features, settings.max_features
        )
        best = refine_rule(examples, weights, covered, features, settings)
        if best is None or not best[1] < incumbent - TIE * abs(incumbent) - noise:
            break
        condition, incumbent, label = best
        conditions.append(condition)
        covered &= condition.covers(X[:, condition.feature])
    if not conditions:
        return None
    covered = body(conditions, X)
    kept = label if settings.head == "single" else None
    region = examples.gradient[covered], examples.hessian[covered], sample_weight[covered]
    head, quality = calculate_head(*region, settings, kept)
    step = settings.learning_rate
    lowered = gain(quality, step, float(sample_weight.sum()))
    return Rule(tuple(conditions), step * head, int(covered.sum()), lowered)


def fit(
    X: Floats,
    Y: NDArray[np.generic],
    settings: Settings,
    sample_weight: Floats | None = None,
    nominal: Bools | None = None,
    tickets: Ints | None = None,
) -> list[Rule]:
    """Minimise eq. 4 (eq:objective_global) stage by stage; missing values of X are NaN."""
    n_examples, n_features = X.shape
    sample_weight = np.ones(n_examples) if sample_weight is None else sample_weight
    nominal = np.zeros(n_features, dtype=np.bool_) if nominal is None else nominal
    sampling = settings.bootstrap or (settings.max_features or n_features) < n_features
    sets = label_sets(Y, sample_weight)
    rules = [learn_default_rule(Y, sample_weight, settings)]
    P = decision_function(rules, X)
    attempt = failures = 0
    while len(rules) < settings.n_rules and failures < (MAX_FAILURES if sampling else 1):
        examples = Examples(X, nominal, *example_statistics(Y, P, settings, sets))
        rule = learn_rule(examples, sample_weight, attempt, settings, tickets)
        attempt += 1
        failures = failures + 1 if rule is None else 0
        if rule is not None:
            rules.append(rule)
            P[body(rule.conditions, X)] += rule.head
    return rules


# --- Prediction ---------------------------------------------------------------------------------


def decision_function(rules: Sequence[Rule], X: Floats) -> Floats:
    """Eq. 3 (eq:confvect_aggregated): sum of the heads of the rules that cover an example."""
    P = np.zeros((X.shape[0], rules[0].head.size))
    for rule in rules:
        P[body(rule.conditions, X)] += rule.head
    return P


def decode_sign(P: Floats) -> Ints:
    """Predict the labels with a positive score."""
    return (P > 0.0).astype(np.int64)


def known_label_vectors(Y: NDArray[np.generic], sample_weight: Floats | None = None) -> Ints:
    """Distinct label vectors: the heaviest first, then in descending lexicographic order."""
    weight = np.ones(Y.shape[0]) if sample_weight is None else sample_weight
    known, index = np.unique(Y.astype(np.int64), axis=0, return_inverse=True)
    total = np.bincount(index.ravel(), weights=weight)
    return known[::-1][np.argsort(-total[::-1], kind="stable")]


def decode_known(P: Floats, known: Ints, loss: Loss) -> Ints:
    """Predict the first known vector that costs no more than the cheapest, rounding apart.

    The cost is the loss at the scores; for the example-wise loss it is sum_k exp(-y_k p_k), the
    same up to a monotone function, of which logarithms are compared because it may overflow.
    """
    if loss == "example_logistic":
        costs = np.stack([log_sum_exp(-signs(v) * P) for v in known], axis=-1)
        limit = costs.min(axis=-1, keepdims=True) + np.log1p(NOISE)
    else:
        costs = np.stack([label_logistic_loss(v, P) for v in known], axis=-1)
        limit = costs.min(axis=-1, keepdims=True) * (1.0 + NOISE)
    decoded: Ints = known[np.argmax(costs <= limit, axis=-1)]
    return decoded


def probabilities(P: Floats, known: Ints, loss: Loss) -> Floats:
    """Probability of each label; for the example-wise loss known vectors weigh exp(-loss)."""
    if loss == "label_logistic":
        return np.exp(-np.logaddexp(0.0, -P))
    losses = np.stack([example_logistic_loss(v, P) for v in known], axis=-1)
    weights = np.exp(losses.min(axis=-1, keepdims=True) - losses)
    weights /= weights.sum(axis=-1, keepdims=True)
    result: Floats = np.minimum(weights @ known, 1.0)
    return result
