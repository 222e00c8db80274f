"""Holding on: the lift and the hold, with every way to lose an object scripted."""

from __future__ import annotations

import numpy as np
import pytest

from graspline.evidence import at_most
from graspline.execution.requests import Motion, Solve
from graspline.grasping.topdown import GraspPlan, plan_lift
from graspline.machine.outcome import Outcome
from graspline.motion.guards import HoldLost, LeftBehind, Slipped, TrackingError
from graspline.motion.path import at_rest
from graspline.perception.core.beliefs import Perception
from graspline.refusal import Refusal
from graspline.robots.so101 import SO101
from graspline.scenes.cube_table import CUBE
from graspline.tasks.stages.carry import hold_guards, hold_still, lift
from graspline.tasks.stages.grasp import HoldReference
from graspline.tasks.stages.parameters import ArmSettings, CloseParameters, HoldParameters
from graspline.tasks.stages.sight import TruthEye

from ..replies import completed, cut, play, reply

CLOSE, KEEP = CloseParameters(), HoldParameters()
ARM = ArmSettings(close=CLOSE, hold=KEEP)
WAYS_TO_FAIL = [(HoldLost, "dropped"), (Slipped, "slipped"), (LeftBehind, "slipped"), (TrackingError, "blocked")]


def eye(perception: Perception | None = None) -> TruthEye:
    return TruthEye(perception=perception or Perception(), random=np.random.default_rng(1))


def hold(sigma_m: float = 0.0) -> HoldReference:
    return HoldReference(
        least_jaw_rad=0.1,
        tool_m=np.array([0.2, 0.0, 0.02]),
        object_m=np.array([0.21, 0.0, 0.015]),
        in_hand_m=np.array([0.0, 0.0, 0.015]),
        position_sigma_m=sigma_m,
    )


class TestLift:
    def stage(self, grasp_plan: GraspPlan):
        last = reply(command=at_rest(grasp_plan.seat.end))
        return lift(last, SO101, eye(), CUBE, grasp_plan, hold(), ARM)

    def test_it_plans_from_where_the_hand_is_and_plays_that(self, grasp_plan: GraspPlan) -> None:
        stage = self.stage(grasp_plan)
        request = next(stage)
        assert isinstance(request, Solve)
        assert request.function is plan_lift
        path = request.function(*request.arguments)
        np.testing.assert_array_equal(path.positions[0], grasp_plan.seat.end)
        motion = stage.send(reply(value=path))
        assert isinstance(motion, Motion)
        assert motion.path is path
        assert motion.watch is not None
        assert motion.watch.target == CUBE
        assert motion.guards == hold_guards(hold(), CLOSE, KEEP)

    def test_played_to_its_end_the_object_is_lifted(self, grasp_plan: GraspPlan) -> None:
        _, outcome = play(self.stage(grasp_plan), reply(value=grasp_plan.lift), completed(3, 3))
        assert outcome.name == "lifted"

    @pytest.mark.parametrize(("guard", "outcome"), WAYS_TO_FAIL)
    def test_each_guard_has_its_outcome(self, grasp_plan: GraspPlan, guard: type, outcome: str) -> None:
        _, result = play(self.stage(grasp_plan), reply(value=grasp_plan.lift), cut(guard))
        assert result.name == outcome
        assert result.evidence

    def test_a_hold_in_doubt_on_the_last_tick_is_made_sure_of(self, grasp_plan: GraspPlan) -> None:
        doubted = reply(value=grasp_plan.lift), completed(3, 0)
        (*_, again), result = play(self.stage(grasp_plan), *doubted, cut(HoldLost))
        assert again.path.duration_s > HoldLost(least_jaw_rad=0, force_n=0).for_s
        assert result.name == "dropped"
        assert play(self.stage(grasp_plan), *doubted, completed(3, 3))[1].name == "lifted"

    def test_a_lift_that_cannot_be_planned_is_blocked(self, grasp_plan: GraspPlan) -> None:
        evidence = (at_most("wrist_flex", 1.8, 1.64, "rad"),)
        refused = Refusal(label="along", stage="lift", check="reach", evidence=evidence)
        _, result = play(self.stage(grasp_plan), reply(value=refused))
        assert result == Outcome("blocked", evidence)


class TestHoldStill:
    def stage(self, grasp_plan: GraspPlan, keep: HoldParameters = KEEP):
        last = reply(command=at_rest(grasp_plan.lift.end))
        return hold_still(last, SO101, eye(), CUBE, hold(), ArmSettings(hold=keep))

    def test_it_stands_still_for_as_long_as_asked(self, grasp_plan: GraspPlan) -> None:
        (motion,), outcome = play(self.stage(grasp_plan, HoldParameters(still_s=2.5)), completed(3, 3))
        assert motion.path.duration_s == pytest.approx(2.5)
        assert (motion.path.positions == grasp_plan.lift.end).all()
        assert motion.watch.target == CUBE
        assert outcome.name == "held"

    def test_standing_still_nothing_can_be_left_behind_or_run_into(self, grasp_plan: GraspPlan) -> None:
        motion = next(self.stage(grasp_plan))
        assert isinstance(motion, Motion)
        assert {type(guard) for guard in motion.guards} == {HoldLost, Slipped}

    @pytest.mark.parametrize(("guard", "outcome"), [each for each in WAYS_TO_FAIL if each[0] in (HoldLost, Slipped)])
    def test_each_guard_has_its_outcome(self, grasp_plan: GraspPlan, guard: type, outcome: str) -> None:
        _, result = play(self.stage(grasp_plan), cut(guard))
        assert result.name == outcome
        assert result.evidence


def test_the_guards_of_a_hold_are_the_limits_asked_for() -> None:
    lost, slipped, left, tracking = hold_guards(hold(), CLOSE, KEEP)
    assert lost == HoldLost(least_jaw_rad=0.1, force_n=CLOSE.lost_n)
    assert slipped == Slipped(offset_m=(0.0, 0.0, 0.015), slip_m=KEEP.slip_m, for_s=KEEP.sure_s)
    assert left == LeftBehind(
        hand_start_m=(0.2, 0.0, 0.02),
        object_start_m=(0.21, 0.0, 0.015),
        ratio=KEEP.ratio,
        travel_m=KEEP.travel_m,
        for_s=KEEP.sure_s,
    )
    assert tracking == TrackingError(error_rad=CLOSE.blocked_rad)


def test_what_is_seen_badly_may_move_by_as_much_as_it_is_seen_badly() -> None:
    _, slipped, left, _ = hold_guards(hold(sigma_m=0.003), CLOSE, KEEP)
    assert isinstance(slipped, Slipped)
    assert isinstance(left, LeftBehind)
    assert slipped.slip_m == pytest.approx(KEEP.slip_m + 4 * 0.003)
    assert left.travel_m > KEEP.travel_m


def test_a_noisy_eye_watches_noisily(grasp_plan: GraspPlan) -> None:
    last = reply(command=at_rest(grasp_plan.lift.end))
    noisy = eye(Perception(position_sigma_m=0.003))
    motion = next(hold_still(last, SO101, noisy, CUBE, hold(0.003), ARM))
    assert isinstance(motion, Motion)
    assert motion.watch is not None
    assert motion.watch.blur is not None
