import pytest

from manyview import S2MVTC, all_methods, baselines
from manyview.base import MultiViewClusterer
from manyview.errors import InputError
from manyview.methods import find_method


def test_every_estimator_is_listed_once() -> None:
    names = [m.name for m in all_methods()]
    assert names[0] == "S2MVTC"
    assert len(set(names)) == len(names)
    assert set(baselines.__all__) < set(names)


@pytest.mark.parametrize("method", all_methods(), ids=lambda m: m.name)
def test_rows_are_complete(method) -> None:
    assert issubclass(method.estimator, MultiViewClusterer)
    assert method.estimator.__name__ == method.name
    assert method.summary and "\n" not in method.summary
    assert method.citation
    assert method.tags.predicts == hasattr(method.estimator, "predict")


@pytest.mark.parametrize("name", ["S2MVTC", "s2mvtc", "S²MVTC", "s2-mvtc"])
def test_names_are_found_however_they_are_written(name: str) -> None:
    assert find_method(name).estimator is S2MVTC


def test_unknown_method_names_the_nearest() -> None:
    with pytest.raises(InputError, match=r"'OPCM'\. Did you mean OPMC"):
        find_method("OPCM")
