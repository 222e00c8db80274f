"""A robot's model put into a scene's: its own world left behind, servos and sensors ours, names under its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import mujoco
import numpy as np

from graspline.robots.description import RobotDescription
from graspline.robots.model_reading import Reading, read_spec
from graspline.robots.robot import VISUAL_CONTYPE, Servo
from graspline.robots.wiring import PadSensor, add_readings, add_servos
from graspline.spatial.rotations import quaternion_from_matrix

TOOL = "tool"
# What scenes call cameras of their own.
_TAKEN_CAMERAS = ("front",)
# Rubber on the pads, unless the model says more than MuJoCo's defaults; see robots/so101.py.
PAD_FRICTION = (1.0, 0.01, 0.0002)
_PAD_SOLREF, _PAD_SOLIMP = (0.005, 1.0), (0.95, 0.99, 0.001, 0.5, 2.0)
_DEFAULT_SOLREF = (0.02, 1.0)
# Fingers that we couple move as if by gears; see robots/gripper_2f85.py.
_GEAR_SOLREF, _GEAR_SOLIMP = (2 / 480, 1.0), (0.999, 0.9999, 0.001, 0.5, 2.0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Attachment:
    """How one robot is put into a scene; `add_to` does it, any number of times."""

    source: mujoco.MjSpec
    # The file that the source was read from; empty for a spec that was given.
    file: str
    reading: Reading
    description: RobotDescription
    servo: Servo
    # Whether the jaw's positions count the other way than in the model.
    jaw_turned: bool = False
    # Where a driven follower is when the jaw is at 0, and how far it goes with it; both as in the model.
    follower: tuple[float, float] | None = None
    # What joints get on top of their own rotor's inertia.
    armature: Mapping[str, float] = field(default_factory=dict)
    # Bodies that do not touch each other.
    apart: tuple[tuple[str, str], ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        """Scenes are sent to worker processes, which read the model's file again; a spec is sent as its text."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return _restored, ({**values, "source": "" if self.file else self.source.to_xml()},)

    @property
    def prefix(self) -> str:
        """What the robot's bodies and geoms are called by in scenes, so that they are like nothing else there."""
        return f"{self.description.name}/"

    @property
    def joints(self) -> tuple[str, ...]:
        """The names of the joints."""
        return self.reading.joints

    def geoms(self, ids: tuple[int, ...]) -> tuple[str, ...]:
        """The names of these geoms in the whole robot."""
        return tuple(self.prefix + self.reading.model.geom(each).name for each in ids)

    def add_to(self, spec: mujoco.MjSpec) -> None:
        """Author the robot into `spec`, its base at the origin."""
        child = self.source.copy()
        self._leave_world(child)
        self._set_bodies(child)
        self._set_pads(child)
        self._set_joints(child)
        # Those of the scene hold for all that is in it.
        for name in dir(child.option):
            if not name.startswith("_"):
                setattr(child.option, name, getattr(spec.option, name))
        spec.attach(child, prefix=self.prefix, frame=spec.worldbody.add_frame())
        self._rename(spec)
        self._couple(spec)
        self._add_tool(spec)
        add_servos(spec, self.joints, self.servo)
        add_readings(
            spec, self.joints, {"fixed": self._pad(self.reading.fixed), "moving": self._pad(self.reading.moving)}
        )
        for first, second in self.apart:
            spec.add_exclude(bodyname1=self.prefix + first, bodyname2=self.prefix + second)

    def _leave_world(self, child: mujoco.MjSpec) -> None:
        """What is not the robot: floor, lights, other bodies, and what drives and measures it there."""
        world = child.worldbody
        bodies = [each for each in world.bodies if each.name != self.reading.root]
        textures = [each for each in child.textures if each.type == mujoco.mjtTexture.mjTEXTURE_SKYBOX]
        tendons = [child.tendons[index] for index in self._joint_tendons()]
        groups = (child.actuators, child.sensors, child.keys, world.geoms, world.lights, world.cameras, world.sites)
        lost = {each.name for body in bodies for each in (body, *body.find_all("body"))}
        excludes = [each for each in child.excludes if {each.bodyname1, each.bodyname2} & lost]
        for each in [*(each for group in groups for each in group), *tendons, *excludes, *bodies, *textures]:
            child.delete(each)

    def _joint_tendons(self) -> list[int]:
        """Tendons over joints: an actuator's way to share its force."""
        model = self.reading.model
        return [
            index
            for index in range(model.ntendon)
            if model.wrap_type[model.tendon_adr[index]] == mujoco.mjtWrap.mjWRAP_JOINT
        ]

    def _set_bodies(self, child: mujoco.MjSpec) -> None:
        root, height_m = child.body(self.reading.root), self.description.base_height_m
        root.pos = (0.0, 0.0, root.pos[2] if height_m is None else height_m)
        for body in child.bodies:
            if self.description.servos.gravity_compensated and body.name != "world":
                body.gravcomp = 1.0
        for geom in child.geoms:
            if not (geom.contype or geom.conaffinity):
                geom.contype = VISUAL_CONTYPE
            else:
                # Planning asks for contacts by this bit.
                geom.contype |= 1

    def _set_pads(self, child: mujoco.MjSpec) -> None:
        for index in (*self.reading.fixed, *self.reading.moving):
            geom = child.geom(self.reading.model.geom(index).name)
            geom.condim, geom.priority = max(geom.condim, 4), max(geom.priority, 1)
            geom.friction = PAD_FRICTION
            if tuple(geom.solref) == _DEFAULT_SOLREF:
                geom.solref, geom.solimp = _PAD_SOLREF, _PAD_SOLIMP

    def _set_joints(self, child: mujoco.MjSpec) -> None:
        for name, more in self.armature.items():
            child.joint(name).armature += more
        if not self.jaw_turned:
            return
        jaw = child.joint(self.joints[-1])
        jaw.axis, jaw.range = -jaw.axis, -jaw.range[::-1]
        jaw.ref, jaw.springref = -jaw.ref, -jaw.springref
        for each in child.equalities:
            if each.type == mujoco.mjtEq.mjEQ_JOINT:
                each.data = _turned(each.data, led=each.name1 == jaw.name, leads=each.name2 == jaw.name)

    def _rename(self, spec: mujoco.MjSpec) -> None:
        """Joints and cameras are called as in the model: people and datasets name them."""
        for joint in spec.joints:
            joint.name = joint.name.removeprefix(self.prefix)
        for camera in spec.cameras:
            if camera.name.startswith(self.prefix):
                plain = camera.name.removeprefix(self.prefix)
                camera.name = f"{self.description.name}_{plain}" if plain in _TAKEN_CAMERAS else plain
        for each in spec.equalities:
            if each.type == mujoco.mjtEq.mjEQ_JOINT:
                each.name1, each.name2 = (name.removeprefix(self.prefix) for name in (each.name1, each.name2))

    def _couple(self, spec: mujoco.MjSpec) -> None:
        if self.follower is None or self.description.joints.follower is None:
            return
        (at, rate), follower, jaw = self.follower, self.description.joints.follower, self.joints[-1]
        model = self.reading.model
        rest, jaw_rest = (float(model.qpos0[model.joint(name).qposadr[0]]) for name in (follower, jaw))
        sign = -1.0 if self.jaw_turned else 1.0
        # Equalities count both from the model's own pose.
        spec.add_equality(
            name=f"{self.prefix}{follower}",
            type=mujoco.mjtEq.mjEQ_JOINT,
            objtype=mujoco.mjtObj.mjOBJ_JOINT,
            name1=follower,
            name2=jaw,
            data=(at + rate * jaw_rest - rest, sign * rate, *(0.0,) * (mujoco.mjNEQDATA - 2)),
            solref=_GEAR_SOLREF,
            solimp=_GEAR_SOLIMP,
        )

    def _add_tool(self, spec: mujoco.MjSpec) -> None:
        tool, model = self.description.tool, self.reading.model
        R_BT, p_BT = np.eye(3), np.zeros(3)
        if tool.site is not None:
            site = model.site(tool.site).id
            matrix = np.zeros(9)
            mujoco.mju_quat2Mat(matrix, model.site_quat[site])
            R_BT, p_BT = matrix.reshape(3, 3), model.site_pos[site]
        along, opening = (np.array(way) / np.linalg.norm(way) for way in (tool.along, tool.opening))
        R_TG = np.stack([along, np.cross(opening, along), opening], axis=1)
        spec.body(self.prefix + self.reading.tool_body).add_site(
            name=TOOL,
            pos=p_BT + R_BT @ np.array(tool.position_m),
            quat=quaternion_from_matrix(R_BT @ R_TG),
            size=(0.001, 0.001, 0.001),
            group=4,
        )

    def _pad(self, geoms: tuple[int, ...]) -> PadSensor:
        """One geom, or the body of several."""
        model = self.reading.model
        if len(geoms) == 1:
            return mujoco.mjtObj.mjOBJ_GEOM, self.prefix + model.geom(geoms[0]).name
        return mujoco.mjtObj.mjOBJ_BODY, self.prefix + model.body(model.geom_bodyid[geoms[0]]).name


def _restored(values: dict[str, Any]) -> Attachment:
    text = values["source"]
    spec, _, _ = read_spec(mujoco.MjSpec.from_string(text) if text else values["file"])
    return Attachment(**{**values, "source": spec})


def _turned(data: np.ndarray, *, led: bool, leads: bool) -> np.ndarray:
    """Coefficients of a joint equality whose first joint, or second one, counts the other way."""
    found = np.array(data, float)
    powers = np.arange(5)
    if leads:
        found[:5] *= (-1.0) ** powers
    if led:
        found[:5] *= -1.0
    return found
