"""Why a model predicts what it predicts for one example."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from rich.console import Group

from labelboost.explanations.label_sets import RankedLabelSets, rank_by_sign, rank_known
from labelboost.explanations.naming import Names
from labelboost.explanations.rows import one_row
from labelboost.explanations.tables import Backend, make_frame
from labelboost.parameters import check_choice, check_integer
from labelboost.validation import check_predict_features

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from labelboost.estimators.explaining import ExplainableClassifier

Part = Literal["contributions", "labels", "label_sets"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Explanation:
    """Which rules fired for one example, what they add up to, and how that became a label set.

    `print` shows it in words, `to_frame` as a table, `plot` as a figure.
    """

    rules: NDArray[np.int64]
    """The numbers of the rules that fired, ascending; rule 0 is the default rule."""
    contributions: NDArray[np.float64]
    """What each of them adds to the score of each label: (len(rules), K)."""
    scores: NDArray[np.float64]
    """(K,), the contributions added up in the order of the rules, to the last bit; the same as
    `decision_function` returns."""
    probabilities: NDArray[np.float64]
    """(K,), those of `predict_proba`."""
    predicted: NDArray[np.int8]
    """(K,), 1 for the labels that are predicted."""
    label_sets: RankedLabelSets
    """The predicted label set and the ones that came next."""
    loss: str
    decoding: Literal["known", "sign"]
    n_rules: int
    """How many rules the model has, fired or not."""
    conditions: tuple[str, ...]
    """Of the rules that fired, in words."""
    labels: NDArray[Any]
    """The names of the labels, as in `classes_`."""
    names: Names
    """Texts for them."""

    def to_frame(self, part: Part = "contributions", *, backend: Backend = "pandas") -> Any:
        """Return a part of the explanation as a data frame.

        "contributions": a row for each rule that fired and each label that it adds something to,
        in the order of the rules, with the score of the label so far. "labels": a row for each
        label. "label_sets": a row for the predicted label set and each runner-up.
        """
        chosen = check_choice("part", part, ("contributions", "labels", "label_sets"))
        if chosen == "labels":
            columns: dict[str, Any] = {
                "label": self._label_column(np.arange(len(self.labels))),
                "score": self.scores,
                "probability": self.probabilities,
                "predicted": self.predicted.astype(bool),
            }
        elif chosen == "label_sets":
            sets = self.label_sets
            most = len(self.labels)
            columns = {
                "rank": np.arange(len(sets.losses)),
                "label_set": [self.names.label_set(vector, most) for vector in sets.vectors],
                "loss": sets.losses,
                "probability": sets.probabilities,
                "labels": [vector.tolist() for vector in sets.vectors],
            }
        else:
            fired, label = np.nonzero(self.contributions)
            columns = {
                "rule": self.rules[fired],
                "conditions": [self.conditions[i] for i in fired],
                "label": self._label_column(label),
                "contribution": self.contributions[fired, label],
                "score_so_far": np.cumsum(self.contributions, axis=0)[fired, label],
            }
        return make_frame(columns, backend)

    def plot(self, *, max_rules: int = 12, max_labels: int = 12, ax: Axes | None = None) -> Figure:
        """Draw what the strongest rules add to the labels that matter most; needs matplotlib."""
        from labelboost.explanations.explanation_plot import plot_explanation  # noqa: PLC0415

        return plot_explanation(self, max_rules=max_rules, max_labels=max_labels, ax=ax)

    def _label_column(self, positions: NDArray[np.integer[Any]]) -> Any:
        if self.labels.dtype.kind == "i":
            return self.labels[positions]
        return [str(self.labels[k]) for k in positions]

    def __rich__(self) -> Group:
        from labelboost.explanations.explanation_text import as_tables  # noqa: PLC0415

        return as_tables(self)

    def __str__(self) -> str:
        from labelboost.explanations.explanation_text import as_text  # noqa: PLC0415

        return as_text(self)

    def __repr__(self) -> str:
        predicted = self.names.for_display().label_set(self.predicted, 6)
        return f"<Explanation: {predicted} by {len(self.rules)} of {self.n_rules} rules>"


def explain(model: ExplainableClassifier, x: Any, n_label_sets: int) -> Explanation:
    """See `ExplainableClassifier.explain`."""
    top = check_integer("n_label_sets", n_label_sets, minimum=1)
    decoding = model._decoding_used()
    matrix = check_predict_features(one_row(x), model._schema, type(model).__name__)
    row = np.asarray(matrix if isinstance(matrix, np.ndarray) else matrix.toarray())[0]
    fired = [
        number
        for number, rule in enumerate(model.rules_)
        if all(c.covers(row[c.feature : c.feature + 1])[0] for c in rule.conditions)
    ]
    contributions = np.array([model.rules_[number].head for number in fired])
    contributions = contributions.reshape(len(fired), len(model._label_names))
    scores = model._sum_heads(matrix)
    if not np.array_equal(_sum_in_order(contributions), scores[0]):
        raise ValueError(
            "the rules in rules_ do not add up to the scores of this model: has the list been "
            "changed after training? Save the model and load it again, so that both agree."
        )
    arguments = (model._fitted_loss, scores[0], model._known, model._known_weights)
    if decoding == "known":
        sets = rank_known(*arguments, chosen=int(model._decode_known(scores)[0]), top=top)
    else:
        sets = rank_by_sign(*arguments, top=top)
    names = Names.of(model)
    return Explanation(
        rules=np.array(fired, dtype=np.int64),
        contributions=contributions,
        scores=scores[0],
        probabilities=model._marginals(scores)[0],
        predicted=model._decoder()(scores).reshape(-1),
        label_sets=sets,
        loss=model._fitted_loss,
        decoding=decoding,
        n_rules=len(model.rules_),
        conditions=tuple(names.conditions(model.rules_[number].conditions) for number in fired),
        labels=model._label_names,
        names=names,
    )


def _sum_in_order(contributions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Add rows from the first to the last, as prediction does; NumPy's sum may do it otherwise."""
    total = np.zeros(contributions.shape[1])
    for row in contributions:
        total += row
    return total
