"""What a run shows while it goes on: one live line for people, plain lines for log files."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from statistics import mean

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from labelboost.experiments.executors import Event, Finished, Started
from labelboost.experiments.records import Result
from labelboost.experiments.tasks import Task

RUNNING_SHOWN = 4


class Display:
    """Shows tasks done, running and failed, and the time left."""

    def __init__(self, console: Console, n_workers: int, quiet: bool = False) -> None:
        self._console, self._n_workers, self._quiet = console, max(1, n_workers), quiet
        self._live: Live | None = None
        self._before = 0
        self._left: list[Task] = []
        self._running: dict[Task, float] = {}
        self._counts: Counter[str] = Counter()
        self._seconds: dict[tuple[str, str], list[float]] = defaultdict(list)

    def __enter__(self) -> Display:
        if not self._quiet and self._console.is_terminal:
            self._live = Live(
                console=self._console, get_renderable=self._render, refresh_per_second=4
            )
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()

    def begin(self, tasks: list[Task], done: int) -> None:
        """See `Listener`."""
        self._left, self._before = list(tasks), done
        if done:
            self._say(f"{done} tasks have been done before, {len(tasks)} are left")

    def tell(self, event: Event) -> None:
        """See `Listener`."""
        if isinstance(event, Started):
            self._running[event.task] = time.monotonic()
            return
        seconds = time.monotonic() - self._running.pop(event.task)
        self._left.remove(event.task)
        self._seconds[event.task.source.name, event.task.variant].append(seconds)
        self._report(event)

    def _report(self, event: Finished) -> None:
        record = event.record
        if isinstance(record, Result):
            self._counts["done"] += 1
            loss = record.measures.get("subset_01")
            quality = "" if loss is None else f", Subset 0/1 {100 * loss:.2f}"
            size = f"{record.n_rules} {record.estimator} in " if record.n_rules else ""
            text = f"{size}{record.seconds.train:.3g} s{quality}"
        else:
            self._counts["failed"] += 1
            text = f"failed: {record.error}"
        if self._live is None or not isinstance(record, Result):
            total = self._before + sum(self._counts.values()) + len(self._left)
            number = self._before + sum(self._counts.values())
            self._say(f"[{number}/{total}] {event.task.name}: {text}")

    def _say(self, text: str) -> None:
        if not self._quiet:
            self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def seconds_left(self) -> float | None:
        """Estimate: each task takes as long as others of its kind took so far."""
        if not any(self._seconds.values()):
            return None
        by_data: dict[str, list[float]] = defaultdict(list)
        for (data, _), seconds in self._seconds.items():
            by_data[data] += seconds
        overall = mean(second for seconds in by_data.values() for second in seconds)

        def expected(task: Task) -> float:
            own = self._seconds.get((task.source.name, task.variant))
            return mean(own or by_data.get(task.source.name) or [overall])

        now = time.monotonic()
        work = 0.0
        for task in self._left:
            spent = now - self._running[task] if task in self._running else 0.0
            work += max(expected(task) - spent, 0.0)
        return work / min(self._n_workers, max(1, len(self._left)))

    def _render(self) -> Table:
        total = self._before + self._counts.total() + len(self._left)
        left = self.seconds_left()
        running = list(self._running)
        status = Text(f"{self._before + self._counts['done']} of {total} tasks done, ")
        status.append(f"{len(running)} running, ")
        status.append(
            f"{self._counts['failed']} failed", style="red" if self._counts["failed"] else ""
        )
        status.append(f", {'?' if left is None else _duration(left)} left")
        table = Table.grid(padding=(0, 1))
        table.add_row(
            ProgressBar(total=max(1, total), completed=total - len(self._left), width=30), status
        )
        for task in running[:RUNNING_SHOWN]:
            table.add_row("", Text(task.name, style="dim"))
        return table


def _duration(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
