"""Prediction against plain evaluations in NumPy: any rules, any form of input, any batch."""

from __future__ import annotations

import hashlib
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from labelboost import Condition, RuleBoostingClassifier, _core, reference
from labelboost.data.synthetic import make_multilabel
from labelboost.model import OPERATORS, Rule, pack_rules

Floats = NDArray[Any]

GRID = np.array([-2.0, -0.3, -5e-324, 0.0, 0.1, 0.30000000000000004, 1.0, 2.0, 1e300])
"""Values and constants alike, so that both are often equal; some are not exact in float32."""


@dataclass(frozen=True)
class Sizes:
    """What an ensemble and its examples are made from, with a seed."""

    seed: int
    examples: int
    features: int
    labels: int
    rules: int
    distinct: int
    """Of the constants; more than the grid has: random ones."""
    sparse_heads: bool


sizes = st.builds(
    Sizes,
    seed=st.integers(0, 2**32 - 1),
    examples=st.sampled_from([0, 1, 2, 7, 63, 64, 65, 130, 200]),
    features=st.integers(1, 6),
    labels=st.sampled_from([1, 2, 7, 8, 9, 16, 17, 24, 31, 32, 33, 70]),
    rules=st.sampled_from([1, 3, 63, 64, 65, 150]),
    distinct=st.sampled_from([1, 3, 9, 40]),
    sparse_heads=st.booleans(),
)


def rules_of(size: Sizes) -> list[Rule]:
    rng = np.random.default_rng(size.seed)
    constants = GRID[: size.distinct] if size.distinct <= len(GRID) else rng.normal(size=40)
    rules = []
    for _ in range(size.rules):
        n = int(rng.integers(0, 5))
        features, operators = rng.integers(0, size.features, n), rng.integers(0, 4, n)
        conditions = tuple(
            Condition(int(feature), OPERATORS[operator], float(rng.choice(constants)))
            for feature, operator in zip(features, operators, strict=True)
        )
        head = rng.normal(size=size.labels) * 10.0 ** rng.integers(-8, 8)
        if size.sparse_heads:
            head[rng.random(size.labels) < 0.9] = 0.0
        rules.append(Rule(conditions, head, 0))
    return rules


def examples_of(size: Sizes, dtype: Any = np.float64) -> Floats:
    rng = np.random.default_rng(size.seed + 1)
    X = rng.choice(GRID, (size.examples, size.features))
    X[rng.random(X.shape) < 0.4] = 0.0
    X[rng.random(X.shape) < 0.1] = np.nan
    X[rng.random(X.shape) < 0.1] = 0.05
    with np.errstate(over="ignore"):
        return np.nan_to_num(X.astype(dtype), nan=np.nan, posinf=1e30)


def pack(rules: list[Rule], size: Sizes) -> _core.Ensemble:
    return pack_rules(rules, size.features, size.labels)


def plain_scores(rules: list[Rule], X: Floats, n_labels: int) -> Floats:
    """Add up the heads of the covering rules, one after the other."""
    scores = np.zeros((len(X), n_labels))
    for rule in rules:
        covered = np.ones(len(X), dtype=bool)
        for condition in rule.conditions:
            x = X[:, condition.feature].astype(np.float64)
            holds = {
                "<=": x <= condition.value,
                ">": x > condition.value,
                "=": x == condition.value,
                "!=": (x < condition.value) | (x > condition.value),
            }
            covered &= holds[condition.operator]  # comparisons with NaN are false
        scores[covered] += rule.head
    return scores


def predict(ensemble: _core.Ensemble, X: Any, n_threads: int = 1) -> Floats:
    if isinstance(X, np.ndarray):
        return ensemble.predict_dense(X, n_threads)
    return ensemble.predict_csr(X.data, X.indices, X.indptr, n_threads)


def same_bits(a: Floats, b: Floats) -> bool:
    return a.shape == b.shape and a.tobytes() == b.tobytes()


def strided(X: Floats) -> Floats:
    """The same numbers, every other one of a larger array and from back to front."""
    spacious = np.full((2 * X.shape[0], 3 * X.shape[1]), np.nan, dtype=X.dtype)
    view = spacious[::-2, ::3]
    view[...] = X
    return view


def with_explicit_zeros(X: Floats) -> Any:
    """Every other zero is stored."""
    csr = sp.csr_array(np.where((X == 0.0) & (np.indices(X.shape).sum(0) % 2 == 0), 7.0, X))
    if csr.nnz:
        rows = np.repeat(np.arange(len(X)), np.diff(csr.indptr))
        csr.data = X[rows, csr.indices]
    return csr


FORMS: dict[str, Callable[[Floats], Any]] = {
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "strided": strided,
    "csr": sp.csr_array,
    "explicit zeros": with_explicit_zeros,
}


@given(sizes)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@settings(deadline=None)
def test_scores_are_those_of_a_plain_evaluation(dtype: Any, size: Sizes) -> None:
    rules, X = rules_of(size), examples_of(size, dtype)
    expected = plain_scores(rules, X, size.labels)
    ensemble = pack(rules, size)
    for name, form in FORMS.items():
        scores = predict(ensemble, form(X))
        assert scores.dtype == np.float64
        np.testing.assert_array_equal(scores, expected, err_msg=name, strict=True)


@given(sizes, st.integers(1, 130), st.integers(2, 5))
@settings(deadline=None)
def test_bits_do_not_depend_on_batches_or_threads(size: Sizes, batch: int, n_threads: int) -> None:
    ensemble, X = pack(rules_of(size), size), examples_of(size)
    for form in (X, sp.csr_array(X)):
        whole = predict(ensemble, form)
        assert same_bits(predict(ensemble, form, n_threads), whole)
        for start in range(0, size.examples, batch):
            part = predict(ensemble, form[start : start + batch])
            assert same_bits(part, whole[start : start + batch])


@given(sizes)
@settings(deadline=None)
def test_bits_survive_pickling(size: Sizes) -> None:
    ensemble, X = pack(rules_of(size), size), examples_of(size)
    restored = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(ensemble))))
    assert same_bits(predict(restored, X), predict(ensemble, X))


@pytest.mark.parametrize("operator", OPERATORS)
def test_thresholds_that_float32_cannot_hold(operator: Any) -> None:
    """Values are compared as they are: 0.1 in float32 is larger than 0.1 in float64."""
    X = np.array(
        [[0.1], [np.nextafter(np.float32(0.1), np.float32(0))], [np.nan]], dtype=np.float32
    )
    for value in (0.1, float(np.float32(0.1))):
        rule = Rule((Condition(0, operator, value),), np.array([1.0]), 0)
        expected = plain_scores([rule], X, 1)
        np.testing.assert_array_equal(predict(pack_rules([rule], 1, 1), X), expected)
        assert expected[2] == 0.0


def test_a_feature_compared_in_every_way() -> None:
    """Order and equality on one feature, equal constants, and one condition in many rules."""
    values = (0.0, 1.0, 1.0, 2.0, 5.0, 7.0, 9.0)
    conditions = [Condition(1, operator, value) for value in values for operator in OPERATORS]
    rules = [Rule((condition,), np.eye(28)[i], 0) for i, condition in enumerate(conditions)]
    rules += [Rule((a, b), np.ones(28), 0) for a in conditions for b in conditions]
    X = np.full((12, 3), np.nan)
    X[:, 1] = [-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 5.0, 6.0, 7.0, 9.0, 10.0, np.nan]
    expected = plain_scores(rules, X, 28)
    for form in (X, sp.csr_array(np.nan_to_num(X, nan=3.0))):
        dense = form if isinstance(form, np.ndarray) else form.toarray()
        expected = plain_scores(rules, dense, 28)
        np.testing.assert_array_equal(predict(pack_rules(rules, 3, 28), form), expected)


def test_wide_sparse_examples_stay_sparse() -> None:
    """As dense arrays these would take 8 TB."""
    n, n_features = 10**5, 10**7
    indices = np.arange(n, dtype=np.int32) * 100
    X = sp.csr_array((np.ones(n), indices, np.arange(n + 1, dtype=np.int32)), shape=(n, n_features))
    rules = [
        Rule((Condition(500, ">", 0.5),), np.array([1.0]), 0),
        Rule((Condition(700, "<=", 0.5), Condition(9_999_999, "=", 0.0)), np.array([2.0]), 0),
    ]
    scores = predict(pack_rules(rules, n_features, 1), X)[:, 0]
    expected = np.full(n, 2.0)
    expected[[5, 7]] = [3.0, 0.0]
    np.testing.assert_array_equal(scores, expected)


@pytest.mark.parametrize(
    ("change", "message"), [({"values": np.nan}, "missing"), ({"operators": 4}, "operator")]
)
def test_conditions_that_mean_nothing_are_refused(change: dict[str, Any], message: str) -> None:
    parts: dict[str, Any] = {"features": 0, "operators": 0, "values": 0.5} | change
    dtypes = {"features": np.int32, "operators": np.uint8, "values": np.float64}
    arrays = {name: np.array([value], dtype=dtypes[name]) for name, value in parts.items()}
    one = np.array([0, 1])
    head = {"head_labels": np.zeros(1, dtype=np.int32), "head_scores": np.ones(1)}
    with pytest.raises(ValueError, match=message):
        _core.Ensemble(conditions=one, heads=one, n_features=1, n_labels=1, **arrays, **head)


def test_rows_with_unsorted_indices_are_refused() -> None:
    ensemble = pack_rules([Rule((), np.ones(1), 0)], 3, 1)
    for indices in ([2, 1], [1, 1]):
        with pytest.raises(ValueError, match="sorted and unique"):
            ensemble.predict_csr(
                np.ones(2), np.array(indices, dtype=np.int32), np.array([0, 2], dtype=np.int32), 1
            )


# --- Decoding -----------------------------------------------------------------------------------

SCALES = (0.0, 1e-3, 1.0, 3.0, 40.0, 250.0, 1e3, 1e6)
"""Of scores that are small integers. None makes costs differ by about 1e-12, where ties end."""


def decoding_problem(seed: int, n: int, labels: int, known: int) -> tuple[Floats, Any]:
    """Integers with many ties, each row times one of the scales; distinct label vectors."""
    rng = np.random.default_rng(seed)
    scores = rng.integers(-4, 5, (n, labels)) * rng.choice(SCALES, (n, 1))
    share = rng.choice([0.05, 0.3, 0.9])
    vectors = np.unique((rng.random((known, labels)) < share).astype(np.uint8), axis=0)
    return scores, np.ascontiguousarray(rng.permutation(vectors))


@pytest.mark.parametrize("loss", ["example_logistic", "label_logistic"])
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([0, 1, 7, 8, 9, 40]),
    st.sampled_from([1, 2, 7, 8, 9, 17, 40]),
    st.sampled_from([1, 2, 15, 16, 17, 33, 100]),
)
@settings(deadline=None)
def test_decoding_is_that_of_a_plain_evaluation(
    loss: Any, seed: int, n: int, labels: int, known: int
) -> None:
    scores, vectors = decoding_problem(seed, n, labels, known)
    found = _core.decode_known(loss, scores, vectors, 1)
    expected = reference.decode_known(scores, vectors.astype(np.int64), loss)
    np.testing.assert_array_equal(vectors[found], expected)
    np.testing.assert_array_equal(_core.decode_known(loss, scores, vectors, 3), found)
    alone = [_core.decode_known(loss, scores[[i]], vectors, 1)[0] for i in range(n)]
    np.testing.assert_array_equal(alone, found)


@pytest.mark.parametrize("loss", ["example_logistic", "label_logistic"])
@pytest.mark.parametrize("confidence", [5.0, 20.0, 100.0, 299.0])
def test_decoding_where_screening_cancels(loss: str, confidence: float) -> None:
    """The empty label vector costs up to e^598 times as much as the best: all digits are lost."""
    rng = np.random.default_rng(0)
    vectors = np.unique((rng.random((60, 20)) < 0.4).astype(np.uint8), axis=0)
    signs = 2.0 * vectors - 1.0
    scores = signs * confidence
    doubtful = rng.random(scores.shape) < 0.2
    scores[doubtful] = rng.normal(size=doubtful.sum())
    found = _core.decode_known(loss, scores, vectors, 2)
    expected = reference.decode_known(scores, vectors.astype(np.int64), loss)  # type: ignore[arg-type]
    np.testing.assert_array_equal(vectors[found], expected)


@pytest.mark.parametrize("loss", ["example_logistic", "label_logistic"])
def test_costs_that_are_equal_but_for_rounding(loss: str) -> None:
    """The same terms in another order: the first vector wins, not the one that rounds down."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        p = rng.normal(size=(1, 8)) * 3.0
        scores = np.concatenate([p, p[:, ::-1]], axis=1)  # label 15 - k scores like label k
        vector = (rng.random(16) < 0.4).astype(np.uint8)
        vectors = np.stack([vector, vector[::-1]])
        for order in (vectors, np.ascontiguousarray(vectors[::-1])):
            assert _core.decode_known(loss, scores, order, 1).tolist() == [0]


@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 9, 20]), st.sampled_from([1, 2, 17, 60]))
@settings(deadline=None)
def test_probabilities_are_those_of_a_plain_evaluation(seed: int, labels: int, known: int) -> None:
    scores, vectors = decoding_problem(seed, 9, labels, known)
    computed = _core.known_marginals("example_logistic", scores, vectors, 1)
    expected = reference.probabilities(scores, vectors.astype(np.int64), "example_logistic")
    np.testing.assert_allclose(computed, expected, rtol=1e-9, atol=1e-15)
    assert same_bits(_core.known_marginals("example_logistic", scores, vectors, 3), computed)


# --- The estimator ------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["example_logistic", "label_logistic"])
@pytest.mark.parametrize("decoding", ["known", "sign"])
def test_a_row_alone_and_in_a_batch(loss: Any, decoding: Any) -> None:
    data = make_multilabel(150, 8, 12, random_state=0)
    model = RuleBoostingClassifier(
        n_rules=100, loss=loss, decoding=decoding, random_state=0, n_jobs=2
    ).fit(data.X[:100], data.Y[:100])
    for method in ("decision_function", "predict", "predict_proba"):
        together = getattr(model, method)(data.X)
        for i in range(0, 150, 7):
            assert same_bits(getattr(model, method)(data.X[i : i + 1]), together[i : i + 1])


# --- Instruction sets ---------------------------------------------------------------------------

FINGERPRINT = """
import hashlib, sys
sys.path.insert(0, {folder!r})
from test_prediction import fingerprint
print(fingerprint())
"""


def fingerprint() -> str:
    """All bits of the scores of an ensemble, in one word."""
    size = Sizes(0, 300, 6, 70, 150, 40, sparse_heads=False)
    scores = predict(pack(rules_of(size), size), examples_of(size))
    return f"{_core.instruction_set()} {hashlib.sha256(scores.tobytes()).hexdigest()}"


@pytest.mark.parametrize("isa", ["portable", "avx2", "avx512"])
def test_every_instruction_set(isa: str) -> None:
    """The other kernels of this machine pass all tests of this file, and give the same bits."""
    environment = os.environ | {"LABELBOOST_ISA": isa}
    program = FINGERPRINT.format(folder=str(Path(__file__).parent))

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *command], env=environment, capture_output=True, text=True, check=False
        )

    answer = run("-c", program)
    if answer.returncode != 0:
        assert f"LABELBOOST_ISA={isa} is not available" in answer.stderr
        pytest.skip(f"this machine has no {isa}")
    assert answer.stdout.split() == [isa, fingerprint().split()[1]]
    if isa == _core.instruction_set():
        return
    options = ("-q", "-p", "no:cacheprovider", "-x", "-k", "not instruction_set")
    done = run("-m", "pytest", *options, str(Path(__file__)))
    assert done.returncode == 0, done.stdout
