"""Everything about a model on one page."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from labelboost.data import Dataset
from labelboost.files import write_atomically
from labelboost.parameters import check_integer
from labelboost.report.curve import describe_curve
from labelboost.report.dependence import describe_dependence
from labelboost.report.examples import describe_examples
from labelboost.report.importance import describe_importance
from labelboost.report.packing import Content, rounded
from labelboost.report.page import render_page
from labelboost.report.quality import describe_labels, describe_quality
from labelboost.report.rules import count_covered, describe_rules, used_features
from labelboost.report.subject import Subject

N_EXAMPLES = 500
LONGEST_PARAMETER = 200


def write_report(
    model: Any,
    dataset: Dataset,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    n_examples: int = N_EXAMPLES,
) -> None:
    """Write a page about a fitted model, evaluated on data, to an HTML file.

    The file needs no network and no other file. It replaces a former one only once it is complete.

    Parameters
    ----------
    model
        A fitted model, such as `load_model` returns.
    dataset
        Examples with labels, such as `load_dataset` returns; better not those of training.
    path
        Where to write the page.
    title
        Its heading; default: the name of the data set.
    n_examples
        Most examples to choose from on the page: all, or a random sample of so many. There are
        fewer where they would make the file large.
    """
    wanted = check_integer("n_examples", n_examples, minimum=0)
    target = Path(path)
    if not target.absolute().parent.is_dir():
        raise FileNotFoundError(
            f"cannot write {target}: there is no folder {target.absolute().parent}; create it"
        )
    if target.is_dir():
        raise IsADirectoryError(f"cannot write {target}: it is a folder; add a file name")
    subject = Subject.of(model, dataset)
    heading = f"Model report: {subject.data_name}" if title is None else title
    write_atomically(target, render_page(heading, compute_content(subject, heading, wanted)))


def compute_content(subject: Subject, title: str, n_examples: int) -> Content:
    """Compute all that the page shows."""
    used = used_features(subject.rules)
    covered = count_covered(subject, used)
    return {
        "title": title,
        "data": _describe_data(subject, covered),
        "model": _describe_model(subject),
        "measures": describe_quality(subject),
        "curve": describe_curve(subject),
        "labels": describe_labels(subject),
        "dependence": describe_dependence(subject),
        "features": [subject.feature_names[feature] for feature in used],
        "importance": describe_importance(subject, used),
        "rules": describe_rules(subject, used, covered),
        "examples": describe_examples(subject, used, n_examples) if n_examples else None,
    }


def _describe_data(subject: Subject, covered: Any) -> Content:
    n_examples, n_labels = subject.Y.shape
    sets = {row.tobytes() for row in subject.Y}
    unseen = None
    if subject.known_sets is not None:
        known = {row.tobytes() for row in subject.known_sets.astype(np.uint8)}
        unseen = sum(row.tobytes() not in known for row in subject.Y)
    return {
        "name": subject.data_name,
        "examples": n_examples,
        "features": len(subject.feature_names),
        "labels": n_labels,
        "sets": len(sets),
        "cardinality": rounded([np.count_nonzero(subject.Y) / n_examples], 4)[0],
        "unseen": unseen,
        # Only then does every rule cover as many examples as it did in training.
        "training": bool(len(subject.rules) > 1)
        and all(rule.coverage == n for rule, n in zip(subject.rules, covered, strict=True)),
    }


def _describe_model(subject: Subject) -> Content:
    parameters = {
        name: text if len(text) <= LONGEST_PARAMETER else f"{text[:LONGEST_PARAMETER]}..."
        for name, value in subject.model.get_params(deep=False).items()
        for text in [repr(value)]
    }
    return {
        "estimator": type(subject.model).__name__,
        "loss": subject.loss,
        "decoding": subject.decoding,
        "unit": subject.unit,
        "stages": subject.n_stages,
        "trained": subject.rules[0].coverage,
        "sets": None if subject.known_sets is None else len(subject.known_sets),
        "parameters": parameters,
    }
