"""Checks of feature matrices and data frames."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from labelboost.validation import frames
from labelboost.validation.arrays import (
    Compressed,
    FloatArray,
    as_array,
    as_compressed,
    as_float,
    canonical,
    entry_place,
    is_sparse,
    refuse_infinity,
    scalar_error,
    shape_of,
)
from labelboost.validation.frames import Column, FeatureSchema, Place, show

FeatureMatrix: TypeAlias = "FloatArray | Compressed"

_ENCODE = "Encode it as a number, or pass a data frame in which its column has a categorical dtype."


def check_fit_features(
    X: object, categorical_features: object = "from_dtype", *, allow_infinity: bool = False
) -> tuple[FeatureMatrix, FeatureSchema]:
    """Check the features to train on, and record what prediction has to compare them with.

    Float arrays and canonical sparse matrices come back without a copy. NaN means missing.
    `allow_infinity`: in a dense array, as somebody is going to look at all of it anyway and calls
    `refuse_infinite_features` then.
    """
    if not frames.is_frame(X):
        table = _as_table(X)
        L = int(table.shape[1])
        none = np.zeros(L, dtype=bool)
        nominal = frames.resolve_nominal(categorical_features, L, None, none)
        schema = FeatureSchema(L, None, nominal, {})
        return _as_features(table, schema, allow_infinity), schema
    names = frames.feature_names(X)
    _require_table(*shape_of(X))
    L = shape_of(X)[1]
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
    shape = shape_of(table)
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
    table = X if is_sparse(X) else as_array(X, "X", "Make all rows equally long.")
    if table.ndim == 0:
        raise scalar_error("X", X, "Pass a matrix with one row for each sample.")
    _require_table(*shape_of(table))
    return table


def refuse_infinite_features(matrix: FeatureMatrix, schema: FeatureSchema) -> None:
    """Refuse infinite numbers in a dense matrix; sparse ones have none by now."""
    if isinstance(matrix, np.ndarray):
        refuse_infinity(matrix, _feature_place(schema))


def _as_features(table: Any, schema: FeatureSchema, allow_infinity: bool = False) -> FeatureMatrix:
    place = _feature_place(schema)
    if not is_sparse(table):
        dense = as_float(table, place, _ENCODE)
        if not allow_infinity:
            refuse_infinity(dense, place)
        return dense
    sparse = as_compressed(table, "X", place, _ENCODE)
    summed = canonical(sparse, table.dtype == bool)
    # Before the duplicates are summed, as inf - inf would look missing; after, as sums overflow.
    for matrix in (sparse, summed) if summed is not sparse else (sparse,):
        columns = matrix.format == "csc"
        refuse_infinity(matrix.data, entry_place(matrix.indices, matrix.indptr, columns, place))
    return summed


def _frame_features(
    frame: Any, schema: FeatureSchema, codes: Callable[[int, Column], NDArray[Any]]
) -> FloatArray:
    place = _feature_place(schema)
    matrix: NDArray[Any] = np.empty(shape_of(frame), dtype=frames.matrix_dtype(frame), order="F")
    for j in range(schema.n_features):
        column = frames.read_feature(frame, j, place)
        matrix[:, j] = as_float(codes(j, column), lambda i, j=j: place(i, j), _ENCODE)
        if column.missing is not None:
            matrix[column.missing, j] = np.nan
    refuse_infinity(matrix, place)
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
