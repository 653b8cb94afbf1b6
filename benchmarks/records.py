"""What passes between the parts of the benchmark: a case, a training, and a pair of trainings.

Only the standard library is needed, because both environments read this file.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Case:
    """What is trained, and how; the key of a line in the results."""

    data: str
    variant: str
    fold: int
    rules: int
    threads: int
    sparse: bool
    setting: str = ""
    """What was measured where: results of another build or machine do not count as finished."""


@dataclass(frozen=True)
class Training:
    """What one training reports about itself."""

    data: str
    labels: int
    variant: str
    fold: int
    threads: int
    rules: int
    """How many were learned, which may be fewer than were asked for."""
    fit_seconds: float
    cpu_seconds: float
    """Processor time of fit; less than fit_seconds where something else held the core."""
    subset_loss: float
    hamming_loss: float
    start_mb: float
    """Resident memory just before fit: interpreter, imports and data."""
    peak_mb: float
    version: str

    @property
    def seconds_per_100(self) -> float:
        """Seconds of fit per 100 rules, preparations included."""
        return 100.0 * self.fit_seconds / self.rules

    @property
    def extra_mb(self) -> float:
        """The memory that fit needed at its peak, beyond what was there before."""
        return max(0.0, self.peak_mb - self.start_mb)

    def check(self, case: Case) -> None:
        """Refuse a result that cannot be right: a benchmark of nonsense is worth nothing."""
        asked = (case.data, case.variant, case.fold, case.threads)
        if (self.data, self.variant, self.fold, self.threads) != asked:
            raise ValueError(f"asked for {asked}, got {self}")
        for loss in (self.subset_loss, self.hamming_loss):
            if not 0.0 <= loss <= 100.0:
                raise ValueError(f"losses must lie between 0 and 100, got {self}")
        if self.hamming_loss > self.subset_loss + 1e-3:
            raise ValueError(f"more wrong labels than wrong examples: {self}")
        if not 1 <= self.rules <= case.rules:
            raise ValueError(f"rules must lie between 1 and {case.rules}, got {self}")
        if not (math.isfinite(self.fit_seconds) and self.fit_seconds > 0):
            raise ValueError(f"fit_seconds must be positive, got {self}")


@dataclass(frozen=True)
class Outcome:
    """What both implementations reported for a case; `peer` is None where ours ran alone."""

    case: Case
    ours: Training
    peer: Training | None

    @classmethod
    def from_json(cls, entry: dict[str, Any]) -> Outcome:
        """Read what `to_json` wrote."""
        peer = entry["peer"]
        return cls(
            Case(**entry["case"]), Training(**entry["ours"]), Training(**peer) if peer else None
        )

    def to_json(self) -> dict[str, Any]:
        """As a dictionary that JSON can hold."""
        return asdict(self)
