"""Payloads of former versions, made into those of the present one before anybody else sees them.

Nothing has been checked yet: what is not as expected stays as it is, and the codec refuses it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from labelboost.persistence.nodes import Malformed


def upgraded(payload: Any, version: int) -> Any:
    """Change a parsed payload of this version into one of the present version."""
    for upgrade in UPGRADES[version - 1 :]:
        upgrade(payload)
    return payload


def _from_1_to_2(payload: Any) -> None:
    """Version 2 has the gain of each rule, and what further training needs; here it is unknown."""
    fitted = _member(payload, "fitted")
    _add(fitted, "fitted", "training", None)
    rules = _member(fitted, "rules")
    for position, rule in enumerate(rules if isinstance(rules, list) else ()):
        _add(rule, f"fitted.rules[{position}]", "gain", None)


def _member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _add(value: Any, where: str, name: str, default: Any) -> None:
    """Add a member that the former version did not have."""
    if not isinstance(value, dict):
        return
    if name in value:
        raise Malformed(f"{where} has an unknown {name!r}")
    value[name] = default


UPGRADES: tuple[Callable[[Any], None], ...] = (_from_1_to_2,)
"""The first one turns version 1 into version 2, and so on."""
