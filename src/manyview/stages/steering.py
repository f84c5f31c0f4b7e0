"""Clusters that keep to what is known of some rows, and rows it contradicts.

Few rows: rows that are tied become one node of the graph, ties between rows that are
kept apart are cut, several partitions of it agree on clusters, and labels score every
row (`stages.class_scores`) by the graph's vectors, by the views, as they are and as
kernels, and by the views of a row's neighbours. Many rows: labels score the drawn rows
in the embedding, and all others follow their nearest ones.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from scipy.sparse.linalg import ArpackNoConvergence, eigsh
from sklearn.kernel_approximation import Nystroem
from sklearn.utils.extmath import randomized_svd

from manyview.arrays.ops import Matrix, dense, like, namespace, to_host
from manyview.engine.contract import Engine, Result, State, sizes, touches
from manyview.kmeans.nodes import Nodes, keep_labels
from manyview.kmeans.passes import FIELD, LABELS, Clustering, pick
from manyview.stages.class_scores import Told, class_scores
from manyview.stages.communities import RowGraph, most_told, moved_as_seen, settled
from manyview.stages.held_out import SeenColumns
from manyview.stages.keeping_apart import keep_apart
from manyview.stages.knowledge import Knowledge
from manyview.stages.leiden import leiden_with_k
from manyview.stages.neighbour_graph import normalised
from manyview.stages.sampling import Draw
from manyview.stages.scaling import inverse
from manyview.views.views import Block

# The graph's vectors per cluster, and at most: two per cluster score best there, and
# more of them than that many take longer than all the rest of a fit.
VECTORS = 2
MOST_VECTORS = 100
WIDEST = 100  # columns of a view; principal ones of wider views, for time
# Landmarks of a view's kernel, and its width: e^(-1/2) at the mean distance of two
# rows, whose square is 2 where the mean square is 1. Half the width lost on Scene-15.
LANDMARKS = 100
KERNEL_WIDTH = 0.25
# Partitions that agree on clusters: one of a graph with some ties of another kind may
# be off by chance alone (3Sources with links: ACC .90 by one, .94 by five; without
# links .93). Fifteen were no better.
PARTITIONS = 5


class Steered(NamedTuple):
    """Labels of rows, and the known rows that the data would place elsewhere."""

    labels: Matrix
    conflicts: Matrix


def steer_communities(
    drawn: Draw,
    sought: tuple[RowGraph, SeenColumns],
    n_clusters: int,
    seed: int,
    others: list[Matrix],
    knowledge: Knowledge,
) -> Steered:
    """Labels of all rows, in the order drawn, and the caller's rows in conflict.

    `others` are the labels that the embedding gives without knowledge.
    """
    known = knowledge.as_drawn(np.argsort(drawn.caller_rows)[knowledge.rows])
    rows, seen = sought
    node = rows.place[known.rows]
    graph = _cut(rows.graph, node[known.apart])
    joined, home = _contracted(graph, node, known.tied)
    several = (leiden_with_k(joined, n_clusters, seed + i) for i in range(PARTITIONS))
    told = most_told(rows, others, n_clusters)
    several = (settled(rows, x[home], told, n_clusters) for x in several)
    several = (moved_as_seen(rows, seen, x, n_clusters) for x in several)
    found = _agreed(list(several), n_clusters)
    near = sp.diags_array(inverse(graph.sum(axis=1))) @ graph
    views = _alike(rows, seed)
    own = np.concatenate(views, axis=1)
    features = [_vectors(graph, n_clusters, seed), near @ own]
    more = [own, _kernels(views, rows.present, seed)]
    made = _settle(known, node, found, features, near, more)
    labels = made.labels[rows.place]
    labels[known.rows] = made.of_known
    numbers = known.numbers(n_clusters)
    conflicts = drawn.caller_rows[known.rows[made.elsewhere]]
    return Steered(numbers[labels], np.sort(conflicts))


def steer_clusters(
    engine: Engine,
    drawn_rows: Matrix,
    found: Clustering,
    n_clusters: int,
    knowledge: Knowledge,
) -> tuple[Clustering, Nodes | None, Matrix]:
    """The clusters of many rows, their nodes, and the caller's rows in conflict."""
    own = engine.engine_rows(knowledge.rows)
    drawn_rows = drawn_rows[: sizes.exact_rows]
    rows = np.concatenate([drawn_rows, np.setdiff1d(own, drawn_rows)])
    order = np.argsort(rows)
    known = knowledge.as_drawn(order[np.searchsorted(rows[order], own)])
    points = np.asarray(to_host(pick(engine, FIELD, rows)), dtype=np.float64)
    clusters = np.asarray(to_host(pick(engine, LABELS, rows)))
    seen = _settle(known, known.rows, np.eye(n_clusters)[clusters], [points])
    conflicts = np.sort(engine.caller_rows(rows[known.rows[seen.elsewhere]]))
    if not known.names.size:  # links move their own rows, and no others
        found = hold_labels(engine, rows[known.rows], seen.of_known, found)
        return found, None, conflicts
    labels = seen.labels.copy()
    labels[known.rows] = seen.of_known
    labels = known.numbers(n_clusters)[labels]
    found, nodes = keep_labels(engine, rows, labels, n_clusters)
    at = known.rows
    return hold_labels(engine, rows[at], labels[at], found), nodes, conflicts


class Settled(NamedTuple):
    """Clusters of nodes and of the known rows, and which of these belong elsewhere."""

    labels: Matrix
    of_known: Matrix
    elsewhere: Matrix


def _settle(
    known: Knowledge,
    node: Matrix,
    found: Matrix,
    features: Sequence[Matrix],
    near: sp.csr_array | None = None,
    with_labels: Sequence[Matrix] = (),
) -> Settled:
    """Every node by its scores, every group by the sum of its rows' scores."""
    has = known.classes >= 0
    told = Told(node[has], known.classes[has])
    scores, without = class_scores(features, told, found, near, with_labels)
    alone = scores[node]
    alone[has] = without
    # Without a label nothing but the groups may move.
    labels = (scores if told.at.size else found).argmax(axis=1)
    of_groups = np.zeros((len(known.labels), found.shape[1]))
    np.add.at(of_groups, known.group, np.log(scores[node] + np.finfo(float).tiny))
    of_known = _kept(of_groups, known)[known.group]
    return Settled(labels, of_known, alone.argmax(axis=1) != of_known)


def _kept(scores: Matrix, known: Knowledge) -> Matrix:
    """The best clusters of groups that keep to all, or any where time runs out."""
    pairs = known.group[known.apart]
    found = keep_apart(scores, known.labels, pairs)
    if found is None:
        found = keep_apart(np.zeros_like(scores), known.labels, pairs, alike=True)
    assert found is not None  # it was found before the fit began
    return found


def _cut(graph: sp.csr_array, pairs: Matrix) -> sp.csr_array:
    """The graph without the ties of these pairs."""
    if not len(pairs):
        return graph
    both = np.concatenate([pairs, pairs[:, ::-1]])
    ones = np.ones(len(both))
    there = sp.csr_array((ones, tuple(both.T)), shape=graph.shape) > 0
    cut = sp.csr_array(graph - graph.multiply(there))
    cut.eliminate_zeros()
    return cut


def _contracted(
    graph: sp.csr_array, node: Matrix, tied: Matrix
) -> tuple[sp.csr_array, Matrix]:
    """The graph with tied rows as one node each, and the new node of every old one."""
    n_nodes = graph.shape[0]
    first = np.full(tied.max() + 1, n_nodes)
    np.minimum.at(first, tied, node)
    home = np.arange(n_nodes)
    home[node] = first[tied]
    _, home = np.unique(home, return_inverse=True)
    if home.max() + 1 == n_nodes:
        return graph, home
    member = sp.csr_array((np.ones(n_nodes), home, np.arange(n_nodes + 1)))
    joined = sp.csr_array(member.T @ graph @ member)
    joined.setdiag(0.0)
    joined.eliminate_zeros()
    return joined, home


def _agreed(partitions: Sequence[Matrix], n_clusters: int) -> Matrix:
    """The share (n, k) of the partitions in which a row is in a cluster.

    Clusters are those of the first, which stands alone where one of them is nobody's.
    """
    members = np.eye(n_clusters)[partitions[0]]
    share = members.copy()
    for labels in partitions[1:]:
        other = np.eye(n_clusters)[labels]
        _, same = linear_sum_assignment(-(members.T @ other))
        share += other[:, same]
    fewer = np.unique(share.argmax(axis=1)).size < np.unique(partitions[0]).size
    return members if fewer else share / len(partitions)


def _vectors(graph: sp.csr_array, n_clusters: int, seed: int) -> Matrix:
    """The smoothest vectors of the graph, every row brought to unit length.

    Fewer where Lanczos steps do not converge: the other kinds of features are left.
    """
    n_vectors = min(VECTORS * n_clusters, MOST_VECTORS)
    S = normalised(graph)
    if n_vectors < S.shape[0] - 1:
        start = np.random.default_rng(seed).uniform(size=S.shape[0])
        try:
            _, vectors = eigsh(S, k=n_vectors, which="LA", v0=start)
        except ArpackNoConvergence as early:
            vectors = early.eigenvectors  # those that did, maybe none
    else:
        vectors = np.linalg.eigh(S.toarray())[1][:, -n_vectors:]
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0))


def _alike(rows: RowGraph, seed: int) -> list[Matrix]:
    """Views, centred and each of the same spread; a row without one lies at 0."""
    parts = []
    for X, there in zip(rows.arrays, rows.present.T, strict=True):
        if X.shape[1] > WIDEST:
            left, length, _ = randomized_svd(X, WIDEST, random_state=seed)
            X = left * length
        X = dense(X)
        X = np.where(there[:, None], X - X[there].mean(axis=0), 0.0)
        spread = np.sqrt((X * X).sum(axis=1).mean())
        parts.append(X / spread if spread > 0 else X)
    return parts


def _kernels(views: Sequence[Matrix], present: Matrix, seed: int) -> Matrix:
    """Every view's kernel by landmarks (Nyström), side by side in the same way."""
    parts = []
    for X, there in zip(views, present.T, strict=True):
        landmarks = min(LANDMARKS, int(there.sum()))
        kernel = Nystroem(gamma=KERNEL_WIDTH, n_components=landmarks, random_state=seed)
        Z = np.zeros((len(X), landmarks))
        Z[there] = kernel.fit_transform(X[there])
        Z[there] -= Z[there].mean(axis=0)
        spread = np.sqrt((Z * Z).sum(axis=1).mean())
        parts.append(Z / spread if spread > 0 else Z)
    return np.concatenate(parts, axis=1)


class Held(NamedTuple):
    """Rows (the engine's numbers, ascending) and the labels they are to have."""

    rows: Matrix
    labels: Matrix


@touches(reads=[LABELS], writes=[LABELS])
def hold_step(block: Block, state: State, shared: Held) -> Result:
    """Give the rows that are held their labels, and leave the others as they are."""
    labels = state[LABELS]
    xp = namespace(labels)
    ends = np.searchsorted(shared.rows, [block.start, block.start + len(block)])
    some = slice(*ends)
    held = np.full(len(block), -1)
    held[shared.rows[some] - block.start] = shared.labels[some]
    new = xp.astype(like(held, labels), labels.dtype)
    return Result(state={LABELS: xp.where(new >= 0, new, labels)})


def hold_labels(
    engine: Engine, rows: Matrix, labels: Matrix, found: Clustering
) -> Clustering:
    """The clustering with these labels of these rows, whatever their nearest nodes."""
    order = np.argsort(rows)
    held = Held(rows[order], labels[order])
    engine.run(hold_step, held, title="Known labels", views=False)
    return found._replace(labels=engine.read(LABELS))
