"""The model and the data that a page is about, checked against each other."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from labelboost.data import Dataset
from labelboost.data.dataset import Features
from labelboost.estimators.base import BoostingClassifier
from labelboost.label_sets import LabelSetPrediction
from labelboost.model import Rule

SETS_BY_LOSS = {"example_logistic": True, "labelset_softmax": True, "label_logistic": False}
"""Whether a model with this loss knows how likely each label set is."""


@dataclass(frozen=True, eq=False)
class Subject:
    """A fitted model and data that fit it; whatever is predicted is computed once."""

    model: BoostingClassifier
    X: Features
    Y: NDArray[np.uint8]
    data_name: str
    feature_names: tuple[str, ...]
    label_names: tuple[str, ...]
    categories: Mapping[int, Sequence[object]]

    @classmethod
    def of(cls, model: Any, dataset: Dataset) -> Subject:
        """Check that the model can be evaluated on the data, by numbers and by names."""
        if not isinstance(model, BoostingClassifier):
            raise TypeError(
                f"a report is about a model of Labelboost, got {type(model).__name__}; "
                "load_model reads one from a file"
            )
        check_is_fitted(model)
        model = model._by_labels()
        _check_count("features", model.n_features_in_, dataset.n_features, dataset.name)
        _check_count("labels", len(model.classes_), dataset.n_labels, dataset.name)
        if hasattr(model, "feature_names_in_"):
            _check_names(
                "feature", list(model.feature_names_in_), dataset.feature_names, dataset.name
            )
        if all(isinstance(name, str) for name in model.classes_):
            _check_names("label", list(model.classes_), dataset.label_names, dataset.name)
        known = model._schema.categories
        return cls(
            model,
            _with_codes_of_training(dataset, known),
            dataset.Y,
            dataset.name,
            dataset.feature_names,
            dataset.label_names,
            {**dataset.categories, **known},
        )

    @property
    def rules(self) -> list[Rule]:
        """The rules, or leaves of trees, the default rule first; their heads add up to scores."""
        rules: list[Rule] = self.model.rules_
        return rules

    @property
    def loss(self) -> str:
        """The loss that was minimised."""
        return self.model._fitted_loss

    @property
    def decoding(self) -> str:
        """How scores become label sets: `known` or `sign`."""
        if self.model.decoding == "auto":
            return "known" if SETS_BY_LOSS[self.loss] else "sign"
        return self.model.decoding

    @property
    def knows_sets(self) -> bool:
        """Whether the model tells probabilities of label sets."""
        return SETS_BY_LOSS[self.loss]

    @property
    def n_stages(self) -> int:
        """How many rules or trees were learned one after the other."""
        return self.model._n_stages

    @property
    def unit(self) -> str:
        """What the model consists of."""
        return self.model._unit

    @cached_property
    def scores(self) -> NDArray[np.float64]:
        """(N, K)"""
        with _names_are_checked():
            return self.model.decision_function(self.X)

    @cached_property
    def predicted(self) -> NDArray[np.uint8]:
        """(N, K), 0 or 1"""
        with _names_are_checked():
            return _as_matrix(self.model.predict(self.X))

    @cached_property
    def probabilities(self) -> NDArray[np.float64]:
        """(N, K)"""
        with _names_are_checked():
            return self.model.predict_proba(self.X)

    @cached_property
    def known_sets(self) -> NDArray[np.int8] | None:
        """The label sets seen in training, if the model knows them: (n_sets, K)."""
        if not self.knows_sets:
            return None
        sets: NDArray[np.int8] = self.likely_sets(np.array([0]), top=2**31 - 1).label_sets[0]
        return sets

    def likely_sets(self, rows: NDArray[np.intp], top: int) -> LabelSetPrediction:
        """Return the likeliest label sets of some examples."""
        with _names_are_checked():
            return self.model.predict_label_sets(self.X[rows], top)

    def staged(
        self, method: str, rows: NDArray[np.intp], stages: Sequence[int]
    ) -> Iterator[NDArray[Any]]:
        """Yield what a staged method predicts for some examples, as matrices."""
        with _names_are_checked():
            results = getattr(self.model, method)(self.X[rows], stages)
        yield from (result.reshape(len(rows), -1) for result in results)

    def columns(self, rows: slice | NDArray[np.intp], features: Sequence[int]) -> NDArray[Any]:
        """Return some columns of some examples as a dense matrix."""
        part = self.X[rows][:, list(features)]
        return part if isinstance(part, np.ndarray) else part.toarray()


@contextmanager
def _names_are_checked() -> Iterator[None]:
    """Silence what is said about names and codes of arrays: they were compared before."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        warnings.filterwarnings("ignore", message="X is an array, so its column")
        yield


def _as_matrix(predicted: NDArray[Any]) -> NDArray[np.uint8]:
    return predicted.reshape(len(predicted), -1).astype(np.uint8)


def _check_count(what: str, expected: int, given: int, name: str) -> None:
    if given != expected:
        raise ValueError(
            f"the model was trained with {expected} {what}, but the data set {name} has {given}; "
            f"use data with the same {what}, in the same order"
        )


def _check_names(what: str, expected: Sequence[Any], given: Sequence[str], name: str) -> None:
    for index, (ours, theirs) in enumerate(zip(expected, given, strict=True)):
        if ours != theirs:
            raise ValueError(
                f'{what} {index} is "{ours}" in the model, but "{theirs}" in the data set {name}; '
                f"use data with the same {what}s, in the same order"
            )


def _with_codes_of_training(dataset: Dataset, known: Mapping[int, tuple[object, ...]]) -> Features:
    """Number categories as the model does; ones that it does not know get the next number."""
    tables = {}
    for feature, categories in known.items():
        if not dataset.nominal[feature]:
            raise ValueError(
                f'feature "{dataset.feature_names[feature]}" holds categories in the model, but '
                f"numbers in the data set {dataset.name}; declare it as nominal"
            )
        if feature not in dataset.categories:
            continue  # without names, codes can only be those of the model
        code = {str(category): number for number, category in enumerate(categories)}
        own = dataset.categories[feature]
        table = np.array([code.get(name, len(code)) for name in own], dtype=np.float64)
        if not np.array_equal(table, np.arange(len(own))):
            tables[feature] = table
    if not tables:
        return dataset.X
    X = dataset.X.copy() if isinstance(dataset.X, np.ndarray) else sp.lil_array(dataset.X)
    for feature, table in tables.items():
        column = dataset.X[:, [feature]]
        codes = (column if isinstance(column, np.ndarray) else column.toarray()).ravel()
        present = ~np.isnan(codes)
        codes[present] = table[codes[present].astype(np.intp)]
        X[:, [feature]] = codes[:, np.newaxis]
    return X if isinstance(X, np.ndarray) else sp.csr_array(X)
