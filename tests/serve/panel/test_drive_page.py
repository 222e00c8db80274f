"""Driving by hand in the real page in a real browser: keys, gizmo, gamepad and recording."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graspline.datasets.format.store import Dataset
from graspline.serve.hosting import Hosted
from graspline.spatial.rotations import matrix_from_quaternion
from graspline.tasks.lift_cube import LiftCube

from .browsers import Visitor, serving

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

SEED = 5
GAMEPAD = """([axes, pressed]) => { navigator.getGamepads = () => [{
  connected: true, axes, buttons: Array.from({length: 17}, (_, index) => ({value: index === pressed ? 1 : 0}))
}]; }"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("drive") / "live"


@pytest.fixture(scope="module")
def running(folder: Path) -> Iterator[Hosted]:
    with serving("lift-cube", LiftCube(), SEED, folder) as running:
        yield running


@pytest.fixture
def visitor(browser: Any, running: Hosted) -> Iterator[Visitor]:
    visitor = Visitor(browser, running)
    visitor.page.get_by_text("Drive by hand", exact=True).click()
    yield visitor
    visitor.leave()


def tool_m(visitor: Visitor) -> np.ndarray:
    return visitor.snapshot.tcp.position_m


def drive_mode(visitor: Visitor, on: bool) -> None:
    visitor.check("Drive mode", on)
    marker = f"[data-drive][data-on='{int(on)}']"
    visitor.until(lambda: visitor.page.locator(marker).count() == 1, "the drive mode")


def pixels(visitor: Visitor, running: Hosted, point_m: np.ndarray) -> tuple[float, float]:
    """Where a point of the world is on the page, by the camera as it stands there."""
    (client,) = running.panel._server.get_clients().values()
    camera = client.camera
    apart = matrix_from_quaternion(np.array(camera.wxyz)).T @ (point_m - camera.position)
    box = visitor.page.locator("canvas").first.bounding_box()
    scale = box["height"] / 2 / np.tan(camera.fov / 2) / apart[2]
    return box["x"] + box["width"] / 2 + scale * apart[0], box["y"] + box["height"] / 2 + scale * apart[1]


def dragged_up(visitor: Visitor, running: Hosted, begin_m: np.ndarray) -> bool:
    """Drag the gizmo by the arrow that points up; whether the tool has followed by a centimetre.

    A page that is busy drawing may miss it, and then it is dragged again.
    """
    mouse, wait = visitor.page.mouse, visitor.page.wait_for_timeout
    x, y = pixels(visitor, running, tool_m(visitor) + np.array([0.0, 0.0, 0.04]))
    mouse.move(x, y)
    wait(300)
    mouse.down()
    wait(100)
    for up in range(10, 45, 5):
        mouse.move(x, y - up)
        wait(50)
    # It is held still now, and the arm goes on to where it is.
    wait(300)
    mouse.up()
    return bool(tool_m(visitor)[2] > begin_m[2] + 0.01)


def test_keys_gamepad_and_gizmo_drive_the_tool_while_the_drive_mode_is_on(visitor: Visitor, running: Hosted) -> None:
    page = visitor.page
    before = tool_m(visitor).copy()
    drive_mode(visitor, True)
    # Keys.
    page.keyboard.down("d")
    visitor.until(lambda: tool_m(visitor)[1] < before[1] - 0.02, "driving to the right")
    page.keyboard.up("d")
    visitor.idle()
    page.keyboard.down("o")
    visitor.until(lambda: visitor.snapshot.jaw_gap_m > 0.04, "opening the jaw")
    page.keyboard.up("o")
    visitor.idle()
    assert visitor.snapshot.operator.startswith("panel-")
    # What stops it is said beside them.
    page.keyboard.down("w")
    visitor.until(lambda: "edge of reach" in visitor.shown("driving"), "the edge of reach")
    page.keyboard.up("w")
    visitor.idle()
    page.keyboard.down("s")
    visitor.until(lambda: tool_m(visitor)[0] < before[0], "driving back")
    page.keyboard.up("s")
    visitor.idle()
    # A gamepad: the left stick to the left, then B.
    page.evaluate(GAMEPAD, [[-1, 0, 0, 0], -1])
    visitor.until(lambda: tool_m(visitor)[1] > before[1] - 0.01, "driving by gamepad")
    page.evaluate(GAMEPAD, [[-1, 0, 0, 0], 1])
    visitor.until(lambda: visitor.snapshot.mode == "stopping", "the stop of the gamepad")
    page.evaluate(GAMEPAD, [[0, 0, 0, 0], -1])
    visitor.idle()
    # The gizmo, by the arrow that points up, from where there is room above.
    page.keyboard.down("q")
    visitor.until(lambda: tool_m(visitor)[2] < 0.07, "driving down")
    page.keyboard.up("q")
    visitor.idle()
    begin = tool_m(visitor).copy()
    visitor.until(lambda: dragged_up(visitor, running, begin), "following the gizmo")
    visitor.idle()
    moved = tool_m(visitor) - begin
    assert np.abs(moved[:2]).max() < 5e-3
    drive_mode(visitor, False)
    page.keyboard.down("d")
    page.wait_for_timeout(500)
    page.keyboard.up("d")
    assert visitor.snapshot.mode == "idle"


def test_what_is_driven_is_recorded_from_the_page_or_discarded(visitor: Visitor, folder: Path) -> None:
    page = visitor.page
    drive_mode(visitor, True)
    visitor.press("Record an episode")
    visitor.until(lambda: visitor.snapshot.teleop == "recording", "the recording")
    visitor.press("Discard")
    visitor.until(lambda: visitor.snapshot.teleop == "", "the discarding")
    assert visitor.snapshot.episodes == 0
    visitor.press("Record an episode")
    visitor.until(lambda: visitor.snapshot.teleop == "recording", "the recording")
    before = tool_m(visitor).copy()
    page.keyboard.down("a")
    visitor.until(lambda: tool_m(visitor)[1] > before[1] + 0.02, "driving to the left")
    page.keyboard.up("a")
    visitor.until(lambda: "goal not met yet" in visitor.shown("driving"), "the goal in words")
    visitor.press("Finish and keep")
    visitor.until(lambda: "episode 0 written into live" in visitor.snapshot.message, "writing it")
    (row,) = Dataset.open(folder).rows
    assert (row["ended_by"], row["verdict"], row["seed"]) == ("person", "not_done", SEED)
    visitor.press("Record an episode")
    visitor.until(lambda: visitor.snapshot.seed == SEED + 1, "the next seed")
