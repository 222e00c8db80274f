"""The public API: few names, each documented, with examples that run; examples and pages use nothing else."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import itertools
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import graspline
from graspline import faults, stages

ROOT = Path(__file__).parents[1]
NAMES = [name for name in graspline.__all__ if not name.startswith("__")]
# Names of two modules are public as well.
DOCUMENTED = [("graspline", name) for name in NAMES]
DOCUMENTED += [("graspline.stages", name) for name in stages.__all__]
DOCUMENTED += [("graspline.faults", name) for name in faults.__all__]
_DRIVES = "drives the lanes of an episode itself, by ground truth, which no policy of a user is given"
_RENDERS = "renders thousands of images at once from the columns of a dataset, on a GPU"
_STATISTICS = "prints the interval of a success rate"
# What examples use besides, and why: by file and module.
PRIVATE_USES = {
    ("examples/policies/state_policy.py", "graspline.envs.interface"): _DRIVES,
    ("examples/policies/state_policy.py", "graspline.episodes.observers"): _DRIVES,
    ("examples/policies/state_policy.py", "graspline.episodes.policy_drivers"): _DRIVES,
    ("examples/policies/state_policy.py", "graspline.episodes.success_by_truth"): _DRIVES,
    ("examples/policies/state_policy.py", "graspline.execution.drivers"): _DRIVES,
    ("examples/policies/state_policy.py", "graspline.execution.notifications"): _DRIVES,
    ("examples/policies/state_policy.py", "graspline.execution.requests"): _DRIVES,
    ("examples/policies/state_policy.py", "graspline.kinematics.so101"): "gives a network places around the pan axis",
    ("examples/policies/state_policy.py", "graspline.episodes.statistics"): _STATISTICS,
    ("examples/policies/dagger.py", "graspline.episodes.statistics"): _STATISTICS,
    ("examples/policies/render_frames.py", "graspline.datasets.format.store"): _RENDERS,
    ("examples/policies/render_frames.py", "graspline.episodes.units"): _RENDERS,
    ("examples/policies/render_frames.py", "graspline.episodes.camera_views"): _RENDERS,
    ("examples/policies/render_frames.py", "graspline.rendering.choose"): _RENDERS,
    ("examples/policies/render_frames.py", "graspline.gpu.looks"): _RENDERS,
    ("examples/policies/render_frames.py", "graspline.gpu.renderer"): _RENDERS,
    ("examples/policies/render_frames.py", "graspline.scenes.scene"): _RENDERS,
    ("examples/policies/render_frames.py", "graspline.scenes.variation"): _RENDERS,
}


def documentation_of(module: str, name: str) -> str:
    """The docstring of a public name: for a value, the text below its assignment."""
    value = getattr(_module(module), name)
    if isinstance(value, ModuleType | type) or inspect.isroutine(value) or hasattr(value, "__wrapped__"):
        return inspect.getdoc(value) or ""
    return _text_below(module, name)


def _module(name: str) -> ModuleType:
    """`graspline.stages` is an attribute and no module that could be imported by this name."""
    return graspline if name == "graspline" else getattr(graspline, name.rpartition(".")[2])


def _text_below(module: str, name: str) -> str:
    for home in _homes(module, name):
        body = ast.parse(inspect.getsource(importlib.import_module(home))).body
        for assigned, below in itertools.pairwise(body):
            targets = [*getattr(assigned, "targets", ()), getattr(assigned, "target", None)]
            named = any(isinstance(each, ast.Name) and each.id == name for each in targets)
            if named and isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
                return inspect.cleandoc(str(below.value.value))
    return ""


def _homes(module: str, name: str) -> Iterator[str]:
    """Modules from which a public module imports a name."""
    for node in ast.walk(ast.parse(inspect.getsource(_module(module)))):
        if isinstance(node, ast.ImportFrom) and node.module and any(each.name == name for each in node.names):
            yield node.module


def test_there_are_at_most_forty_names_and_dir_lists_them() -> None:
    assert len(graspline.__all__) <= 40
    assert len(set(graspline.__all__)) == len(graspline.__all__)
    for module in (graspline, faults):
        assert set(module.__all__) <= set(dir(module))


def test_editors_and_type_checkers_see_the_same_names_as_the_program() -> None:
    for module in (graspline, faults):
        guarded = next(each for each in ast.parse(inspect.getsource(module)).body if isinstance(each, ast.If))
        seen = {alias.name for node in guarded.body if isinstance(node, ast.ImportFrom) for alias in node.names}
        assert seen == set(module.__all__) - {"__version__"}
        assert all(getattr(module, name) is not None for name in module.__all__)


def test_an_unknown_name_gets_the_nearest() -> None:
    with pytest.raises(AttributeError, match="no attribute 'find_tsk'; did you mean 'find_task'"):
        _ = graspline.find_tsk  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("module, name", DOCUMENTED)
def test_a_public_name_is_documented(module: str, name: str) -> None:
    text = documentation_of(module, name)
    # Dataclasses without a docstring get their signature.
    assert text
    assert not text.startswith(f"{name}(")


@pytest.mark.parametrize("module, name", [("", "graspline"), *DOCUMENTED])
def test_the_examples_of_a_public_name_run(module: str, name: str) -> None:
    text = documentation_of(module, name) if module else inspect.getdoc(graspline) or ""
    example = doctest.DocTestParser().get_doctest(text, {}, f"{module}.{name}", None, None)
    said: list[str] = []
    began = time.process_time()
    failed = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=said.append).failed
    assert not failed, "".join(said)
    # Below 0.5 s on an idle machine, with the imports of the first that plays an episode.
    assert time.process_time() - began < 5


def test_every_name_of_graspline_has_an_example() -> None:
    without = [name for name in NAMES if ">>>" not in documentation_of("graspline", name)]
    assert not without


def programs() -> Iterator[tuple[str, str]]:
    """Python of examples, templates, pages and notebooks, by where it is."""
    templates = (ROOT / "src" / "graspline" / "templates").rglob("*.py.template")
    for path in sorted([*(ROOT / "examples").rglob("*.py"), *templates]):
        yield path.relative_to(ROOT).as_posix(), path.read_text().replace("$", "")
    pages = [path for folder in ("docs", "examples") for path in sorted((ROOT / folder).rglob("*.md"))]
    for path in [ROOT / "README.md", *pages]:
        for block in re.findall(r"^```(?:python|py)\n(.*?)^```", path.read_text(), re.DOTALL | re.MULTILINE):
            yield path.relative_to(ROOT).as_posix(), block
    for path in sorted((ROOT / "docs").rglob("*.ipynb")):
        for cell in json.loads(path.read_text())["cells"]:
            if cell["cell_type"] == "code":
                yield path.relative_to(ROOT).as_posix(), "".join(cell["source"])


def private_uses(program: str) -> Iterator[str]:
    """Modules and names of graspline that a program imports or reads and that are not public."""
    for node in ast.walk(ast.parse(program)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "graspline":
            if node.module == "graspline":
                yield from (f"graspline.{each.name}" for each in node.names if each.name not in graspline.__all__)
            else:
                yield node.module
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name.startswith("graspline."))
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            public = {"graspline": graspline.__all__, "stages": stages.__all__, "faults": faults.__all__}
            if node.attr not in public.get(node.value.id, (node.attr,)):
                yield f"{node.value.id}.{node.attr}"


def test_a_private_use_is_found() -> None:
    assert list(private_uses("from graspline import Task, TaskEnv")) == ["graspline.TaskEnv"]
    assert list(private_uses("from graspline.episodes.run import run_scenarios")) == ["graspline.episodes.run"]
    assert list(private_uses("import graspline.episodes")) == ["graspline.episodes"]
    assert list(private_uses("stages.look_around")) == ["stages.look_around"]
    assert list(private_uses("import graspline\ngraspline.load(stages.PICK)")) == []


def test_examples_and_pages_use_public_names_only() -> None:
    found = {(where, use) for where, program in programs() for use in private_uses(program)}
    assert found - set(PRIVATE_USES) == set()
    assert set(PRIVATE_USES) - found == set(), "no longer needed"
