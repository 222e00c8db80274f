from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from graspline.scenes.meshes import parts
from graspline.scenes.meshes.checks import checked, volume_m3
from graspline.scenes.meshes.parts import MOST_PARTS, convex_parts, hull

from . import shapes

BRACKET = checked(shapes.bracket(), "bracket", 0.001)
needs_coacd = pytest.mark.skipif(importlib.util.find_spec("coacd") is None, reason="needs coacd")


def test_a_hull_has_the_corners_and_the_volume_of_a_convex_solid() -> None:
    box = checked(shapes.box(40, 20, 30), "box", 0.001)
    found = hull(box.vertices)
    assert len(found.vertices) == 8
    assert volume_m3(found) == pytest.approx(24e-6, rel=1e-5)
    np.testing.assert_allclose(found.size, box.size, atol=1e-8)


def test_without_the_extra_the_hull_is_all_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "is_whole_hull", lambda: True)
    (found,) = convex_parts(BRACKET)
    assert volume_m3(found) > 1.1 * volume_m3(BRACKET)


@needs_coacd
def test_parts_are_about_the_solid_and_the_same_each_time(capfd: pytest.CaptureFixture[str]) -> None:
    found, again = convex_parts(BRACKET), convex_parts(BRACKET)
    assert 2 <= len(found) <= MOST_PARTS
    assert sum(map(volume_m3, found)) == pytest.approx(volume_m3(BRACKET), rel=0.02)
    for one, other in zip(found, again, strict=True):
        np.testing.assert_array_equal(one.vertices, other.vertices)
    assert capfd.readouterr().out == ""
