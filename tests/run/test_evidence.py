"""The evidence store: durable, never changed, never an error, never a secret."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_httpserver import HTTPServer

from skillopt.config.model_settings import RoleSettings
from skillopt.errors import FatalModelError, RunDirectoryError
from skillopt.models.base import ChatReply, ChatRequest
from skillopt.models.client import CompatibleClient
from skillopt.models.journal import JournaledModel
from skillopt.models.meter import Payment
from skillopt.run.evidence import EvidenceStore
from skillopt.run.evidence_format import FORMAT, RECORDS, checksum
from skillopt.types import Failure, Message, Place, Rollout, Score, Task, Trajectory, Usage

TASK = Task("任务 1/..", {"question": "2 + 2?", "answer": 4})
TRAJECTORY = Trajectory((Message("user", "2 + 2?"),), "4")
ROLLOUT = Rollout(TASK, "skill", trajectory=TRAJECTORY, score=Score(0, 0.0, "no"))
FAILURE = Failure("timeout", "target", "TimeoutError", "no answer within 7 s")
PLACE = Place("gate", epoch=1, step=2, index=3)
REQUEST = ChatRequest((Message("user", "Propose."),), PLACE)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "evidence.sqlite"


@pytest.fixture
def store(path: Path) -> Iterator[EvidenceStore]:
    with EvidenceStore(path) as opened:
        yield opened


def test_what_was_recorded_is_there_after_reopening(path: Path) -> None:
    reply = ChatReply("yes", usage=Usage(1, 2, 3, 4))
    with EvidenceStore(path) as store:
        assert store.get_reply("r") is None
        assert store.get_trajectory("t") is None
        assert store.get_rollout("o", TASK) is None
        assert store.get_given_up("g", PLACE) is None
        assert store.get_meta("m") is None
        store.put_reply("r", reply, role="optimizer", request=REQUEST)
        store.put_trajectory("t", TRAJECTORY)
        store.put_rollout("o", ROLLOUT)
        store.put_given_up("g", PLACE, FAILURE)
        store.put_meta("m", "1")
        store.put_meta("m", "2")
    with EvidenceStore(path) as store:
        assert store.get_reply("r") == reply
        assert store.get_trajectory("t") == TRAJECTORY
        assert store.get_rollout("o", TASK) == ROLLOUT, "a score of 0.0 is a score"
        assert store.get_given_up("g", PLACE) == FAILURE
        assert store.get_meta("m") == "2"


def test_the_first_record_under_a_key_stands(store: EvidenceStore) -> None:
    for text in ("first", "second"):
        store.put_reply("r", ChatReply(text), role="optimizer", request=REQUEST)
        store.put_trajectory("t", Trajectory((), text))
        store.put_rollout("o", replace(ROLLOUT, trajectory=Trajectory((), text)))
        store.put_given_up("g", PLACE, replace(FAILURE, message=text))
    reply, rollout, failure = store.get_reply("r"), store.get_rollout("o", TASK), store.get_given_up("g", PLACE)
    assert store.get_trajectory("t") == Trajectory((), "first")
    assert reply is not None
    assert rollout is not None
    assert rollout.trajectory is not None
    assert failure is not None
    assert (reply.text, rollout.trajectory.output, failure.message) == ("first", "first", "first")


def test_an_unmeasured_rollout_is_refused(store: EvidenceStore) -> None:
    """F14: an error is never evidence."""
    with pytest.raises(ValueError, match=r"task '任务 1/\.\.' was not measured \(.*no answer within 7 s"):
        store.put_rollout("o", Rollout(TASK, "skill", failure=FAILURE))
    assert store.get_rollout("o", TASK) is None


@pytest.mark.parametrize("change", [{"stage": "test"}, {"epoch": 2}, {"step": 9}, {"index": 0}, {"attempt": 1}])
def test_giving_up_answers_only_the_same_place(store: EvidenceStore, change: dict[str, object]) -> None:
    """F14: what one stage went on without is tried again by every other one."""
    store.put_given_up("g", PLACE, FAILURE)
    assert store.get_given_up("g", replace(PLACE, **change)) is None
    assert store.get_given_up("other", PLACE) is None
    store.put_given_up("g", replace(PLACE, **change), replace(FAILURE, message="another"))
    assert store.get_given_up("g", replace(PLACE, **change)) == replace(FAILURE, message="another")
    assert store.get_given_up("g", PLACE) == FAILURE
    assert store.get_rollout("g", TASK) is None


@given(st.text(), st.text(max_size=5))
def test_notes_keep_their_bytes(text: str, name: str) -> None:
    with EvidenceStore(Path(":memory:")) as store:
        store.put_meta(f"note {name}", text)
        assert store.get_meta(f"note {name}") == text


WRITER = """
import sys
from pathlib import Path
from skillopt.models.base import ChatReply, ChatRequest
from skillopt.run.evidence import EvidenceStore
from skillopt.types import Message, Place

store = EvidenceStore(Path(sys.argv[1]))
request = ChatRequest((Message("user", "?"),), Place("reflect"))
for number in range(10**9):
    store.put_reply(str(number), ChatReply("x" * 5000), role="optimizer", request=request)
    print(number, flush=True)
"""


def test_a_kill_loses_nothing_that_was_recorded(path: Path) -> None:
    """Whatever put returned for is there after SIGKILL, and the store opens as if nothing had happened."""
    for _ in range(2):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True)
        assert writer.stdout is not None
        told = [next(writer.stdout) for _ in range(100)]
        writer.send_signal(signal.SIGKILL)
        told += writer.stdout.readlines()
        writer.wait()
        writer.stdout.close()
        with EvidenceStore(path) as store:
            assert all(store.get_reply(line.strip()) is not None for line in told if line.endswith("\n"))


def test_a_file_that_was_killed_while_it_was_made_is_made_anew(path: Path) -> None:
    path.touch()
    with EvidenceStore(path) as store:
        store.put_meta("m", "1")
        assert store.get_meta("m") == "1"


def refused(path: Path) -> str:
    with pytest.raises(RunDirectoryError) as caught:
        EvidenceStore(path)
    assert str(path) in caught.value.message
    assert caught.value.hint
    return str(caught.value)


def test_another_format_is_refused(path: Path) -> None:
    EvidenceStore(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE meta SET value = '999' WHERE name = 'format'")
    connection.close()
    assert f"has format 999; this version of SkillOpt knows the formats 1 to {FORMAT}" in refused(path)
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM meta")
    connection.close()
    assert "has format None" in refused(path)


def test_a_table_that_came_later_is_made_in_an_older_file(path: Path) -> None:
    with EvidenceStore(path) as store:
        store.put_meta("m", "1")
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE trajectories")
    connection.close()
    with EvidenceStore(path) as store:
        store.put_trajectory("t", TRAJECTORY)
        assert store.get_meta("m") == "1"


def test_a_foreign_file_is_refused_and_left_alone(path: Path) -> None:
    path.write_text("not a database, but long enough to look into " * 100)
    before = path.read_bytes()
    assert "not a database" in refused(path)
    assert path.read_bytes() == before
    path.unlink()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE recipes (name TEXT)")
    connection.close()
    assert "no evidence store" in refused(path)


def test_a_directory_that_is_missing_or_takes_no_file_is_refused(tmp_path: Path) -> None:
    assert "must exist and be writable" in refused(tmp_path / "missing" / "evidence.sqlite")
    assert "must exist and be writable" in refused(tmp_path)
    assert "must exist and be writable" in refused(Path("/proc/evidence.sqlite"))


def test_a_damaged_file_is_an_error_for_a_person(path: Path) -> None:
    with EvidenceStore(path) as store:
        for number in range(200):
            store.put_meta(str(number), "x" * 1000)
    content = bytearray(path.read_bytes())
    content[8192:] = b"\xa5" * (len(content) - 8192)
    path.write_bytes(content)
    with pytest.raises(RunDirectoryError) as caught, EvidenceStore(path) as store:
        store.get_meta("7")
    assert "malformed" in caught.value.message
    assert "copy" in caught.value.hint


@pytest.mark.parametrize("record", ["", "[]", "{}", "null", '{"text": 1', '{"usage": {}, "surprise": 1}'])
def test_a_damaged_record_is_an_error_for_a_person(path: Path, record: str) -> None:
    with EvidenceStore(path) as store:
        store.put_reply("r", ChatReply("yes"), role="optimizer", request=REQUEST)
        store.put_trajectory("t", TRAJECTORY)
        store.put_rollout("o", ROLLOUT)
    with sqlite3.connect(path) as connection:
        connection.create_function("checksum", 2, checksum)
        for table, column in RECORDS.items():
            connection.execute(f"UPDATE {table} SET {column} = ?, checksum = checksum(key, ?)", (record, record))
    connection.close()
    with EvidenceStore(path) as store:
        with pytest.raises(RunDirectoryError, match="damaged record"):
            store.get_reply("r")
        with pytest.raises(RunDirectoryError, match="damaged record"):
            store.get_trajectory("t")
        with pytest.raises(RunDirectoryError, match="damaged record"):
            store.get_rollout("o", TASK)


def test_the_name_of_the_format_belongs_to_the_store(store: EvidenceStore) -> None:
    with pytest.raises(ValueError, match="format"):
        store.put_meta("format", "2")


async def test_no_secret_reaches_the_file(path: Path, httpserver: HTTPServer) -> None:
    """More 18: neither the key of a model nor the password of its address is written, whatever the server says."""
    httpserver.expect_ordered_request("/v1/chat/completions").respond_with_json(
        {"choices": [{"message": {"content": "hello"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 1}}
    )
    httpserver.expect_ordered_request("/v1/chat/completions").respond_with_json(
        {"error": {"message": "Incorrect API key provided: sk-SECRET"}}, status=401
    )
    address = httpserver.url_for("/v1").replace("http://", "http://user:PASSWORD@")
    settings = RoleSettings(name="openai:m", base_url=address, api_key_env="SOME_KEY")
    client = CompatibleClient(
        "openai", "m", base_url=address, settings=settings, key="sk-SECRET", key_variable="SOME_KEY"
    )
    with EvidenceStore(path) as store:
        model = JournaledModel(client, store, role="optimizer", on_reply=lambda *_: None)
        assert (await model.reply(REQUEST)).text == "hello"
        again = replace(REQUEST, place=replace(PLACE, attempt=1))
        with pytest.raises(FatalModelError) as caught:
            await model.reply(again)
        store.put_given_up("g", PLACE, Failure("error", "target", "FatalModelError", caught.value.message))
        await model.close()
        kept = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert b"hello" in kept
    assert b"SECRET" not in kept
    assert b"PASSWORD" not in kept
    assert httpserver.log[0][0].headers["Authorization"].endswith("sk-SECRET")


def test_a_payment_is_written_with_the_record_it_was_paid_for(path: Path) -> None:
    """A process that is killed has written both or neither: nothing that is on record is paid again."""
    inside = [Payment("target", replace(PLACE, attempt=n), Usage(1, n), 0.5, useful=n > 1) for n in (1, 2)]
    with EvidenceStore(path) as store, EvidenceStore(path) as looker:
        with store.recording("rollout"):
            for payment in inside:
                store.put_payment(payment)
            assert looker.payments() == ()
            store.put_trajectory("t", TRAJECTORY)
            assert looker.payments() == tuple(replace(payment, key="rollout") for payment in inside)
        assert len(looker.payments()) == 2


def test_what_was_paid_and_led_to_no_record_is_written_as_of_no_use(store: EvidenceStore) -> None:
    """Limits count it: it is on the bill."""
    with pytest.raises(KeyError), store.recording("rollout"):
        store.put_payment(Payment("target", PLACE, Usage(1), 0.5))
        raise KeyError
    assert store.payments() == (Payment("target", PLACE, Usage(1), 0.5, key="rollout", useful=False),)


async def test_two_who_pay_at_once_do_not_write_each_others_payments(store: EvidenceStore) -> None:
    paid = asyncio.Event()

    async def first() -> None:
        with store.recording("first"):
            store.put_payment(Payment("target", PLACE, Usage(1, 1), None))
            await paid.wait()
            store.put_trajectory("first", TRAJECTORY)

    async def second() -> None:
        with store.recording("second"):
            store.put_payment(Payment("target", PLACE, Usage(1, 2), None))
            store.put_trajectory("second", TRAJECTORY)
        paid.set()

    async with asyncio.TaskGroup() as group:
        group.create_task(first())
        group.create_task(second())
    assert [(payment.key, payment.usage.fresh_tokens) for payment in store.payments()] == [("second", 2), ("first", 1)]


def test_a_bit_that_flips_in_a_record_is_found_when_it_is_read(path: Path) -> None:
    """A damaged disk does not quietly become another reply."""
    with EvidenceStore(path) as store:
        store.put_reply("r", ChatReply("yes"), role="optimizer", request=REQUEST)
        store.put_trajectory("t", TRAJECTORY)
        store.put_rollout("o", ROLLOUT)
        store.put_given_up("g", PLACE, FAILURE)
    with sqlite3.connect(path) as connection:
        for table, column in RECORDS.items():
            connection.execute(f"UPDATE {table} SET {column} = replace({column}, 'e', 'f')")
    connection.close()
    with EvidenceStore(path) as store:
        reads: list[Callable[[], object]] = [
            lambda: store.get_reply("r"),
            lambda: store.get_trajectory("t"),
            lambda: store.get_rollout("o", TASK),
            lambda: store.get_given_up("g", PLACE),
        ]
        for read in reads:
            with pytest.raises(RunDirectoryError, match="damaged record"):
                read()


def test_a_bit_that_flips_in_a_note_of_the_run_is_found_when_it_is_read(path: Path) -> None:
    with EvidenceStore(path) as store:
        store.put_meta("identity", "{}")
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE meta SET value = '[}' WHERE name = 'identity'")
    connection.close()
    with EvidenceStore(path) as store, pytest.raises(RunDirectoryError, match="damaged note of the run, 'identity'"):
        store.get_meta("identity")


def test_payments_are_kept_as_they_were_made_and_one_after_the_other(tmp_path: Path) -> None:
    payments = [
        Payment("target", Place("gate", 1, 2, 3, 1), Usage(1, 10, 20, 30), 0.125, retries=2, key="k", useful=False),
        Payment("optimizer", Place("reflect", 1, 1), Usage(1, 5, 0, 7), None),
        Payment("optimizer", Place("reflect", 1, 1), Usage(1, 5, 0, 7), None),
    ]
    with EvidenceStore(tmp_path / "evidence.sqlite") as store:
        for payment in payments:
            store.put_payment(payment)
    with EvidenceStore(tmp_path / "evidence.sqlite") as store:
        assert store.payments() == tuple(payments)
        assert store.empty, "a payment without a record answers nothing"


def test_what_was_given_up_elsewhere_does_not_come_here_by_a_flipped_bit(path: Path) -> None:
    with EvidenceStore(path) as store:
        store.put_given_up("k", Place("gate", 1, 2), Failure("timeout", "gate", "E", "m"))
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE given_up SET step = 3")
    connection.close()
    with EvidenceStore(path) as store, pytest.raises(RunDirectoryError, match="damaged record, in given_up"):
        store.get_given_up("k", Place("gate", 1, 3))


def test_a_note_can_be_forgotten() -> None:
    with EvidenceStore(Path(":memory:")) as evidence:
        evidence.put_meta("name", "value")
        evidence.remove_meta("name")
        evidence.remove_meta("never there")
        assert evidence.get_meta("name") is None


def test_what_is_written_into_a_directory_that_was_moved_is_an_error(tmp_path: Path) -> None:
    """A file without a name goes on living, and what is paid into it would be lost without a word."""
    run = tmp_path / "run"
    run.mkdir()
    with EvidenceStore(run / "evidence.sqlite") as evidence:
        evidence.put_given_up("one", Place("gate"), Failure("error", "target", "TimeoutError", "no answer"))
        run.rename(tmp_path / "elsewhere")
        with pytest.raises(RunDirectoryError, match="was moved or removed"):
            evidence.put_given_up("two", Place("gate"), Failure("error", "target", "TimeoutError", "no answer"))
    with EvidenceStore(tmp_path / "elsewhere" / "evidence.sqlite") as evidence:
        assert evidence.get_given_up("two", Place("gate")) is not None


def test_a_run_has_begun_with_a_record_of_its_own_or_with_a_baseline() -> None:
    """What is shared by another run is none of its own, and is not nothing either."""
    with EvidenceStore(Path(":memory:")) as evidence:
        assert (evidence.empty, evidence.begun) == (True, False)
        evidence.put_meta("timing of step 0", "{}")
        assert (evidence.empty, evidence.begun) == (True, True), "a baseline"
        evidence.remove_meta("timing of step 0")
        evidence.put_payment(Payment("target", Place("eval"), Usage(1, 5, 0, 7), None))
        assert not evidence.begun, "an evaluation begins no run"
        evidence.put_given_up("one", Place("gate"), Failure("error", "target", "TimeoutError", "no answer"))
        assert (evidence.empty, evidence.begun) == (False, True)


def test_a_payment_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    """Passed over without a word, it would be missing on the bill and in the limits."""
    path = tmp_path / "evidence.sqlite"
    with EvidenceStore(path) as evidence:
        with closing(sqlite3.connect(path)) as other:
            other.execute("CREATE UNIQUE INDEX one_payment ON payments (role)")
            other.commit()
        payment = Payment("target", Place("gate"), Usage(1, 5, 0, 7), None)
        evidence.put_payment(payment)
        with pytest.raises(RunDirectoryError):
            evidence.put_payment(payment)
