"""Everything that decides a `sort` episode besides its seed."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from graspline.motion.scaling import Scaling
from graspline.parameters import Parameters
from graspline.perception.belt.blocks import Catalogue
from graspline.perception.core.palette import Paint
from graspline.robots.catalogue import LINE_ROBOT
from graspline.scenes.belt_line import Material, Rgb, Size
from graspline.scenes.randomization import Randomization
from graspline.tasks.on_robot import OnRobot

# What blocks are painted with.
COLOURS: dict[str, Rgb] = {
    "red": (0.85, 0.12, 0.10),
    "green": (0.13, 0.62, 0.22),
    "blue": (0.10, 0.28, 0.80),
    # There is no rule for these.
    "yellow": (0.93, 0.78, 0.10),
    "violet": (0.55, 0.20, 0.70),
}
ACCEPTED = ("red", "green", "blue")
UNRULED = ("yellow", "violet")
# Full extents of the blocks that are made: two cubes and a brick.
SIZES: tuple[Size, ...] = ((0.040, 0.040, 0.040), (0.034, 0.034, 0.034), (0.056, 0.036, 0.034))
CATALOGUE = Catalogue(paints=tuple(Paint(name=name, rgb=COLOURS[name]) for name in ACCEPTED), sizes_m=SIZES)

Bin = Literal["bin_red", "bin_green", "bin_blue", "bin_reject"]


class BeltParameters(Parameters):
    """Blocks on the belt, their spacing, and the speed of the belts."""

    blocks: int = Field(default=40, ge=1, le=2000, description="number of blocks in an episode")
    density_per_m: float = Field(default=2.5, ge=0.2, le=14, description="mean number of blocks per metre of belt")
    speed_m_s: float = Field(default=0.05, ge=0.01, le=0.4, description="speed of the input belt")
    output_speed_m_s: float = Field(default=0.05, ge=0.03, le=0.4, description="speed of the output belts")
    spacing: Literal["even", "random"] = Field(
        default="even", description="even gaps with `jitter`, or random gaps: `least_gap_m` plus an exponential part"
    )
    jitter: float = Field(default=0.1, ge=0, le=0.5, description="largest relative deviation of an even gap")
    least_gap_m: float = Field(default=0.08, ge=0.07, le=0.5, description="smallest random gap, from centre to centre")
    lateral_m: float = Field(default=0.09, ge=0, le=0.11, description="offset of blocks from the belt's centre line")

    @property
    def longest_gap_m(self) -> float:
        """From the middle of one block to that of the next; of random gaps one in a thousand is longer."""
        mean = 1 / self.density_per_m
        if self.spacing == "even":
            return mean * (1 + self.jitter)
        return self.least_gap_m + 7 * max(mean - self.least_gap_m, 0.0)


class BlockParameters(Parameters):
    """What blocks look like."""

    material: Material = Field(default="lit", description="shaded by the light, or emitting their colour")
    unknown_share: float = Field(default=0.0, ge=0, le=1, description="share of blocks in colours without a rule")


class BinRuleParameters(Parameters):
    """Where each colour goes."""

    red: Bin = Field(default="bin_red", description="where red blocks go")
    green: Bin = Field(default="bin_green", description="where green blocks go")
    blue: Bin = Field(default="bin_blue", description="where blue blocks go")
    unknown: Literal["ignore", "reject"] = Field(
        default="ignore", description="blocks of any other colour stay on the belt, or go to bin_reject"
    )

    def bin_for(self, colour: str) -> str | None:
        """The bin for a colour as the task calls it; None for one that rides on."""
        if colour in ACCEPTED:
            return str(getattr(self, colour))
        return "bin_reject" if self.unknown == "reject" else None

    def its_bin(self, colour: str) -> str:
        """The bin for a colour that has one."""
        name = self.bin_for(colour)
        assert name is not None
        return name


class BeltSightParameters(Parameters):
    """Which camera watches the belt, and how often."""

    camera: Literal["wrist", "overhead"] = Field(default="wrist", description="camera on the hand, or above the belt")
    rate_hz: float = Field(default=10.0, ge=2, le=30, description="images per second while waiting and moving")


class MotionParameters(Parameters):
    """Limits of the arm's joints, and how moves are scaled in time."""

    velocity_rad_s: float = Field(default=3.0, gt=0.2, le=3.1416, description="velocity limit of every joint")
    acceleration_rad_s2: float = Field(default=15.0, ge=2, le=60, description="acceleration limit of every joint")
    jerk_rad_s3: float = Field(default=600.0, ge=50, le=5000, description="jerk limit of every joint")
    scaling: Scaling = Field(
        default="ruckig", description="time scaling of moves: jerk-limited, or cubic, which is slower"
    )
    hop_m: float = Field(
        default=0.055, ge=0.045, le=0.2, description="height of the hand above the belts between pick and place"
    )


class GripParameters(Parameters):
    """How blocks are grasped, and when they count as held."""

    slack_m: float = Field(
        default=0.010, ge=0.003, le=0.02, description="gap between the block and each pad before closing"
    )
    tip_m: float = Field(default=0.014, ge=0.002, le=0.016, description="height of the fingertips above the belt")
    squeeze_rad: float = Field(
        default=0.06, ge=0.01, le=0.3, description="how far past the contact the jaw is commanded"
    )
    touch_n: float = Field(default=3.0, gt=0, le=50, description="force on both pads that counts as contact")
    touch_s: float = Field(default=0.05, ge=0.0, le=0.5, description="how long that force must last")
    lost_n: float = Field(default=1.0, gt=0, le=50, description="pad force below which a block counts as lost")
    width_m: float = Field(
        default=0.004, gt=0, le=0.02, description="how far the jaw gap may differ from the block's width"
    )
    release_m: float = Field(
        default=0.006, ge=0.002, le=0.03, description="height above the belt at which a block is released"
    )


class SortOrderParameters(Parameters):
    """Which block is next."""

    rule: Literal["planned", "furthest"] = Field(
        default="planned", description="planned to catch the most blocks, or always the one furthest down the belt"
    )
    ahead: int = Field(default=4, ge=1, le=6, description="number of blocks that a plan looks ahead")


class SortRetryParameters(Parameters):
    """How much may go wrong in an episode before the task gives up."""

    grips: int = Field(default=20, ge=0, le=1000, description="failed grips: nothing held, or not released")
    losses: int = Field(default=20, ge=0, le=1000, description="blocks lost on the way to their bin")
    chases: int = Field(default=40, ge=0, le=1000, description="blocks that were not where they were predicted")
    ways: int = Field(default=10, ge=0, le=1000, description="paths blocked by an obstacle")


class Sort(OnRobot):
    """Everything that decides a `sort` episode besides its seed."""

    robot: str = Field(default=LINE_ROBOT, description="robot that does it: a registered name or MODULE:NAME")
    belt: BeltParameters = BeltParameters()
    blocks: BlockParameters = BlockParameters()
    rules: BinRuleParameters = BinRuleParameters()
    sight: BeltSightParameters = BeltSightParameters()
    motion: MotionParameters = MotionParameters()
    grip: GripParameters = GripParameters()
    order: SortOrderParameters = SortOrderParameters()
    retries: SortRetryParameters = SortRetryParameters()
    success_share: float = Field(
        default=0.95, gt=0, le=1, description="fraction of blocks that must be sorted for success"
    )
    randomize: Randomization = Randomization()

    @model_validator(mode="after")
    def _sees_the_belt(self) -> Self:
        if self.sight.camera != "overhead" and self.sight.camera not in self.the_robot.cameras:
            raise ValueError(
                f"{self.robot} has no camera {self.sight.camera!r} to watch the belt with; "
                "expected sight.camera=overhead, or a robot with a camera on its hand"
            )
        return self
