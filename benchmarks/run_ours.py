#!/usr/bin/env python3
"""Train and score Labelboost once, in the paper's configuration.

Usage: run_ours.py DATA.npz --variant none|0.32|0.16|0.08|0.04|2|label-wise [--rules 200] [--fold 0]
                   [--threads 1] [--seed 1] [--sparse]

DATA.npz may also be the name of embedded data, digits or synthetic. Prints one JSON object, see
`Training` in records.py; losses are percentages on the held-out fold.
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import training
from numpy.typing import NDArray
from plan import EMBEDDED

from labelboost import RuleBoostingClassifier
from labelboost.data import load_digits_display, make_multilabel


def parameters(variant: str) -> dict[str, Any]:
    """Translate the name of a variant into parameters of the estimator."""
    if variant == "label-wise":
        return {"loss": "label_logistic", "head": "single", "decoding": "sign"}
    bins = {"none": None, "2": 2}.get(variant, variant)
    return {
        "loss": "example_logistic",
        "head": "complete",
        "decoding": "known",
        "label_bins": float(bins) if isinstance(bins, str) else bins,
    }


class Ours:
    """Labelboost as `training.measure` wants it."""

    version = version("labelboost")

    def __init__(self, variant: str, rules: int, threads: int, seed: int) -> None:
        self._settings = {
            "n_rules": rules,
            "random_state": seed,
            "n_jobs": threads,
            **parameters(variant),
        }

    def fit(self, X: Any, Y: NDArray[np.uint8], nominal: list[int]) -> None:
        """Train, with the features that the data file calls nominal as categories."""
        model = RuleBoostingClassifier(categorical_features=nominal or None, **self._settings)
        self._model = model.fit(X, Y)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return a dense matrix of 0 and 1."""
        return np.asarray(self._model.predict(X))

    def n_rules(self) -> int:
        """How many rules were learned, the default rule included."""
        return int(self._model.n_rules_)


def load(path: Path, sparse: bool) -> training.Data:
    """Read a file, or make the embedded data of that name."""
    if str(path) not in EMBEDDED:
        return training.load(path, sparse)
    if str(path) == "digits":
        embedded = load_digits_display()
    else:
        embedded = make_multilabel(2000, 50, 30, random_state=1)
    return training.Data(str(path), embedded.X, embedded.Y, embedded.nominal_indices)


def main() -> None:
    """Read the command line, train, predict, print."""
    args = training.parser("Train and score Labelboost once.").parse_args()
    learner = Ours(args.variant, args.rules, args.threads, args.seed)
    training.run(args, learner, load)


if __name__ == "__main__":
    main()
