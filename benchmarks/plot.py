#!/usr/bin/env python3
"""Draw the table that the benchmark saved as JSON. Usage: plot.py RESULTS.json PLOT.png

A program of its own, so that a missing or broken matplotlib costs the picture and nothing else.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure  # type: ignore[import-not-found,unused-ignore]
from matplotlib.ticker import LogLocator  # type: ignore[import-not-found,unused-ignore]
from plan import VARIANTS

MARKERS = dict(zip(VARIANTS, "osD^v", strict=True))
SMALLEST_MB = 1.0
"""Differences below are the noise of the allocator; their quotient means nothing."""

Line = dict[str, Any]


def speedup(line: Line) -> float | None:
    """How many times faster ours is."""
    return line.get("speedup")


def memory(line: Line) -> float | None:
    """How many times less memory ours needs."""
    if "peer" not in line or min(line[who]["memory_mb"] for who in ("peer", "ours")) < SMALLEST_MB:
        return None
    return float(line["peer"]["memory_mb"] / line["ours"]["memory_mb"])


def seconds(line: Line) -> float | None:
    """Our seconds per 100 rules, where there is nothing to compare with."""
    return float(line["ours"]["seconds_per_100_rules"])


def draw(axes: Any, lines: list[Line], value: Callable[[Line], float | None], title: str) -> None:
    """One panel: a row per data set, a marker per variant, on a logarithmic scale."""
    labels = {line["data"]: f"{line['data']} ({line['labels']})" for line in lines}
    rows = {name: row for row, name in enumerate(reversed(labels))}
    for variant in dict.fromkeys(line["variant"] for line in lines):
        points = [(value(line), rows[line["data"]]) for line in lines if line["variant"] == variant]
        known = [(x, row) for x, row in points if x is not None]
        xs, ys = [x for x, _ in known], [row for _, row in known]
        axes.plot(xs, ys, MARKERS.get(variant, "o"), label=variant, alpha=0.8)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.minorticks_off()
    axes.set_yticks(range(len(rows)), reversed(labels.values()))
    axes.set_title(title)
    axes.grid(axis="x", alpha=0.3)


def main() -> None:
    """Read the table, draw it, save it."""
    source, target = map(Path, sys.argv[1:])
    lines: list[Line] = json.loads(source.read_text())["table"]
    compared = any(speedup(line) is not None for line in lines)
    height = 2.0 + 0.35 * len({line["data"] for line in lines})
    figure = Figure(figsize=(11 if compared else 6, height), layout="constrained")
    if compared:
        left, right = figure.subplots(1, 2, sharey=True)
        draw(left, lines, speedup, "training time: peer / ours")
        draw(right, lines, memory, "memory of training: peer / ours")
        for axes in (left, right):
            axes.axvline(1.0, color="black", linewidth=1)
    else:
        left = figure.subplots()
        draw(left, lines, seconds, "seconds per 100 rules, ours")
    handles, names = left.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=len(names))
    figure.savefig(target, dpi=120)


if __name__ == "__main__":
    main()
