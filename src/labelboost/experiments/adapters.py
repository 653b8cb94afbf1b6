"""Learners of other libraries as multi-label models: fit, predict, predict_proba."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.multioutput import ClassifierChain
from sklearn.preprocessing import OneHotEncoder

Numbers = NDArray[Any]


class Native:
    """A learner that takes the whole 0/1 matrix itself."""

    def __init__(self, learner: Any, nominal: Sequence[int]) -> None:
        self._learner = learner

    def fit(self, X: Any, Y: Numbers) -> Self:
        self._n_labels = Y.shape[1]
        self._learner.fit(_dense(X), Y)
        return self

    def predict(self, X: Any) -> Numbers:
        found = np.asarray(self._learner.predict(_dense(X)))
        return found.reshape(len(found), self._n_labels).astype(np.uint8)

    def predict_proba(self, X: Any) -> Numbers:
        found = self._learner.predict_proba(_dense(X))
        if isinstance(found, list):  # scikit-learn: an array per label, a column per class seen
            pairs = zip(found, self._learner.classes_, strict=True)
            return np.column_stack([_of_class_one(*pair) for pair in pairs])
        # A single label is treated as two classes.
        return np.asarray(found)[:, -self._n_labels :]


class NativeOrConstant(Native):
    """The same for learners that refuse labels that all or no examples have."""

    def fit(self, X: Any, Y: Numbers) -> Self:
        self._constant = Y[0]
        self._varied = (self._constant != Y).any(axis=0)
        if self._varied.any():
            super().fit(X, Y[:, self._varied])
        return self

    def predict(self, X: Any) -> Numbers:
        return self._with_constants(X, super().predict, np.uint8)

    def predict_proba(self, X: Any) -> Numbers:
        return self._with_constants(X, super().predict_proba, np.float64)

    def _with_constants(self, X: Any, predict: Callable[[Any], Numbers], dtype: type) -> Numbers:
        found = np.tile(self._constant.astype(dtype), (X.shape[0], 1))
        if self._varied.any():
            found[:, self._varied] = predict(X)
        return found


class LabelPowerset:
    """One class for each distinct label set; nothing else can be predicted."""

    def __init__(self, learner: Any, nominal: Sequence[int]) -> None:
        self._learner = learner

    def fit(self, X: Any, Y: Numbers) -> Self:
        self._sets, classes = np.unique(Y, axis=0, return_inverse=True)
        self._learner.fit(_dense(X), classes.ravel())
        return self

    def predict(self, X: Any) -> Numbers:
        return np.asarray(self._sets[self._learner.predict(_dense(X))], dtype=np.uint8)

    def predict_proba(self, X: Any) -> Numbers:
        # Rounding must not lead out of [0, 1].
        marginals: Numbers = self._learner.predict_proba(_dense(X)) @ self._sets
        return marginals.clip(0.0, 1.0)


class Chain:
    """A binary learner per label, in their order; each is told the labels before its own."""

    def __init__(self, learner: Any, nominal: Sequence[int]) -> None:
        self._chain = ClassifierChain(OrConstant(learner))

    def fit(self, X: Any, Y: Numbers) -> Self:
        self._chain.fit(self._features(X, fit=True), Y)
        return self

    def predict(self, X: Any) -> Numbers:
        return np.asarray(self._chain.predict(self._features(X)), dtype=np.uint8)

    def predict_proba(self, X: Any) -> Numbers:
        return np.asarray(self._chain.predict_proba(self._features(X)))

    def _features(self, X: Any, fit: bool = False) -> Any:
        return _dense(X)


class LinearChain(Chain):
    """The same for linear learners: a column for each category, and sparse data stay sparse.

    Features with two categories are as good as they are.
    """

    def __init__(self, learner: Any, nominal: Sequence[int]) -> None:
        super().__init__(learner, nominal)
        self._nominal = nominal

    def _features(self, X: Any, fit: bool = False) -> Any:
        if fit:
            columns = [c for c in self._nominal if len(np.unique(_dense(X[:, [c]]))) > 2]
            encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
            self._encoder = make_column_transformer(
                (encoder, columns), remainder="passthrough", sparse_threshold=0.0
            ).fit(_dense(X))
            self._has_nominal = bool(columns)
        if not self._has_nominal:
            return X
        encoded = self._encoder.transform(_dense(X))
        return sp.csr_array(encoded) if sp.issparse(X) else encoded


class OrConstant(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A binary classifier, or a constant for a label that all or no examples have."""

    def __init__(self, learner: Any) -> None:
        self.learner = learner

    def fit(self, X: Any, y: Numbers) -> Self:
        self.classes_ = np.array([0, 1])
        is_constant = y.min() == y.max()
        self.constant_ = int(y[0]) if is_constant else None
        self.model_ = None if is_constant else clone(self.learner).fit(X, y)
        return self

    def predict(self, X: Any) -> Numbers:
        if self.model_ is None:
            return np.full(X.shape[0], self.constant_)
        return np.asarray(self.model_.predict(X))

    def predict_proba(self, X: Any) -> Numbers:
        if self.model_ is None:
            return np.tile(np.eye(2)[self.constant_], (X.shape[0], 1))
        return np.asarray(self.model_.predict_proba(X))


def _dense(X: Any) -> Any:
    return X if isinstance(X, np.ndarray) else X.toarray()


def _of_class_one(probabilities: Numbers, classes: Numbers) -> Numbers:
    """The column of class 1, which may have been the only one or absent in training."""
    return np.asarray(probabilities[:, classes == 1].sum(axis=1))
