"""How much memory a piece of work needs at its peak."""

from __future__ import annotations

import gc
import resource
import sys
from pathlib import Path

STATUS = Path("/proc/self/status")
CLEAR_PEAK = Path("/proc/self/clear_refs")


class PeakMemory:
    """Knows the largest resident memory of this process since it was made.

    Where the system cannot forget earlier peaks (other than Linux), `used_mb` is a lower bound.
    """

    def __init__(self) -> None:
        gc.collect()
        try:
            CLEAR_PEAK.write_text("5")
            self._start = _status_mb("VmRSS")
        except OSError:
            self._start = _peak_mb()

    def used_mb(self) -> float:
        """MB above what was in use at the start."""
        return max(0.0, _peak_mb() - self._start)


def _peak_mb() -> float:
    try:
        return _status_mb("VmHWM")
    except OSError:
        # Bytes on macOS, kilobytes elsewhere.
        per_mb = 1024**2 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / per_mb


def _status_mb(field: str) -> float:
    lines = STATUS.read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{field}:"))
