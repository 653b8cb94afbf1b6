"""Labelboost: boosted multi-label rules that get whole label sets right."""

from importlib.metadata import version

from labelboost.estimators import RuleBoostingClassifier
from labelboost.model import Condition, Rule

__version__ = version("labelboost")
__all__ = ["Condition", "Rule", "RuleBoostingClassifier"]
