"""The one reader of a run directory: for the report, the terminal, comparisons and the live page.

It reads what docs/run_directory.md names and writes nothing. A run that is still going can be read: its files are
written whole or not at all. What a file holds comes from tasks and models and is hostile: it is data, to be shown as
text. No file outside of the directory is read, whatever a name or a link in it says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from skillopt.config.yaml_text import read_document
from skillopt.errors import ConfigError, RunDirectoryError
from skillopt.evaluation.statistics import PairedDifference, paired_difference
from skillopt.report.course import ACCEPTED, Course, Record, course
from skillopt.report.event_reading import END_BYTES, is_at_work
from skillopt.report.flips import Flips, Metric, flips
from skillopt.report.reading import WAY_OUT, DirectoryReader
from skillopt.report.step_files import (
    MetaSkillFiles,
    Rows,
    SlowUpdateFiles,
    StepFiles,
    read_meta_skill,
    read_rollouts,
    read_slow_update,
    read_step,
    slow_update_place,
    step_place,
)
from skillopt.report.stored_records import CARD, MANIFEST, RECORDS, SUMMARY
from skillopt.report.stored_rows import LEDGER, LedgerLine
from skillopt.text_files import safe_name

_MARKS = ("events.jsonl", "history.json", "summary.json")
"""A directory that holds none of these is no run's."""

_EVALUATION = re.compile(
    r"(selection_eval|selection_eval_final|test_eval)_baseline|selection_eval_final|test_eval"
    r"|steps/step_\d{4,}/(rollout|selection_eval_refresh)"
    r"|steps/step_\d{4,}/(draw_\d{2,}/)?(selection_eval|selection_eval_again)"
    r"|(slow_update|meta_skill)/epoch_\d{2,}/(rollout_prev|rollout_curr|selection_eval|selection_eval_again)",
    re.ASCII,
)
_STEP = re.compile(r"step_(\d{4,})", re.ASCII)
_EPOCH = re.compile(r"(?:slow_update_)?epoch_(\d{2,})", re.ASCII)


class RunFiles:
    """Reads a run directory; what was read once is kept, so a reader of a run that goes on takes a new one.

    Args:
        directory: The run directory.

    Attributes:
        directory: The same, without links.

    Raises:
        RunDirectoryError: If it is no run's directory. All methods raise it for a file that cannot be read, with its
            name and the way out.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory.resolve()
        self._reader = DirectoryReader(self.directory)
        if not any((self.directory / name).is_file() for name in _MARKS):
            raise RunDirectoryError(
                f"{directory} is no run directory: it has none of {', '.join(_MARKS)}",
                hint="Name the directory of a run; `skillopt train` prints it.",
            )

    @property
    def name(self) -> str:
        """The directory's own name."""
        return self.directory.name

    @cached_property
    def records(self) -> tuple[Record, ...]:
        """The entries of history.json, the baseline first; none before the baseline was measured."""
        return self._reader.value("history.json", RECORDS, ())

    def record(self, step: int) -> Record | None:
        """Return the record of a step; None where there is none, or none yet."""
        return self._by_step.get(step)

    @property
    def last_record(self) -> Record:
        """The newest of them; empty where there is none."""
        nothing: Record = {}
        return self.records[-1] if self.records else nothing

    @cached_property
    def summary(self) -> Record | None:
        """What summary.json holds; None until the last start of the run has ended: an earlier one's is not its own."""
        if is_at_work(self._reader.content("events.jsonl", last=END_BYTES) or b""):
            return None
        return self._reader.value("summary.json", SUMMARY, None)

    @cached_property
    def card(self) -> Record | None:
        """What run_card.json holds, which the last start left at its beginning; None in a run of an older version."""
        return self._reader.value("run_card.json", CARD, None)

    @cached_property
    def manifest(self) -> Record | None:
        """What split_manifest.json holds: which task is in which split, with digests."""
        return self._reader.value("split_manifest.json", MANIFEST, None)

    @cached_property
    def config(self) -> str | None:
        """The text of config.yaml."""
        return self._reader.text("config.yaml")

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        """What config.yaml holds: every setting, resolved, as nested mappings; none where there is no such file."""
        try:
            path = self.directory / "config.yaml"
            return {} if self.config is None else read_document(self.config, path).values
        except ConfigError as error:
            raise RunDirectoryError(error.message, hint=WAY_OUT) from error

    @cached_property
    def course(self) -> Course:
        """The course that the records tell; raises also where no baseline was measured yet."""
        path = self.directory / "history.json"
        if not self.records:
            raise RunDirectoryError(f"{path}: there is no baseline yet", hint="Wait until it is measured.")
        return course(self.records, name=self.name)

    @cached_property
    def steps(self) -> tuple[int, ...]:
        """The steps that left files, in their order."""
        return self._numbers("steps", _STEP)

    @cached_property
    def skill_versions(self) -> tuple[int, ...]:
        """The steps after which the current skill was kept; 0 is the seed."""
        return self._numbers("skills", re.compile(r"skill_v(\d{4,})\.md", re.ASCII))

    def skill(self, step: int) -> str | None:
        """Return the text of the current skill after a step and what followed it; 0 is the seed."""
        return self._reader.text(f"skills/skill_v{step:04d}.md") if step in self.skill_versions else None

    @cached_property
    def best_skill(self) -> str | None:
        """The text of the best skill."""
        return self._reader.text("best_skill.md")

    def step(self, step: int) -> StepFiles | None:
        """Return what a step left; None for one that left nothing."""
        return read_step(self._reader, step) if step in self.steps else None

    @cached_property
    def epochs(self) -> tuple[int, ...]:
        """The epochs after which a slow update or a meta skill left files, in their order."""
        return tuple(
            sorted({number for name in ("slow_update", "meta_skill") for number in self._numbers(name, _EPOCH)})
        )

    def slow_update(self, epoch: int) -> SlowUpdateFiles | None:
        """Return what the slow update at an epoch's end left; None where there was none."""
        return read_slow_update(self._reader, epoch) if epoch in self.epochs else None

    def meta_skill(self, epoch: int) -> MetaSkillFiles | None:
        """Return what the meta skill at an epoch's end left; None where there was none."""
        return read_meta_skill(self._reader, epoch) if epoch in self.epochs else None

    def rollouts(self, evaluation: str) -> Rows:
        """Return the rows of one evaluation: the training batch of a step, a candidate at the gate, the test split.

        Args:
            evaluation: Its directory below the run directory, such as `steps/step_0003/rollout`; none has rows that is
                no name of an evaluation.
        """
        return read_rollouts(self._reader, evaluation) if _EVALUATION.fullmatch(evaluation) else ()

    def trajectory(self, evaluation: str, task_id: str, *, repeat: int = 0) -> str | None:
        """Return the page of what the target did on a task: Markdown as far as it is ours, hostile text in between.

        Args:
            evaluation: As for `rollouts`.
            task_id: The task.
            repeat: Which of several rollouts of it.

        Returns:
            None where there is no such page; a task that was not measured has none.
        """
        if not _EVALUATION.fullmatch(evaluation):
            return None
        number = f".{repeat}" if repeat else ""
        return self._reader.text(f"{evaluation}/trajectories/{safe_name(task_id)}{number}.md")

    @cached_property
    def ledger(self) -> tuple[LedgerLine, ...]:
        """The rows of ledger.csv; none until a start of the run has ended."""
        return self._reader.table("ledger.csv", LEDGER, ())

    @cached_property
    def held_out(self) -> PairedDifference | None:
        """How many more held-out tasks the best skill solves than the seed; None where none has both measured."""
        seed, best = (
            {row.id: Fraction(row.hard) for row in self.rollouts(name) if row.hard is not None}
            for name in ("test_eval_baseline", "test_eval")
        )
        both = [task for task in seed if task in best]
        return paired_difference([seed[task] for task in both], [best[task] for task in both]) if both else None

    @cached_property
    def metric(self) -> Metric:
        """What the gate of this run compares, task by task."""
        try:
            return Metric.of_settings(self.settings.get("evaluation") or {})
        except (ValueError, TypeError, AttributeError) as error:
            raise RunDirectoryError(f"{self.directory / 'config.yaml'}: evaluation: {error}", hint=WAY_OUT) from error

    def flips(self, step: int, *, draw: int = 0) -> Flips | None:
        """Return the selection tasks that a step's candidate fixed and broke, against the skill it had to beat.

        Args:
            step: From 1.
            draw: From 1 for a draw that lost ahead of the one that counts, which is 0.

        Returns:
            None where no candidate of it was measured.
        """
        place = step_place(step) + (f"/draw_{draw:02d}" if draw else "")
        candidate = self.rollouts(f"{place}/selection_eval")
        return flips(self._bar(self._origin(step - 1), step), candidate, self.metric) if candidate else None

    def flips_of_slow_update(self, epoch: int) -> Flips | None:
        """Return the same for the slow update at an epoch's end; None where no candidate of it was measured."""
        candidate = self.rollouts(f"{slow_update_place(epoch)}/selection_eval")
        last = self._last_step(epoch)
        if not candidate or not last:
            return None
        # The record of the last step speaks of the skill that the slow update left; what it met is the step's own.
        origin = f"step_{last:04d}" if self._by_step[last]["action"] in ACCEPTED else self._origin(last - 1)
        return flips(self._bar(origin, last), candidate, self.metric)

    def selection(self, origin: str) -> Rows:
        """Return what a skill did on the selection split when it was accepted; the fresh rows where it was remeasured.

        Args:
            origin: Where it came from, as `current_origin` and `best_origin` say it.
        """
        if origin == "initial_skill":
            return self.rollouts("selection_eval_baseline")
        if found := _STEP.fullmatch(origin):
            place = step_place(int(found[1]))
        elif found := _EPOCH.fullmatch(origin):
            place = slow_update_place(int(found[1]))
        else:
            return ()
        return self.rollouts(f"{place}/selection_eval_again") or self.rollouts(f"{place}/selection_eval")

    def _bar(self, origin: str, step: int) -> Rows:
        """Return what the skill of an origin had done on the selection split when a step's gate decided: all passes."""
        began_at = 0
        if found := _STEP.fullmatch(origin):
            began_at = int(found[1])
        elif found := _EPOCH.fullmatch(origin):
            began_at = self._last_step(int(found[1]))
        fresh = [rows for number, rows in self._refreshes.items() if began_at < number <= step]
        return (*self.selection(origin), *(row for rows in fresh for row in rows))

    @cached_property
    def _refreshes(self) -> Mapping[int, Rows]:
        """The fresh passes of the current skill, by the step that they went ahead of."""
        found = {step: self.rollouts(f"{step_place(step)}/selection_eval_refresh") for step in self.steps}
        return {step: rows for step, rows in found.items() if rows}

    def _last_step(self, epoch: int) -> int:
        return max((step for step, record in self._by_step.items() if record["epoch"] == epoch), default=0)

    def _origin(self, step: int) -> str:
        record = self.record(step)
        return "initial_skill" if record is None else str(record["current_origin"])

    @cached_property
    def _by_step(self) -> Mapping[int, Record]:
        return {record["step"]: record for record in self.records}

    def _numbers(self, place: str, pattern: re.Pattern[str]) -> tuple[int, ...]:
        names = self._reader.names(place, pattern)
        return tuple(int(found[1]) for name in names if (found := pattern.fullmatch(name)))
