"""Libraries that only some functions need, imported when they are needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def require(module: str, purpose: str, extra: str = "experiments") -> Any:
    """Import a module, or say how to get it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{purpose} need {module.partition('.')[0]}, which cannot be imported ({error}); "
            f"install it with: pip install labelboost[{extra}]",
            name=error.name,
        ) from error
