"""Things on a table and in a shelf, seen by the robot's head with a depth camera's errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest

from graspline.errors import WiringError
from graspline.perception.core.beliefs import UNKNOWN, Belief
from graspline.perception.rgbd.planes import NoPlane
from graspline.perception.rgbd.tabletop import Tabletop, see_tabletop
from graspline.rendering.depth_errors import DepthErrors
from graspline.scenes.household import item_of, unknown_item
from graspline.scenes.room import Standing
from graspline.spatial.rotations import matrix_from_vector

from .room_studio import MODELS, RoomStudio, around, standing

FIVE = (
    standing(item_of("cracker_box"), 0.10, 0.22, 0.5),
    standing(item_of("soup_can"), -0.12, 0.10),
    standing(item_of("water_bottle"), 0.08, -0.05),
    standing(item_of("mug"), -0.10, -0.14, 2.2),
    standing(item_of("tennis_ball"), -0.02, -0.27),
)


@pytest.fixture(scope="module")
def studio() -> Iterator[RoomStudio]:
    with RoomStudio() as found:
        yield found


def matched(things: Sequence[Standing], solids: Sequence[Belief]) -> list[tuple[Standing, Belief]]:
    """Every thing with the solid nearest to it; as many of these as of those."""
    assert len(solids) == len(things)
    pairs = []
    for thing in things:
        at = np.array(thing.position_m)
        pairs.append((thing, min(solids, key=lambda solid: float(np.linalg.norm(solid.position_m - at)))))
    assert len({id(solid) for _, solid in pairs}) == len(things)
    return pairs


def off_m(thing: Standing, solid: Belief) -> float:
    return float(np.linalg.norm(solid.position_m - np.array(thing.position_m)))


def turned_off(yaw_rad: float, solid: Belief, period_rad: float) -> float:
    return abs((solid.yaw_rad - yaw_rad + period_rad / 2) % period_rad - period_rad / 2)


def test_known_things_are_named_and_found_where_they_are(studio: RoomStudio) -> None:
    seen = studio.take(FIVE).seen()
    for thing, solid in matched(FIVE, seen.solids):
        assert solid.name == thing.item.name
        assert off_m(thing, solid) < 0.002
        np.testing.assert_allclose(solid.half_extents_m, thing.item.half_extents_m, atol=1e-9)
        assert off_m(thing, solid) < 4 * solid.position_sigma_m
    box = next(solid for solid in seen.solids if solid.name == "cracker_box")
    assert turned_off(FIVE[0].yaw_rad, box, np.pi) < np.radians(1.0)
    assert [each.solid.name for each in seen.things][-1] == "cracker_box"


@pytest.mark.parametrize("yaw_rad", [0.6, 2.2, -2.0])
def test_the_handle_of_a_mug_is_seen(studio: RoomStudio, yaw_rad: float) -> None:
    mug = standing(item_of("mug"), -0.05, 0.0, yaw_rad)
    ((_, solid),) = matched([mug], studio.take([mug]).seen().solids)
    assert solid.name == "mug"
    assert turned_off(yaw_rad, solid, 2 * np.pi) < 2 * solid.yaw_sigma_rad


def test_unknown_things_are_measured(studio: RoomStudio) -> None:
    things = (
        standing(unknown_item("unknown_box_1", "box", (0.03, 0.045, 0.06), (0.47, 0.33, 0.62)), 0.0, 0.1, 0.3),
        standing(unknown_item("unknown_can_1", "cylinder", (0.03, 0.03, 0.055), (0.82, 0.52, 0.64)), 0.0, -0.1),
    )
    for thing, solid in matched(things, studio.take(things).seen().solids):
        assert solid.name == UNKNOWN
        assert solid.shape == thing.item.shape
        assert off_m(thing, solid) < 0.003
        np.testing.assert_allclose(np.sort(solid.half_extents_m), np.sort(thing.item.half_extents_m), atol=0.002)


def test_a_thing_is_unknown_if_no_model_has_its_colour_or_none_its_size(studio: RoomStudio) -> None:
    shot = studio.take(FIVE)
    can = next(each for each in MODELS if each.name == "soup_can")
    green, small = replace(can, rgb=(0.2, 0.8, 0.2)), replace(can, half_extents_m=(0.025, 0.025, 0.04))
    for models, name in (((can,), "soup_can"), ((green,), UNKNOWN), ((small,), UNKNOWN), ((), UNKNOWN)):
        found = see_tabletop(shot.picture, shot.position_m, shot.rotation, around("table"), models)
        assert isinstance(found, Tabletop)
        solid = next(pair[1] for pair in matched(FIVE, found.solids) if pair[0].item.name == "soup_can")
        assert solid.name == name
        assert solid.shape == "cylinder"
        np.testing.assert_allclose(solid.half_extents_m, can.half_extents_m, atol=0.001)


def test_boxes_of_one_colour_a_centimetre_apart_are_two(studio: RoomStudio) -> None:
    box = unknown_item("unknown_box_1", "box", (0.03, 0.04, 0.05), (0.52, 0.53, 0.55))
    other = unknown_item("unknown_box_2", "box", (0.03, 0.04, 0.06), (0.52, 0.53, 0.55))
    third = unknown_item("unknown_box_3", "box", (0.03, 0.04, 0.04), (0.52, 0.53, 0.55))
    things = standing(box, -0.1, 0.05), standing(other, -0.03, 0.05), standing(third, -0.1, -0.04)
    for thing, solid in matched(things, studio.take(things).seen().solids):
        assert off_m(thing, solid) < 0.012
        assert off_m(thing, solid) < 2 * solid.position_sigma_m + 0.001


def test_things_of_two_colours_may_be_four_millimetres_apart(studio: RoomStudio) -> None:
    things = (
        standing(item_of("tea_box"), -0.1, 0.0, np.pi / 2),
        standing(item_of("soup_can"), -0.1 + 0.036 + 0.004 + 0.0335, 0.02),
        standing(item_of("sugar_box"), -0.1, -0.0625 - 0.004 - 0.0225, np.pi / 2),
    )
    assert {solid.name for _, solid in matched(things, studio.take(things).seen().solids)} == {
        thing.item.name for thing in things
    }


def test_what_is_partly_hidden_is_found_and_said_to_be_less_sure(studio: RoomStudio) -> None:
    box = unknown_item("unknown_box_1", "box", (0.035, 0.05, 0.05), (0.47, 0.33, 0.62))
    before = standing(item_of("cracker_box"), -0.15, 0.06, 0.0)
    hidden, free = standing(box, 0.02, -0.04, 0.2), standing(item_of("apple"), 0.0, -0.25)
    known = standing(item_of("juice_can"), 0.02, 0.15)
    things = (before, hidden, free, known)
    pairs = dict(
        zip(
            ("before", "hidden", "free", "known"),
            matched(things, studio.take(things).seen().solids),
            strict=True,
        )
    )
    assert off_m(*pairs["known"]) < 0.003
    assert pairs["known"][1].name == "juice_can"
    thing, solid = pairs["hidden"]
    assert solid.position_sigma_m > 0.003 > pairs["free"][1].position_sigma_m
    assert off_m(thing, solid) < 2 * solid.position_sigma_m


@pytest.mark.parametrize("until_px", range(332, 372, 4))
def test_a_mug_of_which_little_shows_is_not_sure_to_be_where_its_handle_is(studio: RoomStudio, until_px: int) -> None:
    mug = standing(item_of("mug"), -0.05, 0.0, -1.6)
    shot = studio.take([mug])
    # An arm before it, from the left.
    hidden, depth = (np.zeros((480, 640), bool), shot.picture.depth_m)
    hidden[:, 220:until_px] = True
    assert depth is not None
    rgb = np.where(hidden[..., None], np.uint8(235), shot.picture.rgb)
    picture = replace(shot.picture, rgb=rgb, depth_m=np.where(hidden, np.float32(0.35), depth))
    for solid in replace(shot, picture=picture).seen().solids:
        assert off_m(mug, solid) < 4 * solid.position_sigma_m


def test_an_empty_table_has_nothing_on_it(studio: RoomStudio) -> None:
    seen = studio.take(()).seen()
    assert seen.things == ()
    assert seen.surface.plane.height_m(1.3, 0.0) == pytest.approx(0.72, abs=0.001)


def test_noise_and_holes_do_not_hide_things(studio: RoomStudio) -> None:
    seen = studio.take(FIVE, errors=DepthErrors(sigma_factor=2.0, lost_share=0.15), seed=3).seen()
    for thing, solid in matched(FIVE, seen.solids):
        assert solid.name == thing.item.name
        assert off_m(thing, solid) < 0.004


def test_a_camera_that_is_tilted_is_taken_to_be_so_and_not_the_table(studio: RoomStudio) -> None:
    shot = studio.take(FIVE)
    askew = replace(shot, rotation=matrix_from_vector(np.array([0.0, 0.01, 0.0])) @ shot.rotation)
    seen = askew.seen()
    assert seen.tilt_rad == pytest.approx(0.01, abs=0.0005)
    for thing, solid in matched(FIVE, seen.solids):
        assert off_m(thing, solid) < 0.003


def test_one_picture_gives_the_same_bits_twice(studio: RoomStudio) -> None:
    shot = studio.take(FIVE)
    first, second = shot.seen(), shot.seen()
    for one, other in zip(first.solids, second.solids, strict=True):
        assert one.name == other.name
        np.testing.assert_array_equal(one.position_m, other.position_m)
        np.testing.assert_array_equal(one.quaternion, other.quaternion)
        assert one.position_sigma_m == other.position_sigma_m


def test_in_the_dark_there_is_no_table(studio: RoomStudio) -> None:
    shot = studio.take(FIVE)
    dark = replace(shot.picture, rgb=np.zeros_like(shot.picture.rgb), depth_m=np.full((480, 640), np.nan, np.float32))
    found = see_tabletop(dark, shot.position_m, shot.rotation, around("table"), MODELS)
    assert isinstance(found, NoPlane)
    assert found.agreed < found.least


def test_a_picture_without_depth_is_a_mistake(studio: RoomStudio) -> None:
    shot = studio.take(())
    with pytest.raises(WiringError, match="depth=True"):
        see_tabletop(replace(shot.picture, depth_m=None), shot.position_m, shot.rotation, around("table"))


@pytest.mark.parametrize("level", ["board_low", "board_middle"])
def test_walls_of_a_shelf_are_no_things(studio: RoomStudio, level: str) -> None:
    things = (
        standing(item_of("juice_can"), 0.05, -0.20, level=level),
        standing(item_of("sugar_box"), 0.06, 0.02, 0.4, level=level),
        standing(item_of("apple"), -0.04, -0.08, level=level),
    )
    seen = studio.take(things, level).seen()
    for thing, solid in matched(things, seen.solids):
        assert solid.name == thing.item.name
        assert off_m(thing, solid) < 0.002
    assert (seen.surface.near, seen.surface.far, seen.surface.right) == ("drop", "rise", "rise")


def test_what_is_known_to_be_there_is_no_thing(studio: RoomStudio) -> None:
    (bottle,) = (each for each in FIVE if each.item.name == "water_bottle")
    known = Belief(
        name="bottle",
        shape="box",
        position_m=np.array(bottle.position_m),
        quaternion=np.array([1.0, 0.0, 0.0, 0.0]),
        half_extents_m=np.array([0.04, 0.04, 0.12]),
        position_sigma_m=0.0,
        yaw_sigma_rad=0.0,
    )
    names = {solid.name for solid in studio.take(FIVE).seen(known=(known,)).solids}
    assert names == {each.item.name for each in FIVE} - {"water_bottle"}
