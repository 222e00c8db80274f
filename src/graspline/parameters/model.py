"""The base of every room's parameters."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationInfo, field_validator

from graspline.errors import WiringError
from graspline.parameters.allowed import allowed_by


class Parameters(BaseModel):
    """Frozen, checked values with the unit in each name; sections are fields that are Parameters themselves.

    A number is a finite number: text, true and nan are refused, a whole number is taken as a float. A section
    given in part keeps the rest of its field's default: `approach: Move = Move(speed_m_s=0.05)` stays slow
    where a file sets only its height.

    >>> from pydantic import Field
    >>> from graspline import Parameters, Range
    >>> class Cubes(Parameters):
    ...     edge_m: Range = Field(default=Range(0.02, 0.03), ge=0.01, le=0.05, description="edge of each cube")
    >>> class Mine(Parameters):
    ...     cubes: Cubes = Cubes()
    ...     count: int = Field(default=2, ge=1, le=5, description="number of cubes")
    >>> Mine.model_validate({"cubes": {"edge_m": [0.025, 0.03]}}).cubes.edge_m
    Range(low=0.025, high=0.03)
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False, validate_default=True)

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        # With a forward reference open the types are not known yet; a wrong one then shows on first use.
        if not cls.__pydantic_complete__:
            return
        for name, field in cls.model_fields.items():
            allowed = allowed_by(f"{cls.__name__}.{name}", field)
            sections = [each.section for each in (allowed, *allowed.items) if each.section is not None]
            if section := next((each for each in sections if not issubclass(each, Parameters)), None):
                raise WiringError(f"{cls.__name__}.{name}: section {section.__name__} is not a Parameters")
            if field.alias or field.validation_alias:
                raise WiringError(f"{cls.__name__}.{name}: has an alias; a key has one name")

    @field_validator("*", mode="before")
    @classmethod
    def _as_declared(cls, value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, list):  # YAML and JSON know no tuples
            return tuple(value)
        if isinstance(value, dict) and info.field_name is not None:
            field = cls.model_fields[info.field_name]
            # A factory that looks at other fields must not run while one of them may be wrong.
            independent = not field.default_factory_takes_validated_data
            return _over(field.get_default(call_default_factory=independent), value)
        return value


def _over(default: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The given keys of a section over those of its default."""
    if not isinstance(default, Parameters):
        return given
    merged = {name: getattr(default, name) for name in type(default).model_fields}
    for name, value in given.items():
        merged[name] = _over(merged.get(name), value) if isinstance(value, dict) else value
    return merged
