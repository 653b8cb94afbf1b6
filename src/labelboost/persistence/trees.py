"""Trees as lists with an entry per node, which is what they consist of in memory, too."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelboost.model import OPERATORS
from labelboost.persistence.codec import Budget
from labelboost.persistence.nodes import EXACT, Malformed, Node
from labelboost.persistence.rules import SCORE_BYTES
from labelboost.trees import Tree

ARRAYS = ("features", "operators", "values", "missing_left", "missing_seen", "left", "right",
          "coverage")  # fmt: skip
LEAVES = ("heads", "gains")
NUMERIC, NOMINAL = OPERATORS.index("<="), OPERATORS.index("=")
MOST = 2**31 - 1


def encode_tree(tree: Tree) -> dict[str, Any]:
    """Turn a tree into JSON values."""
    return {name: getattr(tree, name).tolist() for name in (*ARRAYS, *LEAVES)}


def decode_trees(
    node: Node, nominal: NDArray[np.bool_], n_labels: int, budget: Budget
) -> list[Tree]:
    """Check a list of trees, having asked for the memory that they take."""
    items = node.items()
    leaves = sum(len(heads) for heads in map(_heads_of, items))
    budget.spend(SCORE_BYTES * leaves * n_labels, f"{leaves} leaves x {n_labels} labels")
    return [decode_tree(item, nominal, n_labels) for item in items]


def _heads_of(node: Node) -> list[Any]:
    heads = node.members().get("heads", node).value
    return heads if isinstance(heads, list) else []


def decode_tree(node: Node, nominal: NDArray[np.bool_], n_labels: int) -> Tree:
    """Check that this is a tree, and a sound one."""
    members = dict(zip((*ARRAYS, *LEAVES), node.fields(*ARRAYS, *LEAVES), strict=True))
    n = members["features"].length(fewest=1)
    for name in ARRAYS:
        members[name].length(exactly=n)
    heads = [row.numbers(exactly=n_labels) for row in members["heads"].items(fewest=1)]
    tree = Tree(
        _whole(members["features"], -1, len(nominal) - 1, np.int32),
        _whole(members["operators"], 0, len(OPERATORS) - 1, np.uint8),
        members["values"].numbers(),
        _whole(members["missing_left"], 0, 1, np.uint8),
        _whole(members["missing_seen"], 0, 1, np.uint8),
        _whole(members["left"], 0, MOST, np.int32),
        _whole(members["right"], -1, MOST, np.int32),
        _whole(members["coverage"], 0, EXACT, np.int64),
        np.array(heads),
        members["gains"].numbers(exactly=len(heads)),
    )
    for name in (*ARRAYS, *LEAVES):
        getattr(tree, name).setflags(write=False)  # as after training
    if not _is_sound(tree, nominal):
        raise Malformed(f"{node.where()} is not a tree")
    return tree


def _whole(node: Node, lowest: int, highest: int, dtype: Any) -> NDArray[Any]:
    return np.array(node.integers(lowest, highest), dtype=dtype)


def _is_sound(tree: Tree, nominal: NDArray[np.bool_]) -> bool:
    """Whether every node but the root is one child of a node before it, and leaves have heads."""
    inner = tree.features >= 0
    parents = np.flatnonzero(inner)
    children = np.concatenate([tree.left[inner], tree.right[inner]])
    operators = np.where(nominal[tree.features[inner]], NOMINAL, NUMERIC)
    return (
        bool((children > np.concatenate([parents, parents])).all())
        and sorted(children.tolist()) == list(range(1, len(inner)))
        and bool((tree.operators[inner] == operators).all())
        and tree.left[~inner].tolist() == list(range(len(tree.heads)))
        and bool((tree.right[~inner] == -1).all())
    )
