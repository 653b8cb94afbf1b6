"""Data for a command: options that say how to read them, from a file or from standard input."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
import typer

from labelboost.commands.streams import STANDARD
from labelboost.data import NO_LABELS, Dataset, load_dataset
from labelboost.data.dataset import stored_well
from labelboost.data.files import FORMATS, SUFFIXES, locate, nearest, show
from labelboost.data.label_choice import Labels
from labelboost.estimators.naming import Columns

T = TypeVar("T")
PANEL = "Reading data"
STANDARD_INPUT = "standard input"
REMEDIES = {
    "pass labels= (their names": "pass --labels (their names",
    "; pass labels=": "; pass --labels ",
    "labels=-": "--labels -",
    "or pass format=": "or pass --format",
    'such as encoding="latin-1"': "such as --encoding latin-1",
    "labels does not apply": "--labels does not apply",
    "delimiter does not apply": "--delimiter does not apply",
    "nominal does not apply": "--nominal does not apply",
    "zero_based does not apply": "--zero-based does not apply",
    "nominal lists": "--nominal names",
}
"""What `load_dataset` advises, in the words of the command line."""


class ZeroBased(StrEnum):
    """Values of `--zero-based`."""

    AUTO = "auto"
    YES = "yes"
    NO = "no"

    def parameter(self) -> Literal["auto"] | bool:
        """The same for `load_dataset`."""
        return "auto" if self is ZeroBased.AUTO else self is ZeroBased.YES


def _complete_format(incomplete: str) -> list[str]:
    return [name for name in FORMATS if name.startswith(incomplete)]


DataArgument = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="ARFF, LIBSVM, CSV, TSV, Parquet or npz file, or - for standard input.",
    ),
]


@dataclass(frozen=True, slots=True)
class Reading:
    """Options that say how a data file is to be read."""

    labels: Annotated[
        list[str] | None,
        typer.Option(
            help="Which columns are labels: a name (may be repeated), a prefix such as 'label_*', "
            "a number of columns (negative: the last ones), or a Mulan XML file. Default: what the "
            "file, the XML file beside it, or the model says.",
            rich_help_panel=PANEL,
        ),
    ] = None
    format: Annotated[
        str | None,
        typer.Option(
            help=f"One of {', '.join(FORMATS)}, if the name does not tell.",
            autocompletion=_complete_format,
            rich_help_panel=PANEL,
        ),
    ] = None
    encoding: Annotated[str, typer.Option(help="Of text files.", rich_help_panel=PANEL)] = "utf-8"
    delimiter: Annotated[
        str | None,
        typer.Option(help="Of CSV files; default: what fits.", rich_help_panel=PANEL),
    ] = None
    nominal: Annotated[
        list[str] | None,
        typer.Option(
            help="A column of a CSV file that holds categories although they look like numbers; "
            "may be repeated.",
            rich_help_panel=PANEL,
        ),
    ] = None
    zero_based: Annotated[
        ZeroBased,
        typer.Option(
            help="Whether features of LIBSVM files are counted from 0.", rich_help_panel=PANEL
        ),
    ] = ZeroBased.AUTO
    ignore: Annotated[
        list[str] | None,
        typer.Option(help="A column to leave out; may be repeated.", rich_help_panel=PANEL),
    ] = None

    def load(self, path: Path) -> Dataset:
        """Read data with labels."""
        return self._load(path, _label_choice(self.labels))

    def load_like(self, path: Path, columns: Columns) -> Dataset:
        """Read data with the labels of a model."""
        return self._load_typed(path, columns, self._labels_of(path, columns))

    def load_examples(self, path: Path, columns: Columns) -> Dataset:
        """Read data for a model, with or without labels; these are left out."""
        labels: Labels = NO_LABELS
        if self.labels is not None:
            labels = _label_choice(self.labels)
        dataset = self._load_typed(path, columns, labels).without_labels()
        return _drop(dataset, set(columns.label_names) & set(dataset.feature_names))

    def format_of(self, path: Path) -> str:
        """The format of a file."""
        if path == STANDARD:
            if self.format is None:
                raise typer.BadParameter(
                    f"standard input has no name that tells its format; choose one of "
                    f"{', '.join(FORMATS)}",
                    param_hint="--format",
                )
            return locate("stdin.csv", self.format).format
        return _in_words_of_options(lambda: locate(path, self.format)).format

    def _labels_of(self, path: Path, columns: Columns) -> Labels:
        if self.labels is not None:
            return _label_choice(self.labels)
        by_name = self.format_of(path) in ("arff", "csv", "tsv", "parquet")
        if not by_name or columns.labels_are_numbered:
            return None
        return list(columns.label_names)

    def _load_typed(self, path: Path, columns: Columns, labels: Labels) -> Dataset:
        """Read data; categories that look like numbers are what they were in training."""
        content = sys.stdin.buffer.read() if path == STANDARD else None
        dataset = self._load(path, labels, content)
        if self.format_of(path) not in ("csv", "tsv") or columns.feature_names is None:
            return dataset
        known = {columns.feature_names[j] for j in columns.categories}
        taken_for_numbers = [
            name
            for name, nominal in zip(dataset.feature_names, dataset.nominal, strict=True)
            if name in known and not nominal
        ]
        if not taken_for_numbers:
            return dataset
        nominal = [*(self.nominal or ()), *taken_for_numbers]
        return replace(self, nominal=nominal)._load(path, labels, content)

    def _load(self, path: Path, labels: Labels, content: bytes | None = None) -> Dataset:
        form = self.format_of(path)
        options: dict[str, Any] = {
            "labels": labels,
            "format": form,
            "encoding": self.encoding,
            "delimiter": self.delimiter,
            "nominal": tuple(self.nominal or ()),
            "zero_based": self.zero_based.parameter(),
        }
        if path != STANDARD:
            dataset = _in_words_of_options(lambda: load_dataset(path, **options))
        else:
            raw = sys.stdin.buffer.read() if content is None else content
            dataset = _load_bytes(raw, form, options)
        return self._without_ignored(dataset)

    def _without_ignored(self, dataset: Dataset) -> Dataset:
        for name in self.ignore or ():
            if name not in dataset.feature_names:
                label = " but a label" if name in dataset.label_names else ""
                raise ValueError(
                    f"--ignore names {show(name)}, which is not a feature{label}"
                    f"{nearest(name, dataset.feature_names)}"
                )
        return _drop(dataset, set(self.ignore or ()))


def _load_bytes(raw: bytes, form: str, options: dict[str, Any]) -> Dataset:
    """Read data that have come through a pipe: readers want files."""
    suffix = next(suffix for suffix, known in SUFFIXES.items() if known == form)
    with TemporaryDirectory(prefix="labelboost-") as folder:
        file = Path(folder) / f"stdin{suffix}"
        file.write_bytes(raw)
        try:
            return _in_words_of_options(lambda: load_dataset(file, **options))
        except ValueError as error:
            message = str(error).replace(str(file), STANDARD_INPUT)
            beside = f", or put {file.stem}.xml beside the file"
            raise ValueError(message.replace(beside, "")) from error


def _in_words_of_options(read: Callable[[], T]) -> T:
    try:
        return read()
    except ValueError as error:
        message = str(error)
        for advice, option in REMEDIES.items():
            message = message.replace(advice, option)
        raise ValueError(message) from error


def _label_choice(values: Sequence[str] | None) -> Labels:
    """Understand `--labels`."""
    if not values:
        return None
    if len(values) > 1:
        return list(values)
    value = values[0]
    try:
        return int(value)
    except ValueError:
        whole = value.endswith("*") or value.lower().endswith(".xml")
        return value if whole else [value]


def _drop(dataset: Dataset, names: set[str]) -> Dataset:
    """Leave out features."""
    kept = [j for j, name in enumerate(dataset.feature_names) if name not in names]
    if len(kept) == dataset.n_features:
        return dataset
    if not kept:
        raise ValueError(f"{dataset.name}: no features are left")
    return select_features(dataset, kept)


def select_features(dataset: Dataset, columns: Sequence[int]) -> Dataset:
    """The same data with some features only, in another order."""
    return replace(
        dataset,
        X=dataset.X[:, list(columns)],
        feature_names=tuple(dataset.feature_names[j] for j in columns),
        nominal=dataset.nominal[np.array(columns, dtype=np.intp)],
        categories={
            new: dataset.categories[old]
            for new, old in enumerate(columns)
            if old in dataset.categories
        },
    )


def for_training(dataset: Dataset) -> Dataset:
    """Store features as it is best for training."""
    return replace(dataset, X=stored_well(dataset.X))
