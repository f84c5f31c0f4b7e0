"""TURTLE: its parts against torch's own, the search without labels, whole fits."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from manyview.baselines import TURTLE
from manyview.baselines.turtle import (
    CANDIDATES,
    WIDEST,
    Adam,
    Tasks,
    cross_entropy_slopes,
    generalisation,
    narrowed,
)
from manyview.metrics import ari

torch = pytest.importorskip("torch", reason="needs the extra torch")


def drawn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_adam_is_torchs_with_a_rate_for_each_candidate():
    start, slopes = drawn(5, 2, 3), [drawn(5, 2, 3, seed=s) for s in range(1, 6)]
    ours = Adam([start.clone()], [0.1, 0.01])
    for slope in slopes:
        ours.step([slope])
    for k, rate in enumerate((0.1, 0.01)):
        x = start[:, k].clone().requires_grad_()
        theirs = torch.optim.Adam([x], lr=rate)
        for slope in slopes:
            x.grad = slope[:, k].clone()
            theirs.step()
        torch.testing.assert_close(ours.values[0][:, k], x.detach())


def test_a_restart_is_a_new_start_of_these_candidates_alone():
    start, slope = drawn(5, 2, 3), drawn(5, 2, 3, seed=1)
    once, twice = Adam([start.clone()], [0.1, 0.1]), Adam([start.clone()], [0.1, 0.1])
    once.step([slope])
    for _ in range(2):
        twice.restart(torch.tensor([True, False]), [start[:, :1]])
        twice.step([slope])
    torch.testing.assert_close(twice.values[0][:, 0], once.values[0][:, 0])
    assert not torch.allclose(twice.values[0][:, 1], once.values[0][:, 1])


def test_slopes_are_those_of_the_cross_entropy():
    z, w, tau = drawn(7, 4), drawn(4, 2, 3, seed=1), drawn(7, 2, 3, seed=2).softmax(2)
    (found,) = cross_entropy_slopes([z], [w], tau)
    for k in range(2):
        x = w[:, k].clone().requires_grad_()
        torch.nn.functional.cross_entropy(z @ x, tau[:, k]).backward()
        torch.testing.assert_close(found[:, k], x.grad)


def test_a_step_lowers_the_outer_loss_and_spreads_the_clusters():
    rng = np.random.default_rng(0)
    x = 6.0 * np.eye(4)[rng.integers(0, 4, 200)] + rng.normal(size=(200, 4))
    Z = [torch.as_tensor(np.c_[x, np.ones(200)], dtype=torch.float32)]
    tasks = Tasks([5], 4, torch.Generator().manual_seed(0))
    sure = []
    for _ in range(60):
        tasks.step(Z, 10.0, 10)
        (tau,) = tasks.labels_by_view(Z)
        sure.append(tau.max(dim=2).values.mean().item())
    assert sure[-1] > sure[0] + 0.2
    assert tau.mean(dim=0).min() > 0.15
    # Without the entropy nothing holds the clusters apart.
    tasks = Tasks([5], 4, torch.Generator().manual_seed(0))
    for _ in range(60):
        tasks.step(Z, 0.0, 10)
    assert tasks.labels_by_view(Z)[0].mean(dim=0).min() < 0.05


def test_generalisation_leaves_every_row_out_once():
    rng = np.random.default_rng(0)
    spaces = [rng.normal(size=(20, d)) + 2 for d in (3, 5)]
    labels = np.array([rng.integers(0, 3, 20), (spaces[0][:, 0] > 2).astype(int)])
    wanted = []
    for y in labels:
        Y, right = np.eye(3)[y], 0
        for x in spaces:
            for i in range(20):
                rest = np.arange(20) != i
                model = Ridge(1.0).fit(x[rest], Y[rest])
                right += model.predict(x[i : i + 1]).argmax() == y[i]
        wanted.append(right / 40)
    np.testing.assert_allclose(generalisation(spaces, labels), wanted)
    assert wanted[1] > wanted[0]


def test_wide_views_are_narrowed():
    x = np.random.default_rng(0).normal(size=(600, 700))
    assert narrowed(x, 0).shape == (600, WIDEST)
    assert narrowed(5 * x[:, :3], 0).std() == pytest.approx(1.0)


@pytest.mark.parametrize("batch_size", [10_000, 128])
def test_finds_groups_in_any_order(three_views, batch_size):
    views, labels = three_views
    model = TURTLE(4, n_steps=60, batch_size=batch_size, random_state=0).fit(views)
    assert ari(labels, model.labels_) > 0.95
    best = np.argmax(model.generalisation_)
    assert model.candidate_ == CANDIDATES[best]._asdict()
    assert model.generalisation_[best] > 0.9
    order = np.random.default_rng(0).permutation(300)
    again = TURTLE(4, n_steps=60, batch_size=batch_size, random_state=0)
    again.fit([views[v][order] for v in (2, 0, 1)])
    np.testing.assert_array_equal(model.labels_[order], again.labels_)
