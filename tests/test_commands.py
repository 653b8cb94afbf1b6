"""All commands from `labelboost train` to `info`, on real and on odd data."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracle import DATA, real_data
from typer.testing import CliRunner

import labelboost.data
from labelboost import load_model, save_model
from labelboost.cli import app
from labelboost.commands import predict as predict_module
from labelboost.commands import train as train_module
from labelboost.commands.estimators import ESTIMATORS
from labelboost.commands.reading import REMEDIES
from labelboost.data import Dataset, load_dataset, make_multilabel, save_dataset
from labelboost.experiments.measures import MEASURES
from labelboost.persistence.container import VERSION

ODD = ('<script>alert("1")</script>', 'a, "b"; c', "größe ✓", "[bold]x[/bold]", "é\tz", "it's")
SIZES = {"rules": "--n-rules", "trees": "--n-trees"}
COMMANDS = ["train", "predict", "evaluate", "rules", "explain", "report", "info", "demo"]
EXPERIMENTS = ["run", "tables", "significance", "plots"]


def run(*arguments: object, stdin: bytes | None = None, code: int = 0) -> Any:
    outcome = CliRunner().invoke(app, [str(a) for a in arguments], input=stdin)
    if outcome.exception is not None and not isinstance(outcome.exception, SystemExit):
        raise outcome.exception
    assert outcome.exit_code == code, outcome.output
    if code == 1:
        assert outcome.stdout == "", "a failed command writes no result"
        assert len(outcome.stderr.splitlines()) == 1, outcome.stderr
        assert outcome.stderr.startswith("error: ")
    return outcome


def as_json(*arguments: object, **options: Any) -> Any:
    return json.loads(run(*arguments, "--json", **options).stdout)


def rows_of(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


def train(data: object, model: object, *more: object, estimator: str = "rules") -> None:
    size = (SIZES[estimator], 8)
    run("train", data, "-m", model, "--estimator", estimator, *size, "--random-state", 1, *more)


def odd_data(n: int = 60) -> Dataset:
    data = make_multilabel(n, 4, len(ODD), nominal=0.25, random_state=2)
    j = data.nominal_indices[0]
    most = int(data.X[:, j].max()) + 1
    names = tuple(f"odd {name}" for name in ODD[:4])
    return replace(
        data,
        name="odd",
        feature_names=names,
        label_names=ODD,
        categories={j: tuple(f"{c}, <b>ß</b>" for c in range(most))},
    )


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(params=ESTIMATORS)
def odd(request: pytest.FixtureRequest) -> str:
    """A model of odd names, trained on odd.csv."""
    save_dataset(odd_data(), "odd.csv")
    train("odd.csv", "odd.json.gz", "--quiet", estimator=request.param)
    return "odd.json.gz"


@pytest.mark.parametrize("name", ["flags.npz", "arff/flags.arff", "arff/birds.arff"])
def test_from_real_data_to_predictions(name: str) -> None:
    data = load_dataset(DATA / name) if DATA.is_dir() else real_data(name)
    summary = as_json(
        *("train", DATA / name, "--model", "m.json.gz", "--n-rules", 15, "--random-state", 1),
        *("--valid", DATA / name),
    )
    assert summary["rules"] == 15
    assert summary["examples"] == data.n_examples
    model = load_model("m.json.gz")
    assert tuple(model.classes_) == data.label_names
    assert tuple(model.feature_names_in_) == data.feature_names
    evaluated = as_json("evaluate", DATA / name, "-m", "m.json.gz")
    assert list(evaluated["measures"]) == list(MEASURES)
    assert evaluated["measures"] == summary["validation"]
    rows = rows_of(run("predict", DATA / name, "-m", "m.json.gz").stdout)
    assert rows[0] == ["example", *data.label_names]
    predicted = np.array(rows[1:], dtype=int)
    np.testing.assert_array_equal(predicted[:, 0], np.arange(1, data.n_examples + 1))
    with pytest.warns(UserWarning, match="feature names"):
        expected = model.predict(data.X)
    np.testing.assert_array_equal(predicted[:, 1:], expected)
    wrong = (predicted[:, 1:] != data.Y).any(axis=1).mean()
    assert evaluated["measures"]["subset_01"] == pytest.approx(wrong)


def test_the_same_model_from_every_format() -> None:
    data = real_data("flags")
    expected = None
    for suffix in ("arff", "npz", "parquet"):
        save_dataset(data, f"flags.{suffix}")
        train(f"flags.{suffix}", f"{suffix}.json.gz")
        scores = run("predict", "flags.arff", "-m", f"{suffix}.json.gz", "--scores").stdout
        expected = expected or scores
        assert scores == expected


def test_odd_names_survive_in_csv_and_json(odd: str) -> None:
    labels = list(ODD)
    for option in ((), ("--proba",), ("--scores",)):
        assert rows_of(run("predict", "odd.csv", "-m", odd, *option).stdout)[0] == [
            "example",
            *labels,
        ]
    assert list(as_json("predict", "odd.csv", "-m", odd, "--proba")[0]["probabilities"]) == labels
    predicted = as_json("predict", "odd.csv", "-m", odd)
    assert {name for example in predicted for name in example["labels"]} <= set(labels)
    info = as_json("info", odd)
    assert info["label_names"] == labels
    assert info["feature_names"] == list(odd_data().feature_names)
    header, *rules = rows_of(run("rules", odd, "--format", "csv").stdout)
    assert header == ["rule", "conditions", "coverage", "effect", *labels]
    assert len(rules) == info["rules"]
    scores = as_json("explain", "odd.csv", "-m", odd)["scores"]
    assert list(scores) == labels
    text = run("rules", odd).stdout
    assert len(text.splitlines()) == info["rules"] + 1
    for name in labels:
        shown = name.replace("\t", "\\t")
        assert shown in text or "more" in text
    run("predict", "odd.csv", "-m", odd, "--names", code=1)


def test_label_names_with_line_breaks_survive(odd: str) -> None:
    model = load_model(odd)
    model.classes_ = np.array(["a\nb", "c\r\nd", "e", "f", "g", "h"], dtype=object)
    save_model(model, odd)
    names = list(model.classes_)
    data = odd_data().without_labels()
    Path("plain.csv").write_bytes(csv_of(data))
    assert rows_of(run("predict", "plain.csv", "-m", odd).stdout_bytes.decode())[0][1:] == names
    assert as_json("info", odd)["label_names"] == names
    assert "a b" in run("explain", "plain.csv", "-m", odd).stdout


def csv_of(data: Dataset) -> bytes:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream)
    writer.writerow(data.feature_names)
    for row in np.asarray(data.X).tolist():
        writer.writerow(
            data.categories[j][int(v)] if j in data.categories else v for j, v in enumerate(row)
        )
    return stream.getvalue().encode()


def test_data_without_labels_and_with_missing_ones(odd: str) -> None:
    Path("plain.csv").write_bytes(csv_of(odd_data()))
    expected = run("predict", "odd.csv", "-m", odd).stdout
    assert run("predict", "plain.csv", "-m", odd).stdout == expected
    piped = ("predict", "-", "--format", "csv", "-m", odd)
    assert run(*piped, stdin=csv_of(odd_data())).stdout == expected
    # Weka writes question marks for labels that are to be predicted.
    save_dataset(odd_data(), "odd.arff")
    lines = Path("odd.arff").read_text().splitlines()
    start = lines.index("@data") + 1
    unknown = ",".join("?" * len(ODD))
    rows = [re.sub(r"(,[01]){6}$", f",{unknown}", line) for line in lines[start:]]
    assert all(row.endswith(unknown) for row in rows)
    Path("unknown.arff").write_text("\n".join([*lines[:start], *rows]))
    assert run("predict", "unknown.arff", "-m", odd).stdout == expected
    assert "missing" in run("evaluate", "unknown.arff", "-m", odd, code=1).stderr


def test_columns_in_another_order(odd: str) -> None:
    rows = rows_of(Path("odd.csv").read_text())
    with Path("turned.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows(row[::-1] for row in rows)
    outcome = run("predict", "turned.csv", "-m", odd)
    assert outcome.stdout == run("predict", "odd.csv", "-m", odd).stdout
    assert "note: features of turned are in another order; they are matched by name" in (
        outcome.stderr
    )
    assert run("predict", "turned.csv", "-m", odd, "--quiet").stderr == ""
    assert (
        as_json("evaluate", "turned.csv", "-m", odd)["measures"]
        == (as_json("evaluate", "odd.csv", "-m", odd)["measures"])
    )


def test_categories_that_look_like_numbers_are_categories_again() -> None:
    rows = ["zip,size,y,z", *(f"{100 + i % 3},{i},{int(i % 3 == 1)},{i % 2}" for i in range(30))]
    Path("a.csv").write_text("\n".join(rows))
    train("a.csv", "m.json.gz", "--labels", -2, "--nominal", "zip")
    assert load_model("m.json.gz")._schema.nominal.tolist() == [True, False]
    expected = run("predict", "a.csv", "-m", "m.json.gz", "--nominal", "zip").stdout
    assert run("predict", "a.csv", "-m", "m.json.gz").stdout == expected
    raw = Path("a.csv").read_bytes()
    piped = run("predict", "-", "--format", "csv", "-m", "m.json.gz", stdin=raw)
    assert piped.stdout == expected


def test_numeric_features_can_be_declared_categorical() -> None:
    save_dataset(make_multilabel(50, 3, 2, random_state=1), "a.npz")
    data = load_dataset("a.npz")
    train("a.npz", "m.json.gz", "--categorical-features", data.feature_names[1])
    assert load_model("m.json.gz")._schema.nominal.tolist() == [False, True, False]
    run("evaluate", "a.npz", "-m", "m.json.gz")
    outcome = run("train", "a.npz", "-m", "m", "--categorical-features", "no", code=1)
    assert 'names "no", which is not a feature' in outcome.stderr


def test_libsvm_files_may_lack_what_is_zero() -> None:
    Path("train.svm").write_text("1,3 1:1 5:2\n2 2:1\n1 1:1\n3 5:1 4:1\n" * 5)
    Path("test.svm").write_text("1 2:1\n 1:1\n")
    train("train.svm", "m.json.gz")
    assert as_json("info", "m.json.gz")["label_names"] == ["1", "2", "3"]
    assert len(rows_of(run("predict", "test.svm", "-m", "m.json.gz").stdout)) == 3
    assert as_json("evaluate", "test.svm", "-m", "m.json.gz")["examples"] == 2
    Path("plain.svm").write_text("2:1\n1:1\n")
    predicted = run("predict", "plain.svm", "-m", "m.json.gz").stdout
    assert predicted == run("predict", "test.svm", "-m", "m.json.gz").stdout
    Path("more.svm").write_text("1 9:1\n")
    assert '"feature 9" ' not in run("predict", "test.svm", "-m", "m.json.gz").stdout
    refused = run("predict", "more.svm", "-m", "m.json.gz", code=1).stderr
    assert '"feature 6"' in refused


def test_columns_can_be_ignored() -> None:
    Path("a.csv").write_text("id,x,y\n" + "".join(f"n{i},{i},{i % 2}\n" for i in range(20)))
    train("a.csv", "m.json.gz", "--labels", "y", "--ignore", "id")
    assert as_json("info", "m.json.gz")["feature_names"] == ["x"]
    refused = run("predict", "a.csv", "-m", "m.json.gz", code=1).stderr
    assert 'feature "id" is not known to the model; leave it out with --ignore' in refused
    assert len(rows_of(run("predict", "a.csv", "-m", "m.json.gz", "--ignore", "id").stdout)) == 21
    refused = run("predict", "a.csv", "-m", "m.json.gz", "--ignore", "idx", code=1).stderr
    assert 'did you mean "id"?' in refused


@pytest.mark.parametrize("loss", ["example_logistic", "label_logistic", "labelset_softmax"])
def test_numbers_of_predictions(loss: str) -> None:
    data = make_multilabel(40, 4, 3, random_state=1)
    save_dataset(data, "a.parquet")
    train("a.parquet", "m.json.gz", "--loss", loss)
    model = load_model("m.json.gz")
    X = load_dataset("a.parquet").X
    with pytest.warns(UserWarning, match="feature names"):
        scores, likely = model.decision_function(X), model.predict_proba(X)
    for option, name, expected in (
        ("--scores", "scores", scores),
        ("--proba", "probabilities", likely),
    ):
        rows = rows_of(run("predict", "a.parquet", "-m", "m.json.gz", option).stdout)
        np.testing.assert_array_equal(np.array(rows[1:], dtype=float)[:, 1:], expected)
        found = as_json("predict", "a.parquet", "-m", "m.json.gz", option)
        assert [list(example[name].values()) for example in found] == expected.tolist()
        assert [example["example"] for example in found] == list(range(1, 41))
    names = run("predict", "a.parquet", "-m", "m.json.gz", "--names").stdout
    sets = as_json("predict", "a.parquet", "-m", "m.json.gz")
    assert [row[1] for row in rows_of(names)[1:]] == [";".join(s["labels"]) for s in sets]
    lines = run("predict", "a.parquet", "-m", "m.json.gz", "--json-lines").stdout
    assert [json.loads(line) for line in lines.splitlines()] == sets
    if loss == "label_logistic":
        run("explain", "a.parquet", "-m", "m.json.gz")
        refused = run("predict", "a.parquet", "-m", "m.json.gz", "--top", 2, code=1)
        assert "label-wise loss" in refused.stderr
        return
    top = as_json("predict", "a.parquet", "-m", "m.json.gz", "--top", 2)
    explained = as_json("explain", "a.parquet", "-m", "m.json.gz", "--top", 2)["label_sets"]
    for own, other in zip(explained, top[0]["label_sets"], strict=True):
        assert own["labels"] == other["labels"]
        assert own["probability"] == pytest.approx(other["probability"])
    shares = np.exp([-own["loss"] for own in explained])
    ratio = explained[0]["probability"] / explained[1]["probability"]
    assert shares[0] / shares[1] == pytest.approx(ratio)
    assert all(len(example["label_sets"]) == 2 for example in top)
    rows = rows_of(run("predict", "a.parquet", "-m", "m.json.gz", "--top", 2).stdout)
    assert rows[0] == ["example", "rank", "probability", *data.label_names]
    assert [row[:2] for row in rows[1:3]] == [["1", "1"], ["1", "2"]]
    assert float(rows[1][2]) == top[0]["label_sets"][0]["probability"]
    named = rows_of(run("predict", "a.parquet", "-m", "m.json.gz", "--top", 2, "--names").stdout)
    assert named[0] == ["example", "rank", "probability", "labels"]
    assert named[1][3] == ";".join(top[0]["label_sets"][0]["labels"])


def test_explanations_add_up_to_the_scores(odd: str) -> None:
    predicted = as_json("predict", "odd.csv", "-m", odd, "--scores")
    for i in (1, 17, 60):
        found = as_json("explain", "odd.csv", "-m", odd, "--example", i, "--top", 2)
        assert found["example"] == i
        assert found["scores"] == predicted[i - 1]["scores"]
        total = np.zeros(len(ODD))
        for rule in found["rules"]:
            total += [rule["scores"].get(name, 0.0) for name in ODD]
        assert total.tolist() == list(found["scores"].values())
        assert found["rules"][0]["rule"] == 0
        assert len(found["label_sets"]) == 2
        first, second = (entry["loss"] for entry in found["label_sets"])
        assert first <= second
    text = run("explain", "odd.csv", "-m", odd, "-e", 17).stdout
    assert text.startswith("predicted: {")
    assert "in general:" in text
    assert "[bold]x[/bold]" in text
    assert "has 60 examples" in run("explain", "odd.csv", "-m", odd, "-e", 61, code=2).output


def test_rules_are_filtered_and_sorted() -> None:
    save_dataset(make_multilabel(200, 8, 5, random_state=1), "a.csv")
    train("a.csv", "m.json.gz", "--n-rules", 30, "--loss", "label_logistic")
    model = load_model("m.json.gz")
    everything = as_json("rules", "m.json.gz")
    assert [rule["rule"] for rule in everything] == list(range(30))
    assert everything[0]["conditions"] == []
    assert everything[0]["text"].startswith("in general: ")
    for k, label in enumerate(model.classes_):
        found = [rule["rule"] for rule in as_json("rules", "m.json.gz", "--label", label)]
        assert found == [i for i, rule in enumerate(model.rules_) if rule.head[k] != 0]
    for j, feature in enumerate(model.feature_names_in_):
        found = [rule["rule"] for rule in as_json("rules", "m.json.gz", "--feature", feature)]
        assert found == [
            i for i, r in enumerate(model.rules_) if any(c.feature == j for c in r.conditions)
        ]
    coverage = [r["coverage"] for r in as_json("rules", "m.json.gz", "--sort", "coverage")]
    assert coverage == sorted((rule.coverage for rule in model.rules_), reverse=True)
    effects = [r["effect"] for r in as_json("rules", "m.json.gz", "--sort", "effect")]
    assert effects == sorted(effects, reverse=True)
    lengths = [len(r["conditions"]) for r in as_json("rules", "m.json.gz", "--sort", "length")]
    assert lengths == sorted(lengths)
    top = as_json("rules", "m.json.gz", "--top", 3, "--label", model.classes_[0])
    assert len(top) == 3
    assert json.loads(run("rules", "m.json.gz", "--format", "json").stdout) == everything
    run("rules", "m.json.gz", "--format", "csv", "--output", "rules.csv")
    assert len(rows_of(Path("rules.csv").read_text())) == 31
    near = model.classes_[0] + "x"
    refused = run("rules", "m.json.gz", "--label", near, code=1).stderr
    assert f'does not know "{near}"; did you mean "{model.classes_[0]}"?' in refused


def test_info_about_data() -> None:
    real_data("flags")
    found = as_json("info", DATA / "arff" / "flags.arff")
    assert found["kind"] == "data"
    assert [found[k] for k in ("examples", "features", "nominal_features", "labels")] == [
        *(194, 19, 9, 7)
    ]
    assert found["cardinality"] == pytest.approx(3.392, abs=1e-3)
    assert found["density"] == pytest.approx(found["cardinality"] / 7)
    assert found["missing_values"] == 0
    assert found["label_sets"] == 54
    assert found["bytes"] == (DATA / "arff" / "flags.arff").stat().st_size
    text = run("info", DATA / "flags.npz").stdout
    assert "examples: 194\n" in text
    assert "red = 153" in text
    raw = b"x,y,z\n1,0,1\n?,1,0\n"
    piped = as_json("info", "-", "--format", "csv", "--labels", 2, stdin=raw.replace(b"?", b"0"))
    assert piped["features"] == 1
    assert as_json("info", "-", "--format", "csv", "--labels", -2, stdin=raw)["missing_values"] == 1


def test_info_about_a_model(odd: str) -> None:
    found = as_json("info", odd)
    assert found["kind"] == "model"
    assert found["format_version"] == VERSION
    assert found["bytes"] == Path(odd).stat().st_size
    assert found["parameters"]["random_state"] == 1
    assert found["nominal_features"] == 1
    assert "estimator: " in run("info", odd).stdout


def test_a_single_label_and_a_single_example() -> None:
    Path("a.csv").write_text("x,y\n" + "".join(f"{i},{int(i > 5)}\n" for i in range(12)))
    train("a.csv", "m.json.gz", "--labels", "y")
    measures = as_json("evaluate", "a.csv", "-m", "m.json.gz")["measures"]
    assert list(measures) == list(MEASURES)
    assert measures["ranking_loss"] is None
    assert measures["subset_01"] == measures["hamming"] == 0.0
    assert measures["f1_micro"] == measures["f1_macro"] == measures["f1_example"] == 1.0
    assert measures["one_error"] == 0.5
    Path("zero.csv").write_text("x,y\n" + "".join(f"{i},{int(i > 8)}\n" for i in range(12)))
    measures = as_json("evaluate", "zero.csv", "-m", "m.json.gz")["measures"]
    assert measures["f1_micro"] == pytest.approx(2 / 3), "of the label, not of its absence"
    table = run("evaluate", "a.csv", "-m", "m.json.gz").stdout
    assert re.search(r"ranking_loss +-  lower +Ranking loss\n", table)
    Path("one.csv").write_text("x\n3\n")
    assert run("predict", "one.csv", "-m", "m.json.gz").stdout == "example,y\n1,0\n"
    assert run("predict", "one.csv", "-m", "m.json.gz", "--names").stdout == "example,labels\n1,\n"
    train("a.csv", "m.json.gz", "--labels", "y", "--n-rules", 1)
    assert [rule["rule"] for rule in as_json("rules", "m.json.gz")] == [0]
    assert as_json("rules", "m.json.gz", "--feature", "x") == []


def test_warnings_are_one_line_and_quiet_hides_them() -> None:
    Path("a.csv").write_text("x,y\n0,0\n0,1\n")
    arguments = ("train", "a.csv", "-m", "m.json.gz", "--labels", "y", "--no-bootstrap")
    outcome = run(*arguments)
    assert re.fullmatch(r"warning: Training ended with \d+ of 1000 rules: .*\n", outcome.stderr)
    quiet = run(*arguments, "--quiet")
    assert (quiet.stdout, quiet.stderr) == ("", "")
    assert json.loads(run(*arguments, "--quiet", "--json").stdout)["labels"] == 1


@pytest.mark.parametrize("command", [*COMMANDS, *(f"experiment {name}" for name in EXPERIMENTS)])
def test_help_has_an_example(command: str) -> None:
    outcome = run(*command.split(), "--help")
    assert re.search(rf"Examples?:\s+(\S.*\| )?labelboost {command}", outcome.stdout)
    for option in ("--json", "--quiet"):
        assert option in outcome.stdout


def test_help_of_all_commands() -> None:
    outcome = run("--help")
    for text in (*COMMANDS, "experiment", "labelboost train", "--install-completion"):
        assert text in outcome.stdout


def test_demo_as_json() -> None:
    found = as_json("demo", "--rules", 5, "--labels", 4)
    assert [model["rules"] for model in found["models"]] == [5, 5, 5]
    assert "trained" not in run("demo", "--rules", 5, "--labels", 4, "--quiet").stdout


ERRORS: list[tuple[str, str]] = [
    ("train no.csv -m new.json.gz", 'there is no data set at no.csv; did you mean "odd.csv"?'),
    ("train a.csv -m new.json.gz", "pass --labels (their names"),
    ("train a.csv -m new.json.gz --labels zz", 'label "zz" is not one of its columns'),
    ("train a.csv -m new.json.gz --labels zz*", 'no column starts with "zz"'),
    ("train a.csv -m new.json.gz --labels 9", "9 of its 3 columns cannot be labels"),
    ("train a.csv -m new.json.gz --labels y --labels y", 'labels lists "y" twice'),
    ("train a.csv -m new.json.gz --labels no.xml", "there is no label file at no.xml"),
    ("train a.csv -m no/new.json.gz --labels y", "there is no folder"),
    ("train a.csv -m folder --labels y", "it is a folder"),
    ("train folder -m new.json.gz --format csv", "folder is a folder, not a data set"),
    ("train odd.json.gz -m new.json.gz", "or pass --format"),
    ("train a.csv -m new.json.gz --format xls", 'there is no format "xls"'),
    ("train bad.csv -m new.json.gz --labels y", "bad.csv, line 3, column 2"),
    ("train latin.csv -m new.json.gz --labels y", "such as --encoding latin-1"),
    ("train a.csv -m new.json.gz --labels y --encoding no", "there is no such text encoding"),
    ("train a.csv -m new.json.gz --labels y --delimiter ab", "it must be one character"),
    ("train a.csv -m new.json.gz --labels y --nominal q", '--nominal names "q", which is not'),
    ("train a.csv -m new.json.gz --labels y --zero-based yes", "--zero-based does not apply"),
    ("train a.svm -m new.json.gz --labels y", "--labels does not apply to libsvm files"),
    ("train a.svm -m new.json.gz --nominal y", "--nominal does not apply to libsvm files"),
    ("train a.svm -m new.json.gz --delimiter ;", "--delimiter does not apply to libsvm files"),
    ("train a.csv -m new.json.gz --labels y --ignore y", "which is not a feature but a label"),
    ("train a.csv -m new.json.gz --labels y --ignore x --ignore z", "no features are left"),
    ("train weka.arff -m new.json.gz", "pass --labels 1 if they are the first columns"),
    ("train a.csv -m new.json.gz --labels y --valid odd.csv", "not one of its columns"),
    ("predict a.csv -m no.json.gz", "no.json.gz: No such file or directory"),
    ("predict a.csv -m a.csv", "a.csv is not a Labelboost model"),
    ("predict a.csv -m odd.json.gz", 'features "x", "z", "y" are not known to the model'),
    ("predict odd.csv -m odd.json.gz -o no/out.csv", "there is no folder"),
    ("predict odd.csv -m odd.json.gz -o folder", "it is a folder"),
    ("evaluate a.csv -m odd.json.gz", "is not one of its columns"),
    ("evaluate plain.csv -m odd.json.gz", "is not one of its columns"),
    ("rules a.csv", "a.csv is not a Labelboost model"),
    ("rules odd.json.gz --feature q", '--feature: the model does not know "q"'),
    ("info no.csv", "there is no file at no.csv"),
    ("info folder", "folder is a folder"),
    ("info cut.json.gz", "is not a Labelboost model"),
    ("experiment tables folder", "no results"),
]
USAGE: list[tuple[str, str]] = [
    ("train odd.csv", "Missing option '--model'"),
    ("train -m new.json.gz", "Missing argument"),
    ("train odd.csv -m -", "a model needs a file of its own"),
    ("train - -m new.json.gz", "choose one of arff, libsvm, csv, tsv, parquet, npz"),
    ("train - -m new.json.gz --format csv --valid -", "only DATA can be standard input"),
    ("train odd.csv -m new.json.gz --no-such-thing", "No such option"),
    ("train odd.csv -m new.json.gz --early-stopping loss", "add --valid DATA, or --validation-fr"),
    (
        "train odd.csv -m new.json.gz --valid odd.csv --validation-fraction 0.1",
        "there are validation data already",
    ),
    ("predict odd.csv -m -", "a model is read from a file"),
    ("predict odd.csv -m odd.json.gz --proba --scores", "choose one of these"),
    ("predict odd.csv -m odd.json.gz --top 0", "--top"),
    ("predict odd.csv -m odd.json.gz --proba --names", "numbers, which have no names"),
    ("predict odd.csv -m odd.json.gz --json --json-lines", "choose one of these"),
    ("evaluate odd.csv -m odd.json.gz --measure hammin", 'did you mean "hamming"?'),
    ("rules odd.json.gz --sort size", "size"),
    ("explain odd.csv -m odd.json.gz --example 0", "--example"),
    ("nonsense", "No such command 'nonsense'"),
]


@pytest.fixture
def bad_files(folder: Path) -> None:
    save_dataset(odd_data(), "odd.csv")
    train("odd.csv", "odd.json.gz", "--quiet")
    (folder / "folder").mkdir()
    Path("plain.csv").write_bytes(csv_of(odd_data()))
    Path("a.csv").write_text("x,z,y\n1,2,0\n2,3,1\n")
    Path("bad.csv").write_text("x,y\n1,0\n2,maybe\n")
    Path("latin.csv").write_bytes("größe,y\n1,0\n".encode("latin-1"))
    Path("a.svm").write_text("1 1:1\n")
    Path("weka.arff").write_text(
        "@relation 'a: -C 1-weka.filters.x'\n@attribute a {0,1}\n@attribute b real\n@data\n1,2\n"
    )
    Path("cut.json.gz").write_bytes(Path("odd.json.gz").read_bytes()[:-20])


@pytest.mark.usefixtures("bad_files")
def test_bad_input_is_one_line_and_leaves_no_file() -> None:
    before = sorted(path.name for path in Path().rglob("*"))
    for command, message in ERRORS:
        outcome = run(*command.split(), code=1)
        assert message in outcome.stderr, command
        assert sorted(path.name for path in Path().rglob("*")) == before, command


@pytest.mark.usefixtures("bad_files")
def test_bad_usage_has_exit_code_2() -> None:
    for command, message in USAGE:
        outcome = run(*command.split(), code=2)
        assert outcome.stdout == "", command
        assert message in " ".join(outcome.stderr.replace("│", " ").split()), command
    assert not Path("new.json.gz").exists()


def test_names_that_a_model_cannot_have_are_refused_before_training() -> None:
    data = make_multilabel(20, 2, 2, random_state=1)
    save_dataset(replace(data, label_names=("a", "a")), "a.npz")
    refused = run("train", "a.npz", "-m", "m.json.gz", code=1).stderr
    assert 'the label "a" occurs twice' in refused


@pytest.mark.parametrize("content", [b"", b"[" * 3000, b"\x1f\x8b\x08" + b"x" * 40, b"{}\n"])
def test_info_about_anything_else_is_an_error(content: bytes) -> None:
    for name in ("a.json.gz", "a.csv.gz", "a.npz"):
        Path(name).write_bytes(content)
        run("info", name, "--labels", "y", code=1)
        Path(name).write_bytes(gzip.compress(content))
        run("info", name, "--labels", "y", code=1)


def test_errors_about_standard_input() -> None:
    def message(stdin: bytes, *options: str) -> str:
        arguments = ("train", "-", "--format", "csv", "-m", "m.json.gz", *options)
        return str(run(*arguments, stdin=stdin, code=1).stderr)

    assert message(b"x,y\n1,no\n", "--labels", "y").startswith("error: standard input, line 2,")
    assert "standard input: the file is empty" in message(b"")
    unknown = message(b"x,y\n1,0\n")
    assert "standard input: nothing says which columns are labels; pass --labels" in unknown
    assert ".xml" not in unknown


def test_advice_is_translated_as_readers_give_it() -> None:
    """Every phrase that is replaced occurs in the code of the readers."""
    folder = Path(labelboost.data.__file__).parent
    text = " ".join(path.read_text() for path in folder.glob("*.py"))
    joined = re.sub(r'"\s*\n\s*f?"', "", text).replace("\\", "")
    for phrase in REMEDIES:
        if phrase.endswith(("does not apply", "labels=-")):
            continue  # put together when it is needed
        assert phrase in joined.replace("f'", "'"), phrase


def test_what_fails_late_replaces_nothing(odd: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run("predict", "odd.csv", "-m", odd, "-o", "out.csv")
    kept = {name: Path(name).read_bytes() for name in ("out.csv", odd)}

    def fail(*_: object) -> Any:
        raise OSError(28, "No space left on device", "out.csv")

    monkeypatch.setattr("labelboost.files.os.fsync", fail)
    outcome = run("predict", "odd.csv", "-m", odd, "-o", "out.csv", code=1)
    assert outcome.stderr == "error: out.csv: No space left on device\n"
    run("train", "odd.csv", "-m", odd, "--n-rules", 2, "--quiet", code=1)
    assert kept == {name: Path(name).read_bytes() for name in kept}
    assert not list(Path().glob(".labelboost-*"))


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (MemoryError(), 1, "error: not enough memory"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (ValueError("two\nlines \x1b[31m"), 1, "error: two lines \\x1b[31m"),
        (ImportError("no pyarrow"), 1, "error: no pyarrow"),
    ],
)
def test_whatever_happens_is_one_line(
    odd: str, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, message: str
) -> None:
    def fail(*_: object, **__: object) -> Any:
        raise error

    monkeypatch.setattr(predict_module, "load_examples", fail)
    outcome = run("predict", "odd.csv", "-m", odd, code=code)
    assert outcome.stderr.strip() == message
    assert outcome.stdout == ""


def test_validation_data_go_to_estimators_that_want_them(
    odd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, Any] = {}
    base = ESTIMATORS["rules"]

    class Listening(base):  # type: ignore[misc, valid-type]
        def fit(self, X: Any, Y: Any, sample_weight: Any = None, eval_set: Any = None) -> Any:
            seen["eval_set"] = eval_set
            return super().fit(X, Y, sample_weight)

    data = load_dataset("odd.csv")
    model = Listening(n_rules=2, categorical_features=data.nominal_indices)
    train_module._fit(model, data, data, {})
    assert seen["eval_set"] == (data.X, data.Y)
    train_module._fit(model, data, None, {})
    assert seen["eval_set"] is None
