def test_plan_says_what_is_kept_and_how_often_rows_are_read(manyview, folder) -> None:
    code, out, err = manyview("plan", "a.npy", "b.npy", "--clusters", "4")
    assert (code, err) == (0, "")
    assert "300 rows" in out and "passes" in out and "B_bar" in out


def test_plan_refuses_a_limit_it_cannot_read(manyview, folder) -> None:
    code, _, err = manyview("plan", "a.npy", "--memory-limit", "much")
    assert code == 2 and "much" in err
