"""Which share of arriving objects a task gets, by how densely and how fast they arrive: measured, and as a chart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from graspline.engine.protocol import Engine
from graspline.episodes.episode import INTERRUPTED, Episode
from graspline.episodes.run import run_scenarios
from graspline.episodes.scenario import Scenario
from graspline.episodes.statistics import wilson
from graspline.parameters import Parameters
from graspline.tasks.task import Delivered, Feed, Task

_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 640, 400, 60, 50
_COLOURS = ("#1f6fb4", "#2a8a4a", "#c46a1b", "#7d3c98", "#b03060")


@dataclass(slots=True, kw_only=True)
class RatePoint:
    """Objects sent at one speed and density, and what became of them: in ground truth, and as the task reports it."""

    speed_m_s: float
    density_per_m: float
    episodes: int = 0
    sent: int = 0
    right: int = 0
    wrong: int = 0
    # Objects that the task says are sorted beyond those that are.
    false: int = 0
    missed: Counter[str] = field(default_factory=Counter)
    picks_per_min: list[float] = field(default_factory=list)

    @property
    def share(self) -> float:
        """The share of objects that were handled rightly."""
        return self.right / self.sent if self.sent else 0.0

    def add(self, found: Delivered) -> None:
        """Count one episode more."""
        self.episodes += 1
        self.sent, self.right, self.wrong = self.sent + found.sent, self.right + found.right, self.wrong + found.wrong
        self.false += max(0, found.claimed - found.right)
        self.missed.update(found.missed)
        if found.picks_per_min is not None:
            self.picks_per_min.append(found.picks_per_min)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        low, high = wilson(self.right, self.sent)
        rates = self.picks_per_min
        return {
            "speed_m_s": self.speed_m_s,
            "density_per_m": self.density_per_m,
            "episodes": self.episodes,
            "sent": self.sent,
            "sorted_right": self.right,
            "sorted_wrong": self.wrong,
            "false_sorted": self.false,
            "share": self.share,
            "share_low": low,
            "share_high": high,
            "missed": dict(self.missed),
            "picks_per_min": sum(rates) / len(rates) if rates else None,
        }


def measure(
    task: Task[Any],
    feed: Feed,
    parameters: Callable[[float, float], Parameters],
    points: Sequence[tuple[float, float]],
    *,
    episodes: int,
    seed: int,
    lanes: int,
    stop: Callable[[], bool] = lambda: False,
    after_tick: Callable[[Engine], None] | None = None,
) -> Iterator[tuple[RatePoint, Episode]]:
    """Play `episodes` episodes at each speed and density; yields each point with the episode that was added to it."""
    for speed, density in points:
        point = RatePoint(speed_m_s=speed, density_per_m=density)
        settings = parameters(speed, density)
        scenarios = [Scenario(task=task, parameters=settings, seed=seed + index) for index in range(episodes)]
        for episode in run_scenarios(scenarios, lanes=lanes, stop=stop, after_tick=after_tick):
            # What became of objects that were still on their way is unknown.
            if episode.verdict != INTERRUPTED:
                point.add(feed.count(episode.truth, episode.evidence))
                yield point, episode
        if stop():
            return


def rates_chart(points: Sequence[Mapping[str, Any]]) -> str:
    """A chart in SVG: shares over objects per metre, a line for each speed with 95 % intervals."""
    most = max([each["density_per_m"] for each in points], default=1.0) * 1.05
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {_WIDTH} {_HEIGHT}' width='{_WIDTH}' "
        f"height='{_HEIGHT}' font-family='Helvetica, Arial, sans-serif' font-size='13'>",
        "<rect width='100%' height='100%' fill='white'/>",
        *_axes(most),
    ]
    speeds = sorted({each["speed_m_s"] for each in points})
    for index, speed in enumerate(speeds):
        colour = _COLOURS[index % len(_COLOURS)]
        mine = sorted((each for each in points if each["speed_m_s"] == speed), key=lambda each: each["density_per_m"])
        parts += _curve([(each["density_per_m"], each["share"]) for each in mine], most, colour)
        for each in mine:
            x, low, high = _x(each["density_per_m"], most), _y(each["share_low"]), _y(each["share_high"])
            parts.append(f"<path d='M{x:.1f} {low:.1f} V{high:.1f}' stroke='{colour}' stroke-width='1'/>")
        parts += _legend(index, colour, f"{1000 * speed:g} mm/s")
    return "\n".join([*parts, "</svg>"]) + "\n"


def _x(density: float, most: float) -> float:
    return _LEFT + (_WIDTH - _LEFT - 20) * density / most


def _y(share: float) -> float:
    return _HEIGHT - _BOTTOM - (_HEIGHT - _BOTTOM - 20) * share


def _axes(most: float) -> list[str]:
    parts = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = _y(share)
        parts.append(f"<path d='M{_LEFT} {y:.1f} H{_WIDTH - 20}' stroke='#dde'/>")
        parts.append(f"<text x='{_LEFT - 8}' y='{y + 4:.1f}' text-anchor='end' fill='#445'>{100 * share:.0f} %</text>")
    for density in range(0, int(most) + 1, 1 if most < 14 else 2):
        x = _x(density, most)
        parts.append(
            f"<text x='{x:.1f}' y='{_HEIGHT - _BOTTOM + 20}' text-anchor='middle' fill='#445'>{density}</text>"
        )
    middle = (_LEFT + _WIDTH - 20) / 2
    parts.append(f"<text x='{middle}' y='{_HEIGHT - 10}' text-anchor='middle' fill='#223'>objects per metre</text>")
    return parts


def _curve(points: list[tuple[float, float]], most: float, colour: str) -> list[str]:
    at = [(_x(density, most), _y(share)) for density, share in points]
    line = " L".join(f"{x:.1f} {y:.1f}" for x, y in at)
    dots = [f"<circle cx='{x:.1f}' cy='{y:.1f}' r='4' fill='{colour}'/>" for x, y in at]
    return [f"<path d='M{line}' fill='none' stroke='{colour}' stroke-width='2'/>", *dots]


def _legend(index: int, colour: str, words: str) -> list[str]:
    y = _y(0.0) - 14 - 19 * index
    return [
        f"<circle cx='{_LEFT + 16}' cy='{y - 4:.1f}' r='5' fill='{colour}'/>",
        f"<text x='{_LEFT + 28}' y='{y:.1f}' fill='#223'>{words}</text>",
    ]
