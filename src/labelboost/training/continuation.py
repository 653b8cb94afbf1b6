"""Going on from a model: are the data of the kind that it was trained on?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from labelboost.validation import FeatureMatrix, FeatureSchema
from labelboost.validation.frames import check_names


def continue_features(
    matrix: FeatureMatrix, schema: FeatureSchema, former: FeatureSchema, name: str
) -> tuple[FeatureMatrix, FeatureSchema]:
    """Give categories the codes that they have in the conditions of the former model.

    Categories that are new get further codes. Raises ValueError if the features are others.
    """
    check_names(former.names, schema.names, name)
    if former.n_features != schema.n_features:
        raise ValueError(
            f"X has {schema.n_features} features, but the model to go on from has "
            f"{former.n_features}. Pass the columns it was fitted with, in the same order."
        )
    for j in np.flatnonzero(former.nominal != schema.nominal).tolist():
        kinds = ("numeric", "nominal")
        raise ValueError(
            f"Column {j} ({schema.describe(j)}) of X is {kinds[int(schema.nominal[j])]}, but "
            f"{kinds[int(former.nominal[j])]} in the model to go on from. Set "
            "categorical_features, or the dtype of the column, as for that model."
        )
    categories = dict(former.categories)
    for j in sorted(former.categories.keys() | schema.categories.keys()):
        known, own = former.categories.get(j), schema.categories.get(j)
        if known is None or own is None:
            kinds = ("codes", "categories")
            raise ValueError(
                f"Column {j} ({schema.describe(j)}) of X holds {kinds[own is not None]}, but it "
                f"held {kinds[known is not None]} in the model to go on from. Pass the same kind "
                "of table as for that model."
            )
        categories[j] = (*known, *(category for category in own if category not in set(known)))
        _recode(matrix, j, own, categories[j])
    # Names may be absent on either side; those that are there stay.
    names = schema.names if former.names is None else former.names
    return matrix, replace(former, names=names, categories=categories)


def _recode(matrix: Any, j: int, own: tuple[object, ...], wanted: tuple[object, ...]) -> None:
    """Change codes in place: a matrix with categories was made from a data frame, for us alone."""
    position = {category: code for code, category in enumerate(wanted)}
    codes = np.array([position[category] for category in own], dtype=matrix.dtype)
    if np.array_equal(codes, np.arange(len(own))):
        return
    present = ~np.isnan(matrix[:, j])
    matrix[present, j] = codes[matrix[present, j].astype(np.intp)]
