"""The tables of names in files: they cover the code, and a rename changes only them."""

from typing import NamedTuple

import numpy as np
import pytest

import manyview
from manyview import AnchorSpectral
from manyview.checks import example_views
from manyview.errors import InputTypeError
from manyview.files import codec, schema
from manyview.files.codec import Encoder, decode


class Renamed(NamedTuple):
    """A record whose class and one field are called otherwise than in files."""

    which: int
    anchors: np.ndarray


@pytest.mark.parametrize("name", schema.RECORDS)
def test_every_record_is_saved_whole(name):
    record = schema.RECORDS[name]
    assert sorted(record.fields.values()) == sorted(record.find_class()._fields)


def test_a_name_means_one_thing():
    homes = [record.home for record in schema.RECORDS.values()]
    assert len(set(homes)) == len(homes)
    assert len(set(schema.ATTRIBUTES.values())) == len(schema.ATTRIBUTES)
    assert not [name for name in schema.ATTRIBUTES if schema.is_public(name)]


def test_a_file_loads_after_a_class_and_its_field_are_renamed(monkeypatch):
    centres = schema.RECORDS["centres"].find_class()
    encoder = Encoder()
    coded = encoder.encode((centres(np.arange(4.0), 3),), "x")
    moved = schema.Record(
        f"{__name__}.Renamed", {"offsets": "which", "points": "anchors"}
    )
    monkeypatch.setitem(codec.RECORDS, "centres", moved)
    monkeypatch.setattr(
        schema.Record, "find_class", lambda record: {moved.home: Renamed}[record.home]
    )
    (back,) = decode(coded, encoder.arrays)
    assert type(back) is Renamed and back.which == 3
    assert np.array_equal(back.anchors, np.arange(4.0))


def test_a_model_loads_after_an_attribute_is_renamed(tmp_path, monkeypatch):
    model = AnchorSpectral(3, random_state=0).fit(example_views())
    path = model.save(tmp_path / "m.manyview")
    monkeypatch.setitem(schema.ATTRIBUTES, "passes", "_journey")
    centres = manyview.load_model(path)._journey.centres
    assert np.array_equal(centres.points, model._passes.centres.points)


def test_a_named_tuple_outside_the_table_is_refused():
    with pytest.raises(InputTypeError, match="x holds a Renamed"):
        Encoder().encode(Renamed(1, np.zeros(2)), "x")
