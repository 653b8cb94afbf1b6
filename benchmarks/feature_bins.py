#!/usr/bin/env python3
"""Quantile bins of the features beside exact thresholds: training time and losses on large data.

Usage: feature_bins.py [--examples 1000000] [--rules 60 125 250] [--seeds 3] [--variant none]

Synthetic data with 50 features (some nominal, some values missing) and 20 labels that depend on
each other through sharp thresholds, the hardest case for bins. Both models learn equally many rules
on the same examples, on one thread; the losses are those on other examples. Prints a Markdown table
with means over the seeds, each of which stands for other data and other draws. Preparing the
features takes about as long with bins as without, and matters the less the more rules follow: what
a fit of fewer rules takes is read off the longest one, of which it is the beginning.
For each seed a first fit is not counted: it is the one that gets its memory from the system.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from statistics import fmean
from typing import Any

import numpy as np
from growth import Attempt, timed_fit
from numpy.typing import NDArray
from run_ours import parameters

from labelboost import RuleBoostingClassifier
from labelboost.data import Dataset, make_multilabel

MOST_WORSE = 0.5
"""Points of loss that bins may cost."""


@dataclass(frozen=True)
class Outcome:
    """What a model took to train, and how wrong it is, in percent."""

    rules: float
    conditions: float
    """Per rule."""
    fit_seconds: float
    rule_seconds: float
    """Per rule, without preparing the features."""
    subset_loss: float
    hamming_loss: float

    @property
    def preparation(self) -> float:
        """Seconds of the fit that do not depend on the number of rules."""
        return self.fit_seconds - self.rules * self.rule_seconds


def mean(outcomes: Sequence[Outcome]) -> Outcome:
    """Average over the seeds."""
    return Outcome(*(fmean(values) for values in zip(*map(astuple, outcomes), strict=True)))


def losses(predicted: NDArray[Any], Y: NDArray[np.uint8]) -> tuple[float, float]:
    """Subset 0/1 and Hamming loss in percent."""
    wrong = predicted != Y
    return 100 * float(wrong.any(axis=1).mean()), 100 * float(wrong.mean())


def measure(
    data: Dataset, feature_bins: int | None, seed: int, args: argparse.Namespace
) -> list[Outcome]:
    """Train on the first examples, score the others: with each number of rules."""
    model = RuleBoostingClassifier(
        n_rules=max(args.rules) + 1,
        feature_bins=feature_bins,
        categorical_features=data.nominal_indices or None,
        random_state=seed,
        n_jobs=args.threads,
        **parameters(args.variant),
    )
    X, Y = np.asarray(data.X), data.Y
    start = time.perf_counter()
    attempts = timed_fit(model, X[: args.examples], Y[: args.examples])
    preparation = time.perf_counter() - start - sum(attempt.seconds for attempt in attempts)
    sizes = sorted({min(size, len(model.rules_) - 1) for size in args.rules})
    stages = model.staged_predict(X[args.examples :], [size + 1 for size in sizes])
    return [
        Outcome(
            size,
            fmean(len(rule.conditions) for rule in model.rules_[1 : size + 1]),
            preparation + seconds_of_first(attempts, size),
            seconds_of_first(attempts, size) / size,
            *losses(predicted, Y[args.examples :]),
        )
        for size, predicted in zip(sizes, stages, strict=True)
    ]


def seconds_of_first(attempts: Sequence[Attempt], rules: int) -> float:
    """What the first rules took, and the attempts that failed before the last of them."""
    learned = 0
    seconds = 0.0
    for attempt in attempts:
        if learned == rules:
            break
        seconds += attempt.seconds
        learned += attempt.conditions > 0
    return seconds


def guess(data: Dataset, n_train: int) -> tuple[float, float]:
    """Losses of the most frequent label set, for those who do not look at the features."""
    sets, counts = np.unique(data.Y[:n_train], axis=0, return_counts=True)
    return losses(sets[np.argmax(counts)], data.Y[n_train:])


def report(outcomes: dict[str, list[Outcome]], chance: Sequence[float]) -> Iterator[str]:
    """The lines of the Markdown table of both models, and what follows from it."""
    yield (
        "| thresholds | rules | conditions per rule | fit, s | preparation, s | per rule, s "
        "| Subset 0/1, % | Hamming, % |"
    )
    yield "|---|--:|--:|--:|--:|--:|--:|--:|"
    for pair in zip(*outcomes.values(), strict=True):
        for name, o in zip(outcomes, pair, strict=True):
            yield (
                f"| {name} | {o.rules:.0f} | {o.conditions:.1f} | {o.fit_seconds:.2f} "
                f"| {o.preparation:.2f} | {o.rule_seconds:.4f} "
                f"| {o.subset_loss:.2f} | {o.hamming_loss:.2f} |"
            )
    yield f"| most frequent label set | | | | | | {chance[0]:.2f} | {chance[1]:.2f} |"
    yield ""
    for exact, binned in zip(*outcomes.values(), strict=True):
        yield from comparison(exact, binned)


def comparison(exact: Outcome, binned: Outcome) -> Iterator[str]:
    """How much faster bins are, and what they cost."""
    rules = exact.rule_seconds / binned.rule_seconds
    fit = exact.fit_seconds / binned.fit_seconds
    yield (
        f"{exact.rules:.0f} rules: with bins a rule is {rules:.2f} times as fast, "
        f"the whole fit {fit:.2f} times."
    )
    differences = {
        "Subset 0/1": binned.subset_loss - exact.subset_loss,
        "Hamming": binned.hamming_loss - exact.hamming_loss,
    }
    words = ", ".join(f"{name} {points:+.2f}" for name, points in differences.items())
    verdict = "within" if max(differences.values()) <= MOST_WORSE else "not within"
    yield f"Loss with bins minus loss without: {words} points ({verdict} {MOST_WORSE:g})."


def generate(seed: int, args: argparse.Namespace) -> Dataset:
    """Make data in which a few factors are behind all labels, so that some rules go a long way."""
    return make_multilabel(
        args.examples + args.held_out,
        args.features,
        args.labels,
        dependence=1.0,
        n_factors=args.factors,
        noise=0.05,
        nominal=0.1,
        missing=0.02,
        random_state=seed,
    )


def main() -> None:
    """Read the command line, train both ways with each seed, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--examples", type=int, default=1_000_000, help="to train on")
    parser.add_argument("--held-out", type=int, default=100_000, help="to score on")
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--labels", type=int, default=20)
    parser.add_argument("--factors", type=int, default=3, help="behind the labels")
    parser.add_argument(
        "--rules", nargs="+", type=int, default=[60, 125, 250], help="besides the default rule"
    )
    parser.add_argument("--feature-bins", type=int, default=256)
    parser.add_argument("--variant", default="none", help="as in run_ours.py")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    bins = {"exact": None, f"{args.feature_bins} bins": args.feature_bins}
    outcomes: dict[str, list[list[Outcome]]] = {name: [] for name in bins}
    chances = []
    for seed in range(args.seeds):
        data = generate(seed, args)
        chances.append(guess(data, args.examples))
        measure(data, None, seed, argparse.Namespace(**vars(args) | {"rules": [1]}))
        for name, feature_bins in bins.items():
            outcomes[name].append(measure(data, feature_bins, seed, args))
            print(f"seed {seed}, {name}: {outcomes[name][-1]}", file=sys.stderr, flush=True)
    print(
        f"N = {args.examples:,}, L = {args.features}, K = {args.labels}, label bins: "
        f"{args.variant}, {args.threads} thread(s); losses on {args.held_out:,} other examples; "
        f"means over {args.seeds} seeds\n"
    )
    means = {
        name: [mean(of_size) for of_size in zip(*found, strict=True)]
        for name, found in outcomes.items()
    }
    print("\n".join(report(means, [fmean(chance) for chance in zip(*chances, strict=True)])))


if __name__ == "__main__":
    main()
