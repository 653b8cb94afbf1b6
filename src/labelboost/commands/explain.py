"""`labelboost explain`: why a model predicts what it predicts."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from labelboost.commands.command import Reporting, command
from labelboost.commands.explanation import Explanation, explain_example
from labelboost.commands.models import ModelOption, load_examples, open_model
from labelboost.commands.reading import DataArgument, Reading
from labelboost.commands.rule_list import RuleWriter
from labelboost.commands.streams import json_text, table_text, write_result
from labelboost.estimators import Columns
from labelboost.wording import format_score


@command
def explain(
    data: DataArgument,
    model: ModelOption,
    example: Annotated[
        int, typer.Option("--example", "-e", min=1, help="Which one, counted from 1.")
    ] = 1,
    top: Annotated[
        int, typer.Option(min=1, help="So many label sets to choose from, the likeliest first.")
    ] = 3,
    *,
    reporting: Reporting,
    reading: Reading,
) -> None:
    """Tell which rules fired for an example, what each adds to each label, and the outcome.

    Examples:

    labelboost explain emotions.arff --model emotions.json.gz --example 7

    labelboost explain new.csv -m films.json.gz --json
    """
    loaded, columns = open_model(model)
    dataset = load_examples(data, columns, reading, reporting)
    if example > dataset.n_examples:
        raise typer.BadParameter(
            f"{dataset.name} has {dataset.n_examples} examples, so there is no {example}",
            param_hint="--example",
        )
    found = explain_example(loaded, dataset.X[example - 1 : example], top)
    if reporting.as_json:
        write_result(json_text({"example": example, **_as_json(found, columns)}))
    else:
        write_result(_as_text(found, columns))


def _names(columns: Columns, row: NDArray[Any]) -> list[str]:
    return [name for name, applies in zip(columns.label_names, row, strict=True) if applies]


def _as_json(found: Explanation, columns: Columns) -> dict[str, Any]:
    writer, labels = RuleWriter(columns), columns.label_names
    return {
        "labels": _names(columns, found.predicted),
        "scores": dict(zip(labels, found.scores.tolist(), strict=True)),
        "probabilities": dict(zip(labels, found.probabilities.tolist(), strict=True)),
        "label_sets": [
            {"labels": _names(columns, own.labels), "probability": own.probability}
            for own in found.alternatives
        ],
        "rules": [writer.as_json(numbered) for numbered in found.fired],
    }


def _as_text(found: Explanation, columns: Columns) -> str:
    writer = RuleWriter(columns)
    parts = [f"predicted: {_set_text(_names(columns, found.predicted))}\n"]
    order = np.argsort(-found.scores, kind="stable").tolist()
    rows = [["label", "score", "probability"]]
    for k in order:
        score, probability = float(found.scores[k]), float(found.probabilities[k])
        rows.append([columns.label_names[k], format_score(score), f"{probability:.3f}"])
    parts.append(table_text(rows, right=(1, 2)))
    if found.alternatives:
        rows = [["probability", "label set"]]
        for own in found.alternatives:
            rows.append([f"{own.probability:.3f}", _set_text(_names(columns, own.labels))])
        parts.append(table_text(rows, right=(0,)))
    rows = [["rule", "adds to the scores"]]
    rows += [[str(n.number), writer.sentence(n.rule)] for n in found.fired]
    parts.append(table_text(rows, right=(0,)))
    return "\n".join(parts)


def _set_text(names: list[str]) -> str:
    return f"{{{', '.join(names)}}}"
