"""Every block of code in the documentation runs, and the pages are built without a warning."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from documents import THIS_LABELBOOST, Block, blocks_of, commands_outside_of_fences, run_page

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
MOST_NOT_RUN = 8
"""Blocks that need hours, or data that are not here. Rather make a block run than raise this."""

TESTED_ELSEWHERE = ("cli",)
"""Pages whose tests also look at what is printed."""

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


@pytest.mark.filterwarnings("default")  # as for a reader
@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page.stem not in TESTED_ELSEWHERE],
    ids=lambda page: page.stem,
)
def test_every_block_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.chdir(tmp_path)
    run_page(page, tmp_path)


@every_page
def test_commands_stand_in_fences(page: Path) -> None:
    assert list(commands_outside_of_fences(page)) == []


def test_few_blocks_are_not_run() -> None:
    reasons = [f"{p.name}: {b.reason}" for p in PAGES for b in blocks_of(p) if b.reason]
    assert len(reasons) <= MOST_NOT_RUN, reasons


def test_blocks_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# Title\n\n```python\nx = 1\nprint(x)\n```\n\n```text output\n1\n```\n\n"
        "```toml a.toml\nn = 1\n```\n\n````console\n"
        "# not run by the tests: too long\nmake\n````\n\n"
        "    labelboost demo\n\n    a = 1\n"
    )
    assert blocks_of(page) == [
        Block(3, "python", "", "x = 1\nprint(x)\n"),
        Block(8, "text", "output", "1\n"),
        Block(12, "toml", "a.toml", "n = 1\n"),
        Block(16, "console", "", "# not run by the tests: too long\nmake\n"),
    ]
    assert [block.reason for block in blocks_of(page)] == [None, None, None, "too long"]
    assert list(commands_outside_of_fences(page)) == ["labelboost demo"]
    run_page(page, tmp_path)
    assert (tmp_path / "a.toml").read_text() == "n = 1\n"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("```python\nx = 1 / 0\n```\n", "division by zero"),
        ("```python\nprint(2)\n```\n\n```text output\n1\n```\n", "line 5: '2.n' was printed"),
        ("```console\nmake all\n```\n", "line 1: 'make all' is no labelboost command"),
        ("```console\n$ labelboost nonsense\n```\n", "line 1: .*nonsense"),
    ],
)
def test_blocks_that_fail(text: str, fault: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises((AssertionError, ZeroDivisionError), match=f"(?s){fault}"):
        run_page(page, tmp_path)


def build(folder: Path, target: Path) -> subprocess.CompletedProcess[str]:
    options = ["-W", "--keep-going", "-q", "-b", "html"]
    return subprocess.run(
        [sys.executable, "-m", "sphinx", *options, str(folder), str(target)],
        env=os.environ | THIS_LABELBOOST, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip


def test_the_pages_are_built_and_need_no_network(tmp_path: Path) -> None:
    done = build(ROOT / "docs", tmp_path / "html")
    assert done.returncode == 0, done.stderr
    pages = list((tmp_path / "html").glob("**/*.html"))
    assert len(pages) >= len(PAGES) - 1
    loaded = re.compile(
        r"<(?:script|link|img|iframe|source)\b[^>]*(?:src|href)=\"(?:https?:)?//[^\"]*"
    )
    for page in pages:
        assert loaded.findall(page.read_text(encoding="utf-8")) == [], page
    method = (tmp_path / "html" / "method.html").read_text(encoding="utf-8")
    assert method.count("<math") > 20
    assert "$" not in re.sub(r"<(script|style).*?</\1>", "", method, flags=re.S)


def test_broken_links_are_errors(tmp_path: Path) -> None:
    links = ["nowhere.md", "other.md#nowhere", "../nowhere.txt", "no/folder"]
    shutil.copytree(ROOT / "docs" / "extensions", tmp_path / "docs" / "extensions")
    shutil.copy(ROOT / "docs" / "conf.py", tmp_path / "docs")
    text = "".join(f"[good](other.md#part) and [broken]({link})\n\n" for link in links)
    (tmp_path / "docs" / "index.md").write_text(f"# Page\n\n```{{toctree}}\nother\n```\n\n{text}")
    (tmp_path / "docs" / "other.md").write_text("# Page\n\n## Part\n\n[a page](index.md)\n")
    done = build(tmp_path / "docs", tmp_path / "html")
    assert done.returncode != 0
    assert done.stderr.count("xref_missing") == len(links), done.stderr
