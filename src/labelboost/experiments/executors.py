"""Where tasks run: processes of this machine. `cluster.py` has another answer."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Generator, Iterable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerProcess
from typing import Protocol, cast

from labelboost.experiments.records import Record
from labelboost.experiments.tasks import Task, failure, run_safely


@dataclass(frozen=True, slots=True)
class Started:
    """A task has begun."""

    task: Task


@dataclass(frozen=True, slots=True)
class Finished:
    """A task has ended, well or not."""

    task: Task
    record: Record


Event = Started | Finished


class Executor(Protocol):
    """Runs tasks, several at a time."""

    @property
    def n_workers(self) -> int:
        """How many tasks run at a time."""
        ...

    def run(self, tasks: Iterable[Task]) -> Generator[Event, None, None]:
        """Run the tasks, beginning with the first ones; tell what happens as it happens.

        Each task is finished exactly once. When the iterator is closed, what runs is stopped.
        """
        ...


class LocalProcesses:
    """A process for each task, so many at a time.

    A process of its own shows how much memory a task needs, and takes nothing with it when the
    system ends it for lack of memory.
    """

    def __init__(self, n_processes: int) -> None:
        self.n_workers = n_processes
        self._context = multiprocessing.get_context("forkserver")
        # Loaded once, in the server that all processes are forked from.
        self._context.set_forkserver_preload(["labelboost.experiments.tasks"])

    def run(self, tasks: Iterable[Task]) -> Generator[Event, None, None]:
        """See `Executor`."""
        waiting = deque(tasks)
        running: dict[Connection, _Job] = {}
        try:
            while waiting or running:
                while waiting and len(running) < self.n_workers:
                    job = self._start(waiting.popleft())
                    running[job.results] = job
                    yield Started(job.task)
                for results in wait(list(running)):
                    job = running.pop(cast(Connection, results))
                    yield Finished(job.task, job.record())
        finally:
            for job in running.values():
                job.process.kill()
                job.process.join()

    def _start(self, task: Task) -> _Job:
        results, results_of_child = self._context.Pipe(duplex=False)
        lifeline_of_child, lifeline = self._context.Pipe(duplex=False)
        process = self._context.Process(
            target=_work, args=(task, results_of_child, lifeline_of_child), daemon=True
        )
        process.start()
        # Only the child may hold these, so that its end can be noticed.
        results_of_child.close()
        lifeline_of_child.close()
        return _Job(task, process, results, lifeline)


@dataclass(frozen=True, slots=True, eq=False)
class _Job:
    task: Task
    process: ForkServerProcess
    results: Connection
    lifeline: Connection
    """Closed by the system if this process dies: the child's sign to stop."""

    def record(self) -> Record:
        """Wait for the process and return what it found out, or how it ended."""
        try:
            record: Record = self.results.recv()
        except (EOFError, OSError):
            self.process.join()
            code = self.process.exitcode
            if code == -signal.SIGXCPU and self.task.limits.seconds is not None:
                text = f"stopped after {self.task.limits.seconds} s of processor time, the limit"
                return failure(self.task, text, exceeded="time")
            cause = f"killed by signal {-code}" if code and code < 0 else f"ended with code {code}"
            return failure(self.task, f"the process was {cause}")
        else:
            self.process.join()
            return record
        finally:
            self.results.close()
            self.lifeline.close()


def _work(task: Task, results: Connection, lifeline: Connection) -> None:
    # Ctrl-C is for the parent, which decides what becomes of this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_die_with_parent, args=(lifeline,), daemon=True).start()
    task.limits.impose()
    results.send(run_safely(task))


def _die_with_parent(lifeline: Connection) -> None:
    with suppress(EOFError, OSError):
        lifeline.recv()
    os._exit(1)
