"""One line of an ARFF file, token by token: slow, but it knows where everything stands."""

from __future__ import annotations

import re
from dataclasses import dataclass

from labelboost.data.files import Location

QUOTED = {quote: re.compile(rf"{quote}((?:[^{quote}\\]++|\\.)*+){quote}") for quote in "'\""}
ESCAPE = re.compile(r"\\(.)")
MEANING = {"n": "\n", "r": "\r", "t": "\t"}
BARE_NAME = re.compile(r"[^\s{}%]+")
BARE_VALUE = re.compile(r"[^,%{}]+")
BARE_ENTRY = re.compile(r"[^\s,%{}]+")
PLAIN = re.compile(r"[A-Za-z0-9_.\-+:/]+", re.ASCII)
"""What needs no quotes in any place."""


@dataclass(frozen=True, slots=True)
class Token:
    """A name or a value, without quotes and escapes."""

    text: str
    column: int
    quoted: bool

    @property
    def missing(self) -> bool:
        """Whether this is the mark of a missing value."""
        return self.text == "?" and not self.quoted


class LineScanner:
    """Walks along a line. A % outside quotes ends it."""

    def __init__(self, location: Location, number: int, line: str) -> None:
        self._location = location
        self._number = number
        self._line = line
        self._position = 0

    @property
    def column(self) -> int:
        """Where the scanner stands, from 1."""
        return self._position + 1

    def fault(self, message: str, column: int | None = None) -> ValueError:
        """An error about this line, at the present place unless another one is given."""
        return self._location.fault(message, self._number, column or self.column)

    def peek(self) -> str:
        """The next character that is no blank; nothing at the end of the line."""
        while self._line[self._position : self._position + 1].isspace():
            self._position += 1
        character = self._line[self._position : self._position + 1]
        return "" if character == "%" else character

    def take(self, character: str) -> bool:
        """Step over a character if it is the next one."""
        found = self.peek() == character
        self._position += found
        return found

    def token(self, bare: re.Pattern[str], what: str) -> Token:
        """Read what stands in quotes, or else what matches `bare`."""
        first = self.peek()
        column = self.column
        pattern = QUOTED.get(first, bare)
        match = pattern.match(self._line, self._position) if first else None
        if match is None:
            if first in QUOTED:
                raise self.fault(f"the quote {first} is not closed before the end of the line")
            raise self.fault(f"expected {what} here")
        self._position = match.end()
        if first in QUOTED:
            text = ESCAPE.sub(lambda escape: MEANING.get(escape[1], escape[1]), match[1])
            return Token(text, column, quoted=True)
        return Token(match[0].rstrip(), column, quoted=False)

    def rest(self) -> str:
        """What is left of the line."""
        return self._line[self._position :].strip()

    def expect_end(self, after: str) -> None:
        """Raise ValueError if there is more on the line than a comment."""
        if self.peek():
            raise self.fault(f"nothing is expected after {after}")


def quote(text: str) -> str:
    """Write a name or a category so that it is read back as it is."""
    if PLAIN.fullmatch(text):
        return text
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
