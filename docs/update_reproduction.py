#!/usr/bin/env python3
"""Bring docs/reproduction.md up to date with the results in experiments/.

Writes all reports to docs/reproduction/ and puts the tables between the comments
`<!-- begin NAME -->` and `<!-- end -->` of the page. The text around them is written by hand.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from labelboost.experiments import read_results
from labelboost.experiments.plots import write_plots
from labelboost.experiments.significance_report import write_significance
from labelboost.experiments.tables import write_tables

DOCS = Path(__file__).resolve().parent
RESULTS = DOCS.parent / "experiments"
PAGE = DOCS / "reproduction.md"
BLOCK = re.compile(r"(<!-- begin (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def write_reports() -> None:
    """Write tables, tests and figures of all experiments."""
    paper = read_results(RESULTS / "paper")
    write_tables(paper, DOCS / "reproduction")
    write_significance(paper, DOCS / "reproduction")
    write_plots(paper, DOCS / "reproduction")
    ablation = read_results(RESULTS / "ablation")
    write_tables(ablation, DOCS / "reproduction" / "ablation", published=False)


def fill_in(page: str) -> str:
    """Replace what stands between the comments by the reports of that name."""

    def content(block: re.Match[str]) -> str:
        report = (DOCS / "reproduction" / block[2]).read_text("utf-8")
        return f"{block[1]}{report}{block[3]}"

    return BLOCK.sub(content, page)


def main() -> None:
    """Update the page."""
    write_reports()
    PAGE.write_text(fill_in(PAGE.read_text("utf-8")), "utf-8")
    print(f"{PAGE} is up to date", file=sys.stderr)


if __name__ == "__main__":
    main()
