"""What a model knows about the columns of X."""

from __future__ import annotations

from typing import Any

import numpy as np

from labelboost.persistence.codec import Budget
from labelboost.persistence.nodes import Malformed, Node
from labelboost.persistence.values import decode_values, encode_values
from labelboost.validation import FeatureSchema

MOST_FEATURES = 2**31 - 1
FEATURE_BYTES = 16
"""Of a feature without conditions, here and in the core."""


def encode_features(schema: FeatureSchema) -> dict[str, Any]:
    return {
        "count": schema.n_features,
        "names": None if schema.names is None else [str(name) for name in schema.names],
        "nominal": np.flatnonzero(schema.nominal).tolist(),
        "categories": [
            {"feature": j, "values": encode_values(values, f"Category of {schema.describe(j)}:")}
            for j, values in sorted(schema.categories.items())
        ],
    }


def decode_features(node: Node, budget: Budget) -> FeatureSchema:
    count, names, nominal, categories = node.fields("count", "names", "nominal", "categories")
    n_features = count.integer(1, MOST_FEATURES)
    budget.spend(FEATURE_BYTES * n_features, f"{n_features} features")
    known_names = None
    if names.value is not None:
        names.length(exactly=n_features)
        known_names = np.array(names.strings(), dtype=object)
    is_nominal = np.zeros(n_features, dtype=bool)
    is_nominal[nominal.ascending(n_features)] = True
    known_categories: dict[int, tuple[object, ...]] = {}
    for entry in categories.items():
        feature, values = entry.fields("feature", "values")
        j = feature.integer(0, n_features - 1)
        if not is_nominal[j] or j in known_categories:
            raise Malformed(f"{feature.where()} is {j}, a numeric feature or one named before")
        known_categories[j] = tuple(decode_values(values))
    return FeatureSchema(n_features, known_names, is_nominal, known_categories)
