"""Model files: what is loaded equals what was saved, and no file whatever does any harm."""

from __future__ import annotations

import copy
import datetime
import gzip
import hashlib
import json
import os
import random
import re
import resource
import tracemalloc
import warnings
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError

import labelboost
from labelboost import (
    Rule,
    RuleBoostingClassifier,
    TreeBoostingClassifier,
    files,
    load_model,
    save_model,
)
from labelboost.persistence.codec import Budget, Codec
from labelboost.persistence.container import AFTER_PAYLOAD, BEFORE_PAYLOAD, VERSION
from labelboost.persistence.model_files import CODECS
from labelboost.persistence.nodes import Node
from labelboost.wording import describe_rule

FIXTURES = Path(__file__).parent / "fixtures"
CASES: dict[str, dict[str, Any]] = {
    "binned": {"label_bins": 4},
    "unbinned": {"label_bins": None, "profile": True},
    "single": {"head": "single"},
    "label-wise": {"loss": "label_logistic"},
    "label-wise, known": {"loss": "label_logistic", "decoding": "known"},
    "softmax": {"loss": "labelset_softmax"},
}


def some_data(n_labels: int = 9, seed: int = 0) -> tuple[NDArray[Any], NDArray[Any]]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(90, 6)).round(2)
    X[:, 5] = rng.integers(0, 4, 90)
    Y = (X[:, :3] @ rng.normal(size=(3, n_labels)) > 0.3).astype(int)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, Y


def some_model(**parameters: Any) -> RuleBoostingClassifier:
    X, Y = some_data()
    settings = {"n_rules": 25, "random_state": 3, "categorical_features": [5]} | parameters
    return RuleBoostingClassifier(**settings).fit(X, Y)


def reloaded(model: Any, folder: Path) -> Any:
    save_model(model, folder / "model.json.gz")
    return load_model(folder / "model.json.gz")


def same_bits(a: NDArray[Any], b: NDArray[Any]) -> bool:
    return (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())


def assert_same_predictions(model: Any, loaded: Any, X: Any) -> None:
    names = ("decision_function", "predict", "predict_proba")
    for name in names:
        assert same_bits(getattr(model, name)(X), getattr(loaded, name)(X)), name
        stages = [getattr(m, f"staged_{name}")(X) for m in (model, loaded)]
        assert all(same_bits(a, b) for a, b in zip(*stages, strict=True)), name
    if model._fitted_loss != "label_logistic":
        ours, theirs = (m.predict_label_sets(X, top=3) for m in (model, loaded))
        assert same_bits(ours.label_sets, theirs.label_sets)
        assert same_bits(ours.probabilities, theirs.probabilities)


# Round trips


@pytest.mark.parametrize("case", CASES)
def test_loaded_model_equals_saved_one(case: str, tmp_path: Path) -> None:
    model = some_model(**CASES[case])
    loaded = reloaded(model, tmp_path)
    X, _ = some_data(seed=1)
    assert_same_predictions(model, loaded, X)
    assert_same_predictions(model, loaded, sp.csr_array(np.nan_to_num(X)))
    assert loaded.get_params() == model.get_params()
    assert clone(loaded).get_params() == model.get_params()
    assert vars(loaded).keys() == vars(model).keys()
    assert loaded.n_rules_ == model.n_rules_ == len(loaded.rules_)
    assert loaded.n_features_in_ == model.n_features_in_
    for name in ("training_times_", "classes_", "_known", "_known_weights"):
        assert same_bits(getattr(model, name), getattr(loaded, name)), name
    for rule, other in zip(model.rules_, loaded.rules_, strict=True):
        assert (rule.conditions, rule.coverage) == (other.conditions, other.coverage)
        assert rule.gain == other.gain
        assert same_bits(rule.head, other.head)
        assert rule.head.flags.writeable == other.head.flags.writeable
        assert describe_rule(rule) == describe_rule(other)
    if CASES[case].get("profile"):
        assert loaded.training_profile_ == model.training_profile_


def test_loaded_model_can_be_fitted_and_saved_again(tmp_path: Path) -> None:
    model = some_model()
    loaded = reloaded(model, tmp_path)
    first = (tmp_path / "model.json.gz").read_bytes()
    save_model(loaded, tmp_path / "again.json.gz")
    assert (tmp_path / "again.json.gz").read_bytes() == first
    X, Y = some_data()
    assert same_bits(clone(loaded).fit(X, Y).decision_function(X), model.decision_function(X))


def test_vector_of_labels(tmp_path: Path) -> None:
    X, Y = some_data()
    model = RuleBoostingClassifier(n_rules=10, random_state=0).fit(X, Y[:, 0])
    loaded = reloaded(model, tmp_path)
    assert loaded.predict(X).shape == (len(X),)
    assert_same_predictions(model, loaded, X)


@pytest.mark.parametrize(
    "classes",
    [[-1, 1], [0.0, 2.5e10], [False, True], ["no", "<b>\n"], ["a", "b", "ü"], [5], [1, 2, 3],
     np.array(["x", "y"], dtype=object), [2**70, 1], ["only"]],
    ids=str,
)  # fmt: skip
def test_vectors_of_classes(classes: Any, tmp_path: Path) -> None:
    X, Y = some_data()
    y = np.asarray(classes)[Y[:, :2].sum(axis=1) % len(classes)]
    model = RuleBoostingClassifier(n_rules=10, random_state=0).fit(X, y)
    loaded = reloaded(model, tmp_path)
    assert loaded.classes_.dtype == model.classes_.dtype
    assert loaded.classes_.tolist() == model.classes_.tolist()
    assert loaded.predict(X).dtype == model.predict(X).dtype
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert same_bits(loaded.predict_proba(X), model.predict_proba(X))
    assert same_bits(loaded.decision_function(X), model.decision_function(X))


def test_vectors_from_before_there_were_classes(tmp_path: Path) -> None:
    """They had the values 0 and 1, and one label, called 0."""
    X, Y = some_data()
    model = RuleBoostingClassifier(n_rules=10, random_state=0).fit(X, Y[:, 0])
    path = tmp_path / "model.json.gz"
    save_model(model, path)

    payload = json.loads(gzip.decompress(path.read_bytes()))["payload"]
    payload["fitted"]["classes"] = {"type": "int64", "values": [0]}
    path.write_bytes(signed(payload))
    loaded = load_model(path)
    assert loaded.classes_.tolist() == [0, 1]
    assert_same_predictions(model, loaded, X)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames(library: str, tmp_path: Path) -> None:
    frames = pytest.importorskip(library)
    X, Y = some_data()
    letters = np.array(["a", "b", "c", "d"])[np.nan_to_num(X[:, 5]).astype(int)]

    def frame(letters: NDArray[Any]) -> Any:
        columns = {f"x{j}": X[:, j] for j in range(5)} | {"letter": letters.tolist()}
        table = frames.DataFrame(columns)
        if library == "pandas":
            return table.astype({"letter": "category"})
        return table.with_columns(frames.col("letter").cast(frames.Categorical))

    labels = frames.DataFrame({name: Y[:, k] for k, name in enumerate("uvw")})
    model = RuleBoostingClassifier(n_rules=30, random_state=0, max_features=None)
    model.fit(frame(letters), labels)
    assert any(c.feature == 5 for rule in model.rules_ for c in rule.conditions)
    loaded = reloaded(model, tmp_path)
    assert loaded.classes_.tolist() == ["u", "v", "w"]
    assert loaded.feature_names_in_.tolist() == model.feature_names_in_.tolist()
    # In other orders, and with a category that training did not know.
    for given in (letters, letters[::-1], np.where(letters == "a", "zz", letters)):
        assert_same_predictions(model, loaded, frame(given))
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame(letters).rename({"x0": "x9"}, **_axis(library)))


def _axis(library: str) -> dict[str, str]:
    return {"axis": "columns"} if library == "pandas" else {}


@pytest.mark.parametrize(
    "values",
    [
        ["a", "\ud800 \N{SNOWMAN}\n\"'", ""],
        [-(2**63), 0, 2**63 - 1],
        [0.1, 5e-324, -1e308],
        [True, False],
        [1, "1", 2.5, ("a", (1, None))],
        [2**70, -(2**900), 3],
        [datetime.datetime(2026, 1, 2, 3, 4, 5, 678), datetime.date(2026, 1, 2)],
        [np.int64(4), np.int64(5)],
    ],
)
def test_names_of_labels(values: list[Any], tmp_path: Path) -> None:
    model = some_model()
    model.classes_ = np.empty(9, dtype=object)
    model.classes_[:] = list(range(100, 109))
    for k, value in enumerate(values):
        model.classes_[k] = value
    loaded = reloaded(model, tmp_path)
    assert loaded.classes_.dtype == object
    assert loaded.classes_.tolist() == model.classes_.tolist()
    plain = [v.item() if isinstance(v, np.generic) else v for v in model.classes_]
    assert [type(v) for v in loaded.classes_] == [type(v) for v in plain]


def test_categories_of_pandas(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    X, Y = some_data()
    numbers = np.nan_to_num(X[:, 0])
    frame = pd.DataFrame(
        {
            "cut": pd.cut(numbers, [-9, -1, 0, 1, 9]),
            "quantile": pd.qcut(numbers, 3),
            "day": pd.Categorical(pd.to_datetime("2026-01-01") + pd.to_timedelta(X[:, 5], "D")),
            "moment": pd.Categorical(
                pd.to_datetime("2026-07-25", utc=True) + pd.to_timedelta(X[:, 5], "h")
            ),
            "whole": pd.Categorical(np.nan_to_num(X[:, 5]).astype(int) * 7),
            "truth": pd.Categorical(numbers > 0),
        }
    )
    model = RuleBoostingClassifier(n_rules=40, random_state=0, max_features=None).fit(frame, Y)
    loaded = reloaded(model, tmp_path)
    assert_same_predictions(model, loaded, frame)
    for rule, other in zip(model.rules_, loaded.rules_, strict=True):
        texts = [describe_rule(r, None, None, m._schema.categories)
                 for r, m in ((rule, model), (other, loaded))]  # fmt: skip
        assert texts[0] == texts[1]


def test_names_that_would_not_be_found_again_are_refused(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    repeated = pd.Timestamp("2026-10-25 01:30", tz="UTC").tz_convert("Europe/Berlin")
    times = [pd.Timestamp("2026-01-01 00:00:00.000000001"), pd.NaT, np.datetime64(1, "ns")]
    for name in (repeated, *times, pd.Period("2026"), b"bytes", float("inf"), 1j):
        model = some_model()
        model.classes_ = np.array([*range(8), None], dtype=object)
        model.classes_[8] = name
        with pytest.raises(ValueError, match="which model files cannot hold"):
            save_model(model, tmp_path / "model")


def test_unusual_parameters(tmp_path: Path) -> None:
    parameters = {
        "n_rules": np.int32(20),
        "learning_rate": Fraction(1, 4),
        "l2": np.float32(0.5),
        "bootstrap": np.bool_(True),
        "categorical_features": np.array([5]),
        "n_jobs": 1,
        "verbose": False,
    }
    model = some_model(**parameters)
    loaded = reloaded(model, tmp_path)
    found = loaded.get_params()
    assert found["categorical_features"] == [5]
    assert [type(found[name]) for name in parameters] == [int, float, float, bool, list, int, bool]
    assert all(found[n] == v for n, v in parameters.items() if n != "categorical_features")
    mask = some_model(categorical_features=np.arange(6) == 5)
    assert reloaded(mask, tmp_path).categorical_features == [False] * 5 + [True]


def test_random_state_object_becomes_none(tmp_path: Path) -> None:
    model = some_model(random_state=np.random.RandomState(0))
    with pytest.warns(UserWarning, match=r"cannot hold random_state=RandomState.*None instead"):
        save_model(model, tmp_path / "model")
    assert load_model(tmp_path / "model").random_state is None


def test_parameter_that_is_newer_than_the_file_gets_its_default(small: Any, tmp_path: Path) -> None:
    del small["parameters"]["verbose"]
    assert load(signed(small), tmp_path).verbose == 0


def test_negative_zero_and_extreme_scores_keep_their_bits(tmp_path: Path) -> None:
    model = some_model()
    scores = [0.0, -0.0, 5e-324, -1e300 / 3, 0.1, 1 / 3, 1e-7, 123456789.123456789, -0.0]
    model.rules_[1] = Rule((), np.array(scores), 1)
    model.rules_[2] = Rule((), np.array([-0.0] + [0.0] * 8), 1)
    loaded = reloaded(model, tmp_path)
    for r in (1, 2):
        assert same_bits(loaded.rules_[r].head, model.rules_[r].head)


def test_file_is_one_readable_document(tmp_path: Path) -> None:
    model = some_model(loss="label_logistic")
    save_model(model, tmp_path / "model")
    document = json.loads(gzip.decompress((tmp_path / "model").read_bytes()))
    assert document["format"] == "labelboost-model"
    assert document["version"] == VERSION
    assert document["library_version"] == labelboost.__version__
    rule, stored = model.rules_[1], document["payload"]["fitted"]["rules"][1]
    assert stored == {
        "conditions": [[c.feature, c.operator, c.value] for c in rule.conditions],
        "head": [[rule.head[rule.head != 0][0], int(np.flatnonzero(rule.head)[0])]],
        "coverage": rule.coverage,
        "gain": rule.gain,
    }


@pytest.mark.parametrize("name", sorted(p.name[:-8] for p in FIXTURES.glob("*.json.gz")))
def test_files_of_all_versions_are_read_by_every_later_one(name: str) -> None:
    pd = pytest.importorskip("pandas")
    model = load_model(FIXTURES / f"{name}.json.gz")
    expected = json.loads((FIXTURES / f"{name}-expected.json").read_text())
    table = expected["input"]
    X = pd.DataFrame(
        {
            "width": pd.Series(table["width"], dtype="float64"),
            "height": table["height"],
            "colour": pd.Categorical(table["colour"]),
            "size": pd.Categorical(table["size"]),
        }
    )
    if name.startswith("tree"):
        assert isinstance(model, TreeBoostingClassifier)
        assert model.n_trees_ == 8
        assert model.criterion == "newton"  # all that there was then
    else:
        assert isinstance(model, RuleBoostingClassifier)
        assert model.n_rules_ == 40
    assert model.classes_.tolist() == expected["classes"]
    gains = expected.get("gains", [None] * 40)  # new in version 2
    assert [None if np.isnan(rule.gain) else rule.gain for rule in model.rules_] == gains
    assert model.decision_function(X).tolist() == expected["scores"]
    assert model.predict(X).tolist() == expected["predictions"]
    # Exponentials may differ in the last digit from machine to machine.
    near = {"rtol": 1e-12, "atol": 1e-15}
    np.testing.assert_allclose(model.predict_proba(X), expected["probabilities"], **near)
    likely = model.predict_label_sets(X, top=2)
    assert likely.label_sets.tolist() == expected["likely_sets"]
    np.testing.assert_allclose(likely.probabilities, expected["likely_probabilities"], **near)
    assert model.label_bins == ("auto" if name.startswith("tree") else 4)
    assert set(model.training_profile_) >= {"candidate_evaluation", "everything_else"}


# Saving


def test_saving_refuses_what_it_cannot_save(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError):
        save_model(RuleBoostingClassifier(), tmp_path / "model")
    with pytest.raises(TypeError, match="TreeBoostingClassifier can be saved, got dict"):
        save_model({}, tmp_path / "model")

    class Derived(RuleBoostingClassifier):
        pass

    X, Y = some_data()
    with pytest.raises(TypeError, match="got Derived"):
        save_model(Derived(n_rules=2).fit(X, Y), tmp_path / "model")
    model = some_model()
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere; create it"):
        save_model(model, tmp_path / "nowhere" / "model")
    with pytest.raises(IsADirectoryError, match="it is a folder"):
        save_model(model, tmp_path)
    model.classes_ = np.array([object() for _ in range(9)])
    with pytest.raises(ValueError, match=r"Label <object .* is of type object.* Use strings"):
        save_model(model, tmp_path / "model")
    model = some_model().set_params(l2=-1.0)
    with pytest.raises(ValueError, match=r"this model cannot be saved: .*l2 must be"):
        save_model(model, tmp_path / "model")
    model = some_model()
    model.rules_[0] = Rule((), np.full(9, np.nan), 1)
    with pytest.raises(ValueError, match="this model cannot be saved"):
        save_model(model, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_failure_leaves_the_former_file(
    failing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model"
    save_model(some_model(), path)
    before = path.read_bytes()

    def fail(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(*((os, "fsync") if failing == "fsync" else (Path, "replace")), fail)
    with pytest.raises(OSError, match="no space left"):
        save_model(some_model(n_rules=3), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_atomic_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / ("n" * 250)  # with a longer name than this there is no file at all
    files.write_atomically(path, "grün\n")
    assert path.read_bytes() == "grün\n".encode()
    files.write_atomically(path, b"\x00\r\n")
    assert path.read_bytes() == b"\x00\r\n"
    link = tmp_path / "link"
    link.symlink_to(path.name)
    files.write_atomically(link, "through")
    assert link.is_symlink()
    assert path.read_text() == "through"
    with pytest.raises(FileNotFoundError):
        files.write_atomically(tmp_path / "a" / "b", "")
    files.write_atomically(tmp_path / "a" / "b", "", parents=True)
    monkeypatch.chdir(tmp_path)
    former = os.umask(0o077)
    try:
        files.write_atomically(Path("private"), "")
    finally:
        os.umask(former)
    assert Path("private").stat().st_mode & 0o777 == 0o600
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "link", path.name, "private"]


class Constant(BaseEstimator):  # type: ignore[misc]
    """Another estimator."""

    def __init__(self, shift: float = 0.0) -> None:
        self.shift = shift

    def fit(self, values: list[float]) -> Constant:
        self.value_ = sum(values) / len(values)
        return self


def test_another_estimator_is_stored_once_it_is_registered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def decode(model: Any, node: Node, _: Budget) -> None:
        (value,) = node.fields("value")
        model.value_ = value.number()

    codec = Codec(Constant, lambda model: {"value": model.value_}, decode)
    monkeypatch.setitem(CODECS, "Constant", codec)
    loaded = reloaded(Constant(shift=0.5).fit([0.1]), tmp_path)
    assert (loaded.shift, loaded.value_) == (0.5, 0.1)
    monkeypatch.delitem(CODECS, "Constant")
    with pytest.raises(ValueError, match="estimator is 'Constant', not one of 'RuleBoosting"):
        load_model(tmp_path / "model.json.gz")


# Loading what is no model


def content_of(payload: bytes, **header: Any) -> bytes:
    """Make a file of any payload, with a checksum that is right unless the header says others."""
    values = {
        "format": "labelboost-model",
        "version": VERSION,
        "library_version": "0.1.0",
        "payload_size": len(payload),
        "payload_sha256": hashlib.sha256(payload).hexdigest(),
    }
    line = json.dumps(values | header)[:-1].encode() + BEFORE_PAYLOAD
    return gzip.compress(line + payload + AFTER_PAYLOAD, 1)


def signed(document: Any, **header: Any) -> bytes:
    return content_of(json.dumps(document).encode(), **header)


def load(content: bytes, folder: Path, **options: Any) -> Any:
    path = folder / "tried"
    path.write_bytes(content)
    return load_model(path, **options)


def fault_of(content: bytes, folder: Path, **options: Any) -> str:
    """Load what is no model; returns what is said about it, in one line that names the file."""
    with pytest.raises(ValueError, match="is not a Labelboost model") as caught:
        load(content, folder, **options)
    text = str(caught.value)
    start = f"{folder / 'tried'} is not a Labelboost model: "
    assert text.startswith(start)
    assert "\n" not in text
    assert len(text) < len(start) + 400
    return text.removeprefix(start)


def _small_model() -> RuleBoostingClassifier:
    X, Y = some_data(n_labels=3)
    model = RuleBoostingClassifier(
        n_rules=8, label_bins=None, random_state=0, n_jobs=1, profile=True, max_conditions=3
    )
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abcdef")).astype({"f": "category"})
    return model.fit(frame, pd.DataFrame(Y, columns=["one", "two", "three"]))


@pytest.fixture(scope="module")
def small_file(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("model") / "small"
    save_model(_small_model(), path)
    return path.read_bytes()


@pytest.fixture
def small(small_file: bytes) -> Any:
    """The payload of a small model, to be changed at will."""
    return json.loads(gzip.decompress(small_file))["payload"]


def test_errors_of_the_system_stay_as_they_are(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "absent")
    with pytest.raises(IsADirectoryError):
        load_model(tmp_path)
    with pytest.raises(ValueError, match="max_bytes must be at least 1"):
        load_model(tmp_path / "absent", max_bytes=0)
    forbidden = tmp_path / "forbidden"
    forbidden.touch(0o000)
    if os.geteuid() != 0:
        with pytest.raises(PermissionError):
            load_model(forbidden)


def test_other_files(small_file: bytes, tmp_path: Path) -> None:
    text = gzip.decompress(small_file)
    cases = {
        b"": "header",
        b"\x80\x04K\x01.": "not compressed with gzip",
        text: "not compressed with gzip",
        gzip.compress(b""): "header",
        gzip.compress(b"\x00" * 10_000): "header",
        gzip.compress(b'{"format": "else", "payload":\n{}\n}\n'): "format",
        gzip.compress(b'{"format": "else", "version": 1, "payload":\n{}\n}\n'): "format",
        gzip.compress(b'["format", "payload":\n{}\n}\n'): "not JSON",
        gzip.compress(text[:-3]): "does not end after",
        gzip.compress(text + b" "): "does not end after",
        gzip.compress(text[:-500]): "shorter",
        small_file + b"more": "not compressed with gzip",
        gzip.compress(text.replace(b'"coverage":', b'"coverage": ', 1)): "does not end after",
        gzip.compress(text.replace(b'"<="', b'"> "', 1)): "checksum",
    }
    for content, fault in cases.items():
        assert fault in fault_of(content, tmp_path), content[:60]


def test_version_1_knows_no_gains(small: Any, tmp_path: Path) -> None:
    del small["fitted"]["training"]  # the other thing that is new
    assert "fitted.rules[0] has an unknown 'gain'" in fault_of(signed(small, version=1), tmp_path)
    for rule in small["fitted"]["rules"]:
        del rule["gain"]
    with_training = small | {"fitted": small["fitted"] | {"training": None}}
    assert "fitted.rules[0] has no 'gain'" in fault_of(signed(with_training), tmp_path)
    loaded = load(signed(small, version=1), tmp_path)
    assert all(np.isnan(rule.gain) for rule in loaded.rules_)
    # Whatever else stands there is left to the checks of the present version.
    for rules in (None, 3, [], [3], {"a": 1}):
        small["fitted"]["rules"] = rules
        assert "fitted.rules" in fault_of(signed(small, version=1), tmp_path)
    for payload in (None, 3, [], {}, {"fitted": 3}):
        fault_of(signed(payload, version=1), tmp_path)


@pytest.mark.parametrize("wrong", ["0.5", True, [], 10**300])
def test_gain_must_be_a_number_or_null(wrong: Any, small: Any, tmp_path: Path) -> None:
    small["fitted"]["rules"][1]["gain"] = wrong
    assert "fitted.rules[1].gain is" in fault_of(signed(small), tmp_path)
    small["fitted"]["rules"][1]["gain"] = None
    assert np.isnan(load(signed(small), tmp_path).rules_[1].gain)


def test_versions(small: Any, tmp_path: Path) -> None:
    fault = fault_of(signed(small, version=7, library_version="9.1"), tmp_path)
    assert "version 7" in fault
    assert "'9.1'" in fault
    assert f"{labelboost.__version__} reads versions up to {VERSION}" in fault
    # Of a later version nothing else is expected to look familiar.
    later = b'{"format": "labelboost-model", "version": 99, "anything": {}, "payload":\n\xff'
    assert "version 99" in fault_of(gzip.compress(later), tmp_path)
    for version in (0, -1, "1", 1.0, True, None):
        assert "version is" in fault_of(signed(small, version=version), tmp_path)
    assert "unknown 'more'" in fault_of(signed(small, more=1), tmp_path)
    assert "payload_size is -1" in fault_of(signed(small, payload_size=-1), tmp_path)


def test_bombs_are_not_decompressed(small: Any, tmp_path: Path) -> None:
    size = 2**28
    bomb = gzip.compress(b" " * size, 1)
    honest = content_of(b'{"a": "' + b"b" * (2**26) + b'"}')
    files = {
        bomb: "header",
        content_of(b" " * size, payload_size=1000): "does not end after",
        content_of(b"{}", payload_size=2**61): "max_bytes",
        content_of(b"{}", payload_size=2**24): "shorter",
        honest: "max_bytes",
    }
    for content, fault in files.items():
        tracemalloc.start()
        assert fault in fault_of(content, tmp_path, max_bytes=2**27)
        assert tracemalloc.get_traced_memory()[1] < 2**23
        tracemalloc.stop()
    small["fitted"]["features"] |= {"count": 2**31 - 1, "names": None}
    assert "2147483647 features would take" in fault_of(signed(small), tmp_path)


@pytest.mark.parametrize(
    "item", ["[]", "{}", "[0]", '{"a":0}', "1.5", "1000", '"ab"', "[[[1.5]]]", '{"a":{"b":[7.5]}}']
)
def test_parsing_stays_within_the_limit(item: str, tmp_path: Path) -> None:
    limit = 2**24
    # As many as are let through, nearly, and then too many.
    low, high = 1, 2**20
    while high - low > low // 8 + 1:
        count = (low + high) // 2
        content = content_of(f"[{','.join([item] * count)}]".encode())
        refused = "max_bytes" in fault_of(content, tmp_path, max_bytes=limit)
        low, high = (low, count) if refused else (count, high)
    content = content_of(f"[{','.join([item] * low)}]".encode())
    tracemalloc.start()
    assert "is a list" in fault_of(content, tmp_path, max_bytes=limit)
    assert tracemalloc.get_traced_memory()[1] < limit
    tracemalloc.stop()


def test_many_rules_with_many_labels_are_charged_for(small: Any, tmp_path: Path) -> None:
    fitted = small["fitted"]
    fitted["classes"] = {"type": "int64", "values": list(range(20_000))}
    rule = {"conditions": [], "head": [], "coverage": 0}
    fitted["rules"], fitted["training_times"] = [rule] * 5000, [0.0] * 5000
    assert "5000 rules x 20000 labels would" in fault_of(signed(small), tmp_path)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (b"[" * 100_000 + b"]" * 100_000, "nested too deeply"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "nested too deeply"),
        (b'{"estimator": ' + b"9" * 5000 + b"}", "integer of 5000 digits"),
        (b'{"estimator": NaN}', "NaN is no number"),
        (b'{"estimator": [-Infinity]}', "-Infinity is no number"),
        (b'{"estimator": 1, "estimator": 2}', "two members 'estimator'"),
        (b'{"estimator": "\xc3\xa4"}', "not ASCII"),
        (b'{"estimator": "a', "not JSON"),
        (b"", "not JSON"),
        (b"{} {}", "not JSON"),
        (b"null", "None, not an object"),
    ],
)
def test_hostile_texts(text: bytes, fault: str, tmp_path: Path) -> None:
    assert fault in fault_of(content_of(text), tmp_path)


Change = Callable[[Any], object]
FITTED: dict[str, tuple[Change, str]] = {
    "unknown field": (lambda f: f.update(more=1), "fitted has an unknown 'more'"),
    "field absent": (lambda f: f.pop("loss"), "fitted has no 'loss'"),
    "loss": (lambda f: f.update(loss="hinge"), "fitted.loss is 'hinge', not one of"),
    "dimension": (lambda f: f.update(one_dimensional=True), "3 labels, but its predictions"),
    "flag": (lambda f: f.update(one_dimensional=0), "fitted.one_dimensional is 0, not true"),
    "not exclusive": (lambda f: f["classes"].update(exclusive=True), "an unknown 'exclusive'"),
    "exclusive": (
        lambda f: f.update(one_dimensional=True, classes=f["classes"] | {"exclusive": False}),
        "exclusive is False, not true",
    ),
    "class": (
        lambda f: f.update(one_dimensional=True, classes=f["classes"] | {"exclusive": True}),
        "a label set of its training data is not a single class",
    ),
    "class type": (
        lambda f: f.update(
            one_dimensional=True,
            classes={"type": "float64", "values": ["a", "b", "c"], "exclusive": True},
        ),
        "classes.values[0] is 'a', not a finite number",
    ),
    "no rules": (lambda f: f.update(rules=[]), "fitted.rules is a list of 0"),
    "no labels": (lambda f: f["classes"].update(values=[]), "values is a list of 0"),
    "label twice": (lambda f: f["classes"].update(values=["a", "b", "a"]), "a name twice"),
    "equal labels": (lambda f: f["classes"].update(values=[1, True, "a"]), "a name twice"),
    "tag": (lambda f: f["classes"].update(values=["a", "b", {"set": []}]), "not a name"),
    "more labels": (lambda f: f["classes"].update(values=list("abcd")), "not a list of 4"),
    "fewer labels": (lambda f: f["classes"].update(values=list("ab")), "from 0 to 1"),
    "no features": (lambda f: f["features"].update(count=0), "features.count is 0"),
    "names": (lambda f: f["features"].update(count=7), "names is a list of 6, not a list of 7"),
    "nominal": (lambda f: f["features"].update(nominal=[5, 5]), "nominal[1] is 5, not larger"),
    "not nominal": (lambda f: f["features"].update(nominal=[]), "is 5, a numeric feature"),
    "category": (lambda f: f["features"]["categories"][0]["values"].append(0.0), "a name twice"),
    "times": (lambda f: f["training_times"].pop(), "fitted.training_times is a list of 7"),
    "infinite": (lambda f: f["training_times"].__setitem__(0, 10**20), "not a finite number"),
    "profile": (lambda f: f["training_profile"].update(a="b"), "training_profile.a is 'b'"),
    "set order": (lambda f: f["label_sets"].reverse(), "at most"),
    "set weight": (lambda f: f["label_sets"][-1].update(weight=0.0), "not positive"),
    "set twice": (lambda f: f["label_sets"].insert(0, f["label_sets"][0]), "listed before"),
    "set label": (lambda f: f["label_sets"][0].update(labels=[3]), "labels[0] is 3, not an"),
    "set weights": (lambda f: [s.update(weight=1e308) for s in f["label_sets"]], "infinity"),
    "head": (lambda f: f["rules"][2].update(head=[0.5]), "fitted.rules[2].head is a list of 1"),
    "head label": (lambda f: f["rules"][2].update(head=[[0.5, 3]]), "head[0][1] is 3, not an"),
    "head twice": (lambda f: f["rules"][2].update(head=[[0.5, 1], [1, 1]]), "without a score"),
    "head type": (lambda f: f["rules"][2].update(head=[0.5, 1, True]), "head[2] is True, not a"),
    "head size": (lambda f: f["rules"][2].update(head=[1e308] * 3), "add up to more than"),
    "coverage": (lambda f: f["rules"][0].update(coverage=-1), "coverage is -1, not an integer"),
    "condition": (lambda f: f["rules"][1]["conditions"].append([0, "<="]), "not a list of 3"),
    "feature": (lambda f: f["rules"][1]["conditions"].append([6, ">", 0]), "[0] is 6, not an"),
    "operator": (lambda f: f["rules"][1]["conditions"].append([0, "=", 0]), "not one of '<=', '>'"),
    "nominal op": (lambda f: f["rules"][1]["conditions"].append([5, ">", 0]), "one of '=', '!='"),
    "value": (lambda f: f["rules"][1]["conditions"].append([0, ">", None]), "[2] is None, not a"),
}


@pytest.mark.parametrize("case", FITTED)
def test_every_field_is_checked(case: str, small: Any, tmp_path: Path) -> None:
    change, fault = FITTED[case]
    change(small["fitted"])
    assert fault in fault_of(signed(small), tmp_path)


def test_numbers_too_large_for_a_double(small: Any, tmp_path: Path) -> None:
    fitted, parameters = small["fitted"], small["parameters"]
    places: list[tuple[Any, Any]] = [(fitted["training_times"], 0), (parameters, "l2")]
    places += [(fitted["rules"][0]["head"], 0), (fitted["label_sets"][0], "weight")]
    places += [(fitted["classes"]["values"], 1)]
    fitted["rules"][1]["conditions"].append([0, ">", 0.0])
    places += [(fitted["rules"][1]["conditions"][-1], 2)]
    for container, key in places:
        former, container[key] = container[key], "here"
        text = json.dumps(small).replace('"here"', "-1e999")
        assert "is -inf, not a finite number" in fault_of(content_of(text.encode()), tmp_path)
        container[key] = former


@pytest.mark.parametrize(
    ("name", "value"),
    [("n_jobs", "many"), ("n_jobs", 0), ("n_jobs", 1.5), ("decoding", "guess"), ("loss", None),
     ("l2", -1), ("n_rules", 0), ("max_features", 0), ("feature_bins", 1), ("profile", 1),
     ("random_state", -1), ("random_state", 2**32), ("verbose", -1), ("label_bins", [1]),
     ("categorical_features", "colour"), ("categorical_features", {}), ("other", 1)],
)  # fmt: skip
def test_every_parameter_is_checked(name: str, value: Any, small: Any, tmp_path: Path) -> None:
    small["parameters"][name] = value
    assert name in fault_of(signed(small), tmp_path)


def test_other_estimators(small: Any, tmp_path: Path) -> None:
    small["estimator"] = "os.system"
    fault = fault_of(signed(small), tmp_path)
    known = "'RuleBoostingClassifier', 'TreeBoostingClassifier'"
    assert fault == f"estimator is 'os.system', not one of {known}"


# Random changes


def try_to_use(content: bytes, folder: Path) -> bool:
    """Load whatever it is; if that works, predicting must work, too."""
    path = folder / "tried"
    path.touch()
    with path.open("r+b") as stream:  # some file systems take milliseconds to empty a file
        stream.write(content)
        stream.truncate()
    try:
        model = load_model(path, max_bytes=2**23)
    except ValueError as error:
        text = str(error)
        assert text.startswith(f"{path} is not a Labelboost model: ")
        assert "\n" not in text
        return False
    X = np.linspace(-2, 3, 3 * model.n_features_in_).reshape(3, -1)
    with warnings.catch_warnings():
        # About arrays instead of data frames.
        warnings.simplefilter("ignore", UserWarning)
        assert np.isfinite(model.decision_function(X)).all()
        assert set(model.predict(X).ravel().tolist()) <= {0, 1}
        assert ((model.predict_proba(X) >= 0) & (model.predict_proba(X) <= 1)).all()
        if model._fitted_loss != "label_logistic":
            model.predict_label_sets(X, top=2)
        assert len(list(model.staged_predict(X))) == model._n_stages
    describe_rule(model.rules_[-1], None, model.classes_, model._schema.categories)
    return True


ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 5, 2**31, 2**53 + 1, -(2**63), 2**64, 10**399, 0.0, -0.0, 0.5,
    1e308, -1e308, 5e-324, "", "<=", "=", "from_dtype", "label_logistic", "labelset_softmax",
    "\x00", "x" * 300, [], {}, [[]], [0], [1.5], ["a"], [[1.5, 0]], {"tuple": [1]},
    {"date": "2026-01-01"}, {"interval": [0, 1, "left"]}, {"integer": "0x10"},
    {"labels": [], "weight": 1.0},
)  # fmt: skip


def slots_of(value: Any) -> list[tuple[Any, Any]]:
    """All places in a document: container and key or index."""
    keys = value if isinstance(value, dict) else range(len(value))
    found: list[tuple[Any, Any]] = []
    for key in keys:
        found.append((value, key))
        if isinstance(value[key], dict | list):
            found += slots_of(value[key])
    return found


def change_structure(document: Any, rng: random.Random) -> None:
    container, key = rng.choice(slots_of(document))
    value = container[key]
    kind = rng.randrange(6)
    if kind == 0:
        del container[key]
    elif kind == 1 and isinstance(container, list):
        container.insert(key, copy.deepcopy(value))
    elif kind == 1:
        container[rng.choice(["more", "weight", "values", key.upper()])] = value
    elif kind == 2:
        other, place = rng.choice(slots_of(document))
        container[key] = copy.deepcopy(other[place])
    elif kind == 3 and isinstance(value, int | float):
        factor = rng.choice([-1, 2, 0.5, 1e300, 1e-300])
        container[key] = rng.choice([value * factor, value + 1, value - 1, str(value), [value]])
    elif kind == 4 and isinstance(value, list):
        rng.shuffle(value)
    else:
        container[key] = copy.deepcopy(rng.choice(ODD_VALUES))


@pytest.mark.parametrize("seed", range(4))
def test_changed_structures_with_a_valid_checksum(
    seed: int, small_file: bytes, tmp_path: Path
) -> None:
    rng = random.Random(seed)
    text = gzip.decompress(small_file)
    original = json.dumps(json.loads(text)["payload"])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    usable = 0
    for _ in range(1500):
        document = json.loads(original)
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            change_structure(document, rng)
            if not document:
                break
        usable += try_to_use(signed(document), tmp_path)
    # Neither is everything refused, which would test little, nor accepted.
    assert 150 < usable < 1350
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2**18  # KiB


TOKENS = [b"NaN", b"Infinity", b"1e999", b"-0", b"null", b"[", b"]", b"{", b"}", b",", b'"', b"\\",
          b"[" * 3000, b"9" * 500, b"\\ud800", b'"a":1,', b"\xff", b"0.5", b"true"]  # fmt: skip


def change_text(text: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(text))
    end = min(len(text), at + rng.choice([1, 1, 2, 10, 200]))
    kind = rng.randrange(5)
    if kind == 0:
        text[at] = rng.randrange(256)
    elif kind == 1:
        del text[at:end]
    elif kind == 2:
        text[at:at] = text[at:end]
    elif kind == 3:
        text[at:end] = rng.choice(TOKENS)
    else:
        digits = [match.start() for match in re.finditer(rb"\d", text)]
        text[rng.choice(digits)] = rng.choice(b"0123456789e.-")


@pytest.mark.parametrize("seed", range(2))
def test_changed_texts_with_a_valid_checksum(seed: int, small_file: bytes, tmp_path: Path) -> None:
    rng = random.Random(seed)
    text = gzip.decompress(small_file)
    payload = text[text.index(BEFORE_PAYLOAD) + len(BEFORE_PAYLOAD) : -len(AFTER_PAYLOAD)]
    usable = 0
    for _ in range(1500):
        changed = bytearray(payload)
        change_text(changed, rng)
        usable += try_to_use(content_of(bytes(changed)), tmp_path)
    assert usable > 50


def test_damaged_files(small_file: bytes, tmp_path: Path) -> None:
    """What is still loaded is the same text: other bits of gzip can stand for it."""
    rng = random.Random(0)
    text = gzip.decompress(small_file)
    for length in range(len(small_file)):
        assert not try_to_use(small_file[:length], tmp_path)
    for at in range(len(small_file)):
        changed = bytearray(small_file)
        changed[at] ^= 1 << rng.randrange(8)
        if try_to_use(bytes(changed), tmp_path):
            assert gzip.decompress(changed) == text
