"""The first part of an ARFF file: attributes and their types, and which of them are labels."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from labelboost.data.arff_tokens import BARE_NAME, BARE_VALUE, LineScanner
from labelboost.data.files import Location, nearest, show
from labelboost.data.label_choice import Labels, choose_labels, columns_at_one_end

Kind = Literal["numeric", "nominal", "string"]
KINDS: dict[str, Kind] = {
    "numeric": "numeric",
    "real": "numeric",
    "integer": "numeric",
    "string": "string",
}
MEKA_OPTION = re.compile(r"-C\s+(-?\d{1,9})\b", re.ASCII)


@dataclass(frozen=True, slots=True)
class Attribute:
    """A column of the file."""

    name: str
    kind: Kind
    categories: tuple[str, ...]
    line: int
    type_column: int
    """Where on that line the type stands."""


@dataclass(frozen=True, slots=True)
class Header:
    """All that stands above the rows."""

    relation: str
    relation_line: int
    attributes: tuple[Attribute, ...]
    first_row: int
    """Index of the line after @data."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the attributes, in the order of the file."""
        return tuple(attribute.name for attribute in self.attributes)


def read_header(location: Location, lines: list[str]) -> Header:
    """Read everything up to @data."""
    relation, relation_line = "", 1
    attributes: list[Attribute] = []
    seen: dict[str, int] = {}
    for index, line in enumerate(lines):
        number = index + 1
        scanner = LineScanner(location, number, line)
        if not scanner.peek():
            continue
        keyword = scanner.token(BARE_NAME, "@relation, @attribute or @data")
        match keyword.text.lower():
            case "@relation":
                relation, relation_line = scanner.rest(), number
            case "@attribute":
                attribute = _read_attribute(scanner, number)
                if attribute.name in seen:
                    first = seen[attribute.name]
                    raise scanner.fault(
                        f"attribute {show(attribute.name)} was declared before, in line {first}", 1
                    )
                seen[attribute.name] = number
                attributes.append(attribute)
            case "@data":
                scanner.expect_end("@data")
                if not attributes:
                    raise scanner.fault("there is no @attribute above @data", 1)
                return Header(relation, relation_line, tuple(attributes), number)
            case other:
                known = ("@relation", "@attribute", "@data")
                hint = nearest(other, known) or f"; expected {', '.join(known)}"
                raise scanner.fault(
                    f"{show(keyword.text)} does not belong above @data{hint}", keyword.column
                )
    raise location.fault("there is no @data line, so there are no rows", len(lines))


def _read_attribute(scanner: LineScanner, line: int) -> Attribute:
    name = scanner.token(BARE_NAME, "the name of the attribute").text
    scanner.peek()
    column = scanner.column
    if scanner.take("{"):
        attribute = Attribute(name, "nominal", _read_categories(scanner, name), line, column)
    else:
        written = scanner.token(BARE_NAME, "the type of the attribute").text
        kind = KINDS.get(written.lower())
        if kind is None:
            raise scanner.fault(
                f"attribute {show(name)} is of type {show(written)}; only numeric, real, integer "
                "and {categories, ...} can be used",
                column,
            )
        attribute = Attribute(name, kind, (), line, column)
    if scanner.peek() == "{":
        raise scanner.fault("weights of attributes are not supported; remove what is in braces")
    scanner.expect_end("the type of the attribute")
    return attribute


def _read_categories(scanner: LineScanner, name: str) -> tuple[str, ...]:
    categories: dict[str, None] = {}
    if scanner.take("}"):
        return ()
    while True:
        category = scanner.token(BARE_VALUE, "a category, a comma or }")
        if category.text in categories:
            raise scanner.fault(
                f"attribute {show(name)} lists the category {show(category.text)} twice",
                category.column,
            )
        categories[category.text] = None
        if scanner.take("}"):
            return tuple(categories)
        if not scanner.take(","):
            raise scanner.fault("expected a comma or } after the category")


def find_labels(location: Location, header: Header, labels: Labels) -> list[int]:
    """Tell which attributes are labels, and check that all others can be features."""
    if labels is None and not location.beside(".xml").is_file():
        chosen = _labels_of_meka(location, header)
    else:
        chosen = choose_labels(labels, header.names, location)
    for j, attribute in enumerate(header.attributes):
        place = (attribute.line, attribute.type_column)
        if attribute.kind == "string":
            role = "label" if j in chosen else "feature"
            raise location.fault(
                f"attribute {show(attribute.name)} is of type string, which cannot be a {role}; "
                "remove it or turn it into numbers or categories",
                *place,
            )
        if j in chosen and not {"0", "1"}.issuperset(attribute.categories):
            listed = ", ".join(attribute.categories)
            raise location.fault(
                f"label {show(attribute.name)} has the categories {show(listed)}; a label must be "
                "declared {0, 1} or numeric",
                *place,
            )
    return chosen


def _labels_of_meka(location: Location, header: Header) -> list[int]:
    counts = [int(count) for count in MEKA_OPTION.findall(header.relation)]
    if not counts:
        return choose_labels(None, header.names, location)
    # Filters of Weka leave the option as it was, but they can move the labels elsewhere.
    if "weka.filters" in header.relation or len(set(counts)) > 1:
        raise location.fault(
            "it cannot be told from @relation where the labels are, as the data were filtered "
            f"after the option -C {counts[0]} was set; pass labels={counts[0]} if they are the "
            f"first columns, labels={-counts[0]} if the last",
            header.relation_line,
        )
    return columns_at_one_end(counts[0], len(header.attributes), location)
