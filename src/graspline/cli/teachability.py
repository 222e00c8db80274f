"""`graspline teachability`: how well the demonstrations of a dataset can be imitated."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, get_args

import typer

from graspline.cli.interrupts import interruptible
from graspline.cli.outputs import check_name, make_folder, report_saved, write_whole
from graspline.cli.progress import steps
from graspline.datasets.teachability.findings import Comparison, Middle, Pacing, SceneFindings, TeachabilityFindings
from graspline.datasets.teachability.measure import measure
from graspline.datasets.teachability.pacing import PAUSE_S
from graspline.datasets.teachability.page import teachability_page
from graspline.datasets.teachability.spread import OTHERWISE_DEG
from graspline.datasets.teachability.wording import advice, number, share
from graspline.errors import one_of
from graspline.wording import counted

# States that are listed; the rest of them is in the JSON and on the page.
_MOST_STATES = 12
_COLUMNS = 80


def teachability(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the dataset.")],
    neighbours: Annotated[
        int, typer.Option(min=1, max=50, metavar="K", help="Number of similar scenes that each scene is compared with.")
    ] = 5,
    by: Annotated[
        str,
        typer.Option(
            metavar="WHAT",
            help="What makes scenes similar: scene (all objects and places) or object (only the one grasped first).",
        ),
    ] = "scene",
    still: Annotated[
        float,
        typer.Option(
            min=1e-6,
            max=1e6,
            metavar="SPEED",
            help="Speed in deg/s or mm/s below which a joint's action counts as standing still.",
        ),
    ] = 1.0,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Also save a page with all figures and plots.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object to standard output.")] = False,
) -> None:
    """Measure how easy demonstrations are to imitate.

    Reports how much joint angles differ between similar scenes at the first grasp and in every state, whether nearly
    identical scenes were solved differently, how far joints move beyond the minimum, pauses, idle frames, speed and
    jerk. Works with any LeRobot v3.0 dataset; for those graspline did not write, it measures only the actions.

    \b
    Examples:
      graspline teachability out/cubes
      graspline teachability out/cubes --out cubes.html
      graspline teachability out/cubes --neighbours 10 --json
      graspline teachability out/oranges --by object
    """
    comparison = one_of(by, get_args(Comparison), "--by")
    if out is not None:
        check_name("--out", out, ".html")
        make_folder("--out", out.parent)
    with interruptible(lambda: "nothing was written"), steps("measuring") as progress:
        found = measure(folder, neighbours=neighbours, by=comparison, still_per_s=still, progress=progress)
    if out is not None:
        write_whole(out, teachability_page(folder.resolve().name, found))
        report_saved(out)
    if as_json:
        print(json.dumps(found.as_dict(), allow_nan=False))
    else:
        for line in _lines(folder, found):
            print(line)


def _lines(folder: Path, found: TeachabilityFindings) -> Iterable[str]:
    yield f"{folder}: {counted(found.episodes, 'episode')}, {found.frames} frames at {found.fps:g} fps"
    if found.scene is None:
        yield f"Scenes are not compared: {found.why}."
    else:
        yield from _spread(found.scene)
        yield from _ties(found.scene)
        yield from _turns(found.scene)
        yield from _states(found.scene)
    yield from _pacing(found.pacing)
    yield ""
    yield "Assessment"
    for each in advice(found):
        yield from _wrapped(f"  {each.mark:<4} {each.measure}: {each.value}")
        yield from _wrapped(f"       good: {each.good}")


def _spread(scene: SceneFindings) -> Iterable[str]:
    yield ""
    yield f"Spread at the first grasp, of {scene.scenes} scenes and the {scene.neighbours} most similar to each"
    yield f"  the least similar of them is {_middle(scene.distance_mm)}"
    if scene.by == "object":
        yield "  compared only by the object that is grasped first"
    elif not scene.similar:
        yield "  that is not similar: generate more episodes, or compare with --by object"
    if scene.without_grasp or scene.without_neighbours:
        grasp, near = scene.without_grasp, scene.without_neighbours
        yield f"  left out: {grasp} episodes without a grasp, {near} without as many similar scenes"
    yield from _table(
        ("joint", "median", "p90", "no yaw", "p90", "no ties"),
        (
            (
                f"{each.joint} ({each.unit})",
                number(each.spread.median),
                number(each.spread.p90),
                number(each.chosen.median),
                number(each.chosen.p90),
                number(each.outside_ties),
            )
            for each in scene.joints
        ),
    )
    yield f"  no yaw: {scene.roll} as if the neighbour's object had the same yaw"
    yield "  no ties: the same median over scenes whose neighbours all chose the same"


def _ties(scene: SceneFindings) -> Iterable[str]:
    ties = scene.ties
    yield ""
    yield f"Neighbours that chose differently (a joint differs by over {OTHERWISE_DEG:g} deg, no yaw)"
    yield f"  {ties.scenes} of {scene.scenes} scenes have one ({share(ties.scenes, scene.scenes)})"
    if ties.scenes:
        yield f"  the nearest one is {_middle(ties.nearest_mm)}"
    if ties.least_turn_scenes is not None:
        among = share(ties.least_turn_scenes, scene.scenes)
        yield f"  if every {scene.roll} took the least turn, {ties.least_turn_scenes} would have one ({among})"
    yield from _table(
        ("scenes this far apart", "pairs", "differently"),
        (
            (f"{each.from_mm:g} to {each.to_mm:g} mm", str(each.pairs), share(each.otherwise, each.pairs))
            for each in ties.by_distance
        ),
    )


def _turns(scene: SceneFindings) -> Iterable[str]:
    yield ""
    yield "Path of each joint from the start to the first grasp, and the least possible"
    yield from _table(
        ("joint", "path", "p90", "least", "ratio", "p90"),
        (
            (
                f"{each.joint} ({each.unit})",
                number(each.path.median),
                number(each.path.p90),
                number(each.least.median),
                number(each.ratio.median, 2),
                number(each.ratio.p90, 2),
            )
            for each in scene.turns
        ),
    )
    turn = scene.roll_turn
    if turn.of_medians > 0:
        way, least = number(turn.path.median), number(turn.least.median)
        yield f"  medians of {scene.roll}: {way} / {least} = {turn.of_medians:.2f}"


def _states(scene: SceneFindings) -> Iterable[str]:
    units = {each.joint: each.unit for each in scene.joints}
    yield ""
    yield "Spread over time: mean over each state, at equal shares of it (with yaw)"
    rows = []
    longest = sorted(scene.states, key=lambda each: -each.share)[:_MOST_STATES]
    for each in (*(one for one in scene.states if one in longest), scene.whole):
        joint, spread = each.widest(units) or ("-", None)
        figures = ("-", "-") if spread is None else (number(spread.median), number(spread.p90))
        rows.append((each.state or "all", f"{100 * each.share:.1f} %", *figures, joint))
    yield from _table(("state", "frames", "deg", "p90", "widest joint"), rows)


def _pacing(pacing: Pacing) -> Iterable[str]:
    yield ""
    yield f"Pauses: over {PAUSE_S:g} s with no action faster than {pacing.still_per_s:g} deg/s or mm/s"
    yield f"  per episode: {pacing.pauses_per_episode:.2f} pauses, {pacing.paused_s_per_episode:.2f} s in total"
    if pacing.paused_in:
        yield from _table(
            ("state", "started", "total s"),
            ((each.state, str(each.pauses), number(each.seconds)) for each in pacing.paused_in[:_MOST_STATES]),
        )
    yield ""
    yield (
        f"Idle frames: {100 * pacing.idle:.1f} % (first {100 * pacing.idle_first:.1f}, "
        f"between {100 * pacing.idle_middle:.1f}, last {100 * pacing.idle_last:.1f})"
    )
    yield (
        f"Length: {pacing.frames.median:g} frames, {number(pacing.seconds.median)} s (median; p90 "
        f"{number(pacing.seconds.p90)} s)"
    )
    yield ""
    yield "Speed while a joint moves, and jerk"
    rows = [
        (_with_unit(each.joint, each.unit), number(each.median), number(each.p95), f"{each.jerk_p95:.0f}")
        for each in pacing.joints
    ]
    if pacing.tool_median >= 0:
        rows.append(("tool (mm)", number(pacing.tool_median), number(pacing.tool_p95), "-"))
    yield from _table(("joint", "1/s", "p95", "1/s³ p95"), rows)


def _wrapped(line: str) -> list[str]:
    return textwrap.wrap(line, _COLUMNS, subsequent_indent=" " * 9, drop_whitespace=True)


def _middle(distance_mm: Middle) -> str:
    return f"{number(distance_mm.median)} mm away (median; p90 {number(distance_mm.p90)})"


def _with_unit(joint: str, unit: str) -> str:
    return f"{joint} ({unit})" if unit else joint


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterable[str]:
    """Columns wide enough for 80 in all: names to the left, figures to the right."""
    lines = [tuple(head), *(tuple(row) for row in rows)]
    widths = [max(len(line[at]) for line in lines) for at in range(len(head))]
    for line in lines:
        first, *rest = line
        cells = (cell.rjust(width + 2) for cell, width in zip(rest, widths[1:], strict=True))
        yield f"  {first[:34]:<{min(widths[0], 34)}}{''.join(cells)}"
