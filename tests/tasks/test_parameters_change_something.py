"""Every parameter at its ends changes what is refused, sampled or built, or is known to matter only during play."""

from __future__ import annotations

import importlib.util
import sys
from fnmatch import fnmatch
from pathlib import Path
from types import ModuleType

import pytest

from graspline.tasks import lift_cube
from graspline.tasks.catalogue import find_task
from graspline.tasks.grab import layout as grab_layout
from graspline.tasks.oranges import layout as oranges_layout

from .test_parameters_are_used import CASES, ELSEWHERE

# Patterns of parameters that only matter while an episode is played. `test_parameters_are_used.py` sees that they are
# read there, and benchmarks/parameter_sweep.md what each changes.
DURING_PLAY: dict[str, tuple[str, ...]] = {
    "lift-cube": ("jaw.*", "reach.*", "close.*", "hold.*", "goal.*", "perception.source"),
    "oranges": (
        "plate.shift_m",
        "targets.order",
        "perception.*",
        "jaw.*",
        "reach.*",
        "posture.*",
        "close.*",
        "closing.*",
        "hold.*",
        "carry.*",
        "spots.*",
        "release.*",
        "rest.*",
    ),
    "grab": ("grasp.tcp", "perception.*", "reach.*", "close.*", "hold.*", "put.*", "goal.*"),
    "sort": ("sight.*", "motion.scaling", "motion.hop_m", "grip.*", "order.*", "success_share"),
    "tidy": ("grasp.*", "placing.*", "handover.*", "table.edge_m"),
}


@pytest.fixture(scope="module")
def ends() -> ModuleType:
    return _loaded("parameter_ends")


def _loaded(name: str) -> ModuleType:
    path = Path(__file__).parents[2] / "benchmarks" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", CASES)
def test_every_parameter_changes_something_before_play_or_matters_during_it(
    name: str, ends: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Settings that allow no scene are to be found out soon.
    monkeypatch.setattr(oranges_layout, "MAX_TRIES", 60)
    monkeypatch.setattr(grab_layout, "MAX_TRIES", 60)
    monkeypatch.setattr(lift_cube, "MAX_SAMPLES", 60)
    task = find_task(name)
    changed, offered = set[str](), {path for path, _, _ in ends.leaves(task.parameters)}
    for end in ends.ends_of(task):
        during_play = any(fnmatch(end.path, pattern) for pattern in DURING_PLAY[name])
        if end.path not in changed and not during_play and ends.change_before_play(end, range(2, 60)):
            changed.add(end.path)
    # What bounds a file has, and of which robot, is tried where it is read: tests/tasks/grab/test_task.py; other robots
    # are tried in tests/tasks/test_on_robot.py.
    offered -= {"workspace.bounds_file", "workspace.bounds_of", "robot"}
    # Objects from outside are no numbers: tests/tasks/test_mesh_objects.py and tests/tasks/grab/test_posted.py.
    offered -= {"things.meshes", "posted.objects", "posted.file", "posted.now_s", "posted.max_age_s"}
    left = {path for path in offered - changed if not any(fnmatch(path, each) for each in DURING_PLAY[name])}
    assert left == set()


@pytest.mark.parametrize("name", CASES)
def test_what_matters_during_play_is_read_there(name: str, ends: ModuleType) -> None:
    offered = [path for path, _, _ in ends.leaves(find_task(name).parameters)]
    for pattern in DURING_PLAY[name]:
        assert any(fnmatch(path, pattern) for path in offered), f"{pattern} fits nothing"
    played = {path for path in offered if any(fnmatch(path, pattern) for pattern in DURING_PLAY[name])}
    # How long a handover waits is read only where nobody pulls; tests of handovers see to that.
    assert played & ELSEWHERE.get(name, set()) <= {"handover.wait_s"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "path", "case"),
    [
        ("oranges", "hold.sure_s", "seed 1"),
        ("grab", "perception.camera_watch_hz", "perception.source=camera drop@lift seed 7001"),
    ],
)
def test_the_sweep_shows_what_only_special_episodes_show(name: str, path: str, case: str, ends: ModuleType) -> None:
    sweep = _loaded("parameter_sweep")
    row = next(sweep.Row(end=end) for end in ends.ends_of(find_task(name)) if end.path == path)
    sweep.play([row], next(each for each in sweep.CASES[name] if str(each) == case))
    assert row.change
