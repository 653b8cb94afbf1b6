"""How the names of labels, or the classes of a vector y, are stored."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelboost.persistence.nodes import Malformed, Node
from labelboost.persistence.values import decode_values, encode_values

LABEL_TYPES = ("int64", "object")
CLASS_TYPES = (*LABEL_TYPES, "float64", "bool", "str")


def encode_classes(classes: NDArray[Any], *, exclusive: bool) -> dict[str, Any]:
    """Turn `classes_` into JSON values. `exclusive`: every example has just one of them."""
    kind = "str" if classes.dtype.kind == "U" else str(classes.dtype)
    known = CLASS_TYPES if exclusive else LABEL_TYPES
    what = "Class" if exclusive else "Label"
    return {
        "type": kind if kind in known else "object",
        "values": encode_values(classes, what),
        **({"exclusive": True} if exclusive else {}),
    }


def decode_classes(node: Node, one_dimensional: bool) -> tuple[NDArray[Any], int]:
    """Check `classes_`; return it and the number of labels."""
    if not one_dimensional:
        kind, values = node.fields("type", "values")
        names = _names(kind, values, LABEL_TYPES)
        return names, len(names)
    if "exclusive" not in node.members():
        # Vectors of 0 and 1 were the only ones, then, and had one label, called 0.
        kind, values = node.fields("type", "values")
        names = _names(kind, values, LABEL_TYPES)
        if len(names) != 1:
            raise Malformed(f"it has {len(names)} labels, but its predictions have one dimension")
        return np.array([0, 1]), 1
    kind, values, exclusive = node.fields("type", "values", "exclusive")
    if not exclusive.flag():
        raise exclusive.fault("true")
    names = _names(kind, values, CLASS_TYPES)
    return names, len(names) if len(names) > 2 else 1


def _names(kind: Node, values: Node, types: tuple[str, ...]) -> NDArray[Any]:
    dtype = kind.choice(types)
    values.length(fewest=1)
    if dtype == "int64":
        values.integers(-(2**63), 2**63 - 1)
    elif dtype == "float64":
        values.numbers()
    elif dtype == "bool":
        for item in values.items():
            item.flag()
    elif dtype == "str":
        values.strings()
    names = decode_values(values)
    if dtype == "str":
        return np.array(names, dtype=np.str_)
    classes = np.empty(len(names), dtype=dtype)
    for k, name in enumerate(names):  # one by one, as a name can be a tuple
        classes[k] = name
    return classes
