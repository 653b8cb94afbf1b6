"""Starts single trainings, each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from plan import EMBEDDED
from records import Case, Outcome, Training

HERE = Path(__file__).resolve().parent
SHARED = HERE.parents[1] / "shared"
DATA_FOLDER = SHARED / "data"
PEER_SCRIPT = SHARED / "peer" / "run_peer.py"


@dataclass(frozen=True)
class Runner:
    """One of the two sides: the beginning of its command line."""

    command: tuple[str | Path, ...]

    @classmethod
    def ours(cls) -> Runner:
        """Labelboost, in the Python that runs this."""
        return cls((sys.executable, HERE / "run_ours.py"))

    @classmethod
    def peer(cls, python: Path, script: Path = PEER_SCRIPT) -> Runner:
        """The reference implementation, in a Python that has it."""
        return cls((python, HERE / "run_peer.py", "--script", script))

    def train(self, case: Case, data_folder: Path = DATA_FOLDER, seed: int = 1) -> Training:
        """Run one training; its last line of output is the result."""
        data = case.data if case.data in EMBEDDED else str(data_folder / f"{case.data}.npz")
        options = {
            "variant": case.variant,
            "rules": case.rules,
            "fold": case.fold,
            "threads": case.threads,
            "seed": seed,
        }
        arguments = [text for name, value in options.items() for text in (f"--{name}", str(value))]
        done = subprocess.run(
            [*map(str, self.command), data, *arguments, *["--sparse"] * case.sparse],
            capture_output=True,
            text=True,
            env=os.environ | threads_environment(case.threads),
            check=False,
        )
        if done.returncode != 0:
            reason = (done.stderr.strip() or "no message").splitlines()[-1]
            name = Path(self.command[1]).name
            raise RuntimeError(f"{name} ended with status {done.returncode}: {reason}")
        result = Training(**json.loads(done.stdout.splitlines()[-1]))
        result.check(case)
        return result


def threads_environment(threads: int) -> dict[str, str]:
    """Environment variables that keep libraries from using more threads than were asked for.

    Threads of OpenMP spin while they wait unless told otherwise; on a machine that is not idle this
    made the peer four to six times slower with two threads than with one (birds, 0.04).
    """
    return {
        "OMP_NUM_THREADS": str(threads),
        "OMP_WAIT_POLICY": "passive",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
    }


def train_pair(
    case: Case, ours: Runner, peer: Runner | None, peer_first: bool, data_folder: Path
) -> Outcome:
    """Train both with the same number of rules.

    The peer stops for good at the first rule that finds no condition, so the number of rules is
    what it has learned. Where ours went first and that turned out to be fewer, ours runs again.
    """
    if peer is None:
        return Outcome(case, ours.train(case, data_folder), None)
    if peer_first:
        theirs = peer.train(case, data_folder)
        return Outcome(case, ours.train(replace(case, rules=theirs.rules), data_folder), theirs)
    own = ours.train(case, data_folder)
    theirs = peer.train(case, data_folder)
    if theirs.rules != case.rules:
        own = ours.train(replace(case, rules=theirs.rules), data_folder)
    return Outcome(case, own, theirs)
