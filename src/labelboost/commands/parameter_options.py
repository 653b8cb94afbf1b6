"""Options of `labelboost train` that are made from the parameters of the estimators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, make_dataclass
from typing import Annotated, Any

import typer
from rich.markup import escape

from labelboost.commands.estimators import Parameter, Registry, parameters_of

COMMON = "Parameters of the model"


class ParameterValues:
    """What was given on the command line: the base of the group of all these options."""

    def given(self) -> dict[str, str | bool]:
        """The options that were used, as they were written."""
        return {name: value for name, value in vars(self).items() if value is not None}


def parameter_options(estimators: Registry) -> type[ParameterValues]:
    """Make a group with an option for every parameter of any estimator."""
    owners: dict[str, dict[str, Parameter]] = {}
    for estimator, cls in estimators.items():
        for name, parameter in parameters_of(cls).items():
            owners.setdefault(name, {})[estimator] = parameter
    options = [
        (name, _annotation(own, estimators), field(default=None)) for name, own in owners.items()
    ]
    return make_dataclass("Parameters", options, bases=(ParameterValues,), frozen=True)


def _annotation(owners: dict[str, Parameter], estimators: Registry) -> Any:
    first = next(iter(owners.values()))
    defaults = {owner: parameter.default_text() for owner, parameter in owners.items()}
    by_owner = (f"{text} for {owner}" for owner, text in defaults.items())
    differ = len(set(defaults.values())) > 1
    default = f"Default: {', '.join(by_owner) if differ else first.default_text()}."
    allowed = f"Values: {first.kind.describe()}." if first.kind.choices else ""
    everywhere = len(owners) == len(estimators)
    panel = COMMON if everywhere else f"{COMMON}: --estimator {' or '.join(owners)} only"
    shared: dict[str, Any] = {
        # Docstrings are no markup, whatever brackets they have.
        "help": escape(" ".join(part for part in (first.help, allowed, default) if part)),
        "rich_help_panel": panel,
        "show_default": False,
    }
    if all(parameter.kind.is_flag for parameter in owners.values()):
        shared["help"] = escape(f"{first.help} {default}".strip())
        # In a list of their own, as the names of two options take much room.
        shared["rich_help_panel"] = f"{panel}, yes or no"
        names = f"{first.option}/--no-{first.option[2:]}"
        return Annotated[bool | None, typer.Option(names, **shared)]
    return Annotated[
        str | None,
        typer.Option(
            first.option,
            metavar=first.kind.metavar(),
            autocompletion=_completion(first.kind.choices),
            **shared,
        ),
    ]


def _completion(choices: tuple[str, ...]) -> Callable[[str], list[str]]:
    def complete(incomplete: str) -> list[str]:
        return [choice for choice in choices if choice.startswith(incomplete)]

    return complete


def parse_parameters(
    values: ParameterValues, estimator: str, estimators: Registry
) -> dict[str, Any]:
    """Turn what was given into arguments of an estimator, or say what is wrong with it."""
    own = parameters_of(estimators[estimator])
    parsed: dict[str, Any] = {}
    for name, value in values.given().items():
        if name not in own:
            others = [other for other, cls in estimators.items() if name in parameters_of(cls)]
            raise typer.BadParameter(
                f"it is a parameter of --estimator {' or '.join(others)} only, but the estimator "
                f"is {estimator}; leave it out",
                param_hint=f"--{name.replace('_', '-')}",
            )
        if isinstance(value, bool):
            parsed[name] = value
            continue
        try:
            parsed[name] = own[name].kind.parse(value)
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint=own[name].option) from error
    return parsed
