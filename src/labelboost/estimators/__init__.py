"""The estimators: scikit-learn's interface to training and prediction."""

from labelboost.estimators.naming import Columns, columns_of, name_columns
from labelboost.estimators.rules import RuleBoostingClassifier

__all__ = ["Columns", "RuleBoostingClassifier", "columns_of", "name_columns"]
