"""The world's no, as a value: which check failed, at which stage, and what was measured beside its limit."""

from __future__ import annotations

from dataclasses import dataclass

from graspline.evidence import Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why something is not done.

    >>> from graspline import at_most, stages
    >>> wide = at_most("width", 0.09, 0.07, "m")
    >>> print(stages.Refusal(check="jaw_width", stage="open", label="+x", evidence=(wide,)))
    +x: jaw_width at open: width 90 mm (limit <= 70 mm)
    """

    # What failed; and where a plan has several stages, at which of them.
    check: str
    stage: str = ""
    # Which of several candidates is refused: the label of a grasp, or of a posture.
    label: str = ""
    evidence: Evidence = ()

    @property
    def measured(self) -> str:
        """The evidence alone, in words."""
        return "; ".join(str(each) for each in self.evidence)

    def __str__(self) -> str:
        label = f"{self.label}: " if self.label else ""
        stage = f" at {self.stage}" if self.stage else ""
        return f"{label}{self.check}{stage}{': ' if self.evidence else ''}{self.measured}"
