"""What the columns of a model are called: for those who match data with it, or put it into words.

A model that was fitted with arrays knows no names. `name_columns` gives it those of the data, so
that they are stored with it and new data can be checked against them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from labelboost.estimators.prediction import ScoreClassifier
from labelboost.validation.frames import show


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The features and labels of a model or of data."""

    n_features: int
    feature_names: tuple[str, ...] | None
    """None: they have no names, and are told by their order."""
    label_names: tuple[str, ...]
    labels_are_numbered: bool
    """Whether labels are called 0, 1, 2, ... because nobody has named them."""
    nominal: NDArray[np.bool_]
    categories: Mapping[int, tuple[str, ...]]
    """Nominal feature to the names of its categories, in the order of their codes, where known."""


def columns_of(model: ScoreClassifier) -> Columns:
    """Tell what a fitted model calls its features, labels and categories."""
    check_is_fitted(model)
    schema = model._schema
    labels = tuple(map(str, model.classes_))
    repeated = [name for name, count in Counter(labels).items() if count > 1]
    if repeated:
        raise ValueError(
            f"the model has several labels that read {show(repeated[0])}; give them different "
            "names with name_columns"
        )
    return Columns(
        n_features=schema.n_features,
        feature_names=None if schema.names is None else tuple(map(str, schema.names)),
        label_names=labels,
        labels_are_numbered=bool(
            model.classes_.dtype.kind == "i"
            and np.array_equal(model.classes_, np.arange(len(labels)))
        ),
        nominal=schema.nominal,
        categories={j: tuple(map(str, names)) for j, names in schema.categories.items()},
    )


def name_columns(
    model: ScoreClassifier,
    *,
    feature_names: Sequence[str] | None = None,
    label_names: Sequence[str] | None = None,
    categories: Mapping[int, Sequence[str]] | None = None,
) -> None:
    """Give names to the features, labels and categories of a fitted model; None: leave them.

    `categories` maps the index of a nominal feature to the names of its codes 0, 1, 2, ...
    Predictions do not change. As with scikit-learn, a model whose features have names warns about
    arrays, which have none.
    """
    check_is_fitted(model)
    schema, changes = model._schema, dict[str, Any]()
    if feature_names is not None:
        names = _checked("feature_names", feature_names, schema.n_features)
        schema = replace(schema, names=names)
        changes["feature_names_in_"] = names
    if categories is not None:
        named = dict(schema.categories)
        for j, listed in categories.items():
            if not 0 <= j < schema.n_features or not schema.nominal[j]:
                raise ValueError(f"categories names feature {j}, which is not a nominal one")
            _distinct(f"categories[{j}]", listed)
            named[int(j)] = tuple(listed)
        schema = replace(schema, categories=named)
    if label_names is not None:
        changes["classes_"] = _checked("label_names", label_names, len(model.classes_))
        _distinct("label_names", label_names)
    model.__dict__.update(changes, _schema=schema)


def _checked(what: str, names: Sequence[str], expected: int) -> NDArray[np.object_]:
    for position, name in enumerate(names):
        if not isinstance(name, str):
            raise TypeError(f"{what}[{position}] is {show(name)}; names must be strings")
    if len(names) != expected:
        raise ValueError(f"{what} holds {len(names)} names, but the model has {expected}")
    array = np.empty(expected, dtype=object)
    array[:] = [str(name) for name in names]
    return array


def _distinct(what: str, names: Sequence[str]) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ValueError(f"{what} holds {show(repeated[0])} twice; names must be different")
