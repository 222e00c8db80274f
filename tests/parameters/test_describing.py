from __future__ import annotations

from hypothesis import given, settings

from graspline.parameters import Parameters, build, describe, parse_yaml

from .samples import Task, tasks

TASK = """\
# Lift one cube off the table.

scene:
  # The cube to be lifted.
  cube:
    edge_m: 0.03                 # Side of the cube (0.005 to 0.1, metres)
    mass_kg: 0.05                # above 0 and at most 1, kilograms
    colour: red                  # What the camera sees (red, green, blue)
    # Drawn anew for every episode (range [low, high], 0 to 3)
    friction: [0.5, 1.5]
    centre_m: [0.2, 0.0, 0.015]  # Where it lies (list of 3 numbers, metres)
    weights: []                  # list of numbers, at least 0

  # The same cube, heavier
  heavy:
    edge_m: 0.03                 # Side of the cube (0.005 to 0.1, metres)
    mass_kg: 0.5                 # above 0 and at most 1, kilograms
    colour: red                  # What the camera sees (red, green, blue)
    # Drawn anew for every episode (range [low, high], 0 to 3)
    friction: [0.5, 1.5]
    centre_m: [0.2, 0.0, 0.015]  # Where it lies (list of 3 numbers, metres)
    weights: []                  # list of numbers, at least 0

  # section of edge_m, mass_kg, colour, friction, centre_m, weights, or null
  spare: null
  labels: [cube]  # list of text

# How the arm moves.
motion:
  # Top speed of the tool on straight lines; the joints may ask for less, and
  # then the path is slowed until each of them keeps its limit (0.01 to 1,
  # metres per second)
  speed_m_s: 0.2
  slow_m_s: 0.05   # 0.01 to 1, metres per second
  timeout_s: null  # above 0, seconds, or null
  settle: true     # true or false

retries: 2  # whole number, 0 to 10
note: ""
"""


def test_a_description_shows_every_key_with_its_meaning_unit_and_limits() -> None:
    assert describe(Task()) == TASK


def test_a_description_of_nothing_is_an_empty_section() -> None:
    class Nothing(Parameters):
        pass

    class Around(Parameters):
        nothing: Nothing = Nothing()

    assert describe(Nothing()) == "{}\n"
    assert describe(Around()) == "nothing: {}\n"
    assert build(Around, parse_yaml(describe(Around()))) == Around()


@settings(deadline=None, max_examples=60)
@given(tasks)
def test_a_description_builds_the_same_parameters(task: Task) -> None:
    assert build(Task, parse_yaml(describe(task)), []) == task
