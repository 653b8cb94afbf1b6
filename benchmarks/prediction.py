#!/usr/bin/env python3
"""How fast do Labelboost and the reference implementation predict, with the very same rules?

Usage: prediction.py [--data yeast bibtex] [--rules 5000] [--threads 2] [--peer-python P]

Two models per data set, in the paper's configuration with 4 % label bins: rules that Labelboost
learned from all examples, and rules that the peer learned from 150 examples (it would take hours
from all). Either model is handed over, rule by rule, so that both implementations predict all
examples of the data set with equal rules and decode to equal label vectors. Both use one thread;
ours then uses several. Times are medians over repeats. See README.md in this folder for what it
needs; without the peer, its columns stay empty.

Before anything is timed, results are checked: scores are bit by bit those of a plain evaluation
in NumPy, with any number of threads and for batches of any size, label sets are those of the
reference, and the peer's scores and label sets equal ours but for its single precision.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from run_ours import parameters

from labelboost import Condition, RuleBoostingClassifier, reference
from labelboost.data import load_npz
from labelboost.data.dataset import Dataset
from labelboost.model import OPERATORS, Rule, pack_rules

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
SHARED = ROOT.parent / "shared"
PEER_VARIABLE = "LABELBOOST_PEER_PYTHON"
VARIANT = "0.04"
PEER_EXAMPLES = 150
METHODS = ("decision_function", "predict")
FORMS: dict[str, Callable[[Any], Any]] = {"dense": sp.csr_array.toarray, "sparse": sp.csr_array}
REPEATS, SECONDS = 9, 20.0
"""A method is called so often, or as often as it can be in that time, but three times at least."""

# Runs in the peer's Python. One preferred thread, because parallel_prediction="false" corrupts its
# heap.
PEER_CODE = """
import importlib.util, json, statistics, sys, time
import numpy as np, scipy.sparse as sp
job = json.loads(sys.argv[1])
spec = importlib.util.spec_from_file_location("run_peer", job["script"])
peer = importlib.util.module_from_spec(spec)
spec.loader.exec_module(peer)
x, y, nominal = peer.load(job["data"])
options = {"nominal_feature_indices": nominal} if nominal else {}

def train(rules):
    config = peer.configuration(job["variant"], rules, 1)
    config["parallel_prediction"] = "true{num_preferred_threads=1}"
    n = job["examples"]
    return peer.BoomerClassifier(**config).fit(x[:n], y[:n], **options)

# A body holds thresholds and features, in turn for <=, >, <= and > of ordinal features, = and !=.
def learned_rules(model):
    bodies, heads = [], []
    for body, head in model.model_.__reduce__()[2][1][0]:
        parts = [] if body is None else list(zip(body[0::2], body[1::2], (0, 1, 0, 1, 2, 3)))
        bodies.append([(int(f), op, float(v)) for values, features, op in parts
                       if values is not None for v, f in zip(values, features)])
        heads.append(head[0])
    flat = np.array([c for body in bodies for c in body]).reshape(-1, 3)
    offsets = np.cumsum([0] + [len(body) for body in bodies])
    return dict(offsets=offsets, features=flat[:, 0].astype(int), operators=flat[:, 1].astype(int),
                values=flat[:, 2], heads=np.array(heads, dtype=float))

def down(values):  # to single precision, such that the same numbers lie below
    single = values.astype(np.float32)
    return np.where(single > values, np.nextafter(single, np.float32(-np.inf)), single)

def replace_rules(model, rules):
    state = []
    for begin, end, head in zip(rules["offsets"], rules["offsets"][1:], rules["heads"]):
        body = []
        for op in (0, 1, None, None, 2, 3):
            at = begin + np.flatnonzero(rules["operators"][begin:end] == op)
            values = rules["values"][at]
            values = down(values) if op in (0, 1) else values.astype(np.int32)
            body += [values, rules["features"][at].astype(np.uint32)] if len(at) else [None, None]
        state.append([tuple(body) if end > begin else None, (head.astype(np.float32),)])
    version = model.model_.__reduce__()[2][0]
    model.model_.__setstate__((version, (state, True, len(state))))

if job["task"] == "train":
    np.savez(job["rules"], **learned_rules(train(job["count"])))
else:
    model = train(1)  # which remembers the label vectors
    replace_rules(model, np.load(job["rules"]))
    x = sp.csr_array(x) if job["form"] == "sparse" else x
    seconds, results = {}, {}
    for method in job["methods"]:
        times = []
        while len(times) < 3 or (len(times) < job["repeats"] and sum(times) < job["seconds"]):
            start = time.perf_counter()
            results[method] = getattr(model, method)(x)
            times.append(time.perf_counter() - start)
        seconds[method] = statistics.median(times)
    np.savez(job["results"], **results)
    print(json.dumps(seconds))
"""


@dataclass(frozen=True)
class Measurement:
    """One line of the report: examples per second."""

    data: str
    learned_by: str
    form: str
    method: str
    examples: int
    rules: int
    conditions: float
    """Per rule."""
    threads: int
    peer: float | None
    ours: float
    ours_threads: float


class Peer:
    """The reference implementation, in a process of its own for each task."""

    def __init__(self, python: Path, script: Path, data: Path) -> None:
        self.python, self.job = python, {"script": str(script), "data": str(data)}

    def run(self, task: str, **job: Any) -> str:
        """Run one task and return what it printed last."""
        text = json.dumps(self.job | {"task": task, "variant": VARIANT} | job, default=str)
        command = [str(self.python), "-c", PEER_CODE, text]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"the peer ended with status {done.returncode}: {done.stderr}")
        return (done.stdout.splitlines() or [""])[-1]


# Rules on their way between the implementations


def save_rules(path: Path, rules: Sequence[Rule]) -> None:
    """Write rules as the arrays that the peer's side reads."""
    conditions = [condition for rule in rules for condition in rule.conditions]
    np.savez(
        path,
        offsets=np.cumsum([0] + [len(rule.conditions) for rule in rules]),
        features=np.array([c.feature for c in conditions], dtype=int),
        operators=np.array([OPERATORS.index(c.operator) for c in conditions], dtype=int),
        values=np.array([c.value for c in conditions], dtype=float),
        heads=np.stack([rule.head for rule in rules]),
    )


def load_rules(path: Path) -> list[Rule]:
    """Read rules from the arrays that the peer's side wrote."""
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    conditions = [
        Condition(int(feature), OPERATORS[operator], float(value))
        for feature, operator, value in zip(
            arrays["features"], arrays["operators"], arrays["values"], strict=True
        )
    ]
    bounds = zip(arrays["offsets"][:-1], arrays["offsets"][1:], strict=True)
    bodies = [tuple(conditions[begin:end]) for begin, end in bounds]
    return [Rule(body, head, 0) for body, head in zip(bodies, arrays["heads"], strict=True)]


def train(dataset: Dataset, n_rules: int, examples: int) -> RuleBoostingClassifier:
    """Train on the first examples."""
    model = RuleBoostingClassifier(
        n_rules=n_rules,
        random_state=1,
        n_jobs=-1,
        categorical_features=dataset.nominal_indices or None,
        **parameters(VARIANT),
    )
    return model.fit(dataset.X[:examples], dataset.Y[:examples])


def replace_rules(model: RuleBoostingClassifier, rules: list[Rule]) -> None:
    """Let a model predict with other rules."""
    model.rules_, model.n_rules_ = rules, len(rules)
    model._ensemble = pack_rules(rules, model.n_features_in_, len(model.classes_))


# Checks: a benchmark of wrong results is worth nothing


def plain_scores(rules: Sequence[Rule], X: NDArray[Any]) -> NDArray[np.float64]:
    """Evaluate the rules one by one."""
    columns = np.asfortranarray(X)
    scores = np.zeros((len(X), len(rules[0].head)))
    for rule in rules:
        covered = np.ones(len(X), dtype=bool)
        for condition in rule.conditions:
            covered &= condition.covers(columns[:, condition.feature])
        scores[covered] += rule.head
    return scores


def check_ours(model: RuleBoostingClassifier, X: Any, threads: int) -> None:
    """Compare with plain evaluations; threads and batches must not change a bit."""
    X_dense = X.toarray()
    expected = plain_scores(model.rules_, X_dense)
    for form in (X, X_dense):
        for n_jobs in (1, threads):
            model.set_params(n_jobs=n_jobs)
            np.testing.assert_array_equal(model.decision_function(form), expected)
        batches = [model.decision_function(form[a : a + 97]) for a in range(0, form.shape[0], 97)]
        np.testing.assert_array_equal(np.concatenate(batches), expected)
    some = slice(None, None, max(1, len(expected) // 200))
    known = model._known.astype(np.int64)
    decoded = reference.decode_known(expected[some], known, "example_logistic")
    np.testing.assert_array_equal(model.predict(X_dense)[some], decoded)


def check_peer(model: RuleBoostingClassifier, X: Any, results: Path) -> None:
    """The peer holds thresholds and heads in single precision; hardly a label set may change."""
    with np.load(results) as file:
        scores, labels = file["decision_function"], file["predict"]
    np.testing.assert_allclose(scores, model.decision_function(X), rtol=1e-4, atol=1e-4)
    different = (labels != model.predict(X)).any(axis=1).mean()
    if different > 0.001:
        raise AssertionError(f"{100 * different:.2f} % of the peer's label sets differ")


# Measurements


def call(model: RuleBoostingClassifier, method: str, X: Any, n_jobs: int) -> None:
    """Call a method of the model with so many threads."""
    getattr(model.set_params(n_jobs=n_jobs), method)(X)


def median_seconds(calls: Sequence[Callable[[], Any]]) -> list[float]:
    """Call all in turn, so that whatever else the machine does meets all alike."""
    times: list[list[float]] = [[] for _ in calls]
    while len(times[0]) < 3 or (len(times[0]) < REPEATS and sum(map(sum, times)) < SECONDS):
        for one, measured in zip(calls, times, strict=True):
            start = time.perf_counter()
            one()
            measured.append(time.perf_counter() - start)
    return [statistics.median(measured) for measured in times]


def measure(
    model: RuleBoostingClassifier,
    dataset: Dataset,
    learned_by: str,
    threads: int,
    peer: Callable[[str], dict[str, float]],
) -> Iterator[Measurement]:
    """Time all methods and forms; `peer` returns the peer's seconds for a form."""
    forms = FORMS if dataset.nominal_indices else {"dense": FORMS["dense"]}
    for form, convert in forms.items():
        X = convert(dataset.X)
        peer_seconds = peer(form)
        for method in METHODS:
            calls = [partial(call, model, method, X, n_jobs) for n_jobs in (1, threads)]
            one, several = median_seconds(calls)
            n = X.shape[0]
            yield Measurement(
                data=dataset.name,
                learned_by=learned_by,
                form=form,
                method=method,
                examples=n,
                rules=model.n_rules_,
                conditions=sum(len(rule.conditions) for rule in model.rules_) / model.n_rules_,
                threads=threads,
                peer=n / peer_seconds[method] if method in peer_seconds else None,
                ours=n / one,
                ours_threads=n / several,
            )


def models(
    dataset: Dataset, rules: int, peer: Peer | None, folder: Path
) -> Iterator[tuple[str, int, RuleBoostingClassifier]]:
    """Who learned the rules, from how many examples, and the model."""
    say(f"{dataset.name}: learning {rules} rules")
    yield "ours", dataset.X.shape[0], train(dataset, rules, dataset.X.shape[0])
    if peer is None:
        return
    say(f"{dataset.name}: the peer is learning {rules} rules from {PEER_EXAMPLES} examples")
    peer.run("train", examples=PEER_EXAMPLES, count=rules, rules=folder / "learned.npz")
    model = train(dataset, 1, PEER_EXAMPLES)  # which remembers the label vectors
    replace_rules(model, load_rules(folder / "learned.npz"))
    yield "peer", PEER_EXAMPLES, model


def run(dataset: Dataset, peer: Peer | None, args: argparse.Namespace) -> Iterator[Measurement]:
    """Check and measure both models of a data set."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for learned_by, examples, model in models(dataset, args.rules, peer, folder):
            say(f"{dataset.name}: checking the model of {learned_by}")
            check_ours(model, dataset.X, args.threads)
            save_rules(folder / "rules.npz", model.rules_)

            def peer_seconds(form: str, n: int = examples, model: Any = model) -> dict[str, float]:
                if peer is None:
                    return {}
                files = {"rules": folder / "rules.npz", "results": folder / "results.npz"}
                limits = {"methods": METHODS, "repeats": REPEATS, "seconds": SECONDS}
                answer = peer.run("predict", examples=n, form=form, **files, **limits)
                check_peer(model, dataset.X, files["results"])
                result: dict[str, float] = json.loads(answer)
                return result

            say(f"{dataset.name}: measuring the model of {learned_by}")
            yield from measure(model, dataset, learned_by, args.threads, peer_seconds)


def report(measurements: Sequence[Measurement], threads: int) -> Iterator[str]:
    """The lines of the Markdown report."""
    yield (
        "| data | rules | learned by | conditions per rule | input | method "
        "| peer: examples/s | ours: examples/s | ours / peer "
        f"| ours, {threads} threads: examples/s | {threads} threads / 1 |"
    )
    yield "|---|--:|---|--:|---|---|--:|--:|--:|--:|--:|"
    for m in measurements:
        cells = [m.data, str(m.rules), m.learned_by, f"{m.conditions:.1f}", m.form, m.method]
        peer = ["-", f"{m.ours:.0f}", "-"]
        if m.peer is not None:
            peer = [f"{m.peer:.0f}", f"{m.ours:.0f}", f"{m.ours / m.peer:.1f}"]
        cells += [*peer, f"{m.ours_threads:.0f}", f"{m.ours_threads / m.ours:.2f}"]
        yield f"| {' | '.join(cells)} |"


def say(text: str) -> None:
    """Tell on standard error how far things are."""
    print(text, file=sys.stderr, flush=True)


def find_peer(option: Path | None) -> Path | None:
    """Find the Python that has mlrl-boomer; go on without it if there is none."""
    path = option or Path(os.environ.get(PEER_VARIABLE) or ROOT / ".peer" / "bin" / "python")
    if path.is_file():
        return path
    say(
        f"There is no Python with mlrl-boomer at {path}: measuring ours alone. Name one with "
        f"--peer-python or {PEER_VARIABLE}; benchmarks/README.md tells how to make it."
    )
    return None


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=("yeast", "bibtex"), metavar="NAME")
    parser.add_argument("--rules", type=int, default=5000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--results", type=Path, default=HERE / "results" / "prediction.jsonl")
    parser.add_argument("--peer-python", type=Path, help="a Python that has mlrl-boomer")
    parser.add_argument("--peer-script", type=Path, default=SHARED / "peer" / "run_peer.py")
    parser.add_argument("--data-folder", type=Path, default=SHARED / "data")
    return parser.parse_args()


def main() -> None:
    """Measure all data sets, append the results to a file, print a table."""
    args = parse()
    python = find_peer(args.peer_python)
    measurements = []
    args.results.parent.mkdir(parents=True, exist_ok=True)
    for name in args.data:
        file = args.data_folder / f"{name}.npz"
        peer = None if python is None else Peer(python, args.peer_script, file)
        for measurement in run(load_npz(file), peer, args):
            measurements.append(measurement)
            with args.results.open("a") as results:
                results.write(json.dumps(asdict(measurement)) + "\n")
    print("\n".join(report(measurements, args.threads)))


if __name__ == "__main__":
    main()
