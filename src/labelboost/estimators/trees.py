"""TreeBoostingClassifier: boosted multi-label trees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from os import PathLike
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from labelboost import _core
from labelboost.boosting import Boosted
from labelboost.estimators.base import LARGEST_COUNT, BoostingClassifier
from labelboost.model import Rule
from labelboost.parameters import (
    check_choice,
    check_integer,
    check_optional_integer,
    check_real,
)
from labelboost.trees import Tree, pack_trees, tree_from_core

GROWTHS = ("best_first", "by_level")
CRITERIA = ("gradient", "newton")


class TreeBoostingClassifier(BoostingClassifier):
    """Boosted trees for multi-label data that predict whole label sets.

    A model is a sum of trees, each with a score for every label in every leaf. The scores of a leaf
    are found together, by solving a linear system, and so is the gain of every division that is
    tried: what both parts gain with their own best scores. Label bins make these systems small.

    Parameters
    ----------
    n_trees : int, default=1600
        Size of the ensemble.
    loss : {"labelset_softmax", "example_logistic", "label_logistic"}, default="labelset_softmax"
        The softmax over the label sets seen in training, and the example-wise logistic loss, aim at
        label sets that are right as a whole (Subset 0/1 loss); the label-wise one at single labels
        (Hamming loss).
    max_depth : int or None, default=None
        Most conditions between root and leaf.
    max_leaves : int or None, default=4
        Most leaves per tree. Many small trees overfit less than few large ones, and are easier to
        read.
    min_coverage : int, default=5
        Fewest examples of the sample in each leaf. If all weights are whole numbers (and not more
        than eight in the mean, or 65,536 in total), an example counts as often as its weight says.
    growth : {"best_first", "by_level"}, default="best_first"
        Which node is divided next; it matters only if `max_leaves` ends the growth of a tree.
    criterion : {"gradient", "newton"}, default="gradient"
        What divisions are chosen by. "gradient": how much the gradients of the two parts differ, as
        if the loss had the same curvature everywhere. "newton": how much the best scores for both
        parts lower the objective, found with all second derivatives, for every division that is
        tried (or with as many unknowns as there are label bins). The scores of the leaves are found
        with all second derivatives in either case.
    label_bins : "auto", None, float or int, default="auto"
        None: every label gets a score of its own. A float in (0, 1]: the labels of either sign
        share so many different scores, relative to their number. An int: at most that many
        different scores, half per sign. "auto": 0.04 for the example-wise logistic loss, else None.
    label_bin_aggregation : {"paper", "exact"}, default="paper"
        How second derivatives are added up within a bin: only those of single labels, as in the
        paper, or all of them, which minimises the objective under the constraint of equal scores.
    learning_rate : float, default=0.1
        Factor for the scores of each tree.
    l2 : float, default=1.0
        Weight of the L2 penalty on the scores of a leaf.
    subsample : float, default=0.7
        Share of the examples, drawn without replacement, that a tree is grown on. Scores are found
        with all examples of a leaf.
    max_features : {"log2", "sqrt"}, None, int or float, default="sqrt"
        Features drawn for each node. "log2": floor(log2(L - 1) + 1) of L; None: all.
    feature_bins : int or None, default=256
        At most that many quantile bins per numeric feature; None: thresholds between all distinct
        values.
    decoding : {"auto", "known", "sign"}, default="auto"
        How `predict` turns scores into label sets. "known": the label set seen in training with
        the smallest loss at the scores, the more frequent of equal ones. "sign": labels with
        positive scores. "auto": sign for the label-wise loss, known for the others.
    categorical_features : "from_dtype", None, or array-like of bool, int or str
        Which features hold categories, to be compared with = only. "from_dtype": columns of data
        frames with a categorical dtype.
    validation_fraction : float or None, default=None
        Share of the examples that is kept for validation; or pass `eval_set` to `fit`.
    early_stopping : {"loss", "subset_01", "hamming", "f1_micro", "f1_macro", "f1_example"} or None
        The measure on the validation data that decides when to stop, and how many trees are kept:
        as many as were best, the fewest of equally good numbers. None: never, and all.
    patience : int, default=50
        Training stops after so many trees without a better value of that measure.
    evaluate_every : int, default=1
        Validation data are evaluated after every so many trees, and at the end.
    time_limit : float or None, default=None
        Seconds after which `fit` learns no further tree.
    warm_start : bool, default=False
        Whether `fit` goes on from the fitted model, if it is one, up to `n_trees` in total.
    checkpoint : path or None, default=None
        A file in which training keeps what it has learned. An interrupted training that is called
        again goes on from there. It is removed when `fit` has succeeded.
    checkpoint_every : int or None, default=None
        Write the checkpoint after every so many trees.
    checkpoint_seconds : float or None, default=60.0
        Write the checkpoint after so many seconds.
    random_state : int, RandomState or None, default=None
        Decides every random choice; the model does not depend on the number of threads.
    n_jobs : int or None, default=None
        Number of threads; -1 for all processors.
    verbose : int, default=0
        1: show a progress bar if on a terminal.
    profile : bool, default=False
        Whether to watch what the time of training is spent on, for `training_profile_`.

    Attributes
    ----------
    trees_ : list of Tree
        The trees. Where a missing value goes is learned for each division, from the missing values
        that training has there; if it has none, they go with most of the examples.
    default_ : Rule
        The scores that every example starts with.
    rules_ : list of Rule
        The same model as rules: `default_`, then each leaf of each tree.
    n_trees_ : int
        Number of trees; less than `n_trees` if training ended earlier, see `stop_reason_`.
    training_times_ : ndarray of shape (n_trees_ + 1,)
        Seconds from the start of `fit` until the default rule and each tree had been learned.
    stop_reason_ : str
        Why training ended: "size" (it is complete), "no_improvement" (of the training loss),
        "early_stopping", "time_limit" or "callback".
    validation_history_ : dict of str to ndarray
        With validation data: the sizes "n_trees" at which they were evaluated, the "loss" and the
        measure of `early_stopping` at each.
    best_n_trees_, best_score_ : int, float
        With `early_stopping`: how many trees were best and are kept, and the value of the measure.
    training_profile_ : dict of str to float
        With `profile`: seconds spent on evaluating candidates ("candidate_evaluation"), on summing
        up statistics for that ("summing_statistics") and on "everything_else".
    classes_ : ndarray of shape (n_labels,) or (n_classes,)
        Names of the labels: column names, members of the label sets, or numbers. If y was a vector:
        the classes in it, in ascending order. Each is a label of its own to the trees, but if there
        are two, the second one is the only label.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if the training data had names that are all strings.
    """

    trees_: list[Tree]
    n_trees_: int
    default_: Rule
    _unit = "trees"
    _default_counts = False

    def __init__(
        self,
        *,
        n_trees: int = 1600,
        loss: Literal[
            "labelset_softmax", "example_logistic", "label_logistic"
        ] = "labelset_softmax",
        max_depth: int | None = None,
        max_leaves: int | None = 4,
        min_coverage: int = 5,
        growth: Literal["best_first", "by_level"] = "best_first",
        criterion: Literal["gradient", "newton"] = "gradient",
        label_bins: Literal["auto"] | float | None = "auto",
        label_bin_aggregation: Literal["paper", "exact"] = "paper",
        learning_rate: float = 0.1,
        l2: float = 1.0,
        subsample: float = 0.7,
        max_features: Literal["log2", "sqrt"] | float | None = "sqrt",
        feature_bins: int | None = 256,
        decoding: Literal["auto", "known", "sign"] = "auto",
        categorical_features: Literal["from_dtype"] | ArrayLike | None = "from_dtype",
        validation_fraction: float | None = None,
        early_stopping: Literal[
            "loss", "subset_01", "hamming", "f1_micro", "f1_macro", "f1_example"
        ]
        | None = None,
        patience: int = 50,
        evaluate_every: int = 1,
        time_limit: float | None = None,
        warm_start: bool = False,
        checkpoint: str | PathLike[str] | None = None,
        checkpoint_every: int | None = None,
        checkpoint_seconds: float | None = 60.0,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        profile: bool = False,
    ) -> None:
        self.n_trees = n_trees
        self.loss = loss
        self.max_depth = max_depth
        self.max_leaves = max_leaves
        self.min_coverage = min_coverage
        self.growth = growth
        self.criterion = criterion
        self.label_bins = label_bins
        self.label_bin_aggregation = label_bin_aggregation
        self.learning_rate = learning_rate
        self.l2 = l2
        self.subsample = subsample
        self.max_features = max_features
        self.feature_bins = feature_bins
        self.decoding = decoding
        self.categorical_features = categorical_features
        self.validation_fraction = validation_fraction
        self.early_stopping = early_stopping
        self.patience = patience
        self.evaluate_every = evaluate_every
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.checkpoint_seconds = checkpoint_seconds
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.profile = profile

    @cached_property
    def rules_(self) -> list[Rule]:
        """The model as rules: the default rule, then each leaf of each tree."""
        if "trees_" not in vars(self):
            raise AttributeError("rules_ is there once the model is fitted")
        return [self.default_, *(rule for tree in self.trees_ for rule in tree.rules())]

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "rules_"}

    @property
    def _n_stages(self) -> int:
        return self.n_trees_

    def _check_size(self) -> int:
        return check_integer("n_trees", self.n_trees, minimum=1)

    def _check_settings(self) -> dict[str, Any]:
        settings = self._shared_settings()
        growth = check_choice("growth", self.growth, GROWTHS)
        criterion = check_choice("criterion", self.criterion, CRITERIA)
        depth = check_optional_integer("max_depth", self.max_depth, minimum=1)
        leaves = check_optional_integer("max_leaves", self.max_leaves, minimum=2)
        subsample = check_real("subsample", self.subsample, above=0.0, maximum=1.0)
        return settings | {
            "single_head": False,
            "bootstrap": False,
            "max_conditions": 0,
            "trees": True,
            "subsample": subsample,
            "max_depth": min(depth or 0, LARGEST_COUNT),
            "max_leaves": min(leaves or 0, LARGEST_COUNT),
            "best_first": growth == "best_first",
            "flat_divisions": criterion == "gradient",
        }

    def _learner(self, booster: _core.Booster) -> Callable[[int], Tree | None]:
        def learn(attempt: int) -> Tree | None:
            raw = booster.learn_tree(attempt)
            return None if raw is None else tree_from_core(raw)

        return learn

    def _rules_of(self, learned: Tree) -> Sequence[Rule]:
        return learned.rules()

    def _pack(self, learned: Sequence[Tree], n_features: int, n_labels: int) -> _core.Forest:
        return pack_trees(Rule((), np.zeros(n_labels), 0), learned, n_features)

    def _fitted_ensemble(self) -> tuple[Rule, list[Tree]]:
        return self.default_, self.trees_

    def _ensemble_attributes(
        self, boosted: Boosted[Tree], n_features: int, n_labels: int
    ) -> dict[str, Any]:
        return {
            "trees_": boosted.learned,
            "n_trees_": len(boosted.learned),
            "default_": boosted.default,
            "_ensemble": pack_trees(boosted.default, boosted.learned, n_features),
        }
