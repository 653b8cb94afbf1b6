"""The C++ core: arrays in, arrays out. Sizes and indices are checked, values are trusted."""

from collections.abc import Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

_Float = NDArray[np.float32] | NDArray[np.float64]
_RawTree = tuple[
    NDArray[np.int32],
    NDArray[np.uint8],
    NDArray[np.float64],
    NDArray[np.uint8],
    NDArray[np.uint8],
    NDArray[np.int32],
    NDArray[np.int32],
    NDArray[np.int64],
    NDArray[np.float64],
    NDArray[np.float64],
]
_Rule = TypeVar("_Rule")

class Columns:
    @staticmethod
    def from_dense(
        x: _Float, nominal: NDArray[np.uint8], max_bins: int, n_threads: int
    ) -> Columns: ...
    @staticmethod
    def from_csc(
        data: _Float,
        indices: NDArray[np.int32],
        indptr: NDArray[np.int32],
        n_examples: int,
        nominal: NDArray[np.uint8],
        max_bins: int,
        n_threads: int,
    ) -> Columns: ...
    def row_keys(self) -> NDArray[np.uint64] | None: ...
    @property
    def any_infinite(self) -> bool: ...
    @property
    def n_examples(self) -> int: ...
    @property
    def n_features(self) -> int: ...

class Booster:
    def __init__(
        self,
        columns: Columns,
        labels: NDArray[np.uint8],
        weights: NDArray[np.float64],
        *,
        loss: str,
        single_head: bool,
        use_bins: bool,
        bin_ratio: float,
        bins_per_sign: int,
        exact_aggregation: bool,
        learning_rate: float,
        l2: float,
        bootstrap: bool,
        max_features: int,
        max_conditions: int,
        min_coverage: int,
        seed: int,
        n_threads: int,
        sets: NDArray[np.uint8] | None = None,
        set_weights: NDArray[np.float64] | None = None,
        set_of: NDArray[np.int32] | None = None,
        tickets: NDArray[np.int32] | None = None,
        profiled: bool = False,
        trees: bool = False,
        subsample: float = 1.0,
        max_depth: int = 0,
        max_leaves: int = 0,
        best_first: bool = True,
        flat_divisions: bool = False,
    ) -> None: ...
    def add_default_rule(self, maker: RuleMaker[_Rule]) -> _Rule: ...
    def learn_rule(self, attempt: int, maker: RuleMaker[_Rule]) -> _Rule | None: ...
    def learn_tree(self, attempt: int) -> _RawTree | None: ...
    def replay(
        self,
        offsets: NDArray[np.int64],
        examples: NDArray[np.int32],
        heads: NDArray[np.float64],
    ) -> None: ...
    def mean_loss(self) -> float: ...
    def activity_seconds(self) -> tuple[float, float, float]: ...
    def scores(self) -> NDArray[np.float64]: ...

class RuleMaker(Generic[_Rule]):
    def __init__(
        self, rule: type[_Rule], condition: type, operators: tuple[str, ...], missing: str
    ) -> None: ...
    def pack(
        self, rules: Sequence[_Rule], heads: NDArray[np.float64], n_features: int
    ) -> Ensemble: ...

class _Predictor:
    def predict_dense(
        self,
        x: _Float,
        n_threads: int,
        stops: NDArray[np.int64] | None = None,
        first: int = 0,
        start: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]: ...
    def predict_csr(
        self,
        data: _Float,
        indices: NDArray[np.int32],
        indptr: NDArray[np.int32],
        n_threads: int,
        stops: NDArray[np.int64] | None = None,
        first: int = 0,
        start: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]: ...

class Forest(_Predictor):
    def __init__(
        self,
        trees: NDArray[np.int64],
        features: NDArray[np.int32],
        operators: NDArray[np.uint8],
        values: NDArray[np.float64],
        missing_left: NDArray[np.uint8],
        left: NDArray[np.int32],
        right: NDArray[np.int32],
        default_head: NDArray[np.float64],
        heads: NDArray[np.float64],
        n_features: int,
    ) -> None: ...

class Ensemble(_Predictor):
    def __init__(
        self,
        conditions: NDArray[np.int64],
        features: NDArray[np.int32],
        operators: NDArray[np.uint8],
        values: NDArray[np.float64],
        heads: NDArray[np.int64],
        head_labels: NDArray[np.int32],
        head_scores: NDArray[np.float64],
        n_features: int,
        n_labels: int,
    ) -> None: ...

def decode_known(
    loss: str, scores: NDArray[np.float64], known: NDArray[np.uint8], n_threads: int
) -> NDArray[np.int32]: ...
def known_marginals(
    loss: str, scores: NDArray[np.float64], known: NDArray[np.uint8], n_threads: int
) -> NDArray[np.float64]: ...
def row_keys(x: NDArray[np.float32] | NDArray[np.float64]) -> NDArray[np.uint64]: ...
def any_infinite(x: NDArray[np.float32] | NDArray[np.float64]) -> bool: ...
def distinct_rows(
    matrix: NDArray[np.uint8], weights: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int32]]: ...
def first_draw_of_numpy(seed: int) -> int: ...
def instruction_set() -> str: ...
