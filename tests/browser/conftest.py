"""What the tests in the browser share: pages that are watched."""

from __future__ import annotations

from tests.support.browser import browser, open_page

__all__ = ["browser", "open_page"]
