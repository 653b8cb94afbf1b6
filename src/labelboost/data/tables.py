"""Tables of named columns: CSV and TSV files, and what Parquet files have in common with them."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelboost.data.arff_tokens import PLAIN
from labelboost.data.dataset import Dataset, Features
from labelboost.data.files import Location, nearest, read_text, show, write_bytes
from labelboost.data.label_choice import Labels, choose_labels
from labelboost.data.mulan_xml import write_label_file
from labelboost.data.values import (
    INFINITE,
    NUMBER,
    BadTokenError,
    csr_of,
    narrow,
    read_numbers,
    read_plain_numbers,
    write_numbers,
)
from labelboost.data.writing import category_names, check_names

MISSING = frozenset({"", "?", "NA", "nan", "NaN", "NAN"})
"""Exactly these, as Na and na may well be categories."""
DECIMAL_COMMA = re.compile(r"[-+]?\d*,\d+", re.ASCII)
TRUTH = {"0": 0, "1": 1, "0.0": 0, "1.0": 1, "false": 0, "true": 1}


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """The values of a feature: numbers, or codes if there are categories."""

    values: NDArray[np.float64]
    categories: tuple[str, ...] | None = None


def assemble(
    name: str,
    features: dict[str, Column],
    labels: dict[str, NDArray[np.uint8]],
) -> Dataset:
    """Make a data set of columns."""
    columns = list(features.values())
    return Dataset(
        name=name,
        X=narrow(np.column_stack([column.values for column in columns])),
        Y=np.column_stack([np.zeros((len(columns[0].values), 0), np.uint8), *labels.values()]),
        feature_names=tuple(features),
        label_names=tuple(labels),
        nominal=np.array([column.categories is not None for column in columns], dtype=np.bool_),
        categories={
            j: column.categories
            for j, column in enumerate(columns)
            if column.categories is not None
        },
    )


def encode(texts: Sequence[str | None]) -> Column:
    """Turn texts into codes, in the order in which categories appear; None is missing."""
    codes = {
        text: code for code, text in enumerate(dict.fromkeys(t for t in texts if t is not None))
    }
    values = [np.nan if text is None else codes[text] for text in texts]
    return Column(np.array(values, dtype=np.float64), tuple(codes))


def dense_columns(X: Features) -> Iterator[NDArray[np.floating[Any]]]:
    """The features one after the other, as arrays."""
    if isinstance(X, np.ndarray):
        yield from X.T
        return
    entries = csr_of(X).tocsc()
    for start, stop in pairwise(entries.indptr.tolist()):
        column = np.zeros(entries.shape[0], dtype=entries.dtype)
        column[entries.indices[start:stop]] = entries.data[start:stop]
        yield column


def read_csv(
    location: Location,
    labels: Labels,
    encoding: str,
    delimiter: str | None,
    nominal: Sequence[str],
) -> Dataset:
    """Read a file whose first row names the columns."""
    text = read_text(location, encoding)
    if delimiter is None:
        delimiter = _sniff(text, tab_first=location.format == "tsv")
    names, lines, rows = _split(location, text, delimiter)
    label_columns = set(choose_labels(labels, names, location))
    for name in nominal:
        if name not in names:
            raise location.fault(
                f"nominal lists {show(name)}, which is not one of its columns{nearest(name, names)}"
            )
    features: dict[str, Column] = {}
    targets: dict[str, NDArray[np.uint8]] = {}
    for j, (name, cells) in enumerate(zip(names, zip(*rows, strict=True), strict=True)):
        reader = _ColumnReader(location, name, j + 1, lines, delimiter)
        if j in label_columns:
            targets[name] = reader.label(cells)
        elif name in nominal:
            features[name] = encode(_present(cells))
        else:
            features[name] = reader.feature(cells)
    return assemble(location.stem, features, targets)


def _sniff(text: str, *, tab_first: bool) -> str:
    """The delimiter that splits the first rows alike, and into most columns."""
    best, most = ",", (False, 0)
    for candidate in "\t,;" if tab_first else ",;\t":
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=candidate, strict=True)
        try:
            widths = [len(row) for row, _ in zip(reader, range(2), strict=False)]
        except csv.Error:
            continue
        rank = (len(set(widths)) == 1 and widths[0] > 1, widths[0] if widths else 0)
        if rank > most:
            best, most = candidate, rank
    return best


def _split(
    location: Location, text: str, delimiter: str
) -> tuple[tuple[str, ...], list[int], list[list[str]]]:
    """Names of the columns, and the rows with the numbers of their last lines."""
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    except TypeError as error:
        raise ValueError(f"delimiter={delimiter!r}: it must be one character") from error
    lines: list[int] = []
    rows: list[list[str]] = []
    names: list[str] | None = None
    try:
        for row in reader:
            if not row:
                continue
            if names is None:
                names = row
                _check_header(location, names, reader.line_num)
                continue
            if len(row) != len(names):
                raise location.fault(
                    f"the row has {len(row)} values, but there are {len(names)} columns",
                    reader.line_num,
                    min(len(row), len(names)) + 1,
                )
            rows.append(row)
            lines.append(reader.line_num)
    except csv.Error as error:
        raise location.fault(f"not a valid row: {error}", max(reader.line_num, 1)) from error
    if names is None or not rows:
        raise location.fault("there are no rows below the names of the columns", reader.line_num)
    return tuple(names), lines, rows


def _check_header(location: Location, names: list[str], line: int) -> None:
    seen: dict[str, int] = {}
    for j, name in enumerate(names, start=1):
        if not name.strip():
            raise location.fault("the column has no name; the first row must name all", line, j)
        if name in seen:
            message = f"column {show(name)} occurs twice, first as column {seen[name]}"
            raise location.fault(message, line, j)
        seen[name] = j


def _present(cells: Sequence[str]) -> list[str | None]:
    return [None if cell.strip() in MISSING else cell for cell in cells]


@dataclass(frozen=True, slots=True)
class _ColumnReader:
    """Turns the texts of a column into values. Columns are counted, not characters."""

    location: Location
    name: str
    number: int
    lines: list[int]
    delimiter: str

    def _fault(self, row: int, message: str) -> ValueError:
        where = f"column {show(self.name)}: {message}"
        return self.location.fault(where, self.lines[row], self.number)

    def feature(self, cells: Sequence[str]) -> Column:
        """Numbers if all values are numbers, otherwise codes of categories."""
        plain = read_plain_numbers(cells)
        if plain is not None:
            return Column(plain)
        texts = _present(cells)
        numbers = [None if text is None else text.strip() for text in texts]
        others = [t for t in numbers if t is not None and not NUMBER.fullmatch(t)]
        if all(INFINITE.fullmatch(text) for text in others):
            try:
                return Column(read_numbers(numbers))
            except BadTokenError as bad:
                message = f"{bad.problem}; leave the field empty if it is missing"
                raise self._fault(bad.position, message) from bad
        # Taken for categories, 1,5 and 1,6 would be no nearer to each other than to 99.
        if self.delimiter != "," and all(DECIMAL_COMMA.fullmatch(text) for text in others):
            row = numbers.index(others[0])
            raise self._fault(row, f"{show(others[0])} has a decimal comma; write a point")
        return encode(texts)

    def label(self, cells: Sequence[str]) -> NDArray[np.uint8]:
        """0 and 1, or false and true."""
        values = [TRUTH.get(cell.strip().lower(), -1) for cell in cells]
        if -1 in values:
            row = values.index(-1)
            shown = "is missing" if cells[row].strip() in MISSING else f"is {show(cells[row])}"
            raise self._fault(row, f"a label must be 0 or 1, false or true, but this one {shown}")
        return np.array(values, dtype=np.uint8)


def write_csv(dataset: Dataset, location: Location) -> None:
    """Write a file and, beside it, an XML file that names the labels."""
    check_names(dataset)
    if any(not name.strip() for name in (*dataset.feature_names, *dataset.label_names)):
        raise ValueError("a CSV file cannot hold a column without a name; name all of them")
    quoted = {
        j: [_field(name) for name in _category_check(dataset, j, names)]
        for j, names in category_names(dataset).items()
    }
    columns: list[list[str]] = []
    for j, values in enumerate(dense_columns(dataset.X)):
        if j in quoted:
            columns.append(["" if np.isnan(v) else quoted[j][int(v)] for v in values])
        else:
            columns.append(write_numbers(values, missing=""))
    columns += [list(map(str, column)) for column in dataset.Y.T.tolist()]
    delimiter = "\t" if location.format == "tsv" else ","
    header = map(_field, (*dataset.feature_names, *dataset.label_names))
    lines = [delimiter.join(row) for row in (header, *zip(*columns, strict=True))]
    write_label_file(location.beside(".xml"), dataset.label_names)
    write_bytes(location, "\n".join([*lines, ""]))


def _category_check(dataset: Dataset, j: int, names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if name.strip() in MISSING:
            raise ValueError(
                f"category {show(name)} of feature {show(dataset.feature_names[j])} would be read "
                "as a missing value from a CSV file; rename it, or write ARFF, Parquet or npz"
            )
    return names


def _field(text: str) -> str:
    return text if PLAIN.fullmatch(text) else '"' + text.replace('"', '""') + '"'
