"""The path of a page that a notebook shows in place."""

from pathlib import Path

from markupsafe import escape

HEIGHT = 720  # pixels: a screen, less the notebook's own bars


class ShownPage(type(Path())):  # type: ignore[misc]
    """A path like any other; as the last line of a cell the page itself appears."""

    def _repr_html_(self) -> str:
        """The page in a frame: its scripts and styles stay to themselves."""
        try:
            text = self.read_text(encoding="utf-8")
        except OSError:  # moved or deleted since
            return f"<code>{escape(str(self))}</code>"
        return (
            f'<iframe srcdoc="{escape(text)}" title="{escape(self.name)}" '
            f'style="width: 100%; height: {HEIGHT}px; border: 0"></iframe>'
        )
