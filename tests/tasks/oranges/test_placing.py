"""Leaving an orange on the plate, the states by hand: what each asks for, and how it ends."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from graspline.evidence import Evidence
from graspline.execution.notifications import Noticed
from graspline.execution.requests import Motion
from graspline.machine.outcome import Outcome
from graspline.motion.guards import (
    TrackingError,
)
from graspline.motion.path import at_rest
from graspline.tasks.oranges.pick_state import Job, OrangesProgress, PlacementRecord
from graspline.tasks.oranges.placing import release, withdraw

from .stagecraft import (
    BALL_M,
    PLATE_XY,
    SETTINGS,
    Act,
    at,
    cell_of,
    on_plate,
    seen_ball,
    survey_of,
)

Array = NDArray[np.float64]
Table = dict[str, Array]


def failed(evidence: Evidence) -> list[str]:
    return [each.name for each in evidence if not each.passed]


# Letting go


def releasing(act: Act, job: Job) -> Any:
    act.command = at_rest(job.carry.open.positions[0])
    act.jaw_rad = None
    return act.play(release(cell_of(), job, OrangesProgress()))


def spot(job: Job) -> Array:
    return np.array([*job.carry.spot_m, 0.004 + BALL_M])


def test_an_orange_that_rests_on_its_spot_is_released(held_job: Job, holding: Act) -> None:
    holding.balls["orange_1"], holding.pads_n = spot(held_job), (0.0, 0.0)
    found = releasing(holding, held_job)
    assert (found.name, found.about) == ("released", "orange_1")
    assert failed(found.evidence) == []
    # It has been seen to rest for as long as it takes, and no longer.
    waited = sum(path.duration_s for path in holding.paths("release")[1:])
    assert SETTINGS.rest.still_s <= waited + 1e-9 < SETTINGS.rest.still_s + 0.11
    checks = [each for each in holding.told if isinstance(each, Noticed)]
    assert checks
    assert {(each.what, each.detail) for each in checks} == {("placement check", True)}
    assert checks[-1].facts["result"] == "placed"
    assert checks[0].facts["result"] == "not yet"
    assert {"x_ok", "y_ok", "z_ok", "plate_min_m", "plate_max_m"} <= set(checks[-1].facts)


def test_an_orange_that_rolls_is_waited_for(held_job: Job, holding: Act) -> None:
    holding.pads_n = (0.0, 0.0)

    def roll(act: Act, motion: Motion) -> None:
        act.balls["orange_1"] = spot(held_job) + np.array([0.01 * max(0.0, 1.0 - act.time_s), 0.0, 0.0])

    roll(holding, None)  # pyright: ignore[reportArgumentType]
    holding.endings = {"release": [roll] * 60}
    found = releasing(holding, held_job)
    assert found.name == "released"
    assert holding.time_s > 0.5


def test_an_orange_at_rest_beside_the_plate_has_missed_it(held_job: Job, holding: Act) -> None:
    holding.balls["orange_1"] = np.array([PLATE_XY[0] + 0.15, PLATE_XY[1], BALL_M])
    holding.pads_n = (0.0, 0.0)
    found = releasing(holding, held_job)
    assert found.name == "missed_plate"
    assert failed(found.evidence)
    assert holding.time_s < 1.0


def test_an_orange_that_sticks_to_the_hand_is_not_released_after_six_seconds(held_job: Job, holding: Act) -> None:
    holding.balls["orange_1"], holding.pads_n = spot(held_job) + np.array([0, 0, 0.03]), (1.0, 0.0)
    found = releasing(holding, held_job)
    assert (found.name, failed(found.evidence)) == ("not_released", ["release_time"])
    (record,) = found.data.progress.records
    assert (record.name, record.succeeded) == ("orange_1", False)
    waited = sum(path.duration_s for path in holding.paths("release")[1:])
    assert waited == pytest.approx(6.0, abs=0.11)


def test_an_orange_hidden_by_the_hand_is_checked_once_the_hand_has_left(held_job: Job, holding: Act) -> None:
    del holding.balls["orange_1"]
    found = releasing(holding, held_job)
    assert found == Outcome("released", about="orange_1")
    waited = sum(path.duration_s for path in holding.paths("release")[1:])
    assert waited == pytest.approx(SETTINGS.release.unseen_s, abs=0.11)


# Leaving


def leaving(act: Act, job: Job, progress: OrangesProgress) -> Any:
    act.command, act.jaw_rad, act.pads_n = at_rest(job.carry.withdraw.positions[0]), None, (0.0, 0.0)
    return act.play(withdraw(act.reply(), cell_of(), job, progress))


@pytest.fixture
def placed_job(held_job: Job) -> Job:
    """With another orange on the plate, as it was seen before."""
    survey = survey_of(seen_ball("orange_1", at(0.24, -0.2)), seen_ball("orange_2", on_plate(0.05, 0.04)))
    return dataclasses.replace(held_job, survey=survey)


def test_an_orange_that_still_rests_there_is_placed_and_noted(
    placed_job: Job, holding: Act, progress: OrangesProgress
) -> None:
    holding.balls |= {"orange_1": spot(placed_job), "orange_2": on_plate(0.05, 0.04)}
    tried = dataclasses.replace(progress, tried=(("orange_1", "a"), ("orange_2", "b")), skipped=("orange_2",))
    found = leaving(holding, placed_job, tried)
    assert (found.name, failed(found.evidence)) == ("placed", [])
    assert {"displaced_orange_2", "plate_shift", "still"} <= {each.name for each in found.evidence}
    after = found.data.progress
    assert after.placed == ("orange_1",)
    assert after.tried == (("orange_2", "b"),)
    assert after.skipped == ()
    # It ends with a look.
    assert not isinstance(holding.requests[-1], Motion)


def test_an_orange_that_rolled_off_when_the_hand_left_is_not_placed(
    placed_job: Job, holding: Act, progress: OrangesProgress
) -> None:
    holding.balls |= {"orange_1": at(0.3, 0.3), "orange_2": on_plate(0.05, 0.04)}
    found = leaving(holding, placed_job, progress)
    assert found.name == "not_placed"
    assert failed(found.evidence)
    assert found.data.progress.placed == ()
    assert [each.succeeded for each in found.data.progress.records] == [False]


@pytest.mark.parametrize(
    ("moved", "named"),
    [({"orange_2": on_plate(0.05, 0.025)}, "displaced_orange_2"), ({"plate": 0.015}, "plate_shift")],
)
def test_a_neighbour_or_plate_that_was_moved_meanwhile_is_not_passed_over(
    placed_job: Job, holding: Act, progress: OrangesProgress, moved: dict[str, Any], named: str
) -> None:
    holding.balls |= {"orange_1": spot(placed_job), "orange_2": on_plate(0.05, 0.04)}
    shift = moved.get("plate", 0.0)
    holding.plate = (PLATE_XY[0] + shift, PLATE_XY[1])
    if shift:
        # What lies on it slides along.
        holding.balls = {name: place + np.array([shift, 0, 0]) for name, place in holding.balls.items()}
    else:
        holding.balls |= moved
    found = leaving(holding, placed_job, progress)
    assert found.name == "disturbed"
    assert failed(found.evidence) == [named]
    assert found.data.progress.placed == ("orange_1",)


def test_an_orange_that_is_not_seen_again_is_not_noted(
    placed_job: Job, holding: Act, progress: OrangesProgress
) -> None:
    del holding.balls["orange_1"]
    found = leaving(holding, placed_job, progress)
    assert isinstance(found, Outcome)
    assert (found.name, found.about) == ("unseen", "orange_1")
    assert failed(found.evidence) == ["sightings"]


def test_a_hand_that_cannot_leave_is_blocked(placed_job: Job, holding: Act, progress: OrangesProgress) -> None:
    holding.endings = {"withdraw": [TrackingError]}
    assert leaving(holding, placed_job, progress).name == "blocked"


def test_only_the_latest_attempt_with_a_fruit_counts() -> None:
    def record(succeeded: bool, time_s: float) -> PlacementRecord:
        return PlacementRecord(name="orange_1", position_m=on_plate(), succeeded=succeeded, time_s=time_s)

    assert OrangesProgress(records=(record(False, 0.0), record(True, 1.0))).placed == ("orange_1",)
    assert OrangesProgress(records=(record(True, 1.0), record(False, 3.0))).placed == ()
