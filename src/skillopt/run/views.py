"""The files of a run directory that people read: skills, steps, history, summary.

All of them are views: functions of what the stages made, written anew as the loop passes, whether its replies are paid
or come from the evidence. History and best skill never go back: while a replay passes steps that stand in history.json
already, both stay as they are, so that a start that is interrupted again takes nothing away. From the first step on
that does not stand there as it is made now, what the directories of steps hold was left by a kill, or by a play that
went another way since its evidence was lost: what this play does not write is removed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, cast

from skillopt.disk import refused
from skillopt.results import MetaSkill, SlowUpdate, Step
from skillopt.run.epoch_files import write_meta_skill_files, write_slow_update_files
from skillopt.run.epoch_records import CHANGED_BETWEEN_EPOCHS
from skillopt.run.history import Record
from skillopt.run.ledger import LedgerRow, ledger_csv
from skillopt.run.own_files import is_view, remove_views
from skillopt.run.step_files import write_draw_files, write_rollouts
from skillopt.state import Measured, State
from skillopt.text_files import holding_nothing_else, write_json_atomically, write_text_atomically
from skillopt.types import Rollout


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
        self._left_behind = False

    def write_baseline(self, seed: Measured, record: Record) -> None:
        """Write step 0."""
        directory = self.directory / "selection_eval_baseline"
        with self._anew(directory, stands=self._stands(record), step=0, epoch=0):
            write_rollouts(directory, seed.rollouts)
        self._write_standing(State(seed=seed, current=seed, best=seed), record)

    def write_step(self, after: State, step: Step, record: Record) -> None:
        """Write a step: what its stages made, lost draws apart, then the skills, then the history that names them."""
        directory = self.directory / "steps" / f"step_{after.step:04d}"
        with self._anew(directory, stands=self._stands(record), step=after.step, epoch=after.epoch):
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
        directory = self.directory / "slow_update" / f"epoch_{result.epoch:02d}"
        stands, step = self._stage_stands("slow_update", record), len(self.records) - 1
        with self._anew(directory, stands=stands, step=step, epoch=result.epoch + 1):
            write_slow_update_files(directory, result, record)

    def write_meta_skill_files(self, result: MetaSkill, record: Record) -> None:
        """Write what the meta skill of an epoch made."""
        directory = self.directory / "meta_skill" / f"epoch_{result.epoch:02d}"
        stands, step = self._stage_stands("meta_skill", record), len(self.records) - 1
        with self._anew(directory, stands=stands, step=step, epoch=result.epoch + 1):
            write_meta_skill_files(directory, result, record)

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

    def _stands(self, record: Record) -> bool:
        """Whether the next record stands in history.json as it was found, after the same ones."""
        reached = len(self.records)
        return (
            reached < len(self._found)
            and self._found[:reached] == self.records
            and _lasting(self._found[reached]) == _lasting(record)
        )

    def _stage_stands(self, stage: str, record: Record) -> bool:
        """Whether a stage after the last record stands in history.json as it was found."""
        found = self._found[len(self.records) - 1] if len(self.records) <= len(self._found) else None
        return isinstance(found, dict) and cast("Record", found).get(stage) == record

    @contextmanager
    def _anew(self, directory: Path, *, stands: bool, step: int, epoch: int) -> Generator[None]:
        """Write what belongs in a directory; where it does not stand yet, nothing else is left in it, nor after it.

        Args:
            directory: The directory.
            stands: Whether history.json, as it was found, says that it stands.
            step: The step that it belongs to.
            epoch: The first epoch whose end comes after it.
        """
        if stands:
            yield
            return
        with (
            refused(f"{directory} cannot be cleared of other views"),
            holding_nothing_else(directory, ours=partial(is_view, directory=self.directory)),
        ):
            yield
        if not self._left_behind:
            self._left_behind = True
            _remove_after(self.directory, step=step, epoch=epoch)

    def _already_there(self) -> bool:
        """Whether history.json, as it was found, goes on from here: with later steps, or later stages of this one."""
        reached = len(self.records)
        if reached > len(self._found) or self._found[: reached - 1] != self.records[:-1]:
            return False
        found, now = self._found[reached - 1], self.records[-1]
        goes_on = reached < len(self._found) or (isinstance(found, dict) and found.keys() > now.keys())
        return goes_on and _lasting(found) == _lasting(now)


def _remove_after(directory: Path, *, step: int, epoch: int) -> None:
    """Remove what an earlier play left of all that comes after a step: later steps, the ends of epochs, the tests."""
    for path in _numbered(directory / "skills", r"skill_v(\d{4})\.md", above=step):
        with refused(f"{path} cannot be removed"):
            path.unlink(missing_ok=True)
    for path in (
        *_numbered(directory / "steps", r"step_(\d{4})", above=step),
        *_numbered(directory / "slow_update", r"epoch_(\d\d)", above=epoch - 1),
        *_numbered(directory / "meta_skill", r"epoch_(\d\d)", above=epoch - 1),
        *(directory / name for name in _AFTER_TRAINING),
    ):
        remove_views(path)


_AFTER_TRAINING = ("test_eval_baseline", "test_eval", "selection_eval_final", "selection_eval_final_baseline")


def _numbered(directory: Path, pattern: str, *, above: int) -> tuple[Path, ...]:
    """Find what is named by a number above another one."""
    paths = sorted(directory.iterdir()) if directory.is_dir() and not directory.is_symlink() else []
    found = ((path, re.fullmatch(pattern, path.name)) for path in paths)
    return tuple(path for path, number in found if number and int(number[1]) > above)


def _lasting(record: Any) -> Any:
    """Return what no stage between epochs changes of a step's record."""
    if not isinstance(record, dict):
        return record
    entries = cast("Record", record)
    return {name: value for name, value in entries.items() if name not in CHANGED_BETWEEN_EPOCHS}


def _read_history(path: Path) -> list[Any]:
    """Return the records of an earlier start; none where they cannot be read, since all can be made again."""
    try:
        if not path.is_file():  # To read a pipe or a device may wait for ever.
            return []
        found: object = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return []
    return cast("list[Any]", found) if isinstance(found, list) else []
