"""Events as a log tells them: in words, and for how long."""

from __future__ import annotations

import typing

import pytest

from graspline.engine.events import Blind, Change, CorruptControl, Event, Misjudge, Place, Push, Roughen, See
from graspline.episodes.event_text import effect_of, words_of
from graspline.scenes.variation import Edit, friction_of, held_at

STILL = (0.0, 0.0, 0.0)
WORDS: list[tuple[Event, str]] = [
    (Push(body="cube", force_n=(3.0, 4.0, 0.0)), "cube pushed with 5 N"),
    (Push(body="cube", force_n=STILL), "cube no longer pushed"),
    (Change(edits=friction_of(("a", "b", "c"), (0.01, 0.1, 0.1))), "friction of a, b and 1 more is 0.01"),
    (Change(edits=(held_at("slip_x", 0.0025),)), "offset of slip_x is 0.0025"),
    (Change(edits=(Edit(field="geom_surfacevel", element="belt", values=(0.0, -0.2, 0.0)),)),
     "surface velocity of belt is (0, -0.2, 0)"),
    (Place(body="cube", position_m=(3.0, 3.3, 0.015)), "cube placed at (3000, 3300, 15) mm"),
    (CorruptControl(joint="elbow_flex"), "control of elbow_flex is NaN for one tick"),
    (Blind(kind="black"), "all cameras black"),
    (Blind(kind="frozen", camera="wrist"), "camera wrist frozen"),
    (Misjudge(sigma_m=0.005, seed=3), "position noise of 5 mm"),
    (Misjudge(delay_s=0.2), "observations delayed by 0.2 s"),
    (Roughen(sigma_factor=4.0), "depth 4 times as noisy"),
    (Roughen(hole_share=0.4), "40 % more pixels without depth"),
    (See(), "cameras back to normal"),
]  # fmt: skip


def test_there_are_words_for_every_event() -> None:
    assert {type(event) for event, _ in WORDS} == set(typing.get_args(Event))


@pytest.mark.parametrize("event, words", WORDS)
def test_an_event_is_told_in_words(event: Event, words: str) -> None:
    assert words_of(event) == words


def test_an_effect_is_told_with_its_time_and_what_takes_it_back_is_not() -> None:
    oiled, dry = (Change(edits=friction_of(("pad",), (friction, 0.0, 0.0))) for friction in (0.01, 0.9))
    timed = [
        (0.0, oiled),
        (0.0, Push(body="cube", force_n=(0.0, 0.0, -2.0))),
        (0.3, Push(body="cube", force_n=STILL)),
        (0.3, dry),
        (0.0, Push(body="other", force_n=STILL)),
    ]
    assert effect_of(timed, "") == "friction of pad is 0.01 for 0.3 s; cube pushed with 2 N for 0.3 s"
    assert effect_of([(0.0, Blind(kind="black")), (1.0, See())], "") == "all cameras black for 1 s"
    assert effect_of([(0.0, oiled)], "") == "friction of pad is 0.01"


def test_pads_are_named_once_together() -> None:
    pads = Change(edits=friction_of(("fixed_pad_0", "fixed_pad_1", "moving_pad_0"), (0.01, 0.1, 0.1)))
    assert words_of(pads) == "friction of the pads is 0.01"


def test_where_no_event_says_it_the_fault_is_told_as_it_is_described() -> None:
    assert effect_of([], "Whoever takes things has gone") == "Whoever takes things has gone"
    assert effect_of([(0.0, lambda context: See())], "Somebody slides the plate") == "Somebody slides the plate"
