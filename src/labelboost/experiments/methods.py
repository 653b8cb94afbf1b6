"""What a variant may name as its `estimator`: ours, and those of other libraries."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from labelboost.experiments.competitors import COMPETITORS
from labelboost.parameters import is_integer

RULES = "rules"
TREES = "trees"

SET_BY_TASK = (
    *("random_state", "n_jobs", "verbose", "profile", "categorical_features"),
    *("warm_start", "checkpoint", "checkpoint_every", "checkpoint_seconds"),
)
"""Parameters of our estimators that are the same for all variants or of no interest."""


class Method(Protocol):
    """How to train a model of some kind."""

    @property
    def title(self) -> str:
        """Its name in tables."""
        ...

    @property
    def packages(self) -> tuple[str, ...]:
        """Libraries whose versions matter."""
        ...

    def parameter_names(self) -> list[str]:
        """Names that a variant may set."""
        ...

    def complete(self, given: Mapping[str, Any], seed: int) -> dict[str, Any]:
        """Check the parameters that were given and return the settings to be stored.

        Raises whatever the method itself raises if something is wrong with a value.
        """
        ...

    def own_defaults(self) -> dict[str, Any]:
        """What settings of a stored result may leave out."""
        ...

    def make(self, settings: Mapping[str, Any], nominal: Sequence[int] = ()) -> Any:
        """Return a model with fit, predict and predict_proba that uses one thread."""
        ...


@dataclass(frozen=True, slots=True)
class Boosting:
    """One of our own estimators, which can be evaluated at any stage of training."""

    title: str
    class_name: str
    size: str
    """The parameter that says how many rules or trees."""
    packages: tuple[str, ...] = ()

    def parameter_names(self) -> list[str]:
        """Names that a variant may set."""
        return [name for name in self.own_defaults() if name not in SET_BY_TASK]

    def complete(self, given: Mapping[str, Any], seed: int) -> dict[str, Any]:
        """Return the values of all parameters; ValueError or TypeError if one is wrong."""
        parameters = self._class(**given, random_state=seed).get_params()
        # A tiny model finds all that is wrong with the values of parameters.
        size = parameters[self.size]
        tiny = 1 if is_integer(size) and size > 1 else size
        model = self._class(**{**parameters, self.size: tiny})
        with warnings.catch_warnings():
            # Nobody wants to know that there is nothing to be learned from that.
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(np.eye(4), np.eye(4, 2, dtype=np.uint8))
        return {name: parameters[name] for name in (*self.parameter_names(), "random_state")}

    def own_defaults(self) -> dict[str, Any]:
        """What settings of a stored result may leave out: parameters added since."""
        return dict(self._class().get_params())

    def make(self, settings: Mapping[str, Any], nominal: Sequence[int] = ()) -> Any:
        """Return a model that can be fitted and tells where its time went."""
        return self._class(
            **settings, categorical_features=list(nominal) or None, profile=True, n_jobs=1
        )

    @property
    def _class(self) -> Any:
        return getattr(import_module("labelboost"), self.class_name)


OURS: Mapping[str, Boosting] = {
    RULES: Boosting("boosted rules", "RuleBoostingClassifier", "n_rules"),
    TREES: Boosting("boosted trees", "TreeBoostingClassifier", "n_trees"),
}

METHODS: Mapping[str, Method] = {**OURS, **COMPETITORS}
"""All there are, in the order of tables."""
