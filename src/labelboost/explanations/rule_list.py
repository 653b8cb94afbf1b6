"""A model as a list of rules to read."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from labelboost.explanations.naming import Names

if TYPE_CHECKING:
    from labelboost.estimators.explaining import ExplainableClassifier

N_SHOWN = 10
MAX_LABELS = 6
WIDTH = 100


def rule_list(model: ExplainableClassifier) -> str:
    """Show the first rules of a fitted model, and say how many more there are."""
    names = Names.of(model).for_display()
    rules = model.rules_
    digits = len(str(min(len(rules), N_SHOWN) - 1))
    lines = [_title(model)]
    for number, rule in enumerate(rules[:N_SHOWN]):
        head = names.head(rule.head, MAX_LABELS)
        start = f"if {names.conditions(rule.conditions)}" if rule.conditions else "in general"
        covers = f" (covers {rule.coverage})" if rule.conditions else ""
        lines += textwrap.wrap(
            f"{number:>{digits}}. {start}: {head}{covers}",
            WIDTH,
            initial_indent="  ",
            subsequent_indent=" " * (digits + 4),
            break_on_hyphens=False,
        )
    if len(rules) > N_SHOWN:
        more = len(rules) - N_SHOWN
        lines.append(
            f"  and {more} more {'rule' if more == 1 else 'rules'}; rules_to_frame() has all"
        )
    return "\n".join(lines)


def _title(model: ExplainableClassifier) -> str:
    n_rules, n_labels, n_features = len(model.rules_), len(model._label_names), model.n_features_in_
    size = _counted(n_rules, "rule")
    if model._n_stages != n_rules:  # each tree is as many rules as it has leaves
        size = f"{_counted(model._n_stages, model._unit.removesuffix('s'))} ({size})"
    return (
        f"{type(model).__name__}: {size} for {_counted(n_labels, 'label')} from "
        f"{_counted(n_features, 'feature')}"
    )


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
