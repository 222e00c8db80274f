"""Two fingers of any model, measured on scratch data: the jaw moves step by step, and what is coupled to it follows."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from graspline.robots.extents import CORNERS, corners_m
from graspline.robots.hand import Hand, MeasuredFace
from graspline.robots.robot import JawLaw

Array = NDArray[np.float64]

# Positions of the jaw that are measured.
_STEPS = 201
# Newton steps in which linkages close, and what they may be off, m or rad.
_CLOSING_STEPS, _CLOSED = 25, 1e-9
# A finger that moves by less than this share of the opening stays.
_STAYS = 0.02
# Faces may overlap by this much when the jaw is shut, as where they touch.
_TOUCHING_M = 1e-4
# Fingers are taken to hold things this far from their tips, or in the middle of shorter pads.
_HELD_BELOW_M = 0.005


@dataclass(frozen=True, slots=True, kw_only=True)
class FingerNames:
    """What is measured: the jaw's joint, those of the arm, the tool's site and the geoms of either finger."""

    jaw: str
    arm: tuple[str, ...]
    tool: str
    fixed: tuple[str, ...]
    moving: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Faces:
    """Inner faces of one finger at n positions of the jaw, in the tool frame; the farthest piece first."""

    # (n, 2 per piece): along x and z, the far corner of each piece before the near one.
    along_m: Array
    across_m: Array
    # (n,): the middle of the first piece along y.
    beside_m: Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingers:
    """Both fingers over the range of the jaw, at rising positions."""

    positions: Array
    fixed: Faces
    moving: Faces
    # Positions of joints that follow the jaw, (n,) each.
    followers: dict[str, Array]

    @property
    def gap_m(self) -> Array:
        """(n,): across, between the fingertips."""
        return self.moving.across_m[:, 0] - self.fixed.across_m[:, 0]

    def closing_with(self) -> bool:
        """Whether the hand closes as positions grow."""
        return bool(self.gap_m[0] > self.gap_m[-1])

    def usable(self) -> slice:
        """From where the faces meet, or come nearest, to where the hand is widest."""
        gap = self.gap_m
        widest = int(np.argmax(gap))
        shut = np.flatnonzero(gap[: widest + 1] < -_TOUCHING_M)
        first = int(shut[-1]) + 1 if len(shut) else 0
        return slice(first + int(np.argmin(gap[first : widest + 1])), widest + 1)


class Linkage:
    """A model on scratch data whose joints are set, and whose other joints follow by its equalities."""

    def __init__(self, model: mujoco.MjModel, led: tuple[str, ...]) -> None:
        self.model = copy.copy(model)
        self.model.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
        flags = mujoco.mjtDisableBit
        self.model.opt.disableflags |= int(flags.mjDSBL_CONTACT) | int(flags.mjDSBL_LIMIT)
        self.data = mujoco.MjData(self.model)
        dofs = {int(self.model.joint(name).dofadr[0]) for name in led}
        self._free = np.array([dof for dof in range(self.model.nv) if dof not in dofs], dtype=np.intp)
        self.followers = {
            self.model.joint(joint).name: int(self.model.jnt_qposadr[joint])
            for joint in range(self.model.njnt)
            if int(self.model.jnt_dofadr[joint]) in set(self._free.tolist())
        }

    def pose(self, joints: dict[str, float]) -> None:
        """Put these joints there, and the others where equalities want them."""
        model, data = self.model, self.data
        for name, position in joints.items():
            data.qpos[model.joint(name).qposadr[0]] = position
        for _ in range(_CLOSING_STEPS):
            mujoco.mj_fwdPosition(model, data)
            rows = np.flatnonzero(data.efc_type[: data.nefc] == int(mujoco.mjtConstraint.mjCNSTR_EQUALITY))
            if not len(rows) or not len(self._free):
                return
            off = data.efc_pos[rows]
            if np.abs(off).max() < _CLOSED:
                return
            jacobian = data.efc_J.reshape(data.nefc, model.nv)[np.ix_(rows, self._free)]
            step = np.zeros(model.nv)
            step[self._free] = -np.linalg.lstsq(jacobian, off, rcond=1e-9)[0]
            mujoco.mj_integratePos(model, data.qpos, step, 1.0)
        mujoco.mj_fwdPosition(model, data)

    def corners_m(self, geom: int) -> Array:
        """The corners of a geom in its present pose."""
        return corners_m(self.model, self.data, geom)


def measure_fingers(model: mujoco.MjModel, names: FingerNames, arm: Array) -> Fingers:
    """Move the jaw over its range with the arm at `arm`, and see where the pads' inner faces are."""
    linkage = Linkage(model, (*names.arm, names.jaw))
    low, high = model.joint(names.jaw).range
    positions = np.linspace(low, high, _STEPS)
    at_arm = dict(zip(names.arm, arm.tolist(), strict=True))
    geoms = {side: [model.geom(name).id for name in getattr(names, side)] for side in ("fixed", "moving")}
    boxes: dict[str, list[Array]] = {"fixed": [], "moving": []}
    followers: dict[str, list[float]] = {name: [] for name in linkage.followers}
    for position in positions:
        linkage.pose({**at_arm, names.jaw: float(position)})
        tool = linkage.data.site(names.tool)
        R_WT, p_WT = tool.xmat.reshape(3, 3), tool.xpos
        for side, found in boxes.items():
            found.append(np.array([(linkage.corners_m(geom) - p_WT) @ R_WT for geom in geoms[side]]))
        for name, at in linkage.followers.items():
            followers[name].append(float(linkage.data.qpos[at]))
    fixed, moving = (np.array(boxes[side]) for side in ("fixed", "moving"))
    # Faces are distinguished where the hand is most nearly shut.
    shut = int(np.argmin(np.abs(moving[..., 2].min(axis=(1, 2)) - fixed[..., 2].max(axis=(1, 2)))))
    return Fingers(
        positions=positions,
        fixed=_faces(fixed, shut, 1.0),
        moving=_faces(moving, shut, -1.0),
        followers={name: np.array(found) for name, found in followers.items()},
    )


def _faces(corners: Array, shut: int, inwards: float) -> Faces:
    """The face of each box that looks along z times `inwards` when the jaw is shut; corners (n, pads, 8, 3)."""
    pieces = []
    for pad in range(corners.shape[1]):
        box = corners[:, pad]
        # The four corners of each side, in its order: -x, +x, -y, +y, -z, +z of the box.
        sides = [np.flatnonzero(CORNERS[:, axis] == sign) for axis in range(3) for sign in (-1.0, 1.0)]
        middle = box[shut].mean(axis=0)
        outward = [box[shut][side].mean(axis=0) - middle for side in sides]
        looks = [way[2] * inwards / max(float(np.linalg.norm(way)), 1e-12) for way in outward]
        face = sides[int(np.argmax(looks))]
        order = face[np.argsort(-box[shut][face, 0], kind="stable")]
        far, near = box[:, order[:2]], box[:, order[2:]]
        pieces.append((far, near, box[:, face, 1].mean(axis=1)))
    pieces.sort(key=lambda piece: -float(piece[0][shut, :, 0].mean()))
    inner = np.min if inwards < 0 else np.max
    along = [edge[..., 0].mean(axis=1) for far, near, _ in pieces for edge in (far, near)]
    across = [inner(edge[..., 2], axis=1) for far, near, _ in pieces for edge in (far, near)]
    return Faces(along_m=np.stack(along, axis=1), across_m=np.stack(across, axis=1), beside_m=pieces[0][2])


def jaw_law_of(fingers: Fingers) -> JawLaw:
    """Gap and middle between the pads at each position, from shut to widest open."""
    part = fingers.usable()
    gap = np.maximum.accumulate(fingers.gap_m[part])
    fixed, moving = fingers.fixed, fingers.moving
    tip, near = ((fixed.along_m[part, corner] + moving.along_m[part, corner]) / 2 for corner in (0, 1))
    held = tip - np.minimum((tip - near) / 2, _HELD_BELOW_M)
    middle = np.stack(
        [
            held,
            (fixed.beside_m[part] + moving.beside_m[part]) / 2,
            (fixed.across_m[part, 0] + moving.across_m[part, 0]) / 2,
        ],
        axis=1,
    )
    return JawLaw(
        angles_rad=fingers.positions[part],
        gaps_m=gap,
        middles_m=middle,
        followers={name: positions[part] for name, positions in fingers.followers.items()},
    )


def hand_of(fingers: Fingers) -> Hand:
    """The fingers as planning sees them.

    The gripper frame is level with the pads, and midway between two that move; the tool may be off from there.
    """
    part = fingers.usable()
    positions = fingers.positions[part]
    along, across = fingers.moving.along_m[part], fingers.moving.across_m[part]
    fixed = fingers.fixed.across_m[part, 0]
    opening = float(np.ptp(fingers.gap_m[part]))
    centred = bool(np.ptp(fixed) > _STAYS * opening)
    middle_y = float((fingers.fixed.beside_m[part] + fingers.moving.beside_m[part]).mean() / 2)
    middle_z = float((across[:, 0] + fixed).mean() / 2) if centred else 0.0
    return Hand(
        tool_m=(0.0, -middle_y, -middle_z),
        tip_m=float(fingers.fixed.along_m[part][0].max()),
        grip_from_m=float(fingers.fixed.along_m[part][0].min()),
        positions=np.linspace(float(positions[0]), float(positions[-1]), 151),
        moving_face_m=MeasuredFace(positions, along, across - middle_z),
        face_m=float(fingers.fixed.across_m[part].max()) - middle_z,
        centred=centred,
    )
