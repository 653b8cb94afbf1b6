"""Experiments: many models on many folds, and what to conclude from them."""

from labelboost.experiments.configuration import Experiment, read_configuration
from labelboost.experiments.records import Result, read_results

__all__ = ["Experiment", "Result", "read_configuration", "read_results"]
