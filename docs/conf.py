"""How the documentation is built: `make docs`."""

import sys
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

from pygments.lexers.special import TextLexer

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "extensions"))

project = "Labelboost"
author = copyright = "The Labelboost developers"
release = version = version_of("labelboost")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "mathml",
    "repository_links",
    "fitted_attributes",
]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
html_math_renderer = "mathml"

# Tables that other pages include are no pages of their own: they have no title.
exclude_patterns = [
    str(page.relative_to(HERE))
    for page in HERE.glob("*/**/*.md")
    if not page.read_text(encoding="utf-8").startswith("# ")
]

default_role = "code"
nitpicky = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_use_rtype = False

html_theme = "furo"
html_title = f"Labelboost {version}"
html_show_sphinx = False
html_copy_source = False
html_static_path: list[str] = []


def setup(app: Any) -> None:
    app.add_lexer("csv", TextLexer)  # which Pygments does not know
