"""One example to be explained, in whatever form it comes."""

from __future__ import annotations

from typing import Any

from labelboost.validation import frames
from labelboost.validation.arrays import as_array, is_sparse, scalar_error, shape_of

ONE = "explain takes one example"


def one_row(x: Any) -> Any:
    """Make a table with one row of an example, or refuse what is more or less than that."""
    if frames.is_frame(x):
        return _of_one_row(x, "X.iloc[[0]] (pandas) or X[:1] (polars)")
    if frames.library_of(x, "Series") == "pandas":
        return _frame_of_series(x)
    if is_sparse(x):
        return _of_one_row(x.reshape(1, -1) if x.ndim == 1 else x, "X[[0]]")
    table = as_array(x, "x", "Pass one number for each feature.")
    if table.ndim == 0:
        raise scalar_error("x", x, "Pass one number for each feature.")
    return table[None, :] if table.ndim == 1 else _of_one_row(table, "X[0]")


def _of_one_row(table: Any, remedy: str) -> Any:
    shape = shape_of(table)
    if len(shape) != 2 or shape[0] != 1:
        raise ValueError(f"{ONE}, but x has shape {tuple(shape)}. Pass a single row: {remedy}.")
    return table


def _frame_of_series(x: Any) -> Any:
    """Turn a row of a pandas data frame into a frame again, which has the names as columns."""
    if x.dtype.kind not in "biuf":
        raise TypeError(
            f"{ONE}; x is a series of dtype {x.dtype}, which has lost the types of its columns. "
            "Pass a data frame with one row: X.iloc[[0]] instead of X.iloc[0]."
        )
    return x.to_frame().T
