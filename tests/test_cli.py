"""The command `labelboost` and its demonstration."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from labelboost import demo
from labelboost.cli import app
from labelboost.data import Dataset

runner = CliRunner()


def test_version() -> None:
    result = runner.invoke(app, ["--version"])
    assert result.exit_code == 0
    assert re.fullmatch(r"labelboost \S.*\n", result.output)


def test_help_names_the_demonstration() -> None:
    result = runner.invoke(app, ["--help"])
    assert result.exit_code == 0
    assert "demo" in result.output


@pytest.mark.parametrize(
    "arguments", [["--rules", "0"], ["--labels", "1"], ["--seed", "-1"], ["--rules", "many"]]
)
def test_impossible_options_are_refused(arguments: list[str]) -> None:
    result = runner.invoke(app, ["demo", *arguments])
    assert result.exit_code == 2
    assert arguments[0] in result.output


def test_demo_on_digits() -> None:
    result = runner.invoke(app, ["demo", "--rules", "15", "--jobs", "1"])
    assert result.exit_code == 0, result.output
    for text in (
        "digits on a seven-segment display",
        "10 label sets",
        "trained no binning: 15 rules in",
        "trained 4 % bins: 15 rules in",
        "trained label-wise: 15 rules in",
        "Subset 0/1 loss",
        "Hamming loss",
        "Micro",
        "Macro",
        "Training",
        "The ten rules with the largest effect",
        "in general:",
    ):
        assert text in " ".join(result.output.split())
    assert result.output.count("if row ") + result.output.count(" < row ") >= 10
    assert max(map(len, result.output.splitlines())) <= demo.MAX_WIDTH


def test_demo_on_synthetic_labels() -> None:
    result = runner.invoke(app, ["demo", "--rules", "5", "--labels", "12", "--seed", "3"])
    assert result.exit_code == 0, result.output
    assert "synthetic, 12 labels" in result.output
    assert "The rules with the largest effect" in result.output


def test_demo_with_the_default_rule_only() -> None:
    result = runner.invoke(app, ["demo", "--rules", "1"])
    assert result.exit_code == 0, result.output
    assert "in general:" in result.output


def test_the_seed_decides_everything_but_the_time() -> None:
    def output(seed: str) -> str:
        shown = runner.invoke(app, ["demo", "--rules", "5", "--seed", seed]).output
        return re.sub(r" *\d+\.\d+ s", "", shown)

    assert output("7") == output("7")
    assert output("7") != output("8")


def test_names_that_look_like_markup_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = rng.random((60, 2))
    odd = Dataset(
        name="[red]odd[/red]",
        X=X,
        Y=(X > 0.5).astype(np.uint8),
        feature_names=("[bold]a[/bold]", "[/]"),
        label_names=("[link]x", "y[0]"),
        nominal=np.zeros(2, dtype=np.bool_),
    )
    monkeypatch.setattr(demo, "load_digits_display", lambda: odd)
    stream = io.StringIO()
    demo.run_demo(n_rules=8, console=Console(file=stream, width=100, highlight=False))
    for name in (odd.name, *odd.feature_names, *odd.label_names):
        assert name in stream.getvalue()
