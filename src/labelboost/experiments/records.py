"""What is stored of a task: one small JSON file, written whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from labelboost.experiments.methods import RULES
from labelboost.files import write_atomically

FORMAT = 1
"""Version of the result files; a reader refuses files of a later one."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Quality of the first rules of an ensemble."""

    n_rules: int
    train_seconds: float
    """From the start of training until the last of these rules was learned."""
    measures: Mapping[str, float]
    """Name of the measure to its value on the held-out fold."""


@dataclass(frozen=True, slots=True)
class Seconds:
    """Where the time went. The last three add up to `train`; for competitors it is all the last."""

    train: float
    """Elapsed while `fit` ran on one thread."""
    train_cpu: float
    """Processor time of the same: what `train` is on a machine that has nothing else to do."""
    predict: float
    candidate_evaluation: float
    summing_statistics: float
    everything_else: float


@dataclass(frozen=True, slots=True)
class Result:
    """One model, trained on all folds but one and evaluated on that one."""

    data: str
    variant: str
    fold: int
    n_folds: int
    seed: int
    settings: Mapping[str, Any]
    """All parameters of one of our estimators, or those of a competitor that are not its default
    ones; None is written as null."""
    n_train: int
    n_test: int
    n_features: int
    n_labels: int
    n_rules: int
    """Rules that were learned, the default rule included, or trees; 0 for competitors."""
    n_conditions: int
    seconds: Seconds
    peak_memory_mb: float
    """Most memory during training above what was in use before it."""
    checkpoints: tuple[Checkpoint, ...]
    """After 100, 200, ... rules; the last one describes the whole model."""
    versions: Mapping[str, str]
    machine: Mapping[str, str]
    finished: str
    """Date and time, UTC."""
    estimator: str = RULES
    """Name of the method."""

    @property
    def measures(self) -> Mapping[str, float]:
        """Quality of the whole ensemble."""
        return self.checkpoints[-1].measures


@dataclass(frozen=True, slots=True)
class Failure:
    """A task that raised an error, or whose process died."""

    data: str
    variant: str
    fold: int
    error: str
    traceback: str
    finished: str
    exceeded: str = ""
    """The limit that was set and reached, "time" or "memory", if that was the cause."""
    attempted: Mapping[str, Any] = field(default_factory=dict)
    """Identity and limits of the task."""


Record = Result | Failure


def result_path(folder: Path, data: str, variant: str, fold: int) -> Path:
    """Where the record of a task is kept."""
    return folder / data / variant / f"fold-{fold}.json"


def write_record(path: Path, record: Record) -> None:
    """Write a file that is complete or absent, even if the power fails."""
    status = "done" if isinstance(record, Result) else "failed"
    content = {"format": FORMAT, "status": status, **asdict(record)}
    write_atomically(path, json.dumps(content, indent=1, allow_nan=False) + "\n", parents=True)


def read_record(path: Path) -> Record:
    """Read a file that `write_record` wrote. Raises ValueError if it is something else."""
    try:
        return _from_json(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"{path} is not the record of a task: {error}") from error


def _from_json(content: dict[str, Any]) -> Record:
    if content["format"] != FORMAT:
        raise ValueError(f"its format is {content['format']}, this version reads {FORMAT}")
    values = {name: value for name, value in content.items() if name not in ("format", "status")}
    if content["status"] == "failed":
        return Failure(**values)
    values["seconds"] = Seconds(**values["seconds"])
    values["checkpoints"] = tuple(Checkpoint(**point) for point in values["checkpoints"])
    if not values["checkpoints"]:
        raise ValueError("it has no checkpoints")
    return Result(**values)


def read_records(folder: Path) -> list[Record]:
    """Read all records below a folder, by data set, variant and fold."""
    paths = folder.glob("*/*/fold-*.json")
    records = [read_record(path) for path in paths]
    return sorted(records, key=lambda record: (record.data, record.variant, record.fold))


def read_results(folder: Path) -> list[Result]:
    """Read the results below a folder, leaving out failures. ValueError if there are none."""
    results = [record for record in read_records(folder) if isinstance(record, Result)]
    if not results:
        raise ValueError(
            f"there are no results below {folder}; `labelboost experiment run` writes them"
        )
    return results
