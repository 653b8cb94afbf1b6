"""Data frames of pandas or polars, whichever is wanted and installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from labelboost.explanations.naming import Names
from labelboost.optional import require
from labelboost.parameters import check_choice, check_integer

if TYPE_CHECKING:
    from labelboost.estimators.explaining import ExplainableClassifier

Backend = Literal["pandas", "polars"]


def make_frame(columns: Mapping[str, Sequence[Any]], backend: str) -> Any:
    """Make a data frame of columns of equal length."""
    name = check_choice("backend", backend, ("pandas", "polars"))
    library = require(name, f"data frames with backend={name!r}", name)
    return library.DataFrame(dict(columns))


def rules_to_frame(model: ExplainableClassifier, backend: str, max_labels: int) -> Any:
    """See `ExplainableClassifier.rules_to_frame`."""
    most = check_integer("max_labels", max_labels, minimum=1)
    names = Names.of(model)
    rules = model.rules_
    return make_frame(
        {
            "rule": list(range(len(rules))),
            "conditions": [names.conditions(rule.conditions) for rule in rules],
            "n_conditions": [len(rule.conditions) for rule in rules],
            "coverage": [rule.coverage for rule in rules],
            "gain": [rule.gain for rule in rules],
            "head": [names.head(rule.head, most) for rule in rules],
            "scores": [rule.head.tolist() for rule in rules],
        },
        backend,
    )
