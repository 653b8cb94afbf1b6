"""Trains a model with the estimator and with the reference, and compares them rule by rule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from labelboost import (
    Rule,
    RuleBoostingClassifier,
    TreeBoostingClassifier,
    reference,
    reference_trees,
)
from labelboost.data.dataset import Dataset
from labelboost.data.npz import load_npz
from labelboost.label_sets import LabelSets
from labelboost.repetition import find_tickets
from labelboost.sampling import resolve_max_features, resolve_seed

CORE_SETTINGS: dict[str, Any] = {
    "loss": "example_logistic",
    "single_head": False,
    "use_bins": False,
    "bin_ratio": 0.0,
    "bins_per_sign": 1,
    "exact_aggregation": False,
    "learning_rate": 0.3,
    "l2": 1.0,
    "bootstrap": True,
    "max_features": 0,
    "max_conditions": 0,
    "min_coverage": 1,
    "seed": 1,
    "n_threads": 1,
}
"""Arguments of the core's Booster: an exact search for complete heads."""

DATA = Path(__file__).parents[2] / "shared" / "data"


def real_data(name: str) -> Dataset:
    """Load a benchmark data set, which is not part of the repository."""
    if not DATA.is_dir():
        pytest.skip(
            f"the benchmark data are not here: {DATA.name}/ beside the repository is absent"
        )
    return load_npz(DATA / f"{name}.npz")


def fit_both(
    X: NDArray[Any],
    Y: NDArray[Any],
    nominal: NDArray[np.bool_] | None = None,
    sample_weight: NDArray[np.float64] | None = None,
    X_core: Any = None,
    **parameters: Any,
) -> tuple[RuleBoostingClassifier, list[Rule]]:
    """Train with the estimator (on `X_core`, another form of X, if given) and the reference."""
    parameters = {"random_state": 1, "label_bins": None} | parameters
    listed = None if nominal is None else np.flatnonzero(nominal)
    model = RuleBoostingClassifier(**parameters, categorical_features=listed)
    model.fit(X if X_core is None else X_core, Y, sample_weight)
    full = model.get_params()
    head = full["head"]
    if head == "auto":
        head = "single" if full["loss"] == "label_logistic" else "complete"
    shared = ("n_rules", "loss", "label_bins", "label_bin_aggregation", "learning_rate", "l2",
              "bootstrap", "max_conditions", "min_coverage")  # fmt: skip
    settings = reference.Settings(
        **{name: full[name] for name in shared},
        head=head,
        max_features=resolve_max_features(full["max_features"], X.shape[1]),
        seed=resolve_seed(full["random_state"]),
    )
    tickets = tickets_of(X, Y, sample_weight)
    X = np.asarray(X, dtype=np.float64)
    return model, reference.fit(X, Y, settings, sample_weight, nominal, tickets)


def tickets_of(
    X: NDArray[Any], Y: NDArray[Any], sample_weight: NDArray[np.float64] | None
) -> NDArray[np.int32] | None:
    weights = np.ones(len(X)) if sample_weight is None else sample_weight
    return find_tickets(X, LabelSets.of(Y.astype(np.uint8), weights), weights)


def assert_same_rules(computed: list[Rule], expected: list[Rule]) -> None:
    """Compare conditions exactly and heads to 1e-5, relative to the largest score of the head.

    What is smaller than 1e-15 is rounding: sums over a few examples of numbers up to one.
    """
    for i, (comp, ref) in enumerate(zip(computed, expected, strict=False)):
        assert comp.conditions == ref.conditions, f"rule {i}"
        assert comp.coverage == ref.coverage, f"rule {i}"
        scale = np.abs(ref.head).max()
        np.testing.assert_allclose(
            comp.head,
            ref.head,
            rtol=1e-5,
            atol=max(1e-9 * scale, 1e-15),
            err_msg=f"head of rule {i}",
        )
        np.testing.assert_allclose(
            comp.gain, ref.gain, rtol=1e-5, atol=1e-15, err_msg=f"gain of rule {i}"
        )
    assert len(computed) == len(expected)


def fit_both_trees(
    X: NDArray[Any],
    Y: NDArray[Any],
    nominal: NDArray[np.bool_] | None = None,
    sample_weight: NDArray[np.float64] | None = None,
    X_core: Any = None,
    **parameters: Any,
) -> tuple[TreeBoostingClassifier, Rule, list[list[Rule]]]:
    """Train trees with the estimator and with the reference."""
    simple = {"label_bins": None, "feature_bins": None, "max_depth": 6, "max_leaves": None,
              "min_coverage": 1, "criterion": "newton"}  # fmt: skip
    parameters = {"random_state": 1} | simple | parameters
    listed = None if nominal is None else np.flatnonzero(nominal)
    model = TreeBoostingClassifier(**parameters, categorical_features=listed)
    model.fit(X if X_core is None else X_core, Y, sample_weight)
    full = model.get_params()
    shared = ("n_trees", "loss", "label_bins", "label_bin_aggregation", "learning_rate", "l2",
              "subsample", "max_depth", "max_leaves", "min_coverage", "criterion")  # fmt: skip
    settings = reference_trees.TreeSettings(
        **{name: full[name] for name in shared},
        best_first=full["growth"] == "best_first",
        max_features=resolve_max_features(full["max_features"], X.shape[1]),
        seed=resolve_seed(full["random_state"]),
    )
    tickets = tickets_of(X, Y, sample_weight)
    default, trees = reference_trees.fit_trees(
        np.asarray(X, dtype=np.float64), Y, settings, sample_weight, nominal, tickets
    )
    return model, default, trees


def assert_same_trees(
    model: TreeBoostingClassifier, default: Rule, expected: list[list[Rule]]
) -> None:
    """Compare leaf by leaf."""
    assert_same_rules([model.default_], [default])
    for i, (tree, leaves) in enumerate(zip(model.trees_, expected, strict=False)):
        try:
            assert_same_rules(tree.rules(), leaves)
        except AssertionError as error:
            raise AssertionError(f"tree {i}: {error}") from error
    assert len(model.trees_) == len(expected)
