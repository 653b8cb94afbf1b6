"""What a model has learned, and why it predicts what it predicts; see docs/explanations.md."""

from labelboost.explanations.curves import LossCurve, loss_curve
from labelboost.explanations.dependence import label_dependence
from labelboost.explanations.explanation import Explanation
from labelboost.explanations.label_sets import RankedLabelSets
from labelboost.explanations.neighbourhood import Neighbourhood, rule_neighbourhood
from labelboost.explanations.plots import plot_importance, plot_label_dependence, plot_loss_curve
from labelboost.explanations.rule_plot import plot_rule

__all__ = [
    "Explanation",
    "LossCurve",
    "Neighbourhood",
    "RankedLabelSets",
    "label_dependence",
    "loss_curve",
    "plot_importance",
    "plot_label_dependence",
    "plot_loss_curve",
    "plot_rule",
    "rule_neighbourhood",
]
