"""Parts that run alone: what they are given, from configuration, and how such an episode begins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graspline.grasping.hand_poses import HandPose
from graspline.grasping.reaching import held_of
from graspline.kinematics import hsr
from graspline.perception.solids import Solid
from graspline.robots.robot import Robot
from graspline.scenes.fittings import SHELF, TABLE
from graspline.scenes.household import Item, item_of
from graspline.scenes.household_bodies import made_as, weight_of
from graspline.scenes.scene import Scene
from graspline.scenes.variation import Variation
from graspline.spatial.rotations import matrix_from_quaternion, quaternion_from_matrix, rotation_z
from graspline.tasks.task import Draw
from graspline.tasks.tidy.house import House, before
from graspline.tasks.tidy.moving import TABLE_AWAY_M, Grip, carrying, transform
from graspline.tasks.tidy.parameters import AloneParameters, Tidy

Array = NDArray[np.float64]

# How much less than its width the hand is told to be around what it holds from the start.
_SQUEEZE_RAD = 0.05
# Numbers of a configured pose.
_POSE = 8


def problems_alone(parameters: Tidy) -> list[str]:
    """What a part that runs alone has not been given."""
    alone, wrong = parameters.alone, list[str]()
    if parameters.program == "execute_grasp":
        if not alone.grasp_poses or len(alone.grasp_poses) % _POSE:
            wrong.append(
                "program=execute_grasp needs alone.grasp_poses: x, y, z, quaternion and width, eight numbers a pose"
            )
        if len(alone.grasp_object_bb) != 7:
            wrong.append("program=execute_grasp needs alone.grasp_object_bb: x, y, z, heading and half its three sides")
    if parameters.program == "placement" and len(alone.placement_surface_to_wrist) not in (0, 7):
        wrong.append("alone.placement_surface_to_wrist: x, y, z and a quaternion, seven numbers, or nothing")
    return wrong


def given_alone(parameters: Tidy, robot: Robot) -> Mapping[str, Any]:
    """The inputs that come from other parts, as configured."""
    alone, item = parameters.alone, item_of(parameters.alone.object)
    match parameters.program:
        case "execute_grasp":
            target = _solid(alone, item)
            return {
                "things": (target,),
                "grasp_poses": tuple(_pose(numbers) for numbers in np.reshape(alone.grasp_poses, (-1, _POSE))),
                "grasp_object_bb": target,
                "grasp_object_name": alone.object,
            }
        case "placement" | "handover":
            grip = grip_of(parameters, robot)
            return {
                "things": (),
                "grip": grip,
                "grasp_object_name": alone.object,
                "placement_surface_to_wrist": grip.X_TB,
            }
        case _:
            return {}


def grip_of(parameters: Tidy, robot: Robot) -> Grip:
    """What is in the hand from the start."""
    alone, item = parameters.alone, item_of(parameters.alone.object)
    grasp, surface = item.grasps[0], alone.placement_surface_to_wrist
    jaw_rad = float(robot.jaw_law.angle_rad(grasp.width_m))
    R_OT = grasp.rotation
    middle = robot.jaw_law.middle_m(jaw_rad)
    tool = np.array(grasp.point_m) - R_OT @ middle
    bottom = np.array([0.0, 0.0, -item.half_extents_m[2]])
    X_TB = transform(R_OT.T, R_OT.T @ (bottom - tool))
    if surface:
        X_TB = transform(matrix_from_quaternion(np.array(surface[3:])), np.array(surface[:3]))
    held = held_of(_solid_at(item, np.zeros(3), 0.0), tool, R_OT)
    top = bool(-R_OT[2, 0] > 0.9)
    return Grip(name=item.name, held=held, X_TB=X_TB, least_jaw_rad=jaw_rad - 0.1, mass_kg=0.0, top=top)


def start_holding(parameters: Tidy, scene: Scene, draw: Draw) -> Draw:
    """The same room with the robot before the table and the object in its hand."""
    robot, item = scene.robot, item_of(parameters.alone.object)
    grip, house = grip_of(parameters, robot), House(table=TABLE, shelf=SHELF)
    gaze = house.table.in_world((0.0, 0.0, house.table.levels[0].position_m[2]))
    joints = carrying(robot, grip, robot.home, before(TABLE, TABLE_AWAY_M), gaze)[0]
    joints[robot.jaw] = float(robot.jaw_law.angle_rad(item.grasps[0].width_m)) - _SQUEEZE_RAD
    start = draw.start.copy()
    for name, angle in zip(robot.joints, joints, strict=True):
        start[scene.joint_address(name)] = angle
    _follow(scene, start)
    tool, rotation = hsr.forward(joints)
    at = scene.joint_address(item.name)
    start[at : at + 3] = tool + rotation @ grip.held.p_TO_m
    start[at + 3 : at + 7] = quaternion_from_matrix(rotation @ grip.held.R_TO)
    edits = (*made_as(item), weight_of(item.name, weightless=False))
    return replace(draw, start=start, variation=draw.variation + Variation(edits=edits))


def _follow(scene: Scene, start: Array) -> None:
    """Put joints that follow others by an equality where those are."""
    model = scene.model
    for index in range(model.neq):
        first, second = int(model.eq_obj1id[index]), int(model.eq_obj2id[index])
        if second >= 0:
            offset, factor = model.eq_data[index, :2]
            moved = start[model.jnt_qposadr[second]] - model.qpos0[model.jnt_qposadr[second]]
            start[model.jnt_qposadr[first]] = model.qpos0[model.jnt_qposadr[first]] + offset + factor * moved


def _pose(numbers: Array) -> HandPose:
    rotation = matrix_from_quaternion(numbers[3:7] / np.linalg.norm(numbers[3:7]))
    return HandPose(position_m=numbers[:3], rotation=rotation, width_m=float(numbers[7]), label="as configured")


def _solid(alone: AloneParameters, item: Item) -> Solid:
    x, y, z, yaw, *half = alone.grasp_object_bb
    return replace(_solid_at(item, np.array([x, y, z]), yaw), half_extents_m=np.array(half))


def _solid_at(item: Item, position_m: Array, yaw_rad: float) -> Solid:
    return Solid(
        name=item.name,
        shape=item.shape,
        position_m=position_m,
        quaternion=quaternion_from_matrix(rotation_z(yaw_rad)),
        half_extents_m=np.array(item.half_extents_m),
        position_sigma_m=0.0,
        yaw_sigma_rad=0.0,
    )
