"""What the page says, as HTML. Everything that comes from elsewhere is escaped here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

import numpy as np

from graspline.evidence import Evidence
from graspline.serve.live.snapshot import SessionSnapshot
from graspline.serve.panel.quantities import limit, plain_name, quantity
from graspline.serve.panel.refusals import capital, nearest, sentence
from graspline.spatial.poses import Pose
from graspline.tasks.console import Done, ObjectListed, Result

# What each mode is called, and its colour.
_MODES = {
    "idle": ("Ready", "#4a5764"),
    "jogging": ("Moving", "#1864ab"),
    "moving": ("Moving", "#1864ab"),
    "task": ("Running", "#2b8a3e"),
    "stopping": ("Stopping", "#c92a2a"),
    "replaying": ("Replaying", "#6741a0"),
}
_SHOWN = 6
# A simulation that is later than this is said to be late.
_LATE_S = 0.25


def block(*parts: str) -> str:
    """One piece of the page."""
    return f"<div class='gl-block'>{''.join(parts)}</div>"


def caption(text: str) -> str:
    """A word or two above a row of buttons."""
    return f"<div class='gl-block gl-quiet'>{escape(text)}</div>"


def line(text: str, look: str = "") -> str:
    """A line of text as HTML."""
    return f"<div class='{look}'>{escape(text)}</div>"


def chip(text: str, colour: str) -> str:
    """A short coloured label as HTML."""
    return f"<span class='gl-chip' style='background:{colour}'>{escape(text)}</span>"


def status(snapshot: SessionSnapshot, note: str, recording: str, reach: Result | None = None) -> str:
    """What goes on, and the last thing a person should read."""
    mode, colour = _MODES[snapshot.mode]
    doing = "waiting for an answer" if snapshot.question else plain_name(snapshot.state or snapshot.doing)
    late = f", {snapshot.behind_s:.1f} s late" if snapshot.behind_s > _LATE_S else ""
    scene = f"{snapshot.task}, seed {snapshot.seed}, {snapshot.time_s:.0f} s{late}"
    parts = [
        f"<div data-status>{chip(mode, colour)}",
        chip(f"Recording into {recording}", "#c92a2a") if recording and snapshot.recording == recording else "",
        f"<b>{escape(doing)}</b>" if doing else "",
        f"<span class='gl-right gl-quiet'>{escape(scene)}</span>",
        f"</div><div class='gl-message' data-message>{escape(_message(snapshot, reach))}</div>",
    ]
    if note:
        parts.append(line(note, "gl-alert"))
    if snapshot.reset_required:
        parts.append(line("The scene must be reset to continue.", "gl-alert"))
    return block(*parts)


def _message(snapshot: SessionSnapshot, reach: Result | None) -> str:
    """The session's message, unless another piece of the page says the same."""
    said = reach.text if isinstance(reach, Done) else reach.reason if reach is not None else ""
    # The line above has task and seed.
    if (said and snapshot.message.endswith(said)) or snapshot.message == f"{snapshot.task} with seed {snapshot.seed}":
        return ""
    return capital(snapshot.message)


def lease(holder: str, mine: str) -> str:
    """Which client is in control, as HTML."""
    if not holder:
        text = "No one is in control. Your first command takes control."
    elif holder == mine:
        text = f"You are in control ({mine})."
    else:
        text = f"{holder} is in control. You can watch and stop."
    return f"<div class='gl-lease' data-lease>{escape(text)}</div>"


def seen(found: ObjectListed | None) -> str:
    """The selected object as it was last seen."""
    if found is None:
        return ""
    x, y, z = 1000 * found.position_m
    size = " × ".join(f"{1000 * each:.0f}" for each in found.size_m)
    return block(
        f"{escape(found.shape.capitalize())} of {size} mm at x {x:.0f}, y {y:.0f}, z {z:.0f} mm, "
        f"yaw {np.degrees(found.yaw_rad):.0f}°, {'posted for' if found.posted else 'seen at'} {found.time_s:.1f} s"
        + (" <b>too old to be used</b>" if found.stale else "")
    )


def reach(result: Result | None, snapshot: SessionSnapshot) -> str:
    """Whether the selected object can be picked, and if not, why, and what would help."""
    if not snapshot.selected:
        return block("<span data-reach='none' class='gl-quiet'>Choose one in the list or click on it.</span>")
    if result is None:
        return block("<span data-reach='unknown' class='gl-quiet'>Not checked yet.</span>")
    if isinstance(result, Done):
        gap = quantity(float(result.data.get("open_gap_m", np.nan)), "m")
        text = escape(f"The jaws open to {gap}.")
        return block("<span data-reach='yes'>", chip("Can be picked", "#2b8a3e"), text, "</span>")
    details = f"{escape(nearest(result))}{evidence(result.evidence)}"
    return block(
        "<div data-reach='no'>",
        chip("Cannot be picked", "#c92a2a"),
        f"<b>{escape(sentence(result))}</b>",
        f"<details><summary>Details</summary>{details}</details>" if details else "",
        "</div>",
    )


def evidence(measured: Evidence) -> str:
    """Measurements beside their limits."""
    rows = [
        (
            "<span class='gl-good'>✓</span>" if each.passed else "<span class='gl-bad'>✗</span>",
            escape(plain_name(each.name)),
            escape(quantity(each.value, each.unit)),
            f"<span class='gl-quiet'>{escape(limit(each))}</span>",
        )
        for each in measured
    ]
    return _table(rows, "gl-evidence") if rows else ""


def measured(found: Evidence) -> str:
    """Evidence of the state that ended last."""
    rows = evidence(found) or "<span class='gl-quiet'>None yet.</span>"
    return block("<div data-evidence>", rows, "</div>")


def about_recording(recording: str) -> str:
    """Whether and where episodes are recorded, as HTML."""
    if recording:
        return caption(f"Recorded episodes go into {recording}.")
    return caption("The last 20 episodes can be replayed. To record a dataset, start with --record DIR.")


def history(snapshot: SessionSnapshot) -> str:
    """The states that ended last, newest first."""
    entries = snapshot.history[: -_SHOWN - 1 : -1]
    if not entries:
        return ""
    rows = [
        (
            f"{each.t_s:.1f} s",
            escape(plain_name(each.state)),
            escape(plain_name(each.outcome)),
            escape(f"→ {plain_name(each.then)}"),
        )
        for each in entries
    ]
    return block("<div data-history>", _table(rows, "gl-history"), "</div>")


def pose(name: str, found: Pose, about: str = "") -> str:
    """A named pose in millimetres and degrees, as HTML."""
    x, y, z = 1000 * found.position_m
    rotation = found.rotation
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


def readouts(snapshot: SessionSnapshot) -> str:
    """The tool's pose, jaw and forces, as HTML."""
    convention = "between the jaws" if snapshot.variables.get("tcp") == "between" else snapshot.tool_at
    fixed, moving = snapshot.pad_forces_n
    return block(
        pose("TCP", snapshot.tcp, f"({convention})"),
        pose("Gripper", snapshot.gripper, "(link frame)"),
        f"<div><b>Jaw</b> {np.degrees(snapshot.jaw_rad):.1f}°, gap {1000 * snapshot.jaw_gap_m:.1f} mm, "
        f"pads {fixed:.1f} and {moving:.1f} N</div>",
    )


def verdict(snapshot: SessionSnapshot) -> str:
    """The verdict and its evidence, as HTML."""
    if not (snapshot.verdict or snapshot.history):
        target = f" Target: {snapshot.targets[-1]}." if snapshot.targets else ""
        return block(f"<span class='gl-quiet'>{escape(f'Press Run to start the task.{target}')}</span>")
    parts = []
    if snapshot.verdict:
        colour = "#2b8a3e" if snapshot.verdict == "success" else "#c92a2a"
        parts.append(f"<span data-verdict>{chip(plain_name(snapshot.verdict), colour)}</span>")
    if snapshot.targets:
        parts.append(f"<span>Target: {escape(', '.join(snapshot.targets[-4:]))}. </span>")
    if snapshot.retries:
        left = ", ".join(f"{plain_name(name)} {count}" for name, count in snapshot.retries.items())
        parts.append(f"<span data-retries class='gl-quiet'>Retries left: {escape(left)}</span>")
    return block(*parts) if parts else ""


def _table(rows: Iterable[Sequence[str]], look: str) -> str:
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table class='gl-table {look}'>{body}</table>"
