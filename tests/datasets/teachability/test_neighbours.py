from __future__ import annotations

import itertools

import numpy as np
import pytest

from graspline.datasets.teachability.neighbours import nearest

from .planted import cube, scene_of


def test_a_difference_is_how_far_points_of_the_object_lie_apart() -> None:
    plain = cube(0.0)
    assert distance(plain, cube(3.0, y_mm=4.0)) == pytest.approx(5.0)
    assert distance(plain, cube(0.0, 0.1)) == pytest.approx(0.1 * np.hypot(15, 15))
    larger = cube(0.0, half_mm=16.0, position_mm=plain.position_mm)
    assert distance(plain, larger) == pytest.approx(np.sqrt(3))


def test_a_cube_that_is_turned_by_a_quarter_is_the_same_cube() -> None:
    assert distance(cube(0.0, 0.2), cube(0.0, 0.2 + np.pi / 2)) == pytest.approx(0.0, abs=1e-6)
    assert distance(cube(0.0, 0.2, period_rad=np.pi), cube(0.0, 0.2 + np.pi / 2, period_rad=np.pi)) > 10


def test_neighbours_come_in_the_order_of_their_distance_and_never_include_oneself() -> None:
    near = nearest([scene_of(cube(x)) for x in (0.0, 10.0, 11.0, 40.0)], 5)
    assert near.index[1].tolist() == [2, 0, 3, -1, -1]
    assert near.distance_mm[1].tolist() == [1.0, 10.0, 30.0, np.inf, np.inf]


def test_scenes_of_other_objects_or_with_another_instruction_are_not_compared() -> None:
    scenes = [
        scene_of(cube(0)),
        scene_of(cube(1, kind="can")),
        scene_of(cube(2), instruction="Leave it."),
        scene_of(cube(50)),
    ]
    assert nearest(scenes, 1).index[:, 0].tolist() == [3, -1, -1, 0]


def test_the_numbers_of_interchangeable_objects_do_not_matter() -> None:
    places = (0.0, 60.0, 90.0)
    scenes = [
        scene_of(*(cube(x, name=f"cube_{n}") for n, x in enumerate(way))) for way in itertools.permutations(places)
    ]
    near = nearest(scenes, 5)
    assert near.distance_mm == pytest.approx(np.zeros((6, 5)))


def test_no_two_objects_are_matched_with_the_same_one() -> None:
    """Each of the first scene is nearest to the same object of the second."""
    together, apart = scene_of(cube(0.0), cube(1.0)), scene_of(cube(0.0), cube(100.0))
    assert nearest([together, apart], 1).distance_mm[0, 0] == pytest.approx(99.0)


def distance(one: object, other: object) -> float:
    return float(nearest([scene_of(one), scene_of(other)], 1).distance_mm[0, 0])  # pyright: ignore[reportArgumentType]
