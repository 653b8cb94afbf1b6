"""ARFF files, dense or sparse, with their labels named by Mulan (XML) or by Meka (-C)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelboost.data.arff_header import Header, find_labels, read_header
from labelboost.data.arff_rows import Cells, RowReader
from labelboost.data.arff_tokens import quote
from labelboost.data.dataset import Dataset, Features
from labelboost.data.files import Location, read_text, write_bytes
from labelboost.data.label_choice import Labels
from labelboost.data.mulan_xml import write_label_file
from labelboost.data.values import csr_from, csr_of, narrow, write_numbers
from labelboost.data.writing import category_names, check_names


def read_arff(location: Location, labels: Labels, encoding: str) -> Dataset:
    """Read a file. Labels keep the order in which it declares them."""
    lines = read_text(location, encoding).split("\n")
    header = read_header(location, lines)
    label_columns = find_labels(location, header, labels)
    reader = RowReader(location, lines, header.attributes)
    cells = reader.read(header.first_row)
    chosen = set(label_columns)
    feature_columns = [j for j in range(len(header.attributes)) if j not in chosen]
    features = [header.attributes[j] for j in feature_columns]
    return Dataset(
        name=location.stem,
        X=_features(cells, feature_columns, len(header.attributes)),
        Y=_labels(cells, label_columns, header, reader),
        feature_names=tuple(attribute.name for attribute in features),
        label_names=tuple(header.names[j] for j in label_columns),
        nominal=np.array([attribute.kind == "nominal" for attribute in features], dtype=np.bool_),
        categories={
            j: attribute.categories
            for j, attribute in enumerate(features)
            if attribute.kind == "nominal"
        },
    )


def _features(cells: Cells, feature_columns: list[int], n_attributes: int) -> Features:
    if not cells.sparse.any():
        table = cells.values.reshape(-1, n_attributes)
        return narrow(table[:, feature_columns])
    new_column = np.full(n_attributes, -1, dtype=np.intp)
    new_column[feature_columns] = np.arange(len(feature_columns))
    columns = new_column[cells.columns]
    # An entry that is 0 is the same as none; -0.0 is kept, to be written again as it was.
    kept = (columns >= 0) & ((cells.values != 0) | np.signbit(cells.values))
    shape = (len(cells.lines), len(feature_columns))
    return csr_from(cells.rows[kept], columns[kept], narrow(cells.values[kept]), shape)


def _labels(
    cells: Cells, label_columns: list[int], header: Header, reader: RowReader
) -> NDArray[np.uint8]:
    # What the codes of each label mean: {1, 0} is as good a declaration as {0, 1}, and then a
    # sparse row that does not mention the label has it.
    meaning = np.zeros((len(header.attributes), 2))
    meaning[:] = 0, 1
    for j in label_columns:
        categories = header.attributes[j].categories
        meaning[j, : len(categories)] = [float(category) for category in categories]
    position = np.full(len(header.attributes), -1, dtype=np.intp)
    position[label_columns] = np.arange(len(label_columns))
    own = np.flatnonzero(position[cells.columns] >= 0)
    codes, columns, rows = cells.values[own], cells.columns[own], cells.rows[own]
    wrong = np.flatnonzero((codes != 0) & (codes != 1))
    if wrong.size:
        value = codes[wrong[0]]
        problem = "is missing" if np.isnan(value) else f"is {value:g}"
        raise reader.fault(
            int(cells.lines[rows[wrong[0]]]),
            int(columns[wrong[0]]),
            f"a label must be 0 or 1, but this one {problem}",
        )
    Y = np.zeros((len(cells.lines), len(label_columns)), dtype=np.uint8)
    Y[cells.sparse] = meaning[label_columns, 0]
    Y[rows, position[columns]] = meaning[columns, codes.astype(np.intp)]
    return Y


def write_arff(dataset: Dataset, location: Location) -> None:
    """Write a file and, beside it, the XML file that names the labels."""
    check_names(dataset)
    categories = {j: list(map(quote, names)) for j, names in category_names(dataset).items()}
    # The option of Meka says the same as the XML file: the labels come last.
    lines = [f"@relation {quote(f'{dataset.name}: -C -{dataset.n_labels}')}", ""]
    for j, name in enumerate(dataset.feature_names):
        kind = "{" + ",".join(categories[j]) + "}" if j in categories else "numeric"
        lines.append(f"@attribute {quote(name)} {kind}")
    lines += [f"@attribute {quote(name)} {{0,1}}" for name in dataset.label_names]
    lines += ["", "@data"]
    rows = _dense_rows if isinstance(dataset.X, np.ndarray) else _sparse_rows
    lines += rows(dataset, categories)
    write_label_file(location.beside(".xml"), dataset.label_names)
    write_bytes(location, "\n".join([*lines, ""]))


def _dense_rows(dataset: Dataset, categories: dict[int, list[str]]) -> list[str]:
    X = np.asarray(dataset.X)
    columns = [_texts(X[:, j], categories.get(j)) for j in range(dataset.n_features)]
    columns += [list(map(str, column)) for column in dataset.Y.T.tolist()]
    return [",".join(row) for row in zip(*columns, strict=True)]


def _texts(values: NDArray[Any], categories: list[str] | None) -> list[str]:
    if categories is None:
        return write_numbers(values, missing="?")
    return ["?" if np.isnan(value) else categories[int(value)] for value in values]


def _sparse_rows(dataset: Dataset, categories: dict[int, list[str]]) -> list[str]:
    X = csr_of(dataset.X)
    texts = write_numbers(X.data, missing="?")
    if categories:
        for cell in np.flatnonzero(dataset.nominal[X.indices] & ~np.isnan(X.data)).tolist():
            texts[cell] = categories[int(X.indices[cell])][int(X.data[cell])]
    entries = [f"{j} {text}" for j, text in zip(X.indices.tolist(), texts, strict=True)]
    first_label = dataset.n_features
    rows = []
    for i, labels in enumerate(dataset.Y):
        own = entries[X.indptr[i] : X.indptr[i + 1]]
        own += [f"{first_label + k} 1" for k in np.flatnonzero(labels).tolist()]
        rows.append("{" + ",".join(own) + "}")
    return rows
