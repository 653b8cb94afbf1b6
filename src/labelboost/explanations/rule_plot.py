"""The surroundings of one rule as a figure."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from labelboost.drawing import LINE_STYLES, MARKERS, OKABE_ITO, WIDTH, literal, new_figure, style
from labelboost.explanations.canvas import shorten
from labelboost.explanations.naming import Names
from labelboost.explanations.neighbourhood import Neighbourhood, rule_neighbourhood
from labelboost.wording import format_score

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from labelboost.estimators.explaining import ExplainableClassifier

PANEL_HEIGHT = 2.0
LINE_HEIGHT = 0.17
TITLE_WIDTH = 110
COVERED = "#E6E6E6"


def plot_rule(
    model: ExplainableClassifier,
    rule: int,
    X: Any,
    Y: Any,
    *,
    max_labels: int = 3,
    max_groups: int = 8,
) -> Figure:
    """Draw how often labels occur around the borders of a rule, in the data given.

    A panel for each feature of the rule shows the examples that satisfy its other conditions,
    grouped by their values of this feature; what the rule covers is shaded. See
    `rule_neighbourhood`.
    """
    found = rule_neighbourhood(model, rule, X, Y, max_labels=max_labels, max_groups=max_groups)
    names = Names.of(model).for_display()
    head = model.rules_[rule].head
    conditions = names.conditions(model.rules_[rule].conditions)
    lines = textwrap.wrap(f"Rule {rule}: if {conditions}", TITLE_WIDTH)
    n_columns = min(2, len(found))
    n_rows = math.ceil(len(found) / n_columns)
    with style():
        height = 0.5 + LINE_HEIGHT * len(lines) + PANEL_HEIGHT * n_rows
        figure = new_figure(height, WIDTH)
        panels = list(figure.subplots(n_rows, n_columns, squeeze=False).flat)
        for panel, around in zip(panels, found, strict=False):
            _draw(panel, around)
            panel.set_title(literal(shorten(names.feature(around.feature))))
        for panel in panels[len(found) :]:
            panel.set_axis_off()
        for panel in panels[::n_columns]:
            panel.set_ylabel("examples with label, %")
        labels = [
            literal(f"{shorten(names.labels[k])} ({format_score(float(head[k]))})")
            for k in found[0].labels
        ]
        handles = panels[0].get_legend_handles_labels()[0]
        figure.legend(
            handles, [*labels, "covered by the rule"][: len(handles)],
            loc="outside lower center", ncols=2, frameon=False,
        )  # fmt: skip
        figure.suptitle(literal("\n".join(lines)), fontsize=9)
    return figure


def _draw(axes: Axes, around: Neighbourhood) -> None:
    places = np.arange(len(around.groups))
    # Missing values and categories have no order that a line could follow.
    ordered = 0 if around.nominal else len(places) - (around.groups[-1:] == ("missing",))
    for index in range(len(around.labels)):
        look: dict[str, Any] = {
            "color": OKABE_ITO[index % len(OKABE_ITO)],
            "marker": MARKERS[index % len(MARKERS)],
            "markersize": 4,
        }
        rates = 100.0 * around.rates[:, index]
        axes.plot(
            places[:ordered], rates[:ordered], linewidth=1.3, label=str(index),
            linestyle=LINE_STYLES[index % len(LINE_STYLES)], **look,
        )  # fmt: skip
        axes.plot(places[ordered:], rates[ordered:], linestyle="", **look)
    first = True
    for place in places[around.covered]:
        label = "covered" if first else None
        axes.axvspan(place - 0.5, place + 0.5, color=COVERED, zorder=0, linewidth=0, label=label)
        first = False
    axes.set_xticks(
        places,
        [
            literal(f"{shorten(group)}\nn = {count}")
            for group, count in zip(around.groups, around.counts, strict=True)
        ],
        rotation=45,
        ha="right",
        rotation_mode="anchor",
        fontsize=7,
    )
    axes.set_xlim(-0.5, max(len(places), 1) - 0.5)
    axes.set_ylim(-4, 104)
    axes.grid(axis="y")
