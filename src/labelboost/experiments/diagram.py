"""Critical-difference diagrams."""

from __future__ import annotations

from pathlib import Path

from labelboost.drawing import OKABE_ITO, literal, new_figure, save_figure, style
from labelboost.experiments.published import variant_title
from labelboost.experiments.significance import LEVELS, Comparison
from labelboost.optional import require


def draw_critical_differences(comparison: Comparison, folder: Path, name: str) -> list[Path]:
    """Draw mean ranks on a line; bars connect variants that do not differ."""
    posthocs = require("scikit_posthocs", "critical-difference diagrams")
    pandas = require("pandas", "critical-difference diagrams")
    titles = [literal(variant_title(variant)) for variant in comparison.variants]
    if len(set(titles)) < len(titles):
        titles = list(map(literal, comparison.variants))
    level = max(LEVELS)
    with style():
        figure = new_figure(height=1.1 + 0.13 * len(titles))
        axes = figure.add_subplot()
        posthocs.critical_difference_diagram(
            dict(zip(titles, comparison.mean_ranks, strict=True)),
            pandas.DataFrame(comparison.nemenyi, index=titles, columns=titles),
            ax=axes,
            alpha=level,
            label_fmt_left="{label} ({rank:.2f}) ",
            label_fmt_right=" ({rank:.2f}) {label}",
            elbow_props={"color": "black", "linewidth": 0.8},
            marker_props={"color": OKABE_ITO[0], "s": 14},
            crossbar_props={"color": OKABE_ITO[1], "linewidth": 3},
            text_h_margin=0.1,
        )
        axes.spines["top"].set_visible(True)
        axes.locator_params(axis="x", nbins=6)
        distance = comparison.critical_distances[level]
        axes.set_title(
            f"mean rank on {len(comparison.data)} data sets, 1 is the best; "
            f"critical distance {distance:.2f} at {level}"
        )
        return save_figure(figure, folder, name)
