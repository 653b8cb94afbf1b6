"""Options of `labelboost train` made from constructors, whatever the estimator."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from labelboost import RuleBoostingClassifier, load_model
from labelboost.commands.estimators import (
    ESTIMATORS,
    OTHERWISE,
    Kind,
    describe_parameters,
    kind_of,
    parameters_of,
)
from labelboost.commands.train import train_command
from labelboost.data import make_multilabel, save_dataset

WIDE = {"COLUMNS": "200", "TERMINAL_WIDTH": "200"}


class Stumps(RuleBoostingClassifier):
    """Another estimator.

    Parameters
    ----------
    n_stumps : int, default=7
        How many [of them].
    loss : {"example_logistic"}
        Just one.
    callbacks : list of callables or None
        Not for command lines.
    n_jobs : int or None
        Threads.
    verbose : int
        Progress.
    categorical_features : array-like
        Which.
    path : str or None
        Where.
    bootstrap : bool
        Samples.
    """

    def __init__(
        self,
        *,
        n_stumps: int = 7,
        loss: Literal["example_logistic"] = "example_logistic",
        callbacks: list[Callable[..., bool]] | None = None,
        n_jobs: int | None = 1,
        verbose: int = 0,
        categorical_features: Any = None,
        path: str | None = None,
        bootstrap: bool = True,
    ) -> None:
        super().__init__(
            n_rules=n_stumps, loss=loss, n_jobs=n_jobs, categorical_features=categorical_features
        )
        self.n_stumps, self.callbacks, self.path = n_stumps, callbacks, path


def app_of(registry: Any) -> typer.Typer:
    app = typer.Typer()
    app.command()(train_command(registry))
    return app


def train(registry: Any, *arguments: str) -> Any:
    return CliRunner().invoke(app_of(registry), [*arguments, "-m", "m.json.gz"], env=WIDE)


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    save_dataset(make_multilabel(60, 5, 3, random_state=1), "data.csv")
    return "data.csv"


@pytest.mark.parametrize("estimator", ESTIMATORS.values())
def test_every_parameter_is_an_option_or_said_otherwise(estimator: Any) -> None:
    parameters = parameters_of(estimator)
    missing = set(inspect.signature(estimator).parameters) - set(parameters) - set(OTHERWISE)
    assert not missing
    assert all(parameter.help for parameter in parameters.values())
    assert not (set(parameters) & set(OTHERWISE))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_defaults_can_be_written_out(data: str, name: str) -> None:
    arguments = []
    for parameter in parameters_of(ESTIMATORS[name]).values():
        if parameter.kind.is_flag:
            no = "" if parameter.default else "no-"
            arguments.append(f"--{no}{parameter.option[2:]}")
        else:
            arguments += [parameter.option, parameter.default_text()]
    outcome = train(ESTIMATORS, data, "--quiet", "--estimator", name, *arguments)
    assert outcome.exit_code == 0, outcome.output
    assert outcome.output == ""
    found = load_model("m.json.gz").get_params()
    expected = ESTIMATORS[name]().get_params()
    for other in OTHERWISE:
        found.pop(other, None)
        expected.pop(other, None)
    assert found == expected
    assert {k: type(v) for k, v in found.items()} == {k: type(v) for k, v in expected.items()}


def test_values_of_options_reach_the_model(data: str) -> None:
    arguments = (
        "--n-rules 4 --loss label_logistic --label-bins 3 --learning-rate 1 --no-bootstrap "
        "--max-features 0.5 --feature-bins 16 --random-state 7 --profile --decoding known"
    )
    outcome = train(ESTIMATORS, data, *arguments.split())
    assert outcome.exit_code == 0, outcome.output
    model = load_model("m.json.gz")
    expected = {
        "n_rules": 4,
        "loss": "label_logistic",
        "label_bins": 3,
        "learning_rate": 1,
        "bootstrap": False,
        "max_features": 0.5,
        "feature_bins": 16,
        "random_state": 7,
        "profile": True,
        "decoding": "known",
        "verbose": 0,
    }
    assert expected.items() <= model.get_params().items()
    assert type(model.label_bins) is int
    assert len(model.rules_) == 4


@pytest.mark.parametrize(
    ("arguments", "texts"),
    [
        (["--n-rules", "many"], ["--n-rules", '"many" is not allowed', "use an integer"]),
        (["--n-rules", "1.5"], ["--n-rules", '"1.5"', "use an integer"]),
        (["--n-rules", "1_000"], ["--n-rules", '"1_000"']),
        (["--loss", "labelset_sofmax"], ["--loss", 'did you mean "labelset_softmax"?']),
        (["--label-bins", "atuo"], ["--label-bins", "use auto, none or a number", '"auto"']),
        (["--label-bins", "None"], ["--label-bins", 'did you mean "none"?']),
        (["--l2", "nan"], ["--l2", '"nan" is not allowed; use a number']),
        (["--l2", "inf"], ["--l2", '"inf"']),
        (["--l2", "1e999"], ["--l2", '"1e999"']),
        (["--l2", "none"], ["--l2", '"none"']),
        (["--estimator", "rule"], ["--estimator", 'did you mean "rules"?']),
        (["--n-rules", "0"], ["--n-rules", "n_rules must be at least 1, got 0"]),
        (["--l2", "-1"], ["--l2", "l2 must be a finite number >= 0"]),
        (["--n-jobs", "0"], ["--n-jobs", "n_jobs must be None, a positive number"]),
        (["--n-stumps", "5"], ["No such option", "--n-stumps"]),
    ],
)
def test_wrong_values_are_errors_of_usage(
    data: str, arguments: list[str], texts: list[str]
) -> None:
    outcome = train(ESTIMATORS, data, *arguments)
    assert outcome.exit_code == 2
    assert outcome.stdout == ""
    for text in texts:
        assert text in " ".join(outcome.output.replace("│", " ").split())
    assert not Path("m.json.gz").exists()


BOTH = {"rules": RuleBoostingClassifier, "stumps": Stumps}


def test_a_parameter_of_another_estimator_is_refused(data: str) -> None:
    outcome = train(BOTH, data, "--n-stumps", "5")
    assert outcome.exit_code == 2
    shown = " ".join(outcome.output.replace("│", " ").split())
    assert "--n-stumps" in shown
    assert "parameter of --estimator stumps only, but the estimator is rules" in shown
    outcome = train(BOTH, data, "--estimator", "stumps", "--max-conditions", "5")
    assert outcome.exit_code == 2
    assert "parameter of --estimator rules only, but the estimator is stumps" in " ".join(
        outcome.output.replace("│", " ").split()
    )
    outcome = train(BOTH, data, "--estimator", "stumps", "--loss", "label_logistic")
    assert outcome.exit_code == 2, "each estimator has choices of its own"


def test_help_tells_estimators_apart() -> None:
    outcome = CliRunner().invoke(app_of(BOTH), ["--help"], env=WIDE)
    assert outcome.exit_code == 0
    shown = " ".join(outcome.output.replace("│", " ").split())
    assert "--estimator stumps only" in shown
    assert "--estimator rules only" in shown
    assert "How many [of them]. Default: 7." in shown
    assert "Default: none for rules, 1 for stumps." in shown
    assert "--callbacks" not in shown
    assert "--no-bootstrap" in shown


def test_what_cannot_be_written_is_no_option() -> None:
    parameters = parameters_of(Stumps)
    assert list(parameters) == ["n_stumps", "loss", "n_jobs", "path", "bootstrap"]
    assert parameters["path"].kind == Kind(optional=True, text=True)
    assert describe_parameters(Stumps)["callbacks"] == "Not for command lines."
    assert describe_parameters(int) == {}


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (int, Kind(number=int)),
        (bool, Kind(boolean=True)),
        (float | None, Kind(number=float, optional=True)),
        (int | float, Kind(number=float)),
        (Literal["a", "b"] | None, Kind(words=("a", "b"), optional=True)),
        (Literal["a"] | float | None, Kind(words=("a",), optional=True, number=float)),
        (int | np.random.RandomState | None, Kind(number=int, optional=True)),
        (bool | int, Kind(number=int, boolean=True)),
        (np.random.RandomState, None),
        (list[int] | None, None),
    ],
)
def test_types_of_parameters(annotation: Any, expected: Kind | None) -> None:
    assert kind_of(annotation) == expected


def test_values_are_parsed_by_their_form() -> None:
    kind = Kind(words=("auto",), optional=True, number=float, boolean=True)
    parsed = [kind.parse(text) for text in ("auto", "none", "true", "1", "1.0", "-2e-3", ".5")]
    assert parsed == ["auto", None, True, 1, 1.0, -0.002, 0.5]
    assert [type(value) for value in parsed[2:5]] == [bool, int, float]
    assert kind.describe() == "auto, true, false, none or a number"
    for text in ("", " 1", "1 ", "0x1", "nan", "inf", "1_0", "٣", "True", "AUTO"):
        with pytest.raises(ValueError, match="is not allowed; use auto"):
            kind.parse(text)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_survive(value: float) -> None:
    assert Kind(number=float).parse(repr(value)) == value


@given(st.integers())
def test_integers_survive(value: int) -> None:
    parsed = Kind(number=int).parse(str(value))
    assert parsed == value
    assert type(parsed) is int
