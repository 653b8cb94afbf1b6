"""Trees: what the core returns, packing for prediction, and each leaf read as a rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelboost._core import Forest
from labelboost.model import OPERATORS, Condition, MissingValue, Operator, Rule

RawTree = tuple[NDArray[Any], ...]
"""What the core returns: the attributes of a Tree, in their order."""

OPPOSITE: dict[Operator, Operator] = {"<=": ">", "=": "!="}


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """A binary tree with a head in each leaf. Arrays have an entry per node, the root first."""

    features: NDArray[np.int32]
    """The feature that is compared, -1 for leaves."""
    operators: NDArray[np.uint8]
    """Codes of the comparisons, <= or =; who satisfies them goes to the left."""
    values: NDArray[np.float64]
    missing_left: NDArray[np.uint8]
    """Whether examples without a value go to the left."""
    missing_seen: NDArray[np.uint8]
    """Whether there were any in training; if not, they go where most of the others went."""
    left: NDArray[np.int32]
    """Number of the left child, greater than its parent's; of leaves, the row of `heads`."""
    right: NDArray[np.int32]
    """Number of the right child, -1 for leaves."""
    coverage: NDArray[np.int64]
    """Number of training examples that come by."""
    heads: NDArray[np.float64]
    """(n_leaves, n_labels): the scores of the leaves."""
    gains: NDArray[np.float64]
    """(n_leaves,): what each leaf gained, as a rule does."""

    @property
    def n_leaves(self) -> int:
        """The number of leaves."""
        return len(self.heads)

    def rules(self) -> list[Rule]:
        """Read each leaf as a rule; exactly one of them covers an example."""
        paths: list[tuple[Condition, ...]] = [()] * len(self.features)
        rules = []
        for node, feature in enumerate(self.features.tolist()):
            if feature < 0:
                leaf = self.left[node]
                coverage, gain = int(self.coverage[node]), float(self.gains[leaf])
                rules.append(Rule(paths[node], self.heads[leaf], coverage, gain))
                continue
            operator, value = OPERATORS[self.operators[node]], float(self.values[node])
            passes: MissingValue = "passes" if self.missing_seen[node] else "assumed"
            to_left: MissingValue = passes if self.missing_left[node] else "fails"
            to_right: MissingValue = "fails" if self.missing_left[node] else passes
            for child, condition in (
                (self.left[node], Condition(feature, operator, value, to_left)),
                (self.right[node], Condition(feature, OPPOSITE[operator], value, to_right)),
            ):
                paths[child] = (*paths[node], condition)
        return rules


def tree_from_core(raw: RawTree) -> Tree:
    """Make a tree of what the core returns."""
    for array in raw:
        array.setflags(write=False)
    return Tree(*raw)


def pack_trees(default: Rule, trees: Sequence[Tree], n_features: int) -> Forest:
    """Pack the default rule and trees for prediction."""
    first_head = np.cumsum([0, *(tree.n_leaves for tree in trees)])

    def together(name: str, dtype: type[np.generic]) -> NDArray[Any]:
        return _concatenate([getattr(tree, name) for tree in trees], dtype)

    lefts = [
        np.where(tree.features < 0, tree.left + first, tree.left)
        for tree, first in zip(trees, first_head[:-1], strict=True)
    ]
    return Forest(
        trees=np.cumsum([0, *(len(tree.features) for tree in trees)]).astype(np.int64),
        features=together("features", np.int32),
        operators=together("operators", np.uint8),
        values=together("values", np.float64),
        missing_left=together("missing_left", np.uint8),
        left=_concatenate(lefts, np.int32),
        right=together("right", np.int32),
        default_head=np.array(default.head),
        heads=np.concatenate([np.empty((0, len(default.head))), *(tree.heads for tree in trees)]),
        n_features=n_features,
    )


def _concatenate(parts: Sequence[NDArray[Any]], dtype: type[np.generic]) -> NDArray[Any]:
    return np.concatenate([np.empty(0, dtype=dtype), *parts]).astype(dtype)
