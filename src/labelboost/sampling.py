"""Settings of the random choices: which examples and which features a rule may look at."""

from __future__ import annotations

import math

import numpy as np
from sklearn.utils import check_random_state

from labelboost import _core
from labelboost.parameters import check_integer, check_real, is_integer, is_real

LARGEST_SEED = 2**32 - 1
"""That NumPy takes."""


def resolve_max_features(max_features: object, n_features: int) -> int:
    """Return how many features are drawn for each condition."""
    if max_features is None:
        return n_features
    if isinstance(max_features, str):
        if max_features == "log2":
            return max(1, math.floor(math.log2(n_features - 1) + 1)) if n_features > 1 else 1
        if max_features == "sqrt":
            return max(1, math.floor(math.sqrt(n_features)))
        raise ValueError(
            f"max_features must be 'log2', 'sqrt', None, an integer >= 1 or a float in (0, 1], "
            f"got {max_features!r}"
        )
    if is_integer(max_features):
        return min(check_integer("max_features", max_features, minimum=1), n_features)
    if is_real(max_features):
        share = check_real("max_features", max_features, above=0.0, maximum=1.0)
        return max(1, int(share * n_features))
    raise TypeError(
        f"max_features must be 'log2', 'sqrt', None, an integer >= 1 or a float in (0, 1], "
        f"got {max_features!r} of type {type(max_features).__name__}"
    )


def resolve_seed(random_state: object) -> int:
    """Turn scikit-learn's idea of a random state into the seed of all draws."""
    if is_integer(random_state) and 0 <= random_state <= LARGEST_SEED:
        return _core.first_draw_of_numpy(int(random_state))  # as below, but at once
    try:
        generator = check_random_state(random_state)
    except (OverflowError, TypeError, ValueError) as error:
        raise (ValueError if is_integer(random_state) else TypeError)(
            f"random_state must be None, an integer from 0 to 2**32 - 1 or a RandomState, got "
            f"{random_state!r} of type {type(random_state).__name__}"
        ) from error
    return int(generator.randint(0, 2**63 - 1, dtype=np.int64))
