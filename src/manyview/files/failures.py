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
        if isinstance(error, self.kinds) and not isinstance(error, ManyviewError):
            why = getattr(error, "strerror", None) or error
            raise FileError(f"{self.failure}: {why}. {self.advice}") from error
