from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from graspline.evidence import Measurement
from graspline.grasping.grips import grips_of
from graspline.grasping.sides import sides_of
from graspline.robots.so101 import SO101
from graspline.scenes.meshes.solid import Solid
from graspline.scenes.meshes.store import solid_of
from graspline.tasks.scatter import resting_at
from scenes.meshes import shapes

GROUND_M = 0.001


def solid(name: str, tmp_path: Path) -> Solid:
    return solid_of(shapes.write_obj(shapes.SOLIDS[name](), tmp_path / f"{name}.obj"), 0.001)


def test_the_sides_of_a_mesh_box_are_those_of_a_box(tmp_path: Path) -> None:
    box = solid_of(shapes.write_obj(shapes.box(40, 24, 30), tmp_path / "box.obj"), 0.001)
    flat = next(each for each in box.rests if each.down[2] < -0.99)
    best = sides_of(box, flat, SO101.hand, GROUND_M)[0]
    assert best.half_width_m == pytest.approx(0.012, abs=1e-5)
    assert abs(np.sin(best.heading_rad)) == pytest.approx(1.0)
    assert best.middle_m[:2] == pytest.approx((0, 0), abs=0.003)


def test_a_bracket_is_taken_by_its_bars_and_not_across_its_corner(tmp_path: Path) -> None:
    pytest.importorskip("coacd", reason="without convex parts a bracket is its hull")
    bracket = solid("bracket", tmp_path)
    flat = next(each for each in bracket.rests if each.down[2] < -0.99)
    assert sides_of(bracket, flat, SO101.hand, GROUND_M)[0].half_width_m == pytest.approx(0.0075, abs=2e-4)


def test_slanted_faces_are_no_sides(tmp_path: Path) -> None:
    wedge = solid("wedge", tmp_path)
    slanted = next(each for each in wedge.rests if abs(each.down[0]) > 0.1 and abs(each.down[1]) > 0.1)
    for each in sides_of(wedge, slanted, SO101.hand, GROUND_M):
        # The two ends of the prism alone are opposite and upright.
        assert each.half_width_m == pytest.approx(0.013, abs=1e-4)


def test_fingertips_stay_above_the_ground(tmp_path: Path) -> None:
    bracket = solid("bracket", tmp_path)
    for rest in bracket.rests:
        for each in sides_of(bracket, rest, SO101.hand, GROUND_M):
            assert each.middle_m[2] - SO101.hand.lowest_m >= GROUND_M - 1e-9


def test_grips_turn_and_move_with_the_object(tmp_path: Path) -> None:
    bracket = solid("bracket", tmp_path)
    rest = bracket.rests[0]
    here = grips_of(resting_at("it", 0.0, 0.0, bracket, rest), SO101.hand, GROUND_M)
    there = grips_of(resting_at("it", 0.2, 0.1, bracket, rest, 0.7), SO101.hand, GROUND_M)
    assert not isinstance(here, Measurement)
    assert not isinstance(there, Measurement)
    cosine, sine = np.cos(0.7), np.sin(0.7)
    for one, other in zip(here, there, strict=True):
        x, y, z = one.centre_m
        np.testing.assert_allclose(other.centre_m, (0.2 + cosine * x - sine * y, 0.1 + sine * x + cosine * y, z))
        assert other.heading_rad == pytest.approx(one.heading_rad + 0.7)


def test_crosswise_the_other_sides_come_first(tmp_path: Path) -> None:
    box = solid_of(shapes.write_obj(shapes.box(40, 24, 30), tmp_path / "box.obj"), 0.001)
    flat = next(each for each in box.rests if each.down[2] < -0.99)
    found = grips_of(resting_at("it", 0, 0, box, flat), SO101.hand, GROUND_M, crosswise=True)
    assert not isinstance(found, Measurement)
    assert found[0].half_width_m == pytest.approx(0.02, abs=1e-5)
