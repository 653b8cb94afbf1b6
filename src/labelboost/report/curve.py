"""How the predictions get better with every rule or tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from labelboost.report.packing import Content, rounded
from labelboost.report.quality import count_hits
from labelboost.report.subject import Subject

MOST_EXAMPLES = 2000
"""The curve is measured on a sample of so many, as label sets are decoded at every stage."""
POINTS = 40
SMALLEST = float(np.finfo(np.float64).tiny)


def describe_curve(subject: Subject) -> Content:
    """Measure the first rules only, at several stages."""
    rows = choose_rows(len(subject.Y), MOST_EXAMPLES)
    stages = choose_stages(subject.n_stages)
    truth = subject.Y[rows]
    predicted = list(subject.staged("staged_predict", rows, stages))
    single = truth.shape[1] == 1
    series = [
        _series(
            "Error rate" if single else "Subset 0/1 loss",
            [float((p != truth).any(axis=1).mean()) for p in predicted],
        )
    ]
    if not single:
        series.append(_series("Hamming loss", [float((p != truth).mean()) for p in predicted]))
    name = "F1" if single else "F1, micro-averaged"
    series.append(_series(name, [_micro_f1(truth, p) for p in predicted], lower=False))
    series.append(_loss_series(subject, rows, stages))
    return {
        "unit": subject.unit,
        "stages": stages,
        "series": series,
        "sample": len(rows) if len(rows) < len(subject.Y) else None,
    }


def choose_rows(n: int, most: int) -> NDArray[np.intp]:
    """Return all examples, or a random sample of them, always the same one; ascending."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, most, replace=False))


def choose_stages(n: int) -> list[int]:
    """Spread stages from 1 to n, with more of them at the start, where most happens."""
    even, early = np.linspace(1, n, POINTS), np.geomspace(1, n, POINTS // 2)
    return [int(stage) for stage in np.unique(np.concatenate([even, early]).round().astype(int))]


def _series(title: str, values: list[float], *, lower: bool = True) -> Content:
    return {"title": title, "values": rounded(values), "lower": lower}


def _micro_f1(truth: NDArray[np.uint8], predicted: NDArray[np.uint8]) -> float:
    true, found, hits = count_hits(truth, predicted.astype(np.uint8)).sum(axis=1)
    return float(2 * hits / (true + found)) if true + found else 1.0


def _loss_series(subject: Subject, rows: NDArray[np.intp], stages: list[int]) -> Content:
    """Measure what training minimised, or what is closest to it among what can be predicted."""
    signs = 2.0 * subject.Y[rows] - 1.0
    if subject.loss == "labelset_softmax":  # of a set that training did not know it is infinite
        chances = subject.staged("staged_predict_proba", rows, stages)
        values = [
            float(-np.log(np.maximum(np.where(signs > 0, p, 1.0 - p), SMALLEST)).mean())
            for p in chances
        ]
        return _series("Log loss", values)
    scores = subject.staged("staged_decision_function", rows, stages)
    if subject.loss == "label_logistic":
        return _series("Log loss", [float(np.logaddexp(0.0, -signs * s).mean()) for s in scores])
    return _series(
        "Example-wise logistic loss",
        [float(np.logaddexp(0.0, logsumexp(-signs * s, axis=1)).mean()) for s in scores],
    )
