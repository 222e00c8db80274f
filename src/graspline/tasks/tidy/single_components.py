"""Parts that run alone: what they are given, from configuration, and how such an episode begins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graspline.errors import InputError
from graspline.grasping.hand_poses import HandPose
from graspline.grasping.whole_body_reach import tool_of
from graspline.kinematics.followers import Followers
from graspline.perception.core.beliefs import Belief
from graspline.perception.core.held import HeldObject
from graspline.robots.robot import Robot
from graspline.scenes.fittings import SHELF, TABLE
from graspline.scenes.household import Item, item_of
from graspline.scenes.household_bodies import made_as
from graspline.scenes.scene import Scene
from graspline.scenes.variation import Variation, weight_of
from graspline.spatial.poses import Pose
from graspline.spatial.rotations import matrix_from_quaternion, quaternion_from_matrix, rotation_z
from graspline.tasks.task import Draw
from graspline.tasks.tidy.believed_room import House, whole
from graspline.tasks.tidy.parameters import AloneParameters, Tidy
from graspline.tasks.tidy.postures import TABLE_AWAY_M, before, carrying, middle_of
from graspline.tasks.tidy.robot import BODY

Array = NDArray[np.float64]

# How much narrower than its width the hand is commanded around what it holds from the start.
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
    quaternions = {
        "alone.grasp_poses": [alone.grasp_poses[at + 3 : at + 7] for at in range(0, len(alone.grasp_poses), _POSE)],
        "alone.placement_surface_to_wrist": [alone.placement_surface_to_wrist[3:]],
    }
    wrong += [
        f"{key}: a quaternion of nothing but zeros turns nowhere"
        for key, numbers in quaternions.items()
        if any(each and not any(each) for each in numbers)
    ]
    return wrong


def given_alone(parameters: Tidy, robot: Robot) -> Mapping[str, Any]:
    """The inputs that come from other parts, as configured, and the room as it is configured."""
    alone, house = parameters.alone, House(table=TABLE, shelf=SHELF)
    match parameters.program:
        case "execute_grasp":
            target = _solid(alone)
            poses = tuple(_pose(numbers) for numbers in np.reshape(alone.grasp_poses, (-1, _POSE)))
            return {"house": replace(house, things=(target,)), "target": target, "grasp_poses": poses}
        case "placement" | "handover":
            return {"house": house, "held": held_object(parameters, robot)}
        case _:
            return {"house": house}


def handed_on(parameters: Tidy, memory: Mapping[str, object]) -> Mapping[str, Any]:
    """What a part that ran alone hands on, in the numbers that `alone` takes."""
    match parameters.program:
        case "find_grasp":
            target, poses = memory["target"], memory["grasp_poses"]
            assert isinstance(target, Belief)
            assert isinstance(poses, tuple)
            return {
                "grasp_object_name": target.name,
                "grasp_object_bb": [*target.position_m.tolist(), target.yaw_rad, *target.half_extents_m.tolist()],
                "grasp_poses": [_numbers(pose) for pose in poses],
            }
        case "execute_grasp":
            held = memory["held"]
            assert isinstance(held, HeldObject)
            stood = held.X_HB
            return {
                "placement_surface_to_wrist": [*stood.position_m.tolist(), *stood.quaternion.tolist()],
                "top_grasp": held.top,
            }
        case _:
            return {}


def _numbers(pose: HandPose) -> list[float]:
    return [*pose.position_m.tolist(), *quaternion_from_matrix(pose.rotation).tolist(), pose.width_m]


def held_object(parameters: Tidy, robot: Robot) -> HeldObject:
    """What is in the hand from the start."""
    item, surface = item_of(parameters.alone.object), parameters.alone.placement_surface_to_wrist
    pose = _first_grasp(item)
    tool = tool_of(robot, pose)
    if surface:
        stood = Pose(position_m=np.array(surface[:3]), rotation=_rotation(np.array(surface[3:])))
    else:
        bottom = np.array([0.0, 0.0, -item.half_extents_m[2]])
        stood = Pose(position_m=bottom, rotation=np.eye(3)).seen_from(tool)
    return replace(
        HeldObject.of(whole(_solid_at(item, np.zeros(3), 0.0)), tool),
        stood=stood,
        gap_m=pose.width_m,
        least_jaw_rad=float(robot.jaw_law.angle_rad(pose.width_m)) - 0.1,
        mass_kg=0.0,
        top=pose.top,
    )


def _first_grasp(item: Item) -> HandPose:
    """The first grasp that is known of an item, in its frame."""
    grasp = item.grasps[0]
    point = np.array(grasp.point_m)
    return HandPose(position_m=point, rotation=grasp.rotation, width_m=grasp.width_m, label="")


def start_holding(parameters: Tidy, scene: Scene, sampled: Draw) -> Draw:
    """The same room with the robot before the table and the object in its hand."""
    robot, item = scene.robot, item_of(parameters.alone.object)
    held, pose = held_object(parameters, robot), _first_grasp(item)
    postures = carrying(held, robot.home, before(TABLE, TABLE_AWAY_M), middle_of(TABLE))
    if not len(postures):
        raise InputError("alone.placement_surface_to_wrist: no object can be carried in this pose")
    joints = postures[0]
    joints[robot.jaw] = float(robot.jaw_law.angle_rad(pose.width_m)) - _SQUEEZE_RAD
    start, followers = sampled.start.copy(), Followers(robot, scene.model)
    start[followers.at] = followers.configurations(joints[None])[0]
    tool, rotation = BODY.forward(joints)
    R_OI = rotation @ pose.rotation.T
    # The robot is not quite where it believes to be, and what it holds is where the hand really is.
    x, y, turn = (start[scene.joint_address(name)] for name in robot.slip_joints)
    at, R_WO = scene.joint_address(item.name), rotation_z(turn)
    start[at : at + 3] = np.array([x, y, 0.0]) + R_WO @ (tool - R_OI @ tool_of(robot, pose).position_m)
    start[at + 3 : at + 7] = quaternion_from_matrix(R_WO @ R_OI)
    edits = (*made_as(item), weight_of(item.name, weightless=False))
    return replace(sampled, start=start, variation=sampled.variation + Variation(edits=edits))


def _rotation(quaternion: Array) -> Array:
    """(3, 3); people round what they write."""
    return matrix_from_quaternion(quaternion / np.linalg.norm(quaternion))


def _pose(numbers: Array) -> HandPose:
    rotation = _rotation(numbers[3:7])
    return HandPose(position_m=numbers[:3], rotation=rotation, width_m=float(numbers[7]), label="as configured")


def _solid(alone: AloneParameters) -> Belief:
    x, y, z, yaw, *half = alone.grasp_object_bb
    return replace(_solid_at(item_of(alone.object), np.array([x, y, z]), yaw), half_extents_m=np.array(half))


def _solid_at(item: Item, position_m: Array, yaw_rad: float) -> Belief:
    turned = quaternion_from_matrix(rotation_z(yaw_rad))
    return Belief.exact(item.name, position_m, turned, np.array(item.half_extents_m), shape=item.shape)
