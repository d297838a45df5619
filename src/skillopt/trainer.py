"""The training loop: rollout, reflect, aggregate, select, update, gate; between epochs slow update, meta skill."""

from __future__ import annotations

from skillopt.concurrency import map_ordered
from skillopt.epoch.meta_skill import meta_skill
from skillopt.epoch.slow_update import slow_update
from skillopt.events import StageStarted
from skillopt.results import Step
from skillopt.run.outcome import Outcome
from skillopt.run.run import Run
from skillopt.state import Measured, State
from skillopt.step.aggregate import aggregate
from skillopt.step.appendix import remind
from skillopt.step.budget import set_budget
from skillopt.step.final import choose_and_measure
from skillopt.step.gate import gate
from skillopt.step.passes import measure_passes
from skillopt.step.reflect import reflect
from skillopt.step.refresh import refresh
from skillopt.step.rollout import rollout
from skillopt.step.select import select
from skillopt.step.update import update
from skillopt.step.vet import vet
from skillopt.types import Place, Rollout, Task


async def train(run: Run) -> Outcome:
    """Train the run's seed skill and measure what came of it on held-out tasks."""
    state = await measure_baseline(run)
    for epoch in run.epochs():
        for _ in range(run.steps_per_epoch):
            if run.stop_reason(state):
                break
            state = state.next_step(epoch=epoch, budget=run.budget(state.step + 1))
            state, batch = await refresh(run, state), run.batch(state)
            rollouts = await rollout(run, state, batch)
            step = await propose(run, state, batch, rollouts)
            while state.draws_again(step, most=run.config.optimizer.redraw):
                state = state.redraw(step)
                step = await propose(run, state, batch, rollouts)
            state = run.commit(state, step)
        if run.stop_reason(state):
            break
        state = await slow_update(run, state, epoch)
        state = await meta_skill(run, state, epoch)
    return await measure_result(run, await choose_and_measure(run, state))


async def propose(run: Run, state: State, batch: tuple[Task, ...], rollouts: tuple[Rollout, ...]) -> Step:
    """Draw one candidate from a step's trajectories and put it before the gate."""
    patches = await reflect(run, state, rollouts)
    merged = await aggregate(run, state, patches)
    state, lr_decision = await set_budget(run, state, merged, rollouts)
    selected = await select(run, state, merged)
    candidate = await update(run, state, selected)
    candidate = await vet(run, state, candidate, rollouts)
    candidate = await remind(run, state, patches, candidate)
    decision = await gate(run, state, candidate)
    return Step(batch, rollouts, patches, merged, selected, candidate, decision, lr_decision=lr_decision)


async def measure_baseline(run: Run) -> State:
    """Measure the seed skill on the whole selection split: every later decision is a comparison with it.

    Raises:
        MeasurementError: If any selection task could not be measured.
    """
    repeats = run.config.evaluation.repeats
    run.emit(StageStarted("baseline", 0, 0, repeats * len(run.selection)))
    rollouts = await measure_passes(run, run.seed_skill, range(repeats), Place("baseline"))
    return run.begin(Measured(run.seed_skill, rollouts))


async def measure_result(run: Run, state: State) -> Outcome:
    """Measure the seed skill and the best skill on the test split, side by side; an unchanged skill once."""
    if not run.config.evaluation.eval_test:
        return run.finish(state, seed_test=(), best_test=())
    skills = list({skill.digest: skill for skill in (state.seed.skill, state.best.skill)}.values())
    run.emit(StageStarted("test", state.epoch, state.step, len(skills) * len(run.splits.test)))
    numbered = [(skill, Place("test", state.epoch, state.step, number)) for number, skill in enumerate(skills)]
    tests = await map_ordered(lambda one: run.measure_test(*one), numbered, limit=len(numbered))
    return run.finish(state, seed_test=tests[0], best_test=tests[-1])
