"""Running an experiment: what is left to do, storing what is done, saying how far it is."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from labelboost.experiments.configuration import Experiment
from labelboost.experiments.executors import Event, Executor, Finished
from labelboost.experiments.methods import METHODS
from labelboost.experiments.records import Record, Result, read_record, result_path, write_record
from labelboost.experiments.tasks import Task

LOCK = ".lock"


class Listener(Protocol):
    """Is told what happens."""

    def begin(self, tasks: list[Task], done: int) -> None:
        """So many tasks are left, and so many have been done before."""

    def tell(self, event: Event) -> None:
        """A task has started or finished."""


@dataclass(slots=True)
class Outcome:
    """How a run ended."""

    done_before: int
    done: int = 0
    failed: int = 0


def run_experiment(
    experiment: Experiment, folder: Path, executor: Executor, listener: Listener
) -> Outcome:
    """Run the tasks that have no result in the folder yet, and store theirs as they come.

    Tasks that failed before are tried again, unless they reached a limit. Raises ValueError, before
    anything is trained, if the folder holds results of other settings or another run uses it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder):
        left = [task for task in experiment.tasks if not _is_done(task, folder)]
        outcome = Outcome(done_before=len(experiment.tasks) - len(left))
        listener.begin(left, outcome.done_before)
        # Closed at once if this is interrupted: that stops what runs.
        with closing(executor.run(left)) as events:
            for event in events:
                if isinstance(event, Finished):
                    _store(event, folder, outcome)
                listener.tell(event)
    return outcome


def _store(event: Finished, folder: Path, outcome: Outcome) -> None:
    task = event.task
    write_record(result_path(folder, task.source.name, task.variant, task.fold), event.record)
    if _is_outcome(event.record):
        outcome.done += 1
    else:
        outcome.failed += 1


def _is_outcome(record: Record) -> bool:
    """Whether trying again would change nothing: to reach a limit is a result of its own."""
    return isinstance(record, Result) or bool(record.exceeded)


def _is_done(task: Task, folder: Path) -> bool:
    path = result_path(folder, task.source.name, task.variant, task.fold)
    if not path.exists():
        return False
    record = read_record(path)
    if not isinstance(record, Result):
        return _is_outcome(record) and record.attempted == task.attempt()
    difference = _difference(record, task)
    if difference:
        raise ValueError(
            f"{path} holds the result of another experiment: {difference}. Choose another folder "
            "for the results, or remove that file."
        )
    return True


def _difference(record: Result, task: Task) -> str:
    """Say in what a stored result differs from what the task would produce, if it does."""
    wanted = task.identity()
    stored = {name: getattr(record, name) for name in wanted}
    defaults = METHODS[task.estimator].own_defaults()
    for values in (wanted, stored):
        # Settings stored before a parameter existed mean its default.
        values.update(defaults | values.pop("settings"))
    for name, value in wanted.items():
        if stored[name] != value:
            return f"its {name} is {stored[name]!r}, not {value!r}"
    measured = record.measures
    absent = [name for name in task.measures if name not in measured]
    absent += [
        f"checkpoint {n}"
        for n in task.checkpoints
        if n < record.n_rules and all(point.n_rules != n for point in record.checkpoints)
    ]
    return f"it lacks {', '.join(absent)}" if absent else ""


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep other runs out; the system lets go of the lock even if this process is killed."""
    with (folder / LOCK).open("w") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise ValueError(f"another run is using {folder}; wait until it ends") from error
        yield
