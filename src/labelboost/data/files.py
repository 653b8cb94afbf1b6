"""Where a data file lies, what its name says about it, and how its bytes become text."""

from __future__ import annotations

import bz2
import gzip
import zlib
from dataclasses import dataclass
from difflib import get_close_matches
from os import PathLike
from pathlib import Path

from labelboost.files import write_atomically

SUFFIXES = {
    ".arff": "arff",
    ".libsvm": "libsvm",
    ".svm": "libsvm",
    ".svmlight": "libsvm",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".npz": "npz",
}
"""What the end of a file's name says about its format."""
FORMATS = tuple(dict.fromkeys(SUFFIXES.values()))
COMPRESSED = (".gz", ".bz2")
BINARY = ("parquet", "npz")
"""Formats that compress by themselves and hold no plain text."""


@dataclass(frozen=True, slots=True)
class Location:
    """A data file and how to read it."""

    path: Path
    stem: str
    """Its name without the suffixes for format and compression."""
    format: str
    compression: str
    """`.gz`, `.bz2` or nothing."""

    def beside(self, suffix: str) -> Path:
        """A file of the same stem in the same folder."""
        return self.path.with_name(self.stem + suffix)

    def fault(self, message: str, line: int | None = None, column: int | None = None) -> ValueError:
        """An error about this file."""
        return fault(self.path, message, line, column)


def fault(
    path: Path, message: str, line: int | None = None, column: int | None = None
) -> ValueError:
    """An error that tells the place. Lines and columns are counted from 1."""
    place = str(path)
    if line is not None:
        place += f", line {line}"
    if column is not None:
        place += f", column {column}"
    return ValueError(f"{place}: {message}")


def show(text: str) -> str:
    """Quote a text for a message, on one line and whatever its length."""
    shown = text if len(text) <= 60 else text[:57] + "..."
    printable = "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode() for c in shown
    )
    return f'"{printable}"'


def nearest(name: str, names: list[str] | tuple[str, ...]) -> str:
    """Continue a message about an unknown name with the most similar known one."""
    close = get_close_matches(name, names, n=1, cutoff=0.5)
    return f"; did you mean {show(close[0])}?" if close else ""


def locate(path: str | PathLike[str], format: str | None = None) -> Location:
    """Tell format and compression of a file by its name; `format` overrules the former."""
    file = Path(path)
    compression = file.suffix.lower() if file.suffix.lower() in COMPRESSED else ""
    name = file.name.removesuffix(file.suffix) if compression else file.name
    suffix = Path(name).suffix
    known = SUFFIXES.get(suffix.lower())
    if format is not None and format not in FORMATS:
        hint = nearest(str(format), FORMATS) or f"; choose one of {', '.join(FORMATS)}"
        raise ValueError(f"there is no format {show(str(format))}{hint}")
    chosen = format or known
    if chosen is None:
        raise ValueError(
            f"{file}: the suffix {show(suffix)} tells no format; rename the file to end with one "
            f"of {', '.join(SUFFIXES)}, or pass format="
        )
    if compression and chosen in BINARY:
        raise ValueError(f"{file}: {chosen} files are compressed already; drop the {compression}")
    stem = name.removesuffix(suffix) if known else name
    return Location(file, stem, chosen, compression)


def check_present(file: Path, what: str = "data set") -> None:
    """Raise FileNotFoundError, with the nearest name there is, if a file is absent."""
    if file.is_dir():
        raise ValueError(f"{file} is a folder, not a {what}")
    if file.exists():
        return
    neighbours = [p.name for p in file.parent.iterdir()] if file.parent.is_dir() else []
    raise FileNotFoundError(f"there is no {what} at {file}{nearest(file.name, neighbours)}")


def read_bytes(location: Location) -> bytes:
    """Read a whole file and decompress it."""
    check_present(location.path)
    raw = location.path.read_bytes()
    try:
        if location.compression == ".gz":
            return gzip.decompress(raw)
        if location.compression == ".bz2":
            return bz2.decompress(raw)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise location.fault(
            f"it cannot be decompressed, so it is damaged, cut off or not a "
            f"{location.compression} file: {error}"
        ) from error
    return raw


def read_text(location: Location, encoding: str) -> str:
    """Read a text file; line ends become newlines. Raises ValueError if it is empty."""
    text = _decode(location, read_bytes(location), encoding)
    if not text.strip():
        raise location.fault("the file is empty")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _decode(location: Location, raw: bytes, encoding: str) -> str:
    # Some editors start UTF-8 files with a byte order mark, which is no part of the first name.
    codec = "utf-8-sig" if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding
    try:
        return raw.decode(codec)
    except LookupError as error:
        raise ValueError(f"encoding={encoding!r}: there is no such text encoding") from error
    except UnicodeDecodeError as error:
        start = raw.rfind(b"\n", 0, error.start) + 1
        column = len(raw[start : error.start].decode(codec, "replace")) + 1
        raise location.fault(
            f"byte 0x{raw[error.start]:02x} is not valid in {encoding}; pass the encoding of the "
            'file, such as encoding="latin-1"',
            raw.count(b"\n", 0, error.start) + 1,
            column,
        ) from error
    except UnicodeError as error:
        raise location.fault(f"the file is not in {encoding}: {error}") from error


def write_bytes(location: Location, content: str | bytes) -> None:
    """Write a file whole or not at all, compressed as its name says."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    if location.compression == ".gz":
        # No time stamp, so that equal data give equal files.
        data = gzip.compress(data, mtime=0)
    elif location.compression == ".bz2":
        data = bz2.compress(data)
    write_atomically(location.path, data)
