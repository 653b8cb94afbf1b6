"""Entries that several tables have in common."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from labelboost.experiments.published import published_values
from labelboost.experiments.rendering import Cell, Column, Section
from labelboost.experiments.summary import (
    TRAIN_SECONDS,
    Average,
    Summary,
    format_seconds,
    measure_named,
)

NOT_RUN = Cell("–", exact="")
SAME_AS_TWO_BINS = Cell("=", exact="")


def head_columns() -> list[Column]:
    """The columns that name the data set of a row."""
    return [Column("data", "data", numeric=False), Column("labels", "labels")]


def head_cells(summary: Summary, data: str) -> list[Cell]:
    """The data set of a row and its number of labels."""
    n_labels = summary.n_labels(data)
    return [Cell(data), NOT_RUN if n_labels is None else Cell(str(n_labels))]


def average_cell(summary: Summary, data: str, variant: str, measure: str, beside: bool) -> Cell:
    """Our mean over the folds and, if it is wanted beside ours, the published one."""
    if summary.two_bins_for(data, variant):
        return SAME_AS_TWO_BINS
    average = summary.average(data, variant, measure)
    cell = NOT_RUN if average is None else value_cell(average, measure)
    printed = published_values().values.get((data, variant, measure)) if beside else None
    if printed is None:
        return cell
    digits = 0 if measure == TRAIN_SECONDS else 2  # as many as the paper has
    return replace(cell, published=f"{printed:.{digits}f}")


def ratio_cell(ours: float | None, printed: float | None) -> Cell:
    """Our ratio and, if there is one, the published one."""
    cell = NOT_RUN if ours is None else Cell(f"{ours:.2f}", exact=f"{ours:.6g}")
    return cell if printed is None else replace(cell, published=f"{printed:.2f}")


def difference_cell(difference: float, notable: float, average: Average | None = None) -> Cell:
    """A difference with its sign, in bold if it is notable."""
    shown = round(difference, 2) + 0.0  # no minus sign before zero
    return Cell(
        f"{shown:+.2f}".replace("-", "−"),
        bold=abs(difference) > notable,
        folds="" if average is None else _missing_folds(average),
        exact=f"{difference:.6g}",
    )


def mark_best(cells: list[Cell], lower_is_better: bool = True) -> list[Cell]:
    """Set the best in bold, as printed; means over fewer folds than others do not compete."""

    def folds(cell: Cell) -> float:
        return int(cell.folds.split("/")[0]) if cell.folds else float("inf")

    values = [cell for cell in cells if cell.exact]
    most = max(map(folds, values), default=0)
    choose = min if lower_is_better else max
    best = choose((float(cell.text) for cell in values if folds(cell) == most), default=None)
    return [
        replace(cell, bold=bool(cell.exact) and folds(cell) == most and float(cell.text) == best)
        for cell in cells
    ]


def legend(sections: Iterable[Section]) -> str:
    """Explain the signs that occur in a table."""
    cells = [cell for section in sections for row in section.rows for cell in row]
    signs = {
        "Bold: the best of a row.": any(cell.bold for cell in cells),
        "In parentheses: the published value.": any(cell.published for cell in cells),
        "=: the same as two bins, left out as in the paper.": SAME_AS_TWO_BINS in cells,
        "–: not run (yet).": any(cell.text == NOT_RUN.text for cell in cells),
        "[3/10], for example: mean over 3 of 10 folds.": any(cell.folds for cell in cells),
    }
    return " ".join(text for text, occurs in signs.items() if occurs)


def value_cell(average: Average, measure: str) -> Cell:
    """A mean over folds with as many digits as its measure deserves."""
    text = f"{average.value:.{measure_named(measure).digits}f}"
    if measure == TRAIN_SECONDS:
        text = format_seconds(average.value)
    return Cell(text, folds=_missing_folds(average), exact=f"{average.value:.6g}")


def _missing_folds(average: Average) -> str:
    return f"{average.folds}/{average.of}" if average.folds < average.of else ""
