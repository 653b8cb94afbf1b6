"""What the report page holds: everything but the browser."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from report_pages import (
    HOSTILE,
    LEARNERS,
    LOSSES,
    SHARED_DATA,
    content_of,
    hostile_data,
    mixed_data,
    page_of,
    train,
    unpack,
    unpack_bits,
    unpack_heads,
)
from sklearn.exceptions import NotFittedError
from sklearn.metrics import f1_score, hamming_loss, log_loss, zero_one_loss
from sklearn.tree import DecisionTreeClassifier
from typer.testing import CliRunner

from labelboost import RuleBoostingClassifier, save_model
from labelboost.cli import app
from labelboost.data import Dataset, load_dataset, load_digits_display, make_multilabel
from labelboost.data import save_dataset as save
from labelboost.estimators.base import BoostingClassifier
from labelboost.model import Condition, Rule, pack_rules
from labelboost.report import write_report
from labelboost.report.curve import choose_stages
from labelboost.report.dependence import joint_movement, scale_to_one
from labelboost.report.examples import likeliest_if_independent
from labelboost.report.importance import effect_importance
from labelboost.report.page import SCRIPTS
from labelboost.report.rules import pack_heads

needs_data = pytest.mark.skipif(not SHARED_DATA.is_dir(), reason="needs ../shared/data")


def check_examples(path: Path, model: BoostingClassifier, dataset: Dataset) -> None:
    """Fired rules add up to the model's scores; sets and values are those of the data."""
    content = content_of(path)
    n_labels = dataset.n_labels
    packed = content["examples"]
    rows = unpack(packed["rows"])
    fired = unpack_bits(packed["fired"], len(model.rules_)).astype(bool)
    heads = unpack_heads(content["rules"]["heads"], n_labels).astype(np.float64)
    scores = model.decision_function(dataset.X)[rows]
    np.testing.assert_allclose(fired @ heads, scores, rtol=1e-5, atol=1e-5)
    sets = unpack_bits(packed["sets"], n_labels)
    np.testing.assert_array_equal(sets[unpack(packed["true"])], dataset.Y[rows])
    predicted = model.predict(dataset.X).reshape(dataset.Y.shape)
    np.testing.assert_array_equal(sets[unpack(packed["predicted"])], predicted[rows])
    stored = unpack(packed["probabilities"]).reshape(-1, n_labels) / 65535
    np.testing.assert_allclose(stored, model.predict_proba(dataset.X)[rows], atol=1e-5)
    if packed["seen"] is not None:
        known = {row.tobytes() for row in model._known}
        assert [bool(flag) for flag in unpack(packed["seen"])] == [
            row.tobytes() in known for row in sets
        ]
    X = dataset.X.toarray() if sp.issparse(dataset.X) else dataset.X
    used = sorted({c.feature for rule in model.rules_ for c in rule.conditions})
    np.testing.assert_array_equal(
        stored_values(packed["values"], (len(rows), len(used))), X[rows][:, used]
    )


def stored_values(packed: dict[str, dict[str, str]], shape: tuple[int, int]) -> np.ndarray:
    if "dense" in packed:
        return unpack(packed["dense"]).reshape(shape)
    ends, features = unpack(packed["ends"]), unpack(packed["features"])
    values = np.zeros(shape)
    for row in range(shape[0]):
        part = slice(int(ends[row]), int(ends[row + 1]))
        values[row, features[part]] = unpack(packed["stored"])[part]
    return values


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("decoding", ["known", "sign"])
def test_contributions_add_up_for_every_loss(
    learner: str, loss: str, decoding: str, tmp_path: Path
) -> None:
    data = mixed_data()
    model = train(data, learner, loss=loss, decoding=decoding)
    new = mixed_data(n=60, seed=1)
    path = page_of(model, new, tmp_path)
    check_examples(path, model, new)
    content = content_of(path)
    assert content["data"]["training"] is False
    assert content["model"]["loss"] == loss
    assert content["model"]["decoding"] == decoding


@needs_data
@pytest.mark.parametrize("name", ["bibtex", "flags", "birds"])
@pytest.mark.parametrize("learner", LEARNERS)
def test_real_data(name: str, learner: str, tmp_path: Path) -> None:
    data = load_dataset(SHARED_DATA / f"{name}.npz")
    part = replace(data, X=sp.csr_array(data.X)[:150], Y=data.Y[:150])
    many = {"n_trees": 40} if learner == "trees" else {"n_rules": 40, "max_conditions": None}
    model = train(part, learner, **many)
    new = replace(data, X=sp.csr_array(data.X)[100:190], Y=data.Y[100:190])
    path = page_of(model, new, tmp_path, n_examples=50)
    content = content_of(path)
    assert len(unpack(content["examples"]["rows"])) == 50
    assert content["data"]["unseen"] == sum(
        row.tobytes() not in {known.tobytes() for known in model._known} for row in new.Y
    )
    heads = unpack_heads(content["rules"]["heads"], data.n_labels).astype(np.float64)
    fired = unpack_bits(content["examples"]["fired"], len(model.rules_)).astype(bool)
    rows = unpack(content["examples"]["rows"])
    np.testing.assert_allclose(
        fired @ heads, model.decision_function(new.X)[rows], rtol=1e-5, atol=1e-5
    )


def test_measures_labels_and_curve_are_right(tmp_path: Path) -> None:
    data, new = mixed_data(), mixed_data(n=70, seed=3)
    model = train(data)
    content = content_of(page_of(model, new, tmp_path))
    predicted = model.predict(new.X)
    values = {measure["name"]: measure["value"] for measure in content["measures"]}
    assert values["subset_01"] == pytest.approx(zero_one_loss(new.Y, predicted), rel=1e-4)
    assert values["hamming"] == pytest.approx(hamming_loss(new.Y, predicted), rel=1e-4)
    baselines = {measure["name"]: measure["baseline"] for measure in content["measures"]}
    _, counts = np.unique(new.Y, axis=0, return_counts=True)
    assert baselines["subset_01"] == pytest.approx(1 - counts.max() / 70, rel=1e-4)
    labels = content["labels"]
    assert labels["true"] == new.Y.sum(axis=0).tolist()
    assert labels["predicted"] == predicted.sum(axis=0).tolist()
    assert labels["hits"] == (new.Y & predicted).sum(axis=0).tolist()
    curve = content["curve"]
    assert curve["stages"] == list(range(1, 26))
    first, hamming, f1, _ = (series["values"] for series in curve["series"])
    assert first[-1] == values["subset_01"]
    assert hamming[-1] == values["hamming"]
    assert f1[-1] == pytest.approx(f1_score(new.Y, predicted, average="micro"), rel=1e-4)


def test_training_data_are_recognised(tmp_path: Path) -> None:
    data = mixed_data()
    assert content_of(page_of(train(data), data, tmp_path))["data"]["training"] is True


@pytest.mark.parametrize("loss", LOSSES)
def test_one_label(loss: str, tmp_path: Path) -> None:
    data = mixed_data(n_labels=1)
    model = train(data, loss=loss)
    path = page_of(model, data, tmp_path)
    check_examples(path, model, data)
    content = content_of(path)
    assert content["dependence"] is None
    values = {measure["name"]: measure["value"] for measure in content["measures"]}
    predicted = model.predict(data.X)
    assert values["f1"] == pytest.approx(f1_score(data.Y, predicted), rel=1e-4)
    assert values["log_loss"] == pytest.approx(
        log_loss(data.Y.ravel(), model.predict_proba(data.X).ravel()), rel=1e-4
    )
    vector = RuleBoostingClassifier(n_rules=5, random_state=0).fit(data.X, data.Y.ravel())
    check_examples(page_of(vector, data, tmp_path), vector._by_labels(), data)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_default_rule_alone_and_a_single_example(loss: str, tmp_path: Path) -> None:
    data = mixed_data()
    model = train(data, loss=loss, n_rules=1)
    one = replace(data, X=data.X[:1], Y=data.Y[:1])
    path = page_of(model, one, tmp_path)
    content = content_of(path)
    assert content["features"] == []
    assert content["dependence"] is None
    assert content["data"]["training"] is False
    scores = unpack_heads(content["rules"]["heads"], 4)
    np.testing.assert_allclose(scores, model.decision_function(one.X), rtol=1e-6)


def test_sparse_data_and_no_examples(tmp_path: Path) -> None:
    data = make_multilabel(80, 12, 5, random_state=0)
    X = np.where(np.median(data.X) < data.X, data.X, 0)
    sparse = replace(data, X=sp.csc_array(X))
    model = train(sparse)
    check_examples(page_of(model, sparse, tmp_path), model, sparse)
    assert content_of(page_of(model, sparse, tmp_path, n_examples=0))["examples"] is None


def test_double_precision_survives(tmp_path: Path) -> None:
    data = mixed_data()
    X = data.X.copy()
    X[:, 0] = 2.0**24 + np.arange(len(X))
    precise = replace(data, X=X)
    model = train(precise)
    check_examples(page_of(model, precise, tmp_path), model, precise)


def test_hostile_names_stay_inside_the_data(tmp_path: Path) -> None:
    data = hostile_data()
    path = page_of(train(data), data, tmp_path, title=HOSTILE[0])
    text = path.read_text(encoding="utf-8")
    assert text.count("<script") == 2
    assert text.count("</script") == 2
    # Nothing but the template's own placeholder for the content was ever replaced.
    assert text.count('"measures":') == 1
    assert "<title>&lt;script&gt;alert(1)&lt;/script&gt;</title>" in text
    content = content_of(path)
    assert content["labels"]["names"] == list(HOSTILE)
    assert set(content["features"]) <= set(HOSTILE)
    assert content["title"] == HOSTILE[0]
    assert content["data"]["name"] == HOSTILE[1]
    titled = page_of(train(data), data, tmp_path, title=HOSTILE[5]).read_text(encoding="utf-8")
    assert "<title>&#8238;right to left" in titled


def test_the_policy_names_the_style_and_the_script(tmp_path: Path) -> None:
    data = mixed_data()
    text = page_of(train(data), data, tmp_path).read_text(encoding="utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; ")
    for tag in ('<script type="module">(.*?)</script>', "<style>(.*?)</style>"):
        inline = re.search(tag, text, re.DOTALL)
        assert inline is not None
        digest = b64encode(hashlib.sha256(inline[1].encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy[1]
    assert not re.findall(r'(?:src|href)="(?!#|data:)', text)


def test_all_scripts_are_in_the_page_and_none_writes_markup() -> None:
    folder = Path(write_report.__code__.co_filename).parent / "assets"
    assert {path.name for path in folder.glob("*.js")} == set(SCRIPTS)
    for path in folder.glob("*.js"):
        text = path.read_text(encoding="utf-8")
        for forbidden in ("innerHTML", "outerHTML", "insertAdjacentHTML", "eval(", "</", "<!--"):
            assert forbidden not in text, path.name


def test_the_same_model_and_data_give_the_same_page(tmp_path: Path) -> None:
    data = mixed_data()
    model = train(data)
    first = page_of(model, data, tmp_path).read_bytes()
    assert page_of(model, data, tmp_path).read_bytes() == first


def test_a_thousand_rules_and_a_hundred_labels_are_small(tmp_path: Path) -> None:
    data = make_multilabel(600, 300, 100, random_state=0)
    model = train(data, n_rules=5, loss="label_logistic")
    rng = np.random.default_rng(0)
    rules = [
        Rule(
            tuple(
                Condition(int(feature), ">", float(rng.normal()))
                for feature in rng.integers(0, 300, 30 if number else 0)
            ),
            rng.normal(size=100),
            600 - number // 2,
        )
        for number in range(1000)
    ]
    model.rules_, model.n_rules_ = rules, 1000
    model._ensemble = pack_rules(rules, 300, 100)
    path = page_of(model, data, tmp_path)
    assert path.stat().st_size < 5_000_000
    check_examples(path, model, data)


def test_categories_are_matched_by_name(tmp_path: Path) -> None:
    data = mixed_data()
    frame = pd.DataFrame(data.X, columns=list(data.feature_names))
    codes = frame["colour"].fillna(-1).astype(int)
    frame["colour"] = pd.Categorical.from_codes(codes, categories=["red", "green", "blue"])
    Y = pd.DataFrame(data.Y, columns=list(data.label_names))
    model = RuleBoostingClassifier(n_rules=30, random_state=0).fit(frame, Y)
    # The same data, but with categories in another order, and one that training did not know.
    X = data.X.copy()
    X[:, 1] = np.array([2.0, 0.0, 3.0, np.nan])[np.nan_to_num(X[:, 1], nan=3).astype(int)]
    other = replace(data, X=X, categories={1: ("green", "purple", "red", "blue")})
    content = content_of(page_of(model, other, tmp_path))
    assert content["data"]["training"] is True
    fired = unpack_bits(content["examples"]["fired"], 30).astype(bool)
    heads = unpack_heads(content["rules"]["heads"], 4).astype(np.float64)
    np.testing.assert_allclose(fired @ heads, model.decision_function(frame), rtol=1e-5, atol=1e-5)
    sparse = replace(other, X=sp.csr_array(np.nan_to_num(X, nan=0)))
    dense = replace(other, X=np.nan_to_num(X, nan=0))
    assert page_of(model, sparse, tmp_path).stat().st_size > 0
    assert (
        content_of(page_of(model, sparse, tmp_path))["measures"]
        == content_of(page_of(model, dense, tmp_path))["measures"]
    )
    numeric = replace(data, nominal=np.zeros(4, dtype=bool), categories={})
    with pytest.raises(ValueError, match='"colour" holds categories in the model'):
        page_of(model, numeric, tmp_path)
    renamed = replace(data, feature_names=("width", "colour", "height", "deep"))
    with pytest.raises(ValueError, match='feature 3 is "depth" in the model, but "deep"'):
        page_of(model, renamed, tmp_path)
    swapped = replace(data, label_names=("label 1", "label 0", "label 2", "label 3"))
    with pytest.raises(ValueError, match='label 0 is "label 0" in the model, but "label 1"'):
        page_of(model, swapped, tmp_path)


def test_what_does_not_fit_is_refused_and_nothing_is_lost(tmp_path: Path) -> None:
    data = mixed_data()
    model = train(data)
    path = page_of(model, data, tmp_path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="trained with 4 labels, but the data set mixed has 3"):
        write_report(model, mixed_data(n_labels=3), path)
    with pytest.raises(ValueError, match="trained with 4 features"):
        write_report(model, make_multilabel(20, 6, 4, random_state=0), path)
    with pytest.raises(TypeError, match="got DecisionTreeClassifier"):
        write_report(DecisionTreeClassifier(), data, path)
    with pytest.raises(NotFittedError):
        write_report(RuleBoostingClassifier(), data, path)
    with pytest.raises(ValueError, match="n_examples must be at least 0, got -1"):
        write_report(model, data, path, n_examples=-1)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        write_report(model, data, tmp_path / "none" / "report.html")
    with pytest.raises(IsADirectoryError, match="it is a folder"):
        write_report(model, data, tmp_path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.html"]


def test_recorded_importance_is_preferred(tmp_path: Path) -> None:
    data = mixed_data()

    class Recorded(RuleBoostingClassifier):
        feature_importances_ = np.array([0.5, 0.25, 0.25, 0.0])

    model = Recorded(n_rules=25, random_state=0).fit(data.X, data.Y)
    importance = content_of(page_of(model, data, tmp_path))["importance"]
    assert "feature_importances_" in importance["definition"]
    assert max(importance["values"]) == 0.5


def test_effects_are_shared_among_features() -> None:
    head = np.array([1.0, -2.0])
    both = (Condition(0, ">", 0.0), Condition(2, "<=", 1.0), Condition(2, ">", 0.5))
    rules = [Rule((), head, 10), Rule(both, head, 4), Rule(both[:1], -head, 2)]
    np.testing.assert_allclose(effect_importance(rules, 3), np.array([12.0, 0.0, 6.0]) / 18)
    np.testing.assert_array_equal(effect_importance(rules[:1], 3), 0.0)


def test_dependence_of_labels_that_move_together() -> None:
    heads = np.array([[1.0, 2.0, -1.0, 0.0], [-1.0, -2.0, 1.0, 0.0]])
    cosines = scale_to_one(joint_movement(heads, np.array([5.0, 1.0])))
    np.testing.assert_allclose(cosines[:3, :3], [[1, 1, -1], [1, 1, -1], [-1, -1, 1]])
    np.testing.assert_array_equal(cosines[3], 0.0)


def test_single_label_heads_tell_nothing_about_dependence(tmp_path: Path) -> None:
    data = mixed_data()
    assert (
        content_of(page_of(train(data, loss="label_logistic"), data, tmp_path))["dependence"]
        is None
    )
    found = content_of(page_of(train(data), data, tmp_path))["dependence"]
    assert sorted(found["labels"]) == [0, 1, 2, 3]
    matrix = unpack(found["heads"]).reshape(4, 4)
    np.testing.assert_array_equal(matrix, matrix.T)
    np.testing.assert_array_equal(np.diag(matrix), 100)


@given(n=st.integers(1, 5000))
def test_stages_ascend_from_the_first_to_the_last(n: int) -> None:
    stages = choose_stages(n)
    assert stages[0] == 1
    assert stages[-1] == n
    assert stages == sorted(set(stages))
    assert len(stages) <= 60


@settings(deadline=None)
@given(
    hnp.arrays(np.float64, st.integers(1, 6), elements=st.floats(-30, 30)),
    st.integers(1, 8),
)
def test_likeliest_sets_of_independent_labels(scores: np.ndarray, top: int) -> None:
    sets, chances = likeliest_if_independent(scores, top)
    every = np.array(list(product([0, 1], repeat=len(scores))))
    log_chances = -np.logaddexp(0, np.where(every == 1, -scores, scores)).sum(axis=1)
    best = np.sort(np.exp(log_chances))[::-1][:top]
    np.testing.assert_allclose(chances, best, rtol=1e-9, atol=1e-300)
    assert len({row.tobytes() for row in sets}) == len(sets) == min(top, 2 ** len(scores))
    own = -np.logaddexp(0, np.where(sets == 1, -scores, scores)).sum(axis=1)
    np.testing.assert_allclose(chances, np.exp(own), rtol=1e-9, atol=1e-300)
    np.testing.assert_array_equal(sets[0], scores > 0)


@given(
    hnp.arrays(
        np.float64,
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=12),
        elements=st.sampled_from([0.0, 0.5, -0.25, 1e-3]) | st.floats(-1e3, 1e3),
    )
)
def test_heads_survive_packing(heads: np.ndarray) -> None:
    unpacked = unpack_heads(pack_heads(heads), heads.shape[1])
    np.testing.assert_array_equal(unpacked, heads.astype(np.float32))


def test_shared_scores_are_packed_as_palettes() -> None:
    assert "palette" in pack_heads(np.tile([0.5, 0.5, 0.5, -0.5, -0.5, 0.5], (10, 1)))
    assert "scores" in pack_heads(np.arange(1200.0).reshape(2, 600))


runner = CliRunner()


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    data = load_digits_display()
    data = replace(data, X=data.X[:200], Y=data.Y[:200])
    save_model(train(data), tmp_path / "model.json.gz")
    save(data, tmp_path / "data.csv")
    return tmp_path / "model.json.gz", tmp_path / "data.csv"


def test_command(files: tuple[Path, Path], tmp_path: Path) -> None:
    model, data = files
    output = tmp_path / "report.html"
    arguments = ["report", "--model", str(model), "--data", str(data), "-o", str(output)]
    result = runner.invoke(app, [*arguments, "--title", "Digits", "--examples", "12"])
    assert result.exit_code == 0, result.output
    assert result.stdout.strip() == str(output)
    content = content_of(output)
    assert content["title"] == "Digits"
    assert len(unpack(content["examples"]["rows"])) == 12
    output.unlink()
    result = runner.invoke(app, [*arguments, "--labels", "-7"])
    assert result.exit_code == 0, result.output
    labels = load_digits_display().label_names
    names = [word for label in labels for word in ("--labels", label)]
    assert runner.invoke(app, [*arguments, *names]).exit_code == 0


def test_command_answers_bad_input_with_one_line(files: tuple[Path, Path], tmp_path: Path) -> None:
    model, data = files
    output = tmp_path / "report.html"
    for changed in (
        {"--model": tmp_path / "absent.json.gz"},
        {"--model": data},
        {"--data": tmp_path / "absent.csv"},
        {"--labels": "3"},
        {"--labels": "no such column"},
        {"-o": tmp_path / "no folder" / "report.html"},
        {"-o": tmp_path},
    ):
        options = {"--model": model, "--data": data, "-o": output, **changed}
        result = runner.invoke(app, ["report", *(str(p) for pair in options.items() for p in pair)])
        assert result.exit_code == 1, result.output
        assert result.stdout == ""
        told = [line for line in result.stderr.splitlines() if not line.startswith("note: ")]
        assert len(told) == 1
        assert told[0].startswith("error: ")
        assert not output.exists()
    assert runner.invoke(app, ["report"]).exit_code == 2
