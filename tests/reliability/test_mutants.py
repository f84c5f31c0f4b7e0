"""Names and reasons of mutants; mutmut itself runs in ``make mutants`` alone."""

import tomllib

from reliability import mutants
from reliability.record import ROOT, Part


def test_survivors_are_told_by_function_with_their_reason():
    lived = [
        "manyview.stages.ridge.x_solve__mutmut_3",
        "manyview.stages.ridge.x_solve__mutmut_12",
    ]
    assert mutants._explain(lived, {"stages.ridge.solve": "rounding"}) == [
        "* `stages.ridge.solve`, 2: rounding"
    ]
    assert "no reason found yet" in mutants._explain(lived, {})[0]


def test_methods_keep_their_class():
    name = "manyview.files.model_file.xǁReaderǁread__mutmut_1"
    assert mutants._short(name).startswith("files.model_file.")


def test_a_module_with_too_many_survivors_is_a_loss():
    for n_lived, n_losses in ((1, 0), (2, 1)):
        part = Part("mutants")
        lived = [f"manyview.stages.ridge.x_new__mutmut_{i}" for i in range(n_lived)]
        states = dict.fromkeys(lived, "survived")
        states |= {
            f"manyview.stages.ridge.x_old__mutmut_{i}": "killed" for i in range(9)
        }
        states["manyview.stages.ridge.x_old__mutmut_9"] = "timeout"
        mutants.add(part, "stages/ridge", states)
        assert part.rows[0]["killed"] == 10
        assert part.rows[0]["survivors without a reason"] == n_lived
        assert len(part.losses) == n_losses


def test_every_module_and_its_tests_are_where_the_table_says():
    for module, (tests, *_) in mutants.MODULES.items():
        assert (ROOT / "src" / "manyview" / f"{module}.py").is_file()
        assert (ROOT / tests).is_file()


def test_every_reason_belongs_to_a_function_of_a_module():
    reasons = tomllib.loads(mutants.REASONS.read_text(encoding="utf-8"))
    for name in reasons:
        module, _, function = name.rpartition(".")
        path = module.replace(".", "/")
        assert path in mutants.MODULES
        source = (ROOT / "src" / "manyview" / f"{path}.py").read_text(encoding="utf-8")
        assert f"def {function}(" in source, name
