"""The code in Markdown pages: found, and run as a reader would."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import labelboost

FENCE = re.compile(r"^(?P<ticks>`{3,})(?P<info>[^`\n]*)\n(?P<code>.*?)^(?P=ticks)$", re.M | re.S)
INDENTED = re.compile(r"(?:^|\n\n)((?: {4}[^\n]*\n?)+)")
NOT_RUN = re.compile(r"^# not run by the tests: (?P<reason>\S.*)$")
SHELLS = ("console", "sh", "bash", "shell")
THIS_LABELBOOST = {"PYTHONPATH": str(Path(labelboost.__file__).parents[1])}
"""Environment of commands, which must not run another Labelboost than the tests do."""
PROGRAM = 'labelboost() { "{python}" -m labelboost.cli "$@"; }; set -euo pipefail\n'


@dataclass(frozen=True)
class Block:
    """A block of code, which begins on the given line of its page."""

    line: int
    language: str
    file: str
    """Where to put it; empty: nowhere."""
    code: str

    @property
    def reason(self) -> str | None:
        """Why it is not run, if it says so."""
        found = NOT_RUN.match(self.code.partition("\n")[0])
        return None if found is None else found["reason"]


def blocks_of(page: Path) -> list[Block]:
    """Find the fenced blocks of a page."""
    text = page.read_text(encoding="utf-8")
    blocks = []
    for found in FENCE.finditer(text):
        language, _, file = found["info"].strip().partition(" ")
        line = text.count("\n", 0, found.start()) + 1
        blocks.append(Block(line, language, file.strip(), found["code"]))
    return blocks


def commands_outside_of_fences(page: Path) -> Iterator[str]:
    """Find indented blocks that begin with a command, which nothing would run."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for found in INDENTED.finditer(text):
        first = found[1].strip().partition(" ")[0]
        if first in ("labelboost", "$", "make", "pip", "python", "from", "import", ">>>"):
            yield found[1].strip()


def run_page(page: Path, folder: Path) -> None:
    """Run the blocks of a page in order, in one namespace and one folder (the current one)."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    printed: str | None = None
    for block in blocks_of(page):
        place = f"{page.name}, line {block.line}"
        if block.reason is not None:
            continue
        if block.file == "output":
            assert printed is not None, f"{place}: nothing was run before"
            assert block.code.strip() == printed.strip(), f"{place}: {printed!r} was printed"
        elif block.file:
            (folder / block.file).write_text(block.code, encoding="utf-8")
        elif block.language == "python":
            printed = _run_python(block.code, place, namespace)
        elif block.language in SHELLS:
            printed = _run_commands(block.code, place, folder)


def _run_python(code: str, place: str, namespace: dict[str, Any]) -> str:
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(code, place, "exec"), namespace)
    return output.getvalue()


def _run_commands(code: str, place: str, folder: Path) -> str:
    script = re.sub(r"^\$ ", "", code, flags=re.M)
    for line in script.splitlines():
        if line.strip() and not line.lstrip().startswith(("labelboost", "#", "|", "-")):
            raise AssertionError(
                f"{place}: {line!r} is no labelboost command; say why it is not run"
            )
    done = subprocess.run(
        ["bash", "-c", PROGRAM.replace("{python}", sys.executable) + script],
        cwd=folder, env=os.environ | THIS_LABELBOOST, capture_output=True, text=True, check=False,
        timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, f"{place}: {done.stderr or done.stdout}"
    return done.stdout
