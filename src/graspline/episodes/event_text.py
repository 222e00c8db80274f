"""Events in words, for the log of a run: what happens in the scene, and what a fault has changed."""

from __future__ import annotations

import math
from collections.abc import Sequence

from graspline.engine.events import Blind, Change, CorruptControl, Event, Misjudge, Place, Push, Roughen, See
from graspline.faults.context import Timed
from graspline.scenes.variation import Edit
from graspline.wording import quantity

# What numbers of the model are called; those that go along with another are left out.
_CALLED = {
    "actuator_biasprm": "",
    "actuator_forcerange": "",
    "actuator_gainprm": "servo gain",
    "body_gravcomp": "gravity compensation",
    "dof_damping": "damping",
    "eq_data": "offset",
    "geom_friction": "friction",
    "geom_surfacevel": "surface velocity",
    "headlight_ambient": "",
    "light_diffuse": "brightness",
}
_ELEMENTS_SHOWN = 2


def words_of(event: Event) -> str:
    """One event in a few words."""
    match event:
        case Push():
            force_n = math.hypot(*event.force_n)
            return f"{event.body} pushed with {force_n:.3g} N" if force_n else f"{event.body} no longer pushed"
        case Change():
            return "; ".join(_changed(event.edits))
        case Place():
            return f"{event.body} placed at {_numbers([1000 * each for each in event.position_m])} mm"
        case CorruptControl():
            return f"control of {event.joint} is NaN for one tick"
        case Blind():
            return f"{f'camera {event.camera}' if event.camera else 'all cameras'} {event.kind}"
        case Misjudge():
            noise = f"position noise of {1000 * event.sigma_m:.3g} mm" if event.sigma_m else ""
            late = f"observations delayed by {quantity(event.delay_s, 's')}" if event.delay_s else ""
            return "; ".join(filter(None, (noise, late)))
        case Roughen():
            noise = f"depth {event.sigma_factor:.3g} times as noisy" if event.sigma_factor != 1 else ""
            holes = f"{100 * event.hole_share:.0f} % more pixels without depth" if event.hole_share else ""
            return "; ".join(filter(None, (noise, holes)))
        case See():
            return "cameras back to normal"


def effect_of(timed: Sequence[Timed], otherwise: str) -> str:
    """What a fault does at once, and for how long where it takes it back; `otherwise` where no event says it."""
    found = []
    for after_s, deed in timed:
        if after_s or callable(deed) or _takes_back(deed):
            continue
        ends_s = next((end_s for end_s, later in timed if end_s and not callable(later) and _undoes(later, deed)), 0.0)
        found.append(words_of(deed) + (f" for {quantity(ends_s, 's')}" if ends_s else ""))
    return "; ".join(filter(None, found)) or otherwise


def _takes_back(event: Event) -> bool:
    return isinstance(event, See) or (isinstance(event, Push) and not any(event.force_n))


def _undoes(later: Event, event: Event) -> bool:
    """Whether an event ends what another one has begun."""
    match event:
        case Push():
            return isinstance(later, Push) and later.body == event.body
        case Change():
            return isinstance(later, Change) and _concerned(later) == _concerned(event)
        case Blind() | Misjudge() | Roughen():
            return isinstance(later, See)
        case _:
            return False


def _concerned(change: Change) -> set[tuple[str, str]]:
    return {(edit.field, edit.element) for edit in change.edits}


def _changed(edits: Sequence[Edit]) -> list[str]:
    """Each number of the model with its elements and its new value, alike ones together."""
    groups: dict[tuple[str, tuple[float, ...]], list[str]] = {}
    for edit in edits:
        called = _CALLED.get(edit.field, edit.field)
        if called:
            groups.setdefault((called, tuple(edit.values)), []).append(edit.element)
    return [f"{called} of {_listed(names)} is {_value(values)}" for (called, values), names in groups.items()]


def _listed(names: Sequence[str]) -> str:
    if len(names) > 1 and all("_pad" in name for name in names):
        return "the pads"
    shown, more = names[:_ELEMENTS_SHOWN], len(names) - _ELEMENTS_SHOWN
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def _value(values: tuple[float, ...]) -> str:
    """The first number, which matters most; of a vector all that are not zero."""
    return quantity(values[0]) if values and (values[0] or not any(values)) else _numbers(values)


def _numbers(values: Sequence[float]) -> str:
    return "(" + ", ".join(map(quantity, values)) + ")"
