from __future__ import annotations

from collections.abc import Generator
from typing import Any, Literal

import pytest

from graspline.errors import WiringError
from graspline.machine.outcome import Gives, Outcome, Producing
from graspline.machine.signature import signature_of

from .scripts import Sighting, Weight, carry, look, rest, weigh


def test_a_generator_asks_and_a_plain_function_does_not() -> None:
    assert signature_of(look).asks
    assert signature_of(carry).asks
    assert not signature_of(weigh).asks
    assert not signature_of(rest).asks


def test_inputs_are_the_parameters_with_their_types() -> None:
    assert signature_of(carry).inputs == {"place": str, "weight_kg": float}
    assert signature_of(rest).inputs == {}


def test_outcomes_are_the_literals_with_what_each_gives() -> None:
    assert signature_of(look).outcomes == {"seen": {"place": str, "count": int}, "lost": {}}
    assert signature_of(carry).outcomes == {"carried": {}, "dropped": {}}
    assert signature_of(weigh).outcomes == {"weighed": {"weight_kg": float}}


def several() -> Producing[
    Gives[Literal["seen", "guessed"], Sighting] | Gives[Literal["weighed"], Weight] | Outcome[Literal["lost", "gone"]]
]:
    raise NotImplementedError
    yield


def test_one_declaration_may_name_several_outcomes() -> None:
    assert signature_of(several).outcomes == {
        "seen": {"place": str, "count": int},
        "guessed": {"place": str, "count": int},
        "weighed": {"weight_kg": float},
        "lost": {},
        "gone": {},
    }


def hopeless() -> Generator[Any, Any, Any]:
    yield


def test_a_generator_that_does_not_say_how_it_ends_is_refused() -> None:
    with pytest.raises(WiringError, match=r"'hopeless' returns .*; expected Outcome or Gives of Literal names"):
        signature_of(hopeless)
