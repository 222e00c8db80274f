from __future__ import annotations

import numpy as np
import pytest

from graspline.scenes.meshes.checks import checked
from graspline.scenes.meshes.files import TriangleMesh
from graspline.scenes.meshes.parts import hull
from graspline.scenes.meshes.resting import Rest, resting_poses
from graspline.spatial.rotations import matrix_from_quaternion

from . import shapes


def rests(surface: TriangleMesh) -> tuple[Rest, ...]:
    solid = checked(surface, "it", 0.001)
    return resting_poses(hull(solid.vertices, 400), solid.vertices.mean(axis=0))


def test_a_cube_rests_on_each_of_its_faces_alike() -> None:
    found = rests(shapes.box(30, 30, 30))
    assert len(found) == 6
    assert sum(each.share for each in found) == pytest.approx(1.0)
    assert {round(each.share, 1) for each in found} == {0.2}
    assert {tuple(np.round(each.down, 6)) for each in found} == {
        (x, y, z) for x, y, z in np.vstack([np.eye(3), -np.eye(3)]).tolist()
    }


def test_a_plate_rests_on_its_large_faces_and_not_on_its_edges() -> None:
    assert [abs(each.down[2]) for each in rests(shapes.box(60, 60, 4))] == [1.0, 1.0]


def test_what_rolls_does_not_rest_on_its_round_side() -> None:
    assert all(abs(each.down[2]) > 0.99 for each in rests(shapes.turned([(15, 0), (15, 40)])))


def test_a_ball_rests_nowhere() -> None:
    angles = np.linspace(0.02, np.pi - 0.02, 24)
    assert rests(shapes.turned([(15 * np.sin(a), -15 * np.cos(a)) for a in angles], 40)) == ()


def test_the_turn_of_each_rest_points_its_face_down() -> None:
    for each in rests(shapes.wedge()):
        turned = matrix_from_quaternion(each.quaternion) @ np.array(each.down)
        np.testing.assert_allclose(turned, (0, 0, -1), atol=1e-9)
