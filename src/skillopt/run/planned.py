"""The plan of a training as values: what each stage will use, and what a person should know before it starts."""

from __future__ import annotations

from dataclasses import dataclass

from skillopt.types import Role, Usage

FEW_STEPS = 3
"""Fewer proposals than this give the gate hardly a chance."""


@dataclass(frozen=True, slots=True)
class PlannedStage:
    """Calls and tokens of one stage over the whole run, at least and at most.

    Attributes:
        role: Whose calls they are.
        stage: The method's word.
        calls: Lowest and highest number of calls.
        usage: Lowest and highest tokens.
        dollars: Lowest and highest price; None where it is not known.
    """

    role: Role
    stage: str
    calls: tuple[int, int]
    usage: tuple[Usage, Usage]
    dollars: tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a training.

    Attributes:
        steps: Steps over all epochs: so many proposals fit.
        tasks: Tasks by split.
        stages: In the order of the method.
        warnings: What a person should know before it starts.
        large: How much it may come to that nothing limits, in a sentence; "" where it is small or limited. One of the
            warnings.
    """

    steps: int
    tasks: dict[str, int]
    stages: tuple[PlannedStage, ...]
    warnings: tuple[str, ...]
    large: str = ""

    def calls(self, role: Role) -> tuple[int, int]:
        """Lowest and highest number of calls of a role."""
        own = [stage.calls for stage in self.stages if stage.role == role]
        return sum(low for low, _ in own), sum(high for _, high in own)
