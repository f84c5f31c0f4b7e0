"""Tensors as users have them: of any precision, with gradients, beside arrays."""

import numpy as np
import pytest
import scipy.sparse as sp

from manyview import S2MVTC, AnchorSpectral, Views, all_methods
from manyview.arrays.from_torch import in_one_place
from manyview.arrays.ops import dtype_of
from manyview.errors import InputTypeError
from manyview.explain import explain

torch = pytest.importorskip("torch", reason="torch is not installed")


def small():
    return S2MVTC(4, n_anchors=40, n_graph_anchors=100, n_init=2, random_state=0)


def spectral():
    return AnchorSpectral(4, n_graph_anchors=200, n_init=2, random_state=0)


def tensors(views):
    return [torch.as_tensor(x) for x in views]


@pytest.fixture
def model(three_views):
    return spectral().fit(tensors(three_views[0]))


@pytest.mark.parametrize(
    "change",
    [
        lambda x, y, z: [x.numpy(), y, z],
        lambda x, y, z: [x, y.numpy(), z.numpy()],
        lambda x, y, z: [x.requires_grad_(), y, torch.nn.Parameter(z)],
        lambda x, y, z: {"a": x.numpy(), "b": y.requires_grad_(), "c": z},
    ],
    ids=["array first", "tensor first", "gradients", "both"],
)
def test_arrays_and_gradients_make_no_difference(change, model, three_views):
    given = change(*tensors(x.copy() for x in three_views[0]))
    again = spectral().fit(given)
    assert isinstance(again.labels_, torch.Tensor)
    assert torch.equal(again.labels_, model.labels_)
    assert torch.equal(model.predict(given), model.labels_)
    assert not again.embedding_.requires_grad


@pytest.mark.parametrize("name", [m.name for m in all_methods() if m.is_installed])
def test_every_method_takes_arrays_beside_tensors(name, three_views):
    (method,) = [m for m in all_methods() if m.name == name]
    x, y, z = (x[:80] for x in three_views[0])
    labels = method.estimator(3).fit([x, torch.as_tensor(y), z]).labels_
    assert len(labels) == 80


@pytest.mark.parametrize("kind", ["bfloat16", "float16", "float8_e4m3fn"])
def test_narrow_floats_count_as_the_float32_they_are(kind, three_views):
    narrow = [x.to(getattr(torch, kind)) for x in tensors(three_views[0])]
    wide = [x.float() for x in narrow]
    assert Views(narrow).dtype == np.float32
    found = small().fit(narrow)
    assert torch.equal(found.labels_, small().fit(wide).labels_)


def test_a_sparse_matrix_beside_a_tensor(three_views):
    x, y, _ = three_views[0]
    holes = np.where(np.arange(len(y))[:, None] == 7, np.nan, y)
    given = [sp.csr_array(x), torch.as_tensor(holes)]
    block = Views(given).block(slice(0, 20))
    assert isinstance(block.present, torch.Tensor)
    assert block.present[:, 0].all() and not block.present[7, 1]
    assert isinstance(small().fit(given).labels_, torch.Tensor)


def test_certainty_is_of_the_kind_of_the_labels(model, three_views):
    assert isinstance(model.certainty_, torch.Tensor)
    assert model.certainty_.device == model.labels_.device
    arrays = spectral().fit(three_views[0])
    assert isinstance(arrays.certainty_, np.ndarray)
    np.testing.assert_allclose(model.certainty_.numpy(), arrays.certainty_, atol=1e-6)


def test_new_rows_are_placed_as_what_they_are(model, three_views):
    given = tensors(three_views[0])
    placed = model.place([given[0].numpy(), *given[1:]])
    assert all(isinstance(part, torch.Tensor) for part in placed)
    assert torch.equal(placed.labels, model.predict(given))
    arrays = model.place(three_views[0])
    assert all(isinstance(part, np.ndarray) for part in arrays)
    np.testing.assert_array_equal(arrays.labels, placed.labels.numpy())


def test_a_fit_on_tensors_is_explained(model, three_views):
    found = explain(model, tensors(three_views[0]), leave_out=False)
    assert isinstance(found.certainty, np.ndarray)
    assert len(found.typical) == 4


def test_holes_of_tensors_are_filled_with_their_means():
    values = torch.tensor([[1.0, 2.0], [float("nan"), 4.0], [3.0, 6.0]])
    (filled,) = Views([values.requires_grad_()]).filled().arrays
    assert isinstance(filled, torch.Tensor)
    assert filled.tolist() == [[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda x: x.to_sparse(), "sparse tensor .torch.sparse_coo.*to_dense"),
        (lambda x: x.to("meta"), "'meta'.* a tensor that has values"),
        (
            lambda x: torch.quantize_per_tensor(x, 0.1, 0, torch.qint8),
            "quantised.*dequantize",
        ),
    ],
    ids=["sparse", "meta", "quantised"],
)
@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor")
def test_tensors_without_plain_rows_are_refused(make, words):
    with pytest.raises(InputTypeError, match=rf"View 'v' is .*{words}"):
        Views({"v": make(torch.ones(9, 2))})


def test_dtypes_in_words_of_numpy():
    assert dtype_of(torch.ones(1, dtype=torch.bfloat16)) == np.float16
    assert dtype_of(torch.ones(1, dtype=torch.int8)) == np.int8
    assert dtype_of(np.ones(1, dtype=[("a", "f8")])).kind == "V"


def test_without_a_tensor_nothing_moves():
    parts = [np.ones(2), sp.csr_array(np.eye(2))]
    assert all(a is b for a, b in zip(in_one_place(parts), parts, strict=True))
