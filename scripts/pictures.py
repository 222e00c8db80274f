"""Make the pictures of the documentation again: `make pictures`, or `python scripts/pictures.py oranges.png`.

Every picture in docs/images has one function here that writes it. To add one, write a function of the path and put it
into `PICTURES`; what takes minutes goes into `SLOW` as well, and is made only when it is named.
"""

from __future__ import annotations

import argparse
import atexit
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

from PIL import Image

from graspline import Scenario, find_task, run_scenarios
from graspline.cli.demo import SEED
from graspline.cli.options import randomizing
from graspline.episodes.films.film import film, still_sheet
from graspline.machine.diagram import svg_sheet
from graspline.parameters import build
from graspline.rendering.choose import open_renderer
from graspline.rendering.video import contact_sheet
from graspline.reports.episode_page import Chronicle, telling_moments
from graspline.reports.region import region_chart, survey
from graspline.tasks.task import Task

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
CHROMIUM = Path("/usr/bin/chromium")
# The episodes that pictures show: a seed, and settings as `--set` reads them. Six blocks show a belt well enough.
EPISODES: dict[str, tuple[int, tuple[str, ...]]] = {
    "lift-cube": (38, ()),
    "oranges": (SEED, ()),
    "grab": (0, ()),
    "sort": (0, ("belt.blocks=6", "belt.density_per_m=4")),
    "tidy": (0, ()),
}


def diagram(name: str, path: Path) -> None:
    """States and outcomes of a task."""
    task = find_task(name)
    path.write_text(svg_sheet(task.machine(task.parameters())))


def sheet(name: str, path: Path) -> None:
    """The moments of one episode that decide it; fewer and larger where they show what the task sees."""
    seed, settings = EPISODES[name]
    _sheet(find_task(name), seed, settings, path)


def seven_joints(path: Path) -> None:
    """A task on the robot in examples/panda, which is not installed."""
    sys.path.append(str(ROOT / "examples" / "panda" / "src"))
    _sheet(find_task("lift-cube"), 20003, ("robot=graspline_panda:PANDA",), path)


def stacking(path: Path) -> None:
    """The same of the task in examples/stack, which is not installed."""
    sys.path.append(str(ROOT / "examples" / "stack" / "src"))
    _sheet(find_task("graspline_stack.task:STACK"), 0, (), path)


def _sheet(task: Task[Any], seed: int, settings: tuple[str, ...], path: Path) -> None:
    parameters, history = build(task.parameters, assignments=settings), Chronicle()
    scenario = Scenario(task=task, parameters=parameters, seed=seed)
    (episode,) = run_scenarios([scenario], record_states=True, onlookers=[history])
    annotated = task.annotator is not None
    moments = telling_moments(episode, history.endings, 6 if annotated else 12)
    still_sheet(episode, task.scene(parameters), path, moments=moments, columns=2 if annotated else 4)


def mesh(path: Path) -> None:
    """An object of one's own shape: the file and the settings of the page on `grab`."""
    page = (ROOT / "docs" / "tasks" / "grab.md").read_text()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "bracket.obj"
        file.write_text(page.split("cat > bracket.obj <<'END'\n")[1].split("END\n")[0])
        things = f"things.meshes=[{{file: {file}, scale: 0.001, mass_kg: 0.04}}]"
        _sheet(find_task("grab"), 0, (things, "order.target=bracket", "order.place=random"), path)


def moving(name: str, path: Path) -> None:
    """One episode as a moving picture."""
    task, (seed, settings) = find_task(name), EPISODES[name]
    parameters = build(task.parameters, assignments=settings)
    (episode,) = run_scenarios([Scenario(task=task, parameters=parameters, seed=seed)], record_states=True)
    film(episode, task.scene(parameters), path)


def region(path: Path) -> None:
    """Where a cube can be grasped."""
    task = find_task("lift-cube")
    path.write_text(region_chart(list(survey(task, task.parameters(), 3000, seed=0))))


def randomization(path: Path) -> None:
    """Eight starts of `oranges` as the front camera sees them, everything randomised."""
    oranges = find_task("oranges")
    parameters = build(oranges.parameters, assignments=randomizing(oranges, "all"))
    draws = [Scenario(task=oranges, parameters=parameters, seed=seed).sample() for seed in range(8)]
    with open_renderer(oranges.scene(parameters), 320, 240) as renderer:
        frames = [renderer.render(each.start, each.variation, "front", shadows=True).rgb for each in draws]
    Image.fromarray(contact_sheet(frames, columns=4)).save(path, optimize=True)


def workspace(path: Path) -> None:
    """What the SO-101 reaches: both figures of its page, side by side."""
    with tempfile.TemporaryDirectory() as folder:
        _graspline("workspace", "so101", "--out", folder)
        page = (Path(folder) / "workspace.html").resolve()
        screenshot(page.as_uri(), path, width=1024, height=600, style=_SIDE_BY_SIDE)


_SIDE_BY_SIDE = (
    "body > *:not(figure) { display: none } figcaption { display: none }"
    "body { display: flex; max-width: none; margin: 0; align-items: center } figure { flex: 1; margin: 0 }"
    "svg { width: 100%; max-height: 590px }"
)


def rates(path: Path) -> None:
    """Success rate of `sort` over density and belt speed."""
    with tempfile.TemporaryDirectory() as folder:
        _graspline("rates", "sort", "--out", folder)
        path.write_text((Path(folder) / "rates.svg").read_text())


def panel(task: str, path: Path) -> None:
    """A picture of the panel, and with it all others of the same task."""
    words = [sys.executable, str(Path(__file__).with_name("panel_pictures.py")), task, "--out", str(path.parent)]
    subprocess.run(words, check=True, capture_output=True)


@cache
def site() -> Path:
    """The documentation site, built into a folder that is removed when this program ends."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    # Not strict: the pictures that are about to be made may be missing.
    words = [sys.executable, "-m", "mkdocs", "build", "--no-strict", "--quiet", "--site-dir", str(folder)]
    subprocess.run(words, check=True, cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    return folder


def site_page(page: str, size: tuple[int, int], path: Path) -> None:
    """A page of the documentation site, as a browser shows it without scrolling."""
    with tempfile.TemporaryDirectory() as folder:
        shot = Path(folder) / "page.png"
        screenshot((site() / page).as_uri(), shot, width=size[0], height=size[1])
        Image.open(shot).convert("RGB").save(path, quality=85, method=6)


def screenshot(address: str, path: Path, *, width: int, height: int, style: str = "") -> None:
    """A page in a browser; `style` is added to it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": width, "height": height})
        page.goto(address)
        if style:
            page.add_style_tag(content=style)
        page.wait_for_timeout(500)
        page.screenshot(path=path)
        browser.close()


def _graspline(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "graspline", *words], check=True, capture_output=True)


# Pictures of the panel, by the task that is served.
PANEL = {
    "panel-grab.webp": "grab",
    "panel-grab-phone.webp": "grab",
    "panel-refusal.webp": "grab",
    "panel-drive.webp": "grab",
    "panel-sort.webp": "sort",
    "panel-sort-wide.webp": "sort",
    "panel-sort-phone.webp": "sort",
    "panel-tidy.webp": "tidy",
    "panel-tidy-desk.webp": "tidy",
    "panel-tidy-phone.webp": "tidy",
}
# Pictures of the documentation site: a page, and the size of the browser's window.
SITE = {
    "site-home.webp": ("index.html", (1440, 900)),
    "site-start.webp": ("start/first-success.html", (1440, 900)),
    "site-reference.webp": ("reference/commands.html", (1440, 900)),
    "site-results.webp": ("results.html", (1440, 900)),
    "site-home-phone.webp": ("index.html", (400, 800)),
    "site-start-phone.webp": ("start/first-success.html", (400, 800)),
}
PICTURES: dict[str, Callable[[Path], None]] = {
    **{f"{name}-machine.svg": partial(diagram, name) for name in EPISODES},
    "lift-cube-region.svg": region,
    **{f"{name}.png": partial(sheet, name) for name in EPISODES},
    **{f"{name}.webp": partial(moving, name) for name in EPISODES},
    "grab-mesh.png": mesh,
    "stack.png": stacking,
    "panda.png": seven_joints,
    "randomization.png": randomization,
    "so101-workspace.png": workspace,
    "sort-rates.svg": rates,
    **{name: partial(panel, task) for name, task in PANEL.items()},
    **{name: partial(site_page, page, size) for name, (page, size) in SITE.items()},
}
SLOW = {"sort-rates.svg", *PANEL}
NEEDS_BROWSER = {"so101-workspace.png", *PANEL, *SITE}
# Drawn by hand.
BY_HAND = {"logo.svg", "favicon.svg"}


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the pictures of the documentation again.")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"of: {', '.join(PICTURES)}; all but slow ones if left out"
    )
    parser.add_argument("--out", type=Path, default=IMAGES, metavar="DIR", help="where they go (default: docs/images)")
    asked = parser.parse_args()
    unknown = [name for name in asked.names if name not in PICTURES]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(PICTURES)}")
    asked.out.mkdir(parents=True, exist_ok=True)
    for name in asked.names or [each for each in PICTURES if each not in SLOW]:
        if name in NEEDS_BROWSER and not CHROMIUM.exists():
            print(f"left out: {name} needs {CHROMIUM} (apt-get install chromium)", flush=True)
            continue
        begun = time.perf_counter()
        PICTURES[name](asked.out / name)
        print(f"saved: {asked.out / name} ({time.perf_counter() - begun:.0f} s)", flush=True)
    for name in SLOW - set(asked.names):
        print(f"left out: {name} takes minutes; name it to make it", flush=True)


if __name__ == "__main__":
    main()
