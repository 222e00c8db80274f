"""A robot's model as its file has it: what a description names in it, and everything that is missing."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np

from graspline.errors import InputError, nearest
from graspline.parameters.notation import printable
from graspline.robots.description import RobotDescription
from graspline.wording import counted

FEWEST_JOINTS = 4
_JOINT = mujoco.mjtJoint
_MOST_LISTED = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a description names, found in a compiled model; ids count in that model."""

    model: mujoco.MjModel
    # The body on the ground that carries the arm.
    root: str
    joints: tuple[str, ...]
    # Colliding geoms of each pad.
    fixed: tuple[int, ...]
    moving: tuple[int, ...]
    # Whose contacts are the pad's.
    tool_body: str


def read_spec(model: str | os.PathLike[str] | mujoco.MjSpec) -> tuple[mujoco.MjSpec, mujoco.MjModel, str]:
    """A model's spec, that compiled, and what messages call it."""
    if not isinstance(model, (str, os.PathLike)):
        spec, name = model.copy(), model.modelname or "the model"
    else:
        path = Path(model).resolve()
        name = printable(os.fspath(model))
        if not path.is_file():
            there = sorted(each.name for each in path.parent.glob("*") if each.suffix in (".xml", ".urdf"))
            listed = f"; in its folder: {', '.join(there[:_MOST_LISTED])}" if there else ""
            what = "this is a folder" if path.is_dir() else "there is no such file"
            raise InputError(f"{name}: {what}; expected an MJCF or URDF file{listed}")
        if path.suffix in (".yaml", ".yml"):
            raise InputError(f"{name}: a description, not a model; expected the MJCF or URDF file that it names")
        try:
            # With a whole path, meshes are found from any folder.
            spec = mujoco.MjSpec.from_file(str(path))
        except (ValueError, UnicodeDecodeError) as error:
            raise InputError(f"{name}: neither MJCF nor URDF (.xml or .urdf): {_one_line(error)}") from None
    # A base that was fused with the world would stay behind with it, as URDFs' are.
    spec.compiler.fusestatic = False
    _name_everything(spec)
    try:
        return spec, spec.copy().compile(), name
    except ValueError as error:
        # MuJoCo shortens the two slashes to one.
        hint = "; write the path from the model's folder instead of package://" if "package:/" in str(error) else ""
        raise InputError(f"{name}: MuJoCo cannot build it: {_one_line(error)}{hint}") from None


def _one_line(error: Exception) -> str:
    return printable(" ".join(str(error).split()))


def _name_everything(spec: mujoco.MjSpec) -> None:
    """Names for bodies and geoms that have none, so that messages and exclusions can say them."""
    for kind, elements in (("body", spec.bodies), ("geom", spec.geoms), ("joint", spec.joints)):
        taken = {each.name for each in elements}
        number = 0
        for each in elements:
            if each.name:
                continue
            base = kind if kind == "body" else f"{each.parent.name}_{kind}"
            while (name := f"{base}_{number}") in taken:
                number += 1
            each.name = name
            taken.add(name)


def read_model(model: mujoco.MjModel, description: RobotDescription, name: str) -> Reading:
    """Everything that the description names. Raises InputError with all that is not there, and what would do."""
    problems: list[str] = []
    joints = _joints(model, description, problems)
    tool = _tool(model, description, problems)
    pads = {side: _pads(model, side, getattr(description.pads, side), problems) for side in ("fixed", "moving")}
    both = set(pads["fixed"]) & set(pads["moving"])
    if both:
        problems.append(f"pads: {_geom_names(model, both)} is given for both fingers")
    roots = {int(model.body_rootid[model.jnt_bodyid[joint]]) for joint in joints.values()}
    if tool is not None and joints:
        problems += _order_problems(model, description, joints, tool)
    problems += _free_problems(model, roots)
    if len(roots) > 1:
        problems.append(
            f"joints: they belong to several trees, {', '.join(model.body(root).name for root in sorted(roots))}; "
            "expected one robot on one base"
        )
    problems += _home_problems(model, description, joints)
    if problems:
        raise InputError([f"{name}: {problem}" for problem in problems])
    assert tool is not None
    return Reading(
        model=model,
        root=model.body(roots.pop()).name,
        joints=(*description.joints.arm, description.joints.jaw),
        fixed=pads["fixed"],
        moving=pads["moving"],
        tool_body=model.body(tool).name,
    )


def joint_names(model: mujoco.MjModel) -> list[str]:
    """The names of a model's joints, in the order of their ids."""
    return [model.joint(index).name for index in range(model.njnt)]


def _joints(model: mujoco.MjModel, description: RobotDescription, problems: list[str]) -> dict[str, int]:
    """Ids of the joints that are driven, by name; what is wrong with them goes to `problems`."""
    arm, jaw, follower = description.joints.arm, description.joints.jaw, description.joints.follower
    wanted = [("joints.arm", each) for each in arm] + [("joints.jaw", jaw)]
    wanted += [("joints.follower", follower)] if follower is not None else []
    known = joint_names(model)
    if len(arm) < FEWEST_JOINTS:
        problems.append(
            f"joints.arm: {counted(len(arm), 'joint')}; an arm needs at least {FEWEST_JOINTS} to be sent to a position "
            "and a direction"
        )
    found: dict[str, int] = {}
    for key, each in wanted:
        if each not in known:
            problems.append(
                f"{key}: the model has no joint {each!r}; {nearest(each, known) if known else 'it has none'}"
            )
            continue
        if each in found:
            problems.append(f"{key}: {each!r} is given twice")
            continue
        joint = model.joint(each)
        found[each] = int(joint.id)
        if int(joint.type[0]) not in (_JOINT.mjJNT_HINGE, _JOINT.mjJNT_SLIDE):
            problems.append(f"{key}: {each!r} is neither a hinge nor a slide; only these can be driven")
        elif not model.jnt_limited[joint.id]:
            problems.append(
                f"{key}: {each!r} has no limits; add them to the joint in the model, such as "
                f"{_usual_limits(int(joint.type[0]))}"
            )
    return found


def _usual_limits(kind: int) -> str:
    low, high, urdf = ("-3.14", "3.14", "revolute") if kind == _JOINT.mjJNT_HINGE else ("0", "0.04", "prismatic")
    units = ", in degrees unless its compiler says radian" if kind == _JOINT.mjJNT_HINGE else ""
    return (
        f'limited="true" range="{low} {high}" in MJCF{units}; in URDF type="{urdf}" with '
        f'<limit lower="{low}" upper="{high}"/>'
    )


def _tool(model: mujoco.MjModel, description: RobotDescription, problems: list[str]) -> int | None:
    """The body that carries the tool."""
    tool = description.tool
    sites = [model.site(index).name for index in range(model.nsite)]
    bodies = [model.body(index).name for index in range(1, model.nbody)]
    along, opening = np.array(tool.along), np.array(tool.opening)
    if abs(along @ opening) > 1e-6 or min(np.linalg.norm(along), np.linalg.norm(opening)) < 1e-6:
        problems.append(
            f"tool: along {list(tool.along)} and opening {list(tool.opening)} are not at right angles; expected the "
            "direction of the fingers, and the one from the fixed finger to the moving one"
        )
    if (tool.site is None) == (tool.body is None):
        has = f"its sites are {', '.join(filter(None, sites))}" if any(sites) else "the model has no sites"
        problems.append(f"tool: expected either a site or a body with position_m, along and opening; {has}")
    elif tool.site is not None:
        if tool.site in sites:
            return int(model.site_bodyid[sites.index(tool.site)])
        if sites:
            hint = nearest(tool.site, sites)
        else:
            hint = 'the model has none; add <site name="tool" pos="…"/> to the hand\'s body, or give tool.body'
        problems.append(f"tool.site: the model has no site {tool.site!r}; {hint}")
    elif tool.body in bodies:
        return int(model.body(tool.body).id)
    else:
        problems.append(f"tool.body: the model has no body {tool.body!r}; {nearest(str(tool.body), bodies)}")
    return None


def _pads(model: mujoco.MjModel, side: str, given: Sequence[str], problems: list[str]) -> tuple[int, ...]:
    """Colliding geoms of these geoms and bodies."""
    key, found = f"pads.{side}", list[int]()
    geoms = {model.geom(index).name: index for index in range(model.ngeom)}
    bodies = {model.body(index).name: index for index in range(1, model.nbody)}
    if not given:
        problems.append(f"{key}: nothing given; expected the geoms that grip, or the body that has them")
    for name in given:
        if name in geoms:
            found.append(geoms[name])
            if not colliding(model, geoms[name]):
                problems.append(f"{key}: geom {name!r} collides with nothing; expected one that touches things")
        elif name in bodies:
            mine = [index for index in _geoms_of(model, bodies[name]) if colliding(model, index)]
            found += mine
            if not mine:
                problems.append(f"{key}: body {name!r} has no colliding geom; expected the finger's own body")
        else:
            problems.append(f"{key}: the model has no geom or body {name!r}; {nearest(name, [*geoms, *bodies])}")
    owners = {int(model.geom_bodyid[geom]) for geom in found}
    if len(owners) > 1:
        names = ", ".join(model.body(each).name for each in sorted(owners))
        problems.append(f"{key}: they belong to several bodies, {names}; expected geoms of one body")
    elif len(found) > 1:
        (owner,) = owners
        others = [index for index in _geoms_of(model, owner) if colliding(model, index) and index not in found]
        if others:
            problems.append(
                f"{key}: body {model.body(owner).name!r} also has {_geom_names(model, others)}, which would count as "
                "pads, too; give one geom, or put the pads into a body of their own in the model"
            )
    return tuple(dict.fromkeys(found))


def _geoms_of(model: mujoco.MjModel, body: int) -> list[int]:
    return np.flatnonzero(model.geom_bodyid == body).tolist()


def colliding(model: mujoco.MjModel, geom: int) -> bool:
    """Whether a geom takes part in collisions."""
    return bool(model.geom_contype[geom] or model.geom_conaffinity[geom])


def _geom_names(model: mujoco.MjModel, geoms: Iterable[int]) -> str:
    return ", ".join(repr(model.geom(geom).name) for geom in sorted(geoms))


def _order_problems(
    model: mujoco.MjModel, description: RobotDescription, joints: dict[str, int], tool: int
) -> list[str]:
    """Arm joints that do not move the tool, or are named in another order than that of the chain."""
    above = set[int]()
    body = tool
    while body:
        above.add(body)
        body = int(model.body_parentid[body])
    arm = [each for each in description.joints.arm if each in joints]
    idle = [each for each in arm if int(model.jnt_bodyid[joints[each]]) not in above]
    problems = [f"joints.arm: {each!r} does not move the tool; expected joints between base and hand" for each in idle]
    moving = [each for each in arm if each not in idle]
    chain = sorted(moving, key=lambda each: joints[each])
    if moving != chain:
        problems.append(f"joints.arm: given as {', '.join(moving)}, but from the base on they are {', '.join(chain)}")
    first = joints.get(chain[0]) if chain else None
    if first is not None and int(model.jnt_type[first]) == _JOINT.mjJNT_SLIDE:
        problems.append(f"joints.arm: the first, {chain[0]!r}, slides; expected a hinge with an upright axis")
    return problems


def _free_problems(model: mujoco.MjModel, roots: set[int]) -> list[str]:
    return [
        f"body {model.body(model.jnt_bodyid[joint]).name!r} has a {'free' if kind == _JOINT.mjJNT_FREE else 'ball'} "
        "joint, and the robot's base must stand still; remove it from the model (<freejoint/>)"
        for joint, kind in enumerate(model.jnt_type.tolist())
        if kind in (_JOINT.mjJNT_FREE, _JOINT.mjJNT_BALL) and int(model.body_rootid[model.jnt_bodyid[joint]]) in roots
    ]


def _home_problems(model: mujoco.MjModel, description: RobotDescription, joints: dict[str, int]) -> list[str]:
    names = (*description.joints.arm, description.joints.jaw)
    problems = []
    for key, given in (("home", description.home), ("down", description.down)):
        if given is None:
            continue
        if len(given) != len(names):
            problems.append(
                f"{key}: {counted(len(given), 'number')} for {counted(len(names), 'joint')}: {', '.join(names)}"
            )
            continue
        for each, at in zip(names, given, strict=True):
            if each in joints and model.jnt_limited[joints[each]]:
                low, high = model.jnt_range[joints[each]]
                if not low - 1e-6 <= at <= high + 1e-6:
                    problems.append(f"{key}: {each} at {at:g} is outside of its range, {low:.4g} to {high:.4g}")
    return problems
