"""A look at the table, the thing that is wanted, and how to take it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graspline.evidence import passes
from graspline.execution.requests import Motion
from graspline.kinematics import hsr
from graspline.motion.guards import TrackingError
from graspline.perception.core.beliefs import Belief
from graspline.perception.rgbd.odometry_drift import Slip
from graspline.perception.rgbd.planes import NoPlane
from graspline.scenes.fittings import TABLE
from graspline.tasks.tidy import sight
from graspline.tasks.tidy.believed_room import House
from graspline.tasks.tidy.finding import choose, find_grasp, find_poses, look, look_from_aside, step_aside
from graspline.tasks.tidy.record import TableRecord
from graspline.tasks.tidy.sight import TableSeen

from .stagecraft import (
    CELL,
    HOUSE,
    READY,
    SETTINGS,
    TABLE_M,
    answer,
    cell,
    drive,
    house,
    motions,
    played,
    seeing,
    settings,
    solid,
)

NEAR, FAR = solid("mug", (1.1, 0.0, TABLE_M)), solid("apple", (1.4, 0.2, TABLE_M))


def found_poses(thing: Belief) -> Any:
    return drive(find_poses(CELL, thing))[1]


class TestLook:
    def test_what_is_seen_is_handed_on_with_the_table_where_it_was_seen(self) -> None:
        there = House(table=HOUSE.table.moved((0.01, 0.0, 0.0), 0.0), shelf=HOUSE.shelf)
        seen = TableSeen(things=(NEAR, FAR), house=there)
        _, outcome = drive(look(answer(READY), seeing(seen), HOUSE, TableRecord(contact_possible=True)))
        assert outcome.name == "seen"
        assert outcome.data.house.things == (NEAR, FAR)
        assert outcome.data.house.table is there.table
        # All of the table has been looked at again.
        assert not outcome.data.record.contact_possible
        assert outcome.data.table_seen is seen

    def test_no_table_is_no_crash(self) -> None:
        # Black pictures without any depth.
        asked, outcome = drive(look(answer(READY), CELL, HOUSE, TableRecord()))
        assert outcome.name == "no_table"
        # A picture of the same moment would be as dark: some time passes in between.
        assert [each.name for each in asked if isinstance(each, Motion)] == ["wait", "wait"]

    @pytest.mark.parametrize("error", [ValueError("no points"), ZeroDivisionError("0"), IndexError("out of range")])
    def test_a_detector_that_raises_has_failed_with_its_words(
        self, error: Exception, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def raising(*_: object, **__: object) -> None:
            raise error

        monkeypatch.setattr(sight, "see_tabletop", raising)
        _, outcome = drive(look(answer(READY), CELL, HOUSE, TableRecord()))
        assert (outcome.name, outcome.about) == ("failed", f"{type(error).__name__}: {error}")


class TestStepAside:
    def aside(self, start: np.ndarray) -> tuple[str, np.ndarray]:
        asked, outcome = drive(step_aside(answer(start), CELL, house(NEAR, FAR)))
        return outcome.name, motions(asked)["travel"].path.end

    def test_it_goes_to_the_left_and_from_there_to_the_right_and_looks_at_the_table(self) -> None:
        name, left = self.aside(READY)
        again, right = self.aside(left)
        assert (name, again) == ("aside", "aside")
        assert left[1] > 0.5
        assert right[1] < -0.5
        for joints in (left, right):
            camera, rotation = hsr.head_camera(joints)
            apart = TABLE.in_world((0.0, 0.0, TABLE_M)) - camera
            assert -rotation[:, 2] @ apart / np.linalg.norm(apart) > np.cos(np.radians(6.0))

    def test_what_is_in_the_way_is_told(self) -> None:
        stage = step_aside(answer(READY), CELL, HOUSE)
        assert drive(stage, played(by={"travel": TrackingError}))[1].name == "blocked"


class TestLookFromAside:
    def outcome(self, look: Any) -> Any:
        return drive(look_from_aside(answer(READY), seeing(look), house(NEAR, FAR)))[1]

    def test_what_is_seen_from_either_place_is_there_once(self) -> None:
        hidden = solid("tea_box", (1.3, -0.2, TABLE_M))
        outcome = self.outcome(TableSeen(things=(hidden, NEAR), house=HOUSE))
        assert outcome.name == "seen"
        assert sorted(each.name for each in outcome.data.house.things) == ["apple", "mug", "tea_box"]

    def test_what_is_hidden_now_is_where_the_table_is(self) -> None:
        slip = Slip(about_m=np.zeros(2), shift_m=np.array([0.03, -0.02]), turn_rad=0.03)
        there = House(table=slip.fitting(HOUSE.table), shelf=HOUSE.shelf)
        outcome = self.outcome(TableSeen(things=(slip.solid(NEAR),), house=there))
        apple = next(each for each in outcome.data.house.things if each.name == "apple")
        np.testing.assert_allclose(apple.position_m, slip.solid(FAR).position_m, atol=1e-9)
        assert outcome.data.house.table is there.table

    @pytest.mark.parametrize(
        ("look", "name"), [(NoPlane(agreed=3), "no_table"), (sight.SightFailed("no points"), "failed")]
    )
    def test_a_table_that_is_not_seen_is_told(self, look: Any, name: str) -> None:
        outcome = self.outcome(look)
        assert outcome.name == name
        assert [each.name for each in outcome.evidence if not each.passed] == ["pixels_on_a_level_plane"]


class TestChoose:
    def outcome(self, *things: Belief, wanted: str = "", given_up: tuple[Belief, ...] = ()) -> Any:
        it = cell(f'object_to_grasp="{wanted}"')
        return drive(choose(answer(READY), it, house(*things), TableRecord(given_up=given_up)))[1]

    def test_without_a_name_it_is_the_closest(self) -> None:
        for things in ((NEAR, FAR), (FAR, NEAR)):
            outcome = self.outcome(*things)
            assert outcome.about == "mug"
            assert outcome.name == "chosen"
            assert outcome.data.target is NEAR

    def test_a_name_wins_over_distance_and_of_two_the_closer_is_taken(self) -> None:
        outcome = self.outcome(NEAR, FAR, solid("apple", (1.2, 0.0, TABLE_M)), wanted="apple")
        assert outcome.name == "chosen"
        assert outcome.data.target.position_m[0] == 1.2

    def test_what_is_not_there_is_not_replaced(self) -> None:
        outcome = self.outcome(NEAR, FAR, wanted="tea_box")
        assert (outcome.name, outcome.about) == ("not_there", "tea_box")
        assert not passes(outcome.evidence)

    def test_one_that_was_given_up_is_last(self) -> None:
        outcome = self.outcome(NEAR, FAR, given_up=(NEAR,))
        assert outcome.name == "chosen"
        assert outcome.data.target is FAR
        assert self.outcome(NEAR, given_up=(NEAR,)).name == "chosen"

    def test_an_empty_table_is_empty(self) -> None:
        assert self.outcome(wanted="mug").name == "empty"


class TestFindPoses:
    def test_known_things_are_taken_as_annotated(self) -> None:
        outcome = found_poses(solid("mug"))
        assert outcome.name == "found"
        # Nobody takes a mug by its handle's side.
        assert all(each.top or each.rotation[0, 0] > 0 for each in outcome.data.grasp_poses)

    def test_unknown_things_are_taken_by_their_shape(self) -> None:
        outcome = found_poses(solid(half_m=(0.03, 0.04, 0.06)))
        assert {round(each.width_m, 3) for each in outcome.data.grasp_poses} == {0.06, 0.08}
        assert any(each.top for each in outcome.data.grasp_poses)

    def test_evidence_tells_how_many_there_are(self) -> None:
        outcome = found_poses(solid("soup_can"))
        assert [(each.name, each.value) for each in outcome.evidence] == [
            ("grasp_poses", len(outcome.data.grasp_poses))
        ]
        assert passes(outcome.evidence)

    @pytest.mark.parametrize(
        "thing",
        [
            solid(half_m=(0.08, 0.08, 0.06)),
            solid(half_m=(0.055, 0.055, 0.06)),
            solid(shape="cylinder", half_m=(0.08, 0.08, 0.06)),
            solid(shape="ball", half_m=(0.07, 0.07, 0.07)),
        ],
    )
    def test_what_the_hand_does_not_open_for_is_refused_with_its_width(self, thing: Belief) -> None:
        outcome = found_poses(thing)
        assert outcome.name == "too_wide"
        (width,) = outcome.evidence
        assert width.value == pytest.approx(2 * thing.half_extents_m[0])
        assert not width.passed


def test_the_component_ends_by_the_names_it_is_known_by() -> None:
    machine = find_grasp(SETTINGS)
    assert set(machine.outcomes) == {"end_find_grasp", "failed"}
    assert machine.successes == ("end_find_grasp",)
    assert {"grasp_poses", "target", "house", "record", "table_seen"} == set(machine.gives)
    assert find_grasp(settings("retries.looks=7", "retries.sides=5")).budgets == {"looks": 7, "sides": 5}
