"""Data sets stored as one compressed NumPy file, features and labels row by row (CSR).

Arrays of the file: `X_data`, `X_indices`, `X_indptr`, `X_shape` (features; absent entries are 0),
`Y_indices`, `Y_indptr`, `Y_shape` (the labels of each example), `feature_names`, `label_names`,
`feature_kind` (`numeric` or `nominal`) and `nominal_values` (JSON: feature index to the list of
its categories; a nominal feature holds positions in that list, so an absent entry is the first).
"""

from __future__ import annotations

import io
import json
import lzma
import struct
import zipfile
import zlib
from os import PathLike
from pathlib import Path
from textwrap import shorten
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labelboost.data.dataset import Dataset
from labelboost.data.files import Location, show, write_bytes
from labelboost.data.values import csr_of, narrow

ARRAYS = (
    "X_data",
    "X_indices",
    "X_indptr",
    "X_shape",
    "Y_indices",
    "Y_indptr",
    "Y_shape",
    "feature_names",
    "label_names",
    "feature_kind",
    "nominal_values",
)

DAMAGE = (
    *(ValueError, TypeError, KeyError, OSError, EOFError, RuntimeError, MemoryError),
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error),
)
"""What reading a damaged archive may raise, depending on the byte that is wrong."""


def load_npz(path: str | PathLike[str]) -> Dataset:
    """Read a data set; X becomes a `csr_array` of float32, Y a dense array of uint8.

    Raises FileNotFoundError if there is no such file, ValueError if it is not in the format.
    """
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"there is no data set at {file}")
    try:
        return _dataset(file.stem, _read_arrays(file))
    except DAMAGE as error:
        # One line, as some messages quote half of the file.
        problem = shorten(str(error), 200, placeholder=" ...")
        raise ValueError(f"{file} is not a multi-label npz file: {problem}") from error


def _read_arrays(file: Path) -> dict[str, NDArray[Any]]:
    # Opened here because np.load leaves a broken archive open.
    with file.open("rb") as stream:
        # Never unpickle: a data file must not be able to run code.
        archive = np.load(stream, allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise TypeError("it holds a single array")
        absent = [name for name in ARRAYS if name not in archive.files]
        if absent:
            raise ValueError(f"it lacks {', '.join(absent)}")
        return {name: archive[name] for name in ARRAYS}


def _dataset(name: str, arrays: dict[str, NDArray[Any]]) -> Dataset:
    if not np.issubdtype(arrays["X_data"].dtype, np.floating):
        raise ValueError(f"X_data must be floating point, got {arrays['X_data'].dtype}")
    X = _csr("X", arrays["X_data"].astype(np.float32, copy=False), arrays)
    Y = _csr("Y", np.ones(arrays["Y_indices"].shape, dtype=np.uint8), arrays)
    nominal = _nominal_mask(arrays["feature_kind"])
    return Dataset(
        name=name,
        X=X,
        Y=Y.toarray(),
        feature_names=_names("feature_names", arrays),
        label_names=_names("label_names", arrays),
        nominal=nominal,
        categories=_categories(arrays["nominal_values"]),
    )


def _csr(
    prefix: str, data: NDArray[Any], arrays: dict[str, NDArray[Any]]
) -> sp.csr_array[Any, tuple[int, int]]:
    indices, indptr = arrays[f"{prefix}_indices"], arrays[f"{prefix}_indptr"]
    for part, array in (("data", data), ("indices", indices), ("indptr", indptr)):
        if array.ndim != 1:
            raise ValueError(f"{prefix}_{part} must have one dimension, got {array.ndim}")
    for part, array in (("indices", indices), ("indptr", indptr)):
        if not np.issubdtype(array.dtype, np.integer):
            raise ValueError(f"{prefix}_{part} must hold integers, got {array.dtype}")
    shape = arrays[f"{prefix}_shape"]
    if shape.shape != (2,) or not np.issubdtype(shape.dtype, np.integer):
        raise ValueError(f"{prefix}_shape must be two integers, got {shape}")
    rows, columns = int(shape[0]), int(shape[1])
    if len(indptr) != rows + 1 or indptr[0] != 0 or indptr[-1] != len(indices):
        raise ValueError(f"{prefix}_indptr does not fit {rows} rows and {len(indices)} entries")
    if (np.diff(indptr) < 0).any():
        raise ValueError(f"{prefix}_indptr decreases")
    if len(data) != len(indices):
        raise ValueError(f"{len(data)} {prefix}_data for {len(indices)} {prefix}_indices")
    if len(indices) and not (indices.min() >= 0 and indices.max() < columns):
        raise ValueError(f"{prefix}_indices must lie between 0 and {columns - 1}")
    matrix = sp.csr_array((data, indices, indptr), shape=(rows, columns))
    if not matrix.has_canonical_format:
        raise ValueError(f"{prefix}_indices must ascend within each row, without repetition")
    return matrix


def _names(what: str, arrays: dict[str, NDArray[Any]]) -> tuple[str, ...]:
    names = arrays[what]
    if names.ndim != 1 or names.dtype.kind != "U":
        raise ValueError(f"{what} must be a one-dimensional array of text")
    return tuple(str(name) for name in names)


def _nominal_mask(kind: NDArray[Any]) -> NDArray[np.bool_]:
    unknown = sorted(set(map(str, kind.ravel())) - {"numeric", "nominal"})
    if kind.ndim != 1 or unknown:
        raise ValueError(f"feature_kind must say numeric or nominal per feature, got {unknown}")
    return np.asarray(kind == "nominal", dtype=np.bool_)


def _categories(text: NDArray[Any]) -> dict[int, tuple[str, ...]]:
    if text.ndim != 0 or text.dtype.kind != "U":
        raise ValueError("nominal_values must be one JSON text")
    values = json.loads(str(text))
    if not isinstance(values, dict) or not all(isinstance(v, list) for v in values.values()):
        raise ValueError("nominal_values must map feature indices to lists of categories")
    return {int(feature): tuple(map(str, names)) for feature, names in values.items()}


def write_npz(dataset: Dataset, location: Location) -> None:
    """Write a data set, to be read by `load_npz`."""
    for name in (*dataset.feature_names, *dataset.label_names):
        if name.endswith("\0"):
            raise ValueError(f"the name {show(name)} ends with U+0000, which NumPy does not keep")
    X = csr_of(dataset.X)
    data = X.data if X.dtype == np.float32 else narrow(X.data)
    if data.dtype != np.float32:
        raise ValueError("npz files hold float32, which would change some numbers; scale them")
    Y = csr_of(dataset.Y.astype(np.float32))
    categories = {str(j): names for j, names in dataset.categories.items()}
    stream = io.BytesIO()
    np.savez_compressed(
        stream,
        X_data=data,
        X_indices=X.indices,
        X_indptr=X.indptr,
        X_shape=np.array(X.shape),
        Y_indices=Y.indices,
        Y_indptr=Y.indptr,
        Y_shape=np.array(Y.shape),
        feature_names=np.array(dataset.feature_names, dtype=np.str_),
        label_names=np.array(dataset.label_names, dtype=np.str_),
        feature_kind=np.where(dataset.nominal, "nominal", "numeric"),
        nominal_values=np.array(json.dumps(categories)),
    )
    write_bytes(location, stream.getvalue())
