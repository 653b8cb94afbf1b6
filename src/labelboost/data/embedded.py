"""Real data that needs no download."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits

from labelboost.data.dataset import Dataset

SEGMENTS = ("top", "upper left", "upper right", "middle", "lower left", "lower right", "bottom")
"""The segments of a seven-segment display, from top to bottom."""

LIT = (
    "1110111",
    "0010010",
    "1011101",
    "1011011",
    "0111010",
    "1101011",
    "1101111",
    "1010010",
    "1111111",
    "1111011",
)
"""For each digit, which of the `SEGMENTS` are lit."""


def load_digits_display() -> Dataset:
    """Return scikit-learn's handwritten digits, to be shown on a seven-segment display.

    The 64 features are the ink (0 to 16) of the pixels of an 8 x 8 image, the seven labels say
    which segments are lit for the digit. Only ten of the 128 label sets are digits.
    """
    images, digits = load_digits(return_X_y=True)
    lit = np.array([[int(segment) for segment in digit] for digit in LIT], dtype=np.uint8)
    names = tuple(f"row {row}, column {column}" for row in range(1, 9) for column in range(1, 9))
    return Dataset(
        name="digits on a seven-segment display",
        X=np.ascontiguousarray(images, dtype=np.float32),
        Y=lit[digits],
        feature_names=names,
        label_names=SEGMENTS,
        nominal=np.zeros(len(names), dtype=np.bool_),
    )
