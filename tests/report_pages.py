"""Data, models and pages that the tests of the report share."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelboost import RuleBoostingClassifier, TreeBoostingClassifier
from labelboost.data import Dataset
from labelboost.estimators.base import BoostingClassifier
from labelboost.report import write_report

LOSSES = ("example_logistic", "label_logistic", "labelset_softmax")
LEARNERS = ("rules", "trees")
SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
HOSTILE = (
    "<script>alert(1)</script>",
    "</script><script>document.title='broken'</script>",
    "<!-- \"quotes\" 'and' &amp; \\u003c {{content}}",
    "<img src=x onerror=alert(2)>",
    "new\nline\ttab \u2028 \u2029 \x00 \x7f",
    "\u202eright to left \u05d0\u05d1 \U0001f600 \ud800",
    "",
    "__proto__",
)


def train(dataset: Dataset, learner: str = "rules", **parameters: Any) -> BoostingClassifier:
    nominal = {"random_state": 0, "categorical_features": dataset.nominal_indices}
    model: BoostingClassifier
    if learner == "trees":
        model = TreeBoostingClassifier(**{"n_trees": 8, **nominal, **parameters})
    else:
        model = RuleBoostingClassifier(
            **{"n_rules": 25, "max_conditions": 4, **nominal, **parameters}
        )
    return model.fit(dataset.X, dataset.Y)


def mixed_data(n: int = 120, n_labels: int = 4, seed: int = 0) -> Dataset:
    """Numbers, categories, missing values, and labels that depend on them and on each other."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[:, 1] = rng.integers(0, 3, n)
    base = X[:, [0]] + 0.7 * (X[:, [1]] == 1) > rng.normal(size=n_labels)
    Y = (base ^ (rng.random((n, n_labels)) < 0.1)).astype(np.uint8)
    X[rng.random((n, 4)) < 0.1] = np.nan
    return Dataset(
        name="mixed",
        X=X,
        Y=Y,
        feature_names=("width", "colour", "height", "depth"),
        label_names=tuple(f"label {k}" for k in range(n_labels)),
        nominal=np.array([False, True, False, False]),
        categories={1: ("red", "green", "blue")},
    )


def hostile_data() -> Dataset:
    plain = mixed_data(n_labels=8)
    return Dataset(
        name=HOSTILE[1],
        X=plain.X,
        Y=plain.Y,
        feature_names=HOSTILE[:4],
        label_names=HOSTILE,
        nominal=plain.nominal,
        categories={1: HOSTILE[:3]},
    )


def page_of(model: BoostingClassifier, dataset: Dataset, folder: Path, **options: Any) -> Path:
    path = folder / "report.html"
    write_report(model, dataset, path, **options)
    return path


def content_of(path: Path) -> dict[str, Any]:
    """Read what a page has stored, as a browser would find it."""
    found = re.search(
        r'<script id="content" type="application/json">(.*?)</script>', path.read_text(), re.DOTALL
    )
    assert found is not None
    content: dict[str, Any] = json.loads(found[1])
    return content


def unpack(packed: dict[str, str]) -> NDArray[Any]:
    return np.frombuffer(base64.b64decode(packed["bytes"]), dtype="<" + packed["type"])


def unpack_bits(packed: dict[str, str], columns: int) -> NDArray[np.uint8]:
    rows = unpack(packed).reshape(-1, (columns + 7) // 8)
    return np.unpackbits(rows, axis=1, count=columns, bitorder="little")


def unpack_heads(packed: dict[str, Any], n_labels: int) -> NDArray[np.float32]:
    if "scores" in packed:
        return unpack(packed["scores"]).reshape(-1, n_labels)
    codes = unpack(packed["codes"]).reshape(-1, n_labels)
    starts = np.concatenate([[0], np.cumsum(unpack(packed["sizes"]), dtype=np.int64)])[:-1]
    heads: NDArray[np.float32] = unpack(packed["palette"])[starts[:, np.newaxis] + codes]
    return heads
