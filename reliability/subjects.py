"""The three commands that are killed: how to run them, look at them, judge them.

`look` reads what a killed command has left, the way a restart would, and raises
`Broken` where that is damaged; what it returns may only grow. `result` is what a
finished command has made, as bytes that must equal those of an undisturbed run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np

import manyview
from manyview import Views
from manyview.datasets import convert, load
from manyview.datasets.data_folder import open_data_folder
from manyview.experiments.results_file import Results
from manyview.files.container import read_container
from manyview.files.run_folder import read_meta

Found = dict[str, Any]


class Broken(Exception):
    """A promise that was not kept, in words."""


class Subject(Protocol):
    """One command under test; `work` is a folder for one story of kills.

    Killed at its very end, a command has done its work; started again it may refuse
    to do it twice, in the words of `refusal`.
    """

    name: str
    refusal: str

    def begin(self, work: Path) -> None:
        """Put in place what has to be there before the command starts."""

    def argv(self, work: Path) -> list[str]:
        """The command."""

    def look(self, work: Path) -> Found:
        """What is finished, each thing with a value that tells it from others."""

    def result(self, work: Path) -> Mapping[str, bytes]:
        """What the command has made."""


def lost(before: Found, after: Found) -> list[str]:
    """What was finished before and is not any more, or has gone back."""
    out = []
    for name, value in before.items():
        if name not in after:
            out.append(f"{name} was finished and is gone")
        elif isinstance(value, int) and after[name] < value:
            out.append(f"{name} went back from {value} to {after[name]}")
        elif not isinstance(value, int) and after[name] != value:
            out.append(f"{name} was finished and has changed")
    return out


def toy(n_samples: int, n_features: tuple[int, ...]) -> tuple[list[Any], Any]:
    """Views of four groups that overlap, so that rounds have work to do."""
    rng = np.random.default_rng(3)
    labels = rng.permutation(np.arange(n_samples) % 4)
    views = [
        rng.normal(size=(4, d))[labels] + 2 * rng.normal(size=(n_samples, d))
        for d in n_features
    ]
    return views, labels


class Fit:
    """``manyview fit --checkpoint``: rounds, clustering, the run's folder."""

    name, refusal = "fit --checkpoint", "holds an earlier run already"

    def __init__(self, folder: Path) -> None:
        views, _ = toy(1500, (20, 30, 10))
        self._files = [str(folder / f"{name}.npy") for name in "abc"]
        for path, view in zip(self._files, views, strict=True):
            np.save(path, view)

    def begin(self, work: Path) -> None:
        pass

    def argv(self, work: Path) -> list[str]:
        out, saved = str(work / "run"), str(work / "saved")
        size = ["--set", "n_anchors=40", "--set", "n_graph_anchors=100"]
        rounds = ["--set", "max_iter=8", "--set", "n_init=1"]
        return ["fit", *self._files, "-k", "4", "-o", out, "--checkpoint", saved] + (
            size + rounds
        )

    def look(self, work: Path) -> Found:
        found: Found = {}
        for path in sorted((work / "saved").glob("[!.]*.zip")):
            name, number = re.fullmatch(r"(.+)-(\d+)\.zip", path.name).groups()
            _read_whole(path)
            found[name] = max(found.get(name, 0), int(number))
        for path in (work / "saved").glob("[!.]*.npy"):
            _read_whole(path)
        if (work / "run").exists():
            there = {p.name for p in (work / "run").iterdir()}
            missing = set(read_meta(work / "run")["files"]) - there
            if missing:
                raise Broken(f"the run's folder lacks {sorted(missing)}")
            found["run"] = len(np.load(work / "run" / "labels.npy"))
        return found

    def result(self, work: Path) -> Mapping[str, bytes]:
        names = ("labels.npy", "labels.csv", "embedding.npy")
        found = {n: (work / "run" / n).read_bytes() for n in names}
        # Equal models may share their arrays differently inside the file.
        model = manyview.load_model(work / "run" / "model.manyview")
        rows = model.transform([np.load(path)[:200] for path in self._files])
        found["objective"] = str(model.objective_).encode()
        return found | {"new rows": rows.tobytes()}


class Compare:
    """``manyview compare``: records appended one by one, labels beside them."""

    name, refusal = "compare", ""

    def __init__(self, folder: Path) -> None:
        views, labels = toy(300, (5, 8))
        self._data = folder / "toy.npz"
        np.savez(self._data, view0=views[0], view1=views[1], labels=labels)

    def begin(self, work: Path) -> None:
        pass

    def argv(self, work: Path) -> list[str]:
        methods = ["--methods", "ConcatKMeans", "--order", "file", "--seeds", "4"]
        out = ["-o", str(work / "results"), "--retry"]
        return ["compare", str(self._data), *methods, *out]

    def look(self, work: Path) -> Found:
        found: Found = {}
        if not (work / "results").is_dir():
            return found
        for key, record in Results(work / "results").read().items():
            if "was not written" in record.get("error", ""):
                continue  # a full disk, said as such; it is tried again
            if record["status"] != "ok":
                raise Broken(f"{record['method']} failed: {record['error']}")
            labels = np.load(work / "results" / "arrays" / f"{key}.npy")
            found[key] = json.dumps(record, sort_keys=True) + str(labels.tolist())
        return found

    def result(self, work: Path) -> Mapping[str, bytes]:
        out = {}
        for key, record in Results(work / "results").read().items():
            scores = json.dumps(record["scores"], sort_keys=True)
            labels = (work / "results" / "arrays" / f"{key}.npy").read_bytes()
            out[key] = scores.encode() + labels
        lines = (work / "results" / "results.jsonl").read_text().splitlines()
        n_ok = sum(json.loads(line)["status"] == "ok" for line in lines)
        return out | {"finished runs": b"%d" % n_ok}


class Convert:
    """``manyview convert``: a folder that appears whole, or replaces another."""

    def __init__(self, folder: Path, *, streams: bool, replaces: bool) -> None:
        self.refusal = "exists already"
        self.name = "convert, " + ", ".join(
            ["streamed" if streams else "in one process"]
            + (["over an older folder"] if replaces else [])
        )
        views, labels = toy(20_000, (30, 20))
        self._replaces = replaces
        self._old = Views([x[:100] for x in views])
        self._source = folder / ("new.h5" if streams else "new.npy")
        if streams:
            import h5py

            with h5py.File(self._source, "w") as file:
                file["a"], file["b"], file["y"] = views[0], views[1], labels
        else:
            np.save(self._source, views[0])

    def begin(self, work: Path) -> None:
        if self._replaces:
            convert(self._old, work / "data")

    def argv(self, work: Path) -> list[str]:
        over = ["--overwrite"] if self._replaces else []
        return ["convert", str(self._source), str(work / "data"), *over]

    def look(self, work: Path) -> Found:
        target = work / "data.manyview-data"
        aside = [d / target.name for d in work.glob(f".{target.name}.*.old")]
        there = [p for p in (target, *aside) if p.exists()]
        if self._replaces and not there:
            raise Broken("neither the old folder nor the new one is there")
        found: Found = {}
        for path in there:
            n_rows = len(open_data_folder(path, verify=True).views[0])
            found["rows"] = max(found.get("rows", 0), n_rows)
        return found

    def result(self, work: Path) -> Mapping[str, bytes]:
        target = work / "data.manyview-data"
        load(target)
        return {p.name: p.read_bytes() for p in sorted(target.iterdir())}


def all_subjects(folder: Path) -> list[Subject]:
    """The commands, with their data in this folder."""
    kinds = [(False, False), (True, False), (False, True), (True, True)]
    converts = [Convert(folder, streams=s, replaces=r) for s, r in kinds]
    return [Fit(folder), *converts, Compare(folder)]


def leftovers(work: Path) -> list[str]:
    """Temporary files that a finished command should have cleared away."""
    hidden = re.compile(r"\.(?!claims$|results\.jsonl\.lock$).+|.+\.\d+\.npy")
    found = [p for p in work.rglob("*") if hidden.fullmatch(p.name)]
    return sorted(str(p.relative_to(work)) for p in found)


def _read_whole(path: Path) -> None:
    try:
        if path.suffix == ".zip":
            read_container(path, "checkpoint")
        else:
            np.load(path, allow_pickle=False)
    except Exception as error:
        raise Broken(f"{path.name} is half-written: {error}") from error
