"""How well tables and boards are seen: planes, things and free areas held against the simulator, on random rooms.

A thing counts as shown if at least half of its pixels are seen, by drawing it with and without what is before it.

    python benchmarks/tidy_perception.py --rooms 60
    python benchmarks/tidy_perception.py --rooms 30 --count 5 --gap-mm 5 --sigma-factor 2 --lost 0.15
    python benchmarks/tidy_perception.py --rooms 30 --level board_middle --pictures out/seen
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from graspline.kinematics.hsr import head_camera
from graspline.parameters import Range
from graspline.perception.core.beliefs import UNKNOWN, Belief
from graspline.perception.rgbd.free_areas import free_areas
from graspline.perception.rgbd.furniture import bounds
from graspline.perception.rgbd.planes import NoPlane
from graspline.perception.rgbd.tabletop import Tabletop, see_tabletop
from graspline.perception.rgbd.wire_frames import overlay_solids
from graspline.rendering.choose import Renderer, open_renderer
from graspline.rendering.depth_errors import LOST_SHARE, DepthErrors, measured_depth
from graspline.rendering.picture import Picture
from graspline.robots.hsr import hsr
from graspline.scenes.fittings import BOARDS, SHELF, TABLE, Fitting
from graspline.scenes.household import item_of
from graspline.scenes.household_bodies import is_parked, parked_m
from graspline.scenes.room import room
from graspline.scenes.variation import Variation
from graspline.spatial.rotations import matrix_from_vector, yaw_of
from graspline.tasks.tidy.layout import sample
from graspline.tasks.tidy.parameters import TableParameters
from graspline.tasks.tidy.postures import TABLE_AWAY_M, looking, view_without
from graspline.tasks.tidy.sight import MODELS

Array = NDArray[np.float64]

ROBOT = hsr()
SCENE = room(ROBOT)
# The base stands off its place by this much, 1σ: metres, metres and radians.
_OFF = (0.01, 0.01, 0.01)
# What is seen farther than this from all things, and than twice its sigma, is none of them.
_PHANTOM_M = 0.05
# A thing to be put down, and its margin.
_FOOTPRINT_M, _MARGIN_M = (0.035, 0.035), 0.02


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Truth:
    """A thing as it is, and how much of it is seen."""

    name: str
    position_m: Array
    yaw_rad: float
    radius_m: float
    share_seen: float
    pixels: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class View:
    """A picture with what is true of it."""

    picture: Picture
    position_m: Array
    rotation: Array
    fitting: Fitting
    truths: tuple[Truth, ...]


@dataclass(slots=True, kw_only=True)
class Score:
    """What is measured, one entry for each plane, thing or area; lengths in metres, angles in radians."""

    heights_m: list[float] = field(default_factory=list)
    tilts_rad: list[float] = field(default_factory=list)
    off_m: list[float] = field(default_factory=list)
    boxes_off_m: list[float] = field(default_factory=list)
    yaws_rad: list[float] = field(default_factory=list)
    hidden_off_m: list[float] = field(default_factory=list)
    in_sigmas: list[float] = field(default_factory=list)
    named: list[bool] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    phantoms: list[str] = field(default_factory=list)
    free: list[bool] = field(default_factory=list)
    cpu_ms: list[float] = field(default_factory=list)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rooms", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--level", choices=("table", *BOARDS), default="table")
    parser.add_argument("--count", type=int, default=0, help="things on the table; 0: one to five")
    parser.add_argument("--gap-mm", type=float, default=10.0)
    parser.add_argument("--sigma-factor", type=float, default=1.0)
    parser.add_argument("--lost", type=float, default=LOST_SHARE)
    parser.add_argument("--camera-deg", type=float, default=0.0, help="how far the camera is turned without knowing")
    parser.add_argument("--pictures", type=Path, help="folder for pictures with what is seen in them")
    asked = parser.parse_args()
    score = Score()
    with open_renderer(SCENE, 640, 480) as renderer:
        for seed in range(asked.seed, asked.seed + asked.rooms):
            view = take(renderer, asked, seed)
            began = time.process_time()
            seen = see_tabletop(
                view.picture,
                view.position_m,
                view.rotation,
                bounds(view.fitting, view.fitting.level(asked.level)),
                MODELS,
                highest_m=0.45 if asked.level == "table" else 0.33,
            )
            score.cpu_ms.append(1e3 * (time.process_time() - began))
            if isinstance(seen, NoPlane):
                score.missed += [f"{seed}: the surface"]
                continue
            rate(score, view, seen, asked.level, seed)
            if asked.pictures:
                keep(asked.pictures / f"{asked.level}_{seed}.png", view, seen)
    for line in told(score):
        print(line)


def take(renderer: Renderer, asked: argparse.Namespace, seed: int) -> View:
    """A random room as the head sees it from where the robot looks at a level."""
    random = np.random.default_rng([seed, 11])
    count = Range(asked.count, asked.count) if asked.count else Range(1, 5)
    parameters = TableParameters(count=count, gap_m=asked.gap_mm / 1e3, shelved=Range(0, 3), reach_m=0.5)
    draw = sample(parameters, SCENE, random)
    believed = TABLE if asked.level == "table" else SHELF
    level = believed.level(asked.level)
    if believed is TABLE:
        joints = looking(ROBOT, TABLE, TABLE_AWAY_M, level.position_m[2])
    else:
        joints = view_without(ROBOT, float(ROBOT.home[ROBOT.jaw]), SHELF, level)
    joints[:3] += random.normal(0.0, _OFF)
    qpos = draw.start.copy()
    for name, value in zip(ROBOT.joints, joints, strict=True):
        qpos[SCENE.joint_address(name)] = value
    qpos[SCENE.joint_address("torso_lift")] = joints[ROBOT.joints.index("arm_lift")] / 2
    picture = renderer.render(qpos, draw.variation, "head")
    errors = DepthErrors(sigma_factor=asked.sigma_factor, lost_share=asked.lost)
    exact = renderer.depth(qpos, draw.variation, "head")
    depth = measured_depth(exact, picture.fovy_rad, errors, np.random.default_rng([seed, 12]))
    fitting = believed.in_variation(draw.variation)
    position, rotation = head_camera(joints)
    way = random.normal(size=3)
    turn = matrix_from_vector(np.radians(asked.camera_deg) * way / np.linalg.norm(way))
    return View(
        picture=Picture(
            rgb=picture.rgb,
            camera=picture.camera,
            position_m=np.full(3, np.nan),
            rotation=np.full((3, 3), np.nan),
            fovy_rad=picture.fovy_rad,
            depth_m=depth,
        ),
        position_m=position,
        rotation=turn @ rotation,
        fitting=fitting,
        truths=tuple(truths(renderer, qpos, draw.variation, fitting, asked.level)),
    )


def truths(renderer: Renderer, qpos: Array, variation: Variation, fitting: Fitting, level: str) -> Iterator[Truth]:
    """Things that stand on a level."""
    ids = renderer.geoms(qpos, variation, "head")
    for name in SCENE.object_names:
        at = SCENE.joint_address(name)
        position = qpos[at : at + 3]
        height = float(position[2]) - float(fitting.in_world(fitting.level(level).position_m)[2])
        near = np.linalg.norm(position[:2] - np.array(fitting.position_m[:2])) < 0.6
        if is_parked(position.tolist()) or not near or not 0 < height < 0.15:
            continue
        alone = qpos.copy()
        for other in SCENE.object_names:
            if other != name:
                start = SCENE.joint_address(other)
                alone[start : start + 3] = parked_m(other)
        pixels, whole = (pixels_of(each, name) for each in (ids, renderer.geoms(alone, variation, "head")))
        size = variation.values(SCENE.model, "geom_size", name)
        item = item_of(name)
        yield Truth(
            name=name if item.known else UNKNOWN,
            position_m=position.copy(),
            yaw_rad=float(yaw_of(qpos[at + 3 : at + 7])),
            radius_m=float(np.hypot(size[0], size[1])) if item.shape == "box" else size[0],
            share_seen=pixels / max(whole, 1),
            pixels=pixels,
        )


def pixels_of(ids: NDArray[np.int32], name: str) -> int:
    return int((np.append(SCENE.model.geom_bodyid, -1)[ids] == SCENE.model.body(name).id).sum())


def rate(score: Score, view: View, seen: Tabletop, level: str, seed: int) -> None:
    """Hold what is seen against what is so."""
    middle = view.fitting.in_world(view.fitting.level(level).position_m)
    score.heights_m.append(abs(seen.surface.plane.height_m(*middle[:2].tolist()) - float(middle[2])))
    score.tilts_rad.append(seen.tilt_rad)
    left = list(view.truths)
    for solid in seen.solids:
        apart = [float(np.linalg.norm((truth.position_m - solid.position_m)[:2])) for truth in left]
        nearest = int(np.argmin(apart)) if apart else -1
        if not left or apart[nearest] > max(_PHANTOM_M, 2 * solid.position_sigma_m):
            score.phantoms.append(f"{seed}: {solid.name}")
            continue
        rate_thing(score, left.pop(nearest), solid, apart[nearest])
    score.missed += [f"{seed}: {each.name}, {each.share_seen:.0%} seen" for each in left if each.share_seen >= 0.5]
    for area in free_areas(seen.surface, seen.solids, _FOOTPRINT_M, margin_m=_MARGIN_M, view=seen.view):
        gaps = [np.linalg.norm(area.position_m[:2] - each.position_m[:2]) - each.radius_m for each in view.truths]
        score.free.append(bool(min(gaps, default=np.inf) > 0))


def rate_thing(score: Score, truth: Truth, solid: Belief, off_m: float) -> None:
    score.in_sigmas.append(off_m / solid.position_sigma_m)
    if truth.share_seen < 0.5:
        score.hidden_off_m.append(off_m)
        return
    score.off_m.append(off_m)
    if truth.name != UNKNOWN:
        score.named.append(solid.name == truth.name)
    if solid.shape == "box":
        score.boxes_off_m.append(off_m)
        # Nobody can tell which side of an unknown box is its front.
        period = np.pi if solid.name != UNKNOWN else np.pi / 2
        score.yaws_rad.append(abs((solid.yaw_rad - truth.yaw_rad + period / 2) % period - period / 2))


def keep(path: Path, view: View, seen: Tabletop) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    solids = [*seen.solids, seen.surface.as_solid(0.02, "surface")]
    drawn = overlay_solids(view.picture.rgb, view.position_m, seen.view.lens.rotation, view.picture.fovy_rad, solids)
    Image.fromarray(drawn).save(path)


def told(score: Score) -> Iterator[str]:
    def spread(values: list[float], scale: float) -> str:
        if not values:
            return "none"
        p50, p90, most = scale * np.percentile(values, (50, 90, 100))
        return f"{p50:.2f} / {p90:.2f} / {most:.2f} (p50 / p90 / max, {len(values)})"

    yield f"plane's height   {spread(score.heights_m, 1e3)} mm"
    yield f"plane's tilt     {spread(score.tilts_rad, 180 / np.pi)} deg"
    yield f"things' middles  {spread(score.off_m, 1e3)} mm"
    yield f"boxes' middles   {spread(score.boxes_off_m, 1e3)} mm"
    yield f"boxes' headings  {spread(score.yaws_rad, 180 / np.pi)} deg"
    yield f"mostly hidden    {spread(score.hidden_off_m, 1e3)} mm"
    yield f"within 2 sigma   {np.mean(np.array(score.in_sigmas) < 2):.1%} of {len(score.in_sigmas)}"
    yield f"named right      {sum(score.named)} of {len(score.named)}"
    yield f"missed           {score.missed}"
    yield f"phantoms         {score.phantoms}"
    yield f"free areas       {sum(score.free)} of {len(score.free)} truly free"
    yield f"computing        {spread(score.cpu_ms, 1.0)} ms of one core"


if __name__ == "__main__":
    main()
