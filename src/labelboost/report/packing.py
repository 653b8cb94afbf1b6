"""Numbers and names as text that is safe inside an HTML page."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Content = dict[str, Any]
"""A part of what the page shows, ready for JSON."""

Kind = Literal["u1", "i1", "u2", "u4", "f4", "f8"]
"""Types of packed arrays, as NumPy names them; the page's script knows them, too."""


def pack_array(values: NDArray[Any], kind: Kind) -> Content:
    """Pack an array for the script's typed arrays: little-endian bytes in base64."""
    array = np.ascontiguousarray(values, dtype=f"<{kind}")
    return {"type": kind, "bytes": base64.b64encode(array.tobytes()).decode("ascii")}


def pack_bits(flags: NDArray[Any]) -> Content:
    """Pack a matrix of flags: a whole number of bytes per row, the lowest bit first."""
    return pack_array(np.packbits(flags.astype(bool), axis=1, bitorder="little"), "u1")


def pack_integers(values: NDArray[np.integer[Any]]) -> Content:
    """Pack integers that are not negative into as few bytes as the largest one needs."""
    largest = int(values.max(initial=0))
    return pack_array(values, "u1" if largest < 2**8 else "u2" if largest < 2**16 else "u4")


def rounded(values: Iterable[float], digits: int = 5) -> list[float | None]:
    """Round to significant digits; what is not finite becomes null, as JSON has no NaN."""
    return [
        float(f"{value:.{digits}g}") if np.isfinite(value) else None
        for value in (float(value) for value in values)
    ]


def to_json(content: Content) -> str:
    """Write JSON that may stand in a <script> element, whatever the names in it are.

    Nothing but ASCII, so U+2028 and lone surrogates are escaped; and no "<", so that no name can
    end the element or begin a comment.
    """
    text = json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
