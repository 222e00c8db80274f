"""How a held object travels to its place and is let go there."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from graspline.parameters import Parameters


class PlaceParameters(Parameters):
    """How an upright object is carried and put down."""

    transport_speed_m_s: float = Field(default=0.2, ge=0.02, le=1.5, description="peak speed of the carried object")
    lower_speed_m_s: float = Field(default=0.08, ge=0.01, le=0.4, description="peak speed on the way down")
    gap_m: float = Field(default=0.001, ge=0, le=0.05, description="gap under the object when the jaws open")
    clearance_m: float = Field(default=0.006, ge=0, le=0.05, description="clearance of a carried object from others")
    back_off_m: float = Field(
        default=0.002,
        ge=0,
        le=0.01,
        description="how far the fixed jaw moves away from the object before the hand withdraws",
    )
    open_speed_rad_s: float = Field(default=1.0, ge=0.1, le=3, description="jaw speed during the release")
    rise_m: float = Field(
        default=0.05, ge=0.01, le=0.15, description="how far the open hand withdraws; more if the object is taller"
    )

    def whole(self) -> CarryParameters:
        """The same for the planner: straight down, at the height at which the object is held."""
        return CarryParameters.model_construct(
            **dict(self),
            clear_height_m=0.0,
            max_tilt_rad=0.0,
            already_there_m=0.0,
            back_off_speed_m_s=0.03,
            rise_speed_m_s=0.15,
        )


class CarryParameters(PlaceParameters):
    """How a held fruit is carried and put down; everything that the planner can be set to."""

    transport_speed_m_s: float = Field(default=0.25, ge=0.02, le=1.5, description="peak speed of a carried fruit")
    lower_speed_m_s: float = Field(default=0.12, ge=0.01, le=0.4, description="peak speed on the way down to the spot")
    gap_m: float = Field(default=0.002, ge=0.0, le=0.05, description="gap between fruit and plate when the jaws open")
    clearance_m: float = Field(
        default=0.008, ge=0, le=0.05, description="clearance of a carried fruit from everything it passes"
    )
    back_off_m: float = Field(
        default=0.004, ge=0, le=0.01, description="how far the fixed jaw then moves away from the fruit"
    )
    open_speed_rad_s: float = Field(default=1.5, ge=0.1, le=3, description="jaw speed during the release")
    rise_m: float = Field(default=0.02, ge=0.01, le=0.1, description="how far above the fruit the open hand withdraws")
    # 0 keeps the height at which the object is held.
    clear_height_m: float = Field(
        default=0.085, ge=0.02, le=0.15, description="height of the underside of a carried fruit above the table"
    )
    strategy: Literal["auto", "direct", "retreat"] = Field(
        default="auto",
        description="path of a carried fruit: straight across, or back by `retreat_share` first; auto tries both",
    )
    least_radius_m: float = Field(
        default=0.165, ge=0.05, le=0.6, description="smallest distance from the pan axis when the hand retracts"
    )
    retreat_share: float = Field(
        default=2 / 7,
        ge=0,
        le=0.9,
        description="fraction of the distance to the robot's origin by which the hand retracts",
    )
    max_tilt_rad: float = Field(default=0.75, ge=0.1, le=1.0, description="largest tilt of the hand")
    release_clearance_m: float = Field(
        default=0.006, ge=0.002, le=0.02, description="how far the moving jaw opens away from the fruit"
    )
    back_off_speed_m_s: float = Field(
        default=0.05, ge=0.005, le=0.2, description="peak speed at which the fixed jaw moves away from the fruit"
    )
    rise_speed_m_s: float = Field(default=0.2, ge=0.01, le=0.5, description="peak speed of the withdrawing hand")
    already_there_m: float = Field(default=0.01, ge=0, le=0.05, description="a move shorter than this is skipped")
