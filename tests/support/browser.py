"""The system's Chromium, and pages in it that must behave: one browser a session, and a watch over every page.

A page fails its test by an error in its console, an error in its scripts, a violation of its security policy, a dialog,
or a request to anything but the host that the test names.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol
from urllib.parse import urlsplit

import pytest
import pytest_asyncio
from playwright.async_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Dialog,
    Page,
    Request,
    WebError,
    async_playwright,
    expect,
)

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
WIDE, NARROW = 1280, 360
"""CSS pixels across a laptop's window and a small telephone."""

PATIENCE = 60_000
"""Milliseconds after which a condition counts as one that never comes: no test waits for as long as that."""

_TELL_OF_VIOLATIONS = """
addEventListener("securitypolicyviolation", (event) => {
  tellOfViolation(`${event.effectiveDirective} refused ${event.blockedURI} ${event.sample}`);
});
"""

_COLOURS = """
(canvas) => {
  const { width, height } = canvas;
  if (!width || !height) return 0;
  const data = new Uint32Array(canvas.getContext("2d").getImageData(0, 0, width, height).data.buffer);
  return new Set(data).size;
}
"""

_ACCESSIBILITY = Path(__file__).with_name("accessibility.js")

_CONTROLS = frozenset(
    {"button", "checkbox", "combobox", "link", "menuitem", "radio", "searchbox", "spinbutton", "switch", "textbox"}
    | {"DisclosureTriangle"}
)


def chromium() -> str | None:
    """Return the path of the system's Chromium, None where there is none."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@dataclass
class Watch:
    """What went wrong in a context of the browser.

    Attributes:
        host: The one network location, `host:port`, that may be asked; "" for none: the page is a file.
        faults: What went wrong, in words.
        requests: Every address that was asked, but those inside the page (`data:`, `blob:`).
        expected: What the test expects to go wrong: patterns that a fault may match.
    """

    host: str
    faults: list[str] = field(default_factory=list[str])
    requests: list[str] = field(default_factory=list[str])
    expected: list[str] = field(default_factory=list[str])

    async def over(self, context: BrowserContext) -> None:
        """Watch all pages of a context."""
        context.on("console", self._hear)
        context.on("weberror", self._fail)
        context.on("dialog", self._answer)
        context.on("request", self._see)
        await context.expose_function("tellOfViolation", lambda told: self.faults.append(f"policy: {told}"))
        await context.add_init_script(_TELL_OF_VIOLATIONS)

    def unexpected(self) -> list[str]:
        """Return what went wrong and was not expected to."""
        return [fault for fault in self.faults if not any(re.search(pattern, fault) for pattern in self.expected)]

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning", "assert"):
            self.faults.append(f"console: {message.text} ({message.location.get('url', '')})")

    def _fail(self, error: WebError) -> None:
        self.faults.append(f"page error: {error.error}")

    async def _answer(self, dialog: Dialog) -> None:
        self.faults.append(f"dialog: {dialog.message}")
        await dialog.dismiss()

    def _see(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme in ("data", "blob"):
            return
        self.requests.append(request.url)
        if not (parts.netloc == self.host and parts.scheme == ("http" if self.host else "file")):
            self.faults.append(f"a request to another host: {request.url}")


class OpenPage(Protocol):
    """Opens pages; see `open_page`."""

    async def __call__(
        self,
        address: str,
        *,
        width: int = WIDE,
        colours: Literal["light", "dark"] = "light",
        scripts: bool = True,
    ) -> Page: ...


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """One Chromium for all tests of a session; they are left out where the system has none."""
    expect.set_options(timeout=PATIENCE)
    async with async_playwright() as playwright:
        path = chromium() or shutil.which(playwright.chromium.executable_path)
        if path is None:
            pytest.skip("no Chromium on the PATH: apt-get install chromium, or playwright install chromium")
        async with await playwright.chromium.launch(executable_path=path, args=ARGUMENTS) as one:
            yield one


@pytest_asyncio.fixture(loop_scope="session")
async def open_page(browser: Browser) -> AsyncIterator[OpenPage]:
    """Open pages at an address, each as a visitor of its own; the test fails where one of them misbehaves.

    `width` is in CSS pixels; `colours` is what the visitor's system prefers; `scripts` says whether any may run.
    """
    watches: list[Watch] = []
    async with AsyncExitStack() as stack:

        async def open_one(
            address: str,
            *,
            width: int = WIDE,
            colours: Literal["light", "dark"] = "light",
            scripts: bool = True,
        ) -> Page:
            context = await stack.enter_async_context(
                await browser.new_context(
                    viewport={"width": width, "height": 800},
                    color_scheme=colours,
                    java_script_enabled=scripts,
                    reduced_motion="reduce",
                )
            )
            context.set_default_timeout(PATIENCE)
            watch = Watch(urlsplit(address).netloc)
            await watch.over(context)
            watches.append(watch)
            page = await context.new_page()
            vars(page)["watch"] = watch
            await page.goto(address)
            return page

        yield open_one
    assert [fault for watch in watches for fault in watch.unexpected()] == []


def watch_of(page: Page) -> Watch:
    """Return the watch over a page that `open_page` opened."""
    return vars(page)["watch"]


async def becomes(page: Page, condition: str) -> None:
    """Wait until a condition in JavaScript holds; playwright's own way needs `eval`, which our policies refuse."""
    looking = f"const look = () => ({condition}) ? done() : requestAnimationFrame(look); look();"
    await page.evaluate(f"() => new Promise((done) => {{ {looking} }})")


async def colours_drawn(page: Page, selector: str) -> int:
    """Return how many colours the canvas inside an element shows: one where it is blank, none where there is none."""
    canvas = page.locator(f"{selector} canvas")
    return await canvas.evaluate(_COLOURS) if await canvas.count() else 0


async def wider_than_the_window(page: Page) -> Sequence[str]:
    """Return what makes the page scroll sideways: nothing, where nothing does."""
    return await page.evaluate(
        """() => {
          const root = document.documentElement;
          if (root.scrollWidth <= root.clientWidth) return [];
          const wide = [...document.querySelectorAll("body *")].filter(
            (one) => one.getBoundingClientRect().right > root.clientWidth + 1 && !one.closest(".scroll"));
          return wide.length ? wide.slice(0, 10).map((one) => one.outerHTML.slice(0, 200)) : ["the page"];
        }"""
    )


async def inaccessible(page: Page) -> Sequence[str]:
    """Return what keeps people from the page, in words.

    Looked at are its language, title, landmarks, headings, references, tables, what scrolls, the contrast of every text
    that can be seen (WCAG 2.2, 1.4.3: 4.5 to 1, or 3 to 1 for large text), and the name of every control as Chromium's
    own accessibility tree has it.
    """
    faults: list[str] = list(await page.evaluate(_ACCESSIBILITY.read_text("utf-8")))
    session = await page.context.new_cdp_session(page)
    tree: dict[str, Any] = await session.send("Accessibility.getFullAXTree")
    await session.detach()
    for node in tree["nodes"]:
        role = node.get("role", {}).get("value", "")
        if role in _CONTROLS and not node.get("ignored") and not node.get("name", {}).get("value", "").strip():
            faults.append(f"a {role} without a name")
    return faults


async def reached_by_tab(page: Page, *, most: int = 200) -> Sequence[str]:
    """Return the text of each element that the Tab key reaches, in order, and fail on one whose focus is not seen."""
    reached: list[str] = []
    for _ in range(most):
        await page.keyboard.press("Tab")
        found: tuple[str, bool] | None = await page.evaluate(
            """() => {
              const one = document.activeElement;
              if (!one || one === document.body) return null;
              const style = getComputedStyle(one);
              const seen = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
              return [(one.textContent.trim() || one.getAttribute("aria-label") || one.name || one.tagName), seen];
            }"""
        )
        if found is None:
            break
        text, seen = found
        assert seen, f"the focus on {text!r} is not seen"
        reached.append(text)
    return reached
