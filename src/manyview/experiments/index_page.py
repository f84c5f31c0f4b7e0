"""The folder an experiment leaves behind: tables, figures and a page of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from manyview.files.atomic import write_text
from manyview.present.page import fill_template
from manyview.present.plot import save
from manyview.present.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Section(NamedTuple):
    """A part of the page: figures by the stem of their files, with their titles."""

    title: str
    lead: str
    tables: tuple[Table, ...]
    figures: Mapping[str, str]


@dataclass
class IndexPage:
    """A folder that fills section by section; its page is always up to date."""

    folder: Path
    title: str
    intro: str  # what was run: data, orders, seeds
    sections: list[Section] = field(default_factory=list)

    def add(
        self,
        title: str,
        lead: str,
        tables: Sequence[Table] = (),
        figures: Mapping[str, Figure] | None = None,
    ) -> list[Path]:
        """Write tables and figures and show them on the page; the figures' files."""
        for table in tables:
            table.write(self.folder / "tables")
        written, shown = [], {}
        for name, figure in (figures or {}).items():
            stem = "".join(c if c.isalnum() or c in "-_." else "-" for c in name)
            written += save(figure, self.folder / "figures" / stem)
            shown[stem] = figure.get_suptitle()
        self.sections.append(Section(title, lead, tuple(tables), shown))
        write_text(self.path, self.render())
        return written

    def render(self) -> str:
        """The sections with their tables written in; figures lie beside the page."""
        return fill_template("experiments/index.html", title=self.title, page=self)

    @property
    def path(self) -> Path:
        return self.folder / "index.html"
