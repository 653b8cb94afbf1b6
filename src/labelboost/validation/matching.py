"""Labels that have to be those of a training: of validation data, or of more training data."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelboost.validation import frames
from labelboost.validation.frames import show
from labelboost.validation.labels import Labels, check_labels, label_sets_in


def match_labels(
    Y: Any, n_examples: int, classes: NDArray[Any], one_dimensional: bool, whose: str
) -> Labels:
    """Check labels, and bring them into the order of `classes`.

    Columns of a data frame and members of label sets are looked up by name; a matrix must have one
    column per label, in their order. Label sets need not contain every label.
    """
    rows = label_sets_in(Y)
    if rows is not None and len(rows) == n_examples and all(map(_is_empty, rows)):
        return Labels(np.zeros((n_examples, len(classes)), dtype=np.uint8), classes, False)
    given = check_labels(Y, n_examples)
    if given.one_dimensional != one_dimensional:
        kinds = ("no vector", "a vector")
        raise ValueError(
            f"Y is {kinds[given.one_dimensional]}, but that of {whose} is "
            f"{kinds[one_dimensional]}. Pass labels of the same kind."
        )
    if rows is None and not frames.is_frame(Y):
        if given.matrix.shape[1] != len(classes):
            raise ValueError(
                f"Y has {given.matrix.shape[1]} labels, but {whose} has {len(classes)}: "
                f"{show(classes.tolist())}. Pass one column for each of them, in this order."
            )
        return Labels(given.matrix, classes, one_dimensional)
    position = {name: k for k, name in enumerate(classes.tolist())}
    matrix = np.zeros((n_examples, len(classes)), dtype=np.uint8)
    for k, name in enumerate(given.classes.tolist()):
        if name not in position:
            place = "a column of Y"
            if rows is not None:
                place = f"in row {int(given.matrix[:, k].argmax())} of Y"
            raise ValueError(
                f"{show(name)}, {place}, is no label of {whose}, which are "
                f"{show(classes.tolist())}."
            )
        matrix[:, position[name]] = given.matrix[:, k]
    if rows is None and len(given.classes) < len(classes):
        absent = next(name for name in position if name not in set(given.classes.tolist()))
        raise ValueError(f"Y has no column for {show(absent)}, a label of {whose}. Add it.")
    return Labels(matrix, classes, one_dimensional)


def _is_empty(row: object) -> bool:
    return isinstance(row, set | frozenset | list | tuple) and not row
