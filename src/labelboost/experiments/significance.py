"""Are the differences between variants more than chance? Friedman's test and Nemenyi's after it.

Data sets are the blocks, variants the treatments, and ranks on each data set are compared
(Demsar, 2006). The paper does so for two groups of data sets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import friedmanchisquare, rankdata, studentized_range

from labelboost.experiments.published import SUBPAR_BASELINE, published_values
from labelboost.experiments.summary import SUBSET, Summary, measure_named
from labelboost.optional import require

LEVELS = (0.05, 0.01)
FEWEST_DATA = 2
FEWEST_VARIANTS = 3
"""Friedman's test is for three treatments or more."""

Groups = Mapping[str, Sequence[str]]
"""Name of a group to its data sets."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Outcome of the tests for one group of data sets."""

    data: tuple[str, ...]
    variants: tuple[str, ...]
    mean_ranks: tuple[float, ...]
    """One for each variant; 1 is the best."""
    statistic: float
    p_value: float
    """Of Friedman's test: how likely such ranks are if all variants are equally good."""
    nemenyi: tuple[tuple[float, ...], ...]
    """p-values of Nemenyi's test for all pairs of variants."""
    critical_distances: Mapping[float, float]
    """Level of significance to the distance of mean ranks beyond which variants differ."""


@dataclass(frozen=True, slots=True)
class NotCompared:
    """A group for which there is no test, and why."""

    data: tuple[str, ...]
    variants: tuple[str, ...]
    reason: str


def default_groups(summary: Summary) -> dict[str, tuple[str, ...]]:
    """The paper's two groups as far as they were run, if they were, and all data sets."""
    known = [data for data in summary.data if data in published_values().n_labels]
    subpar = tuple(data for data in known if data in SUBPAR_BASELINE)
    others = tuple(data for data in known if data not in SUBPAR_BASELINE)
    groups = {"subpar baseline": subpar, "remaining": others} if known else {}
    return groups | {"all": summary.data}


def compare_results(
    summary: Summary, data: Sequence[str], variants: Sequence[str], measure: str = SUBSET
) -> Comparison | NotCompared:
    """Compare variants by their means over the folds that all of them have.

    A variant that is equivalent to two bins takes the value of two bins.
    """

    def value(name: str, variant: str) -> float | None:
        folds = summary.common_folds(name, variants)
        average = summary.average(name, variant, measure, folds)
        return None if average is None else average.value

    lower_is_better = measure_named(measure).lower_is_better
    if lower_is_better is None:
        raise ValueError(
            f"ranks need to know whether small values of {measure!r} are good; choose another "
            "measure, or describe this one in labelboost.experiments.measures.MEASURES"
        )
    return _compare(data, variants, value, sign=1.0 if lower_is_better else -1.0)


def compare_published(
    summary: Summary, data: Sequence[str], variants: Sequence[str], measure: str = SUBSET
) -> Comparison | NotCompared:
    """Do the same with the paper's values for these data sets."""
    values = published_values().values

    def value(name: str, variant: str) -> float | None:
        return values.get((name, summary.two_bins_for(name, variant) or variant, measure))

    return _compare(data, variants, value)


def critical_distance(n_data: int, n_variants: int, level: float) -> float:
    """Distance of mean ranks beyond which Nemenyi's test calls two variants different."""
    quantile = float(studentized_range.isf(level, n_variants, np.inf)) / np.sqrt(2.0)
    return float(quantile * np.sqrt(n_variants * (n_variants + 1) / (6.0 * n_data)))


def _compare(
    data: Sequence[str],
    variants: Sequence[str],
    value: Callable[[str, str], float | None],
    sign: float = 1.0,
) -> Comparison | NotCompared:
    table = {name: [value(name, variant) for variant in variants] for name in data}
    complete = {name: row for name, row in table.items() if None not in row}
    reason = ""
    if len(variants) < FEWEST_VARIANTS:
        reason = f"the tests need at least {FEWEST_VARIANTS} variants, there are {len(variants)}"
    elif len(complete) < FEWEST_DATA:
        reason = (
            f"the tests need at least {FEWEST_DATA} data sets with results of all variants, "
            f"there are {len(complete)} of {len(data)}"
        )
    elif all(len(set(row)) == 1 for row in complete.values()):
        reason = "all variants have the same values"
    if reason:
        return NotCompared(tuple(complete), tuple(variants), reason)
    values = sign * np.array(list(complete.values()), dtype=np.float64)
    posthocs = require("scikit_posthocs", "tests of significance")
    statistic, p_value = friedmanchisquare(*values.T)
    return Comparison(
        data=tuple(complete),
        variants=tuple(variants),
        mean_ranks=tuple(map(float, rankdata(values, axis=1).mean(axis=0))),
        statistic=float(statistic),
        p_value=float(p_value),
        nemenyi=tuple(
            tuple(map(float, row)) for row in posthocs.posthoc_nemenyi_friedman(values).to_numpy()
        ),
        critical_distances={
            level: critical_distance(len(complete), len(variants), level) for level in LEVELS
        },
    )
