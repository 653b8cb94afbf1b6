"""`labelboost predict`: label sets, probabilities or scores for new examples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from labelboost.commands.command import Reporting, command
from labelboost.commands.models import ModelOption, load_examples, open_model
from labelboost.commands.reading import DataArgument, Reading
from labelboost.commands.streams import (
    STANDARD,
    check_target,
    csv_text,
    json_lines,
    json_text,
    write_result,
)
from labelboost.data.files import show

SEPARATOR = ";"
"""Between the labels of a set in a field of a CSV file."""


@dataclass(frozen=True, slots=True)
class What:
    """Options that say what to predict."""

    proba: Annotated[bool, typer.Option("--proba", help="The probability of each label.")] = False
    scores: Annotated[bool, typer.Option("--scores", help="The score of each label.")] = False
    top: Annotated[
        int | None,
        typer.Option(min=1, help="So many label sets per example, the likeliest first."),
    ] = None
    names: Annotated[
        bool,
        typer.Option("--names", help=f"Label sets as names with {SEPARATOR} between, not as 0/1."),
    ] = False

    def check(self) -> None:
        """Refuse what cannot be had together."""
        chosen = [
            option
            for option, given in (
                ("--proba", self.proba),
                ("--scores", self.scores),
                ("--top", self.top is not None),
            )
            if given
        ]
        if len(chosen) > 1:
            raise typer.BadParameter("choose one of these", param_hint=" / ".join(chosen))
        if self.names and (self.proba or self.scores):
            raise typer.BadParameter(
                f"{chosen[0]} gives numbers, which have no names", param_hint="--names"
            )


@command
def predict(
    data: DataArgument,
    model: ModelOption,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="File to write to; - for standard output.")
    ] = STANDARD,
    lines: Annotated[
        bool, typer.Option("--json-lines", help="One JSON document per example and line.")
    ] = False,
    *,
    what: What,
    reporting: Reporting,
    reading: Reading,
) -> None:
    """Predict labels; data need none. Writes CSV, with a row per example and a column per label.

    Examples are counted from 1. Label columns that the data have are not looked at.

    Examples:

    labelboost predict new.csv --model films.json.gz --output predicted.csv

    labelboost predict new.csv -m films.json.gz --names | head

    labelboost predict new.arff -m m.json.gz --top 3 --json

    labelboost predict - --format csv -m films.json.gz --proba --json-lines < new.csv
    """
    what.check()
    if lines and reporting.as_json:
        raise typer.BadParameter("choose one of these", param_hint="--json / --json-lines")
    check_target(output)
    loaded, columns = open_model(model)
    labels = columns.label_names
    as_text = not (lines or reporting.as_json)
    if what.names and as_text:
        _check_separable(labels)
    dataset = load_examples(data, columns, reading, reporting)
    predicted = _predict(loaded, dataset.X, what, labels)
    if lines:
        text = json_lines(predicted.as_json())
    elif reporting.as_json:
        text = json_text(list(predicted.as_json()))
    else:
        text = predicted.as_csv(names=what.names)
    write_result(text, output)


def _predict(model: Any, X: Any, what: What, labels: tuple[str, ...]) -> Numbers | LabelSets:
    if what.proba:
        return Numbers(labels, "probabilities", model.predict_proba(X))
    if what.scores:
        return Numbers(labels, "scores", model.decision_function(X))
    if what.top is not None:
        likely = model.predict_label_sets(X, top=what.top)
        return LabelSets(labels, np.asarray(likely.label_sets), likely.probabilities)
    decoded = np.asarray(model.predict(X))
    return LabelSets(labels, decoded.reshape(len(decoded), 1, len(labels)), None)


def _check_separable(labels: tuple[str, ...]) -> None:
    for name in labels:
        if SEPARATOR in name or not name:
            raise ValueError(
                f"label {show(name)} cannot be told in a list with {SEPARATOR} between labels; "
                "leave out --names, or use --json-lines"
            )


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """A number per example and label."""

    labels: tuple[str, ...]
    what: str
    values: NDArray[np.float64]

    def as_csv(self, *, names: bool) -> str:
        """A column per label."""
        del names
        rows = ([i, *row] for i, row in enumerate(self.values.tolist(), start=1))
        return csv_text(["example", *self.labels], rows)

    def as_json(self) -> Iterator[dict[str, Any]]:
        """An object per example."""
        for i, row in enumerate(self.values.tolist(), start=1):
            yield {"example": i, self.what: dict(zip(self.labels, row, strict=True))}


@dataclass(frozen=True, slots=True, eq=False)
class LabelSets:
    """One or more label sets per example."""

    labels: tuple[str, ...]
    sets: NDArray[Any]
    """(examples, sets, labels), 0 or 1."""
    probabilities: NDArray[np.float64] | None
    """(examples, sets); None if there is just the predicted set."""

    def as_csv(self, *, names: bool) -> str:
        """A row per label set; its labels in a column each, or all in one."""
        ranked = ["rank", "probability"] if self.probabilities is not None else []
        header = ["example", *ranked, *(["labels"] if names else self.labels)]
        return csv_text(header, self._rows(names))

    def _rows(self, names: bool) -> Iterator[list[object]]:
        for i, own in enumerate(self.sets.tolist()):
            for rank, row in enumerate(own):
                start: list[object] = [i + 1]
                if self.probabilities is not None:
                    start += [rank + 1, float(self.probabilities[i, rank])]
                yield start + ([SEPARATOR.join(self._names(row))] if names else row)

    def as_json(self) -> Iterator[dict[str, Any]]:
        """An object per example."""
        for i, own in enumerate(self.sets.tolist()):
            if self.probabilities is None:
                yield {"example": i + 1, "labels": self._names(own[0])}
                continue
            likely = zip(own, self.probabilities[i].tolist(), strict=True)
            listed = [{"labels": self._names(row), "probability": p} for row, p in likely]
            yield {"example": i + 1, "label_sets": listed}

    def _names(self, row: list[int]) -> list[str]:
        return [name for name, applies in zip(self.labels, row, strict=True) if applies]
