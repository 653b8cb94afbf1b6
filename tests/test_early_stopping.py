"""Validation data and early stopping: the measures are right, and the best size is kept."""

from __future__ import annotations

import gzip
import json
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from control_cases import KINDS, LOSSES, SETTINGS, Kind, some_data
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import real_data
from sklearn import metrics
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from labelboost import RuleBoostingClassifier, load_model, save_model
from labelboost.label_sets import LabelSets
from labelboost.persistence.container import pack
from labelboost.random_draws import draw, key
from labelboost.training.early_stopping import History
from labelboost.training.measures import LABEL_SET_MEASURES, MEASURES, LabelSetQuality
from labelboost.training.split import SPLIT_ATTEMPT, held_out_examples
from labelboost.training.validation_loss import validation_loss

BY_SKLEARN = {
    "subset_01": metrics.zero_one_loss,
    "hamming": metrics.hamming_loss,
    **{
        f"f1_{ours}": lambda t, p, sample_weight=None, theirs=theirs: metrics.f1_score(
            t, p, average=theirs, sample_weight=sample_weight, zero_division=1.0
        )
        for ours, theirs in (("micro", "micro"), ("macro", "macro"), ("example", "samples"))
    },
}
kinds = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def halves() -> tuple[Any, Any, Any, Any]:
    X, Y = some_data(300)
    return X[:180], Y[:180], X[180:], Y[180:]


# Measures


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(2, 5), st.booleans())
def test_measures_are_those_of_scikit_learn(seed: int, n: int, k: int, weighted: bool) -> None:
    rng = np.random.default_rng(seed)
    share = rng.random()
    truth = (rng.random((n, k)) < share).astype(np.uint8)
    weights = rng.random(n) + 0.1 if weighted else np.ones(n)
    quality = LabelSetQuality(truth, weights)
    predicted = np.zeros_like(truth)
    for _ in range(3):
        rows = np.flatnonzero(rng.random(n) < 0.5)
        predicted[rows] = rng.random((len(rows), k)) < share
        quality.update(rows, predicted[rows])
        labels = np.flatnonzero(rng.random(k) < 0.5)
        cells = np.ix_(rows, labels)
        predicted[cells] = 1 - predicted[cells]
        quality.update(rows, predicted[cells], labels)
        for name, compute in LABEL_SET_MEASURES.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected = BY_SKLEARN[name](truth, predicted, sample_weight=weights)
            assert compute(quality) == pytest.approx(expected, abs=1e-12), name


def test_equally_many_errors_are_a_tie_whoever_they_concern() -> None:
    truth = np.ones((997, 1), dtype=np.uint8)
    rng = np.random.default_rng(0)
    values = set()
    for _ in range(50):
        quality = LabelSetQuality(truth, np.ones(997))
        chosen = rng.choice(997, 331, replace=False)
        quality.update(chosen, truth[chosen])
        values.add((quality.subset_01(), quality.hamming(), quality.f1_micro()))
    assert len(values) == 1


@pytest.mark.parametrize("loss", LOSSES)
def test_the_loss_is_the_one_that_training_minimises(loss: str) -> None:
    X, Y = some_data(120)
    weights = np.random.default_rng(0).integers(1, 4, len(X)).astype(float)
    states: list[tuple[float, float]] = []
    for name, kind in KINDS.items():
        model = kind(12, loss=loss)
        model.fit(
            X,
            Y,
            weights,
            eval_set=(X, Y, weights),
            callbacks=[lambda s: states.append((s.training_loss, s.validation["loss"]))],
        )
        assert len(states) == 12 + (name == "trees")
        np.testing.assert_allclose(*zip(*states, strict=True), rtol=1e-9)
        assert model.validation_history_["loss"].tolist() == [v for _, v in states]
        states.clear()


@pytest.mark.parametrize("case", SETTINGS)
def test_the_history_is_what_staged_prediction_gives(case: str) -> None:
    kind, parameters = SETTINGS[case]
    X, Y, X_val, Y_val = halves()
    for name, measure in BY_SKLEARN.items():
        model = kind(25, early_stopping=name, patience=1000, evaluate_every=3, **parameters)
        model.fit(X, Y, eval_set=(sp.csr_array(np.nan_to_num(X_val)), Y_val))
        sizes = model.validation_history_[f"n_{kind.unit}"]
        first = 0 if kind.unit == "trees" else 1
        assert sizes.tolist() == sorted({first, *range(3, 25, 3), 25})
        whole = kind(25, **parameters).fit(X, Y)
        stages = sizes[sizes > 0]
        staged = whole.staged_predict(np.nan_to_num(X_val), stages.tolist())
        expected = [measure(Y_val, label_sets) for label_sets in staged]
        found = model.validation_history_[name][sizes > 0]
        np.testing.assert_allclose(found, expected, atol=1e-12)


# Early stopping


@kinds
@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("name", ["emotions", "flags"])
def test_real_data(kind: Kind, measure: str, name: str) -> None:
    data = real_data(name)
    X, Y = (part.toarray() if sp.issparse(part) else np.asarray(part) for part in (data.X, data.Y))
    size = 60 if kind.unit == "rules" else 25
    model = kind(size, early_stopping=measure, patience=8, validation_fraction=0.3).fit(X, Y)
    history = model.validation_history_[measure]
    sizes = model.validation_history_[f"n_{kind.unit}"]
    best = history.max() if measure.startswith("f1") else history.min()
    assert model.best_score_ == pytest.approx(best, abs=1e-12)
    # The first of the best ones, and all that was kept.
    first = sizes[np.flatnonzero(np.isclose(history, best, rtol=0, atol=1e-12))[0]]
    assert model._n_stages == kind.best(model) == first
    assert len(model.training_times_) == len(model._attempts) + 1
    if model.stop_reason_ == "early_stopping":
        assert sizes[-1] == kind.best(model) + 8
    else:
        assert model.stop_reason_ == "size"
        assert sizes[-1] == size
    # The same examples are held out if the model is made again.
    again = clone(model).fit(X, Y)
    assert again.validation_history_[measure].tolist() == history.tolist()


@kinds
def test_what_is_kept_is_the_beginning_of_the_whole(kind: Kind) -> None:
    X, Y, X_val, Y_val = halves()
    model = kind(80, early_stopping="f1_micro", patience=5).fit(X, Y, eval_set=(X_val, Y_val))
    assert model._n_stages < 80
    whole = kind(80).fit(X, Y)
    kept = max(1, model._n_stages)
    (scores,) = whole.staged_decision_function(X_val, [kept])
    if model._n_stages:
        assert model.decision_function(X_val).tobytes() == scores.tobytes()
    predicted = model.predict(X_val)
    assert BY_SKLEARN["f1_micro"](Y_val, predicted) == pytest.approx(model.best_score_, abs=1e-12)


def test_nothing_may_be_better_than_the_default_rule() -> None:
    X, Y, X_val, Y_val = halves()
    for kind in KINDS.values():
        model = kind(40, early_stopping="loss", patience=3, loss="label_logistic")
        model.fit(X, Y, eval_set=(X_val, np.zeros_like(Y_val) + (Y.mean(axis=0) > 0.5)))
        wrong = np.roll(Y_val, 7, axis=0)
        model.fit(X, Y, eval_set=(X_val, wrong))
        assert model.predict(X_val).shape == Y_val.shape
        assert len(model.rules_) >= 1


@given(st.lists(st.sampled_from([0.1, 0.2, 0.2 + 1e-15, 0.3, 0.5]), min_size=1, max_size=30),
       st.integers(1, 6), st.sampled_from(["hamming", "f1_macro"]))  # fmt: skip
def test_the_history_finds_the_first_best(values: list[float], patience: int, name: str) -> None:
    history = History(name, patience)
    seen: list[float] = []
    for size, value in enumerate(values, 1):
        history.note(size, {"loss": 1.0, name: value})
        seen.append(value if name == "hamming" else -value)
        best = next(i for i, v in enumerate(seen, 1) if v <= min(seen) + 1e-12)
        assert history.best_size == best
        assert history.is_exhausted() == (size - best >= patience)


def test_without_early_stopping_everything_is_kept() -> None:
    X, Y, X_val, Y_val = halves()
    model = RuleBoostingClassifier(n_rules=15, random_state=0)
    model.fit(X, Y, eval_set=(X_val, Y_val))
    assert model.n_rules_ == 15
    assert model.stop_reason_ == "size"
    assert set(model.validation_history_) == {"n_rules", "loss"}
    assert not hasattr(model, "best_n_rules_")
    model.fit(X, Y)  # and what is not true any more goes away
    assert not hasattr(model, "validation_history_")
    plain = RuleBoostingClassifier(n_rules=15, random_state=0).fit(X, Y)
    assert model.decision_function(X).tobytes() == plain.decision_function(X).tobytes()


def test_training_that_finds_nothing_more_keeps_the_best() -> None:
    X = np.repeat([[0.0], [1.0]], 10, axis=0)
    Y = np.column_stack([X[:, 0], 1 - X[:, 0]]).astype(int)
    model = RuleBoostingClassifier(
        n_rules=10**6, early_stopping="hamming", random_state=0, bootstrap=False, patience=10**6,
        loss="label_logistic", l2=0.0, learning_rate=1.0,
    )  # fmt: skip
    with pytest.warns(ConvergenceWarning):
        model.fit(X, Y, eval_set=(X, Y))
    assert model.stop_reason_ == "no_improvement"
    assert model.best_score_ == 0.0
    assert model.n_rules_ == model.best_n_rules_ <= model.validation_history_["n_rules"][-1]


# Label sets that training does not know


@pytest.mark.parametrize("loss", LOSSES)
def test_unseen_label_sets(loss: str) -> None:
    X, Y, X_val, Y_val = halves()
    known = {tuple(row) for row in Y.tolist()}
    unseen = next(
        vector
        for i in range(2 ** Y.shape[1])
        if tuple(vector := [i >> k & 1 for k in range(Y.shape[1])]) not in known
    )
    mixed = Y_val.copy()
    mixed[:30] = unseen
    for measure in MEASURES:
        model = RuleBoostingClassifier(
            n_rules=15, loss=loss, early_stopping=measure, decoding="known", random_state=0
        )
        model.fit(X, Y, eval_set=(X_val, mixed))
        assert np.isfinite(model.validation_history_["loss"]).all()
        assert np.isfinite(model.validation_history_[measure]).all()
        if measure == "subset_01":
            assert model.best_score_ >= 30 / len(mixed)
    only = np.tile(unseen, (5, 1))
    if loss == "labelset_softmax":
        with pytest.raises(ValueError, match="early_stopping='loss' cannot be evaluated"):
            model.set_params(early_stopping="loss").fit(X, Y, eval_set=(X_val[:5], only))
        model.set_params(early_stopping="hamming").fit(X, Y, eval_set=(X_val[:5], only))
        assert set(model.validation_history_) == {"n_rules", "hamming"}
    else:
        model.set_params(early_stopping="loss").fit(X, Y, eval_set=(X_val[:5], only))


def test_softmax_leaves_unknown_sets_out_of_the_loss() -> None:
    truth = np.array([[1, 0], [1, 1], [0, 1]], dtype=np.uint8)
    known = LabelSets.of(truth[:2], np.array([1.0, 3.0]))
    loss = validation_loss("labelset_softmax", truth, np.array([1.0, 2.0, 5.0]), known)
    assert loss.weights.tolist() == [1.0, 2.0, 0.0]
    loss.update(np.arange(3), np.arange(2), np.zeros((3, 2)))
    assert loss.mean() == pytest.approx((np.log(4) + 2 * np.log(4 / 3)) / 3)


@pytest.mark.parametrize("loss", LOSSES)
def test_losses_of_huge_scores(loss: str) -> None:
    truth = np.array([[1, 0], [0, 1]], dtype=np.uint8)
    computed = validation_loss(loss, truth, np.ones(2), LabelSets.of(truth, np.ones(2)))
    computed.update(np.arange(2), np.arange(2), np.array([[1e4, -1e4], [1e4, -1e4]]))
    expected = {"example_logistic": 1e4 + np.log(2), "label_logistic": 2e4, "labelset_softmax": 2e4}
    assert computed.mean() == pytest.approx(expected[loss] / 2)


# Where validation data come from


@pytest.mark.parametrize("sparse", [False, True])
def test_a_fraction_is_the_same_as_an_eval_set_of_the_same_examples(sparse: bool) -> None:
    X, Y = some_data(200)
    X = sp.csr_array(np.nan_to_num(X)) if sparse else X
    weights = np.ones(200)
    weights[::7] = 0.0  # which count as little as absent ones
    model = RuleBoostingClassifier(n_rules=20, random_state=3, validation_fraction=0.25)
    model.set_params(early_stopping="hamming", patience=4).fit(X, Y, weights)
    present = np.flatnonzero(weights)
    chosen = held_out_examples(len(present), 0.25, model._seed)
    assert chosen.sum() == round(0.25 * len(present))
    train, held_out = present[~chosen], present[chosen]
    other = clone(model).set_params(validation_fraction=None)
    other.fit(X[train], Y[train], eval_set=(X[held_out], Y[held_out]))
    assert other.decision_function(X).tobytes() == model.decision_function(X).tobytes()
    assert other.validation_history_["hamming"].tolist() == (
        model.validation_history_["hamming"].tolist()
    )


def test_the_split_is_a_pure_function_of_the_seed() -> None:
    stream = key(11, SPLIT_ATTEMPT, 0)
    draws = [draw(stream, i) for i in range(40)]
    chosen = held_out_examples(40, 0.3, 11)
    assert np.flatnonzero(chosen).tolist() == sorted(np.argsort(draws)[:12].tolist())
    assert held_out_examples(2, 0.999, 0).sum() == 1
    assert held_out_examples(1000, 1e-9, 0).sum() == 1
    with pytest.raises(ValueError, match="needs at least two examples"):
        RuleBoostingClassifier(validation_fraction=0.5).fit([[1.0]], np.array([[True]]))


def test_labels_of_the_eval_set_are_matched_by_name() -> None:
    pd = pytest.importorskip("pandas")
    X, Y, X_val, Y_val = halves()
    names = ["a", "b", "<script>", 'd "e"', "f\n", "grün"]
    frame = pd.DataFrame(Y, columns=names)
    plain = RuleBoostingClassifier(n_rules=8, random_state=0).fit(X, Y, eval_set=(X_val, Y_val))
    expected = plain.validation_history_["loss"].tolist()
    sets = [{names[k] for k in np.flatnonzero(row)} for row in Y]
    sets_val = [{names[k] for k in np.flatnonzero(row)} for row in Y_val]
    frame_val = pd.DataFrame(Y_val, columns=names)[names[::-1]]

    def history(Y: Any, Y_val: Any) -> list[float]:
        model = clone(plain).fit(X, Y, eval_set=(X_val, Y_val))
        return list(model.validation_history_["loss"].tolist())

    assert history(frame, frame_val) == expected
    assert history(frame, Y_val) == expected
    assert history(frame, sets_val) == expected
    assert history(frame, sp.csr_array(Y_val)) == expected
    ordered = np.argsort(names)
    by_sets = clone(plain).fit(X, Y[:, ordered], eval_set=(X_val, Y_val[:, ordered]))
    expected = by_sets.validation_history_["loss"].tolist()
    assert history(sets, sets_val) == expected
    assert history(sets, frame_val) == expected
    # Not every label must occur, and none need.
    without = [labels - {"a"} for labels in sets_val]
    zero = Y_val[:, ordered].copy()
    zero[:, sorted(names).index("a")] = 0
    assert history(sets, without) == history(sets, zero)
    assert history(sets, [set() for _ in sets_val]) == history(sets, np.zeros_like(Y_val))


@pytest.mark.parametrize(
    ("eval_set", "error", "message"),
    [
        (lambda X, Y: [(X, Y)], TypeError, r"eval_set must be a tuple \(X_val, Y_val\)"),
        (lambda X, Y: (X,), TypeError, "eval_set must be a tuple"),
        (lambda X, Y: (X[:, 1:], Y), ValueError, "eval_set: X has 7 features"),
        (lambda X, Y: (X, Y[1:]), ValueError, "eval_set: Found inconsistent numbers of samples"),
        (lambda X, Y: (X, Y[:, 1:]), ValueError, "eval_set: Y has 5 labels, but the training data"),
        (lambda X, Y: (X, Y[:, 0]), ValueError, "eval_set: Y is a vector, but that of the"),
        (lambda X, Y: (X, 2 * Y), ValueError, "eval_set: 2 at row"),
        (lambda X, Y: (X, [{9}] * len(X)), ValueError, "eval_set: 9, in row 0 of Y, is no label"),
        (lambda X, Y: (X, Y, -np.ones(len(X))), ValueError, "eval_set: -1.* is no valid weight"),
        (lambda X, Y: (X, None), ValueError, "eval_set: "),
    ],
)
def test_errors_in_the_eval_set(eval_set: Any, error: type[Exception], message: str) -> None:
    X, Y = some_data(60)
    with pytest.raises(error, match=message):
        RuleBoostingClassifier(n_rules=3).fit(X, Y, eval_set=eval_set(X, Y))


def test_unknown_names_in_the_eval_set() -> None:
    pd = pytest.importorskip("pandas")
    X, Y = some_data(60, n_labels=3)
    frame = pd.DataFrame(Y, columns=["a", "b", "c"])
    model = RuleBoostingClassifier(n_rules=3)
    cases = {
        "'<script>', a column of Y, is no label of the training data, which are": frame.rename(
            columns={"b": "<script>"}
        ),
        "Y has no column for 'b', a label of the training data": frame[["a", "c"]],
        "'zz', in row 4 of Y, is no label": [{"zz"} if i == 4 else {"a"} for i in range(60)],
    }
    for message, labels in cases.items():
        with pytest.raises(ValueError, match=f"eval_set: {message}"):
            model.fit(X, frame, eval_set=(X, labels))


def test_sources_of_validation_data_must_fit_together() -> None:
    X, Y = some_data(60)
    with pytest.raises(ValueError, match=r"early_stopping='loss' needs validation data.*eval_set"):
        RuleBoostingClassifier(early_stopping="loss").fit(X, Y)
    with pytest.raises(ValueError, match="both eval_set and validation_fraction"):
        RuleBoostingClassifier(validation_fraction=0.5).fit(X, Y, eval_set=(X, Y))


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("validation_fraction", 0.0, ValueError),
        ("validation_fraction", 1.0, ValueError),
        ("validation_fraction", "0.1", TypeError),
        ("early_stopping", "f1", ValueError),
        ("early_stopping", True, TypeError),
        ("patience", 0, ValueError),
        ("patience", None, TypeError),
        ("evaluate_every", 1.5, TypeError),
        ("time_limit", 0, ValueError),
        ("time_limit", float("nan"), ValueError),
        ("warm_start", 1, TypeError),
        ("checkpoint", 1, TypeError),
        ("checkpoint", b"x", TypeError),
        ("checkpoint", "", ValueError),
        ("checkpoint", "\0", ValueError),
        ("checkpoint", "x" * 300, ValueError),
        ("checkpoint", "no/such/folder", ValueError),
        ("checkpoint_every", 0, ValueError),
        ("checkpoint_seconds", -1, ValueError),
    ],
)
@kinds
def test_parameters_are_checked(kind: Kind, name: str, value: Any, error: type[Exception]) -> None:
    X, Y = some_data(40)
    with pytest.raises(error, match=name):
        kind(3, **{name: value}).fit(X, Y)


def test_in_a_grid_search() -> None:
    X, Y = some_data(150)
    model = RuleBoostingClassifier(
        n_rules=15, early_stopping="hamming", validation_fraction=0.2, patience=5, random_state=0
    )
    search = GridSearchCV(model, {"patience": [2, 6], "early_stopping": ["loss", "f1_macro"]}, cv=2)
    search.fit(X, Y)
    assert search.best_estimator_.best_n_rules_ == search.best_estimator_.n_rules_


@pytest.mark.parametrize("measure", [None, "f1_example"])
def test_model_files_keep_the_history(measure: str | None, tmp_path: Any) -> None:
    X, Y, X_val, Y_val = halves()
    parameters = {
        "early_stopping": measure, "patience": 6, "evaluate_every": 2, "time_limit": 100.0,
        "warm_start": True, "checkpoint": tmp_path / "checkpoint", "checkpoint_every": 5,
        "checkpoint_seconds": None,
    }  # fmt: skip
    model = RuleBoostingClassifier(n_rules=20, random_state=0, **parameters)
    model.fit(X, Y, eval_set=(X_val, Y_val))
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.get_params() == model.get_params() | {"checkpoint": str(tmp_path / "checkpoint")}
    assert vars(loaded).keys() == vars(model).keys()
    assert loaded.stop_reason_ == model.stop_reason_
    assert (loaded._seed, loaded._attempts.tolist()) == (model._seed, model._attempts.tolist())
    for name, values in model.validation_history_.items():
        assert loaded.validation_history_[name].dtype == values.dtype
        assert loaded.validation_history_[name].tobytes() == values.tobytes()
    if measure:
        assert loaded.best_n_rules_ == model.best_n_rules_
        assert loaded.best_score_ == model.best_score_


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda t: t.update(seed=-1), "training.seed is -1"),
        (lambda t: t.update(seed=2**63), "training.seed is"),
        (lambda t: t.update(attempts=t["attempts"][1:]), "training.attempts is a list of"),
        (lambda t: t["attempts"].reverse(), r"training.attempts\[1\]"),
        (lambda t: t.update(stop_reason="tired"), "stop_reason is 'tired'"),
        (lambda t: t.update(more=1), "training has an unknown 'more'"),
        (lambda t: t["validation"].pop("best"), "validation has no 'best'"),
        (lambda t: t["validation"]["measures"]["loss"].pop(), "loss is a list of"),
        (lambda t: t["validation"]["measures"].update(x=[]), "x is an unknown measure"),
        (lambda t: t["validation"].update(best=[1]), "best is a list of 1"),
        (lambda t: t["validation"].update(best=["1", 0.5]), r"best\[0\] is '1'"),
    ],
)
def test_the_history_in_model_files_is_checked(change: Any, fault: str, tmp_path: Any) -> None:
    X, Y, X_val, Y_val = halves()
    model = RuleBoostingClassifier(n_rules=6, random_state=0, early_stopping="loss")
    save_model(model.fit(X, Y, eval_set=(X_val, Y_val)), tmp_path / "model")
    payload = json.loads(gzip.decompress((tmp_path / "model").read_bytes()))["payload"]
    change(payload["fitted"]["training"])
    (tmp_path / "model").write_bytes(pack(payload))
    with pytest.raises(ValueError, match=f"is not a Labelboost model: .*{fault}"):
        load_model(tmp_path / "model")
