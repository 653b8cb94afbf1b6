"""Numbers, dense and sparse: converted exactly or refused."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from operator import length_hint
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from labelboost import _core
from labelboost.validation import frames
from labelboost.validation.frames import Place, show

FloatArray: TypeAlias = NDArray[np.float32] | NDArray[np.float64]
Compressed: TypeAlias = "csr_array[Any] | csc_array[Any]"

_BLOCK = 1 << 17
"""Entries examined at a time, so that no mask as big as the data is built."""
_INT32_MAX = 2**31 - 1
_EXACT = 2**53
"""float64 holds every integer up to here."""


def is_sparse(value: object) -> bool:
    return bool(scipy.sparse.issparse(value))


def shape_of(table: Any) -> tuple[int, ...]:
    return tuple(int(size) for size in table.shape)


def as_array(data: object, name: str, remedy: str) -> NDArray[Any]:
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


def scalar_error(name: str, data: object, remedy: str) -> ValueError:
    fault = f"{name} is {show(data)} of type {type(data).__name__}"
    return ValueError(f"Expected 2D array, got scalar array instead: {fault}. {remedy}")


def as_float(values: NDArray[Any], place: Place, remedy: str) -> FloatArray:
    """Convert numbers to floats: without a copy if they are, with an error if that loses any."""
    kind, size = values.dtype.kind, values.dtype.itemsize
    if kind == "f" and size <= 8:
        dtype: Any = np.float64 if size == 8 else np.float32
        floats: FloatArray = values.astype(dtype, copy=False)
        # Views into records may stand askew in memory, which the core could not step through.
        askew = not floats.flags.aligned or any(step % floats.itemsize for step in floats.strides)
        return floats.copy() if askew else floats
    if kind in "biu":
        index = first_entry(values, _inexact) if size == 8 else None
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


def first_entry(
    values: NDArray[Any], test: Callable[[NDArray[Any]], NDArray[np.bool_]]
) -> tuple[int, ...] | None:
    """Find an entry that passes the test, in blocks along the memory."""
    if values.ndim == 1:
        found = first_entry(values[:, np.newaxis], test)
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


def refuse_infinity(values: FloatArray, place: Place) -> None:
    if values.ndim == 2 and not _core.any_infinite(values):
        return
    index = first_entry(values, np.isinf)
    if index is not None:
        raise ValueError(
            f"X contains infinity: {show(values[index])} at {place(*index)}. Replace it by a "
            "finite number, or by NaN if the value is missing."
        )


# Sparse matrices


def as_compressed(matrix: Any, name: str, place: Place, remedy: str) -> Compressed:
    """Convert to compressed rows (or columns, if it is that) with floats and int32 indices."""
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
    floats = as_float(data[:stored], entry_place(indices, indptr, columns, place), remedy)
    return make((floats, indices, indptr), shape=matrix.shape)


def entry_place(indices: NDArray[Any], indptr: NDArray[Any], columns: bool, place: Place) -> Place:
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
    bad = first_entry(index, lambda block: (block < 0) | (block >= size))
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
    falling = first_entry(np.diff(indptr.astype(np.int64)), lambda block: block < 0)
    if falling is not None:
        at = falling[0] + 1
        raise _corrupt(name, f"indptr falls from {indptr[at - 1]} to {indptr[at]} at position {at}")
    stored = int(indptr[-1])
    if data.ndim != 1 or stored > min(len(data), len(indices), _INT32_MAX):
        found = f"{len(indices)} indices and {len(data)} values"
        raise _corrupt(name, f"indptr announces {stored} entries, but there are {found}")
    _check_range(name, indices[:stored], minor, "row or column")


def canonical(matrix: Compressed, boolean: bool) -> Compressed:
    """Sort indices and sum duplicates, in a copy if there is anything to do."""
    if matrix.has_canonical_format:
        return matrix
    matrix = matrix.copy()
    matrix.sum_duplicates()
    if boolean:  # where twice True is True
        np.minimum(matrix.data, 1, out=matrix.data)
    return matrix
