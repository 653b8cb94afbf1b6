"""What is measured, and what is hoped for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from records import Case

RULES = {
    "emotions": 500,
    "flags": 500,
    "birds": 500,
    "yeast": 200,  # the peer takes 10 to 30 seconds per 100 rules
    "enron": 500,
    "medical": 500,
    "medical-corrected": 500,
    "langlog": 500,
    "slashdot": 500,
    "eukaryote-go": 200,  # 5 seconds, and half a gigabyte of dense features
    "reuters-k500": 50,  # 80 to 180 seconds
    "bibtex": 50,  # 30 to 75 seconds
    "yahoo-science": 100,  # 15 to 30 seconds, and a gigabyte of dense features
    "yahoo-reference": 100,  # 20 to 40 seconds, and more than a gigabyte
}
"""Data sets in the order of the table, and how many rules are learned.

500 where the peer takes at most 3 seconds per 100, so that losses mean something; fewer elsewhere,
so that all variants on three folds stay below an hour and a half.
"""

LABEL_WISE_RULES = 500
"""Label-wise rules cost the peer milliseconds each, whatever the data."""

QUICK_RULES = {"emotions": 200, "yeast": 10, "medical": 200, "slashdot": 50}
"""One of each kind: dense and sparse, numeric and nominal, few and many labels."""

EMBEDDED = {"digits": 200, "synthetic": 200}
"""What ours is measured on where there is no `shared/data`."""

VARIANTS = ("none", "0.32", "0.04", "2", "label-wise")
QUICK_VARIANTS = ("none", "0.04", "label-wise")
BINS = ("0.32", "0.04", "2")
FOLDS = (0, 1, 2)
"""The repeats: medians of times and memory, and means of losses, are taken over these folds."""

DENSE = ("emotions", "birds", "yeast", "reuters-k500", "bibtex")
TEXT = ("enron", "medical", "langlog", "slashdot")
REST = tuple(name for name in RULES if name not in DENSE)


@dataclass(frozen=True)
class SpeedTarget:
    """Every cell of these data and variants is to be this many times faster than the peer."""

    variants: Sequence[str]
    data: Sequence[str]
    factor: float
    name: str


SPEED_TARGETS = (
    SpeedTarget(("none",), DENSE, 30.0, f"none on {', '.join(DENSE)}"),
    SpeedTarget(("none",), TEXT, 10.0, f"none on {', '.join(TEXT)}"),
    SpeedTarget(BINS, DENSE, 20.0, f"bins on {', '.join(DENSE)}"),
    SpeedTarget(BINS, REST, 10.0, "bins on all other data"),
    SpeedTarget(("label-wise",), tuple(RULES), 2.0, "label-wise, everywhere"),
)
LABEL_WISE_MEAN = 5.0
OVERALL_MEAN = 20.0
MEMORY_DATA = ("reuters-k500", "bibtex")
MEMORY_SHARE = 0.25


def rules_for(data: str, variant: str, quick: bool) -> int:
    """How many rules are learned in a case; data without a plan get 200."""
    if variant == "label-wise":
        return LABEL_WISE_RULES
    if quick and data in QUICK_RULES:
        return QUICK_RULES[data]
    return (RULES | EMBEDDED).get(data, 200)


def make_cases(
    data: Sequence[str],
    variants: Sequence[str],
    folds: Sequence[int],
    *,
    rules: int | None,
    quick: bool,
    threads: int,
    sparse: bool,
    setting: str,
) -> list[Case]:
    """List the cases fold by fold: a run that is cut short has measured all data as often."""
    return [
        Case(
            name, variant, fold, rules or rules_for(name, variant, quick), threads, sparse, setting
        )
        for fold, name, variant in product(folds, data, variants)
    ]
