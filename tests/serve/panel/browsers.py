"""A real browser at a real page: what a person would do, in words."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graspline.parameters import Parameters
from graspline.serve.archive import open_archive
from graspline.serve.hosting import Hosted, ListenAddress, hosted
from graspline.serve.live.session import Session
from graspline.serve.live.snapshot import SessionSnapshot
from graspline.serve.panel.panel import FOV_RAD, viewpoint
from graspline.tasks.catalogue import find_task

playwright = pytest.importorskip("playwright.sync_api", reason="panel tests need playwright: pip install playwright")
CHROMIUM = Path("/usr/bin/chromium")
# WebGL without a graphics card; composing the page that way too would be twenty times slower.
_ARGUMENTS = ("--no-sandbox", "--disable-background-networking", "--disable-gpu", "--enable-unsafe-swiftshader")
# A deadline is for what would never happen, on a machine with eight times as much to do as it can.
PATIENCE_S = 400.0
# Pixels of the scene for one of the page, each way. Without a graphics card all of them take a second to draw, and a
# page that draws does nothing else.
_DETAIL = 0.2
# viser's folders: a sheet with a heading that is a sheet, too.
_HEADING = ".mantine-Paper-root > .mantine-Paper-root"
# The sizes of a desk and of a phone.
DESK, PHONE = {"width": 1240, "height": 760}, {"width": 400, "height": 800}


@contextmanager
def serving(task: str, parameters: Parameters, seed: int, record: Path | None = None) -> Iterator[Hosted]:
    """Everything that `graspline serve` starts, in this process."""
    found = find_task(task)
    way = ListenAddress(host="127.0.0.1", port=0, addresses=frozenset())
    with (
        open_archive(found, parameters, seed, record) as archive,
        hosted(found, parameters, seed, archive, way) as running,
    ):
        yield running


@contextmanager
def chromium() -> Iterator[Any]:
    if not CHROMIUM.exists():
        pytest.skip("panel tests need a browser: apt install chromium")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, headless=True, args=list(_ARGUMENTS))
        yield browser
        browser.close()


class Visitor:
    """One page, and the session behind it."""

    def __init__(self, browser: Any, running: Hosted, size: dict[str, int] = DESK) -> None:
        self._running = running
        self._opened: set[str] = set()
        # Each with cookies of its own.
        self._context = browser.new_context(viewport=size)
        self.page = self._context.new_page()
        self.page.set_default_timeout(PATIENCE_S * 1000)
        # The printed address gives a cookie and leads on to a page that draws everything.
        self._context.request.get(running.address)
        self.page.goto(f"{running.address.partition('?')[0]}?fixedDpr={_DETAIL}")
        self.page.get_by_role("button", name="Run", exact=True).wait_for()

    @property
    def session(self) -> Session:
        return self._running.house.session

    @property
    def snapshot(self) -> SessionSnapshot:
        return self.session.snapshot

    def leave(self) -> None:
        self._context.close()

    def text(self, words: str) -> Any:
        return self.page.get_by_text(words, exact=True)

    @property
    def sections(self) -> list[str]:
        """Headings of what can be folded."""
        return [each.strip() for each in self.page.locator(_HEADING).all_inner_texts()]

    def unfold(self, section: str) -> None:
        if section not in self._opened:
            self._opened.add(section)
            self.page.locator(_HEADING).get_by_text(section, exact=True).click()

    def button(self, name: str) -> Any:
        return self.page.get_by_role("button", name=name, exact=True)

    def press(self, name: str, nth: int = 0) -> None:
        self.page.get_by_role("button", name=name, exact=True).nth(nth).click()

    def choose(self, label: str, option: str) -> None:
        self._field(label).click()
        self.page.get_by_role("option", name=option, exact=True).click()
        self._pause()

    def type(self, label: str, value: float) -> None:
        field = self._field(label)
        field.fill(f"{value:g}")
        field.press("Enter")
        self._pause()

    def values(self) -> list[str]:
        """What all fields hold."""
        return self.page.locator("input").evaluate_all("fields => fields.map(field => field.value)")

    def check(self, label: str, on: bool) -> None:
        """Clicked as an element: a click at a place misses what an unfolding section is still moving."""
        field = self._field(label)
        if field.is_checked() != on:
            field.dispatch_event("click")
            self.until(lambda: field.is_checked() == on, label)
        self._pause()

    def _pause(self) -> None:
        """As long as a person takes at least: of all changes within 50 ms the page sends the first and the last."""
        self.page.wait_for_timeout(100)

    def _field(self, label: str) -> Any:
        named = self.page.locator("label").filter(has_text=re.compile(f"^{re.escape(label)}$"))
        return self.page.locator(f"[id='{named.first.get_attribute('for')}']")

    def shown(self, mark: str) -> str:
        """The words of a piece of the page."""
        return self.page.locator(f"[data-{mark}]").first.inner_text()

    def until(self, happened: Callable[[], bool], what: str = "it") -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not happened():
            assert time.monotonic() < deadline, f"{what} did not happen; {self.snapshot.as_dict()}"
            # The page goes on meanwhile.
            self.page.wait_for_timeout(30)

    @contextmanager
    def waiting_at(self, when: Callable[[SessionSnapshot], bool]) -> Iterator[None]:
        """The simulation stands at the first tick like that until it is given an order or a stop.

        What goes by in a second is there for however slow a page.
        """
        session, reached, over = self.session, threading.Event(), threading.Event()
        pacer, wait = session._pacer, session._pacer.wait

        def stand(*, breathe: bool = False) -> None:
            # Between two ticks, in the session's thread: no tick goes by unseen.
            if not reached.is_set() and when(session.snapshot):
                reached.set()
                while not (session._orders or session._stops or over.is_set()):
                    time.sleep(0.01)
                pacer.restart()
            wait(breathe=breathe)

        pacer.wait = stand
        try:
            yield
        finally:
            over.set()
            pacer.wait = wait

    @contextmanager
    def hurrying(self) -> Iterator[None]:
        """The simulation goes as fast as it can, where only how something ends is looked at."""
        pacer = self.session._pacer
        period_s, pacer._period_s = pacer._period_s, 0.0
        try:
            yield
        finally:
            pacer._period_s = period_s

    def covered_by_a_camera(self, locator: Any) -> bool:
        """Whether the picture of a camera lies over a control."""
        return locator.evaluate(
            """at => {
              at.scrollIntoView({block: "center"});
              const a = at.getBoundingClientRect();
              return [...document.querySelectorAll("#graspline-cameras, #graspline-cameras img")].some(each => {
                const b = each.getBoundingClientRect();
                return b.width && a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
              });
            }"""
        )

    def idle(self) -> None:
        self.until(lambda: self.snapshot.mode == "idle", "coming to rest")

    def click_scene(self, point_m: np.ndarray) -> None:
        """Click at a point of the world, as the camera stands at first."""
        eye, at = (np.array(each) for each in viewpoint(self._running.house.session.scene.robot))
        ahead = (at - eye) / np.linalg.norm(at - eye)
        right = np.cross(ahead, [0.0, 0.0, 1.0])
        right /= np.linalg.norm(right)
        apart = point_m - eye
        box = self.page.locator("canvas").first.bounding_box()
        scale = box["height"] / 2 / np.tan(FOV_RAD / 2) / (apart @ ahead)
        x = box["x"] + box["width"] / 2 + scale * (apart @ right)
        y = box["y"] + box["height"] / 2 - scale * (apart @ np.cross(right, ahead))
        self.page.mouse.click(x, y)
