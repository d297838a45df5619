"""Walking through the live page by its links, and what every page of it must have."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from starlette.testclient import TestClient
from tests.support.markup import Page, parsed


def walk(browser: TestClient, *starts: str, most: int) -> Iterator[tuple[str, str]]:
    """Yield the addresses and the texts of pages that links lead to, each once, first those that stand nearest.

    Every link has to lead to a page; what is to be downloaded is left out.
    """
    waiting, seen = list(starts), set(starts)
    for _ in range(most):
        if not waiting:
            return
        address = waiting.pop(0)
        answer = browser.get(address)
        assert answer.status_code == 200, f"{address}: {answer.status_code}"
        if not answer.headers["content-type"].startswith("text/html"):
            continue
        yield address, answer.text
        anchors = [one.attributes for one in parsed(answer.text).named("a") if "download" not in one.attributes]
        found = [attributes.get("href") or "" for attributes in anchors]
        fresh = [link for link in dict.fromkeys(found) if link.startswith("/") and link not in seen]
        seen.update(fresh)
        waiting += fresh


def check_page(address: str, html: str) -> Page:
    """Return a page; raises AssertionError where it lacks what readers need, or holds what may not be there."""
    page = parsed(html)
    assert len(page.named("h1")) == 1 and len(page.named("title")) == 1 and len(page.named("main")) == 1, address
    assert page.named("title")[0].text.startswith(page.named("h1")[0].text[:40]), address
    levels = [int(one.tag[1]) for one in page.elements if re.fullmatch(r"h[1-6]", one.tag)]
    assert all(after <= before + 1 for before, after in pairwise(levels)), (address, levels)
    ids = [one.attributes["id"] for one in page.elements if "id" in one.attributes]
    assert len(ids) == len(set(ids)), (address, ids)
    for one in page.elements:
        named = (one.attributes.get("aria-labelledby") or "").split()
        assert set(named) <= set(ids), (address, named)
        assert "style" not in one.attributes and one.tag != "style", f"{address}: {one}"
        assert not [name for name in one.attributes if name.startswith("on")], f"{address}: {one}"
        if one.tag == "a":
            assert re.match(r"[/#]", one.attributes.get("href") or "x"), f"{address}: {one}"
            assert not (one.attributes.get("href") or "").startswith("//"), f"{address}: {one}"
        if one.tag == "script" and "src" not in one.attributes:
            assert one.attributes.get("type") == "application/json", f"{address}: {one}"
    assert len(page.named("caption")) == len(page.named("table")), address
    controls = [one for tag in ("select", "input") for one in page.named(tag) if one.attributes.get("type") != "hidden"]
    assert len(page.named("label")) >= len(controls), address
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", html), f"{address}: a control character"
    return page
