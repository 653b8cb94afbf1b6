"""Saving a model to a file, and loading it."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import IO, Any

from sklearn.utils.validation import check_is_fitted

from labelboost.files import write_atomically
from labelboost.parameters import check_integer
from labelboost.persistence import estimators
from labelboost.persistence.codec import Budget, Codec
from labelboost.persistence.container import pack, unpack
from labelboost.persistence.nodes import Malformed
from labelboost.persistence.parameters import decode_parameters, encode_parameters

CODECS: dict[str, Codec] = {codec.estimator.__name__: codec for codec in estimators.CODECS}
"""The estimators that can be stored, by the name that stands in the file. Add new ones here."""
MAX_BYTES = 2**31
UNLIMITED = 2**62


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file, which `load_model` reads.

    The file is compressed JSON, documented in docs/model-format.md; a usual name ends in
    `.json.gz`. It replaces a former file only once it is complete. A loaded model predicts the
    same, bit by bit. A parameter that JSON cannot express, such as a RandomState, is stored as
    None, with a warning.
    """
    codec = CODECS.get(type(model).__name__)
    if codec is None or type(model) is not codec.estimator:
        raise TypeError(
            f"only models of type {', '.join(CODECS)} can be saved, got {type(model).__name__}"
        )
    check_is_fitted(model)
    target = Path(path)
    if not target.absolute().parent.is_dir():
        raise FileNotFoundError(
            f"cannot save to {target}: there is no folder {target.absolute().parent}; create it"
        )
    if target.is_dir():
        raise IsADirectoryError(f"cannot save to {target}: it is a folder; add a file name")
    payload = {
        "estimator": type(model).__name__,
        "parameters": encode_parameters(model),
        "fitted": codec.encode(model),
    }
    try:
        content = pack(payload)
        _read(io.BytesIO(content), UNLIMITED)  # whatever is saved can be loaded
    except ValueError as error:
        raise ValueError(f"this model cannot be saved: {error}") from error
    write_atomically(target, content)


def load_model(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> Any:
    """Read a model that `save_model` wrote. Nothing in the file is executed.

    Raises ValueError if the file is anything else, damaged, of an unknown version, or if reading
    it would take more than about `max_bytes` of memory.
    """
    limit = check_integer("max_bytes", max_bytes, minimum=1)
    with Path(path).open("rb") as stream:
        try:
            return _read(stream, limit)
        except Malformed as error:
            raise ValueError(f"{os.fspath(path)} is not a Labelboost model: {error}") from error


def _read(stream: IO[bytes], max_bytes: int) -> Any:
    budget = Budget(max_bytes)
    name, parameters, fitted = unpack(stream, budget).fields("estimator", "parameters", "fitted")
    codec = CODECS[name.choice(CODECS)]
    model = codec.estimator(**decode_parameters(parameters, codec))
    codec.decode(model, fitted, budget)
    return model
