"""Tests of significance in plain words, as JSON and as critical-difference diagrams."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from labelboost.experiments.diagram import draw_critical_differences
from labelboost.experiments.published import variant_title
from labelboost.experiments.records import Result
from labelboost.experiments.rendering import (
    Cell,
    Column,
    Section,
    Table,
    escape_markdown,
    to_markdown,
)
from labelboost.experiments.significance import (
    LEVELS,
    Comparison,
    Groups,
    NotCompared,
    compare_published,
    compare_results,
    default_groups,
)
from labelboost.experiments.summary import SUBSET, Summary, measure_named
from labelboost.experiments.variants import BASELINE
from labelboost.files import write_atomically

FEW_DATA = 10
"""Up to so many data sets the distribution that Friedman's test relies on is rough."""


def write_significance(
    results: Iterable[Result],
    folder: Path,
    published: bool = True,
    *,
    groups: Groups | None = None,
    variants: Sequence[str] | None = None,
    measure: str = SUBSET,
    baseline: str = BASELINE,
) -> list[Path]:
    """Test all groups of data sets; writes a report, its numbers and a diagram for each group.

    Without `groups`: the paper's two and all data sets. Without `variants`: all with the same loss
    as the paper's baseline, or all if some are not the paper's. Returns the files.
    """
    summary = Summary(results)
    compared = tuple(variants) if variants is not None else summary.same_loss_variants
    summary.check_variants(compared)
    chosen = default_groups(summary) if groups is None else groups
    summary.check_data(name for group in chosen.values() for name in group)

    title = measure_named(measure).title
    lines = [f"# Significance of differences in {title}", "", *EXPLANATION, ""]
    numbers: dict[str, object] = {}
    paths: list[Path] = []
    for group, data in chosen.items():
        ours = compare_results(summary, data, compared, measure)
        paper = compare_published(summary, ours.data, compared, measure) if published else None
        paper = paper if isinstance(paper, Comparison) else None
        left_out = [name for name in data if name not in ours.data]
        lines += [
            f"## {escape_markdown(group)}",
            "",
            *_describe(ours, paper, left_out, baseline),
            "",
        ]
        numbers[group] = {
            "ours": asdict(ours),
            "published": None if paper is None else asdict(paper),
            "left_out": left_out,
        }
        if isinstance(ours, Comparison):
            name = _file_name(group, [path.stem for path in paths])
            paths += draw_critical_differences(ours, folder, name)
            lines += [f"![Critical-difference diagram]({name}.png)", ""]
    report, data_file = folder / "significance.md", folder / "significance.json"
    write_atomically(report, "\n".join(lines).rstrip() + "\n", parents=True)
    write_atomically(
        data_file, json.dumps({"measure": measure, "groups": numbers}, indent=1) + "\n"
    )
    return [report, data_file, *paths]


EXPLANATION = [
    "On each data set the variants are ranked by their means over the folds that all of them",
    "have; rank 1 is the best. Friedman's test asks whether the ranks could be those of variants",
    "that are equally good. If not, Nemenyi's test tells which pairs differ: those whose mean",
    "ranks are further apart than the critical distance. A variant that is equivalent to two bins",
    "on a data set takes the value of two bins.",
]


def _describe(
    ours: Comparison | NotCompared, paper: Comparison | None, left_out: list[str], baseline: str
) -> list[str]:
    """The outcome for one group, in words and tables."""
    lines = []
    if left_out:
        names = ", ".join(map(escape_markdown, left_out))
        lines += [f"Left out, as results of some variants are missing: {names}.", ""]
    if isinstance(ours, NotCompared):
        return [*lines, f"No test: {ours.reason}."]
    lines += [f"{len(ours.data)} data sets: {', '.join(map(escape_markdown, ours.data))}.", ""]
    lines.append(_verdict(ours))
    if len(ours.data) <= FEW_DATA:
        lines.append(
            "With so few data sets p-values are rough, and small differences stay unnoticed."
        )
    lines += ["", _pairs(ours, baseline), "", to_markdown(_rank_table(ours, paper))]
    if paper is not None:
        same = "the same" if paper.data == ours.data else f"{len(paper.data)} of the same"
        lines += [f"The published values of {same} data sets. {_verdict(paper)}", ""]
    return [*lines, to_markdown(_pair_table(ours))]


def _verdict(comparison: Comparison) -> str:
    levels = [level for level in sorted(LEVELS) if comparison.p_value < level]
    verdict = (
        f"the variants differ (significant at {levels[0]})"
        if levels
        else f"no difference is proven (not significant at {max(LEVELS)})"
    )
    return f"Friedman: {verdict}, χ² = {comparison.statistic:.2f}, p = {comparison.p_value:.2g}."


def _pairs(comparison: Comparison, baseline: str) -> str:
    """Which variants differ from the baseline, or which pairs differ if there is none."""
    level = max(LEVELS)
    distances = [
        f"{distance:.2f} at {at}" for at, distance in comparison.critical_distances.items()
    ]
    start = f"Nemenyi (critical distance {', '.join(distances)}), at {level}"
    names = comparison.variants
    differing = [
        (first, second)
        for i, first in enumerate(names)
        for j, second in enumerate(names)
        if comparison.nemenyi[i][j] < level and comparison.mean_ranks[i] < comparison.mean_ranks[j]
    ]
    if not differing:
        return f"{start}: no pair of variants differs."
    texts = [f"{_title(first)} before {_title(second)}" for first, second in differing]
    if baseline in names and not any(baseline in pair for pair in differing):
        texts.append(f"none differs from {_title(baseline)}")
    return f"{start}: {'; '.join(texts)}."


def _rank_table(ours: Comparison, paper: Comparison | None) -> Table:
    ranks = zip(ours.variants, ours.mean_ranks, strict=True)
    printed = dict(zip(paper.variants, paper.mean_ranks, strict=True)) if paper else {}
    rows = tuple(
        (
            Cell(variant_title(variant)),
            Cell(f"{rank:.2f}", published=f"{printed[variant]:.2f}" if printed else ""),
        )
        for variant, rank in sorted(ranks, key=lambda pair: pair[1])
    )
    columns = (Column("variant", "variant", numeric=False), Column("mean rank", "mean rank"))
    caption = "Mean ranks, the best first." + (" In parentheses: published." if paper else "")
    return Table("ranks", caption, columns, (Section("", rows),))


def _pair_table(comparison: Comparison) -> Table:
    names = comparison.variants
    rows = tuple(
        (Cell(variant_title(name)), *(Cell(f"{p:.3f}", bold=p < max(LEVELS)) for p in row))
        for name, row in zip(names, comparison.nemenyi, strict=True)
    )
    columns = [Column(variant_title(name), name) for name in names]
    caption = f"p-values of Nemenyi's test; bold: below {max(LEVELS)}."
    head = Column("", "variant", numeric=False)
    return Table("pairs", caption, (head, *columns), (Section("", rows),))


def _file_name(group: str, taken: Sequence[str]) -> str:
    """A name for the files of a group, whatever characters the group's own name has."""
    slug = re.sub(r"[^a-z0-9]+", "-", group.lower()).strip("-") or "group"
    name, number = f"critical-difference-{slug}", 2
    while name in taken:
        name, number = f"critical-difference-{slug}-{number}", number + 1
    return name


def _title(variant: str) -> str:
    return escape_markdown(variant_title(variant))
