"""Parameters as frozen models: read from YAML and `--set`, refused in words, printed back as YAML."""

from graspline.parameters.assignments import parse_assignment
from graspline.parameters.building import build
from graspline.parameters.describing import describe
from graspline.parameters.documents import Document, load_yaml, parse_yaml
from graspline.parameters.model import Parameters
from graspline.parameters.notation import KeyPath, Value
from graspline.parameters.ranges import Range
from graspline.parameters.records import dump, load

__all__ = [
    "Document",
    "KeyPath",
    "Parameters",
    "Range",
    "Value",
    "build",
    "describe",
    "dump",
    "load",
    "load_yaml",
    "parse_assignment",
    "parse_yaml",
]
