from __future__ import annotations

import pytest

from graspline.errors import EnvironmentProblem, GrasplineError, InputError, WiringError, nearest, together


def test_every_error_has_the_documented_exit_code() -> None:
    codes = {GrasplineError: 5, WiringError: 5, InputError: 2, EnvironmentProblem: 3}
    for kind, code in codes.items():
        assert issubclass(kind, GrasplineError)
        assert kind.exit_code == code


def test_an_input_error_tells_all_problems_one_per_line() -> None:
    error = InputError(each for each in ("first", "second"))
    assert error.problems == ("first", "second")
    assert str(error) == "first\nsecond"


def test_an_input_error_of_one_problem_is_that_problem() -> None:
    assert InputError("only one").problems == ("only one",)
    assert str(InputError("only one")) == "only one"


@pytest.mark.parametrize(
    "name, hint",
    [
        ("lfit", "did you mean 'lift'? known: close, lift, look"),
        ("loook", "did you mean 'look'? known: close, lift, look"),
        ("zzzz", "known: close, lift, look"),
        ("", "known: close, lift, look"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest_and_all_known_ones(name: str, hint: str) -> None:
    assert nearest(name, ["look", "lift", "close"]) == hint


def test_a_hint_does_not_depend_on_the_order_of_names() -> None:
    assert nearest("lok", {"look": 1, "lock": 2}) == nearest("lok", ["lock", "look"])


def test_a_hint_without_any_known_name_is_still_a_sentence() -> None:
    assert nearest("x", []) == "there are none"


def test_bad_input_found_in_several_places_is_raised_together() -> None:
    def refuse(*problems: str) -> None:
        raise InputError(problems)

    assert together(lambda: 1, lambda: "two") == [1, "two"]
    with pytest.raises(InputError) as refused:
        together(lambda: refuse("a", "b"), lambda: 1, lambda: refuse("c"))
    assert refused.value.problems == ("a", "b", "c")
