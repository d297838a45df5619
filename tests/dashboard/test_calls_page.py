"""Prompts and replies, word for word."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient
from tests.dashboard.conftest import open_site, page_of
from tests.support.markup import Page

from skillopt.dashboard.rendering import run_url
from skillopt.report.optimizer_calls import call, calls, sizes


def rows(page: Page) -> list[str]:
    return [one.attributes["href"] or "" for one in page.named("a") if "data-row" in one.attributes]


@pytest.mark.parametrize("query", [{}, {"step": 2}, {"stage": "reflect"}, {"step": 4, "stage": "slow_update"}])
def test_the_calls_that_are_asked_for_are_listed(browser: TestClient, eventful: Path, query: dict[str, str]) -> None:
    expected = [
        line
        for line in calls(eventful, step=int(query["step"]) if "step" in query else None)
        if line.place.stage == query.get("stage", line.place.stage)
    ]
    page = page_of(browser, run_url("run", "calls", **query))
    assert rows(page) == [f"/runs/run/calls/{line.key}" for line in expected[:50]]
    assert f"{len(expected)} call" in page.text
    long = sizes(eventful, expected[:50])
    cells = [one.text for one in page.named("td")]
    assert cells[2::4] == [f"{long[line.key].asked:,}" for line in expected[:50]]
    assert cells[3::4] == [f"{long[line.key].said:,}" for line in expected[:50]]


def test_a_call_shows_what_was_asked_and_what_was_said(browser: TestClient, eventful: Path) -> None:
    for line in calls(eventful, step=2):
        found = call(eventful, line.key)
        assert found is not None
        page = page_of(browser, f"/runs/run/calls/{line.key}")
        assert [one.text for one in page.named("h1")] == [line.title]
        # A line end right behind <pre> is the markup's, not the text's.
        pres = [one.text.removeprefix("\n") for one in page.named("pre")]
        assert pres == [text.removeprefix("\n") for text in (*(m.content for m in found.messages), found.reply.text)]


def test_a_step_leads_to_its_calls(browser: TestClient) -> None:
    page = page_of(browser, "/runs/run/steps/2")
    assert "/runs/run/calls?step=2" in [one.attributes["href"] for one in page.named("a")]


@given(st.text(min_size=1, max_size=70))
def test_a_key_that_is_none_is_said_in_words(browser: TestClient, key: str) -> None:
    answer = browser.get(run_url("run", "calls", key))
    assert answer.status_code in (404, 307)


def test_a_run_without_evidence_has_no_calls(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "events.jsonl").write_text("", "utf-8")
    page = page_of(open_site(tmp_path), "/runs/new/calls")
    assert rows(page) == [] and "0 calls" in page.text
