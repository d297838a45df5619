"""From the list down to a trajectory by links alone: each leads to a page, and every page is fit for its readers."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from tests.dashboard.conftest import open_site
from tests.support.bench import OpenBench
from tests.support.hostile import HOSTILE, hostile_run
from tests.support.walking import check_page, walk

from skillopt.report.run_files import RunFiles

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


PAGES = (
    "steps/1", "steps/1/edits/1", "tasks", "task?id=simulated-0027", "evaluation?of=steps/step_0001/rollout", "skills",
    "trajectory?of=test_eval&task=simulated-0030", "calls",
)  # fmt: skip


def test_a_run_that_has_only_begun_says_so_in_words_on_every_page(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "events.jsonl").write_text("", "utf-8")
    browser = open_site(tmp_path)
    for path in PAGES:
        answer = browser.get(f"/runs/new/{path}")
        assert answer.status_code in (200, 404), path
        check_page(path, answer.text)


@pytest.mark.parametrize(
    ("file", "hurt"),
    [
        ("history.json", {"steps/1", "steps/1/edits/1", "tasks", "task?id=simulated-0027", "skills"}),
        ("split_manifest.json", {"tasks", "task?id=simulated-0027"}),
        ("steps/step_0001/edit_apply_report.json", {"steps/1", "steps/1/edits/1"}),
        ("steps/step_0001/rollout/results.json", {"steps/1", "steps/1/edits/1", "tasks", "task?id=simulated-0027",
                                                  "evaluation?of=steps/step_0001/rollout"}),
        ("best_skill.md", {"skills"}),
        ("evidence.sqlite", {"calls"}),
    ],
)  # fmt: skip
def test_a_damaged_file_is_named_where_it_is_needed_and_hurts_no_other_page(
    eventful: Path, tmp_path: Path, file: str, hurt: set[str]
) -> None:
    """F16."""
    copy = shutil.copytree(eventful, tmp_path / "copy")
    (copy / file).write_bytes(b'[{"id": "cut \xff')
    browser, found = open_site(tmp_path), set[str]()
    for path in PAGES:
        answer = browser.get(f"/runs/copy/{path}")
        page = check_page(path, answer.text)
        if answer.status_code == 500:
            assert Path(file).name in page.text and "Traceback" not in page.text
            found.add(path)
    assert found == hurt


def test_a_file_behind_a_link_that_leads_out_of_the_run_is_not_read(eventful: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(eventful, tmp_path / "runs" / "copy")
    (tmp_path / "secret.md").write_text("a secret", "utf-8")
    rows = copy / "test_eval" / "trajectories"
    for page in rows.iterdir():
        page.unlink()
        page.symlink_to(tmp_path / "secret.md")
    (copy / "best_skill.md").unlink()
    (copy / "best_skill.md").symlink_to(tmp_path / "secret.md")
    browser = open_site(tmp_path / "runs")
    task = next(iter(RunFiles(eventful).rollouts("test_eval"))).id
    for path in (f"trajectory?of=test_eval&task={task}", "skills"):
        answer = browser.get(f"/runs/copy/{path}")
        assert answer.status_code == 500
        assert "lies outside of the run directory" in answer.text and "a secret" not in answer.text
