"""Explanations in words."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from labelboost.explanations.naming import printable
from labelboost.wording import format_score

if TYPE_CHECKING:
    from labelboost.explanations.explanation import Explanation

WIDTH = 100
MAX_RULES = 10
MAX_LABELS = 12
LABELS_PER_RULE = 4
LABELS_PER_SET = 8


def as_text(explanation: Explanation) -> str:
    """Lay out the tables as plain text."""
    stream = io.StringIO()
    # Neither colours nor the width of a terminal: the same text wherever it is made.
    console = Console(
        file=stream,
        width=WIDTH,
        color_system=None,
        force_terminal=False,
        force_jupyter=False,
        highlight=False,
    )
    console.print(as_tables(explanation))
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines())


def as_tables(explanation: Explanation) -> Group:
    """Make what rich displays."""
    names = explanation.names.for_display()
    predicted = names.label_set(explanation.predicted, LABELS_PER_SET)
    fired = f"{len(explanation.rules)} of {explanation.n_rules} rules fired"
    return Group(
        Text.assemble(("Predicted: ", "bold"), (predicted, "bold green"), f" ({fired})"),
        Text(),
        _labels(explanation),
        Text(),
        _rules(explanation),
        Text(),
        _label_sets(explanation),
    )


def strongest_rules(explanation: Explanation, most: int) -> NDArray[np.intp]:
    """Find the fired rules with the largest effect, the sum of their absolute contributions."""
    with np.errstate(over="ignore"):
        effects = np.abs(explanation.contributions).sum(axis=1)
    found: NDArray[np.intp] = np.argsort(-effects, kind="stable")[:most]
    return found


def leading_labels(explanation: Explanation, most: int) -> NDArray[np.intp]:
    """Find the labels to show: predicted ones first, then by score."""
    found: NDArray[np.intp] = np.lexsort((-explanation.scores, -explanation.predicted))[:most]
    return found


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)


def _labels(explanation: Explanation) -> Table:
    table = _table("Scores of the labels")
    table.add_column("Label", overflow="fold")
    for heading in ("Score", "Probability", "Predicted"):
        table.add_column(heading, justify="right")
    shown = leading_labels(explanation, MAX_LABELS)
    names = explanation.names.for_display()
    for k in shown:
        chosen = bool(explanation.predicted[k])
        table.add_row(
            Text(names.labels[k], style="bold" if chosen else ""),
            _signed(float(explanation.scores[k])),
            _share(float(explanation.probabilities[k])),
            "yes" if chosen else "no",
        )
    if len(explanation.scores) > len(shown):
        table.add_row(f"and {len(explanation.scores) - len(shown)} more")
    return table


def _rules(explanation: Explanation) -> Table:
    table = _table("Rules that fired, the largest effect first")
    table.add_column("Rule", justify="right", no_wrap=True)
    table.add_column("Adds", overflow="fold", ratio=2)
    table.add_column("If", overflow="fold", ratio=3)
    names = explanation.names.for_display()
    shown = strongest_rules(explanation, MAX_RULES)
    for i in shown:
        table.add_row(
            str(explanation.rules[i]),
            Text(names.head(explanation.contributions[i], LABELS_PER_RULE)),
            Text(printable(explanation.conditions[i])),
        )
    others = np.delete(explanation.contributions, shown, axis=0)
    if len(others):
        word = "rule" if len(others) == 1 else "rules"
        total = Text(names.head(others.sum(axis=0), LABELS_PER_RULE))
        table.add_row(f"+{len(others)}", total, f"the other {word} together")
    return table


def _label_sets(explanation: Explanation) -> Table:
    sets = explanation.label_sets
    seen = "label sets seen in training" if explanation.decoding == "known" else "all label sets"
    table = _table(f"Label sets, the best of {seen} first")
    table.add_column("Label set", overflow="fold")
    table.add_column("Loss", justify="right")
    with_shares = not np.isnan(sets.probabilities).all()
    if with_shares:
        table.add_column("Probability", justify="right")
    names = explanation.names.for_display()
    for s, vector in enumerate(sets.vectors):
        cells = [Text(names.label_set(vector, LABELS_PER_SET), style="" if s else "bold")]
        cells.append(Text(f"{sets.losses[s]:.4g}"))
        if with_shares:
            cells.append(Text(_share(float(sets.probabilities[s]))))
        table.add_row(*cells)
    return table


def _signed(score: float) -> str:
    return format_score(score) if abs(score) < 1e6 else f"{score:+.3g}"


def _share(probability: float) -> str:
    return f"{100 * probability:.1f} %"
