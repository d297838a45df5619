"""The application: its pages are reached, and what is not there is said in words."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Never

import pytest
from tests.dashboard.conftest import Visit

from skillopt.dashboard.app import application
from skillopt.errors import RunDirectoryError


def test_the_list_leads_to_the_page_of_a_run(runs: Path, visit: Visit) -> None:
    page = visit(runs)
    assert 'href="/runs/first~run"' in page.get("/").text
    assert "<h1>first/run</h1>" in page.get("/runs/first~run").text


@pytest.mark.parametrize("path", ["/nowhere", "/runs/none", "/static/none.css", "/runs/..%2F..%2Fetc"])
def test_what_is_not_there_is_said_in_words(runs: Path, visit: Visit, path: str) -> None:
    answer = visit(runs).get(path)
    assert answer.status_code == 404
    assert "<h1>Not found</h1>" in answer.text


def test_a_place_that_is_no_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunDirectoryError, match="nowhere is no directory"):
        application(tmp_path / "nowhere")


def test_what_the_system_refuses_is_said_in_words(
    runs: Path, visit: Visit, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """No more files can be opened, say: the page that says so needs none."""
    browser = visit(runs)

    def no_more(*_: object, **__: object) -> Never:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr("skillopt.dashboard.glances.Glances.look", no_more)
    monkeypatch.setattr("jinja2.loaders.FileSystemLoader.get_source", no_more)
    answer = browser.get("/")
    assert answer.status_code == 503
    assert "Too many open files" in answer.text and "ulimit -n" in answer.text
    assert "Content-Security-Policy" in answer.headers
    assert "Traceback" not in "".join(capfd.readouterr())
