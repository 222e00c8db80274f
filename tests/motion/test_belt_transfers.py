"""Hops: within limits on every sample, from the command they are given to a ride, clear of what lies beside it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from graspline.kinematics.arm import straight_down
from graspline.kinematics.ur5e import forward
from graspline.motion.belt_rides import Ride
from graspline.motion.belt_transfers import Clearance, Hop, HopQuery, plan_hop
from graspline.motion.path import Command, Path, at_rest, check_path
from graspline.motion.scaling import Scaling
from graspline.refusal import Refusal
from graspline.robots.robot import Robot, with_arm_limits
from graspline.robots.ur5e import HOME, UR5E

Array = NDArray[np.float64]

TOOL = np.zeros(3)
ROBOT = with_arm_limits(UR5E, 3.0, 15.0, 600.0)
NOW_S = 2.0
# Paths are sampled, and a ride is straight in joint space; the way a clearance leaves is some of it, too.
TOLERANCE_M, TOLERANCE = 0.001, 0.1


def riding(point: Array, velocity: Array, time_s: float = NOW_S, rotation: Array | None = None) -> Ride:
    turned = straight_down(-np.pi / 2) if rotation is None else rotation
    return Ride(point_m=point, velocity_m_s=velocity, time_s=time_s, rotation=turned, tool_m=TOOL)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class End:
    """A place the hand can be at, riding with it."""

    point_m: Array
    velocity_m_s: Array
    yaw_rad: float

    @property
    def rotation(self) -> Array:
        return straight_down(self.yaw_rad)

    @property
    def ride(self) -> Ride:
        return riding(self.point_m, self.velocity_m_s, NOW_S, self.rotation)

    def command(self) -> Command:
        """The hand on it, moving with it, as it is now."""
        rows = self.ride.joints(ROBOT, NOW_S + ROBOT.dt_s * np.arange(-1.0, 2.0), HOME)
        assert rows is not None
        velocity = np.append((rows[2] - rows[0]) / (2 * ROBOT.dt_s), 0.0)
        return Command(position=np.append(rows[1], 0.4), velocity=velocity, acceleration=np.zeros(7))


def on_belt(x: float = 0.5, y: float = 0.1, speed: float = 0.05, turn: float = 0.0, z: float = 0.03) -> End:
    velocity = np.array([0.0, -speed, 0.0])
    return End(point_m=np.array([x, y, z]), velocity_m_s=velocity, yaw_rad=-np.pi / 2 + turn)


def over_bin(y: float = -0.24, turn: float = 0.0, z: float = 0.036) -> End:
    return End(point_m=np.array([0.26, y, z]), velocity_m_s=np.zeros(3), yaw_rad=-np.pi / 2 + turn)


BELT = st.builds(
    on_belt,
    x=st.floats(0.41, 0.59),
    y=st.floats(-0.3, 0.35),
    speed=st.floats(-0.1, 0.2),
    turn=st.floats(-1.2, 1.2),
    z=st.floats(0.02, 0.04),
)
BIN = st.builds(
    over_bin, y=st.sampled_from([-0.45, -0.24, 0.24, 0.45]), turn=st.floats(-0.6, 0.6), z=st.floats(0.025, 0.045)
)
ENDS = st.tuples(BELT, BIN) | st.tuples(BIN, BELT)
SCALINGS = st.sampled_from(["ruckig", "cubic"])
ROBOTS = st.sampled_from(
    [
        with_arm_limits(UR5E, 3.0, 15.0, 600.0),
        with_arm_limits(UR5E, 3.0, 15.0, 150.0),
        with_arm_limits(UR5E, 3.14, 40.0, 1600.0),
    ]
)
BESIDE_M = st.floats(0.002, 0.03)


def query(begin: End, end: End, height: float = 0.055, scaling: Scaling = "ruckig") -> HopQuery:
    return HopQuery(
        start=begin.command(),
        now_s=NOW_S,
        target=end.ride,
        rise_m=height,
        sink_m=height,
        scaling=scaling,
    )


@st.composite
def queries(draw: st.DrawFn) -> HopQuery:
    begin, end = draw(ENDS)
    height = draw(st.floats(0.05, 0.1))

    def clearance() -> Clearance:
        low = draw(st.floats(0.1, 0.7)) * height
        return Clearance(height_m=low, along_m=draw(BESIDE_M), across_m=draw(BESIDE_M))

    asked = query(begin, end, height)
    leaving, landing = (clearance(), clearance()), (clearance(),)
    return replace(asked, leaving=leaving, landing=landing, scaling=draw(SCALINGS))


def planned(robot: Robot, asked: HopQuery) -> Hop:
    hop = plan_hop(robot, asked)
    assert isinstance(hop, Hop), hop
    return hop


def as_path(robot: Robot, hop: Hop) -> Path:
    jaw = np.full(len(hop.positions), 0.4)
    return Path(
        positions=np.column_stack([hop.positions, jaw]),
        velocities=np.column_stack([hop.velocities, 0 * jaw]),
        dt_s=robot.dt_s,
    )


def assert_proper(robot: Robot, asked: HopQuery, hop: Hop) -> None:
    """Within limits, from the command, onto the ride in place, speed and rotation, when it is said to be there."""
    refused = check_path(as_path(robot, hop), robot)
    assert refused is None, str(refused)
    np.testing.assert_array_equal(hop.positions[0], asked.start.position[:6])
    np.testing.assert_array_equal(hop.velocities[0], asked.start.velocity[:6])
    assert hop.begins_s == asked.now_s
    assert hop.ends_s - hop.begins_s == pytest.approx((len(hop.positions) - 1) * robot.dt_s)
    points, rotations = forward(hop.positions[-1] + np.outer((-1e-4, 0, 1e-4), hop.velocities[-1]))
    assert points[1] == pytest.approx(asked.target.at(hop.ends_s), abs=1e-9)
    assert (points[2] - points[0]) / 2e-4 == pytest.approx(asked.target.velocity_m_s, abs=1e-4)
    np.testing.assert_allclose(rotations[1], asked.target.rotation, atol=1e-9)


def assert_clear(clearance: Clearance, offsets_m: Array, rotation: Array) -> None:
    """Until the hand is as high as that over its end, from row 0 on, it is not farther beside it."""
    high = offsets_m[:, 2] >= clearance.height_m - TOLERANCE_M
    assert high.any(), "the hand never gets as high as that"
    low = offsets_m[: int(np.argmax(high))]
    along, across = np.abs(low @ rotation[:, 2]), np.abs(low @ rotation[:, 1])
    for beside, allowed in ((along, clearance.along_m), (across, clearance.across_m)):
        assert beside.max(initial=0.0) <= allowed + max(TOLERANCE_M, TOLERANCE * allowed)


@settings(max_examples=60, deadline=None)
@given(queries(), ROBOTS)
def test_a_hop_keeps_limits_and_clearances_from_its_command_to_the_ride(asked: HopQuery, robot: Robot) -> None:
    hop = plan_hop(robot, asked)
    # Now and then another posture would be nearer, or the belt takes the block out of reach.
    assume(isinstance(hop, Hop))
    assert isinstance(hop, Hop)
    assert_proper(robot, asked, hop)
    points, _ = forward(hop.positions)
    times = asked.now_s + robot.dt_s * np.arange(float(len(points)))
    start, turned = forward(asked.start.position[:6])
    step = forward(asked.start.position[:6] + 1e-4 * asked.start.velocity[:6])[0] - start
    left = riding(start, step / 1e-4, asked.now_s)
    for each in asked.leaving:
        assert_clear(each, points - left.at(times), turned)
    for each in asked.landing:
        assert_clear(each, (points - asked.target.at(times))[::-1], asked.target.rotation)


def test_nearly_every_hop_between_belt_and_bins_is_found() -> None:
    random = np.random.default_rng(4)
    found = 0
    for _ in range(30):
        block = on_belt(random.uniform(0.41, 0.59), random.uniform(-0.3, 0.35), 0.05, random.uniform(-1.2, 1.2))
        where = over_bin(random.choice([-0.45, -0.24, 0.24, 0.45]), random.uniform(-0.6, 0.6))
        found += isinstance(plan_hop(ROBOT, query(block, where)), Hop)
        found += isinstance(plan_hop(ROBOT, query(where, block)), Hop)
    assert found >= 58


@settings(max_examples=30, deadline=None)
@given(ENDS, st.floats(0.05, 0.1), SCALINGS)
def test_between_the_verticals_the_hand_stays_high(ends: tuple[End, End], height: float, scaling: Scaling) -> None:
    near = Clearance(height_m=0.6 * height, along_m=0.01, across_m=0.01)
    asked = replace(query(*ends, height, scaling), leaving=(near,), landing=(near,))
    hop = plan_hop(ROBOT, asked)
    assume(isinstance(hop, Hop))
    assert isinstance(hop, Hop)
    points, _ = forward(hop.positions)
    far = [np.hypot(*(points - end)[:, :2].T) > 0.02 for end in (points[0], points[-1])]
    # Rides go on below, so that only the middle is surely off both.
    middle = points[far[0] & far[1] & (np.arange(len(points)) > 0.3 * len(points))]
    middle = middle[: max(1, len(middle) // 2)]
    assert middle[:, 2].min() > min(points[0, 2], points[-1, 2]) + near.height_m - 0.002


@settings(max_examples=25, deadline=None)
@given(ENDS, st.floats(0.0, 3.0), SCALINGS)
def test_a_hop_is_never_there_too_early(ends: tuple[End, End], later_s: float, scaling: Scaling) -> None:
    soon = query(*ends, scaling=scaling)
    asked = replace(soon, not_before_s=NOW_S + later_s)
    hop = plan_hop(ROBOT, asked)
    assume(isinstance(hop, Hop))
    assert isinstance(hop, Hop)
    assert hop.ends_s >= asked.not_before_s - 1e-9
    assert_proper(ROBOT, asked, hop)
    if later_s > 2.0:
        # It is not waited for longer than needed.
        assert hop.ends_s < asked.not_before_s + ROBOT.dt_s


@settings(max_examples=25, deadline=None)
@given(ENDS, st.floats(0.05, 2.0))
def test_a_hop_is_never_there_too_late(ends: tuple[End, End], until_s: float) -> None:
    asked = replace(query(*ends), until_s=NOW_S + until_s)
    hop = plan_hop(ROBOT, asked)
    if isinstance(hop, Hop):
        assert hop.ends_s <= asked.until_s + 1e-9
        assert_proper(ROBOT, asked, hop)
    else:
        unhurried = plan_hop(ROBOT, query(*ends))
        assert isinstance(unhurried, Refusal) or unhurried.ends_s > asked.until_s - 2 * ROBOT.dt_s


def test_a_hop_may_end_at_the_last_moment_but_not_a_tick_later() -> None:
    asked = query(over_bin(), on_belt())
    hop = planned(ROBOT, asked)
    assert planned(ROBOT, replace(asked, until_s=hop.ends_s)).ends_s == hop.ends_s
    refused = plan_hop(ROBOT, replace(asked, until_s=hop.ends_s - 2 * ROBOT.dt_s))
    assert refused == Refusal(check="leaves_first")
    gone = plan_hop(ROBOT, replace(asked, until_s=NOW_S - 1.0))
    assert gone == Refusal(check="leaves_first")


@pytest.mark.parametrize("speed", [0.05, 0.2, -0.1])
def test_a_moving_block_is_met_as_soon_as_can_be_wherever_that_is(speed: float) -> None:
    """Where they meet decides how long a hop takes, and that where they meet."""
    asked = query(over_bin(-0.24), on_belt(y=0.3, speed=speed))
    hop = planned(ROBOT, asked)
    for sooner in (2, 3, 5, 10):
        assert isinstance(plan_hop(ROBOT, replace(asked, until_s=hop.ends_s - sooner * ROBOT.dt_s)), Refusal)


@pytest.mark.parametrize("point", [(1.4, 0.0, 0.03), (0.05, 0.0, 0.03), (0.5, 0.0, 1.4)])
def test_what_is_out_of_reach_is_refused(point: tuple[float, float, float]) -> None:
    end = End(point_m=np.array(point), velocity_m_s=np.zeros(3), yaw_rad=-np.pi / 2)
    refused = plan_hop(ROBOT, query(over_bin(), end))
    assert refused == Refusal(check="reach")


def test_a_hand_that_cannot_rise_is_told_so() -> None:
    refused = plan_hop(ROBOT, replace(query(on_belt(), over_bin()), rise_m=1.5))
    assert refused == Refusal(check="room_to_rise")


def test_a_ride_as_fast_as_the_arm_may_move_leaves_nothing_for_a_hop() -> None:
    slow = with_arm_limits(UR5E, 0.25, 15.0, 600.0)
    refused = plan_hop(slow, query(on_belt(speed=0.4), over_bin()))
    assert refused == Refusal(check="limits")


def test_a_hop_does_not_throw_the_arm_over_to_save_a_long_turn_of_the_wrist() -> None:
    """Another posture would be nearer than turning wrist 3 by more than half a turn, a metre away from both ends."""
    asked = query(over_bin(0.24, turn=-0.6), on_belt(y=-0.3, turn=1.5))
    assert plan_hop(ROBOT, asked) == Refusal(check="posture")


@pytest.mark.parametrize("scaling", ["ruckig", "cubic"])
def test_a_hop_from_high_above_only_sinks(scaling: Scaling) -> None:
    block = on_belt(y=0.2, turn=0.4)
    near = Clearance(height_m=0.04, along_m=0.005, across_m=0.005)
    asked = replace(
        query(block, block, scaling=scaling),
        start=at_rest(HOME),
        rise_m=0.0,
        landing=(near,),
        # Nothing to leave where nothing rises.
        leaving=(Clearance(height_m=0.04, along_m=0.0, across_m=0.0),),
    )
    hop = planned(ROBOT, asked)
    assert_proper(ROBOT, asked, hop)
    points, _ = forward(hop.positions)
    times = NOW_S + ROBOT.dt_s * np.arange(float(len(points)))
    assert points[:, 2].max() < points[0, 2] + 0.03
    assert_clear(near, (points - asked.target.at(times))[::-1], asked.target.rotation)


@pytest.mark.parametrize("scaling", ["ruckig", "cubic"])
@pytest.mark.parametrize("begin", [over_bin(0.45), on_belt(speed=0.1)])
def test_a_hop_home_only_rises(scaling: Scaling, begin: End) -> None:
    point, rotation = forward(HOME[:6])
    near = Clearance(height_m=0.04, along_m=0.005, across_m=0.005)
    asked = replace(
        query(begin, begin, scaling=scaling),
        target=riding(point, np.zeros(3), rotation=rotation),
        sink_m=0.0,
        leaving=(near,),
    )
    hop = planned(ROBOT, asked)
    assert_proper(ROBOT, asked, hop)
    np.testing.assert_allclose(hop.positions[-1], HOME[:6], atol=1e-7)
    assert np.abs(hop.velocities[-1]).max() < 1e-9
    points, _ = forward(hop.positions)
    times = NOW_S + ROBOT.dt_s * np.arange(float(len(points)))
    assert_clear(near, points - begin.ride.at(times), begin.rotation)


def test_a_hop_from_high_above_to_home_goes_straight() -> None:
    point, rotation = forward(HOME[:6])
    start = at_rest(np.append(HOME[:6] + 0.2, 0.4))
    target = riding(point, np.zeros(3), 0.0, rotation)
    asked = HopQuery(start=start, now_s=NOW_S, target=target, rise_m=0.0, sink_m=0.0)
    hop = planned(ROBOT, asked)
    assert_proper(ROBOT, asked, hop)
    gone = (hop.positions - hop.positions[0]) / (HOME[:6] - hop.positions[0])
    np.testing.assert_allclose(gone, np.repeat(gone[:, :1], 6, axis=1), atol=1e-6)


def test_unequal_heights_make_no_corner() -> None:
    for rise, sink in ((0.09, 0.05), (0.05, 0.09)):
        asked = replace(query(on_belt(), over_bin()), rise_m=rise, sink_m=sink)
        hop = planned(ROBOT, asked)
        assert_proper(ROBOT, asked, hop)
        assert hop.ends_s < planned(ROBOT, query(on_belt(), over_bin(), 0.1)).ends_s


@settings(max_examples=15, deadline=None)
@given(ENDS, SCALINGS)
def test_faster_limits_make_shorter_hops(ends: tuple[End, End], scaling: Scaling) -> None:
    asked = query(*ends, scaling=scaling)
    hops = [plan_hop(with_arm_limits(UR5E, *limits), asked) for limits in ((1.5, 8.0, 100.0), (3.0, 15.0, 600.0))]
    assume(all(isinstance(hop, Hop) for hop in hops))
    slow, fast = (hop.ends_s for hop in hops if isinstance(hop, Hop))
    assert fast < slow


@pytest.mark.parametrize("scaling", ["ruckig", "cubic"])
def test_more_room_beside_an_end_makes_no_longer_hop(scaling: Scaling) -> None:
    times = []
    for beside in (0.002, 0.006, 0.02, 0.1):
        near = (Clearance(height_m=0.035, along_m=beside, across_m=beside),)
        asked = replace(query(on_belt(), over_bin(), scaling=scaling), leaving=near, landing=near)
        times.append(planned(ROBOT, asked).ends_s)
    assert times == sorted(times, reverse=True)
    assert times[0] > times[-1]


@settings(max_examples=10, deadline=None)
@given(queries())
def test_planning_a_hop_twice_gives_the_same_bits(asked: HopQuery) -> None:
    one, two = (plan_hop(ROBOT, asked) for _ in range(2))
    if isinstance(one, Hop) and isinstance(two, Hop):
        assert one.positions.tobytes() == two.positions.tobytes()
        assert one.velocities.tobytes() == two.velocities.tobytes()
    else:
        assert one == two


def test_a_clearance_counts_along_the_closing_axis_and_across_it() -> None:
    clearance = Clearance(height_m=0.04, along_m=0.01, across_m=0.02)
    # The hand closes along y.
    rotation = straight_down(np.pi / 2)
    offsets = np.array([[0.0, 0.005, 0.0], [0.01, 0.0, 0.0], [-0.03, 0.01, 0.5], [0.0, 0.0, 0.1]])
    assert clearance.taken_by(offsets, rotation) == pytest.approx([0.5, 0.5, 1.5, 0.0])
