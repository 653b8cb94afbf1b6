"""What the tests of training control share: estimators, settings and data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelboost import RuleBoostingClassifier, TreeBoostingClassifier
from labelboost.data.synthetic import make_multilabel


@dataclass(frozen=True)
class Kind:
    """An estimator class, and how it names the size of the ensemble."""

    estimator: type[Any]
    unit: str

    def __call__(self, size: int, **parameters: Any) -> Any:
        settings = {f"n_{self.unit}": size, "random_state": 1} | parameters
        return self.estimator(**settings)

    def set_size(self, model: Any, size: int) -> Any:
        return model.set_params(**{f"n_{self.unit}": size})

    def best(self, model: Any) -> int:
        return int(getattr(model, f"best_n_{self.unit}_"))


RULES = Kind(RuleBoostingClassifier, "rules")
TREES = Kind(TreeBoostingClassifier, "trees")
KINDS = {"rules": RULES, "trees": TREES}
SIZE = 70
"""Of ensembles whose training is interrupted."""
LOSSES = ("example_logistic", "label_logistic", "labelset_softmax")

SETTINGS: dict[str, tuple[Kind, dict[str, Any]]] = {
    "example-wise": (RULES, {"label_bins": None}),
    "bins": (RULES, {"label_bins": 2}),
    "example-wise, single": (RULES, {"head": "single"}),
    "label-wise": (RULES, {"loss": "label_logistic"}),
    "label-wise, complete": (RULES, {"loss": "label_logistic", "head": "complete"}),
    "softmax": (RULES, {"loss": "labelset_softmax"}),
    "softmax, single": (RULES, {"loss": "labelset_softmax", "head": "single"}),
    "no sampling": (RULES, {"bootstrap": False, "max_features": None, "min_coverage": 3}),
    "feature bins": (RULES, {"feature_bins": 4, "max_conditions": 3}),
    "trees": (TREES, {"max_depth": 3}),
    "trees, example-wise": (TREES, {"loss": "example_logistic", "max_depth": 3}),
    "trees, label-wise": (TREES, {"loss": "label_logistic", "max_leaves": 5}),
}
"""All losses and kinds of heads."""


def some_data(n: int = 250, n_labels: int = 6, seed: int = 0) -> tuple[NDArray[Any], NDArray[Any]]:
    """Numbers, a column of codes, and missing values."""
    data = make_multilabel(n, 8, n_labels, random_state=seed)
    rng = np.random.default_rng(seed)
    X = np.asarray(data.X, dtype=np.float64).round(2)
    X[:, 7] = rng.integers(0, 4, n)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, np.asarray(data.Y)


def weights_of(X: NDArray[Any]) -> NDArray[np.float64]:
    """Weights of any size, some of them zero."""
    weights = np.random.default_rng(7).random(len(X)) * 2
    weights[::11] = 0.0
    return weights


def assert_same_bits(model: Any, other: Any, X: Any) -> None:
    """Compare rules and scores bit by bit."""
    assert model._n_stages == other._n_stages
    for a, b in zip(model.rules_, other.rules_, strict=True):
        assert (a.conditions, a.coverage) == (b.conditions, b.coverage)
        assert a.head.tobytes() == b.head.tobytes()
    assert model.decision_function(X).tobytes() == other.decision_function(X).tobytes()
    assert model._attempts.tolist() == other._attempts.tolist()
