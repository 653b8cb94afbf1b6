"""Checks features, labels and weights once, at the edge; everything inside trusts the result.

Bad input gets an error that names the value, where it stands and what to do about it; nothing is
converted if that would lose information. Rows and columns are counted from 0.
"""

from labelboost.validation.features import (
    FeatureMatrix,
    check_fit_features,
    check_predict_features,
    refuse_infinite_features,
)
from labelboost.validation.frames import FeatureSchema
from labelboost.validation.labels import Labels, check_labels, check_sample_weight

__all__ = [
    "FeatureMatrix",
    "FeatureSchema",
    "Labels",
    "check_fit_features",
    "check_labels",
    "check_predict_features",
    "check_sample_weight",
    "refuse_infinite_features",
]
