from manyview.experiments import data_table


def test_shape_classes_and_order_of_every_set(small):
    (table,) = data_table.tables([small, small])
    cells = [c.text for c in table.rows[0]]
    assert cells[:5] == ["small", "90", "4, 5", "3", "30"]
    assert len(cells) == len(table.columns)
    assert len(table.rows) == 2
