"""Running experiments: results are complete, resumable, and never lost or doubled."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Iterable
from io import StringIO
from pathlib import Path
from typing import Any

import distributed
import numpy as np
import pytest
from rich.console import Console
from sklearn.model_selection import KFold
from typer.testing import CliRunner

from labelboost import RuleBoostingClassifier
from labelboost.cli import app
from labelboost.data import load_digits_display, save_dataset
from labelboost.experiments import cluster
from labelboost.experiments.configuration import Experiment, read_configuration
from labelboost.experiments.display import Display
from labelboost.experiments.executors import Event, Finished, LocalProcesses, Started
from labelboost.experiments.measures import MEASURES, Predictions, compute_measures
from labelboost.experiments.records import (
    Failure,
    read_record,
    read_records,
    read_results,
    write_record,
)
from labelboost.experiments.runner import run_experiment
from labelboost.experiments.tasks import Task, run_safely, run_task

SMALL = """
n_rules = 12
folds = 2
checkpoints = [5, 10]
measures = ["subset_01", "hamming"]
variants = ["none", "label-wise"]
[[data]]
embedded = "digits"
"""


class Silent:
    """Listens to nothing."""

    def begin(self, tasks: list[Task], done: int) -> None: ...

    def tell(self, event: Event) -> None: ...


class InThisProcess:
    """Runs tasks one by one, here."""

    n_workers = 1

    def __init__(self, stop_after: int | None = None) -> None:
        self.started: list[Task] = []
        self._stop_after = stop_after

    def run(self, tasks: Iterable[Task]) -> Generator[Event, None, None]:
        for number, task in enumerate(tasks):
            if number == self._stop_after:
                raise KeyboardInterrupt
            self.started.append(task)
            yield Started(task)
            yield Finished(task, run_safely(task))


def experiment_of(folder: Path, text: str = SMALL) -> Experiment:
    path = folder / "small.toml"
    path.write_text(text)
    return read_configuration(path)


def files_below(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("fold-*.json")}


def test_a_result_tells_everything(tmp_path: Path) -> None:
    experiment = experiment_of(tmp_path, SMALL.replace("measures", "# measures"))
    run_experiment(experiment, tmp_path / "out", LocalProcesses(2), Silent())
    results = read_results(tmp_path / "out")
    assert len(results) == 4
    result = next(r for r in results if r.variant == "none" and r.fold == 1)
    assert result.settings["label_bins"] is None
    assert result.n_rules == 12
    assert result.n_conditions >= 11
    assert [point.n_rules for point in result.checkpoints] == [5, 10, 12]
    assert set(result.measures) == set(MEASURES)
    seconds = result.seconds
    parts = seconds.candidate_evaluation + seconds.summing_statistics + seconds.everything_else
    assert parts == pytest.approx(seconds.train, rel=1e-4)
    assert 0.0 < result.checkpoints[0].train_seconds < result.checkpoints[-1].train_seconds
    assert result.checkpoints[-1].train_seconds <= seconds.train
    assert seconds.predict > 0.0
    assert result.peak_memory_mb > 0.0
    assert result.versions["labelboost"]
    assert result.machine["instruction_set"] in ("portable", "avx2", "avx512")

    data = load_digits_display()
    train, test = list(KFold(2, shuffle=True, random_state=1).split(data.X))[1]
    model = RuleBoostingClassifier(n_rules=12, label_bins=None, random_state=1)
    model.fit(data.X[train], data.Y[train])
    wrong = model.predict(data.X[test]) != data.Y[test]
    assert result.measures["subset_01"] == pytest.approx(wrong.any(axis=1).mean(), rel=1e-5)
    assert result.measures["hamming"] == pytest.approx(wrong.mean(), rel=1e-5)


def test_a_second_run_does_nothing_again(tmp_path: Path) -> None:
    experiment = experiment_of(tmp_path)
    first = run_experiment(experiment, tmp_path / "out", InThisProcess(), Silent())
    assert (first.done_before, first.done, first.failed) == (0, 4, 0)
    before = files_below(tmp_path / "out")
    executor = InThisProcess()
    second = run_experiment(experiment, tmp_path / "out", executor, Silent())
    assert (second.done_before, second.done) == (4, 0)
    assert executor.started == []
    assert files_below(tmp_path / "out") == before


def test_an_interrupted_run_goes_on(tmp_path: Path) -> None:
    experiment = experiment_of(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        run_experiment(experiment, tmp_path / "out", InThisProcess(stop_after=3), Silent())
    assert len(files_below(tmp_path / "out")) == 3
    executor = InThisProcess()
    run_experiment(experiment, tmp_path / "out", executor, Silent())
    assert [task.name for task in executor.started] == [experiment.tasks[3].name]


def test_a_failing_task_is_recorded_and_the_others_go_on(tmp_path: Path) -> None:
    (tmp_path / "broken.npz").write_bytes(b"PK not an archive")
    text = SMALL.replace("[[data]]", '[[data]]\npath = "broken.npz"\n[[data]]')
    experiment = experiment_of(tmp_path, text)
    outcome = run_experiment(experiment, tmp_path / "out", LocalProcesses(2), Silent())
    assert (outcome.done, outcome.failed) == (4, 4)
    records = read_records(tmp_path / "out")
    failures = [record for record in records if isinstance(record, Failure)]
    assert len(failures) == 4
    assert "broken.npz" in failures[0].error
    assert "Traceback" in failures[0].traceback
    assert len(read_results(tmp_path / "out")) == 4
    again = InThisProcess()
    run_experiment(experiment, tmp_path / "out", again, Silent())
    assert {task.source.name for task in again.started} == {"broken"}


def test_a_process_that_dies_is_a_failure(tmp_path: Path) -> None:
    experiment = experiment_of(tmp_path)

    class Killer(LocalProcesses):
        def _start(self, task: Task) -> Any:
            job = super()._start(task)
            if task is experiment.tasks[1]:
                job.process.kill()
            return job

    outcome = run_experiment(experiment, tmp_path / "out", Killer(2), Silent())
    assert (outcome.done, outcome.failed) == (3, 1)
    (failed,) = [r for r in read_records(tmp_path / "out") if isinstance(r, Failure)]
    assert "killed by signal 9" in failed.error


def test_closing_stops_the_processes(tmp_path: Path) -> None:
    text = SMALL.replace("n_rules = 12", "n_rules = 1000000")
    others = set(multiprocessing.active_children())
    events = LocalProcesses(2).run(experiment_of(tmp_path, text).tasks)
    assert isinstance(next(events), Started)
    assert isinstance(next(events), Started)
    running = set(multiprocessing.active_children()) - others
    assert len(running) == 2
    events.close()
    assert not any(process.is_alive() for process in running)


def test_results_of_other_settings_are_not_mixed(tmp_path: Path) -> None:
    run_experiment(experiment_of(tmp_path), tmp_path / "out", InThisProcess(), Silent())
    for change, said in (
        (("n_rules = 12", "n_rules = 13"), "n_rules is 12, not 13"),
        (("folds = 2", "folds = 3"), "n_folds is 2, not 3"),
        (("[5, 10]", "[5, 7]"), "checkpoint 7"),
        (("variants", "seed = 2\nvariants"), "seed is 1, not 2"),
        (("[[data]]", "[parameters]\nl2 = 2.0\n[[data]]"), "l2 is 1.0, not 2.0"),
    ):
        other = experiment_of(tmp_path, SMALL.replace(*change))
        with pytest.raises(ValueError, match=said):
            run_experiment(other, tmp_path / "out", InThisProcess(), Silent())


def test_two_runs_cannot_share_a_folder(tmp_path: Path) -> None:
    experiment = experiment_of(tmp_path)

    class Second(Silent):
        def tell(self, event: Event) -> None:
            with pytest.raises(ValueError, match="another run"):
                run_experiment(experiment, tmp_path / "out", InThisProcess(), Silent())

    run_experiment(experiment, tmp_path / "out", InThisProcess(), Second())


def test_broken_records_are_named(tmp_path: Path) -> None:
    experiment = experiment_of(tmp_path)
    run_experiment(experiment, tmp_path / "out", InThisProcess(), Silent())
    path = sorted(files_below(tmp_path / "out"))[0]
    whole = path.read_text()
    content = json.loads(whole)
    for text in (
        whole[: len(whole) // 2],
        "[]",
        "{}",
        json.dumps({**content, "format": 99}),
        json.dumps({**content, "checkpoints": []}),
        json.dumps({**content, "surprise": 1}),
        json.dumps({key: value for key, value in content.items() if key != "n_rules"}),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=str(path)):
            read_record(path)
        with pytest.raises(ValueError, match=str(path)):
            run_experiment(experiment, tmp_path / "out", InThisProcess(), Silent())
    with pytest.raises(ValueError, match="no results"):
        read_results(tmp_path / "elsewhere")


def test_writing_leaves_nothing_half(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment = experiment_of(tmp_path)
    record = run_safely(experiment.tasks[0])
    path = tmp_path / "a" / "fold-0.json"
    write_record(path, record)
    before = path.read_text()

    def no_space(_: int) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(OSError, match="no space"):
        write_record(path, record)
    assert path.read_text() == before
    assert list(path.parent.iterdir()) == [path]


def wait_for_results(folder: Path, count: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 120.0
    while len(files_below(folder)) < count:
        assert process.poll() is None, "the run ended too early"
        assert time.monotonic() < deadline, "the run is too slow"
        time.sleep(0.02)


def test_a_killed_run_resumes_without_losing_or_repeating(tmp_path: Path) -> None:
    text = SMALL.replace("folds = 2", "folds = 12").replace("n_rules = 12", "n_rules = 40")
    configuration = tmp_path / "small.toml"
    configuration.write_text(text)
    folder = tmp_path / "out"
    command = [sys.executable, "-m", "labelboost.cli", "experiment", "run", str(configuration)]
    command += ["--results", str(folder), "--jobs", "2"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for_results(folder, 5, process)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    before = files_below(folder)
    assert 5 <= len(before) < 24
    finished = subprocess.run(command, capture_output=True, check=True, timeout=300)
    after = files_below(folder)
    assert len(after) == 24
    assert before.items() <= after.items()  # not even touched
    assert f"{len(before)} tasks have been done before".encode() in finished.stderr
    assert b"24 of 24 tasks done" in finished.stdout
    assert not list(folder.rglob(".fold-*")), "temporary files are left"


def test_children_die_with_a_killed_parent(tmp_path: Path) -> None:
    text = SMALL.replace("n_rules = 12", "n_rules = 1000000")
    configuration = tmp_path / "small.toml"
    configuration.write_text(text)
    script = (
        "import multiprocessing, sys, time\n"
        "from labelboost.experiments.configuration import read_configuration\n"
        "from labelboost.experiments.executors import LocalProcesses\n"
        "if __name__ == '__main__':\n"
        "    events = LocalProcesses(1).run(read_configuration(sys.argv[1]).tasks)\n"
        "    next(events)\n"
        "    print(multiprocessing.active_children()[0].pid, flush=True)\n"
        "    time.sleep(600)\n"
    )
    program = tmp_path / "program.py"
    program.write_text(script)
    parent = subprocess.Popen(
        [sys.executable, str(program), str(configuration)], stdout=subprocess.PIPE
    )
    try:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
    finally:
        parent.kill()
        parent.wait()
        if parent.stdout is not None:
            parent.stdout.close()
    deadline = time.monotonic() + 60.0
    while _alive(child):
        assert time.monotonic() < deadline, "the child lives on"
        time.sleep(0.05)


def _alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_measures_by_hand() -> None:
    truth = np.array([[1, 0, 1], [0, 0, 0], [0, 1, 0], [1, 1, 0]], dtype=np.uint8)
    label_sets = np.array([[1, 0, 1], [0, 0, 0], [1, 0, 0], [1, 0, 0]], dtype=np.int8)
    scores = np.array([[3.0, -1, 2], [-1, -2, -3], [1, 0.5, -1], [2, -1, -2]])
    probabilities = np.full((4, 3), 0.5)
    values = compute_measures(
        tuple(MEASURES), Predictions(truth, label_sets, scores, probabilities)
    )
    assert values["subset_01"] == pytest.approx(2 / 4)
    assert values["hamming"] == pytest.approx(3 / 12)
    assert values["f1_micro"] == pytest.approx(2 * 3 / (2 * 3 + 1 + 2))
    assert values["f1_macro"] == pytest.approx((4 / 5 + 0 + 1) / 3)
    assert values["f1_example"] == pytest.approx((1 + 1 + 0 + 2 / 3) / 4)
    assert values["jaccard"] == pytest.approx((1 + 1 + 0 + 1 / 2) / 4)
    assert values["ranking_loss"] == pytest.approx((0 + 0 + 1 / 2 + 0) / 4)
    assert values["coverage"] == pytest.approx((2 + 0 + 2 + 2) / 4)
    assert values["one_error"] == pytest.approx(2 / 4)
    assert values["average_precision"] == pytest.approx((1 + 1 + 1 / 2 + 1) / 4)
    assert values["log_loss"] == pytest.approx(np.log(2))


def test_the_last_label_may_be_certain() -> None:
    """Probabilities of exactly 0 and 1 give a large log loss, not an infinite one."""
    truth = np.array([[1, 0]], dtype=np.uint8)
    value = MEASURES["log_loss"].compute(
        Predictions(truth, truth, np.zeros((1, 2)), np.array([[0.0, 1.0]]))
    )
    assert 10.0 < value < np.inf


def test_training_that_ends_early_is_a_result(tmp_path: Path) -> None:
    text = SMALL.replace("n_rules = 12", "n_rules = 4000")
    text += "[parameters]\nmin_coverage = 1700\nbootstrap = false\nmax_features = 3\n"
    task = experiment_of(tmp_path, text).tasks[0]
    result = run_task(task)
    assert result.n_rules < 4000
    assert result.checkpoints[-1].n_rules == result.n_rules


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    """A CSV file with label columns, from the configuration to the result."""
    data = load_digits_display()
    save_dataset(data, tmp_path / "mine.csv.gz")
    source = 'path = "mine.csv.gz"\nlabels = -7'
    task = experiment_of(tmp_path, SMALL.replace('embedded = "digits"', source)).tasks[0]
    result, embedded = run_task(task), run_task(experiment_of(tmp_path).tasks[0])
    assert result.data == "mine"
    assert result.n_labels == 7
    assert result.measures == embedded.measures
    names = ", ".join(f'"{name}"' for name in data.label_names)
    source = f'path = "mine.csv.gz"\nlabels = [{names}]'
    task = experiment_of(tmp_path, SMALL.replace('embedded = "digits"', source)).tasks[0]
    assert run_task(task).measures == embedded.measures


def test_the_display_tells_what_is_left(tmp_path: Path) -> None:
    experiment = experiment_of(tmp_path)
    output = StringIO()
    display = Display(Console(file=output, force_terminal=True, width=100), n_workers=1)
    with display:
        display.begin(list(experiment.tasks), done=3)
        assert display.seconds_left() is None
        run_experiment(experiment, tmp_path / "out", InThisProcess(stop_after=None), display)
        assert display.seconds_left() == 0.0
    text = output.getvalue()
    assert "4 of 4 tasks done" in text
    assert "0 failed" in text

    output = StringIO()
    with Display(Console(file=output), n_workers=1) as plain:
        run_experiment(experiment, tmp_path / "out", InThisProcess(), plain)
        run_experiment(experiment, tmp_path / "again", InThisProcess(), plain)
    lines = output.getvalue().splitlines()
    assert lines[0].startswith("4 tasks have been done before")
    assert "digits, none, fold 0: 12 rules in" in lines[1]


def test_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    experiment_of(tmp_path)
    runner = CliRunner()
    done = runner.invoke(app, ["experiment", "run", "small.toml", "--jobs", "2"])
    assert done.exit_code == 0, done.output
    assert "4 of 4 tasks done" in done.output
    assert len(files_below(tmp_path / "experiments" / "small")) == 4
    quiet = runner.invoke(app, ["experiment", "run", "small.toml", "--quiet"])
    assert (quiet.exit_code, quiet.output) == (0, "")
    for arguments, said in (
        (["nothing.toml"], "no configuration"),
        (["small.toml", "--data", "digit"], "did you mean 'digits'"),
        (["small.toml", "--scheduler", "tcp://127.0.0.1:1"], "no Dask scheduler"),
        (["paper", "--data-folder", "."], "medical.npz"),
    ):
        wrong = runner.invoke(app, ["experiment", "run", *arguments])
        assert wrong.exit_code == 1, wrong.output
        assert said in wrong.output
        assert len(wrong.output.strip().splitlines()) == 1
        assert "Traceback" not in wrong.output
    assert runner.invoke(app, ["experiment", "run"]).exit_code == 2


def test_a_failed_task_makes_the_command_fail(tmp_path: Path) -> None:
    (tmp_path / "broken.npz").write_bytes(b"nothing")
    text = SMALL.replace('embedded = "digits"', 'path = "broken.npz"')
    experiment_of(tmp_path, text)
    arguments = [str(tmp_path / "small.toml"), "--results", str(tmp_path / "out")]
    outcome = CliRunner().invoke(app, ["experiment", "run", *arguments])
    assert outcome.exit_code == 1
    assert "4 tasks failed" in outcome.output


def test_without_dask_the_option_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Any:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(cluster, "import_module", absent)
    with pytest.raises(ImportError, match=r"pip install 'labelboost\[dask\]'"):
        cluster.DaskCluster("tcp://127.0.0.1:8786")


@pytest.mark.filterwarnings("default")
def test_a_cluster_survives_the_death_of_a_worker(tmp_path: Path) -> None:
    text = SMALL.replace("folds = 2", "folds = 10").replace("n_rules = 12", "n_rules = 300")
    experiment = experiment_of(tmp_path, text)
    stored: list[str] = []
    running: set[Task] = set()

    class KillOneWorker(Silent):
        def tell(self, event: Event) -> None:
            if isinstance(event, Started):
                running.add(event.task)
                assert len(running) <= 3, "more than the workers can take, and one out of turn"
            else:
                running.remove(event.task)
                stored.append(event.task.name)
                if len(stored) == 3:
                    worker = next(iter(local.workers.values()))
                    os.kill(worker.pid, signal.SIGKILL)

    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as local:
        executor = cluster.DaskCluster(local.scheduler_address)
        assert executor.n_workers == 2
        outcome = run_experiment(experiment, tmp_path / "out", executor, KillOneWorker())
    assert (outcome.done, outcome.failed) == (20, 0)
    assert not running
    assert sorted(stored) == sorted({task.name for task in experiment.tasks})
    results = read_results(tmp_path / "out")
    assert len(results) == 20
    here = run_task(experiment.tasks[0])
    there = next(r for r in results if (r.variant, r.fold) == (here.variant, here.fold))
    assert there.measures == here.measures
