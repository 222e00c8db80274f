"""Every fault by name, ours and those of other distributions, or by `module:NAME`; see `graspline.registry`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graspline.registry import Registry

if TYPE_CHECKING:
    from graspline.faults.kind import FaultKind

FAULTS: Registry[FaultKind] = Registry("graspline.faults", "fault", "graspline.faults.kind:FaultKind")
"""Every installed fault by name; those of other distributions are entry points of the group `graspline.faults`.

>>> from graspline import FAULTS
>>> FAULTS["shove"].description
'A person pushes the object sideways.'
"""
_OURS = "graspline"


def fault_names() -> tuple[str, ...]:
    """Names of all faults that are installed."""
    return tuple(FAULTS)


def own_fault_names() -> tuple[str, ...]:
    """Names of the faults that come with graspline itself, whatever else is installed."""
    return tuple(name for name in FAULTS if _OURS in FAULTS.distributions(name))


def fault_kinds() -> dict[str, FaultKind]:
    """All faults that are installed and can be imported, by name."""
    return FAULTS.usable()


def find_fault(named: str) -> FaultKind:
    """A fault by its name, or by the place `module:NAME` of one that is not installed under a name."""
    return FAULTS.find(named)
