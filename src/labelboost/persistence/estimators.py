"""How estimators are stored: all that they have in common, and their ensembles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelboost.boosting import Boosted
from labelboost.estimators import RuleBoostingClassifier, TreeBoostingClassifier
from labelboost.estimators.base import BoostingClassifier
from labelboost.estimators.control import check_control_parameters
from labelboost.losses import LOSSES
from labelboost.model import Rule
from labelboost.parameters import check_boolean, check_integer, check_optional_integer
from labelboost.persistence.classes import decode_classes, encode_classes
from labelboost.persistence.codec import Budget, Codec
from labelboost.persistence.features import decode_features, encode_features
from labelboost.persistence.nodes import Malformed, Node
from labelboost.persistence.rules import check_total, decode_rule, decode_rules, encode_rule
from labelboost.persistence.training import decode_training, encode_training
from labelboost.persistence.trees import decode_trees, encode_tree
from labelboost.sampling import resolve_max_features
from labelboost.trees import Tree

BEFORE = ("loss", "one_dimensional", "features", "classes", "label_sets")
BEHIND = ("training_times", "training_profile", "training")


def _encode(model: BoostingClassifier, ensemble: dict[str, Any]) -> dict[str, Any]:
    """Turn the fitted attributes into JSON values, those of the ensemble in their midst."""
    sets = zip(model._known, model._known_weights, strict=True)
    before = (
        model._fitted_loss,
        model._one_dimensional,
        encode_features(model._schema),
        encode_classes(model.classes_, exclusive=model._one_dimensional),
        [
            {"labels": np.flatnonzero(vector).tolist(), "weight": float(weight)}
            for vector, weight in sets
        ],
    )
    behind = (
        model.training_times_.tolist(),
        getattr(model, "training_profile_", None),
        encode_training(model),
    )
    return {
        **dict(zip(BEFORE, before, strict=True)),
        **ensemble,
        **dict(zip(BEHIND, behind, strict=True)),
    }


DecodeEnsemble = Callable[[Sequence[Node], NDArray[np.bool_], int, Budget], Boosted[Any]]
"""Checks the values of the ensemble, given which features are nominal and how many labels there
are; what is learned and nothing else of the result counts."""


def _decode(
    model: BoostingClassifier,
    node: Node,
    budget: Budget,
    ensemble: Sequence[str],
    decode_ensemble: DecodeEnsemble,
) -> None:
    """Check fitted attributes and parameters, and complete the model."""
    nodes = node.fields(*BEFORE, *ensemble, *BEHIND)
    loss, one_dimensional, features, classes, label_sets = nodes[: len(BEFORE)]
    times, profile, training = nodes[-len(BEHIND) :]
    schema = decode_features(features, budget)
    _check_parameters(model, schema.n_features)
    names, n_labels = decode_classes(classes, one_dimensional.flag())
    vectors, weights = _decode_label_sets(label_sets, n_labels, budget)
    if one_dimensional.flag() and n_labels > 1 and (vectors.sum(axis=1) != 1).any():
        raise Malformed("a label set of its training data is not a single class")
    boosted = decode_ensemble(nodes[len(BEFORE) : -len(BEHIND)], schema.nominal, n_labels, budget)
    optional: dict[str, Any] = {} if schema.names is None else {"feature_names_in_": schema.names}
    if profile.value is not None:
        optional["training_profile_"] = {
            name: member.number() for name, member in profile.members().items()
        }
    model._replace_model(
        training_times_=times.numbers(exactly=1 + len(boosted.learned)),
        classes_=names,
        n_features_in_=schema.n_features,
        _schema=schema,
        _one_dimensional=one_dimensional.flag(),
        _known=vectors,
        _known_weights=weights,
        _fitted_loss=loss.choice(LOSSES),
        **model._ensemble_attributes(boosted, schema.n_features, n_labels),
        **decode_training(training, model._unit, len(boosted.learned)),
        **optional,
    )


def _encode_rules(model: RuleBoostingClassifier) -> dict[str, Any]:
    return _encode(model, {"rules": [encode_rule(rule) for rule in model.rules_]})


def _decode_rules(model: RuleBoostingClassifier, node: Node, budget: Budget) -> None:
    def decode(
        nodes: Sequence[Node], nominal: NDArray[np.bool_], n_labels: int, budget: Budget
    ) -> Boosted[Rule]:
        default, *learned = decode_rules(nodes[0], nominal, n_labels, budget)
        return Boosted(default, learned, [], [], default_counts=True)

    _decode(model, node, budget, ("rules",), decode)


def _encode_trees(model: TreeBoostingClassifier) -> dict[str, Any]:
    trees = [encode_tree(tree) for tree in model.trees_]
    return _encode(model, {"default": encode_rule(model.default_), "trees": trees})


def _decode_trees(model: TreeBoostingClassifier, node: Node, budget: Budget) -> None:
    def decode(
        nodes: Sequence[Node], nominal: NDArray[np.bool_], n_labels: int, budget: Budget
    ) -> Boosted[Tree]:
        default = decode_rule(nodes[0], nominal, n_labels)
        if default.conditions:
            raise Malformed(f"{nodes[0].where()} has conditions, but covers everything")
        trees = decode_trees(nodes[1], nominal, n_labels, budget)
        check_total(default.head, *(tree.heads for tree in trees))
        return Boosted(default, trees, [], [], default_counts=False)

    _decode(model, node, budget, ("default", "trees"), decode)


def _check_parameters(model: BoostingClassifier, n_features: int) -> None:
    """Refuse parameters with which the model could neither predict nor be fitted again."""
    try:
        model._check_settings()
        model._n_threads()
        check_control_parameters(model)
        model._check_size()
        check_boolean("profile", model.profile)
        check_optional_integer("feature_bins", model.feature_bins, minimum=2)
        resolve_max_features(model.max_features, n_features)
        if model.random_state is not None:
            seed = check_integer("random_state", model.random_state, minimum=0)
            if seed >= 2**32:
                raise Malformed(f"random_state must be below 2**32, got {seed}")
        if not isinstance(model.verbose, bool):
            check_integer("verbose", model.verbose, minimum=0)
    except (TypeError, ValueError) as error:
        raise Malformed(f"of its parameters, {error}") from error
    categorical = model.categorical_features
    if not (categorical is None or isinstance(categorical, list) or categorical == "from_dtype"):
        raise Malformed("of its parameters, categorical_features is no list")


def _decode_label_sets(
    node: Node, n_labels: int, budget: Budget
) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    items = node.items(fewest=1)
    budget.spend(len(items) * n_labels, f"{len(items)} label sets x {n_labels} labels")
    vectors = np.zeros((len(items), n_labels), dtype=np.uint8)
    weights = np.empty(len(items))
    seen: set[bytes] = set()
    for s, item in enumerate(items):
        labels, weight = item.fields("labels", "weight")
        vectors[s, labels.ascending(n_labels)] = 1
        weights[s] = weight.number()
        before = weights[s - 1] if s else np.inf
        if not 0.0 < weights[s] <= before:
            raise weight.fault(f"positive and at most {before}, the weight before it")
        if (packed := np.packbits(vectors[s]).tobytes()) in seen:
            raise Malformed(f"{item.where()} is a label set that was listed before")
        seen.add(packed)
    with np.errstate(over="ignore"):
        if np.isinf(weights.sum()):
            raise Malformed("the weights of its label sets add up to infinity")
    return vectors, weights


CODECS = (
    Codec(RuleBoostingClassifier, _encode_rules, _decode_rules),
    Codec(TreeBoostingClassifier, _encode_trees, _decode_trees, before={"criterion": "newton"}),
)
