"""The estimator from outside: every form of input, weights, threads, prediction, and errors."""

from __future__ import annotations

import copy
import functools
import pickle
import tracemalloc
import warnings
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.preprocessing import MultiLabelBinarizer

from labelboost import Condition, RuleBoostingClassifier, TreeBoostingClassifier, _core, reference
from labelboost.data.dataset import Dataset
from labelboost.data.embedded import load_digits_display
from labelboost.data.synthetic import make_multilabel

HEADS: list[dict[str, Any]] = [
    {"label_bins": None},
    {"label_bins": 0.3},
    {"label_bins": 0.3, "label_bin_aggregation": "exact"},
    {"label_bins": 2},
    {"head": "single"},
    {"loss": "label_logistic"},
    {"loss": "label_logistic", "head": "complete", "label_bins": None},
    {"loss": "label_logistic", "head": "complete", "label_bins": 2},
]
"""Every combination of loss, head and label bins that takes a way of its own."""

LOSSES = ("example_logistic", "label_logistic")

every_head = pytest.mark.parametrize(
    "heads", HEADS, ids=lambda heads: "-".join(str(value) for value in heads.values())
)
both_losses = pytest.mark.parametrize("loss", LOSSES)


@pytest.fixture(params=["pandas", "polars"])
def lib(request: pytest.FixtureRequest) -> Any:
    return pytest.importorskip(request.param)


@functools.cache
def digits(n: int = 150) -> Dataset:
    """Handwritten digits: many zeros, some constant pixels, integers."""
    data = load_digits_display()
    return Dataset(
        data.name, data.X[:n], data.Y[:n], data.feature_names, data.label_names, data.nominal
    )


@functools.cache
def numeric(n: int = 150) -> Dataset:
    return make_multilabel(n, 6, 5, random_state=2)


@functools.cache
def mixed(n: int = 150) -> Dataset:
    """Numeric and nominal features with missing values."""
    return make_multilabel(n, 8, 5, nominal=0.5, missing=0.1, random_state=3)


def train(X: Any, Y: Any, sample_weight: Any = None, **parameters: Any) -> RuleBoostingClassifier:
    """Fit a small model; it may well be that there is not enough to learn for all rules."""
    model = RuleBoostingClassifier(**{"n_rules": 10, "random_state": 1} | parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, Y, sample_weight)


def assert_same_model(computed: RuleBoostingClassifier, expected: RuleBoostingClassifier) -> None:
    """Compare the rules bit by bit."""
    assert computed.n_rules_ == expected.n_rules_ == len(computed.rules_)
    for i, (comp, ref) in enumerate(zip(computed.rules_, expected.rules_, strict=True)):
        assert comp.conditions == ref.conditions, f"rule {i}"
        assert comp.coverage == ref.coverage, f"rule {i}"
        np.testing.assert_array_equal(comp.head, ref.head, err_msg=f"rule {i}", strict=True)


def assert_nearly_same_model(
    computed: RuleBoostingClassifier, expected: RuleBoostingClassifier
) -> None:
    """Compare conditions exactly and heads up to rounding; coverage may differ."""
    for i, (comp, ref) in enumerate(zip(computed.rules_, expected.rules_, strict=True)):
        assert comp.conditions == ref.conditions, f"rule {i}"
        np.testing.assert_allclose(comp.head, ref.head, rtol=1e-8, atol=1e-12, err_msg=f"rule {i}")


def assert_differ(a: RuleBoostingClassifier, b: RuleBoostingClassifier) -> None:
    assert [rule.conditions for rule in a.rules_] != [rule.conditions for rule in b.rules_]


def summed_by_hand(model: RuleBoostingClassifier, X: NDArray[Any]) -> NDArray[np.float64]:
    """Eq. 3, straight from the rules."""
    scores = np.zeros((len(X), len(model.classes_)))
    for rule in model.rules_:
        covered = np.ones(len(X), dtype=bool)
        for condition in rule.conditions:
            covered &= condition.covers(X[:, condition.feature])
        scores[covered] += rule.head
    return scores


def rows_of(Y: Any) -> set[tuple[int, ...]]:
    return {tuple(int(entry) for entry in row) for row in np.asarray(Y)}


# --- Forms of features --------------------------------------------------------------------------


def strided(X: NDArray[Any]) -> NDArray[Any]:
    """A view with gaps in both directions."""
    larger = np.full((2 * X.shape[0], 3 * X.shape[1]), 12345.0, dtype=X.dtype)
    larger[::2, ::3] = X
    return larger[::2, ::3]


def backwards(X: NDArray[Any]) -> NDArray[Any]:
    """A view with negative strides."""
    return X[::-1, ::-1].copy()[::-1, ::-1]


def read_only(X: NDArray[Any]) -> NDArray[Any]:
    X = X.copy()
    X.setflags(write=False)
    return X


def unaligned(X: NDArray[Any]) -> NDArray[Any]:
    """A view into packed records, which does not stand at multiples of its size."""
    records = np.zeros(X.shape, dtype=np.dtype([("skip", "u1"), ("value", X.dtype)]))
    records["value"] = X
    return records["value"]


FORMS: dict[str, Callable[[NDArray[Any]], Any]] = {
    "C order": np.ascontiguousarray,
    "Fortran order": np.asfortranarray,
    "strided": strided,
    "backwards": backwards,
    "read-only": read_only,
    "unaligned": unaligned,
    "big-endian": lambda X: X.astype(X.dtype.newbyteorder(">")),
    "list": lambda X: X.tolist(),
    "object": lambda X: X.astype(object),
    "csr_array": sp.csr_array,
    "csr_matrix": sp.csr_matrix,
    "csc_array": sp.csc_array,
    "csc_matrix": sp.csc_matrix,
    "coo_array": sp.coo_array,
    "coo_matrix": sp.coo_matrix,
    "lil_array": sp.lil_array,
}


@functools.cache
def model_of(make: Callable[[], Dataset], dtype: type, bins: int | None) -> RuleBoostingClassifier:
    data = make()
    nominal = data.nominal_indices
    X = data.X.astype(dtype)
    return train(X, data.Y, categorical_features=nominal, feature_bins=bins)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("make", [digits, numeric, mixed])
@pytest.mark.parametrize("bins", [None, 4])
def test_the_form_of_the_features_does_not_matter(
    form: str, dtype: type, make: Callable[[], Dataset], bins: int | None
) -> None:
    data = make()
    expected = model_of(make, np.float64, bins)
    X = FORMS[form](data.X.astype(dtype))
    model = train(X, data.Y, categorical_features=data.nominal_indices, feature_bins=bins)
    assert_same_model(model, expected)
    scores = expected.decision_function(data.X)
    np.testing.assert_array_equal(model.decision_function(X), scores, strict=True)
    np.testing.assert_array_equal(expected.predict(X), expected.predict(data.X), strict=True)
    np.testing.assert_array_equal(expected.predict_proba(X), expected.predict_proba(data.X))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.float16])
def test_integers_and_short_floats(dtype: type) -> None:
    data = digits()
    model = train(data.X.astype(dtype), data.Y)
    assert_same_model(model, train(data.X, data.Y))


def test_single_precision_is_not_rounded_and_thresholds_are_double() -> None:
    values = np.float32([1.0, np.nextafter(np.float32(1.0), np.float32(2.0))])
    X = np.tile(values, 20)[:, None]
    model = train(X, X > 1.0, bootstrap=False, n_rules=2)
    (condition,) = model.rules_[1].conditions
    assert float(values[0]) < condition.value < float(values[1])
    np.testing.assert_array_equal(model.predict(X), X > 1.0)


def test_conditions_compare_in_double_precision() -> None:
    low = np.nextafter(np.float32(1.0), np.float32(2.0))
    values = np.float32([low, np.nextafter(low, np.float32(2.0))])
    condition = Condition(0, "<=", 0.5 * float(values[0]) + 0.5 * float(values[1]))
    assert condition.covers(values).tolist() == [True, False]


@pytest.mark.parametrize("low", [1.0, -1.0, 1e300, 5e-324, 0.0, -0.0])
def test_neighbouring_values_are_told_apart(low: float) -> None:
    high = np.nextafter(low, np.inf)
    X = np.tile([low, high], 20)[:, None]
    model = train(X, high == X, bootstrap=False, n_rules=2, l2=0.0)
    np.testing.assert_array_equal(model.predict(X), high == X)


def test_sparse_matrices_with_zeros_stored_and_entries_in_disorder() -> None:
    data = digits()
    expected = train(data.X, data.Y)
    full = sp.csr_array(np.ones_like(data.X))
    full.data[:] = data.X.ravel()  # every entry is stored
    assert_same_model(train(full, data.Y), expected)
    np.testing.assert_array_equal(
        expected.decision_function(full), expected.decision_function(data.X)
    )
    rng = np.random.default_rng(0)
    coo = sp.coo_array(data.X)
    order = rng.permutation(coo.nnz)
    halves = np.concatenate([coo.data[order], coo.data[order]]) / 2
    places = np.concatenate([order, order])
    doubled = sp.coo_array((halves, (coo.row[places], coo.col[places])), shape=coo.shape)
    assert_same_model(train(doubled, data.Y), expected)


def test_long_indices_in_sparse_matrices() -> None:
    data = digits()
    X = sp.csc_array(data.X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    expected = train(data.X, data.Y)
    assert_same_model(train(X, data.Y), expected)
    np.testing.assert_array_equal(expected.predict(X), expected.predict(data.X))


def test_sparse_columns_without_zeros_and_without_entries() -> None:
    data = numeric()
    X = np.column_stack([data.X, np.zeros(len(data.X)), np.abs(data.X[:, 0]) + 1])
    assert_same_model(train(sp.csc_array(X), data.Y), train(X, data.Y))


def test_missing_values_have_to_be_stored_in_sparse_matrices() -> None:
    X = np.array([[np.nan], [0.0], [1.0], [2.0]] * 10)
    Y = np.array([[True], [False], [False], [True]] * 10)
    expected = train(X, Y, bootstrap=False)
    for make in (sp.csr_array, sp.csc_array):
        sparse = make(X)
        assert sparse.nnz == 30
        model = train(sparse, Y, bootstrap=False)
        assert_same_model(model, expected)
        np.testing.assert_array_equal(model.decision_function(sparse), summed_by_hand(expected, X))
    assert all(np.isfinite(c.value) for rule in expected.rules_ for c in rule.conditions)


def test_numeric_frames_equal_arrays(lib: Any) -> None:
    data = numeric()
    names = [f"f{j}" for j in range(data.n_features)]
    frame = lib.DataFrame(dict(zip(names, data.X.T, strict=True)))
    model = train(frame, data.Y)
    assert_same_model(model, train(data.X, data.Y))
    assert list(model.feature_names_in_) == names
    np.testing.assert_array_equal(model.decision_function(frame), summed_by_hand(model, data.X))


def framed(lib: Any, data: Dataset, *, enum: bool = False) -> Any:
    """A data frame with categories for nominal features and gaps for missing values."""
    columns = {}
    for j, name in enumerate(data.feature_names):
        values = data.X[:, j]
        if not data.nominal[j]:
            entries = [None if np.isnan(value) else float(value) for value in values]
            columns[name] = lib.Series(entries, dtype=lib.Float64 if enum else None)
            continue
        names = data.categories[j]
        words = [None if np.isnan(value) else names[int(value)] for value in values]
        if lib.__name__ == "pandas":
            columns[name] = lib.Series(lib.Categorical(words, categories=names))
        else:
            columns[name] = lib.Series(words, dtype=lib.Enum(names) if enum else lib.Categorical)
    return lib.DataFrame(columns)


@pytest.mark.parametrize("declared", [False, True], ids=["found", "declared"])
def test_categories_in_frames_equal_codes_in_arrays(lib: Any, declared: bool) -> None:
    if declared and lib.__name__ == "pandas":
        pytest.skip("pandas always declares its categories")
    data = mixed()
    frame = framed(lib, data, enum=declared)
    model = train(frame, data.Y)
    expected = train(data.X, data.Y, categorical_features=data.nominal)
    operators = {c.operator for rule in model.rules_ for c in rule.conditions}
    assert operators & {"=", "!="}
    assert operators & {"<=", ">"}
    assert_same_model(model, expected)
    for predict in ("decision_function", "predict", "predict_proba"):
        np.testing.assert_array_equal(
            getattr(model, predict)(frame), getattr(expected, predict)(data.X)
        )


@pytest.mark.parametrize("listed", ["mask", "indices", "names"])
def test_ways_to_list_categorical_features(listed: str) -> None:
    pd = pytest.importorskip("pandas")
    data = mixed()
    frame = pd.DataFrame(data.X, columns=data.feature_names)
    setting: Any = {
        "mask": data.nominal,
        "indices": data.nominal_indices,
        "names": [data.feature_names[j] for j in data.nominal_indices],
    }[listed]
    model = train(frame, data.Y, categorical_features=setting)
    assert_same_model(model, train(data.X, data.Y, categorical_features=data.nominal))


def test_nominal_features_are_only_compared_for_equality() -> None:
    data = mixed()
    model = train(data.X, data.Y, categorical_features=data.nominal, n_rules=30)
    for rule in model.rules_:
        for condition in rule.conditions:
            assert (condition.operator in ("=", "!=")) == data.nominal[condition.feature]
            if data.nominal[condition.feature]:
                assert condition.value in data.X[:, condition.feature]
    assert_differ(model, train(data.X, data.Y, n_rules=30))


def test_categories_may_have_any_numbers() -> None:
    data = mixed()
    codes = np.array([-7.5, 0.0, 1e300, 3.0, -1e-300, 2.0**60])
    X = data.X.astype(np.float64)
    for j in data.nominal_indices:
        present = ~np.isnan(X[:, j])
        X[present, j] = np.sort(codes)[X[present, j].astype(int)]
    expected = train(data.X, data.Y, categorical_features=data.nominal)
    model = train(X, data.Y, categorical_features=data.nominal)
    np.testing.assert_array_equal(model.decision_function(X), expected.decision_function(data.X))


@pytest.mark.parametrize("make_sparse", [False, True])
def test_constant_and_duplicated_columns_add_nothing(make_sparse: bool) -> None:
    data = mixed()
    n, L = data.X.shape
    useless = [np.zeros(n), np.full(n, 7.5), np.full(n, np.nan)]
    # A gap of its own tells nothing: missing values satisfy no condition, and there is one value.
    X = np.column_stack([data.X, *useless, data.X])
    nominal = np.concatenate([data.nominal, [False, True, False], data.nominal])
    model = train(
        sp.csr_array(X) if make_sparse else X,
        data.Y,
        categorical_features=nominal,
        max_features=None,
    )
    expected = train(data.X, data.Y, categorical_features=data.nominal, max_features=None)
    assert all(c.feature < L for rule in model.rules_ for c in rule.conditions)
    assert_same_model(model, expected)


def test_the_position_of_a_duplicate_decides_between_equals() -> None:
    data = numeric()
    L = data.n_features
    model = train(np.column_stack([data.X, data.X])[:, ::-1], data.Y, max_features=None)
    assert all(c.feature < L for rule in model.rules_ for c in rule.conditions)


@pytest.mark.parametrize("form", ["C order", "Fortran order", "strided", "backwards", "read-only"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_dense_features_are_not_copied(form: str, dtype: type) -> None:
    rng = np.random.default_rng(0)
    X = FORMS[form](rng.random((10000, 40)).astype(dtype))
    Y = rng.random(10000) < 0.5
    model = RuleBoostingClassifier(n_rules=2, loss="label_logistic", random_state=0)
    for call in (lambda: model.fit(X, Y), lambda: model.decision_function(X)):
        assert peak_memory(call) < X.size * X.itemsize / 2


@pytest.mark.parametrize(("make", "method"), [(sp.csc_array, "fit"), (sp.csr_array, "predict")])
def test_sparse_features_in_the_right_format_are_not_copied(make: Any, method: str) -> None:
    rng = np.random.default_rng(0)
    X = make(sp.random(20000, 200, density=0.1, rng=rng, format="csr"))
    Y = rng.random(20000) < 0.5
    model = train(X, Y, n_rules=2, loss="label_logistic")
    call = (lambda: model.fit(X, Y)) if method == "fit" else (lambda: model.predict(X))
    assert peak_memory(call) < X.data.nbytes / 2


def test_input_is_left_as_it_was() -> None:
    data = mixed()
    X, Y, weights = data.X.copy(), data.Y.copy(), np.linspace(0, 2, len(data.X))
    for form in (X, sp.csr_array(X), sp.csc_array(X), sp.coo_array(X)):
        before = copy.deepcopy(form)
        model = train(form, Y, weights, categorical_features=data.nominal)
        model.predict(form)
        if sp.issparse(form):
            assert form.format == before.format
            np.testing.assert_array_equal(form.data, before.data)
            form, before = form.toarray(), before.toarray()  # noqa: PLW2901
        np.testing.assert_array_equal(form, before)
    np.testing.assert_array_equal(Y, data.Y)
    np.testing.assert_array_equal(weights, np.linspace(0, 2, len(data.X)))


def peak_memory(call: Callable[[], Any]) -> int:
    """Memory that Python and NumPy allocate during the call, at its peak."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


# --- Labels -------------------------------------------------------------------------------------


LABEL_FORMS: dict[str, Callable[[NDArray[Any]], Any]] = {
    "bool": lambda Y: Y.astype(bool),
    "int64": lambda Y: Y.astype(np.int64),
    "int8": lambda Y: Y.astype(np.int8),
    "float64": lambda Y: Y.astype(np.float64),
    "float32 in Fortran order": lambda Y: np.asfortranarray(Y, dtype=np.float32),
    "strided": lambda Y: np.repeat(Y, 2, axis=1)[:, ::2],
    "list": lambda Y: Y.tolist(),
    "csr_array": sp.csr_array,
    "csr_matrix": sp.csr_matrix,
    "csc_array": lambda Y: sp.csc_array(Y, dtype=bool),
    "coo_matrix": lambda Y: sp.coo_matrix(Y, dtype=float),
}


@pytest.mark.parametrize("form", LABEL_FORMS)
@both_losses
def test_the_form_of_the_labels_does_not_matter(form: str, loss: str) -> None:
    data = digits()
    model = train(data.X, LABEL_FORMS[form](data.Y), loss=loss)
    expected = train(data.X, data.Y, loss=loss)
    assert_same_model(model, expected)
    np.testing.assert_array_equal(model.classes_, np.arange(7))
    predicted = model.predict(data.X)
    assert isinstance(predicted, np.ndarray)
    assert predicted.shape == data.Y.shape
    assert predicted.dtype.kind == "i"
    np.testing.assert_array_equal(predicted, expected.predict(data.X))


def test_frames_of_labels_name_the_classes(lib: Any) -> None:
    data = digits()
    frame = lib.DataFrame(dict(zip(data.label_names, data.Y.T, strict=True)))
    model = train(data.X, frame)
    assert_same_model(model, train(data.X, data.Y))
    assert list(model.classes_) == list(data.label_names)


@pytest.mark.parametrize("make", [set, frozenset, list, tuple])
def test_label_sets_name_the_classes(make: Any) -> None:
    data = digits()
    names = np.array(data.label_names)
    sets = [make(names[row.astype(bool)].tolist()) for row in data.Y]
    binarizer = MultiLabelBinarizer()
    Y = binarizer.fit_transform(sets)
    model = train(data.X, sets)
    assert list(model.classes_) == list(binarizer.classes_) == sorted(data.label_names)
    assert_same_model(model, train(data.X, Y))
    decoded = binarizer.inverse_transform(model.predict(data.X))
    assert set(decoded) <= {tuple(sorted(labels)) for labels in sets}


def test_sets_of_numbers_and_empty_sets() -> None:
    data = digits(60)
    model = train(data.X, [{3, 20} if i % 3 else set() for i in range(60)])
    np.testing.assert_array_equal(model.classes_, [3, 20])
    assert rows_of(model.predict(data.X)) <= {(0, 0), (1, 1)}


@every_head
def test_a_single_label(heads: dict[str, Any]) -> None:
    data = digits()
    y = data.Y[:, 0]
    column = train(data.X, y[:, None], **heads)
    assert column.predict(data.X).shape == (len(y), 1)
    vector = train(data.X, y, **heads)
    assert_same_model(vector, column)
    assert vector.predict(data.X).shape == (len(y),)
    np.testing.assert_array_equal(vector.predict(data.X), column.predict(data.X)[:, 0])
    scores = column.decision_function(data.X)[:, 0]
    np.testing.assert_array_equal(vector.decision_function(data.X), scores)
    likely = column.predict_proba(data.X)
    np.testing.assert_array_equal(vector.predict_proba(data.X), np.hstack([1 - likely, likely]))
    assert np.mean(vector.predict(data.X) == y) > 0.8


def test_both_losses_are_the_same_for_a_single_label() -> None:
    data = digits()
    models = [train(data.X, data.Y[:, :1], loss=loss, label_bins=None) for loss in LOSSES]
    assert_nearly_same_model(*models)


@every_head
def test_labels_that_never_or_always_occur(heads: dict[str, Any]) -> None:
    data = numeric()
    n = len(data.Y)
    Y = np.column_stack([np.zeros(n), data.Y, np.ones(n)])
    model = train(data.X, Y, **heads)
    predicted = model.predict(data.X)
    assert (predicted[:, 0] == 0).all()
    assert (predicted[:, -1] == 1).all()
    scores = model.decision_function(data.X)
    assert (scores[:, 0] < 0).all()
    assert (scores[:, -1] > 0).all()
    probability = model.predict_proba(data.X)
    assert (probability[:, 0] < 0.5).all()
    assert (probability[:, -1] > 0.5).all()


@every_head
@pytest.mark.parametrize("l2", [0.0, 1.0])
@pytest.mark.parametrize("value", [0, 1])
def test_nothing_but_absent_or_present_labels(heads: dict[str, Any], l2: float, value: int) -> None:
    data = numeric()
    model = train(data.X, np.full(data.Y.shape, value), l2=l2, **heads)
    assert rows_of(model.predict(data.X)) == {(value,) * 5}
    assert np.isfinite(model.decision_function(data.X)).all()


@every_head
@pytest.mark.parametrize("bootstrap", [False, True])
def test_a_single_example(heads: dict[str, Any], bootstrap: bool) -> None:
    model = train([[1.0, np.nan, 3.0]], [[1, 0, 1]], bootstrap=bootstrap, **heads)
    assert model.n_rules_ == 1
    np.testing.assert_array_equal(model.predict([[9.0, 9.0, np.nan]]), [[1, 0, 1]])


@every_head
def test_a_single_feature(heads: dict[str, Any]) -> None:
    data = digits()
    model = train(data.X[:, 20:21], data.Y, **heads)
    assert model.n_features_in_ == 1
    assert model.n_rules_ == 10
    assert model.predict(data.X[:, 20:21]).shape == data.Y.shape


# --- Weights ------------------------------------------------------------------------------------


@every_head
@pytest.mark.parametrize("make", [numeric, mixed])
def test_integer_weights_equal_repeated_rows(
    heads: dict[str, Any], make: Callable[[], Dataset]
) -> None:
    data = make()
    weights = np.random.default_rng(0).integers(0, 4, len(data.Y))
    common = {"bootstrap": False, "categorical_features": data.nominal} | heads
    weighted = train(data.X, data.Y, weights, **common)
    repeated = train(np.repeat(data.X, weights, 0), np.repeat(data.Y, weights, 0), **common)
    assert_nearly_same_model(weighted, repeated)
    for rule, other in zip(weighted.rules_, repeated.rules_, strict=True):
        covered = reference.body(rule.conditions, data.X)
        assert rule.coverage == np.count_nonzero(covered & (weights > 0))
        assert other.coverage == weights[covered].sum()
    np.testing.assert_array_equal(weighted.predict(data.X), repeated.predict(data.X))


@every_head
@pytest.mark.parametrize("form", ["C order", "strided", "csr_array", "csc_array"])
def test_weights_of_zero_equal_removal(heads: dict[str, Any], form: str) -> None:
    data = mixed()
    kept = np.random.default_rng(1).random(len(data.Y)) < 0.6
    weights = np.where(kept, 1.5, 0.0)
    common = {"categorical_features": data.nominal} | heads
    weighted = train(FORMS[form](data.X), data.Y, weights, **common)
    removed = train(FORMS[form](data.X[kept]), data.Y[kept], weights[kept], **common)
    assert_same_model(weighted, removed)
    np.testing.assert_array_equal(weighted.predict(data.X), removed.predict(data.X))
    np.testing.assert_array_equal(weighted.predict_proba(data.X), removed.predict_proba(data.X))


def test_label_sets_without_weight_are_not_known() -> None:
    data = digits()
    rare = (data.Y[0] == data.Y).all(axis=1)
    model = train(data.X, data.Y, ~rare)
    assert tuple(data.Y[0]) not in rows_of(model.predict(data.X))


@every_head
def test_weights_of_one_change_nothing(heads: dict[str, Any]) -> None:
    data = numeric()
    ones = np.ones(len(data.Y))
    expected = train(data.X, data.Y, **heads)
    assert_same_model(train(data.X, data.Y, ones, **heads), expected)
    assert_same_model(train(data.X, data.Y, ones.astype(int).tolist(), **heads), expected)


@every_head
@pytest.mark.parametrize("factor", [2.0**-200, 0.25, 2.0**40, 2.0**300])
def test_scaling_weights_and_penalty_alike_changes_nothing(
    heads: dict[str, Any], factor: float
) -> None:
    data = numeric()
    weights = np.random.default_rng(2).uniform(0.5, 2.0, len(data.Y))
    expected = train(data.X, data.Y, weights, l2=0.5, **heads)
    model = train(data.X, data.Y, factor * weights, l2=factor * 0.5, **heads)
    assert_same_model(model, expected)  # bit by bit, as these factors are powers of two
    other = train(data.X, data.Y, 3 * weights, l2=3 * 0.5, **heads)
    assert_nearly_same_model(other, expected)


@every_head
@pytest.mark.parametrize("factor", [2.0**-1000, 2.0**1000])
def test_extreme_weights_work_like_any_other(heads: dict[str, Any], factor: float) -> None:
    data = numeric()
    weights = np.random.default_rng(2).uniform(0.5, 3.5, len(data.Y))
    expected = train(data.X, data.Y, weights, l2=0.0, **heads)
    model = train(data.X, data.Y, factor * weights, l2=0.0, **heads)
    assert_same_model(model, expected)
    np.testing.assert_array_equal(model.predict(data.X), expected.predict(data.X))


def test_weights_far_apart() -> None:
    data = numeric()
    weights = np.where(np.arange(len(data.Y)) % 2, 1e300, 1e-300)
    model = train(data.X, data.Y, weights)
    assert model.rules_[0].coverage == len(data.Y)
    assert all(np.isfinite(rule.head).all() for rule in model.rules_)
    heavy = weights > 1
    expected = train(data.X[heavy], data.Y[heavy], l2=0.0, n_rules=1)
    np.testing.assert_allclose(model.rules_[0].head, expected.rules_[0].head)


def test_weights_shift_the_scores() -> None:
    X = np.zeros((4, 1))
    y = np.array([1, 1, 0, 0])
    scores = [
        float(train(X, y, [weight, weight, 1, 1], n_rules=1).decision_function(X)[0])
        for weight in (0.5, 1.0, 2.0, 4.0)
    ]
    assert scores[0] < scores[1] == 0.0 < scores[2] < scores[3]


def test_the_heavier_of_equally_good_label_sets_is_predicted() -> None:
    # Each label is absent from most of the weight: one bin, one score, equal costs.
    X, Y = np.zeros((3, 1)), np.eye(3, dtype=int)
    for weights in ([1.0, 2.0, 1.5], [1.0, 1.0, 1.5], [1.0, 1.0, 1.0], [1.2, 1.1, 1.0]):
        model = train(X, Y, weights, n_rules=1, label_bins=2)
        scores = model.decision_function(X)
        assert np.ptp(scores) == 0.0
        np.testing.assert_array_equal(model.predict(X), Y[[np.argmax(weights)] * 3])


@both_losses
def test_weights_enter_decoding_as_in_the_reference(loss: Any) -> None:
    data = digits()
    weights = np.random.default_rng(3).integers(0, 5, len(data.Y)).astype(float)
    model = train(data.X, data.Y, weights, n_rules=2, loss=loss, decoding="known")
    kept = weights > 0
    known = reference.known_label_vectors(data.Y[kept], weights[kept])
    scores = model.decision_function(data.X)
    expected = reference.decode_known(scores, known, loss)
    np.testing.assert_array_equal(model.predict(data.X), expected)


# --- Threads and randomness ---------------------------------------------------------------------


THREAD_CASES: dict[str, tuple[Callable[[int], Dataset], Callable[[Any], Any], dict[str, Any]]] = {
    "dense": (numeric, np.asarray, {"max_features": None}),
    "feature bins": (numeric, np.asarray, {"feature_bins": 16}),
    "sparse": (digits, sp.csr_array, {}),
    "nominal": (mixed, np.asarray, {"max_features": None}),
    "sparse nominal": (mixed, sp.csc_array, {"feature_bins": 8, "bootstrap": False}),
}


@every_head
@pytest.mark.parametrize("case", THREAD_CASES)
def test_the_number_of_threads_does_not_matter(heads: dict[str, Any], case: str) -> None:
    make, form, changes = THREAD_CASES[case]
    data = make(1300)  # enough for sums in several parts
    X = form(data.X)
    parameters = {"n_rules": 6, "categorical_features": data.nominal} | changes | heads
    expected = train(X, data.Y, **parameters, n_jobs=1)
    assert expected.n_rules_ == 6
    for n_jobs in (2, 3, 8):
        model = train(X, data.Y, **parameters, n_jobs=n_jobs)
        assert_same_model(model, expected)
        for predict in ("decision_function", "predict", "predict_proba"):
            np.testing.assert_array_equal(
                getattr(model, predict)(X), getattr(expected, predict)(X), strict=True
            )


@every_head
def test_random_state_decides_everything(heads: dict[str, Any]) -> None:
    data = digits()
    first, second = (train(data.X, data.Y, random_state=5, **heads) for _ in range(2))
    assert_same_model(first, second)
    assert_differ(first, train(data.X, data.Y, random_state=6, **heads))
    states = [np.random.RandomState(5) for _ in range(2)]
    third, fourth = (train(data.X, data.Y, random_state=state, **heads) for state in states)
    assert_same_model(third, fourth)
    # A generator moves on, so another fit with it is another model.
    assert_differ(third, train(data.X, data.Y, random_state=states[0], **heads))


def test_without_a_random_state_models_differ() -> None:
    data = digits()
    assert_differ(*(train(data.X, data.Y, random_state=None) for _ in range(2)))


def test_without_sampling_the_random_state_does_not_matter() -> None:
    data = numeric()
    off = {"bootstrap": False, "max_features": None}
    first, second = (train(data.X, data.Y, random_state=seed, **off) for seed in (1, 2))
    assert_same_model(first, second)


@pytest.mark.parametrize("changes", [{"bootstrap": False}, {"max_features": None}])
def test_each_kind_of_sampling_is_random_on_its_own(changes: dict[str, Any]) -> None:
    data = digits()
    first, second = (train(data.X, data.Y, random_state=seed, **changes) for seed in (1, 2))
    assert_differ(first, second)


# --- Prediction ---------------------------------------------------------------------------------


@every_head
@pytest.mark.parametrize("make", [digits, numeric, mixed])
def test_scores_are_the_sum_of_the_covering_rules(
    heads: dict[str, Any], make: Callable[..., Dataset]
) -> None:
    data = make(300)
    model = train(data.X[:100], data.Y[:100], categorical_features=data.nominal, **heads)
    scores = model.decision_function(data.X)
    assert scores.dtype == np.float64
    np.testing.assert_array_equal(scores, summed_by_hand(model, data.X), strict=True)
    np.testing.assert_array_equal(scores, reference.decision_function(model.rules_, data.X))
    np.testing.assert_array_equal(model.decision_function(sp.csr_array(data.X)), scores)


@both_losses
@pytest.mark.parametrize("learning_rate", [0.3, 30.0, 1e4])
def test_decoding_and_probabilities_equal_the_reference(loss: Any, learning_rate: float) -> None:
    data = digits(300)
    parameters = {"loss": loss, "learning_rate": learning_rate, "l2": 0.0, "n_rules": 20}
    model = train(data.X[:150], data.Y[:150], **parameters)
    scores = model.decision_function(data.X)
    assert np.isfinite(scores).all()
    if learning_rate > 1:
        assert np.abs(scores).max() > learning_rate / 10
    known = reference.known_label_vectors(data.Y[:150])
    by_set = reference.decode_known(scores, known, loss)
    by_sign = reference.decode_sign(scores)
    auto = by_set if loss == "example_logistic" else by_sign
    for decoding, expected in (("auto", auto), ("known", by_set), ("sign", by_sign)):
        predicted = model.set_params(decoding=decoding).predict(data.X)
        np.testing.assert_array_equal(predicted, expected)
        np.testing.assert_array_equal(model.predict(sp.csc_array(data.X)), expected)
    probability = model.predict_proba(data.X)
    np.testing.assert_allclose(
        probability, reference.probabilities(scores, known, loss), rtol=1e-9, atol=1e-12
    )
    assert ((probability >= 0.0) & (probability <= 1.0)).all()


@every_head
def test_predictions_are_label_sets_seen_in_training_or_signs(heads: dict[str, Any]) -> None:
    data = digits(400)
    model = train(data.X[:100], data.Y[:100], decoding="known", **heads)
    predicted = model.predict(data.X)
    assert predicted.shape == data.Y.shape
    assert rows_of(predicted) <= rows_of(data.Y[:100])
    signs = model.set_params(decoding="sign").predict(data.X)
    np.testing.assert_array_equal(signs, model.decision_function(data.X) > 0.0)


def test_prediction_follows_the_loss_of_training() -> None:
    data = digits()
    model = train(data.X, data.Y, loss="label_logistic")
    predicted, probability = model.predict(data.X), model.predict_proba(data.X)
    model.set_params(loss="example_logistic", label_bins=2, n_rules=3, l2=100.0)
    np.testing.assert_array_equal(model.predict(data.X), predicted)
    np.testing.assert_array_equal(model.predict_proba(data.X), probability)


def test_probabilities_of_known_label_sets_by_hand() -> None:
    known = np.array([[1, 0], [0, 1], [1, 1]], dtype=np.uint8)
    p = np.array([[0.5, -0.25]])
    weight = [1 / (1 + np.exp(-0.5) + np.exp(-0.25)), 1 / (1 + np.exp(0.5) + np.exp(0.25))]
    weight.append(1 / (1 + np.exp(-0.5) + np.exp(0.25)))
    expected = [weight[0] + weight[2], weight[1] + weight[2]] / np.sum(weight)
    computed = _core.known_marginals("example_logistic", p, known, 1)
    np.testing.assert_allclose(computed, expected[None], rtol=1e-14)


EXTREME_SCORES = np.array(
    [
        [0.0, 0.0, 0.0, 0.0],
        [1e3, -1e3, 1e3, -1e3],
        [1e6, 1e6, 1e6, 1e6],
        [-1e6, -1e6, -1e6, -1e6],
        [1e6, -1e6, 1e-6, 0.0],
        [1e3, 1e3, -1e6, 1e6],
        [299.0, -301.0, 300.0, 5.0],
        [-299.0, 299.0, -299.0, 299.0],
        [1e300, -1e300, 1e300, 1.0],
        [700.0, 710.0, -745.0, -746.0],
        [1e-300, -1e-300, 5e-324, 0.0],
    ]
)


@both_losses
@pytest.mark.parametrize("n_threads", [1, 3])
def test_decoding_of_extreme_scores(loss: Any, n_threads: int) -> None:
    rng = np.random.default_rng(0)
    known = rng.permutation(np.array(list(np.ndindex(2, 2, 2, 2)), dtype=np.uint8))[:11]
    scores = np.concatenate([EXTREME_SCORES, 10.0 ** rng.uniform(-3, 7, (200, 4))])
    scores[len(EXTREME_SCORES) :] *= rng.choice([-1, 1], (200, 4))
    found = _core.decode_known(loss, scores, known, n_threads)
    expected = reference.decode_known(scores, known.astype(np.int64), loss)
    np.testing.assert_array_equal(known[found], expected)
    probability = _core.known_marginals("example_logistic", scores, known, n_threads)
    np.testing.assert_allclose(
        probability,
        reference.probabilities(scores, known.astype(np.int64), "example_logistic"),
        rtol=1e-9,
        atol=1e-15,
    )


@both_losses
@pytest.mark.parametrize("size", [0.0, 1.0, 250.0, 1e3, 1e6, -1e6])
def test_the_first_of_equally_good_label_sets_wins(loss: str, size: float) -> None:
    known = np.eye(4, dtype=np.uint8)
    for order in ([0, 1, 2, 3], [3, 1, 0, 2], [2, 3, 1, 0]):
        scores = np.full((1, 4), size)
        vectors = np.ascontiguousarray(known[order])
        assert _core.decode_known(loss, scores, vectors, 1).tolist() == [0]
        np.testing.assert_allclose(
            _core.known_marginals("example_logistic", scores, vectors, 1), 0.25
        )


def test_one_known_label_set() -> None:
    known = np.array([[1, 0, 1]], dtype=np.uint8)
    scores = np.array([[-1e6, 1e6, 0.0], [0.0, 0.0, 0.0]])
    assert _core.decode_known("example_logistic", scores, known, 1).tolist() == [0, 0]
    computed = _core.known_marginals("example_logistic", scores, known, 1)
    np.testing.assert_array_equal(computed, [[1, 0, 1]] * 2)


def test_label_wise_probabilities_of_extreme_scores() -> None:
    data = numeric()
    model = train(data.X, data.Y, loss="label_logistic", learning_rate=1e6, l2=0.0)
    probability = model.predict_proba(data.X)
    scores = model.decision_function(data.X)
    assert np.abs(scores).max() > 1e5
    np.testing.assert_array_equal(
        probability[np.abs(scores) > 1e5], (scores > 0)[np.abs(scores) > 1e5]
    )


@pytest.mark.parametrize("n", [1, 63, 64, 65, 129])
def test_any_number_of_examples_can_be_predicted(n: int) -> None:
    data = digits(200)
    model = train(data.X, data.Y, n_jobs=2)
    np.testing.assert_array_equal(
        model.decision_function(data.X[:n]), summed_by_hand(model, data.X[:n])
    )
    assert model.predict(data.X[:n]).shape == (n, 7)


# --- Feature bins -------------------------------------------------------------------------------


@functools.cache
def binned_conditions(form: Any, bins: int) -> tuple[NDArray[Any], list[Condition]]:
    """Data, and the conditions of many rules with feature bins, whose samples leave bins empty."""
    data = make_multilabel(80, 4, 5, random_state=0)
    X = np.round(data.X, 1)
    model = train(form(X), data.Y, feature_bins=bins, n_rules=150, max_features=None)
    return X, [condition for rule in model.rules_ for condition in rule.conditions]


every_binning = pytest.mark.parametrize(
    ("form", "bins"),
    [(form, bins) for form in (np.asarray, sp.csr_array) for bins in (2, 3, 8, 32)],
)


@every_binning
def test_feature_bins_limit_the_splits(form: Any, bins: int) -> None:
    X, conditions = binned_conditions(form, bins)
    splits = defaultdict(set)
    for condition in conditions:
        column = X[:, condition.feature]
        splits[condition.feature].add(tuple(np.flatnonzero(column <= condition.value)))
    assert max(len(found) for found in splits.values()) <= bins - 1


@every_binning
def test_feature_bins_limit_the_thresholds(form: Any, bins: int) -> None:
    """Boundaries of bins are fixed, while exact thresholds depend on the sample."""
    X, conditions = binned_conditions(form, bins)
    thresholds = defaultdict(set)
    for condition in conditions:
        if len(np.unique(X[:, condition.feature])) > bins:
            thresholds[condition.feature].add(condition.value)
    assert max((len(found) for found in thresholds.values()), default=0) <= bins - 1


@every_head
def test_feature_bins_are_exact_for_few_distinct_values(heads: dict[str, Any]) -> None:
    data = digits()  # 17 levels of ink
    expected = train(data.X, data.Y, **heads)
    assert_same_model(train(data.X, data.Y, feature_bins=17, **heads), expected)
    assert_same_model(train(sp.csc_array(data.X), data.Y, feature_bins=1000, **heads), expected)
    assert_differ(train(data.X, data.Y, feature_bins=2, **heads), expected)


def test_feature_bins_leave_nominal_features_alone() -> None:
    data = mixed()
    X = data.X[:, data.nominal]
    listed = np.ones(X.shape[1], dtype=bool)
    expected = train(X, data.Y, categorical_features=listed)
    assert_same_model(train(X, data.Y, categorical_features=listed, feature_bins=2), expected)


@every_head
@pytest.mark.parametrize("bins", [None, 2, 5])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_training_and_prediction_agree_on_what_is_covered(
    heads: dict[str, Any], bins: int | None, form: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    boosters = []

    class Core:
        Columns = _core.Columns

        @staticmethod
        def Booster(*args: Any, **kwargs: Any) -> _core.Booster:  # noqa: N802
            boosters.append(_core.Booster(*args, **kwargs))
            return boosters[-1]

    data = mixed()
    X = form(data.X)
    with monkeypatch.context() as patch:
        patch.setattr("labelboost.estimators.base._core", Core)
        model = train(X, data.Y, categorical_features=data.nominal, feature_bins=bins, **heads)
    np.testing.assert_array_equal(boosters[0].scores(), model.decision_function(X))
    for rule in model.rules_:
        assert rule.coverage == np.count_nonzero(reference.body(rule.conditions, data.X))


# --- Categories and missing values at prediction ------------------------------------------------


def one_nominal_feature() -> tuple[NDArray[Any], NDArray[Any]]:
    X = np.repeat([0.0, 1.0, 2.0], 20)[:, None]
    return X, np.column_stack([X[:, 0] == 0, X[:, 0] != 0, X[:, 0] == 2]).astype(int)


@pytest.mark.parametrize("unseen", [3.0, -1.0, 0.5, 1e300])
def test_unseen_codes_satisfy_every_inequality_and_no_equality(unseen: float) -> None:
    X, Y = one_nominal_feature()
    model = train(X, Y, categorical_features=[0], n_rules=60)
    rules = [rule for rule in model.rules_ if all(c.operator == "!=" for c in rule.conditions)]
    assert 1 < len(rules) < model.n_rules_
    expected = np.sum([rule.head for rule in rules], axis=0)
    for form in (np.asarray, sp.csr_array, sp.csc_array):
        scores = model.decision_function(form(np.array([[unseen]])))
        np.testing.assert_allclose(scores[0], expected, rtol=1e-12)


def test_unseen_categories_in_frames(lib: Any) -> None:
    X, Y = one_nominal_feature()
    make = (
        lib.Categorical
        if lib.__name__ == "pandas"
        else lambda w: lib.Series(w, dtype=lib.Categorical)
    )
    names = np.array(["blue", "green", "red"])
    frame = lib.DataFrame({"colour": make(names[X[:, 0].astype(int)].tolist())})
    model = train(frame, Y, n_rules=20)
    assert_same_model(model, train(X, Y, n_rules=20, categorical_features=[0]))
    asked = lib.DataFrame({"colour": make(["red", "black", None, "blue", "azure"])})
    codes = np.array([[2.0], [99.0], [np.nan], [0.0], [99.0]])
    np.testing.assert_array_equal(model.decision_function(asked), summed_by_hand(model, codes))
    assert model.predict(asked).shape == (5, 3)


def test_missing_values_at_prediction_satisfy_nothing() -> None:
    data = numeric()
    nothing = np.full((1, data.n_features), np.nan)
    for nominal in (None, list(range(data.n_features))):
        model = train(np.round(data.X), data.Y, categorical_features=nominal)
        assert model.n_rules_ > 1
        for form in (np.asarray, sp.csr_array, sp.csc_array):
            scores = model.decision_function(form(nothing))
            np.testing.assert_array_equal(scores, model.rules_[0].head[None])
    # Known in training or not, a gap in one feature only switches off conditions on that feature.
    X = data.X.copy()
    X[:, 0] = np.nan
    model = train(data.X, data.Y, n_rules=30)
    np.testing.assert_array_equal(model.decision_function(X), summed_by_hand(model, X))


def test_a_feature_without_any_value_in_training() -> None:
    data = numeric()
    X = data.X.copy()
    X[:, 1] = np.nan
    model = train(X, data.Y, n_rules=30)
    assert all(c.feature != 1 for rule in model.rules_ for c in rule.conditions)
    np.testing.assert_array_equal(model.predict(data.X), model.predict(X))


# --- How much is learned ------------------------------------------------------------------------


@every_head
def test_one_rule_is_the_default_rule(heads: dict[str, Any]) -> None:
    data = digits()
    model = RuleBoostingClassifier(n_rules=1, **heads).fit(data.X, data.Y)  # and no warning
    (rule,) = model.rules_
    assert rule.conditions == ()
    assert rule.coverage == len(data.Y)
    assert np.count_nonzero(rule.head) > 1  # complete, even if the other heads are not
    np.testing.assert_array_equal(model.decision_function(data.X), np.tile(rule.head, (150, 1)))
    bigger = train(data.X, data.Y, learning_rate=0.01, **heads)
    np.testing.assert_array_equal(bigger.rules_[0].head, rule.head)  # it is never shrunk


@every_head
@pytest.mark.parametrize("bootstrap", [False, True])
def test_nothing_to_learn_is_said(heads: dict[str, Any], bootstrap: bool) -> None:
    data = numeric()
    constant = np.tile([1.0, 0.0, -2.5], (len(data.Y), 1))
    model = RuleBoostingClassifier(n_rules=25, bootstrap=bootstrap, **heads)
    with pytest.warns(ConvergenceWarning, match="ended with 1 of 25 rules") as caught:
        model.fit(constant, data.Y)
    assert caught[0].filename == __file__
    assert model.n_rules_ == len(model.rules_) == 1


def test_the_number_of_rules_is_said_when_learning_ends_early() -> None:
    X = np.array([[0.0], [1.0]] * 10)
    model = RuleBoostingClassifier(n_rules=10**6, learning_rate=1.0, l2=0.0, random_state=0)
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(X, X.astype(bool))
    assert f"ended with {model.n_rules_} of 1000000 rules" in str(caught[0].message)
    assert 1 < model.n_rules_ < 1000
    np.testing.assert_array_equal(model.predict(X), X)


@every_head
def test_heads(heads: dict[str, Any]) -> None:
    data = digits()
    model = train(data.X, data.Y, **heads)
    scores = np.array([rule.head for rule in model.rules_[1:]])
    single = model.head == "single" or ("head" not in heads and "loss" in heads)
    for head in scores:
        assert (np.count_nonzero(head) == 1) == single
        if not single and heads.get("label_bins") == 2:
            assert len(np.unique(head[head < 0])) <= 1
            assert len(np.unique(head[head > 0])) <= 1


@pytest.mark.parametrize("most", [1, 2, 3])
def test_conditions_are_limited(most: int) -> None:
    data = digits()
    sizes = [len(r.conditions) for r in train(data.X, data.Y, max_conditions=most).rules_]
    assert max(sizes) == most
    unlimited = [len(r.conditions) for r in train(data.X, data.Y).rules_]
    assert max(unlimited) > 3


@pytest.mark.parametrize("fewest", [2, 10, 40])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_coverage_is_limited(fewest: int, form: Any) -> None:
    data = digits()
    common = {"bootstrap": False, "n_rules": 40, "l2": 0.0, "label_bins": None}
    model = train(form(data.X), data.Y, min_coverage=fewest, **common)
    assert min(rule.coverage for rule in model.rules_) >= fewest
    assert min(rule.coverage for rule in train(form(data.X), data.Y, **common).rules_) < fewest


def test_weights_do_not_count_as_coverage() -> None:
    data = digits()
    weights = np.full(len(data.Y), 100.0)
    model = train(data.X, data.Y, weights, min_coverage=30, bootstrap=False)
    assert min(rule.coverage for rule in model.rules_) >= 30


@every_head
def test_training_loss_never_rises_without_sampling(heads: dict[str, Any]) -> None:
    data = numeric()
    model = train(data.X, data.Y, bootstrap=False, max_features=None, n_rules=15, **heads)
    loss = getattr(reference, f"{model.loss}_loss")
    means = [
        loss(data.Y, reference.decision_function(model.rules_[:i], data.X)).mean()
        for i in range(1, model.n_rules_ + 1)
    ]
    assert (np.diff(means) < 1e-12).all()


def test_it_learns_handwritten_digits() -> None:
    data = digits(900)
    model = train(data.X[:600], data.Y[:600], n_rules=300)
    assert model.score(data.X[600:], data.Y[600:]) > 0.75  # all seven segments are right


# --- An estimator like others -------------------------------------------------------------------


def fitted_on_frame() -> tuple[RuleBoostingClassifier, Any]:
    pd = pytest.importorskip("pandas")
    data = mixed()
    frame = framed(pd, data)
    return train(frame, pd.DataFrame(data.Y, columns=data.label_names)), frame


@pytest.mark.parametrize(
    "duplicate",
    [copy.deepcopy, copy.copy, *[
        lambda model, p=p: pickle.loads(pickle.dumps(model, protocol=p))
        for p in range(2, pickle.HIGHEST_PROTOCOL + 1)
    ]],
)  # fmt: skip
def test_copies_predict_the_same(duplicate: Any) -> None:
    model, frame = fitted_on_frame()
    other = duplicate(model)
    assert_same_model(other, model)
    for predict in ("decision_function", "predict", "predict_proba"):
        np.testing.assert_array_equal(
            getattr(other, predict)(frame), getattr(model, predict)(frame)
        )
    np.testing.assert_array_equal(other.classes_, model.classes_)
    np.testing.assert_array_equal(other.feature_names_in_, model.feature_names_in_)
    assert other.get_params() == model.get_params()
    again = copy.deepcopy(other)  # copies of copies
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))


def test_clones_are_unfitted_and_learn_the_same() -> None:
    data = digits()
    model = train(data.X, data.Y, l2=0.5, label_bins=2)
    other = clone(model)
    assert other.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        other.predict(data.X)
    assert_same_model(other.fit(data.X, data.Y), model)


def test_parameters_can_be_read_and_set() -> None:
    defaults = RuleBoostingClassifier().get_params()
    assert defaults == {
        "n_rules": 1000, "loss": "example_logistic", "head": "auto", "label_bins": "auto",
        "label_bin_aggregation": "paper", "learning_rate": 0.3, "l2": 1.0, "bootstrap": True,
        "max_features": "log2", "feature_bins": None, "max_conditions": None, "min_coverage": 1,
        "decoding": "auto", "categorical_features": "from_dtype", "random_state": None,
        "n_jobs": None, "verbose": 0, "profile": False, "validation_fraction": None,
        "early_stopping": None, "patience": 50, "evaluate_every": 1, "time_limit": None,
        "warm_start": False, "checkpoint": None, "checkpoint_every": None,
        "checkpoint_seconds": 60.0,
    }  # fmt: skip
    changed = {"n_rules": 7, "l2": 0.0, "decoding": "sign"}
    model = RuleBoostingClassifier().set_params(**changed)
    assert model.get_params() == defaults | changed
    assert "l2=0.0" in repr(model)


def test_automatic_settings_are_those_documented() -> None:
    data = digits()
    explicit = train(data.X, data.Y, head="complete", label_bins=0.04, decoding="known")
    assert_same_model(train(data.X, data.Y), explicit)
    label_wise = train(data.X, data.Y, loss="label_logistic", head="single", label_bins=None)
    assert_same_model(train(data.X, data.Y, loss="label_logistic"), label_wise)


def test_fitting_again_replaces_everything() -> None:
    model, frame = fitted_on_frame()
    data = digits()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert model.fit(data.X, data.Y[:, 0]) is model
    fresh = train(data.X, data.Y[:, 0])
    assert vars(model).keys() == vars(fresh).keys()
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == 64
    np.testing.assert_array_equal(model.classes_, [0, 1])
    assert_same_model(model, fresh)
    np.testing.assert_array_equal(model.predict(data.X), fresh.predict(data.X))
    with pytest.raises(ValueError, match="8 features"), pytest.warns(UserWarning, match="names"):
        model.predict(frame)


@pytest.mark.parametrize("problem", ["labels", "features", "weights", "parameter"])
def test_a_failed_fit_leaves_the_model_as_it_was(problem: str) -> None:
    data = digits()
    model = train(data.X, data.Y)
    before = dict(vars(model))
    scores = model.decision_function(data.X)
    bad: dict[str, Any] = {"X": data.X[:, :5], "Y": data.Y, "sample_weight": None}
    bad |= {
        "labels": {"Y": data.Y * 2},
        "features": {"X": np.full(data.X.shape, np.inf)},
        "weights": {"sample_weight": np.zeros(150)},
        "parameter": {},
    }[problem]
    if problem == "parameter":
        model.set_params(random_state="seed")
    with pytest.raises((ValueError, TypeError)):
        model.fit(**bad)
    assert vars(model) | {"random_state": 1} == before
    np.testing.assert_array_equal(model.decision_function(data.X), scores)


@pytest.mark.parametrize("method", ["predict", "decision_function", "predict_proba"])
def test_prediction_before_fit(method: str) -> None:
    with pytest.raises(NotFittedError, match="RuleBoostingClassifier"):
        getattr(RuleBoostingClassifier(), method)([[1.0]])


def test_grid_search_and_cross_validation() -> None:
    data = digits()
    scorer = make_scorer(f1_score, average="samples", zero_division=0)
    grid = {"l2": [0.1, 10.0], "label_bins": [None, 2]}
    model = RuleBoostingClassifier(n_rules=10, random_state=0)
    search = GridSearchCV(model, grid, scoring=scorer, cv=2).fit(data.X, data.Y)
    assert search.best_params_.keys() == grid.keys()
    assert search.predict(data.X).shape == data.Y.shape
    assert 0.5 < search.best_score_ <= 1.0
    results = cross_validate(
        model, sp.csr_array(data.X), data.Y, cv=3, scoring=["f1_micro", "accuracy"], n_jobs=2
    )
    assert (results["test_f1_micro"] > 0.5).all()
    assert (results["test_accuracy"] > 0.0).all()


def test_the_default_score_is_the_share_of_right_label_sets() -> None:
    data = digits()
    model = train(data.X, data.Y)
    right = (model.predict(data.X) == data.Y).all(axis=1).mean()
    assert model.score(data.X, data.Y) == right


# --- Errors -------------------------------------------------------------------------------------


X0 = np.arange(12.0).reshape(4, 3)
Y0 = np.array([[0, 1], [1, 0], [1, 1], [0, 0]])


def changed(array: NDArray[Any], value: Any, dtype: Any = float) -> NDArray[Any]:
    """Put a value into row 2, column 1."""
    result = array.astype(dtype)
    result[2, 1] = value
    return result


@pytest.mark.parametrize(
    ("X", "Y", "error", "parts"),
    [
        (X0, 2 * Y0 - 1, ValueError, "-1 at row 0, label 0 of Y|0 or 1|(Y > 0)"),
        (X0, changed(Y0, 0.7), ValueError, "0.7 at row 2, label 1 of Y|(Y > 0.5)"),
        (X0, changed(Y0, 2, int), ValueError, "2 at row 2, label 1 of Y|0 or 1"),
        (X0, changed(Y0, np.nan), ValueError, "nan at row 2, label 1 of Y|Drop the row"),
        (X0, sp.csr_array(changed(Y0, 2)), ValueError, "2.0 at row 2, label 1 of Y|0 or 1"),
        (X0, np.array(["a", "b", "a", None]), ValueError, "None at row 3 of y|Drop the row"),
        (X0, [0, 1, 2.5, 1], ValueError, "2.5 at row 2 of y|Unknown label type"),
        (X0[:3], Y0, ValueError, "X has 3 rows, but Y has 4"),
        (sp.csr_array(X0[:3]), Y0, ValueError, "X has 3 rows, but Y has 4"),
        (X0[0], Y0, ValueError, "Expected 2D array, got 1D|(3,)|X.reshape(-1, 1)"),
        (X0[None], Y0, ValueError, "dim 3|(1, 4, 3)|Reshape"),
        (X0, Y0[None].repeat(4, 0), ValueError, "Y has 3 dimensions|(4, 4, 2)"),
        ([["a", "b"], ["c", "d"]], [[1], [0]], TypeError, "'a' at row 0, column 0 of X|Encode"),
        (changed(X0, "red", object), Y0, TypeError, "'red' at row 2, column 1 of X|categorical"),
        (changed(X0, np.inf), Y0, ValueError, "inf at row 2, column 1 of X|NaN"),
        (changed(X0, -np.inf, "f4"), Y0, ValueError, "-inf at row 2, column 1 of X|NaN"),
        (sp.csc_array(changed(X0, np.inf)), Y0, ValueError, "inf at row 2, column 1 of X|NaN"),
        (X0[:0], Y0[:0], ValueError, "0 sample(s) (shape=(0, 3))"),
        (X0[:, :0], Y0, ValueError, "0 feature(s) (shape=(4, 0))"),
        ([], [], ValueError, "(0,)"),
        (X0, Y0[:, :0], ValueError, "Y has no labels|(4, 0)|at least one label"),
        (X0, [set(), set(), set(), set()], ValueError, "no labels|at least one label"),
        (X0, None, ValueError, "y is None"),
        (None, Y0, ValueError, "X is None"),
        (X0 + 1j, Y0, ValueError, "Complex|row 0, column 0 of X"),
    ],
)  # fmt: skip
def test_errors_of_fit(X: Any, Y: Any, error: type[Exception], parts: str) -> None:
    with pytest.raises(error) as caught:
        RuleBoostingClassifier(n_rules=2).fit(X, Y)
    for part in parts.split("|"):
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("weights", "parts"),
    [
        ([1, 1, -0.5, 1], "-0.5 at position 2 of sample_weight"),
        ([1, np.nan, 1, 1], "nan at position 1 of sample_weight"),
        ([1, 1, 1, np.inf], "inf at position 3 of sample_weight"),
        ([0, 0, 0, 0], "zero for every example"),
        ([1, 1, 1], "(3,)|4 examples"),
        ([[1, 1, 1, 1]], "(1, 4)|4 examples"),
        ([1e308] * 4, "overflow"),
    ],
)
def test_errors_of_weights(weights: Any, parts: str) -> None:
    with pytest.raises(ValueError, match="sample_weight") as caught:
        RuleBoostingClassifier(n_rules=2).fit(X0, Y0, weights)
    for part in parts.split("|"):
        assert part in str(caught.value)


def test_weights_that_are_no_numbers() -> None:
    with pytest.raises(TypeError, match="'heavy' at position 1 of sample_weight"):
        RuleBoostingClassifier(n_rules=2).fit(X0, Y0, [1, "heavy", 1, 1])


@pytest.mark.parametrize("method", ["predict", "decision_function", "predict_proba"])
@pytest.mark.parametrize(
    ("X", "error", "parts"),
    [
        (X0[:, :2], ValueError, "2 features|fitted with 3 features"),
        (sp.csr_array(np.ones((2, 5))), ValueError, "5 features|fitted with 3 features"),
        (X0[0], ValueError, "Expected 2D array, got 1D|(3,)"),
        (X0[None], ValueError, "dim 3|(1, 4, 3)"),
        (X0[:0], ValueError, "0 sample(s)"),
        (changed(X0, np.inf), ValueError, "inf at row 2, column 1 of X"),
        (sp.csr_array(changed(X0, np.inf)), ValueError, "inf at row 2, column 1 of X"),
        (changed(X0, "red", object), TypeError, "'red' at row 2, column 1 of X"),
    ],
)
def test_errors_of_prediction(method: str, X: Any, error: type[Exception], parts: str) -> None:
    model = train(X0, Y0)
    with pytest.raises(error) as caught:
        getattr(model, method)(X)
    for part in parts.split("|"):
        assert part in str(caught.value)


def test_other_feature_names_at_prediction(lib: Any) -> None:
    data = numeric()
    names = ["width", "height", "depth", "weight", "age", "price"]
    frame = lib.DataFrame(dict(zip(names, data.X.T, strict=True)))
    model = train(frame, data.Y)
    with pytest.raises(ValueError, match=r"(?s)feature names should match.*colour.*price"):
        model.predict(frame.rename(columns={"price": "colour"}) if lib.__name__ == "pandas"
                      else frame.rename({"price": "colour"}))  # fmt: skip
    with pytest.raises(ValueError, match="same order"):
        model.predict(frame[names[::-1]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        predicted = model.predict(data.X)
    np.testing.assert_array_equal(predicted, model.predict(frame))


def test_strings_in_frames(lib: Any) -> None:
    frame = lib.DataFrame({"width": [1.0, 2.0, 3.0, 4.0], "colour": ["red", "blue", "red", "red"]})
    with pytest.raises(TypeError, match=r'(?s)red.*row 0, column 1 \(feature "colour"\) of X'):
        train(frame, Y0)


# --- Anything goes ------------------------------------------------------------------------------


def refusal(call: Callable[[], Any]) -> str | None:
    """The message of a ValueError or TypeError, if the call ends in one; no other may come."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            call()
        except (ValueError, TypeError) as error:
            return str(error) or "no message"
    return None


VALUES = [np.nan, 0.0, -0.0, 1.0, 2.0, 3.0, -1.0, 0.1, 0.3, 0.1 + 0.2, 1e300, -1e300, 1e-300]
VALUES += [5e-324, -5e-324, np.finfo(float).max, np.finfo(float).min]

parameter_sets = st.fixed_dictionaries(
    {
        "n_rules": st.integers(1, 12),
        "loss": st.sampled_from(LOSSES),
        "head": st.sampled_from(["auto", "complete", "single"]),
        "label_bins": st.sampled_from(["auto", None, 0.3, 1.0, 2, 5]),
        "label_bin_aggregation": st.sampled_from(["paper", "exact"]),
        "learning_rate": st.sampled_from([0.3, 1.0, 1e-6, 1e3, 1e100]),
        "l2": st.sampled_from([0.0, 1.0, 1e-12, 1e-300, 1e12, 1e100]),
        "bootstrap": st.booleans(),
        "max_features": st.sampled_from(["log2", "sqrt", None, 1, 0.5]),
        "feature_bins": st.sampled_from([None, 2, 3, 8]),
        "max_conditions": st.sampled_from([None, 1, 2]),
        "min_coverage": st.integers(1, 4),
        "decoding": st.sampled_from(["auto", "known", "sign"]),
        "random_state": st.integers(0, 100),
        "n_jobs": st.sampled_from([1, 2]),
    }
)


@st.composite
def problems(draw: st.DrawFn) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]:
    n, L, K = draw(st.integers(1, 12)), draw(st.integers(1, 4)), draw(st.integers(1, 10))
    finite = st.floats(allow_infinity=False)
    kinds = [st.sampled_from(VALUES), st.integers(-2, 2).map(float), finite]
    X = draw(hnp.arrays(np.float64, (n, L), elements=draw(st.sampled_from(kinds))))
    Y = draw(hnp.arrays(np.uint8, (n, K), elements=st.integers(0, 1)))
    numbers = st.sampled_from([0.0, 1.0, 2.0, 0.5, 1e-3, 1e-300, 1e300])
    return X, Y, draw(st.none() | hnp.arrays(np.float64, n, elements=numbers))


@settings(max_examples=400, deadline=None)
@given(problems(), parameter_sets, st.data())
def test_any_small_problem(
    problem: tuple[Any, Any, Any], parameters: dict[str, Any], data: st.DataObject
) -> None:
    X, Y, weights = problem
    nominal = data.draw(hnp.arrays(bool, X.shape[1]))
    form = FORMS[data.draw(st.sampled_from(["C order", "strided", "csr_array", "csc_array"]))]
    model = RuleBoostingClassifier(categorical_features=nominal, **parameters)
    if message := refusal(lambda: model.fit(form(X), Y, weights)):
        assert weights is not None
        assert "sample_weight" in message
        return
    kept = np.ones(len(X), dtype=bool) if weights is None else weights > 0
    for rule in model.rules_:
        assert np.isfinite(rule.head).all()
        assert rule.coverage == np.count_nonzero(reference.body(rule.conditions, X[kept])) > 0
    unseen = data.draw(hnp.arrays(np.float64, X.shape, elements=st.sampled_from(VALUES)))
    for matrix in (X, unseen):
        scores = model.decision_function(form(matrix))
        assert np.isfinite(scores).all()
        np.testing.assert_array_equal(scores, summed_by_hand(model, matrix))
        probability = model.predict_proba(form(matrix))
        assert ((probability >= 0.0) & (probability <= 1.0)).all()
        assert scores.shape == probability.shape == Y.shape
        predicted = model.predict(form(matrix))
        assert predicted.shape == Y.shape
        assert np.isin(predicted, (0, 1)).all()
        if parameters["decoding"] == "known":
            assert rows_of(predicted) <= rows_of(Y[kept])


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=3)
    | st.complex_numbers(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner)
        | st.dictionaries(st.text(max_size=2), inner, max_size=2)
    ),
    max_leaves=10,
)
arrays = hnp.arrays(
    st.one_of(hnp.scalar_dtypes()), hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5)
)


@pytest.mark.filterwarnings("ignore:A column-vector y was passed")
@settings(max_examples=300, deadline=None)
@given(anything | arrays, anything | arrays, st.none() | anything | arrays)
def test_anything_as_data(X: Any, Y: Any, weights: Any) -> None:
    model = RuleBoostingClassifier(n_rules=3, random_state=0)
    for arguments in ((X, Y, weights), (X0, Y), (X0, Y0, weights)):
        if refusal(lambda arguments=arguments: model.fit(*arguments)) is None:
            assert model.n_rules_ >= 1
    assert refusal(lambda: model.fit(X0, Y0)) is None
    for method in (model.predict, model.decision_function, model.predict_proba):
        if refusal(lambda method=method: method(X)) is None:
            assert method(X).shape == (len(X), 2)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(RuleBoostingClassifier().get_params())), anything)
def test_anything_as_a_parameter(name: str, value: Any) -> None:
    if name == "n_rules" and isinstance(value, int):
        value = min(value, 20)
    model = RuleBoostingClassifier(**{"n_rules": 3} | {name: value})
    if message := refusal(lambda: model.fit(X0, Y0)):
        assert name in message
    else:
        assert model.predict(X0).shape == Y0.shape


@pytest.mark.parametrize("estimator", [RuleBoostingClassifier, TreeBoostingClassifier])
@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(
    "parameters",
    [{}, {"validation_fraction": 0.5}, {"feature_bins": 4}, {"categorical_features": [2]}],
    ids=["plain", "held out", "bins", "nominal"],
)
def test_infinity_is_refused(
    estimator: Any, value: float, order: Any, parameters: dict[str, Any]
) -> None:
    """Whoever looks at it: the preparation of features, or the checks before."""
    rng = np.random.default_rng(0)
    Y = rng.integers(0, 2, (40, 3)).astype(np.uint8)
    model = estimator(**({"n_rules": 3} if estimator is RuleBoostingClassifier else {"n_trees": 3}))
    model.set_params(**parameters)
    for row, share, weights in [(7, 1.0, None), (39, 0.1, None), (3, 0.3, np.arange(40) % 5 != 3)]:
        X = np.asarray(rng.integers(0, 6, (40, 5)) * (rng.random((40, 5)) < share), order=order)
        X = X.astype(np.float32, order="K")
        X[row, 2] = value
        with pytest.raises(ValueError, match=rf"infinity: {value} at row {row}, column 2"):
            model.fit(X, Y, None if weights is None else weights.astype(np.float64))
        X[:, 2] = value
        with pytest.raises(ValueError, match=rf"infinity: {value} at row \d+, column 2"):
            model.fit(X, Y)
