# MuJoCo ships no stubs and its enums and structs are made at import; everything in it is Any to the type checker.
from typing import Any

def __getattr__(name: str) -> Any: ...
