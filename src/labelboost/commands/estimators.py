"""The estimators that `labelboost train` knows, and what their constructors and docstrings tell."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from labelboost import RuleBoostingClassifier, TreeBoostingClassifier
from labelboost.data.files import nearest, show
from labelboost.data.values import NUMBER
from labelboost.estimators.base import BoostingClassifier

Registry = Mapping[str, type[BoostingClassifier]]
ESTIMATORS: Registry = {"rules": RuleBoostingClassifier, "trees": TreeBoostingClassifier}
"""Values of `--estimator`; the first one is the default. Add new estimators here."""
OTHERWISE = ("verbose", "categorical_features", "warm_start")
"""Parameters that `labelboost train` sets by options of its own, or that mean nothing to a model
that is trained once."""
INTEGER = re.compile(r"[-+]?\d+", re.ASCII)
ENTRY = re.compile(r"(\w+) : ")


@dataclass(frozen=True, slots=True)
class Kind:
    """The values that a parameter may have, as far as they can be written on a command line."""

    words: tuple[str, ...] = ()
    """Such as `auto`; `none` stands for None."""
    optional: bool = False
    number: type[int] | type[float] | None = None
    boolean: bool = False
    text: bool = False

    @property
    def is_flag(self) -> bool:
        """Whether the option needs no value."""
        return self.boolean and not (self.words or self.number or self.text)

    @property
    def choices(self) -> tuple[str, ...]:
        """All words that are allowed."""
        flags = ("true", "false") if self.boolean else ()
        return (*self.words, *flags, *(("none",) if self.optional else ()))

    def describe(self) -> str:
        """Say what is allowed."""
        numbers = {None: (), int: ("an integer",), float: ("a number",)}[self.number]
        parts = [*self.choices, *numbers, *(("a text",) if self.text else ())]
        return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} or {parts[-1]}"

    def metavar(self) -> str:
        """The same, short, for the list of options."""
        if self.choices:
            return "VALUE"
        return {None: "TEXT", int: "INTEGER", float: "NUMBER"}[self.number]

    def parse(self, text: str) -> Any:
        """Turn a text into a value, or raise ValueError."""
        if text in self.words:
            return text
        if text == "none" and self.optional:
            return None
        if self.boolean and text in ("true", "false"):
            return text == "true"
        if self.number is not None and INTEGER.fullmatch(text):
            return int(text)
        if self.number is float and NUMBER.fullmatch(text) and math.isfinite(float(text)):
            return float(text)
        if self.text:
            return text
        hint = nearest(text, self.choices)
        raise ValueError(f"{show(text)} is not allowed; use {self.describe()}{hint}")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an estimator."""

    name: str
    kind: Kind
    default: Any
    help: str

    @property
    def option(self) -> str:
        """Its name on the command line."""
        return "--" + self.name.replace("_", "-")

    def default_text(self) -> str:
        """The default as it would be written on the command line."""
        if isinstance(self.default, bool):
            return "yes" if self.default else "no"
        return "none" if self.default is None else str(self.default)


def parameters_of(estimator: type[BoostingClassifier]) -> dict[str, Parameter]:
    """The parameters of a constructor that can be options, in its order.

    Those that take objects of Python only, such as functions, cannot.
    """
    hints = get_type_hints(estimator.__init__)
    descriptions = describe_parameters(estimator)
    found: dict[str, Parameter] = {}
    for name, parameter in inspect.signature(estimator).parameters.items():
        if name in OTHERWISE:
            continue
        kind = kind_of(hints[name])
        if kind is not None:
            found[name] = Parameter(name, kind, parameter.default, descriptions.get(name, ""))
    return found


def kind_of(annotation: Any) -> Kind | None:
    """Understand the type of a parameter; None if no value but None can be written as text."""
    union = get_origin(annotation) in (Union, UnionType)
    members = get_args(annotation) if union else (annotation,)
    words: list[str] = []
    for member in members:
        if get_origin(member) is Literal:
            words += [value for value in get_args(member) if isinstance(value, str)]
    number = float if float in members else int if int in members else None
    kind = Kind(
        words=tuple(words),
        optional=NoneType in members,
        number=number,
        boolean=bool in members,
        text=str in members,
    )
    return kind if kind.words or kind.number or kind.boolean or kind.text else None


def describe_parameters(estimator: type) -> dict[str, str]:
    """What the docstring says about each parameter, on one line."""
    found: dict[str, list[str]] = {}
    within = False
    current: list[str] = []
    for line in inspect.cleandoc(estimator.__doc__ or "").splitlines():
        if line in ("Parameters", "Attributes"):
            within = line == "Parameters"
        elif not within or set(line) == {"-"}:
            continue
        elif entry := ENTRY.match(line):
            current = found.setdefault(entry[1], [])
        elif line.startswith(" "):
            current.append(line.strip())
    return {name: " ".join(lines) for name, lines in found.items()}
