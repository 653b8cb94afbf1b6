"""The training loop: Ctrl-C ends it soon and harms nothing, progress is shown on terminals only."""

from __future__ import annotations

import gc
import os
import re
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from labelboost import RuleBoostingClassifier, boosting
from labelboost.boosting import Boosted, boost
from labelboost.data.synthetic import make_multilabel
from labelboost.model import Condition, Rule

PROBLEMS = {
    "many rules": "X, Y = data(3000, 20, 20)\nparameters = dict(n_rules=10**6)",
    "one long rule": "X, Y = data(40000, 30, 200)\nparameters = dict(n_rules=2)",
    "label-wise": (
        "X, Y = data(100000, 10, 20)\nparameters = dict(n_rules=10**6, loss='label_logistic')"
    ),
    "few distinct values": (
        "X, Y = data(30000, 2, 700)\nX = np.round(X)\nparameters = dict(n_rules=10**6)"
    ),
    "one large system": "X, Y = data(30, 2, 4000)\nparameters = dict(n_rules=10**6)",
}
"""Each takes much longer than ten seconds, in whatever step of the algorithm the name says."""

FITTING = """
import signal, sys, time
import numpy as np
from labelboost import RuleBoostingClassifier

signal.signal(signal.SIGINT, signal.default_int_handler)
rng = np.random.default_rng(0)

def data(n_examples, n_features, n_labels):
    return rng.random((n_examples, n_features)), rng.random((n_examples, n_labels)) < 0.2

{problem}
small_X, small_Y = data(100, 4, 3)
small = dict(n_rules=20, random_state=0, n_jobs={n_jobs}, label_bins=None, max_features=None)
model = RuleBoostingClassifier(**small).fit(small_X, small_Y)
fitted, scores = dict(vars(model)), model.decision_function(small_X)
model.set_params(**parameters)

print("started", flush=True)
try:
    model.fit(X, Y)
except KeyboardInterrupt:
    ended = time.monotonic()
else:
    sys.exit("training ended before it was interrupted")

model.set_params(**RuleBoostingClassifier(**small).get_params())
assert vars(model) == fitted
assert np.array_equal(model.decision_function(small_X), scores)
model.fit(small_X, small_Y)
assert model.rules_ is not fitted["rules_"]
assert np.array_equal(model.decision_function(small_X), scores)
print(ended, flush=True)
"""

PREDICTING = """
import signal, sys, time
import numpy as np
from labelboost import RuleBoostingClassifier
from labelboost.model import pack_rules

signal.signal(signal.SIGINT, signal.default_int_handler)
rng = np.random.default_rng(0)
X = rng.random((10**6, 4))
parameters = dict(loss="label_logistic", learning_rate=1e-3, min_coverage=10, random_state=0)
model = RuleBoostingClassifier(n_rules=3000, n_jobs={n_jobs}, **parameters)
model.fit(X[:200], rng.random((200, 2)) < 0.5)
model._ensemble = pack_rules(50 * model.rules_, 4, 2)  # which takes long
scores = model.decision_function(X[:100])

print("started", flush=True)
try:
    model.predict(X)
except KeyboardInterrupt:
    ended = time.monotonic()
else:
    sys.exit("prediction ended before it was interrupted")
assert np.array_equal(model.decision_function(X[:100]), scores)
print(ended, flush=True)
"""


def seconds_until_interrupted(program: str, after: float = 0.7) -> float:
    """Run a program that prints "started", interrupt it, and take the time until it noticed."""
    with subprocess.Popen(
        [sys.executable, "-W", "error", "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "started\n", child.communicate()[1]
            time.sleep(after)
            sent = time.monotonic()
            child.send_signal(signal.SIGINT)
            output, errors = child.communicate(timeout=60)
        finally:
            child.kill()
    assert (child.returncode, errors) == (0, "")
    return float(output) - sent


@pytest.mark.parametrize(
    ("problem", "n_jobs"),
    [
        *[("many rules", n_jobs) for n_jobs in (1, 2)],
        *[("one long rule", n_jobs) for n_jobs in (1, 2)],
        ("label-wise", 2),
        ("few distinct values", 1),
        ("one large system", 1),
    ],
)
def test_an_interruption_ends_training_within_a_second(problem: str, n_jobs: int) -> None:
    program = FITTING.format(problem=PROBLEMS[problem], n_jobs=n_jobs)
    after = 2.0 if problem == "one large system" else 0.7  # when it is in the midst of that
    assert 0.0 <= seconds_until_interrupted(program, after) < 3.0  # busy machines are slower


def test_an_interruption_ends_prediction_within_a_second() -> None:
    assert 0.0 <= seconds_until_interrupted(PREDICTING.format(n_jobs=2)) < 3.0


class TimeIsUpError(Exception):
    """Raised by a signal handler."""


@pytest.fixture
def alarm() -> Iterator[None]:
    """After 0.3 seconds a signal comes whose handler raises an exception of its own."""
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals are handled by the main thread only")

    def handler(*_: object) -> None:
        raise TimeIsUpError

    # While garbage is collected Hypothesis is called, too, and whatever is raised then is lost.
    gc.disable()
    former = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, former)
    gc.enable()


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.usefixtures("alarm")
def test_exceptions_of_signal_handlers_pass_through(n_jobs: int) -> None:
    data = make_multilabel(2000, 20, 10, random_state=0)
    model = RuleBoostingClassifier(n_rules=20000, n_jobs=n_jobs)
    with pytest.raises(TimeIsUpError):
        model.fit(data.X, data.Y)
    assert vars(model).keys() == model.get_params().keys()  # still unfitted


@pytest.mark.parametrize(
    "step", ["rules.pack_rules", "base.LabelSets.of", "base.boost", "base.check_labels"]
)
@pytest.mark.parametrize("fitted", [False, True])
def test_an_interruption_at_any_step_changes_nothing(
    step: str, fitted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pd = pytest.importorskip("pandas")
    data = make_multilabel(100, 5, 4, random_state=0)
    frame = pd.DataFrame(data.X, columns=data.feature_names)
    model = RuleBoostingClassifier(n_rules=5, random_state=0)
    if fitted:
        model.fit(frame, data.Y)
    before = dict(vars(model))

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(f"labelboost.estimators.{step}", interrupt)
        with pytest.raises(KeyboardInterrupt):
            model.fit(data.X[:, :3], 1 - data.Y)
    assert vars(model) == before
    if fitted:
        other = RuleBoostingClassifier(n_rules=5, random_state=0).fit(frame, data.Y)
        np.testing.assert_array_equal(model.predict_proba(frame), other.predict_proba(frame))


# --- The loop -----------------------------------------------------------------------------------


class Stub:
    """Stands in for the core; `successes` tells which attempts give a rule."""

    def __init__(self, successes: Any) -> None:
        self.successes = successes
        self.attempts: list[int] = []

    def rule(self) -> Rule:
        return Rule((Condition(0, ">", 0.5),), np.array([1.0, -1.0]), 3, 0.1)

    def add_default_rule(self, maker: object) -> Rule:
        return Rule((), np.zeros(2), 9, 0.0)

    def learn_rule(self, attempt: int, maker: object) -> Rule | None:
        self.attempts.append(attempt)
        return self.rule() if attempt in self.successes else None

    def mean_loss(self) -> float:
        return 0.25


def boost_stub(stub: Stub, size: int, randomised: bool, report: Any) -> Boosted[Rule]:
    learner = RuleBoostingClassifier()._learner(stub)  # type: ignore[arg-type]
    how = {"unit": "rules", "default_counts": True, "randomised": randomised, "report": report}
    return boost(stub, learner, size, **how)  # type: ignore[arg-type]


def test_failed_draws_are_repeated() -> None:
    stub = Stub({0, 10, 20, 21})  # nine failures in a row, twice
    reports: list[tuple[int, float]] = []
    boosted = boost_stub(stub, 5, True, lambda *report: reports.append(report))
    rules, times = [boosted.default, *boosted.learned], boosted.times
    assert stub.attempts == list(range(22))
    assert [len(rule.conditions) for rule in rules] == [0, 1, 1, 1, 1]
    assert str(rules[1].conditions[0].operator) == ">"
    assert len(times) == 5
    assert times == sorted(times)
    assert reports[0] == (1, 0.25)
    assert reports[-1] == (5, 0.25)


@pytest.mark.parametrize(("randomised", "attempts"), [(True, 11), (False, 2)])
def test_training_is_given_up_after_failures_in_a_row(randomised: bool, attempts: int) -> None:
    stub = Stub({0})
    with pytest.warns(ConvergenceWarning, match="ended with 2 of 100 rules"):
        boosted = boost_stub(stub, 100, randomised, lambda n_learned, loss: None)
    assert stub.attempts == list(range(attempts))
    assert len(boosted) == 2


# --- Progress -----------------------------------------------------------------------------------


SHOWING = """
import fcntl, signal, termios
signal.signal(signal.SIGINT, signal.default_int_handler)
fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # so that Ctrl-C arrives
from labelboost import RuleBoostingClassifier
from labelboost.data.synthetic import make_multilabel
from labelboost.model import Rule

data = make_multilabel(1000, 20, 5, random_state=0)
model = RuleBoostingClassifier(random_state=0)
model.set_params(n_rules=50).fit(data.X, data.Y)
print("quiet", flush=True)
model.set_params(n_rules={n_rules}, verbose=1).fit(data.X, data.Y)
print("done", flush=True)
"""

LINE = re.compile(r"(\d+)/(\d+) rules, ([\d.]+)/s, loss (\d\.\d{4}), (\d+:\d\d:\d\d|-:--:--) left")


def on_terminal(program: str, press_after: str | None = None) -> str:
    """Run a program on a pseudo terminal; press Ctrl-C once it has shown something."""
    pty = pytest.importorskip("pty")
    termios = pytest.importorskip("termios")
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    variables = {"TERM": "xterm"}
    for name, value in os.environ.items():
        if name not in ("TERM", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
            variables[name] = value
    child = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        env=variables,
    )
    os.close(theirs)
    output = ""
    try:
        while part := read(ours):
            output += part
            if press_after and re.search(press_after, output):
                os.write(ours, b"\x03")
                press_after = None
        child.wait(timeout=30)
    finally:
        child.kill()
        os.close(ours)
    return output


def read(terminal: int) -> str:
    try:
        return os.read(terminal, 4096).decode(errors="replace")
    except OSError:  # the other side is closed
        return ""


def without_control_sequences(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text)


def test_progress_on_a_terminal() -> None:
    output = on_terminal(SHOWING.format(n_rules=1500))
    quiet, shown = output.split("quiet\r\n")
    assert quiet == ""
    assert shown.endswith("done\r\n")
    assert "\x1b[?25h" in shown  # the cursor is back
    states = LINE.findall(without_control_sequences(shown))
    rules = [int(state[0]) for state in states]
    assert rules == sorted(rules)
    assert rules[-1] == 1500
    assert len(set(rules)) > 2
    assert {state[1] for state in states} == {"1500"}
    assert float(states[-1][2]) > 0
    losses = [float(state[3]) for state in states]
    assert losses[0] > 1.2 * losses[-1] > 0
    assert "-:--:--" not in states[-1]


def test_ctrl_c_on_a_terminal() -> None:
    output = on_terminal(SHOWING.format(n_rules=30000), press_after=r"loss 0\.[^,]*, .*left")
    assert "KeyboardInterrupt" in output
    assert "done" not in output
    assert output.rindex("\x1b[?25h") > output.rindex("\x1b[?25l")  # the cursor is back


@pytest.mark.parametrize("verbose", [0, 1, 2, True])
@pytest.mark.parametrize("force", [None, "FORCE_COLOR", "TTY_COMPATIBLE", "CLICOLOR_FORCE"])
def test_nothing_is_printed_without_a_terminal(
    verbose: int, force: str | None, capfd: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if force is not None:
        monkeypatch.setenv(force, "1")
    data = make_multilabel(200, 5, 3, random_state=0)
    model = RuleBoostingClassifier(n_rules=20, random_state=0, verbose=verbose)
    model.fit(data.X, data.Y)
    model.predict(data.X)
    assert capfd.readouterr() == ("", "")


def test_progress_without_standard_error(monkeypatch: pytest.MonkeyPatch) -> None:
    data = make_multilabel(50, 5, 3, random_state=0)
    monkeypatch.setattr(sys, "stderr", None)  # as in programs without a console
    RuleBoostingClassifier(n_rules=3, random_state=0, verbose=1).fit(data.X, data.Y)


@pytest.mark.parametrize(("rules", "seconds", "shown"), [(500, 2.0, "250"), (3, 8.0, "0.38")])
def test_slow_training_does_not_seem_to_stand_still(
    rules: int, seconds: float, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    console = boosting.Console(file=open(os.devnull, "w"), force_terminal=True)  # noqa: SIM115
    bar = boosting._Bar(console, 1000, "rules")
    # The clock of this module only, not that of the whole process.
    clock = SimpleNamespace(monotonic=lambda: bar._start + seconds)
    monkeypatch.setattr(boosting, "time", clock)
    with bar as report:
        report(rules, 0.5)
        assert bar._progress.tasks[0].fields["rate"] == shown
    console.file.close()


def test_the_warning_about_an_early_end_survives_the_progress_bar() -> None:
    X = np.zeros((10, 2))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        RuleBoostingClassifier(n_rules=10, verbose=1).fit(X, np.eye(10, 2, dtype=int))
    assert [warning.category for warning in caught] == [ConvergenceWarning]
