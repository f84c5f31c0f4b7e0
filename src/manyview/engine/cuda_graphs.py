"""Small work on a GPU, where launching takes longer than computing.

`recorded` plays back the launches of a step that is repeated many times;
`side_by_side` gives independent items streams of their own.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from manyview.arrays.ops import Array

Item = TypeVar("Item")
Made = TypeVar("Made")

Step = Callable[..., tuple[Array, ...]]


def recorded(step: Step, device: Any) -> Step:
    """The step, its launches on the GPU recorded and played back.

    The step takes and returns arrays whose shapes never change, and must not ask
    the device for an answer. What a call returns is overwritten by the next.
    """
    return _Recorded(step, device)


class _Recorded:
    """A step's launches as a CUDA graph, made at its second call."""

    def __init__(self, step: Step, device: Any) -> None:
        self._step, self._device = step, device
        self._graph: Any = None
        self._inputs: tuple[Array, ...] = ()
        self._outputs: tuple[Array, ...] = ()
        self._is_warm = False

    def __call__(self, *arrays: Array) -> tuple[Array, ...]:
        import torch

        if not self._is_warm:
            # Libraries set up their workspaces, which must not be recorded.
            self._is_warm = True
            return self._step(*arrays)
        # Streams and graphs are those of the current GPU, which may be another one.
        with torch.cuda.device(self._device):
            if self._graph is None:
                self._record(arrays)
            for place, array in zip(self._inputs, arrays, strict=True):
                place.copy_(array)
            self._graph.replay()
        return self._outputs

    def _record(self, arrays: tuple[Array, ...]) -> None:
        import torch

        self._inputs = tuple(array.clone() for array in arrays)
        self._graph = torch.cuda.CUDAGraph()
        work, side = torch.cuda.current_stream(), torch.cuda.Stream()
        side.wait_stream(work)
        with torch.cuda.stream(side):
            # Only this thread's launches: another fit may run beside.
            self._graph.capture_begin(capture_error_mode="thread_local")
            try:
                self._outputs = self._step(*self._inputs)
            finally:
                self._graph.capture_end()
        work.wait_stream(side)


def side_by_side(
    function: Callable[[Item], Made], items: Sequence[Item], device: Any
) -> list[Made]:
    """`function` of every item, all at the same time on the GPU."""
    import torch

    # Torch loads its solvers at their first call, and fails where two threads make it.
    torch.linalg.cholesky_ex(torch.ones((1, 1), device=device))
    work = torch.cuda.current_stream(device)

    def alone(item: Item) -> Made:
        stream = torch.cuda.Stream(device)
        stream.wait_stream(work)
        with torch.cuda.stream(stream):
            made = function(item)
        stream.synchronize()
        return made

    with ThreadPoolExecutor(len(items)) as pool:
        return list(pool.map(alone, items))
