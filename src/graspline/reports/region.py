"""Where a task's objects can be: random places in reach, planned for exactly as episodes are, as numbers and a map."""

from __future__ import annotations

import collections
from collections.abc import Iterator, Sequence

import numpy as np

from graspline.errors import WiringError
from graspline.parameters import Parameters
from graspline.tasks.task import Probe, Task

_COLOURS = {"": "#2a8a4a", "reach": "#b8bcc4", "jaw_alignment": "#e0a030", "collision": "#c0392b"}
_OTHER = "#7d3c98"
_SCALE = 700  # pixels per metre, less where places are far away
_MIDDLE = (330, 330)
_ROOM = 320  # pixels around the middle


def survey(task: Task[Parameters], parameters: Parameters, samples: int, seed: int) -> Iterator[Probe]:
    """Plan for this many random places in the ring the arm reaches, of a task that has a probe."""
    if task.region is None:
        raise WiringError(f"{task.name} has no probe")
    random = np.random.default_rng(seed)
    for _ in range(samples):
        yield task.region(parameters, random)


def refusals(probes: Sequence[Probe]) -> list[tuple[str, int]]:
    """Why places were refused, the most frequent reason first."""
    return collections.Counter(probe.refusal for probe in probes if probe.refusal).most_common()


def region_chart(probes: Sequence[Probe]) -> str:
    """A plan view in SVG, the robot in the middle looking up the page: one dot per place, coloured by the outcome."""
    share = sum(probe.certified for probe in probes) / max(len(probes), 1)
    words = [f"graspable: {100 * share:.0f} % of {len(probes)} random poses within reach"]
    words += [f"rejected for {reason}: {100 * count / len(probes):.0f} %" for reason, count in refusals(probes)]
    colours = ["", *(reason for reason, _ in refusals(probes))]
    text = "font-family='Helvetica, Arial, sans-serif' font-size='13'"
    parts = [
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 660 560' width='660' height='560'>",
        "<rect width='100%' height='100%' fill='white'/>",
    ]
    farthest = max([max(abs(probe.x_m), abs(probe.y_m)) for probe in probes], default=0.0)
    scale = min(_SCALE, _ROOM / max(farthest, 1e-9))
    for radius in np.arange(0.1, min(0.45, _ROOM / scale), 0.1) if scale == _SCALE else (0.2, 0.4, 0.6, 0.8):
        x, y = _MIDDLE
        parts.append(f"<circle cx='{x}' cy='{y}' r='{radius * scale:.0f}' fill='none' stroke='#dde' stroke-width='1'/>")
        parts.append(f"<text x='{x + 3}' y='{y - radius * scale - 3:.0f}' {text} fill='#99a'>{radius:.1f} m</text>")
    for probe in probes:
        x, y = _on_page(probe.x_m, probe.y_m, scale)
        colour = _COLOURS.get(probe.refusal, _OTHER)
        parts.append(f"<circle cx='{x:.1f}' cy='{y:.1f}' r='3' fill='{colour}' fill-opacity='0.75'/>")
    x, y = _on_page(0.07, 0.05, scale)
    wide, high = 0.1 * scale, 0.125 * scale
    foot = f"width='{wide:.0f}' height='{high:.0f}' rx='6' fill='#445' fill-opacity='0.85'"
    parts.append(f"<rect x='{x:.0f}' y='{y:.0f}' {foot}/>")
    for line, (words_here, reason) in enumerate(zip(words, colours, strict=True)):
        at = 500 + 18 * line - 18 * max(0, len(words) - 3)
        parts.append(f"<circle cx='20' cy='{at - 4}' r='5' fill='{_COLOURS.get(reason, _OTHER)}'/>")
        parts.append(f"<text x='32' y='{at}' {text} fill='#223'>{words_here}</text>")
    return "\n".join([*parts, "</svg>"]) + "\n"


def _on_page(x_m: float, y_m: float, scale: float) -> tuple[float, float]:
    """Forward is up and the robot's left is left."""
    return _MIDDLE[0] - y_m * scale, _MIDDLE[1] - x_m * scale
