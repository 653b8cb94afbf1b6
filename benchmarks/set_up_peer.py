#!/usr/bin/env python3
"""Make the environment of the reference implementation, `.peer`, unless it is there already.

It needs Python 3.12 or newer, while Labelboost does with 3.11, hence an environment of its own.
Where that cannot be had, this says why and ends well: ours is then measured alone.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ENVIRONMENT = Path(__file__).resolve().parents[1] / ".peer"
PYTHON = ENVIRONMENT / "bin" / "python"
VERSION = "0.15.6"
PACKAGES = (f"mlrl-boomer=={VERSION}", "scikit-learn", "scipy")
MINIMUM = (3, 12)
NAMES = ("python3.12", "python3.13", "python3.14", "python3", "python")


def output_of(*command: str | Path) -> str | None:
    """What a command prints, or None where it fails or does not exist."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def peer_version(python: Path) -> str | None:
    """The version of mlrl-boomer that a Python has, or None."""
    code = "import mlrl.boosting; from importlib.metadata import version as v; print(v('{}'))"
    return output_of(python, "-c", code.format("mlrl-boomer"))


def candidates() -> Iterator[str]:
    """Pythons that may be there; those of pyenv are named python3.12 but do not run as such."""
    yield from filter(None, map(shutil.which, NAMES))
    for version in (output_of("pyenv", "versions", "--bare") or "").split():
        prefix = output_of("pyenv", "prefix", version)
        if prefix:
            yield f"{prefix}/bin/python"


def new_enough(python: str) -> bool:
    """Tell whether it runs, and is a Python that the peer supports."""
    answer = output_of(python, "-c", "import sys; print(*sys.version_info[:2])")
    return answer is not None and tuple(map(int, answer.split())) >= MINIMUM


def main() -> None:
    """Find a Python, make the environment, install; say what happened."""
    if peer_version(PYTHON) == VERSION:
        return
    python = next(filter(new_enough, candidates()), None)
    if python is None:
        print("The peer needs Python 3.12 or newer, and there is none.", file=sys.stderr)
        return
    print(f"Setting up mlrl-boomer {VERSION} in {ENVIRONMENT.name}", file=sys.stderr)
    install = (PYTHON, "-m", "pip", "--disable-pip-version-check", "-q", "install", *PACKAGES)
    try:
        subprocess.run((python, "-m", "venv", "--clear", ENVIRONMENT), check=True)
        subprocess.run(install, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"The peer could not be installed: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
