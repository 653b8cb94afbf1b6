"""Checks features, labels and weights once, at the edge; everything inside trusts the result.

Bad input gets an error that names the value, where it stands and what to do about it; nothing is
converted if that would lose information. Rows and columns are counted from 0.
"""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import length_hint
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from labelboost import frames
from labelboost.frames import Column, FeatureSchema, Place, show

__all__ = [
    "FeatureMatrix",
    "FeatureSchema",
    "Labels",
    "check_fit_features",
    "check_labels",
    "check_predict_features",
    "check_sample_weight",
]

FloatArray: TypeAlias = NDArray[np.float32] | NDArray[np.float64]
Compressed: TypeAlias = "csr_array[Any] | csc_array[Any]"
FeatureMatrix: TypeAlias = "FloatArray | Compressed"

_BLOCK = 1 << 17
"""Entries examined at a time, so that no mask as big as the data is built."""
_INT32_MAX = 2**31 - 1
_INT64_MAX = 2**63 - 1
_EXACT = 2**53
"""float64 holds every integer up to here."""
_ENCODE = "Encode it as a number, or pass a data frame in which its column has a categorical dtype."
_BINARY = "Labels must be 0 or 1."
_SETS_OR_MATRIX = "Pass a 0/1 matrix, or label sets such as [{1, 2}, {3}]."


# Features


def check_fit_features(
    X: object, categorical_features: object = "from_dtype"
) -> tuple[FeatureMatrix, FeatureSchema]:
    """Check the features to train on, and record what prediction has to compare them with.

    Float arrays and canonical sparse matrices come back without a copy. NaN means missing.
    """
    if not frames.is_frame(X):
        table = _as_table(X)
        L = int(table.shape[1])
        none = np.zeros(L, dtype=bool)
        nominal = frames.resolve_nominal(categorical_features, L, None, none)
        schema = FeatureSchema(L, None, nominal, {})
        return _as_features(table, schema), schema
    names = frames.feature_names(X)
    _require_table(*_shape(X))
    L = _shape(X)[1]
    from_dtype = frames.categorical_columns(X)
    nominal = frames.resolve_nominal(categorical_features, L, names, from_dtype)
    categories: dict[int, tuple[object, ...]] = {}
    schema = FeatureSchema(L, names, nominal, categories)

    def codes(j: int, column: Column) -> NDArray[Any]:
        if column.categories is not None:
            categories[j] = column.categories
        return column.values

    return _frame_features(X, schema, codes), schema


def check_predict_features(
    X: object, schema: FeatureSchema, estimator_name: str = "the model"
) -> FeatureMatrix:
    """Check features to predict from against those of training.

    A category that training did not know gets the code len(categories), which satisfies no "="
    and every "!=". In an array, a column that was categorical in training holds codes.
    """
    framed = frames.is_frame(X)
    table = X if framed else _as_table(X)
    frames.check_names(
        schema.names, frames.feature_names(table) if framed else None, estimator_name
    )
    shape = _shape(table)
    _require_table(*shape)
    if shape[1] != schema.n_features:
        given, fitted = shape[1], schema.n_features
        raise ValueError(
            f"X has {given} features, but this model was fitted with {fitted} features: X has "
            f"{given} features, but {estimator_name} is expecting {fitted} features as input. "
            "Pass the columns used for training, in the same order."
        )
    if not framed:
        _warn_about_codes(schema)
        return _as_features(table, schema)
    return _frame_features(table, schema, lambda j, column: _known_codes(j, column, schema))


def _is_sparse(value: object) -> bool:
    return bool(scipy.sparse.issparse(value))


def _shape(table: Any) -> tuple[int, ...]:
    return tuple(int(size) for size in table.shape)


def _require_table(*shape: int) -> None:
    """Refuse all shapes but (n, L) with n, L > 0, in the words scikit-learn's checks look for."""
    if len(shape) < 2:
        raise ValueError(
            f"Expected 2D array, got {len(shape)}D array instead: X has shape {shape}. "
            "Reshape your data with X.reshape(-1, 1) if it has a single feature, or "
            "X.reshape(1, -1) if it is a single sample."
        )
    if len(shape) > 2:
        raise ValueError(
            f"Found array with dim {len(shape)}, but X must have 2 dimensions: its shape is "
            f"{shape}. Reshape it to (n_samples, n_features)."
        )
    for size, what in zip(shape, ("sample", "feature"), strict=True):
        if size == 0:
            raise ValueError(
                f"Found array with 0 {what}(s) (shape={shape}) while a minimum of 1 is required. "
                f"Pass at least one {what}."
            )


def _feature_place(schema: FeatureSchema) -> Place:
    def place(i: int, j: int) -> str:
        name = "" if schema.names is None else f" ({schema.describe(j)})"
        return f"row {i}, column {j}{name} of X"

    return place


def _as_table(X: Any) -> Any:
    """Get a two-dimensional array of any dtype, or a sparse matrix of any format."""
    if frames.is_series(X):
        _require_table(len(X))
    table = X if _is_sparse(X) else _as_array(X, "X", "Make all rows equally long.")
    if table.ndim == 0:
        raise _scalar_error("X", X, "Pass a matrix with one row for each sample.")
    _require_table(*_shape(table))
    return table


def _as_features(table: Any, schema: FeatureSchema) -> FeatureMatrix:
    place = _feature_place(schema)
    if not _is_sparse(table):
        dense = _as_float(table, place, _ENCODE)
        _refuse_infinity(dense, place)
        return dense
    sparse = _as_compressed(table, place, _ENCODE)
    canonical = _canonical(sparse, table.dtype == bool)
    # Before the duplicates are summed, as inf - inf would look missing; after, as sums overflow.
    for matrix in (sparse, canonical) if canonical is not sparse else (sparse,):
        columns = matrix.format == "csc"
        _refuse_infinity(matrix.data, _entry_place(matrix.indices, matrix.indptr, columns, place))
    return canonical


def _frame_features(
    frame: Any, schema: FeatureSchema, codes: Callable[[int, Column], NDArray[Any]]
) -> FloatArray:
    place = _feature_place(schema)
    matrix: NDArray[Any] = np.empty(_shape(frame), dtype=frames.matrix_dtype(frame), order="F")
    for j in range(schema.n_features):
        column = frames.read_feature(frame, j, place)
        matrix[:, j] = _as_float(codes(j, column), lambda i, j=j: place(i, j), _ENCODE)
        if column.missing is not None:
            matrix[column.missing, j] = np.nan
    _refuse_infinity(matrix, place)
    return matrix


def _known_codes(j: int, column: Column, schema: FeatureSchema) -> NDArray[Any]:
    known = schema.categories.get(j)
    where = f"Column {j} ({schema.describe(j)}) of X"
    if column.categories is not None and known is None:
        raise TypeError(
            f"{where} has a categorical dtype, but it was numeric when the model was fitted. "
            "Convert it to numbers as for training."
        )
    if column.categories is not None and known is not None:
        return frames.encode(column, known)
    i = column.first_present()
    if known is not None and i is not None:
        raise TypeError(
            f"{where} holds {show(column.values[i])} in row {i}, a plain number, but it was "
            "categorical when the model was fitted. Convert it to the categorical dtype."
        )
    return column.values


def _warn_about_codes(schema: FeatureSchema) -> None:
    """Say how numbers are understood where both codes and categories are numbers."""
    for j, known in schema.categories.items():
        ambiguous = any(code != category for code, category in enumerate(known))
        if ambiguous and all(isinstance(category, numbers.Real) for category in known):
            warnings.warn(
                f"X is an array, so its column {j} is taken to hold codes from 0 to "
                f"{len(known) - 1} of the categories {show(list(known))}; pass a data frame with "
                "a categorical dtype to predict from the categories themselves",
                stacklevel=3,
            )


# Labels and weights


@dataclass(frozen=True, eq=False)
class Labels:
    """A checked label matrix."""

    matrix: NDArray[np.uint8]
    """(N, K), C order, 0 or 1, never the caller's memory."""
    classes: NDArray[Any]
    """Names of the labels: data frame columns, members of the label sets, or 0..K-1."""
    one_dimensional: bool
    """Whether the labels came as a vector, and predictions should as well."""


def check_labels(Y: Any, n_examples: int) -> Labels:
    """Check labels given as a 0/1 matrix, vector or data frame, or as label sets."""
    if Y is None:
        raise ValueError(
            f"Training requires y to be passed, but the target y is None. {_SETS_OR_MATRIX}"
        )
    if frames.is_frame(Y):
        return _frame_labels(Y, n_examples)
    if _is_sparse(Y):
        _require_label_shape(_shape(Y), n_examples)
        if Y.ndim == 1:
            raise ValueError(f"Y is sparse with shape {Y.shape}. Pass Y.toarray(), or a column.")
        csr = _canonical(_as_compressed(Y, _label_place, _BINARY), Y.dtype == bool).tocsr()
        place = _entry_place(csr.indices, csr.indptr, False, _label_place)
        _refuse_non_binary(csr.data, place, is_vector=False)
        return Labels(csr.astype(np.uint8).toarray(order="C"), np.arange(csr.shape[1]), False)
    entries = frames.series_entries(Y) if frames.is_series(Y) else Y
    if isinstance(entries, np.ndarray) and entries.dtype == object and entries.ndim == 1:
        entries = entries.tolist()  # of sets or lists, perhaps
    if (rows := _label_sets(entries)) is not None:
        return _set_labels(rows, n_examples)
    array = _as_array(entries, "Y", _SETS_OR_MATRIX)
    if array.ndim == 0:
        raise _scalar_error("Y", Y, _SETS_OR_MATRIX)
    _require_label_shape(array.shape, n_examples)
    is_vector = array.ndim == 1
    matrix = _binary(array[:, np.newaxis] if is_vector else array, _label_place, is_vector)
    return Labels(matrix, np.arange(matrix.shape[1]), is_vector)


def check_sample_weight(sample_weight: object, n_examples: int) -> NDArray[np.float64]:
    """Check one weight for each example; the result is never the caller's memory."""
    if sample_weight is None:
        return np.ones(n_examples)
    series = frames.is_series(sample_weight)
    entries = frames.series_entries(sample_weight) if series else sample_weight
    remedy = "Pass one finite number that is not negative for each example."
    array = _as_array(entries, "sample_weight", remedy)
    if array.shape != (n_examples,):
        raise ValueError(
            f"sample_weight has shape {array.shape}, but X has {n_examples} examples. Pass a "
            f"one-dimensional array of {n_examples} numbers."
        )

    def place(i: int) -> str:
        return f"position {i} of sample_weight"

    weights = _as_float(array, place, remedy).astype(np.float64)
    bad = _first(weights, lambda block: ~((block >= 0) & (block < np.inf)))
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
    _require_label_shape(_shape(frame), n_examples)
    names = frames.column_names(frame)
    matrix = np.empty(_shape(frame), dtype=np.uint8)
    seen: dict[object, int] = {}
    for k, name in enumerate(names):
        if (other := seen.setdefault(name, k)) != k:
            raise ValueError(
                f"Y has two columns named {show(name)} (labels {other} and {k}). Rename one."
            )

        def place(i: int, _: int, name: object = name) -> str:
            return f"row {i}, label {show(name)} of Y"

        entries = _as_array(frames.series_entries(frames.column_at(frame, k)), "Y", _BINARY)
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


def _binary(values: NDArray[Any], place: Place, is_vector: bool = False) -> NDArray[np.uint8]:
    """Convert a two-dimensional array to 0/1 if that is what it holds."""
    if values.dtype.kind in "OUST":
        strings = (at for at, value in np.ndenumerate(values) if isinstance(value, str | bytes))
        if (index := next(strings, None)) is not None:
            raise ValueError(
                f"{show(values[index])} at {place(*index)} is a string. {_BINARY} Pass label sets "
                'such as [{"a", "b"}, {"c"}], or binarize with MultiLabelBinarizer.'
            )
    if values.dtype.kind not in "biuf":
        values = _as_float(values, place, _BINARY)
    _refuse_non_binary(values, place, is_vector)
    return values.astype(np.uint8, order="C")


def _refuse_non_binary(values: NDArray[Any], place: Place, is_vector: bool) -> None:
    if values.dtype.kind == "b":
        return
    index = _first(values, lambda block: (block != 0) & (block != 1))
    if index is None:
        return
    value = values[index]
    if np.isnan(value):
        remedy = "Drop the row, or fill in 0 or 1."
    elif value == -1:
        remedy = "If -1 stands for an absent label, use (Y > 0)."
    elif np.isinf(value) or value % 1 != 0:
        remedy = "If Y holds continuous scores, apply a threshold such as (Y > 0.5)."
    elif is_vector:
        remedy = f"(Unknown label type: multiclass or counts.) {_SETS_OR_MATRIX}"
    else:
        remedy = _SETS_OR_MATRIX
    raise ValueError(f"{show(value)} at {place(*index)} is no label. {_BINARY} {remedy}")


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
    position = {name: k for k, name in enumerate(names)}
    matrix = np.zeros((n_examples, len(names)), dtype=np.uint8)
    for i, row in enumerate(rows):
        matrix[i, [position[label] for label in row]] = 1
    return Labels(matrix, _classes(names), False)


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


# Numbers


def _as_array(data: object, name: str, remedy: str) -> NDArray[Any]:
    """Get an array of any dtype without losing what the data holds."""
    if frames.library_of(data, "LazyFrame"):
        raise TypeError(f"{name} is a polars LazyFrame. Pass {name}.collect().")
    if isinstance(data, np.ma.MaskedArray) and np.ma.is_masked(data):
        index = tuple(int(i) for i in np.argwhere(np.ma.getmaskarray(data))[0])
        raise TypeError(f"{name} is masked at {index}. Use {name}.filled(np.nan) or drop the row.")
    if isinstance(data, np.ndarray):
        return np.asarray(data)
    try:
        array = np.asarray(data)
        # NumPy turns numbers beside strings into strings, and rounds integers beside floats.
        if isinstance(data, list | tuple) and (
            array.dtype.kind in "US"
            or (array.dtype.kind == "f" and (np.abs(array) >= _EXACT).any())
        ):
            array = np.asarray(data, dtype=object)
    except Exception as error:  # whatever a foreign object's conversion may raise
        fault = _why_no_array(data, error)
        raise ValueError(f"{name} is no rectangular array: {fault}. {remedy}") from error
    return array


def _why_no_array(data: object, error: Exception) -> str:
    sizes = [length_hint(row, 0) for row in data] if isinstance(data, list | tuple) else []
    for i, size in enumerate(sizes):
        if size != sizes[0]:
            return f"row {i} has {size} entries, but row 0 has {sizes[0]}"
    return f"type {type(data).__name__}, {error}"


def _scalar_error(name: str, data: object, remedy: str) -> ValueError:
    fault = f"{name} is {show(data)} of type {type(data).__name__}"
    return ValueError(f"Expected 2D array, got scalar array instead: {fault}. {remedy}")


def _as_float(values: NDArray[Any], place: Place, remedy: str) -> FloatArray:
    """Convert numbers to floats: without a copy if they are, with an error if that loses any."""
    kind, size = values.dtype.kind, values.dtype.itemsize
    if kind == "f" and size <= 8:
        dtype: Any = np.float64 if size == 8 else np.float32
        floats: FloatArray = values.astype(dtype, copy=False)
        # Views into records may stand askew in memory, which the core could not step through.
        askew = not floats.flags.aligned or any(step % floats.itemsize for step in floats.strides)
        return floats.copy() if askew else floats
    if kind in "biu":
        index = _first(values, _inexact) if size == 8 else None
        if index is not None:
            raise _rounding_error(values[index], place(*index))
        return values.astype(np.float64)
    if kind == "O":
        result = np.empty(values.shape, dtype=np.float64)
        for index, value in np.ndenumerate(values):
            result[index] = _real(value, index, place, remedy)
        return result
    first = (0,) * values.ndim
    if kind in "USTc" and values.size:
        _real(values[first], first, place, remedy)
    example = f" ({show(values[first])} at {place(*first)})" if values.size else ""
    error = ValueError if kind == "c" else TypeError
    text = "Complex data not supported" if kind == "c" else f"dtype {values.dtype} not supported"
    raise error(f"{text}{example}. Convert it to numbers that float64 can hold.")


def _real(value: Any, index: tuple[int, ...], place: Place, remedy: str) -> float:
    """Convert one object to a float that equals it."""
    if frames.is_missing(value):
        return np.nan
    if isinstance(value, numbers.Real | np.bool_):
        try:
            result = float(value)
        except OverflowError:
            raise _rounding_error(value, place(*index)) from None
        if result != value and not np.isnan(result):
            raise _rounding_error(value, place(*index))
        return result
    fault = f"{show(value)} at {place(*index)} is of type {type(value).__name__}"
    if isinstance(value, complex | np.complexfloating):
        # The type that scikit-learn raises.
        raise ValueError(f"Complex data not supported: {fault}. Pass real numbers.")  # noqa: TRY004
    if isinstance(value, str | bytes):
        raise TypeError(f"{fault}, not a number. {remedy}")
    if isinstance(value, numbers.Number):
        raise TypeError(f"{fault}. Convert it with float().")
    raise TypeError(f"{fault}, but the argument must be a string or a number. {remedy}")


def _rounding_error(value: object, where: str) -> ValueError:
    return ValueError(
        f"{show(value)} at {where} cannot be held by float64 without rounding. Scale it, or turn "
        "it into a category if it is an identifier."
    )


def _inexact(block: NDArray[Any]) -> NDArray[np.bool_]:
    """Mark 64-bit integers that float64 cannot hold."""
    if int(block.max()) <= _EXACT and int(block.min()) >= -_EXACT:
        return np.zeros(block.shape, dtype=bool)
    size = block.astype(np.uint64)
    size = np.where(block < 0, ~size + np.uint64(1), size)
    lowest_bit = np.maximum(size & (~size + np.uint64(1)), np.uint64(1))
    return np.asarray(size // lowest_bit > _EXACT)


def _first(
    values: NDArray[Any], test: Callable[[NDArray[Any]], NDArray[np.bool_]]
) -> tuple[int, ...] | None:
    """Find an entry that passes the test, in blocks along the memory."""
    if values.ndim == 1:
        found = _first(values[:, np.newaxis], test)
        return None if found is None else found[:1]
    flip = abs(values.strides[0]) < abs(values.strides[1])
    if values.shape[0 if flip else 1] > _BLOCK:
        flip = not flip
    table = values.T if flip else values
    step = max(1, _BLOCK // max(1, table.shape[1]))
    for start in range(0, table.shape[0], step):
        mask = test(table[start : start + step])
        if mask.any():
            i, j = divmod(int(mask.argmax()), table.shape[1])
            return (j, start + i) if flip else (start + i, j)
    return None


def _refuse_infinity(values: FloatArray, place: Place) -> None:
    index = _first(values, np.isinf)
    if index is not None:
        raise ValueError(
            f"X contains infinity: {show(values[index])} at {place(*index)}. Replace it by a "
            "finite number, or by NaN if the value is missing."
        )


# Sparse matrices


def _as_compressed(matrix: Any, place: Place, remedy: str) -> Compressed:
    """Convert to compressed rows (or columns, if it is that) with floats and int32 indices."""
    name = "Y" if place is _label_place else "X"
    if max(matrix.shape) > _INT32_MAX:
        raise ValueError(
            f"{name} has shape {matrix.shape}, but sparse matrices are limited to {_INT32_MAX} "
            "rows and columns. Hash or select features."
        )
    columns = matrix.format == "csc"
    if matrix.format in ("csr", "csc"):
        data, indices, indptr = matrix.data, matrix.indices, matrix.indptr
    else:
        data, indices, indptr = _rows_of(matrix, name)
    major, minor = matrix.shape[::-1] if columns else matrix.shape
    _check_structure(name, (data, indices, indptr), major, minor)
    stored = int(indptr[-1])
    make = csc_array if columns else csr_array
    indices, indptr = (part.astype(np.int32, copy=False) for part in (indices[:stored], indptr))
    floats = _as_float(data[:stored], _entry_place(indices, indptr, columns, place), remedy)
    return make((floats, indices, indptr), shape=matrix.shape)


def _entry_place(indices: NDArray[Any], indptr: NDArray[Any], columns: bool, place: Place) -> Place:
    """Name the place of a stored entry."""

    def entry(e: int) -> str:
        major = int(np.searchsorted(indptr, e, side="right")) - 1
        minor = int(indices[e])
        return place(minor, major) if columns else place(major, minor)

    return entry


def _rows_of(matrix: Any, name: str) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Sort the entries of any other format by row; duplicates stay apart, as they may overflow."""
    if matrix.format == "bsr":
        rows, columns = (n // b for n, b in zip(matrix.shape, matrix.blocksize, strict=True))
        blocks = matrix.data[:, 0, 0]
        _check_structure(name, (blocks, matrix.indices, matrix.indptr), rows, columns)
    try:
        coo = matrix.tocoo(copy=False)
    except Exception as error:  # whatever a corrupt object may raise
        raise _corrupt(name, f"format {matrix.format}, {error}") from error
    row, column, data = coo.row, coo.col, coo.data
    _check_range(name, row, matrix.shape[0], "row")
    _check_range(name, column, matrix.shape[1], "column")
    if not len(row) == len(column) == len(data):
        sizes = f"{len(data)} values, {len(row)} row and {len(column)} column indices"
        raise _corrupt(name, sizes)
    order = np.argsort(row, kind="stable")
    indptr = np.zeros(matrix.shape[0] + 1, dtype=np.int64)
    np.cumsum(np.bincount(row.astype(np.int64), minlength=matrix.shape[0]), out=indptr[1:])
    return data[order], column[order], indptr


def _corrupt(name: str, fault: str) -> ValueError:
    return ValueError(f"{name} is a corrupt sparse matrix: {fault}. Build it anew.")


def _check_range(name: str, index: NDArray[Any], size: int, axis: str) -> None:
    if index.dtype.kind not in "iu" or index.ndim != 1:
        raise _corrupt(name, f"{axis} indices of dtype {index.dtype} and shape {index.shape}")
    bad = _first(index, lambda block: (block < 0) | (block >= size))
    if bad is not None:
        fault = f"{axis} index {index[bad]} of stored entry {bad[0]} is not in 0..{size - 1}"
        raise _corrupt(name, fault)


def _check_structure(
    name: str, parts: tuple[NDArray[Any], NDArray[Any], NDArray[Any]], major: int, minor: int
) -> None:
    """Check what the core will trust; scipy itself checks only some of it."""
    data, indices, indptr = parts
    if indptr.dtype.kind not in "iu" or indptr.shape != (major + 1,) or indptr[0] != 0:
        found = f"dtype {indptr.dtype}, shape {indptr.shape}, beginning {show(indptr[:1])}"
        raise _corrupt(name, f"indptr ({found}) must be {major + 1} integers from 0 on")
    falling = _first(np.diff(indptr.astype(np.int64)), lambda block: block < 0)
    if falling is not None:
        at = falling[0] + 1
        raise _corrupt(name, f"indptr falls from {indptr[at - 1]} to {indptr[at]} at position {at}")
    stored = int(indptr[-1])
    if data.ndim != 1 or stored > min(len(data), len(indices), _INT32_MAX):
        found = f"{len(indices)} indices and {len(data)} values"
        raise _corrupt(name, f"indptr announces {stored} entries, but there are {found}")
    _check_range(name, indices[:stored], minor, "row or column")


def _canonical(matrix: Compressed, boolean: bool) -> Compressed:
    """Sort indices and sum duplicates, in a copy if there is anything to do."""
    if matrix.has_canonical_format:
        return matrix
    matrix = matrix.copy()
    matrix.sum_duplicates()
    if boolean:  # where twice True is True
        np.minimum(matrix.data, 1, out=matrix.data)
    return matrix
