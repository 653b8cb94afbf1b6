"""The estimators: scikit-learn's interface to training and prediction."""

from labelboost.estimators.rules import RuleBoostingClassifier
from labelboost.estimators.trees import TreeBoostingClassifier

__all__ = ["RuleBoostingClassifier", "TreeBoostingClassifier"]
