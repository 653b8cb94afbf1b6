"""Checkpoints: what an interrupted training needs in order to go on, as a file.

The file has the outside of a model file, with a format name of its own. It holds what was learned
and a fingerprint of everything that decided it; nothing else is needed, as training can be brought
to the same state from that, bit by bit.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelboost.files import write_atomically
from labelboost.persistence.codec import Budget
from labelboost.persistence.container import pack, unpack
from labelboost.persistence.nodes import Malformed, Node
from labelboost.persistence.rules import decode_rule, encode_rule
from labelboost.persistence.training import LARGEST_SEED, MOST_ATTEMPTS
from labelboost.persistence.trees import decode_tree, encode_tree
from labelboost.training.boosted import Boosted
from labelboost.validation.frames import show

FORMAT, VERSION = "labelboost-checkpoint", 1
UNLIMITED = 2**62
"""The file is the user's own, and no larger than what training itself had in memory."""

Fingerprint = Mapping[str, Any]
"""What must be the same for training to go on: name, as for messages, to JSON value."""


@dataclass(frozen=True, slots=True)
class LearnedCodec:
    """How a rule or a tree becomes JSON and comes back."""

    encode: Callable[[Any], dict[str, Any]]
    decode: Callable[[Node, NDArray[np.bool_], int], Any]
    """Takes which features are nominal, and the number of labels."""


CODECS = {"rules": LearnedCodec(encode_rule, decode_rule),
          "trees": LearnedCodec(encode_tree, decode_tree)}  # fmt: skip
"""By what ensembles consist of."""


def check_path(path: object) -> Path | None:
    """Check the name of a checkpoint; whether there can be such a file shows at the time."""
    if path is None:
        return None
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise TypeError(
            f"checkpoint must be None or the path of a file, got {show(path)} of type "
            f"{type(path).__name__}"
        )
    return Path(path)


def read_checkpoint(path: Path | None) -> StoredTraining | None:
    """Read a checkpoint if there is one, or make sure that there can be one."""
    if path is None:
        return None
    try:
        exists, is_folder = path.exists(), path.is_dir()
        has_parent = path.absolute().parent.is_dir()
    except (OSError, ValueError) as error:
        raise ValueError(f"checkpoint={show(str(path))} is no possible path: {error}") from error
    if "\0" in str(path):
        raise ValueError(
            f"checkpoint={show(str(path))} is no possible path: it has a null character"
        )
    if is_folder:
        raise ValueError(f"checkpoint={show(str(path))} is a folder. Add a file name.")
    if not has_parent:
        raise ValueError(f"checkpoint={show(str(path))} is in no existing folder. Create it.")
    return _read(path) if exists else None


@dataclass(frozen=True, slots=True)
class StoredTraining:
    """A checkpoint that was read. Its seed can be used, the rest when it has been compared."""

    path: Path
    seed: int
    _fingerprint: dict[str, Any]
    _progress: Node

    def require(self, fingerprint: Fingerprint) -> None:
        """Raise ValueError unless the checkpoint belongs to this training."""
        stored, current = self._fingerprint, fingerprint
        for name in dict.fromkeys((*current, *stored)):
            if stored.get(name) != current.get(name):
                raise ValueError(
                    f"the checkpoint {self.path} belongs to another training: "
                    f"{_difference(name, stored.get(name), current.get(name))}. Remove the file to "
                    "start anew, or choose another one."
                )

    def restore(
        self, unit: str, default_counts: bool, nominal: NDArray[np.bool_], n_labels: int
    ) -> Boosted[Any]:
        """Check what was learned, and return it."""
        decode = CODECS[unit].decode
        try:
            default, learned, attempts, times = self._progress.fields(
                "default", "learned", "attempts", "times"
            )
            ensemble = [decode(item, nominal, n_labels) for item in learned.items()]
            attempts.length(exactly=len(ensemble))
            return Boosted(
                decode_rule(default, nominal, n_labels),
                ensemble,
                times.numbers(exactly=len(ensemble) + 1).tolist(),
                attempts.ascending(MOST_ATTEMPTS),
                default_counts,
            )
        except Malformed as error:
            raise _no_checkpoint(self.path, error) from error


class CheckpointFile:
    """Where a training keeps its checkpoints."""

    def __init__(self, path: Path, unit: str, seed: int, fingerprint: Fingerprint) -> None:
        self._path = path
        self._seed = seed
        self._fingerprint = dict(fingerprint)
        self._encode = CODECS[unit].encode
        self._encoded: list[dict[str, Any]] = []  # what has been learned does not change any more

    def save(self, boosted: Boosted[Any]) -> None:
        """Replace the file by what has been learned so far."""
        n = len(boosted.learned)
        self._encoded += map(self._encode, boosted.learned[len(self._encoded) :])
        progress = {
            "default": encode_rule(boosted.default),
            "learned": self._encoded,
            "attempts": boosted.attempts[:n],
            "times": boosted.times[: n + 1],
        }
        payload = {"seed": self._seed, "fingerprint": self._fingerprint, "progress": progress}
        write_atomically(self._path, pack(payload, FORMAT, VERSION))

    def remove(self) -> None:
        """Remove the file: training is over."""
        self._path.unlink(missing_ok=True)


def _read(path: Path) -> StoredTraining:
    with path.open("rb") as stream:
        try:
            content = unpack(stream, Budget(UNLIMITED), FORMAT, VERSION)
            seed, fingerprint, progress = content.fields("seed", "fingerprint", "progress")
            fingerprint.members()
            number = seed.integer(0, LARGEST_SEED)
        except Malformed as error:
            raise _no_checkpoint(path, error) from error
    return StoredTraining(path, number, fingerprint.value, progress)


def _no_checkpoint(path: Path, error: Malformed) -> ValueError:
    return ValueError(
        f"{path} is not a checkpoint of Labelboost: {error}. Remove the file to start anew, or "
        "choose another one."
    )


def _difference(name: str, stored: object, current: object) -> str:
    if isinstance(current, str) and len(current) == 64:  # a digest, which says nothing to anybody
        return f"its {name} are others"
    return f"its {name} is {show(stored)}, not {show(current)}"
