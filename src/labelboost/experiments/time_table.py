"""The paper's Table 1: training times and speed-ups."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from labelboost.experiments.cells import (
    average_cell,
    head_cells,
    head_columns,
    legend,
    mark_best,
    ratio_cell,
)
from labelboost.experiments.published import published_values, variant_title
from labelboost.experiments.rendering import Cell, Column, Section, Table
from labelboost.experiments.summary import TRAIN_SECONDS, Summary
from labelboost.experiments.variants import BASELINE


def training_times(summary: Summary, beside: bool = True, baseline: str = BASELINE) -> Table:
    """Average training time per fold and, if there is a baseline, speed-up over it.

    Published values come beside ours, if they are wanted there.
    """
    variants = summary.same_loss_variants
    compared = [v for v in variants if v != baseline] if baseline in variants else []
    columns = head_columns()
    for variant in variants:
        columns.append(Column(variant_title(variant), f"{variant} seconds"))
        if variant in compared:
            columns.append(Column("×", f"{variant} speed-up", small=True))
    rows = []
    for data in summary.data:
        cells = [average_cell(summary, data, v, TRAIN_SECONDS, beside) for v in variants]
        row = head_cells(summary, data)
        for variant, cell in zip(variants, mark_best(cells), strict=True):
            row.append(cell)
            if variant in compared:
                row.append(_speed_up_cell(summary, data, variant, baseline, beside))
        rows.append(tuple(row))
    sections = [Section("", tuple(rows))]
    caption = "Average training time in seconds per fold."
    if compared:
        reference = "without bins" if baseline == BASELINE else "the baseline"
        caption += f" ×: how many times as fast as {reference}, on the folds that both have."
        if average := _average_row(summary, variants, baseline, beside):
            sections.append(Section("", (average,)))
            caption += (
                " Its average is over the data sets that have all variants; where one of them is"
                " the same as two bins, those count."
            )
    return Table("training-time", f"{caption} {legend(sections)}", tuple(columns), tuple(sections))


def speed_up(summary: Summary, data: str, variant: str, baseline: str) -> float | None:
    """How many times as fast as the baseline, on the folds that both have."""
    folds = summary.common_folds(data, (variant, baseline))
    ours = summary.average(data, variant, TRAIN_SECONDS, folds)
    base = summary.average(data, baseline, TRAIN_SECONDS, folds)
    return base.value / ours.value if ours and base and ours.value > 0 else None


def _published_speed_up(data: str, variant: str) -> float | None:
    values = published_values().values
    seconds, base = (values.get((data, name, TRAIN_SECONDS)) for name in (variant, BASELINE))
    return base / seconds if base and seconds else None


def _speed_up_cell(summary: Summary, data: str, variant: str, baseline: str, beside: bool) -> Cell:
    if summary.two_bins_for(data, variant):
        return Cell()
    printed = _published_speed_up(data, variant) if beside and baseline == BASELINE else None
    return ratio_cell(speed_up(summary, data, variant, baseline), printed)


def _average_row(
    summary: Summary, variants: Sequence[str], baseline: str, beside: bool
) -> tuple[Cell, ...] | None:
    """The last row, over the data sets that have all variants; None if there are none.

    The published averages are formed anew, over the same data sets. The paper's own row is over
    all of its data sets, and for 8 % and two bins it does not follow from the times it prints.
    """
    complete = [data for data in summary.data if summary.common_folds(data, variants)]
    if not complete:
        return None
    cells = [Cell(f"average of {len(complete)}"), Cell()]
    for variant in variants:
        cells.append(Cell())
        if variant == baseline:
            continue
        ours = [speed_up(summary, data, variant, baseline) for data in complete]
        printed = [
            _published_speed_up(data, summary.two_bins_for(data, variant) or variant)
            for data in complete
        ]
        comparable = beside and baseline == BASELINE
        cells.append(ratio_cell(_mean(ours), _mean(printed) if comparable else None))
    return tuple(cells)


def _mean(values: Sequence[float | None]) -> float | None:
    """Mean of all values, unless one is missing."""
    known = [value for value in values if value is not None]
    return fmean(known) if len(known) == len(values) else None
