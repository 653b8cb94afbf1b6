"""What a data frame adds to an array of numbers: column names, missing values and categories.

Pandas and polars are recognised once the caller has imported them; this package never does.
Rows and columns are counted from 0 in every message.
"""

from __future__ import annotations

import difflib
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Place = Callable[..., str]
"""Turns the index of an entry into words, such as 'row 2, column 0 of X'."""


@dataclass(frozen=True, eq=False)
class FeatureSchema:
    """What training knows about the columns of X, and prediction checks."""

    n_features: int
    names: NDArray[np.object_] | None
    """Column names, if the data had any; they are strings."""
    nominal: NDArray[np.bool_]
    """Which features hold category codes, to be compared with = and != only."""
    categories: Mapping[int, tuple[object, ...]]
    """For columns of a categorical dtype, the category of each code."""

    def describe(self, j: int) -> str:
        """Name a feature for a message."""
        return f"feature {j}" if self.names is None else f'feature "{self.names[j]}"'


@dataclass(frozen=True, eq=False)
class Column:
    """The numbers, or category codes, of one column of a data frame."""

    values: NDArray[Any]
    missing: NDArray[np.bool_] | None
    """Entries to be taken as missing, whatever number stands in for them."""
    categories: tuple[object, ...] | None = None

    def first_present(self) -> int | None:
        """Find an entry that is not missing."""
        absent = np.isnan(self.values) if self.values.dtype.kind == "f" else False
        present = np.flatnonzero(~(absent | (np.False_ if self.missing is None else self.missing)))
        return int(present[0]) if present.size else None


def show(value: object) -> str:
    """Represent a value in a message, whatever its length or quirks."""
    if isinstance(value, np.str_ | np.bytes_):
        value = value.item()
    try:
        text = str(value) if isinstance(value, np.generic) else repr(value)
    except Exception:  # an object that cannot show itself must not hide the real error
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."


def library_of(value: object, kind: str) -> str | None:
    """Name the library whose class `kind` (DataFrame, Series, LazyFrame) the value belongs to."""
    for library in ("pandas", "polars"):
        cls = getattr(sys.modules.get(library), kind, None)
        if cls is not None and isinstance(value, cls):
            return library
    return None


def is_frame(value: object) -> bool:
    """Tell whether the value is a pandas or polars data frame."""
    return library_of(value, "DataFrame") is not None


def is_series(value: object) -> bool:
    """Tell whether the value is a pandas or polars series."""
    return library_of(value, "Series") is not None


def is_missing(value: object) -> bool:
    """Tell whether the value is None or pandas.NA (NaN is a number and answers for itself)."""
    return value is None or value is getattr(sys.modules.get("pandas"), "NA", None)


def column_at(frame: Any, j: int) -> Any:
    """Get a column as a series; by position, as pandas allows equal names."""
    return frame.iloc[:, j] if library_of(frame, "DataFrame") == "pandas" else frame.to_series(j)


def column_names(frame: Any) -> list[Any]:
    """List the column names, which in pandas can be any objects."""
    return list(frame.columns)


def feature_names(frame: Any) -> NDArray[np.object_] | None:
    """Get the column names if they are strings, as scikit-learn's feature_names_in_ does."""
    names = column_names(frame)
    strings = [isinstance(name, str) for name in names]
    if not any(strings):
        return None
    if not all(strings):
        j = strings.index(False)
        kinds = sorted({type(name).__qualname__ for name in names})
        raise TypeError(
            "Feature names are only supported if all input features have string names, but your "
            f"input has {kinds} as feature name / column name types (column {j} is named "
            f"{show(names[j])}). Use X.columns = X.columns.astype(str)."
        )
    return np.array([str(name) for name in names], dtype=object)


def is_categorical(series: Any) -> bool:
    """Tell whether a series is a pandas category or a polars Categorical or Enum."""
    library = sys.modules[library_of(series, "Series") or "pandas"]
    if library.__name__ == "pandas":
        return isinstance(series.dtype, library.CategoricalDtype)
    return series.dtype == library.Categorical or isinstance(series.dtype, library.Enum)


def categorical_columns(frame: Any) -> NDArray[np.bool_]:
    """Mark the columns of a categorical dtype."""
    n_features = frame.shape[1]
    return np.array([is_categorical(column_at(frame, j)) for j in range(n_features)], dtype=bool)


def matrix_dtype(frame: Any) -> type[np.float32] | type[np.float64]:
    """Choose single precision if no column needs more."""
    # Both libraries, and pandas' nullable and Arrow dtypes, put the width in the dtype's name.
    short = ("float16", "float32", "halffloat", "float[pyarrow]", "sparse[float32")
    names = [str(column_at(frame, j).dtype).lower() for j in range(frame.shape[1])]
    return np.float32 if all(name.startswith(short) for name in names) else np.float64


def read_series(series: Any) -> Column | None:
    """Read numbers, booleans or categories; None if the series holds anything else."""
    if library_of(series, "Series") == "pandas":
        return _read_pandas(series)
    return _read_polars(series)


def _read_pandas(series: Any) -> Column | None:
    dtype = series.dtype
    if is_categorical(series):
        codes = series.cat.codes.to_numpy()
        return Column(codes, codes < 0, tuple(series.cat.categories.tolist()))
    if getattr(dtype, "kind", "O") in "biufc":
        if isinstance(dtype, np.dtype) or not hasattr(dtype, "numpy_dtype"):
            return Column(np.asarray(series), None)
        # A nullable integer must not pass through float64 before it has been checked.
        stand_in = dtype.numpy_dtype.type(0)
        values = series.to_numpy(dtype=dtype.numpy_dtype, na_value=stand_in.item())
        return Column(values, series.isna().to_numpy())
    return _read_all_missing(series.isna().to_numpy())


def _read_polars(series: Any) -> Column | None:
    pl = sys.modules["polars"]
    dtype = series.dtype
    missing = series.is_null().to_numpy() if series.null_count() else None
    if is_categorical(series):
        return _read_polars_categories(series, missing)
    if dtype == pl.Boolean:
        return Column(series.fill_null(False).to_numpy(), missing)
    if dtype.is_integer() and "128" in str(dtype):  # NumPy has no such type
        return Column(np.array(series.fill_null(0).to_list(), dtype=object), missing)
    if dtype.is_integer() or dtype.is_float():
        return Column(series.fill_null(0).to_numpy(), missing)
    return None if missing is None else _read_all_missing(missing)


def _read_polars_categories(series: Any, missing: NDArray[np.bool_] | None) -> Column:
    pl = sys.modules["polars"]
    if isinstance(series.dtype, pl.Enum):
        categories = tuple(series.dtype.categories.to_list())
        return Column(series.to_physical().fill_null(0).to_numpy(), missing, categories)
    # Physical codes come from a pool that other columns share: only the sorted strings that
    # occur give codes which do not depend on what else the program has read.
    present = series.drop_nulls().unique()
    strings = present.cast(pl.String).to_numpy()
    order = np.argsort(strings)
    physical = present.to_physical().to_numpy().astype(np.int64)
    table = np.zeros(int(physical.max(initial=0)) + 1, dtype=np.int64)
    table[physical[order]] = np.arange(len(order))
    codes = table[series.to_physical().fill_null(0).to_numpy()]
    return Column(codes, missing, tuple(str(text) for text in strings[order]))


def _read_all_missing(missing: NDArray[np.bool_]) -> Column | None:
    """A column without a single value has no dtype worth refusing."""
    return Column(np.zeros(len(missing)), missing) if missing.all() else None


def read_feature(frame: Any, j: int, place: Place) -> Column:
    """Read a column of X."""
    series = column_at(frame, j)
    column = read_series(series)
    if column is not None:
        return column
    pandas = library_of(frame, "DataFrame") == "pandas"
    present = (series.notna() if pandas else series.is_not_null()).to_numpy()
    i = int(present.argmax())
    value = series.iloc[i] if pandas else series[i]
    as_category = '.astype("category")' if pandas else ".cast(pl.Categorical)"
    as_number = ".astype(float)" if pandas else ".cast(pl.Float64)"
    raise TypeError(
        f"{show(value)} at {place(i, j)} is of type {type(value).__name__} and its column of dtype "
        f"{series.dtype}, which is neither numeric nor categorical. Apply {as_category} to the "
        f"column if it holds categories, or {as_number} if it holds numbers."
    )


def series_entries(series: Any) -> NDArray[Any] | list[Any]:
    """Get numbers as an array, missing ones as None, and anything else as a list."""
    column = None if is_categorical(series) else read_series(series)
    if column is None:
        return list(series.to_list())
    if column.missing is None or not column.missing.any():
        return column.values
    values = column.values.astype(object)
    values[column.missing] = None
    return values


def encode(column: Column, known: tuple[object, ...]) -> NDArray[np.int64]:
    """Translate a column's codes to those of training; unknown categories get code len(known)."""
    known_code = {category: code for code, category in enumerate(known)}
    own = column.categories or ()
    # Missing entries may have code -1 or stand in an empty list of categories: hence the tail.
    table = np.array([*(known_code.get(c, len(known)) for c in own), 0], dtype=np.int64)
    codes: NDArray[np.int64] = table[column.values]
    return codes


def _nearest(name: str, names: NDArray[np.object_]) -> str:
    close = difflib.get_close_matches(name, list(names), n=1, cutoff=0.5)
    return f'; did you mean "{close[0]}"?' if close else f"; X has {show(list(names))}."


def _indices_of(listed: Sequence[str], names: NDArray[np.object_] | None) -> list[int]:
    if names is None:
        raise ValueError(
            f'categorical_features names "{listed[0]}", but X has no string column names. '
            "Pass column numbers, or a data frame."
        )
    counts = Counter(names)
    for name in listed:
        if (count := counts[name]) != 1:
            fault = "is not a feature of X" if count == 0 else f"is the name of {count} columns"
            hint = _nearest(name, names) if count == 0 else "; pass column numbers instead."
            raise ValueError(f'categorical_features lists "{name}", which {fault}{hint}')
    position = {name: j for j, name in enumerate(names)}
    return [position[name] for name in listed]


def resolve_nominal(
    categorical_features: object,
    n_features: int,
    names: NDArray[np.object_] | None,
    from_dtype: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """Turn the parameter categorical_features into a mask."""
    if isinstance(categorical_features, str) and categorical_features == "from_dtype":
        return from_dtype
    nominal = np.zeros(n_features, dtype=bool)
    if categorical_features is not None:
        nominal[_listed_features(categorical_features, n_features, names)] = True
    if (forgotten := np.flatnonzero(from_dtype & ~nominal)).size:
        j = int(forgotten[0])
        name = "" if names is None else f' (feature "{names[j]}")'
        raise TypeError(
            f"Column {j}{name} of X has a categorical dtype, but categorical_features does not "
            'list it. Add it, or use categorical_features="from_dtype".'
        )
    return nominal


def _listed_features(
    listed: object, n_features: int, names: NDArray[np.object_] | None
) -> list[int]:
    usage = (
        'Use "from_dtype", None, a boolean mask, a list of column numbers or a list of '
        "feature names."
    )
    array_like = hasattr(listed, "__array__")
    entries: Any = np.asarray(listed).tolist() if array_like else listed
    if not isinstance(entries, list | tuple):
        error = ValueError if isinstance(listed, str) else TypeError
        raise error(f"categorical_features is {show(listed)}. {usage}")
    if entries and all(isinstance(entry, bool | np.bool_) for entry in entries):
        if len(entries) != n_features:
            raise ValueError(
                f"The mask categorical_features has length {len(entries)}, but X has {n_features} "
                "features. Pass one entry for each feature."
            )
        return [j for j, entry in enumerate(entries) if entry]
    if entries and all(isinstance(entry, str) for entry in entries):
        indices = _indices_of(entries, names)
    else:
        indices = _column_numbers(entries, n_features, usage)
    seen: set[int] = set()
    for entry, index in zip(entries, indices, strict=True):
        if index in seen:
            raise ValueError(f"categorical_features lists {show(entry)} twice. List it once.")
        seen.add(index)
    return indices


def _column_numbers(entries: Sequence[Any], n_features: int, usage: str) -> list[int]:
    for position, entry in enumerate(entries):
        if isinstance(entry, bool | np.bool_) or not isinstance(entry, int | np.integer):
            raise TypeError(
                f"categorical_features[{position}] is {show(entry)} of type "
                f"{type(entry).__name__}. {usage}"
            )
        if not 0 <= entry < n_features:
            raise ValueError(
                f"categorical_features[{position}] is {show(entry)}, but X has {n_features} "
                f"features. Column numbers go from 0 to {n_features - 1}."
            )
    return [int(entry) for entry in entries]


def check_names(
    fitted: NDArray[np.object_] | None, given: NDArray[np.object_] | None, estimator_name: str
) -> None:
    """Compare feature names with those of training, in scikit-learn's words."""
    if fitted is None or given is None:
        if given is not None:
            warnings.warn(
                f"X has feature names, but {estimator_name} was fitted without feature names",
                stacklevel=3,
            )
        elif fitted is not None:
            warnings.warn(
                f"X does not have valid feature names, but {estimator_name} was fitted with "
                "feature names",
                stacklevel=3,
            )
        return
    if list(fitted) == list(given):
        return
    message = "The feature names should match those that were passed during fit.\n"
    unseen = sorted(set(given) - set(fitted))
    absent = sorted(set(fitted) - set(given))
    for title, names in (
        ("Feature names unseen at fit time:\n", unseen),
        ("Feature names seen at fit time, yet now missing:\n", absent),
    ):
        if names:
            message += title + "".join(f"- {name}\n" for name in names[:5])
            message += "- ...\n" if len(names) > 5 else ""
    if not unseen and not absent:
        if len(given) != len(fitted):  # repeated names; the number of columns is checked elsewhere
            return
        message += "Feature names must be in the same order as they were in fit.\n"
    raise ValueError(message)
