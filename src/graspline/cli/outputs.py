"""Files that commands write: a bad name is refused before anything moves, and files appear whole."""

from __future__ import annotations

import json
import os
import re
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path

from graspline.errors import EnvironmentProblem, InputError, either
from graspline.parameters.notation import printable

# Columns of a narrow terminal.
WIDTH = 80
_BESIDE_UNIT = re.compile(r"(?<=\d) (?=(?:%|mm|mm/s|m|s|ms)\b|%)")


def check_name(option: str, path: Path, *suffixes: str) -> None:
    """Refuse a name that cannot be a file of this kind."""
    named = f"{option} {printable(str(path))}"
    if suffixes and path.suffix not in suffixes:
        raise InputError(f"{named}: expected a name that ends in {either(suffixes)}")
    if path.is_dir():
        raise InputError(f"{named}: is a directory, expected a file")


def make_folder(option: str, folder: Path) -> None:
    """The folder, made where it is missing; a problem of this machine if it cannot be written to."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        # Below a regular file mkdir says that the file exists, which is not the point.
        below_a_file = isinstance(error, FileExistsError | NotADirectoryError)
        reason = "a file is in the way" if below_a_file else error.strerror or error
        raise EnvironmentProblem(f"{option}: cannot make the folder {printable(str(folder))}: {reason}") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise EnvironmentProblem(f"{option}: cannot write to the folder {printable(str(folder))}")


def write_whole(path: Path, text: str) -> None:
    """Write a file beside its name and put it there when it is whole: readers see the old one or the new one."""
    half = path.with_name(f".{path.name}.part")
    try:
        half.write_text(text, encoding="utf-8")
        half.replace(path)
    finally:
        half.unlink(missing_ok=True)


def save_findings(folder: Path, name: str, findings: Mapping[str, object], page: str) -> None:
    """NAME.json and NAME.html in a folder, and lines that say so."""
    numbers, reading = folder / f"{name}.json", folder / f"{name}.html"
    write_whole(numbers, json.dumps(findings, indent=1, allow_nan=False) + "\n")
    write_whole(reading, page)
    report_saved(numbers, reading)


def wrapped(line: str, indent: int = 2) -> list[str]:
    """A line for people, as lines that fit a narrow terminal; a number stays beside its unit."""
    glued = _BESIDE_UNIT.sub("\N{NO-BREAK SPACE}", line)
    lines = textwrap.wrap(glued, WIDTH, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)
    return [each.replace("\N{NO-BREAK SPACE}", " ") for each in lines]


def report_saved(*paths: Path) -> None:
    """A line on standard error for every file that a command has written."""
    for path in paths:
        print(f"saved: {path}", file=sys.stderr, flush=True)
