"""Competitors in experiments: what they predict, what is stored of them, limits and tables."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import label_ranking_loss
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeClassifier
from typer.testing import CliRunner

from labelboost import RuleBoostingClassifier, optional
from labelboost.cli import app
from labelboost.data import make_multilabel, save_dataset
from labelboost.experiments.adapters import (
    Chain,
    LabelPowerset,
    LinearChain,
    Native,
    NativeOrConstant,
)
from labelboost.experiments.cluster import DaskCluster
from labelboost.experiments.comparison import (
    Methods,
    costs,
    performance,
    ranks,
    versions,
    write_comparison,
)
from labelboost.experiments.competitors import COMPETITORS
from labelboost.experiments.configuration import read_configuration
from labelboost.experiments.executors import LocalProcesses
from labelboost.experiments.limits import Limits
from labelboost.experiments.measures import MEASURES
from labelboost.experiments.methods import METHODS
from labelboost.experiments.records import (
    Checkpoint,
    Failure,
    Result,
    Seconds,
    read_records,
    write_record,
)
from labelboost.experiments.rendering import Table
from labelboost.experiments.runner import run_experiment
from labelboost.experiments.tasks import Task, run_task
from labelboost.experiments.toml_tables import ConfigurationError

SMALL = """
folds = 2
n_rules = 5
variants = ["rules", "forest", "powerset-forest"]
[variant.forest]
estimator = "random-forest"
n_estimators = 3
[[data]]
embedded = "digits"
run_folds = [0]
"""

DATA = '[[data]]\nembedded = "digits"\n'


class Silent:
    """Listens to nothing."""

    def begin(self, tasks: list[Task], done: int) -> None: ...

    def tell(self, event: Any) -> None: ...


@pytest.fixture(autouse=True)
def _no_warnings_of_others() -> Iterator[None]:
    """Other libraries may use what is deprecated."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def configuration(folder: Path, text: str) -> Path:
    path = folder / "small.toml"
    path.write_text(text)
    return path


def example(n: int = 60) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    data = make_multilabel(2 * n, 6, 4, random_state=3)
    Y = np.column_stack([data.Y, np.zeros(2 * n, np.uint8), np.ones(2 * n, np.uint8)])
    return data.X[:n], Y[:n], data.X[n:]


@pytest.mark.parametrize("name", COMPETITORS)
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_every_competitor_learns_label_sets(name: str, storage: Any) -> None:
    # Labels that no or every example has are what many learners refuse.
    X, Y, X_test = example()
    method = COMPETITORS[name]
    size = {} if method.size is None else {method.size: 5}
    model = method.make({**method.defaults, **size, method.seed: 1}).fit(storage(X), Y)
    label_sets, probabilities = (f(storage(X_test)) for f in (model.predict, model.predict_proba))
    assert label_sets.shape == probabilities.shape == Y.shape
    assert set(np.unique(label_sets)) == {0, 1}
    assert ((probabilities >= 0.0) & (probabilities <= 1.0)).all()
    assert (label_sets[:, 4] == 0).all()
    assert (label_sets[:, 5] == 1).all()
    assert (probabilities[:, 4] < 0.5).all()
    assert (probabilities[:, 5] > 0.5).all()
    if "chain" not in name and "powerset" not in name:
        np.testing.assert_array_equal(label_sets, probabilities > 0.5)


def test_a_label_powerset_predicts_known_sets_only() -> None:
    X, Y, X_test = example()
    model = LabelPowerset(RandomForestClassifier(5, random_state=1), ()).fit(X, Y)
    known = {tuple(row) for row in Y}
    assert {tuple(row) for row in model.predict(X_test)} <= known
    np.testing.assert_array_equal(
        LabelPowerset(DecisionTreeClassifier(random_state=1), ()).fit(X, Y).predict(X), Y
    )
    # The marginal of a label is the share of the sets with it among the trees' leaves.
    forest = model._learner
    expected = np.zeros((len(X_test), Y.shape[1]))
    sets, classes = np.unique(Y, axis=0, return_inverse=True)
    for number, probability in enumerate(forest.predict_proba(X_test).T):
        expected += np.outer(probability, Y[classes.ravel() == number][0])
    np.testing.assert_allclose(model.predict_proba(X_test), expected, atol=1e-12)
    assert len(sets) == forest.predict_proba(X_test).shape[1]


@pytest.mark.parametrize("adapter", [Native, NativeOrConstant, LabelPowerset, Chain])
def test_labels_that_never_vary_need_no_learner(adapter: Any) -> None:
    X, Y, X_test = example()
    Y = Y[:, 4:]
    model = adapter(RandomForestClassifier(2, random_state=1), ()).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X_test), Y)
    np.testing.assert_array_equal(model.predict_proba(X_test), Y)


@pytest.mark.parametrize("adapter", [Native, NativeOrConstant, LabelPowerset, Chain])
def test_a_single_label_is_no_special_case(adapter: Any) -> None:
    X, Y, X_test = example()
    model = adapter(RandomForestClassifier(5, random_state=1), ()).fit(X, Y[:, :1])
    assert model.predict(X_test).shape == model.predict_proba(X_test).shape == (len(X_test), 1)
    np.testing.assert_array_equal(model.predict(X_test), model.predict_proba(X_test) > 0.5)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_linear_chains_get_a_column_for_each_category(storage: Any) -> None:
    # Only the middle one of three categories has the label: no linear function of the code.
    codes = np.tile([0.0, 1.0, 2.0], 40)
    X = storage(np.column_stack([codes, np.ones(120)]))
    Y = (codes == 1).astype(np.uint8)[:, None]
    model = LinearChain(LogisticRegression(C=1e3), [0]).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), Y)
    unseen = storage(np.array([[7.0, 1.0]]))
    assert model.predict(unseen).shape == (1, 1)
    assert (LinearChain(LogisticRegression(C=1e3), []).fit(X, Y).predict(X) != Y).any()


def test_results_of_competitors_are_like_ours(tmp_path: Path) -> None:
    experiment = read_configuration(configuration(tmp_path, SMALL))
    outcome = run_experiment(experiment, tmp_path / "out", LocalProcesses(2), Silent())
    assert (outcome.done, outcome.failed) == (3, 0)
    found = {record.variant: record for record in read_records(tmp_path / "out")}
    forest = found["forest"]
    assert isinstance(forest, Result)
    assert forest.estimator == "random-forest"
    assert forest.settings == {"n_estimators": 3, "random_state": 1}
    assert (forest.n_rules, forest.n_conditions, len(forest.checkpoints)) == (0, 0, 1)
    assert set(forest.measures) == set(MEASURES)
    assert forest.seconds.everything_else == forest.seconds.train > 0.0
    assert forest.seconds.predict > 0.0
    assert "scikit-learn" in forest.versions
    rules = found["rules"]
    assert isinstance(rules, Result)
    assert (rules.estimator, rules.n_rules) == ("rules", 5)
    second = run_experiment(experiment, tmp_path / "out", LocalProcesses(2), Silent())
    assert (second.done_before, second.done) == (3, 0)


def test_a_competitor_gives_what_its_library_gives(tmp_path: Path) -> None:
    task = read_configuration(configuration(tmp_path, SMALL)).tasks[1]
    first, second = run_task(task), run_task(task)
    assert first.measures == second.measures
    X, Y, X_test = example()
    model = METHODS["random-forest"].make({"n_estimators": 3, "random_state": 1}).fit(X, Y)
    plain = RandomForestClassifier(3, random_state=1).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X_test), plain.predict(X_test))


def test_the_softmax_over_label_sets_ranks_by_probabilities(tmp_path: Path) -> None:
    text = 'folds = 2\nn_rules = 5\n[variant.sets]\nloss = "labelset_softmax"\n' + DATA
    task = read_configuration(configuration(tmp_path, text)).tasks[0]
    data = task.source.load()
    train, test = next(KFold(2, shuffle=True, random_state=1).split(data.Y))
    model = RuleBoostingClassifier(n_rules=5, loss="labelset_softmax", random_state=1)
    probabilities = model.fit(data.X[train], data.Y[train]).predict_proba(data.X[test])
    expected = label_ranking_loss(data.Y[test], probabilities)
    assert run_task(task).measures["ranking_loss"] == pytest.approx(expected, rel=1e-5)


def test_results_from_before_there_were_methods_are_of_rules(tmp_path: Path) -> None:
    task = read_configuration(configuration(tmp_path, SMALL)).tasks[0]
    path = tmp_path / "out" / "digits" / "rules" / "fold-0.json"
    write_record(path, run_task(task))
    content = json.loads(path.read_text())
    assert content.pop("estimator") == "rules"
    path.write_text(json.dumps(content))
    text = SMALL.replace('"rules", "forest", "powerset-forest"', '"rules"')
    experiment = read_configuration(configuration(tmp_path, text))
    outcome = run_experiment(experiment, tmp_path / "out", LocalProcesses(1), Silent())
    assert outcome.done_before == 1


@pytest.mark.parametrize(
    ("text", "line", "parts"),
    [
        ('variants = ["random-forrest"]\n' + DATA, 1, ["'random-forrest'", "'random-forest'"]),
        ('[variant.a]\nestimator = "forest"\n' + DATA, 2, ["estimator 'forest'", "random-forest"]),
        ("[variant.a]\nestimator = 3\n" + DATA, 2, ["estimator must be a text"]),
        (
            '[variant.a]\nbase = "catboost"\nestimator = "rules"\n' + DATA,
            3,
            ["estimator 'catboost'"],
        ),
        ('[variant.a]\nbase = "random-forest"\nn_estimator = 5\n' + DATA, 3, ["'n_estimators'"]),
        ('[variant.a]\nbase = "xgboost-multi"\nmaxdepth = 5\n' + DATA, 3, ["'max_depth'"]),
        ('[variant.a]\nbase = "catboost"\niteration = 5\n' + DATA, 3, ["'iterations'"]),
        ('[variant.a]\nbase = "lightgbm-chain"\nnum_leave = 5\n' + DATA, 3, ["'num_leaves'"]),
        ('[variant.a]\nbase = "logistic-chain"\nL1_ratio = 5\n' + DATA, 3, ["'l1_ratio'"]),
        ('[variant.a]\nbase = "catboost"\nthread_count = 2\n' + DATA, 3, ["'thread_count'"]),
        ('[variant.a]\nbase = "random-forest"\nl2 = 1.0\n' + DATA, 3, ["'l2'"]),
        ('[variant.a]\nbase = "random-forest"\nn_estimators = 0\n' + DATA, 3, ["n_estimators"]),
        ('[variant.a]\nbase = "extra-trees"\nmax_depth = "x"\n' + DATA, 3, ["max_depth", "'x'"]),
        ('[variant.a]\nbase = "xgboost-multi"\nmax_depth = "x"\n' + DATA, 3, ["max_depth"]),
        ("time_limit = 0\n" + DATA, 1, ["time_limit", "from 1"]),
        ("memory_limit = 1.5\n" + DATA, 1, ["memory_limit", "1.5"]),
        ("[parameters]\nn_rules = 3\n" + DATA, 2, ["'n_rules'"]),
    ],
)
def test_errors_name_the_line_and_the_remedy(
    tmp_path: Path, text: str, line: int, parts: list[str]
) -> None:
    path = configuration(tmp_path, text)
    with pytest.raises(ConfigurationError) as caught:
        read_configuration(path)
    message = str(caught.value)
    assert message.startswith(f"{path}, line {line}: ")
    assert "\n" not in message
    for part in parts:
        assert part in message


def test_shared_parameters_are_for_our_own_models(tmp_path: Path) -> None:
    text = 'variants = ["rules", "random-forest"]\n[parameters]\nl2 = 2.0\n' + DATA
    ours, forest = read_configuration(configuration(tmp_path, text)).tasks[:2]
    assert ours.settings["l2"] == 2.0
    assert forest.settings == {"n_estimators": 300, "random_state": 1}
    assert forest.checkpoints == ()


def test_a_missing_library_is_named_with_its_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(name: str) -> Any:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(optional, "import_module", absent)
    path = configuration(tmp_path, 'variants = ["xgboost-multi"]\n' + DATA)
    result = CliRunner().invoke(app, ["experiment", "run", str(path)])
    assert result.exit_code == 1
    assert "xgboost" in result.output
    assert "pip install labelboost[comparison]" in result.output


def test_experiments_without_competitors_import_none() -> None:
    code = (
        "import sys; from labelboost.experiments import configuration, tasks; "
        "print([n for n in ('xgboost', 'lightgbm', 'catboost') if n in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("limit", "exceeded", "words"),
    [("memory_limit = 700", "memory", "700 MB"), ("time_limit = 2", "time", "2 s")],
)
def test_limits_end_a_task_and_not_the_run(
    tmp_path: Path, limit: str, exceeded: str, words: str
) -> None:
    # As many label sets as examples: 120 trees with a probability for each in every node.
    generator = np.random.default_rng(1)
    data = make_multilabel(2500, 8, 16, random_state=1)
    data = replace(data, Y=generator.integers(0, 2, (2500, 16)).astype(np.uint8))
    save_dataset(data, tmp_path / "many.npz")
    text = f"""
{limit}
folds = 2
n_rules = 2
run_folds = [0]
measures = ["subset_01"]
variants = ["powerset-forest", "rules"]
[[data]]
path = "many.npz"
"""
    experiment = read_configuration(configuration(tmp_path, text))
    outcome = run_experiment(experiment, tmp_path / "out", LocalProcesses(1), Silent())
    assert (outcome.done, outcome.failed) == (2, 0)
    forest, rules = read_records(tmp_path / "out")
    assert isinstance(rules, Result)
    assert isinstance(forest, Failure)
    assert forest.exceeded == exceeded
    assert words in forest.error
    # It would end in the same way again, but for another limit.
    again = run_experiment(experiment, tmp_path / "out", LocalProcesses(1), Silent())
    assert (again.done_before, again.done) == (2, 0)
    other = replace(
        experiment, tasks=tuple(replace(task, limits=Limits(1)) for task in experiment.tasks)
    )
    more = run_experiment(other, tmp_path / "out", LocalProcesses(1), Silent())
    assert (more.done_before, more.done) == (1, 1)


def test_a_cluster_refuses_limits_it_cannot_keep(tmp_path: Path) -> None:
    tasks = read_configuration(configuration(tmp_path, "time_limit = 5\n" + SMALL)).tasks
    cluster = DaskCluster.__new__(DaskCluster)  # before it has anything to do with a scheduler
    with pytest.raises(ValueError, match="time_limit"):
        next(cluster.run(tasks))


def result(data: str, variant: str, loss: float, *, fold: int = 0, size: int = 90) -> Result:
    ours = variant.startswith("rules")
    return Result(
        data=data,
        variant=variant,
        fold=fold,
        n_folds=10,
        seed=1,
        settings={"random_state": 1, **({"l2": 5.0} if ours else {"n_estimators": 300})},
        n_train=size,
        n_test=10,
        n_features=3,
        n_labels=2,
        n_rules=5 if ours else 0,
        n_conditions=0,
        seconds=Seconds(9.0, 2.0 if ours else 4.0, 0.5, 0.0, 0.0, 9.0),
        peak_memory_mb=123.4,
        checkpoints=(Checkpoint(0, 9.0, {"subset_01": loss, "f1_micro": loss, "mine": 1.0}),),
        versions={"labelboost": "1.0", "scikit-learn": "1.2", "xgboost": "3.4"},
        machine={},
        finished="",
        estimator="rules" if ours else variant,
    )


def failed(data: str, variant: str, exceeded: str) -> Failure:
    return Failure(data, variant, 0, "", "", "", exceeded, {"estimator": variant})


def rows_of(table: Table, section: int = 0) -> dict[str, list[str]]:
    return {row[0].text: [cell.text for cell in row[1:]] for row in table.sections[section].rows}


RECORDS = [
    result("big", "rules", 0.5, size=900),
    result("big", "random-forest", 0.4, size=900),
    failed("big", "powerset-forest", "memory"),
    result("tiny", "rules", 0.2),
    result("tiny", "random-forest", 0.3),
    result("tiny", "powerset-forest", 0.3),
]


def test_losses_stand_side_by_side_and_failures_stay() -> None:
    table = performance("losses", Methods(RECORDS), ["subset_01"])
    assert [column.title for column in table.columns] == ["method", "tiny", "big", "rank"]
    assert rows_of(table) == {
        "boosted rules": ["20.00", "50.00", "1.50"],
        "random forest": ["30.00", "40.00", "1.75"],
        "label powerset forest": ["30.00", "no memory", "2.75"],
    }
    bold = [[cell.bold for cell in row[1:]] for row in table.sections[0].rows]
    assert bold == [[True, False, True], [False, True, False], [False, False, False]]
    assert "limit of memory" in table.caption
    assert "limit of time" not in table.caption
    better_high = performance("x", Methods(RECORDS), ["f1_micro"])
    assert rows_of(better_high)["boosted rules"][-1] == "2.00"
    unknown = performance("x", Methods(RECORDS), ["mine"])
    assert not any(cell.bold for row in unknown.sections[0].rows for cell in row)


def test_what_is_incomplete_has_no_rank() -> None:
    records = [*RECORDS, result("tiny", "rules", 0.4, fold=1)]
    table = performance("losses", Methods(records), ["subset_01"])
    assert {row[-1] for row in rows_of(table).values()} == {"–"}
    assert [cell.folds for cell in table.sections[0].rows[1][1:3]] == ["1/2", "1/2"]
    assert rows_of(table)["boosted rules"][0] == "30.00"


def test_ranks_tell_what_is_good_at_what() -> None:
    table = ranks(Methods(RECORDS), ["subset_01", "f1_micro", "mine"])
    assert [column.key for column in table.columns] == ["method", "subset_01", "f1_micro"]
    assert rows_of(table)["boosted rules"] == ["1.5", "2.0"]
    assert rows_of(table)["random forest"] == ["1.8", "1.8"]
    assert "2 of 2 data sets" in table.caption


def test_costs_are_absolute_and_relative() -> None:
    table = costs(Methods(RECORDS), "rules")
    assert rows_of(table, 0)["random forest"] == ["4", "4", ""]
    assert rows_of(table, 1)["random forest"] == ["2", "2", "2"]
    assert rows_of(table, 1)["label powerset forest"] == ["2", "no memory", "2"]
    assert rows_of(table, 2)["boosted rules"] == ["0.5", "0.5", ""]
    assert rows_of(table, 3)["boosted rules"] == ["123", "123", ""]
    reverse = costs(Methods(RECORDS), "random-forest")
    assert rows_of(reverse, 1)["boosted rules"] == ["0.5", "0.5", "0.5"]


def test_versions_and_settings_are_told() -> None:
    rows = rows_of(versions(Methods(RECORDS)))
    assert rows["boosted rules"] == ["labelboost 1.0", "l2=5.0"]
    assert rows["random forest"] == ["scikit-learn 1.2", "n_estimators=300"]


def test_odd_names_do_no_harm(tmp_path: Path) -> None:
    odd = "<script>|é\n\"'"
    write_comparison([result(odd, "rules, " + odd, 0.1), *RECORDS], tmp_path)
    page = (tmp_path / "losses.html").read_text("utf-8")
    assert "<script>" not in page
    lines = (tmp_path / "losses.md").read_text("utf-8").splitlines()
    unescaped = {line.replace("\\|", "").count("|") for line in lines if line.startswith("|")}
    assert len(unescaped) == 1


def test_the_command_writes_all_tables(tmp_path: Path) -> None:
    for record in RECORDS:
        write_record(tmp_path / record.data / record.variant / "fold-0.json", record)
    command = ["experiment", "compare", str(tmp_path)]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0
    names = {path.name for path in (tmp_path / "reports").iterdir()}
    formats = ("md", "csv", "tex", "html")
    tables = ("losses", "measures", "ranks", "costs", "versions")
    assert names == {f"{table}.{extension}" for table in tables for extension in formats}
    wrong = CliRunner().invoke(app, [*command, "--reference", "forest"])
    assert wrong.exit_code == 1
    assert "random-forest" in wrong.output
    empty = CliRunner().invoke(app, ["experiment", "compare", str(tmp_path / "none")])
    assert empty.exit_code == 1
    assert "no results" in empty.output
