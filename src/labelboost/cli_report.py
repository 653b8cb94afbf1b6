"""The command `labelboost report`: argument parsing only."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from labelboost.cli_experiment import clear_errors
from labelboost.data import load_dataset
from labelboost.data.label_choice import Labels
from labelboost.persistence import load_model
from labelboost.report import write_report
from labelboost.report.writing import N_EXAMPLES


def report(
    model: Annotated[Path, typer.Option("--model", "-m", help="A file that save_model wrote.")],
    data: Annotated[
        Path,
        typer.Option("--data", "-d", help="Examples with labels, better not those of training."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The HTML file to write.")],
    labels: Annotated[
        list[str] | None,
        typer.Option(
            help="Which columns are labels: a name (may be repeated), a prefix such as 'label_*', "
            "a number of columns (negative: the last ones), or a Mulan XML file. Default: what the "
            "file, or the XML file beside it, says."
        ),
    ] = None,
    examples: Annotated[
        int,
        typer.Option(
            min=0, help="Most examples to choose from on the page; fewer if they are large."
        ),
    ] = N_EXAMPLES,
    title: Annotated[
        str | None, typer.Option(help="Heading of the page; default: the name of the data.")
    ] = None,
) -> None:
    """Write a page about a model: quality, labels, features, all rules, and single examples.

    The page is one HTML file that needs no network.

    Example: labelboost report --model emotions.json.gz --data emotions-test.arff -o report.html
    """
    with clear_errors():
        loaded = load_model(model)
        dataset = load_dataset(data, _label_choice(labels))
        write_report(loaded, dataset, output, title=title, n_examples=examples)
    typer.echo(output)


def _label_choice(values: list[str] | None) -> Labels:
    if not values:
        return None
    if len(values) > 1:
        return values
    (value,) = values
    if re.fullmatch(r"[-+]?\d+", value, re.ASCII):
        return int(value)
    return value if value.endswith("*") or value.lower().endswith(".xml") else [value]
