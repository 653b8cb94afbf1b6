"""`labelboost info`: what is in a model file or a data file."""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from labelboost.commands.command import Reporting, command
from labelboost.commands.models import open_model
from labelboost.commands.reading import Reading
from labelboost.commands.streams import STANDARD, json_text, on_one_line, write_result
from labelboost.data import Dataset
from labelboost.data.files import check_present

LONGEST_HEADER = 1024
MODEL_FORMAT = "labelboost-model"
SHOWN = 12
"""So many names are shown to people."""


@command
def info(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A model or data file; - for data in a pipe.")
    ],
    *,
    reporting: Reporting,
    reading: Reading,
) -> None:
    """Tell what is in a model file or a data file.

    Examples:

    labelboost info emotions.json.gz

    labelboost info films.csv --labels 'genre_*' --json
    """
    header = None if file == STANDARD else _model_header(file)
    if header is not None:
        found = _describe_model(file, header)
    else:
        size = None if file == STANDARD else file.stat().st_size
        found = _describe_data(reading.load(file), size)
    write_result(json_text(found) if reporting.as_json else _as_text(found))


def _model_header(file: Path) -> dict[str, Any] | None:
    """Read the first line of a model file; None for other files."""
    check_present(file, "file")
    try:
        with gzip.open(file) as content:
            line = content.readline(LONGEST_HEADER)
        header = json.loads(line + b"null}")
    except (gzip.BadGzipFile, zlib.error, EOFError, ValueError, RecursionError):
        return None  # not compressed, damaged, cut off, or no JSON
    is_model = isinstance(header, dict) and header.get("format") == MODEL_FORMAT
    return header if is_model else None


def _describe_model(file: Path, header: dict[str, Any]) -> dict[str, Any]:
    model, columns = open_model(file)
    rules = model.rules_
    lengths = [len(rule.conditions) for rule in rules]
    names = columns.feature_names
    return {
        "kind": "model",
        "file": str(file),
        "bytes": file.stat().st_size,
        "format_version": header["version"],
        "library_version": header["library_version"],
        "estimator": type(model).__name__,
        "parameters": {name: _plain(value) for name, value in model.get_params().items()},
        "rules": len(rules),
        "conditions": sum(lengths),
        "training_seconds": float(model.training_times_[-1]),
        "features": columns.n_features,
        "nominal_features": int(columns.nominal.sum()),
        "labels": len(columns.label_names),
        "feature_names": None if names is None else list(names),
        "label_names": list(columns.label_names),
    }


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)


def _describe_data(dataset: Dataset, size: int | None) -> dict[str, Any]:
    X = dataset.X
    stored = X if isinstance(X, np.ndarray) else X.data
    cells = dataset.n_examples * dataset.n_features
    counts = dataset.Y.sum(axis=0, dtype=np.int64)
    return {
        "kind": "data",
        "name": dataset.name,
        "bytes": size,
        "examples": dataset.n_examples,
        "features": dataset.n_features,
        "nominal_features": len(dataset.nominal_indices),
        "labels": dataset.n_labels,
        "label_sets": dataset.n_label_sets,
        "cardinality": dataset.cardinality,
        "density": dataset.cardinality / dataset.n_labels,
        "missing_values": int(np.isnan(stored).sum()),
        "zeros": cells - int(np.count_nonzero(stored)),
        "values": cells,
        "read_as": "dense" if isinstance(X, np.ndarray) else "sparse",
        "feature_names": list(dataset.feature_names),
        "label_counts": dict(zip(dataset.label_names, counts.tolist(), strict=True)),
    }


def _as_text(found: dict[str, Any]) -> str:
    lines = []
    for name, value in found.items():
        if value is None:
            continue
        if isinstance(value, dict):
            entries = [f"{key} = {entry}" for key, entry in value.items()]
            shown = _shortened(entries, len(entries) if name == "parameters" else SHOWN)
        elif isinstance(value, list):
            shown = _shortened(value, SHOWN)
        else:
            shown = f"{value:.4g}" if isinstance(value, float) else str(value)
        lines.append(f"{name.replace('_', ' ')}: {on_one_line(shown)}\n")
    return "".join(lines)


def _shortened(entries: list[str], most: int) -> str:
    text = ", ".join(entries[:most])
    return text if len(entries) <= most else f"{text} and {len(entries) - most} more"
