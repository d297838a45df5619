"""What passes of the seed skill say of a configuration's selection split, and what would make it say more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from skillopt.errors import MeasurementError
from skillopt.evaluation.noise import Forecast, Noise, accepted_with_confidence, forecast, noise_of
from skillopt.evaluation.scores import gate_value
from skillopt.models.prices import Prices
from skillopt.run.setup import Setup
from skillopt.types import Rollout

_PASSES = (1, 2, 4, 8)
_TIMES_THE_TASKS = (2, 4)


@dataclass(frozen=True, slots=True)
class NoiseReport:
    """The noise of a selection split and what could be done about it.

    Attributes:
        noise: What the passes say.
        unmeasured: Tasks that are left out, since not every pass measured them.
        forecasts: With the configured tasks and passes first; then with more passes, then with more tasks.
        with_confidence: Highest chance that an edit that changes nothing passes `evaluation.confidence`, as configured;
            None where no confidence is asked for.
        dollars: Price of one rollout of the seed skill, on average; None where it is not known.
    """

    noise: Noise
    unmeasured: int
    forecasts: tuple[Forecast, ...]
    with_confidence: float | None
    dollars: float | None

    def price(self, forecast: Forecast) -> float | None:
        """Return the price of one candidate that is measured in full, in dollars; None where it is not known."""
        return None if self.dollars is None else self.dollars * forecast.rollouts


def noise_report(setup: Setup, passes: Sequence[Sequence[Rollout]]) -> NoiseReport:
    """Return what passes of the seed skill say.

    Args:
        setup: What the passes were made with.
        passes: At least two, each with one rollout a selection task, in the order of the split.

    Raises:
        MeasurementError: If no task was measured in every pass.
    """
    evaluation = setup.config.evaluation
    scores = [
        [gate_value(one.score, evaluation.compared, weight=evaluation.gate_mixed_weight) for one in row if one.score]
        for row in zip(*passes, strict=True)
    ]
    whole = [row for row in scores if len(row) == len(passes)]
    if not whole:
        reasons = [str(one.failure.message) for one in passes[0] if one.failure is not None]
        raise MeasurementError(
            f"no task was measured in all {len(passes)} passes" + (f" ({reasons[0]})" if reasons else ""),
            hint="Mend the cause and run the same command again: what was measured is kept.",
        )
    noise, tasks, repeats = noise_of(whole), len(scores), evaluation.repeats
    shapes = [(tasks, repeats), *((tasks, times) for times in _PASSES if times > repeats)]
    shapes += [(times * tasks, repeats) for times in _TIMES_THE_TASKS]
    confidence = evaluation.confidence
    return NoiseReport(
        noise=noise,
        unmeasured=len(scores) - len(whole),
        forecasts=tuple(forecast(noise, tasks=count, repeats=times) for count, times in shapes),
        with_confidence=None
        if confidence is None
        else accepted_with_confidence(noise, tasks=tasks, repeats=repeats, confidence=confidence),
        dollars=_mean_price(setup, passes),
    )


def _mean_price(setup: Setup, passes: Sequence[Sequence[Rollout]]) -> float | None:
    prices = Prices(setup.config.model, on=datetime.now(UTC).date())
    usages = [one.trajectory.usage for rollouts in passes for one in rollouts if one.trajectory is not None]
    dollars = [prices.dollars("target", usage) for usage in usages]
    known = [price for price in dollars if price is not None]
    return sum(known) / len(known) if known and len(known) == len(dollars) else None
