"""A run directory belongs to one run: what may differ when it goes on, and what may not."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from tests.support.engine import engine_environment
from tests.support.runs import SMALL, views, write_run

from skillopt.api import evaluate, train
from skillopt.config.describe import kind_of_field, nested_section, settings
from skillopt.config.dump import flattened
from skillopt.config.load import load_config
from skillopt.config.model_settings import PriceSettings
from skillopt.config.provenance import KeyPath
from skillopt.config.schema import Config
from skillopt.environments.question_answering import QuestionAnsweringSettings
from skillopt.errors import RunDirectoryError
from skillopt.run.evidence import EvidenceStore
from skillopt.run.identity import Difference, claim, claim_models, difference, extend, identity
from skillopt.run.models import Models
from skillopt.run.opening import open_run
from skillopt.run.schedule import MoreEpochs
from skillopt.run.setup import Setup, prepare
from skillopt.simulation.scripted import ScriptedModel
from skillopt.simulation.server import SimulatedServer
from skillopt.simulation.world import World
from skillopt.types import Failure, JsonValue, Place, Role


def set_up(directory: Path, settings: dict[str, Any] | None = None, world: World = SMALL) -> Setup:
    return prepare(load_config(write_run(directory, world, settings=settings)))


def record_something(evidence: EvidenceStore) -> None:
    evidence.put_given_up("key", Place("gate"), Failure("error", "target", "TransientModelError", "outage"))


def differences(before: Setup, after: Setup) -> str:
    """What is said when a directory of one set-up is claimed by another; "" where it is accepted."""
    with EvidenceStore(Path(":memory:")) as evidence:
        claim(evidence, before)
        record_something(evidence)
        try:
            claim(evidence, after)
        except RunDirectoryError as error:
            return str(error)
    return ""


def test_a_start_that_failed_before_its_first_call_takes_no_directory(tmp_path: Path) -> None:
    with EvidenceStore(Path(":memory:")) as evidence:
        claim(evidence, set_up(tmp_path / "a"))
        claim(evidence, set_up(tmp_path / "b", {"train.seed": 43}))
        record_something(evidence)
        with pytest.raises(RunDirectoryError, match=r"train\.seed: 43 -> 42"):
            claim(evidence, set_up(tmp_path / "c"))


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        ("train.seed", 43, "train.seed: 42 -> 43"),
        ("evaluation.gate_metric", "soft", 'evaluation.gate_metric: "hard" -> "soft"'),
        ("optimizer.learning_rate", 3, "optimizer.learning_rate: 2 -> 3"),
        ("evaluation.sel_env_num", 6, "evaluation.sel_env_num: 0 -> 6"),
        ("gradient.minibatch_size", 4, "gradient.minibatch_size: 2 -> 4"),
        ("model.target.temperature", 0.5, "model.target.temperature: null -> 0.5"),
        ("model.optimizer.name", "simulated:optimizer", 'misguided=0" -> "simulated:optimizer"'),
        ("env.scorer", "f1", 'environment.settings.scorer: "exact" -> "f1"'),
        ("env.prompt", "Q: {question}", 'environment.settings.prompt: "{question}" -> "Q: {question}"'),
    ],
)
def test_another_run_is_refused_with_old_and_new_value(tmp_path: Path, key: str, value: Any, line: str) -> None:
    """F87: another seed, metric, edit budget or selection set went on without a word."""
    said = differences(set_up(tmp_path), set_up(tmp_path, {key: value}))
    assert line in said
    assert "env.out_root" in said


SETTINGS = dict(settings(Config))
"""Every setting there is, so that one that a later version adds cannot slip through."""


def another(field: FieldInfo, value: Any) -> Any:
    """A value of a setting that is not the one it has."""
    kind = kind_of_field(field)
    if kind.choices:
        return next(choice for choice in kind.choices if choice != value)
    examples: dict[str, Any] = {
        "true or false": not value,
        "text": "other",
        "list": ("other",),
        "mapping": {"other": "x" if "str, str" in str(field.annotation) else 0.75},
        "whole number": 7,
        "number": 0.75,
    }
    assert examples[kind.words] != value
    return examples[kind.words]


def left_out(section: BaseModel, name: str) -> BaseModel:
    """A section that stands in a configuration only where something is set in it."""
    inner = nested_section(type(section).model_fields[name])
    assert inner is not None
    return PriceSettings(input=1.0, output=1.0) if inner is PriceSettings else inner()


def with_setting(setup: Setup, key: KeyPath, value: Any) -> Setup:
    """The same set-up but for one setting, whatever the others say of it."""

    def changed(section: BaseModel, path: KeyPath) -> BaseModel:
        inner = getattr(section, path[0])
        if len(path) > 1:
            value_within = changed(inner or left_out(section, path[0]), path[1:])
        return section.model_copy(update={path[0]: value if len(path) == 1 else value_within})

    config = cast("Config", changed(setup.config, key))
    return replace(setup, loaded=replace(setup.loaded, config=config))


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> Setup:
    return set_up(tmp_path_factory.mktemp("usual"))


def keys_that(*ends: Difference) -> list[KeyPath]:
    return [key for key in SETTINGS if difference(key) in ends]


def test_the_settings_that_may_differ_are_these() -> None:
    of_models = {
        f"model.{role}.{key}"
        for role in ("optimizer", "target")
        for key in ("api_key_env", "timeout", "attempts", "concurrency", "price.input", "price.cached_input",
                    "price.output")
    }  # fmt: skip
    limits = {
        f"limits.{scope}{amount}"
        for scope in ("", "target.", "optimizer.")
        for amount in ("calls", "tokens", "dollars", "minutes")
    }
    trackers = {".".join(key) for key in SETTINGS if key[0] == "trackers"}
    assert {".".join(key) for key in keys_that(Difference.FREE)} == of_models | limits | trackers | {
        "gradient.analyst_workers", "evaluation.max_unmeasured", "env.workers", "env.exec_timeout", "env.out_root",
        "report.picture",
    }  # fmt: skip
    assert {".".join(key) for key in keys_that(Difference.BY_CONTENT)} == {
        "preset", "env.name", "env.data_path", "env.split_dir", "env.skill_init", "evaluation.acceptance",
    }  # fmt: skip
    assert keys_that(Difference.MAY_RISE) == [("train", "num_epochs")]


@pytest.mark.parametrize("key", keys_that(Difference.FREE, Difference.BY_CONTENT), ids=".".join)
def test_a_setting_that_changes_nothing_that_is_measured_may_differ(usual: Setup, key: KeyPath) -> None:
    assert ".".join(key) not in identity(usual)
    changed = with_setting(usual, key, another(SETTINGS[key], value_at(usual, key)))
    assert flattened(changed.config) != flattened(usual.config)
    assert differences(usual, changed) == ""


@pytest.mark.parametrize("key", keys_that(Difference.REFUSED), ids=".".join)
def test_every_other_setting_that_differs_is_refused_with_old_and_new(usual: Setup, key: KeyPath) -> None:
    """F87."""
    before = value_at(usual, key)
    after = another(SETTINGS[key], before)
    said = differences(usual, with_setting(usual, key, after))
    if isinstance(after, dict):
        name, inner = next(iter(after.items()))
        assert f"{'.'.join(key)}: {{}} -> null" in said
        assert f"{'.'.join(key)}.{name}: null -> {json.dumps(inner)}" in said
    else:
        assert f"\n  {'.'.join(key)}: {json.dumps(before)} -> {json.dumps(after)}\n" in said
    assert all(way in said for way in ("Set it back", "env.out_root", "--fork"))


@pytest.mark.parametrize("name", list(QuestionAnsweringSettings.model_fields))
def test_every_setting_of_an_environment_that_differs_is_refused(usual: Setup, name: str) -> None:
    """F87."""
    own = cast("QuestionAnsweringSettings", usual.environment.settings)
    changed = own.model_copy(update={name: another(QuestionAnsweringSettings.model_fields[name], getattr(own, name))})
    environment = copy.copy(usual.environment)
    environment.settings = changed
    assert f"environment.settings.{name}" in differences(usual, replace(usual, environment=environment))


def value_at(setup: Setup, key: KeyPath) -> Any:
    value: Any = setup.config.model_dump(mode="json")
    for name in key:
        value = None if value is None else value[name]
    return value


def test_more_epochs_go_on_with_the_run_and_its_shorter_form_is_then_refused(usual: Setup) -> None:
    longer, shorter = (with_setting(usual, ("train", "num_epochs"), epochs) for epochs in (5, 1))
    with EvidenceStore(Path(":memory:")) as evidence:
        assert claim(evidence, usual) is None
        record_something(evidence)
        change = claim(evidence, longer)
        assert change == MoreEpochs(2, 5)
        assert claim(evidence, usual) is None, "until it is extended it is the run that it was"
        extend(evidence, longer, change)
        assert claim(evidence, longer) is None
        for refused in (usual, shorter):
            with pytest.raises(RunDirectoryError, match=r"num_epochs: 5 -> \d \(there may be more"):
                claim(evidence, refused)


def test_more_epochs_excuse_no_other_difference(usual: Setup) -> None:
    longer = with_setting(with_setting(usual, ("train", "num_epochs"), 5), ("train", "seed"), 7)
    said = differences(usual, longer)
    assert "train.seed: 42 -> 7" in said
    assert "num_epochs" not in said


def test_steps_that_are_played_anew_take_their_own_time(usual: Setup) -> None:
    """Steps 1 and 2 of 8 keep their budget of 2, the others get another one."""
    longer = with_setting(usual, ("train", "num_epochs"), 4)
    change = MoreEpochs(2, 4)
    first = min(change.changed_budgets(usual.config.optimizer, steps_per_epoch=4))
    with EvidenceStore(Path(":memory:")) as evidence:
        claim(evidence, usual)
        noted = [f"step {step}" for step in range(9)] + [
            f"{stage} of epoch 2" for stage in ("slow_update", "meta_skill")
        ]
        for what in noted:
            evidence.put_meta(f"timing of {what}", "{}")
        extend(evidence, longer, change)
        kept = [what for what in noted if evidence.get_meta(f"timing of {what}") is not None]
    assert 1 < first < 8
    assert kept == [f"step {step}" for step in range(first)]


def test_changed_data_is_refused_and_the_split_is_named(tmp_path: Path) -> None:
    before = set_up(tmp_path)
    val_id = before.splits.val[0].id
    rows = [json.loads(line) for line in (tmp_path / "tasks.jsonl").read_text("utf-8").splitlines()]
    changed = [{**row, "answer": "other"} if row["id"] == val_id else row for row in rows]
    (tmp_path / "tasks.jsonl").write_text("\n".join(map(json.dumps, changed)), "utf-8")
    said = differences(before, prepare(load_config(tmp_path / "config.yaml")))
    assert f'tasks of val: 1 changed ("{val_id}")' in said
    assert "tasks of train" not in said


def test_the_same_tasks_in_another_file_and_form_are_the_same_run(tmp_path: Path) -> None:
    """What counts is what the tasks hold: not the file's name, time or size, nor the order of a task's fields."""
    before = set_up(tmp_path)
    rows = [json.loads(line) for line in (tmp_path / "tasks.jsonl").read_text("utf-8").splitlines()]
    (tmp_path / "other.json").write_text(json.dumps([dict(reversed(row.items())) for row in rows], indent=4), "utf-8")
    assert differences(before, set_up(tmp_path, {"env.data_path": "other.json"})) == ""


def test_the_same_tasks_in_another_order_are_another_run(tmp_path: Path) -> None:
    """The order decides which tasks a batch has, and which ones `sel_env_num` takes."""

    def splits(order: int) -> Setup:
        for number, name in enumerate(("train", "val", "test")):
            rows = [{"id": f"{name}{n}", "question": f"q{number}{n}", "answer": "right"} for n in range(4)][::order]
            (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        return set_up(tmp_path, {"env.data_path": None, "env.split_dir": "."})

    said = differences(splits(1), splits(-1))
    assert "tasks of val: the same tasks in another order" in said


def test_of_a_run_of_an_older_version_the_split_is_named(tmp_path: Path) -> None:
    before = set_up(tmp_path)
    with EvidenceStore(Path(":memory:")) as evidence:
        claim(evidence, before)
        record_something(evidence)
        evidence.remove_meta("tasks")
        with pytest.raises(RunDirectoryError, match=r'tasks of val \(digest\): "[0-9a-f]{12}\.\.\." -> "'):
            claim(evidence, set_up(tmp_path, {"evaluation.sel_env_num": 3}))


def test_a_changed_seed_skill_is_refused(tmp_path: Path) -> None:
    before = set_up(tmp_path)
    (tmp_path / "seed_skill.md").write_text("other\n", "utf-8")
    assert "seed skill (digest)" in differences(before, prepare(load_config(tmp_path / "config.yaml")))


def test_other_code_of_an_environment_is_refused(tmp_path: Path) -> None:
    code = tmp_path / "mine.py"
    code.write_text("def score(answer, task, trajectory):\n    return 1.0\n", "utf-8")
    scorer = {"env.scorer": f"{code}:score"}
    before = set_up(tmp_path, scorer)
    code.write_text("def score(answer, task, trajectory):\n    return 0.5\n", "utf-8")
    said = differences(before, set_up(tmp_path, scorer))
    assert "environment.scorer." in said


def test_another_acceptance_rule_is_refused(tmp_path: Path) -> None:
    """F38: the rule decides what a run comes to, so its code and its name are part of what the run is."""
    code = tmp_path / "rule.py"
    body = "def one(comparison):\n    return True\n\n\ndef two(comparison):\n    return True\n"
    code.write_text(body, "utf-8")
    before = set_up(tmp_path, {"evaluation.acceptance": "rule.py:one"})
    other = set_up(tmp_path, {"evaluation.acceptance": "rule.py:two"})
    assert 'acceptance rule: "one" -> "two"' in differences(before, other)
    assert "acceptance rule" in differences(before, set_up(tmp_path))
    code.write_text(body.replace("True", "False"), "utf-8")
    changed = set_up(tmp_path, {"evaluation.acceptance": "rule.py:one"})
    assert "acceptance rule (digest)" in differences(before, changed)


def test_other_prompts_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another version's prompts would be asked, and paid, from the middle of a run on."""
    before = set_up(tmp_path)
    with EvidenceStore(Path(":memory:")) as evidence:
        claim(evidence, before)
        record_something(evidence)
        monkeypatch.setattr("skillopt.run.identity.prompts_digest", lambda: "other")
        with pytest.raises(RunDirectoryError, match=r'prompts \(digest\): "[0-9a-f]{12}\.{3}" -> "other"'):
            claim(evidence, before)


class Known(ScriptedModel):
    """A model that says of itself what it is told."""

    def __init__(self, **identity: JsonValue) -> None:
        super().__init__((), name="known")
        self.known = identity

    @property
    def identity(self) -> dict[str, JsonValue]:
        return self.known


@pytest.mark.parametrize("role", ["target", "optimizer"])
@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        ({"weights_sha256": "aa"}, {"weights_sha256": "bb"}, 'weights_sha256: "aa" -> "bb"'),
        ({"engine": "b1"}, {"engine": "b2"}, 'engine: "b1" -> "b2"'),
        ({"temperature": None}, {"temperature": 0.0}, "temperature: null -> 0.0"),
        ({"base_url": "http://a/v1"}, {"base_url": "http://b/v1"}, 'base_url: "http://a/v1" -> "http://b/v1"'),
        ({"world": {"rules": 4}}, {"world": {"rules": 5}}, "world.rules: 4 -> 5"),
        ({"engine": "b1"}, {}, 'engine: "b1" -> null'),
    ],
)
def test_what_only_a_model_knows_of_itself_counts(role: Role, before: Any, after: Any, line: str) -> None:
    """F87: equal settings, another model: the replies of two would stand for one, and all be paid again."""

    def models(identity: dict[str, Any]) -> Models:
        return Models({"target": Known(), "optimizer": Known(), role: Known(**identity)})

    with EvidenceStore(Path(":memory:")) as evidence:
        claim_models(evidence, models(before))
        record_something(evidence)
        claim_models(evidence, models(before))
        with pytest.raises(RunDirectoryError) as refused:
            claim_models(evidence, models(after))
    assert str(refused.value).splitlines()[:2] == [
        "the run directory . belongs to a run with other models:",
        f"  model.{role}.{line}",
    ]


async def test_weights_that_were_replaced_under_the_same_name_are_refused(tmp_path: Path) -> None:
    weights = tmp_path / "tiny.gguf"
    weights.write_bytes(b"GGUF tiny")
    setup = set_up(tmp_path, {"model.target.name": f"local:{weights}"})
    environment, directory = engine_environment(tmp_path), tmp_path / "run"
    for _ in range(2):
        async with open_run(setup, directory=directory, environment=environment):
            pass
    with EvidenceStore(directory / "evidence.sqlite") as evidence:
        record_something(evidence)
    shown = views(directory)
    weights.write_bytes(b"GGUF another")
    with pytest.raises(RunDirectoryError, match=r"model\.target\.weights_sha256: \"[0-9a-f]{12}\.{3}\" -> "):
        async with open_run(setup, directory=directory, environment=environment):
            pass
    assert views(directory) == shown


@pytest.mark.parametrize(
    "settings",
    [
        {"env.workers": 1, "gradient.analyst_workers": 1},
        {"model.target.timeout": 5, "model.target.attempts": 1, "model.optimizer.concurrency": 2},
        {"env.exec_timeout": 5, "env.out_root": "elsewhere", "evaluation.max_unmeasured": 0.5},
        {"model.target.api_key_env": "OTHER_KEY"},
        {"model.target.price": {"input": 1.0, "output": 2.0}},
        {"trackers.tensorboard": {}, "trackers.mlflow.experiment": "mine"},
    ],
    ids=lambda settings: "-".join(key.rpartition(".")[2] for key in settings),
)
def test_what_changes_nothing_that_is_measured_may_differ(tmp_path: Path, settings: dict[str, Any]) -> None:
    assert differences(set_up(tmp_path), set_up(tmp_path, settings)) == ""


def test_the_same_files_elsewhere_are_the_same_run(tmp_path: Path) -> None:
    assert differences(set_up(tmp_path / "here"), set_up(tmp_path / "there")) == ""
    for name in ("here", "there"):
        (tmp_path / name / "mine.py").write_text("def score(answer, task, trajectory):\n    return 1.0\n", "utf-8")
    scorer = {"env.scorer": "mine.py:score"}
    assert differences(set_up(tmp_path / "here", scorer), set_up(tmp_path / "there", scorer)) == ""


async def test_a_run_that_is_refused_asks_nobody_and_leaves_everything_as_it_was(tmp_path: Path) -> None:
    """F87, through the whole of it."""
    async with SimulatedServer(SMALL) as server:
        config = write_run(tmp_path, server=server)
        await train(config)
        before, asked = views(tmp_path / "run"), len(server.calls)
        with pytest.raises(RunDirectoryError, match="belongs to a run with other settings"):
            await train(config, ["evaluation.gate_metric=soft"])
        assert (views(tmp_path / "run"), len(server.calls)) == (before, asked)


async def test_a_run_directory_that_was_moved_or_renamed_goes_on_without_paying(tmp_path: Path) -> None:
    async with SimulatedServer(SMALL) as server:
        config = write_run(tmp_path / "old", server=server)
        await train(config)
        asked, before = len(server.calls), views(tmp_path / "old" / "run")
        moved = (tmp_path / "old").rename(tmp_path / "new")
        (moved / "run").rename(moved / "renamed")
        await train(moved / "config.yaml", ["env.out_root=" + str(moved / "renamed"), "env.workers=2"])
        after = views(moved / "renamed")
        assert len(server.calls) == asked
        # The manifest names the data files by their paths.
        assert {**after, "split_manifest.json": b""} == {**before, "split_manifest.json": b""}


async def test_a_run_without_a_note_of_which_it_was_is_known_by_its_views_or_refused(tmp_path: Path) -> None:
    """F82: a page with the notes may be lost, and what was paid then belongs to a run all the same."""
    config = write_run(tmp_path, settings={"train.num_epochs": 1, "env.limit": 4})
    run = (await train(config)).directory
    before = views(run)

    def forget() -> None:
        with EvidenceStore(run / "evidence.sqlite") as evidence:
            evidence.remove_meta("identity")

    forget()
    with pytest.raises(RunDirectoryError, match=r"no note of which run(.|\n)*--fork NEW_DIRECTORY"):
        await train(config, ["evaluation.gate_metric=soft"])
    assert views(run) == before
    await train(config)
    with pytest.raises(RunDirectoryError, match=r"gate_metric"):
        await train(config, ["evaluation.gate_metric=soft"])
    forget()
    (run / "config.yaml").unlink()
    with pytest.raises(RunDirectoryError, match="no note of which run"):
        await train(config)
    fork = await train(config, fork=tmp_path / "fork")
    assert sum(spent.usage.calls for spent in fork.bill.values()) == 0


async def test_what_an_evaluation_measured_belongs_to_nobody_yet(tmp_path: Path) -> None:
    config = write_run(tmp_path, settings={"train.num_epochs": 1, "env.limit": 4})
    setup = prepare(load_config(config))
    await evaluate(setup, [setup.seed_skill], setup.splits.val, directory=tmp_path / "run")
    await train(config)


async def test_who_is_refused_is_told_the_directory(tmp_path: Path) -> None:
    config = write_run(tmp_path, settings={"train.num_epochs": 1, "env.limit": 4})
    run = (await train(config)).directory
    with pytest.raises(RunDirectoryError, match=f"the run directory {run} belongs to a run with other settings"):
        await train(config, ["train.seed=7"])
