"""scikit-learn's callbacks hear of every pass as a task.

They exist from its version 1.9 on, as an experimental part. Apart from `progress`,
which the command line loads before it knows whether it needs scikit-learn.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from manyview.running.progress import ask_to_stop, listen

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupportMixin
    from sklearn.callback import with_callbacks as _managed
except ImportError:
    _managed = None

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """scikit-learn before 1.9 has no callbacks."""


# Attributes of an estimator whose fit somebody listens to.
HEARD = {"_skl_callbacks", "_parent_callback_ctx"}

Method = TypeVar("Method", bound=Callable[..., Any])


def with_callbacks(method: Method) -> Method:
    """The method, with its callbacks torn down at its end, whatever happens."""
    if _managed is None:
        return method
    managed: Method = _managed(method)
    return managed


@contextmanager
def passes_as_tasks(estimator: Any, X: Any) -> Iterator[None]:
    """Tell the estimator's callbacks of every pass inside; one may ask to stop."""
    context = estimator._init_callback_context(max_subtasks=None)
    context.call_on_fit_task_begin(estimator=estimator, X=X)
    task: Any = None

    def tell(title: str, done: int, total: int) -> None:
        nonlocal task
        if done == 0:
            task = context.subcontext(task_name=title)
            task.call_on_fit_task_begin(estimator=estimator, X=X)
        if done == total and task.call_on_fit_task_end(estimator=estimator, X=X):
            ask_to_stop()

    with listen(tell):
        yield
    context.call_on_fit_task_end(estimator=estimator, X=X)
