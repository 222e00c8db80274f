"""Where outcomes lead."""

from __future__ import annotations

from dataclasses import dataclass

# Names every state may take without being given them: the last reply and the robot.
ALWAYS = ("last", "robot")


@dataclass(frozen=True, slots=True)
class End:
    """The machine ends with this outcome, after playing one more state if `after` names it, however that state ends.

    >>> from graspline import End
    >>> End("unreachable", after="return_home")
    End(outcome='unreachable', after='return_home')
    """

    outcome: str
    after: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """Go back to the state `to` while the budget lasts, each time one less; then go to `otherwise`.

    >>> from graspline import End, Retry
    >>> Retry(to="look", budget="grasps", otherwise=End("dropped")).otherwise.outcome
    'dropped'
    """

    to: str
    budget: str
    otherwise: str | End
    # Whether nothing went wrong: the next round of a loop that the budget bounds, which is not counted as a retry.
    is_round: bool = False


Transition = str | End | Retry


def states_of(target: str | End) -> str | None:
    """The state a target leads to, if it leads to one: also an end that goes through a state."""
    return target.after if isinstance(target, End) else target


def targets_of(transition: Transition) -> tuple[str | End, ...]:
    """Everywhere a transition may lead."""
    if isinstance(transition, Retry):
        return transition.to, transition.otherwise
    return (transition,)
