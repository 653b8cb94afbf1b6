"""The models that the paper compares, and how a configuration may define others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from labelboost import RuleBoostingClassifier

LABEL_WISE = "label-wise"
BASELINE = "none"
TWO_BINS = "2"
BIN_RATIOS = ("0.32", "0.16", "0.08", "0.04")


@dataclass(frozen=True, slots=True)
class Variant:
    """A name, and the parameters that make the difference."""

    name: str
    parameters: Mapping[str, Any]


def _joint(label_bins: float | None) -> dict[str, Any]:
    return {"loss": "example_logistic", "label_bins": label_bins}


BUILT_IN = {
    LABEL_WISE: Variant(LABEL_WISE, {"loss": "label_logistic"}),
    BASELINE: Variant(BASELINE, _joint(None)),
    **{ratio: Variant(ratio, _joint(float(ratio))) for ratio in BIN_RATIOS},
    TWO_BINS: Variant(TWO_BINS, _joint(2)),
}
"""The paper's seven, in the order of its tables: no binning, shares of the labels, two bins."""

SET_BY_EXPERIMENT = ("n_rules", "random_state", "n_jobs", "verbose", "profile", "warm_start",
                     "checkpoint", "checkpoint_every", "checkpoint_seconds")  # fmt: skip
"""Parameters of the estimator that are the same for all variants or of no interest."""


def parameter_names() -> list[str]:
    """Names that a variant may set."""
    names = RuleBoostingClassifier().get_params()
    return [name for name in names if name not in (*SET_BY_EXPERIMENT, "categorical_features")]
