"""What a run used and what was paid for it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from skillopt.report.run_files import RunFiles
from skillopt.report.spending import by_stage, totals


def test_the_stages_of_a_role_come_to_its_total(eventful: Path) -> None:
    """F122, F123."""
    files = RunFiles(eventful)
    assert files.summary is not None
    used = {line.role: line for line in totals(files) if line.stage == "used by the run"}
    assert list(used) == ["target", "optimizer", "both"]
    both = used.pop("both")
    assert both.calls == sum(line.calls for line in used.values())
    assert both.dollars == sum(line.dollars or 0 for line in used.values())
    for role, total in used.items():
        own = [line for line in by_stage(files.summary) if line.role == role]
        assert sum(line.calls for line in own) == total.calls > 0
        assert sum(line.output_tokens for line in own) == total.output_tokens > 0
        assert sum(line.dollars or 0 for line in own) == pytest.approx(total.dollars)
    assert [line.role for line in by_stage(files.summary)] == sorted(
        (line.role for line in by_stage(files.summary)), reverse=True
    )


def test_what_was_paid_is_what_the_ledger_says(eventful: Path) -> None:
    files = RunFiles(eventful)
    paid = {line.role: line for line in totals(files) if line.stage == "paid by all starts"}
    assert (
        paid["both"].calls
        == paid["target"].calls + paid["optimizer"].calls
        == len([line for line in files.ledger if line.source == "paid"])
    )


def test_while_no_end_is_recorded_the_last_step_says_what_was_used(eventful: Path, tmp_path: Path) -> None:
    run = shutil.copytree(eventful, tmp_path / "run")
    (run / "summary.json").unlink()
    (run / "ledger.csv").unlink()
    files = RunFiles(run)
    last = files.records[-1]["total_usage"]
    assert {line.role: line.calls for line in totals(files) if line.role != "both"} == {
        role: usage["calls"] for role, usage in last.items()
    }


def test_a_run_that_has_just_begun_has_used_nothing(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text("", "utf-8")
    assert list(totals(RunFiles(tmp_path))) == []


def test_a_price_that_is_not_known_is_no_price_of_nothing() -> None:
    """F11."""
    amounts = {"calls": 1, "fresh_tokens": 2, "cached_tokens": 0, "output_tokens": 3, "dollars": None}
    (line,) = by_stage({"usage": {"target.gate": amounts}})
    assert (line.role, line.stage, line.dollars) == ("target", "gate", None)
