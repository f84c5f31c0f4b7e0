"""What the system says of a file that cannot be read or written, in our words."""

from typing import Any

from manyview.errors import FileError, ManyviewError


class FilesTold:
    """Around work on files: the system's errors become what failed, why, and advice."""

    def __init__(self, failure: str, advice: str, *also: type[Exception]) -> None:
        self.failure, self.advice = failure, advice
        self.kinds: tuple[type[Exception], ...] = (OSError, *also)

    def __enter__(self) -> None:
        """Nothing is done beforehand."""

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        own = isinstance(error, ManyviewError) and FileError not in self.kinds
        if isinstance(error, self.kinds) and not own:
            # Of our own sentences the first: the advice is ours to give.
            first = str(error).partition(". ")[0]
            why = getattr(error, "strerror", None) or first
            raise FileError(f"{self.failure}: {why}. {self.advice}") from error
