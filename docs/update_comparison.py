#!/usr/bin/env python3
"""Bring docs/comparison.md and docs/choosing.md up to date with experiments/comparison.

Writes all tables to docs/comparison/ and puts some of them into the pages.
"""

from __future__ import annotations

from pages import DOCS, RESULTS, fill_in

from labelboost.experiments.comparison import write_comparison
from labelboost.experiments.records import read_records

REPORTS = DOCS / "comparison"


def main() -> None:
    """Write the tables and update the pages."""
    write_comparison(read_records(RESULTS / "comparison"), REPORTS)
    for page in ("comparison.md", "choosing.md"):
        fill_in(DOCS / page, REPORTS)


if __name__ == "__main__":
    main()
