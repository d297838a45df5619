"""After the last step, before the test split: which skill is the best, and what it scores, by fresh measurement.

The score that made a skill the best is the highest of many draws, so it flatters. Passes that chose nothing do not.
The seed skill is measured beside it in as many, so that the gain is a difference of two fresh means.
Everything here is on the selection split; the test split is for what was chosen, once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from skillopt.concurrency import map_ordered
from skillopt.config.evaluation_settings import EvaluationSettings
from skillopt.context import StageContext
from skillopt.evaluation.scores import gate_score
from skillopt.events import StageStarted, Warned
from skillopt.state import Final, Measured, State
from skillopt.step.passes import latest_of, measure_passes
from skillopt.types import Place, Rollout


async def choose_and_measure(run: StageContext, state: State) -> State:
    """Return the state with the best skill chosen anew, and measured again, as far as the settings ask for it.

    A seed that nothing has beaten won nothing by luck: it is not measured again.

    Raises:
        MeasurementError: If a selection task could not be measured.
    """
    evaluation = run.config.evaluation
    field = finalists(state, evaluation.reselect, evaluation)
    fresh: list[tuple[Rollout, ...]] = []
    free = max(finalist.next_repeat for finalist in field)
    if len(field) > 1:
        passes = range(free, free + evaluation.repeats)
        _start(run, state, len(field) * len(passes))
        for number, finalist in enumerate(field):
            fresh.append(await measure_passes(run, finalist.skill, passes, _place(state, number)))
        free = passes.stop
    chosen = field[best_of([gate_score(rollouts, evaluation) for rollouts in fresh])]
    again: tuple[Rollout, ...] = ()
    seed_again: tuple[Rollout, ...] = ()
    if evaluation.final_repeats and chosen.skill.digest != state.seed.skill.digest:
        free = max(free, state.seed.next_repeat)
        passes = range(free, free + evaluation.final_repeats)
        _start(run, state, 2 * len(passes))
        both = [(chosen.skill, _place(state, len(field))), (state.seed.skill, _place(state, len(field) + 1))]
        again, seed_again = await map_ordered(lambda one: measure_passes(run, one[0], passes, one[1]), both, limit=2)
        _warn_of_luck(run, gate_score(again, evaluation), gate_score(seed_again, evaluation))
    if not fresh and not again:
        return state
    return replace(state, best=chosen, final=Final(field if fresh else (), tuple(fresh), again, seed_again))


def finalists(state: State, most: int, evaluation: EvaluationSettings) -> tuple[Measured, ...]:
    """Return the skills among which the best is chosen: the best by the gate, then the others by their scores.

    Args:
        state: Where training ended.
        most: Most finalists; with 0 or 1 it is the best skill alone.
        evaluation: What the gate compares.

    Returns:
        Each skill that was measured in full once, the seed among them; of equal scores the earlier one comes first.
    """
    best = state.best.skill.digest

    def place(measured: Measured) -> tuple[bool, Fraction, int]:
        return (measured.skill.digest != best, -gate_score(measured.rollouts, evaluation), measured.step)

    return tuple(sorted(latest_of((state.best, state.seed, *state.tried)), key=place)[: max(1, most)])


def best_of(scores: Sequence[Fraction]) -> int:
    """Return the place of the highest score; of equal ones the first, and 0 where there are none."""
    return max(range(len(scores)), key=lambda number: (scores[number], -number), default=0)


def _start(run: StageContext, state: State, passes: int) -> None:
    run.emit(StageStarted("final", state.epoch, state.step, passes * len(run.selection)))


def _place(state: State, number: int) -> Place:
    return Place("final", state.epoch, state.step, number)


def _warn_of_luck(run: StageContext, fresh: Fraction, seed: Fraction) -> None:
    if fresh <= seed:
        shown = f"{100 * float(fresh):.1f} %, not above the seed's {100 * float(seed):.1f} %"
        run.emit(Warned(f"measured again, the best skill scores {shown}: what it gained may have been luck"))
