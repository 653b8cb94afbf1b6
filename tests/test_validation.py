"""Every kind of input either comes out as promised, or gets an error that helps."""

from __future__ import annotations

import decimal
import fractions
import pickle
import subprocess
import sys
import tracemalloc
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.exceptions import DataConversionWarning
from sklearn.preprocessing import MultiLabelBinarizer

from labelboost.validation import (
    FeatureSchema,
    Labels,
    check_fit_features,
    check_labels,
    check_predict_features,
    check_sample_weight,
)
from labelboost.validation import arrays as number_arrays

FORMATS = ("csr", "csc", "coo", "lil", "dok", "dia", "bsr")


@pytest.fixture
def pd() -> Any:
    return pytest.importorskip("pandas")


@pytest.fixture
def pl() -> Any:
    return pytest.importorskip("polars")


@pytest.fixture(params=["pandas", "polars"])
def lib(request: pytest.FixtureRequest) -> Any:
    return pytest.importorskip(request.param)


def categorical(lib: Any, values: list[Any], categories: list[str] | None = None) -> Any:
    """A series of a categorical dtype."""
    if lib.__name__ == "pandas":
        return lib.Series(lib.Categorical(values, categories=categories))
    return lib.Series(values, dtype=lib.Enum(categories) if categories else lib.Categorical)


def fails(error: type[Exception] | tuple[type[Exception], ...], parts: str, call: Any) -> str:
    """Expect an error whose message has all parts, which are separated by ' | '."""
    with pytest.raises(error) as caught:
        call()
    message = str(caught.value)
    for part in parts.split(" | "):
        assert part in message, f"{part!r} is missing in: {message}"
    return message


def fit(X: Any, categorical_features: Any = "from_dtype") -> Any:
    return check_fit_features(X, categorical_features)[0]


def as_format(matrix: Any, name: str) -> Any:
    return matrix.asformat(name)


def numbers(n: int = 4, L: int = 3, dtype: Any = np.float64) -> Any:
    return np.arange(n * L).reshape(n, L).astype(dtype)


def changed(X: Any, i: int, j: int, value: Any) -> Any:
    X = X.copy()
    X[i, j] = value
    return X


# Dense features


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "view",
    [
        lambda a: a,
        np.asfortranarray,
        lambda a: a.T,
        lambda a: a[::2, ::-1],
        lambda a: a[:, 1:2],
        lambda a: np.broadcast_to(a[:1], a.shape),
        lambda a: a.view(np.matrix),
    ],
)
def test_float_arrays_are_not_copied(dtype: Any, view: Any) -> None:
    X = view(numbers(dtype=dtype))
    out = fit(X)
    assert type(out) is np.ndarray
    assert np.shares_memory(out, X)
    assert out.dtype == dtype
    assert out.strides == X.strides
    np.testing.assert_array_equal(out, X)


def test_memory_maps_and_read_only_arrays_are_not_copied(tmp_path: Any) -> None:
    X = np.memmap(tmp_path / "X", dtype=np.float32, mode="w+", shape=(3, 2))
    assert np.shares_memory(fit(X), X)
    Z = numbers()
    Z.flags.writeable = False
    assert np.shares_memory(fit(Z), Z)


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [(np.float16, np.float32), (">f4", np.float32), (">f8", np.float64)]
    + [(kind, np.float64) for kind in (bool, "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">i8")]
    + [(object, np.float64)],
)
def test_dtype_conversion(dtype: Any, expected: Any) -> None:
    X = numbers(dtype=dtype)
    out = fit(X)
    assert out.dtype == np.dtype(expected)
    np.testing.assert_array_equal(out, numbers(dtype=dtype).astype(float))


def test_views_into_packed_records_are_made_steppable() -> None:
    records = np.zeros(3, dtype=[("tag", "u1"), ("x", "f8", (2,))])
    out = fit(records["x"])
    assert out.flags.aligned
    assert all(step % 8 == 0 for step in out.strides)


@pytest.mark.parametrize(
    "X",
    [
        [[1, 2], [3, 4]],
        ((1.5, 2), (3, 4)),
        [[True, 2], [0.5, None]],
        [np.array([1, 2]), np.array([3, 4])],
        [[2**53, 0.5], [2**60, -(2**70)]],
        [[1e300, 2**53 + 2], [float("nan"), 1]],
    ],
)
def test_lists_of_numbers(X: Any) -> None:
    expected = [[np.nan if value is None else float(value) for value in row] for row in X]
    np.testing.assert_array_equal(fit(X), expected)


class ArrayLike:
    def __init__(self, array: Any) -> None:
        self.array = array

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if isinstance(self.array, Exception):
            raise self.array
        return self.array


def test_array_likes() -> None:
    np.testing.assert_array_equal(fit(ArrayLike(numbers())), numbers())
    np.testing.assert_array_equal(check_sample_weight(ArrayLike(np.ones(3)), 3), np.ones(3))
    fails(ValueError, "ArrayLike | on a GPU", lambda: fit(ArrayLike(RuntimeError("on a GPU"))))


def test_objects_that_are_numbers(pd: Any) -> None:
    values: list[Any] = [
        1,
        2.5,
        None,
        np.float32(0.25),
        np.nan,
        True,
        np.int8(3),
        np.bool_(False),
        2**70,
    ]
    values += [fractions.Fraction(1, 4), pd.NA]
    out = fit(np.array([values], dtype=object))
    expected = [1, 2.5, np.nan, 0.25, np.nan, 1, 3, 0, 2.0**70, 0.25, np.nan]
    np.testing.assert_array_equal(out, [expected])


@pytest.mark.parametrize("value", [2**53 + 1, -(2**53) - 1, 2**63 - 1, 2**62 + 2**8])
@pytest.mark.parametrize("dtype", [np.int64, object, list, "floats", ">i8"])
def test_integers_that_float64_cannot_hold(value: int, dtype: Any) -> None:
    X: Any = [[1, 2, 3], [4, 5, 6], [7, value, 9]]
    if dtype == "floats":
        X[0][0] = 0.5
    elif dtype is not list:
        X = np.array(X, dtype=dtype)
    fails(ValueError, f"{value} | row 2, column 1 | without rounding | category", lambda: fit(X))


def test_large_integers_that_float64_can_hold() -> None:
    X = np.array([[2**53, -(2**53), 2**62, -(2**63), 2**53 + 2, 0]])
    assert [int(value) for value in fit(X)[0]] == X[0].tolist()
    U = np.array([[2**63, 2**64 - 2**11]], dtype=np.uint64)
    assert [int(value) for value in fit(U)[0]] == U[0].tolist()
    U[0, 1] += 1
    fails(ValueError, f"{2**64 - 2**11 + 1} | row 0, column 1", lambda: fit(U))


def test_huge_python_integers() -> None:
    fails(ValueError, "row 0, column 1", lambda: fit([[1, 10**400]]))
    fails(ValueError, "a value of type int | row 0, column 1", lambda: fit([[1, 10**5000]]))
    fails(ValueError, "Fraction(1, 3) | row 0, column 0", lambda: fit([[fractions.Fraction(1, 3)]]))


PHRASE = "argument must be a string or a number"


@pytest.mark.parametrize(
    ("value", "error", "parts", "phrase"),
    [
        ("abc", TypeError, "'abc' | str | Encode | categorical dtype", False),
        (b"abc", TypeError, "b'abc' | bytes", False),
        ("1.5", TypeError, "'1.5' | str", False),
        ({"foo": "bar"}, TypeError, "{'foo': 'bar'} | dict", True),
        ([1], TypeError, "[1] | list", True),
        (decimal.Decimal("0.1"), TypeError, "0.1 | Decimal | float()", False),
        (1 + 2j, ValueError, "Complex data not supported | (1+2j)", False),
        (np.datetime64("2020-01-01"), TypeError, "2020-01-01 | datetime64", True),
        (np.longdouble(1) / 3, ValueError, "0.333 | rounding", False),
    ],
)
def test_objects_that_are_no_numbers(value: Any, error: Any, parts: str, phrase: bool) -> None:
    X = np.zeros((3, 2), dtype=object)
    X[2, 1] = value
    message = fails(error, parts + " | row 2, column 1", lambda: fit(X))
    assert (PHRASE in message) == phrase


class Silent:
    def __repr__(self) -> str:
        raise RuntimeError


def test_objects_that_cannot_show_themselves() -> None:
    fails(TypeError, "of type Silent | row 0, column 0", lambda: fit([[Silent()]]))
    assert len(fails(TypeError, "... | row 0", lambda: fit([["x" * 10_000]]))) < 300


@pytest.mark.parametrize(
    ("X", "error", "parts"),
    [
        (np.array([["a", "b"]]), TypeError, "'a' | row 0, column 0 | Encode"),
        (np.array([[b"a"]]), TypeError, "b'a' | row 0, column 0"),
        ([[1, 2], [3, "x"]], TypeError, "'x' | row 1, column 1 | categorical dtype"),
        (np.array([[1 + 2j]]), ValueError, "Complex data not supported | (1+2j) | row 0, column 0"),
        (numbers(dtype=np.longdouble), TypeError, "longdouble | 0.0 | row 0, column 0 | float64"),
        (np.array([["2020-01-01"]], dtype="M8[D]"), TypeError, "2020-01-01 | row 0, column 0"),
        (np.array([[5]], dtype="m8[s]"), TypeError, "timedelta64 | row 0, column 0"),
        (np.zeros((1, 1), dtype=[("a", "f8")]), TypeError, "row 0, column 0"),
        ([[1, 2], [3]], ValueError, "row 1 has 1 entries, but row 0 has 2 | equally long"),
        ([[1, 2], 3], ValueError, "row 1 has 0 entries"),
    ],
)
def test_unusable_arrays(X: Any, error: Any, parts: str) -> None:
    if getattr(X, "dtype", None) == np.longdouble:
        parts = parts.replace("longdouble", str(X.dtype))
    fails(error, parts, lambda: fit(X))


def test_variable_width_strings() -> None:
    if not hasattr(np.dtypes, "StringDType"):
        pytest.skip("NumPy 2 has them")
    X = np.array([["a"]], dtype=np.dtypes.StringDType())
    fails(TypeError, "'a' | row 0, column 0", lambda: fit(X))
    fails(ValueError, "'a' | row 0, label 0", lambda: check_labels(X.repeat(2, axis=1), 1))
    labels = check_labels(X[:, 0], 1)
    assert labels.classes.tolist() == ["a"]
    assert labels.classes.dtype == object


def test_masked_arrays() -> None:
    X = np.ma.masked_array(numbers(), mask=False)
    np.testing.assert_array_equal(fit(X), numbers())
    X[2, 1] = np.ma.masked
    fails(TypeError, "masked at (2, 1) | filled(np.nan)", lambda: fit(X))
    fails(
        TypeError,
        "masked at (1,)",
        lambda: check_labels(np.ma.array([0, 1], mask=[False, True]), 2),
    )


@pytest.mark.parametrize(
    ("X", "parts"),
    [
        (np.zeros(3), "Expected 2D array, got 1D array instead | (3,) | Reshape your data"),
        ([1, 2], "Expected 2D array, got 1D array instead | Reshape your data"),
        ([], "Expected 2D array, got 1D array instead"),
        (5.0, "Expected 2D array, got scalar array instead | 5.0 | float"),
        ("abc", "got scalar array instead | 'abc' | str"),
        (None, "got scalar array instead | None"),
        ({"a": [1]}, "got scalar array instead | dict"),
        (np.zeros((2, 3, 4)), "Found array with dim 3 | (2, 3, 4)"),
        (np.zeros((0, 3)), "0 sample(s) | minimum of 1 is required | (0, 3)"),
        (np.zeros((12, 0)), "0 feature(s) (shape=(12, 0)) while a minimum of 1 is required."),
        (np.zeros((0, 0)), "0 sample(s)"),
        (sp.csr_array((0, 3)), "0 sample(s)"),
        (sp.coo_array((12, 0)), "0 feature(s) (shape=(12, 0)) while a minimum of 1 is required."),
    ],
)
def test_wrong_shapes(X: Any, parts: str) -> None:
    fails(ValueError, parts, lambda: fit(X))
    schema = FeatureSchema(3, None, np.zeros(3, dtype=bool), {})
    fails(ValueError, parts, lambda: check_predict_features(X, schema))


def test_sparse_arrays_with_one_or_three_dimensions() -> None:
    parts = {1: "Expected 2D array, got 1D array instead", 3: "Found array with dim 3"}
    for ndim, text in parts.items():
        try:
            X: Any = sp.coo_array(np.ones((2,) * ndim))
        except (TypeError, ValueError):
            pytest.skip("only recent versions of SciPy have them")
        fails(ValueError, text, lambda X=X: fit(X))
        fails(ValueError, str(X.shape), lambda X=X: check_labels(X, 2))


@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, object])
@pytest.mark.parametrize("order", ["C", "F"])
def test_infinity(value: float, dtype: Any, order: Any) -> None:
    X = np.asarray(changed(numbers(5, 4), 3, 2, value).astype(dtype), order=order)
    X[0, 0] = np.nan
    parts = f"infinity | {value} | row 3, column 2 | NaN if the value is missing"
    fails(ValueError, parts, lambda: fit(X))
    fails(ValueError, parts, lambda: fit(X[:, ::-1][:, ::-1]))


@pytest.mark.parametrize("shape", [(7, 11), (1, 300), (300, 1), (40, 40)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_infinity_is_found_in_every_block(
    shape: tuple[int, int], order: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(number_arrays, "_BLOCK", 13)
    X = np.zeros(shape, order=order)
    assert fit(X) is X
    rng = np.random.default_rng(0)
    for _ in range(20):
        i, j = (int(rng.integers(size)) for size in shape)
        X[i, j] = np.inf
        fails(ValueError, f"row {i}, column {j} of X", lambda i=i, j=j: fit(X))
        X[i, j] = 0


@pytest.mark.parametrize("shape", [(2000, 1000), (1, 2_000_000), (2_000_000, 1)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_the_check_for_infinity_needs_little_memory(shape: Any, order: Any) -> None:
    X = np.zeros(shape, order=order)
    tracemalloc.start()
    assert number_arrays.first_entry(X, np.isinf) is None
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < X.size / 2


def test_nan_is_allowed_everywhere() -> None:
    X = np.full((2, 3), np.nan)
    assert np.isnan(fit(X)).all()
    assert np.isnan(fit(sp.csr_array(X)).toarray()).all()


# Sparse features


@pytest.mark.parametrize("make", [sp.csr_array, sp.csr_matrix, sp.csc_array, sp.csc_matrix])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_canonical_sparse_matrices_are_not_copied(make: Any, dtype: Any) -> None:
    X = make(numbers(dtype=dtype))
    for part in ("indices", "indptr"):
        setattr(X, part, getattr(X, part).astype(np.int32))
    out = fit(X)
    assert isinstance(out, sp.csr_array | sp.csc_array)
    assert out.format == X.format
    assert out.dtype == dtype
    for part in ("data", "indices", "indptr"):
        assert np.shares_memory(getattr(out, part), getattr(X, part))


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.int64, bool, np.uint16])
def test_sparse_formats_and_dtypes(kind: str, name: str, dtype: Any) -> None:
    dense = np.random.default_rng(0).integers(0, 3, (6, 4)).astype(dtype)
    X = getattr(sp, f"{name}_{kind}")(dense)
    before = X.copy()
    out = fit(X)
    assert_valid_features(out)
    assert out.format == ("csc" if name == "csc" else "csr")
    assert out.dtype == (np.float32 if dtype == np.float32 else np.float64)
    np.testing.assert_array_equal(out.toarray(), dense.astype(float))
    assert type(X) is type(before)
    np.testing.assert_array_equal(X.toarray(), before.toarray())


def unsorted(dtype: Any = np.float64) -> Any:
    """Rows [0, 2, 5, 0] and [1, 0, 0, 3] with a duplicate and disorder."""
    data = np.array([1, 2, 4, 3, 1], dtype=dtype)
    return sp.csr_array((data, [2, 1, 2, 3, 0], [0, 3, 5]), shape=(2, 4))


def test_duplicates_and_order_without_touching_the_original() -> None:
    X = unsorted()
    parts = [X.data.copy(), X.indices.copy(), X.indptr.copy()]
    out = fit(X)
    np.testing.assert_array_equal(out.toarray(), [[0, 2, 5, 0], [1, 0, 0, 3]])
    assert_valid_features(out)
    for part, before in zip((X.data, X.indices, X.indptr), parts, strict=True):
        np.testing.assert_array_equal(part, before)


@pytest.mark.parametrize("convert", [lambda X: X, lambda X: X.tocoo()])
def test_a_stale_canonical_flag_is_not_trusted(convert: Any) -> None:
    X = unsorted()
    X.has_canonical_format = True
    X.has_sorted_indices = True
    np.testing.assert_array_equal(fit(convert(X)).toarray(), [[0, 2, 5, 0], [1, 0, 0, 3]])


@pytest.mark.parametrize("make", [sp.coo_array, sp.coo_matrix])
def test_duplicates_neither_wrap_around_nor_count_booleans(make: Any) -> None:
    where = ([0, 0, 1], [1, 1, 0])
    X = make((np.array([100, 100, 1], dtype=np.int8), where), shape=(2, 2))
    np.testing.assert_array_equal(fit(X).toarray(), [[0, 200], [1, 0]])
    X = make((np.array([True, True, True]), where), shape=(2, 2))
    np.testing.assert_array_equal(fit(X).toarray(), [[0, 1], [1, 0]])
    assert len(X.data) == 3


def test_unpruned_sparse_matrices() -> None:
    X = sp.csr_array(np.eye(2))
    X.data = np.array([1, 1, np.inf])
    X.indices = np.array([0, 1, 77], dtype=np.int32)
    np.testing.assert_array_equal(fit(X).toarray(), np.eye(2))
    assert len(X.data) == 3


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_sparse_infinity(name: str, value: float) -> None:
    X = as_format(sp.coo_array(changed(np.zeros((5, 4)), 3, 2, value)), name)
    fails(ValueError, f"infinity | {value} | row 3, column 2 | NaN", lambda: fit(X))


def test_infinity_through_or_behind_duplicates() -> None:
    for pair in ([np.inf, -np.inf], [1e308, 1e308]):
        X = sp.coo_array((np.array(pair), ([1, 1], [2, 2])), shape=(3, 3))
        fails(ValueError, "inf | row 1, column 2", lambda X=X: fit(X))


@pytest.mark.parametrize(
    ("data", "error", "parts"),
    [
        (np.array([1 + 2j, 1]), ValueError, "Complex data not supported | row 0, column 1"),
        (np.array([1, 2], dtype=np.longdouble), TypeError, "row 0, column 1"),
        (np.array([1, 2**53 + 1]), ValueError, f"{2**53 + 1} | row 2, column 3"),
    ],
)
@pytest.mark.parametrize("name", ["csr", "csc", "coo"])
def test_unusable_sparse_data(data: Any, error: Any, parts: str, name: str) -> None:
    X = as_format(sp.coo_array((data, ([0, 2], [1, 3])), shape=(3, 4)), name)
    fails(error, parts, lambda: fit(X))


def test_sparse_objects() -> None:
    X = sp.csr_array(np.eye(2))
    X.data = np.array([1, None], dtype=object)
    np.testing.assert_array_equal(fit(X).toarray(), [[1, 0], [0, np.nan]])
    X.data = np.array([1, "a"], dtype=object)
    fails(TypeError, "'a' | row 1, column 1", lambda: fit(X))


def test_index_dtypes() -> None:
    X = sp.csr_array(numbers())
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    out = fit(X)
    assert_valid_features(out)
    assert np.shares_memory(out.data, X.data)
    assert X.indices.dtype == np.int64
    for make in (sp.csr_array, sp.coo_array):
        wide = make((1, 2**32))
        fails(ValueError, f"{2**32} | 2147483647", lambda wide=wide: fit(wide))


@pytest.mark.parametrize("name", ["csr", "csc", "bsr"])
@pytest.mark.parametrize(
    ("part", "value", "parts"),
    [
        ("indices", np.array([0, 1, 3], dtype=np.int32), "index 3 of stored entry 2"),
        ("indices", np.array([0, -1, 2], dtype=np.int32), "index -1 of stored entry 1 | 0..2"),
        ("indices", np.array([0, 1], dtype=np.int32), "announces 3 entries | 2 indices"),
        ("indices", np.array([0.0, 1, 2]), "float64"),
        ("indptr", np.array([0, 2, 1, 3], dtype=np.int32), "falls from 2 to 1 at position 2"),
        ("indptr", np.array([1, 1, 2, 3], dtype=np.int32), "from 0 on | [1]"),
        ("indptr", np.array([0, 1, 2, 9], dtype=np.int32), "announces 9 entries"),
        ("indptr", np.array([0, 5, 5, 0], dtype=np.int32), "falls from 5 to 0"),
        ("indptr", np.array([0, 3], dtype=np.int32), "4 integers | (2,)"),
        ("indptr", np.array([0.0, 1, 2, 3]), "float64"),
    ],
)
def test_corrupt_compressed_matrices(name: str, part: str, value: Any, parts: str) -> None:
    X = as_format(sp.coo_array(np.eye(3)), name)
    if name == "bsr":
        X = sp.bsr_array(np.eye(3), blocksize=(1, 1))
    setattr(X, part, value)
    fails(ValueError, f"X is a corrupt sparse matrix | Build it anew | {parts}", lambda: fit(X))
    fails(ValueError, f"Y is a corrupt sparse matrix | {parts}", lambda: check_labels(X, 3))


@pytest.mark.parametrize("row", [np.array([0, 1, 9]), np.array([0, -5, 2])])
def test_corrupt_coordinates(row: Any) -> None:
    X = sp.coo_array(np.eye(3))
    X.coords = (row, X.coords[1])
    fails(ValueError, f"row index {row[abs(row).argmax()]} of stored entry", lambda: fit(X))
    X.coords = (np.array([0, 1]), np.array([0, 1, 2]))
    fails(ValueError, "corrupt", lambda: fit(X))


def test_corrupt_lists_of_lists() -> None:
    X = sp.lil_array(np.eye(3))
    X.rows[1] = [7]
    fails(ValueError, "corrupt sparse matrix | lil | 7", lambda: fit(X))


# Data frames as features


def test_numeric_frames(lib: Any) -> None:
    X = lib.DataFrame({"a": [1, 2], "b": [0.5, float("nan")], "c": [True, False]})
    out, schema = check_fit_features(X)
    np.testing.assert_array_equal(out, [[1, 0.5, 1], [2, np.nan, 0]])
    assert isinstance(out, np.ndarray)
    assert out.dtype == np.float64
    assert out.flags.f_contiguous
    assert schema.n_features == 3
    assert schema.names is not None
    assert schema.names.dtype == object
    assert schema.names.tolist() == ["a", "b", "c"]
    assert not schema.nominal.any()
    assert schema.categories == {}
    assert schema.describe(1) == 'feature "b"'


def test_schema_of_arrays() -> None:
    schema = check_fit_features(numbers(), [1])[1]
    assert schema.names is None
    assert schema.describe(2) == "feature 2"
    assert schema.nominal.tolist() == [False, True, False]
    assert pickle.loads(pickle.dumps(schema)).n_features == 3


def test_frames_in_single_precision_stay_so(pd: Any, pl: Any) -> None:
    pa = pytest.importorskip("pyarrow")
    single = [
        pd.DataFrame({"a": np.zeros(2, np.float32), "b": np.zeros(2, np.float16)}),
        pd.DataFrame({"a": pd.array([0.5, None], dtype="Float32")}),
        pd.DataFrame({"a": pd.array([0.5, None], dtype=pd.ArrowDtype(pa.float32()))}),
        pd.DataFrame({"a": pd.arrays.SparseArray(np.zeros(2, np.float32))}),
        pl.DataFrame({"a": [0.5, None]}, schema={"a": pl.Float32}),
    ]
    for X in single:
        assert fit(X).dtype == np.float32
    for X in [
        pd.DataFrame({"a": np.zeros(2, np.float32), "b": np.zeros(2, np.int8)}),
        pd.DataFrame({"a": pd.array([0.5, None], dtype=pd.ArrowDtype(pa.float64()))}),
        pl.DataFrame({"a": [0.5]}),
    ]:
        assert fit(X).dtype == np.float64


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([1, None], "Int64"),
        ([1, None], "UInt8"),
        ([True, None], "boolean"),
        ([1.0, None], "Float64"),
        ([1, None], "int64[pyarrow]"),
        ([True, None], "bool[pyarrow]"),
        ([1.0, None], "double[pyarrow]"),
        ([1.0, np.nan], "Sparse[float64]"),
        ([1.0, None], "float64"),
    ],
)
def test_missing_values_in_pandas(pd: Any, values: list[Any], dtype: str) -> None:
    if "pyarrow" in dtype:
        pytest.importorskip("pyarrow")
    X = pd.DataFrame({"a": pd.Series(values, dtype=dtype)})
    before = X.copy()
    np.testing.assert_array_equal(fit(X), [[1], [np.nan]])
    pd.testing.assert_frame_equal(X, before)


@pytest.mark.parametrize("dtype", ["Int8", "Int64", "UInt64", "Int128", "Float32", "Boolean"])
def test_missing_values_in_polars(pl: Any, dtype: str) -> None:
    if not hasattr(pl, dtype):
        pytest.skip("only recent versions of polars have it")
    values = [True, None] if dtype == "Boolean" else [1, None]
    X = pl.DataFrame({"a": pl.Series(values, dtype=getattr(pl, dtype))})
    np.testing.assert_array_equal(fit(X), [[1], [np.nan]])
    assert X.to_series(0).to_list() == values


def test_columns_without_a_value(lib: Any) -> None:
    X = lib.DataFrame({"a": [None, None], "b": [1, 2]})
    np.testing.assert_array_equal(fit(X), [[np.nan, 1], [np.nan, 2]])


def test_inexact_integers_and_infinity_in_frames(lib: Any) -> None:
    value = 2**53 + 1
    X = lib.DataFrame({"a": [1, 2], "b": [1, value]})
    fails(ValueError, f'{value} | row 1, column 1 (feature "b")', lambda: fit(X))
    if lib.__name__ == "pandas":
        Z = lib.DataFrame({"b": lib.array([None, value], dtype="Int64")})
    else:
        Z = lib.DataFrame({"b": [None, value]})
    fails(ValueError, f'{value} | row 1, column 0 (feature "b")', lambda: fit(Z))
    Z = lib.DataFrame({"a": [1.0, 2.0], "b": [1.0, float("-inf")]})
    fails(ValueError, 'infinity | -inf | row 1, column 1 (feature "b")', lambda: fit(Z))


def test_large_missing_integers_keep_their_value(lib: Any) -> None:
    value = 2**60
    if lib.__name__ == "pandas":
        X = lib.DataFrame({"b": lib.array([None, value], dtype="Int64")})
    else:
        X = lib.DataFrame({"b": [None, value]})
    assert int(fit(X)[1, 0]) == value


def bad_columns(lib: Any) -> list[tuple[Any, str]]:
    pandas = lib.__name__ == "pandas"
    cast = '.astype("category")' if pandas else ".cast(pl.Categorical)"
    day = __import__("datetime").datetime(2020, 1, 2)
    return [
        ([None, "oslo"], f"'oslo' | str | {cast}"),
        ([None, day], f"2020 | {cast}"),
        ([None, day - day], "delta"),
        ([None, decimal.Decimal("1.5")], "1.5 | Decimal"),
        ([None, [1, 2]], "1, 2" if pandas else "1"),
        ([None, b"x"], "b'x'"),
    ]


@pytest.mark.parametrize("case", range(6))
def test_columns_that_are_no_numbers(lib: Any, case: int) -> None:
    values, parts = bad_columns(lib)[case]
    dtype = {"dtype": object} if case in (3, 4) and lib.__name__ == "pandas" else {}
    X = lib.DataFrame({"a": [1.0, 2.0], "city": lib.Series(values, **dtype)})
    parts += ' | row 1, column 1 (feature "city")'
    fails(TypeError, parts, lambda: fit(X))


def test_object_and_complex_columns_in_pandas(pd: Any) -> None:
    X = pd.DataFrame({"a": pd.Series([1, 2], dtype=object)})
    fails(TypeError, '1 | int | object | (feature "a") | .astype(float)', lambda: fit(X))
    X = pd.DataFrame({"a": [1 + 2j]})
    fails(ValueError, 'Complex data not supported | (feature "a")', lambda: fit(X))


def test_lazy_frames_and_series(lib: Any, pl: Any) -> None:
    fails(TypeError, "LazyFrame | .collect()", lambda: fit(pl.LazyFrame({"a": [1]})))
    fails(TypeError, "LazyFrame", lambda: check_labels(pl.LazyFrame({"a": [1]}), 1))
    for values in ([1, 2], ["a", "b"]):
        X = lib.Series(values)
        fails(ValueError, "Expected 2D array, got 1D array instead | (2,)", lambda X=X: fit(X))


def test_empty_frames(pd: Any, pl: Any) -> None:
    fails(ValueError, "0 feature(s) (shape=(3, 0))", lambda: fit(pd.DataFrame(index=range(3))))
    for lib in (pd, pl):
        fails(ValueError, "0 sample(s)", lambda lib=lib: fit(lib.DataFrame({"a": []})))


def test_column_names_in_pandas(pd: Any) -> None:
    assert check_fit_features(pd.DataFrame(numbers()))[1].names is None
    pairs = pd.MultiIndex.from_tuples([("a", "x"), ("a", "y"), ("b", "z")])
    assert check_fit_features(pd.DataFrame(numbers(), columns=pairs))[1].names is None
    mixed = pd.DataFrame(numbers(), columns=["a", 1, "c"])
    fails(
        TypeError,
        "Feature names are only supported if all input features have string names | 'int', 'str' "
        "| column 1 | astype(str)",
        lambda: fit(mixed),
    )
    twins = pd.DataFrame(numbers(), columns=["a", "a", "b"])
    np.testing.assert_array_equal(fit(twins), numbers())


def test_categories(lib: Any) -> None:
    X = lib.DataFrame({"n": [1, 2, 3, 4], "c": categorical(lib, ["b", "a", None, "b"])})
    out, schema = check_fit_features(X)
    np.testing.assert_array_equal(out, [[1, 1], [2, 0], [3, np.nan], [4, 1]])
    assert schema.nominal.tolist() == [False, True]
    assert schema.categories == {1: ("a", "b")}
    assert pickle.loads(pickle.dumps(schema)).categories == {1: ("a", "b")}


def test_declared_categories_keep_their_order(lib: Any) -> None:
    X = lib.DataFrame({"c": categorical(lib, ["low", None, "high"], ["low", "mid", "high"])})
    out, schema = check_fit_features(X)
    np.testing.assert_array_equal(out, [[0], [np.nan], [2]])
    assert schema.categories == {0: ("low", "mid", "high")}


def test_polars_codes_do_not_depend_on_other_columns(pl: Any) -> None:
    keep = categorical(pl, ["z", "y", "x", "b", "a"])
    out, schema = check_fit_features(pl.DataFrame({"c": categorical(pl, ["b", "a"])}))
    assert len(keep) == 5
    assert schema.categories == {0: ("a", "b")}
    np.testing.assert_array_equal(out, [[1], [0]])


def test_categories_without_a_value(lib: Any) -> None:
    series = categorical(lib, [None, None])
    out, schema = check_fit_features(lib.DataFrame({"c": series}))
    assert isinstance(out, np.ndarray)
    assert np.isnan(out).all()
    assert schema.categories == {0: ()}
    seen = lib.DataFrame({"c": categorical(lib, ["a", None])})
    np.testing.assert_array_equal(check_predict_features(seen, schema), [[0], [np.nan]])


@pytest.mark.parametrize("setting", [None, [0], [True, False], ["n"], []])
def test_categorical_columns_must_be_listed(lib: Any, setting: Any) -> None:
    X = lib.DataFrame({"n": [1, 2], "c": categorical(lib, ["b", "a"])})
    parts = 'Column 1 (feature "c") | categorical dtype | from_dtype'
    fails(TypeError, parts, lambda: fit(X, setting))


@pytest.mark.parametrize("setting", [[0, 1], [True, True], ["c", "n"]])
def test_numeric_columns_can_be_listed(lib: Any, setting: Any) -> None:
    X = lib.DataFrame({"n": [7, 5], "c": categorical(lib, ["b", "a"])})
    out, schema = check_fit_features(X, setting)
    np.testing.assert_array_equal(out, [[7, 1], [5, 0]])
    assert schema.nominal.all()
    assert set(schema.categories) == {1}


# categorical_features


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("from_dtype", []),
        (None, []),
        ([], []),
        ((), []),
        ([0, 2], [0, 2]),
        ((2,), [2]),
        (np.array([1]), [1]),
        (np.array([1], dtype=np.uint8), [1]),
        ([np.int64(1)], [1]),
        ([False, True, False], [1]),
        (np.array([True, False, True]), [0, 2]),
    ],
)
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_settings_of_categorical_features(setting: Any, expected: Any, make: Any) -> None:
    schema = check_fit_features(make(numbers()), setting)[1]
    assert schema.nominal.dtype == bool
    assert np.flatnonzero(schema.nominal).tolist() == expected


@pytest.mark.parametrize(
    ("setting", "error", "parts"),
    [
        ("all", ValueError, "'all' | from_dtype"),
        (3, TypeError, "3 | a list of column numbers"),
        (np.int64(1), TypeError, "1"),
        ({0, 1}, TypeError, "{0, 1}"),
        ({"a": 1}, TypeError, "{'a': 1}"),
        ([3], ValueError, "categorical_features[0] is 3 | 3 features | from 0 to 2"),
        ([0, -1], ValueError, "categorical_features[1] is -1"),
        ([1, 0, 1], ValueError, "lists 1 twice"),
        ([1.0], TypeError, "categorical_features[0] is 1.0 | float"),
        ([0, "a"], TypeError, "categorical_features[1] is 'a' | str"),
        ([0, True], TypeError, "categorical_features[1] is True | bool"),
        ([None], TypeError, "categorical_features[0] is None"),
        ([[0, 1]], TypeError, "categorical_features[0] is [0, 1]"),
        (np.zeros((3, 1), dtype=bool), TypeError, "categorical_features[0] is [False]"),
        ([True, False], ValueError, "length 2 | 3 features"),
        (["a"], ValueError, '"a" | no string column names | data frame'),
    ],
)
def test_wrong_categorical_features(setting: Any, error: Any, parts: str) -> None:
    fails(error, parts, lambda: fit(numbers(), setting))


def test_names_in_categorical_features(lib: Any) -> None:
    X = lib.DataFrame({"colour": [1, 2], "shape": [1, 2]})
    for setting in (["shape"], np.array(["shape"]), lib.Series(["shape"])):
        assert check_fit_features(X, setting)[1].nominal.tolist() == [False, True]
    parts = '"color" | is not a feature | did you mean "colour"?'
    fails(ValueError, parts, lambda: fit(X, ["color"]))
    fails(ValueError, "\"qqq\" | ['colour', 'shape']", lambda: fit(X, ["qqq"]))
    fails(ValueError, "'shape' twice", lambda: fit(X, ["shape", "shape"]))


def test_ambiguous_names_in_categorical_features(pd: Any) -> None:
    X = pd.DataFrame(numbers(), columns=["a", "a", "b"])
    fails(ValueError, '"a" | 2 columns | column numbers', lambda: fit(X, ["a"]))


def test_nominal_columns_hold_any_finite_numbers() -> None:
    X = np.array([[-1.5, 1], [1e300, 2], [np.nan, 3]])
    out, schema = check_fit_features(X, [0])
    assert out is X
    assert schema.categories == {}


# Prediction


def schema_of(X: Any, categorical_features: Any = "from_dtype") -> FeatureSchema:
    return check_fit_features(X, categorical_features)[1]


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, sp.coo_matrix])
def test_another_number_of_features(make: Any) -> None:
    schema = schema_of(numbers(L=4))
    fails(
        ValueError,
        "X has 3 features, but this model was fitted with 4 features | X has 3 features, but "
        "Boosting is expecting 4 features as input",
        lambda: check_predict_features(make(numbers(L=3)), schema, "Boosting"),
    )


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix, sp.csc_array])
def test_prediction_without_names(make: Any) -> None:
    schema = schema_of(numbers())
    X = make(numbers(n=2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        out: Any = check_predict_features(X, schema)
    expected = X if isinstance(X, np.ndarray) else X.toarray()
    np.testing.assert_array_equal(out if isinstance(out, np.ndarray) else out.toarray(), expected)
    fails(
        ValueError,
        "infinity | row 1, column 2",
        lambda: check_predict_features(changed(numbers(), 1, 2, np.inf), schema),
    )


MATCH = "The feature names should match those that were passed during fit.\n"


@pytest.mark.parametrize(
    ("names", "parts"),
    [
        (["c", "b", "a"], MATCH + "Feature names must be in the same order as they were in fit.\n"),
        (
            ["a", "b", "x"],
            MATCH + "Feature names unseen at fit time:\n- x\n"
            "Feature names seen at fit time, yet now missing:\n- c\n",
        ),
        (["a", "b"], MATCH + "Feature names seen at fit time, yet now missing:\n- c\n"),
        (["a", "b", "c", "d"], MATCH + "Feature names unseen at fit time:\n- d\n"),
        (list("uvwxyz"), "- y\n- ...\n"),
    ],
)
def test_other_feature_names(lib: Any, names: list[str], parts: str) -> None:
    schema = schema_of(lib.DataFrame({name: [1, 2] for name in "abc"}))
    X = lib.DataFrame({name: [1, 2] for name in names})
    fails(ValueError, parts, lambda: check_predict_features(X, schema))


def test_repeated_feature_names(pd: Any) -> None:
    schema = schema_of(pd.DataFrame(numbers(), columns=["a", "a", "b"]))
    X = pd.DataFrame(numbers(L=2), columns=["a", "b"])
    fails(ValueError, "X has 2 features | 3", lambda: check_predict_features(X, schema))


def test_names_on_one_side_only(lib: Any) -> None:
    X = lib.DataFrame({name: [1, 2] for name in "abc"})
    schema = schema_of(X)
    warning = "X does not have valid feature names, but Boosting was fitted with feature names"
    with pytest.warns(UserWarning, match=warning):
        check_predict_features(numbers(), schema, "Boosting")
    warning = "X has feature names, but Boosting was fitted without feature names"
    with pytest.warns(UserWarning, match=warning):
        check_predict_features(X, schema_of(numbers()), "Boosting")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_predict_features(X, schema)
    with pytest.warns(UserWarning, match="valid feature names"):
        fails(
            ValueError,
            'infinity | row 0, column 1 (feature "b")',
            lambda: check_predict_features(np.full((1, 3), [0, np.inf, 0]), schema),
        )


def test_categories_are_encoded_as_in_training(pd: Any, pl: Any) -> None:
    for fitted in (pd, pl):
        schema = schema_of(fitted.DataFrame({"c": categorical(fitted, ["b", "a", "c"])}))
        assert schema.categories == {0: ("a", "b", "c")}
        for lib in (pd, pl):
            for declared in (None, ["new", "c", "b", "a", "unused"]):
                values = categorical(lib, ["c", "new", None, "a"], declared)
                out = check_predict_features(lib.DataFrame({"c": values}), schema)
                np.testing.assert_array_equal(out, [[2], [3], [np.nan], [0]])


def test_codes_in_arrays_instead_of_categories(lib: Any) -> None:
    schema = schema_of(lib.DataFrame({"c": categorical(lib, ["b", "a"])}))
    X = np.array([[0.0], [1], [7], [np.nan]])
    with pytest.warns(UserWarning, match="valid feature names"):
        assert check_predict_features(X, schema) is X


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_arrays_for_numeric_categories(pd: Any) -> None:
    frame = pd.DataFrame({"c": pd.Categorical([10, 20])})
    schema = schema_of(frame)
    assert schema.categories == {0: (10, 20)}
    again = pd.DataFrame({"c": pd.Categorical([20.0, 30.0])})
    np.testing.assert_array_equal(check_predict_features(again, schema), [[1], [2]])
    warning = r"column 0 is taken to hold codes from 0 to 1 of the categories \[10, 20\]"
    with pytest.warns(UserWarning, match=warning):
        check_predict_features(np.array([[10.0]]), schema)
    plain = schema_of(pd.DataFrame({"c": pd.Categorical([0, 1])}))
    check_predict_features(np.array([[1.0]]), plain)  # a warning would be an error


def test_columns_that_changed_their_kind(lib: Any) -> None:
    schema = schema_of(lib.DataFrame({"n": [1, 2], "c": categorical(lib, ["b", "a"])}))
    strings = lib.DataFrame({"n": [1, 2], "c": ["b", "a"]})
    parts = "'b' | row 0, column 1 (feature \"c\") | ategor"
    fails(TypeError, parts, lambda: check_predict_features(strings, schema))
    plain = lib.DataFrame({"n": [1, 2], "c": [float("nan"), 1]})
    parts = 'Column 1 (feature "c") | 1.0 in row 1 | was categorical | categorical dtype'
    fails(TypeError, parts, lambda: check_predict_features(plain, schema))
    coded = lib.DataFrame({"n": categorical(lib, ["b", "a"]), "c": categorical(lib, ["b", "a"])})
    parts = 'Column 0 (feature "n") | categorical dtype | was numeric'
    fails(TypeError, parts, lambda: check_predict_features(coded, schema))
    for blank in (None, float("nan")):
        empty = lib.DataFrame({"n": [1, 2], "c": [blank, blank]})
        out = check_predict_features(empty, schema)
        np.testing.assert_array_equal(out, [[1, np.nan], [2, np.nan]])


# Labels


@pytest.mark.parametrize(
    "dtype", [bool, np.int8, np.uint8, np.int64, np.float16, float, np.longdouble, object, ">i4"]
)
@pytest.mark.parametrize("order", ["C", "F"])
def test_dense_labels(dtype: Any, order: Any) -> None:
    expected = np.array([[0, 1, 1], [1, 0, 0]])
    Y = np.asarray(expected.astype(dtype), order=order)
    labels = check_labels(Y, 2)
    assert_valid_labels(labels, 2)
    assert not np.shares_memory(labels.matrix, Y)
    np.testing.assert_array_equal(labels.matrix, expected)
    np.testing.assert_array_equal(labels.classes, [0, 1, 2])
    assert not labels.one_dimensional


@pytest.mark.parametrize(
    "Y", [[0, 1, 1], (False, True, True), np.array([0.0, 1, 1]), np.array([0, 1, 1], dtype=object)]
)
def test_label_vectors(Y: Any) -> None:
    labels = check_labels(Y, 3)
    assert labels.one_dimensional
    assert labels.matrix.tolist() == [[0], [1], [1]]
    assert labels.classes.tolist() == [0, 1]


@pytest.mark.parametrize("Y", [[[0, 1], [1, 0]], ((0, 1), (1, 0)), [np.array([0, 1]), [1, 0]]])
def test_lists_of_binary_lists_are_a_matrix(Y: Any) -> None:
    assert check_labels(Y, 2).matrix.tolist() == [[0, 1], [1, 0]]
    if isinstance(Y, list) and isinstance(Y[0], list):
        rows = np.empty(2, dtype=object)
        rows[:] = Y
        assert check_labels(rows, 2).matrix.tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize(
    ("value", "parts"),
    [
        (-1, "-1 | use (Y > 0)"),
        (0.7, "0.7 | continuous | threshold"),
        (2, "2 | label sets"),
        (np.nan, "nan | Drop | fill"),
        (np.inf, "inf | continuous"),
        (-np.inf, "-inf"),
        (1e-300, "1e-300"),
    ],
)
@pytest.mark.parametrize("dtype", [float, object])
def test_values_that_are_no_labels(value: float, parts: str, dtype: Any) -> None:
    Y = changed(np.zeros((4, 3)), 2, 1, value).astype(dtype)
    parts += " | Labels must be 0 or 1"
    fails(ValueError, parts + " | row 2, label 1", lambda: check_labels(Y, 4))
    fails(ValueError, parts + " | row 2, label 1", lambda: check_labels(Y.tolist(), 4))
    if value not in (-1, 2):  # which can be classes
        vector = f"{value} | row 2 of y | integers, strings or booleans"
        fails(ValueError, vector, lambda: check_labels(Y[:, 1], 4))
    if dtype is float:
        fails(ValueError, parts + " | row 2, label 1", lambda: check_labels(sp.csc_array(Y), 4))


@pytest.mark.parametrize(
    ("y", "classes", "dtype"),
    [
        ([1, 2, 1], [1, 2], np.int64),
        (np.array([-1, 1, 1], dtype=np.int8), [-1, 1], np.int64),
        (np.array([5, 5, 5], dtype=np.uint64), [5], np.int64),
        (np.array([2**64 - 1, 5, 5], dtype=np.uint64), [5, 2**64 - 1], object),
        ([2**70, 1, 1], [1, 2**70], object),
        ([3, -(2**62), 3], [-(2**62), 3], np.int64),
        (np.array([0.0, -0.0, 7.0]), [0.0, 7.0], np.float64),
        (np.array([1, 2, 2], dtype=np.float16), [1.0, 2.0], np.float64),
        ([1, 2.0, 2], [1.0, 2.0], np.float64),
        (np.array([1, True, 3], dtype=object), [1, 3], np.int64),
        ([True, False, True], [False, True], np.bool_),
        (np.array([np.True_, False, True], dtype=object), [False, True], np.bool_),
        (["b", "a", "b"], ["a", "b"], object),
        (np.array(["b", "a", "b"]), ["a", "b"], np.dtype("<U1")),
        (("ü", "<b>", "a\n"), ["<b>", "a\n", "ü"], object),
    ],
)
def test_vectors_of_classes(y: Any, classes: list[Any], dtype: Any) -> None:
    labels = check_labels(y, 3)
    assert labels.one_dimensional
    assert labels.classes.tolist() == classes
    assert labels.classes.dtype == dtype
    found = labels.matrix if len(classes) > 2 else np.hstack([1 - labels.matrix, labels.matrix])
    decoded = labels.classes[found[:, -len(classes) :].argmax(axis=1)]
    assert decoded.tolist() == list(y)


def test_more_than_two_classes() -> None:
    labels = check_labels(["c", "a", "b", "a"], 4)
    assert labels.classes.tolist() == ["a", "b", "c"]
    assert labels.matrix.tolist() == [[0, 0, 1], [1, 0, 0], [0, 1, 0], [1, 0, 0]]
    assert labels.matrix.flags.c_contiguous


def test_a_class_for_almost_every_example_is_suspicious() -> None:
    with pytest.warns(UserWarning, match="y has 30 classes for 30 examples. If these are quant"):
        check_labels(np.arange(30), 30)
    check_labels(np.arange(30) // 2, 30)
    check_labels(np.arange(20), 20)


@pytest.mark.parametrize("y", [[[0], [1], [1]], np.array([[2.0], [3.0], [3.0]])])
def test_columns_are_vectors_as_in_scikit_learn(y: Any) -> None:
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed when a 1d array"):
        labels = check_labels(y, 3)
    assert labels.one_dimensional
    assert labels.matrix.tolist() == [[0], [1], [1]]


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8])
def test_columns_of_indicators_are_matrices(dtype: Any) -> None:
    labels = check_labels(np.array([[0], [1]], dtype=dtype), 2)
    assert not labels.one_dimensional
    assert labels.classes.tolist() == [0]


@pytest.mark.parametrize(
    ("Y", "error", "parts"),
    [
        (None, ValueError, "requires y to be passed, but the target y is None"),
        (np.zeros((2, 2, 2)), ValueError, "3 dimensions | (2, 2, 2)"),
        (5, ValueError, "5 | scalar"),
        ("abc", ValueError, "'abc' | scalar"),
        ({0, 1}, ValueError, "{0, 1} | label sets"),
        (np.zeros((2, 0)), ValueError, "no labels"),
        ([[], []], ValueError, "no labels"),
        (np.zeros((3, 2)), ValueError, "inconsistent numbers of samples | 2 | 3"),
        ([0, 1, 1], ValueError, "inconsistent numbers of samples | 2 | 3"),
        (sp.csr_array((3, 2)), ValueError, "inconsistent numbers of samples | 2 | 3"),
        ([{1}, {2}, {3}], ValueError, "inconsistent numbers of samples | 2 | 3"),
        (np.array([["a", "b"], ["a", "c"]]), ValueError, "'a' | row 0 | label sets | binarize"),
        (np.array([0, "b"], dtype=object), ValueError, "mixes | 'b' at row 1 of y | 0 at row 0"),
        ([0, "b"], ValueError, "mixes | 'b' at row 1 of y | 0 at row 0"),
        ([b"a", b"b"], ValueError, "b'a' | row 0 of y | bytes"),
        (np.array([b"a", b"b"]), ValueError, "b'a' | row 0 of y | bytes | Decode"),
        (np.array([0j, 1]), ValueError, "Complex data not supported | row 0 of y"),
        (np.array(["2020", "2021"], dtype="M8[Y]"), TypeError, "2020 | row 0 of y"),
        ([0, None], ValueError, "None | row 1 of y | Drop"),
        (["a", None], ValueError, "None | row 1 of y | Drop"),
        (["a", np.nan], ValueError, "'a' at row 0 | nan at row 1 of y"),
        ([0, np.nan], ValueError, "nan | row 1 of y | Drop"),
        ([0, np.inf], ValueError, "Unknown label type: continuous | inf at row 1 of y"),
        ([0, 0.5], ValueError, "Unknown label type: continuous | 0.5 at row 1 of y"),
        (["a", {}], ValueError, "'a' at row 0 | {} at row 1 of y"),
        ([1, {}], TypeError, "{} | row 1 of y | dict"),
        ([[0, 1], [1, {}]], TypeError, "{} | dict | row 1, label 1"),
        ([[1, 2], [3]], ValueError, "row 1 has 1 | label sets | 0/1 matrix"),
        ([[1, 2], [3, 1]], ValueError, "2 | row 0, label 1 | label sets | 0/1 matrix"),
        ([0, [0, 1]], ValueError, "label sets | 0/1 matrix"),
        (np.array([[1, 2], [3]], dtype=object), ValueError, "row 1 has 1 | label sets"),
        ([set(), set()], ValueError, "no labels"),
        ([{"a"}, None], ValueError, "Row 1 | None | set()"),
        ([{"a"}, "b"], ValueError, "Row 1 | 'b' | str"),
        ([{"a"}, [1]], ValueError, "1 in row 1 | int"),
        ([["a", 1], ["b"]], ValueError, "1 in row 0 | int"),
        ([{"a"}, {None}], ValueError, "None in row 1"),
        ([{"a"}, {np.nan}], ValueError, "nan in row 1"),
        ([{1}, {("a", "b")}], ValueError, "('a', 'b') in row 1"),
        ([{1}, {"a"}], ValueError, "'a' in row 1 | 1 in row 0 | mix"),
        ([["0", "1"], ["1", "1"]], ValueError, "'0' | row 0, label 0 | integers"),
    ],
)
def test_wrong_labels(Y: Any, error: Any, parts: str) -> None:
    fails(error, parts, lambda: check_labels(Y, 2))


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("dtype", [bool, np.int8, np.int64, float])
def test_sparse_labels(kind: str, name: str, dtype: Any) -> None:
    dense = np.random.default_rng(1).integers(0, 2, (5, 4))
    Y = getattr(sp, f"{name}_{kind}")(dense.astype(dtype))
    labels = check_labels(Y, 5)
    assert_valid_labels(labels, 5)
    np.testing.assert_array_equal(labels.matrix, dense)
    np.testing.assert_array_equal(labels.classes, np.arange(4))


def test_explicit_zeros_and_duplicates_in_sparse_labels() -> None:
    Y = sp.csr_array((np.array([0, 1]), [0, 1], [0, 2, 2]), shape=(2, 2))
    assert check_labels(Y, 2).matrix.tolist() == [[0, 1], [0, 0]]
    assert Y.nnz == 2
    twice = sp.coo_array((np.array([1, 1]), ([1, 1], [0, 0])), shape=(2, 2))
    fails(ValueError, "2.0 | row 1, label 0", lambda: check_labels(twice, 2))
    assert check_labels(twice.astype(bool), 2).matrix.tolist() == [[0, 0], [1, 0]]


def test_frames_of_labels(lib: Any) -> None:
    Y = lib.DataFrame({"sea": [0, 1, 1], "sun": [True, False, True], "x": [0.0, 0.0, 1.0]})
    labels = check_labels(Y, 3)
    assert_valid_labels(labels, 3)
    assert labels.matrix.tolist() == [[0, 1, 0], [1, 0, 0], [1, 1, 1]]
    assert labels.classes.tolist() == ["sea", "sun", "x"]
    assert not labels.one_dimensional


@pytest.mark.parametrize(
    ("values", "parts"),
    [
        ([0, 2], "2 | row 1"),
        ([1, -1], "-1 | row 1 | (Y > 0)"),
        ([0, None], "nan | row 1"),
        ([True, None], "nan | row 1"),
        (["a", "b"], "'a' | row 0"),
        ([[0, 1], [1, 1]], "row 0"),
    ],
)
def test_wrong_frames_of_labels(lib: Any, values: list[Any], parts: str) -> None:
    Y = lib.DataFrame({"sea": [0, 1], "sun": values})
    fails(ValueError, f"{parts} | label 'sun' | Labels must be 0 or 1", lambda: check_labels(Y, 2))


def test_shapes_and_names_of_label_frames(pd: Any, pl: Any) -> None:
    for lib in (pd, pl):
        Y = lib.DataFrame({"a": [0, 1]})
        fails(ValueError, "inconsistent numbers of samples", lambda Y=Y: check_labels(Y, 3))
    fails(ValueError, "no labels", lambda: check_labels(pd.DataFrame(index=range(3)), 3))
    twins = pd.DataFrame(np.eye(2), columns=["a", "a"])
    fails(ValueError, "two columns named 'a' | 0 and 1", lambda: check_labels(twins, 2))
    assert check_labels(pd.DataFrame(np.eye(2)), 2).classes.tolist() == [0, 1]
    pairs = pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")])
    labels = check_labels(pd.DataFrame(np.eye(2), columns=pairs), 2)
    assert labels.classes.tolist() == [("a", "x"), ("a", "y")]


def test_series_of_labels(lib: Any) -> None:
    labels = check_labels(lib.Series([0, 1, 1]), 3)
    assert labels.one_dimensional
    assert labels.matrix.tolist() == [[0], [1], [1]]
    assert check_labels(lib.Series(["a", "b"]), 2).classes.tolist() == ["a", "b"]
    fails(ValueError, "row 1 of y | Drop", lambda: check_labels(lib.Series([1.0, None]), 2))
    assert check_labels(categorical(lib, ["b", "a"]), 2).matrix.tolist() == [[1], [0]]
    lists = lib.Series([["b", "a"], [], ["c"]])
    labels = check_labels(lists, 3)
    assert labels.classes.tolist() == ["a", "b", "c"]
    assert labels.matrix.tolist() == [[1, 1, 0], [0, 0, 0], [0, 0, 1]]


def test_pandas_series_of_sets_and_with_an_index(pd: Any) -> None:
    Y = pd.Series([{"b"}, {"a", "b"}], index=[10, 5])
    assert check_labels(Y, 2).matrix.tolist() == [[0, 1], [1, 1]]
    Y = pd.Series([{"b"}, None], index=[10, 5])
    fails(ValueError, "Row 1 | None", lambda: check_labels(Y, 2))
    assert check_labels(pd.Series([1, 0], index=[5, 3]), 2).matrix.tolist() == [[1], [0]]
    assert check_labels(pd.Series([1, 0], dtype="Int8"), 2).one_dimensional


def as_object_array(rows: Any) -> Any:
    array = np.empty(len(rows), dtype=object)
    for i, row in enumerate(rows):
        array[i] = row
    return array


@pytest.mark.parametrize(
    "rows",
    [
        [{"b", "a"}, set(), {"c"}],
        [frozenset({"b", "a"}), frozenset(), frozenset({"c"})],
        [["b", "a"], [], ["c"]],
        [("b", "a"), (), ("c",)],
        [["b", "a"], {"c"}, frozenset({"a"})],
        [["b", "a"], ["c", "d"]],
        [["a", "a"], ["b"]],
        [{3, 1}, {10}],
        [{np.int64(3)}, {1}],
        [{True}, {3}],
        [{2**70}, {3}],
        [{np.str_("b")}, {"a"}],
    ],
)
@pytest.mark.parametrize("make", [list, tuple, as_object_array])
def test_label_sets(rows: Any, make: Any) -> None:
    labels = check_labels(make(rows), len(rows))
    assert_valid_labels(labels, len(rows))
    if max((v for row in rows for v in row if not isinstance(v, str)), default=0) < 2**63:
        binarizer = MultiLabelBinarizer()
        np.testing.assert_array_equal(labels.matrix, binarizer.fit_transform(rows))
        np.testing.assert_array_equal(labels.classes, binarizer.classes_)
        assert labels.classes.dtype == binarizer.classes_.dtype
    assert not labels.one_dimensional


def test_sets_with_names_that_look_like_digits() -> None:
    assert check_labels([{"0"}, {"1", "0"}], 2).classes.tolist() == ["0", "1"]
    rows = [np.array(["b", "a"]), np.array(["a"])]
    assert check_labels(rows, 2).matrix.tolist() == [[1, 1], [1, 0]]


# Weights


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint64, np.float16, np.float32, float, object])
def test_weights(dtype: Any) -> None:
    given_weights = np.array([1, 0, 1], dtype=dtype)
    weights = check_sample_weight(given_weights, 3)
    assert weights.dtype == np.float64
    assert weights.tolist() == [1, 0, 1]
    assert not np.shares_memory(weights, given_weights)


def test_more_weights(pd: Any, pl: Any) -> None:
    assert check_sample_weight(None, 3).tolist() == [1, 1, 1]
    assert check_sample_weight([0.5, 2], 2).tolist() == [0.5, 2]
    assert check_sample_weight((1e300, 0), 2).tolist() == [1e300, 0]
    assert check_sample_weight(np.arange(6.0)[::-2], 3).flags.c_contiguous
    assert check_sample_weight(pd.Series([1, 2], index=[7, 8], dtype="Int64"), 2).tolist() == [1, 2]
    assert check_sample_weight(pl.Series([1, 2]), 2).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("weights", "error", "parts"),
    [
        (1.0, ValueError, "() | 3 examples"),
        ([1, 2], ValueError, "(2,) | 3 examples"),
        (np.ones((3, 1)), ValueError, "(3, 1) | 3 examples"),
        (np.ones((3, 3)), ValueError, "(3, 3)"),
        ([1, -2.5, 1], ValueError, "-2.5 | position 1 | not negative"),
        ([1, -1, 1], ValueError, "-1 | position 1"),
        ([1, 1, np.nan], ValueError, "nan | position 2"),
        ([1, np.inf, 1], ValueError, "inf | position 1"),
        ([1, None, 1], ValueError, "nan | position 1"),
        ([0, 0, 0], ValueError, "sample_weight is zero"),
        ([1e308, 1.5e308, 1], ValueError, "overflows | 1.5e+308 | position 1"),
        (["a", "b", "c"], TypeError, "'a' | str | position 0"),
        (np.array(["1", "2", "3"]), TypeError, "'1' | position 0"),
        ([1, "x", 2], TypeError, "'x' | position 1"),
        ([1, 1j, 1], ValueError, "Complex data not supported"),
        ([1, 2**53 + 1, 1], ValueError, f"{2**53 + 1} | position 1"),
        (np.ones(3, dtype=np.longdouble), TypeError, "position 0"),
        ([[1], [2, 3], [4]], ValueError, "row 1 has 2"),
        ("abc", ValueError, "() | 3 examples"),
    ],
)
def test_wrong_weights(weights: Any, error: Any, parts: str) -> None:
    fails(error, parts, lambda: check_sample_weight(weights, 3))


def test_missing_weights_and_frames_of_weights(lib: Any) -> None:
    fails(ValueError, "nan | position 1", lambda: check_sample_weight(lib.Series([1, None]), 2))
    frame = lib.DataFrame({"w": [1, 2]})
    fails(ValueError, "(2, 1) | 2 examples", lambda: check_sample_weight(frame, 2))


# Everything


def test_neither_pandas_nor_polars_is_needed() -> None:
    code = (
        "import sys; sys.modules['pandas'] = sys.modules['polars'] = None;"
        "import numpy as np, labelboost.validation as v;"
        "X, schema = v.check_fit_features(np.eye(2)); v.check_predict_features(X, schema);"
        "v.check_labels([{'a'}, {'b'}], 2); v.check_sample_weight([1, 2], 2)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def assert_valid_features(out: Any) -> None:
    assert out.ndim == 2
    assert out.dtype in (np.dtype(np.float32), np.dtype(np.float64))
    assert min(out.shape) > 0
    if isinstance(out, np.ndarray):
        assert out.flags.aligned
        assert not np.isinf(out).any()
        return
    assert isinstance(out, sp.csr_array | sp.csc_array)
    assert out.indices.dtype == out.indptr.dtype == np.int32
    assert len(out.data) == len(out.indices) == out.indptr[-1]
    assert not np.isinf(out.data).any()
    fresh = type(out)((out.data, out.indices, out.indptr), shape=out.shape)
    fresh.check_format(full_check=True)
    assert fresh.has_canonical_format


def assert_valid_labels(labels: Labels, n: int) -> None:
    matrix = labels.matrix
    assert matrix.dtype == np.uint8
    assert matrix.flags.c_contiguous
    single = labels.one_dimensional and len(labels.classes) <= 2
    assert matrix.shape == (n, 1 if single else len(labels.classes))
    assert matrix.shape[1] > 0
    if labels.one_dimensional and not single:
        assert (matrix.sum(axis=1) == 1).all()
    assert matrix.max(initial=0) <= 1
    assert len(set(labels.classes.tolist())) == len(labels.classes)


DTYPES = st.one_of(
    hnp.boolean_dtypes(),
    hnp.integer_dtypes(endianness="?"),
    hnp.unsigned_integer_dtypes(endianness="?"),
    hnp.floating_dtypes(endianness="?", sizes=(16, 32, 64)),
    hnp.complex_number_dtypes(),
    hnp.unicode_string_dtypes(),
    hnp.byte_string_dtypes(),
    hnp.datetime64_dtypes(),
    hnp.timedelta64_dtypes(),
    st.sampled_from([np.dtype(np.longdouble), np.dtype(object)]),
)
OBJECTS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=3),
    st.fractions(),
    st.complex_numbers(),
    st.decimals(),
    st.frozensets(st.sampled_from("abc")),
    st.tuples(st.integers(0, 1), st.integers(0, 1)),
    st.lists(st.sampled_from("ab"), max_size=2),
)
SHAPES = st.one_of(
    hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=5),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)


@st.composite
def arrays(draw: Any, elements: Any = None) -> Any:
    dtype = draw(DTYPES)
    shape = draw(SHAPES)
    if dtype.kind == "O":
        array = np.empty(shape, dtype=object)
        for index in np.ndindex(shape):
            array[index] = draw(OBJECTS)
        return array
    small = elements if dtype.kind in "iuf" and draw(st.booleans()) else None
    array = draw(hnp.arrays(dtype, shape, elements=small))
    return array.T if draw(st.booleans()) else array


def outcome(call: Any) -> Any:
    """The result, or None after an error that the caller is allowed to see."""
    try:
        return call()
    except (ValueError, TypeError):
        return None


@settings(deadline=None, max_examples=400)
@given(arrays(st.integers(0, 3)))
def test_any_array_as_features(X: Any) -> None:
    before = X.copy()
    out = outcome(lambda: fit(X))
    assert X.tobytes() == before.tobytes()
    if out is None:
        return
    assert_valid_features(out)
    assert out.shape == X.shape
    for index in np.ndindex(X.shape):
        value, number = X[index], out[index]
        if value is None or np.isnan(number):
            assert np.isnan(number)
            assert value is None or np.isnan(value)
        elif X.dtype.kind in "iu":
            assert int(number) == int(value)
        else:
            assert number == value
    if X.dtype in (np.float32, np.float64) and X.dtype.isnative:
        assert np.shares_memory(out, X)


columns_may_be_vectors = pytest.mark.filterwarnings("ignore:A column-vector y was passed")


@columns_may_be_vectors
@settings(deadline=None, max_examples=200)
@given(st.recursive(OBJECTS, lambda inner: st.lists(inner, max_size=4), max_leaves=12))
def test_any_nested_list(data: Any) -> None:
    out = outcome(lambda: fit(data))
    if out is not None:
        assert_valid_features(out)
    labels = outcome(lambda: check_labels(data, 2))
    if labels is not None:
        assert_valid_labels(labels, 2)
    weights = outcome(lambda: check_sample_weight(data, 2))
    assert weights is None or weights.shape == (2,)


@columns_may_be_vectors
@settings(deadline=None, max_examples=400)
@given(arrays(st.integers(0, 1)), st.integers(1, 4))
def test_any_array_as_labels(Y: Any, n: int) -> None:
    labels = outcome(lambda: check_labels(Y, n))
    if labels is None:
        return
    assert_valid_labels(labels, n)
    assert Y.shape[0] == n
    if Y.dtype != object:
        expected = Y
        if labels.one_dimensional:
            classes = np.unique(Y)
            assert classes.tolist() == labels.classes.tolist()
            expected = Y.reshape(n, 1) == (classes[-1] if len(classes) <= 2 else classes)
        assert (labels.matrix == expected).all()


@settings(deadline=None, max_examples=400)
@given(arrays(st.integers(0, 3)), st.integers(1, 4))
def test_any_array_as_weights(given_weights: Any, n: int) -> None:
    weights = outcome(lambda: check_sample_weight(given_weights, n))
    if weights is not None:
        assert weights.shape == (n,)
        assert weights.dtype == np.float64
        assert np.isfinite(weights).all()
        assert weights.min() >= 0
        assert weights.max() > 0
        assert (weights == given_weights).all()


SPARSE_DTYPES = st.sampled_from(
    [np.dtype(kind) for kind in ("f4", "f8", "i1", "i8", "u8", "?", "c16", np.longdouble)]
)


@st.composite
def sparse_matrices(draw: Any, elements: Any = None) -> Any:
    """Matrices of all formats, with duplicates in the ones that may have them."""
    n, m = draw(st.integers(0, 4)), draw(st.integers(0, 4))
    stored = draw(st.integers(0, 6)) if n and m else 0
    rows = draw(hnp.arrays(np.int64, stored, elements=st.integers(0, max(n - 1, 0))))
    columns = draw(hnp.arrays(np.int64, stored, elements=st.integers(0, max(m - 1, 0))))
    dtype = draw(SPARSE_DTYPES)
    small = elements if dtype.kind in "iuf" else None
    data = draw(hnp.arrays(dtype, stored, elements=small))
    make = draw(st.sampled_from([sp.coo_array, sp.coo_matrix]))
    with np.errstate(all="ignore"):
        matrix = make((data, (rows, columns)), shape=(n, m))
        return matrix.asformat(draw(st.sampled_from(FORMATS)))


@settings(deadline=None, max_examples=300)
@given(st.one_of(sparse_matrices(), sparse_matrices(st.integers(0, 3))))
def test_any_sparse_matrix_as_features(X: Any) -> None:
    out = outcome(lambda: fit(X))
    if out is not None:
        assert_valid_features(out)
        assert out.shape == X.shape
        if X.format not in ("coo", "bsr") and X.dtype.kind == "f":
            np.testing.assert_array_equal(out.toarray(), X.toarray())


@settings(deadline=None, max_examples=300)
@given(st.one_of(sparse_matrices(), sparse_matrices(st.integers(0, 1))), st.integers(1, 4))
def test_any_sparse_matrix_as_labels(Y: Any, n: int) -> None:
    labels = outcome(lambda: check_labels(Y, n))
    if labels is not None:
        assert_valid_labels(labels, n)
        np.testing.assert_array_equal(labels.matrix, Y.toarray())


INDICES = st.one_of(
    hnp.arrays(
        st.sampled_from([np.int32, np.int64]), st.integers(0, 7), elements=st.integers(-1, 5)
    ),
    hnp.arrays(np.int32, st.integers(3, 5), elements=st.integers(0, 3)).map(np.sort),
)


@settings(deadline=None, max_examples=400)
@given(INDICES, INDICES, st.integers(0, 7), st.sampled_from(["csr", "csc"]))
def test_any_hand_made_index_structure(indices: Any, indptr: Any, stored: int, name: str) -> None:
    X = as_format(sp.csr_array((3, 3)), name)
    X.indices, X.indptr, X.data = indices, indptr, np.ones(stored)
    if len(indptr) == 4 and indptr[0] == 1:
        indptr[0] = 0
    before = indices.copy(), indptr.copy()
    out = outcome(lambda: fit(X))
    assert (X.indices == before[0]).all()
    assert (X.indptr == before[1]).all()
    if out is not None:
        assert_valid_features(out)
        assert out.sum() == indptr[-1]


@settings(deadline=None, max_examples=200)
@given(arrays(), st.one_of(OBJECTS, st.lists(st.one_of(st.integers(-1, 4), OBJECTS), max_size=3)))
def test_any_categorical_features(X: Any, setting: Any) -> None:
    result = outcome(lambda: check_fit_features(X, setting))
    if result is not None:
        schema = result[1]
        assert schema.nominal.shape == (X.shape[1],)
        assert check_predict_features(X, schema).shape == X.shape


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_any_frame(data: st.DataObject) -> None:
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    n = data.draw(st.integers(0, 4))
    kinds: list[Any] = [st.integers(-(2**63), 2**63 - 1), st.floats(), st.booleans(), st.text()]
    columns: dict[str, Any] = {}
    for name in data.draw(st.lists(st.sampled_from("abcd"), unique=True)):
        entry = data.draw(st.sampled_from(kinds)) | st.none()
        columns[name] = data.draw(st.lists(entry, min_size=n, max_size=n))
    frames: list[Any] = [polars.DataFrame(columns), pandas.DataFrame(columns)]
    frames.append(frames[1].astype("category"))
    frames.append(frames[1].convert_dtypes())
    for X in frames:
        result = outcome(lambda X=X: check_fit_features(X))
        if result is not None:
            assert_valid_features(result[0])
            assert result[0].shape == X.shape
            again = check_predict_features(X, result[1])
            np.testing.assert_array_equal(np.asarray(again), np.asarray(result[0]))
        labels = outcome(lambda X=X: check_labels(X, max(n, 1)))
        if labels is not None:
            assert_valid_labels(labels, n)
