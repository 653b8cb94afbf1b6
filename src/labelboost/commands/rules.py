"""`labelboost rules`: the rules of a model, filtered and sorted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from labelboost.commands.command import Reporting, command
from labelboost.commands.models import open_model
from labelboost.commands.rule_list import NumberedRule, RuleWriter
from labelboost.commands.streams import (
    STANDARD,
    check_target,
    csv_text,
    json_text,
    table_text,
    write_result,
)
from labelboost.data.files import nearest, show
from labelboost.estimators.naming import Columns


class Order(StrEnum):
    """Values of `--sort`."""

    NUMBER = "number"
    COVERAGE = "coverage"
    EFFECT = "effect"
    LENGTH = "length"


class Form(StrEnum):
    """Values of `--format`."""

    TEXT = "text"
    CSV = "csv"
    JSON = "json"


KEYS: dict[Order, Callable[[NumberedRule], Any]] = {
    Order.NUMBER: lambda numbered: numbered.number,
    Order.COVERAGE: lambda numbered: -numbered.rule.coverage,
    Order.EFFECT: lambda numbered: -numbered.effect,
    Order.LENGTH: lambda numbered: len(numbered.rule.conditions),
}


@command
def rules(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model file.")],
    label: Annotated[
        list[str] | None,
        typer.Option(help="Only rules with a score for this label; may be repeated (any of them)."),
    ] = None,
    feature: Annotated[
        list[str] | None,
        typer.Option(
            help="Only rules with a condition on this feature; may be repeated (any of them)."
        ),
    ] = None,
    top: Annotated[int | None, typer.Option(min=1, help="At most so many rules.")] = None,
    sort: Annotated[
        Order,
        typer.Option(
            help="By number in the model; coverage, the training examples that satisfy the "
            "conditions; effect, coverage times the size of the scores (both the largest first); "
            "or length, the number of conditions."
        ),
    ] = Order.NUMBER,
    form: Annotated[
        Form, typer.Option("--format", help="Text for people, CSV, or JSON.")
    ] = Form.TEXT,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="File to write to; - for standard output.")
    ] = STANDARD,
    *,
    reporting: Reporting,
) -> None:
    """List the rules of a model. Rule 0 is the default rule, which covers everything.

    Examples:

    labelboost rules emotions.json.gz --sort effect --top 10

    labelboost rules emotions.json.gz --label sad-lonely --feature Mean_Acc1298_Mean_Mem40_MFCC_0

    labelboost rules emotions.json.gz --format csv --output rules.csv
    """
    check_target(output)
    loaded, columns = open_model(model)
    chosen = [NumberedRule(i, rule) for i, rule in enumerate(loaded.rules_)]
    if label:
        wanted = _positions("--label", label, columns.label_names)
        chosen = [n for n in chosen if any(n.rule.head[k] != 0.0 for k in wanted)]
    if feature:
        names = _feature_names(columns)
        used = _positions("--feature", feature, names)
        chosen = [n for n in chosen if any(c.feature in used for c in n.rule.conditions)]
    chosen = sorted(chosen, key=KEYS[sort])[:top]
    if reporting.as_json:
        form = Form.JSON
    write_result(_text(chosen, RuleWriter(columns), form), output)


def _feature_names(columns: Columns) -> tuple[str, ...]:
    if columns.feature_names is not None:
        return columns.feature_names
    return tuple(f"feature {j}" for j in range(columns.n_features))


def _positions(option: str, wanted: Sequence[str], names: tuple[str, ...]) -> set[int]:
    found: set[int] = set()
    for name in wanted:
        if name not in names:
            raise ValueError(
                f"{option}: the model does not know {show(name)}{nearest(name, names)}"
            )
        found |= {position for position, known in enumerate(names) if known == name}
    return found


def _text(chosen: Sequence[NumberedRule], writer: RuleWriter, form: Form) -> str:
    if form is Form.JSON:
        return json_text([writer.as_json(numbered) for numbered in chosen])
    if form is Form.CSV:
        header = ["rule", "conditions", "coverage", "effect", *writer.columns.label_names]
        rows = (
            [n.number, writer.conditions(n.rule), n.rule.coverage, n.effect, *n.rule.head.tolist()]
            for n in chosen
        )
        return csv_text(header, rows)
    lines = [[str(n.number), str(n.rule.coverage), writer.sentence(n.rule)] for n in chosen]
    return table_text([["rule", "covers", ""], *lines], right=(0, 1))
