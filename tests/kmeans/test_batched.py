"""Anchors of views on a device, searched for side by side or one by one."""

import numpy as np
import pytest

from manyview.kmeans.batched import batched_anchors
from manyview.kmeans.passes import kmeans_anchors

torch = pytest.importorskip("torch", reason="torch is not installed")


def views_of(*shapes):
    rng = np.random.default_rng(0)
    return [rng.normal(size=shape) for shape in shapes]


@pytest.mark.parametrize("n_anchors", [8, 150])
def test_views_side_by_side_have_the_anchors_of_each_alone(n_anchors):
    """Also where views are of unlike width, or some have fewer rows."""
    views = [torch.as_tensor(x) for x in views_of((400, 3), (400, 6), (300, 4))]
    found = batched_anchors(views, n_anchors, 5)
    assert [a.shape for a in found] == [(n_anchors, x.shape[1]) for x in views]
    for view, anchors in zip(views, found, strict=True):
        (alone,) = batched_anchors([view], n_anchors, 5)
        np.testing.assert_allclose(anchors.numpy(), alone.numpy(), atol=1e-10)


def test_anchors_are_as_good_as_those_of_the_host():
    (x,) = views_of((500, 4))
    device = batched_anchors([torch.as_tensor(x)], 20, 1)[0].numpy()
    host = kmeans_anchors(x, 20, 1)

    def cost(anchors):
        return ((x[:, None] - anchors[None]) ** 2).sum(axis=2).min(axis=1).mean()

    assert device.dtype == np.float64
    assert cost(device) < 1.05 * cost(host)


def test_few_rows_are_all_anchors():
    views = [torch.as_tensor(x) for x in views_of((7, 3), (7, 2))]
    for view, anchors in zip(views, batched_anchors(views, 9, 0), strict=True):
        np.testing.assert_array_equal(anchors.numpy(), view.numpy())
