"""The house rules that a parser can check; import-linter checks the rest (see pyproject.toml)."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

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
        if room_of(path) == "cli" or path.name == "benchmarks.py" or path == SOURCE / "live" / "pace.py":
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


@pytest.mark.slow
def test_rooms_import_only_rooms_above_them() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    result = subprocess.run([linter], cwd=SOURCE.parents[1], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout
