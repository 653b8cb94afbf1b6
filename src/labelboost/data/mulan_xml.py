"""The XML files of Mulan, which name the labels of an ARFF file.

    <labels xmlns="http://mulan.sourceforge.net/labels">
      <label name="sports"><label name="tennis"/></label>
    </labels>

Labels may contain labels; this hierarchy is not used. A document type is refused, as it could
define entities that read other files or never stop growing.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from labelboost.data.files import check_present, fault, nearest, show
from labelboost.files import write_atomically

NAMESPACE = "http://mulan.sourceforge.net/labels"


@dataclass(frozen=True, slots=True)
class NamedLabel:
    """A label, and where the file names it."""

    name: str
    line: int
    column: int


def read_label_file(path: Path) -> list[NamedLabel]:
    """Read the labels of a file in its order, without their hierarchy."""
    check_present(path, "label file")
    labels: list[NamedLabel] = []
    parser = expat.ParserCreate(namespace_separator=" ")

    def here(message: str) -> ValueError:
        return fault(path, message, parser.CurrentLineNumber, parser.CurrentColumnNumber + 1)

    def start(element: str, attributes: dict[str, str]) -> None:
        tag = element.rpartition(" ")[2]
        if not opened:
            opened.append(tag)
            if tag != "labels":
                raise here(f"the root element is <{tag}>; a Mulan file starts with <labels>")
            return
        if tag != "label" or "name" not in attributes:
            raise here(f'<{tag}> is not expected here; labels are written <label name="..."/>')
        line, column = parser.CurrentLineNumber, parser.CurrentColumnNumber + 1
        labels.append(NamedLabel(attributes["name"], line, column))

    def refuse(*_: object) -> None:
        raise here("a document type (DOCTYPE) is refused; remove it")

    opened: list[str] = []
    parser.StartElementHandler = start
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(path.read_bytes(), True)
    except expat.ExpatError as error:
        problem = expat.errors.messages[error.code]
        raise fault(path, f"not valid XML: {problem}", error.lineno, error.offset + 1) from error
    except LookupError as error:
        raise fault(path, f"not valid XML: {error}") from error
    if not labels:
        raise fault(path, "it names no labels")
    return labels


def columns_of_labels(path: Path, names: tuple[str, ...], data_file: Path) -> list[int]:
    """Find the labels of a file among the columns of the data file, in the order of the latter."""
    position = {name: j for j, name in enumerate(names)}
    found: dict[int, NamedLabel] = {}
    for label in read_label_file(path):
        if label.name not in position:
            raise fault(
                path,
                f"label {show(label.name)} is not an attribute of {data_file.name}"
                f"{nearest(label.name, names)}",
                label.line,
                label.column,
            )
        if position[label.name] in found:
            first = found[position[label.name]].line
            message = f"label {show(label.name)} is named twice, first in line {first}"
            raise fault(path, message, label.line, label.column)
        found[position[label.name]] = label
    return sorted(found)


def write_label_file(path: Path, names: tuple[str, ...]) -> None:
    """Write a file with these labels. Refuses to replace a file of another kind."""
    if path.exists():
        try:
            read_label_file(path)
        except ValueError as error:
            raise ValueError(
                f"{path} is in the way: the labels go there, but it is not a label file of Mulan "
                "and would be lost"
            ) from error
    # Without the entity a parser turns a tab into a space.
    lines = [f"<label name={quoteattr(name, {chr(9): '&#9;'})}></label>" for name in names]
    head = ['<?xml version="1.0" encoding="utf-8"?>', f'<labels xmlns="{NAMESPACE}">']
    write_atomically(path, "\n".join([*head, *lines, "</labels>", ""]))
