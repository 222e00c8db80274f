"""Before the table: hand open, arm out of view, eyes on the table."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from graspline.evidence import passes
from graspline.kinematics import hsr
from graspline.motion.guards import TrackingError
from graspline.perception.core.outlines import Lens
from graspline.robots.hsr import HSR
from graspline.scenes.fittings import TABLE
from graspline.tasks.tidy.postures import TABLE_AWAY_M, before
from graspline.tasks.tidy.setup import face_table, open_hand, robot_setup
from graspline.tasks.tidy.task import collision_world

from .stagecraft import CELL, HOUSE, READY, SETTINGS, TABLE_M, answer, drive, motions, played, settings


def test_the_hand_is_as_open_as_at_home() -> None:
    shut = READY.copy()
    shut[HSR.jaw] = 0.0
    asked, outcome = drive(open_hand(answer(shut), CELL))
    assert outcome.name == "open"
    assert [str(each) for each in outcome.evidence] == ["hand_gap 60 mm (limit >= 48 mm)"]
    assert asked[0].path.end[HSR.jaw] == pytest.approx(HSR.home[HSR.jaw])


def test_it_ends_before_the_table_and_looks_at_it() -> None:
    asked, outcome = drive(face_table(answer(HSR.home), CELL, HOUSE))
    assert outcome.name == "facing"
    assert [each.name for each in outcome.evidence] == ["base_off", "heading_off", "head_off", "arm_off", "hand_gap"]
    assert passes(outcome.evidence)
    end = motions(asked)["travel"].path.end
    assert end[:2] == pytest.approx([0.25, 0.0])
    camera, rotation = hsr.head_camera(end)
    ahead = np.array([1.3, 0.0, TABLE_M]) - camera
    assert -rotation[:, 2] @ ahead > 0.99 * np.linalg.norm(ahead)


def test_a_table_that_was_seen_elsewhere_is_faced_there() -> None:
    moved = replace(HOUSE, table=HOUSE.table.moved((0.05, 0.02, 0.0), 0.1))
    here, there = (
        motions(drive(face_table(answer(HSR.home), CELL, room))[0])["travel"].path.end for room in (HOUSE, moved)
    )
    assert there[2] == pytest.approx(here[2] + 0.1)
    assert there[:2] == pytest.approx(before(moved.table, TABLE_AWAY_M)[:2])


def test_the_hand_hides_nothing_of_the_table_from_the_head() -> None:
    camera, rotation = hsr.head_camera(READY)
    lens = Lens(position_m=camera, rotation=rotation, focal_px=1.0, width=2, height=2)
    deep, wide = TABLE.levels[0].half_extents_m
    corners = np.array([TABLE.in_world((a * deep, b * wide, TABLE_M)) for a in (-1, 1) for b in (-1, 1)])
    low, high = lens.pixels(corners).min(axis=0), lens.pixels(corners).max(axis=0)
    names = ("palm", "left", "right", "wrist", "flange", "forearm")
    hand = [each for each in collision_world().own_solids(READY) if each.name.startswith(names)]
    assert hand
    for each in hand:
        at = lens.pixels(each.position_m)
        ahead = float(-(each.position_m - camera) @ rotation[:, 2])
        assert ahead < 0 or (at < low).any() or (at > high).any(), each.name


def test_something_in_the_way_is_said() -> None:
    _, outcome = drive(face_table(answer(HSR.home), CELL, HOUSE), played(by={"travel": TrackingError}))
    assert outcome.name == "blocked"
    assert outcome.evidence[0].name == "tracking_error"


def test_a_base_that_has_turned_around_once_faces_the_table_as_well() -> None:
    start = HSR.home.copy()
    start[2] += 2 * np.pi
    _, outcome = drive(face_table(answer(start), CELL, HOUSE))
    assert outcome.name == "facing"


def test_a_hand_that_did_not_open_is_not_set_up() -> None:
    _, outcome = drive(face_table(answer(HSR.home), CELL, HOUSE), played(jaw_rad=0.0))
    assert outcome.name == "blocked"
    assert [each.name for each in outcome.evidence if not each.passed] == ["hand_gap"]


def test_the_component_ends_by_the_names_it_is_known_by() -> None:
    machine = robot_setup(SETTINGS)
    assert set(machine.outcomes) == {"setup_succeeded", "setup_failed"}
    assert machine.successes == ("setup_succeeded",)
    assert robot_setup(settings("retries.ways=7")).budgets == {"ways": 7}
