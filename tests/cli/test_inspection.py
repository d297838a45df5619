"""`skillopt check --no-code`: a configuration from elsewhere is looked at, and nothing of it happens."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from tests.support.commands import Command, at_server, in_a_process, write_tiny_run

from skillopt.config.load import load_config

TRAP = """
from pathlib import Path
Path(__file__).with_name("RAN").touch()
raise SystemExit("this code must not run")
"""
KEY = "sk-planted-4f9d0c7be1a2"


def tree(directory: Path) -> Mapping[str, tuple[int, bytes]]:
    """Every file below a directory with its time and its bytes."""
    return {
        str(path.relative_to(directory)): (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in directory.rglob("*")
    }


def trapped(directory: Path, **settings: Any) -> Path:
    """Write a configuration whose every place for code holds code that must not run."""
    given = {"env__name": "trap.py:Trap", "env__scorer": "trap.py:score", "evaluation__acceptance": "trap.py:rule"}
    config = write_tiny_run(directory, **{**given, **settings})
    (directory / "trap.py").write_text(TRAP, "utf-8")
    return config


def test_nothing_of_it_happens(tmp_path: Path, httpserver: HTTPServer) -> None:
    config = trapped(tmp_path / "from elsewhere", **at_server(httpserver.url_for("/v1"), api_key_env="MY_KEY"))
    before = tree(tmp_path)
    code, said, error = in_a_process("check", config, "--no-code", cwd=tmp_path, environment={"MY_KEY": KEY})
    assert (code, error) == (0, "")
    assert tree(tmp_path) == before
    assert httpserver.log == []
    assert KEY not in said
    assert "No code that it names was run, no model asked, no key looked up, nothing written." in said


def test_without_the_option_the_code_runs(tmp_path: Path) -> None:
    """So the trap is one."""
    config = trapped(tmp_path)
    code, _, error = in_a_process("check", config, "--offline", cwd=tmp_path)
    assert code == 1 and "this code must not run" in error
    assert (tmp_path / "RAN").exists()


@pytest.mark.parametrize("words", [["check", "--help"], ["models", "list"], ["init", "new"], ["--version"]])
def test_loading_a_configuration_or_asking_for_anything_else_runs_no_code(
    command: Command, tmp_path: Path, words: list[str]
) -> None:
    config = trapped(tmp_path)
    loaded = load_config(config)
    loaded.resolved_table()
    loaded.to_yaml()
    command(*words)
    assert not (tmp_path / "RAN").exists()


def test_it_says_what_a_training_would_do(command: Command, tmp_path: Path) -> None:
    home = tmp_path / "home"
    config = trapped(
        home,
        model__target={"name": "openai:gpt-5.5", "base_url": "http://evil.example/v1", "api_key_env": "AWS_SECRET"},
        model__optimizer={"name": "anthropic:claude"},
        trackers={
            "mlflow": {"tracking_uri": "http://evil.example:5000"},
            "wandb": {"entity": "team"},
            "tensorboard": {"artifacts": False},
        },
    )
    (tmp_path / "base.yaml").write_text("train: {seed: 3}\n", "utf-8")
    values = {"_base_": "../base.yaml", **json.loads(config.read_text("utf-8"))}
    config.write_text(json.dumps(values, indent=1), "utf-8")
    (home / "real.jsonl").write_bytes((home / "tasks.jsonl").read_bytes())
    (home / "tasks.jsonl").unlink()
    (home / "tasks.jsonl").symlink_to("real.jsonl")
    code, said, error = command("check", config, "--no-code")
    assert (code, error) == (0, "")
    sha256 = hashlib.sha256(TRAP.encode()).hexdigest()
    tasks = hashlib.sha256((home / "real.jsonl").read_bytes()).hexdigest()
    trap, sent = home / "trap.py", "the key, the skill and the tasks are sent to"
    for line in (
        f"run code  {trap}, sha256 {sha256}  (env.name: {trap}:Trap; set in {config}, line ",
        f"run code  {trap}, sha256 {sha256}  (env.scorer: {trap}:score; set in {config}, line ",
        f"run code  {trap}, sha256 {sha256}  (evaluation.acceptance: {trap}:rule; set in {config}, line ",
        f"read      {tmp_path / 'home/../base.yaml'}  (built on by _base_, OUTSIDE of the configuration's directory)",
        f"read      {config}  (configuration)",
        f"read      {home / 'real.jsonl'}, sha256 {tasks}  (tasks)",
        f"read      {home / 'seed_skill.md'}, sha256 ",
        f"ask       target: openai:gpt-5.5, with the key in AWS_SECRET; {sent} evil.example, WITHOUT ENCRYPTION, NOT",
        f"ask       optimizer: anthropic:claude, with the key in ANTHROPIC_API_KEY; {sent} anthropic's own address",
        f"write     {home / 'run'}",
        "tell      mlflow: settings, scores, spending and skills, experiment skillopt at http://evil.example:5000",
        "tell      wandb: settings, scores, spending and skills, project team/skillopt at Weights & Biases",
        "tell      tensorboard: settings, scores and spending, files in the run directory",
    ):
        assert f"\n{line}" in said, line
    assert "Plan:" not in said


def test_without_code_of_its_own_all_is_checked_and_planned(command: Command, tmp_path: Path) -> None:
    code, said, _ = command("check", write_tiny_run(tmp_path), "--no-code", "--settings")
    assert code == 0
    assert "run code  none of its own" in said and "Plan: 1 step" in said
    assert "ask       target: simulated:target?" in said and "nothing is sent" in said
    assert "env.scorer" in said


@pytest.mark.parametrize(
    ("name", "variable", "address"),
    [
        ("openai:x", "the key in OPENAI_API_KEY", "api.openai.com"),
        ("google:x", "the key in GOOGLE_API_KEY or GEMINI_API_KEY", "google's own address"),
        ("bedrock:x", "or the credentials that the cloud's tools keep", "bedrock's own address"),
        ("azure:x", "the key in AZURE_OPENAI_API_KEY", "the address in AZURE_OPENAI_ENDPOINT"),
        ("ollama:x", "the key in OLLAMA_API_KEY if it is set", "localhost:11434, this machine"),
        ("lmstudio:x", "no key", "localhost:1234, this machine"),
    ],
)
def test_each_provider_has_its_keys_and_its_address(
    command: Command, tmp_path: Path, name: str, variable: str, address: str
) -> None:
    code, said, _ = command("check", write_tiny_run(tmp_path, model__target__name=name), "--no-code")
    (line,) = (line for line in said.splitlines() if line.startswith("ask       target:"))
    assert code == 0
    assert variable in line and line.endswith(address)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("env.data_path=nope.jsonl", "nope.jsonl does not exist"),
        ("env.skill_init=nope.md", "nope.md, which does not exist"),
        ("env.name=nope.py", "nope.py does not exist"),
        ("env.name=question_answerin", "Did you mean 'question_answering'"),
        ("evaluation.acceptance=nope.py:rule", "nope.py does not exist"),
        ("model.target=opnai:x", "did you mean 'openai'?"),
        ("train.batch_size=0", "batch_size"),
        ("env.name=question_answering env.scorer=trap.py:score env.tolerence=3", "tolerance"),
    ],
)
def test_what_can_be_told_to_be_wrong_is(command: Command, tmp_path: Path, setting: str, message: str) -> None:
    code, _, error = command("check", trapped(tmp_path), "--no-code", *setting.split())
    assert code == 1
    assert error.startswith("error: ") and message in error
    assert not (tmp_path / "RAN").exists()


def test_what_it_shows_moves_no_cursor(command: Command, tmp_path: Path) -> None:
    directory = tmp_path / "a\x1b[2J\u202eb"
    code, said, _ = command("check", trapped(directory), "--no-code")
    assert code == 0
    assert "\x1b" not in said and "\u202e" not in said


def test_a_pipe_in_the_place_of_code_is_refused_and_not_waited_for(command: Command, tmp_path: Path) -> None:
    config = trapped(tmp_path)
    (tmp_path / "trap.py").unlink()
    os.mkfifo(tmp_path / "trap.py")
    code, _, error = command("check", config, "--no-code")
    assert code == 1 and "trap.py is a pipe" in error


def lines_of(said: str, heading: str) -> list[str]:
    """The lines of one heading, without it."""
    return [line.removeprefix(heading).strip() for line in said.splitlines() if line.startswith(f"{heading} ")]


def test_every_file_outside_of_the_configurations_directory_is_marked(command: Command, tmp_path: Path) -> None:
    home, away = tmp_path / "home", tmp_path / "away"
    config = trapped(home)
    away.mkdir()
    for name in ("trap.py", "tasks.jsonl", "seed_skill.md"):
        (home / name).rename(away / name)
    (home / "tasks.jsonl").symlink_to(away / "tasks.jsonl")
    (away / "base.yaml").write_text("train: {seed: 3}\n", "utf-8")
    (home / "base.yaml").symlink_to(away / "base.yaml")
    (away / "own.gguf").write_bytes(b"GGUF")
    values: dict[str, Any] = {"_base_": "base.yaml", **json.loads(config.read_text("utf-8"))}
    values["env"] |= {
        "skill_init": "../away/seed_skill.md",
        "name": "../away/trap.py",
        "scorer": "../away/trap.py:score",
    }
    values["evaluation"]["acceptance"] = "../away/trap.py:rule"
    values["model"] = {"target": f"local:{away / 'own.gguf'}", "optimizer": "local:qwen2.5-coder-0.5b"}
    config.write_text(json.dumps(values, indent=1), "utf-8")
    code, said, error = command("check", config, "--no-code")
    assert (code, error) == (0, "")
    outside = "OUTSIDE of the configuration's directory)"
    assert len(lines_of(said, "run code")) == 3
    assert all(line.endswith(outside) for line in lines_of(said, "run code"))
    of_base, of_config, *others = lines_of(said, "read")
    assert "OUTSIDE" not in of_config
    assert of_base == f"{home / 'base.yaml'}  (built on by _base_, a link to {away / 'base.yaml'}, {outside}"
    assert [line.split("  (")[1] for line in others] == [
        f"{what}, {outside}" for what in ("tasks", "seed skill", "weights of the target")
    ]


@pytest.mark.parametrize("name", ["tasks.jsonl", "seed_skill.md", "trap.py"])
def test_what_lies_in_it_is_not(command: Command, tmp_path: Path, name: str) -> None:
    _, said, _ = command("check", trapped(tmp_path), "--no-code")
    (line, *_) = (line for line in said.splitlines() if name in line)
    assert "OUTSIDE" not in line


def test_it_says_what_is_in_the_place_of_the_run_directory(command: Command, tmp_path: Path) -> None:
    config, run = trapped(tmp_path), tmp_path / "run"

    def told() -> str:
        (line,) = lines_of(command("check", config, "--no-code")[1], "write")
        return line.removeprefix(f"{run}  (").removesuffix(")")

    assert told() == "made anew"
    run.mkdir()
    assert told() == "there already, and empty"
    (run / "id_rsa").touch()
    assert told() == "there already, with files that are NO RUN'S, which a training would leave and write beside"
    (run / "summary.json").touch()
    assert told().startswith(f"there already, and a training REFUSES it: {run} is no run directory")
    (run / "evidence.sqlite").write_bytes(b"x")
    assert told().startswith("there already, with a run, which a training of the same settings and data goes on with")
    (run / "run.json").write_text('{"formats": {"run.json": 99}}', "utf-8")
    assert "a training REFUSES it" in told() and "newer SkillOpt" in told()


def test_a_file_in_the_place_of_the_run_directory_is_told(command: Command, tmp_path: Path) -> None:
    config = trapped(tmp_path)
    (tmp_path / "run").touch()
    (line,) = lines_of(command("check", config, "--no-code")[1], "write")
    assert "a training REFUSES it" in line


AZURE = {"name": "azure:x", "base_url": "https://mine.openai.azure.com/openai/v1"}


@pytest.mark.parametrize(
    ("target", "told"),
    [
        (AZURE, "are sent to mine.openai.azure.com"),
        ({"name": "qwen:x", "base_url": "https://dashscope-us.aliyuncs.com/v1"}, "sent to dashscope-us.aliyuncs.com"),
        ({"name": "openai:x", "base_url": "http://127.0.0.2:8000/v1"}, "are sent to 127.0.0.2:8000, this machine"),
        ({"name": "vllm:x", "base_url": "http://box:8000/v1"}, "are sent to box:8000, WITHOUT ENCRYPTION"),
        (
            {"name": "compatible:x", "base_url": "https://evil.example/v1", "api_key_env": "OPENAI_API_KEY"},
            (
                "with the key in OPENAI_API_KEY; the key, the skill and the tasks are sent to evil.example, "
                "and the key is for openai"
            ),
        ),
        (
            {"name": "compatible:x", "base_url": "https://evil.example/v1"},
            "with no key; the skill and the tasks are sent to evil.example",
        ),
        (
            {"name": "openai:x", "base_url": "https://evil.example/v1"},
            (
                "which a training REFUSES: model.target.base_url is no https:// address of openai, and the key in "
                "OPENAI_API_KEY is sent to no other host"
            ),
        ),
        (
            {"name": "openai:x", "base_url": "http://api.openai.com/v1"},
            (
                "which a training REFUSES: model.target.base_url is no https:// address of openai, and the key in "
                "OPENAI_API_KEY is sent to no other host"
            ),
        ),
        (
            {"name": "openai:x", "base_url": "http://api.openai.com/v1", "api_key_env": "OPENAI_API_KEY"},
            "are sent to api.openai.com, WITHOUT ENCRYPTION",
        ),
        ({"name": "compatible:x"}, "which a training REFUSES: model.target.base_url must say where the server is"),
        (
            {"name": "vllm:x", "base_url": "ftp://box/v1"},
            "which a training REFUSES: model.target.base_url is no http:// or https:// address",
        ),
        ({"name": "local:nope"}, "which a training REFUSES: there is no embedded model 'nope'"),
    ],
)
def test_what_is_sent_where_is_what_a_training_does(
    command: Command, tmp_path: Path, target: Mapping[str, str], told: str
) -> None:
    code, said, _ = command("check", write_tiny_run(tmp_path, model__target=target), "--no-code")
    (line,) = (line for line in lines_of(said, "ask") if line.startswith("target:"))
    assert code == 0
    assert line.endswith(told)
