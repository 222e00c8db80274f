"""Random lines: which blocks there are, and which of them lie on the belt when an episode begins."""

from __future__ import annotations

import numpy as np

from graspline.robots.robot import Robot, with_arm_limits
from graspline.scenes.belt_line import (
    OUTPUT_END_M,
    OUTPUT_START_M,
    PooledBlock,
    belt_line,
    block_name,
    line_start,
    line_variation,
    mass_kg,
)
from graspline.scenes.scene import Lying, Scene
from graspline.scenes.variation import Variation
from graspline.tasks.sort.feeder import GONE_M, SENT_M, Feeder, Made, gap_m, place_across
from graspline.tasks.sort.hand_poses import DOWNSTREAM_M
from graspline.tasks.sort.parameters import ACCEPTED, COLOURS, SIZES, UNRULED, Sort
from graspline.tasks.task import Draw

# The first block leaves the arm's reach so long after the start, or later: there is work from the first moment on, and
# time. On a fast belt it lies just upstream of what the arm reaches.
_FIRST_S, _FIRST_M = 4.0, 0.5
# On a slow belt it would lie where the camera on the hand, at home, does not see it and never will: the belt carries it
# away from there. So the first block lies no farther downstream than this, a little inside the picture.
FIRST_SEEN_M = -0.25
_LEAST_POOL = 16


def robot_of(parameters: Sort) -> Robot:
    """The robot with the limits that the parameters set."""
    motion = parameters.motion
    return with_arm_limits(parameters.the_robot, motion.velocity_rad_s, motion.acceleration_rad_s2, motion.jerk_rad_s3)


def pool_size(parameters: Sort) -> int:
    """Blocks enough for full belts: what lies on the input belt at once, what rides on outputs, and some to spare."""
    belt = parameters.belt
    on_input = (SENT_M - GONE_M) * belt.density_per_m * 1.15
    riding_s = (OUTPUT_START_M - OUTPUT_END_M) / belt.output_speed_m_s
    on_output = riding_s * min(belt.density_per_m * belt.speed_m_s, 0.7)
    spread = 8 if belt.spacing == "random" else 3
    return max(_LEAST_POOL, int(np.ceil(on_input + on_output)) + spread)


def scene_of(parameters: Sort) -> Scene:
    """The belt line with as many blocks as the parameters ask for."""
    return belt_line(robot_of(parameters), pool_size(parameters))


def sample(parameters: Sort, random: np.random.Generator) -> Draw:
    """Blocks of random colours and sizes, the belt covered with them from upstream down to beside the arm."""
    belt, scene = parameters.belt, scene_of(parameters)
    blocks: dict[str, PooledBlock] = {}
    y = min(max(DOWNSTREAM_M + _FIRST_S * belt.speed_m_s, FIRST_SEEN_M), _FIRST_M)
    for number in range(len(scene.objects)):
        size = SIZES[int(random.integers(len(SIZES)))]
        unruled = random.random() < parameters.blocks.unknown_share
        names = UNRULED if unruled else ACCEPTED
        rgb = COLOURS[names[int(random.integers(len(names)))]]
        lying = None
        if number < belt.blocks and y < SENT_M:
            x, yaw = place_across(belt, random)
            half = (size[0] / 2, size[1] / 2, size[2] / 2)
            lying = Lying(x_m=x, y_m=y, half_extents_m=half, mass_kg=mass_kg(size), yaw_rad=yaw)
            y += gap_m(belt, random)
        blocks[block_name(number)] = PooledBlock(size_m=size, rgb=rgb, lying=lying)
    variation = line_variation(
        blocks,
        belt_m_s=belt.speed_m_s,
        output_m_s=belt.output_speed_m_s,
        material=parameters.blocks.material,
        described={"belt.next_m": y},
    )
    return Draw(start=line_start(scene, blocks), variation=variation, refused=0)


def feeder(parameters: Sort, sampled: Draw, random: np.random.Generator) -> Feeder:
    """The feeder that sends the rest of the blocks."""
    scene = scene_of(parameters)
    pool = {name: _made(sampled.variation, number, name) for number, name in enumerate(scene.object_names)}
    lying = [name for name in pool if abs(sampled.start[scene.joint_address(name)]) < 2.0]
    # The block that comes next would lie there, were the belt longer.
    next_m = sampled.variation.described["belt.next_m"] - SENT_M
    return Feeder(
        belt=parameters.belt, scene=scene, pool=pool, first=tuple(lying), random=random, next_m=max(next_m, 0.0)
    )


def _made(variation: Variation, number: int, name: str) -> Made:
    """A block as it was made and painted; what is randomised on top comes later."""
    values = {edit.field: edit.values for edit in reversed(variation.edits) if edit.element == name}
    colour = next(colour for colour, rgb in COLOURS.items() if rgb == values["geom_rgba"][:3])
    x, y, z = values["geom_size"]
    return Made(number=number, colour=colour, size_m=(2 * x, 2 * y, 2 * z))
