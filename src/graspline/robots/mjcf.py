"""Any arm from its MJCF or URDF and a short description: servos and sensors ours, the hand measured on the model."""

from __future__ import annotations

import functools
import os
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
from numpy.typing import NDArray

from graspline.errors import InputError
from graspline.parameters.notation import printable
from graspline.robots.attaching import PAD_FRICTION, TOOL, Attachment
from graspline.robots.description import RobotDescription, model_of, read_description
from graspline.robots.extents import footprint_of, levers_of
from graspline.robots.fingers import FingerNames, Fingers, Linkage, hand_of, jaw_law_of, measure_fingers
from graspline.robots.model_reading import read_model, read_spec
from graspline.robots.robot import JawLaw, JointLimits, Robot, Servo
from graspline.robots.servo_reading import Loads, ServoGains, gains_of, loads_of

Array = NDArray[np.float64]

PHYSICS_HZ = 480
# Settings of tasks turn a jaw by angles of the SO-101's, whose tips part by this much a radian.
_JAW_M_PER_RAD = 0.08
# A usual grip presses on by this angle of it, and a jaw may be this much stronger.
_SQUEEZE_RAD, _STRONGER = 0.06, 1.15
# Servos stay stable at this and below, a quarter of what the physics could take.
_STIFFEST_RAD_S = PHYSICS_HZ / 2
_SMOOTHING_S = 0.02
# Speeds of an arm that nothing is said about: rad/s, m/s, the share of its strength that speeds it up, within these
# accelerations, and how fast that is there.
_HINGE_RAD_S, _SLIDE_M_S, _STRENGTH = 2.0, 0.25, 0.3
_ACCELERATIONS, _JERK_PER_S = (1.0, 12.0), 12.0
# The gap changes by up to this.
_JAW_M_S = 0.15
_JAW_ACCELERATION_PER_S, _JAW_JERK_PER_S2 = 37.0, 1100.0
# What a hand must open by at least.
_LEAST_OPENING_M = 0.01
_INSIDE_TABLE_M = 1e-3
# The tool is between the pads, or this near to them.
_TOOL_OFF_M = 0.1


def robot_from_mjcf(
    model: str | os.PathLike[str] | mujoco.MjSpec, description: RobotDescription, *, described_in: str = ""
) -> Robot:
    """The robot of an MJCF or URDF file, or of a spec. Raises InputError with everything that is missing or wrong.

    Messages name the file that the description is from, where it has one, and else the model. The model's floor,
    lights, keyframes, actuators and sensors are left out; its joints are called as they are in the model.
    """
    spec, compiled, name = read_spec(model)
    name = printable(described_in) or name
    reading = read_model(compiled, description, name)
    joints, home = reading.joints, np.array(description.home)
    loads = loads_of(compiled, joints, home)
    gains = gains_of(reading, description, loads, name)
    plain = Attachment(
        source=spec,
        file="" if isinstance(model, mujoco.MjSpec) else str(Path(model).resolve()),
        reading=reading,
        description=description,
        servo=_servo(description, gains, compiled),
    )
    attachment, fingers = _closing(plain, name)
    law = jaw_law_of(fingers)
    rate = float(np.ptp(law.gaps_m) / np.ptp(law.angles_rad))
    jaw_unit = _JAW_M_PER_RAD / rate
    gains = _gripping(gains, description, rate, jaw_unit, loads)
    attachment = replace(
        attachment, servo=_servo(description, gains, compiled), armature=_armature(gains, joints, loads)
    )
    if attachment.jaw_turned:
        home[-1] = -home[-1]
    down = None if description.down is None else np.array(description.down)
    if down is not None and attachment.jaw_turned:
        down[-1] = -down[-1]
    home[-1] = np.clip(home[-1], law.angles_rad[0], law.angles_rad[-1])
    attachment = replace(attachment, apart=_touching_at_home(attachment, home, name))
    built = _model_of(attachment)
    return Robot(
        name=description.name,
        joints=joints,
        jaw=len(joints) - 1,
        limits=_limits(built, description, gains, loads, law, rate),
        servo=attachment.servo,
        home=home,
        down=down,
        levers_m=levers_of(built, joints),
        jaw_law=law,
        jaw_unit=jaw_unit,
        control_hz=description.control_hz,
        substeps=PHYSICS_HZ // description.control_hz,
        cameras=tuple(built.camera(index).name for index in range(built.ncam)),
        pads=attachment.geoms((*reading.fixed, *reading.moving)),
        pad_friction=PAD_FRICTION[1:],
        paints=(),
        add_to=attachment.add_to,
        hand=hand_of(fingers),
        slides=tuple(each for each in joints if built.joint(each).type[0] == mujoco.mjtJoint.mjJNT_SLIDE),
        footprint_m=footprint_of(built),
        tool_at=f"site {description.tool.site}" if description.tool.site else f"on {description.tool.body}",
    )


def robot_from_file(path: str | os.PathLike[str]) -> Robot:
    """The robot of a description file, which names its MJCF or URDF; the same one while both are unchanged."""
    file = Path(path).resolve()
    description = read_description(path)
    model = model_of(file, description)
    changed = model.stat().st_mtime_ns if model.is_file() else 0
    return _loaded(str(file), description.model_dump_json(), str(model), changed)


@functools.lru_cache(maxsize=64)
def _loaded(file: str, description: str, model: str, _changed: int) -> Robot:
    return robot_from_mjcf(model, RobotDescription.model_validate_json(description), described_in=file)


def _model_of(attachment: Attachment) -> mujoco.MjModel:
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    attachment.add_to(spec)
    return spec.compile()


def _names(attachment: Attachment) -> FingerNames:
    reading = attachment.reading
    return FingerNames(
        jaw=attachment.joints[-1],
        arm=attachment.joints[:-1],
        tool=TOOL,
        fixed=attachment.geoms(reading.fixed),
        moving=attachment.geoms(reading.moving),
    )


def _closing(attachment: Attachment, name: str) -> tuple[Attachment, Fingers]:
    """The same with the jaw's positions growing as it opens and a driven follower coupled, and its fingers measured."""
    arm, follower = np.array(attachment.description.home[:-1]), attachment.description.joints.follower
    if follower is not None:
        attachment = replace(attachment, follower=_coupling(attachment, follower, arm))
    fingers = measure_fingers(_model_of(attachment), _names(attachment), arm)
    problems = _finger_problems(fingers, attachment.joints[-1])
    if problems:
        raise InputError([f"{name}: {problem}" for problem in problems])
    if fingers.closing_with():
        attachment = replace(attachment, jaw_turned=True)
        fingers = measure_fingers(_model_of(attachment), _names(attachment), arm)
    return attachment, fingers


def _coupling(attachment: Attachment, follower: str, arm: Array) -> tuple[float, float]:
    """A second driven finger opens over its whole range as the jaw does over its own."""
    model, names = _model_of(attachment), _names(attachment)
    jaw = names.jaw
    ranges = {joint: model.joint(joint).range for joint in (jaw, follower)}
    opens = {}
    for joint, other in ((jaw, follower), (follower, jaw)):
        fingers = measure_fingers(
            model, replace(names, jaw=joint, arm=(*names.arm, other)), np.append(arm, ranges[other][0])
        )
        opens[joint] = not fingers.closing_with()
    (shut, wide), (low, high) = (ranges[joint] if opens[joint] else ranges[joint][::-1] for joint in (jaw, follower))
    rate = float((high - low) / (wide - shut))
    return float(low - rate * shut), rate


def _finger_problems(fingers: Fingers, jaw: str) -> list[str]:
    gap = fingers.gap_m
    opening = float(gap.max() - max(float(gap.min()), 0.0))
    if float(np.ptp(gap)) < _LEAST_OPENING_M:
        return [
            f"joints.jaw: {jaw!r} does not move the pads apart: over its whole range the gap between them, along z of "
            f"the tool, changes by {1000 * float(np.ptp(gap)):.1f} mm; expected the joint that opens the hand, and "
            "tool.opening from the fixed finger to the moving one"
        ]
    if opening < _LEAST_OPENING_M:
        return [
            f"pads: the moving finger's are never beyond the fixed one's along z of the tool (at most "
            f"{1000 * gap.max():.1f} mm); exchange pads.fixed and pads.moving, or turn tool.opening around"
        ]
    nearest_m, farthest_m = float(fingers.fixed.along_m[0].min()), float(fingers.fixed.along_m[0].max())
    if farthest_m - nearest_m <= 1e-3:
        return ["pads: their inner faces have no length along x of the tool; check tool.along"]
    if nearest_m > _TOOL_OFF_M or farthest_m < -_TOOL_OFF_M:
        return [
            f"tool: the pads are {1000 * nearest_m:.0f} to {1000 * farthest_m:.0f} mm from it along the fingers; "
            "expected a tool between them; tool.position_m is in metres"
        ]
    return []


def _servo(description: RobotDescription, gains: ServoGains, model: mujoco.MjModel) -> Servo:
    dofs = [int(model.joint(each).dofadr[0]) for each in (*description.joints.arm, description.joints.jaw)]
    return Servo(
        # The jaw's may still be open when its model is measured.
        kp=np.where(np.isnan(gains.kp), 1.0, gains.kp),
        kv=np.where(np.isnan(gains.kv), 0.0, gains.kv),
        force=np.where(np.isnan(gains.force), 1.0, gains.force),
        damping=np.array([float(model.dof_damping[dof].flat[0]) for dof in dofs]),
        smoothing_s=description.servos.smoothing_s or gains.filter_s or _SMOOTHING_S,
    )


def _gripping(
    gains: ServoGains, description: RobotDescription, rate: float, jaw_unit: float, loads: Loads
) -> ServoGains:
    """The jaw's servo presses as hard as asked for when it is sent a usual squeeze past contact."""
    given, kp, kv, force = description.servos, gains.kp.copy(), gains.kv.copy(), gains.force.copy()
    if given.kp is None:
        strongest = np.inf if np.isnan(force[-1]) else force[-1]
        pressing = min(given.grip_n * rate, float(strongest))
        kp[-1] = pressing / (_SQUEEZE_RAD * jaw_unit)
        if given.force is None:
            force[-1] = min(_STRONGER * pressing, float(strongest))
    if given.kv is None or given.kp is None:
        moved = max(2 * float(loads.inertia[-1]), kp[-1] / _STIFFEST_RAD_S**2)
        kv[-1] = 2 * np.sqrt(kp[-1] * moved)
    force = np.where(np.isnan(force), kp, force)
    return ServoGains(kp=kp, kv=kv, force=force, filter_s=gains.filter_s)


def _armature(gains: ServoGains, joints: tuple[str, ...], loads: Loads) -> dict[str, float]:
    """Inertia that joints lack for servos as stiff as theirs."""
    lacking = gains.kp / _STIFFEST_RAD_S**2 - loads.least_inertia
    return {joint: float(more) for joint, more in zip(joints, lacking, strict=True) if more > 0}


def _limits(
    model: mujoco.MjModel, description: RobotDescription, gains: ServoGains, loads: Loads, law: JawLaw, rate: float
) -> JointLimits:
    joints = (*description.joints.arm, description.joints.jaw)
    low, high = np.array([model.joint(each).range for each in joints]).T
    low[-1], high[-1] = law.angles_rad[0], law.angles_rad[-1]
    slides = np.array([model.joint(each).type[0] == mujoco.mjtJoint.mjJNT_SLIDE for each in joints])
    velocity = np.where(slides, _SLIDE_M_S, _HINGE_RAD_S)
    acceleration = np.clip(_STRENGTH * gains.force / np.maximum(loads.most_inertia, 1e-9), *_ACCELERATIONS)
    acceleration = np.where(slides, np.minimum(acceleration, _ACCELERATIONS[0]), acceleration)
    jerk = _JERK_PER_S * acceleration
    velocity[-1] = _JAW_M_S / rate
    acceleration[-1], jerk[-1] = _JAW_ACCELERATION_PER_S * velocity[-1], _JAW_JERK_PER_S2 * velocity[-1]
    found = {"velocity": velocity, "acceleration": acceleration, "jerk": jerk}
    problems = []
    for key, values in found.items():
        given = getattr(description.speeds, key)
        if given is None:
            continue
        if len(given) != len(joints) or min(given) <= 0:
            problems.append(f"speeds.{key}: expected {len(joints)} positive numbers, of {', '.join(joints)}")
        else:
            values[:] = given
    if problems:
        raise InputError(problems)
    return JointLimits(lower=low, upper=high, **found)


def _touching_at_home(attachment: Attachment, home: Array, name: str) -> tuple[tuple[str, str], ...]:
    """Pairs of its bodies that need not be kept apart: neighbours, what overlaps at home, and the two fingers."""
    model, prefix = _model_of(attachment), attachment.prefix
    linkage = Linkage(model, attachment.joints)
    linkage.model.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    linkage.pose(dict(zip(attachment.joints, home.tolist(), strict=True)))
    linkage.model.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    mujoco.mj_fwdPosition(linkage.model, linkage.data)
    bodies = [tuple(model.geom_bodyid[pair].tolist()) for pair in linkage.data.contact.geom]
    reading = attachment.reading
    pads = [model.geom(attachment.geoms(side)[0]).bodyid[0] for side in (reading.fixed, reading.moving)]
    first = int(model.joint(attachment.joints[0]).bodyid[0])
    bodies += [(int(pads[0]), int(pads[1])), (int(model.body_parentid[first]), first)]
    known = {frozenset((each.bodyname1, each.bodyname2)) for each in attachment.source.excludes}
    found = dict.fromkeys(
        tuple(sorted(model.body(body).name.removeprefix(prefix) for body in pair))
        for pair in bodies
        if pair[0] != pair[1] and 0 not in pair
    )
    below = _below_table(linkage, prefix)
    if below:
        raise InputError(f"{name}: {below}")
    return tuple((a, b) for a, b in found if frozenset((a, b)) not in known)


def _below_table(linkage: Linkage, prefix: str) -> str:
    """What moves and reaches below z = 0 at home."""
    model = linkage.model
    for geom in range(model.ngeom):
        if not model.geom_contype[geom] & 1 or not model.body_weldid[model.geom_bodyid[geom]]:
            continue
        lowest = float(linkage.corners_m(geom)[:, 2].min())
        if lowest < -_INSIDE_TABLE_M:
            return (
                f"home: {model.geom(geom).name.removeprefix(prefix)!r} is {-1000 * lowest:.0f} mm below the table "
                "there; give a home that is clear of it, or base_height_m"
            )
    return ""
