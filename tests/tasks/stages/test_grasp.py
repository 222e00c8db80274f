"""From a sighting to a hold, state by state, with scripted replies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graspline.evidence import at_most
from graspline.execution.requests import Look, Motion, Solve
from graspline.grasping.candidates import JawParameters
from graspline.grasping.cartesian_lines import ReachParameters
from graspline.grasping.topdown import GraspPlan, plan_grasp
from graspline.kinematics.so101 import forward
from graspline.machine.outcome import Gives, Outcome
from graspline.motion.guards import BothPadsTouch, ForceAbove, ObjectMoved, OnePadTouches, TrackingError
from graspline.motion.path import at_rest, check_path
from graspline.perception.core.beliefs import Belief, Perception
from graspline.planning.collision import CollisionWorld
from graspline.refusal import Refusal
from graspline.robots.so101 import HOME, LOWER, SO101
from graspline.scenes.cube_table import CUBE
from graspline.tasks.stages.grasp import approach, back_off, close, descend, plan, seat
from graspline.tasks.stages.parameters import ArmSettings, CloseParameters
from graspline.tasks.stages.sight import TruthEye

from ..replies import assert_continuous, completed, cut, play, play_through, readings, reply, saw

CLOSE, JAW, REACH = CloseParameters(), JawParameters(), ReachParameters()
ARM = ArmSettings(close=CLOSE, jaw=JAW, reach=REACH)
WIDTH_M = 0.03
# The jaw angle at which the tips are as far apart as the cube is wide.
ON_CUBE_RAD = float(SO101.jaw_law.angle_rad(WIDTH_M))
IN_HAND_M = np.array([0.24, 0.05, 0.016])


def eye() -> TruthEye:
    return TruthEye(perception=Perception(), random=np.random.default_rng(1))


class TestPlan:
    def asking(self, world: CollisionWorld, estimate: Belief, tried: tuple[str, ...] = ()):
        return plan(reply(), SO101, world, estimate, (), ARM, tried)

    def test_it_asks_for_a_plan_from_the_command_in_force(self, world: CollisionWorld, estimate: Belief) -> None:
        request = next(self.asking(world, estimate, ("across",)))
        assert isinstance(request, Solve)
        assert request.function is plan_grasp
        robot, asked_world, asked_estimate, command, jaw, reach, tried, others = request.arguments
        assert (robot, asked_world, asked_estimate, jaw, reach) == (SO101, world, estimate, JAW, REACH)
        np.testing.assert_array_equal(command.position, HOME)  # pyright: ignore[reportAttributeAccessIssue]
        assert (tried, others) == (("across",), ())

    def test_a_plan_is_handed_on_and_remembered_as_tried(
        self, world: CollisionWorld, estimate: Belief, grasp_plan: GraspPlan
    ) -> None:
        _, result = play(self.asking(world, estimate, ("elsewhere",)), reply(value=grasp_plan))
        assert isinstance(result, Gives)
        assert result.name == "planned"
        assert result.data.plan is grasp_plan
        assert result.data.tried == ("elsewhere", grasp_plan.grasp.label)

    def test_a_refusal_is_an_outcome_with_its_evidence(self, world: CollisionWorld, estimate: Belief) -> None:
        evidence = (at_most("wrist_beyond_reach", 0.1, 0.0, "m"),)
        refused = Refusal(label="along", stage="grasp", check="reach", evidence=evidence)
        _, result = play(self.asking(world, estimate), reply(value=refused))
        assert result == Outcome("rejected", evidence)


class TestApproach:
    def going(self, world: CollisionWorld, estimate: Belief, grasp_plan: GraspPlan):
        return approach(SO101, world, eye(), estimate, (), grasp_plan, ARM)

    def test_the_approach_that_was_planned_is_played(
        self, world: CollisionWorld, grasp_plan: GraspPlan, estimate: Belief
    ) -> None:
        (motion,), outcome = play(self.going(world, estimate, grasp_plan), completed())
        assert motion.path is grasp_plan.approach
        assert [type(each) for each in motion.guards] == [TrackingError, ObjectMoved]
        assert motion.watch.target == CUBE
        assert outcome.name == "reached"

    def test_an_arm_that_does_not_follow_is_blocked(
        self, world: CollisionWorld, grasp_plan: GraspPlan, estimate: Belief
    ) -> None:
        _, outcome = play(self.going(world, estimate, grasp_plan), cut(TrackingError))
        assert outcome.name == "blocked"
        assert outcome.evidence[0].name == "tracking_error"

    def test_an_object_that_is_no_longer_there_stops_the_arm(
        self, world: CollisionWorld, grasp_plan: GraspPlan, estimate: Belief
    ) -> None:
        motions, outcome = play(self.going(world, estimate, grasp_plan), cut(ObjectMoved), completed())
        assert [each.name for each in motions] == ["approach", "brake"]
        assert (outcome.name, outcome.about) == ("moved", CUBE)


class TestDescend:
    def test_the_descent_that_was_planned_is_played(self, grasp_plan: GraspPlan, estimate: Belief) -> None:
        (motion,), outcome = play(descend(SO101, eye(), estimate, grasp_plan, ARM), completed())
        assert motion.path is grasp_plan.descend
        assert outcome.name == "straddled"

    @pytest.mark.parametrize(
        ("guard", "evidence", "name"),
        [
            (ForceAbove, "pad_force", "blocked"),
            (TrackingError, "tracking_error", "blocked"),
            (ObjectMoved, "object_moved", "moved"),
        ],
    )
    def test_a_finger_on_something_an_arm_that_does_not_follow_or_an_object_that_is_gone_ends_it(
        self, grasp_plan: GraspPlan, estimate: Belief, guard: type, evidence: str, name: str
    ) -> None:
        _, outcome = play(descend(SO101, eye(), estimate, grasp_plan, ARM), cut(guard))
        assert outcome.name == name
        assert outcome.evidence[0].name == evidence

    def test_the_force_that_counts_is_the_one_asked_for(self, grasp_plan: GraspPlan, estimate: Belief) -> None:
        motion = next(
            descend(SO101, eye(), estimate, grasp_plan, ArmSettings(close=CloseParameters(bump_n=5.0, blocked_rad=0.1)))
        )
        assert isinstance(motion, Motion)
        assert [type(guard) for guard in motion.guards] == [ForceAbove, TrackingError, ObjectMoved]
        assert [guard.parameters() for guard in motion.guards[:2]] == [(5.0,), (0.1,)]


class TestSeat:
    def test_untouched_the_whole_way_is_gone_and_nothing_is_left_to_brake(self, grasp_plan: GraspPlan) -> None:
        (motion,), outcome = play(seat(reply(), SO101, grasp_plan, ARM), completed())
        assert motion.path is grasp_plan.seat
        assert motion.guards == (OnePadTouches(pad="fixed", force_n=CLOSE.touch_n),)
        assert outcome.name == "seated"

    def test_on_touch_the_hand_brakes_where_it_is(self, grasp_plan: GraspPlan) -> None:
        touch = cut(OnePadTouches)
        (_, brake), outcome = play(seat(reply(), SO101, grasp_plan, ARM), touch, completed())
        assert brake.name == "brake"
        command = grasp_plan.seat.command_at(grasp_plan.seat.ticks // 2)
        np.testing.assert_array_equal(brake.path.positions[0], command.position)
        np.testing.assert_array_equal(brake.path.velocities[0], command.velocity)
        assert check_path(brake.path, SO101) is None
        assert outcome.name == "seated"
        assert outcome.evidence[0].name == "fixed_pad_force"


class TestClose:
    def stage(self, grasp_plan: GraspPlan):
        return close(reply(command=at_rest(grasp_plan.seat.end)), SO101, eye(), CUBE, grasp_plan, ARM)

    def touching(self):
        """Both pads touch as the jaws come together on the cube."""

        def answer(motion: Motion):
            tick = int(np.argmin(np.abs(motion.path.positions[:, 5] - ON_CUBE_RAD)))
            return cut(BothPadsTouch, tick, fixed_n=0.4, moving_n=0.4)(motion)

        return answer

    def test_the_jaws_alone_close_towards_shut_until_both_pads_touch(self, grasp_plan: GraspPlan) -> None:
        motion = next(self.stage(grasp_plan))
        assert isinstance(motion, Motion)
        assert motion.path.end[5] == LOWER[5]
        np.testing.assert_array_equal(motion.path.positions[:, :5] - grasp_plan.seat.end[:5], 0)
        assert np.abs(motion.path.velocities[:, 5]).max() <= CLOSE.speed_rad_s
        both, moving = motion.guards
        assert both == BothPadsTouch(force_n=CLOSE.touch_n)
        assert moving == OnePadTouches(pad="moving", force_n=CLOSE.touch_n, for_s=0.1)

    def test_jaws_that_shut_on_nothing_have_missed(self, grasp_plan: GraspPlan) -> None:
        requests, outcome = play(self.stage(grasp_plan), completed())
        assert len(requests) == 1
        assert outcome.name == "missed"

    def test_after_the_touch_the_jaws_squeeze_a_little_and_no_more(self, grasp_plan: GraspPlan) -> None:
        """Closing on and on is what squeezed the cube out."""
        hold = completed(3.0, 3.0, jaw_rad=ON_CUBE_RAD)
        requests, result = play(self.stage(grasp_plan), self.touching(), hold, hold, saw(IN_HAND_M))
        closing, squeeze, settle, look = requests
        touch_rad = closing.path.positions[int(np.argmin(np.abs(closing.path.positions[:, 5] - ON_CUBE_RAD))), 5]
        assert squeeze.path.end[5] == pytest.approx(touch_rad - CLOSE.squeeze_rad)
        assert (settle.path.positions[:, 5] == squeeze.path.end[5]).all()
        assert settle.path.duration_s == pytest.approx(CLOSE.settle_s)
        assert look == Look(None)
        assert result.name == "closed"

    def test_a_hold_is_handed_on_as_it_is_measured(self, grasp_plan: GraspPlan) -> None:
        hold = completed(3.0, 2.0, jaw_rad=ON_CUBE_RAD)
        _, result = play(self.stage(grasp_plan), self.touching(), hold, hold, saw(IN_HAND_M))
        held = result.data.hold
        assert SO101.jaw_law.gap_m(held.least_jaw_rad) == pytest.approx(WIDTH_M - CLOSE.width_tolerance_m, abs=1e-6)
        np.testing.assert_array_equal(held.tool_m, (0.2, 0.0, 0.02))
        np.testing.assert_array_equal(held.object_m, IN_HAND_M)
        np.testing.assert_allclose(held.in_hand_m, IN_HAND_M - (0.2, 0.0, 0.02))
        force, gap = result.evidence
        assert (force.name, force.value, force.passed) == ("weaker_pad_force", 2.0, True)
        assert (gap.name, gap.passed) == ("gap_off_width", True)

    def test_where_the_object_is_in_the_hand_does_not_depend_on_where_the_hand_points(
        self, grasp_plan: GraspPlan
    ) -> None:
        turned = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])

        def settled(motion: Motion):
            joints = motion.path.end.copy()
            joints[5] = ON_CUBE_RAD
            sensed = readings(joints, fixed_n=3, moving_n=3, rotation=turned)
            return reply(command=at_rest(motion.path.end), sensed=sensed)

        _, result = play(self.stage(grasp_plan), self.touching(), settled, settled, saw(IN_HAND_M))
        x, y, z = IN_HAND_M - (0.2, 0.0, 0.02)
        np.testing.assert_allclose(result.data.hold.in_hand_m, (y, -x, z))

    @pytest.mark.parametrize(
        ("fixed_n", "moving_n", "jaw_rad", "failed"),
        [
            (3.0, 0.05, ON_CUBE_RAD, "weaker_pad_force"),
            (0.05, 3.0, ON_CUBE_RAD, "weaker_pad_force"),
            (3.0, 3.0, ON_CUBE_RAD - 0.2, "gap_off_width"),
            (3.0, 3.0, ON_CUBE_RAD + 0.2, "gap_off_width"),
        ],
    )
    def test_a_hold_without_force_or_of_another_width_is_a_miss(
        self, grasp_plan: GraspPlan, fixed_n: float, moving_n: float, jaw_rad: float, failed: str
    ) -> None:
        squeezed, hold = completed(3.0, 3.0, jaw_rad=jaw_rad), completed(fixed_n, moving_n, jaw_rad=jaw_rad)
        _, outcome = play(self.stage(grasp_plan), self.touching(), squeezed, hold, saw(IN_HAND_M))
        assert outcome.name == "missed"
        assert [each.name for each in outcome.evidence if not each.passed] == [failed]

    def test_what_only_the_moving_jaw_touches_is_followed_by_the_hand(self, grasp_plan: GraspPlan) -> None:
        """Pushed on, it would jam between that jaw and the table."""
        stage = self.stage(grasp_plan)
        closing = next(stage)
        assert isinstance(closing, Motion)
        answer: Any = cut(OnePadTouches, 20, moving_n=0.5)(closing)
        names, followed = [], None
        for _ in range(4):
            request = stage.send(answer)
            if isinstance(request, Solve):
                answer = reply(command=answer.command, value=request.function(*request.arguments))
                continue
            assert isinstance(request, Motion)
            names.append(request.name)
            if request.name == "follow":
                followed = request.path
            answer = completed(0.5, 0.5)(request)
        assert names == ["brake", "follow", "close"]
        assert followed is not None
        ends, _ = forward(followed.positions[[0, -1]], np.zeros(3))
        assert 0.004 < np.linalg.norm(ends[1] - ends[0]) < 0.008

    def test_an_object_that_is_gone_is_a_miss(self, grasp_plan: GraspPlan) -> None:
        hold = completed(3.0, 3.0, jaw_rad=ON_CUBE_RAD)
        _, outcome = play(self.stage(grasp_plan), self.touching(), hold, hold, saw(None))
        assert outcome.name == "missed"


class TestBackOff:
    def test_from_between_the_sides_the_hand_opens_centres_and_leaves_the_way_it_came(
        self, grasp_plan: GraspPlan
    ) -> None:
        closed = grasp_plan.seat.end.copy()
        closed[5] = 0.0
        last = reply(command=at_rest(closed))
        requests, outcome = play(back_off(last, SO101, grasp_plan, ARM), completed(), completed(), completed())
        assert [motion.name for motion in requests] == ["open", "centre", "rise"]
        assert requests[0].path.end[5] == grasp_plan.grasp.open_rad
        np.testing.assert_array_equal(requests[1].path.end, grasp_plan.descend.end)
        np.testing.assert_array_equal(requests[2].path.end, grasp_plan.descend.positions[0])
        assert_continuous(requests, last.command)
        assert outcome.name == "ready"

    def test_what_is_still_in_the_hand_is_set_down_first(self, grasp_plan: GraspPlan) -> None:
        raised = grasp_plan.lift.end.copy()
        raised[5] = 0.2
        last = reply(command=at_rest(raised), sensed=readings(raised, fixed_n=3, moving_n=3))
        stage = back_off(last, SO101, grasp_plan, ARM)
        requests, _ = play(stage, completed(3, 3), completed(), completed(), completed())
        assert [motion.name for motion in requests] == ["set_down", "open", "centre", "rise"]
        down = requests[0].path.end
        np.testing.assert_array_equal(down[:5], grasp_plan.seat.end[:5])
        assert down[5] == 0.2
        assert_continuous(requests, last.command)

    def test_with_an_empty_hand_up_high_it_rises_without_going_down_again(self, grasp_plan: GraspPlan) -> None:
        high = grasp_plan.descend.positions[0].copy()
        high[5] = 0.1
        last = reply(command=at_rest(high))
        requests, _ = play(back_off(last, SO101, grasp_plan, ARM), completed(), completed())
        assert [motion.name for motion in requests] == ["open", "rise"]
        np.testing.assert_array_equal(requests[1].path.end, grasp_plan.descend.positions[0])
        assert_continuous(requests, last.command)

    def test_at_speed_it_brakes_first(self, grasp_plan: GraspPlan) -> None:
        command = grasp_plan.descend.command_at(grasp_plan.descend.ticks // 2)
        assert command.velocity.any()
        requests, _ = play_through(back_off(reply(command=command), SO101, grasp_plan, ARM))
        assert requests[0].name == "brake"
        assert_continuous(requests, command)
        for motion in requests:
            assert check_path(motion.path, SO101) is None

    def test_wherever_the_hand_is_its_way_out_keeps_every_limit(self, grasp_plan: GraspPlan) -> None:
        for path in (grasp_plan.approach, grasp_plan.descend, grasp_plan.seat, grasp_plan.lift):
            for tick in range(0, path.ticks + 1, 5):
                command = path.command_at(tick)
                requests, outcome = play_through(back_off(reply(command=command), SO101, grasp_plan, ARM))
                assert outcome == Outcome("ready")
                assert_continuous(requests, command)
                for motion in requests:
                    assert check_path(motion.path, SO101) is None
                np.testing.assert_allclose(requests[-1].path.end, grasp_plan.descend.positions[0], atol=1e-9)
