"""`labelboost evaluate`: how good a model is on data with labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
import typer

from labelboost.commands.command import Reporting, command
from labelboost.commands.models import ModelOption, load_labelled, open_model
from labelboost.commands.reading import DataArgument, Reading
from labelboost.commands.streams import finite, json_text, table_text, write_result
from labelboost.data import Dataset
from labelboost.data.files import nearest, show
from labelboost.experiments.measures import MEASURES, Predictions, compute_measures

NEEDS_SEVERAL_LABELS = frozenset({"ranking_loss", "coverage", "average_precision"})
"""Measures of the order of labels, which one label has not."""


def _complete(incomplete: str) -> list[str]:
    return [name for name in MEASURES if name.startswith(incomplete)]


@command
def evaluate(
    data: DataArgument,
    model: ModelOption,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            help=f"Only this one; may be repeated. One of {', '.join(MEASURES)}.",
            autocompletion=_complete,
        ),
    ] = None,
    *,
    reporting: Reporting,
    reading: Reading,
) -> None:
    """Compute measures of quality on data with labels.

    Examples:

    labelboost evaluate emotions-test.arff --model emotions.json.gz

    labelboost evaluate test.csv -m m.json.gz --measure subset_01 --measure hamming --json
    """
    for name in measure or ():
        if name not in MEASURES:
            raise typer.BadParameter(
                f"{show(name)} is not a measure{nearest(name, tuple(MEASURES))}",
                param_hint="--measure",
            )
    loaded, columns = open_model(model)
    dataset = load_labelled(data, columns, reading, reporting)
    values = measure_all(loaded, dataset, measure or tuple(MEASURES))
    if reporting.as_json:
        summary = {"model": str(model), "data": dataset.name, "examples": dataset.n_examples}
        write_result(json_text({**summary, "measures": values}))
    else:
        write_result(measures_text(values))


def measure_all(
    model: Any, dataset: Dataset, names: Sequence[str] = tuple(MEASURES)
) -> dict[str, float | None]:
    """Compute measures; None for those that make no sense with a single label."""
    label_sets = np.asarray(model.predict(dataset.X)).reshape(dataset.Y.shape)
    scores, likely = model.decision_function(dataset.X), model.predict_proba(dataset.X)
    matrices = [dataset.Y, label_sets, scores, likely]
    possible = list(names)
    if dataset.n_labels == 1:
        # scikit-learn takes one column for two classes, both of which count. Two equal columns
        # have the measures of one label.
        matrices = [np.repeat(matrix, 2, axis=1) for matrix in matrices]
        possible = [name for name in names if name not in NEEDS_SEVERAL_LABELS]
    found = compute_measures(possible, Predictions(*matrices))
    return {name: finite(found[name]) if name in found else None for name in names}


def measures_text(values: dict[str, float | None]) -> str:
    """A table for people."""
    rows = [["measure", "value", "better", ""]]
    for name, value in values.items():
        measure = MEASURES[name]
        shown = "-" if value is None else f"{value:.4f}"
        better = "lower" if measure.lower_is_better else "higher"
        rows.append([name, shown, better, measure.title])
    return table_text(rows, right=(1,))
