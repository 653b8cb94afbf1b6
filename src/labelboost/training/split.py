"""A part of the examples that is kept for validation."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from labelboost.random_draws import GAMMA, MASK, key

SPLIT_ATTEMPT = MASK
"""Stands for an attempt that training never gets to: its draws belong to the split."""


def held_out_examples(n_examples: int, fraction: float, seed: int) -> NDArray[np.bool_]:
    """Draw which examples are for validation: at least one, and not all."""
    if n_examples < 2:
        raise ValueError(
            f"validation_fraction={fraction} needs at least two examples with a positive weight, "
            f"got {n_examples}. Pass more, or validation data of their own as eval_set."
        )
    wanted = min(max(1, math.floor(fraction * n_examples + 0.5)), n_examples - 1)
    order = np.argsort(_draws(key(seed, SPLIT_ATTEMPT, 0), n_examples), kind="stable")
    held_out = np.zeros(n_examples, dtype=bool)
    held_out[order[:wanted]] = True
    return held_out


def _draws(stream: int, n: int) -> NDArray[np.uint64]:
    """Return the first numbers of a stream: `random_draws.draw`, for many indices at a time."""
    x = np.arange(n, dtype=np.uint64) * np.uint64(GAMMA) + np.uint64((stream + GAMMA) & MASK)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
