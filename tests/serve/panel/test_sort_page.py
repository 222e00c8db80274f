"""The page of `sort`: another robot, more cameras, and a world that goes on by itself."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from graspline.kinematics.reach import reach_of
from graspline.parameters import build
from graspline.robots.ur5e import UR5E
from graspline.serve.hosting import Hosted
from graspline.tasks.sort.parameters import Sort

from .browsers import Visitor, chromium, serving

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

PARAMETERS = build(Sort, None, ["belt.blocks=12", "belt.density_per_m=5"])


@pytest.fixture(scope="module")
def running() -> Iterator[Hosted]:
    with serving("sort", PARAMETERS, 1) as running:
        yield running


@pytest.fixture(scope="module")
def visitor(running: Hosted) -> Iterator[Visitor]:
    with chromium() as browser:
        visitor = Visitor(browser, running)
        yield visitor
        visitor.leave()


def test_blocks_ride_through_the_scene(visitor: Visitor) -> None:
    world = visitor._running.panel._world
    shown = {name: frame for name, frame in world._bodies.items() if name.startswith("block_") and frame.visible}
    assert shown
    name = next(iter(shown))
    before = float(shown[name].position[1])
    visitor.until(lambda: float(shown[name].position[1]) < before - 0.03, "riding on")


def test_there_is_a_slider_for_each_joint_and_the_tool_goes_where_its_target_says(visitor: Visitor) -> None:
    visitor.unfold("Joints and tool")
    visitor.until(lambda: visitor.page.get_by_role("slider").count() == 7, "seven sliders")
    visitor.press("Move there")
    visitor.until(lambda: visitor.snapshot.message == "move tool: there", "the answer")
    reach = reach_of(UR5E)
    assert reach is not None
    np.testing.assert_allclose(visitor.snapshot.tcp.position_m, reach.example().position_m, atol=3e-3)


def test_every_camera_is_shown_beside_the_scene_and_can_be_hidden_and_enlarged(visitor: Visitor) -> None:
    images = visitor.page.locator("#graspline-cameras img")
    names = [images.nth(index).get_attribute("alt") for index in range(images.count())]
    assert names == [f"camera {name}" for name in visitor.session.cameras]
    assert {"camera wrist", "camera overhead"} <= set(names)
    for index in range(images.count()):
        visitor.until(lambda index=index: images.nth(index).get_attribute("data-pictures") is not None, "a picture")
    scene = visitor.page.locator("canvas").first

    def ends_above() -> bool:
        low, first = scene.bounding_box(), images.first.bounding_box()
        return first["y"] >= low["y"] + low["height"] - 1

    visitor.until(ends_above, "pictures below the scene")
    for name in ("Run", "Record"):
        assert not visitor.covered_by_a_camera(visitor.button(name)), name
    height = images.first.bounding_box()["height"]
    images.first.click()
    visitor.until(lambda: images.first.bounding_box()["height"] > 1.5 * height, "a large picture")
    visitor.until(ends_above, "large pictures below the scene")
    visitor.press("Hide cameras")
    visitor.until(lambda: not images.first.is_visible(), "hidden pictures")
    visitor.press("Show cameras")


def test_the_task_runs_shows_its_states_and_evidence_and_is_stopped(visitor: Visitor) -> None:
    visitor.unfold("Inject a fault")
    visitor.until(lambda: visitor.button("remove").is_visible(), "the faults")
    offered = visitor.page.get_by_role("button").all_inner_texts()
    assert "remove" in offered
    assert "move-plate" not in offered
    visitor.press("Run")
    visitor.until(lambda: any(each.outcome == "gripped" for each in visitor.snapshot.history), "a catch")
    visitor.until(lambda: "gripped" in visitor.shown("history"), "its line on the page")
    visitor.page.locator("#graspline-stop").click()
    visitor.until(lambda: visitor.snapshot.verdict == "interrupted", "the end")
    visitor.idle()
    visitor.until(lambda: "interrupted" in visitor.shown("verdict"), "the verdict on the page")
