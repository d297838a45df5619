"""How each task of a run went, evaluation by evaluation."""

from __future__ import annotations

import gc
import os
import shutil
import tracemalloc
import weakref
from itertools import pairwise
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from tests.support.runs import read_json

from skillopt.report.evaluations import evaluations
from skillopt.report.run_files import RunFiles
from skillopt.report.task_history import HistoryReader, Mark, Outcome, TaskHistory
from skillopt.text_files import write_json_atomically

OUTCOMES: st.SearchStrategy[Outcome] = st.sampled_from(["solved", "partly", "failed", "unmeasured"])


def history_of(*outcomes: Outcome) -> TaskHistory:
    return TaskHistory("t", "", "train", tuple(Mark(number, outcome) for number, outcome in enumerate(outcomes)))


def test_every_rollout_of_the_run_is_in_one_mark(eventful: Path) -> None:
    files = RunFiles(eventful)
    history = HistoryReader().history(files)
    assert history.evaluations == evaluations(files)
    for number, one in enumerate(history.evaluations):
        hard: dict[str, list[int]] = {}
        for row in read_json(eventful / one.place / "results.json"):
            hard.setdefault(row["id"], []).append(row["hard"])
        expected = {
            task: "solved" if all(passes) else "partly" if any(passes) else "failed" for task, passes in hard.items()
        }
        found = {task.id: mark.outcome for task in history.tasks for mark in task.marks if mark.evaluation == number}
        assert found == expected
    assert any(mark.outcome == "partly" for task in history.tasks for mark in task.marks)


def test_tasks_stand_in_the_order_of_their_splits(eventful: Path) -> None:
    tasks = HistoryReader().history(RunFiles(eventful)).tasks
    splits = read_json(eventful / "split_manifest.json")["splits"]
    assert [(task.split, task.id) for task in tasks] == [
        (split, task) for split in ("train", "val", "test") for task in splits[split]["ids"]
    ]
    assert all(task.category for task in tasks if task.marks)


def test_what_was_not_measured_is_no_failure_and_a_task_of_no_split_stands_last(eventful: Path, tmp_path: Path) -> None:
    """F1, F9."""
    copy = shutil.copytree(eventful, tmp_path / "copy")
    failure = {"kind": "timeout", "stage": "target", "error_type": "Slow", "message": ""}
    rows = [{"id": "elsewhere", "status": "timeout", "failure": failure}]
    write_json_atomically(copy / "steps" / "step_0001" / "rollout" / "results.json", rows)
    last = HistoryReader().history(RunFiles(copy)).tasks[-1]
    assert (last.id, last.split, last.last, last.measured, last.changed) == (
        "elsewhere", None, "unmeasured", (), False,
    )  # fmt: skip


def test_a_file_that_changed_is_read_anew_and_one_that_did_not_is_not(eventful: Path, tmp_path: Path) -> None:
    copy, reader = shutil.copytree(eventful, tmp_path / "copy"), HistoryReader()
    before = reader.history(RunFiles(copy)).tasks
    (copy / "test_eval" / "results.json").unlink()
    rows = [{**row, "hard": 0} for row in read_json(copy / "test_eval_baseline" / "results.json")]
    write_json_atomically(copy / "test_eval_baseline" / "results.json", rows)
    untouched = copy / "steps" / "step_0001" / "rollout" / "results.json"
    seen = untouched.stat()
    untouched.write_bytes(b"\0" * seen.st_size)
    os.utime(untouched, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    after = reader.history(RunFiles(copy)).tasks
    assert [task.marks for task in after if task.split != "test"] == [
        task.marks for task in before if task.split != "test"
    ]
    assert {task.last for task in after if task.split == "test"} == {"failed"}


def test_what_was_made_goes_with_the_reader_of_the_run(eventful: Path) -> None:
    reader, files = HistoryReader(), RunFiles(eventful)
    made = reader.history(files)
    assert reader.history(files) is made
    told = weakref.ref(files)
    del files
    gc.collect()
    assert told() is None


def test_few_rows_are_kept_where_few_may_be(eventful: Path) -> None:
    small = HistoryReader(most_rows=20)
    assert small.history(RunFiles(eventful)) == HistoryReader().history(RunFiles(eventful))
    assert small.kept_rows <= 20


def test_rows_that_are_kept_are_small(eventful: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(eventful, tmp_path / "copy")
    for one in evaluations(RunFiles(copy)):
        rows = [{"id": f"task-{number:05d}", "category": "of this kind", "hard": 1} for number in range(2000)]
        write_json_atomically(copy / one.place / "results.json", rows)
    reader = HistoryReader()
    tracemalloc.start()
    try:
        for one in evaluations(RunFiles(copy)):
            reader._read(copy, one.place)  # pyright: ignore[reportPrivateUsage]
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert reader.kept_rows == 2000 * len(evaluations(RunFiles(copy)))
    assert kept / reader.kept_rows < 110


@given(st.lists(OUTCOMES, max_size=12))
def test_a_line_says_the_same_however_it_is_asked(outcomes: list[Outcome]) -> None:
    task = history_of(*outcomes)
    for most in (5, 99):
        stretches = task.stretches(most)
        assert [outcome for outcome, times in stretches for _ in range(times)] == outcomes[-most:]
        assert all(one[0] != two[0] for one, two in pairwise(stretches))
    assert sum(task.counts.values()) == len(outcomes) and task.last == (outcomes[-1] if outcomes else None)
    measured = [outcome for outcome in outcomes if outcome != "unmeasured"]
    assert task.changed == (len(set(measured)) > 1)
    for outcome in set(outcomes):
        first = task.first(outcome)
        assert first is not None and first.evaluation == outcomes.index(outcome)
