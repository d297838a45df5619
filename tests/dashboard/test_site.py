"""What every handler works with."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request

from skillopt.dashboard.catalogue import Catalogue
from skillopt.dashboard.site import run_crumbs, site_over


def asked(run: str) -> Request:
    return Request({"type": "http", "path_params": {"run": run}, "headers": []})


def test_a_run_is_found_by_its_id_alone(runs: Path) -> None:
    site = site_over(Catalogue(runs))
    assert site.entry(asked("first~run")).name == "first/run"
    for wrong in ("first/run", "..", "", "first~run/", "FIRST~RUN"):
        with pytest.raises(HTTPException, match="no such run"):
            site.entry(asked(wrong))


def test_the_way_to_a_page_begins_at_the_list(runs: Path) -> None:
    entry = site_over(Catalogue(runs)).entry(asked("first~run"))
    assert [(crumb.title, crumb.url) for crumb in run_crumbs(entry)] == [
        ("Runs", "/"),
        ("first/run", "/runs/first~run"),
    ]
