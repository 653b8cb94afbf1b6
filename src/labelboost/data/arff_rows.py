"""The rows of an ARFF file.

Most rows are split by commas alone, which is fast. A row with quotes or comments, or with anything
wrong, is read again token by token: only that code decides what is an error, and knows its place.
Texts become numbers many rows at a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from labelboost.data.arff_header import Attribute
from labelboost.data.arff_tokens import BARE_ENTRY, BARE_VALUE, LineScanner, Token
from labelboost.data.files import Location, nearest, show
from labelboost.data.values import BadTokenError, read_numbers

SPECIAL = re.compile(r"['\"%{}]")
BATCH = 1 << 18
"""So many values are held as text at a time."""


@dataclass(frozen=True, slots=True)
class Row:
    """The values of an example, in the order of the file; None: missing."""

    columns: Sequence[int]
    values: Sequence[str | None]
    sparse: bool


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """The values of all rows, row by row; absent ones of sparse rows are 0."""

    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    """Ascending within each row."""
    values: NDArray[np.float64]
    """Numbers, or codes of categories."""
    lines: NDArray[np.intp]
    """For each row, the number of its line."""
    sparse: NDArray[np.bool_]
    """For each row, whether it is in braces."""


@dataclass(slots=True)
class _Batch:
    """Rows waiting for their texts to become numbers."""

    columns: list[int] = field(default_factory=list)
    values: list[str | None] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)


class RowReader:
    """Reads the rows below a header."""

    def __init__(
        self, location: Location, lines: list[str], attributes: tuple[Attribute, ...]
    ) -> None:
        self._location = location
        self._lines = lines
        self._attributes = attributes
        self._all = range(len(attributes))
        self._numeric = np.array([a.kind == "numeric" for a in attributes], dtype=np.bool_)
        self._codes = [{name: code for code, name in enumerate(a.categories)} for a in attributes]

    def read(self, first: int) -> Cells:
        """Read the rows from the line with index `first` on."""
        parts: list[tuple[NDArray[np.intp], NDArray[np.float64]]] = []
        batch, counts, lines, sparse = _Batch(), [], [], []
        for number, row in self._rows(first):
            batch.columns.extend(row.columns)
            batch.values.extend(row.values)
            batch.counts.append(len(row.columns))
            batch.lines.append(number)
            sparse.append(row.sparse)
            if len(batch.values) >= BATCH:
                parts.append(self._convert(batch))
                counts += batch.counts
                lines += batch.lines
                batch = _Batch()
        parts.append(self._convert(batch))
        counts += batch.counts
        lines += batch.lines
        if not lines:
            raise self._location.fault("there are no rows below @data", len(self._lines))
        return Cells(
            rows=np.repeat(np.arange(len(counts)), counts),
            columns=np.concatenate([columns for columns, _ in parts]),
            values=np.concatenate([values for _, values in parts]),
            lines=np.array(lines, dtype=np.intp),
            sparse=np.array(sparse, dtype=np.bool_),
        )

    def fault(self, line: int, column: int, message: str) -> ValueError:
        """An error about the value of an attribute, or about the row where it is not written."""
        tokens, _ = self._scan(line)
        token = dict(tokens).get(column)
        where = token.column if token is not None else 1
        name = show(self._attributes[column].name)
        return self._location.fault(f"attribute {name}: {message}", line, where)

    def _rows(self, first: int) -> Iterator[tuple[int, Row]]:
        for index in range(first, len(self._lines)):
            line = self._lines[index].strip()
            if not line or line[0] == "%":
                continue
            row = self._split_sparse(line) if line[0] == "{" else self._split_dense(line)
            yield index + 1, row or self._read_slowly(index + 1)

    def _split_dense(self, line: str) -> Row | None:
        values: list[str | None] = [value.strip() for value in line.split(",")]
        if len(values) != len(self._all) or "" in values or SPECIAL.search(line):
            return None
        if "?" in line:
            values = [None if value == "?" else value for value in values]
        return Row(self._all, values, sparse=False)

    def _split_sparse(self, line: str) -> Row | None:
        body = line[1:-1]
        if line[-1] != "}" or SPECIAL.search(body):
            return None
        pairs = [entry.split() for entry in body.split(",")]
        if set(map(len, pairs)) != {2}:
            return None
        texts = [pair[0] for pair in pairs]
        digits = "".join(texts)
        if not (digits.isascii() and digits.isdecimal()) or max(map(len, texts)) > 9:
            return None
        columns = list(map(int, texts))
        if max(columns) >= len(self._all):
            return None
        values: list[str | None] = [pair[1] for pair in pairs]
        if "?" in body:
            values = [None if value == "?" else value for value in values]
        return Row(columns, values, sparse=True)

    def _read_slowly(self, number: int) -> Row:
        tokens, sparse = self._scan(number)
        values = [None if token.missing else token.text for _, token in tokens]
        return Row([column for column, _ in tokens], values, sparse)

    def _scan(self, number: int) -> tuple[list[tuple[int, Token]], bool]:
        """Read a line token by token, each with its attribute."""
        scanner = LineScanner(self._location, number, self._lines[number - 1])
        if scanner.take("{"):
            return self._scan_sparse(scanner), True
        return self._scan_dense(scanner), False

    def _scan_dense(self, scanner: LineScanner) -> list[tuple[int, Token]]:
        tokens: list[Token] = []
        expected = len(self._all)
        while True:
            if scanner.peek() == "{":
                raise scanner.fault("weights of examples are not supported; remove {...}")
            tokens.append(scanner.token(BARE_VALUE, "a value (? if it is missing)"))
            if not scanner.take(","):
                break
        scanner.expect_end("a value but a comma")
        if len(tokens) != expected:
            place = tokens[min(expected, len(tokens) - 1)].column
            raise scanner.fault(
                f"the row has {len(tokens)} values, but there are {expected} attributes", place
            )
        return list(enumerate(tokens))

    def _scan_sparse(self, scanner: LineScanner) -> list[tuple[int, Token]]:
        tokens: dict[int, Token] = {}
        while scanner.peek() != "}" or tokens:
            index = scanner.token(BARE_ENTRY, "the index of an attribute, or }")
            column = self._column(scanner, index)
            if column in tokens:
                raise scanner.fault(f"index {column} occurs twice in this row", index.column)
            tokens[column] = scanner.token(BARE_ENTRY, f"the value of attribute {column}")
            if not scanner.take(","):
                break
        if not scanner.take("}"):
            raise scanner.fault("expected a comma or } here")
        if scanner.peek() in (",", "{") and scanner.rest().lstrip(", \t").startswith("{"):
            raise scanner.fault("weights of examples are not supported; remove {...} at the end")
        scanner.expect_end("}")
        return list(tokens.items())

    def _column(self, scanner: LineScanner, index: Token) -> int:
        last = len(self._all) - 1
        text = index.text
        valid = text.isascii() and text.isdecimal() and len(text) <= 18
        if not valid or int(text) > last:
            raise scanner.fault(
                f"{show(text)} is not the index of an attribute; they go from 0 to {last}",
                index.column,
            )
        return int(text)

    def _convert(self, batch: _Batch) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        columns = np.array(batch.columns, dtype=np.intp)
        numeric = self._numeric[columns]
        values = np.empty(len(columns))
        rows = np.repeat(np.arange(len(batch.counts)), batch.counts)
        selected = np.flatnonzero(numeric)
        try:
            values[selected] = read_numbers(list(compress(batch.values, numeric.tolist())))
        except BadTokenError as bad:
            cell = selected[bad.position]
            line = batch.lines[int(rows[cell])]
            raise self.fault(
                line, int(columns[cell]), f"{bad.problem}; write ? if it is missing"
            ) from bad
        self._encode(batch, columns, rows, np.flatnonzero(~numeric), values)
        # Sparse rows may list their attributes in any order, but each of them once.
        steps = np.diff(columns)
        if ((steps <= 0) & (np.diff(rows) == 0)).any():
            order = np.lexsort((columns, rows))
            columns, values = columns[order], values[order]
            if twice := np.flatnonzero((np.diff(columns) == 0) & (np.diff(rows) == 0)).tolist():
                self._scan(batch.lines[int(rows[twice[0]])])  # raises, as it sees the repetition
        return columns, values

    def _encode(
        self,
        batch: _Batch,
        columns: NDArray[np.intp],
        rows: NDArray[np.intp],
        selected: NDArray[np.intp],
        values: NDArray[np.float64],
    ) -> None:
        """Replace categories by their codes."""
        codes, texts = self._codes, batch.values
        owners = columns[selected].tolist()
        found = [
            np.nan if (text := texts[cell]) is None else codes[column].get(text, -1)
            for cell, column in zip(selected.tolist(), owners, strict=True)
        ]
        values[selected] = found
        if -1 not in found:
            return
        position = found.index(-1)
        cell, column = selected[position], owners[position]
        text, categories = texts[cell] or "", self._attributes[column].categories
        listed = ", ".join(categories)
        hint = nearest(text, categories) or f"; its categories are {show(listed)}"
        line = batch.lines[int(rows[cell])]
        raise self.fault(line, column, f"{show(text)} is not one of its categories{hint}")
