"""Measures of quality, by the names that configurations and result files use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import metrics

Numbers = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Predictions:
    """Everything that a measure may look at: (n_examples, n_labels) each."""

    truth: Numbers
    label_sets: Numbers
    scores: Numbers
    probabilities: Numbers


@dataclass(frozen=True, slots=True)
class Measure:
    """A number per set of predictions, and which way is better."""

    title: str
    compute: Callable[[Predictions], float]
    lower_is_better: bool = True
    is_share: bool = True
    """Between 0 and 1."""


def _f1(average: str) -> Callable[[Predictions], float]:
    # Without any label to find, and none predicted, nothing is wrong.
    return lambda p: metrics.f1_score(p.truth, p.label_sets, average=average, zero_division=1.0)


def _one_error(predictions: Predictions) -> float:
    """Share of examples whose highest-ranked label does not apply; without any label it cannot."""
    first = predictions.scores.argmax(axis=1)
    right = np.take_along_axis(predictions.truth, first[:, None], axis=1)
    return float(1.0 - right.mean())


def _log_loss(predictions: Predictions) -> float:
    """Mean over all examples and labels."""
    # One column per class: NumPy's rounding of 1 - p would be taken for an unnormalised input.
    truth, probability = predictions.truth.ravel(), predictions.probabilities.ravel()
    return float(
        metrics.log_loss(truth, np.column_stack([1.0 - probability, probability]), labels=[0, 1])
    )


MEASURES = {
    "subset_01": Measure("Subset 0/1 loss", lambda p: metrics.zero_one_loss(p.truth, p.label_sets)),
    "hamming": Measure("Hamming loss", lambda p: metrics.hamming_loss(p.truth, p.label_sets)),
    "f1_micro": Measure("F1, micro-averaged", _f1("micro"), lower_is_better=False),
    "f1_macro": Measure("F1, macro-averaged", _f1("macro"), lower_is_better=False),
    "f1_example": Measure("F1 per example", _f1("samples"), lower_is_better=False),
    "jaccard": Measure(
        "Jaccard index per example",
        lambda p: metrics.jaccard_score(
            p.truth, p.label_sets, average="samples", zero_division=1.0
        ),
        lower_is_better=False,
    ),
    "ranking_loss": Measure(
        "Ranking loss", lambda p: metrics.label_ranking_loss(p.truth, p.scores)
    ),
    "coverage": Measure(
        "Coverage", lambda p: metrics.coverage_error(p.truth, p.scores), is_share=False
    ),
    "one_error": Measure("One-error", _one_error),
    "average_precision": Measure(
        "Label ranking average precision",
        lambda p: metrics.label_ranking_average_precision_score(p.truth, p.scores),
        lower_is_better=False,
    ),
    "log_loss": Measure("Log loss", _log_loss, is_share=False),
}


def compute_measures(names: Sequence[str], predictions: Predictions) -> dict[str, float]:
    """Compute the named measures."""
    return {name: float(MEASURES[name].compute(predictions)) for name in names}
