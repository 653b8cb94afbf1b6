#!/usr/bin/env python3
"""Train and score the reference implementation once, configured as `shared/peer/run_peer.py` says.

Usage: run_peer.py DATA.npz --script shared/peer/run_peer.py --variant none|0.32|0.04|2|label-wise
                   [--rules 200] [--fold 0] [--threads 1] [--seed 1] [--sparse]

Runs in the Python that has mlrl-boomer. The configuration is taken from the script itself, so that
there is one only; data, fold, clock and memory are those of `run_ours.py`. Prints the same JSON.
"""

from __future__ import annotations

import importlib.util
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import training
from numpy.typing import NDArray


def import_script(path: Path) -> ModuleType:
    """Import a script that is on no search path."""
    spec = importlib.util.spec_from_file_location("peer_script", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python script")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Peer:
    """The reference implementation as `training.measure` wants it."""

    version = version("mlrl-boomer")

    def __init__(self, script: Path, variant: str, rules: int, threads: int, seed: int) -> None:
        peer = import_script(script)
        configuration = peer.configuration(variant, rules, threads) | {"random_state": seed}
        self._model = peer.BoomerClassifier(**configuration)

    def fit(self, X: Any, Y: NDArray[np.uint8], nominal: list[int]) -> None:
        """Train, with the features that the data file calls nominal as such."""
        self._model.fit(X, Y, **({"nominal_feature_indices": nominal} if nominal else {}))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return a dense matrix of 0 and 1; the peer chooses by itself whether to return one."""
        predicted = self._model.predict(X)
        return predicted.toarray() if hasattr(predicted, "toarray") else np.asarray(predicted)

    def n_rules(self) -> int:
        """How many rules were learned, the default rule included."""
        return int(self._model.model_.get_num_rules())


def main() -> None:
    """Read the command line, train, predict, print."""
    parser = training.parser("Train and score mlrl-boomer once.")
    parser.add_argument("--script", type=Path, required=True, help="shared/peer/run_peer.py")
    args = parser.parse_args()
    learner = Peer(args.script, args.variant, args.rules, args.threads, args.seed)
    training.run(args, learner)


if __name__ == "__main__":
    main()
