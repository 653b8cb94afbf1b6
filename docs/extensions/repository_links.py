"""Links to files of the repository that are no pages become their paths, as text."""

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform


class RepositoryLinks(SphinxTransform):
    """Runs before links are looked up. Those that lead nowhere are left, and reported then."""

    default_priority = 5

    def apply(self, **_: Any) -> None:
        for link in list(self.document.findall(pending_xref)):
            path = self._file_of(link)
            if path is not None and path.exists():
                place = path.relative_to(Path(self.app.srcdir).parent.resolve())
                words = link.astext().strip("/")
                text = words if words == str(place) else f"{words} (in the repository: {place})"
                link.replace_self(nodes.inline("", text))

    def _file_of(self, link: pending_xref) -> Path | None:
        """Return what a link of a Markdown page leads to, unless that is a page."""
        target = link["reftarget"]
        if link.get("reftype") != "myst" or target in self.env.found_docs:
            return None
        folder = Path(self.app.srcdir)
        if link.get("refdomain") == "doc":  # where MyST has made it relative to the pages
            return (folder / f"{target}.md").resolve()
        return (folder / self.env.docname).parent.joinpath(target).resolve()


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_transform(RepositoryLinks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
