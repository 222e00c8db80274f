"""Which oranges are asked for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graspline.tasks.oranges.parameters import FruitParameters, Oranges, TargetParameters
from graspline.tasks.oranges.targets import chosen, named_targets, target_problems

from .stagecraft import at, seen_ball, survey_of

SURVEY = survey_of(
    seen_ball("orange_1", at(0.3, 0.5)),
    seen_ball("orange_2", at(0.2, 0.0)),
    seen_ball("orange_3", at(0.25, -0.5)),
    seen_ball("stranger_1", at(0.15, 0.0)),
)


def asking(text: str, count: int = 3) -> Oranges:
    return Oranges(oranges=FruitParameters(count=count), targets=TargetParameters(choose=text))


@pytest.mark.parametrize(
    "text, names",
    [
        ("all", ("orange_1", "orange_2", "orange_3")),
        (" all ", ("orange_1", "orange_2", "orange_3")),
        ("2", ("orange_2",)),
        ("3,1", ("orange_3", "orange_1")),
        ("orange_3", ("orange_3",)),
        ("orange_3, 1", ("orange_3", "orange_1")),
        ("nearest", ("orange_2",)),
        ("nearest:1", ("orange_2",)),
        ("nearest:2", ("orange_2", "orange_3")),
        ("nearest:3", ("orange_2", "orange_3", "orange_1")),
    ],
)
def test_oranges_are_chosen_by_key_by_name_by_distance_or_all(text: str, names: tuple[str, ...]) -> None:
    assert target_problems(asking(text)) == []
    assert chosen(asking(text), SURVEY) == names


@pytest.mark.parametrize(
    "text, problem",
    [
        ("4", "targets.choose: there is no orange with key 4; keys are 1 to 3"),
        ("0", "targets.choose: there is no orange with key 0; keys are 1 to 3"),
        ("orange_7", "targets.choose: unknown orange 'orange_7'; did you mean"),
        ("apple", "targets.choose: unknown orange 'apple'; known: orange_1, orange_2, orange_3"),
        ("nearest:4", "targets.choose: 'nearest:4' asks for 4 of 3 oranges"),
        ("nearest:0", "targets.choose: 'nearest:0' asks for 0 of 3 oranges"),
        ("nearest:two", "targets.choose: 'nearest:two' asks for two of 3 oranges"),
        ("", "targets.choose: empty"),
        (" , ", "targets.choose: empty"),
        ("1,1", "targets.choose: '1,1' names an orange twice"),
        ("2,orange_2", "targets.choose: '2,orange_2' names an orange twice"),
    ],
)
def test_what_cannot_be_asked_for_is_said_with_what_can(text: str, problem: str) -> None:
    (found,) = target_problems(asking(text))
    assert found.startswith(problem)


def test_every_wrong_name_is_told_at_once() -> None:
    found = target_problems(asking("1, 9, apple"))
    assert len(found) == 2


@given(st.text(max_size=12))
def test_whatever_is_asked_for_is_either_refused_or_names_oranges_that_exist(text: str) -> None:
    settings = asking(text)
    if not target_problems(settings):
        names = chosen(settings, SURVEY)
        assert names
        assert len(set(names)) == len(names)
        assert set(names) <= {"orange_1", "orange_2", "orange_3"}


@given(
    st.lists(st.sampled_from(["1", "2", "3", "orange_1", "orange_2", "orange_3", "4", " ", "-1", "all"]), max_size=4)
)
def test_lists_of_keys_and_names_are_either_refused_or_name_oranges_once(parts: list[str]) -> None:
    settings = asking(",".join(parts))
    if not target_problems(settings):
        names = chosen(settings, SURVEY)
        assert len(set(names)) == len(names)
        assert set(names) <= {"orange_1", "orange_2", "orange_3"}


def test_which_are_the_nearest_is_not_known_from_the_parameters() -> None:
    assert named_targets(asking("nearest:2")) == ()
    assert named_targets(asking("2")) == ("orange_2",)
