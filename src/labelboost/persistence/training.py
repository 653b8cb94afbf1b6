"""How a model came about, as far as that is needed later: to go on, and to draw curves."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelboost.persistence.nodes import EXACT, Malformed, Node
from labelboost.training.control import STOP_REASONS
from labelboost.training.measures import MEASURES

LARGEST_SEED = 2**63 - 1
MOST_ATTEMPTS = 2**62


def encode_training(model: Any) -> dict[str, Any] | None:
    """Turn the attributes into JSON values; None for a model of an old file."""
    if not hasattr(model, "_attempts"):
        return None
    unit = model._unit
    history = getattr(model, "validation_history_", None)
    best = getattr(model, f"best_n_{unit}_", None)
    return {
        "seed": model._seed,
        "attempts": model._attempts.tolist(),
        "stop_reason": model.stop_reason_,
        "validation": None
        if history is None
        else {
            "sizes": history[f"n_{unit}"].tolist(),
            "measures": {n: v.tolist() for n, v in history.items() if n != f"n_{unit}"},
            "best": None if best is None else [best, model.best_score_],
        },
    }


def decode_training(node: Node, unit: str, n_learned: int) -> dict[str, Any]:
    """Check such values; return the attributes."""
    if node.value is None:
        return {}
    seed, attempts, reason, validation = node.fields(
        "seed", "attempts", "stop_reason", "validation"
    )
    attempts.length(exactly=n_learned)
    attributes: dict[str, Any] = {
        "_seed": seed.integer(0, LARGEST_SEED),
        "_attempts": np.array(attempts.ascending(MOST_ATTEMPTS), dtype=np.int64),
        "stop_reason_": reason.choice(STOP_REASONS),
    }
    if validation.value is None:
        return attributes
    sizes, measures, best = validation.fields("sizes", "measures", "best")
    ascending = np.array(sizes.ascending(EXACT), dtype=np.int64)
    history: dict[str, NDArray[Any]] = {f"n_{unit}": ascending}
    for name, values in measures.members().items():
        if name not in MEASURES:
            raise Malformed(f"{values.where()} is an unknown measure")
        history[name] = values.numbers(exactly=len(ascending))
    attributes["validation_history_"] = history
    if best.value is not None:
        size, value = best.items(exactly=2)
        attributes[f"best_n_{unit}_"] = size.integer(0, EXACT)
        attributes["best_score_"] = value.number()
    return attributes
