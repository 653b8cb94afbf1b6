"""The losses that can be minimised, and what follows from the choice of one.

The arithmetic is in the C++ core and, equation by equation, in :mod:`labelboost.reference`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

HeadType = Literal["complete", "single"]
Decoding = Literal["known", "sign"]


@dataclass(frozen=True, slots=True)
class Loss:
    """A loss function with the settings that suit it."""

    name: str
    head: HeadType
    """Whether a rule predicts for all labels or the best one, unless the user says otherwise."""
    decoding: Decoding
    """How scores become label sets, unless the user says otherwise."""
    label_bins: float | None
    """Share of the labels used as number of bins, unless the user says otherwise."""


LOSSES: dict[str, Loss] = {
    loss.name: loss
    for loss in (
        Loss("example_logistic", head="complete", decoding="known", label_bins=0.04),
        Loss("label_logistic", head="single", decoding="sign", label_bins=None),
        Loss("labelset_softmax", head="complete", decoding="known", label_bins=None),
    )
}
