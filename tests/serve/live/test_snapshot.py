from __future__ import annotations

import dataclasses
import json

import numpy as np

from graspline.evidence import at_most
from graspline.scenes.variation import Variation
from graspline.serve.live.snapshot import HistoryEntry, SessionSnapshot
from graspline.spatial.poses import Pose
from graspline.tasks.console import ObjectListed, plain

POSE = Pose(position_m=np.array([0.1, 0.2, 0.3]), rotation=np.eye(3))
SNAPSHOT = SessionSnapshot(
    number=7,
    task="lift-cube",
    seed=5,
    robot="so101",
    time_s=1.5,
    behind_s=0.01,
    mode="task",
    doing="lift",
    state="lift",
    joints_rad=np.arange(6.0),
    command_rad=np.array([0.0, np.nan, np.inf, 3.0, 4.0, 5.0]),
    tcp=POSE,
    gripper=POSE,
    tool_mid_m=np.zeros(3),
    jaw_gap_m=float("nan"),
    jaw_rad=0.1,
    pad_forces_n=(0.5, 0.6),
    qpos=np.zeros(13),
    variation=Variation(),
    blind={"": None},
    evidence=(at_most("slip", float("nan"), 0.01, "m"),),
    history=(HistoryEntry(t_s=0.5, state="look", outcome="seen", then="plan"),),
    retries={"grasps": 2},
    objects=(
        ObjectListed(
            name="cube", position_m=np.zeros(3), size_m=np.full(3, 0.03), yaw_rad=0.2, shape="box", time_s=0.1
        ),
    ),
    variables={"cross_axis": False, "tcp": "between", "tcp_clearance_m": np.float64(0.001)},
)


def test_a_snapshot_is_plain_json_with_null_for_numbers_that_are_none() -> None:
    shown = SNAPSHOT.as_dict()
    assert json.loads(json.dumps(shown, allow_nan=False)) == shown
    assert shown["command_rad"] == [0.0, None, None, 3.0, 4.0, 5.0]
    assert shown["jaw_gap_m"] is None
    assert shown["evidence"][0]["value"] is None
    assert shown["variables"] == {"cross_axis": False, "tcp": "between", "tcp_clearance_m": 0.001}
    assert shown["objects"][0]["size_m"] == [0.03, 0.03, 0.03]
    assert shown["tcp"] == {"position_m": [0.1, 0.2, 0.3], "quaternion": [1.0, 0.0, 0.0, 0.0]}


def test_everything_but_what_is_for_drawing_only_is_shown() -> None:
    fields = {each.name for each in dataclasses.fields(SessionSnapshot)}
    assert fields - set(SNAPSHOT.as_dict()) == {"qpos", "variation", "blind", "option_words", "tool_at"}


def test_a_flag_stays_a_flag_and_a_count_a_count() -> None:
    values = plain({"flag": np.bool_(True), "count": np.int64(3), "nested": ((1.0, float("inf")), "text")})
    assert values == {"flag": True, "count": 3, "nested": [[1.0, None], "text"]}
    assert type(values["flag"]) is bool
