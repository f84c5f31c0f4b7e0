"""Names and reasons of mutants; mutmut itself runs in ``make mutants`` alone."""

from reliability import mutants


def test_survivors_are_told_by_function_with_their_reason():
    lived = ["manyview.ridge.x_solve__mutmut_3", "manyview.ridge.x_solve__mutmut_12"]
    assert mutants._explain(lived, {"ridge.solve": "rounding"}) == [
        "* `ridge.solve`, 2: rounding"
    ]
    assert "no reason found yet" in mutants._explain(lived, {})[0]


def test_methods_keep_their_class():
    name = "manyview.model_file.xǁReaderǁread__mutmut_1"
    assert mutants._short(name).startswith("model_file.")
