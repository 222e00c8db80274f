"""A thing is held out and let go on a pull: what counts as one, and every other way it may end."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from graspline.evidence import at_least, passes
from graspline.grasping.whole_body_reach import UP
from graspline.kinematics import hsr
from graspline.motion.guards import HoldLost, TrackingError, Tugged
from graspline.robots.hsr import HSR
from graspline.tasks.tidy.handover import (
    DEFAULT_THRESH_N,
    handover,
    let_go,
    offer,
    offering,
    retract,
    stretch,
    tare,
)
from graspline.tasks.tidy.person import TAKEN_AT_M
from graspline.tasks.tidy.postures import carrying

from .stagecraft import (
    CELL,
    HOUSE,
    READY,
    SETTINGS,
    answer,
    cell,
    counted_n,
    drive,
    held_object,
    motions,
    played,
    solid,
)

Array = NDArray[np.float64]
HOLDING = (20.0, 20.0)
HELD = held_object(solid("soup_can"))


@functools.cache
def stretched() -> Array:
    return offering(HELD, READY)[0]


def tared(force_thresh: float = -1.0) -> Tugged:
    _, outcome = drive(
        tare(answer(stretched()), cell(f"handover.force_thresh={force_thresh}"), HELD), played(mass_kg=1.15)
    )
    assert outcome.name == "tared"
    return outcome.data.pull


class TestStretch:
    def asked(self, by: dict[str, type] | None = None) -> tuple[list[Any], Any]:
        start = carrying(HELD, READY, (0.25, 0.0, 0.0), np.array([1.3, 0.0, 0.72]))[0]
        stage = stretch(answer(start), CELL, HOUSE, HELD)
        return drive(stage, played(by=by, pads_n=HOLDING))

    def test_the_thing_ends_upright_where_people_take_things(self) -> None:
        asked, outcome = self.asked()
        assert outcome.name == "stretched"
        tool, rotation = hsr.forward(motions(asked)["travel"].path.end)
        assert np.linalg.norm(tool - TAKEN_AT_M) < 0.2
        np.testing.assert_allclose((rotation @ HELD.R_OH.T)[2], UP, atol=1e-9)
        assert any(isinstance(guard, HoldLost) for guard in motions(asked)["travel"].guards)

    @pytest.mark.parametrize(("by", "name"), [(HoldLost, "lost"), (TrackingError, "blocked")])
    def test_what_ends_it_has_a_name(self, by: type, name: str) -> None:
        assert self.asked({"travel": by})[1].name == name

    @pytest.mark.parametrize("down", [0, 30, 50, 90])
    @pytest.mark.parametrize("name", ["soup_can", "cracker_box", "mug"])
    def test_there_are_postures_for_every_way_to_hold(self, name: str, down: int) -> None:
        assert len(offering(held_object(solid(name), float(np.radians(down))), READY))


class TestTare:
    def test_the_threshold_is_the_one_given_or_if_negative_the_default(self) -> None:
        assert tared(7.5).force_n == 7.5
        assert tared(-1.0).force_n == DEFAULT_THRESH_N == 3.5

    def test_it_takes_some_time_for_a_pull_to_count(self) -> None:
        # Longer than a bump of 20 ms.
        assert tared().for_s >= 0.04

    def test_weight_does_not_count(self) -> None:
        assert counted_n(tared(), stretched(), (0.0, 0.0, 0.0)) == pytest.approx(0.0, abs=1e-9)

    @pytest.mark.parametrize("down", [0, 30, 50, 90])
    def test_a_pull_away_from_the_robot_counts_and_nothing_else_however_it_is_held(self, down: int) -> None:
        held = held_object(solid("soup_can"), float(np.radians(down)))
        joints = offering(held, READY)[0]
        pull = drive(tare(answer(joints), CELL, held), played(mass_kg=1.15))[1].data.pull
        for force in ((0.0, -6.0, 0.0), (2.0, -5.0, 0.0), (-2.0, -5.0, 2.0), (0.0, -5.0, -3.0)):
            assert counted_n(pull, joints, force) == pytest.approx(np.linalg.norm(force))
        for force in ((0.0, 10.0, 0.0), (0.0, 0.0, -10.0), (0.0, 0.0, 10.0), (10.0, 0.0, 0.0), (-10.0, 1.0, 0.0)):
            assert counted_n(pull, joints, force) == 0.0

    def test_what_falls_meanwhile_is_lost(self) -> None:
        stage = tare(answer(stretched()), CELL, HELD)
        assert drive(stage, played(by={"tare": HoldLost}))[1].name == "lost"


class TestOffer:
    @pytest.mark.parametrize(("by", "name"), [(Tugged, "pulled"), (HoldLost, "lost"), (None, "not_taken")])
    def test_what_ends_it_has_a_name(self, by: type | None, name: str) -> None:
        stage = offer(answer(stretched()), CELL, HELD, tared())
        asked, outcome = drive(stage, played(by={"offer": by} if by else {}))
        assert (outcome.name, outcome.about) == (name, "soup_can")
        assert len(asked) == 1

    def test_it_is_held_still_for_as_long_as_asked(self) -> None:
        stage = offer(answer(stretched()), CELL, HELD, tared())
        (motion,), _ = drive(stage)
        assert motion.path.duration_s == pytest.approx(SETTINGS.handover.wait_s)
        assert np.ptp(motion.path.positions, axis=0).max() == 0.0


PULLED = (at_least("tug", 6.0, 3.5, "N"),)


@pytest.mark.parametrize(("pads_n", "name"), [((0.0, 0.0), "given"), ((3.0, 0.0), "stuck")])
def test_an_open_hand_must_feel_nothing(pads_n: tuple[float, float], name: str) -> None:
    asked, outcome = drive(let_go(answer(stretched()), CELL, HELD), played(pads_n=pads_n))
    assert outcome.name == name
    assert motions(asked)["let_go"].path.end[HSR.jaw] == HSR.limits.upper[HSR.jaw]


def test_the_hand_draws_back_from_the_person_and_never_down() -> None:
    for down in (0, 50):
        joints = offering(held_object(solid("soup_can"), float(np.radians(down))), READY)[0]
        joints[HSR.jaw] = HSR.limits.upper[HSR.jaw]
        asked, outcome = drive(retract(answer(joints), CELL, HELD, PULLED))
        assert outcome.name == "back"
        tools, _ = hsr.forward(asked[0].path.positions)
        assert tools[-1][1] - tools[0][1] > 0.08
        assert tools[-1][2] >= tools[0][2] - 1e-9


@pytest.mark.parametrize(
    ("gap_m", "pads_n", "name"), [(0.1, (0.0, 0.0), "back"), (0.1, (2.0, 0.0), "stuck"), (0.05, (0.0, 0.0), "stuck")]
)
def test_a_handover_is_proved_by_the_pull_and_by_an_open_hand_that_feels_nothing(
    gap_m: float, pads_n: tuple[float, float], name: str
) -> None:
    joints = stretched().copy()
    joints[HSR.jaw] = HSR.jaw_law.angle_rad(gap_m)
    _, outcome = drive(retract(answer(joints), CELL, HELD, PULLED), played(pads_n=pads_n))
    assert (outcome.name, outcome.about) == (name, "soup_can")
    assert [each.name for each in outcome.evidence] == ["tug", "stronger_pad_force", "hand_gap"]
    assert passes(outcome.evidence) == (name == "back")


def test_the_component_ends_by_the_names_it_is_known_by() -> None:
    machine = handover(SETTINGS)
    assert set(machine.outcomes) == {"succeeded", "aborted"}
    assert machine.successes == ("succeeded",)
