"""Faults of cameras and estimates: black, frozen, noisy or late images, and another light."""

from __future__ import annotations

from graspline.engine.events import Blind, Change, Misjudge, See
from graspline.faults.context import FaultContext, Timed
from graspline.faults.kind import FaultKind
from graspline.faults.needs import CAMERA
from graspline.scenes.variation import Edit

# How long images and estimates are bad, and how bad.
_SPELL_S = 1.0
_NOISE_M = 0.005
_DELAY_S = 0.2
# Light of another strength, in which each of red, green and blue may be weaker still. What is brighter overexposes.
_BRIGHTNESS = (0.6, 1.15)
_TINT = (0.8, 1.0)


def _black_out(context: FaultContext) -> list[Timed]:
    return [(0.0, Blind(kind="black")), (_SPELL_S, See())]


def _freeze(context: FaultContext) -> list[Timed]:
    return [(0.0, Blind(kind="frozen")), (_SPELL_S, See())]


def _add_noise(context: FaultContext) -> list[Timed]:
    seed = int(context.random.integers(2**32))
    return [(0.0, Misjudge(sigma_m=_NOISE_M, seed=seed)), (_SPELL_S, See())]


def _delay(context: FaultContext) -> list[Timed]:
    return [(0.0, Misjudge(delay_s=_DELAY_S)), (_SPELL_S, See())]


def _change_lights(context: FaultContext) -> list[Timed]:
    model = context.scene.model
    shares = context.random.uniform(*_BRIGHTNESS) * context.random.uniform(*_TINT, 3)
    lights = [("light_diffuse", model.light(index).name) for index in range(model.nlight)]
    edits = []
    for field, element in (*lights, ("headlight_ambient", "headlight")):
        values = tuple((shares * context.number(field, element)).tolist())
        edits.append(Edit(field=field, element=element, values=values))
    return [(0.0, Change(edits=tuple(edits)))]


BLACKOUT = FaultKind(
    name="blackout",
    description="Images are black for one second, and no object is seen.",
    strike=_black_out,
    needs=(CAMERA,),
    at_once=True,
)
FREEZE = FaultKind(
    name="freeze",
    description="Images and estimates freeze for one second.",
    strike=_freeze,
    needs=(CAMERA,),
    at_once=True,
)
NOISE = FaultKind(
    name="noise",
    description="For one second positions have 5 mm of noise that the estimator does not report.",
    strike=_add_noise,
    needs=(CAMERA,),
    at_once=True,
)
DELAY = FaultKind(
    name="delay",
    description="For one second all observations arrive 0.2 s late.",
    strike=_delay,
    needs=(CAMERA,),
    at_once=True,
)
LIGHTING = FaultKind(
    name="lighting",
    description="All lights change brightness and tint from now on.",
    strike=_change_lights,
    needs=(CAMERA,),
    recoverable=True,
    at_once=True,
)
