"""Models and data for the tests of explanations."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from oracle import real_data
from sklearn.base import clone

from labelboost import RuleBoostingClassifier, TreeBoostingClassifier

ESTIMATORS: list[Any] = [
    RuleBoostingClassifier(n_rules=40, random_state=1),
    TreeBoostingClassifier(n_trees=10, random_state=1, max_depth=3),
]
"""One of each class."""
SETTINGS: dict[str, dict[str, Any]] = {
    "example-wise": {},
    "example-wise, unbinned": {"label_bins": None},
    "example-wise, sign": {"decoding": "sign"},
    "label-wise": {"loss": "label_logistic"},
    "label-wise, known": {"loss": "label_logistic", "decoding": "known"},
    "softmax": {"loss": "labelset_softmax"},
    "softmax, sign": {"loss": "labelset_softmax", "decoding": "sign"},
    "huge scores": {"learning_rate": 1e6, "l2": 1e-3},
}
ODD_NAMES = ["<script>alert(1)</script>", 'a "quoted" name', "Größe, 大きさ", "two\nlines", "$x_1$"]
DATA = ("emotions", "flags", "birds", "yeast")


def dense(table: Any) -> Any:
    return table.toarray() if sp.issparse(table) else np.asarray(table)


@cache
def real_model(
    name: str, setting: str = "example-wise", sparse: bool = False, which: int = 0
) -> Any:
    """Train one of the estimators on a part of a benchmark data set; returns that part, too."""
    data = real_data(name)
    X, Y = dense(data.X)[:300], dense(data.Y)[:300]
    given = sp.csr_array(X) if sparse else X
    estimator = clone(ESTIMATORS[which]).set_params(
        categorical_features=data.nominal_indices if len(data.nominal_indices) else None,
        **SETTINGS[setting],
    )
    return estimator.fit(given, Y), given, Y


def odd_frames(n_examples: int = 120, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Mixed columns with missing values, under names that could break something."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n_examples, 5)).round(2), columns=ODD_NAMES)
    X[ODD_NAMES[3]] = pd.Categorical(rng.choice(["<b>", "x\ty", "grün", "a, b"], n_examples))
    missing = rng.random((n_examples, 5)) < 0.1
    Y = pd.DataFrame(
        {
            "<i>one</i>": X[ODD_NAMES[0]] > 0,
            "two\nlines": X[ODD_NAMES[3]] == "grün",
            "d\u0000rei": X[ODD_NAMES[1]] + X[ODD_NAMES[2]] > 0.3,
            "$four$": X[ODD_NAMES[4]] <= -0.5,
        }
    ).astype(int)
    return X.mask(missing), Y
