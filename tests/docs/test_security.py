"""SECURITY.md: every claim names a test that is there, and every setting and variable that it names exists."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "SECURITY.md").read_text("utf-8")


def test_every_claim_of_the_security_page_names_a_test_that_is_there() -> None:
    rows = [row for row in re.findall(r"^\| (.+) \|$", PAGE, re.MULTILINE) if not re.match(r"claim|---", row)]
    unproved = [row for row in rows if not re.search(r"`tests/[\w/]+\.py::test_\w+`", row)]
    named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", PAGE)
    missing = [
        f"{path}::{name}"
        for path, name in named
        if not (ROOT / path).is_file()
        or not re.search(rf"^(async )?def {name}\(", (ROOT / path).read_text("utf-8"), re.MULTILINE)
    ]
    assert len(rows) > 15
    assert unproved == []
    assert missing == []


def test_the_first_page_leads_to_the_security_page() -> None:
    assert "](SECURITY.md)" in (ROOT / "README.md").read_text("utf-8")


def test_the_links_of_the_security_page_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)]+)\)", PAGE)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
