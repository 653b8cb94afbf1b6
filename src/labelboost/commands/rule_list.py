"""Rules of a model as text, rows and JSON, by the names of its columns."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from labelboost.estimators.naming import Columns
from labelboost.model import Condition, Rule
from labelboost.wording import describe_conditions, describe_rule

MAX_LABELS = 6


@dataclass(frozen=True, slots=True)
class NumberedRule:
    """A rule and its position in `rules_`; number 0 is the default rule."""

    number: int
    rule: Rule

    @property
    def effect(self) -> float:
        """How much the rule moves scores: examples covered times the size of its scores."""
        return self.rule.coverage * float(np.abs(self.rule.head).sum())


@dataclass(frozen=True, slots=True, eq=False)
class RuleWriter:
    """Writes rules with the names of a model."""

    columns: Columns

    def sentence(self, rule: Rule, max_labels: int = MAX_LABELS) -> str:
        """The rule in words."""
        columns = self.columns
        names = (columns.feature_names, columns.label_names, columns.categories)
        return describe_rule(rule, *names, max_labels=max_labels)

    def conditions(self, rule: Rule) -> str:
        """The conditions in words; nothing for a rule that covers everything."""
        columns = self.columns
        return describe_conditions(rule.conditions, columns.feature_names, columns.categories)

    def as_json(self, numbered: NumberedRule) -> dict[str, Any]:
        """All there is to know about a rule."""
        rule = numbered.rule
        return {
            "rule": numbered.number,
            "text": self.sentence(rule),
            "conditions": [self._condition(condition) for condition in rule.conditions],
            "coverage": rule.coverage,
            "effect": numbered.effect,
            "scores": self.scores(rule),
        }

    def scores(self, rule: Rule) -> dict[str, float]:
        """Label to score; labels with score 0 are left out."""
        pairs = zip(self.columns.label_names, rule.head.tolist(), strict=True)
        return {name: score for name, score in pairs if score != 0.0}

    def feature(self, j: int) -> str:
        """The name of a feature, or its number."""
        names = self.columns.feature_names
        return f"feature {j}" if names is None else names[j]

    def _condition(self, condition: Condition) -> dict[str, Any]:
        categories = self.columns.categories.get(condition.feature)
        value: str | float = condition.value
        if categories is not None and condition.value < len(categories):
            value = categories[int(condition.value)]
        # Conditions of some models say more, such as what becomes of missing values.
        known = {"feature", "operator", "value"}
        more = {f.name: getattr(condition, f.name) for f in fields(condition)}
        return {
            "feature": self.feature(condition.feature),
            "operator": condition.operator,
            "value": value,
            **{name: entry for name, entry in more.items() if name not in known},
        }
