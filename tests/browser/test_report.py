"""The page of a run in a real browser: drawn, reached by keyboard, readable by all, and deaf to hostile text."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Page, expect
from tests.support.bench import OpenBench
from tests.support.browser import (
    NARROW,
    OpenPage,
    becomes,
    drawn,
    inaccessible,
    reached_by_tab,
    watch_of,
    wider_than_the_window,
)
from tests.support.hostile import ESCAPES, HOSTILE, hostile_run

from skillopt.report.html import render
from skillopt.report.page import report_page
from skillopt.report.run_files import RunFiles
from skillopt.text_files import plain

pytestmark = pytest.mark.asyncio(loop_scope="session")

CHARTS = (("#chart-scores", "blue"), ("#chart-edits", "green"), ("#chart-spending", "orange"))
"""Each with the colour of a line or bar in it."""


def written(run: Path, directory: Path) -> str:
    """Write the page of a run and return its address."""
    path = directory / "report.html"
    path.write_text(render(report_page(RunFiles(run))), "utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def report(eventful: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of the page of a run in which much happens."""
    return written(eventful, tmp_path_factory.mktemp("report"))


async def open_all_details(page: Page) -> None:
    await page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")


async def test_it_opens_from_a_file_and_asks_for_nothing_else(report: str, open_page: OpenPage) -> None:
    page = await open_page(report)
    await expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert watch_of(page).requests == [report]


async def test_the_charts_are_drawn_and_drawn_anew_when_the_window_or_the_colours_change(
    report: str, open_page: OpenPage
) -> None:
    page = await open_page(report)
    for chart, colour in CHARTS:
        await drawn(page, chart, colour)
    picture = "document.querySelector('#chart-scores canvas').toDataURL()"
    before = await page.evaluate(picture)
    await page.emulate_media(color_scheme="dark")
    await becomes(page, f"{picture} !== '{before}'")
    await page.set_viewport_size({"width": NARROW, "height": 800})
    await becomes(page, "document.documentElement.scrollWidth <= innerWidth")
    await drawn(page, "#chart-scores", "blue")


async def test_the_numbers_under_the_pointer_are_those_of_the_table(report: str, open_page: OpenPage) -> None:
    page = await open_page(report)
    await page.locator("#chart-scores .u-over").hover()
    current = page.locator("#chart-scores .u-series", has_text="current").locator(".u-value")
    step = await page.locator("#chart-scores .u-series", has_text="step").locator(".u-value").text_content()
    assert step and step.isdecimal()
    row = page.locator("#charts table tbody tr", has=page.locator(f"th:text-is('{step}')"))
    await expect(row.locator("td").nth(3)).to_have_text((await current.text_content()) or "")


async def test_the_last_steps_numbers_stand_below_a_chart_that_nothing_points_at(
    report: str, open_page: OpenPage
) -> None:
    page = await open_page(report)
    last = page.locator("#charts table tbody tr").last
    current = page.locator("#chart-scores .u-series", has_text="current").locator(".u-value")
    await expect(current).to_have_text((await last.locator("td").nth(3).text_content()) or "")
    await page.locator("#chart-scores .u-over").hover(position={"x": 1, "y": 5})
    step = page.locator("#chart-scores .u-series", has_text="step").locator(".u-value")
    await expect(step).to_have_text("0")
    await page.mouse.move(0, 0)
    await expect(step).to_have_text((await last.locator("th").text_content()) or "")


async def test_a_step_opens_by_keyboard_and_by_its_link(report: str, open_page: OpenPage) -> None:
    page = await open_page(report)
    await expect(page.locator("#step-1")).not_to_have_attribute("open", "")
    await page.locator("#steps tbody a").first.focus()
    await page.keyboard.press("Enter")
    await expect(page.locator("#step-1")).to_have_attribute("open", "")
    await page.locator("#step-2 > summary").focus()
    await page.keyboard.press("Space")
    await expect(page.locator("#step-2")).to_have_attribute("open", "")
    await expect(page.locator("#step-2 table.edits").first).to_be_visible()


async def test_the_keyboard_reaches_every_link_in_order_and_its_place_is_seen(report: str, open_page: OpenPage) -> None:
    page = await open_page(report)
    reached = await reached_by_tab(page)
    assert reached[0] == "Skip to the result"
    assert [name for name in reached if name in ("At a glance", "Charts", "Steps", "Spending", "Run card")]
    assert reached.index("Charts") < reached.index("Run card")
    assert any(name.startswith("Step 1") for name in reached)


@pytest.mark.parametrize("colours", ["light", "dark"])
async def test_nobody_is_kept_out(report: str, open_page: OpenPage, colours: str) -> None:
    page = await open_page(report, colours="dark" if colours == "dark" else "light")
    await open_all_details(page)
    assert await inaccessible(page) == []


async def test_dark_and_light_differ(report: str, open_page: OpenPage) -> None:
    backs = [
        await (await open_page(report, colours=colours)).evaluate("getComputedStyle(document.body).backgroundColor")
        for colours in ("light", "dark")
    ]
    assert backs[0] != backs[1]


async def test_a_narrow_screen_is_not_scrolled_sideways(report: str, open_page: OpenPage) -> None:
    page = await open_page(report, width=NARROW)
    await open_all_details(page)
    assert await wider_than_the_window(page) == []


async def test_without_scripts_everything_but_the_charts_is_there(report: str, open_page: OpenPage) -> None:
    page = await open_page(report, scripts=False)
    await expect(page.locator("#charts table")).to_have_count(1)
    await page.locator("#step-1 > summary").click()
    await expect(page.locator("#step-1 table.edits").first).to_be_visible()


async def test_hostile_text_is_text(open_bench: OpenBench, open_page: OpenPage, tmp_path: Path) -> None:
    """In ids, tasks, replies, skills, edits, feedback, errors and the name of the run: nothing runs or loads."""
    run = await hostile_run(open_bench)
    page = await open_page(written(run, tmp_path), width=NARROW)
    await open_all_details(page)
    await expect(page.get_by_role("heading", level=1)).to_have_text(run.name)
    assert await page.locator("img, iframe, svg, [onmouseover], [onerror], a[href^='javascript:']").count() == 0
    text = await page.evaluate("document.body.textContent")
    assert HOSTILE in text
    assert plain(ESCAPES) in text and not any(mark in text for mark in "\x1b\x07\u202e")
    await page.get_by_text("onmouseover").first.hover()
    assert await inaccessible(page) == []
    assert await wider_than_the_window(page) == []
