"""Ready tables: pick something up, or pick it up and put it down, with every failure named and every retry bounded."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from graspline.errors import WiringError
from graspline.machine.machine import Machine, by_name
from graspline.machine.table import End, Retry, Transition
from graspline.motion.path import at_rest
from graspline.perception.core.beliefs import Belief
from graspline.placement.transfer import Transfer, TransferQuery, plan_transfer
from graspline.planning.batched_planning import Planning, together
from graspline.planning.collision import CLEARANCE_M, CollisionWorld
from graspline.refusal import Refusal
from graspline.scenes.scene import Scene
from graspline.tasks.stages.carry import hold_still, lift
from graspline.tasks.stages.grasp import approach, back_off, close, descend, plan, seat
from graspline.tasks.stages.parameters import ArmSettings, PickAndPlaceParameters, RestGoal
from graspline.tasks.stages.place import (
    Destination,
    carry,
    go_home,
    look_around,
    lower,
    plan_to_place,
    release,
    support_at,
)
from graspline.tasks.stages.sight import Eye, eye_of, look
from graspline.tasks.stages.take_over import take_over
from graspline.tasks.stages.verify import confirm
from graspline.tasks.task import Claim

# How far a scene may settle between being certified and being played.
_SETTLING_M = 5e-5
_SETTLING_RAD = 1e-3

State = Callable[..., Any] | Machine
Table = Mapping[str, Mapping[str, Transition]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyTable:
    """States and the table between them. `take_over` is where a run starts that takes over from another driver."""

    states: Mapping[str, State]
    table: Table
    inputs: Mapping[str, Any]
    # As `Machine` has them.
    work_begins: str
    vertical: tuple[str, ...]

    def machine(
        self,
        name: str,
        *,
        budgets: Mapping[str, int],
        limit_s: float,
        states: Mapping[str, State] | None = None,
        table: Table | None = None,
        inputs: Mapping[str, Any] | None = None,
    ) -> Machine:
        """A machine that starts with `look`; states, rows and inputs of its own replace or extend the ready ones."""
        rows, known = {**self.table, **(table or {})}, {**self.states, **(states or {})}
        return Machine(
            name=name,
            start="look",
            states={state: known[state] for state in rows if state in known},
            table={state: {**row, "timed_out": End("timed_out")} for state, row in rows.items()},
            inputs={**self.inputs, **(inputs or {})},
            work_begins=self.work_begins,
            vertical=self.vertical,
            budgets=budgets,
            limits_s=dict.fromkeys(rows, limit_s),
            takes_over="take_over" if "take_over" in rows else None,
        )


def again(otherwise: str, to: str = "back_off", budget: str = "grasps") -> Retry:
    """Try again from `to` while the budget lasts; then the machine ends with the outcome `otherwise`."""
    return Retry(to=to, budget=budget, otherwise=End(otherwise))


_INPUTS = {"eye": Eye, "world": CollisionWorld, "target": str, "tried": tuple[str, ...], "arm": ArmSettings}
_GRASPING: Table = {
    "approach": {"reached": "descend", "blocked": again("blocked"), "moved": again("target_moved", "look")},
    "descend": {"straddled": "seat", "blocked": again("blocked"), "moved": again("target_moved")},
    "seat": {"seated": "close"},
    "close": {"closed": "lift", "missed": again("missed")},
}
_LOST: Mapping[str, Transition] = {"dropped": again("dropped"), "slipped": again("slipped")}
_STATES: Mapping[str, State] = {
    **by_name(look, plan, approach, descend, seat, close, lift, back_off, take_over),
    "hold": hold_still,
}

PICK = ReadyTable(
    states=_STATES,
    table={
        "look": {"seen": "plan", "lost": End("target_not_found")},
        "plan": {"planned": "approach", "rejected": again("unreachable", "look", "looks")},
        **_GRASPING,
        "lift": {"lifted": "hold", **_LOST, "blocked": again("blocked")},
        "hold": {"held": "verify", **_LOST},
        "verify": {"verified": End("success"), "refuted": again("not_verified")},
        "back_off": {"ready": "look"},
        "take_over": {"ready": "look", "stranded": End("stranded")},
    },
    inputs=_INPUTS,
    work_begins="approach",
    vertical=("descend", "lift"),
)
"""The table that picks the target up and holds it still; `verify` is the task's own state: `verified` or `refuted`."""

PICK_AND_PLACE = ReadyTable(
    states={
        **_STATES,
        "look": look_around,
        "plan": plan_to_place,
        **by_name(carry, lower, release, confirm),
        "return_home": go_home,
        "let_go": take_over,
        "free_hand": take_over,
        "leave": go_home,
    },
    table={
        "look": {"seen": "plan", "lost": again("target_not_found", "leave", "looks")},
        "plan": {"planned": "approach", "rejected": again("unreachable", "leave", "looks")},
        **_GRASPING,
        "lift": {"lifted": "carry", **_LOST, "blocked": again("blocked")},
        "carry": {
            "carried": "lower",
            "dropped": again("dropped", "free_hand"),
            "slipped": again("slipped", "free_hand"),
            "blocked": again("blocked", "free_hand"),
            "no_way": again("no_way"),
        },
        "lower": {
            "lowered": "release",
            # Over its support, it may have come to rest there.
            "dropped": again("dropped", "let_go"),
            "blocked": again("blocked", "let_go"),
        },
        "release": {"released": "return_home", "blocked": again("blocked", "let_go")},
        "return_home": {"home": "confirm", "stranded": again("stranded", "let_go")},
        "confirm": {"confirmed": End("success"), "refuted": again("not_verified", "look")},
        "back_off": {"ready": "look"},
        "let_go": {"ready": "return_home", "stranded": End("stranded")},
        "free_hand": {"ready": "look", "stranded": End("stranded")},
        "leave": {"home": "look", "stranded": End("stranded")},
        "take_over": {"ready": "look", "stranded": End("stranded")},
    },
    inputs={**_INPUTS, "destination": Destination, "goal": RestGoal},
    work_begins="approach",
    vertical=("descend", "lift", "lower"),
)
"""The table that picks the target up, puts it down at its destination, goes home and verifies that it rests there."""

HELD_CLAIMS = {
    ("close", "closed"): Claim(name="held", asserted=True),
    ("lift", "lifted"): Claim(name="held", asserted=True),
    ("close", "missed"): Claim(name="held", asserted=False),
    ("lift", "dropped"): Claim(name="held", asserted=False),
}
"""What outcomes of `PICK` and `PICK_AND_PLACE` claim about the target being in the hand."""
PICK_AND_PLACE_CLAIMS = {
    **HELD_CLAIMS,
    ("carry", "carried"): Claim(name="held", asserted=True),
    ("carry", "dropped"): Claim(name="held", asserted=False),
    ("lower", "dropped"): Claim(name="held", asserted=False),
}
"""`HELD_CLAIMS`, and what carrying and lowering add."""


def pick_and_place(name: str, parameters: PickAndPlaceParameters, **changes: Any) -> Machine:
    """The machine of a task that puts one object somewhere; `changes` are those of `ReadyTable.machine`."""
    budgets = {"grasps": parameters.retries.grasps, "looks": parameters.retries.looks}
    return PICK_AND_PLACE.machine(name, budgets=budgets, limit_s=parameters.state_limit_s, **changes)


def pick_and_place_inputs(
    parameters: PickAndPlaceParameters,
    scene: Scene,
    target: str,
    destination: Destination,
    random: np.random.Generator,
) -> dict[str, Any]:
    """What that machine is given for one episode."""
    return {
        "eye": eye_of(parameters.perception, random),
        "world": collision_world(scene),
        "target": target,
        "tried": (),
        "arm": parameters.arm(),
        "destination": destination,
        "goal": parameters.goal,
    }


@functools.lru_cache(maxsize=16)
def collision_world(scene: Scene, clearance_m: float = CLEARANCE_M) -> CollisionWorld:
    """Where plans of a scene are checked; made once for each."""
    return CollisionWorld(scene, clearance_m)


@together
def certify_pick_and_place(
    parameters: PickAndPlaceParameters,
    scene: Scene,
    target: Belief,
    others: tuple[Belief, ...],
    destination: Destination,
) -> Planning[Transfer | Refusal]:
    """Plan for objects that lie there, from home, exactly as the machine will; for samplers of scenes.

    With a hair more room than the machine asks for: things settle by micrometres before they are looked at.
    """
    support = support_at(destination, target, others)
    if support is None:
        raise WiringError(f"{destination} is not among {[each.name for each in others]}")
    arm = parameters.arm()
    query = TransferQuery(
        world=collision_world(scene, CLEARANCE_M + _SETTLING_M),
        estimate=replace(
            target,
            position_sigma_m=parameters.perception.position_sigma_m,
            yaw_sigma_rad=parameters.perception.yaw_sigma_rad,
        ),
        start=at_rest(scene.robot.home),
        support=support,
        others=others,
        jaw=arm.jaw,
        reach=arm.reach.model_copy(update={"joint_margin_rad": arm.reach.joint_margin_rad + _SETTLING_RAD}),
        put=arm.put,
    )
    return plan_transfer.steps(query)
