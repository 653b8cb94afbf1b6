"""Models for a command, and data that fit them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from labelboost import load_model
from labelboost.commands.command import Reporting
from labelboost.commands.matching import match_features, match_labels
from labelboost.commands.reading import Reading
from labelboost.commands.streams import STANDARD
from labelboost.data import Dataset
from labelboost.estimators.base import BoostingClassifier
from labelboost.estimators.naming import Columns, columns_of

ModelOption = Annotated[
    Path, typer.Option("--model", "-m", help="A file that `labelboost train` has written.")
]


def open_model(path: Path) -> tuple[BoostingClassifier, Columns]:
    """Load a model and tell what its columns are called."""
    if path == STANDARD:
        raise typer.BadParameter("a model is read from a file", param_hint="--model")
    model: BoostingClassifier = load_model(path)._by_labels()
    return model, columns_of(model)


def load_labelled(path: Path, columns: Columns, reading: Reading, reporting: Reporting) -> Dataset:
    """Read data with features and labels as the model has them."""
    sparse_file = reading.format_of(path) == "libsvm"
    dataset = reading.load_like(path, columns)
    dataset = match_features(dataset, columns, reporting.note, sparse_file=sparse_file)
    return match_labels(dataset, columns, reporting.note, sparse_file=sparse_file)


def load_examples(path: Path, columns: Columns, reading: Reading, reporting: Reporting) -> Dataset:
    """Read data with features as the model has them; labels are not needed."""
    sparse_file = reading.format_of(path) == "libsvm"
    dataset = reading.load_examples(path, columns)
    return match_features(dataset, columns, reporting.note, sparse_file=sparse_file)
