"""The commands `labelboost experiment ...`: argument parsing only."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from labelboost.commands.command import INTERRUPTED, Reporting, command
from labelboost.commands.streams import json_text, write_result
from labelboost.experiments import read_configuration, read_results
from labelboost.experiments.cluster import DaskCluster
from labelboost.experiments.comparison import write_comparison
from labelboost.experiments.display import Display
from labelboost.experiments.executors import LocalProcesses
from labelboost.experiments.plots import write_plots
from labelboost.experiments.records import read_records
from labelboost.experiments.runner import run_experiment
from labelboost.experiments.significance_report import write_significance
from labelboost.experiments.tables import write_tables

app = typer.Typer(
    help="Compare models on many data sets, as the paper does or in your own way.",
    no_args_is_help=True,
)


@app.command()
@command
def run(
    configuration: Annotated[
        str, typer.Argument(help="A TOML file, or one of the presets: paper, quick, comparison.")
    ],
    results: Annotated[
        Path | None,
        typer.Option(help="Folder for the results; default: experiments/ and the name."),
    ] = None,
    data_folder: Annotated[
        Path | None, typer.Option(help="Where relative paths of data files start.")
    ] = None,
    data: Annotated[
        list[str] | None, typer.Option(help="Only this data set; may be repeated.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes; default: one per processor.")
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(help="Address of a Dask scheduler whose workers are to do the work."),
    ] = None,
    *,
    reporting: Reporting,
) -> None:
    """Train and evaluate all that a configuration names; go on where an earlier run stopped.

    Examples:

    labelboost experiment run quick

    labelboost experiment run paper --data-folder data --jobs 2
    """
    experiment = read_configuration(configuration, data_folder)
    if data:
        experiment = experiment.only(data)
    folder = results or Path("experiments") / experiment.name
    n_jobs = jobs or len(os.sched_getaffinity(0))
    executor = DaskCluster(scheduler) if scheduler else LocalProcesses(n_jobs)
    n_workers = executor.n_workers
    console = Console(stderr=True)
    try:
        with Display(console, n_workers, reporting.quiet) as display:
            outcome = run_experiment(experiment, folder, executor, display)
    except KeyboardInterrupt:
        console.print(f"stopped; what is done is in {folder}, and the same command goes on")
        raise typer.Exit(INTERRUPTED) from None
    done, n_tasks = outcome.done_before + outcome.done, len(experiment.tasks)
    if reporting.as_json:
        counts = {"tasks": n_tasks, "done": done, "failed": outcome.failed}
        write_result(json_text({"results": str(folder), **counts}))
    elif not reporting.quiet:
        write_result(f"{done} of {n_tasks} tasks done; results are in {folder}\n")
    if outcome.failed:
        raise ValueError(f"{outcome.failed} tasks failed; their files say why")


Results = Annotated[Path, typer.Argument(help="A folder that `experiment run` has filled.")]
Output = Annotated[
    Path | None, typer.Option(help="Folder to write to; default: reports/ in the folder.")
]
Chosen = Annotated[
    list[str] | None, typer.Option(help="Only this data set, in this order; may be repeated.")
]


@app.command()
@command
def tables(
    results: Results, output: Output = None, data: Chosen = None, *, reporting: Reporting
) -> None:
    """Write tables of training times and losses, beside the published ones.

    Markdown, CSV, LaTeX and HTML.

    Example:

    labelboost experiment tables experiments/paper
    """
    _list(write_tables(read_results(results), _reports(results, output), data=data), reporting)


@app.command()
@command
def compare(
    results: Results,
    output: Output = None,
    data: Chosen = None,
    reference: Annotated[
        str | None, typer.Option(help="The method that times are relative to; default: the first.")
    ] = None,
    *,
    reporting: Reporting,
) -> None:
    """Write tables of different methods side by side: losses, ranks, times, versions.

    Markdown, CSV, LaTeX and HTML.

    Example:

    labelboost experiment compare experiments/comparison
    """
    read_results(results)  # says so if there are none
    found, folder = read_records(results), _reports(results, output)
    _list(write_comparison(found, folder, data=data, reference=reference), reporting)


@app.command()
@command
def significance(
    results: Results,
    output: Output = None,
    measure: Annotated[str, typer.Option(help="What to compare the variants by.")] = "subset_01",
    *,
    reporting: Reporting,
) -> None:
    """Test whether the variants differ: Friedman test, Nemenyi test, critical differences.

    Example:

    labelboost experiment significance experiments/paper --measure hamming
    """
    found = read_results(results)
    _list(write_significance(found, _reports(results, output), measure=measure), reporting)


@app.command()
@command
def plots(
    results: Results,
    output: Output = None,
    data: Chosen = None,
    measure: Annotated[str, typer.Option(help="The measure of quality to draw.")] = "subset_01",
    *,
    reporting: Reporting,
) -> None:
    """Draw what binning gains and costs, where time goes, and how the loss falls.

    Example:

    labelboost experiment plots experiments/paper --data yeast
    """
    found = read_results(results)
    written = write_plots(found, _reports(results, output), data=data, measure=measure)
    _list(written, reporting)


def _reports(results: Path, output: Path | None) -> Path:
    return output or results / "reports"


def _list(paths: list[Path], reporting: Reporting) -> None:
    if reporting.as_json:
        write_result(json_text({"files": [str(path) for path in paths]}))
    elif not reporting.quiet:
        write_result("".join(f"{path}\n" for path in paths))
