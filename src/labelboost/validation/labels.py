"""Checks of labels and weights."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import DataConversionWarning
from sklearn.preprocessing import MultiLabelBinarizer

from labelboost.validation import frames
from labelboost.validation.arrays import (
    as_array,
    as_compressed,
    as_float,
    canonical,
    entry_place,
    first_entry,
    is_sparse,
    scalar_error,
    shape_of,
)
from labelboost.validation.classes import find_classes, indicators
from labelboost.validation.frames import Place, show

_INT64_MAX = 2**63 - 1
_BINARY = "Labels must be 0 or 1."
_INDICATORS = (np.bool_, np.int8, np.uint8)
"""Types that say that a column is a matrix of labels, not a vector that went astray."""
_SETS_OR_MATRIX = "Pass a 0/1 matrix, or label sets such as [{1, 2}, {3}]."


@dataclass(frozen=True, eq=False)
class Labels:
    """A checked label matrix."""

    matrix: NDArray[np.uint8]
    """(N, K), C order, 0 or 1, never the caller's memory."""
    classes: NDArray[Any]
    """Names of the labels: data frame columns, members of the label sets, or 0..K-1. Of a vector:
    the classes in it, each of which is a label; but of two, only the second one is."""
    one_dimensional: bool
    """Whether y is a vector, in which every example has one class, and predictions should be."""

    def codes(self) -> NDArray[np.intp]:
        """Return the position in `classes` of each example's class, if y is a vector."""
        if len(self.classes) > 2:
            return np.nonzero(self.matrix)[1]
        return self.matrix[:, 0].astype(np.intp) * (len(self.classes) - 1)


def check_labels(Y: Any, n_examples: int) -> Labels:
    """Check labels: a 0/1 matrix or data frame, label sets, or a vector of classes."""
    if Y is None:
        raise ValueError(
            f"Training requires y to be passed, but the target y is None. {_SETS_OR_MATRIX}"
        )
    if frames.is_frame(Y):
        return _frame_labels(Y, n_examples)
    if is_sparse(Y):
        _require_label_shape(shape_of(Y), n_examples)
        if Y.ndim == 1:
            raise ValueError(f"Y is sparse with shape {Y.shape}. Pass Y.toarray(), or a column.")
        csr = canonical(as_compressed(Y, "Y", _label_place, _BINARY), Y.dtype == bool).tocsr()
        place = entry_place(csr.indices, csr.indptr, False, _label_place)
        _refuse_non_binary(csr.data, place)
        return Labels(csr.astype(np.uint8).toarray(order="C"), np.arange(csr.shape[1]), False)
    entries = _entries(Y)
    if (rows := _label_sets(entries)) is not None:
        return _set_labels(rows, n_examples)
    array = as_array(entries, "Y", _SETS_OR_MATRIX)
    if array.ndim == 0:
        raise scalar_error("Y", Y, _SETS_OR_MATRIX)
    _require_label_shape(array.shape, n_examples)
    if array.ndim == 2 and array.shape[1] == 1 and array.dtype not in _INDICATORS:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected: it is taken for a vector "
            "of classes, y.ravel(). Use y.astype(bool) for a matrix of one label.",
            DataConversionWarning,
            stacklevel=3,
        )
        array = array[:, 0]
    if array.ndim == 1:
        classes, codes = find_classes(array)
        return Labels(indicators(len(classes), codes), classes, True)
    matrix = _binary(array, _label_place)
    return Labels(matrix, np.arange(matrix.shape[1]), False)


def check_sample_weight(sample_weight: object, n_examples: int) -> NDArray[np.float64]:
    """Check one weight for each example; the result is never the caller's memory."""
    if sample_weight is None:
        return np.ones(n_examples)
    series = frames.is_series(sample_weight)
    entries = frames.series_entries(sample_weight) if series else sample_weight
    remedy = "Pass one finite number that is not negative for each example."
    array = as_array(entries, "sample_weight", remedy)
    if array.shape != (n_examples,):
        raise ValueError(
            f"sample_weight has shape {array.shape}, but X has {n_examples} examples. Pass a "
            f"one-dimensional array of {n_examples} numbers."
        )

    def place(i: int) -> str:
        return f"position {i} of sample_weight"

    weights = as_float(array, place, remedy).astype(np.float64)
    bad = first_entry(weights, lambda block: ~((block >= 0) & (block < np.inf)))
    if bad is not None:
        raise ValueError(f"{show(weights[bad])} at {place(*bad)} is no valid weight. {remedy}")
    if not weights.any():
        raise ValueError("sample_weight is zero for every example. Give some a positive weight.")
    with np.errstate(over="ignore"):
        total = weights.sum()
    if np.isinf(total):
        raise ValueError(
            f"The sum of sample_weight overflows; its largest entry is {show(weights.max())} at "
            f"{place(int(weights.argmax()))}. Divide all weights by it."
        )
    return weights


def _label_place(i: int, k: int) -> str:
    return f"row {i}, label {k} of Y"


def _require_label_shape(shape: tuple[int, ...], n_examples: int) -> None:
    if len(shape) not in (1, 2):
        raise ValueError(
            f"Y has {len(shape)} dimensions (shape {shape}), but must have one or two. "
            f"{_SETS_OR_MATRIX}"
        )
    if shape[0] != n_examples:
        raise ValueError(
            f"Found inconsistent numbers of samples: X has {n_examples} rows, but Y has "
            f"{shape[0]}. Pass one row of Y for each row of X."
        )
    if len(shape) == 2 and shape[1] == 0:
        raise ValueError(f"Y has no labels (shape {shape}). Pass at least one label.")


def _frame_labels(frame: Any, n_examples: int) -> Labels:
    _require_label_shape(shape_of(frame), n_examples)
    names = frames.column_names(frame)
    matrix = np.empty(shape_of(frame), dtype=np.uint8)
    seen: dict[object, int] = {}
    for k, name in enumerate(names):
        if (other := seen.setdefault(name, k)) != k:
            raise ValueError(
                f"Y has two columns named {show(name)} (labels {other} and {k}). Rename one."
            )

        def place(i: int, _: int, name: object = name) -> str:
            return f"row {i}, label {show(name)} of Y"

        entries = as_array(frames.series_entries(frames.column_at(frame, k)), "Y", _BINARY)
        if entries.ndim != 1:
            raise ValueError(f"{show(entries[0])} at {place(0, k)} is no number. {_BINARY}")
        matrix[:, k] = _binary(entries[:, np.newaxis], place)[:, 0]
    return Labels(matrix, _classes(names), False)


def _classes(names: list[Any]) -> NDArray[Any]:
    """Put label names into an array as MultiLabelBinarizer.classes_ holds them."""
    integers = all(isinstance(name, int) and abs(name) <= _INT64_MAX for name in names)
    classes = np.empty(len(names), dtype=np.int64 if integers else object)
    for k, name in enumerate(names):  # one by one, as a name can be a tuple
        classes[k] = name
    return classes


def _binary(values: NDArray[Any], place: Place) -> NDArray[np.uint8]:
    """Convert a two-dimensional array to 0/1 if that is what it holds."""
    if values.dtype.kind in "OUST":
        strings = (at for at, value in np.ndenumerate(values) if isinstance(value, str | bytes))
        if (index := next(strings, None)) is not None:
            raise ValueError(
                f"{show(values[index])} at {place(*index)} is a string. {_BINARY} Pass label sets "
                'such as [{"a", "b"}, {"c"}], or binarize with MultiLabelBinarizer.'
            )
    if values.dtype.kind not in "biuf":
        values = as_float(values, place, _BINARY)
    _refuse_non_binary(values, place)
    return values.astype(np.uint8, order="C")


def _refuse_non_binary(values: NDArray[Any], place: Place) -> None:
    kind = values.dtype.kind
    if kind == "b" or (kind == "u" and values.size and values.max() <= 1):
        return
    index = first_entry(values, lambda block: (block != 0) & (block != 1))
    if index is None:
        return
    value = values[index]
    if np.isnan(value):
        remedy = "Drop the row, or fill in 0 or 1."
    elif value == -1:
        remedy = "If -1 stands for an absent label, use (Y > 0)."
    elif np.isinf(value) or value % 1 != 0:
        remedy = "If Y holds continuous scores, apply a threshold such as (Y > 0.5)."
    else:
        remedy = _SETS_OR_MATRIX
    raise ValueError(f"{show(value)} at {place(*index)} is no label. {_BINARY} {remedy}")


def label_sets_in(Y: Any) -> list[Any] | None:
    """List the label sets, if that is what Y holds."""
    return None if frames.is_frame(Y) or is_sparse(Y) else _label_sets(_entries(Y))


def _entries(Y: Any) -> Any:
    entries = frames.series_entries(Y) if frames.is_series(Y) else Y
    if isinstance(entries, np.ndarray) and entries.dtype == object and entries.ndim == 1:
        entries = entries.tolist()  # of sets or lists, perhaps
    return entries


def _label_sets(Y: Any) -> list[Any] | None:
    """List the rows of Y if they are label sets: sets, or lists of strings."""
    if not isinstance(Y, list | tuple):
        return None
    rows = [row.tolist() if isinstance(row, np.ndarray) else row for row in Y]
    for row in rows:
        if isinstance(row, set | frozenset):
            return rows
        if isinstance(row, list | tuple) and any(isinstance(entry, str) for entry in row):
            return rows
    return None


def _set_labels(rows: list[Any], n_examples: int) -> Labels:
    _require_label_shape((len(rows),), n_examples)
    kinds: dict[type, str] = {}
    for i, label, is_set in _members(rows):
        where = f"row {i} of Y"
        if not isinstance(label, str) and not (is_set and isinstance(label, numbers.Integral)):
            raise ValueError(
                f"{show(label)} in {where} is of type {type(label).__name__} and cannot be a "
                "label. Label sets hold strings or integers, lists of labels hold strings."
            )
        kinds.setdefault(str if isinstance(label, str) else int, f"{show(label)} in {where}")
    if len(kinds) > 1:
        raise ValueError(
            f"Label sets mix strings ({kinds[str]}) and integers ({kinds[int]}). Use one of them."
        )
    if not kinds:
        raise ValueError("Y has no labels: all its label sets are empty. Pass at least one label.")
    if all(isinstance(row, list | tuple) for row in rows):
        _refuse_digits(rows)
    names = sorted(set().union(*rows))
    # By position, as the binarizer does not take integers of more than 64 bits.
    position = {name: k for k, name in enumerate(names)}
    binarizer = MultiLabelBinarizer(classes=range(len(names)))
    matrix = binarizer.fit_transform([[position[label] for label in row] for row in rows])
    return Labels(matrix.astype(np.uint8), _classes(names), False)


def _members(rows: list[Any]) -> Iterator[tuple[int, object, bool]]:
    """Go through all labels: row, label, whether the row is a set."""
    for i, row in enumerate(rows):
        is_set = isinstance(row, set | frozenset)
        if not is_set and not isinstance(row, list | tuple):
            raise ValueError(
                f"Row {i} of Y is {show(row)} of type {type(row).__name__}, but other rows are "
                "label sets. Use set() for an example without labels."
            )
        for label in row:
            yield i, label, is_set


def _refuse_digits(rows: list[Any]) -> None:
    """A matrix read as text must not pass for lists of labels called 0 and 1."""
    if {label for row in rows for label in row} <= {"0", "1"}:
        i = next(i for i, row in enumerate(rows) if len(row))
        raise ValueError(
            f"{show(rows[i][0])} at {_label_place(i, 0)} is a string. Convert Y to integers if it "
            "is a 0/1 matrix, or pass sets if these are names of labels."
        )
