#!/usr/bin/env python3
"""Train and score Labelboost once, in the paper's configuration: the counterpart of run_peer.py.

Usage: run_ours.py DATA.npz --variant none|0.32|0.16|0.08|0.04|2|label-wise [--rules 200] [--fold 0]
                   [--threads 1] [--sparse]

Prints one JSON object with the fields of run_peer.py's: seconds of fit, rules learned, Subset 0/1
and Hamming loss in percent on the held-out fold, and the process's peak memory in MB.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import argparse
import json
import resource
import sys
import time
from typing import Any

import numpy as np
from sklearn.model_selection import KFold

from labelboost import RuleBoostingClassifier
from labelboost.data import load_npz


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


def main() -> None:
    """Read the command line, train, predict, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data")
    parser.add_argument("--variant", default="none")
    parser.add_argument("--rules", type=int, default=200)
    parser.add_argument("--fold", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--sparse", action="store_true", help="keep X in CSR form")
    args = parser.parse_args()

    dataset = load_npz(args.data)
    X, Y = dataset.X, dataset.Y
    if not args.sparse and not isinstance(X, np.ndarray):
        X = X.toarray()
    train, test = list(KFold(10, shuffle=True, random_state=1).split(X))[args.fold]
    model = RuleBoostingClassifier(
        n_rules=args.rules,
        random_state=1,
        n_jobs=args.threads,
        categorical_features=dataset.nominal_indices or None,
        **parameters(args.variant),
    )
    X_train, Y_train = X[train], Y[train]
    start = time.perf_counter()
    model.fit(X_train, Y_train)
    seconds = time.perf_counter() - start
    wrong = np.asarray(model.predict(X[test])) != Y[test]
    # Bytes on macOS, kilobytes elsewhere.
    per_mb = 1024**2 if sys.platform == "darwin" else 1024
    result = {
        "data": dataset.name,
        "variant": args.variant,
        "threads": args.threads,
        "rules": int(model.n_rules_),
        "fit_seconds": round(seconds, 4),
        "subset_loss": round(100 * float(wrong.any(axis=1).mean()), 3),
        "hamming_loss": round(100 * float(wrong.mean()), 3),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // per_mb,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
