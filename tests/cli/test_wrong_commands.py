"""Wrong files, options and orders of work as a table: exit code 2 and one sentence.

A row has the command and words that its message must have. Nothing of Python or of a
library underneath is shown, and nothing is written.
"""

import gzip
import pickle
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest

from manyview.cli import main
from manyview.datasets import registry
from tests.test_messages import ADVICE

FIT = ("-k", "3", "-o", "new")


def write_files(folder: Path, views: list[np.ndarray]) -> None:
    """Good files a.npy and b.npy of 300 rows, and many that are not."""
    a, b = views[:2]
    arrays = {
        "a": a, "b": b, "short": b[:50], "column": a[:, 0], "text": a.astype(str),
        "empty": a[:0], "cube": np.zeros((9, 2, 2)), "complex": a + 1j,
        "hole": np.where(np.arange(a.size).reshape(a.shape) == 7, np.nan, a),
    }  # fmt: skip
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    np.savez(folder / "mess.npz", a=a, b=b[:50], c=np.zeros((7, 7)))
    lines = [f"{x[0]:.3f};{x[1]:.3f}" for x in a]
    texts = {
        "header.csv": "x,z\n", "nothing.csv": "", "blank.csv": "\n\n",
        "commas.csv": "x;z\n" + "\n".join(lines).replace(".", ","),
        "thousands.csv": 'x,z\n"1,234.5",2\n"2,345.1",3\n',
        "words.csv": "name,x,kind\na,1,u\nb,2,v\nc,3,u\n",
        "ragged.csv": "x,z\n1,2\n3\n", "table": "1,2\n3,4\n", "data.json": "[[1]]",
        "short.txt": "0\n1\n", "none.txt": "",
    }  # fmt: skip
    for name, text in texts.items():
        (folder / name).write_text(text)
    blobs = {
        "latin.csv": "größe,z\n1,2\n".encode("latin-1"), "model.pkl": pickle.dumps([1]),
        "book.xls": bytes.fromhex("D0CF11E0A1B11AE1") + b"0" * 600,
        "data.gz": gzip.compress(b"x,z\n1,2\n"), "picture.png": b"\x89PNG\r\n\x1a\n\0",
        "cut.npy": (folder / "a.npy").read_bytes()[:300],
        "cut.npz": b"PK\3\4" + b"0" * 99,
    }  # fmt: skip
    for name, blob in blobs.items():
        (folder / name).write_bytes(blob)
    with zipfile.ZipFile(folder / "book.xlsx", "w") as book:
        book.writestr("[Content_Types].xml", "<x/>")
    (folder / "no-data").mkdir()
    (folder / "other").mkdir()
    (folder / "other" / "notes.txt").write_text("x")


@pytest.fixture(scope="module")
def wrong_files(tmp_path_factory) -> Path:
    """A folder with files, and the run of a fit of a.npy and b.npy."""
    folder = tmp_path_factory.mktemp("wrong")
    rng = np.random.default_rng(0)
    group = np.repeat([0.0, 5.0, 10.0], 100)[:, None]
    write_files(folder, [group + rng.normal(size=(300, d)) for d in (6, 4)])
    given = ["fit", f"{folder}/a.npy", f"{folder}/b.npy", "-k", "3"]
    few = ["--set", "n_init=1", "--set", "n_anchors=20", "-o", f"{folder}/run"]
    assert main(given + few) == 0
    return folder


@pytest.fixture
def folder(wrong_files, monkeypatch) -> Path:
    monkeypatch.chdir(wrong_files)
    monkeypatch.delenv("MANYVIEW_DATA", raising=False)
    # Each stranger's file would start a child of its own.
    monkeypatch.setattr(registry, "is_trusted", lambda path: True)
    return wrong_files


FILES = [
    ("info header.csv", "a header but no rows", "one row per sample"),
    ("info nothing.csv", "nothing.csv is empty (0 bytes)"),
    ("info blank.csv", "is empty or no text"),
    ("info commas.csv", "numbers with commas", "'", "decimal=','"),
    ("info thousands.csv", "'1,234.5' in the column x"),
    ("info words.csv", "not numeric: kind", "encode"),
    ("info ragged.csv", "could not be read as a table", "as many columns"),
    ("info latin.csv", "UTF-8"),
    ("info table", "no format we can read", "must be named .csv"),
    ("info data.json", "no format we can read", "Readable are"),
    ("info picture.png", "no format we can read"),
    ("info model.pkl", "pickle", "numpy.savez"),
    ("info book.xlsx", "spreadsheet", "CSV", "pandas.read_excel"),
    ("info book.xls", "spreadsheet", "CSV"),
    ("info data.gz", "compressed", "Unpack"),
    ("info cut.npy", "is damaged", "Fetch or write"),
    ("info cut.npz", "could not be read as npz", "damaged"),
    ("info no-data", "holds no data set", "manyview convert"),
    ("info other", "holds no data set"),
    ("info column.npy", "(300,)", "2-D array"),
    ("info cube.npy", "(9, 2, 2)", "2-D array"),
    ("info text.npy", "no view", "numbers"),
    ("info complex.npy", "complex128"),
    ("info empty.npy", "is empty", "(0, 6)"),
    ("info mess.npz", "not clear which variables", "--view NAME"),
    ("info gone.npy", "There is no file gone.npy in"),
    ("info no/where.npy", "does not exist"),
    ("info CCW", "Did you mean CCV?", "manyview datasets"),
    ("info zebra", "neither an existing file nor a known data set"),
    ("info CCV", "CCV was not found", "MANYVIEW_DATA is not set"),
    ("info a.npy CCV", "CCV is to be given by itself"),
    ("info a.npy --labels klass", "No labels named 'klass'", "--labels"),
    ("info a.npy --labels short.txt", "one entry per row (300)"),
    ("info mess.npz --view q", "no variable 'q'", "a (300"),
]

FITS = [
    ("fit a.npy short.npy", "a has 300, short has 50", "same rows"),
    ("fit hole.npy", "NaN in row 1, column 1", "--fill mean"),
    ("fit hole.npy --fill median", "'median'", "mean"),
    ("fit a.npy -k 0", "--clusters", "at least 1", "got 0"),
    ("fit a.npy -k x", "--clusters", "whole number", "'x'"),
    ("fit a.npy -k 2.5", "--clusters", "got 2.5"),
    ("fit a.npy -k 999", "n_clusters=999", "300 rows", "fewer"),
    ("fit a.npy --seed -1", "--seed", "at least 0"),
    ("fit a.npy --method kmeans", "Did you mean ConcatKMeans"),
    ("fit a.npy --set n_anchor=5", "no parameter 'n_anchor'", "n_anchors"),
    ("fit a.npy --set n_anchors", "name=value", "--set n_anchors=500"),
    ("fit a.npy --set n_clusters=3", "use --clusters"),
    ("fit a.npy --set n_anchors=0", "n_anchors must be at least 1"),
    ("fit a.npy --set scaling=minmax", "scaling='minmax'", "'standard'"),
    ("fit a.npy --smoothing time", "'time'", "'graph', 'sequence'"),
    ("fit a.npy --engine spark", "'spark'", "local or dask"),
    ("fit a.npy --engine dask", "--scheduler", "dask scheduler"),
    ("fit a.npy --memory-limit lots", "'lots'", "'2GB'"),
    ("fit a.npy --clutsers 3", "No such option", "--clusters", "--help"),
    ("fit a.npy -o run", "earlier run", "--force"),
    ("fit a.npy -o .", "current folder", "runs/first"),
    ("fit a.npy -o a.npy", "is a file"),
    ("fit a.npy -o other --force", "not empty", "another folder"),
]

OTHERS = [
    ("fot", "No such command 'fot'", "Did you mean 'fit'? See"),
    ("fit", "Missing argument 'FILE...'", "--help"),
    ("fit a.npy -k 3", "Missing option '--out'", "--help"),
    ("methods x", "unexpected extra argument", "--help"),
    ("predict run a.npy -o new", "[6, 4] features", "got [6]"),
    ("predict run hole.npy b.npy -o new", "NaN in row 1", "--fill mean"),
    ("predict gone a.npy -o new", "gone is no model", "manyview fit"),
    ("predict other a.npy -o new", "no model.manyview", "manyview fit"),
    ("predict a.npy b.npy -o new", "a.npy is no model file"),
    ("explain run a.npy short.npy", "different numbers of rows"),
    ("explain run b.npy", "the views a, b", "Missing: a"),
    ("report gone", "gone is no run", "manyview fit"),
    ("report other", "other is no run", "run.json"),
    ("score short.txt none.txt", "none.txt is empty", "one label per row"),
    ("score short.txt a.npy", "(300, 6)", "vector"),
    ("score short.txt words.csv", "name, x, kind", "one column of labels"),
    ("score short.txt run", "2 labels", "300", "one label per row"),
    ("choose-k a.npy --from 5 --to 3", "no number of clusters", "--from 2"),
    ("choose-k a.npy --to 999", "300 rows", "150"),
    ("choose-k hole.npy", "NaN in row 1", "--fill mean"),
    ("plan a.npy --memory-limit 1KB", "too little"),
    ("convert a.npy no/where", "no folder no"),
    ("audit a.npy", "no classes", "--clusters"),
    ("audit a.npy -k 0", "--clusters", "at least 1"),
    ("audit a.npy -k 3 --method none", "no method named 'none'"),
    ("compare gone.npz", "no file gone.npz"),
    ("compare a.npy --seeds 0", "--seeds", "--help"),
    ("demo --out other", "not empty", "another folder"),
]


def test_there_are_many():
    assert len([*FILES, *FITS, *OTHERS]) > 80


@pytest.mark.parametrize("wrong", [*FILES, *FITS, *OTHERS], ids=lambda w: w[0])
def test_a_wrong_command_gets_a_sentence(wrong, folder, capsys):
    command, *words = wrong
    args = command.split()
    if wrong in FITS:
        args += [x for flag, x in zip(FIT[::2], FIT[1::2], strict=True)
                 for x in (flag, x) if flag not in args]  # fmt: skip
    before = sorted(folder.rglob("*"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        code = main(args)
    out, err = capsys.readouterr()
    assert (code, out) == (2, ""), err
    *notes, text = err.strip().splitlines()
    assert all(note.endswith("…") for note in notes)
    assert text.startswith("Error: ") and text.endswith("."), text
    assert [word for word in words if word not in text] == [], text
    assert ADVICE.search(text), text
    assert caught == []
    assert sorted(folder.rglob("*")) == before, "nothing is written"
