"""Checkpoints: killed training goes on as if nothing had happened, and nothing else does."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from control_cases import (
    KINDS,
    RULES,
    SETTINGS,
    SIZE,
    TREES,
    Kind,
    assert_same_bits,
    some_data,
    weights_of,
)
from oracle import real_data

from labelboost import TrainingState, save_model
from labelboost.persistence.checkpoints import CheckpointFile
from labelboost.persistence.container import AFTER_PAYLOAD, BEFORE_PAYLOAD
from labelboost.persistence.nodes import Malformed, Node
from labelboost.persistence.trees import decode_tree, encode_tree
from labelboost.training.boosted import Boosted
from labelboost.training.control import Checkpoints

kinds = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
TRAINING = """
import os, sys, time
from control_cases import SETTINGS, SIZE, some_data, weights_of

def tell(state):
    print(state.size, flush=True)
    time.sleep(0.003)

def train(case, path):
    kind, parameters = SETTINGS[case]
    X, Y = some_data()
    model = kind(SIZE, n_jobs=2, checkpoint=path, checkpoint_every=4, **parameters)
    model.fit(X, Y, weights_of(X), callbacks=[tell])

for line in sys.stdin:
    # A process of its own for each training, without importing everything again.
    child = os.fork()
    if not child:
        print(os.getpid(), flush=True)
        train(*line[:-1].split("\\t"))
        os._exit(0)
    print(-os.WTERMSIG(os.waitpid(child, 0)[1]), flush=True)
"""


class Nursery:
    """Another program whose children train."""

    def __init__(self) -> None:
        self._program = subprocess.Popen(
            [sys.executable, "-c", TRAINING],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        )

    def kill_in_the_midst(self, case: str, path: Path, size: int) -> int:
        """Train, kill once it has come that far; return how far it had got."""
        assert self._program.stdin is not None
        self._program.stdin.write(f"{case}\t{path}\n")
        self._program.stdin.flush()
        process, reached = self._number(), 0
        while reached < size:
            reached = self._number()
        os.kill(process, signal.SIGKILL)  # nothing can be tidied up
        while (number := self._number()) > 0:
            reached = number
        assert number == -signal.SIGKILL
        return reached

    def _number(self) -> int:
        assert self._program.stdout is not None
        return int(self._program.stdout.readline())

    def close(self) -> None:
        with self._program:
            self._program.kill()


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    if not hasattr(os, "fork"):
        pytest.skip("there is no fork here")
    nursery = Nursery()
    yield nursery
    nursery.close()


class Sizes:
    """A callback that remembers what it saw, and may raise."""

    def __init__(self, fail_at: int | None = None, error: type[BaseException] = ZeroDivisionError):
        self.seen: list[int] = []
        self._fail_at, self._error = fail_at, error

    def __call__(self, state: TrainingState) -> None:
        self.seen.append(state.size)
        if state.size == self._fail_at:
            raise self._error


def stored(path: Path) -> Any:
    """What is in a checkpoint."""
    return json.loads(gzip.decompress(path.read_bytes()))["payload"]


def store(path: Path, payload: Any) -> None:
    """Write a checkpoint with a valid checksum, whatever its content."""
    text = json.dumps(payload).encode()
    header = {
        "format": "labelboost-checkpoint", "version": 1, "library_version": "0.1.0",
        "payload_size": len(text), "payload_sha256": hashlib.sha256(text).hexdigest(),
    }  # fmt: skip
    line = json.dumps(header)[:-1].encode() + BEFORE_PAYLOAD
    path.write_bytes(gzip.compress(line + text + AFTER_PAYLOAD, 1))


def interrupted(kind: Kind, path: Path, at: int, *data: Any, **parameters: Any) -> Any:
    """Train until an exception comes; the checkpoint stays."""
    model = kind(SIZE, checkpoint=str(path), **parameters)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*data, callbacks=[Sizes(at, KeyboardInterrupt)])
    return model


# Resuming


@pytest.mark.parametrize("case", SETTINGS)
def test_killed_training_resumes(case: str, nursery: Nursery, tmp_path: Path) -> None:
    kind, parameters = SETTINGS[case]
    X, Y = some_data()
    path = tmp_path / "checkpoint"
    reached = nursery.kill_in_the_midst(case, path, 25)
    assert 25 <= reached < SIZE
    assert list(tmp_path.iterdir()) == [path]
    learned = len(stored(path)["progress"]["learned"])
    assert learned % 4 == 0
    assert reached - 6 <= learned <= reached
    sizes = Sizes()
    model = kind(SIZE, n_jobs=1, checkpoint=str(path), checkpoint_every=4, **parameters)
    model.fit(X, Y, weights_of(X), callbacks=[sizes])
    first = learned + (2 if kind.unit == "rules" else 1)
    assert sizes.seen == list(range(first, SIZE + 1))
    assert_same_bits(model, kind(SIZE, **parameters).fit(X, Y, weights_of(X)), X)
    assert len(model.training_times_) == len(model._attempts) + 1
    assert (np.diff(model.training_times_) >= 0).all()
    assert list(tmp_path.iterdir()) == []  # done


def test_killed_again_and_again(nursery: Nursery, tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    for size in (9, 30, 52):
        assert nursery.kill_in_the_midst("example-wise", path, size) < SIZE
    X, Y = some_data()
    parameters = {"label_bins": None}
    model = RULES(SIZE, checkpoint=path, **parameters).fit(X, Y, weights_of(X))
    assert_same_bits(model, RULES(SIZE, **parameters).fit(X, Y, weights_of(X)), X)


@kinds
@pytest.mark.parametrize("name", ["emotions", "flags"])
def test_real_data_with_early_stopping(kind: Kind, name: str, tmp_path: Path) -> None:
    data = real_data(name)
    X, Y = data.X, data.Y
    parameters = {"early_stopping": "subset_01", "patience": 15, "validation_fraction": 0.2}
    whole = kind(SIZE, **parameters).fit(X, Y)
    interrupted(kind, tmp_path / "c", 7, X, Y, **parameters)
    model = kind(SIZE, checkpoint=str(tmp_path / "c"), **parameters).fit(X, Y)
    assert_same_bits(model, whole, X)
    assert kind.best(model) == kind.best(whole)
    for measure, values in whole.validation_history_.items():
        assert model.validation_history_[measure].tolist() == values.tolist()


def test_training_that_was_over_but_for_the_end(tmp_path: Path) -> None:
    """If the process dies when patience has run out, nothing more is learned."""
    X, Y = some_data()
    parameters = {"early_stopping": "subset_01", "patience": 6, "evaluate_every": 2}
    parameters |= {"validation_fraction": 0.3}
    whole = RULES(SIZE, **parameters).fit(X, Y)
    last = int(whole.validation_history_["n_rules"][-1])
    interrupted(RULES, tmp_path / "c", last, X, Y, **parameters)
    sizes = Sizes()
    model = RULES(SIZE, checkpoint=str(tmp_path / "c"), **parameters)
    model.fit(X, Y, callbacks=[sizes])
    assert sizes.seen == []
    assert model.stop_reason_ == "early_stopping"
    assert_same_bits(model, whole, X)


@kinds
def test_an_exception_leaves_all_that_was_learned(kind: Kind, tmp_path: Path) -> None:
    X, Y = some_data(100)
    interrupted(kind, tmp_path / "c", 13, X, Y)  # long before the first minute is over
    assert len(stored(tmp_path / "c")["progress"]["learned"]) == 13 - (kind.unit == "rules")
    before = (tmp_path / "c").read_bytes()
    model = kind(SIZE, checkpoint=tmp_path / "c")
    with pytest.raises(ZeroDivisionError):
        model.fit(X, Y, callbacks=[Sizes(14)])
    assert (tmp_path / "c").read_bytes() != before
    sizes = Sizes()
    model.fit(X, Y, callbacks=[sizes])
    assert sizes.seen[0] == 15
    assert_same_bits(model, kind(SIZE).fit(X, Y), X)


@pytest.mark.parametrize("size", [5, 13, 14, 100])
def test_another_size_may_be_wanted_by_then(size: int, tmp_path: Path) -> None:
    X, Y = some_data(100)
    interrupted(RULES, tmp_path / "c", 13, X, Y)
    model = RULES(size, checkpoint=tmp_path / "c").fit(X, Y)
    assert_same_bits(model, RULES(size).fit(X, Y), X)
    assert not (tmp_path / "c").exists()


def test_other_stopping_rules_may_be_wanted_by_then(tmp_path: Path) -> None:
    X, Y = some_data()
    held_out = some_data(100, seed=3)
    interrupted(RULES, tmp_path / "c", 20, X, Y)
    parameters = {"early_stopping": "f1_macro", "patience": 9, "n_jobs": 2, "verbose": 1}
    model = RULES(SIZE, checkpoint=tmp_path / "c", **parameters).fit(X, Y, eval_set=held_out)
    assert_same_bits(model, RULES(SIZE, **parameters).fit(X, Y, eval_set=held_out), X)


@pytest.mark.parametrize("random_state", [None, "object"])
def test_a_random_seed_is_that_of_the_checkpoint(random_state: Any, tmp_path: Path) -> None:
    X, Y = some_data(100)

    def state() -> Any:
        return np.random.RandomState(5) if random_state else None

    parameters = {"validation_fraction": 0.3, "early_stopping": "loss"}
    interrupted(RULES, tmp_path / "c", 8, X, Y, random_state=state(), **parameters)
    seed, learned = stored(tmp_path / "c")["seed"], stored(tmp_path / "c")["progress"]["learned"]
    model = RULES(SIZE, checkpoint=tmp_path / "c", random_state=state(), **parameters).fit(X, Y)
    assert model._seed == seed
    coverage = [rule.coverage for rule in model.rules_[1:]]
    assert coverage[:7] == [rule["coverage"] for rule in learned][: len(coverage)]


@kinds
def test_with_warm_start(kind: Kind, tmp_path: Path) -> None:
    X, Y = some_data(100)
    whole = kind(SIZE).fit(X, Y)
    half = kind(20).fit(X, Y)
    path = tmp_path / "c"
    model = kind(SIZE, checkpoint=path)
    with pytest.raises(ZeroDivisionError):
        model.fit(X, Y, init_model=half, callbacks=[Sizes(31)])
    with pytest.raises(ValueError, match="its rules to begin with are others"):
        kind(SIZE, checkpoint=path).fit(X, Y, init_model=kind(19).fit(X, Y))
    with pytest.raises(ValueError, match="its rules to begin with are others"):
        kind(SIZE, checkpoint=path).fit(X, Y)
    sizes = Sizes()
    kind.set_size(half, SIZE).set_params(warm_start=True, checkpoint=path)
    half.fit(X, Y, callbacks=[sizes])
    assert sizes.seen[0] == 32
    assert_same_bits(half, whole, X)


# When files are written


class Recorder:
    """A store that only counts."""

    def __init__(self) -> None:
        self.saved: list[int] = []

    def save(self, boosted: Boosted[Any]) -> None:
        self.saved.append(len(boosted.learned))

    def remove(self) -> None:
        raise AssertionError


def test_checkpoints_are_due_by_number_or_by_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0

    class Clock:
        @staticmethod
        def monotonic() -> float:
            return now

    monkeypatch.setattr("labelboost.training.control.time", Clock)

    def saved(every: int | None, seconds: float | None) -> list[int]:
        nonlocal now
        recorder, boosted = Recorder(), Boosted(None, [], [0.0], [], True)  # type: ignore[arg-type]
        checkpoints = Checkpoints(recorder, every, seconds)
        checkpoints.begin(boosted)
        for n in range(12):
            now += 1.0
            boosted.append(n, n, now)
            checkpoints.consider(boosted)
        checkpoints.save(boosted)
        checkpoints.save(boosted)  # nothing new
        return recorder.saved

    assert saved(5, None) == [5, 10, 12]
    assert saved(None, 3.0) == [3, 6, 9, 12]
    assert saved(4, 6.0) == [4, 8, 12]
    assert saved(None, None) == [12]
    assert saved(1, 1.0) == list(range(1, 13))


@kinds
def test_a_finished_training_leaves_no_file(kind: Kind, tmp_path: Path) -> None:
    X, Y = some_data(80)
    path = tmp_path / "<script> \N{SNOWMAN}"
    seen: list[bool] = []
    for extra in ({}, {"time_limit": 1e-9}, {"early_stopping": "loss", "validation_fraction": 0.2}):
        model = kind(6, checkpoint=path, checkpoint_every=2, checkpoint_seconds=None, **extra)
        model.fit(X, Y, callbacks=[lambda _: seen.append(path.exists())])
        assert list(tmp_path.iterdir()) == []
    assert True in seen
    kind(6, checkpoint=path).fit(X, Y, callbacks=[lambda _: True])
    assert list(tmp_path.iterdir()) == []


def test_failures_to_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X, Y = some_data(80)
    path = tmp_path / "c"
    interrupted(RULES, path, 10, X, Y)
    before = path.read_bytes()

    def fail(*_: object) -> None:
        raise OSError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        model = RULES(SIZE, checkpoint=path, checkpoint_every=5)
        with pytest.raises(OSError, match="no space left"):
            model.fit(X, Y)
        with pytest.raises(KeyboardInterrupt) as caught:
            model.fit(X, Y, callbacks=[Sizes(12, KeyboardInterrupt)])
        assert any("No checkpoint could be written" in note for note in caught.value.__notes__)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    assert_same_bits(model.fit(X, Y), RULES(SIZE).fit(X, Y), X)


# Files that do not belong to the training


def test_only_the_same_training_goes_on(tmp_path: Path) -> None:
    X, Y = some_data(100)
    path = tmp_path / "c"
    interrupted(RULES, path, 10, X, Y)
    before = path.read_bytes()
    other_X, other_Y = X.copy(), Y.copy()
    other_X[3, 4] = 17.0
    other_Y[5, 0] ^= 1
    data: list[tuple[str, tuple[Any, ...]]] = [
        ("its features are others", (other_X, Y)),
        ("its features are others", (np.nan_to_num(X), Y)),
        ("its labels are others", (X, other_Y)),
        ("its weights are others", (X, Y, weights_of(X) + 1)),
        ("its number of examples is 100, not 99", (X[1:], Y[1:])),
    ]
    for message, arguments in data:
        with pytest.raises(ValueError, match=f"checkpoint {path} belongs to another.*{message}"):
            RULES(SIZE, checkpoint=path).fit(*arguments)
    parameters: list[tuple[str, dict[str, Any]]] = [
        ("its learning_rate is 0.3, not 0.5", {"learning_rate": 0.5}),
        ("its l2 is 1.0, not 2.0", {"l2": 2.0}),
        ("its loss is 'example_logistic', not", {"loss": "label_logistic"}),
        ("its label_bins is True, not False", {"label_bins": None}),
        ("its bootstrap is True, not False", {"bootstrap": False}),
        ("its max_features is 3, not 2", {"max_features": 2}),
        ("its feature_bins is None, not 8", {"feature_bins": 8}),
        (r"its random_state \(as a seed\) is", {"random_state": 2}),
        ("its features are others", {"categorical_features": [7]}),
        ("its number of examples is 100, not 80", {"validation_fraction": 0.2}),
    ]
    for message, changed in parameters:
        with pytest.raises(ValueError, match=message):
            RULES(SIZE, checkpoint=path, **changed).fit(X, Y)
    with pytest.raises(ValueError, match="its estimator is 'RuleBoostingClassifier', not 'Tree"):
        TREES(SIZE, checkpoint=path).fit(X, Y)
    payload = stored(path)
    payload["fingerprint"]["version of Labelboost"] = "0.0.1"
    store(tmp_path / "old", payload)
    with pytest.raises(ValueError, match=r"its version of Labelboost is '0\.0\.1', not"):
        RULES(SIZE, checkpoint=tmp_path / "old").fit(X, Y)
    assert path.read_bytes() == before
    assert_same_bits(RULES(SIZE, checkpoint=path).fit(X, Y), RULES(SIZE).fit(X, Y), X)


def test_files_that_are_no_checkpoints(tmp_path: Path) -> None:
    X, Y = some_data(60)
    path = tmp_path / "c"
    interrupted(RULES, path, 10, X, Y)
    good = path.read_bytes()
    for content in (b"", b"text", good[: len(good) // 2], good[:-1], gzip.compress(b"{}")):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=f"{path} is not a checkpoint of Labelboost: .*Remove"):
            RULES(SIZE, checkpoint=path).fit(X, Y)
        assert path.read_bytes() == content
    save_model(RULES(3).fit(X, Y), path)
    with pytest.raises(ValueError, match="does not say that its format is 'labelboost-checkpoint'"):
        RULES(SIZE, checkpoint=path).fit(X, Y)


def mutate(value: Any, rng: random.Random) -> Any:
    """Change something somewhere in a JSON document."""
    inner = [(value, k) for k in (value if isinstance(value, dict) else range(len(value)))]
    while True:
        parent, place = rng.choice(inner)
        child = parent[place]
        if not isinstance(child, dict | list) or not child or rng.random() < 0.2:
            break
        inner = [(child, k) for k in (child if isinstance(child, dict) else range(len(child)))]
    junk: list[Any] = [None, -1, 0, 1, 2**40, 0.5, -1e308, "x", [], {}, [0.0], True]
    if rng.random() < 0.3:
        del parent[place]
    elif rng.random() < 0.2 and isinstance(parent, list):
        parent.append(child)
    else:
        parent[place] = rng.choice(junk)
    return value


@kinds
def test_changed_checkpoints_do_no_harm(kind: Kind, tmp_path: Path) -> None:
    """With a valid checksum anything may stand in the file; it is refused or it can be used."""
    X, Y = some_data(40, n_labels=2)
    path = tmp_path / "c"
    interrupted(kind, path, 6, X, Y)
    text = json.dumps(stored(path))
    rng = random.Random(0)
    used = 0
    for _ in range(150):
        store(path, mutate(json.loads(text), rng))
        try:
            kind(7, checkpoint=path).fit(X, Y)
            used += 1
        except ValueError as error:
            assert str(path) in str(error)  # noqa: PT017
            assert "\n" not in str(error)  # noqa: PT017
    assert used < 100


# Trees


def test_trees_come_back() -> None:
    X, Y = some_data()
    Y[:, 0] = X[:, 7] == 2
    model = TREES(8, categorical_features=[7], max_depth=4, max_features=None).fit(X, Y)
    nominal = np.arange(8) == 7
    assert any(7 in tree.features for tree in model.trees_)
    for tree in model.trees_:
        again = decode_tree(Node(json.loads(json.dumps(encode_tree(tree)))), nominal, Y.shape[1])
        for name in ("features", "operators", "values", "missing_left", "missing_seen", "left",
                     "right", "coverage", "heads"):  # fmt: skip
            ours, theirs = getattr(tree, name), getattr(again, name)
            assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
            assert ours.tobytes() == theirs.tobytes()
            assert not theirs.flags.writeable


def test_what_is_no_tree_is_refused() -> None:
    X, Y = some_data(60, n_labels=2)
    (tree,) = TREES(1, max_depth=2).fit(X, Y).trees_
    nominal = np.zeros(8, dtype=bool)
    text = json.dumps(encode_tree(tree))
    changes: dict[str, Any] = {
        "left": lambda v: [0, *v[1:]],  # a circle
        "right": lambda v: [1, *v[1:]],  # both children are the same
        "features": lambda v: [-1, *v[1:]],  # a root that is a leaf, and more nodes
        "operators": lambda v: [2, *v[1:]],  # the comparison of nominal features
        "heads": lambda v: v[1:],
        "values": lambda v: v[1:],
        "coverage": lambda v: [-1, *v[1:]],
        "missing_left": lambda v: [2, *v[1:]],
    }
    for name, change in changes.items():
        value = json.loads(text)
        value[name] = change(value[name])
        with pytest.raises(Malformed):
            decode_tree(Node(value), nominal, 2)
    for seed in range(300):
        rng = random.Random(seed)
        try:
            changed = decode_tree(Node(mutate(json.loads(text), rng)), nominal, 2)
        except Malformed:
            continue
        assert len(changed.rules()) == changed.n_leaves


def test_the_same_training_writes_the_same_file(tmp_path: Path) -> None:
    default = RULES(1).fit(*some_data(50)).rules_[0]
    for name in "ab":
        file = CheckpointFile(tmp_path / name, "rules", 3, {"x": 1})
        file.save(Boosted(default, [], [0.5], [], True))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
