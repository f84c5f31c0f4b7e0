"""The short form of ``reliability/numbers.py``."""

import numpy as np
import pytest

from reliability import numbers


@pytest.mark.slow
def test_hard_views():
    n_fits, losses = numbers.try_all(numbers.hard_data_cases(short=True))
    assert losses == []
    assert n_fits > 100


@pytest.mark.slow
def test_hard_settings():
    n_fits, losses = numbers.try_all(numbers.hard_setting_cases())
    assert losses == []
    assert n_fits > 50


@pytest.mark.slow
def test_seeds():
    _, losses = numbers.try_all(numbers.seed_cases(2, short=True))
    assert losses == []


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bits():
    _, losses = numbers.repeated(short=True)
    assert losses == []


class Wrong:
    """A model that gives what it is told."""

    def __init__(self, labels, embedding=0.0, divides=False):
        self.labels_, self.embedding_ = labels, np.array([embedding])
        self.divides = divides

    def fit(self, views):
        if isinstance(self.labels_, Exception):
            raise self.labels_
        np.array([self.embedding_[0]]) / np.array([0.0 if self.divides else 1.0])
        return self


@pytest.mark.parametrize(
    ("model", "fault"),
    [
        (Wrong(np.arange(60) % 3), None),
        (Wrong(np.arange(60) % 4), "labels from 0 to 3"),
        (Wrong(np.zeros(3, int)), "shape"),
        (Wrong(np.arange(60) % 3, np.nan), "not finite"),
        (Wrong(np.zeros(60, int)), "giant"),
        (Wrong(np.arange(60) % 3, divides=True), "a warning of NumPy: invalid value"),
        (Wrong(np.linalg.LinAlgError("singular")), "LinAlgError: singular"),
    ],
)
def test_faults_are_seen(model, fault):
    found = numbers.fault_of(model, numbers.plain())
    assert (found is None) if fault is None else fault in found
