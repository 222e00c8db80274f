"""A batched function gives each row the bits it gets alone, whatever shares the batch with it.

Re-running a scenario with other lanes around it must not change a bit, so nothing may depend on the size or the company
of a batch: no `@` over the lane axis, no shortcut that looks at all rows, no step count decided by the worst of them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from graspline.kinematics import hsr
from graspline.kinematics.so101 import ARM, STRAIGHT_DOWN_RAD, forward, solve
from graspline.kinematics.tilts import steepest_pitch
from graspline.motion.guards import (
    Apart,
    BothPadsTouch,
    ForceAbove,
    GuardKind,
    HoldLost,
    LeftBehind,
    ObjectMoved,
    OnePadTouches,
    PlaceMoved,
    ReachedHeight,
    Rows,
    Slipped,
    TrackingError,
    Tugged,
    Unsteady,
)
from graspline.motion.lines import minimum_jerk
from graspline.motion.path import controls_of
from graspline.robots import hsr_chain
from graspline.robots.so101 import LOWER, SO101, UPPER, moving_finger_m, tip_gap_m

Array = NDArray[np.float64]

BATCHES = st.tuples(st.integers(1, 70), st.integers(0, 2**32 - 1))


def bits(value: Any) -> bytes:
    parts = value if isinstance(value, tuple) else (value,)
    return b"|".join(np.ascontiguousarray(part).tobytes() for part in parts)


def assert_alone(function: Callable[..., Any], *arrays: Array) -> None:
    """`function` of all rows, and of each row in a batch of one, give the same bytes."""
    together = function(*arrays)
    parts = together if isinstance(together, tuple) else (together,)
    for row in range(len(arrays[0])):
        alone = function(*(each[row : row + 1] for each in arrays))
        assert bits(alone) == bits(tuple(part[row : row + 1] for part in parts))


def targets(batch: tuple[int, int]) -> tuple[Array, Array, Array, Array]:
    """Positions in and out of reach, pitches straight down and tilted side by side, headings, tool points."""
    count, seed = batch
    random = np.random.default_rng(seed)
    position = random.uniform([-0.2, -0.35, -0.05], [0.45, 0.35, 0.25], (count, 3))
    pitch = np.where(random.random(count) < 0.5, STRAIGHT_DOWN_RAD, random.uniform(0.0, np.pi, count))
    tool = random.uniform([0.07, -0.005, -0.01], [0.105, 0.005, 0.03], (count, 3))
    return position, pitch, random.uniform(-np.pi, np.pi, count), tool


def joints(batch: tuple[int, int]) -> Array:
    count, seed = batch
    return np.random.default_rng(seed).uniform(LOWER, UPPER, (count, 6))


@settings(max_examples=100, deadline=None)
@given(BATCHES, st.floats(0.0, 0.1), st.booleans())
def test_inverse_kinematics(batch: tuple[int, int], margin: float, backwards: bool) -> None:
    def solved(position: Array, pitch: Array, yaw: Array, tool: Array) -> tuple[Any, ...]:
        found = solve(position, pitch, yaw, tool, margin, backwards=backwards)
        return found.joints_rad, found.excess, found.reached, *found.best()

    assert_alone(solved, *targets(batch))


@settings(max_examples=20, deadline=None)
@given(BATCHES)
def test_inverse_kinematics_with_a_free_heading(batch: tuple[int, int]) -> None:
    def solved(position: Array, pitch: Array, tool: Array) -> tuple[Array, ...]:
        found = solve(position, pitch, None, tool)
        return found.joints_rad, found.excess

    position, pitch, _, tool = targets(batch)
    assert_alone(solved, position, pitch, tool)


@settings(max_examples=20, deadline=None)
@given(BATCHES, st.booleans())
def test_inverse_kinematics_with_one_tool_heading_and_pitch_for_all(batch: tuple[int, int], backwards: bool) -> None:
    position, pitch, yaw, tool = targets(batch)

    def solved(position: Array) -> tuple[Array, ...]:
        found = solve(position, float(pitch[0]), float(yaw[0]), tool[0], backwards=backwards)
        return found.joints_rad, found.excess

    assert_alone(solved, position)


@settings(deadline=None)
@given(BATCHES, st.floats(0.0, 0.1), st.booleans())
def test_a_broadcast_argument_gives_the_bits_of_a_row_of_it(
    batch: tuple[int, int], margin: float, backwards: bool
) -> None:
    position, pitch, yaw, tool = targets(batch)
    count = len(position)
    one = solve(position, float(pitch[0]), float(yaw[0]), tool[0], margin, backwards=backwards)
    rows = (np.full(count, pitch[0]), np.full(count, yaw[0]), np.tile(tool[0], (count, 1)), np.full(count, margin))
    each = solve(position, *rows, backwards=backwards)
    assert bits((one.joints_rad, one.excess)) == bits((each.joints_rad, each.excess))


@settings(max_examples=15, deadline=None)
@given(BATCHES)
def test_whole_body_kinematics(batch: tuple[int, int]) -> None:
    def solved(position: Array, rotation: Array) -> tuple[Any, ...]:
        found = hsr.solve(position, rotation)
        ranked = [hsr.ranked(found, index, start) for index in range(len(found.joints))]
        nearest = np.array([rows[0] if len(rows) else np.full(8, np.nan) for rows in ranked])
        return found.joints, found.within, nearest, np.array([len(rows) for rows in ranked])

    count, seed = batch
    start, *rows = np.random.default_rng(seed).uniform(hsr_chain.LOWER, hsr_chain.UPPER, (count + 1, 11))
    rows = np.array(rows)
    for frame in (hsr.forward, hsr.head_camera, hsr.wrist_force_frame):
        assert_alone(frame, rows)
    assert_alone(solved, *hsr.forward(rows))


@settings(max_examples=40, deadline=None)
@given(BATCHES)
def test_forward_kinematics(batch: tuple[int, int]) -> None:
    tool = targets(batch)[3]
    assert_alone(forward, joints(batch), tool)
    assert_alone(lambda rows: forward(rows, tool[0]), joints(batch))


@settings(max_examples=25, deadline=None)
@given(BATCHES, st.floats(0.0, 1.2))
def test_the_steepest_pitch(batch: tuple[int, int], max_tilt: float) -> None:
    position, _, yaw, tool = targets(batch)
    assert_alone(lambda p, h, t: steepest_pitch(ARM, p, h, t, max_tilt), position, yaw, tool)
    assert_alone(lambda p, t: steepest_pitch(ARM, p, None, t, max_tilt), position, tool)


@settings(deadline=None)
@given(BATCHES)
def test_how_far_the_jaws_lean(batch: tuple[int, int]) -> None:
    assert_alone(ARM.jaw_lean_rad, joints(batch))


@settings(deadline=None)
@given(BATCHES)
def test_the_jaw_law_both_ways(batch: tuple[int, int]) -> None:
    law = SO101.jaw_law
    angles = joints(batch)[:, 5]
    assert_alone(law.gap_m, angles)
    assert_alone(law.angle_rad, law.gap_m(angles))


@settings(deadline=None)
@given(BATCHES, st.floats(0.03, 0.1044))
def test_the_gap_between_the_fingers(batch: tuple[int, int], from_m: float) -> None:
    angles = joints(batch)[:, 5]
    assert_alone(tip_gap_m, angles)
    assert_alone(moving_finger_m, angles)
    assert_alone(lambda rows: SO101.hand.clear_gap_m(rows, from_m), angles)


@settings(deadline=None)
@given(BATCHES)
def test_progress_over_time(batch: tuple[int, int]) -> None:
    count, seed = batch
    assert_alone(minimum_jerk, np.random.default_rng(seed).uniform(0, 1, count))


@settings(deadline=None)
@given(BATCHES)
def test_the_servo_law(batch: tuple[int, int]) -> None:
    positions = joints(batch)
    velocities = np.random.default_rng(batch[1] + 1).uniform(-3, 3, positions.shape)

    def law(positions: Array, velocities: Array) -> Array:
        return controls_of(SO101, *(np.concatenate([each, each[-1:]]) for each in (positions, velocities)))

    assert_alone(law, positions, velocities)


def guard_rows(batch: tuple[int, int]) -> Rows:
    """Signals of all lanes, some of them absent, as guards get them: columns of one wide block."""
    count, seed = batch
    random = np.random.default_rng(seed)
    block = np.zeros((count, 64))
    position, tool, axes, forces = block[:, 0:6], block[:, 6:9], block[:, 9:18], block[:, 18:24]
    position[:] = random.uniform(LOWER, UPPER, (count, 6))
    tool[:] = random.uniform(-0.3, 0.3, (count, 3))
    axes[:] = random.uniform(-1, 1, (count, 9))
    forces[:] = random.uniform(-5, 5, (count, 6)) * (random.random((count, 1)) < 0.8)
    watched, place = random.uniform(-0.3, 0.3, (2, count, 3))
    for seen in (watched, place):
        seen[random.random(count) < 0.3] = np.nan
    return Rows(
        joint_position=position,
        tool_position=tool,
        tool_axes=axes.reshape(count, 3, 3),
        pad_force=forces.reshape(count, 2, 3),
        command=position + random.uniform(-0.1, 0.1, (count, 6)),
        watched=watched,
        spread=random.uniform(0, 1e-5, count),
        place=place,
        jaw=5,
        wrist_force=random.uniform(-20, 20, (count, 3)),
        wrist_acceleration=random.uniform(-10, 10, (count, 3)),
    )


WIDTHS: dict[GuardKind, int] = {
    BothPadsTouch: 1,
    OnePadTouches: 2,
    ForceAbove: 1,
    HoldLost: 2,
    TrackingError: 1,
    ReachedHeight: 2,
    Slipped: 4,
    LeftBehind: 8,
    Apart: 2,
    Unsteady: 1,
    ObjectMoved: 4,
    PlaceMoved: 4,
    Tugged: 9,
}


def test_every_kind_of_guard_is_tried() -> None:
    made = [
        BothPadsTouch(force_n=1),
        OnePadTouches(pad="fixed", force_n=1),
        ForceAbove(force_n=1),
        HoldLost(least_jaw_rad=0, force_n=1),
        TrackingError(),
        ReachedHeight(height_m=1),
        Slipped(offset_m=(0, 0, 0), slip_m=1),
        LeftBehind(hand_start_m=(0, 0, 0), object_start_m=(0, 0, 0)),
        Apart(sideways_m=1, height_m=1),
        Unsteady(variance_m2=1),
        ObjectMoved(lay_at_m=(0, 0, 0), limit_m=1),
        PlaceMoved(was_at_m=(0, 0, 0), limit_m=1),
        Tugged(force_n=1, toward=(1, 0, 0), within_rad=1, mass_kg=1),
    ]
    assert {type(guard): len(guard.parameters()) for guard in made} == WIDTHS


@settings(max_examples=60, deadline=None)
@given(BATCHES)
@pytest.mark.parametrize("kind", WIDTHS, ids=lambda kind: kind.__name__)
def test_a_guard(kind: GuardKind, batch: tuple[int, int]) -> None:
    rows = guard_rows(batch)
    count = len(rows.command)
    random = np.random.default_rng(batch[1] + 1)
    parameters = random.uniform(-0.3, 0.5, (count, WIDTHS[kind]))
    # Lanes without such a guard have no parameters.
    parameters[random.random(count) < 0.3] = np.nan
    names = [field.name for field in dataclasses.fields(Rows) if field.init and field.name != "jaw"]

    def evaluated(parameters: Array, *signals: Array) -> tuple[Any, ...]:
        fired, measured = kind.evaluate(Rows(**dict(zip(names, signals, strict=True)), jaw=5), parameters)
        return fired, *measured

    assert_alone(evaluated, parameters, *(getattr(rows, name) for name in names))
