"""Exit codes, usage errors, interruption, help."""

import subprocess
import sys
import warnings

import pytest

from manyview.baselines import ConcatKMeans
from manyview.cli.app import PANELS
from manyview.errors import DegenerateWarning

COMMANDS = [
    command.__name__.replace("_", "-") for panel in PANELS.values() for command in panel
]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(command: str, manyview) -> None:
    code, out, err = manyview(command, "--help")
    assert (code, err) == (0, "")
    assert "Example:" in out
    assert f"manyview {command}" in out.partition("Example:")[2]


def test_no_arguments_show_the_commands(manyview) -> None:
    code, out, _ = manyview()
    assert code == 0
    assert all(command in out for command in COMMANDS)


def test_version(manyview) -> None:
    import manyview as package

    assert manyview("--version") == (0, f"manyview {package.__version__}\n", "")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["nosuch"], "No such command 'nosuch'"),
        (["--nosuch"], "No such option"),
        (["fit", "a.npy", "--out", "run"], "Missing option '--clusters'"),
        (["fit", "--clusters", "3", "--out", "run"], "Missing argument 'FILE...'"),
        (["fit", "a.npy", "-k", "3", "-o", "run", "--seed", "x"], "--seed"),
        (["score", "y.txt"], "Missing argument 'PRED'"),
    ],
)
def test_bad_usage(args: list[str], message: str, manyview, folder) -> None:
    code, out, err = manyview(*args)
    assert (code, out) == (2, "")
    assert message in err
    assert err.startswith("Error: ") and err.count("\n") == 1
    assert "--help" in err


def test_an_unforeseen_error_is_not_hidden(
    manyview, folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ConcatKMeans, "fit", raising(ZeroDivisionError))
    with pytest.raises(ZeroDivisionError):
        fit_simply(manyview)


def test_lack_of_memory_is_one_sentence(
    manyview, folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ConcatKMeans, "fit", raising(MemoryError))
    code, _, err = fit_simply(manyview)
    assert code == 1
    assert "not enough memory" in err and err.count("\n") == 1


def test_interrupted_work_leaves_nothing(
    manyview, folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = sorted(folder.iterdir())
    monkeypatch.setattr(ConcatKMeans, "fit", raising(KeyboardInterrupt))
    code, out, err = fit_simply(manyview)
    assert (code, out) == (130, "")
    assert "Nothing was written" in err
    assert sorted(folder.iterdir()) == before


def test_interrupted_after_writing_says_what_was_kept(
    manyview, folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    from manyview.cli import terminal

    written = terminal.say_written

    def stop(path, what) -> None:
        written(path, what)
        raise KeyboardInterrupt

    monkeypatch.setattr(terminal, "say_written", stop)
    code, _, err = fit_simply(manyview)
    assert code == 130
    assert f"Kept: {folder / 'run'}" in err
    assert (folder / "run" / "labels.npy").exists()


def test_warnings_are_plain_lines(
    manyview, folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = ConcatKMeans.fit

    def warn(self, X, y=None):
        warnings.warn("One cluster is huge.", DegenerateWarning, stacklevel=2)
        return honest(self, X, y)

    monkeypatch.setattr(ConcatKMeans, "fit", warn)
    code, _, err = fit_simply(manyview)
    assert (code, err) == (0, "Warning: One cluster is huge.\n")


def test_the_module_can_be_run(folder) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "manyview", "fit", "none.npy", "-k", "2", "-o", "run"],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 2
    assert "Traceback" not in run.stderr and "none.npy" in run.stderr


def fit_simply(manyview):
    return manyview("fit", "a.npy", "-k", 4, "-o", "run", "--method", "ConcatKMeans")


def raising(kind: type[BaseException]):
    def fail(*args, **kwargs):
        raise kind

    return fail
