"""`graspline new`: write a distribution or a robot's description of your own to start from."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Annotated

import typer

from graspline.choices import FIRST_TASK
from graspline.cli.outputs import make_folder, report_saved, write_whole
from graspline.errors import EnvironmentProblem, InputError
from graspline.parameters.notation import printable
from graspline.robots.guessing import description_text
from graspline.robots.mjcf import robot_from_file
from graspline.robots.model_reading import read_spec
from graspline.tasks.catalogue import TASK_NAME, TASKS

_LONGEST_NAME = 60
# Where each file of graspline/templates/task goes.
_TASK_FILES = {
    "pyproject.toml.template": "pyproject.toml",
    "README.md.template": "README.md",
    "init.py.template": "src/$module/__init__.py",
    "task.py.template": "src/$module/task.py",
    "test_task.py.template": "tests/test_$word.py",
}


def new_task(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="Name of the task: lower-case words joined by hyphens, such as stack-two."),
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder to write; it must not exist yet. Default: NAME."),
    ] = None,
) -> None:
    """Write a package with a working task to start from.

    In it, an SO-101 picks up a cube and puts it down at a random spot on the table. Turn it into your own task. Once
    the package is installed, every command takes the task by its name.

    \b
    Examples:
      graspline new task stack-two
      graspline new task stack-two --out ~/tasks/stack-two
    """
    _check_task_name(name)
    folder = Path(name) if out is None else out
    if os.path.lexists(folder):
        where = f"--out {printable(str(folder))}" if out is not None else f"NAME {name}"
        raise InputError(f"{where}: {printable(str(folder))} exists already; nothing was written, choose another --out")
    word = name.replace("-", "_")
    words = {"name": name, "word": word, "module": f"graspline_{word}", "distribution": f"graspline-{name}"}
    _write_whole(folder, {Template(to).substitute(words): _filled(source, words) for source, to in _TASK_FILES.items()})
    report_saved(folder)
    print("next:")
    for line in (f"pip install -e {shlex.quote(str(folder))}", f"graspline check {name}", f"graspline run {name}"):
        print(f"  {line}")


def new_robot(
    model: Annotated[Path, typer.Argument(metavar="FILE", help="MJCF or URDF of an arm with two fingers.")],
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of the description. Default: beside FILE.")
    ] = None,
) -> None:
    """Write a description of a robot to start from.

    A description says what the model does not: which joints are the arm's and which opens the hand, where the tool is,
    what grips, and where home is. What can be guessed is guessed, and says how; what remains is listed.

    \b
    Examples:
      graspline new robot my_arm.xml
      graspline new robot urdf/my_arm.urdf --out robots
    """
    spec, compiled, name = read_spec(model)
    word = re.sub(r"[^a-z0-9]+", "_", (spec.modelname or model.stem).lower()).strip("_")
    word = word if re.match(r"[a-z]", word) else f"robot_{word}".strip("_")
    folder = model.parent if out is None else out
    file = folder / f"{word}.yaml"
    if os.path.lexists(file):
        raise InputError(f"{printable(str(file))} exists already; nothing was written, choose another --out")
    place = os.path.relpath(model.resolve(), folder.resolve())
    try:
        text = description_text(compiled, word, Path(place).as_posix())
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    make_folder("--out", folder)
    write_whole(file, text)
    report_saved(file)
    try:
        robot_from_file(file)
    except InputError as error:
        print("still to be filled in, or corrected in the model:")
        for problem in error.problems:
            print(f"  {problem}")
    print("next: check every line that says guessed; then")
    for line in (
        f"graspline jaw {shlex.quote(str(file))}",
        f"graspline run {FIRST_TASK} --robot {shlex.quote(str(file))}",
    ):
        print(f"  {line}")


def _check_task_name(name: str) -> None:
    named = f"NAME {printable(name[:_LONGEST_NAME])}"
    if not TASK_NAME.fullmatch(name):
        raise InputError(f"{named}: expected lower-case words joined by hyphens, such as stack-two")
    if len(name) > _LONGEST_NAME:
        raise InputError(f"{named}…: {len(name)} characters are too many (allowed up to {_LONGEST_NAME})")
    if name in TASKS:
        owner = " and ".join(TASKS.distributions(name))
        raise InputError(f"{named}: an installed task has this name{f', of {owner}' if owner else ''}; choose another")


def _filled(source: str, words: dict[str, str]) -> str:
    text = files("graspline").joinpath("templates", "task", source).read_text(encoding="utf-8")
    return Template(text).substitute(words)


def _write_whole(folder: Path, texts: dict[str, str]) -> None:
    """Write every file beside the folder's name, and give it that name once all are there."""
    make_folder("--out", folder.parent)
    half = folder.with_name(f".{folder.name}.part")
    try:
        for name, text in texts.items():
            path = half / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        half.rename(folder)
    except OSError as error:
        raise EnvironmentProblem(f"--out {printable(str(folder))}: {error.strerror or error}") from None
    finally:
        shutil.rmtree(half, ignore_errors=True)
