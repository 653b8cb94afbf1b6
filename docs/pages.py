"""Pages with parts that are written by machine.

What stands between the comments `<!-- begin NAME -->` and `<!-- end -->` of a page is replaced by
the file of that name; the text around them is written by hand.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
RESULTS = DOCS.parent / "experiments"
BLOCK = re.compile(r"(<!-- begin (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def fill_in(page: Path, reports: Path) -> None:
    """Bring a page up to date with the reports in a folder."""

    def content(block: re.Match[str]) -> str:
        return f"{block[1]}{(reports / block[2]).read_text('utf-8')}{block[3]}"

    page.write_text(BLOCK.sub(content, page.read_text("utf-8")), "utf-8")
    print(f"{page} is up to date", file=sys.stderr)
