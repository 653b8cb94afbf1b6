"""Values that were read from a file, each with its place in it; nothing is trusted but its type."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelboost.validation.frames import show

EXACT = 2**53
"""Numbers written without a decimal point are taken for floats up to here."""


class Malformed(ValueError):  # noqa: N818 (a fault of the file, which the caller names)
    """Says what is wrong with a file, in one line."""


class Node:
    """A value of a JSON document. The place is put into words only if there is a fault."""

    __slots__ = ("_key", "_parent", "value")

    def __init__(self, value: Any, key: str | int = "", parent: Node | None = None) -> None:
        self.value = value
        self._key = key
        self._parent = parent

    def where(self) -> str:
        """Name the place, such as `fitted.rules[3].coverage`."""
        if self._parent is None:
            return ""
        before = self._parent.where()
        if isinstance(self._key, int):
            return f"{before}[{self._key}]"
        key = self._key if self._key.isidentifier() and len(self._key) < 60 else show(self._key)
        return f"{before}.{key}" if before else key

    def fault(self, expected: str) -> Malformed:
        """Make an error that says what stands here and what should."""
        return Malformed(f"{self.where() or 'it'} is {_show(self.value)}, not {expected}")

    def fields(self, *names: str) -> list[Node]:
        """Get the members of an object that must have these and no others."""
        members = self.members()
        for name in names:
            if name not in members:
                raise Malformed(f"{self._label()} has no {name!r}")
        for name in members:
            if name not in names:
                raise Malformed(f"{self._label()} has an unknown {show(name)}")
        return [members[name] for name in names]

    def members(self) -> dict[str, Node]:
        """Get all members of an object."""
        if type(self.value) is not dict:
            raise self.fault("an object")
        return {name: Node(value, name, self) for name, value in self.value.items()}

    def length(self, fewest: int = 0, exactly: int | None = None) -> int:
        """Check that this is a list, and its length."""
        if type(self.value) is not list:
            raise self.fault("a list")
        if exactly is not None and len(self.value) != exactly:
            raise self.fault(f"a list of {exactly}")
        if len(self.value) < fewest:
            raise self.fault(f"a list of at least {fewest}")
        return len(self.value)

    def items(self, *, fewest: int = 0, exactly: int | None = None) -> list[Node]:
        """Get the items of a list."""
        self.length(fewest, exactly)
        return [Node(value, i, self) for i, value in enumerate(self.value)]

    def text(self) -> str:
        if type(self.value) is not str:
            raise self.fault("a string")
        return self.value

    def choice(self, choices: Iterable[str]) -> str:
        allowed = list(choices)
        if type(self.value) is not str or self.value not in allowed:
            raise self.fault("one of " + ", ".join(repr(choice) for choice in allowed))
        return self.value

    def flag(self) -> bool:
        if type(self.value) is not bool:
            raise self.fault("true or false")
        return self.value

    def integer(self, lowest: int, highest: int) -> int:
        if type(self.value) is not int or not lowest <= self.value <= highest:
            raise self.fault(f"an integer from {lowest} to {highest}")
        return self.value

    def integers(self, lowest: int, highest: int) -> list[int]:
        """Get a list of integers."""
        self.length()
        for i, value in enumerate(self.value):
            if type(value) is not int or not lowest <= value <= highest:
                Node(value, i, self).integer(lowest, highest)
        return list(self.value)

    def ascending(self, end: int) -> list[int]:
        """Get a list of indices below `end`, each larger than the one before."""
        indices = self.integers(0, end - 1)
        for i in range(1, len(indices)):
            if indices[i] <= indices[i - 1]:
                raise Node(indices[i], i, self).fault(f"larger than {indices[i - 1]} before it")
        return indices

    def number(self) -> float:
        """Get a finite number."""
        value = self.value
        whole = type(value) is int and abs(value) <= EXACT
        if not whole and (type(value) is not float or not math.isfinite(value)):
            raise self.fault("a finite number")
        return float(value)

    def numbers(self, *, fewest: int = 0, exactly: int | None = None) -> NDArray[np.float64]:
        """Get a list of finite numbers as an array."""
        self.length(fewest, exactly)
        # In one go where possible: heads are what most of a file consists of.
        if set(map(type, self.value)) <= {float}:
            array = np.array(self.value, dtype=np.float64)
            if np.isfinite(array).all():
                return array
        return np.array([node.number() for node in self.items()], dtype=np.float64)

    def strings(self) -> list[str]:
        """Get a list of strings."""
        self.length()
        for i, value in enumerate(self.value):
            if type(value) is not str:
                Node(value, i, self).text()
        return list(self.value)

    def _label(self) -> str:
        return self.where() or "the payload"


def _show(value: object) -> str:
    """Show a value without spelling out what may be huge."""
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        return f"an object with {len(value)} members"
    return show(value[:100] if isinstance(value, str) else value)
