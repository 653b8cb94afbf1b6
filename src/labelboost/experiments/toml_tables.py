"""Tables of a TOML file whose values are checked as they are read; errors name the line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any, NoReturn, Self

from labelboost.parameters import is_integer

HEADER = re.compile(r"^\s*(\[\[?)\s*([^\]]+?)\s*\]\]?\s*(?:#.*)?$")
KEY = re.compile(r"""^\s*(?:"([^"]*)"|'([^']*)'|([A-Za-z0-9_-]+))\s*[=.]""")
ITEM = re.compile(r"""#.*|"(?:[^"\\]|\\.)*"|'[^']*'|[^\s,\[\]#]+""")
PART = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([^."'\s]+))\s*""")

Place = tuple[str, ...]
"""Keys that lead to a table; elements of arrays of tables have their number as key, from 0."""


class ConfigurationError(ValueError):
    """Says which line of which file is wrong, and what would be right."""


class Table:
    """A table of a file, the top of it included."""

    def __init__(self, content: dict[str, Any], place: Place, text: str, file: str) -> None:
        self.content, self.place, self._text, self.file = content, place, text, file

    @classmethod
    def parse(cls, text: str, file: str) -> Self:
        """Return the top of a file with this text."""
        try:
            return cls(tomllib.loads(text), (), text, file)
        except tomllib.TOMLDecodeError as error:
            raise ConfigurationError(f"{file}: {error}") from error

    def __contains__(self, key: str) -> bool:
        return key in self.content

    def fail(self, message: str, key: str = "", item: int | None = None) -> NoReturn:
        """Raise an error that names the line of the key, or of an item of its list."""
        line = line_of_key(self._text, self.place, key)
        if item is not None:
            line = _line_of_item(self._text, line, item)
        raise ConfigurationError(f"{self.file}{f', line {line}' if line else ''}: {message}")

    def check_keys(self, valid: Iterable[str]) -> None:
        """Refuse keys that mean nothing here."""
        valid = list(valid)
        for key in self.content:
            if key not in valid:
                self.fail(f"unknown key {key!r}{nearest(key, valid)}", key)

    def table(self, key: str) -> Table:
        """Return the table of this key, an empty one if there is none."""
        value = self.content.get(key, {})
        if not isinstance(value, dict):
            self.fail(f"{key} must be a table, got {value!r}", key)
        return Table(value, (*self.place, key), self._text, self.file)

    def tables(self, key: str) -> list[Table]:
        """Return the tables that are written as [[key]]."""
        value = self.content.get(key, [])
        if not isinstance(value, list) or not all(isinstance(table, dict) for table in value):
            self.fail(f"{key} must be written as tables, [[{key}]]", key)
        return [
            Table(table, (*self.place, key, str(number)), self._text, self.file)
            for number, table in enumerate(value)
        ]

    def text(self, key: str, default: str = "") -> str:
        """Return a text that is not empty."""
        value = self.content.get(key, default)
        if not isinstance(value, str) or not value:
            self.fail(f"{key} must be a text, got {value!r}", key)
        return str(value)

    def integer(self, key: str, default: int, least: int, most: int) -> int:
        """Return an integer from `least` to `most`."""
        value = self.content.get(key, default)
        if not is_integer(value) or not least <= value <= most:
            self.fail(f"{key} must be an integer from {least} to {most}, got {value!r}", key)
        return int(value)

    def integers(self, key: str, default: Iterable[int], least: int, most: int) -> tuple[int, ...]:
        """Return distinct integers from `least` to `most`."""
        values = self.content.get(key, list(default))
        if not isinstance(values, list) or not values:
            self.fail(f"{key} must be a list of integers, got {values!r}", key)
        for position, value in enumerate(values):
            if not is_integer(value) or not least <= value <= most:
                message = f"{key} must be integers from {least} to {most}, got {value!r}"
                self.fail(message, key, position)
            if value in values[:position]:
                self.fail(f"{key} names {value} twice", key, position)
        return tuple(values)

    def names(
        self, key: str, what: str, valid: Sequence[str], default: Sequence[str]
    ) -> tuple[str, ...]:
        """Return distinct names out of the valid ones."""
        names = self.content.get(key, list(default))
        if not isinstance(names, list) or not names:
            self.fail(f"{key} must be a list of names, got {names!r}", key)
        for position, name in enumerate(names):
            if not isinstance(name, str) or name not in valid:
                hint = nearest(str(name), valid)
                self.fail(f"unknown {what} {name!r}{hint}", key, position)
            if name in names[:position]:
                self.fail(f"{key} names {name!r} twice", key, position)
        return tuple(names)


def nearest(name: str, valid: Iterable[str]) -> str:
    """Return a hint at the name that was meant, or at all there are."""
    names = list(valid)
    near = get_close_matches(name, names, n=1)
    if near:
        return f"; did you mean {near[0]!r}?"
    return f"; there are {', '.join(names)}" if names else ""


def line_of_key(text: str, place: Place, key: str) -> int:
    """Return the line of a key of a table, or else of the table's header; 0 if there is none."""
    current: Place = ()
    counts: dict[Place, int] = {}
    header_line = 0
    for number, line in enumerate(text.splitlines(), start=1):
        header = HEADER.match(line)
        if header:
            current = tuple("".join(part) for part in PART.findall(header[2]))
            if header[1] == "[[":
                counts[current] = counts.get(current, -1) + 1
                current = (*current, str(counts[current]))
            if key and current[: len(place) + 1] == (*place, key):
                return number
            if current == place:
                header_line = number
        elif current == place and (found := KEY.match(line)) and key in found.groups():
            return number
    return header_line


def _line_of_item(text: str, start: int, position: int) -> int:
    """Return the line of an item of the list whose key stands in line `start`."""
    seen = 0
    for number, line in enumerate(text.splitlines()[start - 1 :], start=start):
        for item in ITEM.findall(line.partition("=")[2] if number == start else line):
            if item.startswith("#"):
                break
            if seen == position:
                return number
            seen += 1
    return start
