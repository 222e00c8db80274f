"""Why an object cannot be picked, in one sentence, and the settings that would change that."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from graspline.evidence import Measurement
from graspline.serve.panel.quantities import plain_name, quantity
from graspline.tasks.console import Plain, Refused

# Variables of a grasp as the page calls them.
LABELS: Mapping[str, str] = MappingProxyType(
    {
        "cross_axis": "Cross-axis",
        "tcp_offset": "TCP offset",
        "tcp_clearance_m": "TCP clearance",
        "open_clearance_m": "Open clearance",
        "close_clearance_m": "Close clearance",
        "object_z_m": "Grasp height",
        "approach_height_m": "Approach height",
        "tcp": "TCP",
    }
)


def sentence(refused: Refused) -> str:
    """What is wrong, with one number where there is one."""
    check, when = str(refused.data.get("check", "")), str(refused.data.get("when", ""))
    if not check or not refused.evidence:
        return capital(refused.reason)
    return f"{_what(check, refused.evidence[0])}{f' {when}' if when else ''}."


def way_out(refused: Refused) -> tuple[str, Mapping[str, Plain]] | None:
    """The label of a button and the variables it sets; None where no variable helps."""
    change: Mapping[str, Plain] = refused.data.get("change", {})
    if not change:
        return None
    if set(change) == {"approach_height_m"}:
        return f"Use {quantity(float(change['approach_height_m']), 'm')}", change
    parts = [_setting(name, value) for name, value in change.items()]
    return f"Set {' and '.join(parts)}", change


def nearest(refused: Refused) -> str:
    """How far away the object would have to be; empty if that is not known."""
    found: Mapping[str, Any] = refused.data.get("nearest", {})
    if not found:
        return ""
    moved, turned = float(found["distance_m"]), float(found["turn_rad"])
    parts = [f"{quantity(moved, 'm')} away"] if moved > 5e-4 else []
    parts += [f"turned by {quantity(abs(turned), 'rad')}"] if abs(turned) > 1e-6 else []
    if not parts:
        return ""
    return f"The nearest pose that works is {' and '.join(parts)}."


def _setting(name: str, value: Plain) -> str:
    label = LABELS.get(name, name)
    if isinstance(value, bool):
        return f"{label} {'on' if value else 'off'}"
    return f"{label} to {quantity(float(value), 'm')}"


def _what(check: str, measured: Measurement) -> str:
    over = quantity(abs(measured.value - measured.limit), measured.unit)
    match check, measured.name:
        case "ik", "wrist_beyond_reach":
            return f"{over} too far"
        case "ik", joint if measured.unit == "rad":
            return f"Joint {plain_name(joint)} would have to turn {over} past its limit"
        case "workspace", "tip_radius":
            return f"{over} too {'close to the arm' if measured.relation == '>=' else 'far'}"
        case "workspace", "tip_height":
            return f"{over} too {'low' if measured.relation == '>=' else 'high'}"
        case "ground", _:
            return f"The fingertips would be {over} too close to the table"
        case "jaw_width", "jaw_angle_at_touch":
            return "Too wide: jaws opened that far would push it away instead of holding it"
        case "jaw_width", "open_gap" if measured.relation == "<=":
            return f"{over} wider than the jaws open"
        case "jaw_width", "open_gap":
            return f"The jaws would open {over} less than its width"
        case "jaw_width", _:
            return f"The jaws cannot close to a gap of {quantity(measured.value, 'm')}"
        case "pad_overlap", _:
            return f"The pads would touch {quantity(max(0.0, measured.value), 'm')} of it, too little to hold"
        case "open_clearance", _:
            return f"The open jaws would touch it: {over} more room is needed"
        case "collision", pair:
            part, _, touched = pair.partition("_to_")
            return f"The {plain_name(part)} would hit the {plain_name(touched)}"
        case "shape", _:
            return f"It leans by {quantity(measured.value, measured.unit)} and can only be picked upright"
        case _:
            return f"{capital(plain_name(measured.name))} is {over} past its limit"


def capital(text: str) -> str:
    """Text with a capital letter at its beginning, unless it begins with a name such as `orange_1`."""
    first = text.partition(" ")[0].rstrip(",:;.")
    return text if not first.isalpha() else text[:1].upper() + text[1:]
