"""The parameters of an estimator's constructor."""

from __future__ import annotations

import inspect
import math
import numbers
import os
import warnings
from typing import Any

import numpy as np

from labelboost.persistence.codec import Codec
from labelboost.persistence.nodes import Malformed, Node
from labelboost.validation.frames import show

Scalar = str | bool | int | float | None


def encode_parameters(model: Any) -> dict[str, Any]:
    """Turn parameters into JSON values; what has none is replaced by None, with a warning.

    Arrays and tuples become lists, NumPy's numbers and fractions those of Python, paths strings.
    """
    parameters: dict[str, Any] = {}
    for name, value in model.get_params(deep=False).items():
        try:
            parameters[name] = _encode(value)
        except TypeError:
            warnings.warn(
                f"a model file cannot hold {name}={show(value)}; it holds None instead, which "
                "matters only if the loaded model is fitted again",
                stacklevel=3,
            )
            parameters[name] = None
    return parameters


def decode_parameters(node: Node, codec: Codec) -> dict[str, Any]:
    """Check that these are parameters of the class; it checks the values that concern it.

    A parameter that is absent is newer than the file: it is set to what was done before there was
    such a parameter, which is its default unless the codec says otherwise.
    """
    estimator = codec.estimator
    known = inspect.signature(estimator).parameters
    values: dict[str, Any] = dict(codec.before)
    for name, member in node.members().items():
        if name not in known:
            raise Malformed(f"{estimator.__name__} has no parameter {show(name)}")
        is_list = type(member.value) is list
        values[name] = [_scalar(i) for i in member.items()] if is_list else _scalar(member)
    return values


def _encode(value: Any) -> Scalar | list[Scalar]:
    if hasattr(value, "__array__") and not isinstance(value, np.generic):
        value = np.asarray(value).tolist()
    if isinstance(value, list | tuple):
        return [_encode_scalar(entry) for entry in value]
    return _encode_scalar(value)


def _encode_scalar(value: Any) -> Scalar:
    if value is None:
        return None
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real) and math.isfinite(value):
        return float(value)
    raise TypeError(type(value).__name__)


def _scalar(node: Node) -> Scalar:
    value: Scalar = node.value
    if value is None or type(value) in (bool, str, int):
        return value
    return node.number()
