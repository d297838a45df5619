"""From the list down to a trajectory by links alone: each leads to a page, and every page is fit for its readers."""

from __future__ import annotations

import re
from pathlib import Path

from tests.dashboard.conftest import open_site
from tests.support.bench import OpenBench
from tests.support.hostile import HOSTILE, hostile_run
from tests.support.walking import check_page, walk

KINDS = ("/steps/", "/edits/", "/tasks", "/task?", "/evaluation?", "/trajectory?", "/skills", "/calls", "/compare")


def kinds_of(addresses: list[str]) -> set[str]:
    return {kind for kind in KINDS for address in addresses if kind in address}


def test_every_link_leads_to_a_page_that_is_fit_to_read(eventful: Path) -> None:
    seen = list[str]()
    for address, html in walk(open_site(eventful.parent), "/", "/compare", "/runs/run/calls?page=2", most=160):
        check_page(address, html)
        seen.append(address)
    assert kinds_of(seen) == set(KINDS)


async def test_hostile_text_stays_text_all_the_way_down(open_bench: OpenBench) -> None:
    """In ids, skills, replies, reasons, guidance, errors and the directory's name."""
    run = await hostile_run(open_bench)
    seen, whole = list[str](), set[str]()
    for address, html in walk(open_site(run.parent), "/", most=160):
        page = check_page(address, html)
        tags = {one.tag for one in page.elements}
        assert not tags & {"img", "svg", "iframe", "object", "embed", "textarea", "base"}, address
        assert page.others == (), "no comment and no instruction"
        assert "1337" not in page.text, "no text of a run is read as a template"
        for one in page.named("script"):
            assert re.fullmatch(r"/static/[\w.-]+", one.attributes.get("src") or "/static/numbers"), address
        seen.append(address)
        whole.update(kind for kind in KINDS if kind in address and HOSTILE in page.text)
    assert {"/steps/", "/edits/", "/task?", "/evaluation?", "/trajectory?", "/skills"} <= whole
