"""Objects of a user's own shape: a mesh file, named by parameters and known by its content."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from pydantic import Field, ValidationInfo, model_validator

from graspline.errors import InputError
from graspline.parameters import Parameters
from graspline.scenes.meshes.checks import volume_m3
from graspline.scenes.meshes.parts import is_whole_hull
from graspline.scenes.meshes.solid import Solid
from graspline.scenes.meshes.store import content_of, known_solid, solid_of

_LOG = logging.getLogger(__name__)

# What plastic weighs.
_DENSITY_KG_M3 = 900.0
_HEAVIEST_KG = 2.0
_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")
# Files whose convex hull was taken, of which a user has been warned.
_WARNED: set[str] = set()


class MeshObject(Parameters):
    """An object whose shape is a mesh file; the file's name alone will do where everything else is as usual."""

    file: str = Field(
        default="",
        description="OBJ or STL file with the closed surface of one solid, beside the configuration file or in the "
        "working directory",
    )
    name: str = Field(default="", description="name of the object; empty: that of the file")
    scale: float = Field(default=1.0, gt=0, le=1000, description="length of a unit of the file in metres: 0.001 for mm")
    mass_kg: float = Field(default=0.0, ge=0, le=_HEAVIEST_KG, description="mass; 0: by density")
    density_kg_m3: float = Field(default=_DENSITY_KG_M3, gt=0, le=25000, description="density where no mass is given")
    colour: tuple[float, float, float] = Field(
        default=(0.55, 0.62, 0.72), description="red, green and blue of the object, 0 to 1"
    )
    content: str = Field(default="", description="hash of the file's content; filled in, and checked where it is given")
    parts: str = Field(default="", description="hash of surface and parts; filled in, and checked where it is given")

    @model_validator(mode="before")
    @classmethod
    def _found(cls, given: Any, info: ValidationInfo) -> Any:
        """A file's name for a section, and the file where it is."""
        values = {"file": given} if isinstance(given, str) else given
        if not isinstance(values, Mapping) or not isinstance(values.get("file"), str):
            return values
        folder = (info.context or {}).get("folder", "")
        beside = Path(folder) / values["file"]
        return {**values, "file": str(beside)} if folder and beside.is_file() else dict(values)

    @model_validator(mode="after")
    def _known(self) -> Self:
        if not self.file:
            raise ValueError("file is required; expected the path of an OBJ or STL file")
        if not all(0 <= each <= 1 for each in self.colour):
            raise ValueError(f"colour {self.colour} is not red, green and blue from 0 to 1")
        name = self.name or Path(self.file).stem
        if not _NAME.fullmatch(name):
            raise ValueError(f"name {name!r} is not 1 to 40 letters, digits, _ and -; set name")
        try:
            solid = self.solid
        except InputError as error:
            raise ValueError("; ".join(error.problems)) from None
        if self.parts and self.parts != solid.key:
            raise ValueError(
                f"{self.file}: its convex parts are other ones here than when this was recorded "
                f"(content {self.content[:12]}); install the same version of coacd and mujoco, with pip install "
                "'graspline[mesh]'"
            )
        if solid.volume_m3 * self.density_kg_m3 > _HEAVIEST_KG and not self.mass_kg:
            weighs = solid.volume_m3 * self.density_kg_m3
            raise ValueError(
                f"{self.file}: {weighs:.3g} kg at this density_kg_m3; expected at most {_HEAVIEST_KG:g} kg"
            )
        self._warn(solid)
        # What it stands for is filled in, so that a saved scenario says it.
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "content", self.content or content_of(self.file))
        object.__setattr__(self, "parts", solid.key)
        return self

    @property
    def solid(self) -> Solid:
        """The shape; of a saved scenario also where the file is gone, as long as this machine knows its content."""
        if not self.content:
            return solid_of(self.file, self.scale)
        known = known_solid(self.content, Path(self.file).suffix.lower(), self.scale)
        if known is not None:
            return known
        found = content_of(self.file)
        if found != self.content:
            raise InputError(
                f"{self.file}: changed since this was recorded: its content is {found[:12]}, expected "
                f"{self.content[:12]}; put the file of that time back, or start anew"
            )
        return solid_of(self.file, self.scale)

    @property
    def weight_kg(self) -> float:
        """The mass, given or by volume and density."""
        return self.mass_kg or self.solid.volume_m3 * self.density_kg_m3

    def _warn(self, solid: Solid) -> None:
        hollow_m3 = sum(volume_m3(each) for each in solid.parts) - solid.volume_m3
        if is_whole_hull() and hollow_m3 > 0.05 * solid.volume_m3 and solid.key not in _WARNED:
            _WARNED.add(solid.key)
            _LOG.warning(
                "%s is taken as its convex hull, hollows filled: for convex parts pip install 'graspline[mesh]'",
                self.file,
            )
