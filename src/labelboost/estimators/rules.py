"""RuleBoostingClassifier: boosted multi-label rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from labelboost import _core
from labelboost.boosting import Boosted
from labelboost.estimators.base import LARGEST_COUNT, BoostingClassifier
from labelboost.losses import LOSSES
from labelboost.model import RULE_MAKER, Rule, pack_rules
from labelboost.parameters import (
    check_boolean,
    check_choice,
    check_integer,
    check_optional_integer,
)


class RuleBoostingClassifier(BoostingClassifier):
    """Boosted rules for multi-label data that predict whole label sets.

    A model is a sum of rules. A rule is a conjunction of conditions on the features and a head with
    a score for each label. With the example-wise loss the scores of all labels are found together,
    by solving a linear system for every candidate; label bins make that system small.

    Parameters
    ----------
    n_rules : int, default=1000
        Size of the ensemble, including the default rule that covers everything.
    loss : {"example_logistic", "label_logistic", "labelset_softmax"}, default="example_logistic"
        The example-wise logistic loss aims at label sets that are right as a whole (Subset 0/1
        loss), the label-wise one at single labels (Hamming loss). The softmax over the label sets
        seen in training aims at whole sets, too, and gives each of them a probability.
    head : {"auto", "complete", "single"}, default="auto"
        Whether a rule predicts for all labels or for one. "auto": complete for the example-wise
        loss, single for the label-wise one.
    label_bins : "auto", None, float or int, default="auto"
        None: every label gets a score of its own. A float in (0, 1]: the labels of either sign
        share so many different scores, relative to their number. An int: at most that many
        different scores, half per sign. "auto": 0.04 for the example-wise logistic loss, else None.
        Rules with single-label heads have no use for bins.
    label_bin_aggregation : {"paper", "exact"}, default="paper"
        How second derivatives are added up within a bin: only those of single labels, as in the
        paper, or all of them, which minimises the objective under the constraint of equal scores.
    learning_rate : float, default=0.3
        Factor for the scores of each rule but the default rule.
    l2 : float, default=1.0
        Weight of the L2 penalty on the scores of a rule.
    bootstrap : bool, default=True
        Whether each rule is grown on a sample of the examples, drawn with replacement.
    max_features : {"log2", "sqrt"}, None, int or float, default="log2"
        Features drawn for each condition. "log2": floor(log2(L - 1) + 1) of L; None: all.
    feature_bins : int or None, default=None
        None: thresholds between all distinct values. An int: at most that many quantile bins per
        numeric feature.
    max_conditions : int or None, default=None
        Most conditions per rule.
    min_coverage : int, default=1
        Fewest examples of the sample that a rule must cover.
    decoding : {"auto", "known", "sign"}, default="auto"
        How `predict` turns scores into label sets. "known": the label set seen in training with
        the smallest loss at the scores, the more frequent of equal ones. "sign": labels with
        positive scores. "auto": sign for the label-wise loss, known for the others.
    categorical_features : "from_dtype", None, or array-like of bool, int or str
        Which features hold categories, to be compared with = and != only. "from_dtype": columns of
        data frames with a categorical dtype.
    validation_fraction : float or None, default=None
        Share of the examples that is kept for validation; or pass `eval_set` to `fit`.
    early_stopping : {"loss", "subset_01", "hamming", "f1_micro", "f1_macro", "f1_example"} or None
        The measure on the validation data that decides when to stop, and how many rules are kept:
        as many as were best, the fewest of equally good numbers. None: never, and all.
    patience : int, default=50
        Training stops after so many rules without a better value of that measure.
    evaluate_every : int, default=1
        Validation data are evaluated after every so many rules, and at the end.
    time_limit : float or None, default=None
        Seconds after which `fit` learns no further rule.
    warm_start : bool, default=False
        Whether `fit` goes on from the fitted model, if it is one, up to `n_rules` in total.
    checkpoint : path or None, default=None
        A file in which training keeps what it has learned. An interrupted training that is called
        again goes on from there. It is removed when `fit` has succeeded.
    checkpoint_every : int or None, default=None
        Write the checkpoint after every so many rules.
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
    rules_ : list of Rule
        The rules, the default rule first.
    n_rules_ : int
        Their number; less than `n_rules` if training ended earlier, see `stop_reason_`.
    training_times_ : ndarray of shape (n_rules_,)
        Seconds from the start of `fit` until each rule had been learned.
    stop_reason_ : str
        Why training ended: "size" (it is complete), "no_improvement" (of the training loss),
        "early_stopping", "time_limit" or "callback".
    validation_history_ : dict of str to ndarray
        With validation data: the sizes "n_rules" at which they were evaluated, the "loss" and the
        measure of `early_stopping` at each.
    best_n_rules_, best_score_ : int, float
        With `early_stopping`: how many rules were best and are kept, and the value of the measure.
    training_profile_ : dict of str to float
        With `profile`: seconds spent on evaluating candidates ("candidate_evaluation"), on summing
        up statistics for that ("summing_statistics") and on "everything_else".
    feature_importances_ : ndarray of shape (n_features,)
        Shares of the features in the gain of all rules; they add up to 1.
    label_feature_importances_ : ndarray of shape (n_labels, n_features)
        The same for each label.
    classes_ : ndarray of shape (n_labels,) or (n_classes,)
        Names of the labels: column names, members of the label sets, or numbers. If y was a vector:
        the classes in it, in ascending order. Each is a label of its own to the rules, but if there
        are two, the second one is the only label.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if the training data had names that are all strings.
    """

    rules_: list[Rule]
    n_rules_: int
    _unit = "rules"
    _default_counts = True

    def __init__(
        self,
        *,
        n_rules: int = 1000,
        loss: Literal[
            "example_logistic", "label_logistic", "labelset_softmax"
        ] = "example_logistic",
        head: Literal["auto", "complete", "single"] = "auto",
        label_bins: Literal["auto"] | float | None = "auto",
        label_bin_aggregation: Literal["paper", "exact"] = "paper",
        learning_rate: float = 0.3,
        l2: float = 1.0,
        bootstrap: bool = True,
        max_features: Literal["log2", "sqrt"] | float | None = "log2",
        feature_bins: int | None = None,
        max_conditions: int | None = None,
        min_coverage: int = 1,
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
        self.n_rules = n_rules
        self.loss = loss
        self.head = head
        self.label_bins = label_bins
        self.label_bin_aggregation = label_bin_aggregation
        self.learning_rate = learning_rate
        self.l2 = l2
        self.bootstrap = bootstrap
        self.max_features = max_features
        self.feature_bins = feature_bins
        self.max_conditions = max_conditions
        self.min_coverage = min_coverage
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

    @property
    def _n_stages(self) -> int:
        return self.n_rules_

    def _check_size(self) -> int:
        return check_integer("n_rules", self.n_rules, minimum=1)

    def _check_settings(self) -> dict[str, Any]:
        settings = self._shared_settings()
        head = check_choice("head", self.head, ("auto", "complete", "single"))
        max_conditions = check_optional_integer("max_conditions", self.max_conditions, minimum=1)
        settings["single_head"] = (
            LOSSES[settings["loss"]].head if head == "auto" else head
        ) == "single"
        settings["bootstrap"] = check_boolean("bootstrap", self.bootstrap)
        settings["max_conditions"] = min(max_conditions or 0, LARGEST_COUNT)
        return settings

    def _learner(self, booster: _core.Booster) -> Callable[[int], Rule | None]:
        def learn(attempt: int) -> Rule | None:
            return booster.learn_rule(attempt, RULE_MAKER)

        return learn

    def _rules_of(self, learned: Rule) -> Sequence[Rule]:
        return (learned,)

    def _pack(self, learned: Sequence[Rule], n_features: int, n_labels: int) -> _core.Ensemble:
        return pack_rules(learned, n_features, n_labels)

    def _fitted_ensemble(self) -> tuple[Rule, list[Rule]]:
        return self.rules_[0], self.rules_[1:]

    def _ensemble_attributes(
        self, boosted: Boosted[Rule], n_features: int, n_labels: int
    ) -> dict[str, Any]:
        rules = [boosted.default, *boosted.learned]
        return {
            "rules_": rules,
            "n_rules_": len(rules),
            "_ensemble": pack_rules(rules, n_features, n_labels),
        }
