"""Tables of different methods side by side: a row per method, a column per data set."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean, geometric_mean

from scipy.stats import rankdata

from labelboost.experiments.cells import NOT_RUN, legend, mark_best, value_cell
from labelboost.experiments.methods import METHODS, RULES
from labelboost.experiments.published import variant_title
from labelboost.experiments.records import Failure, Record, Result
from labelboost.experiments.rendering import Cell, Column, Section, Table
from labelboost.experiments.summary import (
    HAMMING,
    SUBSET,
    TRAIN_SECONDS,
    Summary,
    measure_named,
)
from labelboost.experiments.tables import write_each

LOSSES = (SUBSET, HAMMING)
SHORT = {"time": "too long", "memory": "no memory", "": "failed"}
"""What stands in the place of a value, by the limit that was reached."""


def write_comparison(
    records: Iterable[Record],
    folder: Path,
    *,
    data: Sequence[str] | None = None,
    variants: Sequence[str] | None = None,
    reference: str | None = None,
) -> list[Path]:
    """Write all tables as Markdown, CSV, LaTeX and HTML; returns the files.

    `data` and `variants` choose columns and rows and their order. Times are also given relative to
    those of `reference`, by default the first method.
    """
    found = Methods(records, data, variants)
    reference = reference or found.variants[0]
    found.check(reference)
    measures = found.summary.measures()
    tables = [
        performance("losses", found, [name for name in LOSSES if name in measures]),
        performance("measures", found, [name for name in measures if name not in LOSSES]),
        ranks(found, measures),
        costs(found, reference),
        versions(found),
    ]
    return write_each([table for table in tables if table.sections], folder)


class Methods:
    """The records of an experiment by method and data set, those of failures included."""

    def __init__(
        self,
        records: Iterable[Record],
        data: Sequence[str] | None = None,
        variants: Sequence[str] | None = None,
    ) -> None:
        every = list(records)
        self.results = [record for record in every if isinstance(record, Result)]
        self._failures = [record for record in every if isinstance(record, Failure)]
        # Small data sets first, and methods in the order of their registry.
        sizes = {result.data: result.n_train + result.n_test for result in self.results}
        self._estimators = {
            **{failure.variant: failure.attempted.get("estimator") for failure in self._failures},
            **{result.variant: result.estimator for result in self.results},
        }
        order = list(METHODS)
        names = sorted(
            self._estimators,
            key=lambda name: (order.index(self._estimators[name] or RULES), name),
        )
        self.summary = Summary(
            self.results, data=data or sorted(sizes, key=lambda name: sizes[name]),
            variants=variants or names,
        )  # fmt: skip
        self.data, self.variants = self.summary.data, self.summary.variants
        averages = [self.summary.average(d, v, TRAIN_SECONDS) for d in self.data for v in names]
        self._most_folds = max(average.folds for average in averages if average)

    def check(self, variant: str) -> None:
        """Raise ValueError unless this is a method of the experiment."""
        self.summary.check_variants([variant])

    def title(self, variant: str) -> str:
        """Name a method in a table."""
        return METHODS[variant].title if variant in METHODS else variant_title(variant)

    def failure(self, data: str, variant: str) -> str | None:
        """What kept a method from a result on some fold, in two words."""
        kinds = [f.exceeded for f in self._failures if (f.data, f.variant) == (data, variant)]
        return SHORT[kinds[0]] if kinds else None

    def value(self, data: str, variant: str, measure: str) -> float | None:
        """Mean over folds; None if some are missing, or if the method failed on one of them."""
        average = self.summary.average(data, variant, measure)
        if average is None or average.folds < self._most_folds or self.failure(data, variant):
            return None
        return average.value

    def cell(self, data: str, variant: str, measure: str) -> Cell:
        """The same to be shown; a note tells if there are fewer folds than elsewhere."""
        failure = self.failure(data, variant)
        if failure:
            return Cell(failure, exact="")
        average = self.summary.average(data, variant, measure)
        if average is None:
            return NOT_RUN
        cell = value_cell(average, measure)
        note = "" if average.folds == self._most_folds else f"{average.folds}/{self._most_folds}"
        return replace(cell, folds=note)

    def complete(self, measure: str) -> list[str]:
        """The data sets that all methods were tried on, and all folds of them."""
        return [
            data
            for data in self.data
            if all(
                self.failure(data, variant) or self.value(data, variant, measure) is not None
                for variant in self.variants
            )
        ]

    def mean_ranks(self, measure: str) -> list[float | None]:
        """Mean rank of each method over the data sets that all of them were tried on.

        Who failed comes last. None if there is no such data set, or no telling what is better.
        """
        lower_is_better = measure_named(measure).lower_is_better
        unknown: list[float | None] = [None] * len(self.variants)
        if lower_is_better is None:
            return unknown
        sign = 1.0 if lower_is_better else -1.0
        rows = []
        for data in self.complete(measure):
            values = [self.value(data, variant, measure) for variant in self.variants]
            # Rounded, so that the order of a sum decides nothing.
            worst = float("inf")
            rows.append(rankdata([worst if v is None else round(sign * v, 9) for v in values]))
        return [float(fmean(ranks)) for ranks in zip(*rows, strict=True)] if rows else unknown


def performance(name: str, found: Methods, measures: Sequence[str]) -> Table:
    """Quality of the predictions, the best of each data set in bold, and mean ranks."""
    sections = []
    for measure in measures:
        shown = measure_named(measure)
        unit = ", %" if shown.factor == 100 else ""
        ranks = found.mean_ranks(measure)
        last = mark_best([_cell(rank, "{:.2f}") for rank in ranks])
        columns = [
            _best([found.cell(data, v, measure) for v in found.variants], shown.lower_is_better)
            for data in found.data
        ]
        sections.append(Section(shown.title + unit, _rows(found, [*columns, last])))
    caption = (
        f"Predictive performance, mean over folds. {_signs(sections)} Rank: mean over the data "
        "sets that all methods were tried on; those that failed share the last ranks."
    )
    columns_ = (*_columns(found), Column("rank", "mean rank"))
    return Table(name, caption, columns_, tuple(sections))


def ranks(found: Methods, measures: Sequence[str]) -> Table:
    """Mean ranks of all methods by all measures: which to choose for which goal."""
    known = [name for name in measures if measure_named(name).lower_is_better is not None]
    columns = [mark_best([_cell(r, "{:.1f}") for r in found.mean_ranks(name)]) for name in known]
    section = Section("", _rows(found, columns))
    n_data = len(found.complete(known[0])) if known else 0
    caption = (
        f"Mean rank by each measure over {n_data} of {len(found.data)} data sets, those that all "
        f"methods were tried on; 1 would be the best everywhere. {_signs([section])}"
    )
    titles = [Column(measure_named(name).title, name) for name in known]
    return Table(
        "ranks",
        caption,
        (Column("method", "method", numeric=False), *titles),
        (section,) if known else (),
    )


def costs(found: Methods, reference: str) -> Table:
    """Training time, absolute and relative, prediction time and memory."""
    sections = (
        _cost("Training, seconds", found, lambda result: result.seconds.train_cpu),
        _relative_cost(found, reference),
        _cost("Prediction of a fold, seconds", found, lambda result: result.seconds.predict),
        _cost("Peak memory of training, MB", found, lambda result: result.peak_memory_mb),
    )
    caption = (
        "Cost per fold, one thread: processor time of training, elapsed time of prediction, and "
        f"memory above what was in use before. {_signs(sections)} Mean: geometric, over the data "
        "sets that both methods have a time for."
    )
    return Table("costs", caption, (*_columns(found), Column("mean", "mean")), sections)


def _cost(title: str, found: Methods, value: Callable[[Result], float]) -> Section:
    def cell(data: str, variant: str) -> Cell:
        shown = found.cell(data, variant, TRAIN_SECONDS)
        if not shown.exact:
            return shown
        mean = fmean(map(value, found.summary.folds(data, variant).values()))
        return replace(shown, text=_three_digits(mean), exact=f"{mean:.6g}")

    columns = [mark_best([cell(data, v) for v in found.variants]) for data in found.data]
    return Section(title, _rows(found, [*columns, [Cell()] * len(found.variants)]))


def _relative_cost(found: Methods, reference: str) -> Section:
    def ratio(data: str, variant: str) -> float | None:
        ours = found.value(data, variant, TRAIN_SECONDS)
        base = found.value(data, reference, TRAIN_SECONDS)
        return ours / base if ours and base else None

    def cell(data: str, variant: str) -> Cell:
        failed = found.failure(data, variant)
        return Cell(failed, exact="") if failed else _cell(ratio(data, variant), "{:.3g}")

    columns = [[cell(data, v) for v in found.variants] for data in found.data]
    ratios = [[r for data in found.data if (r := ratio(data, v))] for v in found.variants]
    columns.append([_cell(geometric_mean(row) if row else None, "{:.3g}") for row in ratios])
    return Section(f"Training, relative to {found.title(reference)}", _rows(found, columns))


def versions(found: Methods) -> Table:
    """What was compared: libraries, their versions, and settings other than their defaults."""
    rows = []
    for variant in found.variants:
        results = [result for result in found.results if result.variant == variant]
        if not results:
            continue
        method = METHODS[results[0].estimator]
        packages = method.packages or ("labelboost",)
        used = sorted({f"{p} {r.versions.get(p, '')}" for p in packages for r in results})
        settings = _not_default(results[0].settings, method.own_defaults())
        cells = (found.title(variant), ", ".join(used), settings)
        rows.append(tuple(Cell(text) for text in cells))
    titles = ("method", "library", "settings other than its defaults")
    columns = tuple(Column(title, title, numeric=False) for title in titles)
    caption = "Libraries and their versions; all settings are in the result files."
    return Table("versions", caption, columns, (Section("", tuple(rows)),))


def _not_default(settings: Mapping[str, object], defaults: Mapping[str, object]) -> str:
    seeds = ("random_state", "random_seed")
    return ", ".join(
        f"{name}={value!r}"
        for name, value in settings.items()
        if name not in seeds and (name not in defaults or defaults[name] != value)
    )


def _columns(found: Methods) -> list[Column]:
    return [Column("method", "method", numeric=False), *(Column(d, d) for d in found.data)]


def _rows(found: Methods, columns: Sequence[Sequence[Cell]]) -> tuple[tuple[Cell, ...], ...]:
    names = [Cell(found.title(variant)) for variant in found.variants]
    return tuple(zip(names, *columns, strict=True))


def _best(cells: list[Cell], lower_is_better: bool | None = True) -> list[Cell]:
    return cells if lower_is_better is None else mark_best(cells, lower_is_better)


def _cell(value: float | None, form: str) -> Cell:
    return NOT_RUN if value is None else Cell(form.format(value), exact=f"{value:.6g}")


def _three_digits(value: float) -> str:
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def _signs(sections: Iterable[Section]) -> str:
    """Explain the signs that occur."""
    texts = {cell.text for section in sections for row in section.rows for cell in row}
    meanings = {
        SHORT["time"]: f"“{SHORT['time']}”: stopped at the limit of time.",
        SHORT["memory"]: f"“{SHORT['memory']}”: stopped at the limit of memory.",
        SHORT[""]: f"“{SHORT['']}”: ended with an error.",
    }
    found = [meaning for text, meaning in meanings.items() if text in texts]
    return " ".join([legend(sections).replace("of a row", "of a column"), *found])
