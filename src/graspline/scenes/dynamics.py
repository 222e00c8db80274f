"""Dynamics that vary from episode to episode: friction, masses, servo gains and the delay of controls.

Factors multiply what the lane has already, which the task may have sampled. Plans are made for the robot as it is
built.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from graspline.parameters import Range
from graspline.scenes.aspect import Aspect
from graspline.scenes.scene import Scene
from graspline.scenes.variation import Edit, Variation


class Friction(Aspect):
    """Friction of objects, places, furniture and the pads of the hand."""

    factor: Range = Field(
        default=Range(0.75, 1.35), ge=0.3, le=3, description="factor on sliding, torsional and rolling friction"
    )


class Masses(Aspect):
    """Mass of objects; their size does not change."""

    factor: Range = Field(default=Range(0.75, 1.4), ge=0.2, le=5, description="factor on the mass of each object")


class Gains(Aspect):
    """How stiff and how damped the servo of each joint is."""

    kp_factor: Range = Field(default=Range(0.8, 1.2), ge=0.3, le=2, description="factor on its position gain")
    kv_factor: Range = Field(default=Range(0.8, 1.2), ge=0.3, le=2, description="factor on its velocity gain")


class Latency(Aspect):
    """Delay between a control and the servos, constant during an episode."""

    delay_s: Range = Field(default=Range(0.0, 0.02), ge=0, le=0.25, description="delay, rounded to whole control ticks")


def vary_friction(scene: Scene, sampled: Variation, settings: Friction, random: np.random.Generator) -> Variation:
    """The friction of surfaces and pads, scaled at random."""
    varied = Variation()
    for name, geoms in {**scene.surfaces, "pads": scene.robot.pads}.items():
        factor = random.uniform(*settings.factor)
        edits = tuple(sampled.scaled(scene.model, "geom_friction", geom, factor) for geom in geoms)
        varied += Variation(edits=edits, described={f"friction.{name}.factor": factor})
    return varied


def vary_masses(scene: Scene, sampled: Variation, settings: Masses, random: np.random.Generator) -> Variation:
    """The masses of objects, scaled at random."""
    varied = Variation()
    for name in scene.object_names:
        factor = random.uniform(*settings.factor)
        edits = tuple(sampled.scaled(scene.model, field, name, factor) for field in ("body_mass", "body_inertia"))
        varied += Variation(edits=edits, described={f"masses.{name}.factor": factor})
    return varied


def vary_gains(scene: Scene, sampled: Variation, settings: Gains, random: np.random.Generator) -> Variation:
    """The servo gains of every joint, scaled at random."""
    model, varied = scene.model, Variation()
    for joint in scene.robot.joints:
        kp, kv = random.uniform(*settings.kp_factor), random.uniform(*settings.kv_factor)
        offset, stiffness, damping, *rest = sampled.values(model, "actuator_biasprm", joint)
        varied += Variation(
            edits=(
                sampled.scaled(scene.model, "actuator_gainprm", joint, kp),
                # Torque of a position servo: kp u - kp q - kv q̇, the last two by these.
                Edit(
                    field="actuator_biasprm",
                    element=joint,
                    values=(offset, kp * stiffness, kv * damping, *rest),
                ),
            ),
            described={f"gains.{joint}.kp_factor": kp, f"gains.{joint}.kv_factor": kv},
        )
    return varied


def vary_latency(scene: Scene, sampled: Variation, settings: Latency, random: np.random.Generator) -> Variation:
    """A random delay of controls."""
    robot = scene.robot
    ticks = round(random.uniform(*settings.delay_s) * robot.control_hz)
    return Variation(latency_ticks=ticks, described={"latency.delay_s": ticks * robot.dt_s})
