"""Models on this machine: `local:NAME` and `local:PATH.gguf`, served by a process of their own for the length of a run.

The server speaks OpenAI's protocol, so the lean client asks it; this module starts it, shares it between the two roles
and ends it. Two settings have another default here than elsewhere: temperature 0, since a target should do the same
task the same way twice, and at most 1024 tokens a reply, since a small model that begins to repeat itself never stops.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import tempfile
from asyncio.subprocess import Process
from collections.abc import Mapping
from dataclasses import replace
from types import TracebackType
from typing import BinaryIO, Self

from skillopt.config.model_settings import RoleSettings
from skillopt.config.secrets import without_secrets
from skillopt.errors import ConfigError, FatalModelError, MissingDependencyError, TransientModelError, install_line
from skillopt.models.base import ChatModel, ChatReply, ChatRequest, ReplySchema
from skillopt.models.bounded_texts import with_bounded_texts
from skillopt.models.limiter import Limiter
from skillopt.models.weights import LocalWeights, cache_directory, resolve
from skillopt.types import JsonValue

CONTEXT = 8192
"""Tokens of one conversation, reply included: enough for a reflection on a minibatch of trajectories."""

MOST_SLOTS = 4
"""Most replies at once; each holds memory for a whole conversation."""

START_SECONDS = 300.0
"""Seconds in which the weights must be loaded."""

NOTICE_SECONDS = 1.0
"""Seconds after a failed call in which a server's end may still become known."""

DEFAULT_MAX_TOKENS = 1024
"""Most tokens of one reply where the settings do not say."""

_LAST_LINES = 6


class LocalServer:
    """One running server. Made by `LocalServers`.

    Attributes:
        address: Its API, up to and including `/v1`; another one at every start.
        key: The key it wants, known to this process only.
        engine: The engine's name and version.
        slots: One for each reply that it works on at once. Waiting for one costs no call its timeout and no task its
            deadline.
    """

    def __init__(self, process: Process, log: BinaryIO, *, weights: LocalWeights, slots: int) -> None:
        self._process = process
        self._log = log
        self._name = weights.path.name
        self.slots = Limiter(slots)
        self.address = self.key = self.engine = ""

    @classmethod
    async def start(cls, weights: LocalWeights, environment: Mapping[str, str]) -> Self:
        """Start a server and wait until it can be asked.

        Raises:
            MissingDependencyError: If the engine, or a system library it needs, is not installed.
            ConfigError: If it cannot read the weights, or is not ready in time.
        """
        processors = _processors()
        slots = min(processors, MOST_SLOTS)
        log = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "skillopt.models.local_server", str(weights.path)),
            *("--slots", str(slots), "--context", str(CONTEXT), "--threads", str(processors)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
            # What is sent to all processes of a terminal, or of a job, is the run's to hear: it ends its server itself.
            start_new_session=True,
            # Threads that spin while they wait fall to a quarter of their speed where the processors are shared. Keys
            # are none of the engine's business.
            env={"OMP_WAIT_POLICY": "passive", **without_secrets(environment)},
        )
        server = cls(process, log, weights=weights, slots=slots)
        try:
            await server._get_ready()
        except BaseException:
            await server.close()
            raise
        return server

    @property
    def process_id(self) -> int:
        """The number that the system knows the process by."""
        return self._process.pid

    async def ended(self, *, within: float) -> bool:
        """Return whether the process is gone, or is so within some seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within):
                await self._process.wait()
        return self._process.returncode is not None

    def last_words(self) -> str:
        """Return the code with which the process ended and the last lines that it wrote."""
        # Not before the end: reading would move the place at which the process writes.
        self._log.seek(0)
        lines = self._log.read().decode("utf-8", "replace").split("\n")
        kept = [line for line in lines if line.strip()][-_LAST_LINES:]
        return "\n  ".join((f"exit code {self._process.returncode}", *kept))

    async def close(self) -> None:
        """End the process, whatever it is at: it has nothing to save. Safe to call twice."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()
        self._log.close()

    async def _get_ready(self) -> None:
        assert self._process.stdout is not None
        try:
            async with asyncio.timeout(START_SECONDS):
                line = await self._process.stdout.readline()
                if not line:
                    await self._process.wait()
        except TimeoutError as error:
            raise ConfigError(
                f"the local model {self._name} was not ready within {START_SECONDS:g} s",
                hint="Is there enough memory for it? A smaller model loads faster.",
            ) from error
        if not line:
            raise _start_error(self._name, self.last_words())
        announcement = json.loads(line)
        self.address, self.key = f"{announcement['address']}/v1", announcement["key"]
        self.engine = announcement["engine"]


class LocalServers:
    """The servers of a run, one for each file of weights, however many roles use it; ended with the block.

    Args:
        environment: What the servers get as theirs, but for keys, and where the cache of weights is looked up
            (`os.environ`).
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._servers: dict[str, LocalServer] = {}
        self._starting = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        while self._servers:
            await self._servers.popitem()[1].close()

    @property
    def running(self) -> tuple[LocalServer, ...]:
        """The servers that were started, in that order."""
        return tuple(self._servers.values())

    async def find_weights(self, name_or_path: str) -> LocalWeights:
        """Return the weights that a name or path means; see `weights.resolve`."""
        return await asyncio.to_thread(resolve, name_or_path, cache=cache_directory(self._environment))

    async def serve(self, weights: LocalWeights) -> LocalServer:
        """Return the server of weights; started unless it runs.

        Raises:
            MissingDependencyError: If the engine, or a system library it needs, is not installed.
            ConfigError: If it cannot read the weights, or is not ready in time.
        """
        async with self._starting:
            if weights.sha256 not in self._servers:
                self._servers[weights.sha256] = await LocalServer.start(weights, self._environment)
            return self._servers[weights.sha256]


class LocalModel(ChatModel):
    """A model behind a server of our own.

    Args:
        client: Asks the server.
        server: The server.
        weights: What it serves.
    """

    def __init__(self, client: ChatModel, server: LocalServer, *, weights: LocalWeights) -> None:
        self._client = client
        self._server = server
        # The address is another one at every start and says nothing of a reply; the weights and the engine do.
        settings = {name: value for name, value in client.identity.items() if name != "base_url"}
        self._identity = {**settings, "weights_sha256": weights.sha256, "engine": server.engine}

    @property
    def identity(self) -> Mapping[str, JsonValue]:
        """Provider, model, digest of the weights, engine, and every setting that shapes a reply."""
        return self._identity

    async def reply(self, request: ChatRequest) -> ChatReply:
        """Ask once, when the server has a free slot; cancelling frees it.

        Raises:
            TransientModelError: If the server did not answer in time.
            FatalModelError: If it refused, or is gone.
        """
        if request.schema is not None:
            bounded = ReplySchema(request.schema.name, with_bounded_texts(request.schema.schema))
            request = replace(request, schema=bounded)
        async with self._server.slots.slot():
            try:
                return await self._client.reply(request)
            except TransientModelError as error:
                # The system tells of an end a moment after the connections have broken.
                if not await self._server.ended(within=NOTICE_SECONDS):
                    raise
                raise FatalModelError(
                    f"the server of {self._identity['model']} is gone ({self._server.last_words()})",
                    hint="The usual cause is too little memory. Start again with a smaller model; what was recorded is "
                    "kept.",
                ) from error

    async def close(self) -> None:
        """Close the connections; the server ends with its `LocalServers`."""
        await self._client.close()


async def open_local(settings: RoleSettings, *, servers: LocalServers) -> ChatModel:
    """Open the model that `local:NAME` or `local:PATH.gguf` means; its server runs when this returns.

    Args:
        settings: How the model is called. Unset, `temperature` is 0 and `max_tokens` is `DEFAULT_MAX_TOKENS`.
        servers: The run's servers, which outlive the model.

    Raises:
        ConfigError: If the weights are missing or cannot be read, or the settings name an address or a key.
        MissingDependencyError: If the extra `[local]`, or a system library it needs, is not installed.
    """
    for name in ("base_url", "api_key_env"):
        if getattr(settings, name) is not None:
            raise ConfigError(
                f"{name} is set for {settings.name}, which runs on this machine and has none",
                hint=f"Remove {name}. A llama.cpp server of your own: llamacpp:MODEL with its base_url.",
            )
    from skillopt.models.client import CompatibleClient
    from skillopt.models.wire import Dialect

    named = settings.name.partition(":")[2].strip()
    weights = await servers.find_weights(named)
    server = await servers.serve(weights)
    temperature = 0.0 if settings.temperature is None else settings.temperature
    defaults = {"temperature": temperature, "max_tokens": settings.max_tokens or DEFAULT_MAX_TOKENS}
    client = CompatibleClient(
        "local",
        weights.path.name if named.lower().endswith(".gguf") else named.lower(),
        base_url=server.address,
        settings=settings.model_copy(update=defaults),
        # Without events this server would go on with a reply that nobody waits for.
        dialect=Dialect(thinking="chat_template", constrains_schema=True, streams=True),
        key=server.key,
    )
    return LocalModel(client, server, weights=weights)


def _start_error(name: str, last_words: str) -> ConfigError | MissingDependencyError:
    if "No module named" in last_words:
        return MissingDependencyError(f"the local model {name} needs the extra [local]", hint=install_line("local"))
    if "libgomp" in last_words:
        return MissingDependencyError(
            f"the local model {name} needs the system library libgomp",
            hint="Install it: apt-get install libgomp1 (Debian, Ubuntu) or dnf install libgomp (Fedora).",
        )
    return ConfigError(
        f"the local model {name} cannot be started: {last_words}",
        hint="Is the file whole, and is there enough memory for it?",
    )


def _processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
