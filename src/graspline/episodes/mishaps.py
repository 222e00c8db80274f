"""What faults do to the world: each a function from the moment it strikes to timed events.

A mishap may look at the simulator's state, for a person who pulls a plate away sees it. It draws only from its own
generator, so a scenario gives the same bits in any lane.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from graspline.engine.events import Blind, Change, CorruptControl, Event, Misjudge, Place, Push, See
from graspline.engine.protocol import Engine
from graspline.episodes.context import Context, Timed, has_belt, has_room
from graspline.scenes.belt_line import BELT
from graspline.scenes.household_bodies import parked_m, weight_of
from graspline.scenes.variation import Edit, friction_of

Array = NDArray[np.float64]

# Pads as slippery as oil; an object falls out of them within this time.
_OILED = (0.01, 0.0001, 0.00001)
_OILED_S = 0.3
# What helps it out: the jaws of an SO-101 lean and may wedge a cube even without friction.
_DROP_N = 2.0
# A shove gives the object this speed within this time, less what friction takes meanwhile: a box slides 4 mm over a
# table with it, a ball rolls 5 to 10 cm. Over a belt boxes slide 3 cm.
_SHOVE_M_S = {"box": 0.5, "cylinder": 0.4, "ball": 0.2}
_BELT_SHOVE_M_S = 0.8
# In a room boxes slide 2 cm with it, and what is slender falls over; balls roll as elsewhere.
_ROOM_SHOVE_M_S = 0.8
# What is this close in a room to something that falls or is shoved may be hit by it.
_HIT_M = 0.35
_SHOVE_S = 0.05
# Where taken things are put, one beside the other.
_FAR_AWAY_M = (3.0, 3.0)
_APART_M = 0.3
# A plate is slid this far in this time; fruit on it rolls but stays within the rim.
_SLIDE_M = (0.03, 0.06)
_SLIDE_S = 0.3
# It stays between these distances from the robot, or where it was if that is farther.
_NEAR_M, _FAR_M = 0.17, 0.30
# A person who slides a plate overcomes its friction on the table and follows a speed with half of a tick's error.
_PLATE_FRICTION = 0.8
_GRAVITY_M_S2 = 9.81
_FOLLOW = 0.5
# Well out of an SO-101's reach, and still on the table.
_OUT_OF_REACH_M = 0.75
STRANGER = "stranger_"
# A stranger keeps this much room to others, and this much to the hand.
_ROOM_M = 0.001
_HAND_ROOM_M = 0.04
# What is held higher than this is above all fruit.
_LOW_M = 0.09
_WEAK = 0.4
# Torque of the servos moves a jammed joint by milliradians a second, in a room by no more than this a second.
_JAMMED_DAMPING, _JAMMED_SPEED = 2000.0, 0.01
# Friction of pads that are greasy, where dry rubber has about 1.
_GREASY = (0.15, 0.3)
# A belt that changes its speed runs at one of these shares of what was ordered.
_PACES = (0.6, 1.6)
_BELT_JAM_S = (2.0, 4.0)
_REVERSAL_S = 1.5
# Light of another strength, in which each of red, green and blue may be weaker still. What is brighter overexposes.
_BRIGHTNESS = (0.6, 1.15)
_TINT = (0.8, 1.0)
# How long eyes are bad for, and how bad.
SPELL_S = 1.0
_NOISE_M = 0.005
_DELAY_S = 0.2


def drop(context: Context) -> list[Timed]:
    """The pads lose their grip for a moment, and something tugs at the object."""
    pads = context.engine.scene.robot.pads
    before = tuple(
        Edit(field="geom_friction", element=geom, values=context.number("geom_friction", geom)) for geom in pads
    )
    return [
        (0.0, Change(edits=friction_of(pads, _OILED))),
        (0.0, Push(body=context.target, force_n=(0.0, 0.0, -_DROP_N))),
        (_OILED_S, Push(body=context.target, force_n=(0.0, 0.0, 0.0))),
        (_OILED_S, Change(edits=before)),
        *_excuses(context),
    ]


def _excuses(context: Context) -> list[Timed]:
    """Pushes without force at what may be hit in a room: by the log, others than the robot have then moved it."""
    if not has_room(context.engine.scene):
        return []
    at, others = context.position_m(context.target), context.engine.scene.object_names
    near = [name for name in others if np.linalg.norm((context.position_m(name) - at)[:2]) < _HIT_M]
    return [(0.0, Push(body=name, force_n=(0.0, 0.0, 0.0))) for name in near if name != context.target]


def shove(context: Context) -> list[Timed]:
    """A person pushes the object sideways."""
    scene = context.engine.scene
    shapes = {each.name: each.shape for each in scene.objects}
    speed_m_s = _BELT_SHOVE_M_S if has_belt(scene) else _SHOVE_M_S[shapes[context.target]]
    if has_room(scene) and shapes[context.target] != "ball":
        speed_m_s = _ROOM_SHOVE_M_S
    angle = context.random.uniform(-np.pi, np.pi)
    force = context.mass_kg(context.target) * speed_m_s / _SHOVE_S
    push = Push(body=context.target, force_n=(force * float(np.cos(angle)), force * float(np.sin(angle)), 0.0))
    return [(0.0, push), (_SHOVE_S, Push(body=context.target, force_n=(0.0, 0.0, 0.0))), *_excuses(context)]


def remove(context: Context) -> list[Timed]:
    """A person takes the object away."""
    x, y = _FAR_AWAY_M
    z = float(context.half_extents_m(context.target)[2])
    context.taken.append(context.target)
    if has_room(context.engine.scene):
        # Where things wait there is nothing to stand on.
        return [
            (0.0, Push(body=context.target, force_n=(0.0, 0.0, 0.0))),
            (0.0, Change(edits=(weight_of(context.target, weightless=True),))),
            (0.0, Place(body=context.target, position_m=parked_m(context.target))),
        ]
    return [(0.0, Place(body=context.target, position_m=(x, y + _APART_M * len(context.taken), z)))]


def move_plate(context: Context) -> list[Timed]:
    """A person slides the plate 3 to 6 cm over the table; what is on it moves along and may roll within the rim."""
    plate = context.place().name
    way_m = context.random.uniform(*_SLIDE_M)
    heading = _heading(context, context.position_m(plate)[:2], way_m)
    load_kg = context.mass_kg(plate) + sum(context.mass_kg(name) for name in context.lying_on(context.place()))
    hz = context.engine.scene.robot.control_hz
    ticks = round(_SLIDE_S * hz)

    def hand(speed_m_s: float) -> Callable[[Context], Event]:
        def push(now: Context) -> Event:
            grip_n = _PLATE_FRICTION * _GRAVITY_M_S2 * load_kg * min(1.0, speed_m_s / 0.05)
            error = speed_m_s * heading - now.velocity_m_s(plate)[:2]
            x, y = (grip_n * heading + _FOLLOW * hz * load_kg * error).tolist()
            return Push(body=plate, force_n=(x, y, 0.0))

        return push

    # The speed of a smooth start and stop, whose mean is the way over the time.
    speeds = 2 * way_m / _SLIDE_S * np.sin(np.pi * (np.arange(ticks) + 0.5) / ticks) ** 2
    pushes: list[Timed] = [(index / hz, hand(float(speed))) for index, speed in enumerate(speeds)]
    return [*pushes, (ticks / hz, Push(body=plate, force_n=(0.0, 0.0, 0.0)))]


def _heading(context: Context, at_m: Array, way_m: float) -> Array:
    """A random direction in which the plate stays in reach and clear of the robot."""
    far_m = max(_FAR_M, float(np.hypot(*at_m)))
    angles = context.random.uniform(-np.pi, np.pi, 64)
    headings = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    away_m = np.hypot(*(at_m + way_m * headings).T)
    good = headings[(away_m >= _NEAR_M) & (away_m <= far_m)]
    # Sideways it comes neither nearer nor much farther.
    return good[0] if len(good) else np.array([-at_m[1], at_m[0]]) / np.hypot(*at_m)


def plate_away(context: Context) -> list[Timed]:
    """A person puts the plate, with everything on it, out of the arm's reach."""
    plate = context.place()
    before = context.position_m(plate.name)
    outward = before[:2] / max(float(np.hypot(*before[:2])), 1e-9)
    shift = np.array([*(outward * _OUT_OF_REACH_M - before[:2]), 0.0])
    return [(0.0, _moved(context, name, shift)) for name in (plate.name, *context.lying_on(plate))]


def _moved(context: Context, name: str, shift: Array) -> Event:
    x, y, z = (context.position_m(name) + shift).tolist()
    w, i, j, k = context.quaternion(name).tolist()
    return Place(body=name, position_m=(x, y, z), quaternion=(w, i, j, k))


def plate_full(context: Context) -> list[Timed]:
    """Extra fruit takes every free spot on the plate."""
    plate = context.place()
    middle = context.position_m(plate.name)
    # Footprints of what is there already: what lies on the plate, and what is held low over it.
    taken = [
        (context.position_m(name)[:2], float(context.half_extents_m(name)[:2].max()))
        for name in context.engine.scene.object_names
        if context.position_m(name)[2] - context.half_extents_m(name)[2] < _LOW_M
    ]
    if context.tool_m()[2] < _LOW_M:
        taken.append((context.tool_m()[:2], _HAND_ROOM_M))
    found: list[Timed] = []
    for name in strangers(context.engine):
        half = context.half_extents_m(name)
        radius_m = float(half[:2].max())
        for spot in _spots(middle[:2], plate.radius_m - radius_m - 0.008):
            if all(np.hypot(*(spot - at)) >= radius_m + room_m + _ROOM_M for at, room_m in taken):
                x, y, z = float(spot[0]), float(spot[1]), float(middle[2]) + plate.floor_m + float(half[2])
                found.append((0.0, Place(body=name, position_m=(x, y, z))))
                taken.append((spot, radius_m))
                break
    return found


def _spots(middle_m: Array, outermost_m: float) -> Iterator[Array]:
    """Rings of places from the rim inwards, close enough that things in them leave no gap."""
    for radius_m in np.arange(outermost_m, 0.0, -0.005):
        for angle in np.radians(np.arange(0, 360, 3)):
            yield middle_m + radius_m * np.array([np.cos(angle), np.sin(angle)])
    yield middle_m


def strangers(engine: Engine) -> list[str]:
    """Parked objects that are there to fill a plate."""
    return [name for name in engine.scene.object_names if name.startswith(STRANGER)]


def weaken(context: Context) -> list[Timed]:
    """One servo of the arm has two fifths of its force and gain from now on."""
    joint = _arm_joint(context)
    gain = context.number("actuator_gainprm", joint)
    bias = context.number("actuator_biasprm", joint)
    low, high = context.number("actuator_forcerange", joint)
    edits = (
        Edit(field="actuator_gainprm", element=joint, values=(_WEAK * gain[0], *gain[1:])),
        # A position servo pulls back by its bias as hard as its gain pulls.
        Edit(field="actuator_biasprm", element=joint, values=(bias[0], _WEAK * bias[1], *bias[2:])),
        Edit(field="actuator_forcerange", element=joint, values=(_WEAK * low, _WEAK * high)),
    )
    return [(0.0, Change(edits=edits))]


def jam(context: Context) -> list[Timed]:
    """One joint of the arm no longer moves."""
    return [(0.0, _jammed(context, _arm_joint(context)))]


def stuck_jaw(context: Context) -> list[Timed]:
    """The jaw no longer moves."""
    robot = context.engine.scene.robot
    return [(0.0, _jammed(context, robot.joints[robot.jaw]))]


def slippery(context: Context) -> list[Timed]:
    """The pads are greasy from now on."""
    friction = context.random.uniform(*_GREASY)
    edits = []
    for geom in context.engine.scene.robot.pads:
        slide, *others = context.number("geom_friction", geom)
        values = (friction, *(each * friction / slide for each in others))
        edits.append(Edit(field="geom_friction", element=geom, values=values))
    return [(0.0, Change(edits=tuple(edits)))]


def belt_step(context: Context) -> list[Timed]:
    """The belt runs at 1.6 or 0.6 times its speed from now on."""
    context.pace = float(context.random.choice(_PACES))
    return [(0.0, _go_on)]


def belt_jam(context: Context) -> list[Timed]:
    """The belt stops for 2 to 4 s, then continues."""
    return [(0.0, _belt_at(context, 0.0)), (context.random.uniform(*_BELT_JAM_S), _go_on)]


def belt_reverse(context: Context) -> list[Timed]:
    """The belt runs backwards for 1.5 s, then as before."""
    return [(0.0, _belt_at(context, -context.pace)), (_REVERSAL_S, _go_on)]


def _go_on(context: Context) -> Event:
    return _belt_at(context, context.pace)


def _belt_at(context: Context, share: float) -> Change:
    """The belt at a share of the speed that was ordered."""
    velocity = tuple(share * each for each in context.number("geom_surfacevel", BELT))
    return Change(edits=(Edit(field="geom_surfacevel", element=BELT, values=velocity),))


def lighting(context: Context) -> list[Timed]:
    """All lights change brightness and tint from now on."""
    model = context.engine.scene.model
    shares = context.random.uniform(*_BRIGHTNESS) * context.random.uniform(*_TINT, 3)
    shone = [("light_diffuse", model.light(index).name) for index in range(model.nlight)]
    edits = []
    for field_, element in (*shone, ("headlight_ambient", "headlight")):
        values = tuple((shares * context.number(field_, element)).tolist())
        edits.append(Edit(field=field_, element=element, values=values))
    return [(0.0, Change(edits=tuple(edits)))]


def _arm_joint(context: Context) -> str:
    robot = context.engine.scene.robot
    return str(context.random.choice(robot.joints[robot.arm]))


def _jammed(context: Context, joint: str) -> Change:
    damping = _JAMMED_DAMPING
    if has_room(context.engine.scene):
        damping = max(damping, context.number("actuator_forcerange", joint)[1] / _JAMMED_SPEED)
    return Change(edits=(Edit(field="dof_damping", element=joint, values=(damping,)),))


def blackout(context: Context) -> list[Timed]:
    """Images are black for one second, and no object is seen."""
    return [(0.0, Blind(kind="black")), (SPELL_S, See())]


def freeze(context: Context) -> list[Timed]:
    """Images and estimates freeze for one second."""
    return [(0.0, Blind(kind="frozen")), (SPELL_S, See())]


def noise(context: Context) -> list[Timed]:
    """For one second positions have 5 mm of noise that the estimator does not report."""
    seed = int(context.random.integers(2**32))
    return [(0.0, Misjudge(sigma_m=_NOISE_M, seed=seed)), (SPELL_S, See())]


def delay(context: Context) -> list[Timed]:
    """For one second all observations arrive 0.2 s late."""
    return [(0.0, Misjudge(delay_s=_DELAY_S)), (SPELL_S, See())]


def nan_control(context: Context) -> list[Timed]:
    """One control is NaN for one tick."""
    return [(0.0, CorruptControl(joint=context.engine.scene.robot.joints[2]))]
