"""Labelboost: boosted multi-label rules that get whole label sets right."""

from importlib.metadata import version

from labelboost.estimators import RuleBoostingClassifier, TreeBoostingClassifier
from labelboost.model import Condition, Rule
from labelboost.persistence.model_files import load_model, save_model
from labelboost.training.callbacks import TrainingState
from labelboost.trees import Tree

__version__ = version("labelboost")
__all__ = [
    "Condition",
    "Rule",
    "RuleBoostingClassifier",
    "TrainingState",
    "Tree",
    "TreeBoostingClassifier",
    "load_model",
    "save_model",
]
