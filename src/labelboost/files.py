"""Files that are complete or absent."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def write_atomically(path: Path, content: bytes | str, *, parents: bool = False) -> None:
    """Replace a file by another one; who reads it meanwhile sees either, even if the power fails.

    Text is written as UTF-8. With `parents`, missing folders are created.
    """
    path = path.resolve()  # a link stays, and what it points to is replaced
    if parents:
        path.parent.mkdir(parents=True, exist_ok=True)
    # Short, whatever the length of the name; in the same folder, as renaming does not copy.
    temporary = path.parent / f".labelboost-{secrets.token_hex(8)}"
    try:
        with temporary.open("xb") as stream:
            stream.write(content.encode() if isinstance(content, str) else content)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
