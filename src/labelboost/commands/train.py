"""`labelboost train`: from a data file to a model file."""

# Annotations are evaluated at once here, as those of the command mention local variables.
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from labelboost import save_model
from labelboost.commands.command import Reporting, command
from labelboost.commands.estimators import ESTIMATORS, Registry
from labelboost.commands.evaluate import measure_all, measures_text
from labelboost.commands.matching import columns_of_data
from labelboost.commands.models import load_labelled
from labelboost.commands.parameter_options import (
    ParameterValues,
    parameter_options,
    parse_parameters,
)
from labelboost.commands.reading import DataArgument, Reading, for_training
from labelboost.commands.streams import STANDARD, check_target, json_text, write_result
from labelboost.data import Dataset
from labelboost.data.files import nearest, show
from labelboost.estimators.base import BoostingClassifier
from labelboost.estimators.naming import name_columns


def train_command(estimators: Registry = ESTIMATORS) -> Callable[..., None]:
    """Make the command, with options for all parameters of these estimators."""
    default = next(iter(estimators))

    def complete(incomplete: str) -> list[str]:
        return [name for name in estimators if name.startswith(incomplete)]

    def train(
        data: DataArgument,
        model: Annotated[
            Path,
            typer.Option("--model", "-m", help="File to write the model to, such as m.json.gz."),
        ],
        valid: Annotated[
            Path | None,
            typer.Option(help="Data to validate the model with, read like DATA.", metavar="DATA"),
        ] = None,
        estimator: Annotated[
            str,
            typer.Option(help=f"One of: {', '.join(estimators)}.", autocompletion=complete),
        ] = default,
        categorical_features: Annotated[
            list[str] | None,
            typer.Option(
                help="A numeric feature whose values are categories, in addition to the nominal "
                "ones of the data; may be repeated."
            ),
        ] = None,
        *,
        reporting: Reporting,
        reading: Reading,
        parameters: ParameterValues,
    ) -> None:
        """Train a model on a data file and save it.

        Examples:

        labelboost train emotions.arff --model emotions.json.gz

        labelboost train films.csv --labels 'genre_*' -m m.json.gz --valid more.csv

        labelboost train yeast.npz -m m.json.gz --loss labelset_softmax --n-jobs -1

        cat films.csv | labelboost train - --format csv --labels -6 -m m.json.gz
        """
        if estimator not in estimators:
            raise typer.BadParameter(
                f"{show(estimator)} is not one of {', '.join(estimators)}"
                f"{nearest(estimator, tuple(estimators))}",
                param_hint="--estimator",
            )
        settings = parse_parameters(parameters, estimator, estimators)
        _check_validation(valid, settings)
        if model == STANDARD:
            raise typer.BadParameter("a model needs a file of its own", param_hint="--model")
        if data == STANDARD and valid == STANDARD:
            raise typer.BadParameter("only DATA can be standard input", param_hint="--valid")
        check_target(model)
        dataset = for_training(reading.load(data))
        _check_names(dataset)
        validation = None if valid is None else _load_validation(valid, dataset, reading, reporting)
        settings["categorical_features"] = _categorical(dataset, categorical_features or [])
        fitted = estimators[estimator](**settings, verbose=int(not reporting.quiet))
        start = time.perf_counter()
        _fit(fitted, dataset, validation, settings)
        seconds = time.perf_counter() - start
        name_columns(
            fitted,
            feature_names=dataset.feature_names,
            label_names=dataset.label_names,
            categories=dataset.categories,
        )
        measures = None if validation is None else measure_all(fitted, validation)
        # The display was a matter of this command, not of the model.
        fitted.set_params(verbose=0)
        save_model(fitted, model)
        _report(fitted, model, dataset, measures, seconds, reporting)

    train.__annotations__["parameters"] = parameter_options(estimators)
    return command(train)


def _check_names(dataset: Dataset) -> None:
    """Refuse, before training, names that a model cannot have."""
    named = [dataset.label_names, *dataset.categories.values()]
    for what, names in zip(("label", *("category" for _ in named[1:])), named, strict=True):
        repeated = [name for name, count in Counter(names).items() if count > 1]
        if repeated:
            raise ValueError(
                f"{dataset.name}: the {what} {show(repeated[0])} occurs twice; give them "
                "different names"
            )


def _load_validation(
    path: Path, dataset: Dataset, reading: Reading, reporting: Reporting
) -> Dataset:
    """Read validation data, and bring them into the form of the training data."""
    return load_labelled(path, columns_of_data(dataset), reading, reporting)


def _categorical(dataset: Dataset, more: list[str]) -> list[int] | None:
    position = {name: j for j, name in enumerate(dataset.feature_names)}
    for name in more:
        if name not in position:
            raise ValueError(
                f"--categorical-features names {show(name)}, which is not a feature of "
                f"{dataset.name}{nearest(name, dataset.feature_names)}"
            )
    return sorted({*dataset.nominal_indices, *(position[name] for name in more)}) or None


def _fit(
    model: BoostingClassifier,
    dataset: Dataset,
    validation: Dataset | None,
    settings: dict[str, Any],
) -> None:
    eval_set = None if validation is None else (validation.X, validation.Y)
    try:
        model.fit(dataset.X, dataset.Y, eval_set=eval_set)
    except (ValueError, TypeError) as error:
        # What is wrong with a parameter is told by its name.
        for name in settings:
            if str(error).startswith((f"{name} ", f"{name}=")):
                option = f"--{name.replace('_', '-')}"
                raise typer.BadParameter(str(error), param_hint=option) from error
        raise


def _check_validation(valid: Path | None, settings: dict[str, Any]) -> None:
    """Say in terms of options what the estimator would say in terms of arguments."""
    fraction = settings.get("validation_fraction")
    if valid is not None and fraction is not None:
        raise typer.BadParameter(
            "there are validation data already; leave out one of both",
            param_hint="--valid and --validation-fraction",
        )
    if valid is None and fraction is None and settings.get("early_stopping") is not None:
        raise typer.BadParameter(
            "it needs validation data: add --valid DATA, or --validation-fraction 0.1 for example",
            param_hint="--early-stopping",
        )


def _report(
    model: BoostingClassifier,
    path: Path,
    dataset: Dataset,
    measures: dict[str, float | None] | None,
    seconds: float,
    reporting: Reporting,
) -> None:
    if reporting.as_json:
        summary: dict[str, Any] = {
            "model": str(path),
            "estimator": type(model).__name__,
            "data": dataset.name,
            "examples": dataset.n_examples,
            "features": dataset.n_features,
            "labels": dataset.n_labels,
            "rules": len(model.rules_),
            "seconds": round(seconds, 3),
            "validation": measures,
        }
        write_result(json_text(summary))
    elif not reporting.quiet:
        lines = (
            f"{len(model.rules_)} rules from {dataset.n_examples} examples with "
            f"{dataset.n_features} features and {dataset.n_labels} labels in {seconds:.2f} s; "
            f"saved to {path}\n"
        )
        if measures is not None:
            lines += "\nOn the validation data:\n" + measures_text(measures)
        write_result(lines)
