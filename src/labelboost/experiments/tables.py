"""The paper's tables for any experiment, and how far its values are from the published ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean

from labelboost.experiments.cells import (
    NOT_RUN,
    average_cell,
    difference_cell,
    head_cells,
    head_columns,
    legend,
    mark_best,
    ratio_cell,
)
from labelboost.experiments.published import published_values, variant_title
from labelboost.experiments.records import Result
from labelboost.experiments.rendering import RENDERERS, Cell, Column, Section, Table
from labelboost.experiments.summary import HAMMING, SUBSET, Summary, measure_named
from labelboost.experiments.time_table import training_times
from labelboost.experiments.variants import BASELINE
from labelboost.files import write_atomically

PAPER = (SUBSET, HAMMING)
"""The measures of the paper's Table 2."""
NOTABLE_DIFFERENCE = 1.5
"""Differences from published losses above so many points are marked."""


def write_tables(
    results: Iterable[Result],
    folder: Path,
    published: bool = True,
    *,
    data: Sequence[str] | None = None,
    variants: Sequence[str] | None = None,
    baseline: str = BASELINE,
) -> list[Path]:
    """Write all tables as Markdown, CSV, LaTeX and HTML; returns the files.

    With `published`, the paper's values stand beside those of its data sets and variants, and there
    is a table of differences. `data` and `variants` choose rows and columns and their order; times
    are compared with those of `baseline`, if there are any.
    """
    summary = Summary(results, data=data, variants=variants)
    tables = [training_times(summary, published, baseline)]
    tables += [table for table in (losses(summary, published), others(summary)) if table.sections]
    if published and (table := differences(summary)) is not None:
        tables.append(table)
    return write_each(tables, folder)


def write_each(tables: Iterable[Table], folder: Path) -> list[Path]:
    """Write tables in all formats."""
    paths = []
    for table in tables:
        for extension, render in RENDERERS.items():
            path = folder / f"{table.name}.{extension}"
            write_atomically(path, render(table), parents=True)
            paths.append(path)
    return paths


def losses(summary: Summary, beside: bool = True) -> Table:
    """Table 2: Subset 0/1 loss and Hamming loss."""
    names = [name for name in summary.measures() if name in PAPER]
    return _performance("losses", summary, names, beside)


def others(summary: Summary) -> Table:
    """Whatever else was measured, in a table like the paper's second one."""
    names = [name for name in summary.measures() if name not in PAPER]
    return _performance("measures", summary, names, beside=False)


def _performance(title: str, summary: Summary, names: Sequence[str], beside: bool) -> Table:
    columns = [*head_columns(), *_variant_columns(summary)]
    sections = []
    for name in names:
        measure = measure_named(name)
        rows = []
        for data in summary.data:
            cells = [average_cell(summary, data, v, name, beside) for v in summary.variants]
            if measure.lower_is_better is not None:
                cells = mark_best(cells, measure.lower_is_better)
            rows.append((*head_cells(summary, data), *cells))
        unit = ", %" if measure.factor == 100 else ""
        sections.append(Section(measure.title + unit, tuple(rows)))
    caption = f"Predictive performance, mean over folds; small losses are good. {legend(sections)}"
    return Table(title, caption, tuple(columns), tuple(sections))


def differences(summary: Summary, measure: str = SUBSET) -> Table | None:
    """Ours minus the published loss, in points; None if there is nothing to compare."""
    found: dict[str, list[float]] = {variant: [] for variant in summary.variants}
    rows = []
    for data in summary.data:
        cells = []
        for variant in summary.variants:
            printed = published_values().values.get((data, variant, measure))
            average = summary.average(data, variant, measure)
            if printed is None or average is None:
                cells.append(NOT_RUN)
                continue
            found[variant].append(average.value - printed)
            cells.append(difference_cell(found[variant][-1], NOTABLE_DIFFERENCE, average))
        if any(cell is not NOT_RUN for cell in cells):
            rows.append((*head_cells(summary, data), *cells))
    if not rows:
        return None
    means = [
        difference_cell(fmean(values), NOTABLE_DIFFERENCE) if values else NOT_RUN
        for values in found.values()
    ]
    sizes = [
        ratio_cell(fmean(map(abs, values)) if values else None, None) for values in found.values()
    ]
    every = [value for values in found.values() for value in values]
    notable = sum(abs(value) > NOTABLE_DIFFERENCE for value in every)
    caption = (
        f"{measure_named(measure).title} minus the published one, in percentage points; negative "
        f"is better. Bold: more than {NOTABLE_DIFFERENCE} points apart, as {notable} of "
        f"{len(every)} are. –: nothing to compare. [3/10], for example: mean over 3 of 10 folds."
    )
    summaries = ((Cell("mean"), Cell(), *means), (Cell("mean size"), Cell(), *sizes))
    columns = (*head_columns(), *_variant_columns(summary))
    return Table(
        "differences", caption, columns, (Section("", tuple(rows)), Section("", summaries))
    )


def _variant_columns(summary: Summary) -> list[Column]:
    return [Column(variant_title(variant), variant) for variant in summary.variants]
