#!/usr/bin/env python3
"""Train Labelboost and the reference implementation in turn; compare time, memory and loss.

Every case (data set, variant, fold) runs both, one after the other in processes of their own, and
which one goes first alternates. A finished case is appended to a JSON-lines file at once, so that
an interrupted run goes on where it was. At the end one table is printed and saved as Markdown, JSON
and a plot. See README.md in this folder.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from datetime import datetime
from importlib.metadata import files, version
from pathlib import Path

import plan
from records import Case, Outcome
from report import as_json, cells_of, markdown
from runners import DATA_FOLDER, HERE, PEER_SCRIPT, Runner, train_pair
from set_up_peer import PYTHON, peer_version

RESULTS = HERE / "results"


def say(text: str) -> None:
    """Tell the user; standard output is for the report."""
    print(text, file=sys.stderr, flush=True)


def processor() -> str:
    """The name of the processor, as far as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{os.cpu_count()} x {names[0] if names else platform.processor() or platform.machine()}"


def setting() -> str:
    """What is measured where, in short: a checksum of the installed package, and the processor."""
    checksum = hashlib.sha256()
    for file in sorted(files("labelboost") or (), key=str):
        if file.suffix in {".py", ".so"}:
            checksum.update(file.read_binary())
    return f"{checksum.hexdigest()[:12]} on {processor()}"


def read(path: Path) -> dict[Case, Outcome]:
    """Read finished cases; a last line cut off by an interruption does not count."""
    outcomes = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            outcome = Outcome.from_json(json.loads(line))
        except (json.JSONDecodeError, KeyError, TypeError):
            continue
        outcomes[outcome.case] = outcome
    return outcomes


def append(path: Path, outcome: Outcome) -> None:
    """Add a finished case to the file, on a line of its own whatever stands before it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    cut_off = path.exists() and path.read_bytes()[-1:] not in (b"", b"\n")
    with path.open("a") as file:
        file.write(("\n" if cut_off else "") + json.dumps(outcome.to_json()) + "\n")
        file.flush()
        os.fsync(file.fileno())


def find_peer(option: Path | None, data_folder: Path) -> Runner | None:
    """The peer's side, or None, saying why, where it cannot be measured."""
    python = option or PYTHON
    found = peer_version(python)
    if found is None and option:
        raise SystemExit(f"{option} is not a Python with mlrl-boomer; correct or drop PEER_PYTHON")
    reasons = {
        "mlrl-boomer is not installed (it needs Python 3.12 or newer)": found is None,
        f"there is no {PEER_SCRIPT.name} in shared/peer": not PEER_SCRIPT.is_file(),
        f"there is no data folder {data_folder.parent.name}/{data_folder.name}": (
            not data_folder.is_dir()
        ),
    }
    absent = [reason for reason, holds in reasons.items() if holds]
    if absent:
        say(f"Ours is measured alone: {'; '.join(absent)}.")
        return None
    return Runner.peer(python)


def choose_data(args: argparse.Namespace) -> list[str]:
    """Names of data sets that are there: those asked for, or those of the plan."""
    if not args.data_folder.is_dir():
        say(f"Embedded data take the place of real ones: {', '.join(plan.EMBEDDED)}.")
        return list(plan.EMBEDDED)
    names = args.data or list(plan.QUICK_RULES if args.quick else plan.RULES)
    absent = [name for name in names if not (args.data_folder / f"{name}.npz").is_file()]
    if absent and args.data:
        raise SystemExit(f"there is no data of that name: {', '.join(absent)}")
    if absent:
        say(f"Left out, because there is no file: {', '.join(absent)}")
    return [name for name in names if name not in absent]


def measure(cases: Sequence[Case], peer: Runner | None, args: argparse.Namespace) -> list[Outcome]:
    """Run the cases that are not finished; return the outcomes of all that succeeded."""
    finished = {c: o for c, o in read(args.progress).items() if o.peer or peer is None}
    todo = [case for case in cases if case not in finished]
    say(f"{len(cases) - len(todo)} cases are finished, {len(todo)} to do")
    for number, case in enumerate(todo, start=1):
        if setting() != case.setting:
            raise SystemExit("Labelboost was installed anew meanwhile; start again to measure it")
        # Whoever goes second finds the file in the cache: neither may always be the second.
        peer_first = args.folds.index(case.fold) % 2 == 0
        try:
            outcome = train_pair(case, Runner.ours(), peer, peer_first, args.data_folder)
        except (RuntimeError, ValueError, IndexError, TypeError) as error:
            say(f"[{number}/{len(todo)}] {case.data}, {case.variant}, fold {case.fold}: {error}")
            continue
        append(args.progress, outcome)
        finished[case] = outcome
        say(f"[{number}/{len(todo)}] {summary(outcome)}")
    return [finished[case] for case in cases if case in finished]


def summary(outcome: Outcome) -> str:
    """One case in one line."""
    case, ours, peer = outcome.case, outcome.ours, outcome.peer
    name = f"{case.data}, {case.variant}, fold {case.fold}, {ours.rules} rules"
    own = f"{ours.fit_seconds:.3g} s, {ours.extra_mb:.1f} MB, Subset 0/1 {ours.subset_loss:.2f}"
    if peer is None:
        return f"{name}: {own}"
    ratio = peer.seconds_per_100 / ours.seconds_per_100
    other = f"{peer.fit_seconds:.3g} s, {peer.extra_mb:.1f} MB, Subset 0/1 {peer.subset_loss:.2f}"
    return f"{name}: peer {other}; ours {own}; {ratio:.1f}x"


def about(outcomes: Sequence[Outcome], args: argparse.Namespace) -> list[str]:
    """Say what was measured, and how."""
    peers = {outcome.peer.version for outcome in outcomes if outcome.peer}
    beside = f" beside mlrl-boomer {', '.join(sorted(peers))}" if peers else ", alone"
    lines = [
        f"Labelboost {version('labelboost')}{beside}; {processor()}; threads each: {args.threads}; "
        f"{'sparse' if args.sparse else 'dense'} features; {datetime.now().astimezone():%Y-%m-%d}.",
        "Folds " + ", ".join(map(str, args.folds)) + " of KFold(10, shuffle=True, random_state=1) "
        "are the repeats; both sides ran in turn, each fit in a process of its own. Seconds are "
        "those of fit, preparations included, per 100 rules that were learned; ratio is the peer's "
        "time divided by ours; MB is the peak during fit above what was resident before it. Times, "
        "ratios and MB are medians over the repeats, losses (percent) means.",
    ]
    if peers and not args.sparse:
        lines.append(
            "Features are dense for both, as in the peer's own script. Given sparse text as CSR "
            "the peer is several times faster, and ratios are smaller: measure with --sparse, too."
        )
    return lines


def save(outcomes: Sequence[Outcome], lines: Sequence[str], name: str) -> None:
    """Print the report, and write it as Markdown, JSON and a plot."""
    cells = cells_of(outcomes)
    text = "\n".join(markdown("Labelboost and the reference implementation", lines, cells)) + "\n"
    print(text)
    RESULTS.mkdir(exist_ok=True)
    paths = {ending: RESULTS / f"{name}.{ending}" for ending in ("md", "json", "png")}
    paths["md"].write_text(text)
    paths["json"].write_text(json.dumps(as_json(lines, cells), indent=1) + "\n")
    plot = (sys.executable, HERE / "plot.py", paths["json"], paths["png"])
    drawn = subprocess.run(plot, capture_output=True, text=True, check=False)
    if drawn.returncode != 0:
        reason = (drawn.stderr.strip() or "no message").splitlines()[-1]
        say(f"There is no plot: {reason}")
        paths.pop("png")
    say(f"Saved {', '.join(f'benchmarks/results/{path.name}' for path in paths.values())}")


def parse() -> argparse.Namespace:
    """Read the command line; name the results so that a part never replaces the whole."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", metavar="NAME")
    parser.add_argument("--variants", nargs="+", metavar="VARIANT")
    parser.add_argument("--folds", nargs="+", type=int, metavar="FOLD")
    parser.add_argument("--rules", type=int, help="the same number everywhere; default: a plan")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--sparse", action="store_true", help="give both the features as CSR")
    parser.add_argument("--quick", action="store_true", help="a small part of everything")
    parser.add_argument("--peer-python", type=Path, help="a Python that has mlrl-boomer")
    parser.add_argument("--data-folder", type=Path, default=DATA_FOLDER)
    args = parser.parse_args()
    chosen = any((args.data, args.variants, args.folds, args.rules))
    args.name = "part" if chosen else "quick" if args.quick else "full"
    args.name += "-sparse" if args.sparse else ""
    args.name += f"-{args.threads}-threads" if args.threads > 1 else ""
    args.progress = RESULTS / f"{args.name}.jsonl"
    args.variants = args.variants or (plan.QUICK_VARIANTS if args.quick else plan.VARIANTS)
    args.folds = args.folds or plan.FOLDS
    return args


def main() -> int:
    """Measure what is missing, then report; the status tells whether anything failed."""
    args = parse()
    peer = find_peer(args.peer_python, args.data_folder)
    cases = plan.make_cases(
        choose_data(args),
        args.variants,
        args.folds,
        rules=args.rules,
        quick=args.quick,
        threads=args.threads,
        sparse=args.sparse,
        setting=setting(),
    )
    try:
        outcomes = measure(cases, peer, args)
    except KeyboardInterrupt:
        finished = read(args.progress)
        outcomes = [finished[case] for case in cases if case in finished]
        if outcomes:
            progress = f"Interrupted after {len(outcomes)} of {len(cases)} trainings of each side."
            save(outcomes, [*about(outcomes, args), progress], args.name)
        say("Interrupted; the same command goes on from here")
        return 130
    if outcomes:
        save(outcomes, about(outcomes, args), args.name)
    if len(outcomes) < len(cases):
        say(f"{len(cases) - len(outcomes)} of {len(cases)} cases failed; start again to retry them")
        return 1
    # A finished run is not to be continued: the next one measures anew.
    args.progress.unlink(missing_ok=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
