"""`skillopt check`: what it finds, what it asks, and what it shows."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from tests.support.commands import Command, at_server, write_tiny_run

CHAT = "/v1/chat/completions"


def answering(text: str, *, finish_reason: str = "stop") -> dict[str, Any]:
    """The body of a chat completion."""
    return {
        "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": finish_reason}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2},
    }


def bodies(server: HTTPServer) -> list[dict[str, Any]]:
    return [json.loads(request.get_data()) for request, _ in server.log]


def test_all_is_well(command: Command, tmp_path: Path) -> None:
    """F120: the plan is shown before anything is paid, with calls by stage and a warning where few proposals fit."""
    code, said, error = command("check", write_tiny_run(tmp_path))
    assert (code, error) == (0, "")
    lines = said.splitlines()
    assert lines[0] == f"settings  ok  {tmp_path / 'config.yaml'}"
    assert lines[1] == "tasks     ok  train 4, val 4, test 4; every one has what the environment needs"
    assert "target    ok  simulated:target" in said and "optimizer ok  simulated:optimizer" in said
    assert "SIMULATED MODELS" in said
    assert "Plan: 1 step; tasks: train 4, val 4, test 4." in said
    for stage in ("baseline", "rollout", "reflect", "aggregate", "select", "update", "gate", "test"):
        assert f"\n {stage} " in said
    assert "warning: only 1 proposal will be tried" in said


def test_a_seed_skill_with_little_room_left_is_warned_of(command: Command, tmp_path: Path) -> None:
    """F117."""
    _, said, _ = command("check", write_tiny_run(tmp_path, skill__max_tokens=10), "--offline")
    assert "warning: at the start, the skill has about" in said
    assert "above skill.max_tokens 10" in " ".join(said.split())


def test_offline_asks_nobody(command: Command, tmp_path: Path, httpserver: HTTPServer) -> None:
    config = write_tiny_run(tmp_path, **at_server(httpserver.url_for("/v1")))
    code, said, _ = command("check", config, "--offline")
    assert (code, httpserver.log) == (0, [])
    assert "target    ok" not in said


def test_a_misspelt_provider_is_found_without_asking(command: Command, tmp_path: Path) -> None:
    config = write_tiny_run(tmp_path, model__target__name="opnai:gpt-5.5")
    code, _, error = command("check", config, "--offline")
    assert code == 1
    assert "did you mean 'openai'?" in error


def test_each_model_is_asked_once_in_the_way_of_the_training(
    command: Command, tmp_path: Path, httpserver: HTTPServer
) -> None:
    """F8: one set-up for check and training; the seed skill, the task and the form of replies are on the wire."""
    httpserver.expect_request(CHAT).respond_with_json(answering('{"reasoning": "ready", "edits": []}'))
    config = write_tiny_run(tmp_path, **at_server(httpserver.url_for("/v1"), schema_replies=True, max_tokens=77))
    code, said, _ = command("check", config)
    assert code == 0
    asked_target, asked_optimizer = bodies(httpserver)
    system, task = asked_target["messages"]
    assert system["role"] == "system" and "# House records" in system["content"]
    assert "under the house rules?" in task["content"]
    assert asked_target["max_tokens"] == asked_optimizer["max_tokens"] == 77
    assert asked_optimizer["response_format"]["json_schema"]["name"] == "edits"
    assert "is not solved with the seed skill; it answered: {" in said
    assert "compatible:stub-optimizer: answered in the form that was asked for" in said
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (401, "Incorrect API key provided: sk-old"),
        (404, "The model `stub-target` does not exist"),
        (400, "too outdated"),
    ],
)
def test_a_model_that_can_never_answer_is_told_in_its_own_words(
    command: Command, tmp_path: Path, httpserver: HTTPServer, status: int, words: str
) -> None:
    """F4: a bad key or an unsupported model ends the check at once, with the provider's reason and exit code 13."""
    httpserver.expect_request(CHAT).respond_with_json({"error": {"message": words}}, status=status)
    code, said, error = command("check", write_tiny_run(tmp_path, **at_server(httpserver.url_for("/v1"))))
    assert code == 13
    assert error.startswith("error: compatible:stub-target")
    assert words in error and str(status) in error
    assert "Traceback" not in error
    assert len(httpserver.log) == 1
    assert "Plan:" not in said


def test_a_server_that_is_down_is_no_score(command: Command, tmp_path: Path) -> None:
    """F1: what could not be asked ends the check; it is no wrong answer."""
    config = write_tiny_run(tmp_path, **at_server("http://127.0.0.1:9/v1"))
    code, said, error = command("check", config)
    assert code == 13
    assert error == (
        "error: check: error in target: compatible:stub-target: cannot connect to http://127.0.0.1:9/v1: "
        "Connection refused\nMend the cause and run the same command again.\n"
    ), "the cause and what to do; nothing of how many tasks of a training may be missing"
    assert "solved" not in said


@pytest.mark.parametrize(
    ("text", "finish_reason"), [("Not logged in", "stop"), ("", "length"), ('{"reasoning": "re', "length")]
)
def test_an_optimizer_that_does_not_answer_in_form_is_warned_of(
    command: Command, tmp_path: Path, httpserver: HTTPServer, text: str, finish_reason: str
) -> None:
    """F3: a text that says why there is no answer is not taken for one."""
    httpserver.expect_request(CHAT).respond_with_json(answering(text, finish_reason=finish_reason))
    code, said, _ = command("check", write_tiny_run(tmp_path, **at_server(httpserver.url_for("/v1"))))
    assert code == 0
    assert "warning: the optimizer was asked for one JSON object" in said
    assert (text or "(no text; finish reason length)") in said


def test_every_setting_is_shown_with_where_it_comes_from(command: Command, tmp_path: Path) -> None:
    """F79: default, line of a file, or command line."""
    config = write_tiny_run(tmp_path / "a run")
    code, said, _ = command(
        "check", "--config", config, "--offline", "--settings", "--cfg-options", "train.seed=7", "env.extraction=tag"
    )
    assert code == 0
    rows = {line.split()[0]: line.split()[1:] for line in said.splitlines() if "." in line and line.split()}
    assert rows["train.seed"] == ["7", "command", "line"]
    assert rows["train.batch_size"][:2] == ["4", "a"]
    assert rows["train.batch_size"][-2] == "line"
    assert rows["gradient.failure_only"] == ["false", "default"]
    assert rows["env.extraction"] == ['"tag"', "command", "line"]
    assert rows["env.scorer"] == ['"exact"', "default"]


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("env.data_path=nope.jsonl", "nope.jsonl does not exist"),
        ("env.skill_init=nope.md", "nope.md, which does not exist"),
        ("env.skill_init=.", "is a directory and not a file"),
        ("env.name=nope.py", "nope.py"),
        ("env.scorer=exakt", "did you mean 'exact'"),
        ("train.train_size=999", "train_size"),
    ],
)
def test_what_is_wrong_is_one_message(command: Command, tmp_path: Path, setting: str, message: str) -> None:
    """F98: a path or a word that does not exist is an error, never a default."""
    code, _, error = command("check", write_tiny_run(tmp_path), "--offline", setting)
    assert code == 1
    assert error.startswith("error: ") and message in error


def test_a_tracker_whose_library_is_missing_is_told_and_without_code_only_what_it_would_be_told(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)  # type: ignore[arg-type]
    config = write_tiny_run(tmp_path, trackers__wandb={})
    code, _, error = command("check", config, "--offline")
    assert code == 1
    assert error.startswith("error: trackers.wandb needs the package wandb")
    assert 'pip install "skillopt[trackers]"' in error
    assert command("check", config, "--no-code")[0] == 0


@pytest.mark.parametrize("path", ["nope.yaml", "."])
def test_a_configuration_that_is_no_file_is_one_message(command: Command, path: str) -> None:
    code, said, error = command("check", path)
    assert (code, said) == (1, "")
    assert error.startswith("error: ")
