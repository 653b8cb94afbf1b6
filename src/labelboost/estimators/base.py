"""What the training of every estimator has in common."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from labelboost import _core
from labelboost.boosting import Boosted, boost, progress_bar
from labelboost.estimators.control import check_eval_set, hold_out, training_attributes
from labelboost.estimators.controlled import ControlledClassifier, TrainingData, Wishes
from labelboost.estimators.explaining import ExplainableClassifier
from labelboost.estimators.prediction import DECODINGS
from labelboost.label_binning import resolve_label_bins
from labelboost.label_sets import LabelSets
from labelboost.losses import LOSSES
from labelboost.parameters import (
    check_boolean,
    check_choice,
    check_integer,
    check_optional_integer,
    check_real,
)
from labelboost.repetition import find_tickets
from labelboost.sampling import resolve_max_features
from labelboost.training.boosted import replay
from labelboost.training.callbacks import Callback
from labelboost.training.continuation import continue_features
from labelboost.training.coverage import FeatureColumns
from labelboost.training.validation import Examples
from labelboost.validation import (
    FeatureMatrix,
    FeatureSchema,
    check_fit_features,
    check_labels,
    check_sample_weight,
    refuse_infinite_features,
)
from labelboost.validation.matching import match_labels

EXTREME_EXPONENT = 30
"""Sums of weights beyond 2**30, or below its inverse, are scaled."""
SMALLEST = float(np.nextafter(0.0, 1.0))
LARGEST_COUNT = 2**31 - 1
"""Limits beyond the number of examples that the core can hold all mean the same."""
LARGEST_FACTOR = 1e100
"""For learning_rate and l2: scores and their sums stay far from overflow."""


class BoostingClassifier(ExplainableClassifier, ControlledClassifier):
    """Fits an ensemble by boosting. What is boosted, rules or trees, is up to the subclasses."""

    loss: str
    label_bins: str | float | None
    label_bin_aggregation: str
    learning_rate: float
    l2: float
    max_features: str | float | None
    min_coverage: int
    categorical_features: Any
    verbose: int
    profile: bool

    training_profile_: dict[str, float]

    def _check_size(self) -> int:
        """Check how many rules or trees are wanted."""
        raise NotImplementedError

    def _check_settings(self) -> dict[str, Any]:
        """Check the parameters that go to the core as they are."""
        raise NotImplementedError

    def _learner(self, booster: _core.Booster) -> Callable[[int], Any]:
        """Return what learns a rule or tree, given the number of the attempt, if it succeeds."""
        raise NotImplementedError

    def _ensemble_attributes(
        self, boosted: Boosted[Any], n_features: int, n_labels: int
    ) -> dict[str, Any]:
        """Return the fitted attributes that tell what has been learned."""
        raise NotImplementedError

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        eval_set: tuple[Any, ...] | None = None,
        callbacks: Sequence[Callback] | None = None,
        init_model: BoostingClassifier | None = None,
    ) -> Self:
        """Learn the ensemble.

        X: array, sparse matrix or data frame of shape (n_examples, n_features); NaN is missing.
        y: 0/1 matrix (dense, sparse or data frame) of shape (n_examples, n_labels), or a list with
        one set of labels per example; or a vector of classes, one per example: integers, strings or
        booleans. Nothing changes if training fails or is interrupted.

        sample_weight: one number per example. Whole numbers count as repetitions: 2 is the same as
        the example twice (in the samples of the rules as well, unless they add up to more than 8
        per example and 65,536 in total), 0 the same as none. Others multiply the example's share
        in every sum.
        eval_set: (X_val, Y_val) or (X_val, Y_val, sample_weight_val), data for validation.
        callbacks: functions that are called with a TrainingState after the default rule and after
        each that is learned; training ends if one returns True.
        init_model: a fitted model of the same class whose rules or trees come first; it is not
        changed. The size that is asked for includes them.
        """
        start = time.perf_counter()
        settings = self._check_settings()
        profiled = check_boolean("profile", self.profile)
        size = self._check_size()
        verbose = self.verbose
        if not isinstance(verbose, bool | np.bool_):
            verbose = check_integer("verbose", verbose, minimum=0)
        wishes = self._check_wishes(settings["loss"], size, eval_set, callbacks, init_model)
        data = self._check_data(X, y, sample_weight, settings, wishes)
        sets = LabelSets.of(data.train.labels, data.train.weights)
        settings["max_features"] = resolve_max_features(self.max_features, data.schema.n_features)
        settings["seed"] = wishes.seed
        sampled = settings["bootstrap"] or settings.get("subsample", 1.0) < 1.0
        # Samples are drawn from tickets, and trees count them in any case.
        ticketed = sampled or settings.get("trees", False)
        columns = self._columns(data.train.matrix, data.schema)
        tickets = None
        if ticketed:
            keys = columns.row_keys()
            tickets = find_tickets(data.train.matrix, sets, data.train.weights, keys)
        booster = _core.Booster(
            columns,
            data.train.labels,
            data.train.weights,
            **settings,
            n_threads=self._n_threads(),
            sets=sets.vectors,
            set_weights=sets.weights,
            set_of=sets.set_of,
            tickets=tickets,
            profiled=profiled,
        )
        control, begin = self._make_control(start, size, settings, wishes, data, sets)
        if begin is not None:
            replay(booster, begin, self._rules_of, FeatureColumns(data.train.matrix))
        with progress_bar(verbose, size, self._unit, 0 if begin is None else len(begin)) as report:
            boosted = boost(
                booster,
                self._learner(booster),
                size,
                unit=self._unit,
                default_counts=self._default_counts,
                randomised=sampled or settings["max_features"] < data.schema.n_features,
                report=report,
                control=control,
                start=begin,
                began=start if begin is None else start - begin.times[-1],
            )

        names = data.schema.names
        self._replace_model(
            classes_=data.labels.classes,
            n_features_in_=data.schema.n_features,
            _schema=data.schema,
            _one_dimensional=data.labels.one_dimensional,
            _known=sets.vectors,
            _known_weights=sets.weights,
            # Prediction follows the loss that was minimised, even if parameters are changed later.
            _fitted_loss=settings["loss"],
            **training_attributes(boosted, control.history, self._unit, wishes.seed),
            **self._ensemble_attributes(boosted, data.schema.n_features, sets.vectors.shape[1]),
            **({} if names is None else {"feature_names_in_": names}),
            **({} if not profiled else {"training_profile_": _profile(booster, start)}),
        )
        control.end()
        return self

    def _check_data(
        self, X: Any, Y: Any, sample_weight: Any, settings: dict[str, Any], wishes: Wishes
    ) -> TrainingData:
        """Check the data, and divide them if a part is for validation. Scales l2 if need be."""
        former, name = wishes.former, type(self).__name__
        matrix, schema = check_fit_features(X, self.categorical_features, allow_infinity=True)
        if former is None:
            labels = check_labels(Y, matrix.shape[0])
        else:
            matrix, schema = continue_features(matrix, schema, former._schema, name)
            labels = match_labels(
                Y, matrix.shape[0], former.classes_, former._one_dimensional, "the former model"
            )
        weights = check_sample_weight(sample_weight, matrix.shape[0])
        weights, settings["l2"] = _away_from_overflow(weights, settings["l2"])
        train = Examples(*_without_weightless(matrix, labels.matrix, weights))
        held_out, fraction = None, wishes.parameters.validation_fraction
        if wishes.eval_set is not None:
            held_out = check_eval_set(wishes.eval_set, schema, labels, name)
        elif fraction is not None:
            train, held_out = hold_out(train, fraction, wishes.seed)
        if train.matrix is not matrix:  # otherwise all of it is looked at when columns are made
            refuse_infinite_features(matrix, schema)
        return TrainingData(train, held_out, schema, labels)

    def _shared_settings(self) -> dict[str, Any]:
        """Check those of the parameters for the core that all estimators have."""
        loss = LOSSES[check_choice("loss", self.loss, LOSSES)]
        check_choice("decoding", self.decoding, DECODINGS)
        bins = resolve_label_bins(self.label_bins, self.label_bin_aggregation, loss)
        return {
            "loss": loss.name,
            "use_bins": bins is not None,
            "bin_ratio": bins.ratio if bins else 0.0,
            "bins_per_sign": bins.per_sign if bins else 1,
            "exact_aggregation": bins.exact if bins else False,
            "learning_rate": check_real(
                "learning_rate", self.learning_rate, above=0.0, maximum=LARGEST_FACTOR
            ),
            "l2": check_real("l2", self.l2, minimum=0.0, maximum=LARGEST_FACTOR),
            "min_coverage": min(
                check_integer("min_coverage", self.min_coverage, minimum=1), LARGEST_COUNT
            ),
        }

    def _columns(self, matrix: FeatureMatrix, schema: FeatureSchema) -> _core.Columns:
        bins = check_optional_integer("feature_bins", self.feature_bins, minimum=2) or 0
        bins = min(bins, LARGEST_COUNT)
        nominal = schema.nominal.astype(np.uint8)
        if isinstance(matrix, np.ndarray):
            columns = _core.Columns.from_dense(matrix, nominal, bins, self._n_threads())
            if columns.any_infinite:
                refuse_infinite_features(matrix, schema)
            return columns
        csc = sp.csc_array(matrix)
        return _core.Columns.from_csc(
            csc.data, csc.indices, csc.indptr, csc.shape[0], nominal, bins, self._n_threads()
        )


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
