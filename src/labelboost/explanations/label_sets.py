"""How scores became a label set: the sets that came next, and what they would have cost."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, logsumexp

from labelboost.label_sets import softmax_logits

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class RankedLabelSets:
    """The predicted label set and the runners-up, the best first."""

    vectors: NDArray[np.int8]
    """(n_sets, K), 1 where the set contains the label."""
    losses: Floats
    """The loss of the model at the scores if this were the true set. Infinite for the softmax
    over label sets if training never saw the set."""
    probabilities: Floats
    """Of the sets that the model chooses from; NaN if it has no probabilities of sets."""


def label_set_losses(
    loss: str, scores: Floats, vectors: NDArray[np.integer], known: NDArray[np.uint8], prior: Floats
) -> Floats:
    """Return the loss of one example with scores (K,) for each label set (n_sets, K)."""
    if loss == "labelset_softmax":
        position = {vector.tobytes(): s for s, vector in enumerate(known)}
        logarithms = log_softmax(softmax_logits(scores[np.newaxis], known, prior)[0])
        found = [position.get(v.tobytes()) for v in vectors.astype(known.dtype)]
        return np.array([np.inf if s is None else -logarithms[s] for s in found])
    margins = (1.0 - 2.0 * vectors) * scores
    if loss == "label_logistic":
        losses: Floats = np.logaddexp(0.0, margins).sum(axis=1)
        return losses
    return np.logaddexp(0.0, logsumexp(margins, axis=1))


def rank_known(
    loss: str, scores: Floats, known: NDArray[np.uint8], prior: Floats, chosen: int, top: int
) -> RankedLabelSets:
    """Rank the label sets seen in training; `chosen` is the one that is predicted."""
    losses = label_set_losses(loss, scores, known, known, prior)
    order = np.argsort(losses, kind="stable")
    # Of sets that are equal but for rounding, prediction takes the more frequent one.
    order = np.concatenate([[chosen], order[order != chosen]])[:top]
    shares = np.exp(-losses - logsumexp(-losses))
    return RankedLabelSets(known[order].astype(np.int8), losses[order], shares[order])


def rank_by_sign(
    loss: str, scores: Floats, known: NDArray[np.uint8], prior: Floats, top: int
) -> RankedLabelSets:
    """Rank label sets of any kind: labels with positive scores, then with some of them turned."""
    predicted = scores > 0.0
    vectors = np.array([predicted ^ turned for turned in _cheapest_turns(loss, scores, top)])
    losses = label_set_losses(loss, scores, vectors.astype(np.uint8), known, prior)
    shares = np.full(len(losses), np.nan) if loss == "example_logistic" else np.exp(-losses)
    return RankedLabelSets(vectors.astype(np.int8), losses, shares)


def _cheapest_turns(loss: str, scores: Floats, top: int) -> Iterator[NDArray[np.bool_]]:
    """Yield which labels to turn against their sign, the smallest rise of the loss first.

    Each label has a price. That of the label-wise loss is |p|, because log(1 + exp(p)) is p more
    than log(1 + exp(-p)); so it is for the softmax, where scores add up to logits. The
    example-wise loss grows with a sum of exponentials, in which the price is exp|p| - exp(-|p|);
    it may overflow, so its logarithm is used. Sets of labels are visited in order of their total:
    from a set whose dearest label is the i-th cheapest of all, go on with the next label in
    addition, and with the next one in place of the i-th.
    """
    sizes = np.abs(scores)
    prices, total = sizes, _sum
    if loss == "example_logistic":
        with np.errstate(divide="ignore"):  # a score of zero costs nothing
            prices, total = sizes + np.log1p(-np.exp(-2.0 * sizes)), _log_sum
    cheapest = np.argsort(prices, kind="stable")
    ascending = prices[cheapest]

    def priced(members: tuple[int, ...]) -> tuple[float, int, tuple[int, ...]]:
        return total(ascending[list(members)]), len(members), members  # of equals, the smaller set

    queue = [priced((0,))]
    yield np.zeros(len(scores), dtype=bool)
    for _ in range(top - 1):
        if not queue:
            return
        *_, members = heapq.heappop(queue)
        turned = np.zeros(len(scores), dtype=bool)
        turned[cheapest[list(members)]] = True
        yield turned
        after = members[-1] + 1
        if after < len(scores):
            heapq.heappush(queue, priced((*members, after)))
            heapq.heappush(queue, priced((*members[:-1], after)))


def _sum(prices: Floats) -> float:
    return float(prices.sum())


def _log_sum(prices: Floats) -> float:
    return float(logsumexp(prices))
