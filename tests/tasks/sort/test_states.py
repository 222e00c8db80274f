"""A block in the hand, every way to get, lose and release it scripted; and what a look at the bins proves."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator
from typing import Any

import numpy as np
import pytest

import graspline.tasks.sort.states as states
from graspline.engine.layout import Readings, layout_of
from graspline.execution.requests import Look, Motion, Reply, Solve
from graspline.motion.guards import BothPadsTouch, HoldLost, TrackingError
from graspline.motion.path import Command
from graspline.perception.belt.blocks import BlockSeen
from graspline.rendering.picture import Picture
from graspline.tasks.sort.belt_beliefs import BeltBeliefs, BlockTally, Pending
from graspline.tasks.sort.catch_plans import Catch, Going, plan_catch, ride_of, to_block
from graspline.tasks.sort.layout import scene_of
from graspline.tasks.sort.sight import BeltEye, nothing_yet
from graspline.tasks.sort.states import account, carry, check, drop, grip, recheck, travel

from .lines import CELL, HOME, ROBOT, SETTINGS, begin, seen, tool_of, tracks_of

LAYOUT = layout_of(scene_of(SETTINGS).model)
BLACK = Picture(
    rgb=np.zeros((480, 640, 3), np.uint8), camera="wrist", position_m=np.ones(3), rotation=np.eye(3), fovy_rad=0.82
)


def answer(
    command: Command, *, pads_n: tuple[float, float] = (0.0, 0.0), jaw_rad: float | None = None, **more: Any
) -> Reply:
    joints = command.position.copy()
    if jaw_rad is not None:
        joints[ROBOT.jaw] = jaw_rad
    row = np.zeros(LAYOUT.readings_size)
    row[LAYOUT.readings["joint_position"]] = joints
    row[LAYOUT.readings["pad_force"]] = (0.0, 0.0, pads_n[0], 0.0, pads_n[1], 0.0)
    row[LAYOUT.readings["tool_position"]] = tool_of(joints[ROBOT.arm])[0]
    given = {"by": "completed", "evidence": (), "value": None, "time_s": 0.0, **more}
    return Reply(readings=Readings(row, LAYOUT), command=command, **given)


def caught() -> tuple[Catch, Reply]:
    """A red cube, and the moment at which the hand is on it."""
    track = seen(y=0.1)
    found = plan_catch(CELL, begin(), tracks_of(track), track)
    assert isinstance(found, Catch)
    going = to_block(CELL, begin(), found)
    command = Command(position=going.path.positions[-1], velocity=going.path.velocities[-1], acceleration=np.zeros(7))
    return found, answer(command, time_s=found.hop.ends_s)


def line(**more: Any) -> BeltBeliefs:
    return BeltBeliefs(tracks=nothing_yet(SETTINGS), **more)


def drive(stage: Generator[Any, Any, Any], how: Callable[[Any], Reply]) -> tuple[list[Any], Any]:
    """Play a state to its end; what it asked for, and what it returned."""
    asked = []
    try:
        asked.append(next(stage))
        while True:
            asked.append(stage.send(how(asked[-1])))
    except StopIteration as stop:
        return asked, stop.value


def played(pads_n: tuple[float, float] = (0.0, 0.0), *, jaw_rad: float | None = None, by: type | None = None) -> Any:
    """Motions end as their guard of this kind ends them, or at their end; looks see nothing; solves are solved."""

    def how(request: Any) -> Reply:
        if isinstance(request, Solve):
            return answer(HOME, value=request.function(*request.arguments))
        if isinstance(request, Look):
            return answer(HOME, value=BLACK)
        assert isinstance(request, Motion)
        guard = next((each for each in request.guards if by is not None and isinstance(each, by)), "completed")
        end = Command(
            position=request.path.positions[-1], velocity=request.path.velocities[-1], acceleration=np.zeros(7)
        )
        return answer(end, pads_n=pads_n, jaw_rad=jaw_rad, by=guard, time_s=1.0)

    return how


class TestGrip:
    def width_rad(self, catch: Catch, more_m: float = 0.0) -> float:
        return float(ROBOT.jaw_law.angle_rad(catch.grasp.width_m + more_m))

    def test_both_pads_and_the_width_make_a_grip(self) -> None:
        catch, last = caught()
        how = played((40.0, 40.0), jaw_rad=self.width_rad(catch), by=BothPadsTouch)
        _, outcome = drive(grip(last, CELL, line(), catch), how)
        assert outcome.name == "gripped"
        assert outcome.data.line.tally.gripped_s == (1.0,)

    @pytest.mark.parametrize(("pads_n", "more_m"), [((40.0, 0.0), 0.0), ((0.0, 0.0), -0.03), ((40.0, 40.0), -0.01)])
    def test_anything_less_is_a_miss(self, pads_n: tuple[float, float], more_m: float) -> None:
        catch, last = caught()
        _, outcome = drive(grip(last, CELL, line(), catch), played(pads_n, jaw_rad=self.width_rad(catch, more_m)))
        assert outcome.name == "missed"
        assert any(not each.passed for each in outcome.evidence)

    def test_the_hand_rides_along_while_it_closes(self) -> None:
        catch, last = caught()
        (motion,), _ = drive(grip(last, CELL, line(), catch), played())
        path = motion.path
        times = last.time_s + path.dt_s * np.arange(path.ticks + 1)
        points, _ = tool_of(path.positions[:, ROBOT.arm])
        np.testing.assert_allclose(points, ride_of(CELL, catch.track, catch.grasp).at(times), atol=1e-6)
        assert path.end[ROBOT.jaw] < self.width_rad(catch)

    def test_the_block_is_off_the_belt_afterwards(self) -> None:
        catch, last = caught()
        both = BeltBeliefs(tracks=tracks_of(catch.track, seen(number=2, y=0.3)))
        _, outcome = drive(grip(last, CELL, both, catch), played())
        assert [each.number for each in outcome.data.line.tracks.alive] == [2]


class TestCarry:
    def test_it_ends_over_the_bin_of_its_colour(self) -> None:
        catch, last = caught()
        asked, outcome = drive(carry(last, CELL, line(), catch), played((40.0, 40.0)))
        assert outcome.name == "carried"
        point, _ = tool_of([each for each in asked if isinstance(each, Motion)][-1].path.end[ROBOT.arm])
        np.testing.assert_allclose(point[:2], (0.26, -0.24), atol=1e-6)

    @pytest.mark.parametrize(("by", "name"), [(HoldLost, "lost"), (TrackingError, "blocked")])
    def test_what_ends_it_has_a_name(self, by: type, name: str) -> None:
        catch, last = caught()
        _, outcome = drive(carry(last, CELL, line(), catch), played(by=by))
        assert outcome.name == name

    def test_every_tick_is_watched(self) -> None:
        catch, last = caught()
        asked, _ = drive(carry(last, CELL, line(), catch), played((40.0, 40.0)))
        motions = [each for each in asked if isinstance(each, Motion)]
        assert all(any(isinstance(guard, HoldLost) for guard in motion.guards) for motion in motions)
        for first, second in itertools.pairwise(motions):
            np.testing.assert_array_equal(first.path.end, second.path.positions[0])


class TestDrop:
    @pytest.mark.parametrize(("pads_n", "name"), [((0.0, 0.0), "released"), ((20.0, 0.0), "stuck")])
    def test_pads_must_feel_nothing(self, pads_n: tuple[float, float], name: str) -> None:
        catch, last = caught()
        _, outcome = drive(drop(last, CELL, line(), catch), played(pads_n))
        assert outcome.name == name
        (pending,) = outcome.data.line.pending
        assert (pending.colour, pending.bin) == ("red", "bin_red")


class TestTravel:
    def test_a_block_that_is_gone_has_escaped(self) -> None:
        catch, _ = caught()
        going = to_block(CELL, begin(), catch)
        _, outcome = drive(travel(answer(HOME), CELL, line(), going), played())
        assert outcome.name == "escaped"

    def test_something_in_the_way_is_said(self) -> None:
        catch, _ = caught()
        going = to_block(CELL, begin(), catch)
        stage = travel(answer(HOME), CELL, line(), going)
        assert drive(stage, played(by=TrackingError))[1].name == "blocked"


def let_go(colour: str = "red", x: float = 0.26) -> Pending:
    return Pending(colour=colour, bin="bin_red", point_m=np.array([x, -0.24, 0.04]), time_s=0.0)


class TestRecheck:
    def outcome(self, monkeypatch: pytest.MonkeyPatch, found: list[BlockSeen], **more: Any) -> Any:
        monkeypatch.setattr(BeltEye, "in_bin", lambda self, picture, name: tuple(found))
        last = answer(HOME, time_s=2.0)
        return drive(recheck(last, CELL, line(**more)), played())[1]

    def block(self, colour: str = "red", x: float = 0.16, y: float = -0.24) -> BlockSeen:
        """A block that the output belt has carried by 10 cm in two seconds."""
        return BlockSeen(
            colour=colour,
            size_m=(0.04, 0.04, 0.04),
            x_m=x,
            y_m=y,
            yaw_rad=0.0,
            sigma_m=0.001,
            yaw_sigma_rad=0.01,
            whole=True,
            misfit_px=0.1,
        )

    def test_a_block_where_the_belt_has_carried_it_is_sorted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        outcome = self.outcome(monkeypatch, [self.block()], pending=(let_go(),))
        assert (outcome.name, str(outcome.about)) == ("sorted", "red 1 at 0.160 -0.240")
        assert outcome.data.line.tally.sorted == ("red",)

    @pytest.mark.parametrize("found", [[], ["green"], ["elsewhere"]])
    def test_no_block_another_colour_or_another_place_prove_nothing(
        self, monkeypatch: pytest.MonkeyPatch, found: list[str]
    ) -> None:
        blocks = [self.block("green") if each == "green" else self.block(x=0.05) for each in found]
        outcome = self.outcome(monkeypatch, blocks, pending=(let_go(),))
        assert outcome.name == "unseen"
        assert outcome.data.line.tally.missed == ("not_confirmed",)

    def test_a_block_that_was_counted_before_does_not_count_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        before = let_go(x=0.29)
        outcome = self.outcome(monkeypatch, [self.block(x=0.185)], pending=(let_go(),), placed=(before,))
        assert outcome.name == "unseen"

    def test_a_block_that_the_next_one_has_pushed_is_still_known(self, monkeypatch: pytest.MonkeyPatch) -> None:
        pushed, pushing = let_go(), let_go(x=0.32)
        blocks = [self.block(x=0.10), self.block(x=0.21)]
        outcome = self.outcome(monkeypatch, blocks, pending=(pushed, pushing))
        assert outcome.data.line.tally.sorted == ("red", "red")


def test_check_waits_until_the_hand_has_left(monkeypatch: pytest.MonkeyPatch) -> None:
    catch, _ = caught()
    monkeypatch.setattr(BeltEye, "in_bin", lambda self, picture, name: pytest.fail("too early"))
    monkeypatch.setattr(states, "_LEFT_M", 1e3)
    going = to_block(CELL, begin(), catch)
    stage = check(answer(HOME), CELL, line(pending=(let_go(),)), going)
    outcome = drive(stage, played())[1]
    assert outcome.name == "unseen"
    assert isinstance(outcome.data.going, Going)


@pytest.mark.parametrize(("count", "name"), [(38, "done"), (37, "short")])
def test_the_account_holds_what_was_sorted_against_the_order(count: int, name: str) -> None:
    outcome = account(CELL, line(tally=BlockTally(sorted=("red",) * count)))
    assert outcome.name == name
