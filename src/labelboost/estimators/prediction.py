"""From scores to label sets and probabilities, for every estimator."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from labelboost import _core
from labelboost.label_sets import (
    LabelSetPrediction,
    class_log_odds,
    example_losses,
    most_likely,
    probabilities,
    softmax_logits,
)
from labelboost.losses import LOSSES, Decoding
from labelboost.parameters import check_choice, check_integer, check_stages, is_integer
from labelboost.validation import FeatureMatrix, FeatureSchema, check_predict_features

DECODINGS = ("auto", "known", "sign")
MOST_THREADS = 256
SCORES_AT_ONCE = 2**22
"""How many scores staged prediction computes before it yields the first ones."""


class ScoreClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted sum of heads, and all that can be predicted from the scores it gives."""

    decoding: Literal["auto", "known", "sign"]
    n_jobs: int | None

    classes_: NDArray[Any]
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]
    _schema: FeatureSchema
    _one_dimensional: bool
    _known: NDArray[np.uint8]
    _known_weights: NDArray[np.float64]
    _ensemble: _core.Ensemble | _core.Forest
    _fitted_loss: str

    _unit: str
    """What the ensemble consists of, for messages."""

    @property
    def _n_stages(self) -> int:
        """The size of the ensemble, in rules or trees."""
        raise NotImplementedError

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the score of each label, the sum over all covering rules: (n_examples, K).

        For a vector y of classes: (n_examples, n_classes), or (n_examples,) if there are just two:
        positive for the second one. The softmax over label sets adds the logarithms of the classes'
        shares of the training data, so that the class with the largest score is the predicted one.
        """
        return self._decision(self._scores(X))

    def staged_decision_function(
        self, X: Any, stages: Sequence[int] | None = None
    ) -> Iterator[NDArray[np.float64]]:
        """Yield the scores of the first rules only: after each rule, or after each of `stages`.

        `stages` must ascend from at least 1 to at most `n_rules_`.
        """
        return map(self._decision, self._staged_scores(X, stages))

    def staged_predict(self, X: Any, stages: Sequence[int] | None = None) -> Iterator[NDArray[Any]]:
        """Yield the label sets that the first rules predict; see `staged_decision_function`."""
        decode = self._decoder()
        return map(decode, self._staged_scores(X, stages))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted label sets as a 0/1 matrix (n_examples, K).

        A model that was fitted with a vector of classes returns a vector of classes.
        """
        return self._decoder()(self._scores(X))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each label: (n_examples, K).

        For the example-wise loss every label vector v seen in training gets the weight
        exp(-loss(v)) = 1 / (1 + sum_k exp(-v_k p_k)), with v_k = +1 or -1 and p the scores; the
        probability of a label is the share of the vectors that contain it in the total weight.
        For the label-wise loss it is 1 / (1 + exp(-p_k)). For the softmax over label sets it is
        the sum of the probabilities of the sets that contain the label.

        For a vector y of classes: (n_examples, n_classes), and rows add up to 1.
        """
        return self._probabilities(self._scores(X))

    def staged_predict_proba(
        self, X: Any, stages: Sequence[int] | None = None
    ) -> Iterator[NDArray[np.float64]]:
        """Yield the probabilities by the first rules; see `staged_decision_function`."""
        return map(self._probabilities, self._staged_scores(X, stages))

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
        likely = self._set_probabilities(self._scores(X))
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
        return tags

    @property
    def _label_names(self) -> NDArray[Any]:
        """The names of the labels that heads have scores for: of two classes the second one."""
        return self.classes_[-self._known.shape[1] :]

    def _by_labels(self) -> Self:
        """Return a model that predicts label sets even if this one predicts classes."""
        if not self._one_dimensional:
            return self
        labelled = copy.copy(self)
        # Of classes with equal scores the first one is predicted, not the most frequent one.
        order = np.argsort(self._known @ np.arange(1, self._known.shape[1] + 1), kind="stable")
        labelled.__dict__.update(
            _one_dimensional=False,
            classes_=self._label_names,
            decoding="known",
            _known=self._known[order],
            _known_weights=self._known_weights[order],
        )
        return labelled

    def _scores(self, X: Any) -> NDArray[np.float64]:
        """Sum up the heads of the covering rules: (n_examples, n_labels)."""
        check_is_fitted(self)
        return self._sum_heads(check_predict_features(X, self._schema, type(self).__name__))

    def _staged_scores(self, X: Any, stages: Sequence[int] | None) -> Iterator[NDArray[np.float64]]:
        check_is_fitted(self)
        matrix = check_predict_features(X, self._schema, type(self).__name__)
        return self._sum_stages(matrix, check_stages(stages, self._n_stages))

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
        shape = (matrix.shape[0], self._known.shape[1])
        # Several stages at a time, as conditions are evaluated but once then.
        together = max(1, SCORES_AT_ONCE // max(1, shape[0] * shape[1]))
        first, scores = 0, None
        for begin in range(0, len(stops), together):
            part = stops[begin : begin + together]
            stages = self._sum_heads(matrix, stops=part, first=first, start=scores)
            yield from stages.reshape(len(part), *shape)
            first, scores = int(part[-1]), stages[-shape[0] :]

    def _decision(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Turn scores into what decides between the classes, if y was a vector of these."""
        if not self._one_dimensional:
            return scores
        if self._fitted_loss == "labelset_softmax":
            scores = scores + class_log_odds(self._known, self._known_weights)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _decoder(self) -> Callable[[NDArray[np.float64]], NDArray[Any]]:
        """Return what turns scores into label sets, or into classes."""
        decoding = self._decoding_used()

        def decode(scores: NDArray[np.float64]) -> NDArray[Any]:
            if self._one_dimensional:
                return np.take(self.classes_, self._chosen_class(self._decision(scores)))
            if decoding == "sign":
                return (scores > 0.0).astype(np.int64)
            return np.take(self._known, self._decode_known(scores), axis=0).astype(np.int64)

        return decode

    def _decoding_used(self) -> Decoding:
        check_is_fitted(self)
        decoding = check_choice("decoding", self.decoding, DECODINGS)
        if decoding == "auto":
            return LOSSES[self._fitted_loss].decoding
        return "known" if decoding == "known" else "sign"

    def _chosen_class(self, decision: NDArray[np.float64]) -> NDArray[np.intp]:
        if decision.ndim == 1:  # of one or two classes
            return np.minimum(decision > 0.0, len(self.classes_) - 1).astype(np.intp)
        best: NDArray[np.intp] = np.argmax(decision, axis=1)
        return best

    def _decode_known(self, scores: NDArray[np.float64]) -> NDArray[np.integer[Any]]:
        if self._fitted_loss == "labelset_softmax":
            return most_likely(softmax_logits(scores, self._known, self._known_weights))
        return _core.decode_known(self._fitted_loss, scores, self._known, self._n_threads())

    def _probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probabilities of labels, or of classes."""
        marginals = self._marginals(scores)
        if not self._one_dimensional:
            return marginals
        if len(self.classes_) == 1:
            return np.ones_like(marginals)
        if marginals.shape[1] == 1:
            return np.hstack([1.0 - marginals, marginals])
        if self._fitted_loss == "label_logistic":  # which knows nothing of one class per example
            return probabilities(-np.logaddexp(0.0, -scores))
        return marginals

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

    def _n_threads(self) -> int:
        if self.n_jobs is not None and (not is_integer(self.n_jobs) or self.n_jobs == 0):
            raise (TypeError if not is_integer(self.n_jobs) else ValueError)(
                f"n_jobs must be None, a positive number of threads, or negative (-1: all "
                f"processors), got {self.n_jobs!r}"
            )
        return min(int(effective_n_jobs(self.n_jobs)), MOST_THREADS)
