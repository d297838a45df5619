"""The files of a run directory that people read: skills, steps, history, summary.

All of them are views: functions of what the stages made, written anew as the loop passes, whether its replies are paid
or come from the evidence. History and best skill never go back: while a replay passes steps that stand in history.json
already, both stay as they are, so that a start that is interrupted again takes nothing away.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from skillopt.errors import RunDirectoryError
from skillopt.results import MetaSkill, SlowUpdate, Step
from skillopt.run.epoch_files import write_meta_skill_files, write_slow_update_files
from skillopt.run.epoch_records import CHANGED_BETWEEN_EPOCHS
from skillopt.run.history import Record
from skillopt.run.ledger import LedgerRow, ledger_csv
from skillopt.run.step_files import write_draw_files, write_rollouts
from skillopt.state import Measured, State
from skillopt.text_files import write_json_atomically, write_text_atomically
from skillopt.types import Rollout

VIEWS = (
    "best_skill.md",
    "history.json",
    "summary.json",
    "ledger.csv",
    "skills",
    "steps",
    "slow_update",
    "meta_skill",
    "selection_eval_baseline",
    "selection_eval_final",
    "selection_eval_final_baseline",
    "test_eval",
    "test_eval_baseline",
)
"""What a play of a run writes into its directory, files and folders."""


def remove_views(directory: Path) -> None:
    """Remove all that an earlier play wrote, since this one would not write all of it anew; the evidence stays.

    Raises:
        RunDirectoryError: If something cannot be removed.
    """
    for name in VIEWS:
        path = directory / name
        try:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        except OSError as error:
            raise RunDirectoryError(
                f"{path} cannot be removed: {error.strerror or error}",
                hint="It is to be written anew. Give the directory write permission, then run the same command again.",
            ) from error


class Views:
    """Writes the readable files of a run.

    Args:
        directory: The run directory.

    Attributes:
        records: The entries of history.json so far.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.records: list[Record] = []
        self._found = _read_history(directory / "history.json")

    def write_baseline(self, seed: Measured, record: Record) -> None:
        """Write step 0."""
        write_rollouts(self.directory / "selection_eval_baseline", seed.rollouts)
        self._write_standing(State(seed=seed, current=seed, best=seed), record)

    def write_step(self, after: State, step: Step, record: Record) -> None:
        """Write a step: what its stages made, lost draws apart, then the skills, then the history that names them."""
        directory = self.directory / "steps" / f"step_{after.step:04d}"
        if after.refreshed is not None:
            write_rollouts(directory / "selection_eval_refresh", after.refreshed.fresh)
        write_rollouts(directory / "rollout", step.rollouts)
        for number, lost in enumerate(after.lost, start=1):
            write_draw_files(directory / f"draw_{number:02d}", lost)
        write_draw_files(directory, step)
        write_json_atomically(directory / "step_record.json", record)
        self._write_standing(after, record)

    def write_slow_update_files(self, result: SlowUpdate, record: Record) -> None:
        """Write what the slow update of an epoch made."""
        write_slow_update_files(self.directory / "slow_update" / f"epoch_{result.epoch:02d}", result, record)

    def write_meta_skill_files(self, result: MetaSkill, record: Record) -> None:
        """Write what the meta skill of an epoch made."""
        write_meta_skill_files(self.directory / "meta_skill" / f"epoch_{result.epoch:02d}", result, record)

    def write_epoch_stage(self, after: State, record: Record) -> None:
        """Write the record of an epoch's last step anew, after a stage between epochs; the skill may be another one."""
        self.records.pop()
        write_json_atomically(self.directory / "steps" / f"step_{after.step:04d}" / "step_record.json", record)
        self._write_standing(after, record)

    def write_tests(self, *, seed: Sequence[Rollout], best: Sequence[Rollout]) -> None:
        """Write what the seed skill and the best skill did on the test split."""
        for name, rollouts in (("test_eval_baseline", seed), ("test_eval", best)):
            if rollouts:
                write_rollouts(self.directory / name, rollouts)

    def write_final(self, state: State) -> None:
        """Write the skill that was chosen after the last step, and what it and the seed did when measured again."""
        if state.final is None:
            return
        write_text_atomically(self.directory / "best_skill.md", state.best.skill.text)
        if state.final.again:
            write_rollouts(self.directory / "selection_eval_final", state.final.again)
            write_rollouts(self.directory / "selection_eval_final_baseline", state.final.seed_again)

    def write_ledger(self, rows: Sequence[LedgerRow]) -> None:
        """Write ledger.csv."""
        write_text_atomically(self.directory / "ledger.csv", ledger_csv(rows))

    def write_summary(self, summary: Record) -> None:
        """Write summary.json."""
        write_json_atomically(self.directory / "summary.json", summary)

    def _write_standing(self, state: State, record: Record) -> None:
        self.records.append(record)
        write_text_atomically(self.directory / "skills" / f"skill_v{state.step:04d}.md", state.current.skill.text)
        if self._already_there():
            return
        write_text_atomically(self.directory / "best_skill.md", state.best.skill.text)
        write_json_atomically(self.directory / "history.json", self.records)

    def _already_there(self) -> bool:
        """Whether history.json, as it was found, goes on from here: with later steps, or later stages of this one."""
        reached = len(self.records)
        if reached > len(self._found) or self._found[: reached - 1] != self.records[:-1]:
            return False
        found, now = self._found[reached - 1], self.records[-1]
        goes_on = reached < len(self._found) or (isinstance(found, dict) and found.keys() > now.keys())
        return goes_on and _lasting(found) == _lasting(now)


def _lasting(record: Any) -> Any:
    """Return what no stage between epochs changes of a step's record."""
    if not isinstance(record, dict):
        return record
    entries = cast("Record", record)
    return {name: value for name, value in entries.items() if name not in CHANGED_BETWEEN_EPOCHS}


def _read_history(path: Path) -> list[Any]:
    """Return the records of an earlier start; none where they cannot be read, since all can be made again."""
    try:
        found: object = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return []
    return cast("list[Any]", found) if isinstance(found, list) else []
