"""Files to take away: those of one table, whole, as attachments that no browser runs."""

from __future__ import annotations

import shutil
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as some
from starlette.testclient import TestClient
from tests.dashboard.conftest import Visit
from tests.dashboard.test_following import write

from skillopt.dashboard.downloads import FILES, offered


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_sent_as_it_is(runs: Path, visit: Visit, name: str) -> None:
    answer = visit(runs).get(f"/runs/first~run/files/{name}")
    assert answer.content == (runs / "first/run" / name).read_bytes()
    assert answer.headers["content-disposition"] == f"attachment; filename*=UTF-8''first_run-{name}"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-type"].split(";")[0] == FILES[name]


def test_the_page_and_the_picture_are_made_of_what_there_is_now(runs: Path, visit: Visit) -> None:
    page = visit(runs)
    report = page.get("/runs/first~run/files/report.html")
    assert "SkillOpt report" in report.text
    assert report.headers["content-disposition"].startswith("attachment")
    picture = page.get("/runs/first~run/files/training_dashboard.png")
    assert (picture.content[:4], picture.headers["content-type"]) == (b"\x89PNG", "image/png")
    assert not (runs / "first/run/report.html").exists()


def test_what_is_not_there_yet_is_said_in_words(tmp_path: Path, visit: Visit) -> None:
    write(tmp_path / "run")
    for name in ("best_skill.md", "training_dashboard.png"):
        answer = visit(tmp_path).get(f"/runs/run/files/{name}")
        assert answer.status_code == 404
        assert "or not yet" in answer.text


@pytest.mark.parametrize("name", ["evidence.sqlite", "run.lock", "..%2Fsecret", "steps", "events.jsonl", "%00", "."])
def test_no_other_file_is_sent(runs: Path, visit: Visit, name: str) -> None:
    assert visit(runs).get(f"/runs/first~run/files/{name}").status_code == 404


@given(name=some.text(max_size=20))
def test_whatever_is_asked_for_only_named_files_are_sent(pages: TestClient, name: str) -> None:
    answer = pages.get(f"/runs/first~run/files/{quote(name.encode('utf-8', 'replace'), safe='')}")
    assert answer.status_code == 404 or name in FILES


def test_a_link_out_of_the_run_is_not_followed(runs: Path, tmp_path: Path, visit: Visit) -> None:
    shutil.copytree(runs / "first/run", tmp_path / "runs/run")
    (tmp_path / "secret").write_text("secret of the house", "utf-8")
    (tmp_path / "runs/run/best_skill.md").unlink()
    (tmp_path / "runs/run/best_skill.md").symlink_to(tmp_path / "secret")
    answer = visit(tmp_path / "runs").get("/runs/run/files/best_skill.md")
    assert answer.status_code == 500
    assert "secret of the house" not in answer.text


def test_files_of_a_run_that_a_link_within_the_directory_leads_to_are_sent(
    runs: Path, tmp_path: Path, visit: Visit
) -> None:
    shutil.copytree(runs / "first/run", tmp_path / "run")
    (tmp_path / "also").symlink_to(tmp_path / "run", target_is_directory=True)
    answer = visit(tmp_path).get("/runs/also/files/history.json")
    assert answer.content == (tmp_path / "run/history.json").read_bytes()


def test_what_is_offered_is_there(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "history.json").write_text("[]", "utf-8")
    assert [name for name, _ in offered(tmp_path, measured=False)] == ["report.html", "history.json"]
    assert {name for name, _ in offered(runs / "first/run", measured=True)} >= {*FILES, "training_dashboard.png"}
