"""The run: models, evidence, events and spending behind the small protocol that the stages see.

A run is a pure function of its configuration, its data and the replies it got. So there is no resume code here: every
start plays the loop from the beginning, and recorded evidence answers at once. What stands in the run directory
besides the evidence is a view, written anew as the loop passes.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from skillopt.config.schema import Config
from skillopt.data.splits import epoch_batches, steps_per_epoch
from skillopt.digests import generator
from skillopt.environments.base import Environment, EnvironmentSettings
from skillopt.errors import SkillOptError
from skillopt.evaluation.scores import mean_gate_score
from skillopt.events import EpochStageCommitted, Event, RunEnded, StageProgress, StageStarted, StepCommitted, Warned
from skillopt.models.base import ReplySchema
from skillopt.models.journal import JournaledModel
from skillopt.models.structured import Answer, ReplyT
from skillopt.run.accounts import Accounts
from skillopt.run.asking import Asker
from skillopt.run.epoch_records import meta_skill_record, slow_update_record, with_epoch_stage
from skillopt.run.event_log import EventLog
from skillopt.run.evidence import EvidenceStore
from skillopt.run.history import Record, baseline_record, step_record
from skillopt.run.measuring import open_evaluator
from skillopt.run.models import Models
from skillopt.run.outcome import EndState, Outcome, baseline_warning, end_state
from skillopt.run.setup import Setup
from skillopt.run.stage_clock import StageClock
from skillopt.run.summary import run_card, summary
from skillopt.run.views import Views
from skillopt.skill.document import Skill
from skillopt.state import Measured, MetaSkill, SlowUpdate, State, Step
from skillopt.types import Decision, Message, Place, Rollout, Task


class Run:
    """One run, as the trainer and the stages see it (`context.StageContext`).

    Args:
        setup: Settings, tasks, environment and seed skill.
        directory: The run directory.
        models: Both models.
        evidence: What was recorded.
        events: The event log.
        accounts: What was used and paid.
    """

    def __init__(
        self,
        setup: Setup,
        *,
        directory: Path,
        models: Models,
        evidence: EvidenceStore,
        events: EventLog,
        accounts: Accounts,
    ) -> None:
        self.directory = directory
        self.splits = setup.splits
        self.seed_skill = setup.seed_skill
        self._config = setup.config
        self._environment = setup.environment
        self._card = run_card(setup, models)
        self._evidence = evidence
        self._events = events
        self._accounts = accounts
        optimizer = JournaledModel(models.optimizer, evidence, role="optimizer", on_reply=accounts.use_reply)
        self._asker = Asker(optimizer, evidence, self.count)
        self._evaluator = open_evaluator(setup, models, evidence, observer=self._observe, part_of_a_run=True)
        self._views = Views(directory)
        self._decisions: list[Decision] = []
        self._counters: Counter[str] = Counter()
        self._clock = StageClock()
        self._done = self._total = 0
        self._state: State | None = None

    @property
    def config(self) -> Config:
        """The run's settings."""
        return self._config

    @property
    def environment(self) -> Environment[EnvironmentSettings]:
        """What the tasks are."""
        return self._environment

    @property
    def selection(self) -> tuple[Task, ...]:
        """The selection split, in its order."""
        return self.splits.val

    @property
    def training(self) -> tuple[Task, ...]:
        """The training split, in its order."""
        return self.splits.train

    async def ask(
        self,
        messages: Sequence[Message],
        place: Place,
        schema: type[ReplyT],
        *,
        reply_schema: ReplySchema | None = None,
        may_fall_back: bool = False,
    ) -> Answer[ReplyT]:
        """Ask the optimizer for a structured reply; what had to be repaired, asked again or dropped is counted."""
        return await self._asker.ask(messages, place, schema, reply_schema=reply_schema, may_fall_back=may_fall_back)

    async def measure(
        self, skill: Skill, tasks: Sequence[Task], place: Place, *, most_unmeasured: int | None = None
    ) -> tuple[Rollout, ...]:
        """Roll out a skill on tasks, in the order of the tasks."""
        return await self._evaluator.measure(skill, tasks, place, most_unmeasured=most_unmeasured)

    def random(self, name: str, *place: int) -> random.Random:
        """Return the generator of one named random choice."""
        return generator(self._config.train.seed, name, *place)

    def count(self, name: str) -> None:
        """Add one to a named counter of the step's record."""
        self._counters[name] += 1

    def emit(self, event: Event) -> None:
        """Log an event and tell those who watch."""
        if isinstance(event, StageStarted):
            self._clock.start(event.stage)
            self._done, self._total = 0, event.total
        self._events.emit(event)
        if isinstance(event, StageProgress | StepCommitted | EpochStageCommitted):
            self._events.emit(self._accounts.spent())

    def epochs(self) -> range:
        """The epochs, from 1."""
        return range(1, self._config.train.num_epochs + 1)

    def batches(self, epoch: int) -> Iterator[tuple[Task, ...]]:
        """The batches of an epoch: one pass over the shuffled training split."""
        train = self._config.train
        yield from epoch_batches(self.splits.train, seed=train.seed, epoch=epoch, batch_size=train.batch_size)

    @property
    def steps_per_epoch(self) -> int:
        """Batches of one epoch."""
        return steps_per_epoch(len(self.splits.train), self._config.train.batch_size)

    @property
    def total_steps(self) -> int:
        """Steps over all epochs."""
        return self._config.train.num_epochs * self.steps_per_epoch

    def saturated(self, state: State) -> bool:
        """Whether no candidate can be strictly higher than the current skill any more."""
        return self._config.evaluation.use_gate and self._gate_score(state.current) == 1

    def begin(self, seed: Measured) -> State:
        """Commit step 0, the baseline, and return the state that training starts from."""
        self._state = State(seed=seed, current=seed, best=seed)
        record = baseline_record(self._config, seed, rows=self._accounts.used.rows(), timing=self._timing("step 0"))
        self._views.write_baseline(seed, record)
        self.emit(StepCommitted(record))
        warning = baseline_warning(self._gate_score(seed), seed.rollouts, target=self._config.model.target.name)
        if warning:
            self.warn(warning)
        return self._state

    def commit(self, before: State, step: Step) -> State:
        """Commit a step: decide what training goes on with, write the views, tell those who watch."""
        self._state = after = before.after(step)
        record = step_record(
            self._config,
            before,
            after,
            step,
            step_in_epoch=(after.step - 1) % self.steps_per_epoch,
            counters=self._counters,
            rows=self._accounts.used.rows(),
            timing=self._timing(f"step {after.step}"),
        )
        self._counters.clear()
        self._decisions += [drawn.decision for drawn in (*before.lost, step)]
        self._views.write_step(after, step, record)
        self.emit(StepCommitted(record))
        return after

    def commit_slow_update(self, before: State, result: SlowUpdate) -> State:
        """Commit a slow update: what training goes on with, and the views."""
        after = before.after_slow_update(result)
        self._decisions.append(result.decision)
        value = slow_update_record(self._config.evaluation, result, self._counters)
        self._views.write_slow_update_files(result, value)
        return self._commit_epoch_stage(after, "slow_update", value)

    def commit_meta_skill(self, before: State, result: MetaSkill) -> State:
        """Commit a meta skill: the optimizer's memory, and the views."""
        value = meta_skill_record(result, self._counters)
        self._views.write_meta_skill_files(result, value)
        return self._commit_epoch_stage(before.after_meta_skill(result), "meta_skill", value)

    def _commit_epoch_stage(self, after: State, stage: str, value: Record) -> State:
        """Write the record of the epoch's last step anew, with a stage that followed it."""
        self._state = after
        record = with_epoch_stage(
            self._views.records[-1],
            after,
            stage,
            value,
            evaluation=self._config.evaluation,
            rows=self._accounts.used.rows(),
            timing=self._timing(f"{stage} of epoch {after.epoch}"),
        )
        self._counters.clear()
        self._views.write_epoch_stage(after, record)
        self.emit(EpochStageCommitted(stage, after.epoch, record))
        return after

    def finish(self, state: State, *, seed_test: Sequence[Rollout], best_test: Sequence[Rollout]) -> Outcome:
        """Write the end of a training that ran in order."""
        self._views.write_tests(seed=seed_test, best=best_test)
        ended = end_state(
            self._decisions,
            improved=self._gate_score(state.best) > self._gate_score(state.seed),
            seed_is_perfect=self.saturated(replace(state, current=state.seed)),
        )
        return self._end(state, ended, ended.advice, seed_test=seed_test, best_test=best_test)

    def stop(self, ended: EndState, error: SkillOptError) -> Outcome | None:
        """Write the end of a training that stopped early; None where not even the baseline was measured."""
        if self._state is None:
            self.emit(RunEnded(ended.value, str(error), {}))
            return None
        return self._end(self._state, ended, str(error), seed_test=(), best_test=())

    def warn(self, message: str) -> None:
        """Tell a person something once."""
        self.emit(Warned(message))

    def _observe(self, place: Place, key: str, rollout: Rollout, *, recorded: bool) -> None:
        """Account for a rollout and show the progress of its stage."""
        self._accounts.use_rollout(place, key, rollout)
        self._done += 1
        outcome = "unmeasured" if rollout.score is None else ("solved" if rollout.score.hard else "failed")
        self.emit(
            StageProgress(
                place.stage,
                place.epoch,
                place.step,
                self._done,
                self._total,
                detail=rollout.task.id,
                outcome=outcome,
                recorded=recorded,
            )
        )

    def _gate_score(self, measured: Measured) -> Fraction:
        evaluation = self._config.evaluation
        return mean_gate_score(measured.rollouts, evaluation.gate_metric, weight=evaluation.gate_mixed_weight)

    def _timing(self, what: str) -> dict[str, float]:
        """Seconds by stage since the last commit, as they were when `what` was committed first."""
        timing, name = self._clock.stop(), f"timing of {what}"
        recorded = self._evidence.get_meta(name)
        if recorded is not None:
            return json.loads(recorded)
        self._evidence.put_meta(name, json.dumps(timing))
        return timing

    def _end(
        self,
        state: State,
        ended: EndState,
        message: str,
        *,
        seed_test: Sequence[Rollout],
        best_test: Sequence[Rollout],
    ) -> Outcome:
        value = summary(
            self._config,
            state,
            ended,
            message,
            card=self._card,
            records=self._views.records,
            rows=self._accounts.used.rows(),
            seed_test=seed_test,
            best_test=best_test,
        )
        self._views.write_summary(value)
        self.emit(RunEnded(ended.value, message, value))
        return Outcome(ended, message, self.directory, state.best.skill, value)
