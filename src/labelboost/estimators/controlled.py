"""An estimator whose training can be watched, ended early, continued and resumed."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from labelboost import _core
from labelboost.estimators.control import (
    ControlParameters,
    check_control_parameters,
    check_sources,
    make_validation,
    named_settings,
)
from labelboost.estimators.prediction import ScoreClassifier
from labelboost.label_sets import LabelSets
from labelboost.losses import LOSSES
from labelboost.model import Rule
from labelboost.parameters import is_integer
from labelboost.persistence.checkpoints import CheckpointFile, StoredTraining, read_checkpoint
from labelboost.persistence.container import library_version
from labelboost.sampling import resolve_seed
from labelboost.training.boosted import Boosted
from labelboost.training.callbacks import Callback, check_callbacks
from labelboost.training.control import Checkpoints, Control
from labelboost.training.fingerprints import digest_arrays, digest_features, digest_rules
from labelboost.training.validation import Examples, Prediction
from labelboost.validation import FeatureSchema, Labels

OPTIONAL = ("feature_names_in_", "training_profile_", "validation_history_", "best_score_",
            "best_n_rules_", "best_n_trees_", "stop_reason_", "_attempts", "_seed",
            "rules_")  # fmt: skip
"""Fitted attributes that not every model has; trees make rules_ when it is asked for."""


@dataclass(frozen=True, slots=True, eq=False)
class TrainingData:
    """Checked data."""

    train: Examples
    held_out: Examples | None
    schema: FeatureSchema
    labels: Labels
    """Of all examples, validation included."""


@dataclass(frozen=True, slots=True, eq=False)
class Wishes:
    """Checked parameters and arguments that control training."""

    parameters: ControlParameters
    eval_set: tuple[Any, ...] | None
    callbacks: tuple[Callback, ...]
    former: ControlledClassifier | None
    """The model to go on from."""
    stored: StoredTraining | None
    """The checkpoint to go on from."""
    seed: int


class ControlledClassifier(ScoreClassifier):
    """Knows how training begins, what accompanies it and how it ends, but not how to learn."""

    feature_bins: int | None
    random_state: int | np.random.RandomState | None
    validation_fraction: float | None
    early_stopping: str | None
    patience: int
    evaluate_every: int
    time_limit: float | None
    warm_start: bool
    checkpoint: str | PathLike[str] | None
    checkpoint_every: int | None
    checkpoint_seconds: float | None

    training_times_: NDArray[np.float64]
    validation_history_: dict[str, NDArray[Any]]
    best_score_: float
    stop_reason_: str
    _attempts: NDArray[np.int64]
    _seed: int

    _default_counts: bool
    """Whether the default rule is one of what the ensemble consists of."""

    def _rules_of(self, learned: Any) -> Sequence[Rule]:
        """Return a rule as a list of itself, or the leaves of a tree as rules."""
        raise NotImplementedError

    def _pack(
        self, learned: Sequence[Any], n_features: int, n_labels: int
    ) -> _core.Ensemble | _core.Forest:
        """Pack rules or trees, without a default rule, to be added to given scores."""
        raise NotImplementedError

    def _fitted_ensemble(self) -> tuple[Rule, list[Any]]:
        """Return the default rule and what was learned after it."""
        raise NotImplementedError

    def _check_wishes(
        self,
        loss: str,
        size: int,
        eval_set: tuple[Any, ...] | None,
        callbacks: Sequence[Callback] | None,
        init_model: ControlledClassifier | None,
    ) -> Wishes:
        parameters = check_control_parameters(self)
        check_sources(eval_set, parameters)
        functions = check_callbacks(callbacks)
        former = self._former(init_model, parameters.warm_start)
        if former is not None:
            self._check_former(former, loss, size)
        stored = read_checkpoint(parameters.checkpoint)
        seed = self._choose_seed(stored, former)
        return Wishes(parameters, eval_set, functions, former, stored, seed)

    def _former(
        self, init_model: ControlledClassifier | None, warm_start: bool
    ) -> ControlledClassifier | None:
        fitted = warm_start and "classes_" in vars(self)
        if init_model is None:
            return self if fitted else None
        if fitted:
            raise ValueError(
                "init_model was given, but with warm_start=True this model goes on from itself. "
                "Set warm_start=False, or pass init_model=None."
            )
        if type(init_model) is not type(self):
            raise TypeError(
                f"init_model must be a {type(self).__name__}, got {type(init_model).__name__}"
            )
        check_is_fitted(init_model)
        return init_model

    def _check_former(self, former: ControlledClassifier, loss: str, size: int) -> None:
        unit = self._unit
        if former._fitted_loss != loss:
            raise ValueError(
                f"loss={loss!r}, but the model to go on from was fitted with "
                f"loss={former._fitted_loss!r}. Its scores mean something else; use the same loss."
            )
        if former._n_stages > size:
            raise ValueError(
                f"n_{unit}={size}, but the model to go on from has {former._n_stages} {unit} "
                f"already. n_{unit} is the size of the whole ensemble: make it larger."
            )
        if former._n_stages == size:
            warnings.warn(
                f"the model to go on from has n_{unit}={size} {unit} already, so that no others "
                f"are learned; n_{unit} is the size of the whole ensemble",
                stacklevel=4,
            )

    def _choose_seed(
        self, stored: StoredTraining | None, former: ControlledClassifier | None
    ) -> int:
        """Return the seed of all draws. What goes on keeps its seed, unless another one is set."""
        if not is_integer(self.random_state):
            if stored is not None:
                return stored.seed
            if former is self and "_seed" in vars(self):
                return self._seed
        return resolve_seed(self.random_state)

    def _make_control(
        self,
        start: float,
        size: int,
        settings: dict[str, Any],
        wishes: Wishes,
        data: TrainingData,
        sets: LabelSets,
    ) -> tuple[Control[Any], Boosted[Any] | None]:
        """Return what accompanies training, and what it begins with if that is not nothing."""
        plan = wishes.parameters
        control: Control[Any] = Control(callbacks=wishes.callbacks)
        if data.held_out is not None:
            n_features, n_labels = data.schema.n_features, sets.vectors.shape[1]
            prediction = Prediction(
                lambda learned: self._pack(learned, n_features, n_labels),
                self._decoder_in_training(settings["loss"], data.labels, sets),
                self._n_threads(),
            )
            control.validation, control.history = make_validation(
                data.held_out, plan, settings["loss"], sets, prediction
            )
            control.evaluate_every = plan.evaluate_every
        if plan.time_limit is not None:
            control.deadline = start + plan.time_limit
        begin = None
        if wishes.former is not None:
            begin = wishes.former._as_boosted()
            control.inherited = len(begin.learned)
        if plan.checkpoint is not None:
            fingerprint = self._fingerprint(data, settings, begin)
            store = CheckpointFile(plan.checkpoint, self._unit, wishes.seed, fingerprint)
            control.checkpoints = Checkpoints(store, plan.checkpoint_every, plan.checkpoint_seconds)
            if wishes.stored is not None:
                wishes.stored.require(fingerprint)
                begin = wishes.stored.restore(
                    self._unit, self._default_counts, data.schema.nominal, sets.vectors.shape[1]
                )
        return control, None if begin is None else begin.first(min(size, len(begin)))

    def _decoder_in_training(
        self, loss: str, labels: Labels, sets: LabelSets
    ) -> Callable[[NDArray[np.float64]], NDArray[np.uint8]] | None:
        """Return what turns scores into label sets as the model will do once it is fitted.

        None: labels with positive scores, which can be found one by one.
        """
        if (LOSSES[loss].decoding if self.decoding == "auto" else self.decoding) == "sign":
            return None
        model = copy.copy(self)
        model._replace_model(
            classes_=labels.classes,
            _one_dimensional=False,
            _known=sets.vectors,
            _known_weights=sets.weights,
            _fitted_loss=loss,
        )
        decode = model._decoder()
        return lambda scores: decode(scores).astype(np.uint8)

    def _as_boosted(self) -> Boosted[Any]:
        """Return the fitted ensemble as a state that training can go on from."""
        default, learned = self._fitted_ensemble()
        # Files of former versions do not tell the attempts; most of them succeed.
        attempts: list[int] = getattr(self, "_attempts", np.arange(len(learned))).tolist()
        times: list[float] = self.training_times_.tolist()
        return Boosted(default, list(learned), times, attempts, self._default_counts)

    def _fingerprint(
        self, data: TrainingData, settings: dict[str, Any], begin: Boosted[Any] | None
    ) -> dict[str, Any]:
        """Return all that decides what is learned."""
        rules: list[Rule] = []
        if begin is not None:
            steps = map(self._rules_of, begin.learned)
            rules = [begin.default, *(rule for step in steps for rule in step)]
        return {
            "estimator": type(self).__name__,
            "version of Labelboost": library_version(),
            "number of examples": len(data.train.labels),
            "features": digest_features(data.train.matrix, data.schema.nominal),
            "labels": digest_arrays(data.train.labels),
            "weights": digest_arrays(data.train.weights),
            "rules to begin with": digest_rules(rules),
            "feature_bins": None if self.feature_bins is None else int(self.feature_bins),
            **named_settings(settings),
        }

    def _replace_model(self, **fitted: Any) -> None:
        """Set all that is learned at once: who interrupts finds the former model or the new one."""
        kept = {name: value for name, value in vars(self).items() if name not in OPTIONAL}
        self.__dict__ = kept | fitted
