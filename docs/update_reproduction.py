#!/usr/bin/env python3
"""Bring docs/reproduction.md up to date with the results in experiments/.

Writes all reports to docs/reproduction/ and puts the tables into the page.
"""

from __future__ import annotations

from pages import DOCS, RESULTS, fill_in

from labelboost.experiments import read_results
from labelboost.experiments.plots import write_plots
from labelboost.experiments.significance_report import write_significance
from labelboost.experiments.tables import write_tables

REPORTS = DOCS / "reproduction"


def main() -> None:
    """Write tables, tests and figures of all experiments, and update the page."""
    paper = read_results(RESULTS / "paper")
    write_tables(paper, REPORTS)
    write_significance(paper, REPORTS)
    write_plots(paper, REPORTS)
    ablation = read_results(RESULTS / "ablation")
    write_tables(ablation, REPORTS / "ablation", published=False)
    fill_in(DOCS / "reproduction.md", REPORTS)


if __name__ == "__main__":
    main()
