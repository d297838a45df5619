"""Style sheets and scripts: files of the package alone, and the vendored ones as they were published."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest
from tests.dashboard.conftest import Visit

from skillopt.dashboard import static_files as module

PACKAGE = Path(module.__file__).parent


@pytest.mark.parametrize(
    ("name", "kind"),
    [("htmx.min.js", "text/javascript"), ("report.css", "text/css"), ("uPlot.iife.min.js", "text/javascript"),
     ("icon.svg", "image/svg+xml")],
)  # fmt: skip
def test_a_file_is_sent_with_its_type_and_once(runs: Path, visit: Visit, name: str, kind: str) -> None:
    page = visit(runs)
    answer = page.get(f"/static/{name}")
    assert answer.headers["content-type"].split(";")[0] == kind
    again = page.get(f"/static/{name}", headers={"if-none-match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize("name", ["app.py", "..%2Fapp.py", "%2Fetc%2Fpasswd", "HTMX.min.js", "htmx.min.js%00"])
def test_nothing_else_is_sent(runs: Path, visit: Visit, name: str) -> None:
    assert visit(runs).get(f"/static/{name}").status_code == 404


def test_every_page_names_files_that_are_there(runs: Path, visit: Visit) -> None:
    page = visit(runs)
    for path in ("/", "/runs/first~run", "/nowhere"):
        named = re.findall(r'(?:src|href)="(/static/[^"]+)"', page.get(path).text)
        assert named
        assert {page.get(name).status_code for name in named} == {200}


def test_the_vendored_files_are_those_that_the_table_names() -> None:
    table = (PACKAGE / "vendored/README.md").read_text("utf-8")
    rows = re.findall(r"\| `([\w.-]+)` \|.*\| (\d+\.\d+\.\d+) \|.*`([0-9a-f]{64})`", table)
    assert {name for name, _, _ in rows} == {path.name for path in (PACKAGE / "vendored").glob("*.js")}
    for name, _, digest in rows:
        assert hashlib.sha256((PACKAGE / "vendored" / name).read_bytes()).hexdigest() == digest
    assert "Zero-Clause BSD" in (PACKAGE / "vendored/htmx.LICENSE.txt").read_text("utf-8")
    (version,) = {version for _, version, _ in rows}
    assert f'"{version}"' in (PACKAGE / "vendored/htmx.min.js").read_text("utf-8")


def test_pages_need_no_network() -> None:
    for path in [*(PACKAGE / "templates").glob("*"), *(PACKAGE / "static").glob("*.[cj]s*")]:
        assert not re.search(r"https?:|//[a-z]+\.", path.read_text("utf-8")), path
