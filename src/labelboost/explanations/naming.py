"""What features, labels and categories of a model are called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from labelboost.model import Condition, Rule
from labelboost.parameters import check_integer
from labelboost.validation.frames import show
from labelboost.wording import Categories, describe_conditions, describe_head, format_number

if TYPE_CHECKING:
    from labelboost.estimators.explaining import ExplainableClassifier

ALWAYS = "always"
"""The conditions of a rule that has none."""


@dataclass(frozen=True, slots=True, eq=False)
class Names:
    """Texts for everything that a rule mentions."""

    features: Sequence[str] | None
    labels: Sequence[str]
    categories: Categories

    @classmethod
    def of(cls, model: ExplainableClassifier) -> Names:
        """Take the names as they are, for data frames and other programs."""
        schema = model._schema
        features = None if schema.names is None else [str(name) for name in schema.names]
        # Numbers alone would look like scores.
        numbered = model._label_names.dtype.kind == "i"
        labels = [f"label {name}" if numbered else str(name) for name in model._label_names]
        return cls(features, labels, schema.categories)

    def for_display(self) -> Names:
        """Keep names from breaking lines, or a terminal."""
        features = None if self.features is None else [printable(name) for name in self.features]
        categories = {
            feature: [printable(str(value)) for value in values]
            for feature, values in self.categories.items()
        }
        return Names(features, [printable(name) for name in self.labels], categories)

    def feature(self, index: int) -> str:
        return f"feature {index}" if self.features is None else self.features[index]

    def category(self, feature: int, code: float) -> str:
        """Name a category by its code; one that training did not know is only a number."""
        known = self.categories.get(feature)
        if known is not None and 0 <= code < len(known):
            return str(known[int(code)])
        return format_number(code)

    def conditions(self, conditions: Sequence[Condition]) -> str:
        """Put a conjunction into words."""
        if not conditions:
            return ALWAYS
        return describe_conditions(conditions, self.features, self.categories)

    def head(self, scores: NDArray[np.float64], max_labels: int) -> str:
        """Put scores of all labels into words."""
        return describe_head(Rule((), scores, 0), self.labels, max_labels=max_labels)

    def label_set(self, vector: NDArray[np.integer[Any]], max_labels: int) -> str:
        """Put a 0/1 vector into words, such as `{top, middle and 3 more}`."""
        members = np.flatnonzero(vector)
        text = ", ".join(self.labels[k] for k in members[:max_labels])
        if len(members) > max_labels:
            text += f" and {len(members) - max_labels} more"
        return f"{{{text}}}"


def printable(name: str) -> str:
    """Show characters that are none, such as line breaks, as escapes."""
    if name.isprintable():
        return name
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in name
    )


def label_index(model: ExplainableClassifier, label: object) -> int:
    """Find a label by its name in `classes_`."""
    for k, name in enumerate(model._label_names.tolist()):
        if type(name) is type(label) and name == label:
            return k
    # NumPy's own numbers and strings are as good as Python's.
    if isinstance(label, np.generic):
        return label_index(model, label.item())
    first = model._label_names.tolist()[0]
    raise ValueError(
        f"label must be one of the names in classes_, such as {show(first)}; got {show(label)}"
    )


def rule_index(model: ExplainableClassifier, rule: object) -> int:
    """Check the number of a rule."""
    number = check_integer("rule", rule, minimum=0)
    if number >= len(model.rules_):
        raise ValueError(
            f"rule must be at most {len(model.rules_) - 1}, the last one in rules_; got {number}"
        )
    return number
