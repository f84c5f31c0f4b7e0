from manyview.experiments.index_page import write_page
from manyview.experiments.table import BEST, Cell, Table


def test_all_content_is_escaped(tmp_path):
    evil = "<script>alert(1)</script>"
    table = Table("t", evil, [evil], notes=[evil])
    table.add(Cell(evil, BEST))
    path = write_page(tmp_path, evil, evil, [table], ['a"b'])
    text = path.read_text(encoding="utf-8")
    assert "<script>alert" not in text
    assert text.count("&lt;script&gt;") == 7
    assert 'src="figures/a%22b.png"' in text
    assert "<strong>&lt;script" in text
