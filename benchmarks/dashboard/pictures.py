"""`python -m benchmarks.dashboard.pictures DIR`: every page of the live page as pictures, to be looked at.

Trains two runs over simulated models, and a third that goes on while its pictures are taken; then visits each page in
light, in dark and on a narrow screen, in the system's Chromium.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import sys
import tempfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

from playwright.async_api import Browser, Page, async_playwright, expect

from benchmarks.dashboard.serving import serving
from skillopt.api import train
from skillopt.simulation.example import write_example
from skillopt.simulation.server import SimulatedServer
from skillopt.simulation.weather import Call
from skillopt.simulation.world import World

WORLD = World(7, rules=12, tasks=120, rules_per_task=1, advice=6)
LOOKS: Sequence[tuple[str, Literal["light", "dark"], int]] = (
    ("light", "light", 1280),
    ("dark", "dark", 1280),
    ("narrow", "light", 360),
)
ENDED, OTHER, LIVE = "house-records", "house-records-fast", "in-training"
SECONDS_A_CALL = 0.4


def main(arguments: Sequence[str]) -> int:
    """Take the pictures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dashboard.pictures", description=__doc__)
    parser.add_argument("directory", type=Path, help="where the pictures go")
    directory: Path = parser.parse_args(arguments).directory
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_take(Path(folder), directory))
    return 0


async def _take(folder: Path, directory: Path) -> None:
    config = folder / "world" / "config.yaml"
    write_example(config.parent, WORLD)
    runs = folder / "runs"
    await train(config, [f"env.out_root={runs / ENDED}"])
    await train(config, [f"env.out_root={runs / OTHER}", "optimizer.learning_rate=8", "train.num_epochs=1"])
    with serving(runs) as served:
        async with _training(config, runs / LIVE), async_playwright() as playwright:
            path = shutil.which("chromium") or shutil.which("google-chrome")
            browser = await playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
            for look, colours, width in LOOKS:
                page = await _page(browser, colours, width)
                await _walk(page, served.address, directory, look)
                await page.context.close()
            await browser.close()


async def _page(browser: Browser, colours: Literal["light", "dark"], width: int) -> Page:
    context = await browser.new_context(viewport={"width": width, "height": 800}, color_scheme=colours)
    return await context.new_page()


async def _walk(page: Page, address: str, directory: Path, look: str) -> None:
    """Walk down as a person does, and take a picture of each page."""

    async def shot(name: str) -> None:
        await page.screenshot(path=directory / f"{name}-{look}.png", full_page=True)
        print(f"{name}-{look}.png: {page.url.removeprefix(address)}", flush=True)

    async def follow(pattern: str) -> None:
        await page.goto(address + (await page.locator(pattern).first.get_attribute("href") or ""))

    await page.goto(address)
    await shot("list")
    await page.goto(f"{address}/runs/{LIVE}")
    await expect(page.locator("#live")).to_contain_text("rollout")
    await shot("live")
    await page.goto(f"{address}/runs/{ENDED}")
    await shot("run")
    await page.goto(f"{address}/runs/{ENDED}/steps/1")
    await shot("step")
    await follow(f"a[href^='/runs/{ENDED}/steps/1/edits/']")
    await shot("edit")
    await page.goto(f"{address}/runs/{ENDED}/skills")
    await shot("skills")
    await page.goto(f"{address}/runs/{ENDED}/tasks")
    await shot("tasks")
    await follow(f"main tbody a[href^='/runs/{ENDED}/task?']")
    await shot("task")
    await follow("main a[href*='/trajectory?']")
    await shot("trajectory")
    await page.goto(f"{address}/compare?run={ENDED}&run={OTHER}")
    await shot("compare")
    await page.goto(f"{address}/runs/{ENDED}/epochs")
    await shot("epochs")
    await page.goto(f"{address}/runs/{ENDED}/spending")
    await shot("spending")
    await page.goto(f"{address}/runs/nothing")
    await shot("not-found")


@asynccontextmanager
async def _training(config: Path, run: Path) -> AsyncGenerator[None]:
    """Train slowly in a process of its own for the length of the block."""

    async def slowly(call: Call) -> None:
        await asyncio.sleep(SECONDS_A_CALL * (1 + call.number % 3))

    async with SimulatedServer(WORLD, delay=slowly) as server:
        words = [f"env.out_root={run}", "env.workers=4"]
        for role in ("target", "optimizer"):
            words += [f"model.{role}.name=compatible:simulated-{role}", f"model.{role}.base_url={server.base_url}"]
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "skillopt", "train", str(config), *words,
            stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        try:
            while not (run / "history.json").exists():
                await asyncio.sleep(0.5)
                assert process.returncode is None, "the training ended before it began"
            yield
        finally:
            if process.returncode is None:
                process.terminate()
            await process.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
