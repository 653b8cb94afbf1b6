"""Settings of gradient-based label binning (GBLB)."""

from __future__ import annotations

from dataclasses import dataclass

from labelboost.losses import Loss
from labelboost.parameters import check_choice, check_integer, check_real, is_integer, is_real

AGGREGATIONS = ("paper", "exact")


@dataclass(frozen=True, slots=True)
class LabelBins:
    """How many bins the labels of each sign get, and how Hessians are added up over them."""

    ratio: float
    """Share of the labels of a sign; 0 if the number is fixed."""
    per_sign: int
    """Number of bins for each sign, if it is fixed."""
    exact: bool
    """Whether the off-diagonal elements within a bin count, which the paper leaves out."""


def resolve_label_bins(label_bins: object, aggregation: object, loss: Loss) -> LabelBins | None:
    """Check the user's settings; None means no binning."""
    exact = check_choice("label_bin_aggregation", aggregation, AGGREGATIONS) == "exact"
    if isinstance(label_bins, str) and label_bins == "auto":
        label_bins = loss.label_bins
    if label_bins is None:
        return None
    if is_integer(label_bins):
        count = check_integer("label_bins", label_bins, minimum=2)
        return LabelBins(ratio=0.0, per_sign=min(count // 2, 2**31 - 1), exact=exact)
    if is_real(label_bins):
        ratio = check_real("label_bins", label_bins, above=0.0, maximum=1.0)
        return LabelBins(ratio=ratio, per_sign=1, exact=exact)
    raise TypeError(
        f"label_bins must be 'auto', None, an integer >= 2 (number of bins) or a float in (0, 1] "
        f"(share of the labels), got {label_bins!r}"
    )
