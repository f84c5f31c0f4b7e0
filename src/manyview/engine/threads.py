"""Threads over blocks and other jobs, and the process's state meanwhile.

Jobs run side by side with single-threaded linear algebra inside: element-wise work is
spread over the cores too, and no sum depends on the number of threads.
"""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from functools import cache, partial
from typing import Any, TypeVar

from array_api_compat import is_torch_array
from threadpoolctl import ThreadpoolController

from manyview.arrays.ops import Array, is_on_gpu
from manyview.engine import cuda_graphs
from manyview.engine.resources import CORES

T = TypeVar("T")
Item = TypeVar("Item")
# Takes up a job and gives a function that waits for what it returns.
Background = Callable[[Callable[[], Any]], Callable[[], Any]]


class InCommon:
    """A state of the whole process: the first user enters it, the last one leaves."""

    def __init__(self, make: Callable[[], AbstractContextManager[Any]]) -> None:
        self._make, self._lock = make, threading.Lock()
        self._users = 0

    def __enter__(self) -> None:
        with self._lock:
            if self._users == 0:
                self._held = self._make()
                self._held.__enter__()
            self._users += 1

    def __exit__(self, *of_error: Any) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._held.__exit__(None, None, None)


@cache
def thread_pools() -> ThreadpoolController:
    """The thread pools of this process: to look for them takes a while."""
    return ThreadpoolController()


single_threaded_blas = InCommon(lambda: thread_pools().limit(limits=1, user_api="blas"))
_worker = threading.local()


@cache
def _waiting_threads(n_threads: int) -> ThreadPoolExecutor:
    """Threads that wait for work: to start some takes a while."""
    marked: Any = {"initializer": setattr, "initargs": (_worker, "is", True)}
    return ThreadPoolExecutor(n_threads, **marked)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_waiting_threads.cache_clear)


@contextmanager
def some_threads(n_threads: int) -> Iterator[ThreadPoolExecutor]:
    """Threads for jobs that do not wait for each other.

    A job that asks for threads itself gets new ones: those at hand may all wait.
    """
    if getattr(_worker, "is", False):
        with ThreadPoolExecutor(n_threads) as pool:
            yield pool
    else:
        yield _waiting_threads(max(n_threads, CORES))


def side_by_side(jobs: Sequence[Callable[[], T]], where: Array = None) -> list[T]:
    """What the jobs return, in their order, whatever the number of threads.

    Those of arrays on a device, as `where`, in turn: threads would wait for each other.
    """
    if len(jobs) == 1 or is_torch_array(where):
        return [job() for job in jobs]
    with single_threaded_blas, some_threads(min(CORES, len(jobs))) as pool:
        futures = [pool.submit(job) for job in jobs]
        try:
            return [future.result() for future in futures]
        finally:
            for future in futures:
                future.cancel()
            wait(futures)


def at_once(
    function: Callable[[Item], T], items: Sequence[Item], where: Array
) -> list[T]:
    """`function` of every item at the same time: threads on the host, streams on a GPU.

    One thread of linear algebra each: a second one gains little on a view's small
    matrices, and waits many times as long where other programs keep the cores.
    """
    if is_on_gpu(where) and len(items) > 1:
        return cuda_graphs.side_by_side(function, items, where.device)
    return side_by_side([partial(function, item) for item in items])


@contextmanager
def in_the_background(allowed: bool) -> Iterator[Background]:
    """Jobs in two threads of their own, taken up in turn, while this one goes on.

    One may wait for what earlier ones return. Where that is not `allowed` a job is
    done when it is first asked for.
    """
    if not allowed:
        yield cache
        return
    with single_threaded_blas, ThreadPoolExecutor(2) as pool:
        yield lambda job: pool.submit(job).result
