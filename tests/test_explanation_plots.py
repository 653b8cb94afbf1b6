"""Figures of models, and the numbers that they show."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from explained import DATA, ESTIMATORS, SETTINGS, odd_frames, real_model
from matplotlib.figure import Figure
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import hamming_loss, zero_one_loss

from labelboost import RuleBoostingClassifier, reference
from labelboost.explanations import (
    LossCurve,
    loss_curve,
    plot_importance,
    plot_label_dependence,
    plot_loss_curve,
    plot_rule,
    rule_neighbourhood,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore:Training ended with"),
    pytest.mark.filterwarnings("ignore:Glyph"),  # of a name, not in the font of this machine
]
DOCS = Path(__file__).parents[1] / "docs"


def drawn(figure: Figure) -> str:
    """Draw the figure in full; returns its SVG."""
    assert isinstance(figure, Figure)
    figure.savefig(io.BytesIO(), format="png")
    stream = io.StringIO()
    figure.savefig(stream, format="svg")
    return stream.getvalue()


def texts(figure: Figure) -> str:
    return "\n".join(text.get_text() for text in figure.findobj(lambda a: hasattr(a, "get_text")))


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_plot_survives_odd_names(estimator: Any) -> None:
    X, Y = odd_frames()
    model = clone(estimator).fit(X, Y)
    for figure in (
        plot_importance(model),
        plot_importance(model, label="two\nlines", max_features=2),
        plot_label_dependence(model),
        plot_loss_curve({"<b>$x": loss_curve(model, X, Y), "two": [0.5, 0.25]}),
        plot_rule(model, 1, X, Y),
        model.explain(X.iloc[[0]]).plot(),
        model.explain(X.iloc[[0]]).plot(max_rules=2, max_labels=1),
    ):
        assert "<svg" in drawn(figure)


@pytest.mark.parametrize("name", DATA)
def test_plots_of_real_data(name: str) -> None:
    model, X, Y = real_model(name, sparse=name == "birds")
    plot_importance(model).draw_without_rendering()
    plot_label_dependence(model, max_labels=5).draw_without_rendering()
    plot_rule(model, 2, X, Y).draw_without_rendering()
    model.explain(X[[3]]).plot().draw_without_rendering()


@pytest.mark.parametrize("setting", SETTINGS)
def test_plots_of_one_label_and_of_no_rules(setting: str) -> None:
    X = np.arange(12.0).reshape(12, 1)
    y = (X[:, 0] > 4).astype(int)
    for n_rules in (1, 4):
        parameters = SETTINGS[setting] | {"n_rules": n_rules, "random_state": 0}
        model = RuleBoostingClassifier(**parameters).fit(X, y)
        for figure in (
            plot_importance(model),
            plot_importance(model, label=1),
            plot_label_dependence(model),
            model.explain([3.0]).plot(),
            plot_loss_curve(loss_curve(model, X, y)),
        ):
            figure.draw_without_rendering()


def test_plots_into_given_axes() -> None:
    model, X, _ = real_model("emotions")
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert plot_importance(model, ax=left) is figure
    assert plot_label_dependence(model, ax=right) is figure
    axes = Figure().subplots()
    assert plot_loss_curve([3.0, 2.0], ax=axes) is axes.figure
    assert model.explain(X[0]).plot(ax=Figure().subplots()) is not figure
    assert len(left.patches) == 15


def test_plots_show_the_right_numbers() -> None:
    model, X, _ = real_model("emotions")
    figure = plot_importance(model, max_features=3)
    shares = np.sort(model.feature_importances_)[::-1][:3]
    assert [bar.get_width() for bar in figure.axes[0].patches] == (100 * shares).tolist()
    assert "label 2" in texts(plot_importance(model, label=2))
    explanation = model.explain(X[0])
    shown = explanation.plot(max_rules=1000).axes[0].images[0].get_array()
    order = np.lexsort((-explanation.scores, -explanation.predicted))
    assert np.array_equal(shown[-1], explanation.scores[order])
    assert len(shown) == len(explanation.rules) + 1


def test_wrong_arguments_are_named() -> None:
    model, X, Y = real_model("emotions")
    with pytest.raises(ValueError, match=r"label must be one of the names in classes_.*'x'"):
        plot_importance(model, label="x")
    with pytest.raises(ValueError, match="max_features must be at least 1"):
        plot_importance(model, max_features=0)
    with pytest.raises(ValueError, match=r"rule must be at most 39.*got 40"):
        plot_rule(model, 40, X, Y)
    with pytest.raises(ValueError, match="rule 0 has no conditions"):
        plot_rule(model, 0, X, Y)
    with pytest.raises(TypeError, match="rule must be an integer"):
        plot_rule(model, "1", X, Y)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="losses is empty"):
        plot_loss_curve({})
    with pytest.raises(ValueError, match="losses of 'a' must be one-dimensional"):
        plot_loss_curve({"a": [1.0, np.nan]})
    with pytest.raises(ValueError, match="Y has 5 labels, but this model was fitted with 6"):
        loss_curve(model, X, Y[:, :5])
    with pytest.raises(ValueError, match="did you mean 'hamming'"):
        loss_curve(model, X, Y, measure="haming")
    for function in (plot_importance, plot_label_dependence):
        with pytest.raises(NotFittedError):
            function(RuleBoostingClassifier())


def test_without_matplotlib_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    model, _, _ = real_model("emotions")
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"pip install labelboost\[plots\]"):
        plot_importance(model)


# Loss curves


@pytest.mark.parametrize("setting", SETTINGS)
def test_loss_curves_are_those_of_the_reference(setting: str) -> None:
    model, X, Y = real_model("flags", setting)
    stages = [1, 2, 10, model._n_stages]
    weights = np.random.default_rng(0).random(len(Y))
    curve = loss_curve(model, X, Y, stages=stages, sample_weight=weights)
    sets = reference.LabelSets(
        model._known.astype(np.int64), model._known_weights / model._known_weights.sum()
    )
    of_examples = {
        "example_logistic": reference.example_logistic_loss,
        "label_logistic": reference.label_logistic_loss,
        "labelset_softmax": lambda Y, P: reference.labelset_softmax_loss(Y, P, sets),
    }[model._fitted_loss]
    expected = [
        np.average(of_examples(Y, P), weights=weights)
        for P in model.staged_decision_function(X, stages)
    ]
    assert curve.stages.tolist() == stages
    np.testing.assert_allclose(curve.values, expected, rtol=1e-9)
    subset = loss_curve(model, X, Y, measure="subset_01", stages=[model._n_stages])
    assert subset.values == pytest.approx([zero_one_loss(Y, model.predict(X))])
    hamming = loss_curve(model, X, Y, measure="hamming")
    assert len(hamming.values) == model._n_stages
    assert hamming.values[-1] == pytest.approx(hamming_loss(Y, model.predict(X)))


def test_label_sets_never_seen_have_an_infinite_loss() -> None:
    X = np.arange(8.0).reshape(8, 1)
    Y = np.eye(8, 3, dtype=int)
    model = RuleBoostingClassifier(n_rules=3, loss="labelset_softmax", random_state=0).fit(X, Y)
    Y[3] = 1
    with pytest.raises(ValueError, match="label sets of 1 examples, the first in row 3"):
        loss_curve(model, X, Y)
    assert np.isfinite(loss_curve(model, X, Y, measure="hamming").values).all()


def test_labels_are_found_by_name() -> None:
    X, Y = odd_frames()
    model = RuleBoostingClassifier(n_rules=10, random_state=0).fit(X, Y)
    expected = loss_curve(model, X, Y).values
    columns = Y.columns[::-1]
    sets = [{name for name in Y.columns if Y[name].iloc[i]} for i in range(len(Y))]
    for form in (
        Y[columns],
        Y.to_numpy(),
        Y.to_numpy().tolist(),
        sp.csr_array(Y.to_numpy()),
        sets,
        [sorted(labels) for labels in sets],
        pd.Series(sets, index=np.arange(len(sets))[::-1]),
        np.array(sets, dtype=object),
    ):
        assert loss_curve(model, X, form).values.tolist() == expected.tolist()
    with pytest.raises(ValueError, match="Y has the label 'other', which this model"):
        loss_curve(model, X, [{"other"}] * len(X))
    with pytest.raises(ValueError, match="Y has no column for the label"):
        loss_curve(model, X, Y[columns[:2]])


# The surroundings of rules


@pytest.mark.parametrize("name", ["flags", "birds"])
def test_neighbourhoods_are_what_counting_gives(name: str) -> None:
    model, X, Y = real_model(name)
    for number in range(1, 12):
        rule = model.rules_[number]
        dense = X.astype(np.float64)
        every = rule_neighbourhood(model, number, X, Y, max_labels=2, max_groups=5)
        again = rule_neighbourhood(model, number, sp.csr_array(X), Y, max_labels=2, max_groups=5)
        assert [a.feature for a in every] == list(dict.fromkeys(c.feature for c in rule.conditions))
        for around, sparse in zip(every, again, strict=True):
            others = [c for c in rule.conditions if c.feature != around.feature]
            near = reference.body(others, dense)
            covered = reference.body(rule.conditions, dense)
            assert around.counts.sum() == near.sum()
            assert around.counts[around.covered].sum() == covered.sum() == rule.coverage
            total = (around.rates * around.counts[:, None]).sum(axis=0)
            np.testing.assert_allclose(total, Y[near][:, around.labels].sum(axis=0))
            inside = (around.rates * around.counts[:, None])[around.covered].sum(axis=0)
            np.testing.assert_allclose(inside, Y[covered][:, around.labels].sum(axis=0))
            assert (around.counts > 0).all()
            assert sparse.groups == around.groups
            assert sparse.rates.tolist() == around.rates.tolist()
        assert around.labels.tolist() == np.argsort(-np.abs(rule.head), kind="stable")[:2].tolist()


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_neighbourhoods_with_missing_values_and_categories(estimator: Any) -> None:
    X, Y = odd_frames()
    model = clone(estimator).fit(X, Y)
    seen = set()
    for number in range(1, len(model.rules_)):
        for around in rule_neighbourhood(model, number, X, Y):
            seen |= set(around.groups)
            assert around.counts[around.covered].sum() == model.rules_[number].coverage
    assert {"missing", "grün", "x\\ty"} <= seen


def test_a_curve_may_be_made_by_hand() -> None:
    curve = LossCurve(np.array([10, 20]), np.array([0.4, 0.3]), "Hamming loss")
    assert "Hamming loss" in texts(plot_loss_curve(curve))


# Documentation


def test_every_example_of_the_documentation_runs(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / "explanations.md").read_text(), re.DOTALL)
    assert blocks
    namespace: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, "explanations.md", "exec"), namespace)
