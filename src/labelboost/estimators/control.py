"""The parameters and arguments by which users control training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from labelboost.label_sets import LabelSets
from labelboost.parameters import (
    check_boolean,
    check_choice,
    check_integer,
    check_optional_integer,
    check_real,
)
from labelboost.persistence.checkpoints import check_path
from labelboost.training.boosted import Boosted
from labelboost.training.early_stopping import History
from labelboost.training.measures import LOSS, MEASURES
from labelboost.training.split import held_out_examples
from labelboost.training.validation import Examples, Prediction, Validation
from labelboost.validation import (
    FeatureSchema,
    Labels,
    check_predict_features,
    check_sample_weight,
)
from labelboost.validation.frames import show
from labelboost.validation.matching import match_labels

LONGEST = 1e9
"""Seconds: thirty years."""


@dataclass(frozen=True, slots=True)
class ControlParameters:
    """Checked constructor parameters."""

    validation_fraction: float | None
    early_stopping: str | None
    patience: int
    evaluate_every: int
    time_limit: float | None
    warm_start: bool
    checkpoint: Path | None
    checkpoint_every: int | None
    checkpoint_seconds: float | None


def check_control_parameters(model: Any) -> ControlParameters:
    """Check those parameters of an estimator that control its training."""

    def seconds(name: str) -> float | None:
        value = getattr(model, name)
        return None if value is None else check_real(name, value, above=0.0, maximum=LONGEST)

    fraction, measure = model.validation_fraction, model.early_stopping
    if fraction is not None:
        fraction = check_real("validation_fraction", fraction, above=0.0, maximum=1.0)
        if fraction == 1.0:
            raise ValueError("validation_fraction must be below 1, or nothing is left to train on")
    return ControlParameters(
        fraction,
        None if measure is None else check_choice("early_stopping", measure, MEASURES),
        check_integer("patience", model.patience, minimum=1),
        check_integer("evaluate_every", model.evaluate_every, minimum=1),
        seconds("time_limit"),
        check_boolean("warm_start", model.warm_start),
        check_path(model.checkpoint),
        check_optional_integer("checkpoint_every", model.checkpoint_every, minimum=1),
        seconds("checkpoint_seconds"),
    )


def check_sources(eval_set: object, parameters: ControlParameters) -> None:
    """Check that there is one source of validation data, or none if none is needed."""
    if eval_set is not None and parameters.validation_fraction is not None:
        raise ValueError(
            "both eval_set and validation_fraction were given. Pass eval_set=None, or set "
            "validation_fraction=None."
        )
    needless = eval_set is None and parameters.validation_fraction is None
    if needless and parameters.early_stopping is not None:
        raise ValueError(
            f"early_stopping={parameters.early_stopping!r} needs validation data. Pass "
            "eval_set=(X_val, Y_val) to fit, or set validation_fraction, to 0.1 for example."
        )


def check_eval_set(eval_set: Any, schema: FeatureSchema, labels: Labels, name: str) -> Examples:
    """Check (X_val, Y_val) or (X_val, Y_val, sample_weight_val) against the training data."""
    if not isinstance(eval_set, tuple) or len(eval_set) not in (2, 3):
        raise TypeError(
            "eval_set must be a tuple (X_val, Y_val) or (X_val, Y_val, sample_weight_val), got "
            f"{show(eval_set)} of type {type(eval_set).__name__}"
        )
    try:
        matrix = check_predict_features(eval_set[0], schema, name)
        n = matrix.shape[0]
        matched = match_labels(
            eval_set[1], n, labels.classes, labels.one_dimensional, "the training data"
        )
        weights = check_sample_weight(eval_set[2] if len(eval_set) == 3 else None, n)
    except (TypeError, ValueError) as error:
        raise type(error)(f"eval_set: {error}") from error
    return Examples(matrix, matched.matrix, weights)


def hold_out(data: Examples, fraction: float, seed: int) -> tuple[Examples, Examples]:
    """Divide examples into those to train on and those for validation."""
    chosen = held_out_examples(len(data.labels), fraction, seed)
    matrix = sp.csr_array(data.matrix) if sp.issparse(data.matrix) else data.matrix
    train, validation = (
        Examples(matrix[rows], data.labels[rows], data.weights[rows]) for rows in (~chosen, chosen)
    )
    return train, validation


def make_validation(
    data: Examples,
    parameters: ControlParameters,
    loss: str,
    known: LabelSets,
    prediction: Prediction,
) -> tuple[Validation, History]:
    """Return what follows validation data, and what remembers how good it was."""
    measure = parameters.early_stopping
    validation = Validation(
        data,
        [] if measure is None else [measure],
        loss=loss,
        known=known,
        prediction=prediction,
    )
    if measure == LOSS and not validation.has_loss:
        raise ValueError(
            "early_stopping='loss' cannot be evaluated: the loss is defined for the label sets of "
            "training, and the validation data have none of them. Choose another measure."
        )
    return validation, History(measure, parameters.patience)


def training_attributes(
    boosted: Boosted[Any], history: History | None, unit: str, seed: int
) -> dict[str, Any]:
    """Return the fitted attributes that tell how training went."""
    attributes: dict[str, Any] = {
        "training_times_": np.array(boosted.times),
        "stop_reason_": boosted.stop_reason,
        "_attempts": np.array(boosted.attempts, dtype=np.int64),
        "_seed": seed,
    }
    if history is not None:
        attributes["validation_history_"] = history.as_arrays(unit)
        if history.best_size is not None:
            attributes[f"best_n_{unit}_"] = history.best_size
            attributes["best_score_"] = history.best_value
    return attributes


PARAMETERS: Mapping[str, str] = {
    "use_bins": "label_bins",
    "bin_ratio": "label_bins (as a share)",
    "bins_per_sign": "label_bins (per sign)",
    "exact_aggregation": "label_bin_aggregation='exact'",
    "single_head": "head='single'",
    "seed": "random_state (as a seed)",
}
"""Settings of the core by the parameters that decide them, where the names differ."""


def named_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Name settings of the core as users know them."""
    return {PARAMETERS.get(name, name): value for name, value in settings.items()}
