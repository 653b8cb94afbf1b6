"""The command `labelboost`: all commands, put together."""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import typer

from labelboost import cli_experiment
from labelboost.commands.command import INTERRUPTED
from labelboost.commands.demo import demo
from labelboost.commands.evaluate import evaluate
from labelboost.commands.explain import explain
from labelboost.commands.info import info
from labelboost.commands.predict import predict
from labelboost.commands.report import report
from labelboost.commands.rules import rules
from labelboost.commands.train import train_command

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_show_locals=False,
)
app.command(name="train")(train_command())
for function in (predict, evaluate, rules, explain, report, info, demo):
    app.command()(function)
app.add_typer(cli_experiment.app, name="experiment")


def _show_version(wanted: bool) -> None:
    if not wanted:
        return
    try:
        number = version("labelboost")
    except PackageNotFoundError:
        number = "(not installed)"
    typer.echo(f"labelboost {number}")
    raise typer.Exit


@app.callback()
def options(
    show_version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Boosted multi-label rules that get whole label sets right.

    Examples:

    labelboost train emotions.arff --model emotions.json.gz

    labelboost evaluate emotions-test.arff --model emotions.json.gz

    labelboost rules emotions.json.gz --sort effect --top 10

    Exit codes: 0 done, 1 bad input, 2 bad usage, 130 interrupted.
    """


def main() -> None:
    """Run the command."""
    try:
        app()
    except KeyboardInterrupt:  # while arguments were read
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
