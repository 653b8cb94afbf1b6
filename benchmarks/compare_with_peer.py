#!/usr/bin/env python3
"""Train Labelboost and the reference implementation side by side; compare losses and times.

Every case (data set, variant, fold) runs both, one after the other in processes of their own, and
which one goes first alternates. A finished case is appended to a JSON-lines file at once, and is
skipped when the command is given again. At the end a Markdown report of all cases is printed.
See README.md in this folder for what it needs.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby, product
from pathlib import Path
from statistics import fmean, geometric_mean
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
SHARED = ROOT.parent / "shared"
PEER_VARIABLE = "LABELBOOST_PEER_PYTHON"

DATA = ("emotions", "flags", "birds", "yeast", "enron", "medical", "langlog", "slashdot")
VARIANTS = ("none", "0.32", "0.04", "2", "label-wise")
FOLDS = (0, 1, 2)
WORSE = 2.0
"""A mean loss is worth a mention when it is this many points above the peer's."""


@dataclass(frozen=True)
class Case:
    """What is trained, and how; the key of a line in the results."""

    data: str
    variant: str
    fold: int
    rules: int
    threads: int
    sparse: bool

    def arguments(self) -> list[str]:
        """The command line that run_ours.py and run_peer.py have in common."""
        names = ("variant", "rules", "fold", "threads")
        return [text for name in names for text in (f"--{name}", str(getattr(self, name)))]


@dataclass(frozen=True)
class Outcome:
    """What both implementations reported for a case."""

    case: Case
    ours: dict[str, Any]
    peer: dict[str, Any]

    def difference(self, loss: str) -> float:
        """Our loss minus the peer's, in points."""
        return float(self.ours[loss] - self.peer[loss])

    @property
    def speedup(self) -> float:
        """The peer's training time divided by ours."""
        return float(self.peer["fit_seconds"] / self.ours["fit_seconds"])


def check(result: dict[str, Any], case: Case) -> None:
    """Refuse a result that cannot be right: a benchmark of nonsense is worth nothing."""
    if (result["data"], result["variant"]) != (case.data, case.variant):
        raise ValueError(f"asked for {case.data}, {case.variant}, got {result}")
    for loss in ("subset_loss", "hamming_loss"):
        if not 0.0 <= result[loss] <= 100.0:
            raise ValueError(f"{loss} must lie between 0 and 100, got {result}")
    if result["hamming_loss"] > result["subset_loss"] + 1e-3:
        raise ValueError(f"more wrong labels than wrong examples: {result}")
    if not 1 <= result["rules"] <= case.rules:
        raise ValueError(f"rules must lie between 1 and {case.rules}, got {result}")
    if not (math.isfinite(result["fit_seconds"]) and result["fit_seconds"] > 0):
        raise ValueError(f"fit_seconds must be positive, got {result}")


def run(command: Sequence[str | Path], case: Case) -> dict[str, Any]:
    """Run one training; its last line of output is the result."""
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [*map(str, command), *case.arguments()],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    if done.returncode != 0:
        reason = (done.stderr.strip() or "no message").splitlines()[-1]
        raise RuntimeError(f"{Path(command[1]).name} ended with status {done.returncode}: {reason}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    check(result, case)
    return result


def read(path: Path) -> dict[Case, Outcome]:
    """Read finished cases; a last line cut off by an interruption does not count."""
    outcomes = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            entry = json.loads(line)
        except json.JSONDecodeError:
            continue
        case = Case(**entry["case"])
        outcomes[case] = Outcome(case, entry["ours"], entry["peer"])
    return outcomes


def append(path: Path, outcome: Outcome) -> None:
    """Add a finished case to the file, on a line of its own whatever stands before it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    cut_off = path.exists() and path.read_bytes()[-1:] not in (b"", b"\n")
    with path.open("a") as file:
        file.write(("\n" if cut_off else "") + json.dumps(asdict(outcome)) + "\n")
        file.flush()
        os.fsync(file.fileno())


def peer_python(option: Path | None) -> Path:
    """Find the Python that has mlrl-boomer, or end with a hint."""
    path = option or Path(os.environ.get(PEER_VARIABLE) or ROOT / ".peer" / "bin" / "python")
    if not path.is_file():
        raise SystemExit(
            f"There is no Python with mlrl-boomer at {path}. Make one with Python 3.12 or newer:\n"
            "  python3.12 -m venv .peer && "
            ".peer/bin/pip install mlrl-boomer==0.15.6 scikit-learn scipy\n"
            f"or name another with --peer-python or the environment variable {PEER_VARIABLE}."
        )
    return path


def measure(cases: Sequence[Case], args: argparse.Namespace) -> int:
    """Run the cases that are not finished; return how many failed."""
    finished = read(args.results)
    todo = [case for case in cases if case not in finished]
    print(f"{len(cases) - len(todo)} cases are finished, {len(todo)} to do", file=sys.stderr)
    if not todo:
        return 0
    python = peer_python(args.peer_python)
    failures = 0
    for number, case in enumerate(todo, start=1):
        file = args.data_folder / f"{case.data}.npz"
        commands = {
            "peer": [python, args.peer_script, file],
            "ours": [sys.executable, HERE / "run_ours.py", file, *["--sparse"] * case.sparse],
        }
        # Whoever goes second finds the file in the cache: neither may always be the second.
        order = ("peer", "ours") if number % 2 else ("ours", "peer")
        try:
            results = {who: run(commands[who], case) for who in order}
        except (RuntimeError, ValueError, IndexError, KeyError) as error:
            failures += 1
            print(f"[{number}/{len(todo)}] {case}: {error}", file=sys.stderr)
            continue
        outcome = Outcome(case, ours=results["ours"], peer=results["peer"])
        append(args.results, outcome)
        print(f"[{number}/{len(todo)}] {summary(outcome)}", file=sys.stderr, flush=True)
    return failures


def summary(outcome: Outcome) -> str:
    """One case in one line."""
    case, ours, peer = outcome.case, outcome.ours, outcome.peer
    return (
        f"{case.data}, {case.variant}, fold {case.fold}: "
        f"{ours['fit_seconds']:.3g} s and {peer['fit_seconds']:.3g} s ({outcome.speedup:.2f} x), "
        f"Subset 0/1 {ours['subset_loss']:.2f} and {peer['subset_loss']:.2f}, "
        f"Hamming {ours['hamming_loss']:.2f} and {peer['hamming_loss']:.2f}, "
        f"{ours['rules']} and {peer['rules']} rules"
    )


def report(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """The lines of the Markdown report."""
    yield (
        "| data | variant | folds | Subset 0/1: ours | peer | difference "
        "| Hamming: ours | peer | difference | time: peer / ours | rules: ours | peer |"
    )
    yield "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
    worse = []
    for (data, variant), group in groupby(outcomes, lambda o: (o.case.data, o.case.variant)):
        folds = list(group)
        cells = [data, variant, str(len(folds))]
        for loss, name in (("subset_loss", "Subset 0/1"), ("hamming_loss", "Hamming")):
            difference = fmean(outcome.difference(loss) for outcome in folds)
            cells += [f"{fmean(outcome.ours[loss] for outcome in folds):.2f}"]
            cells += [f"{fmean(outcome.peer[loss] for outcome in folds):.2f}"]
            cells += [f"{difference:+.2f}"]
            if difference > WORSE:
                worse.append(f"{data}, {variant}: {name} {difference:+.2f}")
        cells.append(f"{geometric_mean(outcome.speedup for outcome in folds):.2f}")
        cells += [f"{fmean(outcome.ours['rules'] for outcome in folds):.0f}"]
        cells += [f"{fmean(outcome.peer['rules'] for outcome in folds):.0f}"]
        yield f"| {' | '.join(cells)} |"
    speedups = [outcome.speedup for outcome in outcomes]
    slower = [summary(outcome) for outcome in outcomes if outcome.speedup < 1.0]
    yield ""
    yield f"Over all {len(outcomes)} cases, ours minus the peer's, in percentage points:"
    yield ""
    for loss, name in (("subset_loss", "Subset 0/1"), ("hamming_loss", "Hamming")):
        difference = fmean(outcome.difference(loss) for outcome in outcomes)
        yield f"- mean difference of {name} loss: {difference:+.3f}"
    yield (
        f"- training time, peer / ours: geometric mean {geometric_mean(speedups):.2f}, "
        f"minimum {min(speedups):.2f}"
    )
    yield from listing(f"More than {WORSE:g} points worse (mean over folds)", worse)
    yield from listing("Slower than the peer (single cases)", slower)


def listing(title: str, items: Sequence[str]) -> Iterator[str]:
    """A heading and a list, or the word none."""
    yield ""
    yield f"{title}: {len(items) or 'none'}"
    if items:
        yield ""
    yield from (f"- {item}" for item in items)


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=DATA, metavar="NAME")
    parser.add_argument("--variants", nargs="+", default=VARIANTS, metavar="VARIANT")
    parser.add_argument("--folds", nargs="+", type=int, default=FOLDS, metavar="FOLD")
    parser.add_argument("--rules", type=int, default=500)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--sparse", action="store_true", help="give ours the features in CSR form")
    parser.add_argument("--results", type=Path, default=HERE / "results" / "peer.jsonl")
    parser.add_argument("--peer-python", type=Path, help="a Python that has mlrl-boomer")
    parser.add_argument("--peer-script", type=Path, default=SHARED / "peer" / "run_peer.py")
    parser.add_argument("--data-folder", type=Path, default=SHARED / "data")
    parser.add_argument("--report-only", action="store_true", help="train nothing")
    return parser.parse_args()


def main() -> int:
    """Measure what is missing, then report; the status tells whether anything failed."""
    args = parse()
    cases = [
        Case(data, variant, fold, args.rules, args.threads, args.sparse)
        for data, variant, fold in product(args.data, args.variants, args.folds)
    ]
    failures = 0 if args.report_only else measure(cases, args)
    finished = read(args.results)
    outcomes = [finished[case] for case in cases if case in finished]
    if outcomes:
        print("\n".join(report(outcomes)))
    missing = len(cases) - len(outcomes)
    if missing:
        print(f"{missing} of {len(cases)} cases are missing, {failures} failed", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
