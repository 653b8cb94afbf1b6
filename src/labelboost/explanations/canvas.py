"""What the figures of models have in common, beside the style of all figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from labelboost.drawing import OKABE_ITO, WIDTH, new_figure
from labelboost.optional import require
from labelboost.wording import format_score

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LONGEST = 40
MOST_CELLS_WITH_NUMBERS = 16
"""Columns of a heat map up to which there is room for numbers."""


@contextmanager
def drawn(ax: Axes | None, *, height: float, width: float = WIDTH) -> Iterator[Axes]:
    """Draw into the axes given, or into a new figure."""
    require("matplotlib", "plots", "plots")
    yield new_figure(height, width).add_subplot() if ax is None else ax


def figure_of(axes: Axes) -> Figure:
    """Return the figure that the axes belong to, or the part of one."""
    return cast("Figure", axes.figure)


def shorten(text: str) -> str:
    """Keep long names from taking the whole figure."""
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def heat_map(
    axes: Axes,
    values: NDArray[np.float64],
    *,
    limit: float,
    rows: Sequence[str],
    columns: Sequence[str],
) -> None:
    """Draw a matrix from -limit (vermilion) over 0 (white) to limit (blue), with its numbers."""
    colors = require("matplotlib.colors", "plots", "plots")
    scale = colors.LinearSegmentedColormap.from_list(
        "labelboost", [OKABE_ITO[1], "#FFFFFF", OKABE_ITO[0]]
    )
    image = axes.imshow(values, cmap=scale, vmin=-limit, vmax=limit, aspect="auto")
    axes.set_xticks(range(len(columns)), columns, rotation=45, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    if values.shape[1] <= MOST_CELLS_WITH_NUMBERS:
        for (i, j), value in np.ndenumerate(values):
            dark = abs(value) > 0.65 * limit
            axes.text(
                j, i, _cell(float(value)), ha="center", va="center", fontsize=7,
                color="white" if dark else "black",
            )  # fmt: skip
    else:
        axes.figure.colorbar(image, ax=axes, shrink=0.8)


def _cell(value: float) -> str:
    if value == 0.0:
        return "0"
    if abs(value) >= 1000:
        return f"{value:+.1e}"
    return format_score(value) if abs(value) >= 0.005 else "≈0"
