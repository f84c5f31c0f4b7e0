import pytest


@pytest.mark.slow
def test_the_quick_run_writes_every_table(run, tmp_path):
    run("fidelity", "--quick", "--out", tmp_path)
    tables = {p.stem: p.read_text("utf-8") for p in tmp_path.iterdir()}
    names = ("protocols", "published", "sfmc", "bmvc")
    assert set(tables) == {f"fidelity-{name}" for name in names}
    rows = tables["fidelity-protocols"].count("\n| small | ")
    assert rows == 5 and "| the same |" in tables["fidelity-protocols"]
    assert "labels fixed before the rounds" in tables["fidelity-published"]
    assert "\n| 1e-15 | " in tables["fidelity-sfmc"]
    assert "\n| view 3 | " in tables["fidelity-bmvc"]
