"""What training has come to, and how to bring a booster to that state again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from labelboost._core import Booster
from labelboost.model import Rule
from labelboost.training.coverage import FeatureColumns

Learned = TypeVar("Learned")
"""A rule, or a tree."""


@dataclass(frozen=True, slots=True)
class Boosted(Generic[Learned]):
    """The default rule and what was learned after it."""

    default: Rule
    learned: list[Learned]
    times: list[float]
    """Seconds until the default rule and each of the others was finished."""
    attempts: list[int]
    """Which attempts gave the learned ones. All random choices follow from that number."""
    default_counts: bool
    stop_reason: str = ""

    def __len__(self) -> int:
        return self.size_of(len(self.learned))

    def size_of(self, n_learned: int) -> int:
        """Return the size of an ensemble of the first so many learned ones."""
        return n_learned + self.default_counts

    def append(self, learned: Learned, attempt: int, seconds: float) -> None:
        """Add what was learned. If this is interrupted, that does not count."""
        self.times.append(seconds)
        self.attempts.append(attempt)
        self.learned.append(learned)  # last, as the number of those is what counts

    def first(self, size: int) -> Boosted[Learned]:
        """Return the beginning, as an ensemble of that size."""
        kept = size - self.default_counts
        return Boosted(
            self.default,
            self.learned[:kept],
            self.times[: kept + 1],
            self.attempts[:kept],
            self.default_counts,
            self.stop_reason,
        )

    @property
    def next_attempt(self) -> int:
        """The attempt to go on with; failed ones after the last success fail again."""
        return self.attempts[-1] + 1 if self.attempts else 0


def replay(
    booster: Booster,
    boosted: Boosted[Learned],
    rules_of: Callable[[Learned], Sequence[Rule]],
    columns: FeatureColumns,
) -> None:
    """Bring a fresh booster to the state in which learning can go on, bit by bit."""
    for rules in ([boosted.default], *map(rules_of, boosted.learned)):
        covered = columns.covered(rules)
        booster.replay(
            np.cumsum([0, *map(len, covered)], dtype=np.int64),
            np.concatenate(covered).astype(np.int32),
            np.array([rule.head for rule in rules]),
        )
