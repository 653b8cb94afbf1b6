"""Single examples: what is true, what is predicted, and which rules made it so."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labelboost.report.curve import choose_rows
from labelboost.report.packing import Content, Kind, pack_array, pack_bits, pack_integers
from labelboost.report.rules import covering
from labelboost.report.subject import Subject

MOST_BYTES = 1_500_000
"""For all examples together, before they are written as text."""
LIKELY_SETS = 5
DENSE = 2 / 3
"""Above this share of values other than 0, positions of the values are not worth storing."""


def describe_examples(subject: Subject, used: Sequence[int], wanted: int) -> Content:
    """Pack up to so many examples, fewer if they are large."""
    rows = choose_rows(len(subject.Y), min(wanted, _affordable(subject, used)))
    truth, predicted = subject.Y[rows], subject.predicted[rows]
    likely, chances = _likely_sets(subject, rows)
    both = np.concatenate([truth, predicted, likely.reshape(-1, truth.shape[1])]).astype(np.uint8)
    sets, which = np.unique(both, axis=0, return_inverse=True)
    which = which.ravel()
    count = len(rows)
    return {
        "rows": pack_integers(rows),
        "fired": pack_bits(covering(subject, used, rows)),
        "sets": pack_bits(sets),
        "seen": _seen_in_training(subject, sets),
        "true": pack_integers(which[:count]),
        "predicted": pack_integers(which[count : 2 * count]),
        "likely": pack_integers(which[2 * count :]),
        "chances": pack_array(chances, "f4"),
        "probabilities": pack_array(np.round(65535 * subject.probabilities[rows]), "u2"),
        "values": _pack_values(subject.columns(rows, used)),
        "categories": _category_names(subject, used, rows),
    }


def _affordable(subject: Subject, used: Sequence[int]) -> int:
    """Tell how many examples fit into the space there is, by the size of a usual one."""
    n_examples, n_labels = subject.Y.shape
    values = subject.X.dtype.itemsize * len(used)
    if sp.issparse(subject.X):
        stored = subject.X[:, list(used)].nnz / n_examples
        values = min(values, int((subject.X.dtype.itemsize + 2) * stored))
    size = len(subject.rules) / 8 + 2.5 * n_labels + values + 40
    return max(1, int(MOST_BYTES / size))


def _likely_sets(
    subject: Subject, rows: NDArray[np.intp]
) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
    """Find the likeliest sets: (n_examples, top, K), and their probabilities."""
    if len(rows) == 0:
        return np.zeros((0, 1, subject.Y.shape[1]), dtype=np.int8), np.zeros((0, 1))
    if subject.knows_sets:
        return subject.likely_sets(rows, LIKELY_SETS)
    found = [likeliest_if_independent(scores, LIKELY_SETS) for scores in subject.scores[rows]]
    return np.stack([sets for sets, _ in found]), np.stack([chances for _, chances in found])


def likeliest_if_independent(
    scores: NDArray[np.float64], top: int
) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
    """Find the likeliest label sets if each label applies with probability 1 / (1 + exp(-score)).

    The best set follows the signs. Another one that differs in some labels is less likely by
    exp(sum of their absolute scores), so the smallest such sums are looked for: each sum is made
    from a smaller one by moving its last label on, or by adding the next one.
    """
    costs = np.abs(scores)
    order = np.argsort(costs, kind="stable")
    ascending = costs[order]
    best = (scores > 0).astype(np.int8)
    certainty = -np.logaddexp(0.0, -costs).sum()
    sets, chances = [best], [certainty]
    heap: list[tuple[float, tuple[int, ...]]] = [(float(ascending[0]), (0,))]
    while heap and len(sets) < top:
        cost, flipped = heapq.heappop(heap)
        other = best.copy()
        other[order[list(flipped)]] ^= 1
        sets.append(other)
        chances.append(certainty - cost)
        last = flipped[-1]
        if last + 1 < len(ascending):
            step = float(ascending[last + 1])
            heapq.heappush(heap, (cost - float(ascending[last]) + step, (*flipped[:-1], last + 1)))
            heapq.heappush(heap, (cost + step, (*flipped, last + 1)))
    return np.array(sets), np.exp(np.array(chances))


def _seen_in_training(subject: Subject, sets: NDArray[np.uint8]) -> Content | None:
    if subject.known_sets is None:
        return None
    known = {row.tobytes() for row in subject.known_sets.astype(np.uint8)}
    return pack_array(np.array([row.tobytes() in known for row in sets], dtype=np.uint8), "u1")


def _pack_values(values: NDArray[Any]) -> Content:
    """Pack the values of the used features, without zeros if there are many."""
    exact = np.array_equal(values.astype(np.float32), values, equal_nan=True)
    kind: Kind = "f4" if exact else "f8"
    stored = values != 0
    if np.count_nonzero(stored) > DENSE * values.size:
        return {"dense": pack_array(values, kind)}
    ends = np.concatenate([[0], np.cumsum(np.count_nonzero(stored, axis=1))])
    return {
        "ends": pack_integers(ends),
        "features": pack_integers(np.nonzero(stored)[1]),
        "stored": pack_array(values[stored], kind),
    }


def _category_names(
    subject: Subject, used: Sequence[int], rows: NDArray[np.intp]
) -> dict[str, dict[str, str]]:
    """Name the categories that occur: position in `used` to code to name."""
    names: dict[str, dict[str, str]] = {}
    for position, feature in enumerate(used):
        categories = subject.categories.get(feature)
        if categories is None:
            continue
        values = subject.columns(rows, [feature]).ravel()
        codes = np.unique(values[~np.isnan(values)]).astype(int).tolist()
        names[str(position)] = {
            str(code): str(categories[code]) for code in codes if code < len(categories)
        }
    return names
