"""Reading and writing data sets, in the format that the name of the file tells."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike

from labelboost.data.arff import read_arff, write_arff
from labelboost.data.dataset import Dataset
from labelboost.data.files import check_present, locate
from labelboost.data.label_choice import NO_LABELS, Labels
from labelboost.data.libsvm import ZeroBased, read_libsvm, write_libsvm
from labelboost.data.npz import load_npz, write_npz
from labelboost.data.parquet import read_parquet, write_parquet
from labelboost.data.tables import read_csv, write_csv

WRITERS = {
    "arff": write_arff,
    "libsvm": write_libsvm,
    "csv": write_csv,
    "tsv": write_csv,
    "parquet": write_parquet,
    "npz": write_npz,
}


def load_dataset(
    path: str | PathLike[str],
    labels: Labels = None,
    *,
    format: str | None = None,
    encoding: str = "utf-8",
    delimiter: str | None = None,
    nominal: Sequence[str] = (),
    zero_based: ZeroBased = "auto",
) -> Dataset:
    """Read a multi-label data set.

    Parameters
    ----------
    path
        A file that ends with `.arff`, `.libsvm` (`.svm`, `.svmlight`), `.csv`, `.tsv`, `.parquet`
        or `.npz`; those of text may be compressed (`.gz`, `.bz2`).
    labels
        Which columns of ARFF, CSV and Parquet files are labels: a list of names, a prefix such as
        `"label_*"`, a number of columns (the first ones; negative: the last ones), or a Mulan XML
        file. If None: the XML file of the same stem beside the data, Meka's option `-C` in
        the header of an ARFF file, or what `save_dataset` has left in a Parquet file. Labels
        keep the order of the data file. `NO_LABELS`: all columns are features, and the labels of
        LIBSVM and npz files, if there are any, are left out.
    format
        `arff`, `libsvm`, `csv`, `tsv`, `parquet` or `npz`, if the name of the file does not tell.
    encoding
        Of text files.
    delimiter
        Of CSV files; if None, it is the comma, semicolon or tab that fits the first rows.
    nominal
        Columns of a CSV file that hold categories although all of them look like numbers.
    zero_based
        Whether features of a LIBSVM file are counted from 0. `"auto"`: from 0 if the index 0
        occurs or the file has a header, otherwise from 1.

    Returns
    -------
    Dataset
        X is a `csr_array` for LIBSVM, npz and sparse ARFF files, otherwise an array; float32, or
        float64 where single precision would change an integer (beyond 2**24) or overflow. NaN:
        missing.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file, or an argument, is wrong; the message tells file, line and column.
    """
    location = locate(path, format)
    check_present(location.path)
    kind = location.format
    for name, given, formats in (
        ("labels", labels not in (None, NO_LABELS), ("arff", "csv", "tsv", "parquet")),
        ("delimiter", delimiter is not None, ("csv", "tsv")),
        ("nominal", len(nominal) > 0, ("csv", "tsv")),
        ("zero_based", zero_based != "auto", ("libsvm",)),
    ):
        if given and kind not in formats:
            raise ValueError(f"{name} does not apply to {kind} files; leave it out")
    if kind == "arff":
        dataset = read_arff(location, labels, encoding)
    elif kind == "libsvm":
        labelled = labels is not NO_LABELS
        dataset = read_libsvm(location, encoding, zero_based, labelled=labelled)
    elif kind == "parquet":
        dataset = read_parquet(location, labels)
    elif kind == "npz":
        dataset = load_npz(location.path)
    else:
        dataset = read_csv(location, labels, encoding, delimiter, nominal)
    if labels is NO_LABELS:
        return dataset.without_labels()
    if not dataset.n_labels:
        raise location.fault("there are no labels")
    return dataset


def save_dataset(
    dataset: Dataset,
    path: str | PathLike[str],
    *,
    format: str | None = None,
) -> None:
    """Write a data set, whole or not at all, to be read by `load_dataset`.

    The name of the file tells the format and the compression, as in `load_dataset`. ARFF and CSV
    files get an XML file beside them that names the labels. Values of float32 are read back bit by
    bit; those of float64 are rounded to float32 unless they need more (see `load_dataset`).

    What is lost: LIBSVM files hold no names. CSV files hold no order of categories (they are
    numbered again as they appear), no unused ones, and categories that all look like numbers are
    read as numbers unless `nominal` lists them. CSV and Parquet files are read as dense, LIBSVM and
    npz files as sparse data.

    Raises
    ------
    ValueError
        If the format cannot hold the data set: nominal features in LIBSVM, repeated names, line
        breaks in names, in npz files numbers that single precision would change.
    """
    location = locate(path, format)
    if location.path.is_dir():
        raise ValueError(f"{location.path} is a folder; name a file")
    if not dataset.n_labels:
        raise ValueError("the data set has no labels, and files without labels are not written")
    WRITERS[location.format](dataset, location)
