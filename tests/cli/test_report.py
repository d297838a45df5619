"""`skillopt report`: the picture and the page of a run."""

from __future__ import annotations

import shutil
import webbrowser
from pathlib import Path

import pytest
from tests.cli.conftest import Finished
from tests.support.commands import Command

from skillopt.report.page import findings_of
from skillopt.report.picture import PICTURE_NAME
from skillopt.report.run_files import RunFiles


def copied(finished: Finished, tmp_path: Path) -> Path:
    return shutil.copytree(finished.directory, tmp_path / "a run")


def test_the_page_and_the_picture_are_written_into_the_run(
    command: Command, finished: Finished, tmp_path: Path
) -> None:
    run = copied(finished, tmp_path)
    code, said, err = command("report", run)
    assert (code, err) == (0, "")
    assert (run / "report.html").read_text("utf-8").startswith("<!DOCTYPE html>")
    assert (run / PICTURE_NAME).read_bytes().startswith(b"\x89PNG")
    assert said.startswith("SIMULATED MODELS: these numbers say nothing about real ones.\nimproved; selection 0/8")
    assert said.endswith(f"Page:    {run / 'report.html'}\nPicture: {run / PICTURE_NAME}\n")


def test_what_limits_the_result_is_said(command: Command, eventful: Path, tmp_path: Path) -> None:
    run = shutil.copytree(eventful, tmp_path / "run")
    findings = findings_of(RunFiles(run))
    code, said, _ = command("report", run)
    assert code == 0 and findings
    for finding in findings:
        assert f"- {finding.text}\n  {finding.advice}\n" in said


def test_out_names_another_place_and_nothing_of_the_run_is_touched(
    command: Command, finished: Finished, tmp_path: Path
) -> None:
    run = copied(finished, tmp_path)
    before = sorted(path.name for path in run.iterdir())
    assert command("report", run, "--out", tmp_path / "reports" / "first.html")[0] == 0
    assert sorted(path.name for path in (tmp_path / "reports").iterdir()) == ["first.html", PICTURE_NAME]
    assert sorted(path.name for path in run.iterdir()) == before


def test_a_second_report_is_the_same(command: Command, finished: Finished, tmp_path: Path) -> None:
    run = copied(finished, tmp_path)
    command("report", run)
    first = (run / "report.html").read_bytes()
    command("report", run)
    assert (run / "report.html").read_bytes() == first


def test_a_file_that_is_no_page_is_not_written_over(command: Command, finished: Finished, tmp_path: Path) -> None:
    run = copied(finished, tmp_path)
    code, _, err = command("report", run, "--out", run / "config.yaml")
    assert code == 2
    assert err.startswith(f"error: --out is {run / 'config.yaml'}; the page is HTML")
    assert "model:" in (run / "config.yaml").read_text("utf-8")


def test_a_directory_that_is_no_run_is_one_message(command: Command, tmp_path: Path) -> None:
    code, said, err = command("report", tmp_path)
    assert (code, said) == (1, "")
    assert err.startswith(f"error: {tmp_path} is no run directory")


def test_a_run_without_a_baseline_has_a_page_and_no_picture(command: Command, tmp_path: Path) -> None:
    run = tmp_path / "young"
    run.mkdir()
    (run / "events.jsonl").write_text("", "utf-8")
    code, said, _ = command("report", run)
    assert code == 0
    assert said == f"the baseline was not measured, so there is no score yet\nPage:    {run / 'report.html'}\n"
    assert not (run / PICTURE_NAME).exists()


@pytest.mark.parametrize("opens", [True, False])
def test_the_page_is_opened_where_it_is_wanted(
    command: Command, finished: Finished, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opens: bool
) -> None:
    run, opened = copied(finished, tmp_path), list[str]()
    monkeypatch.setattr(webbrowser, "open", lambda url: opened.append(url) or opens)
    code, said, _ = command("report", run, "--open")
    assert code == 0
    assert opened == [(run / "report.html").resolve().as_uri()]
    assert ("No browser could be opened" in said) != opens
