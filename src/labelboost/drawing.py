"""What all figures have in common: fonts, colours, files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labelboost.optional import require

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 6.9
"""Inches; the text width of a page, so that fonts are printed in the size they are set in."""
STYLE: Mapping[str, Any] = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 8.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "hatch.linewidth": 0.7,
    "svg.fonttype": "none",
    "svg.hashsalt": "labelboost",
}
OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Colours that people with any colour vision can tell apart (Okabe and Ito), yellow left out."""
LINE_STYLES = ("-", (0, (5, 2)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5)), (0, (3, 1, 1, 1, 1, 1)))
MARKERS = "os^DvPX"


def new_figure(height: float, width: float = WIDTH) -> Figure:
    """Begin a figure. It belongs to nobody else: neither windows nor global state are touched."""
    module = require("matplotlib.figure", "figures", "plots")
    figure: Figure = module.Figure(figsize=(width, height), layout="constrained")
    return figure


def style() -> Any:
    """Context in which figures are drawn."""
    return require("matplotlib", "figures", "plots").rc_context(dict(STYLE))


def save_figure(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write PNG, for screens, and SVG, for print; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.png", folder / f"{name}.svg"]
    figure.savefig(paths[0], dpi=200)
    figure.savefig(paths[1], metadata={"Date": None})
    return paths


def literal(name: str) -> str:
    """Keep matplotlib from reading formulas into a name."""
    return name.replace("$", r"\$")
