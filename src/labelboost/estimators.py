"""The estimators: scikit-learn's interface to training and prediction."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MultiOutputMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from labelboost import _core
from labelboost.boosting import boost, progress_bar
from labelboost.label_binning import resolve_label_bins
from labelboost.label_sets import (
    LabelSetPrediction,
    LabelSets,
    example_losses,
    most_likely,
    probabilities,
    softmax_logits,
)
from labelboost.losses import LOSSES
from labelboost.model import Rule, pack_rules
from labelboost.parameters import (
    check_boolean,
    check_choice,
    check_integer,
    check_optional_integer,
    check_real,
    check_stages,
    is_integer,
)
from labelboost.sampling import resolve_max_features, resolve_seed
from labelboost.validation import (
    FeatureMatrix,
    FeatureSchema,
    check_fit_features,
    check_labels,
    check_predict_features,
    check_sample_weight,
)

MOST_THREADS = 256
EXTREME_EXPONENT = 30
"""Sums of weights beyond 2**30, or below its inverse, are scaled."""
SCORES_AT_ONCE = 2**22
"""How many scores staged prediction computes before it yields the first ones."""
SMALLEST = float(np.nextafter(0.0, 1.0))
LARGEST_COUNT = 2**31 - 1
"""Limits beyond the number of examples that the core can hold all mean the same."""
LARGEST_FACTOR = 1e100
"""For learning_rate and l2: scores and their sums stay far from overflow."""


class RuleBoostingClassifier(MultiOutputMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
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
        Their number; less than `n_rules` only if nothing improved the training loss any more.
    training_times_ : ndarray of shape (n_rules_,)
        Seconds from the start of `fit` until each rule had been learned.
    training_profile_ : dict of str to float
        With `profile`: seconds spent on evaluating candidates ("candidate_evaluation"), on summing
        up statistics for that ("summing_statistics") and on "everything_else".
    classes_ : ndarray of shape (n_labels,)
        Names of the labels: column names, members of the label sets, or numbers.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if the training data had names that are all strings.
    """

    rules_: list[Rule]
    n_rules_: int
    training_times_: NDArray[np.float64]
    training_profile_: dict[str, float]
    classes_: NDArray[Any]
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]
    _schema: FeatureSchema
    _one_dimensional: bool
    _known: NDArray[np.uint8]
    _known_weights: NDArray[np.float64]
    _ensemble: _core.Ensemble
    _fitted_loss: str

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
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.profile = profile

    def fit(self, X: Any, Y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the rules.

        X: array, sparse matrix or data frame of shape (n_examples, n_features); NaN is missing.
        Y: 0/1 matrix (dense, sparse or data frame) of shape (n_examples, n_labels), or a list with
        one set of labels per example. Nothing changes if training fails or is interrupted.
        """
        start = time.perf_counter()
        settings = self._check_settings()
        profiled = check_boolean("profile", self.profile)
        n_rules = check_integer("n_rules", self.n_rules, minimum=1)
        verbose = self.verbose
        if not isinstance(verbose, bool | np.bool_):
            verbose = check_integer("verbose", verbose, minimum=0)
        matrix, schema = check_fit_features(X, self.categorical_features)
        labels = check_labels(Y, matrix.shape[0])
        weights = check_sample_weight(sample_weight, matrix.shape[0])
        weights, settings["l2"] = _away_from_overflow(weights, settings["l2"])
        matrix, Y01, weights = _without_weightless(matrix, labels.matrix, weights)

        max_features = resolve_max_features(self.max_features, schema.n_features)
        sets = LabelSets.of(Y01, weights)
        booster = _core.Booster(
            self._columns(matrix, schema),
            Y01,
            weights,
            **settings,
            max_features=max_features,
            seed=resolve_seed(self.random_state),
            n_threads=self._n_threads(),
            sets=sets.vectors,
            set_weights=sets.weights,
            set_of=sets.set_of,
            profiled=profiled,
        )
        randomised = settings["bootstrap"] or max_features < schema.n_features
        with progress_bar(verbose, n_rules) as report:
            rules, times = boost(booster, n_rules, randomised=randomised, report=report)

        self._replace_model(
            rules_=rules,
            n_rules_=len(rules),
            training_times_=np.array(times) - start,
            classes_=labels.classes,
            n_features_in_=schema.n_features,
            _schema=schema,
            _one_dimensional=labels.one_dimensional,
            _known=sets.vectors,
            _known_weights=sets.weights,
            _ensemble=pack_rules(rules, schema.n_features, Y01.shape[1]),
            # Prediction follows the loss that was minimised, even if parameters are changed later.
            _fitted_loss=settings["loss"],
            **({} if schema.names is None else {"feature_names_in_": schema.names}),
            **({} if not profiled else {"training_profile_": _profile(booster, start)}),
        )
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the score of each label, the sum over all covering rules: (n_examples, K)."""
        check_is_fitted(self)
        matrix = check_predict_features(X, self._schema, type(self).__name__)
        return self._sum_heads(matrix)

    def staged_decision_function(
        self, X: Any, n_rules: Sequence[int] | None = None
    ) -> Iterator[NDArray[np.float64]]:
        """Yield the scores of the first rules only: after each rule, or after each of `n_rules`.

        `n_rules` must ascend from at least 1 to at most `n_rules_`.
        """
        check_is_fitted(self)
        matrix = check_predict_features(X, self._schema, type(self).__name__)
        stops = check_stages(n_rules, self.n_rules_)
        return self._sum_stages(matrix, stops)

    def staged_predict(
        self, X: Any, n_rules: Sequence[int] | None = None
    ) -> Iterator[NDArray[np.int8]]:
        """Yield the label sets that the first rules predict; see `staged_decision_function`."""
        decode = self._decoder()
        return map(decode, self.staged_decision_function(X, n_rules))

    def predict(self, X: Any) -> NDArray[np.int8]:
        """Return the predicted label sets as a 0/1 matrix (n_examples, K).

        A model that was fitted with a vector of labels returns a vector.
        """
        return self._decoder()(self.decision_function(X))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each label: (n_examples, K).

        For the example-wise loss every label vector v seen in training gets the weight
        exp(-loss(v)) = 1 / (1 + sum_k exp(-v_k p_k)), with v_k = +1 or -1 and p the scores; the
        probability of a label is the share of the vectors that contain it in the total weight.
        For the label-wise loss it is 1 / (1 + exp(-p_k)). For the softmax over label sets it is
        the sum of the probabilities of the sets that contain the label.
        """
        return self._marginals(self.decision_function(X))

    def staged_predict_proba(
        self, X: Any, n_rules: Sequence[int] | None = None
    ) -> Iterator[NDArray[np.float64]]:
        """Yield the probabilities by the first rules; see `staged_decision_function`."""
        return map(self._marginals, self.staged_decision_function(X, n_rules))

    def predict_label_sets(self, X: Any, top: int = 1) -> LabelSetPrediction:
        """Return the `top` most likely label sets seen in training, and their probabilities.

        For the losses that know label sets: the softmax over them, whose probabilities these are,
        and the example-wise logistic loss, where a set weighs exp(-loss) as in `predict_proba`.
        Fewer than `top` if training saw fewer.
        """
        check_is_fitted(self)
        top = min(check_integer("top", top, minimum=1), len(self._known))
        if self._fitted_loss == "label_logistic":
            raise ValueError(
                "predict_label_sets needs a model of label sets; the label-wise loss gives the "
                "probabilities of single labels only (predict_proba). Fit with "
                "loss='labelset_softmax'."
            )
        likely = self._set_probabilities(self.decision_function(X))
        # The first of equal ones, as in predict: a stable sort.
        order = np.argsort(-likely, axis=1, kind="stable")[:, :top]
        return LabelSetPrediction(
            self._known[order].view(np.int8), np.take_along_axis(likely, order, axis=1)
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.multi_class = False
        return tags

    def _sum_heads(self, matrix: FeatureMatrix, **stages: Any) -> NDArray[np.float64]:
        if isinstance(matrix, np.ndarray):
            return self._ensemble.predict_dense(matrix, self._n_threads(), **stages)
        csr = sp.csr_array(matrix)
        return self._ensemble.predict_csr(
            csr.data, csr.indices, csr.indptr, self._n_threads(), **stages
        )

    def _sum_stages(
        self, matrix: FeatureMatrix, stops: NDArray[np.int64]
    ) -> Iterator[NDArray[np.float64]]:
        shape = (matrix.shape[0], len(self.classes_))
        # Several stages at a time, as conditions are evaluated but once then.
        together = max(1, SCORES_AT_ONCE // max(1, shape[0] * shape[1]))
        first, scores = 0, None
        for begin in range(0, len(stops), together):
            part = stops[begin : begin + together]
            stages = self._sum_heads(matrix, stops=part, first=first, start=scores)
            yield from stages.reshape(len(part), *shape)
            first, scores = int(part[-1]), stages[-shape[0] :]

    def _decoder(self) -> Callable[[NDArray[np.float64]], NDArray[np.int8]]:
        """Return what turns scores into label sets."""
        check_is_fitted(self)
        decoding = check_choice("decoding", self.decoding, ("auto", "known", "sign"))
        if decoding == "auto":
            decoding = LOSSES[self._fitted_loss].decoding

        def decode(scores: NDArray[np.float64]) -> NDArray[np.int8]:
            if decoding == "sign":
                predicted = (scores > 0.0).astype(np.int8)
            else:
                predicted = self._known[self._decode_known(scores)].view(np.int8)
            return predicted[:, 0] if self._one_dimensional else predicted

        return decode

    def _decode_known(self, scores: NDArray[np.float64]) -> NDArray[np.integer[Any]]:
        if self._fitted_loss == "labelset_softmax":
            return most_likely(softmax_logits(scores, self._known, self._known_weights))
        return _core.decode_known(self._fitted_loss, scores, self._known, self._n_threads())

    def _marginals(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        if self._fitted_loss == "label_logistic":
            return np.exp(-np.logaddexp(0.0, -scores))
        if self._fitted_loss == "labelset_softmax":
            return np.minimum(self._set_probabilities(scores) @ self._known, 1.0)
        return _core.known_marginals(self._fitted_loss, scores, self._known, self._n_threads())

    def _set_probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        if self._fitted_loss == "labelset_softmax":
            return probabilities(softmax_logits(scores, self._known, self._known_weights))
        return probabilities(-example_losses(scores, self._known))

    def _replace_model(self, **fitted: Any) -> None:
        """Set all that is learned at once: who interrupts finds the former model or the new one."""
        optional = ("feature_names_in_", "training_profile_")
        kept = {name: value for name, value in vars(self).items() if name not in optional}
        self.__dict__ = kept | fitted

    def _check_settings(self) -> dict[str, Any]:
        """Check the parameters that go to the core as they are."""
        loss = LOSSES[check_choice("loss", self.loss, LOSSES)]
        head = check_choice("head", self.head, ("auto", "complete", "single"))
        check_choice("decoding", self.decoding, ("auto", "known", "sign"))
        bins = resolve_label_bins(self.label_bins, self.label_bin_aggregation, loss)
        max_conditions = check_optional_integer("max_conditions", self.max_conditions, minimum=1)
        return {
            "loss": loss.name,
            "single_head": (loss.head if head == "auto" else head) == "single",
            "use_bins": bins is not None,
            "bin_ratio": bins.ratio if bins else 0.0,
            "bins_per_sign": bins.per_sign if bins else 1,
            "exact_aggregation": bins.exact if bins else False,
            "learning_rate": check_real(
                "learning_rate", self.learning_rate, above=0.0, maximum=LARGEST_FACTOR
            ),
            "l2": check_real("l2", self.l2, minimum=0.0, maximum=LARGEST_FACTOR),
            "bootstrap": check_boolean("bootstrap", self.bootstrap),
            "max_conditions": min(max_conditions or 0, LARGEST_COUNT),
            "min_coverage": min(
                check_integer("min_coverage", self.min_coverage, minimum=1), LARGEST_COUNT
            ),
        }

    def _columns(self, matrix: FeatureMatrix, schema: FeatureSchema) -> _core.Columns:
        bins = check_optional_integer("feature_bins", self.feature_bins, minimum=2) or 0
        bins = min(bins, LARGEST_COUNT)
        nominal = schema.nominal.astype(np.uint8)
        if isinstance(matrix, np.ndarray):
            return _core.Columns.from_dense(matrix, nominal, bins, self._n_threads())
        csc = sp.csc_array(matrix)
        return _core.Columns.from_csc(
            csc.data, csc.indices, csc.indptr, csc.shape[0], nominal, bins, self._n_threads()
        )

    def _n_threads(self) -> int:
        if self.n_jobs is not None and (not is_integer(self.n_jobs) or self.n_jobs == 0):
            raise (TypeError if not is_integer(self.n_jobs) else ValueError)(
                f"n_jobs must be None, a positive number of threads, or negative (-1: all "
                f"processors), got {self.n_jobs!r}"
            )
        return min(int(effective_n_jobs(self.n_jobs)), MOST_THREADS)


def _profile(booster: _core.Booster, start: float) -> dict[str, float]:
    evaluating, summing, _ = booster.activity_seconds()
    rest = time.perf_counter() - start - evaluating - summing
    return {
        "candidate_evaluation": evaluating,
        "summing_statistics": summing,
        "everything_else": max(rest, 0.0),
    }


def _away_from_overflow(
    weights: NDArray[np.float64], l2: float
) -> tuple[NDArray[np.float64], float]:
    """Scale extreme weights, and l2 alike, so that squares of sums fit into single precision.

    The model stays the same: what it depends on is the proportion of l2 to the weights.
    """
    _, exponent = math.frexp(max(float(weights.sum()), l2 * 2.0**-EXTREME_EXPONENT))
    if abs(exponent) <= EXTREME_EXPONENT:
        return weights, l2
    exponent -= exponent % 2  # square roots of even powers of two are exact, too
    scaled = np.ldexp(weights, -exponent)
    scaled[weights > 0.0] = np.maximum(scaled[weights > 0.0], SMALLEST)  # no example may vanish
    return scaled, math.ldexp(l2, -exponent)


def _without_weightless(
    matrix: FeatureMatrix, Y: NDArray[np.uint8], weights: NDArray[np.float64]
) -> tuple[FeatureMatrix, NDArray[np.uint8], NDArray[np.float64]]:
    """Leave out examples of weight zero, so that they count as little as absent ones."""
    kept = weights > 0.0
    if kept.all():
        return matrix, Y, weights
    rows = sp.csr_array(matrix) if sp.issparse(matrix) else matrix
    return rows[kept], Y[kept], weights[kept]
