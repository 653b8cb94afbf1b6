"""Data in the order and the codes of a model: whatever does not fit is refused, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labelboost.commands.reading import select_features
from labelboost.data import Dataset
from labelboost.data.dataset import Features
from labelboost.data.files import nearest, show
from labelboost.data.values import csr_of
from labelboost.estimators.naming import Columns

Note = Callable[[str], None]


def columns_of_data(dataset: Dataset) -> Columns:
    """What other data have to match to be used together with these."""
    return Columns(
        n_features=dataset.n_features,
        feature_names=dataset.feature_names,
        label_names=dataset.label_names,
        labels_are_numbered=False,
        nominal=dataset.nominal,
        categories=dataset.categories,
    )


def match_features(dataset: Dataset, columns: Columns, note: Note, *, sparse_file: bool) -> Dataset:
    """Bring features into the order of a model, and categories into its codes.

    `sparse_file`: whether the file mentions only what is not zero (LIBSVM), so that a feature it
    does not have is zero. Categories that the model does not know become one more code, which is
    equal to none of them, as it is with data frames.
    """
    if columns.feature_names is None:
        if dataset.n_features != columns.n_features:
            raise ValueError(
                f"{dataset.name} has {dataset.n_features} features, but the model has "
                f"{columns.n_features}; if some of its columns are labels, name them with --labels"
            )
        note("the model knows no names of features; they are taken in the order of the data")
        ordered = dataset
    else:
        ordered = _in_order(dataset, columns.feature_names, note, sparse_file)
    changes: dict[int, NDArray[np.float64]] = {}
    categories = dict(ordered.categories)
    for j, nominal in enumerate(columns.nominal):
        known = columns.categories.get(j)
        _check_kind(ordered, j, bool(nominal), known)
        own = ordered.categories.get(j)
        if known is None or own is None or own == known:
            continue
        code = {category: c for c, category in enumerate(known)}
        unseen = [category for category in own if category not in code]
        if unseen:
            name = show(ordered.feature_names[j])
            note(f"feature {name}: {_listed('category', unseen)} not known to the model")
        changes[j] = np.array([code.get(c, len(known)) for c in own], dtype=np.float64)
        categories[j] = (*known, " or ".join(unseen)) if unseen else known
    if not changes:
        return ordered
    return replace(ordered, X=_recode(ordered.X, changes), categories=categories)


def match_labels(dataset: Dataset, columns: Columns, note: Note, *, sparse_file: bool) -> Dataset:
    """Bring labels into the order of a model."""
    given, expected = dataset.label_names, columns.label_names
    if given == expected:
        return dataset
    known, own = set(expected), set(given)
    unknown = [name for name in given if name not in known]
    absent = [name for name in expected if name not in own]
    if columns.labels_are_numbered and (unknown or absent) and len(given) == len(expected):
        note("the model knows no names of labels; they are taken in the order of the data")
        return replace(dataset, label_names=expected)
    if unknown:
        raise ValueError(
            f"{dataset.name}: {_listed('label', unknown)} not known to the model"
            f"{nearest(unknown[0], expected)}"
        )
    if absent and not sparse_file:
        raise ValueError(f"{dataset.name}: {_listed('label', absent)} missing from the data")
    _require_distinct(dataset, given, "labels")
    position = {name: k for k, name in enumerate(given)}
    Y = np.zeros((dataset.n_examples, len(expected)), dtype=np.uint8)
    for k, name in enumerate(expected):
        if name in position:
            Y[:, k] = dataset.Y[:, position[name]]
    if not absent:
        note(f"labels of {dataset.name} are in another order; they are matched by name")
    return replace(dataset, Y=Y, label_names=expected)


def _in_order(
    dataset: Dataset, expected: tuple[str, ...], note: Note, sparse_file: bool
) -> Dataset:
    given = dataset.feature_names
    if given == expected:
        return dataset
    known, own = set(expected), set(given)
    unknown = [name for name in given if name not in known]
    absent = [name for name in expected if name not in own]
    if unknown:
        raise ValueError(
            f"{dataset.name}: {_listed('feature', unknown)} not known to the model"
            f"{nearest(unknown[0], absent)}; leave it out with --ignore if it is of no use"
        )
    if absent and not sparse_file:
        raise ValueError(
            f"{dataset.name}: {_listed('feature', absent)} missing from the data; the model needs "
            "all that it was trained with"
        )
    _require_distinct(dataset, given, "features")
    _require_distinct(dataset, expected, "features of the model")
    if absent:
        dataset = _with_zeros(dataset, absent)
    else:
        note(f"features of {dataset.name} are in another order; they are matched by name")
    position = {name: j for j, name in enumerate(dataset.feature_names)}
    return select_features(dataset, [position[name] for name in expected])


def _with_zeros(dataset: Dataset, names: Sequence[str]) -> Dataset:
    X = csr_of(dataset.X)
    more = dataset.n_features + len(names)
    wider = sp.csr_array((X.data, X.indices, X.indptr), shape=(dataset.n_examples, more))
    return replace(
        dataset,
        X=wider,
        feature_names=(*dataset.feature_names, *names),
        nominal=np.append(dataset.nominal, np.zeros(len(names), dtype=np.bool_)),
    )


def _check_kind(dataset: Dataset, j: int, nominal: bool, known: tuple[str, ...] | None) -> None:
    """Refuse a feature that holds numbers here and categories in the model, or the reverse."""
    own = dataset.categories.get(j)
    if nominal == dataset.nominal[j] and (known is None) == (own is None):
        return
    name = show(dataset.feature_names[j])
    if not nominal and dataset.nominal[j]:
        listed = _shortened(own) if own else "codes"
        raise ValueError(
            f"{dataset.name}: feature {name} holds categories ({listed}), but it was numeric when "
            "the model was trained; look for values that are not numbers"
        )
    if known is not None and own is None and not _all_missing(dataset.X, j):
        raise ValueError(
            f"{dataset.name}: feature {name} holds numbers, but when the model was trained it held "
            f"categories ({_shortened(known)}); write their names"
        )
    if known is None and own is not None:
        raise ValueError(
            f"{dataset.name}: feature {name} holds categories ({_shortened(own)}), of which the "
            "model knows the codes only; name them with labelboost.estimators.naming.name_columns"
        )


def _recode(X: Features, changes: dict[int, NDArray[np.float64]]) -> Features:
    if isinstance(X, np.ndarray):
        result = X.copy()
        for j, codes in changes.items():
            result[:, j] = _translated(X[:, j], codes)
        return result
    columns = csr_of(X).tocsc()
    parts: list[tuple[NDArray[Any], NDArray[Any]]] = []
    for j in range(columns.shape[1]):
        start, stop = columns.indptr[j], columns.indptr[j + 1]
        data, rows = columns.data[start:stop], columns.indices[start:stop]
        if j in changes:
            # An absent entry is the first category, which may be another one in the model.
            full = np.zeros(columns.shape[0], dtype=columns.dtype)
            full[rows] = data
            full = _translated(full, changes[j])
            rows = np.flatnonzero(full).astype(columns.indices.dtype)
            data = full[rows]
        parts.append((data, rows))
    lengths = np.cumsum([0, *(len(data) for data, _ in parts)])
    data, rows = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return sp.csr_array(sp.csc_array((data, rows, lengths), shape=columns.shape))


def _translated(values: NDArray[Any], codes: NDArray[np.float64]) -> NDArray[Any]:
    result = values.copy()
    present = ~np.isnan(values)
    result[present] = codes[values[present].astype(np.intp)]
    return result


def _all_missing(X: Features, j: int) -> bool:
    column = X[:, j] if isinstance(X, np.ndarray) else X[:, [j]].toarray()
    return bool(np.isnan(column).all())


def _require_distinct(dataset: Dataset, names: Sequence[str], what: str) -> None:
    if len(set(names)) < len(names):
        raise ValueError(
            f"{dataset.name}: {what} have the same names, so that they cannot be matched; put "
            "them into the order of training"
        )


def _listed(what: str, names: Sequence[str]) -> str:
    """`features "a", "b" and 3 more are`."""
    plural = {"category": "categories"}.get(what, what + "s")
    return f"{what} {show(names[0])} is" if len(names) == 1 else f"{plural} {_shortened(names)} are"


def _shortened(names: Iterable[str]) -> str:
    listed = list(names)
    text = ", ".join(map(show, listed[:3]))
    return text if len(listed) <= 3 else f"{text} and {len(listed) - 3} more"
