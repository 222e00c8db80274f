"""Guards: each fires on what it is for, not before, and never on a signal that is not there."""

from __future__ import annotations

from dataclasses import fields
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from graspline.motion.guards import (
    FOLLOW_A_PLACE,
    FOLLOW_AN_OBJECT,
    Apart,
    BothPadsTouch,
    ForceAbove,
    Guard,
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

Array = NDArray[np.float64]
Triple = tuple[float, float, float]

EXAMPLES: list[Guard] = [
    BothPadsTouch(force_n=0.3),
    OnePadTouches(pad="fixed", force_n=0.3),
    ForceAbove(force_n=12.0),
    HoldLost(least_jaw_rad=0.1, force_n=0.15),
    TrackingError(error_rad=0.08),
    ReachedHeight(height_m=0.1),
    Slipped(offset_m=(0.0, 0.0, 0.02), slip_m=0.012),
    LeftBehind(hand_start_m=(0.2, 0.0, 0.02), object_start_m=(0.2, 0.0, 0.02)),
    Apart(sideways_m=0.05, height_m=0.04),
    Unsteady(variance_m2=4e-6),
    ObjectMoved(lay_at_m=(0.2, 0.0, 0.02), limit_m=0.01),
    PlaceMoved(was_at_m=(0.2, 0.1, 0.0), limit_m=0.02),
    Tugged(force_n=3.5, toward=(1.0, 0.0, 0.0), within_rad=1.2, mass_kg=1.0),
]


def rows(
    *,
    fixed_n: float = 0.0,
    moving_n: float = 0.0,
    jaw_rad: float = 0.5,
    error_rad: float = 0.0,
    tool: Triple = (0.2, 0.0, 0.05),
    axes: Array | None = None,
    watched: Triple = (np.nan, np.nan, np.nan),
    spread: float = np.nan,
    place: Triple = (np.nan, np.nan, np.nan),
    force: Triple = (0.0, 0.0, 0.0),
) -> Rows:
    """One lane. Forces push in some direction, as they do."""
    joints = np.array([[0.1, -0.2, 0.3, 0.4, 0.5, jaw_rad]])
    command = joints.copy()
    command[0, 2] += error_rad
    along = np.array([0.6, 0.0, 0.8])
    return Rows(
        joint_position=joints,
        tool_position=np.array([tool]),
        tool_axes=(np.eye(3) if axes is None else axes)[None],
        pad_force=np.stack([fixed_n * along, -moving_n * along])[None],
        command=command,
        watched=np.array([watched]),
        spread=np.array([spread]),
        place=np.array([place]),
        jaw=5,
        wrist_force=np.array([force]),
        wrist_acceleration=np.array([(0.0, 0.0, 9.81)]),
    )


def verdict(guard: Guard, signals: Rows) -> tuple[bool, list[float]]:
    fired, measured = type(guard).evaluate(signals, np.array([guard.parameters()]))
    assert fired.shape == (1,)
    return bool(fired[0]), [float(column[0]) for column in measured]


def fires(guard: Guard, signals: Rows) -> bool:
    return verdict(guard, signals)[0]


def test_every_kind_of_guard_is_tested_here() -> None:
    assert {type(guard) for guard in EXAMPLES} == set(get_args(Guard))


@pytest.mark.parametrize("guard", EXAMPLES, ids=lambda guard: type(guard).__name__)
def test_a_lane_without_the_guard_never_fires(guard: Guard) -> None:
    """Tables hold nan parameters for lanes that carry no such guard."""
    width = len(guard.parameters())
    for signals in (
        rows(fixed_n=50, moving_n=50, error_rad=1.0, tool=(0.2, 0, 1.0), watched=(9.0, 9.0, 9.0), spread=1.0),
        rows(jaw_rad=-0.2, tool=(0.2, 0, -1.0)),
    ):
        fired, _ = type(guard).evaluate(signals, np.full((1, width), np.nan))
        assert not fired[0]


@pytest.mark.parametrize("guard", EXAMPLES, ids=lambda guard: type(guard).__name__)
def test_a_guard_does_not_fire_on_signals_that_are_not_there(guard: Guard) -> None:
    nothing = np.nan
    absent = Rows(
        joint_position=np.full((1, 6), nothing),
        tool_position=np.full((1, 3), nothing),
        tool_axes=np.full((1, 3, 3), nothing),
        pad_force=np.full((1, 2, 3), nothing),
        command=np.full((1, 6), nothing),
        watched=np.full((1, 3), nothing),
        spread=np.full(1, nothing),
        place=np.full((1, 3), nothing),
        jaw=5,
        wrist_force=np.full((1, 3), nothing),
        wrist_acceleration=np.full((1, 3), nothing),
    )
    fired, measured = verdict(guard, absent)
    assert not fired
    for measurement in guard.evidence(measured):
        assert measurement.absent
        assert not measurement.passed
        assert "absent" in str(measurement)


@pytest.mark.parametrize("guard", EXAMPLES, ids=lambda guard: type(guard).__name__)
def test_before_anything_was_measured_the_evidence_is_absent(guard: Guard) -> None:
    assert all(measurement.absent for measurement in guard.evidence([np.nan] * 4))


@settings(deadline=None)
@given(st.floats(0, 5), st.floats(0, 5))
def test_both_pads_touch_when_the_weaker_feels_enough(fixed: float, moving: float) -> None:
    guard = BothPadsTouch(force_n=0.3)
    fired, measured = verdict(guard, rows(fixed_n=fixed, moving_n=moving))
    assert measured[0] == pytest.approx(min(fixed, moving), abs=1e-12)
    assert fired == (measured[0] >= 0.3)
    (found,) = guard.evidence(measured)
    assert (found.name, found.relation, found.limit, found.unit) == ("weaker_pad_force", ">=", 0.3, "N")
    assert found.passed == fired


@pytest.mark.parametrize(("pad", "other"), [("fixed", "moving"), ("moving", "fixed")])
def test_one_pad_touches_whatever_the_other_does(pad: str, other: str) -> None:
    guard = OnePadTouches(pad=pad, force_n=0.3)  # pyright: ignore[reportArgumentType]
    assert fires(guard, rows(**{f"{pad}_n": 0.4}))  # pyright: ignore[reportArgumentType]
    assert not fires(guard, rows(**{f"{pad}_n": 0.2, f"{other}_n": 5.0}))  # pyright: ignore[reportArgumentType]
    (found,) = guard.evidence([0.4])
    assert (found.name, found.relation, found.limit) == (f"{pad}_pad_force", ">=", 0.3)
    assert found.passed


def test_a_force_above_the_limit_on_either_pad_fires() -> None:
    guard = ForceAbove(force_n=12.0)
    assert fires(guard, rows(fixed_n=12.5))
    assert fires(guard, rows(moving_n=12.5))
    assert not fires(guard, rows(fixed_n=11.5, moving_n=11.5))
    (found,) = guard.evidence([12.5])
    assert (found.name, found.relation, found.limit) == ("pad_force", "<=", 12.0)
    assert not found.passed


def test_a_hold_is_lost_when_a_pad_feels_nothing_or_the_jaw_has_closed_too_far() -> None:
    guard = HoldLost(least_jaw_rad=0.2, force_n=0.15)
    assert not fires(guard, rows(fixed_n=3, moving_n=3, jaw_rad=0.3))
    assert fires(guard, rows(fixed_n=3, moving_n=0.1, jaw_rad=0.3))
    assert fires(guard, rows(fixed_n=0.1, moving_n=3, jaw_rad=0.3))
    assert fires(guard, rows(fixed_n=3, moving_n=3, jaw_rad=0.15))
    fired, measured = verdict(guard, rows(fixed_n=3, moving_n=3, jaw_rad=0.15))
    force, jaw = guard.evidence(measured)
    assert fired
    assert (force.name, force.limit, force.passed) == ("weaker_pad_force", 0.15, True)
    assert (jaw.name, jaw.value, jaw.limit, jaw.passed) == ("jaw_angle", 0.15, 0.2, False)


@settings(deadline=None)
@given(st.floats(-0.2, 0.2))
def test_a_tracking_error_counts_in_either_direction(error: float) -> None:
    guard = TrackingError(error_rad=0.08)
    fired, measured = verdict(guard, rows(error_rad=error))
    assert measured[0] == pytest.approx(abs(error), abs=1e-12)
    assert fired == (measured[0] > 0.08)
    (found,) = guard.evidence(measured)
    assert (found.name, found.relation, found.limit) == ("tracking_error", "<=", 0.08)
    assert found.passed != fired


def test_the_jaw_may_be_held_off_its_reference_by_what_it_grips() -> None:
    signals = rows()
    signals.command[0, 5] -= 1.0
    assert not fires(TrackingError(error_rad=0.08), signals)


@settings(deadline=None)
@given(st.floats(-0.1, 0.3), st.booleans())
def test_a_height_is_reached_from_below_or_from_above(height: float, rising: bool) -> None:
    guard = ReachedHeight(height_m=0.1, rising=rising)
    fired, measured = verdict(guard, rows(tool=(0.2, 0.0, height)))
    assert fired == (height >= 0.1 if rising else height <= 0.1)
    (found,) = guard.evidence(measured)
    assert (found.name, found.limit, found.unit) == ("tool_height", 0.1, "m")
    assert found.passed == fired


def turned(angle: float) -> Array:
    """The tool's axes, one per row, turned about the vertical."""
    return np.array([[np.cos(angle), np.sin(angle), 0], [-np.sin(angle), np.cos(angle), 0], [0, 0, 1.0]])


@settings(deadline=None)
@given(st.floats(-np.pi, np.pi), st.floats(0, 0.05), st.floats(-1, 1))
def test_an_object_slips_by_as_much_as_it_moves_in_the_hand(angle: float, slip: float, up: float) -> None:
    """Seen from the hand: neither its turning nor its travel counts."""
    guard, axes, tool = Slipped(offset_m=(0.01, 0.0, 0.02), slip_m=0.012), turned(angle), np.array([0.3, up, 0.1])
    in_hand = np.array([0.01, 0.0, 0.02]) + slip * np.array([0.0, 0.6, 0.8])
    watched = tool + axes.T @ in_hand
    fired, measured = verdict(guard, rows(tool=tuple(tool), axes=axes, watched=tuple(watched)))
    assert measured[0] == pytest.approx(slip, abs=1e-12)
    assert fired == (measured[0] > 0.012)
    (found,) = guard.evidence(measured)
    assert (found.name, found.relation, found.limit, found.unit) == ("slip", "<=", 0.012, "m")
    assert found.passed != fired


def left_behind(hand_m: float, object_m: float) -> tuple[bool, list[float]]:
    guard = LeftBehind(hand_start_m=(0.2, 0, 0.02), object_start_m=(0.25, 0, 0.015), ratio=0.7, travel_m=0.02)
    return verdict(guard, rows(tool=(0.2, 0, 0.02 + hand_m), watched=(0.25, 0, 0.015 + object_m)))


def test_an_object_that_does_not_follow_the_hand_is_left_behind() -> None:
    assert left_behind(0.03, 0.0)[0]
    assert left_behind(0.03, 0.02)[0]
    assert not left_behind(0.03, 0.022)[0]
    assert not left_behind(0.03, 0.03)[0]


def test_before_the_hand_has_gone_far_enough_nothing_can_be_left_behind() -> None:
    guard = LeftBehind(hand_start_m=(0.2, 0, 0.02), object_start_m=(0.25, 0, 0.015), ratio=0.7, travel_m=0.02)
    fired, measured = left_behind(0.019, 0.0)
    assert not fired
    (found,) = guard.evidence(measured)
    assert found.absent


def test_being_left_behind_is_told_as_the_share_of_the_way() -> None:
    guard = LeftBehind(hand_start_m=(0.2, 0, 0.02), object_start_m=(0.25, 0, 0.015), ratio=0.7, travel_m=0.02)
    fired, measured = left_behind(0.04, 0.02)
    (found,) = guard.evidence(measured)
    assert fired
    assert (found.name, found.relation, found.limit) == ("movement_ratio", ">=", 0.7)
    assert found.value == pytest.approx(0.5)
    assert not found.passed


@settings(deadline=None)
@given(st.floats(0, 0.1), st.floats(-np.pi, np.pi), st.floats(-0.1, 0.1))
def test_something_is_apart_from_the_hand_sideways_or_in_height(sideways: float, angle: float, up: float) -> None:
    guard, tool = Apart(sideways_m=0.05, height_m=0.04), np.array([0.2, 0.1, 0.3])
    watched = tool + np.array([sideways * np.cos(angle), sideways * np.sin(angle), up])
    fired, measured = verdict(guard, rows(tool=tuple(tool), watched=tuple(watched)))
    assert measured == pytest.approx([sideways, abs(up)], abs=1e-12)
    assert fired == (measured[0] > 0.05 or measured[1] > 0.04)
    across, in_height = guard.evidence(measured)
    assert (across.name, across.relation, across.limit, across.unit) == ("apart_sideways", "<=", 0.05, "m")
    assert (in_height.name, in_height.relation, in_height.limit) == ("apart_in_height", "<=", 0.04)
    assert fired != (across.passed and in_height.passed)


@settings(deadline=None)
@given(st.floats(0, 1e-5))
def test_a_distance_that_varies_too_much_is_unsteady(variance: float) -> None:
    guard = Unsteady(variance_m2=4e-6)
    fired, measured = verdict(guard, rows(spread=variance))
    assert measured == [variance]
    assert fired == (variance > 4e-6)
    (found,) = guard.evidence(measured)
    assert (found.name, found.relation, found.limit, found.unit) == ("distance_variance", "<=", 4e-6, "m²")
    assert found.passed != fired


def test_what_an_unsteady_distance_measured_is_kept_when_the_signal_moves_on() -> None:
    signals = rows(spread=1e-5)
    _, (measured,) = Unsteady.evaluate(signals, np.array([[4e-6]]))
    signals.spread[:] = 0.0
    assert measured[0] == 1e-5


@pytest.mark.parametrize("kind", [ObjectMoved, PlaceMoved])
@pytest.mark.parametrize(("shift_m", "fired"), [(0.0, False), (0.009, False), (0.011, True), (np.inf, True)])
def test_what_is_no_longer_where_it_was_fires(kind: type, shift_m: float, fired: bool) -> None:
    at = (0.2 + shift_m, 0.1, 0.0)
    guard = (
        ObjectMoved(lay_at_m=(0.2, 0.1, 0.0), limit_m=0.01)
        if kind is ObjectMoved
        else PlaceMoved(was_at_m=(0.2, 0.1, 0.0), limit_m=0.01)
    )
    found, measured = verdict(guard, rows(watched=at) if kind is ObjectMoved else rows(place=at))
    assert found == fired
    (measurement,) = guard.evidence(measured)
    assert measurement.passed == (not fired)
    # That it is not there says nothing of where it is.
    assert measurement.absent == np.isinf(shift_m)


class TestTugged:
    # A hand of one kilogram that hangs still feels its weight.
    GUARD = Tugged(force_n=3.5, toward=(1.0, 0.0, 0.0), within_rad=1.2, mass_kg=1.0)

    def test_what_hand_and_load_weigh_is_no_tug(self) -> None:
        fired, measured = verdict(self.GUARD, rows(force=(0.0, 0.0, 9.81)))
        assert (fired, measured) == (False, [0.0])

    @pytest.mark.parametrize("tug", [(5.0, 0.0, 0.0), (3.0, 3.0, 0.0), (3.0, 0.0, -2.0)])
    def test_a_tug_that_way_or_nearly_fires(self, tug: Triple) -> None:
        x, y, z = tug
        fired, (measured,) = verdict(self.GUARD, rows(force=(-x, -y, 9.81 - z)))
        assert fired
        assert measured == pytest.approx(np.hypot(np.hypot(x, y), z))

    @pytest.mark.parametrize("push", [(-10.0, 0.0, 0.0), (0.0, 10.0, 0.0), (-2.0, 0.0, 9.0), (3.0, 0.0, 0.0)])
    def test_a_push_back_or_across_and_a_soft_tug_do_not(self, push: Triple) -> None:
        x, y, z = push
        assert not fires(self.GUARD, rows(force=(-x, -y, 9.81 - z)))


def test_guards_that_need_to_see_an_object_are_known_as_such() -> None:
    unseen = rows(fixed_n=1.0, moving_n=1.0, tool=(0.2, 0.0, 0.5))
    for guard in EXAMPLES:
        absent = any(measurement.absent for measurement in guard.evidence(verdict(guard, unseen)[1]))
        assert absent == isinstance(guard, (*FOLLOW_AN_OBJECT, *FOLLOW_A_PLACE))


def test_each_lane_is_judged_by_its_own_limit() -> None:
    one, two = rows(fixed_n=1.0, moving_n=1.0), rows(fixed_n=1.0, moving_n=1.0)
    both = Rows(
        **{
            name: np.concatenate([getattr(one, name), getattr(two, name)])
            for name in (field.name for field in fields(Rows) if field.init and field.name != "jaw")
        },
        jaw=5,
    )
    fired, _ = BothPadsTouch.evaluate(both, np.array([[0.5], [2.0]]))
    assert fired.tolist() == [True, False]
