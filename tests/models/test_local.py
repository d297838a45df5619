"""Local models: one server for each file of weights, sure to end, reached by the lean client; with a stand-in for the
engine, and with the real model where it is there."""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from tests.support.commands import child
from tests.support.engine import engine_environment

from skillopt.config.model_settings import RoleSettings
from skillopt.errors import ConfigError, FatalModelError, MissingDependencyError, install_line
from skillopt.models.base import ChatModel, ChatRequest
from skillopt.models.local import DEFAULT_MAX_TOKENS, LocalServers, open_local
from skillopt.models.structured import ask
from skillopt.models.weights import KNOWN
from skillopt.step.replies import EditsReply
from skillopt.types import JsonValue, Message, Place

REAL = RoleSettings(name="local:qwen2.5-coder-0.5b")


@pytest.fixture
def gguf(tmp_path: Path) -> str:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(b"GGUF tiny")
    return f"local:{path}"


def request(text: str) -> ChatRequest:
    return ChatRequest((Message("user", text),), Place("rollout"))


async def said_by(model: ChatModel, text: str = "hello") -> dict[str, Any]:
    return json.loads((await model.reply(request(text))).text)


async def test_two_roles_share_the_server_of_their_weights(tmp_path: Path, gguf: str) -> None:
    other = tmp_path / "other.gguf"
    other.write_bytes(b"GGUF other")
    async with LocalServers(engine_environment(tmp_path)) as servers:
        names = (gguf, gguf, f"local:{other}")
        models = [await open_local(RoleSettings(name=name), servers=servers) for name in names]
        processes = [(await said_by(model))["pid"] for model in models]
        assert processes[0] == processes[1] != processes[2]
        for model in models:
            await model.close()
            await model.close()


async def test_what_goes_out_is_reproducible_and_bounded_unless_set_otherwise(tmp_path: Path, gguf: str) -> None:
    async with LocalServers(engine_environment(tmp_path)) as servers:
        plain = await open_local(RoleSettings(name=gguf), servers=servers)
        warm = await open_local(RoleSettings(name=gguf, temperature=0.7, max_tokens=9), servers=servers)
        bodies = [(await said_by(model))["asked"] for model in (plain, warm)]
        assert [(body["temperature"], body["max_tokens"]) for body in bodies] == [(0.0, DEFAULT_MAX_TOKENS), (0.7, 9)]
        await plain.close()
        await warm.close()


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="the system shows no other process's environment")
async def test_the_server_gets_no_key_in_its_environment_or_command_line(tmp_path: Path, gguf: str) -> None:
    """More 18: it needs none, and the engine is foreign code."""
    environment = {**engine_environment(tmp_path), "OPENAI_API_KEY": "sk-planted-1", "HF_TOKEN": "planted-2"}
    async with LocalServers(environment) as servers:
        model = await open_local(RoleSettings(name=gguf), servers=servers)
        (server,) = servers.running
        process = Path(f"/proc/{server.process_id}")
        seen = (process / "environ").read_bytes() + (process / "cmdline").read_bytes()
        key = server.key
        await model.close()
    assert b"xllamacpp" not in seen
    assert b"local_server" in seen
    assert b"planted" not in seen
    assert key.encode() not in seen


async def identity_of(name: str, environment: Mapping[str, str]) -> Mapping[str, JsonValue]:
    async with LocalServers(environment) as servers:
        model = await open_local(RoleSettings(name=name), servers=servers)
        await model.close()
        return model.identity


async def test_an_identity_is_the_weights_and_the_engine_and_no_place(tmp_path: Path, gguf: str) -> None:
    """More 1: evidence is keyed by what was measured; neither the port nor the directory of a file changes a reply."""
    environment = engine_environment(tmp_path)
    moved = tmp_path / "elsewhere" / "tiny.gguf"
    moved.parent.mkdir()
    moved.write_bytes(b"GGUF tiny")
    first, second = await identity_of(gguf, environment), await identity_of(f"local:{moved}", environment)
    assert first == second
    assert first["provider"] == "local"
    assert first["engine"] == "xllamacpp stand-in"
    assert first["schema_replies"] is True
    assert str(tmp_path) not in json.dumps(dict(first))
    assert "127.0.0.1" not in json.dumps(dict(first))
    moved.write_bytes(b"GGUF trained further")
    assert await identity_of(f"local:{moved}", environment) != first


async def test_no_more_calls_are_under_way_than_the_server_has_slots(tmp_path: Path, gguf: str) -> None:
    async with LocalServers(engine_environment(tmp_path)) as servers:
        model = await open_local(RoleSettings(name=gguf), servers=servers)
        said = await asyncio.gather(*(said_by(model, "wait") for _ in range(12)))
        assert max(each["most"] for each in said) <= said[0]["slots"]
        await model.close()


async def test_a_server_that_is_gone_ends_the_run_with_its_last_words(tmp_path: Path, gguf: str) -> None:
    async with LocalServers(engine_environment(tmp_path)) as servers:
        model = await open_local(RoleSettings(name=gguf), servers=servers)
        with pytest.raises(FatalModelError, match=r"the server of tiny\.gguf is gone") as raised:
            await model.reply(request("die"))
        assert "exit code 9" in raised.value.message
        assert "out of memory" in raised.value.message
        await model.close()


@pytest.mark.parametrize(
    ("at_import", "at_start", "kind", "message", "hint"),
    [
        (
            "raise ModuleNotFoundError(\"No module named 'xllamacpp'\")",
            "",
            MissingDependencyError,
            "needs the extra",
            install_line("local"),
        ),
        (
            "raise ImportError('libgomp.so.1: cannot open shared object file')",
            "",
            MissingDependencyError,
            "needs the system library libgomp",
            "apt-get install libgomp1",
        ),
        ("", "raise RuntimeError('no such architecture')", ConfigError, "no such architecture", "enough memory"),
        ("", "os._exit(3)", ConfigError, "exit code 3", "enough memory"),
    ],
)
async def test_a_server_that_does_not_start_is_one_clear_error(
    tmp_path: Path, gguf: str, *, at_import: str, at_start: str, kind: type[Exception], message: str, hint: str
) -> None:
    environment = engine_environment(tmp_path, at_import=at_import, at_start=at_start)
    async with LocalServers(environment) as servers:
        with pytest.raises(kind, match=message) as raised:
            await open_local(RoleSettings(name=gguf), servers=servers)
    assert hint in raised.value.hint  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["base_url", "api_key_env"])
async def test_settings_that_a_local_model_has_not_are_refused(gguf: str, name: str) -> None:
    """F79: a setting that would be ignored is an error."""
    settings = RoleSettings.model_validate({"name": gguf, name: "SOMETHING"})
    async with LocalServers({}) as servers:
        with pytest.raises(ConfigError, match=f"{name} is set for local:"):
            await open_local(settings, servers=servers)


async def test_weights_that_were_not_fetched_start_nothing(tmp_path: Path) -> None:
    async with LocalServers({"SKILLOPT_CACHE": str(tmp_path)}) as servers:
        with pytest.raises(ConfigError, match="not on this machine"):
            await open_local(REAL, servers=servers)
        assert servers.running == ()


async def test_threads_of_the_engine_do_not_spin_unless_asked_to(tmp_path: Path, gguf: str) -> None:
    environment = engine_environment(tmp_path)
    assert "OMP_WAIT_POLICY" not in environment
    for given, expected in (({}, "passive"), ({"OMP_WAIT_POLICY": "active"}, "active")):
        async with LocalServers({**environment, **given}) as servers:
            model = await open_local(RoleSettings(name=gguf), servers=servers)
            (server,) = servers.running
            async with aiohttp.ClientSession() as session, session.get(server.address) as response:
                assert (await response.json())["omp"] == expected
            await model.close()
    assert "OMP_WAIT_POLICY" not in os.environ


async def test_a_cancelled_start_leaves_no_process(tmp_path: Path, gguf: str) -> None:
    """More 15: what is cancelled does not go on in the background."""
    started = tmp_path / "started"
    waits = f"open({str(started)!r}, 'w').write(str(os.getpid())); threading.Event().wait()"
    environment = engine_environment(tmp_path, at_start=waits)
    async with LocalServers(environment) as servers:
        opening = asyncio.create_task(open_local(RoleSettings(name=gguf), servers=servers))
        while not (started.exists() and started.read_text("utf-8")):
            assert not opening.done(), opening.exception()
            await asyncio.to_thread(os.sched_yield)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text("utf-8")), 0)


@pytest.mark.skipif(os.name != "posix", reason="only POSIX has process groups")
async def test_what_is_sent_to_all_processes_of_a_job_is_the_parents_to_hear(tmp_path: Path, gguf: str) -> None:
    """`timeout` and terminals signal the whole group; calls in flight then still get their answers."""
    async with LocalServers(engine_environment(tmp_path)) as servers:
        model = await open_local(RoleSettings(name=gguf), servers=servers)
        (server,) = servers.running
        assert os.getpgid(server.process_id) == server.process_id
        await model.close()


@pytest.mark.local_model
async def test_the_real_model_replies_the_same_twice() -> None:
    async with LocalServers(os.environ) as servers:
        model = await open_local(REAL, servers=servers)
        replies = [await model.reply(request("What is the capital of France? One word.")) for _ in range(2)]
        assert "Paris" in replies[0].text
        assert replies[0].text == replies[1].text
        assert replies[0].usage.output_tokens > 0
        assert model.identity["weights_sha256"] == KNOWN["qwen2.5-coder-0.5b"].sha256
        await model.close()


@pytest.mark.local_model
async def test_the_real_model_keeps_to_the_schema_of_edits() -> None:
    question = (
        'The expected answers are dates like 2024-01-31. Append one edit to the skill. Reply in JSON with "edits".'
    )
    async with LocalServers(os.environ) as servers:
        model = await open_local(REAL, servers=servers)
        answer = await ask(model, [Message("user", question)], Place("reflect"), EditsReply)
        assert answer.value is not None
        assert not answer.repaired
        assert all(set(edit) <= {"op", "target", "content"} for edit in answer.value.edits)
        await model.close()


@pytest.mark.local_model
async def test_cancelling_frees_the_slot_of_the_real_server() -> None:
    """More 15: the server stops working on what nobody waits for any longer."""
    async with LocalServers(os.environ) as servers, aiohttp.ClientSession() as session:
        model = await open_local(REAL, servers=servers)
        (server,) = servers.running

        async def wait_until(busy: bool) -> None:
            address = server.address.removesuffix("/v1") + "/slots"
            async with asyncio.timeout(20):  # the whole reply would take much longer
                slots: list[Any] = []
                while not slots or any(slot["is_processing"] for slot in slots) != busy:
                    async with session.get(address, headers={"Authorization": f"Bearer {server.key}"}) as response:
                        slots = await response.json()

        call = asyncio.create_task(model.reply(request("Write the numbers from one to one thousand in words.")))
        await wait_until(busy=True)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await wait_until(busy=False)
        await model.close()


@pytest.mark.local_model
async def test_a_file_that_only_begins_like_weights_is_one_clear_error(gguf: str) -> None:
    async with LocalServers(os.environ) as servers:
        with pytest.raises(ConfigError, match=r"the local model tiny\.gguf cannot be started: exit code 1") as raised:
            await open_local(RoleSettings(name=gguf), servers=servers)
    assert "failed to load model" in raised.value.message
    assert "Traceback" not in raised.value.message


@pytest.mark.local_model
@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="the system cannot be asked to tell of a process's end")
def test_the_real_server_dies_with_a_parent_that_was_killed() -> None:
    program = (
        "import asyncio, os, sys\n"
        "from skillopt.config.model_settings import RoleSettings\n"
        "from skillopt.models.local import LocalServers, open_local\n"
        "async def main():\n"
        "    async with LocalServers(os.environ) as servers:\n"
        f"        await open_local(RoleSettings(name={REAL.name!r}), servers=servers)\n"
        "        print(servers.running[0].process_id, flush=True)\n"
        "        await asyncio.Event().wait()\n"
        "asyncio.run(main())\n"
    )
    with child([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        server = os.pidfd_open(int(parent.stdout.readline()))
        parent.send_signal(signal.SIGKILL)
        ended, _, _ = select.select([server], [], [], 30)
        os.close(server)
    assert ended
