"""The estimators: scikit-learn's interface to training and prediction."""

from labelboost.estimators.rules import RuleBoostingClassifier

__all__ = ["RuleBoostingClassifier"]
