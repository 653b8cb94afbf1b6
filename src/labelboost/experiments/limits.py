"""How much time and memory a task may use."""

from __future__ import annotations

import resource
from dataclasses import asdict, dataclass
from typing import Any

SIGNS_OF_MEMORY = ("bad_alloc", "bad allocation", "out of memory", "cannot allocate memory")
"""What errors of other libraries say when memory is short."""


@dataclass(frozen=True, slots=True)
class Limits:
    """None is no limit. What goes beyond one ends as a record that says so."""

    seconds: int | None = None
    """Processor time of the whole task."""
    memory_mb: int | None = None
    """Address space of its process."""

    def __bool__(self) -> bool:
        return self.seconds is not None or self.memory_mb is not None

    def impose(self) -> None:
        """Limit this process, for good in the case of time."""
        if self.seconds is not None:
            # The system ends the process with SIGXCPU, whatever library it is in.
            _lower(resource.RLIMIT_CORE, 0)
            _lower(resource.RLIMIT_CPU, self.seconds)
        if self.memory_mb is not None:
            _lower(resource.RLIMIT_AS, self.memory_mb * 1024**2)

    def exceeded_by(self, error: BaseException) -> bool:
        """Whether an error means that there was not enough memory."""
        text = str(error).lower()
        return self.memory_mb is not None and (
            isinstance(error, MemoryError) or any(sign in text for sign in SIGNS_OF_MEMORY)
        )

    def as_dict(self) -> dict[str, Any]:
        """For records."""
        return asdict(self)


NO_LIMITS = Limits()


def lift_memory_limit() -> None:
    """Make room for what is left to do, such as telling what went wrong."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


def _lower(what: int, limit: int) -> None:
    _, hard = resource.getrlimit(what)
    if hard == resource.RLIM_INFINITY or limit < hard:
        resource.setrlimit(what, (limit, hard))
