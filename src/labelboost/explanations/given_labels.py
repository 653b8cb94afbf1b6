"""True labels of examples that a fitted model is shown, in the order of its own labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from labelboost.validation import Labels, check_labels, frames
from labelboost.validation.classes import indicators
from labelboost.validation.frames import show

if TYPE_CHECKING:
    from labelboost.estimators.explaining import ExplainableClassifier


def given_labels(Y: Any, n_examples: int, model: ExplainableClassifier) -> NDArray[np.uint8]:
    """Check labels; those of data frames and label sets are found by name, others by position."""
    labels = check_labels(Y, n_examples)
    if labels.one_dimensional and model._one_dimensional:
        return _of_known_classes(labels, model.classes_)
    n_labels = len(model._label_names)
    if labels.one_dimensional or _is_matrix(Y):
        if labels.matrix.shape[1] != n_labels:
            raise ValueError(
                f"Y has {labels.matrix.shape[1]} labels, but this model was fitted with "
                f"{n_labels}. Pass the same labels in the same order."
            )
        return labels.matrix
    place = {name: k for k, name in enumerate(model._label_names.tolist())}
    matrix = np.zeros((n_examples, n_labels), dtype=np.uint8)
    for column, name in enumerate(labels.classes.tolist()):
        if name not in place:
            raise ValueError(
                f"Y has the label {show(name)}, which this model was not fitted with. Leave it out."
            )
        matrix[:, place[name]] = labels.matrix[:, column]
    if frames.is_frame(Y) and len(labels.classes) < n_labels:
        missing = next(name for name in place if name not in labels.classes.tolist())
        raise ValueError(f"Y has no column for the label {show(missing)}. Add it.")
    return matrix


def _of_known_classes(labels: Labels, known: NDArray[Any]) -> NDArray[np.uint8]:
    """Turn a vector of classes, perhaps not all of them, into the labels of the model."""
    place = {name: k for k, name in enumerate(known.tolist())}
    for name in labels.classes.tolist():
        if name not in place:
            raise ValueError(
                f"y has the class {show(name)}, which this model was not fitted with. Leave it out."
            )
    positions = np.array([place[name] for name in labels.classes.tolist()])
    return indicators(len(known), positions[labels.codes()])


def _is_matrix(Y: Any) -> bool:
    if isinstance(Y, list | tuple):
        rows = all(isinstance(row, list | tuple | np.ndarray) for row in Y)
        return rows and not any(isinstance(entry, str) for row in Y for entry in row)
    return not frames.is_frame(Y) and len(getattr(Y, "shape", ())) == 2
