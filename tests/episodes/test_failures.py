"""How an episode failed, from scripted snapshots: no physics."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping

import numpy as np
import pytest

from graspline.episodes.failures import MODES, OUT_OF_TIME, Failure, failure_of
from graspline.episodes.hand_contacts import HandlingTracker, gap_m
from graspline.episodes.scenario import Scenario
from graspline.evidence import Evidence, at_least, at_most
from graspline.scenes.variation import Variation
from graspline.tasks.lift_cube import LIFT_CUBE, LiftCube
from graspline.tasks.task import Claim, Claims, Draw, Instruction, ObjectTruth, Snapshot, in_hand

HALF_M = 0.015
Point = tuple[float, float, float]
HOME: Point = (0.1, 0.0, 0.2)
LAY: Point = (0.25, 0.0, HALF_M)
FPS = 30
GOAL: Evidence = (at_least("raised", 0.0, 0.05, "m"),)
DRAW = Draw(start=np.zeros(0), variation=Variation(), refused=0)


def thing(position_m: Point, start_m: Point = LAY) -> ObjectTruth:
    return ObjectTruth(
        position_m=np.array(position_m),
        start_position_m=np.array(start_m),
        quaternion=np.array([1.0, 0.0, 0.0, 0.0]),
        speed_m_s=0.0,
        half_extents_m=np.full(3, HALF_M),
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Frame:
    """Where the hand and the objects are, and whether both pads press."""

    hand: Point
    objects: Mapping[str, Point] = dataclasses.field(default_factory=lambda: {"cube": LAY})
    pressed: bool = False


def lying(hand: Point, cube: Point = LAY, *, pressed: bool = False) -> Frame:
    return Frame(hand=hand, objects={"cube": cube}, pressed=pressed)


def carried(*heights_m: float) -> list[Frame]:
    """The cube between the pads, raised by so much, frame by frame."""
    places = [(LAY[0], LAY[1], LAY[2] + each) for each in heights_m]
    return [lying(each, each, pressed=True) for each in places]


def snapshot(frame: Frame, number: int, starts: Mapping[str, Point]) -> Snapshot:
    return Snapshot(
        objects={name: thing(at, starts[name]) for name, at in frame.objects.items()},
        places={},
        tool_m=np.array(frame.hand),
        tool_quaternion=np.array([1.0, 0.0, 0.0, 0.0]),
        jaw_gap_m=0.03,
        pad_forces_n=(1.0, 1.0) if frame.pressed else (0.0, 0.0),
        joints_rad=np.zeros(6),
        time_s=number / FPS,
    )


def failed(
    frames: Iterable[Frame],
    scenario: Scenario | None = None,
    verdict: str = OUT_OF_TIME,
    goal: Evidence = GOAL,
) -> Failure:
    scenario = scenario or Scenario(task=LIFT_CUBE, parameters=LiftCube(), seed=1)
    tracker = HandlingTracker(scenario, DRAW)
    frames = list(frames)
    for number, frame in enumerate(frames):
        tracker.add(snapshot(frame, number, frames[0].objects))
    return failure_of(verdict, tracker, goal)


def held_up() -> list[Frame]:
    return carried(*np.linspace(0.0, 0.06, 30).tolist())


ON_IT = lying(LAY)
AWAY = lying(HOME)
FELL = lying((0.25, 0.0, LAY[2] + 0.06))


def test_a_hand_that_stays_home_has_never_reached() -> None:
    failure = failed([AWAY] * 30)
    assert (failure.mode, failure.about, failure.t_s, failure.moment) == ("never_reached", "cube", 0.0, "closest")
    (closest,) = failure.evidence
    assert closest.value == pytest.approx(math.hypot(0.135, 0.17), abs=1e-3)
    assert not closest.passed


def test_a_hand_that_came_near_and_held_nothing_has_missed() -> None:
    beside = lying((0.25, 0.04, 0.02))
    failure = failed([AWAY, beside, *[AWAY] * 60])
    assert failure.mode == "missed"
    assert failure.t_s == pytest.approx(1 / FPS)
    assert [(each.name, each.passed) for each in failure.evidence] == [("closest_approach", True), ("held", False)]


def test_a_touch_of_two_frames_is_not_a_hold() -> None:
    assert failed([AWAY, *carried(0.0, 0.0), *[ON_IT] * 60]).mode == "missed"


def test_a_cube_that_the_hand_moved_without_holding_it_was_pushed_away() -> None:
    path = [lying((0.25 + each, 0.0, 0.02), (0.29 + each, 0.0, HALF_M)) for each in np.linspace(0, 0.08, 20).tolist()]
    failure = failed([*path, *[path[-1]] * 40])
    assert failure.mode == "pushed_away"
    assert failure.evidence[0].value == pytest.approx(0.08)


def test_a_cube_that_moves_while_the_hand_is_elsewhere_was_not_pushed() -> None:
    gone = [lying(HOME, (0.25 + each, 0.0, HALF_M)) for each in np.linspace(0, 0.1, 20).tolist()]
    assert failed(gone).mode == "never_reached"


def test_a_cube_that_was_pushed_off_the_table_was_pushed_away() -> None:
    path = [lying((0.25 + each, 0.0, 0.02), (0.28 + each, 0.0, HALF_M)) for each in np.linspace(0, 0.03, 10).tolist()]
    below = lying((0.28, 0.0, 0.02), (0.4, 0.0, -0.5))
    failure = failed([*path, *[below] * 60])
    assert failure.mode == "pushed_away"
    assert [each.passed for each in failure.evidence] == [False, True]


def test_a_cube_that_is_lost_before_it_is_raised_has_slipped() -> None:
    held = carried(*np.linspace(0.0, 0.01, 10).tolist())
    failure = failed([AWAY, *held, *[lying((0.25, 0.0, 0.1))] * 60])
    assert (failure.mode, failure.moment) == ("slipped", "last_held")
    assert failure.t_s == pytest.approx(10 / FPS)


def test_a_cube_that_falls_after_it_was_raised_was_dropped() -> None:
    failure = failed([AWAY, *held_up(), *[FELL] * 60])
    assert failure.mode == "dropped"
    assert {each.name: round(each.value, 3) for each in failure.evidence} == {"raised": 0.06, "fell": 0.06}


def test_a_cube_that_is_lowered_and_let_go_was_not_placed() -> None:
    lowered = carried(*np.linspace(0.06, 0.0, 30).tolist())
    assert failed([AWAY, *held_up(), *lowered, *[ON_IT] * 30, *[AWAY] * 60]).mode == "not_placed"


def test_pads_that_drop_out_for_a_frame_have_not_let_go() -> None:
    up = held_up()
    up[15] = dataclasses.replace(up[15], pressed=False)
    failure = failed([AWAY, *up])
    assert failure.mode == "out_of_time"
    assert {each.name: each.passed for each in failure.evidence} == {"held": True, "raised": True}


def test_a_cube_that_is_taken_again_and_held_at_the_end_is_out_of_time() -> None:
    assert failed([AWAY, *held_up(), *[FELL] * 20, *carried(*[0.0] * 10)]).mode == "out_of_time"


def test_a_hand_that_is_still_on_its_way_at_the_end_is_out_of_time() -> None:
    way = [lying((0.1 + 0.003 * each, 0.0, 0.2 - 0.003 * each)) for each in range(40)]
    failure = failed(way)
    assert failure.mode == "out_of_time"
    assert failure.evidence[0].name == "closing_in"


@pytest.mark.parametrize("verdict", ["policy_error", "physics_diverged"])
def test_other_verdicts_are_modes_of_their_own(verdict: str) -> None:
    assert failed([AWAY], verdict=verdict).mode == verdict
    assert verdict in MODES


def test_an_episode_without_a_frame_has_failed_by_its_verdict() -> None:
    assert failed([Frame(hand=(math.nan, 0.0, 0.0))]).mode == "out_of_time"


NAMES = ("red", "green", "blue")
PLATE_M = 0.4


def _check(parameters: LiftCube, claim: str, about: str, truth: Snapshot) -> Evidence:
    if claim == "held":
        return in_hand(truth, about)
    return (at_most("off_plate", abs(float(truth.objects[about].position_m[0]) - PLATE_M), 0.01, "m"),)


def three() -> Scenario:
    """A task that puts three objects at x = PLATE_M."""
    task = dataclasses.replace(
        LIFT_CUBE,
        instruction=lambda parameters, draw, outcomes: Instruction(sentence="Put them there.", objects=NAMES),
        claims=Claims(
            outcomes={
                ("lift", "lifted"): Claim(name="held", asserted=True),
                ("place", "placed"): Claim(name="placed", asserted=True),
            },
            check=_check,
        ),
    )
    return Scenario(task=task, parameters=LiftCube(), seed=1)


def at(hand: Point, **x_m: float) -> Frame:
    places = {name: (x_m.get(name, 0.1 + 0.1 * index), 0.1, HALF_M) for index, name in enumerate(NAMES)}
    return Frame(hand=hand, objects=places)


def test_one_of_three_in_place_is_partly_done_and_tells_of_the_next() -> None:
    start = at(HOME)
    near_green = at((0.2, 0.1, 0.02), red=PLATE_M)
    failure = failed([start, near_green, *[at(HOME, red=PLATE_M)] * 60], three())
    assert (failure.mode, failure.about) == ("partly_done", "green")
    assert (failure.wanted, failure.done) == (NAMES, ("red",))
    assert [each.name for each in failure.evidence] == ["objects_done", "closest_approach", "held"]
    assert (failure.evidence[0].value, failure.evidence[0].limit) == (1, 3)


def test_everything_in_place_without_success_is_out_of_time_with_what_the_goal_lacks() -> None:
    lacking = (at_least("sightings", 1, 1), at_most("in_hand", 1, 0))
    frames = [at(HOME), *[at(HOME, red=PLATE_M, green=PLATE_M, blue=PLATE_M)] * 10]
    failure = failed(frames, three(), goal=lacking)
    assert (failure.mode, failure.done, failure.evidence) == ("out_of_time", NAMES, lacking[1:])


def test_a_count_of_the_goal_says_what_is_done_where_no_objects_are_named() -> None:
    task = dataclasses.replace(LIFT_CUBE, instruction=lambda *_: Instruction(sentence="Sort them."))
    scenario = Scenario(task=task, parameters=LiftCube(), seed=1)
    share = at_least("sorted_share", 0.5, 0.9)
    failure = failed([AWAY] * 60, scenario, goal=(share,))
    assert failure.mode == "partly_done"
    assert failure.evidence[0] == share


def test_the_gap_is_to_the_nearest_face_of_the_box_as_it_is_turned() -> None:
    half = math.sqrt(0.5)
    turned = dataclasses.replace(
        thing((0.0, 0.0, 0.0)),
        quaternion=np.array([half, 0.0, 0.0, half]),
        half_extents_m=np.array([0.1, 0.02, 0.02]),
    )
    assert gap_m(turned, np.array([0.05, 0.0, 0.0])) == pytest.approx(0.03)
    assert gap_m(turned, np.array([0.0, 0.09, 0.01])) == 0.0


def test_a_failure_is_plain_values() -> None:
    plain = failed([AWAY]).as_dict()
    assert set(plain) == {"mode", "about", "t_s", "moment", "evidence", "wanted", "done"}
    assert plain["wanted"] == ["cube"]
