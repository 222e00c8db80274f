"""The page of `tidy` on a phone: a question of the task, and controls that nothing covers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from graspline.serve.hosting import Hosted
from graspline.serve.panel.joints_section import travel
from graspline.tasks.catalogue import find_task

from .browsers import PHONE, Visitor, chromium, serving

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]


@pytest.fixture(scope="module")
def running() -> Iterator[Hosted]:
    with serving("tidy", find_task("tidy").parameters(), 0) as running:
        yield running


@pytest.fixture(scope="module")
def visitor(running: Hosted) -> Iterator[Visitor]:
    with chromium() as browser:
        visitor = Visitor(browser, running, PHONE)
        yield visitor
        visitor.leave()


def test_on_a_phone_no_control_is_covered_and_the_scene_is_seen(visitor: Visitor) -> None:
    page = visitor.page
    visitor.until(lambda: visitor.button("Show cameras").is_visible(), "cameras that are hidden at first")
    for show in (False, True):
        if show:
            visitor.press("Show cameras")
            visitor.until(page.locator("#graspline-cameras img").first.is_visible, "pictures")
        for name in ("Run", "Record", "Take control"):
            visitor.until(
                lambda name=name: not visitor.covered_by_a_camera(visitor.button(name)), f"{name} that is free"
            )
            box = visitor.button(name).bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= PHONE["width"]
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert page.locator("canvas").first.bounding_box()["height"] > 150
    visitor.press("Hide cameras")


def test_a_question_is_asked_in_words_with_a_countdown_and_answered_by_a_button(visitor: Visitor) -> None:
    with visitor.waiting_at(lambda snapshot: bool(snapshot.question)):
        visitor.press("Run")
        visitor.until(lambda: visitor.page.locator("[data-question]").is_visible(), "the question")
        visitor.until(lambda: "What shall I do?" in visitor.shown("question"), "the question in words")
        visitor.until(lambda: "One object" in visitor.shown("question"), "what is done if there is no answer")
        visitor.until(lambda: visitor.shown("countdown") == "30 s", "the countdown")
        visitor.until(lambda: visitor.button("One object").is_visible(), "an answer")
        answer = visitor.button("Clear the table")
        assert answer.bounding_box()["height"] >= 40
        assert not visitor.covered_by_a_camera(answer)
        answer.click()
        visitor.until(lambda: not visitor.snapshot.question, "the answer")
    visitor.until(lambda: not answer.is_visible(), "no question")
    answers = [each.outcome for each in visitor.snapshot.history if each.state == "ask_program"]
    assert answers == ["clear_table"]
    visitor.page.locator("#graspline-stop").click()
    visitor.until(lambda: visitor.snapshot.verdict == "interrupted", "the end")


def test_a_base_on_wheels_goes_no_farther_than_the_floor(running: Hosted) -> None:
    scene = running.house.session.scene
    low_m, high_m = travel(scene, scene.robot.joints.index("base_x"))
    assert -4.0 < low_m < 0.0 < high_m < 5.0
    lift = scene.robot.joints.index("arm_lift")
    assert travel(scene, lift) == (scene.robot.limits.lower[lift], scene.robot.limits.upper[lift])
