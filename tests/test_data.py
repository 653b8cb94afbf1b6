"""Data sets: the type, the embedded one, the generator and the npz reader."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.tree import DecisionTreeClassifier

from labelboost.data import Dataset, load_digits_display, load_npz, make_multilabel
from labelboost.data.embedded import LIT

BENCHMARK_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def parts(**changes: Any) -> dict[str, Any]:
    """Arguments of a valid data set, with some replaced."""
    return {
        "name": "tiny",
        "X": np.array([[0.5, 1.0], [np.nan, 0.0], [2.5, 2.0]]),
        "Y": np.array([[0, 1], [1, 1], [0, 0]], dtype=np.uint8),
        "feature_names": ("width", "colour"),
        "label_names": ("left", "right"),
        "nominal": np.array([False, True]),
        "categories": {1: ("red", "green", "blue")},
    } | changes


def test_a_dataset_knows_its_size() -> None:
    dataset = Dataset(**parts())
    assert (dataset.n_examples, dataset.n_features, dataset.n_labels) == (3, 2, 2)
    assert dataset.nominal_indices == [1]
    assert dataset.cardinality == 1.0
    assert dataset.n_label_sets == 3


@pytest.mark.parametrize("sparse", [sp.csr_array, sp.csc_array])
def test_features_may_be_sparse(sparse: Any) -> None:
    assert Dataset(**parts(X=sparse(parts()["X"]))).n_features == 2


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"X": [[1.0, 0.0]] * 3}, TypeError, "X must be a NumPy array.*got list"),
        ({"X": np.zeros(3)}, ValueError, r"two dimensions.*\(3,\)"),
        ({"X": np.zeros((3, 2), dtype=int)}, TypeError, "float32 or float64, got int64"),
        ({"X": np.zeros((0, 2))}, ValueError, "at least one example"),
        ({"X": np.full((3, 2), np.inf)}, ValueError, "infinite.*NaN"),
        ({"X": sp.csr_array(np.full((3, 2), np.inf))}, ValueError, "infinite"),
        ({"X": np.zeros((4, 2))}, ValueError, "X has 4 examples, but Y has 3"),
        ({"Y": np.zeros((3, 2))}, TypeError, "uint8, got an array of float64"),
        ({"Y": np.zeros(3, dtype=np.uint8)}, ValueError, r"\(examples, labels\)"),
        ({"Y": np.full((3, 2), 2, dtype=np.uint8)}, ValueError, r"got 2 at \[0, 0\]"),
        ({"feature_names": ("width",)}, ValueError, "1 names for 2 columns of X"),
        ({"label_names": ["left", "right"]}, TypeError, "label_names must be a tuple of strings"),
        ({"nominal": np.array([0, 1])}, TypeError, "array of bool"),
        ({"nominal": np.array([True])}, ValueError, r"shape \(2,\), got \(1,\)"),
        ({"categories": {0: ("a",)}}, ValueError, "feature 0, which is not a nominal"),
        ({"categories": {5: ("a",)}}, ValueError, "feature 5, which is not a nominal"),
        ({"categories": {1: ("red",)}}, ValueError, "feature 1 holds 1, which is not the code"),
        ({"nominal": np.array([True, True])}, ValueError, "feature 0 holds 0.5"),
        ({"X": -sp.csr_array(np.eye(3, 2))}, ValueError, "feature 1 holds -1"),
    ],
)
def test_a_dataset_that_makes_no_sense_is_refused(
    changes: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        Dataset(**parts(**changes))


def test_digits_on_a_display() -> None:
    dataset = load_digits_display()
    assert dataset.X.shape == (1797, 64)
    assert dataset.n_label_sets == len(set(LIT)) == 10
    assert dataset.feature_names[2 * 8 + 4] == "row 3, column 5"
    assert dataset.label_names == (
        *("top", "upper left", "upper right", "middle", "lower left", "lower right", "bottom"),
    )
    # The first ten images are 0 to 9; the numbers of segments lit are those of any display.
    np.testing.assert_array_equal(dataset.Y[:10].sum(axis=1), [6, 2, 5, 5, 4, 5, 6, 3, 7, 6])
    one, seven, eight = dataset.Y[[1, 7, 8]].astype(bool)
    lit = np.array(dataset.label_names)
    assert set(lit[one]) == {"upper right", "lower right"}
    assert set(lit[seven]) == set(lit[one]) | {"top"}
    assert eight.all()


def test_the_same_seed_gives_the_same_data() -> None:
    options: dict[str, Any] = {"n_examples": 300, "nominal": 0.3, "missing": 0.1}
    first = make_multilabel(**options, random_state=5)
    again = make_multilabel(**options, random_state=5)
    other = make_multilabel(**options, random_state=6)
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.Y, again.Y)
    assert (first.Y != other.Y).any()
    generator = make_multilabel(**options, random_state=np.random.default_rng(5))
    np.testing.assert_array_equal(first.Y, generator.Y)


def test_full_dependence_leaves_few_label_sets() -> None:
    counts = [
        make_multilabel(3000, dependence=dependence, random_state=1).n_label_sets
        for dependence in (0.0, 0.5, 1.0)
    ]
    assert counts[0] > counts[1] > counts[2]
    few = make_multilabel(3000, n_labels=50, dependence=1.0, n_factors=3, random_state=1)
    assert few.n_label_sets <= 2**3


@pytest.mark.parametrize("dependence", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("cardinality", [0.5, 2.0, 5.0, 9.0])
@pytest.mark.parametrize("noise", [0.0, 0.4])
def test_cardinality_is_as_asked(dependence: float, cardinality: float, noise: float) -> None:
    dataset = make_multilabel(
        4000, dependence=dependence, cardinality=cardinality, noise=noise, random_state=2
    )
    assert dataset.cardinality == pytest.approx(cardinality, rel=0.1)


def test_without_noise_a_label_is_a_function_of_the_features() -> None:
    for dependence in (0.0, 1.0):
        for noise, low, high in ((0.0, 0.93, 1.0), (1.0, 0.0, 0.8)):
            dataset = make_multilabel(
                4000, 10, 4, dependence=dependence, noise=noise, random_state=4
            )
            tree = DecisionTreeClassifier(min_samples_leaf=5, random_state=0)
            tree.fit(dataset.X[:3000], dataset.Y[:3000])
            correct = tree.predict(dataset.X[3000:]) == dataset.Y[3000:]
            assert low <= correct.all(axis=1).mean() <= high


def test_noise_of_independent_labels_strikes_each_apart() -> None:
    clean = make_multilabel(20000, dependence=0.0, noise=0.0, random_state=3)
    noisy = make_multilabel(20000, dependence=0.0, noise=0.3, random_state=3)
    np.testing.assert_array_equal(clean.X, noisy.X)
    wrong = (clean.Y != noisy.Y).astype(float)
    correlation = np.corrcoef(wrong[:, wrong.any(axis=0)], rowvar=False)
    off_diagonal = correlation[~np.eye(len(correlation), dtype=bool)]
    assert abs(off_diagonal.mean()) < 0.02


def test_noise_of_shared_labels_keeps_label_sets_valid() -> None:
    clean = make_multilabel(5000, dependence=1.0, noise=0.0, random_state=3)
    noisy = make_multilabel(5000, dependence=1.0, noise=0.3, random_state=3)
    valid = set(map(bytes, clean.Y))
    assert set(map(bytes, noisy.Y)) <= valid
    assert 0.15 < (clean.Y != noisy.Y).any(axis=1).mean() < 0.3


def test_nominal_and_missing_values() -> None:
    dataset = make_multilabel(5000, 10, nominal=0.3, missing=0.2, random_state=1)
    assert len(dataset.nominal_indices) == 3
    assert set(dataset.categories) == set(dataset.nominal_indices)
    X = np.asarray(dataset.X)
    assert np.isnan(X).mean() == pytest.approx(0.2, abs=0.01)
    for feature, names in dataset.categories.items():
        codes = X[~np.isnan(X[:, feature]), feature]
        assert set(codes) == set(range(len(names)))


def test_many_labels() -> None:
    dataset = make_multilabel(2000, n_labels=1500, dependence=0.5, cardinality=20, random_state=1)
    assert dataset.Y.shape == (2000, 1500)
    assert dataset.cardinality == pytest.approx(20, rel=0.1)


def test_many_examples_in_several_blocks() -> None:
    dataset = make_multilabel(50_001, 3, 4, informative=0.01, random_state=1)
    assert dataset.X.shape == (50_001, 3)
    assert (dataset.Y[-10_000:].mean(axis=0) > 0).all()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_examples": 0}, ValueError, "n_examples must be at least 1, got 0"),
        ({"n_features": 2.5}, TypeError, "n_features must be an integer, got 2.5"),
        ({"n_labels": True}, TypeError, "n_labels must be an integer, got True"),
        ({"dependence": 1.2}, ValueError, r"dependence must lie in \[0, 1\], got 1.2"),
        ({"noise": float("nan")}, ValueError, r"noise must lie in \[0, 1\], got nan"),
        ({"noise": "much"}, TypeError, "noise must be a number, got 'much'"),
        ({"cardinality": 10}, ValueError, r"cardinality must lie in \(0, 10\), got 10"),
        ({"n_factors": 17}, ValueError, "n_factors must be between 1 and 16, got 17"),
        ({"informative": 0}, ValueError, r"informative must lie in \(0, 1\], got 0"),
        ({"nominal": -0.1}, ValueError, r"nominal must lie in \[0, 1\], got -0.1"),
        ({"missing": 1}, ValueError, r"missing must lie in \[0, 1\), got 1"),
        ({"random_state": -1}, ValueError, "random_state must not be negative, got -1"),
        ({"random_state": "1"}, TypeError, "random_state must be None, an integer"),
    ],
)
def test_impossible_parameters_are_refused(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        make_multilabel(**options)


def arrays(**changes: Any) -> dict[str, Any]:
    """The arrays of a valid npz file, with some replaced; None leaves one out."""
    content = {
        "X_data": np.array([1.5, 2.0, 1.0], dtype=np.float32),
        "X_indices": np.array([0, 1, 1], dtype=np.int32),
        "X_indptr": np.array([0, 2, 2, 3], dtype=np.int32),
        "X_shape": np.array([3, 2]),
        "Y_indices": np.array([1, 0, 1], dtype=np.int32),
        "Y_indptr": np.array([0, 1, 3, 3], dtype=np.int32),
        "Y_shape": np.array([3, 2]),
        "feature_names": np.array(["width", "colour"]),
        "label_names": np.array(["left", "right"]),
        "feature_kind": np.array(["numeric", "nominal"]),
        "nominal_values": np.array('{"1": ["red", "green", "blue"]}'),
    } | changes
    return {name: array for name, array in content.items() if array is not None}


def save(folder: Path, **changes: Any) -> Path:
    path = folder / "tiny.npz"
    np.savez_compressed(path, **arrays(**changes))
    return path


def test_npz_is_read(tmp_path: Path) -> None:
    dataset = load_npz(save(tmp_path))
    assert dataset.name == "tiny"
    assert isinstance(dataset.X, sp.csr_array)
    assert dataset.X.dtype == np.float32
    np.testing.assert_array_equal(dataset.X.toarray(), [[1.5, 2.0], [0, 0], [0, 1]])
    np.testing.assert_array_equal(dataset.Y, [[0, 1], [1, 1], [0, 0]])
    assert dataset.Y.dtype == np.uint8
    assert dataset.nominal_indices == [1]
    assert dataset.categories == {1: ("red", "green", "blue")}
    assert load_npz(str(tmp_path / "tiny.npz")).label_names == ("left", "right")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"Y_indptr": None, "X_shape": None}, "lacks X_shape, Y_indptr"),
        ({"X_indices": np.array([0, 2, 1])}, "X_indices must lie between 0 and 1"),
        ({"X_indices": np.array([1, 0, 1])}, "X_indices must ascend"),
        ({"X_indices": np.array([0.0, 1.0, 1.0])}, "X_indices must hold integers"),
        ({"X_indptr": np.array([0, 3])}, "X_indptr does not fit 3 rows"),
        ({"Y_indptr": np.array([0, 3, 1, 3])}, "Y_indptr decreases"),
        ({"X_data": np.ones(2, dtype=np.float32)}, "2 X_data for 3 X_indices"),
        ({"X_data": np.array(["a", "b", "c"])}, "X_data must be floating point"),
        ({"X_data": np.array([1, np.inf, 1])}, "infinite"),
        ({"X_shape": np.array([3])}, "X_shape must be two integers"),
        ({"Y_shape": np.array([2, 2]), "Y_indptr": np.array([0, 1, 3])}, "Y has 2"),
        ({"feature_names": np.array(["width"])}, "1 names for 2"),
        ({"label_names": np.array([1, 2])}, "label_names must be .* text"),
        ({"feature_kind": np.array(["numeric", "date"])}, "feature_kind.*date"),
        ({"nominal_values": np.array("{")}, "npz file"),
        ({"nominal_values": np.array('["red"]')}, "nominal_values must map"),
        ({"nominal_values": np.array('{"1": ["red"]}')}, "not the code of a category"),
        ({"feature_names": np.array(["width", None], dtype=object)}, "allow_pickle=False"),
    ],
)
def test_npz_in_another_format_is_refused(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    path = save(tmp_path, **changes)
    with pytest.raises(ValueError, match=message) as caught:
        load_npz(path)
    assert "tiny.npz is not a multi-label npz file" in str(caught.value)


def test_files_that_are_no_npz_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no data set at"):
        load_npz(tmp_path / "absent.npz")
    for content in (b"", b"no archive", b"PK\x03\x04 cut off"):
        (tmp_path / "broken.npz").write_bytes(content)
        with pytest.raises(ValueError, match=r"broken\.npz is not a multi-label npz file"):
            load_npz(tmp_path / "broken.npz")
    whole = save(tmp_path).read_bytes()
    (tmp_path / "broken.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match="not a multi-label npz file"):
        load_npz(tmp_path / "broken.npz")
    np.save(tmp_path / "single.npy", np.zeros(3))
    with pytest.raises(ValueError, match="single array"):
        load_npz(tmp_path / "single.npy")


@pytest.mark.skipif(not BENCHMARK_DATA.is_dir(), reason="the benchmark data is not here")
@pytest.mark.parametrize(
    ("name", "shape", "labels", "cardinality", "nominal"),
    [
        ("emotions", (593, 72), 6, 1.868, 0),
        ("flags", (194, 19), 7, 3.392, 9),
        ("birds", (645, 260), 19, 1.014, 2),
        ("medical", (978, 1449), 45, 1.245, 1449),
        ("langlog", (1460, 1004), 75, 1.180, 0),
    ],
)
def test_benchmark_data(
    name: str, shape: tuple[int, int], labels: int, cardinality: float, nominal: int
) -> None:
    dataset = load_npz(BENCHMARK_DATA / f"{name}.npz")
    assert dataset.X.shape == shape
    assert dataset.n_labels == labels
    assert dataset.cardinality == pytest.approx(cardinality, abs=5e-4)
    assert len(dataset.nominal_indices) == nominal
