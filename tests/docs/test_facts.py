"""What the pages claim, compared with the code."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from urllib.parse import unquote

import pytest
from tests.docs.pages import PAGES, ROOT
from tests.support.commands import write_tiny_run
from tests.support.runs import read_json

from skillopt.cli.main import run
from skillopt.config.dump import flattened
from skillopt.config.env_settings import EnvSettings
from skillopt.config.load import load_config
from skillopt.evaluation.statistics import two_sided_p_value
from skillopt.learning_rate import edit_budget
from skillopt.run.identity import identity
from skillopt.run.setup import prepare
from skillopt.skill.document import PROTECTED_SECTIONS
from skillopt.types import Action, EditOperation, EditState


def words_in_code(page: str) -> set[str]:
    """What a page sets in backticks."""
    return set(re.findall(r"`([^`\n]+)`", PAGES[page]))


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_somewhere(page: str) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#\s]+)", PAGES[page])
    assert [target for target in targets if not (ROOT / page).parent.joinpath(unquote(target)).exists()] == []


def anchors(page: str) -> list[str]:
    """The anchors of a page's headings, as a forge makes them."""
    text = re.sub(r"^```.*?^```", "", PAGES[page], flags=re.M | re.S)
    headings = re.findall(r"^#+ (.+)$", text, re.M)
    return [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]


@pytest.mark.parametrize("page", PAGES)
def test_every_anchor_is_of_one_heading_and_every_link_within_a_page_leads_to_one(page: str) -> None:
    known = anchors(page)
    linked = re.findall(r"\]\(#([^)\s]+)\)", PAGES[page])
    assert [anchor for anchor in linked if known.count(anchor) != 1] == []


@pytest.mark.parametrize("page", ["docs/run_directory.md", "docs/configuration.md"])
def test_the_contents_of_a_long_page_are_linked_at_its_beginning(page: str) -> None:
    second = re.findall(r"^## (.+)$", re.sub(r"^```.*?^```", "", PAGES[page], flags=re.M | re.S), re.M)
    (told,) = re.findall(r"^On this page: .*?\n\n", PAGES[page], re.M | re.S)
    named = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in second} - {"all-settings"}
    assert set(re.findall(r"\(#([^)]+)\)", told)) == named


def test_every_page_is_found_from_the_readme() -> None:
    assert [page for page in PAGES if page.startswith("docs/") and f"({page})" not in PAGES["README.md"]] == []


def test_the_map_names_modules_that_exist() -> None:
    named = {word for word in words_in_code("docs/deep_learning_map.md") if word.endswith(".py")}
    assert len(named) > 20
    assert [name for name in named if not (ROOT / "src" / "skillopt" / name).is_file()] == []


def test_the_map_and_the_loop_name_every_stage() -> None:
    for stage in sorted(path.stem for path in (ROOT / "src" / "skillopt" / "step").glob("*.py")):
        if stage in ("rollout", "reflect", "aggregate", "select", "update", "gate"):
            assert f"step/{stage}.py" in PAGES["docs/deep_learning_map.md"]
            assert f". {stage.capitalize()}\n" in PAGES["docs/training_loop.md"]
    for stage in ("slow_update", "meta_skill"):
        assert f"epoch/{stage}.py" in PAGES["docs/deep_learning_map.md"]
        assert f"## {stage.replace('_', ' ').capitalize()}\n" in PAGES["docs/training_loop.md"]


def test_every_action_edit_and_state_is_explained() -> None:
    """F57: the page says every end that an edit can have."""
    assert {action.value for action in Action} <= words_in_code("docs/training_loop.md")
    skill_document = words_in_code("docs/skill_document.md")
    assert {state.value for state in EditState} | {operation.value for operation in EditOperation} <= skill_document
    assert all(f"<!-- {name}_{end} -->" in skill_document for name in PROTECTED_SECTIONS for end in ("START", "END"))


def test_the_schedule_of_the_page_is_that_of_the_code() -> None:
    """F68"""
    (told,) = re.findall(r"From 4 to 2 over four steps both decays give ([\d, ]+)\.", PAGES["docs/training_loop.md"])
    for scheduler in ("linear", "cosine"):
        steps = [edit_budget(scheduler, step, total_steps=4, maximum=4, minimum=2) for step in range(1, 5)]
        assert ", ".join(map(str, steps)) == told


def test_the_chances_of_the_page_are_those_of_the_test() -> None:
    rows = re.findall(r"^\| (\d+) \| (\d+) \| (0\.\d+) \|$", PAGES["docs/writing_skills_and_tasks.md"], re.M)
    assert len(rows) == 4
    assert all(f"{two_sided_p_value(int(better), int(worse)):.4f}" == told for better, worse, told in rows)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The configuration of a finished training of two epochs of one step."""
    settings = {"train__seed": 1, "train__num_epochs": 2, "optimizer__slow_update_samples": 1}
    settings["optimizer__learning_rate"] = 1
    config = write_tiny_run(tmp_path_factory.mktemp("tiny"), **settings, report__picture=True, trackers__tensorboard={})
    assert run(["train", str(config)]) == 0
    return config


def test_the_page_of_the_run_directory_names_every_field_of_the_history(tiny: Path) -> None:
    records = read_json(tiny.parent / "run" / "history.json")
    fields = {name for record in records for name in record}
    named = set(re.findall(r"\w+", " ".join(re.findall(r"^\| (`.*?) \|", PAGES["docs/run_directory.md"], re.M))))
    assert fields - named == set()


def fields_told(section: str) -> set[str]:
    """The fields in the tables of one part of the page of the run directory."""
    text = PAGES["docs/run_directory.md"].partition(f"\n{section}\n")[2]
    text = re.split(r"\n## |\n`[\w.]+`(?:, one row a task)?:\n|\nA patch, ", text)[0]
    return set(re.findall(r"\w+", " ".join(re.findall(r"^\| (`.*?) \|", text, re.M))))


def test_the_page_of_the_run_directory_names_every_field_of_the_other_files(tiny: Path) -> None:
    run_directory = tiny.parent / "run"
    assert read_json(run_directory / "summary.json").keys() == fields_told("## summary.json")
    rows = read_json(run_directory / "selection_eval_baseline" / "results.json")
    assert {name for row in rows for name in row} | {"criteria", "failure"} == fields_told(
        "`results.json`, one row a task:"
    )
    (patch, *_) = (run_directory / "steps").rglob("patch_*.json")
    (heading,) = re.findall(r"^A patch, .*:$", PAGES["docs/run_directory.md"], re.M)
    assert read_json(patch).keys() == fields_told(heading)
    assert read_json(run_directory / "split_manifest.json").keys() == fields_told("`split_manifest.json`:")


def test_the_files_that_the_pages_name_are_those_of_a_run(tiny: Path) -> None:
    directory = tiny.parent / "run"
    cells = re.findall(r"^\| (`[^|]*`) \|", PAGES["docs/run_directory.md"].partition("## Going on")[0], re.M)
    named = [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]
    numbers = {"step_NNNN": "step_0001", "vNNNN": "v0001", "epoch_EE": "epoch_02"}
    named = [re.sub("|".join(numbers), lambda found: numbers[found[0]], name) for name in named]
    assert [name for name in named if not (directory / name).exists()] == []
    for path in directory.iterdir():
        assert any(name.split("/")[0] == path.name for name in named), path.name
    (listed,) = re.findall(r"## What a run leaves\n\n```text\n(.*?)```", PAGES["README.md"], re.S)
    names = [line.split()[0].replace("NNNN", "0001") for line in listed.splitlines()]
    assert [name for name in names if not (directory / name).exists()] == []


def test_the_settings_that_may_differ_are_those_that_the_page_names(tiny: Path) -> None:
    """F87: everything else on an existing run is refused."""
    loaded = load_config(tiny, ["model.target.price={input: 1, output: 2}"])
    compared = identity(prepare(loaded))
    own = loaded.config.env.model_extra or {}
    neutral = {key for key in flattened(loaded.config) if ".".join(key) not in compared and not own.keys() & key[1:2]}
    named = words_in_code("docs/run_directory.md")
    where_files_lie = {"name", "data_path", "split_dir", "skill_init", "acceptance"}
    told = {key for key in neutral if {".".join(key), key[0]} & named or (key[0] == "model" and key[2] in named)}
    assert {key[1] for key in neutral - told} <= where_files_lie


def test_the_ratio_of_the_page_is_the_default() -> None:
    assert f"`{EnvSettings().split_ratio}` by default" in PAGES["docs/writing_skills_and_tasks.md"]


def test_the_readme_lists_every_extra_and_says_where_it_is_installed() -> None:
    """By its name alone, in an environment without this one, pip would fetch what the index has under it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    (section,) = re.findall(r"## Extras\n(.*?)\n## ", PAGES["README.md"], re.S)
    listed = re.findall(r"^\| `(\w+)` \|", section, re.M)
    assert {*listed, "local"} == set(project["optional-dependencies"]), "what make installs is no extra to add"
    assert "source .venv/bin/activate" in section and "/path/to/clone[" in section
    bare = [name for name, page in PAGES.items() if name != "README.md" and 'pip install "skillopt' in page]
    assert bare == [], "they link to that section"
