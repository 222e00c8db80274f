"""Memory and order of guards, on signals made by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from graspline.execution.guard_tables import GuardTables
from graspline.motion.guards import ForceAbove, Guard, HoldLost, ReachedHeight, Rows, Slipped, TrackingError

LANES, HZ = 3, 60.0


class Signals:
    """Rows of `LANES` lanes that a test writes into."""

    def __init__(self) -> None:
        self.rows = Rows(
            joint_position=np.zeros((LANES, 6)),
            tool_position=np.zeros((LANES, 3)),
            tool_axes=np.tile(np.eye(3), (LANES, 1, 1)),
            pad_force=np.zeros((LANES, 2, 3)),
            command=np.zeros((LANES, 6)),
            watched=np.full((LANES, 3), np.nan),
            spread=np.full(LANES, np.nan),
            place=np.full((LANES, 3), np.nan),
            jaw=5,
            wrist_force=np.full((LANES, 3), np.nan),
            wrist_acceleration=np.full((LANES, 3), np.nan),
        )
        self.tables = GuardTables(LANES, HZ)
        self.now = 0

    def load(self, lane: int, *guards: Guard, watch_hz: float = 0.0) -> None:
        self.tables.load(lane, guards, watch_hz, self.now)

    def heights(self, *heights_m: float) -> None:
        self.rows.tool_position[:, 2] = heights_m

    def evaluate(self, fresh: tuple[bool, ...] | None = None) -> list[bool]:
        self.now += 1
        fired = self.tables.evaluate(self.rows, None if fresh is None else np.array(fresh), self.now)
        return [False] * LANES if fired is None else fired.tolist()


@pytest.fixture
def signals() -> Signals:
    return Signals()


def test_without_guards_there_is_nothing_to_evaluate(signals: Signals) -> None:
    assert not signals.tables.busy
    signals.load(1, ReachedHeight(height_m=0.1))
    assert signals.tables.busy
    signals.load(1)
    assert not signals.tables.busy
    assert signals.evaluate() == [False, False, False]


def test_a_guard_counts_in_its_own_lane_only(signals: Signals) -> None:
    signals.load(0, ReachedHeight(height_m=0.1))
    signals.load(2, ReachedHeight(height_m=0.3))
    signals.heights(0.2, 0.2, 0.2)
    assert signals.evaluate() == [True, False, False]
    signals.heights(0.2, 0.2, 0.3)
    assert signals.evaluate() == [True, False, True]


@pytest.mark.parametrize("for_s, ticks", [(0.0, 1), (0.01, 1), (1 / 60, 1), (0.05, 3), (0.051, 4), (1.0, 60)])
def test_a_condition_must_hold_for_whole_ticks(signals: Signals, for_s: float, ticks: int) -> None:
    signals.load(1, ReachedHeight(height_m=0.1, for_s=for_s))
    signals.heights(1.0, 1.0, 1.0)
    fired = [signals.evaluate()[1] for _ in range(ticks)]
    assert fired == [False] * (ticks - 1) + [True]


def test_a_condition_that_lapses_begins_again(signals: Signals) -> None:
    signals.load(0, ReachedHeight(height_m=0.1, for_s=0.05))
    pattern = [1, 1, 0, 1, 1, 0, 0, 1, 1, 1]
    fired = []
    for height in pattern:
        signals.heights(height, 0, 0)
        fired.append(signals.evaluate()[0])
    assert fired == [False] * 9 + [True]


def test_memory_does_not_outlive_the_motion(signals: Signals) -> None:
    signals.load(0, ReachedHeight(height_m=0.1, for_s=0.05))
    signals.heights(1, 1, 1)
    signals.evaluate()
    signals.evaluate()
    signals.load(0, ReachedHeight(height_m=0.1, for_s=0.05))
    assert [signals.evaluate()[0] for _ in range(3)] == [False, False, True]


def test_memory_of_one_lane_is_not_touched_by_what_another_loads(signals: Signals) -> None:
    signals.load(0, ReachedHeight(height_m=0.1, for_s=0.05))
    signals.heights(1, 1, 1)
    signals.evaluate()
    signals.load(1, ReachedHeight(height_m=0.1, for_s=0.05))
    signals.evaluate()
    assert signals.evaluate() == [True, False, False]
    assert signals.evaluate() == [True, True, False]


def test_the_first_named_of_those_that_fired_is_told(signals: Signals) -> None:
    slow = ReachedHeight(height_m=0.1, for_s=0.05)
    quick = ForceAbove(force_n=0.1)
    signals.load(0, slow, quick)
    signals.heights(1, 1, 1)
    assert signals.tables.fired(0) is None
    signals.evaluate()
    assert signals.tables.fired(0) is None
    signals.rows.pad_force[0, 0, 2] = 0.2
    signals.evaluate()
    assert signals.tables.fired(0) is quick
    signals.evaluate()
    assert signals.tables.fired(0) is slow


def test_evidence_comes_in_the_order_the_motion_names_its_guards(signals: Signals) -> None:
    signals.load(0, HoldLost(least_jaw_rad=0.1, force_n=0.2), ReachedHeight(height_m=0.5), ForceAbove(force_n=3.0))
    signals.rows.pad_force[0, 0], signals.rows.pad_force[0, 1] = (0.0, 3.0, 4.0), (1.0, 0.0, 0.0)
    signals.rows.joint_position[0, 5] = 0.7
    signals.heights(0.4, 0, 0)
    signals.evaluate()
    told = [(each.name, each.value, each.passed) for each in signals.tables.evidence(0)]
    assert told == [
        ("weaker_pad_force", 1.0, True),
        ("jaw_angle", 0.7, True),
        ("tool_height", 0.4, False),
        ("pad_force", 5.0, False),
    ]


def test_before_anything_was_measured_evidence_is_absent(signals: Signals) -> None:
    signals.load(0, HoldLost(least_jaw_rad=0.1, force_n=0.2), Slipped(offset_m=(0, 0, 0), slip_m=0.1), watch_hz=20)
    evidence = signals.tables.evidence(0)
    assert [each.name for each in evidence] == ["weaker_pad_force", "jaw_angle", "slip"]
    assert all(each.absent for each in evidence)


def test_a_lane_without_guards_has_no_evidence(signals: Signals) -> None:
    assert signals.tables.evidence(2) == ()
    assert signals.tables.fired(2) is None


def test_a_signal_without_data_never_fires(signals: Signals) -> None:
    signals.load(0, Slipped(offset_m=(0, 0, 0), slip_m=0.0, for_s=0.0), watch_hz=20)
    assert signals.evaluate((True, True, True)) == [False, False, False]
    (slip,) = signals.tables.evidence(0)
    assert slip.absent


def test_guards_that_follow_an_object_are_judged_only_on_what_is_new(signals: Signals) -> None:
    signals.load(0, Slipped(offset_m=(0, 0, 0), slip_m=0.1, for_s=0.1), watch_hz=20)
    signals.rows.watched[0] = (0.0, 0.0, 0.2)
    assert signals.evaluate((True, False, False)) == [False, False, False]
    for _ in range(5):
        # Between two sights time does not count, whether others see something or nobody does.
        assert signals.evaluate(None) == [False, False, False]
        assert signals.evaluate((False, True, True)) == [False, False, False]
    assert signals.evaluate((True, True, False)) == [True, False, False]


def test_what_a_lane_measured_stays_until_it_sees_something_new(signals: Signals) -> None:
    for lane in (0, 1):
        signals.load(lane, Slipped(offset_m=(0, 0, 0), slip_m=9.0, for_s=0.0), watch_hz=20)
    signals.rows.watched[:] = (0.0, 0.0, 0.2)
    signals.evaluate((True, True, False))
    signals.heights(0.1, 0.1, 0.1)
    signals.evaluate((False, True, False))
    assert signals.tables.evidence(0)[0].value == pytest.approx(0.2)
    assert signals.tables.evidence(1)[0].value == pytest.approx(0.1)


def test_what_was_measured_in_the_last_motion_is_forgotten(signals: Signals) -> None:
    for lane in (0, 1):
        signals.load(lane, Slipped(offset_m=(0, 0, 0), slip_m=9.0), watch_hz=20)
    signals.rows.watched[:] = (0.0, 0.0, 0.2)
    signals.evaluate((True, True, False))
    signals.load(0, Slipped(offset_m=(0, 0, 0), slip_m=9.0), watch_hz=20)
    assert signals.tables.evidence(0)[0].absent
    assert signals.tables.evidence(1)[0].value == pytest.approx(0.2)


def test_a_second_guard_of_one_kind_has_a_memory_of_its_own(signals: Signals) -> None:
    near, far = ReachedHeight(height_m=0.1, for_s=0.05), ReachedHeight(height_m=0.2)
    signals.load(0, near, far)
    signals.heights(0.15, 0, 0)
    assert signals.evaluate() == [False, False, False]
    signals.heights(0.25, 0, 0)
    assert signals.evaluate() == [True, False, False]
    assert signals.tables.fired(0) is far


def test_which_signals_are_needed_is_known(signals: Signals) -> None:
    assert not signals.tables.reads_command(0)
    signals.load(0, TrackingError())
    signals.load(1, Slipped(offset_m=(0, 0, 0), slip_m=0.1), watch_hz=20)
    assert [signals.tables.reads_command(now) for now in range(1, 7)] == [False, False, True, False, False, True]
    signals.load(0)
    assert not any(signals.tables.reads_command(now) for now in range(3))


def test_a_kind_that_is_not_looked_at_on_every_tick_counts_from_the_start_of_each_motion(signals: Signals) -> None:
    signals.rows.command[:] = 1.0
    signals.load(0, TrackingError(error_rad=0.1, for_s=0.05))
    assert signals.evaluate() == [False, False, False]
    signals.load(1, TrackingError(error_rad=0.1, for_s=0.1))
    fired = [signals.evaluate() for _ in range(6)]
    assert [row[0] for row in fired].index(True) == 1
    assert [row[1] for row in fired] == [False, False, False, False, False, True]
    assert not math.isnan(signals.rows.command.sum())
