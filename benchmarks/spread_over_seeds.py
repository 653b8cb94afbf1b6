#!/usr/bin/env python3
"""How much of a difference to the peer is the luck of the draw? The same cell with several seeds.

Usage: spread_over_seeds.py emotions:0.32 medical:0.04 [--seeds 10] [--rules 500] [--peer-python P]

For each data set and variant: mean Subset 0/1 loss over folds 0 to 2, for seeds 1, 2, ... of each
implementation; then mean and standard deviation over the seeds.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

import numpy as np
from run_ours import parameters
from sklearn.model_selection import KFold

from labelboost import RuleBoostingClassifier
from labelboost.data import load_npz

HERE = Path(__file__).resolve().parent
SHARED = HERE.parents[1] / "shared"

# Runs in the peer's Python: the peer's own script, with another seed each time.
PEER_CODE = """
import importlib.util, json, sys
import numpy as np
from sklearn.model_selection import KFold
script, data, variant, rules, seeds = sys.argv[1:]
spec = importlib.util.spec_from_file_location("run_peer", script)
peer = importlib.util.module_from_spec(spec)
spec.loader.exec_module(peer)
x, y, nominal = peer.load(data)
folds = list(KFold(10, shuffle=True, random_state=1).split(x))[:3]
options = {"nominal_feature_indices": nominal} if nominal else {}
for seed in range(1, int(seeds) + 1):
    losses = []
    for train, test in folds:
        config = peer.configuration(variant, int(rules), 1) | {"random_state": seed}
        model = peer.BoomerClassifier(**config)
        model.fit(x[train], y[train], **options)
        predicted = model.predict(x[test])
        predicted = predicted.toarray() if hasattr(predicted, "toarray") else np.asarray(predicted)
        losses.append(100 * (predicted != y[test]).any(axis=1).mean())
    print(json.dumps(sum(losses) / 3), flush=True)
"""


def ours(data: Path, variant: str, rules: int, seeds: int) -> list[float]:
    """Train with several seeds; the mean loss over the folds for each."""
    dataset = load_npz(data)
    X, Y = dataset.X.toarray(), dataset.Y
    folds = list(KFold(10, shuffle=True, random_state=1).split(X))[:3]
    losses = []
    for seed in range(1, seeds + 1):
        wrong = []
        for train, test in folds:
            model = RuleBoostingClassifier(
                n_rules=rules,
                random_state=seed,
                categorical_features=np.flatnonzero(dataset.nominal),
                **parameters(variant),
            ).fit(X[train], Y[train])
            wrong.append(100 * (model.predict(X[test]) != Y[test]).any(axis=1).mean())
        losses.append(float(np.mean(wrong)))
    return losses


def theirs(python: str, data: Path, variant: str, rules: int, seeds: int) -> list[float]:
    """Do the same with the peer, in its own Python."""
    script = SHARED / "peer" / "run_peer.py"
    command = [python, "-c", PEER_CODE, str(script), str(data), variant, str(rules), str(seeds)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def main() -> None:
    """Read the command line and print a line per cell."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cells", nargs="+", metavar="DATA:VARIANT")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rules", type=int, default=500)
    default = os.environ.get("LABELBOOST_PEER_PYTHON", str(HERE.parent / ".peer/bin/python"))
    parser.add_argument("--peer-python", default=default)
    args = parser.parse_args()
    for cell in args.cells:
        name, variant = cell.split(":")
        data = SHARED / "data" / f"{name}.npz"
        if not data.is_file():
            sys.exit(f"there is no {data.name} in {data.parent}")
        for who, losses in (
            ("ours", ours(data, variant, args.rules, args.seeds)),
            ("peer", theirs(args.peer_python, data, variant, args.rules, args.seeds)),
        ):
            mean, spread = statistics.mean(losses), statistics.stdev(losses)
            print(
                f"{name}, {variant}, {who}: {mean:.2f} +- {spread:.2f} over {args.seeds} seeds",
                flush=True,
            )


if __name__ == "__main__":
    main()
