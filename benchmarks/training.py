"""One training in a process of its own: data, fold, clock and memory, the same for both sides.

`run_ours.py` and `run_peer.py` hand in a learner; everything that could favour one of them happens
here, once. Needs NumPy, SciPy and scikit-learn, which both environments have.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from records import Training
from sklearn.model_selection import KFold


@dataclass(frozen=True)
class Data:
    """A whole data set as both sides get it."""

    name: str
    X: Any
    """Features of float32, a dense array or a CSR matrix."""
    Y: NDArray[np.uint8]
    nominal: list[int]


class Learner(Protocol):
    """What a side has to offer."""

    version: str

    def fit(self, X: Any, Y: NDArray[np.uint8], nominal: list[int]) -> None:
        """Train; this is what the clock and the memory are about."""

    def predict(self, X: Any) -> NDArray[Any]:
        """Return a dense matrix of 0 and 1."""

    def n_rules(self) -> int:
        """How many rules were learned, the default rule included."""


def parser(description: str) -> argparse.ArgumentParser:
    """The command line that both runners have in common."""
    options = argparse.ArgumentParser(description=description)
    options.add_argument("data", type=Path, help="an npz file")
    options.add_argument("--variant", default="none", help="none, a ratio, 2 or label-wise")
    options.add_argument("--rules", type=int, default=200)
    options.add_argument("--fold", type=int, default=0)
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--sparse", action="store_true", help="keep the features in CSR form")
    return options


def load(path: Path, sparse: bool) -> Data:
    """Read an npz file of `../shared/data`, whose README describes the format."""
    with np.load(path, allow_pickle=False) as arrays:
        X = sp.csr_array(
            (arrays["X_data"], arrays["X_indices"], arrays["X_indptr"]), shape=arrays["X_shape"]
        )
        ones = np.ones(len(arrays["Y_indices"]), dtype=np.uint8)
        Y = sp.csr_array((ones, arrays["Y_indices"], arrays["Y_indptr"]), shape=arrays["Y_shape"])
        nominal = np.flatnonzero(arrays["feature_kind"] == "nominal").tolist()
    return Data(path.stem, X if sparse else X.toarray(), Y.toarray(), nominal)


def measure(learner: Learner, data: Data, args: argparse.Namespace) -> Training:
    """Train on one fold, and score the part held out."""
    train, test = list(KFold(10, shuffle=True, random_state=1).split(data.X))[args.fold]
    X_train, Y_train, X_test, Y_test = data.X[train], data.Y[train], data.X[test], data.Y[test]
    gc.collect()
    start_mb = start_memory()
    start, cpu_start = time.perf_counter(), time.process_time()
    learner.fit(X_train, Y_train, data.nominal)
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
    peak_mb = peak_memory()
    wrong = learner.predict(X_test) != Y_test
    return Training(
        data=data.name,
        labels=data.Y.shape[1],
        variant=args.variant,
        fold=args.fold,
        threads=args.threads,
        rules=learner.n_rules(),
        fit_seconds=round(seconds, 5),
        cpu_seconds=round(cpu_seconds, 5),
        subset_loss=round(100 * float(wrong.any(axis=1).mean()), 4),
        hamming_loss=round(100 * float(wrong.mean()), 4),
        start_mb=round(start_mb, 2),
        peak_mb=round(peak_mb, 2),
        version=learner.version,
    )


def run(
    args: argparse.Namespace,
    learner: Learner,
    load_data: Callable[[Path, bool], Data] = load,
) -> None:
    """Do one training and print it as one line of JSON."""
    print(json.dumps(asdict(measure(learner, load_data(args.data, args.sparse), args))))


def start_memory() -> float:
    """Forget earlier peaks where the system can, and return the memory now in MB.

    Where it cannot, this is the peak so far, and the difference to `peak_memory` a lower bound.
    """
    try:
        Path("/proc/self/clear_refs").write_text("5")
        return _status("VmRSS")
    except OSError:
        return peak_memory()


def peak_memory() -> float:
    """The largest resident memory since `start_memory`, in MB."""
    try:
        return _status("VmHWM")
    except OSError:
        # Bytes on macOS, kilobytes elsewhere.
        per_mb = 1024**2 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / per_mb


def _status(field: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{field}:"))
