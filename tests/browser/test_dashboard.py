"""The live page in a real browser: walked by keyboard and by click, readable by all, and deaf to hostile text."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from benchmarks.dashboard.serving import serving
from playwright.async_api import Page, expect
from tests.support.bench import OpenBench
from tests.support.browser import (
    NARROW,
    OpenPage,
    becomes,
    drawn,
    inaccessible,
    reached_by_tab,
    wider_than_the_window,
)
from tests.support.hostile import HOSTILE, hostile_run

pytestmark = pytest.mark.asyncio(loop_scope="session")

RUNS = 60
"""More than one page of the list shows."""

KINDS = (
    r"/",
    r"/compare\?.*",
    r"/runs/[^/?]+",
    r"/runs/[^/?]+/(tasks|skills|epochs|spending|card|calls)",
    r"/runs/[^/?]+/steps/\d+",
    r"/runs/[^/?]+/steps/\d+/edits/\d+",
    r"/runs/[^/?]+/calls/.+",
    r"/runs/[^/?]+/(task|evaluation|trajectory)\?.*",
    r"/runs/[^/?]+/(skills|calls)\?.*",
)
"""Addresses of every kind of page; a walk takes a few of each."""


@pytest.fixture(scope="module")
def address(eventful: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where a live page over many runs is, all of them one run."""
    runs = tmp_path_factory.mktemp("runs")
    for number in range(RUNS):
        shutil.copytree(eventful, runs / f"run-{number:02d}", copy_function=os.link)
    with serving(runs) as served:
        yield served.address


async def walked(page: Page, start: str, *, each: int = 1) -> AsyncIterator[str]:
    """Visit pages by the links on them, so many of each kind, and yield the path of each while it is open."""
    origin = "{0.scheme}://{0.netloc}".format(urlsplit(start))
    waiting, seen, visited = [start.removeprefix(origin) or "/"], set[str](), dict[str, int]()
    while waiting:
        path = waiting.pop(0)
        kind = next((kind for kind in KINDS if re.fullmatch(kind, path)), None)
        if path in seen or kind is None or visited.get(kind, 0) >= each:
            continue
        seen.add(path)
        visited[kind] = visited.get(kind, 0) + 1
        await page.goto(origin + path)
        yield path
        links: Sequence[str] = await page.evaluate(
            "() => [...document.links].filter((a) => a.origin === origin).map((a) => a.pathname + a.search)"
        )
        waiting += links


async def test_a_person_walks_down_by_click_and_back(address: str, open_page: OpenPage) -> None:
    page = await open_page(address)
    title = page.get_by_role("heading", level=1)
    way = page.get_by_role("navigation", name="Where you are")
    await page.get_by_role("link", name="run-00").click()
    await expect(title).to_have_text("run-00")
    await page.get_by_role("row", name="accept").first.get_by_role("link").click()
    await expect(title).to_have_text(re.compile(r"Step \d+", re.I))
    step = await title.text_content()
    await page.get_by_role("link", name="Edit 1").first.click()
    await expect(title).to_have_text(re.compile("Edit 1", re.I))
    await page.get_by_role("region", name="Tasks it came from").get_by_role("link", name="Trajectory").first.click()
    await expect(page.get_by_role("heading", name="What was said")).to_be_visible()
    await page.get_by_role("link", name="This task over the whole run").click()
    await page.get_by_role("region", name="Each time that it came up").get_by_role("link").first.click()
    await expect(page.get_by_role("heading", name="What was said")).to_be_visible()
    await page.go_back()
    await page.go_back()
    await page.go_back()
    await expect(title).to_have_text(re.compile("Edit 1", re.I))
    await way.get_by_role("link", name=step or "").click()
    await way.get_by_role("link", name="run-00").click()
    await way.get_by_role("link", name="Runs").click()
    await expect(title).to_have_text("Runs")


async def test_a_person_walks_down_by_keyboard_alone(address: str, open_page: OpenPage) -> None:
    page = await open_page(address)
    title = page.get_by_role("heading", level=1)
    await page.keyboard.press("j")
    await page.keyboard.press("j")
    await page.keyboard.press("k")
    name = await page.evaluate("() => document.activeElement.textContent")
    await page.keyboard.press("Enter")
    await expect(title).to_have_text(name)
    await page.wait_for_load_state()  # No script hears a key before it is there.
    await page.keyboard.press("j")
    await page.keyboard.press("Enter")
    await expect(title).to_have_text(re.compile(r"step \d+", re.I))
    for link in ("Edit 1", "Trajectory", "This task over the whole run"):
        await page.get_by_role("link", name=link, exact=True).first.focus()
        await page.keyboard.press("Enter")
    await expect(page.get_by_role("region", name="Each time that it came up")).to_be_visible()


async def test_tab_reaches_what_can_be_done_and_its_place_is_seen(address: str, open_page: OpenPage) -> None:
    page = await open_page(address)
    reached = await reached_by_tab(page, most=12)
    assert reached[0] == "Skip to the content"
    assert any("Show" in name for name in reached)


async def test_filters_change_the_table_and_the_address_alone(address: str, open_page: OpenPage) -> None:
    page = await open_page(address)
    await page.evaluate("() => { window.untouched = true; }")
    await page.keyboard.press("/")
    await page.keyboard.type("run-5")
    await expect(page.locator("#runs tbody tr")).to_have_count(10)
    await expect(page).to_have_url(re.compile(r"text=run-5"))
    await page.get_by_label("State").select_option("improved")
    await expect(page).to_have_url(re.compile(r"state=improved"))
    assert await page.evaluate("() => window.untouched")
    await page.reload()
    await expect(page.locator("#runs tbody tr")).to_have_count(10)
    await expect(page.get_by_label("Name holds")).to_have_value("run-5")


async def test_a_long_table_has_pages_and_back_leads_back(address: str, open_page: OpenPage) -> None:
    page = await open_page(f"{address}?sort=name")
    await expect(page.locator("#runs tbody tr")).to_have_count(50)
    await page.get_by_role("link", name="Next").click()
    await expect(page.locator("#runs tbody tr")).to_have_count(RUNS - 50)
    await page.go_back()
    await expect(page.locator("#runs tbody tr")).to_have_count(50)


async def test_tasks_are_filtered(address: str, open_page: OpenPage) -> None:
    page = await open_page(f"{address}/runs/run-00/tasks")
    every = await page.locator("#tasks tbody tr").count()
    await page.get_by_label("Split").select_option("test")
    await page.get_by_role("button", name="Show").click()
    await expect(page).to_have_url(re.compile("split=test"))
    await expect(page.get_by_role("link", name="Show all")).to_be_visible()
    assert 0 < await page.locator("#tasks tbody tr").count() < every


async def test_runs_are_compared(address: str, open_page: OpenPage) -> None:
    page = await open_page(f"{address}/compare")
    for name in ("run-01", "run-02", "run-03"):
        await page.get_by_label(name).check()
    await page.get_by_role("button", name="Compare").click()
    await expect(page.get_by_role("heading", name="Scores over steps")).to_be_visible()
    await drawn(page, "#chart-compare", "blue")


async def test_what_is_downloaded_is_the_file(address: str, eventful: Path, open_page: OpenPage) -> None:
    page = await open_page(f"{address}/runs/run-00")
    for name in ("best_skill.md", "history.json", "report.html"):
        async with page.expect_download() as expected:
            await page.get_by_role("link", name=name).click()
        download = await expected.value
        assert download.suggested_filename.endswith(name)
        content = await asyncio.to_thread(Path(await download.path()).read_bytes)
        assert content == (eventful / name).read_bytes() if name != "report.html" else content.startswith(b"<!DOCTYPE")


async def test_charts_are_drawn_and_drawn_anew_in_other_colours(address: str, open_page: OpenPage) -> None:
    page = await open_page(f"{address}/runs/run-00", colours="dark")
    for chart, colour in (("#chart-scores", "blue"), ("#chart-edits", "green"), ("#chart-spending", "orange")):
        await drawn(page, chart, colour)
    await page.emulate_media(color_scheme="light")
    await becomes(page, "getComputedStyle(document.documentElement).getPropertyValue('--blue') === '#0072b2'")
    await drawn(page, "#chart-scores", "blue")


@pytest.mark.parametrize("colours", ["light", "dark"])
async def test_nobody_is_kept_out_of_any_page(address: str, open_page: OpenPage, colours: str) -> None:
    page = await open_page(address, colours="dark" if colours == "dark" else "light")
    faults: dict[str, Sequence[str]] = {}
    visited: list[str] = []
    for start in (address, f"{address}/compare?run=run-00&run=run-01"):
        async for path in walked(page, start):
            visited.append(path)
            await page.evaluate("() => document.querySelectorAll('details').forEach((one) => { one.open = true; })")
            if found := await inaccessible(page):
                faults[path] = found
    assert faults == {}
    assert len(visited) >= len(KINDS)


async def test_no_page_is_scrolled_sideways_on_a_narrow_screen(address: str, open_page: OpenPage) -> None:
    page = await open_page(address, width=NARROW)
    faults: dict[str, Sequence[str]] = {}
    for start in (address, f"{address}/compare?run=run-00&run=run-01"):
        async for path in walked(page, start):
            await page.evaluate("() => document.querySelectorAll('details').forEach((one) => { one.open = true; })")
            if found := await wider_than_the_window(page):
                faults[path] = found
    assert faults == {}


async def test_the_list_shows_every_column_whatever_the_runs_are_called(
    eventful: Path, tmp_path: Path, open_page: OpenPage
) -> None:
    """A run that nobody named has a long name without a space."""
    shutil.copytree(eventful, tmp_path / ("skillopt_question_answering_simulated_optimizer_" + "seed_7_" * 8))
    with serving(tmp_path) as served:
        page = await open_page(served.address, width=1280, scripts=False)
        ends = await page.locator(".runs tbody td, .runs tbody th").evaluate_all(
            "(cells) => cells.map((cell) => cell.getBoundingClientRect().right)"
        )
        assert len(ends) == 8 and max(ends) <= 1280
        page = await open_page(served.address, width=NARROW, scripts=False)
        box = await page.locator(".runs tbody .badge").bounding_box()
        assert box is not None and box["x"] + box["width"] <= NARROW, "the state is seen without scrolling"


async def test_a_box_to_choose_a_run_stands_beside_its_name(address: str, open_page: OpenPage) -> None:
    page = await open_page(f"{address}/compare")
    row = page.locator(".choices label").first
    label, box = await row.bounding_box(), await row.locator("input").bounding_box()
    assert label is not None and box is not None
    assert abs((label["y"] + label["height"] / 2) - (box["y"] + box["height"] / 2)) <= 3 and label["height"] < 40


async def test_everything_is_there_without_scripts(address: str, open_page: OpenPage) -> None:
    page = await open_page(address, scripts=False)
    await page.get_by_label("Name holds").fill("run-07")
    await page.get_by_role("button", name="Show").click()
    await page.get_by_role("link", name="run-07").click()
    await page.get_by_role("row", name="accept").first.get_by_role("link").click()
    await page.get_by_role("link", name="Edit 1").first.click()
    await expect(page.get_by_role("heading", name="What it changed in the skill")).to_be_visible()


async def test_hostile_text_is_text_on_every_page(open_bench: OpenBench, open_page: OpenPage, tmp_path: Path) -> None:
    """In ids, tasks, replies, skills, edits, feedback, errors and the name of the run: nothing runs or loads."""
    run = await hostile_run(open_bench)
    runs = tmp_path / "runs"
    runs.mkdir()
    for name in (run.name, f"second {run.name}"):
        shutil.copytree(run, runs / name)
    with serving(runs) as served:
        page = await open_page(served.address, width=NARROW)
        ids = [
            (await link.get_attribute("href") or "").rpartition("/")[2]
            for link in await page.locator("#runs tbody th a").all()
        ]
        shown = 0
        faults: dict[str, object] = {}
        for start in (served.address, f"{served.address}/compare?run={ids[0]}&run={ids[1]}"):
            async for path in walked(page, start, each=3):
                await page.evaluate("() => document.querySelectorAll('details').forEach((one) => { one.open = true; })")
                if await page.locator(
                    "img, iframe, svg, [onmouseover], [onerror], [onload], a[href^='javascript:']"
                ).count():
                    faults[path] = "hostile markup is markup"
                text: str = await page.evaluate("() => document.body.innerText + document.title")
                if any(mark in text for mark in "\x1b\x07\u202e") or "1337" in text:
                    faults[path] = "characters that act"
                if found := [*await wider_than_the_window(page), *await inaccessible(page)]:
                    faults[path] = found
                shown += HOSTILE in await page.evaluate("() => document.body.textContent")
        assert faults == {}
        assert shown > 8
