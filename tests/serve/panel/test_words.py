"""What the page says of numbers and refusals."""

from __future__ import annotations

import math

import pytest

from graspline.evidence import Measurement, at_least, at_most
from graspline.serve.panel.quantities import limit, plain_name, quantity
from graspline.serve.panel.questions import answer_words
from graspline.serve.panel.refusals import capital, nearest, sentence, way_out
from graspline.tasks.console import Refused

APPROACHING = "for a 50 mm approach"


def refusal(check: str, when: str, measured: Measurement, **data: object) -> Refused:
    return Refused(reason="no", evidence=(measured,), data={"check": check, "when": when, **data})


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (0.009046, "m", "9 mm"),
        (2.552e-11, "m/s", "< 0.1 mm/s"),
        (-0.0, "m", "0 mm"),
        (0.2517, "m", "252 mm"),
        (4e-06, "m²", "4 mm²"),
        (math.pi / 2, "rad", "90°"),
        (0.125, "kg", "125 g"),
        (2.0, "", "2"),
        (math.nan, "N", "no data"),
    ],
)
def test_numbers_are_shown_in_units_people_read(value: float, unit: str, shown: str) -> None:
    assert quantity(value, unit) == shown


@pytest.mark.parametrize(
    "text, shown",
    [
        ("reset: 3 objects", "Reset: 3 objects"),
        ("done", "Done"),
        ("orange_1 was picked and put down", "orange_1 was picked and put down"),
        ("blue_2x4: unreachable", "blue_2x4: unreachable"),
        ("", ""),
    ],
)
def test_a_message_begins_with_a_capital_letter_unless_it_begins_with_a_name(text: str, shown: str) -> None:
    assert capital(text) == shown


def test_limits_and_names_are_words() -> None:
    assert limit(at_most("speed", 1.0, 0.01, "m/s")) == "at most 10 mm/s"
    assert plain_name("single_grasp.find_grasp") == "single grasp: find grasp"
    words = {"single_grasp": "One object"}
    assert [answer_words(each, words) for each in ("single_grasp", "look_again")] == ["One object", "Look again"]


@pytest.mark.parametrize(
    ("check", "when", "measured", "said"),
    [
        ("ik", APPROACHING, at_most("wrist_beyond_reach", 0.009046, 0.0, "m"), "9 mm too far for a 50 mm approach."),
        (
            "ik",
            APPROACHING,
            at_most("wrist_flex", 1.642, 1.607, "rad"),
            "Joint wrist flex would have to turn 2° past its limit for a 50 mm approach.",
        ),
        ("workspace", "", at_least("tip_radius", 0.08, 0.1, "m"), "20 mm too close to the arm."),
        ("jaw_width", "", at_most("open_gap", 0.075, 0.07, "m"), "5 mm wider than the jaws open."),
        (
            "collision",
            "when it is lifted",
            at_least("jaw_to_red_2x2", -0.002, 0.0005, "m"),
            "The jaw would hit the red 2x2 when",
        ),
    ],
)
def test_a_refusal_is_a_sentence(check: str, when: str, measured: Measurement, said: str) -> None:
    assert sentence(refusal(check, when, measured)).startswith(said)


def test_a_refusal_without_a_check_says_its_reason() -> None:
    assert sentence(Refused(reason="red_2x2 is no longer on the table")).endswith("no longer on the table")


def test_the_way_out_is_a_button_that_sets_what_helps() -> None:
    far = at_most("wrist_beyond_reach", 0.009, 0.0, "m")
    assert way_out(refusal("ik", APPROACHING, far, change={"approach_height_m": 0.04})) == (
        "Use 40 mm",
        {"approach_height_m": 0.04},
    )
    both = refusal("open_clearance", "grasp", far, change={"tcp_offset": True, "open_clearance_m": 0.007})
    found = way_out(both)
    assert found is not None
    assert found[0] == "Set TCP offset on and Open clearance to 7 mm"
    assert way_out(refusal("ik", "grasp", far)) is None


def test_the_nearest_pose_is_told_if_the_object_would_have_to_move() -> None:
    far = at_most("wrist_beyond_reach", 0.009, 0.0, "m")
    assert nearest(refusal("ik", "grasp", far, nearest={"distance_m": 0.031, "turn_rad": 0.0})) == (
        "The nearest pose that works is 31 mm away."
    )
    assert nearest(refusal("ik", "grasp", far, nearest={"distance_m": 0.0, "turn_rad": 0.0})) == ""
