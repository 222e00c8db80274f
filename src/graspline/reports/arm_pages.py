"""An arm's workspace and its jaw as pages: what it reaches, what its jaw spans, to scale."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from graspline.kinematics.jaw import Opening
from graspline.kinematics.workspace import MARGIN, STEP_M, Workspace, WorkspaceBounds
from graspline.reports.pages import page, table

Array = NDArray[np.float64]
# Names of columns, and rows.
Table = tuple[Sequence[str], Sequence[Sequence[str]]]

_STYLE = """
figure { margin: 1.5rem 0; } figcaption { color: #556; max-width: 46rem; }
svg { max-width: 100%; height: auto; } svg text { font: 13px system-ui, sans-serif; fill: #334; }
.grid { stroke: #e3e6ec; } .raw { fill: none; stroke: #223; stroke-dasharray: 6 4; }
.inner { fill: none; stroke: #c0392b; stroke-width: 2; } .general { fill: none; stroke: #99a; }
.cloud { fill: #c6cbd6; } .base { fill: #445; } .law { fill: none; stroke: #1f6fc0; stroke-width: 2.5; }
.fit { fill: none; stroke: #c0392b; stroke-dasharray: 6 4; } .narrow { fill: none; stroke: #2a8a4a; stroke-width: 2; }
"""
_HEADINGS = "the darker, the more headings of the jaws are reached"


class _Plot:
    """Metres or other units on a page: x to the right, y up."""

    def __init__(self, x: tuple[float, float], y: tuple[float, float], scale: tuple[float, float]) -> None:
        self._x, self._y, self._scale = x, y, scale
        self.width, self.height = (x[1] - x[0]) * scale[0] + 90, (y[1] - y[0]) * scale[1] + 60
        self.parts: list[str] = []

    def at(self, x: float, y: float) -> tuple[float, float]:
        return 60 + (x - self._x[0]) * self._scale[0], 20 + (self._y[1] - y) * self._scale[1]

    def axes(self, x_step: float, y_step: float, x_name: str, y_name: str) -> None:
        (left, right), (low, high) = self._x, self._y
        for x in _ticks(left, right, x_step):
            (at, top), (_, bottom) = self.at(x, high), self.at(x, low)
            self.parts.append(f"<line class='grid' x1='{at:.1f}' y1='{top:.1f}' x2='{at:.1f}' y2='{bottom:.1f}'/>")
            self.parts.append(f"<text x='{at:.1f}' y='{bottom + 16:.1f}' text-anchor='middle'>{x:g}</text>")
        for y in _ticks(low, high, y_step):
            (begin, at), (end, _) = self.at(left, y), self.at(right, y)
            self.parts.append(f"<line class='grid' x1='{begin:.1f}' y1='{at:.1f}' x2='{end:.1f}' y2='{at:.1f}'/>")
            self.parts.append(f"<text x='{begin - 6:.1f}' y='{at + 4:.1f}' text-anchor='end'>{y:g}</text>")
        at, bottom = self.at(right, low)
        self.parts.append(f"<text x='{at:.1f}' y='{bottom + 34:.1f}' text-anchor='end'>{escape(x_name)}</text>")
        self.parts.append(f"<text x='4' y='12'>{escape(y_name)}</text>")

    def cells(self, xs: Array, ys: Array, share: Array, step: float) -> None:
        """Columns of one rectangle for each run of equal cells: a large arm has a hundred thousand of them."""
        width = step * self._scale[0]
        for column, shares in enumerate(share):
            edges = np.flatnonzero(np.diff(shares, prepend=np.nan, append=np.nan))
            for first, last in pairwise(edges):
                if not shares[first]:
                    continue
                x, y = self.at(float(xs[column]) - step / 2, float(ys[last - 1]) + step / 2)
                height, shade = (last - first) * step * self._scale[1], 0.15 + 0.75 * float(shares[first])
                self.parts.append(
                    f"<rect x='{x:.1f}' y='{y:.1f}' width='{width:.2f}' height='{height:.2f}' fill='#1f6fc0' "
                    f"fill-opacity='{shade:.2f}'/>"
                )

    def box(self, name: str, x: tuple[float, float], y: tuple[float, float]) -> None:
        (left, top), (right, bottom) = self.at(x[0], y[1]), self.at(x[1], y[0])
        size = f"width='{right - left:.1f}' height='{bottom - top:.1f}'"
        self.parts.append(f"<rect class='{name}' x='{left:.1f}' y='{top:.1f}' {size}/>")

    def dots(self, name: str, points: Array) -> None:
        for x, y in points:
            across, down = self.at(float(x), float(y))
            self.parts.append(f"<circle class='{name}' cx='{across:.1f}' cy='{down:.1f}' r='1.2'/>")

    def line(self, name: str, xs: Iterable[float], ys: Iterable[float]) -> None:
        points = " ".join("{:.1f},{:.1f}".format(*self.at(x, y)) for x, y in zip(xs, ys, strict=True))
        self.parts.append(f"<polyline class='{name}' points='{points}'/>")

    def figure(self, caption: str) -> str:
        size = f"viewBox='0 0 {self.width:.0f} {self.height:.0f}' width='{self.width:.0f}'"
        body = "".join(self.parts)
        return f"<figure><svg {size}>{body}</svg><figcaption>{escape(caption)}</figcaption></figure>"


def workspace_page(workspace: Workspace, plan: tuple[Array, Array], plan_height_m: float) -> str:
    """Figures, a section through the first axis, and a plan view at one height."""
    raw = workspace.section.bounds()
    coverage = workspace.coverage
    rows = [
        _row("anywhere, any way round", workspace.general),
        _row("straight down, raw", raw),
        _row(f"straight down, less {100 * MARGIN:.0f} % on each side", raw.inner()),
    ]
    body = [
        f"<p>Tool points of {escape(workspace.survey.name)}; radius is measured from its first axis, which stands at "
        f"x = {workspace.survey.arm.axis_m[0]:.4f} m.</p>",
        table(("workspace", "radius", "height"), rows),
        f"<p>Of {coverage.poses} random poses inside the bounds with their margin, inverse kinematics accepts "
        f"<b>{100 * coverage.share:.1f} %</b> as they are and <b>{100 * coverage.share_either_way:.1f} %</b> with the "
        "jaws either way round. The bounds are an envelope: what is outside cannot be reached, what is inside may "
        "still be refused.</p>",
        _section(workspace, raw),
        _plan(workspace, plan, plan_height_m),
    ]
    return page(f"Workspace of {workspace.survey.name}", body, _STYLE)


def jaw_page(name: str, opening: Opening) -> str:
    """The law as a curve beside its lines, and as a table."""
    positions, gaps = _shown(opening, opening.angles_rad), 1e3 * opening.tip_gap_m
    low, high = (-5.0, 5.0 + positions[-1]) if opening.slides else (min(-20.0, positions[0]), max(110.0, positions[-1]))
    plot = _Plot((low, high), (0.0, max(120.0, float(gaps.max()))), (650.0 / (high - low), 3.2))
    plot.axes(10, 20, "jaw position (mm)" if opening.slides else "jaw angle (°)", "gap (mm)")
    plot.line("law", positions, gaps)
    plot.line("narrow", positions, 1e3 * opening.narrowest_m)
    for line in opening.lines:
        inside = opening.angles_rad <= line.up_to_rad + 1e-9
        plot.line("fit", positions[inside], 1e3 * line.gap_m(opening.angles_rad[inside]))
    body = [
        plot.figure(
            "Blue: across from the fixed fingertip to the moving one. Green: the shortest way between the fingers "
            "anywhere, which limits what fits deep between them. Red, dashed: straight lines fitted to blue."
        ),
        table(*line_table(opening)),
        table(*opening_table(opening)),
    ]
    return page(f"Jaw of {name}", body, _STYLE)


def line_table(opening: Opening) -> Table:
    """Head and rows: each line, and how well it fits."""
    unit = ("gap at 0 mm", "per mm") if opening.slides else ("gap at 0°", "per radian")
    rows = [
        (
            _said(opening, line.up_to_rad),
            f"{1e3 * line.at_zero_m:.1f} mm",
            f"{line.rate_m_per_rad:.2f} mm" if opening.slides else f"{1e3 * line.rate_m_per_rad:.1f} mm",
            f"{1e3 * line.worst_m:.1f} mm",
        )
        for line in opening.lines
    ]
    return ("line fitted up to", *unit, "misses at most"), rows


def opening_table(opening: Opening) -> Table:
    """Head and rows: the law every ten degrees or five millimetres, from the closed jaw on."""
    columns = opening.angles_rad, opening.tip_gap_m, opening.tip_back_m, opening.narrowest_m
    every = 5 if opening.slides else 10
    rows = [
        (_said(opening, angle), f"{1e3 * gap:z.1f} mm", f"{1e3 * back:z.1f} mm", f"{1e3 * narrow:z.1f} mm")
        for angle, gap, back, narrow in zip(*(column[::every] for column in columns), strict=True)
    ]
    return ("position" if opening.slides else "angle", "gap at the tips", "moving tip behind", "narrowest"), rows


def _shown(opening: Opening, positions: Array) -> Array:
    """In millimetres or degrees."""
    return 1e3 * positions if opening.slides else np.rad2deg(positions)


def _said(opening: Opening, position: float) -> str:
    return f"{1e3 * position:.0f} mm" if opening.slides else f"{np.rad2deg(position):.0f}°"


def _row(name: str, bounds: WorkspaceBounds) -> Sequence[str]:
    return name, *(f"{low:.3f} – {high:.3f} m" for low, high in (bounds.radius_m, bounds.height_m))


def _section(workspace: Workspace, raw: WorkspaceBounds) -> str:
    low = min(workspace.general.height_m[0], 0.0)
    far, high = workspace.general.radius_m[1], workspace.general.height_m[1]
    plot = _Plot((0.0, far + 0.05), (low - 0.03, high + 0.03), (1100, 1100))
    plot.axes(0.05, 0.1, "radius from the first axis (m)", "height (m)")
    plot.dots("cloud", workspace.cloud_m)
    plot.cells(workspace.section.radii_m, workspace.section.heights_m, workspace.section.share, STEP_M)
    plot.box("general", workspace.general.radius_m, workspace.general.height_m)
    plot.box("raw", raw.radius_m, raw.height_m)
    plot.box("inner", raw.inner().radius_m, raw.inner().height_m)
    return plot.figure(
        f"Section through the first axis. Blue: reached straight down, {_HEADINGS}. Dashed: its envelope; red: "
        "less the margin. Grey dots: tool points of random joint angles, any way round."
    )


def _plan(workspace: Workspace, plan: tuple[Array, Array], height_m: float) -> str:
    axis, share = plan
    # Forward is up and the robot's left is left.
    span = float(axis[-1])
    plot = _Plot(
        (-span, span), (-span + workspace.survey.arm.axis_m[0], span + workspace.survey.arm.axis_m[0]), (700, 700)
    )
    plot.axes(0.1, 0.1, "right (m)", "forward (m)")
    plot.cells(-axis[::-1], axis + workspace.survey.arm.axis_m[0], share.T[::-1], STEP_M)
    plot.box("base", (-0.05, 0.05), (-0.055, 0.07))
    return plot.figure(f"Plan view {100 * height_m:.0f} cm above the table, straight down: {_HEADINGS}.")


def _ticks(low: float, high: float, step: float) -> list[float]:
    return [
        round(each * step, 6) for each in range(int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9)) + 1)
    ]
