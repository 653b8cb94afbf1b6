"""Labelboost: boosted multi-label rules that get whole label sets right."""

from importlib.metadata import version

from labelboost.estimators import RuleBoostingClassifier, TreeBoostingClassifier
from labelboost.model import Condition, Rule
from labelboost.persistence import load_model, save_model
from labelboost.trees import Tree

__version__ = version("labelboost")
__all__ = [
    "Condition",
    "Rule",
    "RuleBoostingClassifier",
    "Tree",
    "TreeBoostingClassifier",
    "load_model",
    "save_model",
]
