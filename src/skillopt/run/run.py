"""The run: its schedule, and what becomes of everything the stages made.

A run is a pure function of its configuration, its data and the replies it got. So there is no resume code here: every
start plays the loop from the beginning, and recorded evidence answers at once. What stands in the run directory
besides the evidence is a view, written anew as the loop passes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from skillopt.data.sampling import unsolved_batch
from skillopt.data.splits import epoch_batches, steps_per_epoch
from skillopt.errors import SkillOptError
from skillopt.evaluation.scores import gate_score
from skillopt.events import EpochStageCommitted, RunEnded, StepCommitted
from skillopt.models.meter import Spending
from skillopt.rejections import Rejections
from skillopt.results import MetaSkill, SlowUpdate, Step
from skillopt.run.accounts import Accounts
from skillopt.run.edits_in_short import edits_in_short
from skillopt.run.epoch_records import meta_skill_record, slow_update_record, with_epoch_stage
from skillopt.run.event_log import EventLog
from skillopt.run.evidence import EvidenceStore
from skillopt.run.forking import fork_record, shared_by
from skillopt.run.history import Record, baseline_record, step_record
from skillopt.run.ledger import ledger
from skillopt.run.models import ROLES, Models
from skillopt.run.outcome import EndState, Outcome, baseline_warning, early_message, end_message, end_state, improved
from skillopt.run.schedule import scheduled_budget
from skillopt.run.services import RunServices
from skillopt.run.setup import Setup
from skillopt.run.stopping import saturated, stop_reason
from skillopt.run.summary import early_summary, run_card, summary
from skillopt.run.views import Views
from skillopt.skill.document import Skill
from skillopt.skill.size import estimate_tokens, size_warning
from skillopt.state import Measured, State
from skillopt.types import Decision, Role, Rollout, Task


class Run(RunServices):
    """One run as the trainer sees it: its schedule, and what becomes of everything the stages made.

    Args:
        setup: Settings, tasks, environment and seed skill.
        directory: The run directory.
        models: Both models.
        evidence: What was recorded.
        events: The event log.
        accounts: What was used and paid.

    Attributes:
        card: The run card.
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
        super().__init__(setup, models=models, evidence=evidence, events=events, accounts=accounts)
        self.directory = directory
        self.seed_skill = setup.seed_skill
        self.card = run_card(setup, models)
        self.shared = shared_by(evidence)
        self._evidence = evidence
        self._views = Views(directory)
        self._decisions: list[Decision] = []
        self._state: State | None = None
        # Of a seed skill that is large already, the run says so when it opens.
        self._warned_of_size = bool(self._size_warning(setup.seed_skill))

    def epochs(self) -> range:
        """The epochs, from 1."""
        return range(1, self._config.train.num_epochs + 1)

    def batch(self, state: State) -> tuple[Task, ...]:
        """What the step that a state begins reads, all its batches: a part of one pass, or unsolved tasks alone."""
        train = self._config.train
        if train.sampling == "unsolved":
            draw = self.random("sampling", state.epoch, state.step)
            return unsolved_batch(self.splits.train, state.last_seen, size=train.tasks_per_step, draw=draw)
        batches = epoch_batches(self.splits.train, seed=train.seed, epoch=state.epoch, batch_size=train.tasks_per_step)
        return batches[self._step_in_epoch(state)]

    def _step_in_epoch(self, state: State) -> int:
        return (state.step - 1) % self.steps_per_epoch

    @property
    def steps_per_epoch(self) -> int:
        """Steps of one epoch."""
        return steps_per_epoch(len(self.splits.train), self._config.train.tasks_per_step)

    @property
    def total_steps(self) -> int:
        """Steps over all epochs."""
        return self._config.train.num_epochs * self.steps_per_epoch

    def budget(self, step: int) -> int:
        """The edit budget of a step, as it is scheduled."""
        return scheduled_budget(self._config.optimizer, step=step, total_steps=self.total_steps)

    def ends_epoch(self, state: State) -> bool:
        """Whether a state's step is the last one of its epoch."""
        return state.step % self.steps_per_epoch == 0

    def ends_training(self, state: State) -> bool:
        """Whether a state's step is the last one of the run."""
        return state.step == self.total_steps

    def stop_reason(self, state: State) -> str:
        """Return why training ends here, ahead of its last step; "" where it goes on."""
        return stop_reason(state, self._config.evaluation) if state.step < self.total_steps else ""

    def saturated(self, state: State) -> bool:
        """Whether no candidate can be strictly higher than the current skill any more."""
        return saturated(state.current, self._config.evaluation)

    def begin(self, seed: Measured) -> State:
        """Commit step 0, the baseline, and return the state that training starts from."""
        rejections = Rejections(reach=self._config.optimizer.rejection_memory)
        window = self._config.evaluation.gate_every
        self._state = State(seed=seed, current=seed, best=seed, rejections=rejections, window=window)
        record = baseline_record(self._config, seed, rows=self._accounts.used.rows(), timing=self._timing("step 0"))
        self._views.write_baseline(seed, record)
        self.emit(StepCommitted(record))
        score = gate_score(seed.rollouts, self._config.evaluation)
        warning = baseline_warning(score, seed.rollouts, target=self._config.model.target.name)
        if warning:
            self.warn(warning)
        return self._state

    def commit(self, before: State, step: Step) -> State:
        """Commit a step: decide what training goes on with, write the views, tell those who watch."""
        step = replace(step, troubles=self._asker.take_troubles())
        self._state = after = before.after(step)
        record = step_record(
            self._config,
            before,
            after,
            step,
            step_in_epoch=self._step_in_epoch(after),
            counters=self._counters,
            rows=self._accounts.used.rows(),
            timing=self._timing(f"step {after.step}"),
        )
        self._counters.clear()
        self._decisions += [drawn.decision for drawn in (*before.lost, step)]
        self._views.write_step(after, step, record)
        self.emit(StepCommitted(record, edits_in_short(step.candidate.outcomes)))
        self._watch_size(after)
        return after

    def commit_slow_update(self, before: State, result: SlowUpdate) -> State:
        """Commit a slow update: what training goes on with, and the views."""
        after = before.after_slow_update(result)
        self._decisions.append(result.decision)
        value = slow_update_record(
            self._config.evaluation, result, counters=self._counters, troubles=self._asker.take_troubles()
        )
        self._views.write_slow_update_files(result, value)
        return self._commit_epoch_stage(after, "slow_update", value)

    def commit_meta_skill(self, before: State, result: MetaSkill) -> State:
        """Commit a meta skill: the optimizer's memory, and the views."""
        value = meta_skill_record(result, counters=self._counters, troubles=self._asker.take_troubles())
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
        self._watch_size(after)
        return after

    def _watch_size(self, after: State) -> None:
        """Warn, once in a run, of a current skill that has little room left."""
        warning = self._size_warning(after.current.skill)
        if warning and not self._warned_of_size:
            self._warned_of_size = True
            self.warn(f"after step {after.step}, {warning}")

    def _size_warning(self, skill: Skill) -> str:
        return size_warning(estimate_tokens(skill.text), self._config.skill.max_tokens)

    def finish(self, state: State, *, seed_test: Sequence[Rollout], best_test: Sequence[Rollout]) -> Outcome:
        """Write the end of a training that ran in order."""
        self._views.write_tests(seed=seed_test, best=best_test)
        self._views.write_final(state)
        ended = end_state(
            self._decisions,
            improved=improved(state, self._config.evaluation),
            seed_is_perfect=saturated(state.seed, self._config.evaluation),
            seed_is_best=state.best.skill.digest == state.seed.skill.digest,
        )
        reason = self.stop_reason(state)
        early = f"Ended after step {state.step} of {self.total_steps}: {reason}. " if reason and state.step else ""
        return self._end(
            state, ended, early + end_message(ended, self._decisions), seed_test=seed_test, best_test=best_test
        )

    def stop(self, ended: EndState, error: SkillOptError) -> Outcome | None:
        """Write the end of a training that stopped early; None where not even the baseline was measured."""
        message = early_message(ended, error)
        if self._state is None:
            value = early_summary(ended, message, card=self.card)
            self._write_end(value)
            self.emit(RunEnded(ended.value, message, value))
            return None
        return self._end(self._state, ended, message, seed_test=(), best_test=())

    def _write_end(self, value: Record) -> None:
        rows = ledger(self._accounts.payments(), self._accounts.uses())
        if self.shared is not None:
            value["fork"] = fork_record(self.shared, rows)
        self._views.write_ledger(rows)
        self._views.write_summary(value)

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
            card=self.card,
            stopped_early=self.stop_reason(state),
            records=self._views.records,
            rows=self._accounts.used.rows(),
            seed_test=seed_test,
            best_test=best_test,
        )
        self._write_end(value)
        self.emit(RunEnded(ended.value, message, value))
        bill: dict[Role, Spending] = {role: self._accounts.billed.total(role) for role in ROLES}
        return Outcome(ended, message, self.directory, state.best.skill, value, bill)
