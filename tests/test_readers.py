"""Readers and writers: real files, round trips, errors with their places, damaged files."""

from __future__ import annotations

import bz2
import gzip
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from oracle import DATA, real_data
from sklearn.datasets import load_svmlight_file
from test_data import parts

from labelboost.data import Dataset, load_dataset, load_npz, make_multilabel, save_dataset

SUFFIXES = ("arff", "libsvm", "csv", "tsv", "parquet", "npz")
COMPRESSED = ("arff.gz", "arff.bz2", "libsvm.gz", "csv.gz", "tsv.bz2")
ARFF_FILES = ("birds", "emotions", "enron", "flags", "foodtruck", "medical", "reuters-k500")

ARFF = """\
% a comment
@RELATION 'toys: -C -2'

@attribute width numeric
@ATTRIBUTE 'colour, or \\'hue\\'' {red, "dark \\"blue\\"", '?'}  % another one
@attribute weight REAL
@attribute left {0,1}
@attribute right numeric

@Data
"""


def dense(X: Any) -> NDArray[Any]:
    """A dense array, entry by entry: toarray() would turn -0.0 into 0.0."""
    if isinstance(X, np.ndarray):
        return X
    entries = X.tocoo()
    array = np.zeros(X.shape, dtype=X.dtype)
    array[entries.row, entries.col] = entries.data
    return array


def assert_same(computed: Dataset, expected: Dataset, *, names: bool = True) -> None:
    """Compare values bit by bit."""
    ref, comp = dense(expected.X), dense(computed.X)
    assert comp.dtype == ref.dtype
    np.testing.assert_array_equal(comp, ref)
    np.testing.assert_array_equal(np.signbit(comp[comp == 0]), np.signbit(ref[ref == 0]))
    np.testing.assert_array_equal(computed.Y, expected.Y)
    np.testing.assert_array_equal(computed.nominal, expected.nominal)
    assert dict(computed.categories) == dict(expected.categories)
    if names:
        assert computed.feature_names == expected.feature_names
        assert computed.label_names == expected.label_names


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def refusal(path: Path, **options: Any) -> str:
    """The message of the error, without the folder."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        load_dataset(path, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message.replace(f"{path.parent}/", "")


# Real files


@pytest.mark.parametrize("name", ARFF_FILES)
def test_real_files_hold_the_same_as_npz(name: str) -> None:
    expected = real_data(name)
    computed = load_dataset(DATA / "arff" / f"{name}.arff")
    assert computed.name == name
    assert sp.issparse(computed.X) == (name in ("enron", "medical", "reuters-k500"))
    assert_same(computed, expected)


@pytest.mark.parametrize("suffix", ["arff", "parquet", "npz", "arff.gz"])
@pytest.mark.parametrize("name", ["flags", "enron"])
def test_real_data_survive_a_round_trip(tmp_path: Path, name: str, suffix: str) -> None:
    expected = real_data(name)
    save_dataset(expected, tmp_path / f"{name}.{suffix}")
    assert_same(load_dataset(tmp_path / f"{name}.{suffix}"), expected)


def test_options_of_meka_are_not_trusted_after_filters(tmp_path: Path) -> None:
    real_data("medical")
    path = write(tmp_path, "medical.arff", (DATA / "arff" / "medical.arff").read_bytes())
    assert re.match(r"medical.arff, line 1: .*pass labels=45 if.*labels=-45", refusal(path))
    assert_same(load_dataset(path, -45), real_data("medical"))


# ARFF


def test_dense_arff(tmp_path: Path) -> None:
    path = write(
        tmp_path, "toys.arff", ARFF + "1, red,?,0,1\r\n\r\n% no row\n 2.5,'?', 1e3,1,0 % x\n"
    )
    dataset = load_dataset(path)
    assert dataset.name == "toys"
    assert dataset.feature_names == ("width", "colour, or 'hue'", "weight")
    assert dataset.label_names == ("left", "right")
    assert dataset.categories == {1: ("red", 'dark "blue"', "?")}
    assert dataset.X.dtype == np.float32
    np.testing.assert_array_equal(dense(dataset.X), [[1, 0, np.nan], [2.5, 2, 1000]])
    np.testing.assert_array_equal(dataset.Y, [[0, 1], [1, 0]])


def test_sparse_arff(tmp_path: Path) -> None:
    rows = "{}\n{1 'dark \\\"blue\\\"', 2 ?,4 1}\n{3 1, 0 -2}\n1,?,0,0,0\n{1 ?,2 0}\n"
    dataset = load_dataset(write(tmp_path, "toys.arff", ARFF + rows))
    assert isinstance(dataset.X, sp.csr_array)
    assert dataset.X.has_canonical_format
    nan = np.nan
    np.testing.assert_array_equal(
        dense(dataset.X), [[0, 0, 0], [0, 1, nan], [-2, 0, 0], [1, nan, 0], [0, nan, 0]]
    )
    np.testing.assert_array_equal(dataset.Y, [[0, 0], [0, 1], [1, 0], [0, 0], [0, 0]])
    assert dataset.X.nnz == 6


def test_absent_labels_are_of_the_first_category(tmp_path: Path) -> None:
    text = "@relation 'a: -C 1'\n@attribute y {1,0}\n@attribute x real\n@data\n{1 3}\n{0 0}\n1,2\n"
    np.testing.assert_array_equal(load_dataset(write(tmp_path, "a.arff", text)).Y, [[1], [0], [1]])


def test_labels_by_xml_keep_the_order_of_the_data(tmp_path: Path) -> None:
    path = write(tmp_path, "toys.arff", ARFF.replace("left", "'lè & ft'") + "1,red,?,0,1\n")
    xml = '<labels><label name="right"><label name="l&#232; &amp; ft"/></label></labels>'
    write(tmp_path, "toys.xml", f'<?xml version="1.0" encoding="iso-8859-1"?>{xml}')
    expected = load_dataset(path, ["right", "lè & ft"])
    assert expected.label_names == ("lè & ft", "right")
    for labels in (None, str(tmp_path / "toys.xml"), tmp_path / "toys.xml", -2):
        assert_same(load_dataset(path, labels), expected)


@pytest.mark.parametrize("doctype", [
    '<!DOCTYPE labels [<!ENTITY e SYSTEM "file:///etc/passwd">]>', "<!DOCTYPE labels>",
])  # fmt: skip
def test_document_types_are_refused(tmp_path: Path, doctype: str) -> None:
    path = write(tmp_path, "toys.arff", ARFF + "1,red,?,0,1\n")
    write(tmp_path, "toys.xml", f'{doctype}<labels><label name="left"/></labels>')
    assert refusal(path).startswith("toys.xml, line 1, column ")
    assert "DOCTYPE" in refusal(path)


@pytest.mark.parametrize(
    ("xml", "message"),
    [
        ('<labels>\n <label name="lift"/></labels>',
         'toys.xml, line 2, column 2: label "lift" is not an attribute of toys.arff; '
         'did you mean "left"'),
        ('<labels><label name="left"/>\n<label name="left"/></labels>',
         'toys.xml, line 2, column 1: label "left" is named twice, first in line 1'),
        ("<labels></labels>", "toys.xml: it names no labels"),
        ("<html/>", "toys.xml, line 1, column 1: the root element is <html>"),
        ('<labels><tag name="left"/></labels>', "line 1, column 9: <tag> is not expected"),
        ('<labels><label name="left"/>', "toys.xml, line 1, column 29: not valid XML"),
        ('<?xml version="1.0" encoding="klingon"?><labels/>', "toys.xml.*not valid XML"),
        ("", "toys.xml, line 1, column 1: not valid XML: no element found"),
    ],
)  # fmt: skip
def test_label_files_with_errors(tmp_path: Path, xml: str, message: str) -> None:
    path = write(tmp_path, "toys.arff", ARFF + "1,red,?,0,1\n")
    write(tmp_path, "toys.xml", xml)
    assert re.search(message, refusal(path)), refusal(path)


HEAD = ARFF.count("\n")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("1,red,2,0\n", "line 11, column 9: the row has 4 values, but there are 5 attributes"),
        ("1,red,2,0,1,7\n", "line 11, column 13: the row has 6 values"),
        ("1,red,x,0,1\n", 'line 11, column 7: attribute "weight": "x" is not a number; write ?'),
        ("0,red,1,0,1\n\n1,red,1_0,0,1\n", 'line 13, column 7: .*"1_0" is not a number'),
        ("1,rd,2,0,1\n", 'column 3: attribute "colour, or .hue.": "rd".*did you mean "red"'),
        ("1,zzz,2,0,1\n", "column 3: .*its categories are "),
        ("1,red,1e999,0,1\n", "column 7: .*beyond the range of floating point"),
        ("1,red,-inf,0,1\n", "column 7: .*is infinite"),
        ("1,,2,0,1\n", r"line 11, column 3: expected a value \(\? if it is missing\) here"),
        ("1,red,2,0,1,\n", "line 11, column 13: expected a value"),
        ("1,'red,2,0,1\n", "column 3: the quote ' is not closed"),
        ("1,'red' x,2,0,1\n", "column 9: nothing is expected after a value but a comma"),
        ("1,red,2,?,1\n", 'column 9: attribute "left": a label must be 0 or 1, but.*missing'),
        ("1,red,2,2,1\n", 'column 9: attribute "left": "2" is not one of its categories'),
        ("1,red,2,0,2\n", 'column 11: attribute "right": a label must be 0 or 1.*is 2'),
        ("1,red,2,0,1,{5}\n", "column 13: weights of examples are not supported"),
        ("{0 1},{5}\n", "column 6: weights of examples are not supported"),
        ("{0 1} {5}\n", "column 7: weights of examples are not supported"),
        ("{0 1, 0 2}\n", "column 7: index 0 occurs twice"),
        ("{5 1}\n", 'column 2: "5" is not the index of an attribute; they go from 0 to 4'),
        ("{-1 1}\n", 'column 2: "-1" is not the index'),
        ("{99999999999999999999 1}\n", "column 2: .* is not the index"),
        ("{0}\n", "column 3: expected the value of attribute 0"),
        ("{0 1 2}\n", "column 6: expected a comma or }"),
        ("{0 1,}\n", "column 6: expected the index"),
        ("{0 1\n", "column 5: expected a comma or }"),
        ("{0 1} x\n", "column 7: nothing is expected after }"),
        ("{2 x}\n", 'line 11, column 4: attribute "weight": "x" is not a number'),
        ("{4 2}\n", 'line 11, column 4: attribute "right": a label must be 0 or 1'),
        ("", "line 11: there are no rows below @data"),
    ],
)
def test_rows_of_arff_with_errors(tmp_path: Path, rows: str, message: str) -> None:
    assert HEAD == 10
    path = write(tmp_path, "toys.arff", ARFF + rows)
    assert re.match(f"toys.arff, .*{message}", refusal(path)), refusal(path)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("", "a.arff: the file is empty"),
        ("\n \n", "a.arff: the file is empty"),
        ("@relation x\n@data\n", "line 2, column 1: there is no @attribute above @data"),
        ("@relation x\n@attribute a real\n", "line 3: there is no @data line"),
        ("@relation x\n@atribute a real\n", 'line 2, column 1: "@atribute".*"@attribute"'),
        ("1,2\n", 'line 1, column 1: "1,2" does not belong above @data; expected @relation'),
        ("@attribute a\n", "line 1, column 13: expected the type of the attribute"),
        ("@attribute\n", "line 1, column 11: expected the name of the attribute"),
        ("@attribute a date\n", 'line 1, column 14: attribute "a" is of type "date"'),
        ("@attribute a {x,x}\n", 'column 17: attribute "a" lists the category "x" twice'),
        ("@attribute a {x\n", "column 16: expected a comma or }"),
        ("@attribute a {x,}\n", "column 17: expected a category"),
        ("@attribute a {'x' y}\n", "column 19: expected a comma or }"),
        ("@attribute 'a real\n", "column 12: the quote ' is not closed"),
        ("@attribute a real {5}\n", "column 19: weights of attributes are not supported"),
        ("@attribute a real x\n", "column 19: nothing is expected after the type"),
        ("@attribute a real\n@attribute a real\n", 'line 2, column 1: attribute "a" was declared'),
        ("@attribute a real\n@data\n1\n", "a.arff: nothing says which columns are labels"),
    ],
)
def test_headers_of_arff_with_errors(tmp_path: Path, header: str, message: str) -> None:
    assert re.search(message, refusal(write(tmp_path, "a.arff", header)))


def test_labels_of_arff_that_cannot_be(tmp_path: Path) -> None:
    def message(relation: str, kinds: str, **options: Any) -> str:
        text = f"@relation '{relation}'\n@attribute x {kinds}\n@attribute y {{0,1}}\n@data\n"
        return refusal(write(tmp_path, "a.arff", text), **options)

    assert 'line 2, column 14: attribute "x" is of type string, which cannot be a feature' in (
        message("a: -C -1", "string")
    )
    assert 'line 2, column 14: label "x" has the categories "a, b"' in message("-C 1", "{a,b}")
    assert "2 of its 2 columns cannot be labels" in message("-C 2", "real")
    assert "0 of its 2 columns cannot be labels" in message("-C 0", "real")
    assert "cannot be told" in message("-C 1 -C -1", "real")
    assert "all 2 columns are labels" in message("", "real", labels=["x", "y"])
    assert '"z" is not one of its columns' in message("", "real", labels=["z"])
    assert 'no column starts with "lab"' in message("", "real", labels="lab*")
    assert "lists no columns" in message("", "real", labels=[])
    assert 'lists "y" twice' in message("", "real", labels=["y", "y"])
    assert "pass it as a list: ['y']" in message("", "real", labels="y")
    with pytest.raises(TypeError, match="labels is True; pass names"):
        load_dataset(tmp_path / "a.arff", True)
    with pytest.raises(TypeError, match="labels lists 1; list the names"):
        load_dataset(tmp_path / "a.arff", [1])  # type: ignore[list-item]
    with pytest.raises(FileNotFoundError, match=r"no label file at .*absent\.xml"):
        load_dataset(tmp_path / "a.arff", "absent.xml")


# LIBSVM


def test_libsvm(tmp_path: Path) -> None:
    text = "# comment\n3,10 2:0.5 1:1 # two\n\n 3:nan\n10\n7 1:0 2:-1e2\n"
    dataset = load_dataset(write(tmp_path, "a.svm", text))
    assert dataset.label_names == ("3", "7", "10")
    assert dataset.feature_names == ("feature 1", "feature 2", "feature 3")
    np.testing.assert_array_equal(
        dense(dataset.X), [[1, 0.5, 0], [0, 0, np.nan], [0, 0, 0], [0, -100, 0]]
    )
    np.testing.assert_array_equal(dataset.Y, [[1, 0, 1], [0, 0, 0], [0, 0, 1], [0, 1, 0]])
    from_zero = load_dataset(tmp_path / "a.svm", zero_based=True)
    assert from_zero.feature_names[0] == "feature 0"
    assert from_zero.n_features == 4
    assert load_dataset(write(tmp_path, "b.svm", "1 0:1 1:2\n")).n_features == 2


def test_libsvm_with_a_header(tmp_path: Path) -> None:
    dataset = load_dataset(write(tmp_path, "a.libsvm", "2 5 4\n0,2 1:1\n3 3:1\n"))
    assert dataset.X.shape == (2, 5)
    assert dataset.label_names == ("0", "1", "2", "3")
    np.testing.assert_array_equal(dense(dataset.X)[:, 1], [1, 0])
    one = load_dataset(write(tmp_path, "b.libsvm", "2 5 3\n1,2 1:1\n3 5:1\n"))
    assert one.label_names == ("1", "2", "3")
    np.testing.assert_array_equal(dense(one.X)[:, 0], [1, 0])


@pytest.mark.parametrize("zero_based", ["auto", True, False])
@pytest.mark.parametrize("first", [0, 1, 2])
def test_libsvm_as_scikit_learn_reads_it(tmp_path: Path, zero_based: Any, first: int) -> None:
    if first == 0 and zero_based is False:
        pytest.skip("an index 0 contradicts a count from 1; here it is an error")
    rng = np.random.default_rng(first)
    lines = []
    for _ in range(50):
        labels = ",".join(map(str, sorted(rng.choice(9, rng.integers(0, 4), replace=False))))
        columns = np.sort(rng.choice(20, rng.integers(1, 8), replace=False)) + first
        entries = [f"{j}:{value}" for j, value in zip(columns, rng.normal(size=20), strict=False)]
        lines.append(" ".join([labels, *entries]))
    path = write(tmp_path, "a.svm", "\n".join(lines))
    X, sets = load_svmlight_file(str(path), multilabel=True, zero_based=zero_based)
    dataset = load_dataset(path, zero_based=zero_based)
    np.testing.assert_array_equal(dense(dataset.X), X.toarray().astype(np.float32))
    ids = np.array(dataset.label_names, dtype=float)
    assert [tuple(ids[row == 1]) for row in dataset.Y] == [tuple(sorted(own)) for own in sets]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("1 2:1\n1 x:1 3:1\n", {}, 'line 2, column 3: "x:1" is not a feature; write index:value'),
        ("1 2:1  3:a\n", {}, 'line 1, column 8: "a" is not a number; write nan'),
        ("1 2:1 2:2\n", {}, "line 1, column 7: index 2 occurs twice"),
        ("1 2:1 02:2\n", {}, "line 1, column 7: index 2 occurs twice"),
        ("1 2:inf\n", {}, 'line 1, column 3: "inf" is infinite'),
        ("1 2:1e999\n", {}, "line 1, column 3: .*beyond the range"),
        ("1 2\n", {}, 'line 1, column 3: "2" is not a feature'),
        ("1 2:3:4\n", {}, 'line 1, column 3: "2:3:4" is not a feature'),
        ("1 qid:3 2:1\n", {}, 'line 1, column 3: "qid:3" is not a feature'),
        ("-1 2:1\n", {}, 'line 1, column 1: "-1" is not the id of a label'),
        ("1,,2 2:1\n", {}, 'line 1, column 1: "" is not the id of a label'),
        ("1,1 2:1\n", {}, "line 1, column 1: label 1 occurs twice"),
        ("1 999999999:1\n", {}, "line 1, column 3: index .* is too large"),
        ("1 99999999:1\n", {}, "there would be 99999999 features"),
        ("1 0:1\n", {"zero_based": False}, "line 1, column 3: index 0 is out of range"),
        ("1 2 3\n 1:1 2:1\n", {"zero_based": True}, "line 2, column 6: index 2 is out of range"),
        ("1 2 3\n4 1:1\n", {}, "line 2, column 1: label 4 is out of range, as there are 3"),
        ("2 2 3\n1 1:1\n", {}, "the first line promises 2 examples, but there are 1"),
        ("1 9 999999999999\n", {}, "is not a feature"),
        ("5 2 999999999\n" + "1 1:1\n" * 5, {}, "5 examples with 999999999 labels each are too"),
        ("1\n2\n", {}, "there are no features"),
        (" 1:1\n", {}, "there are no labels"),
        ("# nothing\n", {}, "there are no examples"),
        ("1 1:1\n", {"zero_based": "maybe"}, "zero_based must be True, False or"),
        ("1 1:1\n", {"labels": 1}, "labels does not apply to libsvm files"),
    ],
)
def test_libsvm_with_errors(
    tmp_path: Path, text: str, options: dict[str, Any], message: str
) -> None:
    found = refusal(write(tmp_path, "a.libsvm", text), **options)
    assert re.search(message, found), found


# CSV and Parquet


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_csv(tmp_path: Path, delimiter: str) -> None:
    rows = [
        ["width", '"the ""real""\ncolour"', "size", "gap", "label_a", "label_b"],
        ["1", "red", " 2e3", "?", "0", "TRUE"],
        ["?", '"a,b;c\td"', "NA", "", "1", "false"],
        ["-0.5", "Na", "nan", "NaN", "1.0", "0"],
        ["7", "red", "3", "NA", "0", "1"],
    ]
    text = "\n".join(delimiter.join(row) for row in rows)
    path = write(tmp_path, "a.csv", b"\xef\xbb\xbf" + text.encode())
    for labels in ("label_*", -2, ["label_b", "label_a"]):
        dataset = load_dataset(path, labels)
        assert dataset.feature_names == ("width", 'the "real"\ncolour', "size", "gap")
        assert dataset.label_names == ("label_a", "label_b")
        assert dataset.categories == {1: ("red", "a,b;c\td", "Na")}
        nan = np.nan
        np.testing.assert_array_equal(
            dense(dataset.X),
            [[1, 0, 2000, nan], [nan, 1, nan, nan], [-0.5, 2, nan, nan], [7, 0, 3, nan]],
        )
        np.testing.assert_array_equal(dataset.Y, [[0, 1], [1, 0], [1, 0], [0, 1]])
    assert load_dataset(path, -2, delimiter=delimiter, nominal=["size"]).categories[2] == (
        " 2e3",
        "3",
    )


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("x,y\n1,0\n2\n", {}, "line 3, column 2: the row has 1 values, but there are 2 columns"),
        ("x,y\n1,0,3\n", {}, "line 2, column 3: the row has 3 values"),
        ("x,y\n1,0\n\n2,5\n", {}, 'line 4, column 2: column "y": a label must be 0 or 1'),
        ("x,y\n1,\n", {}, "line 2, column 2: .*but this one is missing"),
        ("x,y\ninf,0\n", {}, 'line 2, column 1: column "x": "inf" is infinite'),
        ("x,y\n1,0\n1e999,0\n", {}, "line 3, column 1: .*beyond the range"),
        ("x;y\n1;0\n1,5;0\n", {}, 'line 3, column 1: .*"1,5" has a decimal comma'),
        ("x,x\n1,0\n", {}, 'line 1, column 2: column "x" occurs twice, first as column 1'),
        ("x,\n1,0\n", {}, "line 1, column 2: the column has no name"),
        ('x,y\n"1,0\n', {}, "line 2: not a valid row"),
        ('x,y\n"1"2,0\n', {}, "line 2: not a valid row"),
        ("x,y\n", {}, "there are no rows below the names"),
        ("", {}, "the file is empty"),
        ("x,y\n1,0\n", {"labels": ["yy"]}, 'label "yy" is not one of its columns.*"y"'),
        ("x,y\n1,0\n", {"labels": None}, "nothing says which columns are labels"),
        ("x,y\n1,0\n", {"nominal": ["z"]}, 'nominal lists "z"'),
        ("x,y\n1,0\n", {"delimiter": "ab"}, "delimiter='ab'"),
        ("x\n1\n", {}, "1 of its 1 columns cannot be labels"),
    ],
)
def test_csv_with_errors(tmp_path: Path, text: str, options: dict[str, Any], message: str) -> None:
    found = refusal(write(tmp_path, "a.csv", text), **({"labels": -1} | options))
    assert re.search(message, found), found


def test_parquet_of_others(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {
        "text": ["b", None, "a"],
        "category": pa.array(["x", "y", "x"]).dictionary_encode(),
        "flag": [True, False, None],
        "number": pa.array([1, None, 2**24 + 1], pa.int64()),
        "half": pa.array(np.array([1, 2, 3], dtype=np.float16)),
        "nothing": [None, None, None],
        "y": [True, False, True],
    }
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table(columns), path)
    dataset = load_dataset(path, ["y"])
    nan = np.nan
    assert dataset.X.dtype == np.float64
    np.testing.assert_array_equal(
        dense(dataset.X),
        [[0, 0, 1, 1, 1, nan], [nan, 1, 0, nan, 2, nan], [1, 0, nan, 2**24 + 1, 3, nan]],
    )
    assert dataset.categories == {0: ("b", "a"), 1: ("x", "y")}
    for change, message in (
        ({"y": [1, 2, 0]}, 'row 2, column "y": a label must be 0 or 1, but this one is 2'),
        ({"y": [1, None, 0]}, 'row 2, column "y": .*is missing'),
        ({"y": ["a", "b", "c"]}, 'column "y": a label must hold 0 and 1.*of type string'),
        ({"half": [1.0, float("inf"), 0.0]}, 'row 2, column "half": the value is infinite'),
        ({"half": [[1], [2], [3]]}, 'column "half": a feature must hold numbers or text'),
    ):
        parquet.write_table(pa.table(columns | change), path)
        assert re.search(message, refusal(path, labels=["y"]))
    assert "nothing says which columns are labels" in refusal(path)
    parquet.write_table(pa.table(columns).slice(0, 0), path)
    assert "there are no rows" in refusal(path, labels=["y"])


def test_pyarrow_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    path = write(tmp_path, "a.parquet", "x")
    with pytest.raises(ImportError, match=r"Parquet files need pyarrow.*labelboost\[parquet\]"):
        load_dataset(path, ["y"])


# Files


def test_files_that_are_not_there(tmp_path: Path) -> None:
    write(tmp_path, "emotions.arff", ARFF)
    with pytest.raises(FileNotFoundError, match=r'no data set at .*"emotions\.arff"'):
        load_dataset(tmp_path / "emotion.arff")
    with pytest.raises(FileNotFoundError, match="no data set at"):
        load_dataset(tmp_path / "folder" / "a.csv")
    (tmp_path / "b.csv").mkdir()
    assert "is a folder" in refusal(tmp_path / "b.csv")
    assert 'the suffix ".txt" tells no format' in refusal(write(tmp_path, "a.txt", "x"))
    assert 'no format "arf"; did you mean "arff"' in refusal(tmp_path / "a.txt", format="arf")
    assert "npz files are compressed already" in refusal(tmp_path / "a.npz.gz")
    for name, value in (("delimiter", ","), ("nominal", ["x"]), ("zero_based", True)):
        assert f"{name} does not apply to arff" in refusal(
            tmp_path / "emotions.arff", **{name: value}
        )


def test_a_format_that_the_name_does_not_tell(tmp_path: Path) -> None:
    write(tmp_path, "a.data", "x,y\n1,0\n")
    dataset = load_dataset(tmp_path / "a.data", 1, format="csv")
    assert dataset.name == "a.data"
    assert load_dataset(write(tmp_path, "A.CSV", "x,y\n1,0\n"), 1).name == "A"


def test_encodings(tmp_path: Path) -> None:
    text = "@relation 'a: -C 1'\n@attribute é {0,1}\n@attribute ü real\n@data\n0,1\n"
    path = write(tmp_path, "a.arff", text.encode("latin-1"))
    assert refusal(path) == (
        "a.arff, line 2, column 12: byte 0xe9 is not valid in utf-8; pass the encoding of the "
        'file, such as encoding="latin-1"'
    )
    assert load_dataset(path, encoding="latin-1").label_names == ("é",)
    assert "there is no such text encoding" in refusal(path, encoding="klingon")
    assert load_dataset(write(tmp_path, "b.arff", text)).feature_names == ("ü",)


@pytest.mark.parametrize(("suffix", "module"), [("gz", gzip), ("bz2", bz2)])
def test_compressed_files_that_are_damaged(tmp_path: Path, suffix: str, module: Any) -> None:
    whole = module.compress((ARFF + "1,red,?,0,1\n").encode())
    assert load_dataset(write(tmp_path, f"a.arff.{suffix}", whole)).name == "a"
    for content in (whole[: len(whole) // 2], whole[:-3], b"no archive", whole[:5]):
        path = write(tmp_path, f"b.arff.{suffix}", content)
        assert f"b.arff.{suffix}: it cannot be decompressed" in refusal(path)
    assert "the file is empty" in refusal(write(tmp_path, f"c.arff.{suffix}", module.compress(b"")))


# Writing


names = st.text(
    st.one_of(
        st.sampled_from("ab01?%,;:'\"\\{} \t#-é☃&<>"),
        st.characters(exclude_categories=("Cc", "Cs"), exclude_characters="\ufffe\uffff"),
    ),
    max_size=6,
)
singles = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, 0.1, float("nan"), 2.0**24, 2.0**24 + 2, 3e10, 1e-45]),
    st.floats(width=32, allow_nan=False, allow_infinity=False),
)


@st.composite
def datasets(draw: st.DrawFn) -> Dataset:
    n_features, n_labels, n_examples = (draw(st.integers(1, 4)) for _ in range(3))
    width = n_features + n_labels
    columns = draw(st.lists(names, min_size=width, max_size=width, unique=True))
    nominal = draw(st.lists(st.booleans(), min_size=n_features, max_size=n_features))
    X = np.empty((n_examples, n_features), dtype=np.float32)
    categories = {}
    for j, is_nominal in enumerate(nominal):
        cells: Any = singles
        if is_nominal:
            categories[j] = tuple(draw(st.lists(names, min_size=1, max_size=4, unique=True)))
            codes = st.integers(0, len(categories[j]) - 1).map(float)
            cells = st.one_of(codes, st.just(float("nan")))
        X[:, j] = draw(st.lists(cells, min_size=n_examples, max_size=n_examples))
    bits = draw(st.lists(st.integers(0, 1), min_size=n_examples * n_labels,
                         max_size=n_examples * n_labels))  # fmt: skip
    kept = (X != 0) | np.signbit(X)
    sparse = sp.csr_array((X[kept], np.nonzero(kept)), shape=X.shape)
    return Dataset(
        name="any",
        X=sparse if draw(st.booleans()) else X,
        Y=np.array(bits, dtype=np.uint8).reshape(n_examples, n_labels),
        feature_names=tuple(columns[:n_features]),
        label_names=tuple(columns[n_features:]),
        nominal=np.array(nominal, dtype=np.bool_),
        categories=categories,
    )


any_data = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.mark.parametrize("suffix", ["arff", "parquet", "npz"])
@any_data
@given(dataset=datasets())
def test_everything_survives(tmp_path: Path, suffix: str, dataset: Dataset) -> None:
    save_dataset(dataset, tmp_path / f"any.{suffix}")
    computed = load_dataset(tmp_path / f"any.{suffix}")
    assert_same(computed, dataset)
    assert sp.issparse(computed.X) == (
        suffix == "npz" or (suffix == "arff" and sp.issparse(dataset.X))
    )
    assert computed.name == "any"


@any_data
@given(dataset=datasets())
def test_libsvm_keeps_all_but_names(tmp_path: Path, dataset: Dataset) -> None:
    if dataset.nominal.any():
        with pytest.raises(ValueError, match=r"feature .* is nominal; write ARFF"):
            save_dataset(dataset, tmp_path / "any.libsvm")
        return
    save_dataset(dataset, tmp_path / "any.libsvm")
    computed = load_dataset(tmp_path / "any.libsvm")
    assert_same(computed, dataset, names=False)
    assert computed.label_names == tuple(map(str, range(dataset.n_labels)))


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
@any_data
@given(dataset=datasets())
def test_csv_keeps_all_but_the_order_of_categories(
    tmp_path: Path, suffix: str, dataset: Dataset
) -> None:
    path = tmp_path / f"any.{suffix}"
    try:
        save_dataset(dataset, path)
    except ValueError as error:
        if re.search("column without a name|read as a missing value", str(error)) is None:
            raise
        return
    listed = [dataset.feature_names[j] for j in dataset.nominal_indices]
    computed = load_dataset(path, nominal=listed)
    assert computed.label_names == dataset.label_names
    assert computed.feature_names == dataset.feature_names
    np.testing.assert_array_equal(computed.Y, dataset.Y)
    for j in range(dataset.n_features):
        comp, ref = dense(computed.X)[:, j], dense(dataset.X)[:, j]
        if j in dataset.categories:
            own, other = computed.categories[j], dataset.categories[j]
            assert [c if np.isnan(c) else own[int(c)] for c in comp].__repr__() == (
                [c if np.isnan(c) else other[int(c)] for c in ref].__repr__()
            )
        else:
            np.testing.assert_array_equal(comp, ref)
            np.testing.assert_array_equal(np.signbit(comp), np.signbit(ref))


def tiny(**changes: Any) -> Dataset:
    return Dataset(**parts(**changes))


@pytest.mark.parametrize("suffix", COMPRESSED)
def test_compressed_files(tmp_path: Path, suffix: str) -> None:
    expected = make_multilabel(40, 5, 3, missing=0.2, random_state=1)
    path = tmp_path / f"a.{suffix}"
    save_dataset(expected, path)
    assert path.read_bytes()[:2] == (b"\x1f\x8b" if suffix.endswith("gz") else b"BZ")
    assert_same(load_dataset(path), expected, names="libsvm" not in suffix)
    assert sorted(p.suffix for p in tmp_path.iterdir()) == sorted(
        {path.suffix} | (set() if "libsvm" in suffix else {".xml"})
    )
    first = path.read_bytes()
    save_dataset(expected, path)
    assert path.read_bytes() == first


def test_other_forms_of_features_are_written(tmp_path: Path) -> None:
    numeric: dict[str, Any] = {"nominal": np.zeros(2, dtype=bool), "categories": {}}
    expected = tiny(X=np.asarray(tiny().X, dtype=np.float32), **numeric)
    matrix = sp.csr_array(expected.X)
    twice = sp.csr_array(
        (np.repeat(matrix.data / 2, 2), np.repeat(matrix.indices, 2), matrix.indptr * 2),
        shape=matrix.shape,
    )
    for X in (tiny().X, sp.csc_array(expected.X), twice):
        for suffix in ("arff", "csv", "parquet", "npz"):
            save_dataset(tiny(X=X, **numeric), tmp_path / f"a.{suffix}")
            assert_same(load_dataset(tmp_path / f"a.{suffix}"), expected)


@pytest.mark.parametrize("suffix", ["arff", "csv", "parquet", "libsvm", "npz"])
def test_numbers_that_need_double_precision(tmp_path: Path, suffix: str) -> None:
    dataset = tiny(X=np.array([[2.0**24 + 1, 0.1], [1, 1e300], [0, -3]]),
                   nominal=np.zeros(2, dtype=bool), categories={})  # fmt: skip
    if suffix == "npz":
        with pytest.raises(ValueError, match="npz files hold float32"):
            save_dataset(dataset, tmp_path / "a.npz")
        return
    save_dataset(dataset, tmp_path / f"a.{suffix}")
    assert_same(load_dataset(tmp_path / f"a.{suffix}"), dataset, names=suffix != "libsvm")


def test_categories_without_names_get_their_codes(tmp_path: Path) -> None:
    save_dataset(tiny(categories={}), tmp_path / "a.arff")
    assert load_dataset(tmp_path / "a.arff").categories == {1: ("0", "1", "2")}


@pytest.mark.parametrize(
    ("suffix", "changes", "message"),
    [
        ("arff", {"feature_names": ("a", "left")}, '"left" occurs twice'),
        ("csv", {"label_names": ("a", "a")}, '"a" occurs twice'),
        ("parquet", {"label_names": ("a", "a\nb")}, r'"a\\nb" holds the character U\+000A'),
        ("arff", {"label_names": ("a", "\ud800")}, r"U\+D800"),
        ("arff", {"categories": {1: ("a", "b", "b")}}, 'the categories of feature "colour" must'),
        ("csv", {"categories": {1: ("a", "b", " ?")}}, 'category " [?]" of feature "colour" would'),
        ("csv", {"feature_names": ("a", " ")}, "a column without a name"),
        ("npz", {"feature_names": ("a", "b\0")}, r"ends with U\+0000"),
        ("txt", {}, "tells no format"),
    ],
)
def test_what_cannot_be_written(
    tmp_path: Path, suffix: str, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        save_dataset(tiny(**changes), tmp_path / f"a.{suffix}")
    assert not list(tmp_path.iterdir())


def test_nothing_of_value_is_overwritten(tmp_path: Path) -> None:
    write(tmp_path, "a.xml", "<thesis/>")
    with pytest.raises(ValueError, match=r"a\.xml is in the way"):
        save_dataset(tiny(), tmp_path / "a.arff")
    assert [p.name for p in tmp_path.iterdir()] == ["a.xml"]
    (tmp_path / "b.npz").mkdir()
    with pytest.raises(ValueError, match="is a folder; name a file"):
        save_dataset(tiny(), tmp_path / "b.npz")


def test_bulk_and_slow_rows_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = make_multilabel(60, 8, 4, nominal=0.4, missing=0.1, random_state=3)
    for X in (dataset.X, sp.csr_array(dataset.X)):
        form = tiny(**{key: getattr(dataset, key) for key in (
            "Y", "feature_names", "label_names", "nominal", "categories")}, X=X)  # fmt: skip
        save_dataset(form, tmp_path / "a.arff")
        with monkeypatch.context() as patch:
            module = "labelboost.data.arff_rows"
            fast = load_dataset(tmp_path / "a.arff")
            patch.setattr(f"{module}.BATCH", 7)
            assert_same(load_dataset(tmp_path / "a.arff"), fast)
            patch.setattr(f"{module}.RowReader._split_dense", lambda *_: None)
            patch.setattr(f"{module}.RowReader._split_sparse", lambda *_: None)
            assert_same(load_dataset(tmp_path / "a.arff"), fast)
        assert_same(fast, form)


# Damaged files


def mutate(draw: random.Random, content: bytes) -> bytes:
    data = bytearray(content)
    for _ in range(draw.randint(1, 4)):
        place = draw.randrange(len(data))
        match draw.randrange(4):
            case 0:
                data[place] = draw.randrange(256)
            case 1:
                data[place] = draw.choice(b"0123456789,.:;'\"{}%?@ \n\t-eE#<>&")
            case 2:
                del data[place : place + draw.randint(1, 5)]
            case _:
                data[place:place] = data[place : place + draw.randint(1, 9)]
        if not data:
            break
    return bytes(data)


@pytest.mark.parametrize("suffix", [*SUFFIXES, "arff.gz", "csv.bz2", "xml"])
@pytest.mark.parametrize("sparse", [False, True])
def test_damaged_files_are_refused_or_read(tmp_path: Path, suffix: str, sparse: bool) -> None:
    data = make_multilabel(6, 4, 3, nominal=0 if suffix == "libsvm" else 0.5, random_state=2)
    form = Dataset(data.name, sp.csr_array(data.X) if sparse else data.X, data.Y,
                   data.feature_names, data.label_names, data.nominal, data.categories)  # fmt: skip
    path = tmp_path / f"a.{'arff' if suffix == 'xml' else suffix}"
    save_dataset(form, path)
    target = tmp_path / f"a.{suffix}"
    content = target.read_bytes()
    draw = random.Random(f"{suffix} {sparse}")
    messages = []
    for _ in range(300):
        target.write_bytes(mutate(draw, content))
        try:
            load_dataset(path)
        except ValueError as error:
            messages.append(str(error))
    assert len(messages) > 30
    assert all("a." in message and "\n" not in message for message in messages)
    assert max(map(len, messages)) < 600


@pytest.mark.parametrize("content", ["{" * 100_000, "'" * 100_001, "1" * 300_000, "," * 100_000,
                                     "\\" * 100_000, "{0 " + "9" * 100_000, " " * 100_000 + "x",
                                     "'" + "\\'" * 50_000])  # fmt: skip
@pytest.mark.parametrize("suffix", ["arff", "libsvm", "csv"])
def test_long_nonsense_ends_soon(tmp_path: Path, suffix: str, content: str) -> None:
    head = {"arff": ARFF, "libsvm": "1 1:1\n", "csv": "x,y\n1,0\n"}[suffix]
    path = write(tmp_path, f"a.{suffix}", head + content + "\n")
    assert len(refusal(path, **({"labels": 1} if suffix == "csv" else {}))) < 500


def test_npz_errors_are_those_of_the_npz_reader(tmp_path: Path) -> None:
    path = write(tmp_path, "a.npz", "no archive")
    with pytest.raises(ValueError, match="is not a multi-label npz file"):
        load_npz(path)
    assert "a.npz is not a multi-label npz file" in refusal(path)
