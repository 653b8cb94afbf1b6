"""Where results and messages go, and how names look in them."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from labelboost.files import write_atomically

STANDARD = Path("-")
"""As a file name: standard input, or standard output."""


def write_message(text: str, style: str | None = None) -> None:
    """Write a line to standard error."""
    console = Console(stderr=True)
    console.print(on_one_line(text), markup=False, highlight=False, soft_wrap=True, style=style)


def write_result(content: str, target: Path = STANDARD) -> None:
    """Write all of a result at once: to standard output, or to a file that is whole or absent."""
    # In UTF-8 wherever it goes, as in files: names must not depend on the settings of a terminal.
    encoded = content.encode("utf-8")
    if target != STANDARD:
        write_atomically(target, encoded)
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(encoded)
    sys.stdout.buffer.flush()


def check_target(target: Path) -> None:
    """Raise if a file cannot be written, before any work is done for it."""
    if target == STANDARD:
        return
    if target.is_dir():
        raise IsADirectoryError(f"cannot write to {target}: it is a folder; add a file name")
    folder = target.absolute().parent
    if not folder.is_dir():
        raise FileNotFoundError(f"cannot write to {target}: there is no folder {folder}; create it")
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"cannot write to {target}: its folder is read-only for you")


def json_text(value: Any) -> str:
    """A JSON document and a newline; in ASCII, so that every name survives."""
    return json.dumps(value, indent=2, allow_nan=False) + "\n"


def finite(number: float) -> float | None:
    """The number, or None if it is one that JSON does not have."""
    return number if math.isfinite(number) else None


def json_lines(values: Iterable[Any]) -> str:
    """One JSON document per line."""
    return "".join(json.dumps(value, allow_nan=False) + "\n" for value in values)


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A CSV document; floats keep all their digits."""
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return stream.getvalue()


def table_text(rows: Sequence[Sequence[str]], *, right: Iterable[int] = ()) -> str:
    """Columns of text, as wide as they need to be; `right`: those that are aligned to the right."""
    aligned = set(right)
    shown = [[on_one_line(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    lines = (
        "  ".join(
            cell.rjust(width) if j in aligned else cell.ljust(width)
            for j, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in shown
    )
    return "".join(line + "\n" for line in lines)


def on_one_line(text: str) -> str:
    """Show a text to people: line breaks become spaces, control characters are spelt out."""
    joined = " ".join(part.strip() for part in text.splitlines() if part.strip())
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in joined)
