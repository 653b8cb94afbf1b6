"""Figures of a model: importances, losses, dependence of labels, the surroundings of a rule.

Every function returns the figure, for `figure.savefig("name.svg")`. Those with one panel draw into
`ax` if it is given. Colours are safe for all kinds of colour vision, and numbers, line styles or
shading say the same in print.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from labelboost.drawing import LINE_STYLES, OKABE_ITO, literal, style
from labelboost.explanations.canvas import drawn, figure_of, heat_map, shorten
from labelboost.explanations.curves import LossCurve
from labelboost.explanations.dependence import label_dependence
from labelboost.explanations.importances import feature_importances, label_feature_importances
from labelboost.explanations.naming import Names, label_index
from labelboost.parameters import check_integer

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from labelboost.estimators.explaining import ExplainableClassifier

MARGIN = 0.9
"""Inches of a figure that are not for bars or cells."""


def plot_importance(
    model: ExplainableClassifier,
    *,
    label: Any = None,
    max_features: int = 15,
    ax: Axes | None = None,
) -> Figure:
    """Draw the features with the largest shares of the gain, of all labels or of one of them.

    `label`: one of the names in `classes_`.
    """
    most = check_integer("max_features", max_features, minimum=1)
    check_is_fitted(model)
    names = Names.of(model).for_display()
    if label is None:
        shares, of_what = feature_importances(model.rules_, model.n_features_in_), "all labels"
    else:
        k = label_index(model, label)
        sizes = (model.n_features_in_, len(model._label_names))
        shares, of_what = label_feature_importances(model.rules_, *sizes)[k], names.labels[k]
    order = np.argsort(-shares, kind="stable")[:most]
    order = order[shares[order] > 0.0]
    with style(), drawn(ax, height=MARGIN + 0.2 * max(len(order), 1)) as axes:
        axes.barh(np.arange(len(order)), 100.0 * shares[order], height=0.7, color=OKABE_ITO[0])
        for place, share in enumerate(shares[order]):
            axes.annotate(
                f"{100 * share:.1f}", (100 * share, place), xytext=(3, 0),
                textcoords="offset points", va="center", fontsize=7.5,
            )  # fmt: skip
        axes.set_yticks(range(len(order)), [shorten(names.feature(int(j))) for j in order])
        axes.invert_yaxis()
        axes.margins(x=0.1)
        axes.set_xlabel("share of the gain, %")
        axes.set_title(literal(f"Importance of features for {shorten(of_what)}"))
        return figure_of(axes)


def plot_loss_curve(
    losses: LossCurve | ArrayLike | Mapping[str, LossCurve | ArrayLike],
    *,
    ax: Axes | None = None,
) -> Figure:
    """Draw losses against the number of rules or trees.

    `losses`: what `loss_curve` returns, or a sequence with a value after each of the first rules;
    or several of these by name, such as {"training": ..., "validation": ...}. A circle marks the
    lowest value of each curve.
    """
    curves = losses if isinstance(losses, Mapping) else {"": losses}
    if not curves:
        raise ValueError("losses is empty: there is nothing to draw")
    checked = {str(name): _curve(str(name), curve) for name, curve in curves.items()}
    titles = list(dict.fromkeys(curve.title for curve in checked.values()))
    with style(), drawn(ax, height=3.0) as axes:
        for index, (name, curve) in enumerate(checked.items()):
            colour = OKABE_ITO[index % len(OKABE_ITO)]
            axes.plot(
                curve.stages, curve.values, color=colour, label=literal(shorten(name)),
                linestyle=LINE_STYLES[index % len(LINE_STYLES)], linewidth=1.4,
                marker="." if len(curve.stages) == 1 else "",
            )  # fmt: skip
            lowest = int(np.argmin(curve.values))
            axes.plot(
                curve.stages[lowest], curve.values[lowest], marker="o", markersize=5,
                markerfacecolor="white", markeredgecolor=colour, linestyle="",
            )  # fmt: skip
        axes.set_xlabel("number of rules or trees")
        axes.set_ylabel(literal(" / ".join(titles)))
        axes.grid(axis="y")
        if any(checked):
            axes.legend(frameon=False)
        return figure_of(axes)


def _curve(name: str, losses: Any) -> LossCurve:
    if isinstance(losses, LossCurve):
        curve = losses
    else:
        values = np.asarray(losses, dtype=np.float64)
        curve = LossCurve(np.arange(1, values.size + 1), values)
    if curve.values.ndim != 1 or not curve.values.size or not np.isfinite(curve.values).all():
        raise ValueError(
            f"losses{f' of {name!r}' if name else ''} must be one-dimensional with at least one "
            f"value and all of them finite, got shape {curve.values.shape}"
        )
    return curve


def plot_label_dependence(
    model: ExplainableClassifier, *, max_labels: int = 30, ax: Axes | None = None
) -> Figure:
    """Draw which labels the rules raise and lower together; see `label_dependence`.

    Of many labels those with the strongest dependences are shown, similar ones side by side.
    """
    most = check_integer("max_labels", max_labels, minimum=1)
    cosines = label_dependence(model)
    names = Names.of(model).for_display()
    strength = np.abs(cosines - np.diag(np.diag(cosines))).max(axis=1, initial=0.0)
    shown = np.sort(np.argsort(-strength, kind="stable")[:most])
    shown = shown[_side_by_side(cosines[np.ix_(shown, shown)])]
    left_out = len(cosines) - len(shown)
    with style(), drawn(ax, height=MARGIN + 0.5 + max(0.2 * len(shown), 1.0)) as axes:
        texts = [literal(shorten(names.labels[k])) for k in shown]
        heat_map(axes, cosines[np.ix_(shown, shown)], limit=1.0, rows=texts, columns=texts)
        rest = f" ({left_out} labels left out)" if left_out else ""
        axes.set_title(f"Labels raised together (+) and against each other (−){rest}")
        return figure_of(axes)


def _side_by_side(cosines: NDArray[np.float64]) -> NDArray[np.int64]:
    """Order labels so that those treated alike are neighbours."""
    if len(cosines) < 3:
        return np.arange(len(cosines))
    # Takes a while to import, and every estimator imports this module.
    from scipy.cluster.hierarchy import leaves_list, linkage  # noqa: PLC0415
    from scipy.spatial.distance import squareform  # noqa: PLC0415

    distances = 1.0 - cosines
    np.fill_diagonal(distances, 0.0)
    tree = linkage(squareform(distances, checks=False), "average", optimal_ordering=True)
    order: NDArray[np.int64] = leaves_list(tree).astype(np.int64)
    return order
