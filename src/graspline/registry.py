"""Tasks, robots, faults and policies by name: ours, and those of every other distribution that is installed.

A distribution lists what it has in its pyproject.toml, as entry points of one of the groups below:

    [project.entry-points."graspline.tasks"]
    stack = "graspline_stack.task:STACK"

Wherever a name is taken, a place `module:NAME` is, too; modules are also looked for in the current folder. Nothing is
imported before it is looked up, and one broken distribution does not keep the others from being found.
"""

from __future__ import annotations

import ast
import functools
import importlib
import importlib.metadata
import importlib.util
import sys
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, TypeVar

from graspline.errors import EnvironmentProblem, GrasplineError, InputError, nearest

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a registered object is defined: enough to find it again in another process, or to say what to install."""

    name: str
    # As `module:NAME`.
    place: str
    # Empty for a module that belongs to no installed distribution.
    distribution: str = ""
    version: str = ""

    def __str__(self) -> str:
        owner = f" of {self.distribution} {self.version}" if self.distribution else ""
        return f"{self.place}{owner}"

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, plain: object) -> Origin:
        """Raises ValueError if it is none."""
        names = [each.name for each in fields(cls)]
        if not isinstance(plain, dict) or list(plain) != names or any(type(each) is not str for each in plain.values()):
            raise ValueError(f"origin is {plain!r}")
        return cls(**plain)


class Registry(MutableMapping[str, T], Generic[T]):
    """Objects of one kind by name. An object that is set here comes before one that is installed."""

    # How an object of one's own is given instead of a name.
    own = "MODULE:NAME"

    def __init__(self, group: str, noun: str, kind: str) -> None:
        """`group` names the entry points, `noun` an object in messages, `kind` its class, as `module:NAME`."""
        self.group, self.noun, self._kind = group, noun, kind
        self._set: dict[str, T] = {}
        self._loaded: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        if name in self._set:
            return self._set[name]
        if name not in self._origins:
            raise KeyError(name)
        return self.load(self.origin(name))

    def __setitem__(self, name: str, value: T) -> None:
        if name in self._origins and self.load(self.origin(name)) is value:
            # Back to what is installed.
            self._set.pop(name, None)
        else:
            self._set[name] = value

    def __delitem__(self, name: str) -> None:
        del self._set[name]

    # Without this, asking for a name would import what it names.
    def __contains__(self, name: object) -> bool:
        return name in self._set or name in self._origins

    def __iter__(self) -> Iterator[str]:
        return iter({**self._origins, **self._set})

    def __len__(self) -> int:
        return len({**self._origins, **self._set})

    @property
    def _origins(self) -> Mapping[str, tuple[Origin, ...]]:
        return _installed(self.group)

    def origin(self, name: str) -> Origin:
        """Where a name that is registered leads. Raises InputError if it leads to several places."""
        first, *others = self._origins[name]
        if others:
            places = "; ".join(f"{each.distribution} {each.version} has {each.place}" for each in (first, *others))
            raise InputError(
                f"{self.noun} {name!r} is registered more than once: {places}. Uninstall one of them, or give the "
                f"place instead of the name, such as {first.place}"
            )
        return first

    def distributions(self, name: str) -> tuple[str, ...]:
        """The installed distributions that register a name."""
        return tuple(dict.fromkeys(each.distribution for each in self._origins.get(name, ())))

    def usable(self) -> dict[str, T]:
        """Everything that can be imported; what another distribution broke is left out."""
        found = {}
        for name in self:
            with suppress(GrasplineError):
                found[name] = self[name]
        return found

    def broken(self) -> dict[str, str]:
        """The rest: why each name cannot be used."""
        found = {}
        for name in self:
            try:
                self[name]
            except GrasplineError as error:
                found[name] = str(error)
        return found

    def find(self, named: str) -> T:
        """What a name or a place `module:NAME` leads to. Raises InputError that says what was not found."""
        if ":" in named:
            return self._at(named)
        if named not in self:
            raise InputError(f"unknown {self.noun} {named!r}; {nearest(named, self)}; or pass your own as {self.own}")
        return self[named]

    def again(self, origin: Origin) -> T:
        """What was found before, perhaps in another process or on another machine.

        A registered name of the same distribution comes first, so that a distribution may move its modules; that others
        have this name, too, does not matter. Raises EnvironmentProblem that says what to install.
        """
        if origin.name in self._set:
            return self._set[origin.name]
        known = [each for each in self._origins.get(origin.name, ()) if each.distribution == origin.distribution]
        if known:
            return self.load(known[0] if len(known) == 1 else self.origin(origin.name))
        module = origin.place.partition(":")[0]
        if origin.place not in self._loaded and not (module and _exists(module)):
            raise EnvironmentProblem(_lacking(self.noun, origin))
        return self.load(origin)

    def origin_of(self, name: str, value: T, modules: tuple[str, ...]) -> Origin:
        """Where other processes find this object: by its name if it is registered, or in one of these modules.

        An object that is in none of them has no place.
        """
        if self._set.get(name) is not value:
            for each in self._origins.get(name, ()):
                if self._loaded.get(each.place) is value or _value_at(each.place) is value:
                    return each
        for module in modules:
            imported = sys.modules.get(module)
            for attribute, each in vars(imported).items() if imported else ():
                if each is value:
                    return _origin_at(name, f"{module}:{attribute}")
        return Origin(name, "")

    def named(self, origin: Origin) -> str:
        """What to write on a command line: its name, or its place if the name would not lead there."""
        known = self._origins.get(origin.name, ())
        found = len(known) == 1 and known[0].distribution == origin.distribution
        return origin.name if found or not origin.place else origin.place

    def load(self, origin: Origin) -> T:
        """Import it. Raises InputError, or EnvironmentProblem if a module that it imports is not installed."""
        if origin.place in self._loaded:
            return self._loaded[origin.place]
        module, _, attribute = origin.place.partition(":")
        try:
            found = importlib.import_module(module)
        except ModuleNotFoundError as error:
            raise EnvironmentProblem(f"{self.noun} {origin.name!r} ({origin}) cannot be imported: {error}") from error
        except Exception as error:
            what = " ".join(f"{type(error).__name__}: {error}".split())
            raise InputError(f"{self.noun} {origin.name!r} ({origin}) cannot be imported: {what}") from error
        value = self._checked(origin, found, attribute)
        self._loaded[origin.place] = value
        return value

    def literals(self, name: str) -> dict[str, str]:
        """Strings that the source gives the object, as `Task(summary="…")` does, without importing it.

        A list of names with their summaries imports nothing by this. Empty where the source does not show them.
        """
        return {} if name in self._set else _literals(self.origin(name).place)

    def _at(self, place: str) -> T:
        module, _, attribute = place.partition(":")
        if not module or not attribute:
            raise InputError(f"{self.noun} {place!r}: expected a name or MODULE:NAME, such as my_lab.{self.noun}s:NAME")
        if place not in self._loaded and not _exists(module):
            raise InputError(
                f"{self.noun} {place!r}: there is no module {module!r}, neither installed nor in the current folder"
            )
        return self.load(_origin_at(place, place))

    def _checked(self, origin: Origin, module: ModuleType, attribute: str) -> T:
        kind = _value_at(self._kind, load=True)
        value: Any = getattr(module, attribute, None)
        if not isinstance(value, kind):
            there = [name for name, each in vars(module).items() if isinstance(each, kind)]
            what = (
                f"is no {kind.__name__}, its type is {type(value).__name__}"
                if hasattr(module, attribute)
                else "is missing"
            )
            others = f"; in {module.__name__}, {nearest(attribute, there)}" if there else ""
            raise InputError(f"{self.noun} {origin.name!r} ({origin}): {attribute} {what}{others}")
        name = getattr(value, "name", origin.name)
        if origin.name not in (name, origin.place):
            raise InputError(f"{self.noun} {origin.name!r} ({origin}) calls itself {name!r}; the two must be the same")
        return value


def installed_names(group: str) -> tuple[str, ...]:
    """Every name of a group that is installed."""
    return tuple(_installed(group))


def refresh() -> None:
    """Look again for what is installed, such as after a `pip install` in a notebook."""
    importlib.invalidate_caches()
    _installed.cache_clear()


@functools.cache
def _installed(group: str) -> dict[str, tuple[Origin, ...]]:
    """Every name of a group, ours first; a name that several distributions have leads to several places."""
    found: dict[str, list[Origin]] = {}
    for each in importlib.metadata.entry_points(group=group):
        name = each.dist.name if each.dist else ""
        origin = Origin(each.name, each.value, name, each.dist.version if each.dist else "")
        if origin not in found.setdefault(each.name, []):
            found[each.name].append(origin)
    ours = sorted(found.items(), key=lambda item: item[1][0].distribution != "graspline")
    return {name: tuple(origins) for name, origins in ours}


def _exists(module: str) -> bool:
    """Whether a module can be found. The current folder is searched from now on, too, and so it is by workers."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
        importlib.invalidate_caches()
    if module in sys.modules:
        return True
    try:
        return importlib.util.find_spec(module) is not None
    except (ModuleNotFoundError, ValueError):
        return False
    except Exception:
        # A package above it cannot be imported: it is there, and importing it says what is wrong.
        return True


def _value_at(place: str, *, load: bool = False) -> Any:
    """What is at a place, if its module is imported already or is to be."""
    module, _, attribute = place.partition(":")
    found = importlib.import_module(module) if load else sys.modules.get(module)
    return getattr(found, attribute, None)


@functools.cache
def _origin_at(name: str, place: str) -> Origin:
    package = place.partition(":")[0].partition(".")[0]
    for each in importlib.metadata.packages_distributions().get(package, ()):
        return Origin(name, place, each, importlib.metadata.version(each))
    return Origin(name, place)


def _lacking(noun: str, origin: Origin) -> str:
    message = f"{noun} {origin.name!r} is not installed here"
    if not origin.place:
        return f"{message}, and nothing says where it was defined"
    if origin.distribution:
        return f"{message}: it is {origin}; pip install {origin.distribution}"
    return f"{message}: it is {origin.place}; start in the folder that has this module, or add the folder to PYTHONPATH"


def _literals(place: str) -> dict[str, str]:
    module, _, attribute = place.partition(":")
    try:
        spec = importlib.util.find_spec(module)
        source = Path(str(spec.origin)).read_text(encoding="utf-8") if spec else ""
        body = ast.parse(source).body
    except Exception:
        # It says what is wrong when it is imported.
        return {}
    for each in body:
        names = [target.id for target in getattr(each, "targets", ()) if isinstance(target, ast.Name)]
        if isinstance(each, ast.Assign) and attribute in names and isinstance(each.value, ast.Call):
            given = {keyword.arg: keyword.value for keyword in each.value.keywords}
            return {
                str(name): value.value
                for name, value in given.items()
                if isinstance(value, ast.Constant) and isinstance(value.value, str)
            }
    return {}
