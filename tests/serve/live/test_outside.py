"""Objects posted from outside: what is wrong with a post, how it ages, and that nothing else is believed."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest

from graspline.scenes.meshes.store import solid_of
from graspline.serve.live.commands import CheckReachable, MoveToGrab, Pick, Preview, Refresh, Select, WithdrawObject
from graspline.serve.live.server_context import console_for
from graspline.tasks.console import Done, PostObject, Refused
from graspline.tasks.grab.parameters import Grab, GrabOrderParameters, ThingsParameters
from graspline.tasks.grab.task import GRAB
from graspline.tasks.posted_objects import FORGOTTEN_S, USED_S, Posted
from scenes.meshes import shapes

from .benches import Bench

TARGET = "blue_2x4"
PARAMETERS = Grab(
    things=ThingsParameters(count=(2, 2), scale=(1.0, 1.0), radius_m=(0.18, 0.22), azimuth_rad=(-0.5, 0.5)),  # type: ignore[arg-type]
    order=GrabOrderParameters(target=TARGET, place="back", variables="given"),
)
BOX = PostObject(
    name="crate", position_m=(0.2, 0.1, 0.012), quaternion=(1, 0, 0, 0), size_m=(0.03, 0.03, 0.024), time_s=5.0
)


def posted(now_s: float = 5.0) -> Posted:
    found = Posted(7)
    found.age(now_s)
    return found


def table() -> Bench:
    bench = Bench(GRAB, PARAMETERS, 3, console=console_for(GRAB, PARAMETERS, 0))
    bench.done(Refresh())
    return bench


def there(bench: Bench, name: str = TARGET, **changes: object) -> PostObject:
    """A post of where an object really is: what a perfect detector outside would send."""
    at = bench.conductor.scene.joint_address(name)
    qpos = bench.snapshot.qpos[at : at + 7]
    pose = {"position_m": tuple(map(float, qpos[:3])), "quaternion": tuple(map(float, qpos[3:]))}
    return dataclasses.replace(BOX, name=name, size_m=(0.064, 0.032, 0.024), time_s=None, **{**pose, **changes})


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"position_m": (math.nan, 0, 0)}, "position_m: not finite"),
        ({"quaternion": (1, 1, 0, 0)}, "quaternion: its length is 1.414, not 1"),
        ({"size_m": (0.03, 0.0, 0.03)}, "size_m: [0.03, 0, 0.03]; each side is 0.003 to 0.5 m"),
        ({"frame": "wolrd"}, "did you mean 'world'"),
        ({"shape": "cone"}, "shape: 'cone' is unknown"),
        ({"shape": "ball"}, "a ball has its 3 first sides alike"),
        ({"time_s": 6.0}, "6.000 s is in the future, it is 5.000 s now"),
        ({"position_sigma_m": 0.1}, "position_sigma_m: 0.1; expected 0 to 0.02 m"),
    ],
)
def test_a_post_that_cannot_be_is_refused_with_the_reason(changes: dict[str, object], problem: str) -> None:
    store = posted()
    refused = store.post(dataclasses.replace(BOX, **changes))
    assert isinstance(refused, Refused)
    assert refused.mistaken
    assert problem in refused.reason
    assert not store.in_use


def test_all_problems_of_a_post_are_named_at_once() -> None:
    refused = posted().post(
        dataclasses.replace(BOX, quaternion=(2, 0, 0, 0), size_m=(9, 1, 1), frame="map", time_s=50.0)
    )
    assert isinstance(refused, Refused)
    for key in ("quaternion", "size_m", "frame", "time_s"):
        assert f"{key}:" in refused.reason


def test_times_of_an_object_only_grow_and_old_ones_are_refused() -> None:
    store = posted()
    assert isinstance(store.post(BOX), Done)
    again = store.post(BOX)
    assert isinstance(again, Refused)
    assert "is not after 5.000 s" in again.reason
    store.age(5.1)
    assert isinstance(store.post(dataclasses.replace(BOX, time_s=5.05)), Done)
    late = posted(100.0).post(BOX)
    assert isinstance(late, Refused)
    assert f"the limit is {USED_S:g} s" in late.reason


def test_a_pose_is_used_while_it_is_fresh_then_listed_and_then_forgotten() -> None:
    store = posted()
    store.post(BOX)
    store.age(5.0 + USED_S)
    assert [each.name for each in store.fresh] == ["crate"]
    store.age(5.1 + USED_S)
    assert not store.fresh
    assert [each.name for each in store.objects] == ["crate"]
    stale = store.stale("crate")
    assert stale is not None
    assert "post it again" in stale.reason
    store.age(5.1 + FORGOTTEN_S)
    assert not store.objects
    assert store.in_use, "what the session would see by itself stays out of use"


def test_no_more_objects_are_posted_than_the_planner_has_bodies_for() -> None:
    store = posted()
    results = [store.post(dataclasses.replace(BOX, name=f"crate_{number}")) for number in range(8)]
    assert [isinstance(each, Done) for each in results] == [True] * 7 + [False]


def test_from_the_first_post_on_only_posts_are_believed() -> None:
    bench = table()
    bench.done(Select(TARGET))
    bench.done(dataclasses.replace(BOX, time_s=None))
    assert [(each.name, each.posted) for each in bench.snapshot.objects] == [("crate", True)]
    assert bench.snapshot.selected == ""
    assert "no object" in bench.refused(Select(TARGET)).reason
    bench.done(WithdrawObject("crate"))
    bench.done(Refresh())
    assert bench.snapshot.objects == (), "one that is withdrawn does not bring the session's own eyes back"
    bench.done(WithdrawObject())
    bench.done(Refresh())
    assert TARGET in [each.name for each in bench.snapshot.objects]


def test_the_hand_goes_where_the_post_says_and_not_where_the_object_is() -> None:
    bench = table()
    real = there(bench)
    bench.done(Select(TARGET))
    by_truth = bench.done(Preview()).data["tcp_m"]
    x, y, z = real.position_m
    bench.done(dataclasses.replace(real, position_m=(x - 0.01, y, z)))
    bench.done(Select(TARGET))
    by_post = bench.done(Preview()).data["tcp_m"]
    np.testing.assert_allclose(np.subtract(by_truth, by_post), [0.01, 0, 0], atol=1e-3)


def test_a_posted_obstacle_that_the_scene_does_not_know_is_kept_clear_of() -> None:
    bench = table()
    real = there(bench)
    bench.done(real)
    bench.done(Select(TARGET))
    bench.done(CheckReachable())
    x, y, _ = real.position_m
    wall = dataclasses.replace(BOX, name="wall", position_m=(x, y, 0.06), size_m=(0.2, 0.2, 0.02), time_s=None)
    bench.done(wall)
    refused = bench.refused(CheckReachable())
    assert refused.data["check"] == "collision"
    assert "wall" in refused.reason


def test_grabbing_a_posted_object_that_is_not_there_is_a_miss() -> None:
    bench = table()
    real = there(bench)
    _, y, z = real.position_m
    empty = dataclasses.replace(BOX, position_m=(0.2, 0.12 if y < 0 else -0.12, z), time_s=None)
    bench.done(empty)
    bench.done(Select("crate"))
    refused = bench.refused(Pick())
    assert refused.data["verdict"] == "missed"


def test_a_pick_by_posts_succeeds_only_if_newer_posts_show_that_it_did() -> None:
    bench = table()
    bench.done(there(bench))
    bench.done(Select(TARGET))
    refused = bench.refused(Pick())
    assert refused.data["verdict"] == "not_verified"
    # The same with a detector that goes on.
    bench.done(there(bench))
    order = bench.give(Pick())
    for _ in range(3000):
        if order.ticket.settled is not None:
            break
        bench.tick(3)
        bench.give(there(bench))
    assert isinstance(order.ticket.settled, Done), order.ticket.settled


def test_an_object_too_old_is_not_grabbed() -> None:
    bench = table()
    bench.done(there(bench))
    bench.done(Select(TARGET))
    bench.tick(int(60 * USED_S) + 10)
    (listed,) = bench.snapshot.objects
    assert listed.stale
    assert "post it again" in bench.refused(MoveToGrab()).reason


def test_a_mesh_is_posted_with_the_box_of_its_file(tmp_path: Path) -> None:
    bracket = solid_of(shapes.write_obj(shapes.bracket(), tmp_path / "bracket.obj"), 0.001)
    store = Posted(7, used_s=5.0, solids={"bracket": bracket})
    seen = dataclasses.replace(
        BOX, name="bracket", shape="mesh", size_m=(0.061, 0.0395, 0.03), position_m=(0.2, 0, 0.015), time_s=None
    )
    assert isinstance(store.post(seen), Done)
    (believed,) = store.fresh
    assert believed.solid is bracket
    assert tuple(believed.half_extents_m) == bracket.half_extents_m
    refused = store.post(dataclasses.replace(seen, size_m=(0.03, 0.04, 0.06)))
    assert isinstance(refused, Refused)
    assert refused.reason == "size_m: the box of bracket is [0.06, 0.04, 0.03], along the axes of its file"
    unknown = store.post(dataclasses.replace(seen, name="braket"))
    assert isinstance(unknown, Refused)
    assert "did you mean 'bracket'?" in unknown.reason
    store.age(6.0)
    assert store.fresh == ()
