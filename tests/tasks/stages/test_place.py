"""From a hold to an object that stands where it was to be put, state by state, with scripted replies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graspline.execution.requests import Announce, Look, Motion, Solve
from graspline.grasping.topdown import GraspPlan
from graspline.machine.outcome import Gives
from graspline.motion.guards import Apart, HoldLost, TrackingError
from graspline.motion.path import Path, at_rest
from graspline.perception.core.beliefs import Belief, Perception
from graspline.placement.carry import plan_carry
from graspline.placement.held import held_after
from graspline.placement.query import CarryPlan, CarryQuery, Support
from graspline.planning.collision import CollisionWorld
from graspline.refusal import Refusal
from graspline.robots.so101 import SO101
from graspline.scenes.cube_table import CUBE
from graspline.tasks.scatter import lying_at
from graspline.tasks.stages.grasp import HoldReference
from graspline.tasks.stages.parameters import ArmSettings
from graspline.tasks.stages.place import (
    OnObject,
    WhereItLay,
    carry,
    go_home,
    look_around,
    lower,
    put_down,
    release,
    support_at,
)
from graspline.tasks.stages.sight import TruthEye

from ..replies import completed, cut, play, readings, reply, saw

ARM = ArmSettings()
SPOT = Support(x_m=0.2, y_m=0.1)


def eye() -> TruthEye:
    return TruthEye(perception=Perception(), random=np.random.default_rng(1))


def box(name: str, x_m: float, y_m: float, half_m: float = 0.015) -> Belief:
    return lying_at(name, x_m, y_m, np.full(3, half_m), "box")


def hold() -> HoldReference:
    return HoldReference(
        least_jaw_rad=0.1,
        tool_m=np.array([0.2, 0.0, 0.02]),
        object_m=np.array([0.21, 0.0, 0.015]),
        in_hand_m=np.array([0.0, 0.0, 0.015]),
        position_sigma_m=0.0,
    )


class TestSupport:
    def test_a_point_of_the_table_is_itself(self) -> None:
        assert support_at(SPOT, box("red", 0.1, 0.2), ()) is SPOT

    def test_where_it_lay_is_under_the_target(self) -> None:
        assert support_at(WhereItLay(), box("red", 0.1, 0.2), ()) == Support(x_m=0.1, y_m=0.2)

    def test_an_object_carries_on_its_top_as_high_as_it_is_believed_to_be(self) -> None:
        found = support_at(OnObject(name="blue"), box("red", 0.1, 0.2), (box("blue", 0.25, -0.1, 0.02),))
        assert found == Support(x_m=0.25, y_m=-0.1, z_m=0.04, name="blue")

    def test_there_is_none_on_an_object_that_is_not_seen(self) -> None:
        assert support_at(OnObject(name="blue"), box("red", 0.1, 0.2), ()) is None


class TestLookAround:
    def looking(self, destination: Any):
        stage = look_around(eye(), CUBE, destination)
        assert isinstance(next(stage), Announce)
        assert stage.send(None) == Look(None)  # pyright: ignore[reportArgumentType]
        with pytest.raises(StopIteration) as stop:
            stage.send(saw(np.array([0.2, 0.1, 0.015])))
        return stop.value.value

    def test_where_it_lay_is_settled_by_the_first_look(self) -> None:
        found = self.looking(WhereItLay())
        assert found.name == "seen"
        assert found.data.destination == found.data.support == Support(x_m=0.2, y_m=0.1)

    def test_a_destination_that_is_not_seen_is_lost(self) -> None:
        assert self.looking(OnObject(name="blue")).name == "lost"


@pytest.fixture
def way(grasp_plan: GraspPlan, estimate: Belief, world: CollisionWorld) -> CarryPlan:
    found = plan_carry(query(grasp_plan, estimate, world), (SPOT,))
    assert isinstance(found, CarryPlan), str(found)
    return found


def query(grasp_plan: GraspPlan, estimate: Belief, world: CollisionWorld) -> CarryQuery:
    return CarryQuery(
        world=world,
        held=held_after(SO101, estimate, grasp_plan.grasp, grasp_plan.branch),
        start=at_rest(np.append(grasp_plan.lift.end[:5], grasp_plan.grasp.touch_rad)),
        obstacles=(),
        settings=ARM.put.whole(),
        margin_rad=ARM.reach.joint_margin_rad / 2,
    )


class TestCarrying:
    def held(self, grasp_plan: GraspPlan, estimate: Belief):
        return held_after(SO101, estimate, grasp_plan.grasp, grasp_plan.branch)

    def stage(self, state: Any, grasp_plan: GraspPlan, estimate: Belief, world: CollisionWorld):
        last = reply(command=at_rest(np.append(grasp_plan.lift.end[:5], grasp_plan.grasp.touch_rad)))
        return state(last, SO101, eye(), world, self.held(grasp_plan, estimate), (), SPOT, hold(), ARM)

    def test_the_way_is_planned_from_where_the_hand_is(
        self, grasp_plan: GraspPlan, estimate: Belief, world: CollisionWorld
    ) -> None:
        request = next(self.stage(carry, grasp_plan, estimate, world))
        assert isinstance(request, Solve)
        assert request.function is plan_carry
        asked, supports = request.arguments
        assert isinstance(asked, CarryQuery)
        assert supports == (SPOT,)
        np.testing.assert_array_equal(asked.start.position[:5], grasp_plan.lift.end[:5])

    def test_over_the_support_the_way_is_handed_on(
        self, grasp_plan: GraspPlan, estimate: Belief, world: CollisionWorld, way: CarryPlan
    ) -> None:
        (_, motion), found = play(self.stage(carry, grasp_plan, estimate, world), reply(value=way), completed(3, 3))
        assert (motion.name, motion.path) == ("transport", way.transport)
        assert any(isinstance(each, Apart) for each in motion.guards)
        assert isinstance(found, Gives)
        assert (found.name, found.data.way) == ("carried", way)

    @pytest.mark.parametrize(("guard", "name"), [(HoldLost, "dropped"), (Apart, "slipped"), (TrackingError, "blocked")])
    @pytest.mark.parametrize("state", [carry, put_down])
    def test_each_guard_has_its_outcome(
        self,
        grasp_plan: GraspPlan,
        estimate: Belief,
        world: CollisionWorld,
        way: CarryPlan,
        guard: type,
        name: str,
        state: Any,
    ) -> None:
        _, found = play(self.stage(state, grasp_plan, estimate, world), reply(value=way), cut(guard))
        assert (found.name, found.about) == (name, CUBE)

    @pytest.mark.parametrize("state", [carry, put_down])
    def test_without_a_way_nothing_moves(
        self, grasp_plan: GraspPlan, estimate: Belief, world: CollisionWorld, state: Any
    ) -> None:
        refused = Refusal(label=CUBE, stage="place", check="reach", evidence=())
        requests, found = play(self.stage(state, grasp_plan, estimate, world), reply(value=refused))
        assert len(requests) == 1
        assert found.name == "no_way"

    def test_one_state_puts_it_down_with_the_motions_of_all_three(
        self, grasp_plan: GraspPlan, estimate: Belief, world: CollisionWorld, way: CarryPlan
    ) -> None:
        stage = self.stage(put_down, grasp_plan, estimate, world)
        asked, found = play(stage, reply(value=way), *[completed(3, 3)] * 4)
        assert [each.name for each in asked[1:]] == ["transport", "lower", "release", "withdraw"]
        assert found.name == "put"

    def test_lowering_ends_early_on_what_stands_a_little_higher(
        self, grasp_plan: GraspPlan, estimate: Belief, way: CarryPlan
    ) -> None:
        carried = self.held(grasp_plan, estimate)
        near = cut(HoldLost, way.lower.ticks - 2)
        motions, found = play(lower(SO101, carried, way, hold(), ARM), near, completed(3, 3))
        assert [each.name for each in motions] == ["lower", "brake"]
        assert found.name == "lowered"

    def test_lost_high_above_its_support_it_is_dropped(
        self, grasp_plan: GraspPlan, estimate: Belief, way: CarryPlan
    ) -> None:
        carried = self.held(grasp_plan, estimate)
        _, found = play(lower(SO101, carried, way, hold(), ARM), cut(HoldLost, 2))
        assert found.name == "dropped"

    def test_the_hand_opens_and_rises(self, grasp_plan: GraspPlan, estimate: Belief, way: CarryPlan) -> None:
        last = reply(command=at_rest(way.lower.end))
        motions, found = play(release(last, SO101, self.held(grasp_plan, estimate), way, ARM), *[completed()] * 2)
        assert [each.name for each in motions] == ["release", "withdraw"]
        assert found.name == "released"


class TestGoHome:
    def test_jaws_with_something_between_them_open_first(self, world: CollisionWorld) -> None:
        bent = SO101.home.copy()
        bent[0] += 0.3
        last = reply(command=at_rest(bent), sensed=readings(bent, fixed_n=3, moving_n=0))
        requests, found = play(go_home(last, SO101, eye(), world, ARM), completed(), saw(None), completed())
        assert [each.name for each in requests if isinstance(each, Motion)] == ["open", "return_home"]
        path = requests[-1].path
        assert isinstance(path, Path)
        np.testing.assert_allclose(path.end[:5], SO101.home[:5])
        assert found.name == "home"
