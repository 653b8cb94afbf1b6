"""Where else tasks run: the workers of a Dask cluster."""

from __future__ import annotations

import traceback
from collections.abc import Generator, Iterable
from importlib import import_module
from typing import Any

from labelboost.experiments.executors import Event, Finished, Started
from labelboost.experiments.tasks import Task, failure, run_safely

INSTALL = "running on a Dask cluster needs Dask: pip install 'labelboost[dask]'"
PATIENCE = "30s"
"""How long to wait for a scheduler to answer."""


class DaskCluster:
    """An existing scheduler with its own workers.

    Workers need Labelboost and the data files at the same paths. A task whose worker dies is run
    again on another one; results travel back here and are stored by this process alone, so that
    none is lost or doubled.
    """

    def __init__(self, address: str) -> None:
        try:
            self._dask: Any = import_module("distributed")
        except ImportError as error:
            raise ImportError(INSTALL) from error
        try:
            self._client = self._dask.Client(address, timeout=PATIENCE, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise ConnectionError(f"no Dask scheduler answers at {address}: {error}") from error

    @property
    def n_workers(self) -> int:
        """How many tasks run at a time."""
        return sum(self._client.nthreads().values())

    def run(self, tasks: Iterable[Task]) -> Generator[Event, None, None]:
        """See `Executor`."""
        order = list(tasks)
        if any(task.limits for task in order):
            raise ValueError(
                "limits of time and memory need processes of this machine; remove time_limit and "
                "memory_limit, and limit the workers of the cluster instead"
            )
        # One core each; workers take the tasks in this order.
        futures = {
            self._client.submit(run_safely, task, pure=False, priority=-number): task
            for number, task in enumerate(order)
        }
        # The scheduler has them all; what its workers can take is what may be called started.
        waiting = order.copy()
        try:
            yield from _start(waiting, waiting[: self.n_workers])
            for future in self._dask.as_completed(
                futures, loop=self._client.loop, raise_errors=False
            ):
                task = futures[future]
                if task in waiting:  # taken out of turn
                    yield from _start(waiting, [task])
                yield Finished(task, self._record(future, task))
                future.release()
                yield from _start(waiting, waiting[:1])
        finally:
            self._client.cancel(list(futures), force=True)
            self._client.close()

    @staticmethod
    def _record(future: Any, task: Task) -> Any:
        try:
            return future.result()
        except Exception as error:  # such as a worker that died again and again
            return failure(task, f"{type(error).__name__}: {error}", traceback.format_exc())


def _start(waiting: list[Task], tasks: Iterable[Task]) -> Generator[Event, None, None]:
    for task in tasks:
        waiting.remove(task)
        yield Started(task)
