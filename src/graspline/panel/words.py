"""What the page says, as HTML. Everything that comes from elsewhere is escaped here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

import numpy as np

from graspline.evidence import Evidence
from graspline.live.commands import Done, Result
from graspline.live.snapshot import ObjectListed, Pose, Snapshot
from graspline.robots.so101 import SO101
from graspline.spatial.rotations import matrix_from_quaternion

_MODES = {
    "idle": "#6b7785",
    "jogging": "#1971c2",
    "moving": "#1971c2",
    "task": "#2b8a3e",
    "stopping": "#c92a2a",
    "replaying": "#7048a8",
}
_SHOWN = 14


def block(*parts: str) -> str:
    """One piece of the page."""
    return f"<div style='font-size:12.5px;line-height:1.45;padding:2px 14px 4px'>{''.join(parts)}</div>"


def line(text: str, *, colour: str = "inherit", bold: bool = False) -> str:
    weight = ";font-weight:600" if bold else ""
    return f"<div style='color:{colour}{weight}'>{escape(text)}</div>"


def chip(text: str, colour: str) -> str:
    style = f"background:{colour};color:white;border-radius:4px;padding:1px 7px;margin-right:6px;font-weight:600"
    return f"<span style='{style}'>{escape(text)}</span>"


def status(snapshot: Snapshot, note: str, recording: str) -> str:
    """What goes on, and the last thing a person should read."""
    doing = snapshot.state or snapshot.doing
    parts = [
        "<div data-status>",
        chip(snapshot.mode, _MODES[snapshot.mode]),
        f"<b>{escape(doing)}</b> " if doing else "",
        f"<span style='color:#6b7785'>{escape(snapshot.task)}, seed {snapshot.seed}, {snapshot.time_s:.1f} s, ",
        f"{1000 * snapshot.behind_s:.0f} ms behind</span></div>",
        f"<div data-message style='min-height:2.9em'>{escape(snapshot.message)}</div>",
    ]
    if note:
        parts.append(line(note, colour="#c92a2a", bold=True))
    if snapshot.reset_required:
        parts.append(line("Only a reset of the scene helps now.", colour="#c92a2a", bold=True))
    if recording and snapshot.recording == recording:
        parts.append(line(f"recording into {recording}", colour="#c92a2a"))
    return block(*parts)


def lease(holder: str, mine: str) -> str:
    if not holder:
        return block("<span data-lease>No client drives. The first command from this page takes the lease.</span>")
    if holder == mine:
        return block("<span data-lease>", chip("you drive", "#2b8a3e"), escape(f"as {mine}"), "</span>")
    return block("<span data-lease>", chip("watching", "#6b7785"), escape(f"{holder} is the operator."), "</span>")


def seen(found: ObjectListed | None) -> str:
    """The selected object as it was last seen."""
    if found is None:
        return block("<span style='color:#6b7785'>Choose an object here, or click on it in the scene.</span>")
    x, y, z = 1000 * found.position_m
    size = " × ".join(f"{1000 * each:.0f}" for each in found.size_m)
    return block(
        f"{escape(found.shape)} of {size} mm at x {x:.0f}, y {y:.0f}, z {z:.0f} mm, "
        f"yaw {np.degrees(found.yaw_rad):.0f}°, {'posted for' if found.posted else 'seen at'} {found.time_s:.1f} s"
        + (" <b>too old to be used</b>" if found.stale else "")
    )


def reach(result: Result | None) -> str:
    """Whether the selected object can be grabbed, and if not, everything that is known about why."""
    if result is None:
        return block("<span data-reach='unknown' style='color:#6b7785'>not checked</span>")
    if isinstance(result, Done):
        stages = " then ".join(each["name"] for each in result.data.get("stages", ()))
        gap = 1000 * float(result.data.get("open_gap_m", np.nan))
        words = escape(f"{stages}; jaws open to {gap:.1f} mm")
        return block("<span data-reach='yes'>", chip("reachable", "#2b8a3e"), words, "</span>")
    stage, check = str(result.data.get("stage", "")), str(result.data.get("check", ""))
    parts = ["<div data-reach='no'>", chip("not reachable", "#c92a2a")]
    if check:
        parts.append(f"<b>{escape(check)}</b> at <b>{escape(stage)}</b>")
        parts.append(evidence(result.evidence))
    else:
        parts.append(escape(result.reason))
    if result.data.get("advice"):
        parts.append(f"<div data-advice><b>{escape(str(result.data['advice']))}</b></div>")
    nearest = result.data.get("nearest")
    if nearest:
        x, y, z = (1000 * each for each in nearest["position_m"])
        turn = f", turned {np.degrees(nearest['turn_rad']):.0f}°" if abs(nearest["turn_rad"]) > 1e-6 else ""
        parts.append(
            f"<div>nearest that passes: x {x:.0f}, y {y:.0f}, z {z:.0f} mm ({1000 * nearest['distance_m']:.0f} mm away"
            f"{turn}), approached from {1000 * nearest['approach_height_m']:.0f} mm above</div>"
        )
    return block(*parts, "</div>")


def evidence(measured: Evidence) -> str:
    """Measurements beside their limits."""
    if not measured:
        return ""
    rows = []
    for each in measured:
        colour = "#2b8a3e" if each.passed else "#c92a2a"
        rows.append(
            (
                f"<span style='color:{colour}'>{'✓' if each.passed else '✗'}</span> {escape(each.name)}",
                f"{each.value:.4g}",
                f"{escape(each.relation)} {each.limit:.4g} {escape(each.unit)}",
            )
        )
    return _table(rows)


def history(snapshot: Snapshot) -> str:
    """The states that ended last, newest first."""
    entries = snapshot.history[: -_SHOWN - 1 : -1]
    if not entries:
        return block("<span style='color:#6b7785'>nothing yet</span>")
    rows = [
        (f"{each.t_s:.1f} s", escape(each.state), escape(each.outcome), escape(f"→ {each.then}")) for each in entries
    ]
    return block("<div data-history>", _table(rows), "</div>")


def pose(name: str, found: Pose, about: str = "") -> str:
    x, y, z = 1000 * found.position_m
    rotation = matrix_from_quaternion(found.quaternion)
    roll, pitch, yaw = np.degrees(
        [
            np.arctan2(rotation[2, 1], rotation[2, 2]),
            np.arcsin(np.clip(-rotation[2, 0], -1, 1)),
            np.arctan2(rotation[1, 0], rotation[0, 0]),
        ]
    )
    return (
        f"<div data-pose='{escape(name)}'><b>{escape(name)}</b> {escape(about)}<br>x {x:.1f} y {y:.1f} z {z:.1f} mm"
        f"<br>roll {roll:.1f}° pitch {pitch:.1f}° yaw {yaw:.1f}°</div>"
    )


def readouts(snapshot: Snapshot) -> str:
    tip = "fixed jaw's tip" if snapshot.robot == SO101.name else "between the shut fingertips"
    convention = "between the jaws" if snapshot.variables.get("tcp") == "between" else tip
    fixed, moving = snapshot.pad_forces_n
    return block(
        pose("TCP", snapshot.tcp, f"({convention})"),
        pose("Gripper", snapshot.gripper, "(link frame)"),
        f"<div><b>Jaw</b> {np.degrees(snapshot.jaw_rad):.1f}°, gap {1000 * snapshot.jaw_gap_m:.1f} mm, "
        f"pads {fixed:.1f} and {moving:.1f} N</div>",
    )


def verdict(snapshot: Snapshot) -> str:
    parts = []
    if snapshot.verdict:
        good = snapshot.verdict == "success"
        parts.append(f"<div data-verdict>{chip(snapshot.verdict, '#2b8a3e' if good else '#c92a2a')}</div>")
    if snapshot.targets:
        parts.append(line(f"target: {', '.join(snapshot.targets[-4:])}"))
    if snapshot.retries:
        left = ", ".join(f"{name} {count}" for name, count in snapshot.retries.items())
        parts.append(f"<div data-retries>retries left: {escape(left)}</div>")
    return block(*parts) if parts else block("<span style='color:#6b7785'>no task has run in this scene</span>")


def _table(rows: Iterable[Sequence[str]]) -> str:
    cells = ("".join(f"<td style='padding:0 8px 0 0;vertical-align:top'>{cell}</td>" for cell in row) for row in rows)
    return f"<table style='border-collapse:collapse'>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"
