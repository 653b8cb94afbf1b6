"""What every writer of text has to check and to know about a data set."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable

import numpy as np

from labelboost.data.dataset import Dataset
from labelboost.data.files import show
from labelboost.data.values import csr_of


def check_names(dataset: Dataset) -> None:
    """Raise ValueError if names occur twice or could not be read back from a text file."""
    names = (*dataset.feature_names, *dataset.label_names)
    _check_distinct("features and labels", names)
    _check_characters("the name", (dataset.name, *names))
    for j, categories in dataset.categories.items():
        _check_distinct(f"the categories of feature {show(dataset.feature_names[j])}", categories)
        _check_characters("the category", categories)


def _check_distinct(what: str, names: tuple[str, ...]) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ValueError(f"{what} must have different names, but {show(repeated[0])} occurs twice")


def _check_characters(what: str, names: Iterable[str]) -> None:
    for name in names:
        for character in name:
            category = unicodedata.category(character)
            if (category in ("Cc", "Cs") and character != "\t") or character in "\ufffe\uffff":
                raise ValueError(
                    f"{what} {show(name)} holds the character U+{ord(character):04X}, which cannot "
                    "be written; replace line breaks and control characters"
                )


def category_names(dataset: Dataset) -> dict[int, tuple[str, ...]]:
    """The categories of all nominal features; codes stand in where they have no names."""
    unnamed = [j for j in dataset.nominal_indices if j not in dataset.categories]
    result = dict(dataset.categories)
    if unnamed:
        X = csr_of(dataset.X)
        largest = np.zeros(dataset.n_features)
        np.fmax.at(largest, X.indices, X.data)
        result |= {j: tuple(map(str, range(int(largest[j]) + 1))) for j in unnamed}
    return result
