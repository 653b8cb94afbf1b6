"""Learning curves: a measure against the number of rules and against training time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from labelboost.drawing import WIDTH, literal, new_figure, save_figure, style
from labelboost.experiments.drawing import line_looks
from labelboost.experiments.published import variant_title
from labelboost.experiments.records import Checkpoint, Result
from labelboost.experiments.summary import SUBSET, Summary, measure_named
from labelboost.optional import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANELS_PER_ROW = 3
PANEL_HEIGHT = 1.75
LEGEND_ROW_HEIGHT = 0.18

Curve = list[Checkpoint]
"""Means over folds; each checkpoint has a single measure."""


def plot_learning_curves(summary: Summary, folder: Path, measure: str = SUBSET) -> list[Path]:
    """Draw a panel for each data set with a line for each variant; returns the files.

    There are none if no result has that measure.
    """
    curves: dict[str, dict[str, Curve]] = {}
    for data in summary.data:
        found = {
            variant: mean_curve(summary.folds(data, variant), measure)
            for variant in summary.variants
            if not summary.two_bins_for(data, variant)
        }
        found = {variant: curve for variant, curve in found.items() if curve}
        if found:
            curves[data] = found
    if not curves:
        return []
    with style():
        return [
            *save_figure(_draw(curves, measure, against_time=False), folder, "loss-by-rules"),
            *save_figure(_draw(curves, measure, against_time=True), folder, "loss-by-time"),
        ]


def mean_curve(folds: Mapping[int, Result], measure: str) -> Curve:
    """Average checkpoints over folds, from the first number of rules that all of them reached.

    Where the training of a fold ended early, its last checkpoint holds on.
    """
    paths = [
        [_in_processor_time(p, result) for p in result.checkpoints if measure in p.measures]
        for result in folds.values()
    ]
    if not paths or not all(paths):
        return []
    start = max(path[0].n_rules for path in paths)
    sizes = sorted({point.n_rules for path in paths for point in path if point.n_rules >= start})
    factor = measure_named(measure).factor
    curve = []
    for size in sizes:
        points = [next(p for p in reversed(path) if p.n_rules <= size) for path in paths]
        value = factor * fmean(point.measures[measure] for point in points)
        seconds = fmean(point.train_seconds for point in points)
        curve.append(Checkpoint(size, seconds, {measure: value}))
    return curve


def _in_processor_time(point: Checkpoint, result: Result) -> Checkpoint:
    """Leave out, on average, the time in which other programs had the processor."""
    share = result.seconds.train_cpu / result.seconds.train if result.seconds.train else 1.0
    return replace(point, train_seconds=share * point.train_seconds)


def _draw(curves: Mapping[str, Mapping[str, Curve]], measure: str, *, against_time: bool) -> Figure:
    variants = [variant for lines in curves.values() for variant in lines]
    looks = {name: look for name, look in line_looks(variants).items() if name in variants}
    titles = [literal(variant_title(variant)) for variant in looks]
    n_columns = min(PANELS_PER_ROW, len(curves))
    n_rows = ceil(len(curves) / n_columns)
    width = WIDTH * max(n_columns, 2) / PANELS_PER_ROW
    legend_columns = _legend_columns(titles, width)
    legend_height = LEGEND_ROW_HEIGHT * ceil(len(titles) / legend_columns)
    figure = new_figure(height=0.4 + legend_height + PANEL_HEIGHT * n_rows, width=width)
    panels = list(figure.subplots(n_rows, n_columns, squeeze=False).flat)
    for axes in panels[len(curves) :]:
        axes.remove()
    lines_by_variant = {}
    for axes, (data, lines) in zip(panels, curves.items(), strict=False):
        for place, (variant, curve) in enumerate(lines.items()):
            step = max(1, len(curve) // 4)
            (lines_by_variant[variant],) = axes.plot(
                [point.train_seconds if against_time else point.n_rules for point in curve],
                [point.measures[measure] for point in curve],
                linewidth=1.2,
                markersize=3.5,
                # Lines that coincide have their markers at different places.
                markevery=(place * step // len(lines), step),
                **looks[variant],
            )
        axes.set_title(literal(data))
        axes.grid()
        axes.locator_params(nbins=5)
        if against_time:
            _use_logarithms(axes)
    shown = measure_named(measure)
    figure.supxlabel("training time, s" if against_time else "rules", fontsize=9)
    figure.supylabel(shown.title + (", %" if shown.factor == 100 else ""), fontsize=9)
    figure.legend(
        [lines_by_variant[variant] for variant in looks],
        titles,
        loc="outside upper center",
        ncols=legend_columns,
        frameon=False,
        handlelength=3,
    )
    return figure


def _use_logarithms(axes: Axes) -> None:
    """Times span decades. Numbers are written out, as exponents would be too small to read."""
    ticker = require("matplotlib.ticker", "figures", "plots")
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    axes.xaxis.set_major_locator(ticker.LogLocator(subs=(1,) if high > 20 * low else (1, 2, 5)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(ticker.NullFormatter())


def _legend_columns(titles: Sequence[str], width: float) -> int:
    """So many that the longest titles fit beside each other."""
    inches = 0.75 + 0.075 * max(map(len, titles))
    return max(1, min(len(titles), int(width / inches)))
