"""Tables, tests of significance and figures made from the results of an experiment."""

from __future__ import annotations

import csv
import html.parser
import json
import re
import sys
from collections.abc import Iterable, Mapping
from itertools import product
from math import ceil
from pathlib import Path
from typing import Any

import pytest

from labelboost.experiments.cells import NOT_RUN, SAME_AS_TWO_BINS
from labelboost.experiments.curves import mean_curve
from labelboost.experiments.plots import write_plots
from labelboost.experiments.published import SUBPAR_BASELINE, VARIANT_TITLES, published_values
from labelboost.experiments.records import Checkpoint, Result, Seconds
from labelboost.experiments.rendering import (
    Cell,
    Column,
    Section,
    Table,
    to_csv,
    to_html,
    to_latex,
    to_markdown,
)
from labelboost.experiments.significance import (
    Comparison,
    compare_published,
    compare_results,
    critical_distance,
)
from labelboost.experiments.significance_report import write_significance
from labelboost.experiments.summary import HAMMING, SUBSET, TRAIN_SECONDS, Summary
from labelboost.experiments.tables import differences, losses, write_tables
from labelboost.experiments.time_table import training_times

LABEL_BINS = {"label-wise": None, "none": None, "2": 2}
HOSTILE = r"""<b>&"x"|*_`[y](z)\end{tabular} $5 # 100 % ~^{}--'' """


def result(
    data: str,
    variant: str,
    loss: float,
    *,
    seconds: float = 10.0,
    fold: int = 0,
    n_folds: int = 1,
    n_labels: int = 50,
    rules: Iterable[int] = (100, 200),
    settings: Mapping[str, Any] | None = None,
) -> Result:
    """A result with a loss in percent; that of fewer rules is larger."""
    bins = LABEL_BINS.get(variant, float(variant) if variant.startswith("0.") else None)
    sizes = list(rules)
    checkpoints = [
        Checkpoint(
            size,
            seconds * size / sizes[-1],
            {SUBSET: loss / 100 * sizes[-1] / size, HAMMING: loss / 1000},
        )
        for size in sizes
    ]
    return Result(
        data=data,
        variant=variant,
        fold=fold,
        n_folds=n_folds,
        seed=1,
        settings={"label_bins": bins, "l2": 1.0} if settings is None else settings,
        n_train=90,
        n_test=10,
        n_features=5,
        n_labels=n_labels,
        n_rules=sizes[-1],
        n_conditions=300,
        seconds=Seconds(seconds, seconds, 0.1, 0.5 * seconds, 0.3 * seconds, 0.2 * seconds),
        peak_memory_mb=1.0,
        checkpoints=tuple(checkpoints),
        versions={},
        machine={},
        finished="2026-01-01T00:00:00+00:00",
    )


def as_published(names: Iterable[str] | None = None) -> list[Result]:
    """Results that equal the published ones."""
    paper = published_values()
    return [
        result(
            data,
            variant,
            paper.values[data, variant, SUBSET],
            seconds=paper.values.get((data, variant, TRAIN_SECONDS), 1.0),
            n_labels=paper.n_labels[data],
        )
        for data, variant in product(names or paper.n_labels, VARIANT_TITLES)
        if (data, variant, SUBSET) in paper.values
    ]


def own(losses: Mapping[str, tuple[float, ...]], variants: Iterable[str] = "abc") -> list[Result]:
    """Results of an experiment that has nothing to do with the paper's."""
    return [
        result(data, variant, loss)
        for data, row in losses.items()
        for variant, loss in zip(variants, row, strict=True)
    ]


def row_of(table: Table, data: str, section: int = 0) -> dict[str, Cell]:
    row = next(row for row in table.sections[section].rows if row[0].text == data)
    return {column.key: cell for column, cell in zip(table.columns, row, strict=True)}


# The published values


def test_published_values_are_complete() -> None:
    paper = published_values()
    counts = dict.fromkeys((TRAIN_SECONDS, SUBSET, HAMMING), 0)
    for _, _, measure in paper.values:
        counts[measure] += 1
    assert len(paper.n_labels) == 15
    assert counts == {TRAIN_SECONDS: 15 * 6 - 5, SUBSET: 15 * 7 - 5, HAMMING: 15 * 7 - 5}
    assert set(SUBPAR_BASELINE) <= set(paper.n_labels)


@pytest.mark.parametrize(
    ("data", "variant", "measure", "value"),
    [
        ("eurlex-sm", "none", TRAIN_SECONDS, 46947),
        ("langlog", "2", TRAIN_SECONDS, 102),
        ("slashdot", "0.08", TRAIN_SECONDS, 86),
        ("eurlex-sm", "label-wise", SUBSET, 61.63),
        ("yahoo-science", "none", SUBSET, 85.80),
        ("medical-corrected", "0.04", SUBSET, 23.23),
        ("langlog", "2", SUBSET, 79.45),
        ("reuters-k500", "0.16", HAMMING, 1.09),
        ("langlog", "0.08", HAMMING, 1.50),
    ],
)
def test_published_values_are_those_of_the_paper(
    data: str, variant: str, measure: str, value: float
) -> None:
    assert published_values().values[data, variant, measure] == value


def test_speed_ups_follow_from_published_times() -> None:
    """The averages of 32, 16 and 4 % that the paper prints; those of 8 % and two bins differ."""
    (average,) = training_times(Summary(as_published())).sections[1].rows
    speed_ups = [cell.text for cell in average if cell.exact]
    assert speed_ups == ["2.81", "3.58", "4.26", "4.86", "4.55"]
    assert [cell.published for cell in average if cell.exact] == speed_ups


# Means over folds


def test_cells_equal_to_two_bins_are_those_that_the_paper_omits() -> None:
    summary = Summary(as_published())
    paper = published_values()
    for data, variant in product(summary.data, summary.variants):
        omitted = (data, variant, SUBSET) not in paper.values
        assert (summary.two_bins_for(data, variant) is not None) == omitted
        if variant.startswith("0."):
            assert omitted == (ceil(float(variant) * paper.n_labels[data]) <= 1)


def test_variants_equal_to_two_bins_are_left_out_only_beside_two_bins() -> None:
    results = [result("d", variant, 50, n_labels=25) for variant in ("none", "0.04", "2")]
    assert losses(Summary(results)).sections[0].rows[0][3] == SAME_AS_TWO_BINS
    assert losses(Summary(results[:2])).sections[0].rows[0][3].text == "50.00"


def test_other_settings_keep_variants_apart() -> None:
    exact = {"label_bins": 0.04, "label_bin_aggregation": "exact"}
    two = {"label_bins": 2, "label_bin_aggregation": "paper"}
    results = [
        result("d", "exact", 50, n_labels=9, settings=exact),
        result("d", "two", 40, n_labels=9, settings=two),
    ]
    assert Summary(results).two_bins_for("d", "exact") is None


def test_automatic_bins_are_known() -> None:
    auto = {"label_bins": "auto", "loss": "example_logistic"}
    two = {"label_bins": 3, "loss": "example_logistic"}
    results = [
        result("d", "default", 50, n_labels=9, settings=auto),
        result("d", "three bins", 40, n_labels=9, settings=two),
    ]
    assert Summary(results).two_bins_for("d", "default") == "three bins"


def test_means_over_the_folds_there_are() -> None:
    results = [result("d", "a", loss, fold=k, n_folds=10) for k, loss in enumerate((10, 20, 60))]
    average = Summary(results).average("d", "a", SUBSET)
    assert average is not None
    assert average.value == pytest.approx(30)
    assert (average.folds, average.of) == (3, 10)
    assert Summary(results).average("d", "a", "unknown") is None


def test_no_results_are_an_error() -> None:
    with pytest.raises(ValueError, match="there are no results to report"):
        Summary([])


# Tables


def test_all_formats_of_all_tables_are_written(tmp_path: Path) -> None:
    paths = write_tables(as_published(["yeast", "enron"]), tmp_path)
    names = [
        f"{name}.{kind}"
        for name in ("training-time", "losses", "differences")
        for kind in ("md", "csv", "tex", "html")
    ]
    assert [path.name for path in paths] == names
    assert all(path.stat().st_size > 100 for path in paths)


def test_paper_order_titles_and_best_values() -> None:
    table = losses(Summary(reversed(as_published(["langlog", "yeast"]))))
    assert [column.title for column in table.columns[2:]] == list(VARIANT_TITLES.values())
    assert [row[0].text for row in table.sections[0].rows] == ["yeast", "langlog"]
    assert [key for key, cell in row_of(table, "yeast").items() if cell.bold] == ["2"]
    assert [key for key, cell in row_of(table, "langlog").items() if cell.bold] == ["0.08"]
    assert row_of(table, "yeast")["none"] == Cell("76.54", published="76.54", exact="76.54")


def test_values_that_look_equal_are_all_best() -> None:
    table = losses(Summary(own({"d": (50.001, 50.004, 50.01)})))
    assert [cell.bold for cell in table.sections[0].rows[0][2:]] == [True, True, False]


def test_partial_results() -> None:
    results = as_published(["enron", "langlog"])
    results = [r for r in results if (r.data, r.variant) != ("enron", "0.16")]
    results.append(result("enron", "0.16", 1.0, seconds=1.0, n_folds=10, n_labels=53))
    results = [r for r in results if (r.data, r.variant) != ("langlog", "2")]
    table = losses(Summary(results))
    assert row_of(table, "enron")["0.16"].folds == "1/10"
    assert not row_of(table, "enron")["0.16"].bold, "one fold does not compete with all"
    assert row_of(table, "langlog")["2"].text == NOT_RUN.text
    assert row_of(table, "langlog")["2"].published == "79.45"
    text = to_markdown(table)
    assert "1.00 (83.32) [1/10]" in text
    assert "– (79.45)" in text
    times = training_times(Summary(results))
    assert times.sections[1].rows[0][0].text == "average of 1"


def test_speed_ups_compare_the_same_folds() -> None:
    results = [
        result("d", "none", 50, seconds=100.0, fold=0, n_folds=2),
        result("d", "none", 50, seconds=300.0, fold=1, n_folds=2),
        result("d", "a", 50, seconds=50.0, fold=0, n_folds=2),
    ]
    assert row_of(training_times(Summary(results)), "d")["a speed-up"].text == "2.00"


def test_an_experiment_of_ones_own(tmp_path: Path) -> None:
    results = own({"mine": (3, 2, 1), "yours": (4, 5, 6)}, ("slow", "fast", "other"))
    paths = write_tables(results, tmp_path, variants=["other", "slow", "planned"])
    assert len(paths) == 8, "nothing published to differ from"
    with (tmp_path / "losses.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    columns = ["measure", "data", "labels", "other", "slow", "planned"]
    assert list(rows[0]) == columns
    assert list(rows[0].values()) == ["Subset 0/1 loss, %", "mine", "50", "1", "3", ""]
    times = (tmp_path / "training-time.md").read_text()
    assert "×" not in times, "there is no baseline"
    assert "published" not in times
    write_tables(results, tmp_path, baseline="slow")
    assert "as fast as the baseline" in (tmp_path / "training-time.md").read_text()


def test_published_values_can_be_left_out(tmp_path: Path) -> None:
    paths = write_tables(as_published(["yeast"]), tmp_path, published=False)
    assert len(paths) == 8
    assert "76.54" in (tmp_path / "losses.md").read_text()
    assert "(76.54)" not in (tmp_path / "losses.md").read_text()


def test_differences_above_the_threshold_are_marked() -> None:
    changed = {"none": 76.54 + 1.6, "0.32": 76.91 - 1.6, "0.16": 76.42 + 1.4}
    results = [
        result(r.data, r.variant, changed.get(r.variant, 100 * r.measures[SUBSET]), n_labels=14)
        for r in as_published(["yeast"])
    ]
    table = differences(Summary(results, variants=list(VARIANT_TITLES)))
    assert table is not None
    row = row_of(table, "yeast")
    assert [key for key, cell in row.items() if cell.bold] == ["none", "0.32"]
    assert [row[key].text for key in ("none", "0.32", "0.16", "0.04")] == [
        "+1.60",
        "−1.60",
        "+1.40",
        "–",
    ]
    assert "2 of 6" in table.caption


# Formats


def hostile_table() -> Table:
    columns = (Column("data", "data", numeric=False), Column(HOSTILE, HOSTILE))
    cells = (Cell(f"[2pt]{HOSTILE}\n* "), Cell("1.00", bold=True, published="2.00", folds="1/2"))
    return Table("hostile", "A caption, 100 %.", columns, (Section(HOSTILE, (cells,)),))


def test_hostile_names_in_html() -> None:
    class Reader(html.parser.HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.tags: list[str] = []
            self.texts: list[str] = []

        def handle_starttag(self, tag: str, attrs: object) -> None:
            self.tags.append(tag)

        def handle_data(self, data: str) -> None:
            self.texts.append(data)

    reader = Reader()
    text = to_html(hostile_table())
    reader.feed(text)
    assert reader.tags.count("b") == 1, "the best value, and none from a name"
    assert reader.tags.count("td") == 2
    assert HOSTILE in reader.texts
    assert "http" not in text, "the page needs nothing else"


def test_hostile_names_in_latex() -> None:
    lines = to_latex(hostile_table()).splitlines()
    body = [line for line in lines if line.endswith(r" \\")]
    assert [len(re.findall(r"(?<!\\)&", line)) for line in body] == [1, 0, 1]
    for line in body:
        assert len(re.findall(r"(?<!\\)\{", line)) == len(re.findall(r"(?<!\\)\}", line))
        assert not re.search(r"(?<!\\)[#%^~]", line.replace(r"\stacked", ""))
        assert not line.startswith(("[", "*"))
    assert r"\textbackslash{}end\{tabular\}" in body[0]
    assert r"-{}-'{}'" in body[0]
    assert r"\stacked{\textbf{1.00}}{\tiny (2.00)\\\tiny {[}1/2{]}}" in body[2]


def test_hostile_names_in_markdown() -> None:
    lines = to_markdown(hostile_table()).splitlines()
    rows = [line for line in lines if line.startswith("|")]
    assert [len(re.findall(r"(?<!\\)\|", line)) for line in rows] == [3, 3, 3, 3]
    markup = re.compile(r"(?<!\\)[*_`<\[$]")
    assert not markup.search(rows[0])
    assert rows[3].endswith("| **1.00** (2.00) [1/2] |")


def test_csv_has_all_digits_and_separate_columns() -> None:
    rows = list(csv.reader(to_csv(hostile_table()).splitlines()))
    assert len(rows) >= 2
    table = losses(Summary(own({"d": (50.00123, 1, 2)})))
    assert "50.0012" in to_csv(table)
    assert "50.00 " in to_markdown(table)
    header = to_csv(losses(Summary(as_published(["yeast"])))).splitlines()[0]
    assert header.startswith("measure,data,labels,label-wise,label-wise published,none,")


# Significance

RANKED = {"d1": (1, 2, 3), "d2": (1, 2, 3), "d3": (1, 3, 2), "d4": (2, 1, 3)}
"""Rank sums 5, 8 and 11 on four data sets with three variants."""


def test_significance_by_hand() -> None:
    summary = Summary(own(RANKED))
    comparison = compare_results(summary, summary.data, summary.variants)
    assert isinstance(comparison, Comparison)
    assert comparison.mean_ranks == pytest.approx([1.25, 2.0, 2.75])
    # 12 / (n k (k + 1)) * sum of squared rank sums - 3 n (k + 1) = 12 / 48 * 210 - 48
    assert comparison.statistic == pytest.approx(4.5)
    assert comparison.p_value == pytest.approx(0.1053992, abs=1e-6)
    # Demsar's table: q = 2.343 for three classifiers at 0.05
    expected = 2.343 * (3 * 4 / (6 * 4)) ** 0.5
    assert comparison.critical_distances[0.05] == pytest.approx(expected, abs=1e-3)
    assert comparison.nemenyi[0][2] == comparison.nemenyi[2][0]
    assert 0.05 < comparison.nemenyi[0][2] < comparison.nemenyi[0][1] < 1


@pytest.mark.parametrize(("k", "quantile"), [(2, 1.960), (4, 2.569), (6, 2.850), (10, 3.164)])
def test_critical_distances_of_demsar(k: int, quantile: float) -> None:
    expected = quantile * (k * (k + 1) / (6 * 14)) ** 0.5
    assert critical_distance(14, k, 0.05) == pytest.approx(expected, abs=1e-3)


def test_the_papers_claims_hold_for_its_values() -> None:
    """Significant at 0.01 where the baseline is subpar; not even at 0.1 elsewhere."""
    summary = Summary(as_published())
    remaining = [data for data in summary.data if data not in SUBPAR_BASELINE]
    for compare in (compare_results, compare_published):
        subpar = compare(summary, SUBPAR_BASELINE, summary.same_loss_variants)
        others = compare(summary, remaining, summary.same_loss_variants)
        assert isinstance(subpar, Comparison)
        assert isinstance(others, Comparison)
        assert (len(subpar.data), len(others.data)) == (7, 8)
        assert subpar.variants == ("none", "0.32", "0.16", "0.08", "0.04", "2")
        assert subpar.p_value < 0.01
        assert others.p_value > 0.1
        assert subpar.mean_ranks[0] == 6


def test_report_of_the_papers_groups(tmp_path: Path) -> None:
    results = [r for r in as_published() if (r.data, r.variant) != ("enron", "0.16")]
    paths = write_significance(results, tmp_path)
    assert [path.name for path in paths[:2]] == ["significance.md", "significance.json"]
    assert len(paths) == 2 + 3 * 2
    assert all(path.stat().st_size > 500 for path in paths)
    report = paths[0].read_text()
    assert "the variants differ (significant at 0.01)" in report
    assert "Left out, as results of some variants are missing: enron." in report
    groups = json.loads(paths[1].read_text())["groups"]
    assert list(groups) == ["subpar baseline", "remaining", "all"]
    assert groups["all"]["left_out"] == ["enron"]
    assert groups["remaining"]["ours"] == groups["remaining"]["published"]


def test_groups_of_ones_own(tmp_path: Path) -> None:
    groups = {"A/B *": ["d1", "d2", "d3"], "a b": ["d2", "d3", "d4"], "few": ["d1"]}
    paths = write_significance(own(RANKED), tmp_path, groups=groups)
    assert [path.stem for path in paths[2::2]] == [
        "critical-difference-a-b",
        "critical-difference-a-b-2",
    ]
    report = paths[0].read_text()
    assert r"## A/B \*" in report
    assert "No test: the tests need at least 2 data sets" in report


@pytest.mark.parametrize(
    ("results", "reason"),
    [
        (own({"d": (1, 2), "e": (1, 2)}, "ab"), "at least 3 variants, there are 2"),
        (own({"d": (1, 2, 3)}), "at least 2 data sets with results of all variants, there are 1"),
        (own({"d": (1, 1, 1), "e": (2, 2, 2)}), "all variants have the same values"),
    ],
)
def test_too_little_for_a_test_is_said(results: list[Result], reason: str, tmp_path: Path) -> None:
    paths = write_significance(results, tmp_path)
    assert len(paths) == 2
    assert reason in paths[0].read_text()


def test_mistakes_are_named(tmp_path: Path) -> None:
    results = own(RANKED)
    with pytest.raises(ValueError, match=r"no results of variant 'x'; there are some of a, b, c"):
        write_significance(results, tmp_path, variants=["a", "x"])
    with pytest.raises(ValueError, match="no results of data set 'x'"):
        write_significance(results, tmp_path, groups={"g": ["x"]})
    with pytest.raises(ValueError, match="whether small values of 'f1' are good"):
        write_significance(results, tmp_path, measure="f1")
    with pytest.raises(ValueError, match="no results of variant 'x'"):
        write_plots(results, tmp_path, compared="x")


# Figures


def test_all_figures_are_drawn(tmp_path: Path) -> None:
    paths = write_plots(as_published(["yeast", "enron"]), tmp_path)
    names = [
        f"{name}.{kind}"
        for name in ("tradeoff", "proportions", "loss-by-rules", "loss-by-time")
        for kind in ("png", "svg")
    ]
    assert [path.name for path in paths] == names
    for path in paths:
        content = path.read_bytes()
        assert len(content) > 5000
        assert content.startswith(b"\x89PNG" if path.suffix == ".png" else b"<?xml")
    assert "yeast (two bins)" in (tmp_path / "tradeoff.svg").read_text()


def test_figures_without_a_baseline_and_with_hostile_names(tmp_path: Path) -> None:
    results = [result("a$b$c <x>", f"$x_{k}$ & {'long ' * 8}", 50 + k) for k in range(9)]
    paths = write_plots(results, tmp_path)
    assert [path.stem for path in paths[::2]] == ["proportions", "loss-by-rules", "loss-by-time"]
    assert "a$b$c &lt;x&gt;" in (tmp_path / "loss-by-rules.svg").read_text()


def test_mean_curves_go_on_where_a_fold_ended_early() -> None:
    folds = {
        0: result("d", "a", 30, rules=(100, 200, 300)),
        1: result("d", "a", 10, rules=(200,)),
    }
    curve = mean_curve(folds, SUBSET)
    assert [point.n_rules for point in curve] == [200, 300]
    assert [point.measures[SUBSET] for point in curve] == pytest.approx([27.5, 20.0])


@pytest.mark.parametrize(
    ("module", "extra"), [("matplotlib.figure", "plots"), ("scikit_posthocs", "experiments")]
)
def test_missing_libraries_are_named(
    module: str, extra: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    write = write_plots if extra == "plots" else write_significance
    with pytest.raises(ImportError, match=rf"pip install labelboost\[{extra}\]"):
        write(own(RANKED), tmp_path)
    assert write_tables(own(RANKED), tmp_path), "tables need neither"
