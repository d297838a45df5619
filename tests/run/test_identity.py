"""A run directory belongs to one run: what may differ when it goes on, and what may not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.engine import engine_environment
from tests.support.runs import SMALL, views, write_run

from skillopt.api import train
from skillopt.config.dump import flattened
from skillopt.config.load import load_config
from skillopt.errors import RunDirectoryError
from skillopt.run.evidence import EvidenceStore
from skillopt.run.identity import claim, claim_models, identity
from skillopt.run.models import Models
from skillopt.run.opening import open_run
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


def test_every_setting_counts_that_is_not_on_the_list_of_neutral_ones(tmp_path: Path) -> None:
    """A setting that a later version adds cannot slip through."""
    setup = set_up(tmp_path)
    of_models = {
        f"model.{role}.{key}"
        for role in ("optimizer", "target")
        for key in ("api_key_env", "timeout", "attempts", "concurrency", "price")
    }
    elsewhere = {"env.name", "env.data_path", "env.split_dir", "env.skill_init", "env.out_root",
                 "evaluation.acceptance"}  # fmt: skip
    limits = {
        f"limits.{scope}{amount}"
        for scope in ("", "target.", "optimizer.")
        for amount in ("calls", "tokens", "dollars", "minutes")
    }
    left_out = {".".join(key) for key in flattened(setup.config)} - set(identity(setup))
    assert left_out == of_models | elsewhere | limits | {
        "preset", "gradient.analyst_workers", "evaluation.max_unmeasured", "env.workers", "env.exec_timeout",
        "report.picture",
    }  # fmt: skip


def test_changed_data_is_refused_and_the_split_is_named(tmp_path: Path) -> None:
    before = set_up(tmp_path)
    val_id = before.splits.val[0].id
    rows = [json.loads(line) for line in (tmp_path / "tasks.jsonl").read_text("utf-8").splitlines()]
    changed = [{**row, "answer": "other"} if row["id"] == val_id else row for row in rows]
    (tmp_path / "tasks.jsonl").write_text("\n".join(map(json.dumps, changed)), "utf-8")
    said = differences(before, prepare(load_config(tmp_path / "config.yaml")))
    assert "tasks of val (digest)" in said
    assert "tasks of train" not in said


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
        with pytest.raises(RunDirectoryError, match=r'prompts \(digest\): "[0-9a-f]{64}" -> "other"'):
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
        "the run directory belongs to a run with other models:",
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
    with pytest.raises(RunDirectoryError, match=r"model\.target\.weights_sha256: \"[0-9a-f]{64}\" -> "):
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
