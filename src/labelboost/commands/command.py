"""What turns a function into a command: groups of options, exit codes and one-line messages."""

from __future__ import annotations

import errno
import inspect
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import Annotated, Any, get_type_hints

import typer

from labelboost.commands.streams import on_one_line, write_message

FAILED = 1
INTERRUPTED = 130
BROKEN_PIPE = 141
"""What the shell reports of other programs whose reader went away."""
CHECKED_HERE = ("X does not have valid feature names", "X is an array, so its column")
"""Warnings about arrays without names: commands match names and categories themselves."""


@dataclass(frozen=True, slots=True)
class Reporting:
    """Options of all commands: what they say, and how."""

    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress, notes or warnings; only errors.")
    ] = False
    as_json: Annotated[
        bool, typer.Option("--json", help="Write the result to standard output as JSON.")
    ] = False

    def note(self, message: str) -> None:
        """Tell something that is good to know, but no result."""
        if not self.quiet:
            write_message(f"note: {message}")


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Make a function a command for Typer.

    A parameter whose type is a dataclass stands for a group of options, one per field, which other
    commands can share. Bad input ends the command with one line and exit code 1.
    """
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, type] = {}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(function).parameters.items():
        hint = hints[name]
        if isinstance(hint, type) and is_dataclass(hint):
            groups[name] = hint
            parameters += _options_of(hint)
        else:
            parameters.append(parameter.replace(annotation=hint, kind=parameter.KEYWORD_ONLY))

    def run(**values: Any) -> None:
        for name, group in groups.items():
            own = {field.name: values.pop(field.name) for field in fields(group)}
            values[name] = group(**own)
        quiet = any(isinstance(v, Reporting) and v.quiet for v in values.values())
        with one_line_messages(quiet=quiet):
            function(**values)

    run.__name__ = function.__name__
    run.__doc__ = function.__doc__
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    # Typer takes arguments in the order of the signature, and defaults come in any order.
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


def _options_of(group: type) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(group)
    ]


@contextmanager
def one_line_messages(*, quiet: bool = False) -> Iterator[None]:
    """Turn errors and warnings into one line each, and errors into exit codes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not quiet:
            warnings.simplefilter("always", UserWarning)
            warnings.simplefilter("always", RuntimeWarning)
            for message in CHECKED_HERE:
                warnings.filterwarnings("ignore", message)
        warnings.showwarning = _show_warning
        try:
            yield
        except KeyboardInterrupt:
            write_message("interrupted")
            raise typer.Exit(INTERRUPTED) from None
        except OSError as error:
            if error.errno == errno.EPIPE:
                _leave_broken_pipe()
            _fail(error)
        except (ValueError, TypeError, ImportError) as error:
            _fail(error)
        except MemoryError as error:
            _fail(MemoryError(f"not enough memory: {error}" if str(error) else "not enough memory"))


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    write_message(f"warning: {message}")


def _fail(error: BaseException) -> None:
    write_message(f"error: {describe(error)}", style="red")
    raise typer.Exit(FAILED) from error


def describe(error: BaseException) -> str:
    """Say in one line what is wrong."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return on_one_line(f"{error.filename}: {error.strerror}")
    return on_one_line(str(error)) or type(error).__name__


def _leave_broken_pipe() -> None:
    # Whatever is still buffered must not be written when the interpreter ends.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    raise typer.Exit(BROKEN_PIPE)
