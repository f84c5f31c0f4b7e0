"""Views of the same rows: taken in, checked and cut into blocks."""

from manyview.views.views import Block, Views

__all__ = ["Block", "Views"]
