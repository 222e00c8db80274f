"""The whole body's collision world finds what would touch, by what is believed, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

from graspline.errors import WiringError
from graspline.kinematics.hsr import forward
from graspline.perception.core.beliefs import Belief, Shape
from graspline.perception.core.held import HeldObject
from graspline.planning.collision import ROOM_CLEARANCE_M, STEP_M, Collision, CollisionWorld
from graspline.robots.hsr import HSR
from graspline.robots.robot import Robot
from graspline.robots.so101 import SO101
from graspline.robots.ur5e import UR5E
from graspline.spatial.poses import Pose
from graspline.spatial.rotations import rotate

from .rooms import room, solid

Array = NDArray[np.float64]

# The base's bumper is a drum of this radius, up to 15 cm above the floor.
BUMPER_M, LOW_M = 0.215, 0.09


@pytest.fixture(scope="module")
def shared() -> CollisionWorld:
    return CollisionWorld.among_solids(HSR)


@pytest.fixture
def world(shared: CollisionWorld) -> CollisionWorld:
    shared.place(())
    return shared


def at(**joints: float) -> Array:
    """Home with some joints elsewhere."""
    row = HSR.home.copy()
    for name, value in joints.items():
        row[HSR.joints.index(name)] = value
    return row


def hit(world: CollisionWorld, row: Array) -> Collision:
    found = world.first_collision(row[None])
    assert found is not None
    return found


def on_tool(offset_m: tuple[float, float, float], row: Array = HSR.home) -> tuple[float, float, float]:
    """A point given in the tool frame."""
    position, rotation = forward(row)
    x, y, z = position + rotate(rotation, np.array(offset_m))
    return float(x), float(y), float(z)


@pytest.mark.parametrize("robot", [HSR, UR5E, SO101], ids=lambda robot: robot.name)
def test_at_home_a_robot_touches_nothing(robot: Robot) -> None:
    assert CollisionWorld.among_solids(robot, slots=1).first_collision(robot.home[None]) is None


@pytest.mark.parametrize("shape", ["box", "cylinder", "ball"])
@pytest.mark.parametrize(("gap", "free"), [(-0.01, False), (0.005, False), (0.007, True)])
def test_the_robot_keeps_its_clearance_from_every_shape(
    world: CollisionWorld, shape: Shape, gap: float, free: bool
) -> None:
    half = 0.05
    world.place((solid("thing", (BUMPER_M + gap + half, 0, LOW_M), (half, half, half), shape),))
    assert world.free(HSR.home) == free
    if not free:
        found = hit(world, HSR.home)
        assert (found.robot_part, found.touched) == ("base_bumper", "thing")
        (evidence,) = found.evidence
        assert evidence.value == pytest.approx(gap, abs=1e-6)
        assert evidence.limit == ROOM_CLEARANCE_M
        assert not evidence.passed


@pytest.mark.parametrize(("gap", "free"), [(0.018, False), (0.022, True)])
def test_more_clearance_can_be_asked_for_until_solids_are_set_again(
    world: CollisionWorld, gap: float, free: bool
) -> None:
    thing = solid("thing", (BUMPER_M + gap + 0.05, 0, LOW_M), (0.05, 0.05, 0.05))
    world.place((thing,), clearance_m=0.02)
    assert world.clearance_m == 0.02
    assert world.free(HSR.home) == free
    if not free:
        assert hit(world, HSR.home).evidence[0].limit == pytest.approx(0.02)
    world.place((thing,))
    assert world.clearance_m == ROOM_CLEARANCE_M
    assert world.free(HSR.home)


@pytest.mark.parametrize(("sigma_m", "kept_m"), [(0.0, 0.0), (0.005, 0.01), (0.012, 0.024), (0.2, 0.03)])
def test_from_what_may_be_elsewhere_it_keeps_two_sigmas_farther_and_never_more_than_3_cm(
    world: CollisionWorld, sigma_m: float, kept_m: float
) -> None:
    for gap, free in ((ROOM_CLEARANCE_M + kept_m - 0.001, False), (ROOM_CLEARANCE_M + kept_m + 0.001, True)):
        thing = solid("thing", (BUMPER_M + gap + 0.05, 0, LOW_M), (0.05, 0.05, 0.05))
        world.place((replace(thing, position_sigma_m=sigma_m),))
        assert world.free(HSR.home) == free
    sure = solid("thing", (BUMPER_M + ROOM_CLEARANCE_M + 0.001 + 0.05, 0, LOW_M), (0.05, 0.05, 0.05))
    unsure = replace(solid("other", (0.0, 2.0, LOW_M), (0.05, 0.05, 0.05)), position_sigma_m=sigma_m)
    world.place(
        (
            sure,
            unsure,
        )
    )
    assert world.free(HSR.home)


def test_solids_are_where_and_as_large_as_believed_last(world: CollisionWorld) -> None:
    near = solid("thing", (BUMPER_M + 0.05, 0, LOW_M), (0.06, 0.06, 0.06))
    small = solid("thing", (BUMPER_M + 0.05, 0, LOW_M), (0.03, 0.03, 0.03))
    far = solid("thing", (BUMPER_M + 0.5, 0, LOW_M), (0.06, 0.06, 0.06))
    for believed, free in (([near], False), ([far], True), ([small], True), ([far, near], False), ([], True)):
        world.place(tuple(believed))
        assert world.free(HSR.home) == free


def test_more_solids_than_there_is_room_for_are_a_mistake() -> None:
    thing = solid("thing", (2, 0, LOW_M), (0.06, 0.06, 0.06))
    with pytest.raises(WiringError, match="3 solids in a collision world with 2 slots"):
        CollisionWorld.among_solids(HSR, slots=2).place((thing,) * 3)


def test_a_hand_in_the_floor_is_found(world: CollisionWorld) -> None:
    down = at(arm_lift=0.0, arm_flex=-2.2, arm_roll=0.0, wrist_flex=-0.4)
    assert hit(world, down).touched == "floor"


def test_an_arm_in_its_own_base_is_found(world: CollisionWorld) -> None:
    found = hit(world, at(arm_lift=0.3, arm_flex=-2.6, arm_roll=0.0, wrist_flex=-1.2))
    assert {found.robot_part, found.touched} == {"base_deck", "right_link"}
    assert found.evidence[0].limit == 0.0


def test_the_head_rises_with_the_torso_half_as_far_as_the_arm(world: CollisionWorld) -> None:
    world.place((solid("lintel", (-0.1, 0.0, 1.35), (0.1, 0.4, 0.05)),))
    parts = {lift: world.first_collision(at(arm_lift=lift, arm_flex=-1.5, head_tilt=0.0)[None]) for lift in (0.5, 0.69)}
    assert parts[0.5] is None
    high = parts[0.69]
    assert high is not None
    assert high.robot_part.startswith("head")


@pytest.mark.parametrize(("side", "sign"), [("left", 1.0), ("right", -1.0)])
def test_both_fingers_open_with_the_jaw(world: CollisionWorld, side: str, sign: float) -> None:
    wide = at(hand=1.2)
    law = HSR.jaw_law
    back = float(law.middle_m(1.2)[0])
    bead = solid("bead", on_tool((back, 0.0, sign * float(law.gap_m(1.2)) / 2)), (0.003, 0.003, 0.003), "ball")
    world.place((bead,))
    assert world.free(at(hand=0.0))
    assert hit(world, wide).robot_part.startswith(side)


def held_box(*half_extents_m: float) -> HeldObject:
    return HeldObject(
        name="box",
        shape="box",
        half_extents_m=np.array(half_extents_m),
        X_HO=Pose(position_m=np.array([0.02, 0, 0]), rotation=np.eye(3)),
    )


def test_what_is_held_moves_with_the_tool_and_meets_things_and_the_floor(world: CollisionWorld) -> None:
    ahead = solid("post", on_tool((0.22, 0.0, 0.0)), (0.01, 0.01, 0.01))
    long = held_box(0.19, 0.02, 0.02)
    for believed, held, free in (((), long, True), ((ahead,), None, True), ((ahead,), long, False)):
        world.place(tuple(believed), held)
        assert world.free(HSR.home) == free
    found = hit(world, HSR.home)
    assert (found.robot_part, found.touched) == ("held", "post")
    assert world.free(at(base_y=-0.1, base_x=0.3))
    reaching_low = at(arm_lift=0.1, arm_flex=-1.8, arm_roll=0.0, wrist_flex=-1.0)
    world.place(())
    assert world.free(reaching_low)
    world.place((), held_box(0.25, 0.02, 0.02))
    assert {"held", "floor"} == {(found := hit(world, reaching_low)).robot_part, found.touched}


def test_what_is_held_may_touch_the_hand_but_not_the_rest_of_the_robot(world: CollisionWorld) -> None:
    world.place((), held_box(0.06, 0.03, 0.03))
    assert world.free(HSR.home)
    # As long as the forearm, back along it.
    world.place((), held_box(0.30, 0.03, 0.03))
    found = hit(world, HSR.home)
    assert "held" in (found.robot_part, found.touched)
    assert not {"palm", "left_pad", "right_pad"} & {found.robot_part, found.touched}


def test_a_pair_that_may_touch_is_not_reported_and_others_are(world: CollisionWorld) -> None:
    target = solid("target", on_tool((0.0, 0.0, 0.0)), (0.04, 0.04, 0.04))
    other = solid("target", on_tool((0.0, 0.0, 0.0)), (0.04, 0.04, 0.04))
    world.place((target,))
    assert not world.free(HSR.home)
    world.place((target,), may_touch=[("hand", target)])
    assert world.free(HSR.home)
    world.place(
        (
            target,
            other,
        ),
        may_touch=[("hand", target)],
    )
    assert not world.free(HSR.home)
    world.place((target,), held_box(0.01, 0.01, 0.01), may_touch=[("hand", target)])
    assert hit(world, HSR.home).robot_part == "held"
    world.place((target,), held_box(0.01, 0.01, 0.01), may_touch=[("hand", target), ("held", target)])
    assert world.free(HSR.home)
    # The hand may, the base may not.
    wall = solid("wall", (0.0, 0.3, 0.5), (0.3, 0.1, 0.5))
    world.place((wall,), may_touch=[("hand", wall)])
    assert hit(world, HSR.home).robot_part.startswith("base")


def test_a_robot_beside_something_may_leave_but_not_come_closer(world: CollisionWorld) -> None:
    thing = solid("thing", (BUMPER_M + 0.003 + 0.05, 0, LOW_M), (0.05, 0.05, 0.05))
    world.place((thing,), start=HSR.home)
    assert world.first_touching(np.stack([HSR.home, at(base_x=-0.1)])) is None
    assert not world.free(at(base_x=0.002))
    world.place((thing,))
    assert not world.free(HSR.home)
    # What touches already is for the caller to allow.
    world.place((solid("thing", (BUMPER_M + 0.04, 0, LOW_M), (0.05, 0.05, 0.05)),), start=HSR.home)
    assert not world.free(HSR.home)


def test_a_robot_beside_something_unsure_may_leave_it_as_well(world: CollisionWorld) -> None:
    thing = solid("thing", (BUMPER_M + 0.02 + 0.05, 0, LOW_M), (0.05, 0.05, 0.05))
    unsure = replace(thing, position_sigma_m=0.02)
    world.place((unsure,), start=HSR.home, clearance_m=0.02)
    assert world.first_touching(np.stack([HSR.home, at(base_x=-0.1)])) is None
    assert not world.free(at(base_x=0.004))
    world.place((unsure,), clearance_m=0.02)
    assert not world.free(HSR.home)


def test_the_first_row_that_touches_is_named_and_less_clearance_can_be_asked_for(world: CollisionWorld) -> None:
    world.place((solid("thing", (BUMPER_M + 0.02 + 0.05, 0, LOW_M), (0.05, 0.05, 0.05)),))
    rows = np.stack([at(base_x=x) for x in (0.0, 0.01, 0.016, 0.019, 0.021)])
    for clearance_m, sample in ((None, 2), (0.002, 3), (0.0, 4)):
        found = world.first_collision(rows, clearance_m=clearance_m)
        assert found is not None
        assert found.sample == sample


def test_samples_lie_close_together_and_keep_both_ends(world: CollisionWorld) -> None:
    rows = np.stack([HSR.home, at(base_x=0.5, arm_flex=-1.0), at(base_turn=1.0), at(base_turn=1.0)])
    samples = world.between(rows)
    assert np.array_equal(samples[0], rows[0])
    assert np.array_equal(samples[-1], rows[-1])
    assert (np.abs(np.diff(samples, axis=0)) @ HSR.levers_m).max() <= STEP_M * (1 + 1e-9)
    assert len(world.between(rows[2:])) == 2


def test_the_world_agrees_with_distances_between_shapes(world: CollisionWorld) -> None:
    """An independent model with the same solids, asked for every pair of shapes."""
    random = np.random.default_rng(4)
    things = [
        solid("a", (0.5, 0.2, 0.6), (0.12, 0.05, 0.2)),
        solid("b", (0.2, -0.5, 0.8), (0.1, 0.1, 0.25), "cylinder"),
        solid("c", (-0.4, 0.4, 0.9), (0.15, 0.15, 0.15), "ball"),
    ]
    world.place(tuple(things))
    model, robot = _independent(things)
    data = mujoco.MjData(model)
    lower, upper = HSR.limits.lower.copy(), HSR.limits.upper.copy()
    lower[:3], upper[:3] = (-0.3, -0.3, -np.pi), (0.3, 0.3, np.pi)
    count = 0
    for _ in range(150):
        row = random.uniform(lower, upper)
        row[8:] = HSR.home[8:]
        world.place(())
        if not world.free(row):
            continue
        world.place(tuple(things))
        for name, value in zip(HSR.joints, row, strict=True):
            data.joint(name).qpos[0] = value
        data.joint("torso_lift").qpos[0] = row[3] / 2
        mujoco.mj_kinematics(model, data)
        least = min(
            mujoco.mj_geomDistance(model, data, geom, model.geom(thing.name).id, 1.0, None)
            for geom in robot
            for thing in things
        )
        count += least < ROOM_CLEARANCE_M
        assert world.free(row) == (least >= ROOM_CLEARANCE_M), least
    assert 20 < count < 130


def _independent(things: list[Belief]) -> tuple[mujoco.MjModel, list[int]]:
    """A model with these solids, and its robot's geoms that touch."""
    kinds = {
        "box": mujoco.mjtGeom.mjGEOM_BOX,
        "cylinder": mujoco.mjtGeom.mjGEOM_CYLINDER,
        "ball": mujoco.mjtGeom.mjGEOM_SPHERE,
    }
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    HSR.add_to(spec)
    touching = [geom.name for geom in spec.geoms if geom.conaffinity]
    for thing in things:
        x, y, z = thing.half_extents_m
        size = (x, z, 0) if thing.shape == "cylinder" else (x, y, z)
        spec.worldbody.add_geom(name=thing.name, type=kinds[thing.shape], size=size, pos=thing.position_m)
    model = spec.compile()
    return model, [model.geom(name).id for name in touching]


def test_home_is_free_in_a_furnished_room(world: CollisionWorld) -> None:
    world.place(tuple(room()))
    assert world.first_collision(HSR.home[None]) is None
    assert hit(world, at(base_x=0.8)).touched == "table"


class TestOwnSolids:
    ROW = at(base_x=0.2, base_turn=0.5, arm_lift=0.3, arm_flex=-1.2, wrist_roll=0.7, head_pan=0.4, hand=0.8)

    def test_they_are_boxes_around_every_geom_that_moves_where_it_is(self, world: CollisionWorld) -> None:
        found = {each.name: each for each in world.own_solids(self.ROW)}
        model, _ = _independent([])
        data = mujoco.MjData(model)
        for name, value in zip(HSR.joints, self.ROW, strict=True):
            data.joint(name).qpos[0] = value
        data.joint("torso_lift").qpos[0] = self.ROW[3] / 2
        mujoco.mj_kinematics(model, data)
        assert {"base_bumper", "head_face", "wrist_barrel", "palm_face", "left_pad", "right_pad"} <= set(found)
        # Fingers follow the jaw by equalities, which kinematics alone does not solve.
        for name in (each for each in found if not each.startswith(("left", "right"))):
            own = found[name].rotation.T @ (data.geom(name).xpos - found[name].position_m)
            assert (np.abs(own) <= found[name].half_extents_m + 1e-9).all(), name
        assert all(each.shape == "box" and (each.half_extents_m > 0).all() for each in found.values())

    def test_pads_are_on_both_sides_of_what_is_between_them(self, world: CollisionWorld) -> None:
        found = {each.name: each for each in world.own_solids(self.ROW)}
        tool, rotation = forward(self.ROW)
        left, right = (float((found[name].position_m - tool) @ rotation[:, 2]) for name in ("left_pad", "right_pad"))
        gap = float(HSR.jaw_law.gap_m(0.8))
        assert left == pytest.approx(-right, abs=1e-6)
        assert abs(left) == pytest.approx(gap / 2, abs=0.02)

    def test_what_is_held_and_what_stands_around_is_not_the_robot(self, world: CollisionWorld) -> None:
        names = [each.name for each in world.own_solids(self.ROW)]
        world.place(tuple(room()), held_box(0.05, 0.02, 0.02))
        assert [each.name for each in world.own_solids(self.ROW)] == names
        assert not {"held", "floor", "table"} & set(names)

    def test_asking_leaves_what_is_checked_as_it_was(self, world: CollisionWorld) -> None:
        world.place(tuple(room()))
        world.own_solids(at(base_x=0.8))
        assert world.free(HSR.home)
