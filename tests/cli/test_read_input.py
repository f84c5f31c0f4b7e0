import json
from pathlib import Path

import numpy as np
import pytest

from manyview.cli.read_input import LabelFile, match_rows, read_labels
from manyview.errors import FileError
from manyview.metrics import clustering_scores

TRUE = [0, 0, 1, 1, 2, 2]
FOUND = [1, 1, 1, 0, 2, 2]
FORMS = {
    "lines.txt": "1\n1\n1\n0\n2\n2\n",
    "one_line.txt": "1 1 1 0 2 2",
    "one_row.csv": "1,1,1,0,2,2\n",
    "header.csv": "cluster\n1\n1\n1\n0\n2\n2\n",
    "strange_header.csv": "found\n1\n1\n1\n0\n2\n2\n",
    "named.csv": "row,cluster\na,1\nb,1\nc,1\nd,0\ne,2\nf,2\n",
    "wide.csv": "label,x,y\n1,5,5\n1,5,5\n1,5,5\n0,5,5\n2,5,5\n2,5,5\n",
    "text.tsv": "a\tred\nb\tred\nc\tred\nd\tdark blue\ne\tgrey\nf\tgrey\n",
    "sorted.csv": "row,cluster\n3,0\n0,1\n2,1\n1,1\n5,2\n4,2\n",
    "bom.csv": "\ufeffy\r\n1\r\n1\r\n1\r\n0\r\n2\r\n2\r\n",
}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("true.npy", TRUE)


@pytest.mark.parametrize("name", FORMS)
def test_text_in_many_forms(name: str, manyview) -> None:
    Path(name).write_bytes(FORMS[name].encode())
    code, out, _ = manyview("score", "true.npy", name, "--json")
    assert code == 0
    assert json.loads(out) == clustering_scores(TRUE, FOUND)


def test_table_shows_the_seven_scores(manyview) -> None:
    np.save("found.npy", np.array(FOUND)[:, None])
    code, out, err = manyview("score", "true.npy", "found.npy")
    assert (code, err) == (0, "")
    for name, value in clustering_scores(TRUE, FOUND).items():
        assert name in out and f"{value:.4f}" in out


def test_labels_of_a_data_file_against_a_run(manyview) -> None:
    X = np.repeat([0.0, 5.0, 9.0], 2)[:, None] + np.arange(6)[:, None] / 10
    np.savez("data.npz", X1=X, Y=TRUE)
    args = ("-k", 3, "--method", "ConcatKMeans", "-o", "run")
    assert manyview("fit", "data.npz", *args).code == 0
    code, out, _ = manyview("score", "data.npz", "run", "--json")
    assert code == 0 and json.loads(out)["ACC"] == 1.0


def test_rows_are_matched_by_name() -> None:
    true = LabelFile([0, 1, 2], ["a", "b", "c"])
    assert match_rows(true, LabelFile([5, 6, 7], ["c", "a", "b"])) == [6, 7, 5]
    assert match_rows(true, LabelFile([5, 6, 7], ["0", "1", "2"])) == [5, 6, 7]
    assert match_rows(true, LabelFile([5, 6, 7], None)) == [5, 6, 7]
    with pytest.raises(FileError, match="name their rows differently"):
        match_rows(true, LabelFile([5, 6, 7], ["a", "b", "x"]))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("short.txt", b"0\n1\n", "has 6 labels and short.txt has 2"),
        ("empty.txt", b"\n", "empty.txt is empty"),
        ("wide.csv", b"a,b,c\n1,2,3\n", "has 3 columns (a, b, c)"),
        ("ragged.csv", b"row,label\n1,2\n3\n", "in line 3"),
        ("latin.txt", b"gr\xfcn\nrot\n", "latin.txt could not be read"),
        ("broken.npy", b"\x93NUMPY\x01\x00", "broken.npy"),
        ("what.bin", b"\x00\x01", "what.bin is in no format"),
    ],
)
def test_bad_labels(name: str, content: bytes, message: str, manyview) -> None:
    Path(name).write_bytes(content)
    code, out, err = manyview("score", "true.npy", name)
    assert (code, out) == (2, "")
    assert message in err and err.count("\n") == 1


def test_a_matrix_is_no_labels(manyview) -> None:
    np.save("matrix.npy", np.ones((6, 2)))
    code, _, err = manyview("score", "matrix.npy", "true.npy")
    assert code == 2 and "shape (6, 2), not labels" in err


def test_data_without_labels() -> None:
    np.savez("data.npz", X1=np.ones((4, 2)), X2=np.ones((4, 3)))
    with pytest.raises(FileError, match=r"data\.npz has no labels"):
        read_labels("data.npz")
