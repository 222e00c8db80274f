"""What a robot is told is what the parameters ask for in the scene at hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from graspline.episodes.scenario import Scenario
from graspline.parameters import load
from graspline.tasks.catalogue import TASKS, find_task
from graspline.tasks.task import Instruction


def instruction(
    name: str, plain: Mapping[str, Any], seed: int = 5, outcomes: Mapping[str, str] | None = None
) -> Instruction:
    task = find_task(name)
    scenario = Scenario(task=task, parameters=load(task.parameters, plain), seed=seed)
    return task.instruct(scenario.parameters, scenario.sample(), outcomes or {})


@pytest.mark.parametrize(
    ("plain", "sentence", "count"),
    [
        ({}, "Put every orange on the plate.", 3),
        ({"oranges": {"count": 1}}, "Put the orange on the plate.", 1),
        ({"targets": {"choose": "nearest:1"}}, "Put the nearest orange on the plate.", 1),
        ({"targets": {"choose": "nearest:2"}}, "Put the two nearest oranges on the plate.", 2),
        ({"targets": {"choose": "nearest:3"}}, "Put every orange on the plate.", 3),
        ({"targets": {"choose": "2"}}, "Put the middle orange on the plate.", 1),
        ({"targets": {"choose": "orange_3,1"}}, "Put the leftmost orange and the rightmost orange on the plate.", 2),
        (
            {"oranges": {"count": 2}, "plate": {"present": False}, "targets": {"choose": "2"}},
            "Put the rightmost orange where the plate would be.",
            1,
        ),
    ],
)
def test_oranges_are_named_by_where_they_lie(plain: Mapping[str, Any], sentence: str, count: int) -> None:
    found = instruction("oranges", plain)
    assert found.sentence == sentence
    assert len(found.objects) == count


@pytest.mark.parametrize(
    ("place", "end"), [("back", "and put it back where it was."), ("random", "and put it on the mark.")]
)
def test_a_grab_names_object_and_place(place: str, end: str) -> None:
    plain = {"order": {"target": "green_2x3", "place": place, "variables": "given"}}
    found = instruction("grab", plain)
    assert found.sentence == f"Pick up the green block {end}"
    assert found.objects == ("green_2x3",)


def test_a_grab_across_the_long_side_says_so() -> None:
    plain = {"order": {"target": "green_2x3", "variables": "given"}, "grasp": {"cross_axis": True}}
    assert "the green block across its long side and" in instruction("grab", plain).sentence


@pytest.mark.parametrize(
    ("plain", "sentence"),
    [
        ({}, "Sort the blocks by colour."),
        (
            {"rules": {"unknown": "reject"}},
            "Sort the blocks by colour, and put blocks of any other colour on the reject belt.",
        ),
        (
            {"rules": {"red": "bin_blue"}},
            "Put red blocks on the blue belt, green blocks on the green belt and blue blocks on the blue belt.",
        ),
    ],
)
def test_sorting_says_which_colour_goes_where(plain: Mapping[str, Any], sentence: str) -> None:
    assert instruction("sort", {"belt": {"blocks": 1}, **plain}).sentence == sentence


@pytest.mark.parametrize(
    ("plain", "sentence"),
    [
        ({}, "Take the closest object off the table and put it on the shelf."),
        ({"then": "handover"}, "Take the closest object off the table and hand it over."),
        ({"object_to_grasp": "soup_can"}, "Take the soup can off the table and put it on the shelf."),
        ({"program": "clear_table"}, "Clear the table: hand everything over."),
        (
            {"program": "clear_table", "rules": {"shelf": ["mug", "unknown"]}},
            "Clear the table: put the mug and unknown objects on the shelf and hand over the rest.",
        ),
        ({"program": "robot_setup"}, "Stand in front of the table and look at it."),
        ({"program": "find_grasp"}, "Find out how to grasp the closest object."),
        ({"program": "execute_grasp"}, "Take the closest object off the table."),
        ({"program": "placement", "alone": {"object": "mug"}}, "Put the mug in your hand on the shelf."),
        ({"program": "handover", "alone": {"object": "mug"}}, "Hand over the mug in your hand."),
    ],
)
def test_tidying_says_what_and_where_to(plain: Mapping[str, Any], sentence: str) -> None:
    assert instruction("tidy", {"table": {"count": [1, 1]}, **plain}).sentence == sentence


def test_what_a_person_answered_counts_more_than_the_parameters() -> None:
    table = {"table": {"count": [1, 1]}}
    given = {"ask_program": "single_grasp", "single_grasp.ask_then": "handover"}
    assert instruction("tidy", table, outcomes=given).sentence.endswith("and hand it over.")
    assert instruction("tidy", table, outcomes={"ask_program": "clear_table"}).sentence.startswith("Clear the table")


@pytest.mark.parametrize("name", sorted(TASKS))
def test_every_task_says_in_a_sentence_about_objects_that_there_are(name: str) -> None:
    task = find_task(name)
    found = instruction(name, {})
    assert found.sentence[0].isupper()
    assert found.sentence.endswith(".")
    assert set(found.objects) <= set(task.scene(task.parameters()).object_names)
