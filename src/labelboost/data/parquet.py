"""Parquet files, through pyarrow. Labels and categories are listed in their metadata."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelboost.data.dataset import Dataset
from labelboost.data.files import Location, read_bytes, show, write_bytes
from labelboost.data.label_choice import Labels, choose_labels
from labelboost.data.tables import Column, assemble, dense_columns, encode
from labelboost.data.writing import category_names, check_names
from labelboost.optional import require

METADATA = b"labelboost"
"""Key of a JSON object: names of the `labels`, and `categories` of nominal columns."""


def read_parquet(location: Location, labels: Labels) -> Dataset:
    """Read a file. Columns of text, and dictionaries of text, are nominal features."""
    pa = require("pyarrow", "Parquet files", "parquet")
    table = _read_table(location, pa)
    names = tuple(map(str, table.column_names))
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise location.fault(f"column {show(twice)} occurs twice")
    if table.num_rows == 0:
        raise location.fault("there are no rows")
    listed, categories = _metadata(location, table.schema.metadata or {})
    label_columns = set(choose_labels(listed if labels is None else labels, names, location))
    features: dict[str, Column] = {}
    targets: dict[str, NDArray[np.uint8]] = {}
    for j, name in enumerate(names):
        reader = _ColumnReader(location, name, pa)
        try:
            if j in label_columns:
                targets[name] = reader.label(table.column(j))
            else:
                features[name] = reader.feature(table.column(j), categories.get(name))
        except (pa.ArrowException, UnicodeError) as error:
            raise location.fault(f"column {show(name)} is damaged: {_first_line(error)}") from error
    return assemble(location.stem, features, targets)


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _read_table(location: Location, pa: Any) -> Any:
    parquet = require("pyarrow.parquet", "Parquet files", "parquet")
    raw = read_bytes(location)
    if not raw:
        raise location.fault("the file is empty")
    try:
        table = parquet.read_table(pa.BufferReader(raw), use_threads=False)
        # Damaged bytes may decode to arrays that contradict themselves.
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise location.fault(f"not a valid Parquet file: {_first_line(error)}") from error
    return table


def _metadata(
    location: Location, metadata: dict[bytes, bytes]
) -> tuple[list[str] | None, dict[str, list[str]]]:
    """Labels and categories, if this package wrote the file."""
    if METADATA not in metadata:
        return None, {}
    try:
        content = json.loads(metadata[METADATA])
        labels = [str(name) for name in content["labels"]]
        categories = {
            str(name): [str(category) for category in listed]
            for name, listed in content["categories"].items()
        }
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise location.fault(f"its metadata are not those of a data set: {error!r}") from error
    return labels, categories


class _ColumnReader:
    def __init__(self, location: Location, name: str, pa: Any) -> None:
        self._location = location
        self._name = name
        self._pa = pa

    def _fault(self, message: str, row: int | None = None) -> ValueError:
        place = "" if row is None else f"row {row + 1}, "
        return self._location.fault(f"{place}column {show(self._name)}: {message}")

    def feature(self, column: Any, categories: list[str] | None) -> Column:
        """Numbers, or codes in the order of the metadata, of the dictionary, of appearance."""
        types = self._pa.types
        kind = column.type
        if types.is_dictionary(kind) and _is_text(types, kind.value_type):
            if categories is None:
                chunks = column.unify_dictionaries().chunks
                categories = [c for c in chunks[0].dictionary.to_pylist() if c is not None]
            column = column.cast(kind.value_type)
            kind = kind.value_type
        if _is_text(types, kind):
            texts = column.to_pylist()
            codes = {name: code for code, name in enumerate(categories or ())}
            if not codes.keys() >= {text for text in texts if text is not None}:
                return encode(texts)
            values = [np.nan if text is None else codes[text] for text in texts]
            return Column(np.array(values, dtype=np.float64), tuple(codes))
        return Column(self._numbers(column, "a feature must hold numbers or text"))

    def label(self, column: Any) -> NDArray[np.uint8]:
        """0 and 1, or false and true."""
        values = self._numbers(column, "a label must hold 0 and 1, or false and true")
        wrong = np.flatnonzero((values != 0) & (values != 1))
        if wrong.size:
            value = values[wrong[0]]
            shown = "is missing" if np.isnan(value) else f"is {value:g}"
            raise self._fault(f"a label must be 0 or 1, but this one {shown}", int(wrong[0]))
        return values.astype(np.uint8)

    def _numbers(self, column: Any, rule: str) -> NDArray[np.float64]:
        types, kind = self._pa.types, column.type
        if types.is_null(kind):
            return np.full(len(column), np.nan)
        if not (types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind)):
            raise self._fault(f"{rule}, but it is of type {kind}; convert or remove it")
        if types.is_boolean(kind) or types.is_float16(kind):
            column = column.cast(self._pa.uint8() if types.is_boolean(kind) else self._pa.float32())
        # Integers beyond 2**53 are rounded, as in text files.
        values = column.cast(self._pa.float64(), safe=False).to_numpy()
        result = np.array(values, dtype=np.float64)
        infinite = np.flatnonzero(np.isinf(result))
        if infinite.size:
            raise self._fault("the value is infinite; use null if it is missing", int(infinite[0]))
        return result


def _is_text(types: Any, kind: Any) -> bool:
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def write_parquet(dataset: Dataset, location: Location) -> None:
    """Write a file: floats, dictionaries of text for nominal features, labels as uint8."""
    pa = require("pyarrow", "Parquet files", "parquet")
    parquet = require("pyarrow.parquet", "Parquet files", "parquet")
    check_names(dataset)
    categories = category_names(dataset)
    columns = []
    for j, values in enumerate(dense_columns(dataset.X)):
        missing = np.isnan(values)
        if j in categories:
            codes = np.where(missing, 0, values).astype(np.int32)
            indices = pa.array(codes, mask=missing)
            names = pa.array(categories[j], type=pa.string())
            columns.append(pa.DictionaryArray.from_arrays(indices, names))
        else:
            columns.append(pa.array(values, mask=missing))
    columns += [pa.array(np.ascontiguousarray(column)) for column in dataset.Y.T]
    content = {
        "labels": dataset.label_names,
        "categories": {dataset.feature_names[j]: names for j, names in categories.items()},
    }
    table = pa.Table.from_arrays(columns, names=[*dataset.feature_names, *dataset.label_names])
    described = table.replace_schema_metadata({METADATA: json.dumps(content)})
    stream = io.BytesIO()
    parquet.write_table(described, stream)
    write_bytes(location, stream.getvalue())
