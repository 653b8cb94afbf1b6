"""The first rules of a model on their own, and what training time is spent on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from oracle import CORE_SETTINGS
from sklearn.base import clone

from labelboost import RuleBoostingClassifier, _core
from labelboost.data import make_multilabel
from labelboost.estimators import prediction
from labelboost.model import RULE_MAKER, pack_rules


def fitted(n_rules: int = 150, **parameters: Any) -> tuple[RuleBoostingClassifier, Any]:
    data = make_multilabel(150, 8, 6, random_state=3)
    model = RuleBoostingClassifier(n_rules=n_rules, random_state=1, **parameters)
    return model.fit(data.X, data.Y), np.asarray(data.X)


@pytest.mark.parametrize("at_once", [1, 2000, 2**22])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("loss", ["example_logistic", "label_logistic"])
def test_stages_are_the_predictions_of_shorter_models(
    loss: str, sparse: bool, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prediction, "SCORES_AT_ONCE", at_once)
    model, X = fitted(loss=loss)
    rows = sp.csr_array(X) if sparse else X
    stages = [1, 2, 63, 64, 64, 65, 128, 149, 150]
    scores = list(model.staged_decision_function(rows, stages))
    label_sets = list(model.staged_predict(rows, stages))
    probabilities = list(model.staged_predict_proba(rows, stages))
    assert len(scores) == len(label_sets) == len(probabilities) == len(stages)
    for stage, score, label_set, probability in zip(
        stages, scores, label_sets, probabilities, strict=True
    ):
        shorter = clone(model).set_params(n_rules=stage).fit(*training_data())
        assert np.array_equal(shorter.decision_function(X), score)
        assert np.array_equal(shorter.predict(X), label_set)
        assert np.array_equal(shorter.predict_proba(X), probability)
    assert np.array_equal(model.decision_function(rows), scores[-1])


def training_data() -> tuple[Any, Any]:
    data = make_multilabel(150, 8, 6, random_state=3)
    return data.X, data.Y


def test_without_numbers_there_is_a_stage_per_rule() -> None:
    model, X = fitted(n_rules=20)
    scores = list(model.staged_decision_function(X[:3]))
    assert len(scores) == 20
    assert np.array_equal(scores[-1], model.decision_function(X[:3]))


@pytest.mark.parametrize(
    ("stages", "error", "said"),
    [
        (5, TypeError, "5 of type int"),
        ("12", TypeError, "'12'"),
        ([1.5], TypeError, "1.5 of type float at position 0"),
        ([True], TypeError, "True"),
        ([0], ValueError, "0 at position 0"),
        ([3, 2], ValueError, "2 at position 1"),
        ([1, 21], ValueError, "21 at position 1"),
    ],
)
def test_wrong_stages_are_named_at_once(stages: Any, error: type[Exception], said: str) -> None:
    model, X = fitted(n_rules=20)
    for method in (
        model.staged_decision_function,
        model.staged_predict,
        model.staged_predict_proba,
    ):
        with pytest.raises(error, match="ascending integers from 1 to 20") as caught:
            method(X, stages)
        assert said in str(caught.value)


def test_the_core_refuses_wrong_stages() -> None:
    model, X = fitted(n_rules=20)
    ensemble = pack_rules(model.rules_, 8, 6)
    csr = sp.csr_array(X)
    for stages in (
        {"stops": np.array([21])},
        {"stops": np.array([3, 2])},
        {"stops": np.array([], dtype=np.int64)},
        {"stops": np.array([-1])},
        {"stops": np.array([2]), "first": 3},
        {"first": 21},
        {"start": np.zeros((1, 6))},
        {"start": np.zeros((len(X), 5))},
    ):
        with pytest.raises(ValueError, match=r"stops|start"):
            ensemble.predict_dense(X, 1, **stages)
        with pytest.raises(ValueError, match=r"stops|start"):
            ensemble.predict_csr(csr.data, csr.indices, csr.indptr, 1, **stages)


def test_an_unfitted_model_has_no_stages() -> None:
    with pytest.raises(Exception, match="not fitted"):
        RuleBoostingClassifier().staged_predict(np.zeros((1, 1)))


def test_training_times_ascend() -> None:
    model, _ = fitted(n_rules=30)
    assert model.training_times_.shape == (30,)
    assert (np.diff(model.training_times_) > 0.0).all()
    assert model.training_times_[0] > 0.0


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(
    "parameters",
    [{"label_bins": None}, {"label_bins": 0.32}, {"label_bins": 2}, {"loss": "label_logistic"}],
)
def test_a_profile_changes_nothing_and_adds_up(parameters: dict[str, Any], n_jobs: int) -> None:
    data = make_multilabel(400, 15, 34, random_state=1)
    common: dict[str, Any] = {"n_rules": 20, "random_state": 1, "n_jobs": n_jobs, **parameters}
    plain = RuleBoostingClassifier(**common).fit(data.X, data.Y)
    assert not hasattr(plain, "training_profile_")
    model = RuleBoostingClassifier(**common, profile=True).fit(data.X, data.Y)
    assert np.array_equal(model.decision_function(data.X), plain.decision_function(data.X))
    profile = model.training_profile_
    assert set(profile) == {"candidate_evaluation", "summing_statistics", "everything_else"}
    assert sum(profile.values()) >= model.training_times_[-1]
    assert sum(profile.values()) < 1.5 * model.training_times_[-1] + 0.1
    assert all(seconds >= 0.0 for seconds in profile.values())
    model.set_params(profile=False).fit(data.X, data.Y)
    assert not hasattr(model, "training_profile_")


@pytest.mark.parametrize("wrong", [1, "yes", None])
def test_profile_must_be_a_boolean(wrong: Any) -> None:
    data = make_multilabel(20, 3, 2, random_state=1)
    with pytest.raises(TypeError, match="profile must be True or False"):
        RuleBoostingClassifier(profile=wrong).fit(data.X, data.Y)


def test_solving_dominates_where_it_should() -> None:
    """With many labels the exact search spends more on candidates than two bins do.

    The paper says so of all its data, but here bounds leave few systems to solve: shares are close
    on yeast and birds, and without an L2 term the order is the reverse. So the data are chosen to
    have a wide gap. What is tested is that the profile shows it. It is made of a hundred looks per
    second, so it takes seconds to tell.
    """
    data = make_multilabel(3000, 40, 32, random_state=1)
    evaluating, all_in_all = {None: 0.0, 2: 0.0}, {None: 0.0, 2: 0.0}
    for _ in range(4):  # in turn, as whatever else the machine does may last for a while
        for bins in evaluating:
            model = RuleBoostingClassifier(
                n_rules=80, label_bins=bins, random_state=1, profile=True
            )
            profile = model.fit(data.X, data.Y).training_profile_
            evaluating[bins] += profile["candidate_evaluation"]
            all_in_all[bins] += sum(profile.values())
    assert evaluating[2] / all_in_all[2] < evaluating[None] / all_in_all[None]


@pytest.mark.parametrize("loss", ["example_logistic", "label_logistic"])
def test_boosters_are_watched_and_can_be_left_at_any_time(loss: str) -> None:
    """The thread that watches ends with the booster, however many there are."""
    data = make_multilabel(50, 5, 3, random_state=1)
    columns = _core.Columns.from_dense(data.X, np.zeros(5, dtype=np.uint8), 0, 1)
    single = loss == "label_logistic"
    settings = CORE_SETTINGS | {"loss": loss, "single_head": single, "max_features": 2}
    for _ in range(20):
        booster = _core.Booster(columns, data.Y, np.ones(50), **settings, profiled=True)
        booster.add_default_rule(RULE_MAKER)
        booster.learn_rule(0, RULE_MAKER)
        assert len(booster.activity_seconds()) == 3
    for attempt in range(1, 1_000_000):
        booster.learn_rule(attempt, RULE_MAKER)
        if min(booster.activity_seconds()) > 0.0:
            break
    else:
        pytest.fail("something was never seen to be done")
    plain = _core.Booster(columns, data.Y, np.ones(50), **settings)
    assert plain.activity_seconds() == (0.0, 0.0, 0.0)
