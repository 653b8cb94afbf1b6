"""What `labelboost demo` does: train three models, compare them, show the strongest rules."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from rich.text import Text
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split

from labelboost import RuleBoostingClassifier
from labelboost.data import Dataset, load_digits_display, make_multilabel
from labelboost.model import Rule
from labelboost.wording import describe_rule

MAX_WIDTH = 100
TEST_SHARE = 0.3
N_SHOWN = 10
MAX_LABELS = 7

EXPLAINED = "4 % bins"
VARIANTS: dict[str, dict[str, Any]] = {
    "no binning": {"label_bins": None},
    EXPLAINED: {"label_bins": 0.04},
    "label-wise": {"loss": "label_logistic"},
}
"""The models, by their names in the table."""


@dataclass(frozen=True, slots=True)
class Result:
    """A trained model and how it did on the test part; losses and F1 in percent."""

    model: RuleBoostingClassifier
    seconds: float
    subset_loss: float
    hamming_loss: float
    micro_f1: float
    macro_f1: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """All models, and what they were trained on."""

    dataset: Dataset
    n_train: int
    n_test: int
    results: dict[str, Result]

    def as_json(self) -> dict[str, Any]:
        """The figures of the table."""
        return {
            "data": self.dataset.name,
            "train_examples": self.n_train,
            "test_examples": self.n_test,
            "models": [
                {
                    "model": name,
                    "rules": result.model.n_rules_,
                    "seconds": result.seconds,
                    "subset_loss_percent": result.subset_loss,
                    "hamming_loss_percent": result.hamming_loss,
                    "micro_f1_percent": result.micro_f1,
                    "macro_f1_percent": result.macro_f1,
                }
                for name, result in self.results.items()
            ],
        }


def run_demo(
    *,
    n_rules: int = 300,
    n_jobs: int | None = None,
    seed: int = 1,
    n_labels: int | None = None,
    quiet: bool = False,
    console: Console | None = None,
) -> None:
    """Run the demonstration; with `n_labels`, on synthetic data instead of the digits.

    `quiet`: show the results only.
    """
    console = console or Console(highlight=False)
    console.width = min(console.width, MAX_WIDTH) if console.is_terminal else MAX_WIDTH
    found = compare_variants(
        n_rules=n_rules,
        n_jobs=n_jobs,
        seed=seed,
        n_labels=n_labels,
        console=None if quiet else console,
    )
    if not quiet:
        console.print()
    console.print(_comparison(found.results))
    console.print(
        "Subset 0/1 loss is the share of examples with any label wrong, Hamming loss the share of "
        "wrong labels; losses should be low, F1 high, and the best of each column is bold.\n"
    )
    _print_rules(console, found.results[EXPLAINED].model, found.dataset, found.n_train)


def compare_variants(
    *, n_rules: int, n_jobs: int | None, seed: int, n_labels: int | None, console: Console | None
) -> Comparison:
    """Train and test all variants; `console`, if any, shows how far that has come."""
    dataset = load_digits_display() if n_labels is None else _synthetic(n_labels, seed)
    train, test = train_test_split(
        np.arange(dataset.n_examples), test_size=TEST_SHARE, random_state=seed
    )
    if console:
        console.print(_introduction(dataset, len(train), len(test)))
    common: dict[str, Any] = {"n_rules": n_rules, "n_jobs": n_jobs, "random_state": seed}
    if dataset.nominal_indices:
        common["categorical_features"] = dataset.nominal_indices
    results: dict[str, Result] = {}
    for name, parameters in VARIANTS.items():
        if console and console.is_terminal:
            # The estimator draws its progress bar below this line.
            console.print(f"Training {name}", style="bold")
        model = RuleBoostingClassifier(**common, **parameters, verbose=int(console is not None))
        results[name] = _train_and_test(model, dataset, train, test)
        if console and not console.is_terminal:
            console.print(f"trained {name}: {_length(results[name])}")
    return Comparison(dataset, len(train), len(test), results)


def _synthetic(n_labels: int, seed: int) -> Dataset:
    return make_multilabel(2000, 30, n_labels, dependence=0.7, nominal=0.2, random_state=seed)


def _introduction(dataset: Dataset, n_train: int, n_test: int) -> Text:
    return Text.assemble(
        (f"Data: {dataset.name}", "bold"),
        f"\n{n_train} examples for training, {n_test} for testing; {dataset.n_features} features; "
        f"{dataset.n_labels} labels ({dataset.cardinality:.1f} per example, "
        f"{dataset.n_label_sets} label sets)\n",
    )


def _train_and_test(
    model: RuleBoostingClassifier,
    dataset: Dataset,
    train: NDArray[np.intp],
    test: NDArray[np.intp],
) -> Result:
    start = time.perf_counter()
    model.fit(dataset.X[train], dataset.Y[train])
    seconds = time.perf_counter() - start
    truth = dataset.Y[test]
    predicted = np.asarray(model.predict(dataset.X[test]))
    wrong = predicted != truth
    return Result(
        model=model,
        seconds=seconds,
        subset_loss=100.0 * float(wrong.any(axis=1).mean()),
        hamming_loss=100.0 * float(wrong.mean()),
        micro_f1=100.0 * float(f1_score(truth, predicted, average="micro", zero_division=0)),
        macro_f1=100.0 * float(f1_score(truth, predicted, average="macro", zero_division=0)),
    )


def _length(result: Result) -> str:
    return f"{result.model.n_rules_} rules in {result.seconds:.2f} s"


def _comparison(results: dict[str, Result]) -> Table:
    columns = {
        "Subset 0/1\nloss": [result.subset_loss for result in results.values()],
        "Hamming\nloss": [result.hamming_loss for result in results.values()],
        "Micro\nF1": [-result.micro_f1 for result in results.values()],
        "Macro\nF1": [-result.macro_f1 for result in results.values()],
    }
    cells = [_percentages(column) for column in columns.values()]
    table = Table(title="On the test part", title_justify="left", title_style="bold")
    table.add_column("Model", no_wrap=True)
    for heading in (*columns, "Training\ntime", "Rules"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row, (name, result) in enumerate(results.items()):
        table.add_row(
            name,
            *(column[row] for column in cells),
            f"{result.seconds:.2f} s",
            str(result.model.n_rules_),
        )
    return table


def _percentages(values: Sequence[float]) -> list[Text]:
    """Show numbers of which the lowest is the best; F1 comes with its sign turned."""
    texts = [f"{abs(value):.2f} %" for value in values]
    best = texts[int(np.argmin(values))]
    return [Text(text, style="bold green" if text == best else "") for text in texts]


def _print_rules(
    console: Console, model: RuleBoostingClassifier, dataset: Dataset, n_train: int
) -> None:
    def effect(rule: Rule) -> float:
        return rule.coverage / n_train * float(np.abs(rule.head).sum())

    def describe(rule: Rule) -> Text:
        # A Text, not a string: names are data, and square brackets in them no markup.
        names = (dataset.feature_names, dataset.label_names, dataset.categories)
        return Text(describe_rule(rule, *names, max_labels=MAX_LABELS))

    default, *others = model.rules_
    strongest = sorted(others, key=effect, reverse=True)[:N_SHOWN]
    number = "ten " if len(strongest) == N_SHOWN else ""
    table = Table(
        title=f"The {number}rules with the largest effect ({EXPLAINED})",
        title_justify="left",
        title_style="bold",
        box=None,
        pad_edge=False,
    )
    table.add_column("", justify="right")
    table.add_column("Effect", justify="right")
    table.add_column("Rule")
    table.add_row("", f"{effect(default):.2f}", describe(default))
    for rank, rule in enumerate(strongest, start=1):
        table.add_row(str(rank), f"{effect(rule):.2f}", describe(rule))
    console.print(table)
    console.print(
        "\nEach rule adds its scores to the labels of the examples it covers, and a sum above zero "
        "speaks for a label; effect is the share of examples covered times the size of the scores."
    )
