"""Clusters for groups some of which must not share one, by what each group prefers.

The group with the fewest clusters left comes next (D. Brélaz: New methods to color the
vertices of a graph, CACM 1979) and takes the best of these; where none is left, the
last choice is taken back.
"""

from typing import Any

import numpy as np

from manyview.arrays.ops import Matrix

# Choices until the search gives up: a second or so. Links that people give are
# settled by one choice for each group.
MOST_STEPS = 100_000


def keep_apart(
    scores: Matrix, fixed: Matrix, apart: Matrix, *, alike: bool = False
) -> Matrix | None:
    """The cluster of every group, or None where no way was found.

    Parameters
    ----------
    scores : array (n_groups, n_clusters)
        How well each cluster suits each group.
    fixed : array (n_groups,)
        The cluster that a group must have, or −1.
    apart : array (n_pairs, 2)
        Groups that must not share a cluster.
    alike : bool
        Empty clusters are all the same, so that one of them is enough to try.
    """
    found = np.where(fixed >= 0, fixed, scores.argmax(axis=1))
    enemies: list[set[int]] = [set() for _ in found]
    for a, b in apart.tolist():
        enemies[a].add(b)
        enemies[b].add(a)
    # How many enemies of a group are in each cluster.
    taken = np.zeros(scores.shape, dtype=np.intp)
    free = np.array([bool(e) for e in enemies]) & (fixed < 0)
    for a in np.flatnonzero(fixed >= 0):
        taken[list(enemies[a]), fixed[a]] += 1
    stack: list[tuple[int, list[int]]] = []
    for _ in range(MOST_STEPS):
        waiting = np.flatnonzero(free)
        if waiting.size == 0:
            return found
        a = int(waiting[np.argmin((taken[waiting] == 0).sum(axis=1))])
        order = np.argsort(-scores[a], kind="stable")
        left = [int(c) for c in order if taken[a, c] == 0]
        if alike:
            full = set(found[~free].tolist()) | set(fixed[fixed >= 0].tolist())
            empty = [c for c in left if c not in full]
            left = [c for c in left if c in full] + empty[:1]
        stack.append((a, left[::-1]))
        while stack and not stack[-1][1]:
            stack.pop()
            if stack:
                _settle(stack[-1][0], -1, found, taken, free, enemies)
        if not stack:
            return None
        a, left = stack[-1]
        found[a] = left.pop()
        _settle(a, 1, found, taken, free, enemies)
    return None


def _settle(
    a: int, sign: int, found: Matrix, taken: Matrix, free: Matrix, enemies: Any
) -> None:
    """The group has its cluster now, or no longer."""
    taken[list(enemies[a]), found[a]] += sign
    free[a] = sign < 0
