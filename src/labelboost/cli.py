"""The command `labelboost`: argument parsing only."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import typer

from labelboost import cli_experiment, cli_report
from labelboost.demo import run_demo

app = typer.Typer(
    help="Boosted multi-label rules that get whole label sets right.",
    no_args_is_help=True,
    add_completion=False,
)
app.add_typer(cli_experiment.app, name="experiment")
app.command()(cli_report.report)


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
    """Boosted multi-label rules that get whole label sets right."""


@app.command()
def demo(
    rules: Annotated[
        int, typer.Option(min=1, help="Rules per model, default rule included.")
    ] = 300,
    jobs: Annotated[
        int | None, typer.Option(help="Number of threads; -1 for all there are.")
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, help="Decides all that is random.")
    ] = 1,
    labels: Annotated[
        int | None,
        typer.Option(min=2, help="Use synthetic data with so many labels, not the digits."),
    ] = None,
) -> None:
    """Train three models on handwritten digits, compare them and show the strongest rules."""
    run_demo(n_rules=rules, n_jobs=jobs, seed=seed, n_labels=labels)


def main() -> None:
    """Run the command."""
    app()


if __name__ == "__main__":
    main()
