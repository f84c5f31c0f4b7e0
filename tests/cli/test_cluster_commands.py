import json
from pathlib import Path

import numpy as np
import pytest

from manyview import S2MVTC
from manyview.files.run_folder import read_meta
from manyview.metrics import clustering_scores

SIMPLE = ("--method", "concat-kmeans", "--out", "run")


def test_results_are_those_of_the_estimator(manyview, folder: Path) -> None:
    code, out, _ = manyview(
        "fit", "a.npy", "b.npy", "-k", 4, "--set", "n_init=2", "--seed", 3,
        "--labels", "y.txt", *SIMPLE,
    )  # fmt: skip
    from manyview.baselines import ConcatKMeans

    views = [np.load("a.npy"), np.load("b.npy")]
    expected = ConcatKMeans(4, n_init=2, random_state=3).fit_predict(views)
    assert code == 0
    np.testing.assert_array_equal(np.load("run/labels.npy"), expected)
    meta = read_meta("run")
    assert meta["method"] == "ConcatKMeans"
    place = {"engine": "local", "checkpoint": None}
    named = {"n_clusters": 4, "n_init": 2, "random_state": 3}
    assert meta["settings"] == {**named, **place}
    named = [meta["data"]["labels"], *meta["data"]["files"]]
    assert named == [str(folder / name) for name in ("y.txt", "a.npy", "b.npy")]
    assert [v["name"] for v in meta["data"]["views"]] == ["a", "b"]
    assert set(meta["timings"]) == {"reading", "fitting"}
    known = np.loadtxt("y.txt", dtype=int)
    assert meta["scores"] == pytest.approx(clustering_scores(known, expected))
    assert f"{meta['scores']['ACC']:.4f}" in out
    assert str(folder / "run") in out


def test_a_fit_without_smoothing_leaves_its_embedding(manyview, folder) -> None:
    code, *_ = manyview(
        "fit", "a.npy", "b.npy", "-k", 4, "--smoothing", "none", "-o", "run",
        "--set", "n_components=8", "--set", "max_iter=2",
    )  # fmt: skip
    meta = read_meta("run")
    assert code == 0
    assert meta["method"] == "SequenceS2MVTC"
    assert meta["settings"]["smoothing_weight"] == 0.0
    assert meta["scores"] is None
    assert np.load("run/embedding.npy").shape == (300, 8)


def test_s2mvtc_is_the_default(manyview, folder) -> None:
    assert manyview("fit", "a.npy", "-k", 4, "-o", "run").code == 0
    assert read_meta("run")["method"] == "S2MVTC"


def test_row_names_go_into_the_labels(manyview, folder) -> None:
    rows = [f"item{i},{i % 2 * 9 + i / 100},{i % 2}" for i in range(20)]
    Path("table.csv").write_text("name,x,label\n" + "\n".join(rows))
    assert manyview("fit", "table.csv", "-k", 2, "--labels", "label", *SIMPLE).code == 0
    lines = Path("run/labels.csv").read_text().splitlines()
    assert [line.partition(",")[0] for line in lines[1:4]] == [
        "item0",
        "item1",
        "item2",
    ]
    assert read_meta("run")["scores"]["ACC"] == 1.0


@pytest.mark.parametrize("gap", [np.nan, ""])
def test_rows_without_a_class_are_clustered_but_not_scored(manyview, folder, gap):
    classes = np.loadtxt("y.txt", dtype=int)
    few = np.where(np.arange(300) % 7 == 0, gap, classes)
    np.savez("data.npz", X1=np.load("a.npy"), Y=few)
    code, _, err = manyview("fit", "data.npz", "-k", 4, "--labels", "Y", *SIMPLE)
    assert code == 0 and "43 rows without a class are not scored" in err
    found, there = np.load("run/labels.npy"), np.arange(300) % 7 > 0
    assert len(found) == 300
    expected = clustering_scores(classes[there], found[there])
    assert read_meta("run")["scores"] == pytest.approx(expected)
    np.savez("none.npz", X1=np.load("a.npy"), Y=np.full(300, np.nan))
    given = ("fit", "none.npz", "-k", 4, "--labels", "Y", "-o", "other")
    assert manyview(*given).code == 0
    assert read_meta("other")["scores"] is None


def test_labels_can_be_left_out(manyview, folder) -> None:
    np.savez("data.npz", X1=np.load("a.npy"), Y=np.loadtxt("y.txt", dtype=int))
    assert manyview("fit", "data.npz", "-k", 4, "--labels", "none", *SIMPLE).code == 0
    assert read_meta("run")["scores"] is None


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["none.npy", "-k", "3"], "There is no file none.npy in"),
        (["text.docx", "-k", "3"], "text.docx is in no format we can read"),
        (["a.npy", "-k", "0"], "--clusters must be at least 1; got 0"),
        (["a.npy", "-k", "three"], "'three' (str). Give an integer of at least 1, or"),
        (["a.npy", "-k", "301"], "more than the 300 rows"),
        (["a.npy", "-k", "3", "--method", "OPCM"], "Did you mean OPMC"),
        (["a.npy", "-k", "3", "--seed", "-1"], "--seed must be at least 0"),
        (["a.npy", "-k", "3", "--set", "n_inits=3"], "Did you mean n_init"),
        (["a.npy", "-k", "3", "--set", "n_init=many"], "n_init must be a whole number"),
        (["a.npy", "-k", "3", "--set", "n_init"], "not of the form name=value"),
        (["a.npy", "-k", "3", "--set", "random_state=1"], "use --seed"),
        (["a.npy", "-k", "3", "--smoothing", "graph"], "no parameter 'smoothing'"),
        (
            ["a.npy", "-k", "3", "--method", "S2MVTC", "--smoothing", "rows"],
            "--smoothing='rows' is unknown; choose one of 'graph'",
        ),
        (["a.npy", "-k", "3", "--labels", "few.txt"], "one entry per row (300)"),
        (["a.npy", "-k", "3", "--labels", "species"], "No labels named 'species'"),
        (["a.npy", "short.npy", "-k", "3"], "a has 300, short has 200"),
        (["a.npy", "nan.npy", "-k", "3"], "View 'nan' holds NaN or infinity"),
        (["a.npy", "-k", "3", "--out", "a.npy/run"], "not a folder you may write to"),
        (["a.npy", "-k", "3", "--out", "full"], "not empty and holds no earlier run"),
    ],
)
def test_bad_input_gets_one_sentence(
    args: list[str], message: str, manyview, folder: Path
) -> None:
    Path("text.docx").write_bytes(b"hello")
    Path("few.txt").write_text("0\n1\n1\n")
    np.save("short.npy", np.ones((200, 2)))
    broken = np.ones((300, 2))
    broken[5, 1] = np.nan
    np.save("nan.npy", broken)
    Path("full").mkdir()
    Path("full/thesis.txt").write_text("")
    before = sorted(folder.rglob("*"))
    code, out, err = manyview("fit", *SIMPLE, *args)
    assert (code, out) == (2, "")
    assert message in err
    assert err.startswith("Error: ") and err.count("\n") == 1
    assert sorted(folder.rglob("*")) == before


def test_an_earlier_run_needs_force(manyview, folder) -> None:
    assert manyview("fit", "a.npy", "-k", 3, *SIMPLE).code == 0
    again = manyview("fit", "a.npy", "-k", 2, *SIMPLE)
    assert again.code == 2 and "--force" in again.err
    assert manyview("fit", "a.npy", "-k", 2, "--force", *SIMPLE).code == 0
    assert json.loads(Path("run/run.json").read_text())["settings"]["n_clusters"] == 2


@pytest.mark.usefixtures("few_candidates")
def test_choose_k_counts_and_draws(manyview, folder: Path) -> None:
    code, out, _ = manyview(
        "choose-k", "a.npy", "b.npy", "--to", 5, "--figure", "k", "--json"
    )
    assert code == 0
    found = json.loads(out.splitlines()[0])
    assert found["candidates"] == list(range(2, 6))
    assert Path("k.png").is_file() and Path("k.svg").is_file()
    code, out, _ = manyview("choose-k", "a.npy", "b.npy", "--to", 3)
    assert code == 0 and "stability" in out


def test_methods_are_listed(manyview) -> None:
    from manyview.methods import all_methods

    code, out, _ = manyview("methods")
    assert code == 0
    assert all(m.name in out for m in all_methods())
    assert "CVPR 2024" in manyview("methods", "--cite").out


def test_a_fit_keeps_within_a_memory_limit(manyview, folder) -> None:
    few = ("--set", "n_init=2", "--set", "n_anchors=50")
    given = ("fit", "a.npy", "b.npy", "-k", 4, *few)
    assert manyview(*given, "-o", "free").code == 0
    assert manyview(*given, "--memory-limit", "2GB", "-o", "within").code == 0
    first, second = (np.load(f"{run}/labels.npy") for run in ("free", "within"))
    np.testing.assert_array_equal(first, second)
    code, _, err = manyview(*given, "--memory-limit", "lots", "-o", "no")
    assert code == 2 and "memory_limit='lots' is no size" in err
    code, _, err = manyview(
        "fit", "a.npy", "-k", 3, "--method", "LMTC", "--memory-limit", "2GB", "-o", "no"
    )
    assert code == 2 and "LMTC has no parameter 'memory_limit'" in err


def test_known_rows_are_kept_by_number_and_by_name(manyview, folder) -> None:
    classes = np.loadtxt("y.txt", dtype=int)
    told = np.where(np.arange(300) % 10 == 0, classes, -1)
    np.savetxt("some.txt", told, fmt="%d")
    Path("apart.csv").write_text("0,1\n")
    found = "fit", "a.npy", "b.npy", "-k", 4, "-o", "run", "--known", "some.txt"
    wanted = classes[0] != classes[1]
    more = ("--cannot-link", "apart.csv") if wanted else ("--must-link", "apart.csv")
    code, out, _ = manyview(*found, *more)
    labels = np.load("run/labels.npy")
    assert code == 0 and "would place elsewhere" in out
    np.testing.assert_array_equal(labels[told >= 0], told[told >= 0])
    assert (labels[0] != labels[1]) == wanted
    known = read_meta("run")["known"]
    assert known["partial_labels"] == str(folder / "some.txt") and "conflicts" in known


def test_known_rows_may_be_few_and_have_names(manyview, folder) -> None:
    x = np.load("a.npy")
    rows = [f"item{i},{a[0]},{a[1]},{a[2]}" for i, a in enumerate(x)]
    Path("table.csv").write_text("name,x,y,z\n" + "\n".join(rows))
    Path("some.csv").write_text("name,label\nitem7,cat\nitem9,dog\nitem8,\n")
    Path("same.txt").write_text("item7 item3\n")
    code, *_ = manyview(
        "fit", "table.csv", "-k", 4, "--known", "some.csv", "--must-link", "same.txt",
        "-o", "run",
    )  # fmt: skip
    labels = np.load("run/labels.npy")
    assert code == 0
    assert [labels[7], labels[9], labels[3]] == [0, 1, 0]
    assert read_meta("run")["known"]["classes"] == ["cat", "dog"]


def test_known_rows_of_data_without_names_have_numbers(manyview, folder) -> None:
    Path("some.csv").write_text("row,label\n9,dog\n7,cat\n")
    code, *_ = manyview("fit", "a.npy", "-k", 4, "--known", "some.csv", "-o", "run")
    assert code == 0
    assert np.load("run/labels.npy")[[7, 9]].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--method", "concat-kmeans", "--known", "y.txt"), "cannot keep to what is"),
        (("--must-link", "pairs.txt"), "Line 2 of pairs.txt is '3', not two rows"),
        (("--must-link", "none.txt"), "could not be read"),
        (("--cannot-link", "far.txt"), "names row 999"),
    ],
)
def test_pairs_that_are_none_are_named(manyview, folder, options, said) -> None:
    Path("pairs.txt").write_text("1 2\n3\n")
    Path("far.txt").write_text("1 999\n")
    code, _, err = manyview("fit", "a.npy", "-k", 4, "-o", "run", *options)
    assert code != 0 and said in err.replace("\n", " ")
    assert not Path("run").exists()


def test_sizes_of_clusters_are_stated(manyview, folder) -> None:
    fit = "fit", "a.npy", "b.npy", "-k", 4, "-o"
    assert manyview(*fit, "run", "--cluster-sizes", "equal").code == 0
    counts = np.bincount(np.load("run/labels.npy"))
    assert counts.max() - counts.min() <= 1
    assert read_meta("run")["sizes"] == {"cluster_sizes": "equal"}
    code, _, err = manyview(*fit, "no", "--min-cluster-size", 10**6)
    assert code != 0 and "min_cluster_size=1000000 cannot be had" in err
    options = "--method", "concat-kmeans", "--min-cluster-size", 2
    code, _, err = manyview(*fit, "no", *options)
    assert code != 0 and "Leave --min-cluster-size out" in err.replace("\n", " ")


def test_a_stopped_fit_says_where_its_checkpoint_is(manyview, folder, monkeypatch):
    def stop(model, views):
        Path(model.checkpoint).mkdir()
        raise KeyboardInterrupt

    monkeypatch.setattr(S2MVTC, "fit", stop)
    args = ("fit", "a.npy", "-k", 3, "-o", "run", "--checkpoint", "kept")
    code, _, err = manyview(*args)
    assert code == 130 and err.endswith("Stopped. Kept: kept.\n")
