"""The findings as one page: all figures, and pictures where they say more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from graspline.datasets.report.style import STYLE
from graspline.datasets.teachability.findings import Pacing, SceneFindings, TeachabilityFindings
from graspline.datasets.teachability.pictures import pair_chart, place_map, roll_chart
from graspline.datasets.teachability.spread import OTHERWISE_DEG
from graspline.datasets.teachability.wording import advice, number, share
from graspline.reports.pages import page, table
from graspline.version import VERSION


def teachability_page(name: str, found: TeachabilityFindings) -> str:
    """The whole page, in one file that loads nothing."""
    head = f"{found.episodes} episodes, {found.frames} frames at {found.fps:g} a second."
    body = [f"<p class='lead'>{escape(head)}</p>", *_advice(found)]
    if found.scene is None:
        body.append(f"<p>Scenes are not compared: {escape(found.why)}.</p>")
    else:
        body += [*_spread(found.scene), *_ties(found.scene), *_turns(found.scene), *_states(found.scene)]
    body += [*_pacing(found.pacing), f"<p><small>Made by graspline {escape(VERSION)}.</small></p>"]
    return page(f"Teachability: {name}", body, STYLE)


def _advice(found: TeachabilityFindings) -> Iterable[str]:
    words = {True: "yes", False: "<span class='bad'>&nbsp;no&nbsp;</span>", None: "–"}
    rows = [(words[each.met], escape(each.measure), escape(each.value), escape(each.good)) for each in advice(found)]
    yield _scrolled(("good", "measure", "here", "what is good"), rows)


def _spread(scene: SceneFindings) -> Iterable[str]:
    yield "<h2>Spread at the first grasp</h2>"
    yield f"<p><small>Most minus least of each joint over a scene and the {scene.neighbours} most similar to it, of "
    away = scene.distance_mm
    yield f"which the last is {number(away.median)} mm away (median; p90 {number(away.p90)}). "
    yield f"Without yaw: {escape(scene.roll)} as if the neighbour's object had the same yaw. Without ties: "
    yield "over scenes whose neighbours all chose alike. "
    yield f"Left out: {scene.without_grasp} episodes without a grasp, {scene.without_neighbours} without neighbours."
    yield "</small></p>"
    rows = [
        (
            f"{escape(each.joint)} ({each.unit})",
            *map(number, (each.spread.median, each.spread.p90, each.chosen.median, each.chosen.p90)),
            number(each.outside_ties),
        )
        for each in scene.joints
    ]
    yield _scrolled(("joint", "median", "p90", "without yaw", "p90", "without ties"), rows)


def _ties(scene: SceneFindings) -> Iterable[str]:
    ties = scene.ties
    yield "<h2>Neighbours that chose differently</h2>"
    yield f"<p><small>Chose differently: a rotary joint differs by more than {OTHERWISE_DEG:g} degrees. "
    yield f"{ties.scenes} of {scene.scenes} scenes ({share(ties.scenes, scene.scenes)}) have such a neighbour. "
    if ties.scenes:
        yield f"The nearest is {number(ties.nearest_mm.median)} mm away (median; p90 {number(ties.nearest_mm.p90)}). "
    yield "Where the choice is a function of the scene with ties at its borders, the share falls towards 0 as scenes "
    yield "get more similar; where something else decides, it does not."
    if ties.least_turn_scenes is not None:
        yield f" If every {escape(scene.roll)} took the least turn, {ties.least_turn_scenes} scenes would have one."
    yield "</small></p><div class='pair'>"
    yield "<figure><figcaption>Pairs that chose differently, by how far apart their scenes are</figcaption>"
    yield f"{pair_chart(ties.by_distance)}</figure>"
    yield "<figure><figcaption>Scenes from above: with such a neighbour (red), without</figcaption>"
    yield f"{place_map(scene.points)}</figure></div>"


def _turns(scene: SceneFindings) -> Iterable[str]:
    yield "<h2>Path to the first grasp, and the least possible</h2>"
    rows = [
        (
            f"{escape(each.joint)} ({each.unit})",
            *map(number, (each.path.median, each.path.p90, each.least.median)),
            number(each.ratio.median, 2),
            number(each.ratio.p90, 2),
        )
        for each in scene.turns
    ]
    yield "<div class='pair'><div>"
    yield _scrolled(("joint", "path", "p90", "least", "ratio", "p90"), rows)
    yield "</div><figure><figcaption>"
    yield f"{escape(scene.roll)}: how far it turned over the turn of the nearest grasp as good, degrees. "
    yield "On the line the least turn was taken.</figcaption>"
    yield f"{roll_chart(scene.points)}</figure></div>"


def _states(scene: SceneFindings) -> Iterable[str]:
    yield "<h2>Spread over time</h2>"
    yield "<p><small>Median over episodes of the mean spread in a state; states are compared at equal shares of their "
    yield "time. The yaw of objects is not removed.</small></p>"
    rows = [
        (
            escape(each.state) or "<b>all</b>",
            f"{100 * each.share:.1f} %",
            *(number(spread.median) for spread in each.joints.values()),
        )
        for each in (*scene.states, scene.whole)
    ]
    yield _scrolled(("state", "frames", *(f"{each.joint} ({each.unit})" for each in scene.joints)), rows)


def _pacing(pacing: Pacing) -> Iterable[str]:
    yield "<h2>Pauses, idle frames, speed</h2>"
    yield f"<p>{pacing.pauses_per_episode:.2f} pauses per episode, {pacing.paused_s_per_episode:.2f} s in total. Idle "
    yield f"frames: {100 * pacing.idle:.1f} % (first {100 * pacing.idle_first:.1f}, between "
    yield f"{100 * pacing.idle_middle:.1f}, last {100 * pacing.idle_last:.1f}). An episode has "
    yield f"{pacing.frames.median:g} frames (median; p90 {pacing.frames.p90:g}).</p>"
    if pacing.paused_in:
        rows = [(escape(each.state), str(each.pauses), f"{each.seconds:.1f} s") for each in pacing.paused_in]
        yield _scrolled(("state", "pauses that begin in it", "paused in it"), rows)
    rows = [
        (escape(each.joint), escape(each.unit), number(each.median), number(each.p95), f"{each.jerk_p95:.0f}")
        for each in pacing.joints
    ]
    if pacing.tool_median >= 0:
        rows.append(("tool", "mm", number(pacing.tool_median), number(pacing.tool_p95), "–"))
    yield _scrolled(("joint", "unit", "speed, 1/s", "p95", "jerk, 1/s³, p95"), rows)


def _scrolled(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return f"<div class='scroll'>{table(head, rows)}</div>"
