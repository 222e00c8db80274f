"""What faults do to images and estimates."""

from __future__ import annotations

import pytest

from graspline.engine.events import Blind, Misjudge, See
from graspline.faults.catalogue import find_fault

from .fruit_world import world


@pytest.mark.parametrize(
    "name, kind", [("blackout", Blind), ("freeze", Blind), ("noise", Misjudge), ("delay", Misjudge)]
)
def test_bad_eyes_are_well_again_after_a_second(name: str, kind: type) -> None:
    (begins_s, begin), (ends_s, end) = find_fault(name).strike(world(beside=1))
    assert isinstance(begin, kind)
    assert isinstance(end, See)
    assert (begins_s, ends_s) == (0.0, 1.0)
