"""From what a page shows to one HTML file: all text of a run is text, and nothing else is needed."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import re
import shutil
from itertools import pairwise
from pathlib import Path

import pytest
from tests.support.bench import OpenBench
from tests.support.hostile import HOSTILE, hostile_run
from tests.support.markup import Page, parsed

from skillopt.report import html as module
from skillopt.report.html import policy, render
from skillopt.report.page import ReportPage, report_page
from skillopt.report.run_files import RunFiles
from skillopt.wording import simulated_notice

TAGS = set(
    re.findall(
        r"\w+",
        "html head meta title style body a header h1 h2 h3 h4 p strong span nav ul li main section div table caption "
        "thead tbody tr th td details summary code pre dl dt dd figure figcaption footer script",
    )
)
ATTRIBUTES = set(
    re.findall(
        r"[\w-]+",
        "lang charset http-equiv content name class href id aria-labelledby aria-label aria-hidden role tabindex scope "
        "colspan type",
    )
)


def shown(run: Path) -> tuple[ReportPage, Page, str]:
    page = report_page(RunFiles(run))
    html = render(page)
    return page, parsed(html), html


async def test_hostile_markup_stays_text(open_bench: OpenBench) -> None:
    """In ids, skills, replies, reasons, guidance, memory, settings and the directory's name."""
    run = await hostile_run(open_bench)
    page, found, html = shown(run)
    assert {element.tag for element in found.elements} <= TAGS
    assert {name for element in found.elements for name in element.attributes} <= ATTRIBUTES
    assert found.others == (), "no comment and no instruction"
    assert [element.attributes.get("type") for element in found.named("script")] == ["application/json", None, None]
    for element in found.elements:
        for name, value in element.attributes.items():
            assert name == "content" or re.fullmatch(r"[\w #/.,:+-]*", value or ""), (element.tag, name, value)
        if element.tag == "a":
            assert re.fullmatch(r"#[\w-]+", element.attributes["href"] or "")
    assert "1337" not in found.text, "no text of a run is read as a template"
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", html), "no control character"
    assert page.name in found.text


async def test_what_is_hostile_is_shown_whole_wherever_it_came_from(open_bench: OpenBench) -> None:
    _, found, _ = shown(await hostile_run(open_bench))
    places = {
        "h1": "a<img src=x onerror=b>&amp;'\"",
        "code": f"t0 {HOSTILE}",
        "td": f"- {HOSTILE} 3",
        "pre": f"# Skill\n\n{HOSTILE}\n",
        "li": f"failure: {HOSTILE}",
    }
    for tag, text in places.items():
        assert any(text in element.text for element in found.named(tag)), tag


async def test_the_parts_that_only_some_runs_have_are_shown(open_bench: OpenBench) -> None:
    """The hostile run has what the one that goes well has not: a lost reply, a proposal that is no edit."""
    page, found, _ = shown(await hostile_run(open_bench))
    drawn = [draw for step in page.steps for draw in step.draws]
    assert any(draw.files.dropped_replies for draw in drawn)
    assert any(patch.discarded for draw in drawn for patch in draw.files.patches)
    assert page.epochs and any(epoch.slow_update for epoch in page.epochs)
    assert any("Replies that could not be read" in element.text for element in found.named("summary"))


def test_nothing_is_loaded_and_only_our_scripts_can_run(eventful: Path) -> None:
    _, found, html = shown(eventful)
    assert not {"link", "img", "iframe", "object", "form", "base"} & {element.tag for element in found.elements}
    (told,) = [meta for meta in found.named("meta") if meta.attributes.get("http-equiv")]
    allowed = told.attributes["content"] or ""
    assert allowed.startswith("default-src 'none'; ")
    assert "unsafe" not in allowed and "http" not in allowed
    for kind, elements in (("style-src", found.named("style")), ("script-src", found.named("script")[1:])):
        digests = [base64.b64encode(hashlib.sha256(element.text.encode()).digest()).decode() for element in elements]
        assert f"{kind} " + " ".join(f"'sha256-{digest}'" for digest in digests) in allowed
    assert html.index("Content-Security-Policy") < html.index("<title>") < html.index("<style>")
    assert " style=" not in html.partition("<body>")[2].partition("<script")[0], "the policy would refuse it"


def test_a_page_without_scripts_allows_none() -> None:
    assert "script-src 'none'" in policy([], [])


def test_the_page_is_the_same_bytes_for_the_same_run(eventful: Path) -> None:
    assert shown(eventful)[2] == shown(eventful)[2]


def test_the_charts_get_their_numbers(eventful: Path) -> None:
    page, found, _ = shown(eventful)
    (numbers,) = [element for element in found.named("script") if element.attributes.get("id") == "numbers"]
    assert json.loads(numbers.text) == page.charts


def test_every_table_has_a_caption_and_headings_with_their_scope(eventful: Path) -> None:
    _, _, html = shown(eventful)
    tables = re.findall(r"<table.*?</table>", html, re.S)
    assert len(tables) > 10
    for table in tables:
        inside = parsed(table)
        assert len(inside.named("caption")) == 1 and "".join(inside.named("caption")[0].texts)
        assert inside.named("th") and all(cell.attributes.get("scope") in ("col", "row") for cell in inside.named("th"))


def test_every_link_leads_to_a_part_of_the_page_and_every_name_is_there_once(eventful: Path) -> None:
    _, found, _ = shown(eventful)
    names = [element.attributes["id"] for element in found.elements if "id" in element.attributes]
    assert len(set(names)) == len(names)
    links = [(element.attributes["href"] or "")[1:] for element in found.named("a")]
    assert set(links) <= set(names) and len(links) > 10
    labels = {
        element.attributes["aria-labelledby"] for element in found.elements if "aria-labelledby" in element.attributes
    }
    assert labels <= set(names)


def test_headings_go_down_by_one_at_a_time(eventful: Path) -> None:
    _, found, _ = shown(eventful)
    levels = [int(element.tag[1]) for element in found.elements if re.fullmatch(r"h\d", element.tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_what_a_colour_says_a_word_says_too(eventful: Path) -> None:
    _, found, _ = shown(eventful)
    verdicts = [element for element in found.named("span") if "verdict" in (element.attributes.get("class") or "")]
    assert verdicts
    assert all(re.fullmatch(r"[\u2713\u2715\u00b7] [\w, ]+", element.text) for element in verdicts)


def test_simulated_numbers_are_marked(eventful: Path) -> None:
    page, found, _ = shown(eventful)
    assert page.simulated
    assert simulated_notice() in found.text
    assert "SIMULATED" not in parsed(render(dataclasses.replace(page, simulated=False))).text


def test_a_command_in_an_advice_is_set_as_one(eventful: Path) -> None:
    _, found, html = shown(eventful)
    assert "skillopt noise" in [element.text for element in found.named("code")]
    assert "`skillopt noise`" not in html


def test_long_texts_are_cut_and_say_by_how_much(eventful: Path, tmp_path: Path) -> None:
    run = shutil.copytree(eventful, tmp_path / "run")
    report = run / "steps/step_0001/edit_apply_report.json"
    rows = json.loads(report.read_text("utf-8"))
    rows[0]["content"] = "x" * 10_000
    report.write_text(json.dumps(rows), "utf-8")
    html = shown(run)[2]
    assert "x" * 4_001 not in html
    assert "... 6,000 more characters" in html


def test_a_run_of_200_steps_with_a_long_skill_is_a_few_megabytes(eventful: Path, tmp_path: Path) -> None:
    run = shutil.copytree(eventful, tmp_path / "run")
    records = json.loads((run / "history.json").read_text("utf-8"))
    skill = "".join(f"- rule {number}: {'long ' * 20}\n" for number in range(500))
    played = set(RunFiles(run).steps)
    for step in range(1, 201):
        if step not in played:
            records.append({**records[1], "step": step, "epoch": 1 + step // 50})
            shutil.copytree(run / "steps/step_0001", run / f"steps/step_{step:04d}")
        (run / f"steps/step_{step:04d}/candidate_skill.md").write_text(f"{skill}- new in {step}\n", "utf-8")
        (run / f"skills/skill_v{step:04d}.md").write_text(skill, "utf-8")
    (run / "history.json").write_text(json.dumps(records), "utf-8")
    page, found, html = shown(run)
    assert len(page.steps) == 200
    assert len(html.encode()) < 4_000_000
    assert not any("open" in element.attributes for element in found.named("details"))


def test_the_vendored_files_are_those_that_the_table_names() -> None:
    directory = Path(module.__file__).parent / "vendored"
    table = (directory / "README.md").read_text("utf-8")
    (digest,) = re.findall(r"`([0-9a-f]{64})`", table)
    source = (directory / "uPlot.iife.min.js").read_text("utf-8")
    assert hashlib.sha256(source.encode()).hexdigest() == digest
    (version,) = re.findall(r"\| (\d+\.\d+\.\d+) \|", table)
    assert f"(v{version})" in source.splitlines()[0]
    assert (directory / "uPlot.LICENSE.txt").read_text("utf-8").startswith("The MIT License")
    assert not re.search(r"</script|<!--", source, re.I), "it would end the element that it stands in"


@pytest.mark.parametrize("missing", ["summary.json", "history.json", "config.yaml", "ledger.csv", "best_skill.md"])
def test_a_run_that_lacks_a_file_still_has_a_page(eventful: Path, tmp_path: Path, missing: str) -> None:
    run = shutil.copytree(eventful, tmp_path / "run")
    (run / missing).unlink()
    assert shown(run)[1].named("h1")


def test_a_run_that_has_just_begun_has_a_page(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text("", "utf-8")
    page, found, _ = shown(tmp_path)
    assert page.charts is None
    assert found.named("script") == ()
    assert "no score yet" in found.text
