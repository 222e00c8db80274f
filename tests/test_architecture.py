"""The house rules that a parser can check; import-linter checks the rest (see pyproject.toml)."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from graspline.tasks.catalogue import TASKS

SOURCE = Path(__file__).parents[1] / "src" / "graspline"
STEPPING = {"mj_step", "mj_step1", "mj_step2", "Batch", "rollout"}
EDITING = {
    "MjSpec",
    "add_actuator",
    "add_body",
    "add_camera",
    "add_exclude",
    "add_freejoint",
    "add_geom",
    "add_joint",
    "add_light",
    "add_material",
    "add_mesh",
    "add_sensor",
    "add_site",
    "add_texture",
}
CLOCKS = {"time", "monotonic", "perf_counter", "process_time", "sleep"}
# Rooms that work for every task, robot and scene.
GENERIC = (
    *("episodes", "campaigns", "reports", "datasets", "execution", "machine", "envs", "evaluations", "conformance"),
    *("serve", "cli", "faults", "engine", "rendering", "gpu"),
)
# Names of states that are everyday words, and what they mean where a generic room says them.
EVERYDAY = {
    "check": "a check of a plan that refused it",
    "close": "what a jaw or a connection does",
    "drop": "a fault",
    "grip": "what a fault needs: something in the hand",
    "hold": "a motion that stays where it is",
    "idle": "the mode of a session in which nothing moves",
    "watch": "a page that looks on",
}
# Modules of the robots that come with graspline, and of the closed forms of their arms.
ROBOTS_OWN = ("so101", "ur5e", "hsr", "gripper_2f85")
CLOSED_FORMS = {f"kinematics/{name}.py" for name in ("so101", "ur5e", "hsr")}
# What still knows a robot by name, and is to ask `Robot`, `Arm` and `Hand` instead; each goes from this list with that.
NOT_YET = {
    # Here a task says which robot it is for; that one is not registered.
    "tasks/tidy/robot.py",
}
GLOBAL_RANDOMNESS = {"seed", "rand", "randn", "randint", "random", "uniform", "normal", "choice", "shuffle"}


def files() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def room_of(path: Path) -> str:
    parts = path.relative_to(SOURCE).parts
    return parts[0].removesuffix(".py")


def used_names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            yield node.attr, node.lineno
        elif isinstance(node, ast.Name):
            yield node.id, node.lineno
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield alias.name, node.lineno


def offences(names: set[str], allowed: set[str]) -> list[str]:
    found = []
    for path in files():
        if room_of(path) not in allowed:
            tree = ast.parse(path.read_text())
            found += [
                f"{path.relative_to(SOURCE)}:{line} uses {name}" for name, line in used_names(tree) if name in names
            ]
    return found


def test_only_the_engine_steps_physics() -> None:
    assert offences(STEPPING, {"engine"}) == []


def test_only_robots_and_scenes_edit_models() -> None:
    # Annotations aside, a spec is made and changed in these two rooms.
    assert offences(EDITING, {"robots", "scenes"}) == []


def test_there_is_no_wall_clock_below_the_front_doors() -> None:
    found = []
    for path in files():
        # What is live keeps pace with the clock, in one place.
        if room_of(path) == "cli" or path == SOURCE / "serve" / "live" / "pace.py":
            continue
        # What only measures how long things took has one, too.
        if path == SOURCE / "stopwatch.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if not (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)):
                continue
            if node.value.id in ("time", "datetime") and node.attr in CLOCKS | {"now"}:
                found.append(f"{path.relative_to(SOURCE)}:{node.lineno}")
    assert found == []


def test_randomness_is_always_passed_in() -> None:
    found = []
    for path in files():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import) and any(alias.name == "random" for alias in node.names):
                found.append(f"{path.relative_to(SOURCE)}:{node.lineno} imports random")
            if (
                isinstance(node, ast.Attribute)
                and node.attr in GLOBAL_RANDOMNESS
                and isinstance(node.value, ast.Attribute)
                and node.value.attr == "random"
                and isinstance(node.value.value, ast.Name)
                and node.value.value.id == "np"
            ):
                found.append(f"{path.relative_to(SOURCE)}:{node.lineno} draws from numpy's global state")
    assert found == []


def test_only_the_command_line_prints() -> None:
    found = []
    for path in files():
        if room_of(path) == "cli":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
                found.append(f"{path.relative_to(SOURCE)}:{node.lineno}")
    assert found == []


def test_no_error_is_swallowed_whole() -> None:
    found = []
    for path in files():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ExceptHandler) and node.type is None:
                found.append(f"{path.relative_to(SOURCE)}:{node.lineno}")
    assert found == []


@functools.cache
def special_names() -> frozenset[str]:
    """Tasks, every state of their machines by path and by name, robots, and scenes with what lies in them."""
    found = {"belt", "room"}
    for name, task in TASKS.items():
        parameters = task.parameters()
        scene, paths = task.scene(parameters), task.machine(parameters).paths()
        found |= {name, *paths, *(path.rpartition(".")[2] for path in paths)}
        found |= {scene.robot.name, scene.name, *scene.object_names, *scene.place_names}
    return frozenset(found - set(EVERYDAY))


def texts_of(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Every text of a module but its docstrings: those of commands are help, whose examples name tasks."""
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value, node.lineno


def named_in(text: str) -> Iterator[str]:
    """Special names that a text says: the whole of it, or a word of it that is no word of the language."""
    words = {text, *re.findall(r"[\w.-]+", text)}
    for name in sorted(special_names() & words):
        if text == name or not name.isalpha():
            yield name


def test_a_special_name_is_found_in_a_text_unless_it_may_mean_something_else_there() -> None:
    assert list(named_in("oranges")) == ["oranges"]
    assert list(named_in("run lift-cube, then back_off")) == ["back_off", "lift-cube"]
    assert list(named_in("sort by name")) == []
    assert list(named_in("idle")) == []


def test_generic_rooms_know_no_task_state_robot_or_scene_by_name() -> None:
    found = []
    for path in files():
        where = path.relative_to(SOURCE).as_posix()
        if room_of(path) in GENERIC:
            found += [
                f"{where}:{line} says {name!r}"
                for text, line in texts_of(ast.parse(path.read_text()))
                for name in named_in(text)
            ]
    assert found == []


def test_generic_rooms_import_no_task_robot_or_scene() -> None:
    special = {name.replace("-", "_") for name in special_names()}
    found = []
    for path in files():
        where = path.relative_to(SOURCE).as_posix()
        if room_of(path) not in GENERIC:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                package, *inner = node.module.removeprefix("graspline.").split(".")
                named = {*inner[:1]} if inner else {alias.name for alias in node.names}
                if package in ("tasks", "robots", "scenes", "kinematics") and special & named:
                    found.append(f"{where}:{node.lineno} imports {node.module}")
    assert found == []


def robots_named_in(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Robots' modules that are imported, and texts that are a robot's name; but a task says which robot is usual."""
    usual = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg == "robot"}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            parts = [*node.module.split("."), *(alias.name for alias in node.names)]
            for part in parts:
                if any(part == name or part.startswith(f"{name}_") for name in ROBOTS_OWN):
                    yield part, node.lineno
        elif isinstance(node, ast.Constant) and node.value in ROBOTS_OWN and id(node) not in usual:
            yield str(node.value), node.lineno


def test_no_module_outside_robots_and_closed_forms_names_a_robot() -> None:
    found, exempt = [], set()
    for path in files():
        where = path.relative_to(SOURCE).as_posix()
        if room_of(path) == "robots" or where in CLOSED_FORMS:
            continue
        for name, line in robots_named_in(ast.parse(path.read_text())):
            if where in NOT_YET:
                exempt.add(where)
            else:
                found.append(f"{where}:{line} names {name}")
    assert found == []
    assert NOT_YET - exempt == set(), "these name no robot any more: take them off the list"


@pytest.mark.slow
def test_rooms_import_only_rooms_above_them() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    result = subprocess.run([linter], cwd=SOURCE.parents[1], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout
