"""Methods of other libraries, to compare ours with: library defaults, one thread."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from labelboost.experiments import adapters
from labelboost.optional import require
from labelboost.parameters import is_integer


@dataclass(frozen=True, slots=True)
class Competitor:
    """A learner of another library, and how it becomes a multi-label model."""

    title: str
    package: str
    """The library, as it is installed."""
    module: str
    learner: str
    """Name of its class in that module."""
    adapt: Callable[[Any, Sequence[int]], Any]
    """From a learner and the numbers of nominal features to a model."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Where we depart from the library's defaults; a configuration may say otherwise."""
    fixed: Mapping[str, Any] = field(default_factory=lambda: {"n_jobs": 1})
    """Threads and messages, which are no matter of a configuration."""
    seed: str = "random_state"
    size: str | None = "n_estimators"
    """The parameter that training time is proportional to, if there is one."""

    @property
    def packages(self) -> tuple[str, ...]:
        """Libraries whose versions matter."""
        return (self.package,)

    def parameter_names(self) -> list[str]:
        """Names that a variant may set."""
        # Some libraries have them all in the signature, others behind **kwargs.
        learner = self._learner()
        kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        signature = inspect.signature(learner).parameters.values()
        names = [parameter.name for parameter in signature if parameter.kind in kinds]
        names += learner().get_params()
        return sorted(set(names) - {self.seed, *self.fixed})

    def complete(self, given: Mapping[str, Any], seed: int) -> dict[str, Any]:
        """Return all settings that differ from the library's; errors if it refuses them."""
        settings = {**self.defaults, **given, self.seed: seed}
        # A tiny model finds most of what is wrong with the values of parameters.
        tiny = dict(settings)
        if self.size and is_integer(tiny.get(self.size, 1)):
            tiny[self.size] = min(tiny.get(self.size, 1), 1)
        model = self.make(tiny)
        model.fit(np.eye(8, dtype=np.float32), np.tile(np.eye(2, dtype=np.uint8), (4, 1)))
        return settings

    def own_defaults(self) -> dict[str, Any]:
        """What settings of a stored result may leave out."""
        return {}

    def make(self, settings: Mapping[str, Any], nominal: Sequence[int] = ()) -> Any:
        """Return a model that can be fitted."""
        return self.adapt(self._learner()(**settings, **self.fixed), nominal)

    def _learner(self) -> Any:
        return getattr(require(self.module, "comparisons", "comparison"), self.learner)


FOREST = {"n_estimators": 300}
BOOSTED = {"n_estimators": 200}
QUIET = {"n_jobs": 1, "verbosity": 0}


def _scikit_learn(title: str, learner: str, adapt: Callable[..., Any]) -> Competitor:
    return Competitor(title, "scikit-learn", "sklearn.ensemble", learner, adapt, FOREST)


def _xgboost(title: str, strategy: str) -> Competitor:
    parameters = BOOSTED | {"multi_strategy": strategy}
    return Competitor(
        title, "xgboost", "xgboost", "XGBClassifier", adapters.Native, parameters, QUIET
    )


COMPETITORS: Mapping[str, Competitor] = {
    "random-forest": _scikit_learn("random forest", "RandomForestClassifier", adapters.Native),
    "extra-trees": _scikit_learn("extra trees", "ExtraTreesClassifier", adapters.Native),
    "powerset-forest": _scikit_learn(
        "label powerset forest", "RandomForestClassifier", adapters.LabelPowerset
    ),
    "logistic-chain": Competitor(
        "chain, logistic regression",
        "scikit-learn",
        "sklearn.linear_model",
        "LogisticRegression",
        adapters.LinearChain,
        fixed={},
        size=None,
    ),
    "xgboost-multi": _xgboost("XGBoost, multi-output trees", "multi_output_tree"),
    "xgboost-per-label": _xgboost("XGBoost, trees per label", "one_output_per_tree"),
    "catboost": Competitor(
        "CatBoost, MultiLogloss",
        "catboost",
        "catboost",
        "CatBoostClassifier",
        adapters.NativeOrConstant,
        {"loss_function": "MultiLogloss"},
        {"thread_count": 1, "verbose": False, "allow_writing_files": False},
        seed="random_seed",
        size="iterations",
    ),
    "lightgbm-chain": Competitor(
        "chain, LightGBM",
        "lightgbm",
        "lightgbm",
        "LGBMClassifier",
        adapters.Chain,
        fixed={"n_jobs": 1, "verbosity": -1},
    ),
}
"""Names in configurations to methods."""
