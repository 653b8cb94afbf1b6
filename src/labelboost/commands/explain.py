"""`labelboost explain`: why a model predicts what it predicts."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from labelboost.commands.command import Reporting, command
from labelboost.commands.models import ModelOption, load_examples, open_model
from labelboost.commands.reading import DataArgument, Reading
from labelboost.commands.rule_list import NumberedRule, RuleWriter
from labelboost.commands.streams import finite, json_text, on_one_line, table_text, write_result
from labelboost.estimators.naming import Columns
from labelboost.explanations import Explanation
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
    found = loaded.explain(dataset.X[example - 1 : example], n_label_sets=top)
    fired = [NumberedRule(int(number), loaded.rules_[number]) for number in found.rules]
    if reporting.as_json:
        write_result(json_text({"example": example, **_as_json(found, fired, columns)}))
    else:
        write_result(_as_text(found, fired, columns))


def _names(columns: Columns, row: NDArray[Any]) -> list[str]:
    return [name for name, applies in zip(columns.label_names, row, strict=True) if applies]


def _alternatives(found: Explanation, columns: Columns) -> list[tuple[list[str], float, float]]:
    """Label sets, their losses and probabilities."""
    sets = found.label_sets
    numbers = zip(sets.vectors, sets.losses.tolist(), sets.probabilities.tolist(), strict=True)
    return [(_names(columns, vector), loss, likely) for vector, loss, likely in numbers]


def _as_json(found: Explanation, fired: list[NumberedRule], columns: Columns) -> dict[str, Any]:
    writer, labels = RuleWriter(columns), columns.label_names
    return {
        "labels": _names(columns, found.predicted),
        "scores": dict(zip(labels, found.scores.tolist(), strict=True)),
        "probabilities": dict(zip(labels, found.probabilities.tolist(), strict=True)),
        "label_sets": [
            {"labels": names, "loss": finite(loss), "probability": finite(likely)}
            for names, loss, likely in _alternatives(found, columns)
        ],
        "rules": [writer.as_json(numbered) for numbered in fired],
    }


def _as_text(found: Explanation, fired: list[NumberedRule], columns: Columns) -> str:
    writer = RuleWriter(columns)
    parts = [f"predicted: {_set_text(_names(columns, found.predicted))}\n"]
    order = np.argsort(-found.scores, kind="stable").tolist()
    rows = [["label", "score", "probability"]]
    for k in order:
        score, probability = float(found.scores[k]), float(found.probabilities[k])
        rows.append([columns.label_names[k], format_score(score), f"{probability:.3f}"])
    parts.append(table_text(rows, right=(1, 2)))
    alternatives = _alternatives(found, columns)
    if alternatives:
        rows = [["loss", "probability", "label set"]]
        rows += [[f"{loss:.3f}", f"{p:.3f}", _set_text(names)] for names, loss, p in alternatives]
        parts.append(table_text(rows, right=(0, 1)))
    rows = [["rule", "adds to the scores"]]
    rows += [[str(numbered.number), writer.sentence(numbered.rule)] for numbered in fired]
    parts.append(table_text(rows, right=(0,)))
    return "\n".join(parts)


def _set_text(names: list[str]) -> str:
    return on_one_line(f"{{{', '.join(names)}}}")
