"""Servos and sensors that every robot has: what commands it, and what it feels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import mujoco

from graspline.robots.robot import Servo

# What carries a pad, by kind and name: a body, or one geom of it.
PadSensor = tuple[mujoco.mjtObj, str]


def add_servos(spec: mujoco.MjSpec, joints: Sequence[str], gains: Servo) -> None:
    """A position servo for every joint, named like it."""
    for index, name in enumerate(joints):
        servo = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        servo.set_to_position(kp=gains.kp[index], kv=gains.kv[index], timeconst=gains.smoothing_s)
        servo.forcelimited = mujoco.mjtLimited.mjLIMITED_TRUE
        servo.forcerange = (-gains.force[index], gains.force[index])


def add_readings(
    spec: mujoco.MjSpec, joints: Sequence[str], pads: Mapping[str, PadSensor], relative_to: str | None = None
) -> None:
    """What a real arm senses: encoders, servo load, the pose they imply of the site `tool`, and force on each pad.

    The pose is the one in the frame of the body `relative_to`, or in the world.
    """
    obj, sens = mujoco.mjtObj, mujoco.mjtSensor
    for reading, kind in (("joint_position", sens.mjSENS_JOINTPOS), ("joint_velocity", sens.mjSENS_JOINTVEL)):
        for name in joints:
            spec.add_sensor(name=f"reading/{reading}/{name}", type=kind, objtype=obj.mjOBJ_JOINT, objname=name)
    for name in joints:
        spec.add_sensor(
            name=f"reading/joint_load/{name}",
            type=sens.mjSENS_ACTUATORFRC,
            objtype=obj.mjOBJ_ACTUATOR,
            objname=name,
        )
    for reading, kind in (
        ("tool_position", sens.mjSENS_FRAMEPOS),
        # The three axes of the tool, one after the other.
        ("tool_axes/x", sens.mjSENS_FRAMEXAXIS),
        ("tool_axes/y", sens.mjSENS_FRAMEYAXIS),
        ("tool_axes/z", sens.mjSENS_FRAMEZAXIS),
    ):
        sensor = spec.add_sensor(name=f"reading/{reading}", type=kind, objtype=obj.mjOBJ_SITE, objname="tool")
        if relative_to is not None:
            # The body's own frame; plain BODY would be its centre of mass.
            sensor.reftype, sensor.refname = obj.mjOBJ_XBODY, relative_to
    for pad, (kind, name) in pads.items():
        spec.add_sensor(
            name=f"reading/pad_force/{pad}",
            type=sens.mjSENS_CONTACT,
            objtype=kind,
            objname=name,
            # data "force", reduced to the net force, one slot
            intprm=(1 << int(mujoco.mjtConDataField.mjCONDATA_FORCE), 3, 1),
        )


def add_wrist_readings(spec: mujoco.MjSpec, site: str) -> None:
    """Force and torque with which the body of `site` is held by the one that carries it, about the site, in its axes.

    That is against what pulls at it: the weight of that body and of all that it carries, whatever takes it off the
    servos, and a person's hand. What it takes to move them is in it, too, which the acceleration tells: left alone,
    force = mass · acceleration, where at rest the latter is what gravity needs to be held up against.
    """
    sens = mujoco.mjtSensor
    for reading, kind in (
        ("wrist_force", sens.mjSENS_FORCE),
        ("wrist_torque", sens.mjSENS_TORQUE),
        ("wrist_acceleration", sens.mjSENS_ACCELEROMETER),
    ):
        spec.add_sensor(name=f"reading/{reading}", type=kind, objtype=mujoco.mjtObj.mjOBJ_SITE, objname=site)
