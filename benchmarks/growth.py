#!/usr/bin/env python3
"""How training time grows with the examples, the labels and the features: times, exponents, plots.

Usage: growth.py [--axes examples labels features searched] [--budget 20] [--limit 120] [--quick]

On synthetic data one quantity grows while the others stay the same. What counts is the median time
of a rule, on one thread, without preparing the features. The first rules take longer than later
ones, so all points of a curve are compared by the same number of first rules; where that is quick,
over several seeds.

Each point is appended to a JSON-lines file when it is measured and is not measured again; delete
the file to start anew, because times of different machines or versions do not belong in one plot.
Prints Markdown tables with the exponents of a power law, fitted to all points and to the upper half
of them, and draws docs/images/growth-*.svg.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import argparse
import json
import math
import signal
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn
from unittest import mock

import numpy as np
from run_ours import parameters
from sklearn.exceptions import ConvergenceWarning

from labelboost import Rule, RuleBoostingClassifier
from labelboost.data import Dataset, make_multilabel

HERE = Path(__file__).resolve().parent
IMAGES = HERE.parent / "docs" / "images"
RULES = 10
FEWEST_RULES = 3
"""Measured even if that takes longer than the budget, unless it takes longer than the limit."""
SEEDS = 5
BUSY = 0.9
"""With less of a processor than this, on average, a time is not worth much."""


# --- Timing of single rules ---------------------------------------------------------------------


@dataclass(frozen=True)
class Attempt:
    """One call for a rule."""

    number: int
    """Of all calls, from 0."""
    seconds: float
    cpu_seconds: float
    conditions: int
    """0: no condition was any use, so there is no rule."""


class Enough(Exception):  # noqa: N818
    """Ends training when everything of interest has been measured: not an error."""


def timed_fit(
    model: RuleBoostingClassifier,
    X: Any,
    Y: Any,
    *,
    done: Callable[[Sequence[Attempt]], bool] = lambda _: False,
    limit: float = math.inf,
) -> list[Attempt]:
    """Fit the model and return the times of its rules.

    Training ends, without a fitted model, once `done` says so of the attempts until then, or when
    it takes more than `limit` seconds altogether.
    """
    attempts: list[Attempt] = []
    make_learner = RuleBoostingClassifier._learner

    def timed_learner(self: RuleBoostingClassifier, booster: Any) -> Callable[[int], Rule | None]:
        learn = make_learner(self, booster)

        def timed(number: int) -> Rule | None:
            start, cpu_start = time.perf_counter(), time.process_time()
            rule = learn(number)
            seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
            conditions = 0 if rule is None else len(rule.conditions)
            attempts.append(Attempt(number, seconds, cpu_seconds, conditions))
            if done(attempts):
                raise Enough
            return rule

        return timed

    with (
        mock.patch.object(RuleBoostingClassifier, "_learner", timed_learner),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore", ConvergenceWarning)
        with suppress(Enough), alarm(limit):
            model.fit(X, Y)
    return attempts


@contextmanager
def alarm(limit: float) -> Iterator[None]:
    """Raise Enough in the main thread after so many seconds; the core listens to signals."""
    if math.isinf(limit):
        yield
        return

    def ring(_number: int, _frame: FrameType | None) -> NoReturn:
        raise Enough

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, limit)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# --- What is measured ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Curve:
    """One way of training: a variant of run_ours.py, and quantile bins of the features or none."""

    variant: str
    feature_bins: int | None = None

    @property
    def name(self) -> str:
        """What stands in tables and plots."""
        names = {"none": "no label bins", "0.04": "4 % label bins"}
        bins = f", {self.feature_bins} feature bins" if self.feature_bins else ""
        return names.get(self.variant, self.variant) + bins


@dataclass(frozen=True)
class Axis:
    """A quantity that grows (its field here is 0), and what the others are meanwhile."""

    title: str
    sizes: tuple[int, ...]
    curves: tuple[Curve, ...]
    slopes: tuple[int, ...]
    """Exponents of the dotted lines in the plot."""
    examples: int = 0
    features: int = 0
    labels: int = 0
    max_features: str | None = "log2"


def curves(*feature_bins: int | None) -> tuple[Curve, ...]:
    """All variants, with each of the given numbers of feature bins."""
    return tuple(Curve(v, bins) for bins in feature_bins for v in ("none", "0.04", "label-wise"))


AXES = {
    "examples": Axis(
        "N, examples",
        (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000),
        curves(None, 256),
        slopes=(1,),
        features=50,
        labels=20,
    ),
    "labels": Axis(
        "K, labels",
        (10, 20, 50, 100, 200, 500, 1_000),
        # With few thresholds there is less to solve than to sum: the other end of the trade-off.
        (*curves(None), Curve("none", 16), Curve("0.04", 16)),
        slopes=(1, 2, 3),
        examples=1_000,
        features=50,
    ),
    "features": Axis(
        "L, features, of which log2(L) are searched",
        (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000),
        curves(None, 256),
        slopes=(1,),
        examples=1_000,
        labels=20,
    ),
    "searched": Axis(
        "L, features, all of them searched",
        (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000),
        curves(None, 256),
        slopes=(1,),
        examples=1_000,
        labels=20,
        max_features=None,
    ),
}


@dataclass(frozen=True)
class Case:
    """A point of a curve; the key of a line in the results."""

    axis: str
    size: int
    variant: str
    feature_bins: int | None


@dataclass(frozen=True)
class Outcome:
    """What was measured at a point."""

    case: Case
    seconds: list[list[float]]
    """Times of the rules, by seed; nothing at all if not even one was learned within the limit."""
    conditions: list[list[int]]
    """How many conditions these rules have."""
    limit: float
    processor: float
    """Processor time divided by time."""

    @property
    def rules(self) -> int:
        """How many rules were measured with every seed."""
        return min(map(len, self.seconds), default=0)

    def median(self, rules: int) -> float:
        """Median time of so many first rules."""
        return statistics.median(s for times in self.seconds for s in times[:rules])

    def median_per_search(self, rules: int) -> float:
        """Median time of a search for a condition: a rule takes one more than it has conditions."""
        pairs = zip(self.seconds, self.conditions, strict=True)
        return statistics.median(
            seconds / (conditions + 1)
            for run in pairs
            for seconds, conditions in list(zip(*run, strict=True))[:rules]
        )


@lru_cache(maxsize=1)
def data_for(axis: Axis, size: int) -> Dataset:
    """Generate the data of a point; the curves are measured one after the other on the same."""
    shape = (axis.examples or size, axis.features or size, axis.labels or size)
    return make_multilabel(*shape, random_state=0)


def measure(case: Case, args: argparse.Namespace) -> Outcome:
    """Train with one seed after the other for as long as the budget lasts."""
    axis = AXES[case.axis]
    data = data_for(axis, case.size)
    settings: dict[str, Any] = parameters(case.variant) | {"max_features": axis.max_features}
    runs: list[list[Attempt]] = []

    def spent() -> float:
        return sum(attempt.seconds for run in runs for attempt in run)

    def done(attempts: Sequence[Attempt]) -> bool:
        rules = sum(attempt.conditions > 0 for attempt in attempts)
        over = spent() + sum(attempt.seconds for attempt in attempts) > args.budget
        # Only the first seed may have fewer rules: all of them are compared by equally many.
        return rules >= RULES or (not runs and rules >= FEWEST_RULES and over)

    for seed in range(SEEDS):
        model = RuleBoostingClassifier(
            n_rules=RULES + 2,
            feature_bins=case.feature_bins,
            random_state=seed,
            n_jobs=1,
            **settings,
        )
        runs.append(timed_fit(model, data.X, data.Y, done=done, limit=args.limit))
        if spent() * (1 + 1 / len(runs)) > args.budget:  # another one would be too much
            break
    rules = [[attempt for attempt in run if attempt.conditions] for run in runs]
    cpu_seconds = sum(attempt.cpu_seconds for run in runs for attempt in run)
    return Outcome(
        case,
        seconds=[[attempt.seconds for attempt in run] for run in rules if run],
        conditions=[[attempt.conditions for attempt in run] for run in rules if run],
        limit=args.limit,
        processor=round(cpu_seconds / spent(), 3) if spent() else 1.0,
    )


def cases_of(args: argparse.Namespace) -> list[Case]:
    """All points, curve after curve at each size, from small to large."""
    found = []
    for name in args.axes:
        axis = AXES[name]
        sizes = axis.sizes[: len(axis.sizes) // 2] if args.quick else axis.sizes
        found += [
            Case(name, size, c.variant, c.feature_bins) for size in sizes for c in axis.curves
        ]
    return found


def read(path: Path) -> dict[Case, Outcome]:
    """Read what was measured; a last line cut off by an interruption does not count."""
    outcomes = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            entry = json.loads(line)
        except json.JSONDecodeError:
            continue
        case = Case(**entry.pop("case"))
        outcomes[case] = Outcome(case, **entry)
    return outcomes


def append(path: Path, outcome: Outcome) -> None:
    """Add a point to the file, on a line of its own whatever stands before it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    cut_off = path.exists() and path.read_bytes()[-1:] not in (b"", b"\n")
    with path.open("a") as file:
        file.write(("\n" if cut_off else "") + json.dumps(asdict(outcome)) + "\n")


def hopeless(case: Case, outcomes: Sequence[Outcome]) -> bool:
    """Whether a smaller point of the same curve was not finished already."""
    return any(
        outcome.rules == 0 and outcome.case.size < case.size
        for outcome in outcomes
        if (outcome.case.axis, outcome.case.variant, outcome.case.feature_bins)
        == (case.axis, case.variant, case.feature_bins)
    )


def measure_all(cases: Sequence[Case], args: argparse.Namespace) -> None:
    """Measure every point that is not in the file."""
    outcomes = read(args.results)
    for number, case in enumerate(cases, start=1):
        if case in outcomes or hopeless(case, list(outcomes.values())):
            continue
        outcome = outcomes[case] = measure(case, args)
        append(args.results, outcome)
        name = Curve(case.variant, case.feature_bins).name
        line = (
            f"{case.axis} {case.size}, {name}: {cell(outcome, outcome.rules)} ms; {outcome.rules} "
        )
        line += f"rules, {len(outcome.seconds)} seeds"
        if outcome.processor < BUSY:
            line += f"; the machine was busy, we had {outcome.processor:.0%} of a processor"
        print(f"[{number}/{len(cases)}] {line}", file=sys.stderr, flush=True)


# --- Report -------------------------------------------------------------------------------------


def cell(outcome: Outcome | None, rules: int) -> str:
    """Milliseconds in three digits: the median of so many first rules."""
    if outcome is None:
        return ""
    if outcome.rules == 0:
        return f"> {1e3 * outcome.limit:.0f}"
    milliseconds = 1e3 * outcome.median(rules)
    return f"{milliseconds:.0f}" if milliseconds >= 100 else f"{milliseconds:.3g}"


class Measured:
    """A curve as far as it was measured."""

    def __init__(self, axis: str, curve: Curve, outcomes: dict[Case, Outcome]) -> None:
        self.curve = curve
        cases = [Case(axis, n, curve.variant, curve.feature_bins) for n in AXES[axis].sizes]
        self.outcomes = {case.size: outcomes[case] for case in cases if case in outcomes}
        finished = [outcome for outcome in self.outcomes.values() if outcome.rules]
        self.rules = min((outcome.rules for outcome in finished), default=0)
        self.sizes = [outcome.case.size for outcome in finished]
        self.seconds = [outcome.median(self.rules) for outcome in finished]
        self.seconds_per_search = [outcome.median_per_search(self.rules) for outcome in finished]

    def exponent(self, seconds: Sequence[float], *, upper_half: bool = False) -> str:
        """Slope of the least-squares line through the logarithms of sizes and seconds."""
        n = len(self.sizes)
        first = max(min(n // 2, n - 2), 0) if upper_half else 0
        if n - first < 2:
            return ""
        return f"{np.polyfit(np.log(self.sizes[first:]), np.log(seconds[first:]), 1)[0]:.2f}"

    def conditions(self) -> str:
        """Mean number of conditions of the rules at the smallest and at the largest size."""
        if not self.sizes:
            return ""
        means = []
        for size in (self.sizes[0], self.sizes[-1]):
            runs = self.outcomes[size].conditions
            means.append(statistics.fmean(n for run in runs for n in run[: self.rules]))
        return f"{means[0]:.1f}, {means[1]:.1f}"


def report(name: str, outcomes: dict[Case, Outcome]) -> Iterator[str]:
    """The Markdown table of an axis: milliseconds per rule."""
    axis = AXES[name]
    measured = [Measured(name, curve, outcomes) for curve in axis.curves]
    yield f"| {axis.title} | {' | '.join(curve.name for curve in axis.curves)} |"
    yield "|--:|" + "--:|" * len(axis.curves)
    for size in axis.sizes:
        if any(size in m.outcomes for m in measured):
            cells = [cell(m.outcomes.get(size), m.rules) for m in measured]
            yield f"| {size:,} | {' | '.join(cells)} |"
    exponents = [m.exponent(m.seconds) for m in measured]
    yield f"| exponent | {' | '.join(exponents)} |"
    exponents = [m.exponent(m.seconds, upper_half=True) for m in measured]
    yield f"| exponent, upper half | {' | '.join(exponents)} |"
    exponents = [m.exponent(m.seconds_per_search, upper_half=True) for m in measured]
    yield f"| the same per search for a condition | {' | '.join(exponents)} |"
    yield f"| first rules compared | {' | '.join(str(m.rules) for m in measured)} |"
    yield f"| conditions, first and last row | {' | '.join(m.conditions() for m in measured)} |"


def fixed(axis: Axis) -> str:
    """What stays the same along an axis, in words."""
    sizes = (("N", axis.examples), ("L", axis.features), ("K", axis.labels))
    return ", ".join(f"{letter} = {size:,}" for letter, size in sizes if size)


def draw(name: str, outcomes: dict[Case, Outcome], folder: Path) -> None:
    """Plot an axis: time per rule on logarithmic scales, with dotted lines of known slope."""
    import matplotlib as mpl  # noqa: PLC0415

    mpl.use("Agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415

    # The same numbers give the same file.
    mpl.rcParams.update({"svg.hashsalt": "growth", "font.size": 9})
    axis = AXES[name]
    figure, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    lowest, highest = math.inf, 0.0
    colours = {"none": "C0", "0.04": "C1", "label-wise": "C2"}
    for curve in axis.curves:
        measured = Measured(name, curve, outcomes)
        if not measured.sizes:
            continue
        milliseconds = [1e3 * seconds for seconds in measured.seconds]
        ax.plot(
            measured.sizes,
            milliseconds,
            color=colours[curve.variant],
            linestyle="--" if curve.feature_bins else "-",
            marker="s" if curve.feature_bins else "o",
            markersize=4,
            label=curve.name,
        )
        lowest, highest = min(lowest, *milliseconds), max(highest, *milliseconds)
    for slope in axis.slopes:
        start = axis.sizes[0]
        ends = (start, start * min(axis.sizes[-1] / start, (highest / lowest) ** (1 / slope)))
        heights = [lowest * (end / start) ** slope for end in ends]
        ax.plot(ends, heights, color="grey", linestyle=":", linewidth=1)
        ax.annotate(f"slope {slope}", (ends[1], heights[1]), color="grey", ha="right", va="bottom")
    ax.set(xscale="log", yscale="log", xlabel=axis.title, ylabel="milliseconds per rule")
    ax.set_title(f"{fixed(axis)}, one thread", fontsize=9)
    ax.grid(which="major", alpha=0.3)
    ax.legend(fontsize=8)
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"growth-{name}.svg", metadata={"Date": None})
    plt.close(figure)


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--axes", nargs="+", default=list(AXES), choices=list(AXES))
    parser.add_argument("--budget", type=float, default=20.0, help="seconds of rules per point")
    parser.add_argument(
        "--limit", type=float, default=120.0, help="seconds after which a point is given up"
    )
    parser.add_argument("--quick", action="store_true", help="the smaller half of the sizes only")
    parser.add_argument("--results", type=Path, default=HERE / "results" / "growth.jsonl")
    parser.add_argument("--images", type=Path, default=IMAGES, help="folder for the plots")
    parser.add_argument("--report-only", action="store_true", help="measure nothing")
    return parser.parse_args()


def main() -> None:
    """Measure what is missing, print the tables, draw the plots."""
    args = parse()
    if not args.report_only:
        measure_all(cases_of(args), args)
    outcomes = read(args.results)
    for name in args.axes:
        if any(case.axis == name for case in outcomes):
            print(f"\nMilliseconds per rule; {fixed(AXES[name])}\n")
            print("\n".join(report(name, outcomes)))
            try:
                draw(name, outcomes, args.images)
            except ImportError as error:
                print(f"no plot: {error}; pip install matplotlib", file=sys.stderr)


if __name__ == "__main__":
    main()
