"""The real page in a real browser, against the real simulation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from graspline.parameters import build
from graspline.robots.so101 import HOME
from graspline.serve.hosting import Hosted
from graspline.serve.live.commands import Home, ResetScene
from graspline.serve.live.snapshot import SessionSnapshot
from graspline.tasks.grab.parameters import Grab

from .browsers import Visitor, serving

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

# In the scene of seed 2 all but the can can be grabbed.
NEAR, FAR, SEED = "blue_2x4", "purple_can", 2
PARAMETERS = build(
    Grab, None, ["things.count=[4,4]", f"order.target={NEAR}", "order.place=back", "order.variables=given"]
)


@pytest.fixture(scope="module")
def running() -> Iterator[Hosted]:
    with serving("grab", PARAMETERS, SEED) as running:
        yield running


@pytest.fixture
def visitor(browser: Any, running: Hosted) -> Iterator[Visitor]:
    """A new page in front of a fresh scene, with every variable at its default."""
    session = running.house.session
    session.stop().result(300)
    session.submit(ResetScene(SEED)).result(300)
    visitor = Visitor(browser, running)
    visitor.until(lambda: len(visitor.snapshot.objects) == 4, "the list of objects")
    yield visitor
    visitor.leave()


def select(visitor: Visitor, name: str) -> None:
    """Choose an object that can be grabbed, and wait until that is found out: before, the arm is busy."""
    visitor.choose("Object", name)
    visitor.until(lambda: visitor.snapshot.message == f"{name} can be grabbed", "the check")


def approaching(snapshot: SessionSnapshot) -> bool:
    """The arm is in motion, well after its start and well before its end."""
    under_way = np.abs(snapshot.command_rad - HOME)[:-1].max() > 0.2
    return snapshot.mode == "moving" and snapshot.doing == "approach" and bool(under_way)


def test_an_object_is_chosen_previewed_and_grabbed_and_is_where_the_page_says(visitor: Visitor) -> None:
    visitor.until(lambda: visitor.button("Pick").is_disabled(), "a button that waits for an object")
    select(visitor, NEAR)
    visitor.until(lambda: "Can be picked" in visitor.shown("reach"), "the check")
    visitor.until(lambda: visitor.button("Pick").is_enabled(), "a pick")
    assert visitor.snapshot.selected == NEAR
    assert NEAR not in visitor.shown("message"), "what is said of the object is said once"
    before = visitor.snapshot.command_rad
    visitor.unfold("Grasp")
    visitor.press("Preview")
    ghosts = visitor._running.panel._world._ghosts
    visitor.until(lambda: all(frames[""].visible for frames in ghosts), "two ghosts")
    assert np.array_equal(visitor.snapshot.command_rad, before)
    visitor.press("Move to grab")
    visitor.until(lambda: visitor.snapshot.message == f"at {NEAR}", "arriving")
    ghost = ghosts[-1]["gripper"]
    np.testing.assert_allclose(visitor.snapshot.gripper.position_m, ghost.position, atol=2e-3)
    visitor.until(lambda: not any(frames[""].visible for frames in ghosts), "no ghosts where the arm has gone")
    visitor.unfold("Joints and tool")
    x, y, z = 1000 * visitor.snapshot.tcp.position_m
    visitor.until(lambda: f"x {x:.1f} y {y:.1f} z {z:.1f} mm" in visitor.shown("pose='TCP'"), "the readout")
    drawn = visitor._running.panel._world._bodies["gripper"].position
    np.testing.assert_allclose(drawn, visitor.snapshot.gripper.position_m, atol=1e-3)


def test_a_refusal_says_why_in_words_and_offers_the_way_out_as_a_button(visitor: Visitor) -> None:
    before = visitor.snapshot.command_rad
    visitor.choose("Object", FAR)
    visitor.until(lambda: "Cannot be picked" in visitor.shown("reach"), "the reason")
    assert "past its limit for a 50 mm approach." in visitor.shown("reach")
    assert "The nearest pose that works" in visitor.page.locator("[data-reach] details").text_content()
    visitor.until(lambda: visitor.shown("message") == "", "nothing that is said twice")
    visitor.until(lambda: visitor.button("New scene").is_visible(), "a way out where no setting helps")
    visitor.unfold("Grasp")
    for name in ("Pick", "Move to grab"):
        visitor.until(lambda name=name: visitor.button(name).is_disabled(), name)
    select(visitor, NEAR)
    visitor.until(lambda: not visitor.button("New scene").is_visible(), "no way out of what works")
    visitor.type("Approach height", 120)
    visitor.until(lambda: "for a 120 mm approach." in visitor.shown("reach"), "the reason")
    way_out = visitor.page.get_by_role("button", name="Use ")
    visitor.until(way_out.is_visible, "the way out")
    lower_m = float(way_out.inner_text().split()[1]) / 1000
    way_out.click()
    visitor.until(lambda: visitor.snapshot.variables["approach_height_m"] == lower_m, "the setting")
    visitor.until(lambda: "Can be picked" in visitor.shown("reach"), "the check")
    visitor.until(lambda: visitor.button("Pick").is_enabled(), "a pick")
    assert np.array_equal(visitor.snapshot.command_rad, before)
    visitor.type("Approach height", 50)
    visitor.until(lambda: visitor.snapshot.variables == PARAMETERS.grasp.model_dump(), "the defaults")


def test_clicks_in_the_scene_select_objects_and_set_the_point_to_put_them(visitor: Visitor) -> None:
    red = next(each for each in visitor.snapshot.objects if each.name == "red_2x2")
    visitor.click_scene(red.position_m + np.array([0, 0, red.size_m[2] / 2]))
    visitor.until(lambda: visitor.snapshot.selected == "red_2x2", "selecting by a click")
    visitor.click_scene(np.array([0.30, 0.05, 0.0]))
    place = visitor._field("Put it down")
    visitor.until(lambda: place.input_value() == "At the point below", "the point")
    page = visitor._running.panel._pages
    spot_m = next(iter(page.values()))._pick.spot_m  # type: ignore[union-attr]
    assert spot_m is not None
    np.testing.assert_allclose(spot_m, [0.30, 0.05], atol=0.01)
    visitor.unfold("Grasp")
    visitor.choose("Put it down", "Back where it was")


def test_stop_works_in_the_middle_by_mouse_and_by_key(visitor: Visitor) -> None:
    box = visitor.page.locator("#graspline-stop").bounding_box()
    visitor.unfold("Grasp")
    select(visitor, NEAR)
    for by in ("mouse", "Escape", "Space"):
        with visitor.waiting_at(approaching):
            visitor.press("Move to grab")
            visitor.until(lambda: approaching(visitor.snapshot), "moving")
            if by == "mouse":
                visitor.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
            else:
                visitor.page.keyboard.press(by)
            visitor.until(lambda: visitor.snapshot.mode == "idle", "stopping")
        visitor.until(lambda: "Move to grab: stopped" in visitor.shown("message"), f"the answer to {by}")
        held = visitor.snapshot.command_rad
        visitor.page.wait_for_timeout(300)
        assert visitor.snapshot.mode == "idle"
        assert np.array_equal(visitor.snapshot.command_rad, held)
        visitor.session.submit(Home()).result(300)


def test_every_variable_the_jaw_and_each_joint_can_be_set(visitor: Visitor) -> None:
    lengths = {
        "TCP clearance": ("tcp_clearance_m", 2.5),
        "Open clearance": ("open_clearance_m", 7),
        "Close clearance": ("close_clearance_m", -1),
        "Grasp height": ("object_z_m", 14),
        "Approach height": ("approach_height_m", 30),
    }
    visitor.unfold("Grasp")
    for label, (name, value) in lengths.items():
        visitor.type(label, value)
        visitor.until(lambda name=name, value=value: visitor.snapshot.variables[name] == value / 1000, label)
    visitor.check("Cross-axis", True)
    visitor.check("TCP offset", False)
    visitor.choose("TCP", "between")
    visitor.until(lambda: visitor.snapshot.variables["tcp"] == "between", "the convention")
    visitor.until(lambda: visitor.snapshot.variables["cross_axis"] is True, "cross-axis")
    visitor.until(lambda: visitor.snapshot.variables["tcp_offset"] is False, "the offset")
    assert set(visitor.snapshot.variables) == {name for name, _ in lengths.values()} | {
        "cross_axis",
        "tcp_offset",
        "tcp",
    }
    for label, value in zip(lengths, (1, 5, 0, 0, 50), strict=True):
        visitor.type(label, value)
    visitor.check("Cross-axis", False)
    visitor.check("TCP offset", True)
    visitor.choose("TCP", "fixed_tip")
    visitor.until(lambda: visitor.snapshot.variables == PARAMETERS.grasp.model_dump(), "the defaults")
    visitor.unfold("Grasp")
    before = visitor.snapshot.command_rad[:-1]
    visitor.unfold("Gripper")
    visitor.type("Open to (°)", 45)
    visitor.type("Close to (°)", 10)
    visitor.press("Open")
    visitor.until(lambda: abs(np.degrees(visitor.snapshot.command_rad[-1]) - 45) < 1e-6, "opening")
    visitor.idle()
    visitor.press("Close")
    visitor.until(lambda: abs(np.degrees(visitor.snapshot.command_rad[-1]) - 10) < 1e-6, "closing")
    assert np.array_equal(visitor.snapshot.command_rad[:-1], before)
    visitor.idle()
    visitor.unfold("Joints and tool")
    before = visitor.snapshot.command_rad
    field = visitor.page.get_by_role("slider").first.locator("xpath=following::input[@inputmode][1]")
    field.fill("20")
    field.press("Enter")
    visitor.until(lambda: abs(np.degrees(visitor.snapshot.command_rad[0]) - 20) < 1e-6, "the jog")
    assert np.array_equal(visitor.snapshot.command_rad[1:], before[1:])


def test_a_task_runs_and_recovers_from_a_fault_and_the_page_tells(visitor: Visitor) -> None:
    visitor.unfold("Inject a fault")
    with visitor.waiting_at(lambda snapshot: snapshot.state == "hold"):
        visitor.press("Run")
        visitor.until(lambda: visitor.snapshot.state == "hold", "holding")
        visitor.press("drop")
        visitor.until(lambda: visitor.snapshot.state != "hold", "the drop")
    with visitor.hurrying():
        visitor.until(lambda: visitor.snapshot.verdict != "", "the end")
    visitor.until(lambda: visitor.shown("verdict") == visitor.snapshot.verdict, "the verdict")
    assert visitor.snapshot.verdict == "success"
    outcomes = {(each.state, each.outcome) for each in visitor.snapshot.history}
    assert outcomes & {("hold", "dropped"), ("hold", "slipped")}
    visitor.until(lambda: "confirmed" in visitor.shown("history"), "the history")
    visitor.until(lambda: visitor.page.locator("[data-diagram]").count() == 1, "one diagram")
    visitor.until(lambda: "grasps 1" in visitor.shown("retries"), "the retry")


def test_a_second_page_watches_and_can_stop_but_not_drive(visitor: Visitor, browser: Any, running: Hosted) -> None:
    visitor.press("Take control")
    other = Visitor(browser, running)
    try:
        visitor.until(lambda: visitor.session.lease.holder != "", "taking control")
        holder = visitor.session.lease.holder
        other.until(lambda: f"{holder} is in control" in other.shown("lease"), "who is in control")
        for name in ("Pick", "Run", "Record"):
            other.until(lambda name=name: other.button(name).is_disabled(), name)
        for section, name in (("Grasp", "Move to grab"), ("Gripper", "Grasp open"), ("Joints and tool", "Home")):
            other.unfold(section)
            other.until(lambda name=name: other.button(name).is_disabled(), name)
        select(visitor, NEAR)
        with visitor.waiting_at(approaching):
            visitor.press("Pick")
            visitor.until(lambda: approaching(visitor.snapshot), "moving")
            assert visitor.snapshot.state == "move"
            other.page.keyboard.press("Escape")
            visitor.until(lambda: "stopped" in visitor.snapshot.message, "the stop")
        visitor.press("Release")
        other.until(lambda: other.button("Pick").is_enabled(), "a free lease")
    finally:
        other.leave()


def test_a_browser_that_is_closed_in_the_middle_leaves_an_arm_that_holds(browser: Any, running: Hosted) -> None:
    session = running.house.session
    session.stop().result(300)
    session.submit(ResetScene(SEED)).result(300)
    for operator in [operator for _, operator in running.panel._clients.values()]:
        operator.release()
    leaving = Visitor(browser, running)
    select(leaving, NEAR)
    leaving.unfold("Grasp")
    with leaving.waiting_at(approaching):
        leaving.press("Move to grab")
        leaving.until(lambda: approaching(leaving.snapshot), "moving")
        driver = session.lease.holder
        leaving.leave()
        numbers = session.snapshot.number
        while session.snapshot.mode != "idle":
            numbers = session.wait(numbers, 1.0).number
    held = session.snapshot.command_rad
    assert session.wait(session.snapshot.number + 10, 1.0).mode == "idle"
    assert np.array_equal(session.snapshot.command_rad, held)
    assert session.snapshot.message == "move to grab: stopped"
    assert driver.startswith("panel-")
    assert session.lease.holder == ""
    session.submit(Home()).result(300)
