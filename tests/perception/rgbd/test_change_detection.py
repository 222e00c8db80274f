"""Things that stood on a table and stand there still, were moved, are gone, or cannot be seen; computed pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graspline.perception.core.beliefs import UNKNOWN, Belief
from graspline.perception.rgbd.change_detection import Sight, empty_share, hidden_share, is_new, moved_m
from graspline.perception.rgbd.clouds import view_of
from graspline.spatial.rotations import multiply, quaternion_from_matrix, rotation_z

from .depth_pictures import CAMERA_M, R_OC, TABLE_M, Array, box_depth, picture_of, table_depth

MIDDLE_M = np.array([1.1, 0.0, TABLE_M])


def box(
    x: float,
    y: float,
    *,
    half_m: tuple[float, float, float] = (0.03, 0.04, 0.06),
    name: str = UNKNOWN,
    sigma_m: float = 0.0,
) -> Belief:
    return Belief(
        name=name,
        shape="box",
        position_m=np.array([x, y, TABLE_M + half_m[2]]),
        quaternion=np.array([1.0, 0.0, 0.0, 0.0]),
        half_extents_m=np.array(half_m),
        position_sigma_m=sigma_m,
        yaw_sigma_rad=0.0,
    )


def look(*standing: Belief, things: Sequence[Belief] | None = None, lost: Belief | None = None, seed: int = 0) -> Sight:
    """A picture of a table with boxes on it; found in it are these things, or all of them. One may be a hole in it."""
    depth = table_depth((0.3, 0.4))
    for each in standing:
        depth = np.minimum(depth, box_depth(each.position_m, each.half_extents_m))
    if lost is not None:
        depth = np.where(np.isfinite(box_depth(lost.position_m, lost.half_extents_m + 0.01)), np.inf, depth)
    return Sight(
        view=view_of(picture_of(depth, seed=seed), CAMERA_M, R_OC),
        things=standing if things is None else things,
        at_m=MIDDLE_M,
        rotation=np.eye(3),
    )


def told(*things: Belief) -> Sight:
    """A look without a picture."""
    return Sight(view=None, things=things, at_m=MIDDLE_M, rotation=np.eye(3))


def slipped(sight: Sight, shift_m: Array, turn_rad: float) -> Sight:
    """The same look as a robot has it that believes to be elsewhere."""
    turn = rotation_z(turn_rad)

    def placed(point_m: Array) -> Array:
        return turn @ point_m + shift_m

    def moved(solid: Belief) -> Belief:
        quaternion = quaternion_from_matrix(multiply(turn, solid.rotation))
        return replace(solid, position_m=placed(solid.position_m), quaternion=quaternion)

    view = sight.view
    if view is not None:
        points = np.einsum("ij,jhw->ihw", turn, view.points_m.astype(float)) + shift_m[:, None, None]
        lens = replace(view.lens, position_m=placed(view.lens.position_m), rotation=turn @ view.lens.rotation)
        view = replace(view, lens=lens, points_m=points.astype(np.float32))
    return Sight(
        view=view,
        things=tuple(moved(each) for each in sight.things),
        at_m=placed(sight.at_m),
        rotation=turn @ sight.rotation,
    )


BOX = box(1.1, 0.05)
BESIDE = box(1.05, -0.2, half_m=(0.04, 0.03, 0.05))
# Between the camera and BOX, and as wide as to hide it.
SCREEN = box(0.92, 0.04, half_m=(0.01, 0.09, 0.12))


class TestMoved:
    def test_a_thing_seen_again_has_moved_as_far_as_it_is_off_less_what_both_looks_leave_unsure(self) -> None:
        before, after = box(1.1, 0.05, sigma_m=0.002), box(1.1, 0.08, sigma_m=0.003)
        assert moved_m(before, told(before), told(after)) == pytest.approx(0.03 - 2 * 0.005)
        assert moved_m(before, told(before), told(box(1.1, 0.055, sigma_m=0.003))) == 0.0

    def test_of_two_alike_the_nearer_is_the_thing(self) -> None:
        assert moved_m(BOX, told(BOX), told(box(1.1, 0.1), box(1.11, 0.05))) == pytest.approx(0.01)

    @pytest.mark.parametrize(
        "other",
        [
            replace(BOX, name="mug"),
            replace(BOX, shape="cylinder"),
            replace(BOX, half_extents_m=BOX.half_extents_m + np.array([0.0, 0.013, 0.0])),
            box(1.1, 0.05 + 0.061),
        ],
        ids=["name", "shape", "size", "place"],
    )
    def test_what_differs_in_name_shape_or_size_or_is_far_away_is_something_else(self, other: Belief) -> None:
        assert moved_m(BOX, told(BOX), told(other)) == np.inf
        assert moved_m(BOX, told(BOX), told(replace(BOX, half_extents_m=BOX.half_extents_m + 0.011))) == 0.0

    def test_a_thing_that_is_not_told_apart_any_more_is_there_as_long_as_its_place_looks_the_same(self) -> None:
        assert moved_m(BOX, look(BOX), look(BOX, BESIDE, things=(BESIDE,), seed=1)) == 0.0

    def test_a_thing_is_gone_if_its_place_shows_what_is_behind_it(self) -> None:
        assert moved_m(BOX, look(BOX, BESIDE), look(BESIDE, seed=1)) == np.inf
        assert moved_m(BESIDE, look(BOX, BESIDE), look(BOX, seed=1)) == np.inf

    def test_a_thing_that_was_pushed_farther_than_it_would_be_known_again_is_gone_from_its_place(self) -> None:
        assert moved_m(BOX, look(BOX), look(box(1.1, 0.17), seed=1)) == np.inf

    def test_what_something_nearer_hides_is_not_said_to_have_moved(self) -> None:
        assert moved_m(BOX, look(BOX), look(SCREEN, seed=1)) == 0.0

    def test_what_shows_beside_something_nearer_still_counts(self) -> None:
        half = box(0.92, 0.11, half_m=(0.01, 0.065, 0.12))
        assert moved_m(BOX, look(BOX), look(half, BOX, things=(half,), seed=1)) == 0.0
        assert moved_m(BOX, look(BOX), look(half, seed=1)) == np.inf

    def test_a_hole_in_the_picture_and_what_is_beyond_its_border_prove_nothing(self) -> None:
        assert moved_m(BOX, look(BOX), look(lost=BOX, seed=1)) == 0.0
        away = replace(look(seed=1), at_m=MIDDLE_M + np.array([0.0, 2.0, 0.0]))
        assert moved_m(BOX, look(BOX), away) == 0.0


class TestNew:
    def test_what_stands_where_the_table_was_seen_is_new(self) -> None:
        assert is_new(BOX, look(BESIDE), look(BOX, BESIDE, seed=1))
        assert not is_new(BESIDE, look(BESIDE), look(BOX, BESIDE, seed=1))

    def test_what_was_hidden_before_may_have_been_there(self) -> None:
        assert not is_new(BOX, look(SCREEN), look(BOX, seed=1))

    def test_what_stands_where_nothing_was_measured_may_have_been_there(self) -> None:
        assert not is_new(BOX, look(lost=BOX), look(BOX, seed=1))

    def test_without_pictures_it_is_what_is_near_to_nothing_of_before(self) -> None:
        assert is_new(BOX, told(BESIDE), told(BOX, BESIDE))
        assert not is_new(BOX, told(box(1.1, 0.1)), told(BOX))


class TestHiddenShare:
    def share(self, thing: Belief, sight: Sight) -> float:
        assert sight.view is not None
        return hidden_share(thing, sight.view)

    def test_a_thing_does_not_hide_itself_nor_does_what_stands_beside_or_behind_it(self) -> None:
        assert self.share(BOX, look(BOX)) == 0.0
        assert self.share(BOX, look(BOX, BESIDE)) == 0.0
        assert self.share(BOX, look(BOX, box(1.25, 0.05, half_m=(0.03, 0.09, 0.12)))) == 0.0

    def test_where_a_thing_is_not_any_more_nothing_hides_it(self) -> None:
        assert self.share(BOX, look()) == 0.0

    def test_what_stands_before_it_hides_as_much_as_it_covers(self) -> None:
        half = box(0.92, 0.11, half_m=(0.01, 0.065, 0.12))
        assert self.share(BOX, look(BOX, SCREEN)) == 1.0
        assert 0.3 < self.share(BOX, look(BOX, half)) < 0.7

    def test_a_hole_in_the_picture_and_what_is_beyond_its_border_may_hide_it(self) -> None:
        assert self.share(BOX, look(lost=BOX)) > 0.5
        assert self.share(box(1.1, 2.0), look(BOX)) == 1.0
        assert self.share(box(-1.0, 0.0), look(BOX)) == 1.0


class TestEmptyShare:
    THING = box(1.1, 0.0)

    def share(self, sight: Sight) -> float:
        assert sight.view is not None
        return empty_share(self.THING, sight.view)

    def test_where_a_thing_stands_nothing_is_seen_behind_it(self) -> None:
        assert self.share(look(self.THING)) == 0.0
        assert self.share(look(self.THING, box(1.1, 0.12), box(1.3, 0.0))) == 0.0

    def test_where_it_stood_all_that_shows_is_behind_it(self) -> None:
        assert self.share(look()) > 0.95
        assert self.share(look(box(1.1, 0.15))) > 0.95

    def test_of_a_place_that_is_hidden_or_not_measured_nothing_is_known(self) -> None:
        assert self.share(look(box(0.95, 0.0, half_m=(0.01, 0.1, 0.15)))) == 0.0
        assert self.share(look(lost=self.THING)) == 0.0


@given(st.floats(-0.05, 0.05), st.floats(-0.05, 0.05), st.floats(-0.05, 0.05))
def test_points_of_one_look_are_found_in_another_by_where_the_table_is(x: float, y: float, turn_rad: float) -> None:
    was = told(BOX)
    now = slipped(was, np.array([x, y, 0.0]), turn_rad)
    points = BOX.position_m + np.array([[0.0, 0.0, 0.0], [0.02, -0.3, 0.1]])
    there = points @ rotation_z(turn_rad).T + np.array([x, y, 0.0])
    np.testing.assert_allclose(now.from_other(was, points), there, atol=1e-12)
    np.testing.assert_allclose(was.from_other(now, there), points, atol=1e-12)


class TestAfterWheelsSlipped:
    """The second look is believed to be from elsewhere, by more than would count as moved."""

    SHIFT_M, TURN_RAD = np.array([0.07, -0.05, 0.0]), 0.05

    def again(self, *standing: Belief, things: Sequence[Belief] | None = None) -> Sight:
        return slipped(look(*standing, things=things, seed=1), self.SHIFT_M, self.TURN_RAD)

    def test_what_was_not_touched_has_not_moved_and_is_not_new(self) -> None:
        was, now = look(BOX, BESIDE), self.again(BOX, BESIDE)
        for before, after in zip(was.things, now.things, strict=True):
            assert moved_m(before, was, now) == pytest.approx(0.0, abs=1e-9)
            assert not is_new(after, was, now)
        assert moved_m(BOX, was, self.again(BOX, BESIDE, things=())) == 0.0

    def test_what_was_pushed_has_moved_by_the_push_alone(self) -> None:
        assert moved_m(BOX, look(BOX), self.again(box(1.1, 0.08))) == pytest.approx(0.03)

    def test_what_is_gone_is_gone_and_what_is_new_is_new(self) -> None:
        was, now = look(BOX), self.again(BESIDE)
        assert moved_m(BOX, was, now) == np.inf
        assert is_new(now.things[0], was, now)
