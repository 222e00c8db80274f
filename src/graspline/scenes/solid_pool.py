"""A robot on a floor among solids of any place and size: a model for collision checks, not for physics."""

from __future__ import annotations

import mujoco

from graspline.robots.robot import Robot
from graspline.scenes.scene import Scene

FLOOR = "floor"
# What the hand holds: a body carried by the one that has the site `tool`.
HELD = "held"


def solid_pool(robot: Robot, slots: int) -> Scene:
    """The robot without its looks, a floor at z = 0, a number of slots for solids, and one for what is held."""
    names = tuple(f"solid_{index}" for index in range(slots))
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    robot.add_to(spec)
    _undress(spec)
    spec.worldbody.add_geom(name=FLOOR, type=mujoco.mjtGeom.mjGEOM_PLANE, size=(10, 10, 0.1))
    for name in names:
        body = spec.worldbody.add_body(name=name, mocap=True)
        body.add_geom(name=name, type=mujoco.mjtGeom.mjGEOM_BOX, size=(0.01, 0.01, 0.01))
    _add_held(spec)
    return Scene(name="solids", robot=robot, model=spec.compile(), objects=(), slots=names)


def _undress(spec: mujoco.MjSpec) -> None:
    """Take away what nothing touches; it would be moved along for nothing."""
    for geom in list(spec.geoms):
        if not geom.conaffinity:
            spec.delete(geom)
    used = {geom.meshname for geom in spec.geoms}
    for mesh in list(spec.meshes):
        if mesh.name not in used:
            spec.delete(mesh)


def _add_held(spec: mujoco.MjSpec) -> None:
    tool = spec.site("tool")
    held = tool.parent.add_body(name=HELD, pos=tool.pos, quat=tool.quat)
    # A joint that is never turned: what it carries is then no part of the hand, and can meet the wrist.
    held.add_joint(name=HELD, type=mujoco.mjtJoint.mjJNT_HINGE)
    held.add_geom(name=HELD, type=mujoco.mjtGeom.mjGEOM_BOX, size=(0.01, 0.01, 0.01))
