"""The camera of a film: placed by what an episode does, so that any task is framed, whatever its scene looks like."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from graspline.episodes.log import EpisodeLog
from graspline.rendering.framing import Viewpoint, angles, frame_points
from graspline.rendering.picture import Array
from graspline.rendering.stage import VISIBLE_GROUPS
from graspline.scenes.scene import Scene
from graspline.scenes.variation import apply_to_model

Ids = NDArray[np.intp]

# Instants of an episode that are looked at.
_SAMPLES = 40
# An object belongs to the picture when it is this near to the hand at some time, in sizes of the robot.
_NEAR = 0.45
# The camera that shows a scene to people; the film looks about in its direction.
_FRONT = "front"
# Where there is none: from in front of the robot, a little from its right and from above.
_ASIDE_RAD, _BELOW_RAD = np.radians(150), np.radians(-24)
# A lens that does not make near things large.
_FOVY_RAD = float(np.radians(30))
# What stays free along each edge, as a share of the picture.
_MARGIN = 0.05
# Directions that are tried, from the scene's own: azimuths and elevations. A direction that is one radian off has to
# show the hand for this much more of the time.
_TURNS_RAD = tuple(np.radians([0, -15, 15, -30, 30, -45, 45, -60, 60]).tolist())
_TILTS_RAD = tuple(np.radians([0, -10]).tolist())
_TURN_COSTS = 0.25
# How much of the way to the hand may be hidden by what is in it or around it, in sizes of the robot.
_AROUND_HAND = 0.08


@dataclass(frozen=True, slots=True, kw_only=True)
class _Moment:
    """One instant: corners (n, 8, 3) of the boxes around the geoms of robot and objects, and where the hand is."""

    state: Array
    robot_m: Array
    objects_m: Array
    hand_m: Array


def frame_episode(log: EpisodeLog, scene: Scene, aspect: float) -> Viewpoint:
    """The nearest viewpoint that shows the robot, the way of its hand and the objects near it from first to last.

    It looks as the scene's front camera does, unless the hand is hidden from there and seen better from aside.
    """
    model = copy.copy(scene.model)
    apply_to_model(model, log.variation)
    data = mujoco.MjData(model)
    moments = list(_moments(log, scene, model, data))
    size_m = max(float(np.linalg.norm(np.ptp(each.robot_m.reshape(-1, 3), axis=0))) for each in moments)
    points = _points(moments, _NEAR * size_m)
    azimuth, elevation = _direction(scene)
    tried = [
        (abs(turn) + abs(tilt), frame_points(
            points,
            azimuth_rad=azimuth + turn,
            elevation_rad=elevation + tilt,
            fovy_rad=_FOVY_RAD,
            aspect=aspect,
            margin=_MARGIN,
        ))
        for turn in _TURNS_RAD
        for tilt in _TILTS_RAD
    ]  # fmt: skip
    seen = _share_seen(model, data, moments, [view.position_m for _, view in tried], _AROUND_HAND * size_m)
    worth = [share - _TURN_COSTS * off for share, (off, _) in zip(seen, tried, strict=True)]
    return tried[int(np.argmax(worth))][1]


def _moments(log: EpisodeLog, scene: Scene, model: mujoco.MjModel, data: mujoco.MjData) -> Iterable[_Moment]:
    robot, objects = _geoms(model, scene)
    pads = [model.geom(name).id for name in scene.robot.pads]
    for tick in np.unique(np.linspace(0, len(log.states) - 1, _SAMPLES).astype(int)).tolist():
        data.qpos[:] = log.states[tick]
        mujoco.mj_kinematics(model, data)
        yield _Moment(
            state=log.states[tick],
            robot_m=_corners(model, data, robot),
            objects_m=_corners(model, data, objects),
            hand_m=data.geom_xpos[pads].mean(axis=0),
        )


def _geoms(model: mujoco.MjModel, scene: Scene) -> tuple[Ids, Ids]:
    """Visible geoms of the robot, and of objects and places."""
    visible = VISIBLE_GROUPS[model.geom_group] > 0
    things = [model.body(name).id for name in (*scene.object_names, *scene.place_names)]
    root = model.body_rootid[model.geom_bodyid[model.geom(scene.robot.pads[0]).id]]
    of_robot = model.body_rootid[model.geom_bodyid] == root
    return np.flatnonzero(visible & of_robot), np.flatnonzero(visible & np.isin(model.geom_bodyid, things))


def _corners(model: mujoco.MjModel, data: mujoco.MjData, geoms: Ids) -> Array:
    """(n, 8, 3): the corners of the boxes around geoms, in W."""
    signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, 8).T
    boxes = model.geom_aabb[geoms]
    local = boxes[:, None, :3] + signs * boxes[:, None, 3:]
    turned = np.einsum("nij,nkj->nki", data.geom_xmat[geoms].reshape(-1, 3, 3), local)
    return data.geom_xpos[geoms, None] + turned


def _points(moments: list[_Moment], near_m: float) -> Array:
    """(n, 3): everything of the robot, and the objects that are near to some place of the hand."""
    hands = np.array([each.hand_m for each in moments])
    found = np.array([each.objects_m for each in moments])
    away_m = np.linalg.norm(found.mean(axis=2)[:, :, None] - hands, axis=-1).min(axis=-1)
    robot = np.array([each.robot_m for each in moments])
    return np.concatenate([robot.reshape(-1, 3), found[away_m < near_m].reshape(-1, 3)])


def _direction(scene: Scene) -> tuple[float, float]:
    """Azimuth and elevation of the direction that the scene is shown in."""
    if _FRONT not in scene.cameras:
        return float(_ASIDE_RAD), float(_BELOW_RAD)
    axes = scene.model.cam_mat0[scene.model.camera(_FRONT).id].reshape(3, 3)
    return angles(-axes[:, 2])


def _share_seen(
    model: mujoco.MjModel, data: mujoco.MjData, moments: list[_Moment], eyes_m: list[Array], around_m: float
) -> list[float]:
    """For each eye the share of moments in which nothing stands between it and the hand."""
    seen = np.zeros(len(eyes_m))
    struck = np.zeros(1, np.int32)
    for moment in moments:
        data.qpos[:] = moment.state
        mujoco.mj_kinematics(model, data)
        for index, eye in enumerate(eyes_m):
            way = moment.hand_m - eye
            far_m = float(np.linalg.norm(way))
            hit_m = mujoco.mj_ray(model, data, eye, way / far_m, VISIBLE_GROUPS, 1, -1, struck)
            seen[index] += hit_m < 0 or hit_m > far_m - around_m
    return (seen / len(moments)).tolist()
