"""What the pages claim, compared with the code."""

from __future__ import annotations

import re
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
    config = write_tiny_run(tmp_path_factory.mktemp("tiny"), **settings, report__picture=True)
    assert run(["train", str(config)]) == 0
    return config


def test_the_page_of_the_run_directory_names_every_field_of_the_history(tiny: Path) -> None:
    records = read_json(tiny.parent / "run" / "history.json")
    fields = {name for record in records for name in record}
    named = set(re.findall(r"\w+", " ".join(re.findall(r"^\| (`.*?) \|", PAGES["docs/run_directory.md"], re.M))))
    assert fields - named == set()


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
