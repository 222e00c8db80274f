"""Candidates come best first, whatever was solved when; and what failed at any heading need not be planned again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from graspline.evidence import at_most
from graspline.grasping.candidates import DEEPER, Grasp, JawParameters, ball_grasps, box_grasps
from graspline.grasping.cartesian_lines import ReachParameters, leans_rad
from graspline.grasping.pose_candidates import Candidate, PoseCandidates, back
from graspline.kinematics.arm import STRAIGHT_DOWN_RAD, Solutions
from graspline.kinematics.arms import arm_of
from graspline.kinematics.questions import Targets
from graspline.perception.core.beliefs import Belief
from graspline.planning.batched_planning import Planning, alone
from graspline.refusal import Refusal
from graspline.robots.robot import Robot
from graspline.robots.so101 import SO101
from graspline.robots.ur5e import UR5E

from .balls import ball
from .boxes import box

Array = NDArray[np.float64]
Named = tuple[str, float, int]

# Its arm is solved in parts.
BY_NUMBERS = replace(SO101, closed_form="")
JAW, REACH = JawParameters(), ReachParameters()
TILTS = leans_rad(REACH.max_tilt_rad)


def things() -> Iterator[tuple[Robot, Belief]]:
    random = np.random.default_rng(3)
    for radius, robot in ((0.18, SO101), (0.34, SO101), (0.18, BY_NUMBERS), (0.26, BY_NUMBERS), (0.75, UR5E)):
        azimuth, yaw = random.uniform(-1.0, 1.0), random.uniform(-np.pi, np.pi)
        x, y = radius * np.cos(azimuth), radius * np.sin(azimuth)
        yield robot, box(float(x), float(y), float(yaw))
        yield robot, ball(float(x), float(y))


def grasps_of(robot: Robot, thing: Belief) -> list[Grasp]:
    found = (
        ball_grasps(robot, thing, JAW, robot.home)
        if thing.shape == "ball"
        else box_grasps(robot.hand, thing, JAW, deeper=True)
    )
    assert not isinstance(found, Refusal)
    return found


def poses_of(robot: Robot, thing: Belief, tilts: Array, tried: tuple[str, ...] = ()) -> PoseCandidates:
    return PoseCandidates(robot, thing.position_m, robot.home, grasps_of(robot, thing), tilts, REACH, tried)


def every(poses: PoseCandidates) -> Planning[list[Candidate]]:
    found: list[Candidate] = []
    while (candidate := (yield from poses.next())) is not None:
        found.append(candidate)
    return found


def best_first(robot: Robot, thing: Belief, tried: tuple[str, ...]) -> list[Named]:
    """All of them, each solved by itself and sorted."""
    arm, found = arm_of(robot), list[tuple[int, float, int, Named]]()
    grasps = grasps_of(robot, thing)
    for index, (tilt, grasp) in enumerate((tilt, grasp) for tilt in TILTS for grasp in grasps):
        pitch = STRAIGHT_DOWN_RAD - tilt
        above = thing.position_m + grasp.standoff_m * back(arm, thing.position_m, np.array(pitch))
        at, over = (
            arm.solve(each[None], pitch, grasp.yaw_rad, np.array(grasp.tool_m), REACH.joint_margin_rad, backwards=False)
            for each in (thing.position_m, above)
        )
        both, joints = at.reached[0] & over.reached[0], at.posed()
        limit = min(REACH.max_face_error_rad, float(np.arcsin(min(1.0, REACH.max_contact_offset_m / grasp.width_m))))
        if not both.any() or arm.jaw_lean_rad(joints)[0] > (REACH.max_ball_lean_rad if grasp.round else limit):
            continue
        cost = np.round(abs(joints[0, arm.wrist] - robot.home[arm.wrist]) + 3.0 * tilt, 9)
        rank = 2 * (grasp.label in tried) + grasp.label.endswith(DEEPER)
        found.append((rank, float(cost), index, (grasp.label, float(pitch), int(np.argmax(both)))))
    return [named for *_, named in sorted(found)]


@pytest.mark.parametrize("tried", [(), ("along", "across_deeper", "turned_0")])
def test_candidates_come_in_the_order_of_all_of_them(tried: tuple[str, ...]) -> None:
    some = 0
    for robot, thing in things():
        found = alone(every(poses_of(robot, thing, TILTS, tried)))
        named = [(each.grasp.label, each.pitch_rad, each.branch) for each in found]
        assert named == best_first(robot, thing, tried)
        some += len(named)
    assert some > 100


def test_the_first_candidate_of_a_near_object_takes_a_part_of_the_targets(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    answered = Targets.answered

    def counted(questions: Sequence[Targets]) -> list[Solutions]:
        asked.extend(len(each.position_m) for each in questions)
        return answered(questions)

    monkeypatch.setattr(Targets, "answered", counted)
    thing = ball(0.22)
    assert alone(poses_of(BY_NUMBERS, thing, TILTS).next()) is not None
    assert sum(asked) < len(grasps_of(BY_NUMBERS, thing)) * len(TILTS) / 2


def test_where_few_are_solved_together_it_is_known_whether_they_can_be_raised() -> None:
    thing = box(0.2)
    grasps = box_grasps(SO101.hand, thing, JAW)
    assert isinstance(grasps, list)
    poses = PoseCandidates(SO101, thing.position_m, SO101.home, grasps, TILTS[:1], REACH, ())
    found = alone(every(poses))
    assert found
    assert all(each.top_pitch_rad == each.pitch_rad for each in found)
    for each in alone(every(poses_of(SO101, thing, TILTS))):
        assert each.top_pitch_rad is None


def refusal(stage: str, name: str, check: str = "reach") -> Refusal:
    return Refusal(check=check, stage=stage, label="any", evidence=(at_most(name, 0.1, 0.0, "rad"),))


def test_a_refusal_holds_for_another_heading_unless_it_is_of_the_wrist() -> None:
    arm = arm_of(UR5E)
    # Two headings of a round thing, straight down: the hand is centred, so the wrist alone turns.
    first, *others = alone(every(poses_of(UR5E, ball(0.5, 0.1), TILTS[:1])))
    other = next(each for each in others if each.branch == first.branch)
    assert other.grasp.label != first.grasp.label
    assert other.fails_as(first, refusal("descend", "elbow"), arm)
    assert other.fails_as(first, refusal("descend", "elbow velocity", "limits"), arm)
    assert not other.fails_as(first, refusal("descend", "wrist_3"), arm)
    assert not other.fails_as(first, refusal("descend", "wrist_3 velocity", "limits"), arm)
    assert not other.fails_as(first, refusal("descend", "finger_to_table", "collision"), arm)
    assert not other.fails_as(first, refusal("approach", "elbow", "limits"), arm)
    # Where it is raised to it may lean otherwise.
    assert not other.fails_as(first, refusal("lift", "elbow"), arm)
    leaning = [replace(each, top_pitch_rad=1.3) for each in (first, other)]
    assert leaning[1].fails_as(leaning[0], refusal("lift", "elbow"), arm)
    assert not leaning[1].fails_as(replace(first, top_pitch_rad=1.2), refusal("lift", "elbow"), arm)


def test_a_refusal_does_not_hold_where_the_whole_arm_turns_with_the_heading() -> None:
    # The tool point of an SO-101 lies beside the axis of its wrist.
    first, *others = alone(every(poses_of(SO101, ball(0.22), TILTS)))
    alike = [each for each in others if (each.pitch_rad, each.branch) == (first.pitch_rad, first.branch)]
    assert alike
    for other in alike:
        assert not other.fails_as(first, refusal("descend", "elbow_flex"), arm_of(SO101))
    assert first.fails_as(first, refusal("descend", "finger_to_table", "collision"), arm_of(SO101))
