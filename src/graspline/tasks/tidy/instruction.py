"""What a person would say to have `tidy` do what its parameters ask for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from graspline.perception.core.beliefs import UNKNOWN
from graspline.tasks.task import Draw, Instruction
from graspline.tasks.tidy.parameters import Tidy


def instruction(parameters: Tidy, sampled: Draw, outcomes: Mapping[str, str]) -> Instruction:
    """The program, the object if one is named, and where it goes; a person's answers count more than the parameters."""
    program = outcomes.get("ask_program", parameters.program)
    wanted = parameters.object_to_grasp
    what = _the(wanted) if wanted else "the closest object"
    asked_for = (wanted,) if wanted else ()
    alone = parameters.alone.object
    match program:
        case "single_grasp":
            then = outcomes.get("single_grasp.ask_then", parameters.then)
            where = "hand it over" if then == "handover" else "put it on the shelf"
            return Instruction(sentence=f"Take {what} off the table and {where}.", objects=asked_for)
        case "clear_table":
            return Instruction(sentence=_clear(parameters.rules.shelf))
        case "robot_setup":
            return Instruction(sentence="Stand in front of the table and look at it.")
        case "find_grasp":
            return Instruction(sentence=f"Find out how to grasp {what}.")
        case "execute_grasp":
            return Instruction(sentence=f"Take {what} off the table.", objects=asked_for)
        case "placement":
            return Instruction(sentence=f"Put {_the(alone)} in your hand on the shelf.", objects=(alone,))
        case _:
            return Instruction(sentence=f"Hand over {_the(alone)} in your hand.", objects=(alone,))


def _clear(shelf: Sequence[str]) -> str:
    if not shelf:
        return "Clear the table: hand everything over."
    *most, last = ("unknown objects" if name == UNKNOWN else _the(name) for name in shelf)
    names = f"{', '.join(most)} and {last}" if most else last
    return f"Clear the table: put {names} on the shelf and hand over the rest."


def _the(name: str) -> str:
    return f"the {name.replace('_', ' ')}"
