"""Everything that decides a `sort` episode besides its seed."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from graspline.motion.scaling import Scaling
from graspline.parameters import Parameters
from graspline.perception.belt_blocks import Catalogue
from graspline.perception.palette import Paint
from graspline.scenes.belt_line import Material, Rgb, Size
from graspline.scenes.randomization import Randomization

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
    """What is sent, how close, and how fast belts run."""

    blocks: int = Field(default=40, ge=1, le=2000, description="blocks that are sent in an episode")
    density_per_m: float = Field(default=2.5, ge=0.2, le=14, description="blocks per metre of belt, on the mean")
    speed_m_s: float = Field(default=0.05, ge=0.01, le=0.4, description="speed of the input belt")
    output_speed_m_s: float = Field(default=0.05, ge=0.03, le=0.4, description="speed of the output belts")
    spacing: Literal["even", "random"] = Field(
        default="even", description="gaps evenly spaced up to `jitter`, or `least_gap_m` and an exponential part"
    )
    jitter: float = Field(default=0.1, ge=0, le=0.5, description="share by which an even gap may differ either way")
    least_gap_m: float = Field(default=0.08, ge=0.07, le=0.5, description="least random gap, from middle to middle")
    lateral_m: float = Field(default=0.09, ge=0, le=0.11, description="how far blocks lie off the belt's middle line")

    @property
    def longest_gap_m(self) -> float:
        """From the middle of one block to that of the next; of random gaps one in a thousand is longer."""
        mean = 1 / self.density_per_m
        if self.spacing == "even":
            return mean * (1 + self.jitter)
        return self.least_gap_m + 7 * max(mean - self.least_gap_m, 0.0)


class BlockParameters(Parameters):
    """What blocks look like."""

    material: Material = Field(default="lit", description="shaded by the light, or glowing in their colour")
    unknown_share: float = Field(default=0.0, ge=0, le=1, description="share of blocks in colours without a rule")


class RuleParameters(Parameters):
    """Where each colour goes."""

    red: Bin = Field(default="bin_red", description="where red blocks go")
    green: Bin = Field(default="bin_green", description="where green blocks go")
    blue: Bin = Field(default="bin_blue", description="where blue blocks go")
    unknown: Literal["ignore", "reject"] = Field(
        default="ignore", description="blocks of any other colour ride on, or go to bin_reject"
    )

    def bin_for(self, colour: str) -> str | None:
        """The bin for a colour as the task calls it; None for one that rides on."""
        if colour in ACCEPTED:
            return str(getattr(self, colour))
        return "bin_reject" if self.unknown == "reject" else None


class SightParameters(Parameters):
    """How often the belt is looked at, and by which camera."""

    camera: Literal["wrist", "overhead"] = Field(default="wrist", description="camera on the hand, or above the belt")
    rate_hz: float = Field(default=10.0, ge=2, le=30, description="pictures a second while waiting and on the way")


class MotionParameters(Parameters):
    """Limits of the arm's joints, and how moves are scaled in time."""

    velocity_rad_s: float = Field(default=3.0, gt=0.2, le=3.1416, description="velocity limit of every joint")
    acceleration_rad_s2: float = Field(default=15.0, ge=2, le=60, description="acceleration limit of every joint")
    jerk_rad_s3: float = Field(default=600.0, ge=50, le=5000, description="jerk limit of every joint")
    scaling: Scaling = Field(default="ruckig", description="jerk-limited, or the cubic of the seed, which is slower")
    hop_m: float = Field(default=0.055, ge=0.045, le=0.2, description="how high the hand hops over the belts")


class GripParameters(Parameters):
    """How blocks are taken, and when they count as taken."""

    slack_m: float = Field(default=0.010, ge=0.003, le=0.02, description="room between block and either pad before")
    tip_m: float = Field(default=0.014, ge=0.002, le=0.016, description="how far fingertips stay above the belt")
    squeeze_rad: float = Field(default=0.06, ge=0.01, le=0.3, description="how far the jaw is told to close beyond")
    touch_n: float = Field(default=3.0, gt=0, le=50, description="force on both pads that counts as touching")
    touch_s: float = Field(default=0.05, ge=0.0, le=0.5, description="for how long")
    lost_n: float = Field(default=1.0, gt=0, le=50, description="force on a pad below which a block is lost")
    width_m: float = Field(default=0.004, gt=0, le=0.02, description="by how much the gap may differ from its width")
    release_m: float = Field(default=0.006, ge=0.002, le=0.03, description="how high above the belt it is let go")


class OrderParameters(Parameters):
    """Which block is next."""

    rule: Literal["planned", "furthest"] = Field(
        default="planned", description="so that most are caught, or always the one furthest down the belt"
    )
    ahead: int = Field(default=4, ge=1, le=6, description="blocks that a plan looks ahead")


class RetryParameters(Parameters):
    """How much may go wrong in an episode before the task gives up."""

    grips: int = Field(default=20, ge=0, le=1000, description="grips that find nothing, or do not let go")
    losses: int = Field(default=20, ge=0, le=1000, description="blocks that are lost on the way")
    chases: int = Field(default=40, ge=0, le=1000, description="blocks that are not where the hand was going")
    ways: int = Field(default=10, ge=0, le=1000, description="times that something is in the arm's way")


class Sort(Parameters):
    """Everything that decides a `sort` episode besides its seed."""

    belt: BeltParameters = BeltParameters()
    blocks: BlockParameters = BlockParameters()
    rules: RuleParameters = RuleParameters()
    sight: SightParameters = SightParameters()
    motion: MotionParameters = MotionParameters()
    grip: GripParameters = GripParameters()
    order: OrderParameters = OrderParameters()
    retries: RetryParameters = RetryParameters()
    success_share: float = Field(default=0.95, gt=0, le=1, description="share of blocks to be sorted for success")
    randomize: Randomization = Randomization()
