"""Parameters as plain data, to be saved with an episode."""

from __future__ import annotations

from typing import TypeVar

from pydantic import ValidationError

from graspline.errors import InputError
from graspline.parameters.model import Parameters
from graspline.parameters.notation import Value
from graspline.parameters.problems import Origins, explain

P = TypeVar("P", bound=Parameters)


def dump(parameters: Parameters) -> dict[str, Value]:
    """Every value as plain JSON data; `load` gives equal parameters."""
    return parameters.model_dump(mode="json", round_trip=True)


def load(model: type[P], record: object, name: str = "saved parameters") -> P:
    """The parameters of a record read back from a file; `name` is where messages say it came from."""
    try:
        return model.model_validate(record)
    except ValidationError as error:
        raise InputError(explain(error, model, Origins(root=name))) from None
