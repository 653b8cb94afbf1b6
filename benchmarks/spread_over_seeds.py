#!/usr/bin/env python3
"""How much of a difference to the peer is the luck of the draw? The same cell with several seeds.

Usage: spread_over_seeds.py emotions:0.32 medical:0.04 [--seeds 10] [--rules 500] [--peer-python P]

For each data set and variant: mean Subset 0/1 loss over folds 0 to 2, for seeds 1, 2, ... of each
implementation; then mean and standard deviation over the seeds.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from pathlib import Path

from plan import FOLDS
from records import Case
from runners import DATA_FOLDER, Runner
from set_up_peer import PYTHON


def losses(runner: Runner, data: str, variant: str, rules: int, seeds: int) -> list[float]:
    """Train with several seeds; the mean loss over the folds for each."""
    cases = [Case(data, variant, fold, rules, threads=1, sparse=False) for fold in FOLDS]
    return [
        statistics.fmean(runner.train(case, seed=seed).subset_loss for case in cases)
        for seed in range(1, seeds + 1)
    ]


def main() -> None:
    """Read the command line and print a line per cell and implementation."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cells", nargs="+", metavar="DATA:VARIANT")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rules", type=int, default=500)
    default = Path(os.environ.get("PEER_PYTHON") or PYTHON)
    parser.add_argument("--peer-python", type=Path, default=default)
    args = parser.parse_args()
    for cell in args.cells:
        name, variant = cell.split(":")
        if not (DATA_FOLDER / f"{name}.npz").is_file():
            sys.exit(f"there is no {name}.npz in {DATA_FOLDER}")
        for who, runner in (("ours", Runner.ours()), ("peer", Runner.peer(args.peer_python))):
            values = losses(runner, name, variant, args.rules, args.seeds)
            mean, spread = statistics.mean(values), statistics.stdev(values)
            print(
                f"{name}, {variant}, {who}: {mean:.2f} +- {spread:.2f} over {args.seeds} seeds",
                flush=True,
            )


if __name__ == "__main__":
    main()
