"""Averages over the folds of an experiment, from which all reports are made."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from labelboost.experiments.measures import MEASURES
from labelboost.experiments.published import VARIANT_TITLES, published_values
from labelboost.experiments.records import Result
from labelboost.experiments.variants import LABEL_WISE, TWO_BINS
from labelboost.losses import LOSSES

TRAIN_SECONDS = "train_seconds"
SUBSET = "subset_01"
HAMMING = "hamming"

WITHOUT_EFFECT = frozenset({"label_bins", "random_state", "n_jobs", "verbose"})
"""Settings in which two variants may differ and still be the same but for their bins."""


@dataclass(frozen=True, slots=True)
class Shown:
    """How a measure is shown."""

    title: str
    factor: float = 1.0
    """From what is stored to what is shown: shares are shown in percent."""
    digits: int = 4
    lower_is_better: bool | None = None
    """None if that is not known, in which case no value is called the best."""


def measure_named(name: str) -> Shown:
    """How to show a measure; one that is not known is shown as it is stored."""
    if name == TRAIN_SECONDS:
        return Shown("training time", digits=2, lower_is_better=True)
    if name not in MEASURES:
        return Shown(name)
    measure = MEASURES[name]
    if measure.is_share:
        return Shown(measure.title, 100.0, 2, measure.lower_is_better)
    return Shown(measure.title, lower_is_better=measure.lower_is_better)


@dataclass(frozen=True, slots=True)
class Average:
    """Mean of a measure over folds, in the unit in which it is shown."""

    value: float
    folds: int
    """Number of folds it is the mean of."""
    of: int
    """Number of folds of the experiment."""


class Summary:
    """The results of an experiment by data set and variant.

    The paper's data sets and variants come first, in its order, then others as they are found.
    `data` and `variants` choose others, or another order; they may name some without results.
    """

    def __init__(
        self,
        results: Iterable[Result],
        *,
        data: Sequence[str] | None = None,
        variants: Sequence[str] | None = None,
    ) -> None:
        self._cells: dict[tuple[str, str], dict[int, Result]] = {}
        for result in results:
            self._cells.setdefault((result.data, result.variant), {})[result.fold] = result
        if not self._cells:
            raise ValueError("there are no results to report")
        found_data, found_variants = zip(*self._cells, strict=True)
        self.data = _ordered(found_data, data, published_values().n_labels)
        self.variants = _ordered(found_variants, variants, VARIANT_TITLES)
        self._bins = {variant: self._bins_of(variant) for variant in self.variants}
        self._two_bins = [
            variant
            for variant, bins in self._bins.items()
            if isinstance(bins, int) and bins // 2 == 1
        ]

    @property
    def same_loss_variants(self) -> tuple[str, ...]:
        """The variants that the paper compares in time and rank: those of the example-wise loss.

        An experiment with variants of its own is compared as a whole.
        """
        if not set(self.variants) <= set(VARIANT_TITLES):
            return self.variants
        return tuple(variant for variant in self.variants if variant != LABEL_WISE)

    def n_labels(self, data: str) -> int | None:
        """Number of labels of a data set; None if there is no telling."""
        for (name, _), folds in self._cells.items():
            if name == data:
                return next(iter(folds.values())).n_labels
        return published_values().n_labels.get(data)

    def two_bins_for(self, data: str, variant: str) -> str | None:
        """Name the variant with two bins to which a variant is equivalent on a data set, if any.

        A share of the labels that gives all K of them a single bin gives any number of them a
        single bin: then labels of either sign get one bin each, as with two bins. This leaves out
        exactly the cells that the paper's tables omit.
        """
        bins = self._bins[variant]
        n_labels = self.n_labels(data)
        if not isinstance(bins, float) or n_labels is None or bins * n_labels > 1:
            return None
        matches = (name for name in self._two_bins if self._differ_in_bins_only(variant, name))
        return next(matches, None)

    def folds(self, data: str, variant: str) -> Mapping[int, Result]:
        """Results by fold. A variant that is equivalent to two bins shares the results of it."""
        found = self._cells.get((data, self.two_bins_for(data, variant) or variant))
        return found or self._cells.get((data, variant), {})

    def common_folds(self, data: str, variants: Iterable[str]) -> frozenset[int]:
        """The folds for which there are results of all these variants: what can be compared."""
        return frozenset.intersection(*(frozenset(self.folds(data, name)) for name in variants))

    def average(
        self, data: str, variant: str, measure: str, folds: Collection[int] | None = None
    ) -> Average | None:
        """Mean over all folds there are, or over these; None if there is nothing to average."""
        results = self.folds(data, variant)
        values = [
            value
            for fold, result in results.items()
            if (folds is None or fold in folds) and (value := value_of(result, measure)) is not None
        ]
        if not values:
            return None
        return Average(fmean(values), len(values), max(r.n_folds for r in results.values()))

    def measures(self) -> tuple[str, ...]:
        """Names of all measures, the paper's first, then in order of appearance."""
        found = [
            name
            for folds in self._cells.values()
            for result in folds.values()
            for name in result.measures
        ]
        return _ordered(found, None, (SUBSET, HAMMING))

    def check_variants(self, names: Iterable[str]) -> None:
        """Raise ValueError unless these are variants of the experiment."""
        _check_names("variant", names, self.variants)

    def check_measure(self, name: str) -> None:
        """Raise ValueError if there are no results of a measure."""
        _check_names("measure", [name], self.measures())

    def check_data(self, names: Iterable[str]) -> None:
        """Raise ValueError unless these are data sets of the experiment."""
        _check_names("data set", names, self.data)

    def _bins_of(self, variant: str) -> object:
        """Label bins of a variant, from any of its results.

        Variants without results have no settings; the bins of the paper's follow from their names.
        """
        for (_, name), folds in self._cells.items():
            if name == variant:
                settings = next(iter(folds.values())).settings
                bins = settings.get("label_bins")
                if bins == "auto":
                    loss = LOSSES.get(str(settings.get("loss")))
                    bins = loss.label_bins if loss else None
                return bins
        if variant == TWO_BINS:
            return 2
        is_share = variant in VARIANT_TITLES and variant.startswith("0.")
        return float(variant) if is_share else None

    def _differ_in_bins_only(self, first: str, second: str) -> bool:
        """Whether two variants have all other settings in common, wherever both have results."""

        def others(data: str, variant: str) -> dict[str, Any]:
            settings = next(iter(self._cells[data, variant].values())).settings
            return {key: settings[key] for key in settings if key not in WITHOUT_EFFECT}

        shared = [d for d in self.data if {(d, first), (d, second)} <= self._cells.keys()]
        return all(others(data, first) == others(data, second) for data in shared)


def format_seconds(seconds: float) -> str:
    """Show a time with three significant digits or, from 100 seconds on, all before the point."""
    digits = 0 if seconds >= 99.95 else 1 if seconds >= 9.995 else 2
    return f"{seconds:.{digits}f}"


def value_of(result: Result, measure: str) -> float | None:
    """Value of a measure, in the unit in which it is shown; None if it was not taken."""
    if measure == TRAIN_SECONDS:
        return result.seconds.train_cpu
    value = result.measures.get(measure)
    return None if value is None else value * measure_named(measure).factor


def _check_names(what: str, names: Iterable[str], known: Sequence[str]) -> None:
    for name in names:
        if name not in known:
            raise ValueError(
                f"there are no results of {what} {name!r}; there are some of {', '.join(known)}"
            )


def _ordered(
    found: Iterable[str], wanted: Sequence[str] | None, first: Iterable[str]
) -> tuple[str, ...]:
    """All different names: those wanted, or else some of them first, then as they come."""
    if wanted is not None:
        return tuple(dict.fromkeys(wanted))
    names = dict.fromkeys(found)
    return tuple(dict.fromkeys([name for name in first if name in names] + list(names)))
