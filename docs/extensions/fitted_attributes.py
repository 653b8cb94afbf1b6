"""Fitted attributes, whose names end in an underscore: a link in reStructuredText."""

import re
from typing import Any

from sphinx.application import Sphinx

from labelboost import estimators

DESCRIBED = {
    name
    for estimator in estimators.__all__
    for name in re.findall(r"^ *(\w+_) :", getattr(estimators, estimator).__doc__, re.MULTILINE)
}
"""Listed in the docstring of a class, even if they are properties with a docstring of their own."""


def escape(app: Sphinx, what: str, name: str, obj: object, options: Any, lines: list[str]) -> None:
    """Escape names in types, such as "ndarray of shape (n_rules_,)"."""
    for i, line in enumerate(lines):
        if line.strip().startswith(":type"):
            lines[i] = re.sub(r"(?<=\w)_(?!\w)", r"\\_", line)


def skip(
    app: Sphinx, what: str, name: str, obj: object, skipped: bool, options: Any
) -> bool | None:
    """Describe nothing twice."""
    return True if what == "class" and name in DESCRIBED else None


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("autodoc-process-docstring", escape, priority=900)  # after napoleon
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
