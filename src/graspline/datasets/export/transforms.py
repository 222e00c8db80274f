"""Where everything was, frame by frame: a scene's model posed as rows tell, each thing in the frame that carries it.

Nothing is made up: what hangs on a joint whose position the rows do not hold is left out.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import mujoco
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from graspline.datasets.format.frames import OURS
from graspline.datasets.format.tables import numbers_in
from graspline.episodes.units import Units
from graspline.scenes.scene import Scene
from graspline.scenes.variation import Variation, apply_to_model
from graspline.spatial.rotations import (
    matrix_from_quaternion,
    multiply,
    quaternion_from_matrix,
    rotate,
    transpose,
)

Array = NDArray[np.float64]

_TOOL = "tool"
# From a camera of MuJoCo (y up, looks along -z) to an optical frame of ROS (y down, looks along z).
_R_CAMERA_OPTICAL = np.diag([1.0, -1.0, -1.0])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Transform:
    """X_PC: the pose of a frame `child` in its frame `parent`."""

    parent: str
    child: str
    # (3,), and (4,) with w first.
    position_m: Array
    quaternion: Array


def optical_frame(camera: str) -> str:
    """The frame of a camera's pictures; the camera on the wrist is named like the link."""
    return f"{camera}_camera_optical_frame"


def coordinates_in(frames: pa.Table, scene: Scene, units: Units) -> Array:
    """qpos of every frame, (T, nq), as far as rows hold it; the rest is the model's own."""
    qpos = np.tile(scene.model.qpos0, (len(frames), 1))
    joints = numbers_in(frames, "observation.state").astype(float)
    qpos[:, [scene.joint_address(name) for name in scene.robot.joints]] = units.inward(joints)
    things = [scene.joint_address(name) for name in (*scene.object_names, *scene.place_names)]
    qpos[:, [at + part for at in things for part in range(7)]] = numbers_in(frames, f"{OURS}object_poses")
    return qpos


class Posed:
    """A scene as one episode varied it. Frames that stand still in their parents are in `still`."""

    def __init__(self, scene: Scene, variation: Variation) -> None:
        self._model = copy.copy(scene.model)
        apply_to_model(self._model, variation)
        self._data = mujoco.MjData(self._model)
        given = {*scene.robot.joints, *scene.object_names, *scene.place_names}
        known = self._known_bodies(given)
        self._moving = [body for body in known if self._model.body_jntnum[body]]
        fixed = [body for body in known if not self._model.body_jntnum[body]]
        self.still = (
            *(self._fixed_body(body) for body in fixed),
            *self._tool(known),
            *(self._camera(number) for number in range(self._model.ncam) if self._carried(number, known)),
        )

    def moving(self, qpos: Array) -> list[Transform]:
        """Frames that joints move, for coordinates (nq,)."""
        self._data.qpos[:] = qpos
        mujoco.mj_kinematics(self._model, self._data)
        bodies = np.array(self._moving, np.intp)
        parents = self._model.body_parentid[bodies]
        R_PW = transpose(self._data.xmat[parents].reshape(-1, 3, 3))
        positions = rotate(R_PW, self._data.xpos[bodies] - self._data.xpos[parents])
        rotations = quaternion_from_matrix(multiply(R_PW, self._data.xmat[bodies].reshape(-1, 3, 3)))
        return [
            Transform(parent=self._name(parent), child=self._name(body), position_m=position, quaternion=quaternion)
            for parent, body, position, quaternion in zip(parents, bodies, positions, rotations, strict=True)
        ]

    def fovy_rad(self, camera: str) -> float:
        """What a camera sees from the bottom edge of its picture to the top edge."""
        # MuJoCo keeps this one in degrees whatever the compiler's angle unit.
        return float(np.radians(self._model.cam_fovy[self._model.camera(camera).id]))

    def _known_bodies(self, given: set[str]) -> list[int]:
        """Bodies whose pose follows from these joints; parents come before children, the world is not among them."""
        known = {0}
        for body in range(1, self._model.nbody):
            first, count = self._model.body_jntadr[body], self._model.body_jntnum[body]
            joints = {self._model.joint(index).name for index in range(first, first + count)}
            placed_by_hand = self._model.body_mocapid[body] >= 0
            if self._model.body_parentid[body] in known and joints <= given and not placed_by_hand:
                known.add(body)
        return sorted(known - {0})

    def _fixed_body(self, body: int) -> Transform:
        model = self._model
        parent = self._name(model.body_parentid[body])
        return _transform(parent, self._name(body), model.body_pos[body], model.body_quat[body])

    def _tool(self, known: list[int]) -> list[Transform]:
        site = self._model.site(_TOOL)
        body = int(self._model.site_bodyid[site.id])
        return [_transform(self._name(body), _TOOL, site.pos, site.quat)] if body in known else []

    def _carried(self, camera: int, known: list[int]) -> bool:
        """Whether a camera is fixed to a body that we know."""
        fixed = self._model.cam_mode[camera] == mujoco.mjtCamLight.mjCAMLIGHT_FIXED
        return bool(fixed) and self._model.cam_bodyid[camera] in (0, *known)

    def _camera(self, number: int) -> Transform:
        camera = self._model.camera(number)
        R_BO = multiply(matrix_from_quaternion(camera.quat), _R_CAMERA_OPTICAL)
        parent = self._name(self._model.cam_bodyid[number])
        return _transform(parent, optical_frame(camera.name), camera.pos, quaternion_from_matrix(R_BO))

    def _name(self, body: int) -> str:
        return self._model.body(int(body)).name


def _transform(parent: str, child: str, position_m: Array, quaternion: Array) -> Transform:
    unit = quaternion / np.linalg.norm(quaternion)
    return Transform(parent=parent, child=child, position_m=np.array(position_m), quaternion=unit)
