"""Callbacks, time limits, and going on from a model."""

from __future__ import annotations

import pickle
import re
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from control_cases import KINDS, SETTINGS, Kind, assert_same_bits, some_data
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from test_model_files import FIXTURES

from labelboost import (
    RuleBoostingClassifier,
    TrainingState,
    TreeBoostingClassifier,
    load_model,
    save_model,
)
from labelboost.training.coverage import FeatureColumns

kinds = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


# Callbacks


@kinds
def test_callbacks_follow_training(kind: Kind) -> None:
    X, Y = some_data(150)
    states: list[TrainingState] = []
    losses: list[float] = []
    model = kind(12, evaluate_every=4)
    model.fit(
        X,
        Y,
        eval_set=(X, Y),
        callbacks=[states.append, lambda state: losses.append(state.training_loss)],
    )
    first = 0 if kind.unit == "trees" else 1
    assert [state.size for state in states] == list(range(first, 13))
    learned = [model.rules_[0], *(model.rules_[1:] if first else model.trees_)]
    assert all(a.learned is b for a, b in zip(states, learned, strict=True))
    seconds = [state.seconds for state in states]
    assert seconds == sorted(seconds) == model.training_times_.tolist()
    evaluated = [state.size for state in states if state.validation is not None]
    assert evaluated == sorted({first, 4, 8, 12})
    assert states[-1].validation is not None
    assert list(states[-1].validation) == ["loss"]
    assert losses[0] > losses[-1] > 0
    assert states[3].training_loss == losses[3]  # it was asked for at the time
    assert "size=12" in repr(states[-1])
    assert model.stop_reason_ == "size"
    plain = kind(12).fit(X, Y)
    assert_same_bits(model, plain, X)


def test_the_loss_of_the_past_cannot_be_asked_for_later() -> None:
    X, Y = some_data(60)
    states: list[TrainingState] = []
    RuleBoostingClassifier(n_rules=3).fit(X, Y, callbacks=[states.append])
    with pytest.raises(RuntimeError, match="within the callback"):
        _ = states[0].training_loss


@kinds
def test_callbacks_may_end_training(kind: Kind) -> None:
    X, Y = some_data(100)
    model = kind(30).fit(X, Y, callbacks=[lambda s: s.size == 5, lambda s: np.False_])
    assert model._n_stages == 5
    assert model.stop_reason_ == "callback"
    (scores,) = kind(30).fit(X, Y).staged_decision_function(X, [5])
    assert model.decision_function(X).tobytes() == scores.tobytes()
    at_once = kind(30).fit(X, Y, callbacks=[lambda _: True])
    assert len(at_once.rules_) == 1
    assert at_once.predict(X).shape == Y.shape


@kinds
def test_callbacks_that_raise_change_nothing(kind: Kind) -> None:
    X, Y = some_data(100)
    model = kind(6).fit(X, Y)
    before = dict(vars(model))

    def fail(state: TrainingState) -> None:
        if state.size == 4:
            raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        model.fit(X, 1 - Y, callbacks=[fail])
    assert vars(model) == before


@pytest.mark.parametrize(
    ("callbacks", "message"),
    [
        (print, "callbacks must be a list of functions"),
        ("print", "callbacks must be a list of functions"),
        ([print, 3], r"callbacks\[1\] is 3, no function"),
        ([lambda _: None, lambda _: "stop"], r"callbacks\[1\] returned 'stop' of type str"),
    ],
)
def test_callbacks_are_checked(callbacks: Any, message: str) -> None:
    X, Y = some_data(40)
    with pytest.raises(TypeError, match=message):
        RuleBoostingClassifier(n_rules=3).fit(X, Y, callbacks=callbacks)


# Time


@kinds
def test_time_limit(kind: Kind) -> None:
    X, Y = some_data(100)
    model = kind(10**6, time_limit=0.5)
    start = time.perf_counter()
    model.fit(X, Y)
    assert time.perf_counter() - start < 60
    assert model.stop_reason_ == "time_limit"
    assert 0 < model._n_stages < 10**6
    # The last one may be finished just before the limit: the clock is looked at again after that.
    assert model.training_times_[-1] >= 0.49
    assert (model.training_times_[:-1] < 0.5).all()
    tiny = kind(50, time_limit=1e-9).fit(X, Y)
    assert len(tiny.rules_) == 1
    generous = kind(8, time_limit=1e6).fit(X, Y)
    assert generous.stop_reason_ == "size"
    assert_same_bits(generous, kind(8).fit(X, Y), X)


# Going on


@pytest.mark.parametrize("case", SETTINGS)
@pytest.mark.parametrize("form", ["dense", "sparse", "float32"])
def test_growing_in_steps_is_the_same_as_at_once(case: str, form: str) -> None:
    kind, parameters = SETTINGS[case]
    X, Y = some_data()
    nominal = {"categorical_features": [7]} if form == "dense" else {}
    X = {"dense": X, "sparse": sp.csr_array(np.nan_to_num(X)), "float32": X.astype(np.float32)}[
        form
    ]
    weights = np.random.default_rng(1).random(len(Y)) * 3
    weights[::9] = 0.0
    whole = kind(100, **parameters, **nominal).fit(X, Y, weights)
    model = kind(50, warm_start=True, n_jobs=2, **parameters, **nominal).fit(X, Y, weights)
    rules = model.rules_[:3]
    for size in (51, 100):
        kind.set_size(model, size).fit(X, Y, weights)
    assert_same_bits(model, whole, X)
    assert all(a is b for a, b in zip(model.rules_, rules, strict=False)) or kind.unit == "trees"
    assert len(model.training_times_) == len(whole.training_times_)
    assert all(a <= b for a, b in pairwise(model.training_times_))
    # From another model, which stays as it is.
    first = kind(37, **parameters, **nominal).fit(X, Y, weights)
    before = dict(vars(first))
    other = kind(100, **parameters, **nominal).fit(X, Y, weights, init_model=first)
    assert_same_bits(other, whole, X)
    assert vars(first).keys() - {"rules_"} == before.keys() - {"rules_"}
    assert first._n_stages == 37


def test_growing_on_after_failures() -> None:
    """Attempts that failed count: otherwise later ones would draw what has been drawn before."""
    X, Y = some_data(60)
    X[:, 3:] = 0.0
    parameters = {"max_features": 1}
    whole = RuleBoostingClassifier(n_rules=60, random_state=0, **parameters).fit(X, Y)
    assert whole._attempts[-1] > len(whole._attempts)
    model = RuleBoostingClassifier(n_rules=20, random_state=0, warm_start=True, **parameters)
    for size in (20, 33, 60):
        model.set_params(n_rules=size).fit(X, Y)
    assert_same_bits(model, whole, X)


@kinds
def test_a_random_seed_is_kept_when_going_on(kind: Kind) -> None:
    X, Y = some_data(80)
    for random_state in (None, np.random.RandomState(3)):
        model = kind(5, warm_start=True, random_state=random_state, validation_fraction=0.3)
        seed = model.fit(X, Y)._seed
        loss = model.validation_history_["loss"][-1]
        kind.set_size(model, 9).fit(X, Y)
        assert model._seed == seed
        assert model.validation_history_[f"n_{kind.unit}"].tolist() == [5, 6, 7, 8, 9]
        assert model.validation_history_["loss"][0] == loss


@kinds
def test_early_stopping_goes_on_too(kind: Kind) -> None:
    X, Y = some_data()
    parameters = {"early_stopping": "hamming", "patience": 12, "validation_fraction": 0.3}
    whole = kind(60, **parameters).fit(X, Y)
    model = kind(4, warm_start=True, **parameters).fit(X, Y)
    kind.set_size(model, 60).fit(X, Y)
    assert_same_bits(model, whole, X)
    history = model.validation_history_["hamming"].tolist()
    assert history == whole.validation_history_["hamming"].tolist()[-len(history) :]


@kinds
def test_what_a_former_model_brings_is_kept(kind: Kind) -> None:
    """Even if its beginning would have been better, or patience had run out on the way."""
    X, Y = some_data()
    first = kind(30).fit(X, np.roll(Y, 1, axis=0))
    parameters = {"early_stopping": "loss", "patience": 3}
    model = kind(60, **parameters).fit(X, Y, init_model=first, eval_set=(X, Y))
    assert model.validation_history_[f"n_{kind.unit}"][0] == 30
    assert model._n_stages > 30


def test_going_on_from_a_file(tmp_path: Path) -> None:
    X, Y = some_data()
    whole = RuleBoostingClassifier(n_rules=40, random_state=5).fit(X, Y)
    half = RuleBoostingClassifier(n_rules=20, random_state=5).fit(X, Y)
    save_model(half, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    model = RuleBoostingClassifier(n_rules=40, random_state=5).fit(X, Y, init_model=loaded)
    assert_same_bits(model, whole, X)
    loaded.set_params(n_rules=40, warm_start=True).fit(X, Y)
    assert_same_bits(loaded, whole, X)
    copied = pickle.loads(pickle.dumps(half)).set_params(n_rules=40, warm_start=True)
    assert_same_bits(copied.fit(X, Y), whole, X)
    assert not hasattr(clone(copied), "rules_")


@pytest.mark.parametrize("version", [1, 2])
def test_going_on_from_a_file_of_a_former_version(version: int) -> None:
    pytest.importorskip("pandas")
    from fixtures.make_model_fixture import COLOURS, as_frame, columns, label_sets  # noqa: PLC0415

    model = load_model(FIXTURES / f"model-format-{version}.json.gz")
    assert hasattr(model, "_attempts") == (version > 1)
    table = columns(150, 1, COLOURS)
    before = model.rules_
    model.set_params(n_rules=60, warm_start=True).fit(as_frame(table), label_sets(table))
    assert model.n_rules_ == 60
    assert all(a is b for a, b in zip(before, model.rules_, strict=False))
    whole = clone(model).set_params(n_rules=60).fit(as_frame(table), label_sets(table))
    if version > 1:  # before that, samples of repeated examples were drawn otherwise
        assert_same_bits(model, whole, as_frame(table))


@kinds
def test_training_scores_are_those_of_the_model(kind: Kind) -> None:
    """On other data as well, where thresholds lie anywhere: the next rule corrects these scores."""
    X, Y = some_data(seed=0)
    other_X, other_Y = some_data(seed=1)
    first = kind(10, feature_bins=3).fit(X, Y)
    losses: list[float] = []
    model = kind(11, feature_bins=3, learning_rate=1e-12)
    model.fit(
        other_X,
        other_Y,
        init_model=first,
        eval_set=(other_X, other_Y),
        callbacks=[lambda s: losses.append(s.training_loss)],
    )
    assert losses == pytest.approx([model.validation_history_["loss"][-1]], rel=1e-9)


def test_labels_and_categories_keep_their_places(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    letters = np.array(list("abc"))[rng.integers(0, 3, 120)]
    numbers = rng.random(120).round(2)

    def frame(letters: Any) -> Any:
        return pd.DataFrame({"n": numbers, "letter": pd.Categorical(letters)})

    sets = [
        {"A"} if a == "a" else {"B", "C"} if n > 0.5 else {"C"}
        for a, n in zip(letters, numbers, strict=True)
    ]
    parameters = {"max_features": None, "random_state": 0, "label_bins": None}
    first = RuleBoostingClassifier(n_rules=10, **parameters).fit(frame(letters), sets)
    # Another order of the categories, a new one, and none of the label A any more.
    later = np.where(letters == "a", "Z", letters)
    later_sets = [labels - {"A"} for labels in sets]
    model = RuleBoostingClassifier(n_rules=25, **parameters)
    model.fit(frame(later), later_sets, init_model=first)
    assert model.classes_.tolist() == ["A", "B", "C"]
    assert model._schema.categories[1] == ("a", "b", "c", "Z")
    for X in (frame(letters), frame(later), frame(letters[::-1])):
        (scores,) = model.staged_decision_function(X, [10])
        assert scores.tobytes() == first.decision_function(X).tobytes()
    save_model(model, tmp_path / "model")
    assert_same_bits(load_model(tmp_path / "model"), model, frame(later))


def test_data_that_do_not_suit_the_former_model() -> None:
    pd = pytest.importorskip("pandas")
    X, Y = some_data(60)
    X = np.nan_to_num(X)
    first = RuleBoostingClassifier(n_rules=4, random_state=0).fit(X, Y)

    def go_on(X: Any, Y: Any, first: Any = first, **parameters: Any) -> Any:
        model = RuleBoostingClassifier(**{"n_rules": 6} | parameters)
        return model.fit(X, Y, init_model=first)

    with pytest.raises(ValueError, match="X has 7 features, but the model to go on from has 8"):
        go_on(X[:, 1:], Y)
    with pytest.raises(ValueError, match=r"Column 2 \(feature 2\) of X is nominal, but numeric"):
        go_on(X, Y, categorical_features=[2])
    with pytest.raises(ValueError, match="Y has 5 labels, but the former model has 6"):
        go_on(X, Y[:, 1:])
    with pytest.raises(ValueError, match="Y is a vector, but that of the former model is no"):
        go_on(X, Y[:, 0])
    with pytest.raises(ValueError, match="fitted with loss='example_logistic'"):
        go_on(X, Y, loss="label_logistic")
    with pytest.raises(ValueError, match=r"n_rules=3, but the model to go on from has 4 rules"):
        go_on(X, Y, n_rules=3)
    with pytest.raises(TypeError, match="init_model must be a RuleBoostingClassifier, got Tree"):
        go_on(X, Y, TreeBoostingClassifier())
    with pytest.raises(NotFittedError):
        go_on(X, Y, RuleBoostingClassifier())
    with pytest.warns(UserWarning, match="has n_rules=4 rules already"):
        assert_same_bits(go_on(X, Y, n_rules=4), first, X)
    first.set_params(warm_start=True)
    with pytest.raises(ValueError, match="warm_start=True this model goes on from itself"):
        first.fit(X, Y, init_model=go_on(X, Y))
    named = pd.DataFrame(X).rename(columns=str)
    by_name = RuleBoostingClassifier(n_rules=4).fit(named, Y)
    with pytest.raises(ValueError, match="feature names should match"):
        go_on(named.rename(columns={"0": "zero"}), Y, by_name)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        go_on(X, Y, by_name)
    categorical = named.astype({"7": "category"})
    with (
        pytest.raises(ValueError, match=r"Column 7 .* holds codes, but it held categories"),
        pytest.warns(UserWarning, match="does not have valid feature names"),
    ):
        go_on(X, Y, go_on(categorical, Y, None, n_rules=4), categorical_features=[7])


def test_warm_start_of_an_unfitted_model_is_a_plain_one() -> None:
    X, Y = some_data(60)
    for kind in KINDS.values():
        assert_same_bits(kind(5, warm_start=True).fit(X, Y), kind(5).fit(X, Y), X)


@pytest.mark.parametrize("sparse", [False, True])
def test_coverage(sparse: bool) -> None:
    X, Y = some_data()
    X = np.nan_to_num(X) if sparse else X
    matrix = sp.csr_array(X) if sparse else X
    for kind in KINDS.values():
        model = kind(10, categorical_features=[7]).fit(matrix, Y)
        covered = FeatureColumns(matrix).covered(model.rules_)
        assert [len(examples) for examples in covered] == [rule.coverage for rule in model.rules_]


def test_the_examples_of_the_documentation_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Path(__file__).parents[1] / "docs" / "training-control.md"
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 6
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in blocks:
        exec(block, names)
    assert list(tmp_path.iterdir()) == []
