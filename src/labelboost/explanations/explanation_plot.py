"""An explanation as a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from labelboost.drawing import literal, style
from labelboost.explanations.canvas import drawn, figure_of, heat_map, shorten
from labelboost.explanations.explanation_text import leading_labels, strongest_rules
from labelboost.explanations.naming import printable
from labelboost.parameters import check_integer

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from labelboost.explanations.explanation import Explanation


def plot_explanation(
    explanation: Explanation, *, max_rules: int, max_labels: int, ax: Axes | None
) -> Figure:
    """Draw what the strongest rules add to the leading labels, and what all of them add up to."""
    n_rules = check_integer("max_rules", max_rules, minimum=1)
    n_labels = check_integer("max_labels", max_labels, minimum=1)
    names = explanation.names.for_display()
    labels = leading_labels(explanation, n_labels)
    shown = strongest_rules(explanation, n_rules)
    rows = [
        shorten(f"{explanation.rules[i]}: {printable(explanation.conditions[i])}") for i in shown
    ]
    values = explanation.contributions[shown]
    others = np.delete(explanation.contributions, shown, axis=0)
    if len(others):
        rows.append(f"{len(others)} other rules together")
        values = np.vstack([values, others.sum(axis=0)])
    limit = float(np.abs(values[:, labels]).max(initial=0.0)) or 1.0
    rows.append("score")
    values = np.vstack([values, explanation.scores])[:, labels]
    columns = [
        literal(shorten(names.labels[k])) + (" *" if explanation.predicted[k] else "")
        for k in labels
    ]
    with style(), drawn(ax, height=1.6 + 0.22 * len(rows)) as axes:
        heat_map(axes, values, limit=limit, rows=[literal(row) for row in rows], columns=columns)
        axes.axhline(len(rows) - 1.5, color="black", linewidth=0.8)
        axes.get_yticklabels()[-1].set_fontweight("bold")
        axes.set_title("What the rules add to the labels (*: predicted)")
        return figure_of(axes)
