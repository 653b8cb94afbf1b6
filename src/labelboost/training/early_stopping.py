"""When to stop: the best size of the ensemble so far, and for how long there was no better one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from labelboost.training.measures import HIGHER_IS_BETTER

ROUNDING = 1e-12
"""Values that differ by less than this, relatively, are equally good: the smaller model wins."""


@dataclass(slots=True)
class History:
    """Measures on validation data, by the size of the ensemble."""

    measure: str | None
    """Which one tells the best size, if any."""
    patience: int
    sizes: list[int] = field(default_factory=list)
    values: dict[str, list[float]] = field(default_factory=dict)
    best_size: int | None = None
    best_value: float | None = None

    def note(self, size: int, values: Mapping[str, float]) -> None:
        """Record an evaluation."""
        self.sizes.append(size)
        for name, value in values.items():
            self.values.setdefault(name, []).append(value)
        if self.measure is not None and self._improves(values[self.measure]):
            self.best_size, self.best_value = size, values[self.measure]

    def is_exhausted(self) -> bool:
        """Tell whether the best size lies so far back that training should end."""
        return self.best_size is not None and self.sizes[-1] - self.best_size >= self.patience

    def as_arrays(self, unit: str) -> dict[str, NDArray[np.generic]]:
        """Return the sizes, as `n_<unit>`, and the measures."""
        arrays: dict[str, NDArray[np.generic]] = {f"n_{unit}": np.array(self.sizes, dtype=np.int64)}
        return arrays | {name: np.array(values) for name, values in self.values.items()}

    def _improves(self, value: float) -> bool:
        best = self.best_value
        if best is None:
            return True
        gain = value - best if self.measure in HIGHER_IS_BETTER else best - value
        return gain > ROUNDING * max(1.0, abs(best))
