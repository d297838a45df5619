"""The live page while a training goes on: it changes without a reload, says of a kill, and follows the next start."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.dashboard.serving import serving
from playwright.async_api import Page, Route, expect
from tests.support.browser import OpenPage, becomes, drawn, inaccessible, watch_of
from tests.support.trainings import held_training

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def keep_in_sight(page: Page) -> None:
    """Leave a mark that a reload would take away."""
    await page.evaluate("() => { window.untouched = true; }")


async def assert_not_reloaded(page: Page) -> None:
    assert await page.evaluate("() => window.untouched"), "the page was loaded anew"


def stage(page: Page, name: str):
    return page.locator("#live .stages li", has=page.locator(f".name:text-is('{name}')"))


async def test_a_training_is_followed_through_a_kill_to_its_end(tmp_path: Path, open_page: OpenPage) -> None:
    (tmp_path / "runs").mkdir()
    with serving(tmp_path / "runs") as served:
        page = await open_page(served.address)
        await keep_in_sight(page)
        await expect(page.locator("#runs")).to_contain_text("There is no run")

        async with held_training(tmp_path, "house records") as training:
            training.start()
            await training.sluice.let(0)
            row = page.get_by_role("row", name="house records")
            await expect(row).to_contain_text("running")
            await expect(row).to_contain_text("0/")
            await training.committed(1)
            await expect(row).to_contain_text("1/8")
            await assert_not_reloaded(page)

            await row.get_by_role("link").click()
            await expect(page.get_by_role("heading", level=1)).to_have_text("house records")
            await keep_in_sight(page)
            await expect(stage(page, "reflect")).to_contain_text("0/")
            downloads = page.get_by_role("region", name="Downloads").get_by_role("link")
            await expect(downloads.filter(has_text="history.json")).to_have_count(1)
            await expect(downloads.filter(has_text="summary.json")).to_have_count(0)
            steps = page.get_by_role("region", name="Steps").get_by_role("link")
            await expect(steps).to_have_text(["1", "baseline"])
            await training.committed(2)
            await expect(steps).to_have_text(["2", "1", "baseline"])
            await drawn(page, "#chart-scores", "blue")
            assert await inaccessible(page) == []

            await training.kill()
            await expect(page.locator("#live")).to_contain_text("broken off")
            training.start()
            await expect(page.locator("#live .standing")).to_contain_text("running")
            await training.sluice.open()
            await training.ended()
            await expect(page.locator("#live .standing")).to_contain_text("improved")
            await expect(page.get_by_role("heading", name="What it came to")).to_be_visible()
            await expect(downloads.filter(has_text="summary.json")).to_have_count(1)
            await assert_not_reloaded(page)
        await page.context.close()


async def test_a_page_says_that_the_dashboard_is_gone_and_goes_on_when_it_is_back(
    eventful: Path, open_page: OpenPage
) -> None:
    with serving(eventful.parent) as served:
        page = await open_page(served.address)
        watch_of(page).expected += [r"net::ERR_(CONNECTION|INCOMPLETE|EMPTY)", "htmx:(sse:)?error: Failed to fetch"]
        await expect(page.locator("#offline")).to_be_hidden()
        port = served.address.rpartition(":")[2]
    await expect(page.locator("#offline")).to_be_visible()
    with serving(eventful.parent, "--port", port):
        await expect(page.locator("#offline")).to_be_hidden()
        await page.context.close()


async def test_a_stream_that_never_began_is_begun_again(eventful: Path, open_page: OpenPage) -> None:
    with serving(eventful.parent) as served:
        page = await open_page(served.address)
        watch_of(page).expected += [r"net::ERR_FAILED", "htmx:error: Failed to fetch"]
        await page.route("**/events", lambda route: route.abort(), times=1)
        await page.reload()
        await expect(page.locator("#offline")).to_be_visible()
        await expect(page.locator("#offline")).to_be_hidden()
        await page.context.close()


async def test_a_page_is_live_however_late_the_script_that_listens_comes(eventful: Path, open_page: OpenPage) -> None:
    with serving(eventful.parent) as served:
        page = await open_page(served.address)

        async def come_late(route: Route) -> None:
            await becomes(page, "window.htmx")
            await page.evaluate("() => new Promise((done) => setTimeout(done))")  # What htmx put off is over by then.
            await route.continue_()

        await page.route("**/hx-sse.min.js", come_late)
        await page.reload()
        await becomes(page, "document.getElementById('live')._htmx?.sse?.reader")
        await page.context.close()
