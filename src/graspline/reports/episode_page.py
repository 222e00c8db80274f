"""One episode as a page: its verdict, the evidence, what was claimed on the way, and pictures of telling moments."""

from __future__ import annotations

import base64
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from graspline.episodes.episode import Episode
from graspline.episodes.films.film import Moment
from graspline.episodes.observers import Instant
from graspline.evidence import Evidence, passes
from graspline.execution.notifications import Ended, Happening
from graspline.reports.pages import page, table
from graspline.tasks.task import Claim
from graspline.wording import counted, quantity

# Plan view: pixels per metre, where the robot's base is on it, and its size.
_SCALE = 620
_BASE = (290, 290)
_SIZE = (580, 330)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """A state that ended, what it claimed by that, and the same claim by truth at that instant."""

    time_s: float
    ended: Ended
    claim: Claim | None
    by_truth: Evidence

    @property
    def words(self) -> str:
        """The state, its outcome and its object in words."""
        about = f" {self.ended.about}" if self.ended.about else ""
        return f"{self.ended.state}: {self.ended.outcome}{about}"


@dataclass(slots=True)
class Chronicle:
    """An onlooker that notes how the states of one episode end."""

    endings: list[Ending] = field(default_factory=list)

    def __call__(self, instant: Instant, notification: Happening) -> None:
        """Keep a notification."""
        if not isinstance(notification, Ended):
            return
        task, truth = instant.scenario.task, ()
        claim = task.claims.outcomes.get((notification.state, notification.outcome))
        if claim is not None:
            truth = task.claims.check(instant.scenario.parameters, claim.name, notification.about, instant.snapshot())
        self.endings.append(Ending(time_s=instant.time_s, ended=notification, claim=claim, by_truth=truth))


def telling_moments(episode: Episode, endings: Sequence[Ending], count: int = 12) -> list[Moment]:
    """Start and end, and between them when something was claimed: by each state the first time, of each object once.

    Too many are thinned where they lie closest together, too few filled up in the widest gaps.
    """
    last, dt_s = len(episode.log.states) - 1, episode.sim_time_s / max(len(episode.log.states), 1)
    words = {0: "start"}
    states, seen = set[str](), set[tuple[str, str]]()
    for each in endings:
        if each.claim is not None and each.claim.asserted:
            subject = each.claim.name, str(each.ended.about)
            if each.ended.state not in states or subject not in seen:
                # Of states that end on one tick the first did something.
                words.setdefault(min(max(round(each.time_s / dt_s) - 1, 0), last), each.words)
            states.add(each.ended.state)
            seen.add(subject)
    words[last] = episode.verdict
    while len(words) > max(count, 2):
        ticks = sorted(words)
        del words[min(ticks[1:-1], key=lambda tick: tick - ticks[ticks.index(tick) - 1])]
    while len(words) < min(count, last + 1):
        ticks = sorted(words)
        before, after = max(itertools.pairwise(ticks), key=lambda pair: pair[1] - pair[0])
        tick = (before + after) // 2
        words[tick] = [name for entered_s, name in episode.entries if entered_s <= (tick + 1) * dt_s][-1]
    return [Moment(tick=tick, words=f"{(tick + 1) * dt_s:4.1f} s  {words[tick]}") for tick in sorted(words)]


def report_page(episode: Episode, endings: Sequence[Ending], sheet_png: bytes) -> str:
    """The whole page, in one file that loads nothing."""
    task = episode.scenario.task
    agrees = passes(episode.goal_by_truth)
    said = "The simulator confirms it." if agrees else "According to the simulator the goal was not reached."
    retries = f"with {counted(episode.retries, 'retry', 'retries')}" if episode.retries else "on the first try"
    image = base64.b64encode(sheet_png).decode("ascii")
    body = [
        f"<p>{escape(task.summary)}.</p>",
        f"<p><b>Verdict: {escape(episode.verdict)}</b>, after {episode.sim_time_s:.1f} s, {retries}. {said}</p>",
        "<h2>Evidence</h2>",
        "<p><small>What the robot measured, its limit, and the same quantity in the simulator.</small></p>",
        _evidence(episode.evidence, episode.goal_by_truth),
        "<h2>Pictures</h2>",
        f"<img alt='moments of the episode' style='max-width: 100%' src='data:image/png;base64,{image}'>",
        "<h2>Where the objects are</h2>",
        _plan_view(episode.truth),
        _things(episode.truth),
        "<h2>Claims on the way</h2>",
        _claims(endings),
        "<h2>Transitions</h2>",
        _transitions(endings),
        f"<p><small>State hash {escape(episode.state_hash)}; the same scenario gives the same.</small></p>",
    ]
    return page(f"{task.name}, seed {episode.scenario.seed}: {episode.verdict}", body)


def _evidence(measured: Evidence, by_truth: Evidence) -> str:
    truth = {each.name: each for each in by_truth}
    rows = [
        (
            "✓" if each.passed else "✗",
            escape(each.name),
            escape(each.value_text),
            escape(f"{each.relation.replace('<=', '≤').replace('>=', '≥')} {each.limit_text}"),
            escape(truth[each.name].value_text) if each.name in truth else "",
        )
        for each in measured
    ]
    return table(("", "what", "measured", "limit", "ground truth"), rows)


def _claims(endings: Sequence[Ending]) -> str:
    rows = []
    for each in endings:
        if each.claim is None:
            continue
        right = passes(each.by_truth) == each.claim.asserted
        rows.append(
            (
                f"{each.time_s:.2f} s",
                escape(each.ended.state),
                escape(f"{each.ended.about} {'' if each.claim.asserted else 'not '}{each.claim.name}"),
                "<br>".join(escape(str(one)) for one in each.ended.evidence),
                ("✓ " if right else "✗ ") + "<br>".join(escape(str(one)) for one in each.by_truth),
            )
        )
    return table(("time", "state", "claim", "measured", "ground truth at that moment"), rows)


def _transitions(endings: Sequence[Ending]) -> str:
    rows, before_s = [], 0.0
    for each in endings:
        ended = each.ended
        cells = (ended.state, ended.outcome, ended.about, ended.then)
        rows.append((f"{each.time_s:.2f} s", f"{each.time_s - before_s:.2f} s", *(escape(str(cell)) for cell in cells)))
        before_s = each.time_s
    return table(("ended at", "took", "state", "outcome", "about", "then"), rows)


def _things(truth: Mapping[str, Any]) -> str:
    rows = []
    for name, thing in {**truth["objects"], **truth["places"]}.items():
        size = thing["size_m"][0] if "size_m" in thing else 2 * thing["radius_m"]
        start, now = (
            ", ".join("–" if each is None else f"{1000 * each:z.1f}" for each in thing[key])
            for key in ("start_position_m", "position_m")
        )
        speed = thing["speed_m_s"]
        moving = "–" if speed is None else escape(quantity(speed, "m/s"))
        rows.append((escape(name), f"{1000 * size:.1f}", start, now, moving))
    return table(("", "width, mm", "at the start: x, y, z, mm", "at the end: x, y, z, mm", "speed"), rows)


def _plan_view(truth: Mapping[str, Any]) -> str:
    """From above, the robot looking up the page: dashed where things were, solid where they are."""
    width, height = _SIZE
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' width='{width}' height='{height}'>",
        f"<rect width='{width}' height='{height}' fill='#f6f2ec'/>",
        f"<rect x='{_BASE[0] - 31}' y='{_BASE[1] - 43}' width='62' height='78' rx='6' fill='#445'/>",
    ]
    for kind, colour in (("places", "#4f83d1"), ("objects", "#ee7f1c")):
        for name, thing in truth[kind].items():
            radius = thing["radius_m"] if "radius_m" in thing else thing["size_m"][0] / 2
            dashed = "fill='none' stroke-dasharray='4 3'"
            solid = f"fill='{colour}' fill-opacity='0.5'"
            for key, look in (("start_position_m", dashed), ("position_m", solid)):
                x_m, y_m, _ = thing[key]
                if x_m is None or y_m is None or abs(x_m) > 1 or abs(y_m) > 1:
                    continue
                x, y = _BASE[0] - y_m * _SCALE, _BASE[1] - x_m * _SCALE
                parts.append(
                    f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{radius * _SCALE:.1f}' stroke='{colour}' {look}>"
                    f"<title>{escape(name)}</title></circle>"
                )
                if kind == "objects":
                    label = name.rpartition("_")[2] or name
                    style = "font-family='sans-serif' font-size='12' text-anchor='middle' fill='#223'"
                    parts.append(f"<text x='{x:.1f}' y='{y + 4:.1f}' {style}>{escape(label)}</text>")
    return "".join([*parts, "</svg>"])
