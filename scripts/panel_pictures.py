"""Take every picture of the panel again: `python scripts/panel_pictures.py [grab] [sort] [tidy] [--out DIR]`.

Needs chromium, playwright and `pip install 'graspline[serve]'`. It draws without a graphics card, a minute or two for
each task.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

from graspline.serve.archive import open_archive
from graspline.serve.hosting import Hosted, ListenAddress, hosted
from graspline.serve.live.server_context import first_seed
from graspline.tasks.catalogue import find_task

IMAGES = Path(__file__).parents[1] / "docs" / "images"
CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = ("--no-sandbox", "--disable-background-networking", "--disable-gpu", "--enable-unsafe-swiftshader")
WIDE, DESK, PHONE = (1440, 900), (1280, 800), (400, 800)
_PATIENCE_S = 120.0


def main() -> None:
    parser = argparse.ArgumentParser(description="Take the pictures of the panel again.")
    parser.add_argument("tasks", nargs="*", metavar="TASK", help=f"of {', '.join(TASKS)}; all if left out")
    parser.add_argument("--out", type=Path, default=IMAGES, metavar="DIR", help="where they go (default: docs/images)")
    asked = parser.parse_args()
    for task in asked.tasks or TASKS:
        with served(task) as running:
            TASKS[task](running, asked.out)


@contextmanager
def served(task: str) -> Iterator[Hosted]:
    """A server of a task at the seed it starts with."""
    found = find_task(task)
    parameters = found.parameters()
    seed = first_seed(found, parameters)
    way = ListenAddress(host="127.0.0.1", port=0, addresses=frozenset())
    with (
        open_archive(found, parameters, seed, None) as archive,
        hosted(found, parameters, seed, archive, way) as running,
    ):
        yield running


@contextmanager
def opened(running: Hosted, size: tuple[int, int]) -> Iterator[Any]:
    """The page, once its controls and all its pictures are there."""
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, headless=True, args=list(ARGUMENTS))
        context = browser.new_context(viewport={"width": size[0], "height": size[1]})
        page = context.new_page()
        page.set_default_timeout(1000 * _PATIENCE_S)
        context.request.get(running.address)
        page.goto(f"{running.address.partition('?')[0]}?fixedDpr=1")
        page.get_by_role("button", name="Run", exact=True).wait_for()
        page.wait_for_function(
            "[...document.querySelectorAll('#graspline-cameras img')].every(each => each.dataset.pictures)"
        )
        for close in page.locator(".mantine-Notification-closeButton").all():
            close.click()
        yield page
        browser.close()


def shoot(page: Any, folder: Path, name: str) -> None:
    """A picture once the scene has had time to be drawn."""
    # Off the scene: what the pointer is over gets an outline.
    page.mouse.move(3, page.viewport_size["height"] - 3)
    page.wait_for_timeout(3000)
    file = folder / f"panel-{name}.webp"
    Image.open(BytesIO(page.screenshot())).convert("RGB").save(file, quality=85, method=6)
    print(f"saved: {file}")


def until(page: Any, happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while not happened():
        if time.monotonic() > deadline:
            raise TimeoutError("the page did not come to what the picture is of")
        page.wait_for_timeout(50)


def press(page: Any, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).first.click()


def field(page: Any, label: str) -> Any:
    named = page.locator("label").filter(has_text=re.compile(f"^{re.escape(label)}$"))
    return page.locator(f"[id='{named.first.get_attribute('for')}']")


def choose(page: Any, option: str) -> None:
    field(page, "Object").click()
    page.get_by_role("option", name=option, exact=True).click()


def unfold(page: Any, section: str) -> None:
    page.locator(".mantine-Paper-root > .mantine-Paper-root").get_by_text(section, exact=True).click()


def grab(running: Hosted, folder: Path) -> None:
    session = running.house.session
    with opened(running, WIDE) as page:
        choose(page, session.snapshot.objects[0].name)
        page.locator("[data-reach=yes]").wait_for()
        unfold(page, "Grasp")
        press(page, "Preview")
        until(page, lambda: session.snapshot.message.endswith("preview"))
        unfold(page, "Grasp")
        shoot(page, folder, "grab")
    with opened(running, DESK) as page:
        unfold(page, "Drive by hand")
        page.get_by_text("Drive mode", exact=True).click()
        page.locator("[data-driving]").get_by_text("drag the gizmo").wait_for()
        unfold(page, "Keys and gamepad")
        shoot(page, folder, "drive")
    with opened(running, PHONE) as page:
        shoot(page, folder, "grab-phone")
    with opened(running, DESK) as page:
        unfold(page, "Grasp")
        choose(page, session.snapshot.objects[0].name)
        field(page, "Approach height").fill("120")
        field(page, "Approach height").press("Enter")
        page.locator("[data-reach=no]").wait_for()
        shoot(page, folder, "refusal")


def sort(running: Hosted, folder: Path) -> None:
    session = running.house.session
    for size, name in ((DESK, "sort"), (WIDE, "sort-wide"), (PHONE, "sort-phone")):
        with opened(running, size) as page:
            press(page, "Run")
            until(page, lambda: any(each.outcome == "gripped" for each in session.snapshot.history))
            shoot(page, folder, name)
            session.stop().result(_PATIENCE_S)


def tidy(running: Hosted, folder: Path) -> None:
    session = running.house.session
    for size, name in ((WIDE, "tidy"), (DESK, "tidy-desk"), (PHONE, "tidy-phone")):
        with opened(running, size) as page:
            press(page, "Run")
            page.locator("[data-question]").wait_for()
            shoot(page, folder, name)
            session.stop().result(_PATIENCE_S)


TASKS: dict[str, Callable[[Hosted, Path], None]] = {"grab": grab, "sort": sort, "tidy": tidy}

if __name__ == "__main__":
    main()
