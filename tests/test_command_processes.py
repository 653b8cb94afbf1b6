"""The command as a process: streams, pipes, signals, terminals and shells."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from labelboost.cli import app
from labelboost.data import Dataset, make_multilabel, save_dataset

COMMAND = [sys.executable, "-m", "labelboost.cli"]


@pytest.fixture(scope="module")
def data() -> Dataset:
    return make_multilabel(100, 5, 3, random_state=1)


@pytest.fixture
def folder(tmp_path: Path, data: Dataset) -> Path:
    save_dataset(data, tmp_path / "data.csv")
    return tmp_path


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, data: Dataset) -> Path:
    folder = tmp_path_factory.mktemp("model")
    save_dataset(data, folder / "data.csv")
    ran = run("train", folder / "data.csv", "-m", folder / "m.json.gz", "--n-rules", 300)
    assert ran.returncode == 0, ran.stderr
    return folder / "m.json.gz"


def run(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        **options,
    )


def test_exit_codes_and_streams(folder: Path, model: Path) -> None:
    text = (folder / "data.csv").read_text()
    piped = run("predict", "-", "--format", "csv", "-m", model, "--names", input=text)
    assert (piped.returncode, piped.stderr) == (0, "")
    assert len(piped.stdout.splitlines()) == 101
    failed = run("predict", "no.csv", "-m", model, cwd=folder)
    assert (failed.returncode, failed.stdout) == (1, "")
    assert failed.stderr == 'error: there is no data set at no.csv; did you mean "data.csv"?\n'
    misused = run("predict", cwd=folder)
    assert (misused.returncode, misused.stdout) == (2, "")
    assert "Missing argument" in misused.stderr


def test_output_does_not_depend_on_the_locale(folder: Path) -> None:
    (folder / "odd.csv").write_text("x,größe ✓\n1,0\n2,1\n", encoding="utf-8")
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    options: dict[str, Any] = {"cwd": folder, "env": environment}
    trained = run("train", "odd.csv", "--labels", -1, "-m", "m.json.gz", "--n-rules", 2, **options)
    assert trained.returncode == 0, trained.stderr
    predicted = run("predict", "odd.csv", "-m", "m.json.gz", encoding="utf-8", **options)
    assert predicted.stdout.startswith("example,größe ✓\n")


def test_a_reader_that_goes_away_is_no_error(model: Path) -> None:
    arguments = ["rules", str(model), "--json"]
    process = subprocess.Popen(
        [*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(timeout=120) == 141


def test_interruption_leaves_nothing_behind(folder: Path) -> None:
    rows = (folder / "data.csv").read_bytes()
    header, _, body = rows.partition(b"\n")
    arguments = (
        "train - --format csv --labels -3 -m new.json.gz --n-rules 10000000 --learning-rate 0.001"
    )
    process = subprocess.Popen(
        [*COMMAND, *arguments.split()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
    )
    assert process.stdin is not None
    # More than a pipe holds: once all is written, the command is at work.
    process.stdin.write(header + b"\n" + body * 40)
    process.stdin.close()
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdout, process.stderr:
        assert process.stdout.read() == b""
        assert process.stderr.read() == b"interrupted\n"
    assert process.wait(timeout=120) == 130
    assert sorted(path.name for path in folder.iterdir()) == ["data.csv", "data.xml"]


@pytest.mark.parametrize("quiet", [False, True])
def test_progress_is_shown_on_terminals(folder: Path, quiet: bool) -> None:
    terminal, side = pty.openpty()
    arguments = ["train", "data.csv", "-m", "m.json.gz", "--n-rules", "50", "--json"]
    process = subprocess.Popen(
        [*COMMAND, *arguments, *(["--quiet"] if quiet else [])],
        stdout=subprocess.PIPE,
        stderr=side,
        cwd=folder,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "120"},
    )
    os.close(side)
    shown = b""
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:  # all ends are closed
            break
        if not part:
            break
        shown += part
    os.close(terminal)
    assert process.stdout is not None
    with process.stdout:
        assert json.loads(process.stdout.read())["rules"] == 50
    assert process.wait(timeout=120) == 0
    assert (b"boosting" in shown) is not quiet
    assert quiet is (shown == b"")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("labelboost tr", {"train"}),
        ("labelboost train --label-bin", {"--label-bins", "--label-bin-aggregation"}),
        ("labelboost train --loss lab", {"label_logistic", "labelset_softmax"}),
        ("labelboost train --format ar", {"arff"}),
        ("labelboost train --estimator ru", {"rules"}),
        ("labelboost evaluate --measure ham", {"hamming"}),
        ("labelboost rules --sort c", {"coverage"}),
    ],
)
def test_shells_complete_commands_options_and_values(words: str, expected: set[str]) -> None:
    asked = {
        "_LABELBOOST_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    completed = CliRunner().invoke(app, [], prog_name="labelboost", env=asked)
    assert set(completed.stdout.split()) == expected
