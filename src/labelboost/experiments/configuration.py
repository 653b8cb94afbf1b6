"""Configurations of experiments: TOML files, checked as a whole before anything is trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from labelboost.data.files import locate
from labelboost.experiments.limits import Limits
from labelboost.experiments.measures import MEASURES
from labelboost.experiments.methods import METHODS, OURS, RULES
from labelboost.experiments.tasks import EMBEDDED, Source, Task
from labelboost.experiments.toml_tables import ConfigurationError, Table, nearest
from labelboost.experiments.variants import BUILT_IN, PAPER, Variant
from labelboost.parameters import is_integer

PRESETS = ("paper", "quick", "comparison")
DEFAULT_RULES = 1000
DEFAULT_FOLDS = 10
DEFAULT_CHECKPOINTS = (100, 200, 500, 1000, 2000, 5000)
DEFAULT_SEED = 1
LARGEST_SEED = 2**32 - 1
LARGEST_COUNT = 2**31 - 1
SAID_OF_VARIANTS = ("base", "estimator")
"""Keys of a variant that are no parameters."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """A checked configuration."""

    name: str
    tasks: tuple[Task, ...]
    """In the order in which they are started: by data set, fold and variant."""
    data: tuple[str, ...]

    def only(self, data: Sequence[str]) -> Experiment:
        """Return the part of the experiment that uses these data sets."""
        for name in data:
            if name not in self.data:
                raise ValueError(f"unknown data {name!r}{nearest(name, self.data)}")
        tasks = tuple(task for task in self.tasks if task.source.name in data)
        return replace(self, tasks=tasks, data=tuple(name for name in self.data if name in data))


def read_configuration(path: str | Path, data_folder: Path | None = None) -> Experiment:
    """Read a TOML file, or one of the presets "paper", "quick" and "comparison".

    Relative paths of data start at `data_folder`, or else at the folder of the file. Raises
    ConfigurationError, or FileNotFoundError if there is no such file.
    """
    file = Path(path)
    if str(path) in PRESETS and not file.is_file():
        text = (files("labelboost.experiments") / "presets" / f"{path}.toml").read_text("utf-8")
        return _experiment(Table.parse(text, f"preset {path}"), data_folder or Path())
    if not file.is_file():
        hint = nearest(str(path), PRESETS)
        raise FileNotFoundError(f"there is no configuration file or preset {str(path)!r}{hint}")
    try:
        text = file.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{file} is not a text file in UTF-8: {error}") from error
    return _experiment(Table.parse(text, str(file)), data_folder or file.parent)


def _experiment(top: Table, folder: Path) -> Experiment:
    general = ("name", "seed", "n_rules", "folds", "run_folds", "checkpoints", "measures")
    limits = ("time_limit", "memory_limit")
    top.check_keys((*general, *limits, "variants", "parameters", "variant", "data"))
    n_rules = top.integer("n_rules", DEFAULT_RULES, 1, LARGEST_COUNT)
    n_folds = top.integer("folds", DEFAULT_FOLDS, 2, LARGEST_COUNT)
    seed = top.integer("seed", DEFAULT_SEED, 0, LARGEST_SEED)
    run_folds = top.integers("run_folds", range(n_folds), 0, n_folds - 1)
    checkpoints = top.integers("checkpoints", DEFAULT_CHECKPOINTS, 1, LARGEST_COUNT)
    measures = top.names("measures", "measure", tuple(MEASURES), tuple(MEASURES))
    limit = Limits(*(_limit(top, key) for key in limits))
    variants = _variants(top, n_rules, seed)
    sources: dict[Source, tuple[int, ...]] = {}
    for table in top.tables("data"):
        source = _source(table, folder)
        if any(source.name == other.name for other in sources):
            table.fail(f"there is another data set {source.name!r}; give this one a `name`")
        sources[source] = table.integers("run_folds", run_folds, 0, n_folds - 1)
    if not sources:
        top.fail("there must be data: at least one table [[data]]", "data")
    tasks = tuple(
        Task(source, variant.name, fold, n_folds, seed, variant.parameters,
             _checkpoints(checkpoints, variant), measures, variant.estimator, limit)
        for source, folds in sources.items()
        for fold in folds
        for variant in variants
    )  # fmt: skip
    return Experiment(
        name=top.text("name", Path(top.file).stem),
        tasks=tasks,
        data=tuple(source.name for source in sources),
    )


def _limit(top: Table, key: str) -> int | None:
    return top.integer(key, 0, 1, LARGEST_COUNT) if key in top else None


def _checkpoints(wanted: Sequence[int], variant: Variant) -> tuple[int, ...]:
    """Those before the end; only our own models have stages."""
    if variant.estimator not in OURS:
        return ()
    size = variant.parameters[OURS[variant.estimator].size]
    return tuple(sorted(n for n in wanted if not is_integer(size) or n < size))


def _variants(top: Table, n_rules: int, seed: int) -> list[Variant]:
    """Return the variants to be run, with all their settings."""
    shared = top.table("parameters")
    own = top.table("variant")
    known = dict(BUILT_IN)
    tables = dict.fromkeys(known, shared)
    for name in own.content:
        table = tables[name] = own.table(name)
        _check_folder_name(name, own, name)
        known[name] = _own_variant(name, table, known)
    chosen = top.names("variants", "variant", tuple(known), tuple(own.content) or tuple(PAPER))
    ours = {known[name].estimator for name in chosen if known[name].estimator in OURS}
    shared.check_keys(
        # How many rules there are is said at the top.
        key
        for name in sorted(ours)
        for key in METHODS[name].parameter_names()
        if key != "n_rules"
    )
    return [_complete(known[name], shared, tables[name], n_rules, seed) for name in chosen]


def _own_variant(name: str, table: Table, known: Mapping[str, Variant]) -> Variant:
    base = known[RULES]
    if "base" in table:
        base_name = table.content["base"]
        if base_name not in known:
            table.fail(f"unknown variant {base_name!r}{nearest(str(base_name), known)}", "base")
        base = known[base_name]
    estimator = table.text("estimator", base.estimator)
    if estimator not in METHODS:
        table.fail(f"unknown estimator {estimator!r}{nearest(estimator, METHODS)}", "estimator")
    if "base" in table and estimator != base.estimator:
        table.fail(f"its base is a variant of estimator {base.estimator!r}", "estimator")
    table.check_keys(["base", "estimator", *METHODS[estimator].parameter_names()])
    parameters = {key: table.content[key] for key in table.content if key not in SAID_OF_VARIANTS}
    return Variant(name, {**base.parameters, **parameters}, estimator)


def _complete(variant: Variant, shared: Table, table: Table, n_rules: int, seed: int) -> Variant:
    method = METHODS[variant.estimator]
    inherited: dict[str, Any] = {"n_rules": n_rules} if variant.estimator == RULES else {}
    if variant.estimator in OURS:
        names = method.parameter_names()
        inherited |= {key: value for key, value in shared.content.items() if key in names}
    given = {
        name: None if value == "none" else value  # TOML has no None
        for name, value in {**inherited, **variant.parameters}.items()
    }
    try:
        settings = method.complete(given, seed)
    except ImportError:
        raise
    except Exception as error:  # of any kind, as other libraries have their own
        message = (str(error).strip() or type(error).__name__).splitlines()[0]
        key = next((name for name in given if message.startswith(name)), "")
        key = key or next((name for name in given if name in message), "")
        (table if key in table else shared).fail(message, key)
    return Variant(variant.name, settings, variant.estimator)


def _source(table: Table, folder: Path) -> Source:
    table.check_keys(("name", "path", "labels", "embedded", "run_folds"))
    if ("path" in table) == ("embedded" in table):
        table.fail("a data set needs either `path` or `embedded`")
    if "embedded" in table:
        name = table.text("embedded")
        if name not in EMBEDDED:
            table.fail(f"unknown embedded data {name!r}{nearest(name, EMBEDDED)}", "embedded")
        for key in ("name", "labels"):
            if key in table:
                table.fail(f"embedded data has its own {key}", key)
        return Source(name, None)
    path = folder / table.text("path")
    if not path.is_file():
        others = sorted(file.name for file in path.parent.glob("*.*"))
        table.fail(
            f"there is no data file {path}{nearest(path.name, others)}; relative paths start at "
            f"{folder.resolve()} (--data-folder changes that)",
            "path",
        )
    try:
        stem = locate(path).stem
    except ValueError as error:
        table.fail(str(error), "path")
    name = table.text("name", stem)
    _check_folder_name(name, table, "name" if "name" in table else "path")
    return Source(name, path.resolve(), _labels(table, path.parent))


def _labels(table: Table, folder: Path) -> str | int | tuple[str, ...] | None:
    labels = table.content.get("labels")
    if isinstance(labels, list) and labels and all(isinstance(name, str) for name in labels):
        return tuple(labels)
    if labels is None or is_integer(labels):
        return labels
    if not isinstance(labels, str):
        table.fail(f"labels must be names, a prefix, a number or a file, got {labels!r}", "labels")
    # A Mulan XML file is looked for where the data is.
    return str((folder / labels).resolve()) if labels.endswith(".xml") else labels


def _check_folder_name(name: str, table: Table, key: str) -> None:
    if name.startswith(".") or any(character in name for character in "/\\\0"):
        table.fail(f"{name!r} cannot be used as a name: results are stored in a folder of it", key)
