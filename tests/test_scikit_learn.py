"""What scikit-learn and its users expect of an estimator, for every one there is."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris, make_multilabel_classification
from sklearn.ensemble import VotingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import accuracy_score, average_precision_score, f1_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_validate
from sklearn.multioutput import ClassifierChain
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils import estimator_html_repr, get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks
from typer.testing import CliRunner

from labelboost import RuleBoostingClassifier, TreeBoostingClassifier, save_model
from labelboost.cli import app
from labelboost.explanations import loss_curve

ESTIMATORS: dict[str, type[Any]] = {
    "n_rules": RuleBoostingClassifier,
    "n_trees": TreeBoostingClassifier,
}
"""Every estimator, by the parameter that says how large the ensemble is. Add new ones here."""
LOSSES = ("example_logistic", "label_logistic", "labelset_softmax")

every_estimator = pytest.mark.parametrize("size", ESTIMATORS)
every_loss = pytest.mark.parametrize("loss", LOSSES)


def small(size: str, n: int = 12, **parameters: Any) -> Any:
    """Make an estimator that is quick to fit."""
    return ESTIMATORS[size](**{size: n}, random_state=0, **parameters)


def problem(n: int = 120, n_labels: int = 4) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    X, Y = make_multilabel_classification(
        n, n_features=6, n_classes=n_labels, n_labels=2, random_state=0
    )
    return X, Y


# --- The checks of scikit-learn -----------------------------------------------------------------


# The warnings are scikit-learn's own, about what its checks do, or say that learning ended early.
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([estimator() for estimator in ESTIMATORS.values()])
def test_the_checks_of_scikit_learn(estimator: BaseEstimator, check: Callable[..., None]) -> None:
    check(estimator)


@every_estimator
def test_tags(size: str) -> None:
    tags = get_tags(small(size))
    assert is_classifier(small(size))
    assert tags.classifier_tags is not None
    assert tags.classifier_tags.multi_label
    assert tags.classifier_tags.multi_class
    assert tags.target_tags.required
    assert tags.target_tags.single_output
    assert not tags.target_tags.multi_output  # several classes for each of several outputs
    assert tags.input_tags.sparse
    assert tags.input_tags.allow_nan
    assert tags.input_tags.categorical


@every_estimator
def test_parameters_are_set_and_cloned(size: str) -> None:
    model = small(size)
    assert model.set_params(l2=2.5, label_bins=None) is model
    assert model.get_params()["l2"] == 2.5
    X, Y = problem()
    copy = clone(model.fit(X, Y))
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "classes_")
    with pytest.raises(ValueError, match="Invalid parameter 'rules'"):
        model.set_params(rules=3)
    names = inspect.signature(type(model).__init__).parameters
    assert all(names[name].kind is inspect.Parameter.KEYWORD_ONLY for name in model.get_params())


@every_estimator
def test_representations(size: str) -> None:
    model = small(size, l2=0.25)
    assert repr(model).startswith(f"{type(model).__name__}(")
    assert "l2=0.25" in repr(model)
    assert type(model).__name__ in estimator_html_repr(model)
    X, Y = problem()
    assert "l2" in model.fit(X, Y)._repr_html_()


# --- Vectors of classes -------------------------------------------------------------------------


CLASSES: dict[str, list[Any]] = {
    "numbers": [1, 2],
    "signs": [-1, 1],
    "floats": [0.0, 3.0],
    "booleans": [False, True],
    "strings": ["no", "<script>"],
    "three": ["a", "b", "c"],
    "five": [2, 3, 5, 7, 11],
}


@every_loss
@pytest.mark.parametrize("classes", CLASSES.values(), ids=CLASSES)
@every_estimator
def test_a_vector_of_classes(size: str, classes: list[Any], loss: str) -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, len(classes), 150)
    X = codes[:, None] + rng.normal(0, 0.3, (150, 3))
    y = np.array(classes)[codes]
    model = small(size, 40, loss=loss).fit(X, y)
    assert model.classes_.tolist() == sorted(classes)
    assert model.classes_.dtype == y.dtype
    predicted = model.predict(X)
    assert predicted.dtype == y.dtype
    assert predicted.shape == (150,)
    assert model.score(X, y) == np.mean(predicted == y) > 0.9
    likely = model.predict_proba(X)
    assert likely.shape == (150, len(classes))
    np.testing.assert_allclose(likely.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[likely.argmax(axis=1)], predicted)
    scores = model.decision_function(X)
    chosen = (scores > 0).astype(int) if len(classes) == 2 else scores.argmax(axis=1)
    assert scores.shape == ((150,) if len(classes) == 2 else (150, len(classes)))
    np.testing.assert_array_equal(model.classes_[chosen], predicted)
    *_, last = model.staged_predict(X)
    np.testing.assert_array_equal(last, predicted)
    *_, last = model.staged_decision_function(X)
    np.testing.assert_array_equal(last, scores)
    *_, last = model.staged_predict_proba(X)
    np.testing.assert_array_equal(last, likely)
    assert len(model._label_names) == len(model.rules_[0].head)


@every_loss
@every_estimator
def test_the_second_of_two_classes_is_a_label(size: str, loss: str) -> None:
    X, Y = problem()
    y = Y[:, 0]
    names = np.array(["without", "with"])
    matrix = small(size, loss=loss).fit(X, y[:, None].astype(bool))
    vector = small(size, loss=loss).fit(X, names[y])
    assert vector.classes_.tolist() == ["with", "without"]  # in ascending order
    assert vector._label_names.tolist() == ["without"]
    reverse = small(size, loss=loss).fit(X, 1 - y)
    np.testing.assert_array_equal(vector.predict_proba(X), reverse.predict_proba(X))
    vector = small(size, loss=loss).fit(X, y)
    np.testing.assert_array_equal(vector.predict_proba(X)[:, 1], matrix.predict_proba(X)[:, 0])
    for one, other in zip(vector.rules_, matrix.rules_, strict=True):
        np.testing.assert_array_equal(one.head, other.head)


@every_loss
@every_estimator
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_single_class(size: str, loss: str) -> None:
    X, _ = problem(10)
    model = small(size, loss=loss).fit(X, ["ü"] * 10)
    assert model.predict(X).tolist() == ["ü"] * 10
    assert model.predict_proba(X).tolist() == [[1.0]] * 10
    assert model.decision_function(X).shape == (10,)
    only = np.repeat([0.0, 1.0], 5)
    for y, expected in ((only, 1.0), (1 - only, 0.0)):  # the other class has no weight
        model = small(size, loss=loss).fit(X, y, sample_weight=only)
        assert model.predict(X).tolist() == [expected] * 10
        assert np.isfinite(model.decision_function(X)).all()
    model = small(size, loss=loss).fit(X, np.arange(10) % 3, sample_weight=np.arange(10) % 3 != 1)
    assert 1 not in model.predict(X)
    assert np.isfinite(model.decision_function(X)).all()


@every_loss
@pytest.mark.parametrize("names", [["no", "yes"], ["a", "b", "c"]], ids=["two", "three"])
@every_estimator
def test_models_of_classes_explain_themselves(
    size: str, names: list[str], loss: str, tmp_path: Path
) -> None:
    X, Y = problem()
    y = np.array(names)[Y[:, :2].sum(axis=1) % len(names)]
    model = small(size, loss=loss).fit(X, y)
    labels = model._label_names.tolist()
    assert str(model).startswith(f"{type(model).__name__}: ")
    assert labels[-1] in str(model)
    assert model.label_feature_importances_.shape == (len(labels), 6)
    for i, x in enumerate(X[:10]):
        explanation = model.explain(x)
        np.testing.assert_array_equal(explanation.scores, model._scores(X[[i]])[0])
        predicted = [name for name, p in zip(labels, explanation.predicted, strict=True) if p]
        assert predicted == [model.predict(X[[i]])[0]] or predicted == [] != labels == ["yes"]
    for measure in ("loss", "subset_01", "hamming"):
        assert np.isfinite(loss_curve(model, X, y, measure=measure).values).all()
    part = y == "no" if len(names) == 2 else y != "b"  # not all classes occur
    curve = loss_curve(model, X[part], y[part], measure="subset_01", stages=[model._n_stages])
    assert curve.values[-1] == pytest.approx(1.0 - model.score(X[part], y[part]))
    with pytest.raises(ValueError, match="the class 'z', which this model was not fitted with"):
        loss_curve(model, X, np.full(len(X), "z"))
    if size == "n_rules":  # which model files can hold
        save_model(model, tmp_path / "model.json.gz")
        write_csv(tmp_path / "data.csv", X)
        arguments = ["predict", str(tmp_path / "data.csv"), "-m", str(tmp_path / "model.json.gz")]
        done = CliRunner().invoke(app, [*arguments, "--json"])
        assert done.exit_code == 0, done.output


def write_csv(path: Path, X: NDArray[np.float64]) -> None:
    header = ",".join(f"f{j}" for j in range(X.shape[1]))
    np.savetxt(path, X, delimiter=",", header=header, comments="")


@every_estimator
def test_iris(size: str) -> None:
    X, y = load_iris(return_X_y=True)
    scores = cross_validate(
        small(size, 60), X, y, cv=5, scoring=["accuracy", "neg_log_loss", "roc_auc_ovr"]
    )
    assert scores["test_accuracy"].mean() > 0.9
    assert scores["test_neg_log_loss"].mean() > -0.5
    assert scores["test_roc_auc_ovr"].mean() > 0.95


# --- Weights and repetitions --------------------------------------------------------------------


REPEATS = st.lists(st.integers(0, 5), min_size=12, max_size=12).filter(lambda w: sum(w) > 1)


@settings(deadline=None, max_examples=25)
@given(st.data())
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@every_loss
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csc_array])
@every_estimator
def test_whole_weights_equal_repetitions(size: str, form: Any, loss: str, data: Any) -> None:
    """In the random samples, too, and in whatever order the examples come."""
    weights = np.array(data.draw(REPEATS))
    seed = data.draw(st.integers(0, 100))
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 3, (12, 4)).astype(float)
    if size == "n_rules":  # trees send missing values with most of the examples, not of the weight
        X[rng.random(X.shape) < 0.1] = np.nan
    Y = rng.integers(0, 2, (12, 3))
    order = rng.permutation(12)
    if len(np.unique(np.hstack([X, Y]).repeat(weights, 0), axis=0)) == weights.sum():
        order = np.arange(12)  # without repetitions or weights, the order decides what is drawn
    weighted = small(size, 6, loss=loss).fit(form(X[order]), Y[order], weights[order])
    again = rng.permutation(weights.sum()) if (order != np.arange(12)).any() else slice(None)
    repeated = small(size, 6, loss=loss)
    repeated.fit(form(X.repeat(weights, 0)[again]), Y.repeat(weights, 0)[again])
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), rtol=1e-6, atol=1e-9
    )


@every_estimator
def test_large_and_broken_weights_multiply(size: str) -> None:
    """The samples are the ones without weights."""
    X, Y = problem(40)
    plain = small(size, 5, l2=0.0, loss="label_logistic").fit(X, Y)
    for weight in (0.5, 1e6):
        model = small(size, 5, l2=0.0, loss="label_logistic").fit(X, Y, np.full(40, weight))
        np.testing.assert_allclose(model.decision_function(X), plain.decision_function(X))


# --- Searching, validating, chaining ------------------------------------------------------------


@pytest.mark.parametrize("backend", ["loky", "threading"])
@every_estimator
def test_grid_search_in_processes_and_threads(size: str, backend: str) -> None:
    X, Y = problem(80)
    grid = {size: [3, 8], "learning_rate": [0.1, 0.5], "loss": ["label_logistic", LOSSES[0]]}
    search = GridSearchCV(small(size), grid, scoring="f1_micro", cv=2)
    expected = search.fit(X, Y)
    with joblib.parallel_backend(backend, n_jobs=2):
        found = clone(search).fit(X, Y)
    assert found.best_params_ == expected.best_params_
    np.testing.assert_array_equal(
        found.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"]
    )
    np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))
    assert found.best_score_ > 0.3


MULTILABEL_SCORERS = (
    "accuracy", "f1_micro", "f1_macro", "f1_samples", "jaccard_samples", "jaccard_micro",
    "precision_micro", "recall_weighted", "average_precision", "roc_auc",
)  # fmt: skip


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
@every_loss
@every_estimator
def test_cross_validation_with_scorers_of_label_sets(size: str, loss: str) -> None:
    X, Y = problem(200)
    found = cross_validate(small(size, 20, loss=loss), X, Y, cv=3, scoring=MULTILABEL_SCORERS)
    for name in MULTILABEL_SCORERS:
        scores = found[f"test_{name}"]
        assert ((scores > 0.0) & (scores <= 1.0)).all(), name
    train, test = np.arange(100), np.arange(100, 200)
    model = small(size, 20, loss=loss).fit(X[train], Y[train])
    likely = model.predict_proba(X[test])
    assert roc_auc_score(Y[test], likely) > 0.6
    assert average_precision_score(Y[test], likely) > 0.5
    assert model.score(X[test], Y[test]) == accuracy_score(Y[test], model.predict(X[test]))


@every_estimator
def test_predictions_of_cross_validation(size: str) -> None:
    X, Y = problem(100)
    for method in ("predict", "predict_proba", "decision_function"):
        assert cross_val_predict(small(size), X, Y, cv=3, method=method).shape == Y.shape
    likely = cross_val_predict(small(size), X, Y[:, 0], cv=3, method="predict_proba")
    assert likely.shape == (100, 2)


@every_estimator
def test_meta_estimators(size: str) -> None:
    X, Y = problem(90)
    y = Y[:, 0]
    chain = ClassifierChain(small(size), random_state=0).fit(X, Y)
    assert chain.predict(X).shape == Y.shape
    vote = VotingClassifier([("a", small(size)), ("b", small(size, l2=5.0))], voting="soft")
    assert vote.fit(X, y).score(X, y) > 0.7
    calibrated = CalibratedClassifierCV(small(size), cv=3).fit(X, y)
    assert calibrated.predict_proba(X).shape == (90, 2)


@pytest.mark.parametrize("library", ["pandas", "polars"])
@every_estimator
def test_a_pipeline_of_columns(size: str, library: str) -> None:
    frames = pytest.importorskip(library)
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "blue", "<b>"], 90)
    frame = frames.DataFrame(
        {"length": rng.normal(size=90), "height": rng.normal(size=90), "colour": colour.tolist()}
    )
    lengths = np.asarray(frame["length"].to_list())
    columns = {"sea": (lengths > 0).astype(int), "sun": (colour == "red").astype(int)}
    Y = frames.DataFrame(columns)
    prepare = ColumnTransformer(
        [("numbers", StandardScaler(), ["length", "height"]), ("one", OneHotEncoder(), ["colour"])]
    )
    model = make_pipeline(prepare, small(size, 30))
    with joblib.parallel_backend("threading", n_jobs=2):
        model.fit(frame, Y)
    assert list(model.classes_) == ["sea", "sun"]
    assert f1_score(Y.to_numpy(), model.predict(frame), average="micro") > 0.9
    assert "ColumnTransformer" in estimator_html_repr(model)


@every_estimator
def test_a_pipeline_of_texts(size: str) -> None:
    texts = ["rain and sea", "sun and sea", "rain", "sun", "sea", "sun, sun", "rain, sea, sun"] * 8
    sets = [{word for word in ("rain", "sea", "sun") if word in text} for text in texts]
    model = make_pipeline(TfidfVectorizer(), small(size, 40)).fit(texts, sets)
    assert model.classes_.tolist() == ["rain", "sea", "sun"]
    truth = [[int(name in labels) for name in model.classes_] for labels in sets]
    assert accuracy_score(truth, model.predict(texts)) > 0.9


@pytest.mark.parametrize("library", ["pandas", "polars"])
@every_estimator
def test_names_of_features(size: str, library: str) -> None:
    frames = pytest.importorskip(library)
    X, Y = problem()
    names = ["a", "ü", "<script>", 'quo"te', "new\nline", "f"]
    frame = frames.DataFrame({name: X[:, j] for j, name in enumerate(names)})
    model = small(size).fit(frame, Y)
    assert model.n_features_in_ == 6
    assert model.feature_names_in_.tolist() == names
    assert model.feature_names_in_.dtype == object
    np.testing.assert_array_equal(model.predict(frame), small(size).fit(X, Y).predict(X))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[names[::-1]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)
    assert not hasattr(small(size).fit(X, Y), "feature_names_in_")


@every_estimator
def test_routing_of_weights(size: str) -> None:
    X, Y = problem(60)
    weights = np.random.default_rng(0).integers(0, 3, 60)
    scale = StandardScaler().fit(X)
    with sklearn.config_context(enable_metadata_routing=True):
        model = small(size).set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=True)
        unweighted = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(unweighted, model).fit(X, Y, sample_weight=weights)
        found = cross_validate(model, X, Y, cv=3, params={"sample_weight": weights})
    assert (found["test_score"] > 0).all()
    expected = small(size).fit(scale.transform(X), Y, weights)
    scores = expected.decision_function(scale.transform(X))
    np.testing.assert_array_equal(pipeline.decision_function(X), scores)


# --- Copies -------------------------------------------------------------------------------------


def through_joblib(model: Any, folder: Any) -> Any:
    joblib.dump(model, folder / "model.joblib")
    return joblib.load(folder / "model.joblib")


def through_cloudpickle(model: Any, folder: Any) -> Any:
    cloudpickle = pytest.importorskip("cloudpickle")
    return pickle.loads(cloudpickle.dumps(model))


COPIES: dict[str, Callable[[Any, Any], Any]] = {
    **{
        f"protocol {p}": lambda model, _, p=p: pickle.loads(pickle.dumps(model, protocol=p))
        for p in range(2, pickle.HIGHEST_PROTOCOL + 1)
    },
    "joblib": through_joblib,
    "cloudpickle": through_cloudpickle,
}


@pytest.mark.parametrize("copy", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize("kind", ["matrix", "sets", "vector"])
@every_estimator
def test_pickled_models_predict_the_same(size: str, kind: str, copy: Any, tmp_path: Any) -> None:
    X, Y = problem()
    X[::7, 2] = np.nan
    y: Any = {"matrix": Y, "vector": np.array(["no", "yes"])[Y[:, 0]]}.get(kind)
    model = small(size).fit(X, [{"a"}, {"b", "a"}, set()] * 40 if y is None else y)
    loaded = copy(model, tmp_path)
    assert loaded.get_params() == model.get_params()
    for method in ("predict", "predict_proba", "decision_function"):
        expected = getattr(model, method)(X)
        found = getattr(loaded, method)(X)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


@every_estimator
def test_prediction_leaves_the_model_alone(size: str) -> None:
    X, Y = problem()
    model = small(size).fit(X, Y)
    before = pickle.dumps(model)
    given = X.copy()
    for method in ("predict", "predict_proba", "decision_function"):
        first = getattr(model, method)(X)
        np.testing.assert_array_equal(getattr(model, method)(X), first)
    list(model.staged_predict(X))
    assert pickle.dumps(model) == before
    np.testing.assert_array_equal(X, given)
