"""How good the predictions are: as a whole, and label by label."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelboost.experiments.measures import MEASURES, Predictions
from labelboost.report.packing import Content, rounded
from labelboost.report.subject import Subject

MEANINGS = {
    "subset_01": "Share of examples whose predicted label set is not exactly the true one.",
    "hamming": "Share of wrong decisions, over all examples and labels.",
    "f1_micro": "Harmonic mean of precision and recall of all decisions together; frequent labels "
    "count most.",
    "f1_macro": "Mean of the F1 of each label; rare labels count as much as frequent ones.",
    "f1_example": "Mean over the examples of the F1 of true and predicted set.",
    "jaccard": "Mean over the examples of the size of the intersection of true and predicted set, "
    "divided by that of their union.",
    "one_error": "Share of examples whose highest-scored label does not apply.",
    "ranking_loss": "Share of pairs of a label that applies and one that does not that the scores "
    "put in the wrong order.",
    "log_loss": "Mean of minus the logarithm of the probability given to what is true of a label; "
    "0 if all is certain and right.",
}
"""The measures on the page, in this order, and what they mean."""

SINGLE_LABEL = ("subset_01", "log_loss")
"""Those that make sense for a single label, whose F1 is added."""


def describe_quality(subject: Subject) -> list[Content]:
    """Compute all measures, beside those of the simplest prediction that ignores the features."""
    ours = Predictions(subject.Y, subject.predicted, subject.scores, subject.probabilities)
    simple = _most_frequent_set(subject.Y)
    single = subject.Y.shape[1] == 1
    content = []
    for name in SINGLE_LABEL if single else MEANINGS:
        measure = MEASURES[name]
        values = [measure.compute(_without_labels_alone(p)) for p in (ours, simple)]
        content.append(
            _measure(measure.title, MEANINGS[name], values, measure.lower_is_better, name)
        )
    if single:
        content[0] |= {
            "title": "Error rate",
            "meaning": "Share of examples for which the label is wrong.",
        }
        values = [f1(count_hits(p.truth, p.label_sets))[0] for p in (ours, simple)]
        meaning = "Harmonic mean of precision and recall of the label."
        content.append(_measure("F1", meaning, values, False, "f1"))
    return content


def _measure(title: str, meaning: str, values: list[float], lower: bool, name: str) -> Content:
    value, baseline = rounded(values)
    return {
        "name": name,
        "title": title,
        "meaning": meaning,
        "value": value,
        "baseline": baseline,
        "lower": lower,
    }


def _without_labels_alone(predictions: Predictions) -> Predictions:
    """Give a single label its vector, as scikit-learn knows no matrix of one column."""
    if predictions.truth.shape[1] > 1:
        return predictions
    return Predictions(
        predictions.truth.ravel(),
        predictions.label_sets.ravel(),
        predictions.scores.ravel(),
        predictions.probabilities.ravel(),
    )


def _most_frequent_set(Y: NDArray[np.uint8]) -> Predictions:
    """Predict the most frequent label set for all; scores are the frequencies of the labels."""
    sets, counts = np.unique(Y, axis=0, return_counts=True)
    always = np.broadcast_to(sets[counts.argmax()], Y.shape)
    share = np.broadcast_to(Y.mean(axis=0), Y.shape)
    return Predictions(Y, always, share, share)


def count_hits(truth: NDArray[np.uint8], predicted: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Count, for each label, how often it applies, is predicted, and both: (3, K)."""
    return np.array(
        [
            np.count_nonzero(truth, axis=0),
            np.count_nonzero(predicted, axis=0),
            np.count_nonzero(truth & predicted, axis=0),
        ]
    )


def f1(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """F1 of each label; 1 where there is nothing to find and nothing was predicted."""
    true, predicted, hits = counts
    total = true + predicted
    result: NDArray[np.float64] = np.where(total > 0, 2 * hits / np.maximum(total, 1), 1.0)
    return result


def describe_labels(subject: Subject) -> Content:
    """Count what is true, predicted and both for each label, and the rules that move it."""
    true, predicted, hits = count_hits(subject.Y, subject.predicted).tolist()
    heads = np.array([rule.head for rule in subject.rules[1:]]).reshape(-1, subject.Y.shape[1])
    return {
        "names": subject.label_names,
        "true": true,
        "predicted": predicted,
        "hits": hits,
        "raised": np.count_nonzero(heads > 0, axis=0).tolist(),
        "lowered": np.count_nonzero(heads < 0, axis=0).tolist(),
    }
