"""`labelboost experiment` from the configuration to tables, tests and figures, on embedded data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from labelboost.cli import app

CONFIGURATION = """
n_rules = 20
folds = 2
checkpoints = [5, 10]
measures = ["subset_01", "hamming", "log_loss"]
variants = ["none", "0.04", "2", "label-wise", "mine"]
[variant.mine]
base = "0.04"
learning_rate = 0.1
[[data]]
embedded = "digits"
[[data]]
embedded = "synthetic"
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("experiment")
    (folder / "small.toml").write_text(CONFIGURATION)
    run = ["experiment", "run", str(folder / "small.toml"), "--results", str(folder / "out")]
    outcome = CliRunner().invoke(app, [*run, "--jobs", "2", "--quiet"])
    assert outcome.exit_code == 0, outcome.output
    return folder / "out"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("tables", {f"losses.{form}" for form in ("md", "csv", "tex", "html")}),
        ("significance", {"significance.md", "significance.json"}),
        ("plots", {"loss-by-rules.png", "loss-by-rules.svg", "proportions.png"}),
    ],
)
def test_reports_are_written_beside_the_results(
    results: Path, command: str, expected: set[str]
) -> None:
    outcome = CliRunner().invoke(app, ["experiment", command, str(results)])
    assert outcome.exit_code == 0, outcome.output
    written = [Path(line) for line in outcome.output.splitlines()]
    assert expected <= {path.name for path in written}
    assert all(path.parent == results / "reports" for path in written)
    assert all(path.stat().st_size > 100 for path in written)


def test_experiments_as_json(results: Path) -> None:
    def as_json(*arguments: object) -> Any:
        outcome = CliRunner().invoke(app, ["experiment", *map(str, arguments), "--json"])
        assert outcome.exit_code == 0, outcome.output
        return json.loads(outcome.stdout)

    again = as_json("run", results.parent / "small.toml", "--results", results, "--jobs", 1)
    assert again == {"results": str(results), "tasks": 20, "done": 20, "failed": 0}
    files = as_json("tables", results)["files"]
    assert files
    assert all(Path(path).is_file() for path in files)


def test_reports_go_where_they_are_wanted(results: Path, tmp_path: Path) -> None:
    arguments = [str(results), "--output", str(tmp_path / "here"), "--data", "digits"]
    outcome = CliRunner().invoke(app, ["experiment", "tables", *arguments])
    assert outcome.exit_code == 0, outcome.output
    text = (tmp_path / "here" / "losses.md").read_text()
    assert "digits" in text
    assert "synthetic" not in text
    assert "mine" in text


@pytest.mark.parametrize("command", ["tables", "significance", "plots"])
def test_a_folder_without_results_is_refused(tmp_path: Path, command: str) -> None:
    outcome = CliRunner().invoke(app, ["experiment", command, str(tmp_path)])
    assert outcome.exit_code == 1
    assert "no results" in outcome.output
    assert len(outcome.output.strip().splitlines()) == 1


@pytest.mark.parametrize("command", ["significance", "plots"])
def test_an_unknown_measure_is_refused(results: Path, command: str) -> None:
    arguments = ["experiment", command, str(results), "--measure", "nonsense"]
    outcome = CliRunner().invoke(app, arguments)
    assert outcome.exit_code == 1
    assert "nonsense" in outcome.output
