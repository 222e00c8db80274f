"""Films show things the task would see: not its own hand, nor what is not there any more."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from graspline.kinematics import hsr
from graspline.perception.core.beliefs import Belief
from graspline.tasks.tidy import annotation
from graspline.tasks.tidy.annotation import RoomAnnotator

from .stagecraft import BLACK, READY, SETTINGS, TABLE_M, solid

GREY = replace(BLACK, rgb=np.full_like(BLACK.rgb, 90))


def shown(monkeypatch: pytest.MonkeyPatch, found: list[tuple[Belief, ...]], joints: np.ndarray) -> list[list[Belief]]:
    """What is drawn in film pictures a second apart in which these things are found; the head is still."""
    drawn: list[list[Belief]] = []
    looks = iter(found)
    monkeypatch.setattr(RoomAnnotator, "_see", lambda self, *_: next(looks))
    monkeypatch.setattr(annotation, "overlay_solids", lambda rgb, *_: drawn.append(list(_[-1])) or rgb)
    annotate = RoomAnnotator(SETTINGS)
    for second in range(len(found) + 1):
        annotate(GREY, 1.1 * second, joints)
    return drawn[1:]


def test_what_the_hand_holds_is_no_thing_unless_it_stood_there_before(monkeypatch: pytest.MonkeyPatch) -> None:
    tool, _ = hsr.forward(READY)
    there, mug = solid("soup_can", (tool[0], tool[1], tool[2] - 0.05)), solid("mug")
    lifted = replace(there, half_extents_m=there.half_extents_m + np.array([0.0, 0.0, 0.04]))
    assert shown(monkeypatch, [(there, mug), (mug,)], READY) == [[mug], [mug]]
    before = shown(monkeypatch, [(there, mug)], READY + np.eye(len(READY))[0])[0]
    assert [each.name for each in before] == ["soup_can", "mug"]
    assert not annotation._is_held(there, tool, (there,))
    assert annotation._is_held(lifted, tool, (there,))


def test_a_box_around_what_is_gone_does_not_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    mug, can = solid("mug"), solid("soup_can", (1.3, 0.2, TABLE_M))
    monkeypatch.setattr(annotation, "empty_share", lambda thing, view: 1.0 if thing is can else 0.0)
    assert shown(monkeypatch, [(mug, can)], READY) == [[mug]]


def test_the_robots_own_parts_are_told_to_be_no_things(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[set[str]] = []

    def seeing(*arguments: object) -> None:
        own = arguments[-1]
        assert isinstance(own, tuple)
        told.append({each.name for each in own})

    monkeypatch.setattr(annotation, "see", seeing)
    annotate = RoomAnnotator(SETTINGS)
    for time_s in (0.0, 0.1):
        annotate(GREY, time_s, READY)
    assert {"palm_body", "left_pad", "wrist_barrel"} <= told[0]
