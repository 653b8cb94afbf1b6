"""Every command of docs/cli.md runs, and says what the page says."""

from __future__ import annotations

import fnmatch
import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from labelboost.cli import app

PAGE = Path(__file__).parents[1] / "docs" / "cli.md"


def commands_of(page: str) -> list[tuple[str, list[str]]]:
    """Commands, and the lines below them."""
    found: list[tuple[str, list[str]]] = []
    for block in re.findall(r"```console\n(.*?)```", page, re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def test_the_page_runs_from_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = PAGE.read_text()
    for name, content in re.findall(r"```csv (\S+)\n(.*?)```", page, re.DOTALL):
        Path(name).write_text(content)
    commands = commands_of(page)
    assert len(commands) > 12
    for command, expected in commands:
        program, *arguments = shlex.split(command, comments=True)
        assert program == "labelboost"
        if "--install-completion" in arguments:
            continue  # would change the settings of whoever runs the tests
        stdin = None
        if "<" in arguments:
            *arguments, _, source = arguments
            stdin = Path(source).read_bytes()
        outcome = CliRunner().invoke(app, arguments, input=stdin)
        assert outcome.exit_code == 0, (command, outcome.output)
        assert outcome.stderr == "", command
        pattern = "".join(
            "*" if line == "..." else line.replace("...", "*").replace("[", "[[]") + "\n"
            for line in expected
        )
        assert fnmatch.fnmatchcase(outcome.stdout, pattern), (command, outcome.stdout)
        assert expected or not outcome.stdout, command
        if "--json" in arguments:
            json.loads(outcome.stdout)


def test_the_page_names_all_commands() -> None:
    page = PAGE.read_text()
    for command in app.registered_commands:
        name = command.name or (command.callback and command.callback.__name__)
        assert f"labelboost {name}" in page
