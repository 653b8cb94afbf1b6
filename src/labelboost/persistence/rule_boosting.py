"""How a RuleBoostingClassifier is stored."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelboost.estimators import RuleBoostingClassifier
from labelboost.estimators.control import check_control_parameters
from labelboost.losses import LOSSES
from labelboost.model import pack_rules
from labelboost.parameters import check_boolean, check_integer, check_optional_integer
from labelboost.persistence.classes import decode_classes, encode_classes
from labelboost.persistence.codec import Budget, Codec
from labelboost.persistence.features import decode_features, encode_features
from labelboost.persistence.nodes import Malformed, Node
from labelboost.persistence.rules import decode_rules, encode_rule
from labelboost.persistence.training import decode_training, encode_training
from labelboost.sampling import resolve_max_features

FIELDS = (
    "loss",
    "one_dimensional",
    "features",
    "classes",
    "label_sets",
    "rules",
    "training_times",
    "training_profile",
    "training",
)


def encode(model: RuleBoostingClassifier) -> dict[str, Any]:
    """Turn the fitted attributes into JSON values."""
    sets = zip(model._known, model._known_weights, strict=True)
    values = (
        model._fitted_loss,
        model._one_dimensional,
        encode_features(model._schema),
        encode_classes(model.classes_, exclusive=model._one_dimensional),
        [
            {"labels": np.flatnonzero(vector).tolist(), "weight": float(weight)}
            for vector, weight in sets
        ],
        [encode_rule(rule) for rule in model.rules_],
        model.training_times_.tolist(),
        getattr(model, "training_profile_", None),
        encode_training(model),
    )
    return dict(zip(FIELDS, values, strict=True))


def decode(model: RuleBoostingClassifier, node: Node, budget: Budget) -> None:
    """Check fitted attributes and parameters, and complete the model."""
    loss, one_dimensional, features, classes, label_sets, rules, times, profile, training = (
        node.fields(*FIELDS)
    )
    schema = decode_features(features, budget)
    _check_parameters(model, schema.n_features)
    names, n_labels = decode_classes(classes, one_dimensional.flag())
    vectors, weights = _decode_label_sets(label_sets, n_labels, budget)
    if one_dimensional.flag() and n_labels > 1 and (vectors.sum(axis=1) != 1).any():
        raise Malformed("a label set of its training data is not a single class")
    learned = decode_rules(rules, schema.nominal, n_labels, budget)
    seconds = times.numbers(exactly=len(learned))
    optional: dict[str, Any] = {} if schema.names is None else {"feature_names_in_": schema.names}
    if profile.value is not None:
        optional["training_profile_"] = {
            name: member.number() for name, member in profile.members().items()
        }
    model._replace_model(
        rules_=learned,
        n_rules_=len(learned),
        training_times_=seconds,
        classes_=names,
        n_features_in_=schema.n_features,
        _schema=schema,
        _one_dimensional=one_dimensional.flag(),
        _known=vectors,
        _known_weights=weights,
        _ensemble=pack_rules(learned, schema.n_features, n_labels),
        _fitted_loss=loss.choice(LOSSES),
        **decode_training(training, model._unit, len(learned) - 1),
        **optional,
    )


def _check_parameters(model: RuleBoostingClassifier, n_features: int) -> None:
    """Refuse parameters with which the model could neither predict nor be fitted again."""
    try:
        model._check_settings()
        model._n_threads()
        check_control_parameters(model)
        check_integer("n_rules", model.n_rules, minimum=1)
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


CODEC = Codec(RuleBoostingClassifier, encode, decode)
