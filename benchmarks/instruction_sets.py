#!/usr/bin/env python3
"""How much the kernels of each instruction set take, and that they learn the same rules.

Usage: instruction_sets.py [--cells yeast:none enron:0.04 ...] [--rules 50] [--repeats 3]

Every training runs in a process of its own, as kernels are chosen when the core is loaded; the
instruction sets that this machine has take turns. Prints a Markdown table of medians, in
milliseconds per rule, one thread, preparations included. Ends with an error if the conditions of
two models differ, as those of bibtex without bins do, whose scores grow beyond all bounds.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from run_ours import parameters

from labelboost import RuleBoostingClassifier
from labelboost.data import load_npz

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data"
SETS = ("avx512", "avx2", "portable")
CELLS = (
    "yeast:none",
    "yeast:label-wise",
    "birds:0.04",
    "enron:0.04",
    "bibtex:0.04",
    "reuters-k500:0.04",
)


def train(path: Path, variant: str, n_rules: int) -> None:
    """Train once, with the kernels that the environment asks for; print what came of it."""
    data = load_npz(path)
    X = data.X.toarray() if hasattr(data.X, "toarray") else data.X
    model = RuleBoostingClassifier(
        n_rules=n_rules,
        random_state=1,
        n_jobs=1,
        categorical_features=data.nominal_indices or None,
        **parameters(variant),
    )
    start = time.perf_counter()
    model.fit(X, data.Y)
    seconds = time.perf_counter() - start
    print(json.dumps([seconds, [repr(rule.conditions) for rule in model.rules_]]))


def run(path: Path, variant: str, n_rules: int, isa: str) -> tuple[float, list[str]] | None:
    """Train in another process; None if this machine does not have the instruction set."""
    command = [sys.executable, __file__, "--train", str(path), variant, str(n_rules)]
    environment = {**os.environ, "LABELBOOST_ISA": isa}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        if "LABELBOOST_ISA" in done.stderr:
            return None
        sys.exit(f"{path.stem}, {variant}, {isa}: {done.stderr}")
    seconds, conditions = json.loads(done.stdout)
    return seconds, conditions


def measure(path: Path, variant: str, args: argparse.Namespace) -> str:
    """Let the instruction sets take turns; return a row of the table."""
    times: dict[str, list[float]] = {isa: [] for isa in SETS}
    expected: list[str] | None = None
    for _ in range(args.repeats):
        for isa in SETS:
            found = run(path, variant, args.rules, isa)
            if found is None:
                continue
            seconds, conditions = found
            times[isa].append(1e3 * seconds / len(conditions))
            expected = expected or conditions
            for number, pair in enumerate(zip(expected, conditions, strict=True)):
                if pair[0] != pair[1]:
                    sys.exit(f"{path.stem}, {variant}, {isa}: rule {number} differs: {pair}")
    medians = {isa: median(values) for isa, values in times.items() if values}
    best = min(medians.values())
    cells = [
        f"{medians[isa]:.3g} ({medians[isa] / best:.2f})" if isa in medians else "absent"
        for isa in SETS
    ]
    return f"| {path.stem} | {variant} | {' | '.join(cells)} |"


def main() -> None:
    """Read the command line; print a row per data set and variant."""
    if sys.argv[1:2] == ["--train"]:
        train(Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", nargs="+", default=CELLS, help="data:variant")
    parser.add_argument("--rules", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--data-folder", type=Path, default=FOLDER)
    args = parser.parse_args()
    print("| data | variant | " + " | ".join(f"{isa}, ms (ratio)" for isa in SETS) + " |")
    print("|---|---|--:|--:|--:|")
    for cell in args.cells:
        name, variant = cell.split(":")
        path = args.data_folder / f"{name}.npz"
        if not path.is_file():
            print(f"{cell}: skipped, there is no {path}", file=sys.stderr)
            continue
        print(measure(path, variant, args), flush=True)


if __name__ == "__main__":
    main()
