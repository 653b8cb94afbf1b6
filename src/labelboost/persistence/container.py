"""The outside of a model file: gzip around a line of header and a payload with a checksum.

The text is one JSON document, but its header can be read alone: it is the first line, which says
how long the payload is. Nothing is decompressed beyond that, and nothing is parsed before its
checksum has been compared.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Mapping
from importlib.metadata import version
from typing import IO, Any, NoReturn

from labelboost.persistence.codec import Budget
from labelboost.persistence.nodes import Malformed, Node
from labelboost.persistence.versions import upgraded
from labelboost.validation.frames import show

FORMAT = "labelboost-model"
VERSION = 2
HEADER_FIELDS = ("format", "version", "library_version", "payload_size", "payload_sha256")
LONGEST_HEADER = 1024
MOST_DIGITS = 400
CHUNK = 2**16
LEVEL = 6
"""Of compression; level 9 takes twice the time for 1 % less."""
BEFORE_PAYLOAD = b', "payload":\n'
AFTER_PAYLOAD = b"\n}\n"
COPIES = 3
"""Of the payload that exist at a time: what was read, what was joined, and as text."""
MEMORY = {b"{": 320, b"[": 128, b",": 40, b'"': 40}
"""What an object, a list, a number in a list and half a string take in Python, at most."""


def library_version() -> str:
    return version("labelboost")


def pack(payload: Mapping[str, Any], form: str = FORMAT, latest: int = VERSION) -> bytes:
    """Make the content of a file. The same payload always gives the same bytes."""
    text = _in_lines(payload).encode("ascii")
    values = (form, latest, library_version(), len(text), hashlib.sha256(text).hexdigest())
    header = json.dumps(dict(zip(HEADER_FIELDS, values, strict=True)))[:-1].encode("ascii")
    return gzip.compress(header + BEFORE_PAYLOAD + text + AFTER_PAYLOAD, LEVEL, mtime=0)


def unpack(stream: IO[bytes], budget: Budget, form: str = FORMAT, latest: int = VERSION) -> Node:
    """Read the payload of a file as one of the present version, or raise Malformed."""
    try:
        with gzip.GzipFile(fileobj=stream) as content:
            found, size, checksum = _read_header(content.readline(LONGEST_HEADER), form, latest)
            budget.spend(COPIES * size, f"a payload of {size} bytes")
            payload = _read_exactly(content, size)
            # Reading on to the end makes gzip compare its own checksum.
            rest = content.read(len(AFTER_PAYLOAD) + 1)
    except gzip.BadGzipFile as error:
        raise Malformed("its data are not compressed with gzip, or damaged") from error
    except zlib.error as error:
        raise Malformed("its compressed data are damaged") from error
    except EOFError as error:
        raise Malformed("its compressed data end too early") from error
    if rest != AFTER_PAYLOAD:
        raise Malformed(f"its payload does not end after the {size} bytes that its header states")
    if hashlib.sha256(payload).hexdigest() != checksum:
        raise Malformed("its payload does not have the checksum that its header states")
    parsed = sum(cost * payload.count(character) for character, cost in MEMORY.items())
    budget.spend(parsed, f"a payload of {size} bytes with many values")
    value = parse(payload)
    return Node(upgraded(value, found) if form == FORMAT else value)


def parse(text: bytes) -> Any:
    """Parse JSON, strictly: ASCII, no member twice, no NaN or infinity, no giant integers."""
    try:
        return json.loads(
            text.decode("ascii"),
            object_pairs_hook=_object,
            parse_constant=_refuse_constant,
            parse_int=_integer,
        )
    except UnicodeDecodeError as error:
        raise Malformed("its text is not ASCII") from error
    except RecursionError as error:
        raise Malformed("its values are nested too deeply") from error
    except json.JSONDecodeError as error:
        raise Malformed(f"its text is not JSON ({error})") from error


def _read_header(line: bytes, form: str, latest: int) -> tuple[int, int, str]:
    if not line.endswith(BEFORE_PAYLOAD):
        raise Malformed("its first line is not the header of a model")
    header = Node(parse(line + b"null}"))
    members = header.members()
    # Before all else, as another version may have other fields.
    if "format" not in members or members["format"].value != form:
        raise Malformed(f"its first line does not say that its format is {form!r}")
    if "version" not in members:
        raise Malformed("its header has no 'version'")
    found = members["version"].integer(1, 10**9)
    if found > latest:
        writer = members.get("library_version", Node("unknown")).value
        raise Malformed(
            f"it has version {found} of the format (written by Labelboost {show(writer)}), but "
            f"Labelboost {library_version()} reads versions up to {latest}; install a later one"
        )
    _, _, writer, size, checksum, _ = header.fields(*HEADER_FIELDS, "payload")
    writer.text()
    return found, size.integer(0, 2**62), checksum.text()


def _read_exactly(content: gzip.GzipFile, size: int) -> bytes:
    """Read in small steps, so that a promise of many bytes allocates nothing."""
    parts = []
    while size:
        part = content.read(min(size, CHUNK))
        if not part:
            raise Malformed("its payload is shorter than its header states")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _in_lines(value: Mapping[str, Any], indent: str = "") -> str:
    """Write JSON with a line for each member and, in lists of objects, for each object."""
    lines = []
    for name, member in value.items():
        if isinstance(member, Mapping) and not indent:
            text = _in_lines(member, " ")
        elif isinstance(member, list) and member and isinstance(member[0], Mapping):
            text = "[\n" + ",\n".join(_compact(item) for item in member) + "\n]"
        else:
            text = _compact(member)
        lines.append(f"{indent}{json.dumps(name)}: {text}")
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise Malformed(f"an object has two members {show(name)}")
            seen.add(name)
    return members


def _refuse_constant(name: str) -> NoReturn:
    raise Malformed(f"its text is not JSON ({name} is no number)")


def _integer(digits: str) -> int:
    # Converting digits to a number takes quadratic time, and Python's own limit may be off.
    if len(digits) > MOST_DIGITS:
        raise Malformed(f"it has an integer of {len(digits)} digits")
    return int(digits)
