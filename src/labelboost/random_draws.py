"""Reproducible random draws: every draw is a pure function of seed, attempt, purpose and index.

A counter-based generator (the output function of SplitMix64) has no state to carry along, so the
same model comes out of any implementation and any number of threads.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

GAMMA = 0x9E3779B97F4A7C15
MASK = 0xFFFFFFFFFFFFFFFF
BOOTSTRAP = 0
"""Purpose of the draws of examples; the features of condition c have purpose 1 + c."""


def mix(x: int) -> int:
    """Scramble 64 bits: one step of SplitMix64 from state `x`."""
    x = (x + GAMMA) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def key(seed: int, attempt: int, purpose: int) -> int:
    """Combine what a stream of draws is for into its 64-bit key."""
    return mix((mix((mix(seed) + attempt) & MASK) + purpose) & MASK)


def draw(stream: int, i: int) -> int:
    """Return the `i`-th 64-bit number of the stream with the given key."""
    return mix((stream + i * GAMMA) & MASK)


def below(u: int, n: int) -> int:
    """Turn 64 random bits into an integer of 0..n-1."""
    return min(int(float(u >> 11) * 2.0**-53 * n), n - 1)


def bootstrap_counts(seed: int, attempt: int, n_tickets: int) -> NDArray[np.int64]:
    """Draw as many tickets as there are, with replacement; tell how often each one came up."""
    stream = key(seed, attempt, BOOTSTRAP)
    drawn = [below(draw(stream, i), n_tickets) for i in range(n_tickets)]
    return np.bincount(drawn, minlength=n_tickets)


def subsample(seed: int, attempt: int, n_tickets: int, share: float) -> NDArray[np.bool_]:
    """Draw a share of the tickets without replacement (the start of a Fisher-Yates shuffle)."""
    drawn = np.ones(n_tickets, dtype=np.bool_)
    if share >= 1.0:
        return drawn
    wanted = max(int(share * n_tickets + 0.5), 1)
    tickets = list(range(n_tickets))
    stream = key(seed, attempt, BOOTSTRAP)
    for i in range(wanted):
        j = i + below(draw(stream, i), n_tickets - i)
        tickets[i], tickets[j] = tickets[j], tickets[i]
    drawn[tickets[wanted:]] = False
    return drawn


def sample_features(
    seed: int, attempt: int, condition: int, n_features: int, max_features: int | None
) -> list[int]:
    """Draw distinct features for one condition (the start of a Fisher-Yates shuffle)."""
    features = list(range(n_features))
    if max_features is None or max_features >= n_features:
        return features
    stream = key(seed, attempt, 1 + condition)
    for i in range(max_features):
        j = i + below(draw(stream, i), n_features - i)
        features[i], features[j] = features[j], features[i]
    return features[:max_features]
