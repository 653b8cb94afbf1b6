#!/usr/bin/env python3
"""How far training is from what this machine can do: operations and bytes beside measured peaks.

Usage: roofline.py [yeast:none reuters-k500:0.04 ...] [--seconds 5] [--threads 2]

First a small C++ program (below, compiled here with -O3 -march=native) measures multiply-adds per
second and bytes loaded per second from each cache and from memory, on one thread and on several at
once. Then, for each DATA:VARIANT, a model is trained on one thread and its search is replayed in
Python: the same samples, the same features, the same conditions, so that the candidates and the
examples that have to be added up are counted, not estimated. From the counts follows what a search
must do that forms and solves the system of every candidate, and the time in which this machine
could do it at its peak: the limit. A ratio of 1 is perfection for such a search; only a search that
need not look at every candidate (bounds) can come out below 1. Prints Markdown.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import argparse
import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from growth import Attempt, timed_fit
from numpy.typing import NDArray
from probes import NoCompilerError, compiled, output_of
from run_ours import parameters

from labelboost import Rule, RuleBoostingClassifier
from labelboost.data import Dataset, load_npz, make_multilabel
from labelboost.random_draws import bootstrap_counts, sample_features
from labelboost.sampling import resolve_max_features, resolve_seed

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data"
SEED = 1
FEWEST_RULES, MOST_RULES = 5, 100
EXPONENTIAL = 12
"""Multiply-adds of an exponential function: a polynomial and some steps around it."""
LEVELS = ("L1", "L2", "L3", "memory")

# --- What the machine can do --------------------------------------------------------------------

PROBE = r"""
// Arguments: number of threads, bytes of the caches L1 (of one processor), L2 and L3 (shared).
// Prints what this machine can do per second, of all threads together, as JSON:
// {"double": multiply-adds, "single": the same, "L1": bytes loaded, "L2": ..., ...}.
// Seconds are those of the processor, so that other programs matter little.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

using std::size_t;

#ifdef __AVX512F__
constexpr size_t kBytes = 64;
#else
constexpr size_t kBytes = 32;
#endif
constexpr int kRepeats = 7;
constexpr int kChains = 12;  // hide the latency of a multiply-add, and fit into sixteen registers
constexpr long kRounds = 10'000'000;

template <typename T>
struct Vector {
    typedef T Type __attribute__((vector_size(kBytes)));
    static constexpr size_t kLanes = kBytes / sizeof(T);
};

volatile double sink, factor = 0.999, summand = 1e-3;

// All lanes count, or the compiler would leave out what nobody looks at.
template <typename V>
double total_of(const V* vectors, int count) {
    double total = 0.0;
    for (int i = 0; i < count; ++i) {
        for (size_t lane = 0; lane < sizeof(V) / sizeof(vectors[0][0]); ++lane) {
            total += static_cast<double>(vectors[i][lane]);
        }
    }
    return total;
}

template <typename T>
double multiply_adds() {
    typename Vector<T>::Type x[kChains], a = {}, b = {};
    a += static_cast<T>(factor);
    b += static_cast<T>(summand);
    for (int i = 0; i < kChains; ++i) x[i] = a * static_cast<T>(i);  // chains that are not equal
    for (long r = 0; r < kRounds; ++r) {
#pragma GCC unroll 12
        for (int i = 0; i < kChains; ++i) x[i] = x[i] * a + b;
    }
    sink = total_of(x, kChains);
    return static_cast<double>(kRounds * kChains) * Vector<T>::kLanes;
}

// Reads a part of memory from beginning to end, again and again.
double loads(const std::vector<double>& data) {
    typedef Vector<double>::Type V;
    V sums[8] = {};
    const size_t lanes = Vector<double>::kLanes, step = 8 * lanes;
    const size_t size = data.size() / step * step;
    const size_t rounds = std::max<size_t>(1, (size_t{1} << 30) / (size * sizeof(double)));
    for (size_t r = 0; r < rounds; ++r) {
        for (const double *p = data.data(), *end = p + size; p != end; p += step) {
#pragma GCC unroll 8
            for (size_t i = 0; i < 8; ++i) {
                V v;
                __builtin_memcpy(&v, p + i * lanes, kBytes);
                sums[i] += v;
            }
        }
        asm volatile("" ::: "memory");  // the next round must read again
    }
    sink = total_of(sums, 8);
    return static_cast<double>(rounds * size * sizeof(double));
}

double processor_seconds() {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// The best rate of several tries, of all threads together; `work` returns how much it did.
double best_rate(size_t threads, const std::function<double(size_t)>& work) {
    double best = 0.0;
    for (int repeat = 0; repeat < kRepeats; ++repeat) {
        std::atomic<size_t> waiting{threads};
        std::vector<double> rate(threads);
        std::vector<std::thread> pool;
        for (size_t t = 0; t < threads; ++t) {
            pool.emplace_back([&, t] {
                for (--waiting; waiting > 0;) std::this_thread::yield();
                const double start = processor_seconds();
                const double amount = work(t);
                rate[t] = amount / (processor_seconds() - start);
            });
        }
        double total = 0.0;
        for (size_t t = 0; t < threads; ++t) {
            pool[t].join();
            total += rate[t];
        }
        best = std::max(best, total);
    }
    return best;
}

int main(int, char** argv) {
    size_t argument[4];
    for (int i = 0; i < 4; ++i) argument[i] = std::strtoull(argv[1 + i], nullptr, 10);
    const auto [threads, l1, l2, l3] = argument;
    const double in_double = best_rate(threads, [](size_t) { return multiply_adds<double>(); });
    const double in_single = best_rate(threads, [](size_t) { return multiply_adds<float>(); });
    std::printf("{\"double\": %g, \"single\": %g", in_double, in_single);
    // Each thread has its own part; together they fill a quarter of the cache that they share.
    const std::pair<const char*, size_t> parts[] = {
        {"L1", l1 / 2},
        {"L2", l2 / 2},
        {"L3", std::max(l3 / 4 / threads, 2 * l2)},
        {"memory", std::max(8 * l3, size_t{256} << 20) / threads}};
    for (const auto& [name, bytes] : parts) {
        std::vector<std::vector<double>> data(threads);
        for (auto& part : data) part.assign(bytes / sizeof(double), 1.0);
        const double rate = best_rate(threads, [&](size_t t) { return loads(data[t]); });
        std::printf(", \"%s\": %g", name, rate);
    }
    std::printf("}\n");
}
"""


@dataclass(frozen=True)
class Machine:
    """Measured peaks by number of threads, per second, of all threads together."""

    peaks: dict[int, dict[str, float]]
    cache_bytes: dict[str, int]

    def level_of(self, size: float) -> str:
        """The smallest cache that holds so many bytes."""
        return next((name for name in LEVELS[:3] if size <= self.cache_bytes[name]), "memory")

    def report(self) -> Iterator[str]:
        """The lines of a Markdown table."""
        counts = sorted(self.peaks)
        headings = [f"{n} thread{'s' if n > 1 else ''}" for n in counts]
        yield f"| per second, of all threads together | {' | '.join(headings)} |"
        yield "|---|" + "--:|" * len(counts)
        names = {name: f"10^9 multiply-adds, {name} precision" for name in ("double", "single")}
        names |= {name: f"10^9 bytes loaded from {name}" for name in LEVELS}
        for key, name in names.items():
            cells = [f"{self.peaks[n][key] / 1e9:.1f}" for n in counts]
            yield f"| {name} | {' | '.join(cells)} |"


def cache_sizes() -> dict[str, int]:
    """Bytes of the caches of the first processor, as Linux tells, or what is common."""
    sizes = {"L1": 32 << 10, "L2": 1 << 20, "L3": 16 << 20}
    for entry in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"):
        level, kind, size = (
            (entry / name).read_text().strip() for name in ("level", "type", "size")
        )
        if kind != "Instruction":
            sizes[f"L{level}"] = int(size.removesuffix("K")) << 10
    return sizes


def measure_machine(threads: Sequence[int]) -> Machine:
    """Compile and run the probe."""
    sizes = cache_sizes()
    try:
        with compiled(PROBE, ["-march=native", "-ffp-contract=fast"]) as program:
            peaks = {n: json.loads(output_of(program, n, *sizes.values())) for n in threads}
    except NoCompilerError as error:
        sys.exit(str(error))
    return Machine(peaks, sizes)


# --- What a search has to do --------------------------------------------------------------------


@dataclass
class Work:
    """Counts over all rules of a training."""

    searches: int = 0
    """For a condition, successful or not."""
    candidates: int = 0
    added: int = 0
    """Examples added to running sums: of each feature all but those with the commonest value."""
    totalled: int = 0
    """Examples added to sums over whole regions: samples, what conditions drop, heads."""
    listed: int = 0
    """Entries of features that the search has to walk along."""
    updated: int = 0
    """Examples whose scores change."""

    def __iadd__(self, other: Work) -> Work:
        for field in fields(self):
            name = field.name
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self


def feature_work(values: NDArray[Any], nominal: bool) -> Work:
    """What one search for a condition on one feature takes; values: of the covered sample."""
    counts = np.unique(values[~np.isnan(values)], return_counts=True)[1]
    present = int(counts.sum())
    if present == 0:
        return Work()
    most = int(counts.max())
    if nominal:
        candidates = int(np.sum(counts < len(values)) + np.sum(counts < present))
        if len(counts) == 2 and present == len(values):
            candidates //= 2  # "is A" and "is not B" are the same
    else:
        candidates = 2 * (len(counts) - 1)
    return Work(candidates=candidates, added=present - most, listed=present - most)


def columns_of(X: Any) -> Callable[[int], NDArray[Any]]:
    """Access to single features, dense, of a matrix in any form."""
    if isinstance(X, np.ndarray):
        dense_matrix = X
        return lambda j: dense_matrix[:, j]
    csc = sp.csc_array(X)

    def column(j: int) -> NDArray[Any]:
        dense = np.zeros(csc.shape[0], dtype=csc.dtype)
        part = slice(csc.indptr[j], csc.indptr[j + 1])
        dense[csc.indices[part]] = csc.data[part]
        return dense

    return column


class Replay:
    """Goes through the search for rules again, without solving anything."""

    def __init__(self, data: Dataset, max_features: int) -> None:
        self._column = columns_of(data.X)
        self._nominal = data.nominal
        self._shape = data.X.shape
        self._max_features = max_features
        self._seed = resolve_seed(SEED)

    def attempt(self, number: int, rule: Rule | None) -> Work:
        """Count what was done for a rule, or until it was clear that there is none."""
        n_examples, n_features = self._shape
        conditions = rule.conditions if rule else ()
        sample = bootstrap_counts(self._seed, number, n_examples) > 0
        everything = np.ones(n_examples, dtype=np.bool_)
        work = Work(totalled=int(sample.sum()))
        for c in range(len(conditions) + 1):
            drawn = sample_features(self._seed, number, c, n_features, self._max_features)
            work.searches += 1
            for j in drawn:
                work += feature_work(self._column(j)[sample], bool(self._nominal[j]))
            if c == len(conditions):
                break
            condition = conditions[c]
            if condition.feature not in drawn:
                raise AssertionError(f"rule {rule} does not come from attempt {number}")
            covered = condition.covers(self._column(condition.feature))
            before = int(sample.sum())
            sample &= covered
            everything &= covered
            work.totalled += min(int(sample.sum()), before - int(sample.sum()))
        if rule:
            if int(everything.sum()) != rule.coverage:
                raise AssertionError(f"rule {rule} covers {everything.sum()} examples here")
            work.totalled += rule.coverage
            work.updated += rule.coverage
        return work


def multiply_adds(work: Work, n_labels: int, variant: str) -> float:
    """Operations of a search that sums up and solves every candidate."""
    K = n_labels
    update = EXPONENTIAL * K * work.updated
    if variant == "label-wise":  # gradients and second derivatives; g^2 / h, added up
        return update + 3.0 * K * (work.added + work.totalled) + 3.0 * K * work.candidates
    sums = (K * (K + 1) / 2 + 2 * K) * (work.added + work.totalled)
    if variant == "none":
        solve = K**3 / 6 + K**2 / 2  # factorisation, substitution
    else:
        bins = 2 if variant == "2" else math.ceil(float(variant) * K)
        solve = K**2 / 2 + 4 * K + bins**3 / 6  # aggregation, criteria, factorisation
    return update + sums + solve * work.candidates


def bytes_moved(work: Work, n_labels: int) -> float:
    """What has to be read and written: gradients, in single precision, and entries of features."""
    gradients = 4.0 * n_labels * (work.added + work.totalled)
    entries = 12.0 * work.listed  # example, rank, weight
    update = 3 * 8.0 * n_labels * work.updated  # scores read and written, gradients written
    return gradients + entries + update


# --- Both together ------------------------------------------------------------------------------


def train(data: Dataset, variant: str, seconds: float) -> tuple[list[Attempt], list[Rule]]:
    """Learn rules for some seconds; then so many again, to have them."""

    def done(attempts: Sequence[Attempt]) -> bool:
        rules = sum(attempt.conditions > 0 for attempt in attempts)
        spent = sum(attempt.seconds for attempt in attempts)
        return rules >= MOST_RULES or (rules >= FEWEST_RULES and spent > seconds)

    model = RuleBoostingClassifier(
        n_rules=MOST_RULES + 2,
        random_state=SEED,
        n_jobs=1,
        categorical_features=data.nominal_indices or None,
        **parameters(variant),
    )
    attempts = timed_fit(model, data.X, data.Y, done=done)
    model.set_params(n_rules=1 + sum(attempt.conditions > 0 for attempt in attempts))
    again = timed_fit(model, data.X, data.Y)
    if [a.conditions for a in again] != [a.conditions for a in attempts]:
        raise AssertionError("the same settings gave different rules")
    best = [a if a.seconds < b.seconds else b for a, b in zip(attempts, again, strict=True)]
    return best, model.rules_[1:]


def row(name: str, data: Dataset, variant: str, machine: Machine, seconds: float) -> str:
    """Train, replay, compare: a row of the table, per rule."""
    attempts, rules = train(data, variant, seconds)
    replay = Replay(data, resolve_max_features("log2", data.n_features))
    work = Work()
    remaining = iter(rules)
    for attempt in attempts:
        work += replay.attempt(attempt.number, next(remaining) if attempt.conditions else None)
    n, K = len(rules), data.n_labels
    operations, moved = multiply_adds(work, K, variant) / n, bytes_moved(work, K) / n
    level = machine.level_of(4.0 * K * data.n_examples)
    peaks = machine.peaks[1]
    loading = moved / peaks[level]
    limits = [max(operations / peaks[name], loading) for name in ("single", "double")]
    bound = "operations" if operations / peaks["single"] > loading else f"bytes from {level}"
    measured = sum(attempt.seconds for attempt in attempts) / n
    return (
        f"| {name} | {variant} | {K} | {n} | {work.searches / n:.1f} | {work.candidates / n:,.0f} "
        f"| {work.added / n:,.0f} | {operations / 1e6:,.2f} | {moved / 1e6:,.2f} "
        f"| {1e3 * limits[0]:,.3f} | {1e3 * limits[1]:,.3f} | {1e3 * measured:,.3f} "
        f"| {measured / limits[0]:.2f} | {bound} |"
    )


def load(name: str, folder: Path) -> Dataset | None:
    """Read or make data; None if the file is not there."""
    if name == "synthetic":
        return make_multilabel(5000, 50, 20, random_state=0)
    path = folder / f"{name}.npz"
    return load_npz(path) if path.is_file() else None


def main() -> None:
    """Read the command line, measure the machine, print a row per data set and variant."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    data = ("synthetic", "yeast", "reuters-k500", "bibtex")
    default = [f"{name}:{variant}" for name in data for variant in ("none", "0.04", "label-wise")]
    parser.add_argument("cells", nargs="*", default=default, metavar="DATA:VARIANT")
    parser.add_argument("--seconds", type=float, default=5.0, help="of training, per row")
    parser.add_argument("--threads", type=int, default=2, help="for the peaks, besides one")
    parser.add_argument("--data-folder", type=Path, default=FOLDER)
    args = parser.parse_args()
    machine = measure_machine(sorted({1, args.threads}))
    print("\n".join(machine.report()))
    print(
        "\nPer rule, one thread:\n\n| data | variant | K | rules | searches | candidates "
        "| examples added | 10^6 multiply-adds | 10^6 bytes | limit, ms | in double, ms "
        "| measured, ms | measured / limit | the limit is |"
    )
    print("|---|---|" + "--:|" * 11 + "---|", flush=True)
    for cell in args.cells:
        name, variant = cell.split(":")
        dataset = load(name, args.data_folder)
        if dataset is None:
            print(f"{cell}: skipped, no {name}.npz in {args.data_folder}", file=sys.stderr)
            continue
        print(row(name, dataset, variant, machine, args.seconds), flush=True)


if __name__ == "__main__":
    main()
