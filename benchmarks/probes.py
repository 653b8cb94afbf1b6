"""Small C++ programs that measure the machine itself: compiled where they are needed."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path


class NoCompilerError(Exception):
    """There is nothing to compile a program with."""


@contextmanager
def compiled(source: str, options: Sequence[str] = ()) -> Iterator[Path]:
    """Compile a program, which is there until the end of the block."""
    compiler = os.environ.get("CXX", "c++")
    with tempfile.TemporaryDirectory() as folder:
        file, program = Path(folder) / "probe.cpp", Path(folder) / "probe"
        file.write_text(source)
        command = [
            compiler,
            "-std=c++17",
            "-O3",
            *options,
            "-pthread",
            str(file),
            "-o",
            str(program),
        ]
        try:
            subprocess.run(command, check=True)
        except FileNotFoundError:
            message = f"there is no compiler {compiler}; name another with the variable CXX"
            raise NoCompilerError(message) from None
        yield program


def output_of(program: Path, *arguments: object) -> str:
    """Run a program and return what it prints."""
    command = [str(program), *map(str, arguments)]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
