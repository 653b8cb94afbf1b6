"""What every estimator has to say about itself: rules in words, importances, explanations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from labelboost.estimators.prediction import ScoreClassifier
from labelboost.explanations.explanation import Explanation, explain
from labelboost.explanations.importances import feature_importances, label_feature_importances
from labelboost.explanations.rule_list import rule_list
from labelboost.explanations.tables import Backend, rules_to_frame
from labelboost.model import Rule


class ExplainableClassifier(ScoreClassifier):
    """Thin methods around :mod:`labelboost.explanations`."""

    if TYPE_CHECKING:  # an attribute or a property, as subclasses like

        @property
        def rules_(self) -> list[Rule]: ...

    def __str__(self) -> str:
        """Show a fitted model as a list of rules, any other as scikit-learn does.

        Only `print` and `str` do so. `repr` always shows the parameters: scikit-learn relies on it
        for whatever contains this estimator.
        """
        return rule_list(self) if hasattr(self, "rules_") else repr(self)

    def rules_to_frame(self, backend: Backend = "pandas", *, max_labels: int = 6) -> Any:
        """Return the rules as a data frame of pandas or polars, one row per rule.

        Columns: "rule" (its number; 0 is the default rule), "conditions" (in words),
        "n_conditions", "coverage" (training examples), "gain", "head" (in words, with at most
        `max_labels` labels) and "scores" (a list with the score of each label in `classes_`).
        """
        check_is_fitted(self)
        return rules_to_frame(self, backend, max_labels)

    def explain(self, x: Any, *, n_label_sets: int = 5) -> Explanation:
        """Explain the prediction for one example.

        x: one row, as an array of one or two dimensions, a sparse matrix, a data frame, or a
        pandas series of numbers. `n_label_sets`: how many label sets to rank, the predicted one
        included.
        """
        check_is_fitted(self)
        return explain(self._by_labels(), x, n_label_sets)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """The share of each feature in the gain of all rules: (n_features,), with sum 1.

        The gain of a rule is by how much it lowered the mean training loss, see `Rule.gain`; it
        is divided equally among the rule's conditions. All zeros if no rule has conditions.
        """
        check_is_fitted(self)
        return feature_importances(self.rules_, self.n_features_in_)

    @property
    def label_feature_importances_(self) -> NDArray[np.float64]:
        """The same for each label: (n_labels, n_features), each row with sum 1.

        The gain of a rule is divided among the labels in proportion to the absolute scores of its
        head. The row of a label that no rule with conditions predicts for is zero.
        """
        check_is_fitted(self)
        return label_feature_importances(self.rules_, self.n_features_in_, len(self._label_names))
