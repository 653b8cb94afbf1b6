"""The published values of the paper's Tables 1 and 2, and the names they go by here.

They are kept in `published.csv`: seconds per fold, and losses in percent, as they are printed.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from labelboost.experiments.variants import BASELINE, LABEL_WISE, TWO_BINS

VARIANT_TITLES: Mapping[str, str] = MappingProxyType(
    {
        LABEL_WISE: "label-wise",
        BASELINE: "no bins",
        "0.32": "32 %",
        "0.16": "16 %",
        "0.08": "8 %",
        "0.04": "4 %",
        TWO_BINS: "two bins",
    }
)
"""The paper's variants, in its order, and how tables and figures call them."""

SUBPAR_BASELINE = (
    "eurlex-sm",
    "reuters-k500",
    "bibtex",
    "yahoo-social",
    "yahoo-science",
    "yahoo-reference",
    "medical-corrected",
)
"""Where, in the paper's words, the baseline without bins exhibits subpar performance."""


@dataclass(frozen=True, slots=True)
class Published:
    """What the paper prints."""

    n_labels: Mapping[str, int]
    """Data set to its number of labels, in the order of the paper's tables."""
    values: Mapping[tuple[str, str, str], float]
    """(data set, variant, measure) to a value; cells that the paper omits are absent."""


@cache
def published_values() -> Published:
    """Read the published values."""
    text = (files(__package__) / "published.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))
    return Published(
        n_labels=MappingProxyType({row["data"]: int(row["n_labels"]) for row in rows}),
        values=MappingProxyType(
            {(row["data"], row["variant"], row["measure"]): float(row["value"]) for row in rows}
        ),
    )


def variant_title(variant: str) -> str:
    """Name a variant in a table or figure; those that are not the paper's keep their names."""
    return VARIANT_TITLES.get(variant, variant)
