"""No key reaches a run directory, a terminal or a process list: planted in every place, then searched for."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from tests.support.commands import TINY, clean_environment, write_tiny_run
from tests.support.runs import SMALL, nested, write_run

from skillopt.api import train
from skillopt.cli.main import run as command
from skillopt.errors import MeasurementError
from skillopt.events import Event
from skillopt.models.base import ChatModel, ChatReply, ChatRequest
from skillopt.models.providers import PROVIDERS
from skillopt.simulation.server import SimulatedServer
from skillopt.simulation.target import SimulatedTarget
from skillopt.simulation.weather import Call, Fault
from skillopt.types import JsonValue

KEY = "sk-planted-4f9d0c7be1a2"
"""A key that can be searched for."""
MASKED = "sk-plant******e1a2"
"""The same key as some servers echo it."""
ENVIRONMENT = {"TARGET_KEY": KEY, "OPENAI_API_KEY": KEY}
SETTINGS: dict[str, Any] = {
    f"model.{role}.{key}": value
    for role in ("target", "optimizer")
    for key, value in (("api_key_env", "TARGET_KEY"), ("attempts", 2))
}


def echo(status: int, *, at: int, times: int = 1) -> Any:
    """Weather that answers some calls with an error that holds the key, whole and masked."""

    def weather(call: Call) -> Fault | None:
        return Fault("status", status, f"Bad key {KEY}, that is {MASKED}") if at <= call.number < at + times else None

    return weather


def assert_no_key(directory: Path, *texts: str) -> None:
    """No file of a directory and no text holds the key or its beginning."""
    files = [path for path in directory.rglob("*") if path.is_file()]
    assert len(files) > 3
    assert not [path for path in files if KEY[:8].encode() in path.read_bytes()]
    assert not [text for text in texts if KEY[:8] in text]


async def test_a_key_that_works_is_sent_and_written_nowhere(tmp_path: Path) -> None:
    """More 18."""
    told: list[Event] = []
    async with SimulatedServer(SMALL, api_key=KEY) as server:
        config = write_run(tmp_path, server=server, settings=SETTINGS)
        outcome = await train(config, subscribers=[told.append], environment=ENVIRONMENT)
    assert outcome.state == "improved"
    assert_no_key(tmp_path / "run", repr(told), repr(outcome))
    assert "TARGET_KEY" in (tmp_path / "run" / "config.yaml").read_text("utf-8")


@pytest.mark.parametrize("status", [401, 400, 503], ids=["refused", "bad_request", "tried_again"])
async def test_a_server_that_echoes_the_key_into_its_error_gives_it_to_nobody(tmp_path: Path, status: int) -> None:
    """More 18: in the middle of a run, where the words go into events, summary and outcome."""
    told: list[Event] = []
    async with SimulatedServer(SMALL, api_key=KEY, weather=echo(status, at=10)) as server:
        config = write_run(tmp_path, server=server, settings=SETTINGS)
        outcome = await train(config, subscribers=[told.append], environment=ENVIRONMENT)
    assert outcome.state == ("improved" if status == 503 else "provider_failed")
    assert "Bad key [key]" in repr(told)
    assert_no_key(tmp_path / "run", repr(told), repr(outcome))


async def test_an_error_before_the_baseline_shows_no_key_on_the_terminal(tmp_path: Path) -> None:
    async with SimulatedServer(SMALL, weather=echo(401, at=0, times=100)) as server:
        config = write_run(tmp_path, server=server, settings=SETTINGS)
        result = await asyncio.to_thread(
            subprocess.run,
            [Path(sys.executable).with_name("skillopt"), "train", config],
            capture_output=True,
            text=True,
            check=False,
            env={**ENVIRONMENT, "PATH": ""},
        )
    assert result.returncode == 13
    assert "Bad key [key]" in result.stderr
    assert_no_key(tmp_path / "run", result.stdout, result.stderr)


MARK = "planted"
"""Stands in every key of these tests."""


def planted(name: str) -> str:
    """A key of its own for each place, so that a finding tells where it came from."""
    return f"sk-{MARK}-{name.lower().replace('_', '')}-4f9d0c7be1a2"


EVERY_VARIABLE = {
    **{variable: planted(variable) for provider in PROVIDERS.values() for variable in provider.key_variables},
    **{name: planted(name) for name in ("HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")},
    "HF_ENDPOINT": f"https://me:{planted('hub')}@127.0.0.1:9",
    "https_proxy": f"http://me:{planted('proxy')}@127.0.0.1:9",
    "http_proxy": f"http://me:{planted('plainproxy')}@127.0.0.1:9",
    "no_proxy": "",
    "TARGET_KEY": KEY,
}


class EchoingTarget(ChatModel):
    """A target whose server puts the key into everything that it answers."""

    def __init__(self) -> None:
        self._target = SimulatedTarget(SMALL)

    @property
    def identity(self) -> Mapping[str, JsonValue]:
        return self._target.identity

    async def reply(self, request: ChatRequest) -> ChatReply:
        reply = await self._target.reply(request)
        coded = base64.b64encode(f"Bearer {KEY}".encode()).decode()
        return replace(reply, text=f"{KEY} {coded} {reply.text}", finish_reason=f"stop {KEY}")

    async def close(self) -> None:
        await self._target.close()


def processes() -> list[str]:
    """The command lines of all processes."""
    lines: list[str] = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
        except OSError:
            continue
    return lines


def forms(key: str) -> list[bytes]:
    """A key as it is, in a URL and in base64, without the ends that depend on what stands beside it."""
    coded = [base64.b64encode(b" " * offset + key.encode())[4:-4] for offset in range(3)]
    return [key.encode(), quote(key, safe="").encode(), *coded]


def assert_nowhere(directory: Path, *texts: str) -> None:
    """No file below a directory, and no text, holds a planted key in any form."""
    searched = [form for key in EVERY_VARIABLE.values() if MARK in key for form in (MARK.encode(), *forms(key))]
    contents = {str(path): path.read_bytes() for path in directory.rglob("*") if path.is_file()}
    contents |= {f"text {number}": text.encode() for number, text in enumerate(texts)}
    assert {name for name, content in contents.items() if any(form in content for form in searched)} == set()


COMMANDS = (
    ("check", "config.yaml"),
    ("check", "config.yaml", "--offline", "--settings"),
    ("train", "config.yaml", "--dry-run"),
    ("train", "config.yaml"),
    ("train", "config.yaml", "--json"),
    ("eval", "config.yaml", "--split", "val"),
    ("noise", "config.yaml"),
    ("models", "list"),
)


async def test_no_command_leaves_a_key_of_the_environment_anywhere(tmp_path: Path) -> None:
    """More 18: with a server that echoes the key into replies, finish reasons and now and then an error.

    Searched are every file (evidence, its log and temporary files among them), all that was printed, and the command
    lines of all processes while models are asked.
    """
    seen: list[str] = []

    async def look(call: Call) -> None:
        if call.number % 10 == 0:
            seen.extend(processes())

    def weather(call: Call) -> Fault | None:
        return Fault("status", 503, f"{KEY} {quote(KEY)} {MASKED}") if call.number % 7 == 3 else None

    (tmp_path / "temporary").mkdir()
    environment = {**clean_environment(), **EVERY_VARIABLE, "TMPDIR": str(tmp_path / "temporary")}
    server = SimulatedServer(SMALL, target=EchoingTarget(), api_key=KEY, weather=weather, delay=look)
    async with server:
        settings = {**SETTINGS, **TINY, "evaluation.final_repeats": 1}
        write_run(
            tmp_path,
            server=server,
            settings=settings | {f"model.{role}.attempts": 3 for role in ("target", "optimizer")},
        )
        for words in COMMANDS:
            result = await asyncio.to_thread(
                subprocess.run,
                [sys.executable, "-c", "from skillopt.cli.main import main; main()", *words],
                capture_output=True,
                text=True,
                check=False,
                cwd=tmp_path,
                env=environment,
            )
            assert result.returncode in (0, 10, 11, 12, 15), (words, result.stderr)
            assert_nowhere(tmp_path, result.stdout, result.stderr)
    assert server.calls
    assert any("skillopt.cli.main" in line for line in seen)
    assert_nowhere(tmp_path, *seen)
    assert (tmp_path / "run" / "evidence.sqlite").is_file()


PASTED = planted("pasted")
PLACES: Mapping[str, Any] = {
    "a setting": {"env.note": PASTED},
    "a key setting": {"model.target.api_key": PASTED},
    "a spelling": {"env.openaiApiKey": PASTED},
    "a body field": {"model.target.extra_body.token": PASTED},
    "a body value": {"model.target.extra_body.user": {"id": [PASTED]}},
    "the variable's name": {"model.target.api_key_env": PASTED},
    "a user in the address": {"model.target.base_url": f"http://me:{PASTED}@localhost:9/v1"},
    "a user without scheme": {"model.target.base_url": f"me:{PASTED}@localhost:9/v1"},
    "the address's query": {"model.target.base_url": f"http://localhost:9/v1?q={PASTED}"},
    "the address's path": {"model.target.base_url": f"http://localhost:9/{PASTED}/v1"},
    "a model's name": {"model.target.name": f"openai:{PASTED}"},
    "a provider": {"model.target.name": PASTED},
    "the preset": {"preset": PASTED},
    "a field of the data": {"env.fields.question": PASTED},
    "a field's name": {f"env.fields.{PASTED}": "question"},
    "a setting's name": {f"env.{PASTED}": 1},
    "a section": {f"{PASTED}.seed": 1},
    "a number": {"train.seed": PASTED},
    "a path": {"env.data_path": f"data/{PASTED}.jsonl"},
    "the base": {"_base_": f"{PASTED}.yaml"},
    "an environment": {"env.name": PASTED},
    "the rule": {"evaluation.acceptance": f"{PASTED}.py:rule"},
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("given", ["file", "base", "override"])
def test_a_key_in_a_configuration_is_refused_and_shown_by_no_command(
    tmp_path: Path, place: str, given: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """More 18: wherever it was pasted, before a directory is made or a model is asked."""
    monkeypatch.chdir(tmp_path)
    config = write_tiny_run(tmp_path)
    words: list[str] = []
    values = PLACES[place]
    if given == "override":
        words = [f"{key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in values.items()]
    else:
        part = tmp_path / "part.yaml"
        part.write_text(json.dumps(nested({"_base_": config.name, **values})), "utf-8")
        config = part
    if given == "base" and place != "the base":
        config = tmp_path / "whole.yaml"
        config.write_text("_base_: part.yaml\n", "utf-8")
    for call in (["check", "--offline", "--settings"], ["train"], ["train", "--dry-run"], ["eval"], ["noise"]):
        assert command([call[0], str(config), *words, *call[1:]]) != 0
        said = capfd.readouterr()
        assert "error:" in said.err
        assert MARK not in said.out + said.err, place
    assert not (tmp_path / "run").exists()
    assert not (tmp_path / "outputs").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["train", PASTED],
        ["train", "config.yaml", PASTED],
        ["train", "config.yaml", "--api-key", PASTED],
        ["train", "config.yaml", f"--api-key={PASTED}"],
        ["train", "--config", f"{PASTED}.yaml"],
        ["eval", "config.yaml", "--skill", PASTED],
        ["eval", "config.yaml", "--split", PASTED],
        ["noise", "config.yaml", "--passes", PASTED],
        ["init", "new", "--target", f"openai:{PASTED}"],
        ["init", "new", "--optimizer", PASTED],
        ["init", "new", "--data", PASTED],
        ["models", "fetch", PASTED],
        [PASTED],
    ],
)
def test_a_key_in_a_command_line_is_shown_by_no_message(
    tmp_path: Path, words: list[str], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """More 18: it stands in the shell's history already, and shall stand nowhere else."""
    monkeypatch.chdir(tmp_path)
    write_tiny_run(tmp_path)
    assert command(words) != 0
    said = capfd.readouterr()
    assert MARK not in said.out + said.err
    assert not (tmp_path / "new").exists()


def test_the_traceback_of_a_fault_of_ours_shows_no_key(tmp_path: Path) -> None:
    """More 18: neither one of the environment nor the password of an address nor what looks like a key."""
    write_tiny_run(tmp_path)
    crash = (
        "import os, skillopt.run.setup as setup\n"
        "def prepare(loaded):\n"
        "    raise RuntimeError(f\"told {os.environ['OPENAI_API_KEY']} ftp://me:planted-pass@host \"\n"
        "                       f\"{'sk-pl' + 'anted-other-0123456789'}\")\n"
        "setup.prepare = prepare\n"
        "from skillopt.cli.main import main\n"
        "main()\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", crash, "train", "config.yaml", "--dry-run"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**clean_environment(), "OPENAI_API_KEY": "a planted secret"},
    )
    assert result.returncode == 1
    assert "Traceback" in result.stderr
    assert "RuntimeError: told (not shown) ftp://(not shown)@host (not shown)" in result.stderr
    assert MARK not in result.stderr.partition("RuntimeError: told")[2]


async def test_what_code_of_the_users_raises_is_recorded_without_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More 18: an environment that calls a service of its own words its failures with the key."""
    monkeypatch.setenv("SERVICE_API_KEY", "a planted secret")
    (tmp_path / "score.py").write_text(
        "import os\n\ndef score(predicted, task):\n    raise RuntimeError('401: ' + os.environ['SERVICE_API_KEY'])\n",
        "utf-8",
    )
    told: list[Event] = []
    config = write_tiny_run(tmp_path, env__scorer="score.py:score")
    with pytest.raises(MeasurementError, match=r"401: \(not shown\)") as caught:
        await train(config, subscribers=[told.append])
    assert_nowhere(tmp_path / "run", repr(told), str(caught.value))


async def test_the_users_own_content_goes_as_it_is_and_the_user_is_told(tmp_path: Path) -> None:
    """A seed skill and tasks are what is trained: nothing in them is changed, and a warning says what they hold."""
    config = write_tiny_run(tmp_path)
    seed = tmp_path / "seed_skill.md"
    seed.write_text(f"{seed.read_text('utf-8')}\n- The token is {PASTED}.\n", "utf-8")
    told: list[Event] = []
    outcome = await train(config, subscribers=[told.append])
    warnings = [event for event in told if "looks like a key" in repr(event)]
    assert "the seed skill holds what looks like a key or token (line " in repr(warnings)
    assert MARK not in repr(told)
    assert PASTED in (tmp_path / "run" / "skills" / "skill_v0000.md").read_text("utf-8")
    assert outcome.state.value


@pytest.fixture
def private_umask() -> Iterator[None]:
    """The umask of a person who shares nothing."""
    before = os.umask(0o077)
    yield
    os.umask(before)


@pytest.mark.usefixtures("private_umask")
async def test_a_run_directory_is_as_private_as_the_umask_says(tmp_path: Path) -> None:
    """It holds prompts and replies; no file in it is opened to more people than any other file of the user's."""
    await train(write_tiny_run(tmp_path))
    found = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "run").rglob("*")}
    assert {name: oct(mode) for name, mode in found.items() if mode & 0o077} == {}
    assert {"evidence.sqlite", "events.jsonl", "config.yaml", "steps"} <= found.keys()
