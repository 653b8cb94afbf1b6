"""Synthetic multi-label data with adjustable label dependence.

Every example has hidden values, uniform on (0, 1), one per feature. A *concept* is a conjunction of
one to three threshold conditions on informative hidden values, so rules can find it and its
probability is known beforehand. From there:

- An *independent* label is a concept of its own. With probability `noise` it is replaced by a draw
  that ignores the features but has the same probability, for each label and example apart.
- The *shared* labels depend on a few hidden factors, which are concepts too. Each shared label is a
  conjunction of factors (or the opposite of one). With probability `noise` an example gets the
  factors of another one, hence a wrong but valid label set.

Given the features, independent labels are conditionally independent, while errors of the shared
ones come together: this is the dependence that Subset 0/1 loss is about.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from labelboost.data.dataset import Dataset

MAX_CONDITIONS = 3
MAX_FACTORS = 16
BLOCK = 16384
"""Labels are made for so many examples at once, which bounds the memory beyond the result."""

Hidden = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Concept:
    """A region of the hidden space: all of some features lie above (or below) a threshold."""

    features: NDArray[np.intp]
    above: NDArray[np.bool_]
    thresholds: NDArray[np.float32]
    probability: float

    def holds(self, hidden: Hidden) -> NDArray[np.bool_]:
        """Tell which columns of `hidden`, (L, n), lie in the region."""
        result = np.ones(hidden.shape[1], dtype=np.bool_)
        for feature, above, threshold in zip(
            self.features, self.above, self.thresholds, strict=True
        ):
            result &= hidden[feature] > threshold if above else hidden[feature] < threshold
        return result


@dataclass(frozen=True, slots=True)
class Plan:
    """How labels depend on the hidden values."""

    shared: NDArray[np.intp]
    own: NDArray[np.intp]
    factors: Sequence[Concept]
    concepts: Sequence[Concept]
    """One for each of the `own` labels."""


def make_multilabel(
    n_examples: int = 1000,
    n_features: int = 20,
    n_labels: int = 10,
    *,
    dependence: float = 0.5,
    noise: float = 0.1,
    cardinality: float | None = None,
    n_factors: int | None = None,
    informative: float = 0.5,
    nominal: float = 0.0,
    missing: float = 0.0,
    random_state: int | np.random.Generator | None = None,
) -> Dataset:
    """Generate multi-label data; the same `random_state` gives the same data.

    Parameters
    ----------
    n_examples, n_features, n_labels
        Size of the data.
    dependence
        Share of the labels that depend on common factors. 0: all labels are conditionally
        independent given the features. 1: the factors determine all of them, so that at most
        2 ** n_factors distinct label sets occur.
    noise
        Probability that a label (or, for the shared labels, the whole state of the factors) does
        not follow the features. Noise does not change how frequent labels are.
    cardinality
        Expected number of labels per example. Frequencies differ between labels. By default 0.3
        per label, but at most 3. Shared labels only take frequencies that the factors allow, so
        the outcome is near this number, not equal to it.
    n_factors
        Number of hidden binary factors, 1 to 16. Default: as many as it takes to tell the labels
        apart, log2(n_labels) + 1, between 2 and 8.
    informative, nominal, missing
        Share of the features that labels depend on, share of the features that are nominal
        (observed as one of three to six categories), share of the values that are missing.
    """
    _check_count("n_examples", n_examples)
    _check_count("n_features", n_features)
    _check_count("n_labels", n_labels)
    for name, value in (("dependence", dependence), ("noise", noise), ("nominal", nominal)):
        _check_real(name, value, 0.0, 1.0)
    _check_real("informative", informative, 0.0, 1.0, low_allowed=False)
    _check_real("missing", missing, 0.0, 1.0, high_allowed=False)
    if cardinality is None:
        cardinality = min(0.3 * n_labels, 3.0)
    _check_real("cardinality", cardinality, 0.0, n_labels, low_allowed=False, high_allowed=False)
    if n_factors is None:
        n_factors = min(max(int(np.ceil(np.log2(n_labels))) + 1, 2), 8)
    _check_count("n_factors", n_factors, MAX_FACTORS)
    # A stream for each purpose: more noise or gaps must not change the features or the concepts.
    design, values, errors, gaps = _generator(random_state).spawn(4)

    relevant = design.permutation(n_features)[: max(1, round(informative * n_features))]
    frequencies = _frequencies(design, n_labels, cardinality)
    plan = _plan(design, relevant, frequencies, round(dependence * n_labels), n_factors)
    # One row per feature: concepts and observations read whole features.
    hidden = values.random((n_features, n_examples), dtype=np.float32)
    np.clip(hidden, 2.0**-24, 1 - 2.0**-24, out=hidden)
    states = _factor_states(plan.factors, hidden)
    label_sets = _label_sets(design, states, frequencies[plan.shared], n_factors)
    swapped = np.flatnonzero(errors.random(n_examples) < noise)
    states[swapped] = states[errors.integers(0, n_examples, len(swapped))]
    Y = np.empty((n_examples, n_labels), dtype=np.uint8)
    for start in range(0, n_examples, BLOCK):
        rows = slice(start, start + BLOCK)
        Y[rows, plan.shared] = label_sets[states[rows]]
        Y[rows, plan.own] = _own_labels(errors, plan.concepts, hidden[:, rows], noise)
    is_nominal = np.zeros(n_features, dtype=np.bool_)
    is_nominal[design.permutation(n_features)[: round(nominal * n_features)]] = True
    X, categories = _observe(design, hidden, is_nominal)
    if missing:
        for column in X.T:
            column[gaps.random(n_examples, dtype=np.float32) < missing] = np.nan
    return Dataset(
        name=f"synthetic, {n_labels} labels",
        X=X,
        Y=Y,
        feature_names=tuple(f"feature {index}" for index in range(1, n_features + 1)),
        label_names=tuple(f"label {index}" for index in range(1, n_labels + 1)),
        nominal=is_nominal,
        categories=categories,
    )


def _frequencies(
    rng: np.random.Generator, n_labels: int, cardinality: float
) -> NDArray[np.float64]:
    """Probabilities of the labels, from frequent to rare in random order, that sum as asked."""
    weights = rng.permutation(1.0 / np.sqrt(np.arange(1, n_labels + 1)))
    # No label may be certain, and those at the limit leave the rest of the sum to the others.
    limit = max(0.9, 0.5 * (1.0 + cardinality / n_labels))
    result = np.zeros(n_labels)
    free = np.ones(n_labels, dtype=np.bool_)
    while True:
        scale = (cardinality - limit * np.count_nonzero(~free)) / weights[free].sum()
        result[free] = scale * weights[free]
        too_high = free & (result > limit)
        if not too_high.any():
            return result
        result[too_high] = limit
        free &= ~too_high


def _concept(
    rng: np.random.Generator, relevant: NDArray[np.intp], probability: float, most: int
) -> Concept:
    """A random conjunction that holds with the given probability."""
    size = int(rng.integers(1, min(most, len(relevant)) + 1))
    features = rng.choice(relevant, size=size, replace=False)
    # Independent conditions: their probabilities are powers of the whole one, split at random.
    part = probability ** rng.dirichlet(np.full(size, 5.0))
    above = rng.random(size) < 0.5
    thresholds = np.where(above, 1.0 - part, part).astype(np.float32)
    return Concept(features, above, thresholds, probability)


def _plan(
    rng: np.random.Generator,
    relevant: NDArray[np.intp],
    frequencies: NDArray[np.float64],
    n_shared: int,
    n_factors: int,
) -> Plan:
    order = rng.permutation(len(frequencies))
    own = np.sort(order[n_shared:])
    return Plan(
        shared=np.sort(order[:n_shared]),
        own=own,
        factors=[_concept(rng, relevant, rng.uniform(0.3, 0.6), 2) for _ in range(n_factors)],
        concepts=[_concept(rng, relevant, float(frequencies[k]), MAX_CONDITIONS) for k in own],
    )


def _own_labels(
    rng: np.random.Generator, concepts: Sequence[Concept], hidden: Hidden, noise: float
) -> NDArray[np.uint8]:
    """The independent labels of some examples, (n, independent labels)."""
    labels = np.empty((len(concepts), hidden.shape[1]), dtype=np.uint8)
    for row, concept in zip(labels, concepts, strict=True):
        draw = rng.random(len(row), dtype=np.float32)
        row[:] = np.where(draw < noise, draw < noise * concept.probability, concept.holds(hidden))
    return labels.T


def _factor_states(factors: Sequence[Concept], hidden: Hidden) -> NDArray[np.intp]:
    """The state of all factors per example, as a number whose bits are the factors."""
    states = np.zeros(hidden.shape[1], dtype=np.intp)
    for bit, factor in enumerate(factors):
        states |= factor.holds(hidden).astype(np.intp) << bit
    return states


def _label_sets(
    rng: np.random.Generator,
    states: NDArray[np.intp],
    frequencies: NDArray[np.float64],
    n_factors: int,
) -> NDArray[np.uint8]:
    """The shared labels of each state, (2 ** n_factors, shared labels)."""
    share = np.bincount(states, minlength=2**n_factors) / len(states)
    bits = (np.arange(2**n_factors)[:, None] >> np.arange(n_factors) & 1).astype(np.bool_)
    table = np.zeros((2**n_factors, len(frequencies)), dtype=np.uint8)
    carry = 0.0
    for k in np.argsort(-frequencies):
        # What one label misses of its frequency the next one makes up for: the sum stays right.
        target = float(np.clip(frequencies[k] + carry, 0.0, 1.0))
        opposite = target > 0.5
        part = _conjunction(rng, bits, share, 1.0 - target if opposite else target)
        table[:, k] = ~part if opposite else part
        carry += float(frequencies[k] - share @ table[:, k])
    return table


def _conjunction(
    rng: np.random.Generator,
    bits: NDArray[np.bool_],
    share: NDArray[np.float64],
    target: float,
) -> NDArray[np.bool_]:
    """States in which some factors have certain values, whose share is near the target.

    No state at all where none is rare enough.
    """
    wanted = bits[rng.choice(np.flatnonzero(share))]
    part = np.ones(len(share), dtype=np.bool_)
    error = 1.0 - target
    for factor in rng.permutation(bits.shape[1]):
        smaller = part & (bits[:, factor] == wanted[factor])
        smaller_error = abs(float(share @ smaller) - target)
        if smaller_error < error:
            part, error = smaller, smaller_error
    return part if error < target else np.zeros_like(part)


def _observe(
    rng: np.random.Generator, hidden: Hidden, nominal: NDArray[np.bool_]
) -> tuple[NDArray[np.float32], dict[int, tuple[str, ...]]]:
    """What a learner sees of the hidden values: on other scales, or as categories."""
    n_features, n_examples = hidden.shape
    scales: tuple[Callable[[Hidden], NDArray[Any]], ...] = (
        lambda u: 100.0 * u,
        ndtri,
        lambda u: -np.log1p(-u),
    )
    X = np.empty((n_examples, n_features), dtype=np.float32)
    categories: dict[int, tuple[str, ...]] = {}
    for feature in range(n_features):
        if nominal[feature]:
            # In random order, so that the codes say nothing about the hidden value.
            codes = rng.permutation(int(rng.integers(3, 7)))
            column = codes[(hidden[feature] * len(codes)).astype(np.intp)].astype(np.float32)
            categories[feature] = tuple("ABCDEF"[: len(codes)])
        else:
            column = scales[int(rng.integers(len(scales)))](hidden[feature])
        X[:, feature] = column
    return X, categories


def _generator(random_state: int | np.random.Generator | None) -> np.random.Generator:
    if isinstance(random_state, np.random.Generator) or random_state is None:
        return np.random.default_rng(random_state)
    if isinstance(random_state, bool) or not isinstance(random_state, Integral):
        raise TypeError(
            f"random_state must be None, an integer or a numpy Generator, got {random_state!r}"
        )
    if random_state < 0:
        raise ValueError(f"random_state must not be negative, got {random_state}")
    return np.random.default_rng(int(random_state))


def _check_count(name: str, value: int, most: int | None = None) -> None:
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    if value < 1 or (most is not None and value > most):
        wanted = "at least 1" if most is None else f"between 1 and {most}"
        raise ValueError(f"{name} must be {wanted}, got {value}")


def _check_real(
    name: str,
    value: float,
    low: float,
    high: float,
    *,
    low_allowed: bool = True,
    high_allowed: bool = True,
) -> None:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r}")
    above = value >= low if low_allowed else value > low
    below = value <= high if high_allowed else value < high
    if not (above and below):
        interval = f"{'[' if low_allowed else '('}{low:g}, {high:g}{']' if high_allowed else ')'}"
        raise ValueError(f"{name} must lie in {interval}, got {value}")
