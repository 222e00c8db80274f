"""The room: furniture where it says, items that stand still, and a person's hand that touches nothing."""

from __future__ import annotations

import colorsys
from itertools import combinations

import mujoco
import numpy as np
import pytest

from graspline.engine.cpu import CpuEngine
from graspline.engine.events import Place
from graspline.planning.collision import CollisionWorld
from graspline.rendering.rays import RayRenderer
from graspline.rendering.stage import Stage
from graspline.robots.hsr import hsr
from graspline.scenes.fittings import BOARDS, FITTINGS, SHELF, TABLE, Fitting
from graspline.scenes.household import ITEMS, KNOWN, Item, item_of, unknown_item
from graspline.scenes.household_bodies import is_parked, parked_m
from graspline.scenes.person import PERSON
from graspline.scenes.room import Standing, room, room_start, room_variation
from graspline.scenes.scene import Array
from graspline.scenes.variation import Variation

ROBOT = hsr()
SCENE = room(ROBOT)


def on_table(item: Item, x_m: float = 0.0, y_m: float = 0.0, table: Fitting = TABLE, yaw_rad: float = 0.0) -> Standing:
    """An item so far from the middle of the table."""
    top = table.level("table").position_m[2]
    x, y, z = table.in_world((x_m, y_m, top + item.half_extents_m[2])).tolist()
    return Standing(item=item, position_m=(x, y, z), yaw_rad=yaw_rad)


def engine_with(*standing: Standing, fittings: tuple[Fitting, ...] = FITTINGS) -> CpuEngine:
    engine = CpuEngine(SCENE, 1, 1)
    engine.reset(0, room_start(SCENE, standing), room_variation(standing, fittings, {}))
    return engine


def wait(engine: CpuEngine, duration_s: float) -> None:
    for _ in range(round(duration_s * ROBOT.control_hz)):
        assert not engine.step(ROBOT.home[None], np.zeros(1, np.intp))


def pose(engine: CpuEngine, name: str) -> Array:
    at = SCENE.joint_address(name)
    return engine.qpos[0, at : at + 7].copy()


def standing_geoms(variation: Variation) -> dict[str, Array]:
    """(3,), where the geoms of a lane are."""
    stage = Stage(SCENE)
    stage.place(np.array(SCENE.model.qpos0), variation, "front")
    return {SCENE.model.geom(index).name: stage.data.geom_xpos[index] for index in range(SCENE.model.ngeom)}


def test_furniture_is_built_from_its_slabs_and_bays_are_its_levels() -> None:
    model, geoms = SCENE.model, standing_geoms(Variation())
    for fitting in FITTINGS:
        for slab in fitting.slabs:
            assert geoms[slab.name] == pytest.approx(fitting.in_world(slab.position_m))
            assert model.geom(slab.name).size == pytest.approx(slab.half_extents_m)
    assert [bay.name for bay in SCENE.bays] == ["table", *BOARDS]
    for bay, height in zip(SCENE.bays, (0.72, 0.40, 0.78, 1.16), strict=True):
        assert bay.position_m[2] == pytest.approx(height)
    table, *boards = SCENE.bays
    assert table.half_extents_m == pytest.approx((0.3, 0.4, 0.0))
    # The shelf stands at the left and is turned by a right angle: its width runs along x.
    assert all(bay.half_extents_m[0] > 0.35 > bay.half_extents_m[1] for bay in boards)


def test_there_is_room_above_each_board_and_below_the_table() -> None:
    tops = {slab.name: slab.position_m[2] + slab.half_extents_m[2] for slab in SHELF.slabs}
    unders = sorted(slab.position_m[2] - slab.half_extents_m[2] for slab in SHELF.slabs)
    for level in SHELF.levels:
        above = min(under for under in unders if under > tops[level.name])
        assert above - tops[level.name] == pytest.approx(level.clear_m) == pytest.approx(0.36)
    assert max(2 * item.half_extents_m[2] for item in ITEMS) < 0.3
    top, *legs = TABLE.slabs
    assert top.position_m[2] - top.half_extents_m[2] > 0.65
    assert all(abs(leg.position_m[1]) > 0.3 for leg in legs)


def test_a_lane_moves_furniture_with_what_stands_on_it() -> None:
    table = TABLE.moved((0.02, -0.03, 0.008), 0.05)
    shelf = SHELF.moved((-0.02, 0.01, -0.006), -0.04)
    can = on_table(item_of("soup_can"), table=table)
    x, y, z = shelf.in_world(shelf.level("board_middle").position_m).tolist()
    tea = item_of("tea_box")
    box = Standing(item=tea, position_m=(x, y, z + tea.half_extents_m[2]), yaw_rad=0.3)
    engine = engine_with(can, box, fittings=(table, shelf))
    wait(engine, 0.3)
    for each in (can, box):
        assert pose(engine, each.item.name)[:3] == pytest.approx(each.position_m, abs=1e-4)
    variation = room_variation((), (table, shelf), {})
    geoms = standing_geoms(variation)
    for fitting in (table, shelf):
        for slab in fitting.slabs:
            assert geoms[slab.name] == pytest.approx(fitting.in_world(slab.position_m))
    found = TABLE.in_variation(variation)
    assert found.position_m == table.position_m
    assert found.yaw_rad == pytest.approx(table.yaw_rad)
    assert TABLE.in_variation(Variation()) is TABLE


def test_cameras_see_furniture_where_a_lane_has_it() -> None:
    lower = room_variation((), (TABLE.moved((0.0, 0.0, -0.01), 0.0), SHELF), {})
    start = room_start(SCENE, ())
    with RayRenderer(SCENE, 33, 25) as renderer:
        before = renderer.depth(start, Variation(), "table")[12, 16]
        after = renderer.depth(start, lower, "table")[12, 16]
    assert 0.01 < after - before < 0.02


def test_the_robot_that_drives_into_the_table_meets_the_table() -> None:
    world = CollisionWorld(SCENE)
    world.place(())
    there = np.array([ROBOT.home] * 2)
    there[1, ROBOT.joints.index("base_x")] = 1.0
    found = world.first_collision(there)
    assert found is not None
    assert (found.sample, found.touched) == (1, "table_top")


def test_body_joint_and_main_geom_of_an_item_share_its_name() -> None:
    model = SCENE.model
    for item in ITEMS:
        body = model.body(item.name)
        assert model.joint(item.name).bodyid[0] == model.geom(item.name).bodyid[0] == body.id
        assert body.mass[0] == pytest.approx(item.mass_kg)
        assert 0.1 <= item.mass_kg <= 0.6
        assert SCENE.half_extents_m(item.name) == item.half_extents_m
    assert len({item.name for item in ITEMS}) == len(ITEMS)


def test_items_are_within_their_shape_but_for_a_mugs_handle() -> None:
    for item in ITEMS:
        for part in item.parts:
            reach = np.abs(part.position_m) + part.half_extents_m
            if "handle" in part.name:
                assert part.position_m[0] > item.half_extents_m[0]
                assert reach[2] < item.half_extents_m[2]
            elif part.solid:
                assert (reach <= np.array(item.half_extents_m) + 1e-9).all()


def test_known_items_of_like_size_and_shape_differ_in_colour() -> None:
    for one, other in combinations(KNOWN, 2):
        like = np.abs(np.array(one.half_extents_m) - other.half_extents_m).max() < 0.015
        if like and one.shape == other.shape:
            hues = [colorsys.rgb_to_hsv(*item.rgb)[0] for item in (one, other)]
            apart = abs(hues[0] - hues[1])
            assert min(apart, 1 - apart) > 0.15, (one.name, other.name)


def test_what_waits_stays_below_the_floor() -> None:
    engine = engine_with(on_table(item_of("apple")))
    wait(engine, 0.5)
    for item in ITEMS:
        position = pose(engine, item.name)[:3]
        assert is_parked(position.tolist()) == (item.name != "apple")
        if item.name != "apple":
            assert position == pytest.approx(parked_m(item.name), abs=1e-9)


def test_items_that_wait_are_outside_of_where_the_robot_works_and_know_their_place() -> None:
    for each in SCENE.objects:
        assert each.parked_m == parked_m(each.name)
        assert not SCENE.in_work_area(np.array(each.parked_m))
    assert SCENE.in_work_area(np.array([1.3, 0.0, 0.8]))


def test_an_unknown_item_has_the_size_mass_and_colour_of_its_lane() -> None:
    box = unknown_item("unknown_box_1", "box", (0.04, 0.05, 0.08), (0.1, 0.2, 0.3))
    engine = engine_with(on_table(box))
    assert engine.half_extents_m(0, box.name) == pytest.approx(box.half_extents_m)
    wait(engine, 0.3)
    assert pose(engine, box.name)[2] == pytest.approx(0.72 + 0.08, abs=1e-4)
    variation = room_variation([on_table(box)], FITTINGS, {})
    assert variation.values(SCENE.model, "geom_rgba", box.name) == (0.1, 0.2, 0.3, 1.0)
    assert variation.values(SCENE.model, "body_mass", box.name) == (box.mass_kg,)


@pytest.mark.parametrize("name", ["apple", "tennis_ball"])
def test_a_ball_that_is_pushed_rolls_to_a_halt(name: str) -> None:
    ball = on_table(item_of(name))
    engine = engine_with(ball)
    engine.apply(0, Place(body=name, position_m=ball.position_m, velocity_m_s=(0.0, 0.1, 0.0)))
    wait(engine, 0.6)
    stopped = pose(engine, name)
    assert 0.002 < stopped[1] < 0.03
    wait(engine, 0.3)
    assert pose(engine, name)[:3] == pytest.approx(stopped[:3], abs=1e-4)


def test_a_persons_hand_stays_where_it_is_put_and_touches_nothing() -> None:
    mug = on_table(item_of("mug"), yaw_rad=1.0)
    engine = engine_with(mug)
    assert is_parked(pose(engine, PERSON)[:3].tolist())
    # Right through mug and table.
    engine.apply(0, Place(body=PERSON, position_m=mug.position_m, quaternion=(0.8, 0.6, 0.0, 0.0)))
    wait(engine, 0.5)
    assert pose(engine, PERSON) == pytest.approx((*mug.position_m, 0.8, 0.6, 0.0, 0.0), abs=1e-9)
    assert pose(engine, "mug")[:3] == pytest.approx(mug.position_m, abs=1e-4)


def test_the_palm_faces_up_with_the_thumb_at_its_right() -> None:
    model, body = SCENE.model, SCENE.model.body(PERSON)
    local = {model.geom(i).name: model.geom_pos[i] for i in np.flatnonzero(model.geom_bodyid == body.id)}
    assert local["person_middle_second"][0] > 0.09 > abs(local["person_middle_second"][1])
    assert local["person_thumb"][1] < -0.04 < 0.02 < local["person_little_first"][1]
    assert local["person_sleeve"][0] < -0.2
    # Its bones are below its surface.
    assert local["person_palm"][2] < 0


def test_cameras_show_the_room_table_and_shelf() -> None:
    assert set(SCENE.cameras) >= {"front", "table", "shelf", *ROBOT.cameras}
    standing = [on_table(item_of("mug"))]
    start, variation = room_start(SCENE, standing), room_variation(standing, FITTINGS, {})
    with RayRenderer(SCENE, 64, 48) as renderer:
        names = [
            {SCENE.model.geom(int(i)).name for i in np.unique(renderer.geoms(start, variation, camera)) if i >= 0}
            for camera in ("front", "table", "shelf")
        ]
    front, table, shelf = names
    assert front >= {"table_top", "mug", *BOARDS, "shelf_roof", "floor", "wall_left"}
    assert table >= {"table_top", "mug"}
    assert shelf >= {*BOARDS, "shelf_left", "shelf_right"}


def test_the_room_is_compiled_once_and_needs_no_planes() -> None:
    assert room(ROBOT) is SCENE
    # A plane has no underside: it would push up what waits below the floor.
    assert not (SCENE.model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE.value).any()
