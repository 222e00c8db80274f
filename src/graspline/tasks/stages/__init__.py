"""Stages that tasks of an SO-101 share: look, plan, approach, close, lift, carry, lower, release, confirm, back off.

A task that puts one object somewhere uses the ready machine: `pick_and_place`, its inputs, its goal `rests_by_truth`
and, for cubes on a table, `cube_sampler`. Any other uses `PICK` or `PICK_AND_PLACE` with states and rows of its own. A
sampler of your own places objects with `place_in_ring` and `lying_at`, keeps what `certify_pick_and_place` can plan,
and returns a `Draw` made with `table_start` and `table_variation`.

>>> from graspline import stages
>>> machine = stages.pick_and_place("stack", stages.PickAndPlaceParameters())
>>> machine.start, machine.successes
('look', ('success',))
"""

from graspline.perception.core.beliefs import Belief
from graspline.placement.query import Support
from graspline.planning.batched_planning import Planning, together
from graspline.refusal import Refusal
from graspline.scenes.scene import Lying
from graspline.scenes.table import table_start, table_variation
from graspline.tasks.sampling import RefusalCounter
from graspline.tasks.scatter import as_lying, lies_free, lying_at, place_in_ring
from graspline.tasks.stages.cubes import CubeParameters, Cubes, cube_sampler
from graspline.tasks.stages.parameters import ArmSettings, PickAndPlaceParameters, RestGoal
from graspline.tasks.stages.place import Destination, OnObject, WhereItLay
from graspline.tasks.stages.ready import (
    HELD_CLAIMS,
    PICK,
    PICK_AND_PLACE,
    PICK_AND_PLACE_CLAIMS,
    again,
    certify_pick_and_place,
    pick_and_place,
    pick_and_place_inputs,
)
from graspline.tasks.stages.verify import rests_by_truth
from graspline.tasks.task import in_hand

__all__ = [
    "HELD_CLAIMS",
    "PICK",
    "PICK_AND_PLACE",
    "PICK_AND_PLACE_CLAIMS",
    "ArmSettings",
    "Belief",
    "CubeParameters",
    "Cubes",
    "Destination",
    "Lying",
    "OnObject",
    "PickAndPlaceParameters",
    "Planning",
    "Refusal",
    "RefusalCounter",
    "RestGoal",
    "Support",
    "WhereItLay",
    "again",
    "as_lying",
    "certify_pick_and_place",
    "cube_sampler",
    "in_hand",
    "lies_free",
    "lying_at",
    "pick_and_place",
    "pick_and_place_inputs",
    "place_in_ring",
    "rests_by_truth",
    "table_start",
    "table_variation",
    "together",
]
