"""What an estimator class needs in order to be stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from labelboost.persistence.nodes import Malformed, Node


class Budget:
    """Memory that a file may make its reader allocate. What it promises is charged beforehand."""

    def __init__(self, max_bytes: int) -> None:
        self._most = self._left = max_bytes

    def spend(self, size: int, purpose: str) -> None:
        """Charge for about so many bytes, or refuse."""
        self._left -= size
        if self._left < 0:
            raise Malformed(
                f"{purpose} would take more memory than max_bytes={self._most} allows; pass a "
                "larger max_bytes if you trust the file"
            )


@dataclass(frozen=True, slots=True)
class Codec:
    """How the fitted attributes of one estimator class become JSON and come back."""

    estimator: type[Any]
    encode: Callable[[Any], dict[str, Any]]
    """Turn the fitted attributes of a model into JSON values."""
    decode: Callable[[Any, Node, Budget], None]
    """Check such values, and the parameters of the estimator given, and complete it with them."""
    before: Mapping[str, Any] = field(default_factory=dict)
    """What was done before there was such a parameter, if that is not its default by now."""
