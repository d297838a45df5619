"""The live page in a real browser: walked by keyboard and by click, readable by all, and deaf to hostile text."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.dashboard.serving import serving
from playwright.async_api import expect
from tests.support.browser import OpenPage, inaccessible

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.fixture(scope="module")
def address(eventful: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where a live page over two runs is."""
    runs = tmp_path_factory.mktemp("runs")
    for name in ("first", "second"):
        shutil.copytree(eventful, runs / name)
    with serving(runs) as served:
        yield served.address


async def test_list_leads_to_a_run_by_click_and_back(address: str, open_page: OpenPage) -> None:
    page = await open_page(address)
    await page.get_by_role("link", name="first").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("first")
    await page.get_by_role("navigation", name="Where you are").get_by_role("link", name="Runs").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Runs")


@pytest.mark.parametrize("colours", ["light", "dark"])
async def test_nobody_is_kept_out(address: str, open_page: OpenPage, colours: str) -> None:
    page = await open_page(address, colours="dark" if colours == "dark" else "light")
    assert await inaccessible(page) == []
    await page.goto(f"{address}/runs/first")
    assert await inaccessible(page) == []
