"""The paper's figures for any experiment, and losses against rules and time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from labelboost.drawing import OKABE_ITO, literal, new_figure, save_figure, style
from labelboost.experiments.curves import plot_learning_curves
from labelboost.experiments.published import published_values, variant_title
from labelboost.experiments.records import Result
from labelboost.experiments.summary import (
    SUBSET,
    TRAIN_SECONDS,
    Summary,
    format_seconds,
    measure_named,
)
from labelboost.experiments.variants import BASELINE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BINNED = "0.04"
"""The variant that the paper's figures compare with the baseline."""
PARTS = {
    "candidate_evaluation": ("candidate evaluation", OKABE_ITO[0], ""),
    "summing_statistics": ("summing statistics", OKABE_ITO[4], "////"),
    "everything_else": ("everything else", "#BBBBBB", "...."),
}
"""Parts of the training time: title, colour and, for print without colours, hatching."""


def write_plots(
    results: Iterable[Result],
    folder: Path,
    published: bool = True,
    *,
    data: Sequence[str] | None = None,
    variants: Sequence[str] | None = None,
    measure: str = SUBSET,
    baseline: str = BASELINE,
    compared: str | None = None,
) -> list[Path]:
    """Draw all figures that there are results for, as PNG and SVG; returns the files.

    Trade-off and proportions compare the variant `compared` (without it 4 % bins or, in their
    absence, the first variant) with `baseline`. Without results of the latter there is no
    trade-off, and proportions are shown for all variants. Learning curves always show all variants.
    """
    summary = Summary(results, data=data, variants=variants)
    others = [variant for variant in summary.variants if variant != baseline]
    other = compared or (BINNED if BINNED in others else next(iter(others), baseline))
    summary.check_variants([other])
    summary.check_measure(measure)
    paths = []
    if baseline in summary.variants and other != baseline:
        paths += plot_tradeoff(
            summary,
            folder,
            compared=other,
            baseline=baseline,
            measure=measure,
            beside=published,
        )
    pair = list(dict.fromkeys((baseline, other)))
    shown = pair if baseline in summary.variants else summary.variants
    paths += plot_proportions(summary, folder, shown)
    paths += plot_learning_curves(summary, folder, measure)
    return paths


def plot_tradeoff(
    summary: Summary,
    folder: Path,
    *,
    compared: str = BINNED,
    baseline: str = BASELINE,
    measure: str = SUBSET,
    beside: bool = True,
) -> list[Path]:
    """Relative training time and loss for each data set: the baseline's value divided by the other.

    Returns no files if no data set has results of both. Published values come beside ours, if they
    are wanted there.
    """

    def ratio(data: str, of: str) -> float | None:
        folds = summary.common_folds(data, (compared, baseline))
        ours = summary.average(data, compared, of, folds)
        base = summary.average(data, baseline, of, folds)
        return base.value / ours.value if ours and base and ours.value > 0 else None

    def printed(data: str, of: str) -> float | None:
        values = published_values().values if beside else {}
        ours = values.get((data, summary.two_bins_for(data, compared) or compared, of))
        base = values.get((data, baseline, of))
        return base / ours if ours and base else None

    shown = [data for data in summary.data if ratio(data, TRAIN_SECONDS) and ratio(data, measure)]
    if not shown:
        return []
    with style():
        figure = new_figure(height=1.3 + 0.27 * len(shown))
        left, right = figure.subplots(1, 2, sharey=True)
        for axes, of in ((left, TRAIN_SECONDS), (right, measure)):
            ratios = [ratio(data, of) or 1.0 for data in shown]
            points = [(place, printed(data, of)) for place, data in enumerate(shown)]
            known = [(place, value) for place, value in points if value]
            _ratio_bars(axes, ratios, known)
            axes.set_xlabel(f"relative {measure_named(of).title}")
        left.set_yticks(range(len(shown)), [_data_label(summary, d, compared) for d in shown])
        left.invert_yaxis()
        right.tick_params(axis="y", length=0)
        figure.suptitle(
            f"“{literal(variant_title(baseline))}” divided by “{literal(variant_title(compared))}”:"
            " above 1, the latter is better",
            fontsize=9,
        )
        handles, labels = left.get_legend_handles_labels()
        if len(labels) > 1:
            handles, labels = handles[::-1], labels[::-1]
            figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
        return save_figure(figure, folder, "tradeoff")


def plot_proportions(summary: Summary, folder: Path, variants: Sequence[str]) -> list[Path]:
    """Shares of the training time, a bar for each data set and variant; no files without times."""
    bars = []
    for data in summary.data:
        for variant in variants:
            seconds = [result.seconds for result in summary.folds(data, variant).values()]
            total = sum(part.train for part in seconds)
            if total > 0:
                shares = [100 * sum(getattr(s, part) for s in seconds) / total for part in PARTS]
                bars.append((data, variant, shares, fmean(s.train_cpu for s in seconds)))
    if not bars:
        return []
    with style():
        figure = new_figure(height=0.9 + 0.22 * len(bars) + 0.08 * len(summary.data))
        axes = figure.add_subplot()
        place, last = 0.0, bars[0][0]
        places: list[float] = []
        for data, _, shares, seconds_per_fold in bars:
            place += 0.45 if data != last else 0.0  # a gap between data sets
            left = 0.0
            for share, (title, colour, hatch) in zip(shares, PARTS.values(), strict=True):
                label = None if places else title
                axes.barh(
                    place, share, left=left, height=0.8, color=colour, hatch=hatch,
                    edgecolor="white" if not hatch else "black", linewidth=0.4, label=label,
                )  # fmt: skip
                left += share
            axes.text(101, place, f"{format_seconds(seconds_per_fold)} s", va="center", fontsize=8)
            places.append(place)
            place, last = place + 1, data
        actual = [(data, summary.two_bins_for(data, name) or name) for data, name, _, _ in bars]
        names = [f"{literal(data)}, {literal(variant_title(name))}" for data, name in actual]
        axes.set_yticks(places, names)
        axes.set_ylim(places[-1] + 0.6, -0.6)
        axes.set_xlim(0, 100)
        axes.set_xlabel("share of the training time, % (right: mean time per fold)")
        figure.legend(loc="outside upper center", ncols=3, frameon=False)
        return save_figure(figure, folder, "proportions")


def _ratio_bars(axes: Axes, ratios: Sequence[float], printed: Sequence[tuple[int, float]]) -> None:
    """Bars that begin at 1, where nothing changes, with published values as marks."""
    places = range(len(ratios))
    widths = [ratio - 1 for ratio in ratios]
    axes.barh(places, widths, left=1, height=0.65, color=OKABE_ITO[5], label="ours")
    if printed:
        marks, values = zip(*printed, strict=True)
        axes.scatter(
            values, marks, marker="D", s=18, facecolor="white", edgecolor="black", linewidth=0.9,
            zorder=3, label="published",
        )  # fmt: skip
    axes.axvline(1, color="black", linewidth=0.8)
    axes.grid(axis="x")
    every = [1.0, *ratios, *(value for _, value in printed)]
    margin = 0.06 * (max(every) - min(every)) or 0.1
    axes.set_xlim(min(every) - margin, max(every) + margin)
    axes.margins(y=0.02)


def _data_label(summary: Summary, data: str, variant: str) -> str:
    """Name a data set, and say so where the variant is the same as two bins."""
    return literal(data) + (" (two bins)" if summary.two_bins_for(data, variant) else "")
