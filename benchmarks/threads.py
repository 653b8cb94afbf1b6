#!/usr/bin/env python3
"""How much faster training is with two threads than with one, and that the model is the same.

Usage: threads.py [--data yeast reuters-k500 bibtex] [--variants none 0.04 label-wise] [--repeats 5]

One and two threads take turns on the same data, with as many rules as one thread learns in a few
seconds; who goes first alternates. Prints a Markdown table of medians: of the times, and of the
ratios of trainings that follow one another, as others on the machine slow down both. Ends with an
error if any two models differ in a single bit. The machine must have two processors to itself: a
column tells how much of them two threads got, and roofline.py what two processors of this machine
are worth compared with one. The last columns tell how far apart they are: nanoseconds until one has
an answer from the other, before and after each training with several threads, the least and the
most of these; and the ratio of the trainings that had the processors near each other all along,
250 nanoseconds at most, and of those that had them further apart, with their numbers in brackets.
On a virtual machine that may change from one minute to the next, and what two threads gain changes
with it.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

from growth import Attempt, timed_fit
from probes import NoCompilerError, compiled, output_of
from run_ours import parameters

from labelboost import Rule, RuleBoostingClassifier
from labelboost.data import Dataset, load_npz

DISTANCE = r"""
// Prints how many nanoseconds pass until one thread has an answer from another one.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

alignas(128) std::atomic<long> question{0};
alignas(128) std::atomic<long> answer{0};

int main() {
    constexpr long kRounds = 200000;
    std::thread other([] {
        for (long round = 1; round <= kRounds; ++round) {
            while (question.load(std::memory_order_acquire) != round) {}
            answer.store(round, std::memory_order_release);
        }
    });
    const auto start = std::chrono::steady_clock::now();
    for (long round = 1; round <= kRounds; ++round) {
        question.store(round, std::memory_order_release);
        while (answer.load(std::memory_order_acquire) != round) {}
    }
    const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
    other.join();
    std::printf("%.1f", spent.count() / kRounds);
}
"""

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data"
MOST_RULES, FEWEST_RULES = 1000, 5
NEAR = 250.0
"""Nanoseconds until a thread has an answer from another one."""


@dataclass(frozen=True)
class Run:
    """One training: the model and what it took."""

    rules: list[Rule]
    fit_seconds: float
    rule_seconds: float
    processors: float
    """Processor time divided by time, of the rules."""


def train(data: Dataset, n_rules: int, threads: int, variant: str, sparse: bool) -> Run:
    """Fit once, on all examples."""
    model = RuleBoostingClassifier(
        n_rules=n_rules,
        random_state=1,
        n_jobs=threads,
        categorical_features=data.nominal_indices or None,
        **parameters(variant),
    )
    X = features(data, sparse)
    start = time.perf_counter()
    attempts = timed_fit(model, X, data.Y)
    fit_seconds = time.perf_counter() - start
    seconds = sum(attempt.seconds for attempt in attempts)
    processors = sum(attempt.cpu_seconds for attempt in attempts) / seconds
    return Run(model.rules_, fit_seconds, seconds, processors)


def features(data: Dataset, sparse: bool) -> Any:
    """The matrix in the form asked for."""
    return data.X if sparse or not hasattr(data.X, "toarray") else data.X.toarray()


def rules_for(data: Dataset, seconds: float, variant: str, sparse: bool) -> int:
    """How many rules one thread learns in so many seconds, the default rule included."""

    def done(attempts: Sequence[Attempt]) -> bool:
        rules = sum(attempt.conditions > 0 for attempt in attempts)
        spent = sum(attempt.seconds for attempt in attempts)
        return rules >= MOST_RULES or (rules >= FEWEST_RULES and spent > seconds)

    model = RuleBoostingClassifier(
        n_rules=MOST_RULES + 1,
        random_state=1,
        n_jobs=1,
        categorical_features=data.nominal_indices or None,
        **parameters(variant),
    )
    attempts = timed_fit(model, features(data, sparse), data.Y, done=done)
    return 1 + sum(attempt.conditions > 0 for attempt in attempts)


def difference(one: Sequence[Rule], other: Sequence[Rule]) -> str | None:
    """Where two models differ, to the last bit; None if they do not."""
    if len(one) != len(other):
        return f"{len(one)} and {len(other)} rules"
    for number, (a, b) in enumerate(zip(one, other, strict=True)):
        if (a.conditions, a.coverage) != (b.conditions, b.coverage):
            return f"rule {number}: {a.conditions} and {b.conditions}"
        if a.head.tobytes() != b.head.tobytes():
            return f"head of rule {number}: differs by up to {abs(a.head - b.head).max():g}"
    return None


def measure(
    data: Dataset, variant: str, args: argparse.Namespace, distance: Callable[[], float]
) -> str:
    """Train in turn with one thread and with more; return a row of the table."""
    n_rules = args.rules or rules_for(data, args.seconds, variant, args.sparse)
    runs: dict[int, list[Run]] = {1: [], args.threads: []}
    distances: list[tuple[float, float]] = []
    for number in range(args.repeats):
        for threads in sorted(runs, reverse=number % 2 == 1):
            before = distance() if threads > 1 else 0.0
            runs[threads].append(train(data, n_rules, threads, variant, args.sparse))
            if threads > 1:
                distances.append((before, distance()))
        for threads, finished in runs.items():
            found = difference(runs[1][0].rules, finished[-1].rules)
            if found:
                sys.exit(
                    f"{data.name}, {variant}: models of 1 and {threads} threads differ: {found}"
                )
    one, more = runs.values()
    seconds = [median(run.rule_seconds for run in finished) for finished in (one, more)]
    pairs = list(zip(one, more, strict=True))
    ratios = [a.rule_seconds / b.rule_seconds for a, b in pairs]
    fit = median(a.fit_seconds / b.fit_seconds for a, b in pairs)
    farthest = [max(pair) for pair in distances]
    near = [ratio for ratio, apart in zip(ratios, farthest, strict=True) if apart <= NEAR]
    far = [ratio for ratio, apart in zip(ratios, farthest, strict=True) if apart > NEAR]
    return (
        f"| {data.name} | {variant} | {n_rules} | {seconds[0]:.3f} | {seconds[1]:.3f} "
        f"| {median(ratios):.2f} | {fit:.2f} | yes "
        f"| {median(run.processors for run in more):.2f} "
        f"| {min(map(min, distances)):.0f} to {max(farthest):.0f} "
        f"| {_median_of(near)} | {_median_of(far)} |"
    )


def _median_of(ratios: Sequence[float]) -> str:
    return f"{median(ratios):.2f} ({len(ratios)})" if ratios else ""


def main() -> None:
    """Read the command line; print a row per data set and variant."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=["yeast", "reuters-k500", "bibtex"])
    parser.add_argument("--variants", nargs="+", default=["none", "0.04", "label-wise"])
    parser.add_argument("--threads", type=int, default=2, help="to compare with one")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0, help="of a training with one thread")
    parser.add_argument("--rules", type=int, help="fixed number of rules, whatever they take")
    parser.add_argument("--sparse", action="store_true", help="keep X in CSR form")
    parser.add_argument("--data-folder", type=Path, default=FOLDER)
    args = parser.parse_args()
    print(
        "| data | variant | rules | 1 thread, s | "
        f"{args.threads} threads, s | ratio | ratio of the whole fit | same model | processors "
        "| answer, ns | near | far |"
    )
    print("|---|---|--:|--:|--:|--:|--:|---|--:|--:|--:|--:|")
    try:
        with compiled(DISTANCE) as program:
            for name, variant in product(args.data, args.variants):
                path = args.data_folder / f"{name}.npz"
                if not path.is_file():
                    print(f"{name}, {variant}: skipped, there is no {path}", file=sys.stderr)
                    continue
                row = measure(load_npz(path), variant, args, lambda: float(output_of(program)))
                print(row, flush=True)
    except NoCompilerError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
