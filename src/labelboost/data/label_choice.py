"""Which columns of a file are labels."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from os import PathLike
from pathlib import Path
from typing import Final, TypeAlias

from labelboost.data.files import Location, nearest, show
from labelboost.data.mulan_xml import columns_of_labels


class NoLabels(Enum):
    """The type of `NO_LABELS`."""

    NO_LABELS = "no labels"


NO_LABELS: Final = NoLabels.NO_LABELS
"""All columns are features, as in data whose labels are to be predicted."""

Labels: TypeAlias = "int | str | PathLike[str] | Sequence[str] | NoLabels | None"
"""A number of columns at the start (or, negative, at the end), a prefix such as `label_*`, a Mulan
XML file, the names of columns, or `NO_LABELS`."""


def choose_labels(labels: Labels, names: tuple[str, ...], location: Location) -> list[int]:
    """Find the columns that are labels, ascending. Raises ValueError unless features remain."""
    if labels is NO_LABELS:
        return []
    if labels is None:
        beside = location.beside(".xml")
        if not beside.is_file():
            raise location.fault(
                f"nothing says which columns are labels; pass labels= (their names, a prefix such "
                f'as "label_*", or a number of columns), or put {beside.name} beside the file'
            )
        labels = beside
    chosen = _columns(labels, names, location)
    if len(chosen) == len(names):
        raise location.fault(f"all {len(names)} columns are labels, so there are no features")
    return chosen


def _columns(
    labels: int | str | PathLike[str] | Sequence[str], names: tuple[str, ...], location: Location
) -> list[int]:
    if isinstance(labels, int) and not isinstance(labels, bool):
        return columns_at_one_end(labels, len(names), location)
    if isinstance(labels, str) and labels.endswith("*"):
        prefix = labels[:-1]
        chosen = [j for j, name in enumerate(names) if name.startswith(prefix)]
        if not chosen:
            hint = nearest(prefix, [name[: len(prefix)] for name in names])
            raise location.fault(f"no column starts with {show(prefix)}{hint}")
        return chosen
    if isinstance(labels, str | PathLike):
        if labels in names:
            raise ValueError(f"labels={labels!r} is one column; pass it as a list: [{labels!r}]")
        return columns_of_labels(Path(labels), names, location.path)
    if isinstance(labels, bool) or not isinstance(labels, Sequence):
        raise TypeError(
            f"labels is {labels!r}; pass names of columns, a prefix ending with *, a number of "
            "columns or the path of a Mulan XML file"
        )
    return _named_columns(list(labels), names, location)


def columns_at_one_end(count: int, n_columns: int, location: Location) -> list[int]:
    """The first `count` columns, or the last ones if it is negative."""
    if count == 0 or abs(count) >= n_columns:
        raise location.fault(
            f"{abs(count)} of its {n_columns} columns cannot be labels; both labels and features "
            "need at least one"
        )
    return list(range(count) if count > 0 else range(n_columns + count, n_columns))


def _named_columns(wanted: list[str], names: tuple[str, ...], location: Location) -> list[int]:
    position = {name: j for j, name in enumerate(names)}
    chosen: set[int] = set()
    for name in wanted:
        if not isinstance(name, str):
            raise TypeError(f"labels lists {name!r}; list the names of columns")
        if name not in position:
            raise location.fault(
                f"label {show(name)} is not one of its columns{nearest(name, names)}"
            )
        if position[name] in chosen:
            raise ValueError(f"labels lists {show(name)} twice")
        chosen.add(position[name])
    if not chosen:
        raise ValueError("labels lists no columns; name at least one")
    return sorted(chosen)
