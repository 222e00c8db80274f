"""A first description of a robot, guessed from its model: guesses say how they were made, and blanks are marked."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import mujoco
import numpy as np
from numpy.typing import NDArray

from graspline.errors import InputError
from graspline.robots.extents import corners_m
from graspline.robots.fingers import Linkage
from graspline.robots.model_reading import colliding
from graspline.robots.servo_reading import gains_in, lever_of, loads_of, proposed

Array = NDArray[np.float64]

BLANK = "TODO"
_DRIVEN = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))
_PAD, _TOOL = re.compile(r"pad|tip|rubber", re.I), re.compile(r"grasp|grip|tcp|tool|pinch|tip|eef|^ee|hand", re.I)
# A site this near to the middle of the pads is taken for the tool.
_AT_PADS_M, _BEHIND_TIPS_M = 0.008, 0.004
# A hand at home opens this share of its range.
_OPEN = 0.8


@dataclass(slots=True)
class Draft:
    """Lines of a description that grows, key by key."""

    lines: list[str] = field(default_factory=list)

    def add(self, key: str, value: object, why: str = "") -> None:
        """Write one key of the description, with why it has this value."""
        self.lines.append(f"{key}: {_written(value)}" + (f"  # {why}" if why else ""))


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Ids of what a robot seems to be made of."""

    arm: list[int]
    jaw: int | None
    follower: int | None
    # Bodies of the hand, of the jaw's finger and of the other one: the hand again where that stands still.
    hand: int
    moving: int
    fixed: int
    # In words, for comments.
    how: str


def description_text(model: mujoco.MjModel, name: str, model_file: str) -> str:
    """A description file for a compiled model. Raises InputError where there is nothing that could be an arm."""
    parts = _parts(model)
    draft = Draft()
    draft.lines += [
        f"# {name}, guessed from {model_file}. Check every line that says guessed, and replace every {BLANK};",
        f"# then `graspline jaw {name}.yaml` and `graspline workspace {name}.yaml` measure the robot.",
    ]
    draft.add("name", name)
    draft.add("model", model_file)
    names = [model.joint(each).name for each in parts.arm]
    jaw = BLANK if parts.jaw is None else model.joint(parts.jaw).name
    _add_joints(draft, model, parts, names, jaw)
    home, why = _home(model, parts)
    geoms = _add_pads(draft, model, parts)
    _add_tool(draft, model, parts, home, geoms)
    draft.add("home", [round(float(each), 4) for each in home], why)
    _add_servos(draft, model, parts, home)
    return "\n".join(draft.lines) + "\n"


def _written(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_written(each) for each in value)}]"
    if isinstance(value, str):
        return value if re.fullmatch(r"[A-Za-z_][\w./-]*", value) else f'"{value}"'
    return f"{value:g}" if isinstance(value, float) else str(value)


def _parts(model: mujoco.MjModel) -> Parts:
    """The longest chain of joints is the arm; where it branches, or its last joint, is the hand."""
    bodies = range(1, model.nbody)
    driven = [each for each in range(model.njnt) if int(model.jnt_type[each]) in _DRIVEN]
    if not driven:
        raise InputError("it has no hinge and no slide: nothing that could be an arm; expected a robot's MJCF or URDF")
    below = {body: [each for each in driven if _is_below(model, int(model.jnt_bodyid[each]), body)] for body in bodies}
    roots = [body for body in bodies if not model.body_parentid[body]]
    hand = max(roots, key=lambda body: len(below[body]))
    while True:
        branches = [each for each in bodies if model.body_parentid[each] == hand and below[each]]
        if len(branches) != 1:
            break
        hand = branches[0]
    chain = sorted(each for each in driven if _is_below(model, hand, int(model.jnt_bodyid[each])))
    if len(branches) < 2:
        # No branch: the last joint is that of the one finger that moves.
        jaw, moving = chain[-1], int(model.jnt_bodyid[chain[-1]])
        fixed = int(model.body_parentid[moving])
        how = "guessed: the last joint of the chain"
        return Parts(arm=chain[:-1], jaw=jaw, follower=None, hand=fixed, moving=moving, fixed=fixed, how=how)
    firsts = [min(below[each]) for each in branches]
    driven_by = [bool(_actuators(model, each)) for each in firsts]
    coupled = {
        int(model.eq_obj1id[each]) for each in range(model.neq) if model.eq_type[each] == mujoco.mjtEq.mjEQ_JOINT
    }
    order = sorted(range(len(firsts)), key=lambda index: (firsts[index] in coupled, not driven_by[index]))
    jaw, other = firsts[order[0]], firsts[order[1]]
    follower = other if other not in coupled and jaw not in coupled and not _connected(model) else None
    moving, fixed = (_finger(model, branches[order[index]]) for index in (0, 1))
    how = f"guessed: the {'driven ' if driven_by[order[0]] else ''}finger where the chain branches"
    return Parts(arm=chain, jaw=jaw, follower=follower, hand=hand, moving=moving, fixed=fixed, how=how)


def _is_below(model: mujoco.MjModel, body: int, above: int) -> bool:
    while body and body != above:
        body = int(model.body_parentid[body])
    return body == above


def _actuators(model: mujoco.MjModel, joint: int) -> list[int]:
    return [each for each in range(model.nu) if lever_of(model, each, joint)]


def _connected(model: mujoco.MjModel) -> bool:
    """Whether parts are tied by points or poses, as the bars of a linkage are."""
    return bool(np.isin(model.eq_type, (int(mujoco.mjtEq.mjEQ_CONNECT), int(mujoco.mjtEq.mjEQ_WELD))).any())


def _finger(model: mujoco.MjModel, branch: int) -> int:
    """The body of a finger that grips: one named like a pad, or else the last one that touches things."""
    touching = [
        body for body in range(branch, model.nbody) if _is_below(model, body, branch) and len(_touching(model, body))
    ]
    named = [body for body in touching if _PAD.search(model.body(body).name)]
    return (named or touching or [branch])[-1]


def _touching(model: mujoco.MjModel, body: int) -> list[int]:
    return [each for each in range(model.ngeom) if model.geom_bodyid[each] == body and colliding(model, each)]


def _add_joints(draft: Draft, model: mujoco.MjModel, parts: Parts, names: list[str], jaw: str) -> None:
    draft.lines.append("joints:")
    draft.add("  arm", names or [BLANK], "guessed: the longest chain, up to the hand" if names else "to fill in")
    draft.add("  jaw", jaw, parts.how)
    if parts.follower is not None:
        draft.add(
            "  follower",
            model.joint(parts.follower).name,
            "guessed: the other finger, which nothing couples to the jaw",
        )


def _home(model: mujoco.MjModel, parts: Parts) -> tuple[Array, str]:
    """Joints of the arm and the jaw, and how they were found."""
    joints = [*parts.arm, *([] if parts.jaw is None else [parts.jaw])]
    at = model.jnt_qposadr[joints]
    if model.nkey:
        keys = [model.key(each).name for each in range(model.nkey)]
        key = keys.index("home") if "home" in keys else 0
        return model.key_qpos[key][at], f"guessed: keyframe {keys[key] or key} of the model"
    low, high = model.jnt_range[joints].T
    limited = model.jnt_limited[joints].astype(bool)
    home = np.where(limited, np.clip(0.0, low, high), 0.0)
    # Halfway, where zero is a limit: stretched arms reach nothing.
    home = np.where(limited & ((home == low) | (home == high)), (low + high) / 2, home)
    if parts.jaw is not None and limited[-1]:
        home[-1] = low[-1] + _OPEN * (high[-1] - low[-1])
    return home, "guessed: the model has no keyframe; choose a posture that is clear of the table, the hand open"


def _add_pads(draft: Draft, model: mujoco.MjModel, parts: Parts) -> dict[str, list[int]]:
    draft.lines.append("pads:")
    found = {}
    for side, body in (("fixed", parts.fixed), ("moving", parts.moving)):
        geoms = _touching(model, body)
        named = [each for each in geoms if _PAD.search(model.geom(each).name)]
        found[side] = named or geoms
        if named and len(named) < len(geoms):
            draft.add(f"  {side}", [model.geom(named[0]).name], "guessed by its name")
        elif geoms and (side == "moving" or parts.fixed != parts.hand):
            draft.add(f"  {side}", [model.body(body).name], "guessed: the finger's body")
        elif geoms:
            there = ", ".join(model.geom(each).name for each in geoms)
            found[side] = [_farthest(model, geoms)]
            draft.add(f"  {side}", [model.geom(found[side][0]).name], f"guessed: of {there}, the one farthest out")
        else:
            draft.add(f"  {side}", [BLANK], f"to fill in: {model.body(body).name} has no colliding geom")
    return found


def _farthest(model: mujoco.MjModel, geoms: list[int]) -> int:
    return max(geoms, key=lambda each: float(np.linalg.norm(model.geom_pos[each])))


def _add_tool(draft: Draft, model: mujoco.MjModel, parts: Parts, home: Array, geoms: dict[str, list[int]]) -> None:
    draft.lines.append("tool:")
    if not geoms["fixed"] or not geoms["moving"]:
        draft.add("  body", model.body(parts.hand).name, "guessed: the body that carries the fingers")
        for key in ("position_m", "along", "opening"):
            draft.add(f"  {key}", [0.0, 0.0, 0.0], f"to fill in ({BLANK}): the pads are not known")
        return
    data = _posed(model, parts, home)
    fixed, moving = (np.mean([data.geom_xpos[each] for each in geoms[side]], axis=0) for side in ("fixed", "moving"))
    middle = _held(model, data, geoms, data.xpos[parts.hand], (fixed + moving) / 2)
    site = _site(model, data, parts, middle)
    if site is None:
        key, name, R, p = "body", model.body(parts.hand).name, data.xmat[parts.hand], data.xpos[parts.hand]
        why = "guessed: the body that carries the fingers; the model has no site at the pads"
    else:
        key, name, R, p = "site", model.site(site).name, data.site_xmat[site], data.site_xpos[site]
        why = "guessed: the site at the pads"
    R = R.reshape(3, 3)
    opening = _neat(R.T @ (moving - fixed))
    ahead = R.T @ (middle - data.xpos[parts.hand])
    along = _neat(ahead - opening * (ahead @ opening))
    draft.add(f"  {key}", name, why)
    if site is None:
        draft.add(
            "  position_m",
            [round(float(each), 4) for each in R.T @ (middle - p)],
            "guessed: midway between the pads, near their tips",
        )
    draft.add("  along", along.tolist(), "guessed: from the hand's body to the pads")
    draft.add("  opening", opening.tolist(), "guessed: from the fixed pad to the moving one")


def _posed(model: mujoco.MjModel, parts: Parts, home: Array) -> mujoco.MjData:
    """At home; a finger that nothing couples to the jaw as far along its range as the jaw is."""
    joints = [*parts.arm, *([] if parts.jaw is None else [parts.jaw])]
    at = {model.joint(each).name: float(position) for each, position in zip(joints, home, strict=True)}
    if parts.follower is not None and parts.jaw is not None:
        (low, high), (first, last) = model.jnt_range[[parts.jaw, parts.follower]]
        share = (home[-1] - low) / max(high - low, 1e-9)
        at[model.joint(parts.follower).name] = float(first + share * (last - first))
    linkage = Linkage(model, tuple(at))
    linkage.pose(at)
    return linkage.data


def _held(model: mujoco.MjModel, data: mujoco.MjData, geoms: dict[str, list[int]], hand: Array, middle: Array) -> Array:
    """Where the fingers hold things: midway between the pads, a little behind the fingertips."""
    ahead = (middle - hand) / max(float(np.linalg.norm(middle - hand)), 1e-9)
    tips = [
        max(float(((corners_m(model, data, each) - middle) @ ahead).max()) for each in geoms[side])
        for side in ("fixed", "moving")
    ]
    return middle + max(min(tips) - _BEHIND_TIPS_M, 0.0) * ahead


def _site(model: mujoco.MjModel, data: mujoco.MjData, parts: Parts, middle: Array) -> int | None:
    near = [
        each
        for each in range(model.nsite)
        if model.site_bodyid[each] == parts.hand and np.linalg.norm(data.site_xpos[each] - middle) < _AT_PADS_M
    ]
    named = [each for each in near if _TOOL.search(model.site(each).name)]
    return next(iter(named or near), None)


def _neat(way: Array) -> Array:
    """Of length 1, and along an axis if it nearly is."""
    way = way / max(float(np.linalg.norm(way)), 1e-9)
    axis = int(np.argmax(np.abs(way)))
    if abs(way[axis]) > np.cos(np.radians(15)):
        way = np.sign(way[axis]) * np.eye(3)[axis]
    return np.round(way, 4) + 0.0


def _add_servos(draft: Draft, model: mujoco.MjModel, parts: Parts, home: Array) -> None:
    """Nothing where the model's own do; or what would hold the robot up."""
    if parts.jaw is None:
        return
    joints = tuple(model.joint(each).name for each in (*parts.arm, parts.jaw))
    gains = gains_in(model, joints)
    if not np.isnan(gains.kp[:-1]).any():
        draft.lines.append(
            "# The servos' gains and limits are those of the model's actuators; the jaw's follow from grip_n."
        )
        return
    kp, kv, force = proposed(loads_of(model, joints, home), gains.force)
    draft.lines.append("servos:")
    draft.add("  kp", kp, "guessed: the model has no position servos; these would hold the robot's weight")
    draft.add("  kv", kv, "guessed: near critical damping")
    draft.add("  force", force, "guessed: from the model's limits, or four times its weight")
