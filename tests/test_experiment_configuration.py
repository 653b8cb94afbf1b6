"""Configurations of experiments: what they mean, and which line is to blame."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from labelboost.experiments.configuration import PRESETS, read_configuration
from labelboost.experiments.measures import MEASURES
from labelboost.experiments.toml_tables import ConfigurationError, line_of_key

DATA = '[[data]]\nembedded = "digits"\n'


def write(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text)
    return path


def test_a_minimal_configuration_means_the_papers_protocol(tmp_path: Path) -> None:
    experiment = read_configuration(write(tmp_path, DATA))
    assert experiment.name == "mine"
    assert len(experiment.tasks) == 7 * 10
    first = experiment.tasks[0]
    assert (first.source.name, first.variant, first.fold) == ("digits", "label-wise", 0)
    assert first.measures == tuple(MEASURES)
    assert first.settings["n_rules"] == 1000
    assert first.settings["loss"] == "label_logistic"


def test_variants_inherit_and_share_parameters(tmp_path: Path) -> None:
    text = f"""
n_rules = 50
folds = 3
variants = ["none", "slow.one", "slow and exact"]
[parameters]
l2 = 4.0
[variant."slow.one"]
base = "0.04"
learning_rate = 0.1
[variant."slow and exact"]
base = "slow.one"
label_bin_aggregation = "exact"
feature_bins = "none"
{DATA}run_folds = [2, 0]
"""
    tasks = read_configuration(write(tmp_path, text)).tasks
    assert [(task.variant, task.fold) for task in tasks[:4]] == [
        ("none", 2),
        ("slow.one", 2),
        ("slow and exact", 2),
        ("none", 0),
    ]
    settings = tasks[2].settings
    assert settings["label_bins"] == 0.04
    assert settings["learning_rate"] == 0.1
    assert settings["l2"] == 4.0
    assert settings["label_bin_aggregation"] == "exact"
    assert settings["feature_bins"] is None
    assert tasks[0].settings["label_bins"] is None
    assert tasks[0].checkpoints == ()


def test_checkpoints_stop_before_the_last_rule(tmp_path: Path) -> None:
    text = "n_rules = 200\ncheckpoints = [500, 100, 200, 50]\n" + DATA
    assert read_configuration(write(tmp_path, text)).tasks[0].checkpoints == (50, 100)


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_are_valid(preset: str, tmp_path: Path) -> None:
    names = "medical medical-corrected enron langlog slashdot birds eukaryote-go yeast bibtex"
    names += " yahoo-science yahoo-reference reuters-k500 flags emotions"
    for name in names.split():
        (tmp_path / f"{name}.npz").touch()
    experiment = read_configuration(preset, data_folder=tmp_path)
    assert experiment.name == preset
    sizes = {"paper": 7 * (10 * 10 + 2 * 3), "quick": 7 * 3 * 2, "comparison": 12 * 3 * 10}
    assert len(experiment.tasks) == sizes[preset]


@pytest.mark.parametrize(
    ("text", "line", "parts"),
    [
        ("n_rule = 5\n" + DATA, 1, ["'n_rule'", "'n_rules'"]),
        ("# x\n\nn_rules = 0\n" + DATA, 3, ["n_rules", "from 1", "0"]),
        ("n_rules = true\n" + DATA, 1, ["n_rules", "True"]),
        ("n_rules = 1.5\n" + DATA, 1, ["n_rules", "1.5"]),
        ("folds = 1\n" + DATA, 1, ["folds", "from 2"]),
        ("seed = -1\n" + DATA, 1, ["seed"]),
        ("name = 3\n" + DATA, 1, ["name must be a text", "3"]),
        ("folds = 3\nrun_folds = [0,\n  3]\n" + DATA, 3, ["run_folds", "from 0 to 2", "3"]),
        ("run_folds = [1, 1]\n" + DATA, 1, ["run_folds", "twice"]),
        ("run_folds = []\n" + DATA, 1, ["run_folds", "list"]),
        ('measures = ["hamming"]\nvariants = ["0.4"]\n' + DATA, 2, ["variant '0.4'", "'0.04'"]),
        (
            'variants = [\n  "none", # the "first"\n  "label-wis",\n]\n' + DATA,
            3,
            ["'label-wis'", "'label-wise'"],
        ),
        ('variants = ["none", "none"]\n' + DATA, 1, ["'none'", "twice"]),
        ("variants = 3\n" + DATA, 1, ["variants", "list of names"]),
        ('measures = ["subset01"]\n' + DATA, 1, ["measure 'subset01'", "'subset_01'"]),
        ("[parameters]\nlearning_rates = 1\n" + DATA, 2, ["'learning_rates'", "'learning_rate'"]),
        ("[parameters]\nlearning_rate = -1.0\n" + DATA, 2, ["learning_rate", "-1.0"]),
        ("[parameters]\nn_jobs = 2\n" + DATA, 2, ["'n_jobs'"]),
        ('[variant.a]\nl2 = "big"\n' + DATA, 2, ["l2", "'big'"]),
        ('[variant.a]\nbase = "nona"\n' + DATA, 2, ["'nona'", "'none'"]),
        ("[variant.a]\nbasis = 1\n" + DATA, 2, ["'basis'", "'base'"]),
        ("[variant]\na = 1\n" + DATA, 2, ["a must be a table"]),
        ('[variant."a/b"]\nl2 = 1.0\n' + DATA, 1, ["'a/b'"]),
        ('[variant."../b"]\nl2 = 1.0\n' + DATA, 1, ["'../b'"]),
        ("folds = 3\n", 0, ["[[data]]"]),
        ("data = 3\n", 1, ["[[data]]"]),
        ("[[data]]\nrun_folds = [1]\n", 1, ["`path` or `embedded`"]),
        ('[[data]]\nembedded = "digit"\n', 2, ["'digit'", "'digits'"]),
        (DATA + '[[data]]\nembedded = "digits"\n', 3, ["another data set 'digits'"]),
        (DATA + '[[data]]\npath = "yest.npz"\n', 4, ["yest.npz", "'yeast.npz'", "--data-folder"]),
        ('[[data]]\npath = "mine.toml"\n', 2, [".toml", ".npz"]),
        ('[[data]]\npath = "yeast.npz"\nlabels = 1.5\n', 3, ["labels", "1.5"]),
        ('[[data]]\npath = "yeast.npz"\nlabels = []\n', 3, ["labels", "[]"]),
        ('[[data]]\nembedded = "digits"\nlabels = 3\n', 3, ["its own labels"]),
        ('[[data]]\npath = "yeast.npz"\nname = "a/b"\n', 3, ["'a/b'"]),
        ('[[data]]\nembedded = "digits"\nname = "d"\n', 3, ["its own name"]),
        ('[[data]]\npathe = "yeast.npz"\n', 2, ["'pathe'", "'path'"]),
        (DATA + "run_folds = [10]\n", 3, ["run_folds", "from 0 to 9"]),
    ],
)
def test_errors_name_the_line_and_the_remedy(
    tmp_path: Path, text: str, line: int, parts: list[str]
) -> None:
    (tmp_path / "yeast.npz").touch()
    path = write(tmp_path, text)
    with pytest.raises(ConfigurationError) as caught:
        read_configuration(path)
    message = str(caught.value)
    assert message.startswith(f"{path}, line {line}: " if line else f"{path}: ")
    assert "\n" not in message
    for part in parts:
        assert part in message


def test_syntax_errors_keep_the_parsers_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="line 2"):
        read_configuration(write(tmp_path, "folds = 3\nname = = 1\n"))


def test_files_that_are_not_there_or_not_text(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="did you mean 'quick'"):
        read_configuration("quik")
    path = tmp_path / "a.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigurationError, match="UTF-8"):
        read_configuration(path)
    with pytest.raises(FileNotFoundError):
        read_configuration(tmp_path)


def test_random_text_is_refused_or_read(tmp_path: Path) -> None:
    """Mutations of a valid file never fail in another way than with a clear error."""
    generator = np.random.default_rng(1)
    valid = 'name = "x"\nfolds = 2\nvariants = ["none"]\n[parameters]\nl2 = 1.0\n' + DATA
    for _ in range(300):
        letters = list(valid)
        for _ in range(generator.integers(1, 4)):
            place = generator.integers(len(letters))
            letters[place] = str(generator.choice(list('[]="#.\n1a')))
        path = write(tmp_path, "".join(letters))
        try:
            read_configuration(path)
        except ConfigurationError as error:
            message = str(error)
        else:
            message = ""
        assert not message or str(path) in message


def test_only_a_part_of_the_data(tmp_path: Path) -> None:
    text = "folds = 2\n" + DATA + '[[data]]\nembedded = "synthetic"\n'
    experiment = read_configuration(write(tmp_path, text))
    part = experiment.only(["synthetic"])
    assert part.data == ("synthetic",)
    assert len(part.tasks) == 14
    with pytest.raises(ValueError, match="did you mean 'digits'"):
        experiment.only(["digit"])


def test_lines_of_keys() -> None:
    text = 'a = 1\n[x.y]\nb = 2\n"c d" = 3\n[[z]]\nb = 4\n[[z]]\nb = 5\n[q."r.s"]\nb = 6\n'
    assert line_of_key(text, (), "a") == 1
    assert line_of_key(text, ("x", "y"), "b") == 3
    assert line_of_key(text, ("x", "y"), "c d") == 4
    assert line_of_key(text, ("z", "1"), "b") == 8
    assert line_of_key(text, ("z", "1"), "nothing") == 7
    assert line_of_key(text, ("q", "r.s"), "b") == 10
    assert line_of_key(text, (), "x") == 2
    assert line_of_key(text, (), "nothing") == 0
