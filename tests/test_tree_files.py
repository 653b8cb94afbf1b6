"""Files of tree models: what is loaded is what was saved, and whatever is broken is refused."""

from __future__ import annotations

import gzip
import json
import random
import resource
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_model_files import change_structure, fault_of, signed, some_data, try_to_use

from labelboost import TreeBoostingClassifier, load_model, save_model


def some_trees(**parameters: Any) -> TreeBoostingClassifier:
    X, Y = some_data(n_labels=4)
    given = {"n_trees": 3, "max_depth": 3, "max_leaves": 8, "min_coverage": 1, "random_state": 1,
             "categorical_features": [5]}  # fmt: skip
    return TreeBoostingClassifier(**given | parameters).fit(X, Y)


@pytest.mark.parametrize("loss", ["labelset_softmax", "example_logistic", "label_logistic"])
@pytest.mark.parametrize("parameters", [{}, {"label_bins": 2, "profile": True}])
def test_round_trip(loss: str, parameters: dict[str, Any], tmp_path: Path) -> None:
    model = some_trees(loss=loss, **parameters)
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    X, _ = some_data(n_labels=4, seed=1)
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.get_params() == model.get_params()
    assert [rule.conditions for rule in loaded.rules_] == [rule.conditions for rule in model.rules_]
    assert [rule.gain for rule in loaded.rules_] == [rule.gain for rule in model.rules_]
    assert loaded.n_trees_ == 3
    np.testing.assert_array_equal(loaded.training_times_, model.training_times_)
    save_model(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
    # Training can go on where it ended.
    Xt, Yt = some_data(n_labels=4)
    longer = TreeBoostingClassifier(**loaded.get_params() | {"n_trees": 5})
    longer.fit(Xt, Yt, init_model=loaded)
    at_once = some_trees(loss=loss, **parameters | {"n_trees": 5})
    np.testing.assert_array_equal(longer.decision_function(X), at_once.decision_function(X))


@pytest.fixture(scope="module")
def payload(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("model") / "trees"
    save_model(some_trees(), path)
    return json.dumps(json.loads(gzip.decompress(path.read_bytes()))["payload"])


def change(document: Any, *path: Any, to: Any) -> Any:
    place = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = to
    return document


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("trees", 0, "left", 0), 0, "is not a tree"),
        (("trees", 0, "left", 0), 10**5, "is not a tree"),
        (("trees", 0, "right", 0), 1, "is not a tree"),
        (("trees", 0, "features", 0), 6, "features"),
        (("trees", 0, "operators", 0), 1, "is not a tree"),
        (("trees", 0, "values", 0), "x", "values"),
        (("trees", 0, "heads", 0), [1.0], "heads"),
        (("trees", 0, "gains"), [], "gains"),
        (("trees", 0, "missing_left", 0), 2, "missing_left"),
        (("trees", 1), {}, "trees[1]"),
        (("trees",), None, "trees"),
        (("default", "conditions"), [[0, "<=", 1.0]], "covers everything"),
        (("default", "head"), [1e300] * 4, "add up to more than"),
    ],
)
def test_broken_trees_are_refused(
    path: tuple[Any, ...], value: Any, said: str, payload: str, tmp_path: Path
) -> None:
    document = change(json.loads(payload), "fitted", *path, to=value)
    assert said in fault_of(signed(document), tmp_path)


def test_memory_is_asked_for_first(payload: str, tmp_path: Path) -> None:
    assert "more memory" in fault_of(signed(json.loads(payload)), tmp_path, max_bytes=60_000)


@pytest.mark.parametrize("seed", range(2))
def test_changed_structures_with_a_valid_checksum(seed: int, payload: str, tmp_path: Path) -> None:
    rng = random.Random(seed)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    usable = 0
    for _ in range(1500):
        document = json.loads(payload)
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            change_structure(document, rng)
            if not document:
                break
        usable += try_to_use(signed(document), tmp_path)
    assert 50 < usable < 1450
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2**18  # KiB
