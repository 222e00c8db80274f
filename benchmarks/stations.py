"""How long the way of one orange is, from the command to the committed dataset: its stations and their modules.

    python benchmarks/stations.py                  # this checkout
    python benchmarks/stations.py ../other --list  # another one, every station in the order in which it is first passed

A run of `graspline generate oranges` with one orange is traced, its worker process too. A station is a function that a
module calls in another one and that goes on, by itself or by helpers of its own module, into a further module: what
only computes and returns is no station, nor is what is called while modules are imported, a lambda, or a method such as
`__init__`. The modules are those of the stations; `touched` counts every module that is called from another one.
"""

from __future__ import annotations

import argparse
import collections
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

_COMMAND = ("generate", "oranges", "--episodes", "1", "--workers", "1", "--set", "oranges.count=1")
_CALLS = "STATIONS_CALLS"
_ROOT = "/src/graspline/"

# A function: its module, such as `tasks/oranges/job`, and its qualified name.
Function = tuple[str, str]


def trace(folder: str) -> None:
    """Write every call between two functions of the package once, in the order in which they are first made."""
    known: dict[CodeType, Function | None] = {}
    seen = set[tuple[Function, Function]]()
    calls = (Path(folder) / f"{os.getpid()}.txt").open("a", buffering=1)

    def function_of(code: CodeType) -> Function | None:
        if code not in known:
            _, found, inside = code.co_filename.rpartition(_ROOT)
            known[code] = (inside.removesuffix(".py"), code.co_qualname) if found else None
        return known[code]

    def note(frame: FrameType, event: str, argument: Any) -> None:
        called = function_of(frame.f_code) if event == "call" else None
        if called is None:
            return
        before, caller = frame.f_back, None
        while before is not None and caller is None:
            before, caller = before.f_back, function_of(before.f_code)
        pair = caller or ("", ""), called
        if pair not in seen:
            seen.add(pair)
            calls.write("\t".join((*pair[0], *pair[1])) + "\n")

    sys.setprofile(note)
    threading.setprofile(note)


def calls_of(checkout: Path) -> list[tuple[Function, Function]]:
    """Every pair of caller and called of one run, process by process."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # Every Python process imports this by itself: so the worker is traced, too.
        shutil.copy(__file__, folder / "sitecustomize.py")
        path = os.pathsep.join((str(checkout / "src"), name))
        environment = {**os.environ, "PYTHONPATH": path, _CALLS: name}
        command = [sys.executable, "-c", "from graspline.cli.main import entry; entry()", *_COMMAND]
        subprocess.run([*command, "--out", str(folder / "data")], env=environment, check=True, stdout=subprocess.PIPE)
        lines = [line for each in sorted(folder.glob("*.txt")) for line in each.read_text().splitlines()]
    rows = [line.split("\t") for line in lines]
    return [((row[0], row[1]), (row[2], row[3])) for row in rows]


def stations_of(calls: list[tuple[Function, Function]]) -> tuple[list[Function], set[str]]:
    """The stations in the order in which they are first passed, and every module that is touched."""
    onward = collections.defaultdict[Function, set[Function]](set)
    entered = dict[Function, None]()
    for caller, called in calls:
        if called[1] == "<module>":
            continue
        onward[caller].add(called)
        if caller[0] not in ("", called[0]) and caller[1] != "<module>" and _counts(called[1]):
            entered[called] = None
    return [each for each in entered if _goes_on(each, onward)], {module for module, _ in entered}


def _counts(name: str) -> bool:
    return not name.endswith(">") and "<lambda>" not in name and not name.rpartition(".")[2].startswith("__")


def _goes_on(function: Function, onward: dict[Function, set[Function]]) -> bool:
    """Whether it, or a helper of its module that it calls, calls into another module."""
    seen, left = {function}, [function]
    while left:
        for called in onward[left.pop()]:
            if called[0] != function[0]:
                return True
            if called not in seen:
                seen.add(called)
                left.append(called)
    return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", nargs="?", type=Path, default=Path(__file__).parents[1])
    parser.add_argument("--list", action="store_true", help="print every station")
    given = parser.parse_args()
    stations, touched = stations_of(calls_of(given.checkout.resolve()))
    if given.list:
        print(*(f"{module}.{name}" for module, name in stations), sep="\n")
    rooms = collections.Counter(module.partition("/")[0] for module, _ in stations)
    print(", ".join(f"{room} {count}" for room, count in rooms.most_common()))
    modules = {module for module, _ in stations}
    print(f"{len(stations)} stations in {len(modules)} modules of {len(rooms)} rooms; {len(touched)} modules touched")


if __name__ == "sitecustomize":
    if _CALLS in os.environ:
        trace(os.environ[_CALLS])
elif __name__ == "__main__":
    main()
