"""Names of labels and categories: what can be the name of a column, or a category of pandas."""

from __future__ import annotations

import datetime
import importlib
import math
import numbers
import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from labelboost.persistence.nodes import Malformed, Node
from labelboost.validation.frames import show

INT64 = 2**63
LONGEST_INTEGER = 1000
"""Bits."""
SIDES = ("left", "right", "both", "neither")
DEEPEST = 4
"""Of tuples within tuples."""
MOST_TAGGED = 10_000
"""Names that are neither strings nor plain numbers. Of those, a hostile file could hold many whose
hashes are equal, which makes looking them up slow."""


def encode_values(values: Iterable[object], what: str) -> list[Any]:
    """Turn names into JSON values: strings, booleans and numbers as they are, others tagged."""
    return [_encode(value, what) for value in values]


def decode_values(node: Node) -> list[Any]:
    """Check names, which must be distinct."""
    node.length()
    if set(map(type, node.value)) <= {str}:
        values: list[Any] = list(node.value)
    else:
        if sum(type(value) is dict for value in node.value) > MOST_TAGGED:
            raise Malformed(f"{node.where()} has more than {MOST_TAGGED} names of unusual types")
        values = [_decode(item, 0) for item in node.items()]
    if len(set(values)) < len(values):
        raise Malformed(f"{node.where()} has a name twice")
    return values


def _encode(value: object, what: str) -> Any:
    if isinstance(value, np.generic) and not isinstance(value, np.datetime64 | np.timedelta64):
        value = value.item()  # of times it may be a number without a unit
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, numbers.Integral):
        number = int(value)
        return number if -INT64 <= number < INT64 else {"integer": hex(number)}
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if isinstance(value, tuple):
        return {"tuple": encode_values(value, what)}
    if _is_pandas(value, "Interval"):
        interval: Any = value
        ends = encode_values((interval.left, interval.right), what)
        return {"interval": [*ends, interval.closed]}
    if isinstance(value, datetime.date) and (tagged := _encode_date(value)) is not None:
        return tagged
    raise ValueError(
        f"{what} {show(value)} is of type {type(value).__name__}, which model files cannot hold. "
        "Use strings."
    )


def _encode_date(value: datetime.date) -> dict[str, str] | None:
    """Tag a date or datetime, unless what is loaded would not be found in its place.

    A pandas timestamp equals a datetime, and has its hash, if it has no nanoseconds; but times in
    the hour that summer time repeats do not equal any of another time zone.
    """
    kind = datetime.datetime if isinstance(value, datetime.datetime) else datetime.date
    text = value.isoformat()
    try:
        stored = kind.fromisoformat(text)
    except ValueError:  # NaT
        return None
    return {kind.__name__: text} if stored == value and hash(stored) == hash(value) else None


def _decode(node: Node, depth: int) -> Any:
    value = node.value
    if type(value) is dict:
        return _decode_tagged(node, depth)
    if value is None or type(value) in (bool, str):
        return value
    return _real(node)


def _real(node: Node) -> float:
    """Get a number that stays an integer if it is one: that is how it would be shown."""
    is_int = type(node.value) is int
    return node.integer(-INT64, INT64 - 1) if is_int else node.number()


def _decode_tagged(node: Node, depth: int) -> Any:
    members = node.members()
    if len(members) != 1 or depth >= DEEPEST:
        raise node.fault("a name")
    ((tag, content),) = members.items()
    if tag == "tuple":
        return tuple(_decode(item, depth + 1) for item in content.items())
    if tag == "interval":
        return _interval(content)
    parsers: dict[str, Callable[[str], object]] = {
        "datetime": datetime.datetime.fromisoformat,
        "date": datetime.date.fromisoformat,
        "integer": _integer,
    }
    if tag not in parsers:
        raise node.fault("a name")
    try:
        return parsers[tag](content.text())
    except ValueError:
        raise content.fault(f"of type {tag}") from None


def _integer(text: str) -> int:
    number = int(text, 16)
    if number.bit_length() > LONGEST_INTEGER:
        raise ValueError(text)
    return number


def _interval(node: Node) -> Any:
    left, right, closed = node.items(exactly=3)
    low, high = _real(left), _real(right)
    side = closed.choice(SIDES)
    if low > high:
        raise node.fault("an interval")
    # Nothing but a pandas interval equals the intervals of a data frame.
    return importlib.import_module("pandas").Interval(low, high, side)


def _is_pandas(value: object, kind: str) -> bool:
    return isinstance(value, getattr(sys.modules.get("pandas"), kind, ()))
