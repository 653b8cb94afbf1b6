"""Multi-label LIBSVM files: `1,3 5:0.5 9:1`, the labels of an example and then its features.

The first line may hold the numbers of examples, features and labels, as in the files of the
extreme-classification repository; features and labels are then counted from 0. Without it, features
end with the last one that occurs, and labels are those that occur.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from labelboost.data.dataset import Dataset
from labelboost.data.files import Location, read_text, show, write_bytes
from labelboost.data.values import (
    BadTokenError,
    csr_from,
    csr_of,
    narrow,
    read_numbers,
    write_numbers,
)

ZeroBased: TypeAlias = Literal["auto"] | bool
MOST_FEATURES = 10_000_000
MOST_LABEL_CELLS = 2_000_000_000
"""Y is dense; a number of labels that would not fit into memory is a mistake or another problem."""


@dataclass(frozen=True, slots=True)
class _Header:
    n_examples: int
    n_features: int
    n_labels: int


@dataclass(frozen=True, slots=True, eq=False)
class _Entries:
    """All rows, one after the other, with indices as they are written."""

    lines: list[int]
    labels: list[list[int]]
    rows: NDArray[np.intp]
    indices: NDArray[np.int64]
    values: NDArray[np.float64]


def read_libsvm(
    location: Location, encoding: str, zero_based: ZeroBased, *, labelled: bool = True
) -> Dataset:
    """Read a file. Labels are named by their ids, features by their indices, as written.

    Unless it must be `labelled`, it may have none.
    """
    if zero_based != "auto" and not isinstance(zero_based, bool):
        raise ValueError(f'zero_based must be True, False or "auto", got {zero_based!r}')
    reader = _Reader(location, read_text(location, encoding).split("\n"))
    header, entries = reader.read()
    base, n_features = reader.count_features(header, entries, zero_based)
    ids = reader.label_ids(header, entries, labelled)
    order = np.lexsort((entries.indices, entries.rows))
    rows, columns = entries.rows[order], entries.indices[order] - base
    values = entries.values[order]
    kept = (values != 0) | np.signbit(values)
    shape = (len(entries.lines), n_features)
    position = {label: k for k, label in enumerate(ids)}
    Y = np.zeros((len(entries.lines), len(ids)), dtype=np.uint8)
    owners = np.repeat(np.arange(len(entries.labels)), [len(own) for own in entries.labels])
    Y[owners, [position[label] for own in entries.labels for label in own]] = 1
    return Dataset(
        name=location.stem,
        X=csr_from(rows[kept], columns[kept], narrow(values[kept]), shape),
        Y=Y,
        feature_names=tuple(f"feature {j}" for j in range(base, base + n_features)),
        label_names=tuple(map(str, ids)),
        nominal=np.zeros(n_features, dtype=np.bool_),
    )


class _Reader:
    def __init__(self, location: Location, lines: list[str]) -> None:
        self._location = location
        self._lines = lines

    def read(self) -> tuple[_Header | None, _Entries]:
        header: _Header | None = None
        lines: list[int] = []
        labels: list[list[int]] = []
        indices: list[int] = []
        texts: list[str] = []
        counts: list[int] = []
        for number, tokens in self._content():
            if not lines and header is None and (header := _header(tokens)) is not None:
                continue
            # Without labels, the first token is that of a feature.
            first = [] if ":" in tokens[0] else [tokens[0]]
            labels.append(self._labels(number, first[0]) if first else [])
            pairs = [token.split(":") for token in tokens[len(first) :]]
            own = self._indices(number, pairs)
            indices += own
            texts += [pair[1] for pair in pairs]
            counts.append(len(own))
            lines.append(number)
        if not lines:
            raise self._location.fault("there are no examples", len(self._lines))
        if header is not None and header.n_examples != len(lines):
            raise self._location.fault(
                f"the first line promises {header.n_examples} examples, but there are {len(lines)}"
            )
        rows = np.repeat(np.arange(len(counts)), counts)
        values = self._numbers(texts, rows, lines, counts)
        return header, _Entries(lines, labels, rows, np.array(indices, dtype=np.int64), values)

    def _content(self) -> Iterator[tuple[int, list[str]]]:
        """The tokens of each line that has any."""
        for index, line in enumerate(self._lines):
            tokens = line.partition("#")[0].split()
            if tokens:
                yield index + 1, tokens

    def _fault(self, line: int, token: int, message: str) -> ValueError:
        """An error about a token of a line, by its position among them."""
        text = self._lines[line - 1].partition("#")[0]
        column = 0
        for ordinal, word in enumerate(text.split()):
            column = text.index(word, column)
            if ordinal == token:
                break
            column += len(word)
        return self._location.fault(message, line, column + 1)

    def _labels(self, line: int, token: str) -> list[int]:
        texts = token.split(",")
        digits = "".join(texts)
        # Label ids may be large, as they need not be consecutive.
        if "" in texts or not _is_digits(digits) or max(map(len, texts)) > 18:
            wrong = next((t for t in texts if not _is_digits(t) or len(t) > 18), token)
            raise self._fault(
                line,
                0,
                f"{show(wrong)} is not the id of a label, a whole number; write labels as 1,3 and "
                "features as 5:0.5",
            )
        ids = list(map(int, texts))
        if len(set(ids)) < len(ids):
            twice = next(label for label in ids if ids.count(label) > 1)
            raise self._fault(line, 0, f"label {twice} occurs twice in this row")
        return ids

    def _indices(self, line: int, pairs: list[list[str]]) -> list[int]:
        texts = [pair[0] for pair in pairs]
        plain = not pairs or (set(map(len, pairs)) == {2} and _is_digits("".join(texts)))
        if plain and "" not in texts and max(map(len, texts), default=0) <= 8:
            indices = list(map(int, texts))
            if len(set(indices)) == len(indices):
                return indices
        offset = len(self._lines[line - 1].partition("#")[0].split()) - len(pairs)
        seen: set[str] = set()
        for i, pair in enumerate(pairs):
            if len(pair) != 2 or not _is_digits(pair[0]):
                what = show(":".join(pair))
                message = f"{what} is not a feature; write index:value, such as 5:0.5"
                raise self._fault(line, offset + i, message)
            if len(pair[0]) > 8:
                message = f"index {show(pair[0])} is too large; at most {MOST_FEATURES - 1}"
                raise self._fault(line, offset + i, message)
            plain_text = str(int(pair[0]))
            if plain_text in seen:
                raise self._fault(line, offset + i, f"index {plain_text} occurs twice in this row")
            seen.add(plain_text)
        raise AssertionError("a row was refused without a reason")

    def _numbers(
        self, texts: list[str], rows: NDArray[np.intp], lines: list[int], counts: list[int]
    ) -> NDArray[np.float64]:
        try:
            return read_numbers(texts)
        except BadTokenError as bad:
            row = int(rows[bad.position])
            within = bad.position - sum(counts[:row])
            tokens = self._lines[lines[row] - 1].partition("#")[0].split()
            token = len(tokens) - counts[row] + within
            message = f"{bad.problem}; write nan if it is missing"
            raise self._fault(lines[row], token, message) from bad

    def count_features(
        self, header: _Header | None, entries: _Entries, zero_based: ZeroBased
    ) -> tuple[int, int]:
        """The first index, 0 or 1, and the number of features."""
        smallest = int(entries.indices.min(initial=MOST_FEATURES))
        largest = int(entries.indices.max(initial=-1))
        if zero_based == "auto" and header is not None:
            base = int(smallest > 0 and largest == header.n_features)
        else:
            # As in scikit-learn: a file in which no index is 0 counts from 1.
            base = int(smallest > 0) if zero_based == "auto" else int(not zero_based)
        n_features = largest + 1 - base if header is None else header.n_features
        if n_features < 1 and smallest > largest:
            raise self._location.fault("there are no features")
        if n_features > MOST_FEATURES:
            raise self._location.fault(
                f"there would be {n_features} features; at most {MOST_FEATURES} are allowed"
            )
        out_of_range = (entries.indices < base) | (entries.indices >= base + n_features)
        if out_of_range.any():
            cell = int(np.argmax(out_of_range))
            row = int(entries.rows[cell])
            line = entries.lines[row]
            end = int(np.searchsorted(entries.rows, row, side="right"))
            tokens = self._lines[line - 1].partition("#")[0].split()
            raise self._fault(
                line,
                len(tokens) - (end - cell),
                f"index {entries.indices[cell]} is out of range; indices go from {base} to "
                f"{base + n_features - 1}",
            )
        return base, n_features

    def label_ids(self, header: _Header | None, entries: _Entries, labelled: bool) -> list[int]:
        """The ids of all labels, ascending."""
        present = sorted({label for own in entries.labels for label in own})
        if labelled and not present and (header is None or header.n_labels == 0):
            raise self._location.fault("there are no labels; rows start with them, such as 1,3")
        n_labels = len(present) if header is None else header.n_labels
        if n_labels * len(entries.lines) > MOST_LABEL_CELLS:
            raise self._location.fault(
                f"{len(entries.lines)} examples with {n_labels} labels each are too many: labels "
                "are held as a dense array"
            )
        if header is None:
            return present
        first = int(bool(present) and present[0] > 0 and present[-1] == n_labels)
        if present and present[-1] >= first + n_labels:
            row = next(i for i, own in enumerate(entries.labels) if present[-1] in own)
            message = f"label {present[-1]} is out of range, as there are {n_labels} labels"
            raise self._fault(entries.lines[row], 0, message)
        return list(range(first, first + n_labels))


def _is_digits(text: str) -> bool:
    return text.isascii() and text.isdecimal()


def _header(tokens: list[str]) -> _Header | None:
    """Three plain numbers; no row looks like that."""
    if len(tokens) != 3 or not all(_is_digits(token) and len(token) < 10 for token in tokens):
        return None
    return _Header(*map(int, tokens))


def write_libsvm(dataset: Dataset, location: Location) -> None:
    """Write a file with a header, counted from 0. Names of features and labels are lost."""
    if dataset.nominal.any():
        name = dataset.feature_names[dataset.nominal_indices[0]]
        raise ValueError(
            f"LIBSVM files hold numbers only, but feature {show(name)} is nominal; write ARFF, "
            "Parquet or npz"
        )
    X = csr_of(dataset.X)
    texts = write_numbers(X.data, missing="nan")
    entries = [f"{j}:{text}" for j, text in zip(X.indices.tolist(), texts, strict=True)]
    lines = [f"{dataset.n_examples} {dataset.n_features} {dataset.n_labels}"]
    for i, labels in enumerate(dataset.Y):
        ids = ",".join(map(str, np.flatnonzero(labels).tolist()))
        # A row must not be blank, or it would be no row at all.
        own = entries[X.indptr[i] : X.indptr[i + 1]] or ([] if ids else ["0:0"])
        lines.append(" ".join([ids, *own]))
    write_bytes(location, "\n".join([*lines, ""]))
