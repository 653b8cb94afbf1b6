"""Data are brought into the order and the codes of a model, or refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from labelboost import RuleBoostingClassifier, TreeBoostingClassifier
from labelboost.commands.matching import columns_of_data, match_features, match_labels
from labelboost.commands.reading import select_features
from labelboost.data import Dataset, make_multilabel
from labelboost.estimators.naming import columns_of, name_columns

ESTIMATORS = [RuleBoostingClassifier, TreeBoostingClassifier]


def dense(X: Any) -> Any:
    return X if isinstance(X, np.ndarray) else X.toarray()


def some_data(*, sparse: bool = False, missing: float = 0.1) -> Dataset:
    data = make_multilabel(80, 6, 4, nominal=0.5, random_state=3)
    X = dense(data.X).copy()
    X[np.random.default_rng(0).random(X.shape) < missing] = np.nan
    categories = {
        j: tuple(f"{data.feature_names[j]}-{c}" for c in range(int(np.nanmax(X[:, j])) + 1))
        for j in data.nominal_indices
    }
    return replace(data, X=sp.csr_array(X) if sparse else X, categories=categories)


def shuffled(data: Dataset, rng: np.random.Generator) -> Dataset:
    """The same data with features, labels and categories in another order."""
    X = dense(data.X).copy()
    categories = {}
    for j, names in data.categories.items():
        order = rng.permutation(len(names))
        present = ~np.isnan(X[:, j])
        X[present, j] = np.argsort(order)[X[present, j].astype(int)]
        categories[j] = tuple(names[c] for c in order)
    labels = rng.permutation(data.n_labels)
    same = replace(
        data,
        X=X if isinstance(data.X, np.ndarray) else sp.csr_array(X),
        categories=categories,
        Y=data.Y[:, labels],
        label_names=tuple(data.label_names[k] for k in labels),
    )
    return select_features(same, rng.permutation(data.n_features).tolist())


def matched(data: Dataset, columns: Any, *, sparse_file: bool = False) -> tuple[Dataset, list[str]]:
    notes: list[str] = []
    found = match_features(data, columns, notes.append, sparse_file=sparse_file)
    return match_labels(found, columns, notes.append, sparse_file=sparse_file), notes


@pytest.mark.parametrize("sparse", [False, True])
@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10**6))
def test_order_does_not_matter(sparse: bool, seed: int) -> None:
    data = some_data(sparse=sparse)
    found, notes = matched(shuffled(data, np.random.default_rng(seed)), columns_of_data(data))
    np.testing.assert_array_equal(dense(found.X), dense(data.X))
    np.testing.assert_array_equal(found.Y, data.Y)
    assert found.feature_names == data.feature_names
    assert found.label_names == data.label_names
    assert all("matched by name" in note for note in notes)


def test_what_fits_is_left_alone() -> None:
    data = some_data()
    found, notes = matched(data, columns_of_data(data))
    assert found is data
    assert notes == []


@pytest.mark.parametrize("sparse", [False, True])
def test_unknown_categories_are_none_of_the_known_ones(sparse: bool) -> None:
    data = some_data(sparse=sparse)
    j = data.nominal_indices[0]
    names = ("never seen", *data.categories[j])
    X = dense(data.X).copy()
    X[:, j] += 1
    X[:5, j] = 0
    new = replace(
        data,
        X=sp.csr_array(X) if sparse else X,
        categories={**data.categories, j: names},
    )
    found, notes = matched(new, columns_of_data(data))
    expected = dense(data.X).copy()
    expected[:5, j] = len(data.categories[j])
    np.testing.assert_array_equal(dense(found.X), expected)
    name = data.feature_names[j]
    assert notes == [f'feature "{name}": category "never seen" is not known to the model']


def test_what_does_not_fit_is_refused_by_name() -> None:
    data = some_data()
    columns = columns_of_data(data)
    first, second = data.feature_names[:2]
    j, i = data.nominal_indices[0], int(np.flatnonzero(~data.nominal)[0])

    def message(changed: Dataset, **options: Any) -> str:
        with pytest.raises(ValueError, match=r"\S") as refused:
            matched(changed, columns, **options)
        return str(refused.value)

    renamed = replace(data, feature_names=(first + "!", *data.feature_names[1:]))
    assert f'feature "{first}!" is not known to the model; did you mean "{first}"?' in (
        message(renamed)
    )
    fewer = select_features(data, range(2, data.n_features))
    assert f'features "{first}", "{second}" are missing from the data' in message(fewer)
    labels = replace(data, label_names=("?", *data.label_names[1:]))
    assert 'label "?" is not known to the model' in message(labels)
    short = replace(data, Y=data.Y[:, 1:], label_names=data.label_names[1:])
    assert f'label "{data.label_names[0]}" is missing from the data' in message(short)
    twice = replace(data, feature_names=(second, *data.feature_names[1:]))
    assert f'feature "{first}" is missing' in message(twice)
    numeric = replace(
        data,
        nominal=data.nominal & (np.arange(data.n_features) != j),
        categories={k: names for k, names in data.categories.items() if k != j},
    )
    assert f'feature "{data.feature_names[j]}" holds numbers, but' in message(numeric)
    X = dense(data.X).copy()
    X[:, i] = 0
    nominal = replace(
        data,
        X=X,
        nominal=data.nominal | (np.arange(data.n_features) == i),
        categories={**data.categories, i: ("o.1",)},
    )
    assert f'feature "{data.feature_names[i]}" holds categories ("o.1"), but it was numeric' in (
        message(nominal)
    )


def test_a_column_of_missing_values_has_no_kind() -> None:
    data = some_data()
    j = data.nominal_indices[0]
    X = dense(data.X).copy()
    X[:, j] = np.nan
    categories = {k: names for k, names in data.categories.items() if k != j}
    empty = replace(
        data, X=X, nominal=data.nominal & (np.arange(data.n_features) != j), categories=categories
    )
    found, _ = matched(empty, columns_of_data(data))
    np.testing.assert_array_equal(found.X, X)


def test_files_without_zeros_may_lack_features_and_labels() -> None:
    data = make_multilabel(40, 5, 3, random_state=1)
    columns = columns_of_data(data)
    part = select_features(replace(data, X=sp.csr_array(dense(data.X))), [3, 1])
    part = replace(part, Y=data.Y[:, [2]], label_names=(data.label_names[2],))
    found, notes = matched(part, columns, sparse_file=True)
    expected = dense(data.X).copy()
    expected[:, [0, 2, 4]] = 0
    np.testing.assert_array_equal(dense(found.X), expected)
    np.testing.assert_array_equal(found.Y[:, 2], data.Y[:, 2])
    assert not found.Y[:, :2].any()
    assert notes == []


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_models_without_names_take_columns_in_order(estimator: Any) -> None:
    data = make_multilabel(60, 5, 3, random_state=1)
    model = estimator(random_state=1).set_params(**{estimator_size(estimator): 5})
    columns = columns_of(model.fit(data.X, data.Y))
    assert columns.feature_names is None
    assert columns.labels_are_numbered
    found, notes = matched(data, columns)
    assert found.X is data.X
    assert len(notes) == 2
    assert all("knows no names" in note for note in notes)
    with pytest.raises(ValueError, match="has 2 features, but the model has 5; if some"):
        matched(select_features(data, [0, 1]), columns)


def estimator_size(estimator: Any) -> str:
    return next(name for name in ("n_rules", "n_trees") if name in estimator().get_params())


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_named_models(estimator: Any) -> None:
    data = some_data(missing=0.0)
    nominal = data.nominal_indices
    model = estimator(random_state=1, categorical_features=nominal)
    model.set_params(**{estimator_size(estimator): 5}).fit(data.X, data.Y)
    with pytest.raises(ValueError, match="of which the model knows the codes only"):
        matched(data, columns_of(model))
    before = model.predict(data.X)
    name_columns(
        model,
        feature_names=data.feature_names,
        label_names=data.label_names,
        categories=data.categories,
    )
    columns = columns_of(model)
    assert columns.feature_names == data.feature_names
    assert columns.label_names == data.label_names
    assert not columns.labels_are_numbered
    assert dict(columns.categories) == dict(data.categories)
    assert list(model.feature_names_in_) == list(data.feature_names)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        np.testing.assert_array_equal(model.predict(data.X), before)


@pytest.mark.parametrize(
    ("names", "error", "message"),
    [
        ({"feature_names": ["a"]}, ValueError, "holds 1 names, but the model has 3"),
        ({"feature_names": ["a", 1, "b"]}, TypeError, r"feature_names\[1\] is 1; names"),
        ({"label_names": ["a", "a"]}, ValueError, "label_names holds 'a' twice"),
        ({"categories": {0: ["a"]}}, ValueError, "feature 0, which is not a nominal one"),
        ({"categories": {7: ["a"]}}, ValueError, "feature 7, which is not a nominal one"),
        ({"categories": {2: ["a", "a"]}}, ValueError, r"categories\[2\] holds 'a' twice"),
    ],
)
def test_impossible_names_are_refused(names: Any, error: type[Exception], message: str) -> None:
    X = np.random.default_rng(0).integers(0, 2, (30, 3)).astype(float)
    model = RuleBoostingClassifier(n_rules=2, categorical_features=[2], random_state=1)
    model.fit(X, X[:, :2].astype(int))
    before = dict(vars(model))
    with pytest.raises(error, match=message):
        name_columns(model, **names)
    assert vars(model) == before


def test_labels_that_look_the_same() -> None:
    X = np.random.default_rng(0).random((30, 2))
    model = RuleBoostingClassifier(n_rules=2, random_state=1).fit(X, (X > 0.5).astype(int))
    model.classes_ = np.array([1, "1"], dtype=object)
    with pytest.raises(ValueError, match="several labels that read '1'"):
        columns_of(model)
