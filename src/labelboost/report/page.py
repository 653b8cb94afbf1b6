"""From content to one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from importlib.resources import files

from labelboost.report.packing import Content, to_json

SCRIPTS = (
    "data.js",
    "elements.js",
    "tables.js",
    "summary.js",
    "curve.js",
    "dependence.js",
    "rules.js",
    "examples.js",
    "main.js",
)
"""In this order, as one module: each may use what stands before it."""


def render_page(title: str, content: Content) -> str:
    """Put content, style and script into the page. The result is ASCII where names are."""
    assets = files("labelboost.report") / "assets"
    style = (assets / "style.css").read_text(encoding="utf-8")
    script = "\n".join((assets / name).read_text(encoding="utf-8") for name in SCRIPTS)
    style, script = f"\n{style}", f"\n{script}"
    parts = {
        "title": html.escape(title).encode("ascii", "xmlcharrefreplace").decode("ascii"),
        "policy": (
            f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
            "img-src data:; base-uri 'none'; form-action 'none'"
        ),
        "style": style,
        "script": script,
        "content": to_json(content),
    }
    template = (assets / "page.html").read_text(encoding="utf-8")
    # In one pass: what is put in is never searched for placeholders.
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], template)


def _hash(text: str) -> str:
    """Name an inline element in a Content-Security-Policy: only this text may run."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
