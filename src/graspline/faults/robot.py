"""Faults of the robot: a weak or jammed servo, greasy pads, a control that is NaN."""

from __future__ import annotations

from graspline.engine.events import Change, CorruptControl
from graspline.faults.context import FaultContext, Timed
from graspline.faults.kind import FaultKind
from graspline.scenes.variation import Edit

_WEAK = 0.4
# Small servos move a joint with this damping by milliradians a second.
_JAMMED_DAMPING = 2000.0
# Friction of pads that are greasy, where dry rubber has about 1.
_GREASY = (0.15, 0.3)


def _weaken(context: FaultContext) -> list[Timed]:
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


def _jam(context: FaultContext) -> list[Timed]:
    return [(0.0, _jammed(context, _arm_joint(context)))]


def _stick_jaw(context: FaultContext) -> list[Timed]:
    robot = context.scene.robot
    return [(0.0, _jammed(context, robot.joints[robot.jaw]))]


def _grease(context: FaultContext) -> list[Timed]:
    friction = context.random.uniform(*_GREASY)
    edits = []
    for geom in context.scene.robot.pads:
        slide, *others = context.number("geom_friction", geom)
        values = (friction, *(each * friction / slide for each in others))
        edits.append(Edit(field="geom_friction", element=geom, values=values))
    return [(0.0, Change(edits=tuple(edits)))]


def _corrupt_control(context: FaultContext) -> list[Timed]:
    return [(0.0, CorruptControl(joint=context.scene.robot.joints[2]))]


def _arm_joint(context: FaultContext) -> str:
    robot = context.scene.robot
    return str(context.random.choice(robot.joints[robot.arm]))


def _jammed(context: FaultContext, joint: str) -> Change:
    full_force = context.number("actuator_forcerange", joint)[1]
    damping = max(_JAMMED_DAMPING, full_force / context.hints.jam_creep)
    return Change(edits=(Edit(field="dof_damping", element=joint, values=(damping,)),))


WEAKEN = FaultKind(
    name="weaken",
    description="One servo of the arm has two fifths of its force and gain from now on.",
    strike=_weaken,
)
JAM = FaultKind(name="jam", description="One joint of the arm no longer moves.", strike=_jam)
STUCK_JAW = FaultKind(name="stuck-jaw", description="The jaw no longer moves.", strike=_stick_jaw)
SLIPPERY = FaultKind(name="slippery", description="The pads are greasy from now on.", strike=_grease)
NAN_CONTROL = FaultKind(
    name="nan-control",
    description="One control is NaN for one tick.",
    strike=_corrupt_control,
)
