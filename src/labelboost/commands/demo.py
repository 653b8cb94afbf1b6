"""`labelboost demo`: what the package does, on data that come with it."""

from __future__ import annotations

from typing import Annotated

import typer

from labelboost.commands.command import Reporting, command
from labelboost.commands.streams import json_text, write_result
from labelboost.demo import compare_variants, run_demo


@command
def demo(
    rules: Annotated[
        int, typer.Option(min=1, help="Rules per model, default rule included.")
    ] = 300,
    jobs: Annotated[
        int | None, typer.Option(help="Number of threads; -1 for all there are.")
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, help="Decides all that is random.")
    ] = 1,
    labels: Annotated[
        int | None,
        typer.Option(min=2, help="Use synthetic data with so many labels, not the digits."),
    ] = None,
    *,
    reporting: Reporting,
) -> None:
    """Train three models on handwritten digits, compare them and show the strongest rules.

    Examples:

    labelboost demo

    labelboost demo --labels 50 --rules 100 --jobs -1
    """
    if not reporting.as_json:
        run_demo(n_rules=rules, n_jobs=jobs, seed=seed, n_labels=labels, quiet=reporting.quiet)
        return
    found = compare_variants(n_rules=rules, n_jobs=jobs, seed=seed, n_labels=labels, console=None)
    write_result(json_text(found.as_json()))
