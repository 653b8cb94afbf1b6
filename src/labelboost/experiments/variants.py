"""The models that the paper compares, other methods, and how a configuration may define more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from labelboost.experiments.methods import METHODS, RULES

LABEL_WISE = "label-wise"
BASELINE = "none"
TWO_BINS = "2"
BIN_RATIOS = ("0.32", "0.16", "0.08", "0.04")


@dataclass(frozen=True, slots=True)
class Variant:
    """A name, a method, and the parameters that make the difference."""

    name: str
    parameters: Mapping[str, Any]
    estimator: str = RULES


def _joint(label_bins: float | None) -> dict[str, Any]:
    return {"loss": "example_logistic", "label_bins": label_bins}


PAPER = {
    LABEL_WISE: Variant(LABEL_WISE, {"loss": "label_logistic"}),
    BASELINE: Variant(BASELINE, _joint(None)),
    **{ratio: Variant(ratio, _joint(float(ratio))) for ratio in BIN_RATIOS},
    TWO_BINS: Variant(TWO_BINS, _joint(2)),
}
"""The paper's seven, in the order of its tables: no binning, shares of the labels, two bins."""

BUILT_IN = {**PAPER, **{name: Variant(name, {}, name) for name in METHODS}}
"""These, and every method with its default parameters."""
