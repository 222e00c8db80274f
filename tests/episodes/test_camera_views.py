"""Cameras, sizes and rates as people write them."""

from __future__ import annotations

from typing import Any

import pytest

from graspline.choices import DEFAULT_VIEWS
from graspline.episodes.camera_views import View, parse_views, ticks_per_frame, view_of, views_of
from graspline.errors import InputError
from graspline.tasks.catalogue import TASKS
from graspline.tasks.task import Task

CAMERAS = ("front", "wrist")


def test_text_and_mappings_mean_the_same() -> None:
    views = (View(camera="front", width=640, height=480), View(camera="wrist", width=320, height=240))
    assert parse_views("front:640x480, wrist:320x240", CAMERAS) == views
    assert parse_views({"front": (640, 480), "wrist": "320x240"}, CAMERAS) == views


def test_a_view_is_read_from_how_it_prints() -> None:
    view = View("wrist", 320, 240)
    assert view_of(str(view)) == view
    assert view.key == "observation.images.wrist"
    with pytest.raises(ValueError, match="is not a view"):
        view_of("wrist:320")


@pytest.mark.parametrize("given", ["none", "", {}])
def test_no_view_is_a_choice(given: str | dict[str, object]) -> None:
    assert parse_views(given, CAMERAS) == ()


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_every_task_has_the_usual_cameras(task: Task[Any]) -> None:
    front, *others = views_of(task.scene(task.parameters()), DEFAULT_VIEWS)
    assert front.camera == "front"
    assert {view.camera for view in others} in ({"wrist"}, {"head", "hand"})


@pytest.mark.parametrize(
    "given, words",
    [
        ("side:640x480", "no camera 'side'; known: front, wrist"),
        ("front", "front: expected a size such as 640x480, even and 16 to 4096 pixels; got ''"),
        ("front:640", "got '640'"),
        ("front:63x48", "got '63x48'"),
        ("front:0x480", "got '0x480'"),
        ("front:99999x480", "got '99999x480'"),
        ({"front": (640.0, 480)}, "got (640.0, 480)"),
        ({"front": None}, "got None"),
        ("front:64x48,front:32x24", "front is named twice"),
        ("front:64x48,", "no camera ''"),
    ],
)
def test_what_is_no_view_is_refused_in_words(given: str | dict[str, object], words: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_views(given, CAMERAS, "cameras")
    assert f"cameras: {words}" in str(refused.value) or words in str(refused.value)


def test_every_wrong_view_is_named() -> None:
    with pytest.raises(InputError) as refused:
        parse_views("side:640x480,front:1x1", CAMERAS)
    assert len(refused.value.problems) == 2


@pytest.mark.parametrize("fps, ticks", [(60, 1), (30, 2), (20, 3), (12, 5), (1, 60)])
def test_a_frame_is_a_whole_number_of_ticks(fps: int, ticks: int) -> None:
    assert ticks_per_frame(fps, 60) == ticks


@pytest.mark.parametrize("fps", [0, -30, 25, 120, 30.0, True, "30", None])
def test_other_rates_are_refused_with_those_that_work(fps: object) -> None:
    with pytest.raises(InputError, match="does not divide the control rate of 60 Hz; use 60, 30, 20, 15, 12, 10"):
        ticks_per_frame(fps, 60)
