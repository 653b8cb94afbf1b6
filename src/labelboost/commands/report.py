"""`labelboost report`: a page about a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from labelboost.commands.command import Reporting, command
from labelboost.commands.models import ModelOption, load_labelled, open_model
from labelboost.commands.reading import Reading
from labelboost.commands.streams import json_text, write_result
from labelboost.report import write_report
from labelboost.report.writing import N_EXAMPLES


@command
def report(
    model: ModelOption,
    data: Annotated[
        Path,
        typer.Option("--data", "-d", help="Examples with labels, better not those of training."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The HTML file to write.")],
    examples: Annotated[
        int,
        typer.Option(
            min=0, help="Most examples to choose from on the page; fewer if they are large."
        ),
    ] = N_EXAMPLES,
    title: Annotated[
        str | None, typer.Option(help="Heading of the page; default: the name of the data.")
    ] = None,
    *,
    reporting: Reporting,
    reading: Reading,
) -> None:
    """Write a page about a model: quality, labels, features, all rules, and single examples.

    The page is one HTML file that needs no network.

    Examples:

    labelboost report --model emotions.json.gz --data emotions-test.arff -o report.html
    """
    loaded, columns = open_model(model)
    dataset = load_labelled(data, columns, reading, reporting)
    write_report(loaded, dataset, output, title=title, n_examples=examples)
    write_result(json_text({"report": str(output)}) if reporting.as_json else f"{output}\n")
