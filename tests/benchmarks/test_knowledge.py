import pytest


@pytest.mark.slow
def test_labels_help_more_than_a_classifier_of_them_alone_in_the_quick_run(
    run, tmp_path
):
    page = tmp_path / "knowledge.md"
    run("knowledge", "--quick", "--out", page, "--seeds", 1)
    lines = page.read_text(encoding="utf-8").splitlines()
    (row,) = [line for line in lines if line.startswith("| small")]
    none, told, classified, most = [float(x) for x in row.split("|")[4:8]]
    assert classified < none < told < most
