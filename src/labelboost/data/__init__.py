"""Multi-label data: one `Dataset` type, and where data sets come from."""

from labelboost.data.dataset import Dataset
from labelboost.data.embedded import load_digits_display
from labelboost.data.label_choice import NO_LABELS
from labelboost.data.loading import load_dataset, save_dataset
from labelboost.data.npz import load_npz
from labelboost.data.synthetic import make_multilabel

__all__ = [
    "NO_LABELS",
    "Dataset",
    "load_dataset",
    "load_digits_display",
    "load_npz",
    "make_multilabel",
    "save_dataset",
]
