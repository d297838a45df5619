"""The table of failures, row by row through a real server: what it says is what is done."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from skillopt.config.model_settings import ModelSettings, RoleSettings
from skillopt.errors import FatalModelError, ModelError, TransientModelError
from skillopt.models.answers import AnsweringModel
from skillopt.models.base import ChatModel, ChatRequest
from skillopt.models.client import MOST_ANSWER_BYTES, CompatibleClient
from skillopt.models.failure_table import TABLE, Row, Treatment, row_of
from skillopt.models.limiter import LimitedModel, Limiter
from skillopt.models.meter import MeteredModel, Payment
from skillopt.models.prices import Prices
from skillopt.models.retry import RetryingModel
from skillopt.models.structured import ask
from skillopt.simulation.server import SimulatedServer
from skillopt.simulation.weather import Fault, scripted
from skillopt.simulation.world import World
from skillopt.step.replies import EditsReply
from skillopt.types import Message, Place, Role, Usage

WORLD = World(7)
TASK = WORLD.tasks[0]
ASKED = {
    "target": (Message("system", WORLD.perfect_skill()), Message("user", TASK.question)),
    "optimizer": (Message("user", f"{WORLD.seed_skill()}\nTask: {TASK.question}\nVerdict: failed."),),
}
CONCURRENCY = 16
WAIT = "7"

DRIVES: dict[str, Sequence[Fault]] = {
    "429 with Retry-After": [
        Fault("status", 429, retry_after=WAIT),
        Fault("status", 429, retry_after="Wed, 21 Oct 2099 07:28:00 GMT"),
        Fault("status", 429, retry_after="86400"),
        Fault("status", 429, retry_after="1000000000"),
    ],
    "429 whose code says that the account is empty": [Fault("status", 429, error_type="insufficient_quota")],
    "408, 409, 425 or 5xx with Retry-After": [
        Fault("status", status, retry_after=WAIT) for status in (408, 409, 425, 500, 503)
    ],
    "the connection breaks before the answer": [Fault("reset")],
    "the connection breaks within the answer": [Fault("cut_body")],
    "no answer within `timeout`": [Fault("hang")],
    "an answer that begins and is not whole within `timeout`": [Fault("stalled_body")],
    "a slow answer, whole within `timeout`": [Fault("slow_body")],
    "a whole answer under a wrong content type": [Fault("wrong_type")],
    "an answer that is no JSON": [Fault("garbage")],
    "an answer without choices or without a message": [Fault("no_choices")],
    "an answer whose generation broke off (finish reason `error` and the like)": [Fault("broken_off")],
    "200 with an error of an unknown or passing kind inside": [
        Fault("error_inside", status) for status in (408, 500, 502, 503)
    ],
    "200 with a rate limit's error inside": [Fault("error_inside", 429)],
    "200 with an error inside that will not pass": [Fault("error_inside", status) for status in (400, 401, 402, 404)],
    "a reply without text": [Fault("empty")],
    "a reply of reasoning only": [Fault("reasoning_only")],
    "a reply that is cut at its token limit": [Fault("cut")],
    "a reply that the content filter withholds": [Fault("withheld")],
    "a text that does not hold what was asked for": [Fault("off_topic")],
}
"""What drives a row that no status drives by itself."""

TOO_LARGE = "an answer larger than 16 MB, of which no more is read"

BY_OTHER_SERVERS = {"no server at the address", "a certificate that is not trusted", TOO_LARGE}
"""Rows with a test of their own below."""


def faults_of(row: Row) -> list[Fault]:
    return [*DRIVES.get(row.happens, ()), *(Fault("status", status, "in its own words") for status in row.statuses)]


@dataclass
class Seen:
    """What was seen of one request and its fault."""

    treatment: Treatment | None = None
    error: ModelError | None = None
    said: str = ""
    paused: list[float] = field(default_factory=list)
    allowed: int = CONCURRENCY
    in_vain: list[Usage] = field(default_factory=list[Usage])
    asked: int = 0
    paid: int = 0


class Asking:
    """One role's models as a run stacks them (`run/models.py`), on a clock that only waits move."""

    def __init__(self, role: Role, url: str, *, timeout: float = 20.0) -> None:
        settings = RoleSettings(name=f"compatible:simulated-{role}", timeout=timeout, schema_replies=True)
        self.client = CompatibleClient("compatible", f"simulated-{role}", base_url=url, settings=settings)
        self.now = 0.0
        self.paused: list[float] = []
        self.retries = 0
        self.payments: list[Payment] = []
        prices = Prices(ModelSettings(optimizer=settings, target=settings), on=date(2026, 1, 1))
        self.metered = MeteredModel(self.client, self.payments.append, role=role, prices=prices)
        self.limiter = Limiter(CONCURRENCY, clock=lambda: self.now, sleep=self._pause)
        limited = LimitedModel(self.metered, self.limiter)
        inner: ChatModel = AnsweringModel(limited) if role == "target" else limited
        self.model = RetryingModel(inner, 3, seed=1, sleep=self._back_off)
        self.role = role

    async def _pause(self, seconds: float) -> None:
        self.paused.append(seconds)
        self.now += seconds

    async def _back_off(self, seconds: float) -> None:
        self.retries += 1

    async def ask(self) -> str:
        place = Place("rollout" if self.role == "target" else "reflect", 1, 1)
        if self.role == "target":
            return (await self.model.reply(ChatRequest(ASKED["target"], place))).text
        answer = await ask(self.model, ASKED["optimizer"], place, EditsReply)
        return repr(answer.value)


async def see(role: Role, *faults: Fault | None, patience: float = 20.0) -> Seen:
    """Ask once in this weather, and tell what was done."""
    seen = Seen()
    async with SimulatedServer(WORLD, weather=scripted(faults)) as server:
        asking = Asking(role, server.base_url, timeout=patience)
        try:
            seen.said = await asking.ask()
        except ModelError as error:
            seen.error = error
        await asking.client.close()
        bodies = [call.body for call in server.calls]
    seen.in_vain = [payment.usage for payment in asking.payments if not payment.useful]
    seen.asked, seen.paid = len(bodies), len(asking.payments)
    seen.paused, seen.allowed = asking.paused, asking.limiter.allowed
    if isinstance(seen.error, FatalModelError) and len(bodies) == 1:
        seen.treatment = Treatment.STOP
    elif seen.error is None and (len(bodies), asking.retries) == (1, 0):
        seen.treatment = Treatment.REPLY
    elif seen.error is None and (len(bodies), asking.retries) == (2, 1) and bodies[0] == bodies[1]:
        seen.treatment = Treatment.AGAIN
    elif seen.error is None and (len(bodies), asking.retries) == (2, 0) and bodies[0] != bodies[1]:
        seen.treatment = Treatment.ASKED
    return seen


@pytest.mark.parametrize("role", ["target", "optimizer"])
@pytest.mark.parametrize(
    ("row", "fault"),
    [pytest.param(row, fault, id=f"{row.happens}-{fault}") for row in TABLE for fault in faults_of(row)],
)
async def test_what_the_table_says_is_what_is_done(row: Row, fault: Fault, role: Role) -> None:
    """F1, F4, F6: what may pass is tried again, what will not ends it with the provider's words, and nothing else."""
    fair = await see(role)
    seen = await see(role, fault, patience=0.5 if fault.kind in ("hang", "stalled_body") else 20.0)
    treatment = row.target if role == "target" else row.optimizer
    assert seen.treatment == treatment
    assert (seen.allowed < CONCURRENCY) == row.halves
    assert bool(seen.paused) == row.pauses
    if row.pauses:
        assert seen.paused[0] == (7.0 if fault.retry_after == WAIT else 300.0)
    if treatment is Treatment.STOP:
        assert seen.error is not None
        assert fault.message in seen.error.message or "redirects" in seen.error.message
    elif treatment is Treatment.AGAIN or fault.kind in ("slow_body", "wrong_type"):
        assert seen.said == fair.said


@pytest.mark.parametrize(
    ("row", "fault"),
    [pytest.param(row, fault, id=f"{row.happens}-{fault}") for row in TABLE for fault in faults_of(row)],
)
async def test_what_began_as_a_success_is_a_paid_call_and_nothing_else_is(row: Row, fault: Fault) -> None:
    """A generation that broke off is billed: not to count it would let a run pay beyond its limits without a word."""
    seen = await see("target", fault, patience=0.5 if fault.kind in ("hang", "stalled_body") else 20.0)
    assert seen.paid == seen.asked - (not row.paid)
    if fault.kind == "broken_off":
        assert [usage.output_tokens > 0 for usage in seen.in_vain] == [True]


def test_every_row_is_driven_and_has_its_own_words() -> None:
    driven = {row.happens for row in TABLE if faults_of(row)} | BY_OTHER_SERVERS
    assert [row.happens for row in TABLE if row.happens not in driven] == []
    assert DRIVES.keys() | BY_OTHER_SERVERS <= {row.happens for row in TABLE}
    assert len({row.happens for row in TABLE}) == len(TABLE)


def test_every_status_is_in_one_row_and_those_in_none_are_judged_by_their_hundred() -> None:
    statuses = [status for row in TABLE for status in row.statuses]
    assert len(statuses) == len(set(statuses))
    for status, row in ((599, 500), (418, 400), (399, 301)):
        assert status not in statuses
        assert row_of(status) is row_of(row)
    assert row_of(503, code="insufficient_quota") is row_of(429, code="insufficient_quota")
    assert row_of(429, code="slow_down") is row_of(429)


@pytest.mark.parametrize("role", ["target", "optimizer"])
async def test_no_server_at_the_address_is_tried_again(unused_tcp_port: int, role: Role) -> None:
    row = next(row for row in TABLE if row.happens == "no server at the address")
    asking = Asking(role, f"http://127.0.0.1:{unused_tcp_port}/v1")
    with pytest.raises(TransientModelError, match="cannot connect"):
        await asking.ask()
    await asking.client.close()
    assert (row.target, row.optimizer, asking.retries) == (Treatment.AGAIN, Treatment.AGAIN, 2)
    assert (asking.limiter.allowed, asking.paused) == (CONCURRENCY, [])


@pytest.mark.parametrize("role", ["target", "optimizer"])
async def test_an_answer_that_is_too_large_is_tried_again(role: Role) -> None:
    asked: list[str] = []

    async def flood(request: web.Request) -> web.Response:
        asked.append(request.path)
        return web.Response(body=b" " * (MOST_ANSWER_BYTES + 1), content_type="application/json")

    application = web.Application()
    application.router.add_post("/v1/chat/completions", flood)
    async with TestServer(application) as server:
        asking = Asking(role, str(server.make_url("/v1")))
        with pytest.raises(TransientModelError, match=f"larger than {MOST_ANSWER_BYTES // 2**20} MB"):
            await asking.ask()
        await asking.client.close()
    row = next(row for row in TABLE if row.happens == TOO_LARGE)
    assert f"{MOST_ANSWER_BYTES // 2**20} MB" in row.happens
    assert (row.target, row.optimizer, asking.retries, len(asked)) == (Treatment.AGAIN, Treatment.AGAIN, 2, 3)
    assert row.paid
    assert len(asking.payments) == 3
    assert (asking.limiter.allowed, asking.paused) == (CONCURRENCY, [])


def write_certificate(directory: Path) -> ssl.SSLContext:
    """Return the context of a server whose certificate nobody trusts but itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    unsigned = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    unsigned = unsigned.not_valid_before(datetime(2020, 1, 1, tzinfo=UTC)).not_valid_after(
        datetime(2099, 1, 1, tzinfo=UTC)
    )
    pem = unsigned.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (directory / "both.pem").write_bytes(pem + key.private_bytes(*form))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(directory / "both.pem")
    return context


@pytest.mark.parametrize("role", ["target", "optimizer"])
async def test_a_certificate_that_is_not_trusted_ends_it(tmp_path: Path, role: Role) -> None:
    row = next(row for row in TABLE if row.happens == "a certificate that is not trusted")
    server = TestServer(web.Application())
    await server.start_server(ssl=write_certificate(tmp_path))
    asking = Asking(role, f"https://127.0.0.1:{server.port}/v1")
    with pytest.raises(FatalModelError, match=r"certificate of .* is not trusted") as caught:
        await asking.ask()
    await asking.client.close()
    await server.close()
    assert "SSL_CERT_FILE" in caught.value.hint
    assert (row.target, row.optimizer, asking.retries) == (Treatment.STOP, Treatment.STOP, 0)
