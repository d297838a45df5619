"""What stands between a training and a tracker: nothing is told twice, and no failure gets through."""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.trackers import START, ScriptedTracker, Store, a_point, an_end, failing, noted, play, sender

from skillopt.text_files import never_made_anew
from skillopt.trackers.base import Tracker
from skillopt.trackers.told import Status


@pytest.fixture
def store() -> Store:
    return Store()


def test_a_training_is_told_to_one_run_and_the_run_is_closed(tmp_path: Path, store: Store) -> None:
    assert play(tmp_path, ScriptedTracker(store), map(a_point, range(3)), an_end(2)) == []
    assert store == Store(
        {"run-1": [0, 1, 2]},
        {"run-1": ["improved"]},
        {"run-1": Status.FINISHED},
        ["open", "log", "log", "log", "end", "close"],
    )


def test_a_start_that_plays_what_is_known_opens_nothing(tmp_path: Path, store: Store) -> None:
    play(tmp_path, ScriptedTracker(store), map(a_point, range(3)), an_end(2))
    before = (tmp_path / "trackers.json").read_bytes()
    store.calls.clear()
    play(tmp_path, ScriptedTracker(store), map(a_point, range(3)), an_end(2))
    assert store.calls == []
    assert (tmp_path / "trackers.json").read_bytes() == before


def test_a_training_that_goes_on_goes_on_in_its_run(tmp_path: Path, store: Store) -> None:
    play(tmp_path, ScriptedTracker(store), map(a_point, range(2)), an_end(1, "interrupted"))
    play(tmp_path, ScriptedTracker(store), map(a_point, range(4)), an_end(3))
    assert store.steps == {"run-1": [0, 1, 2, 3]}
    assert store.ends == {"run-1": ["interrupted", "improved"]}


def test_steps_that_come_out_otherwise_are_told_to_a_new_run(tmp_path: Path, store: Store) -> None:
    """More epochs may change the schedule of steps that were played: a run that mixed both would be neither."""
    play(tmp_path, ScriptedTracker(store), map(a_point, range(3)), an_end(2))
    play(tmp_path, ScriptedTracker(store), [a_point(0), a_point(1, 0.75), a_point(2)], an_end(2))
    assert store.steps == {"run-1": [0, 1, 2], "run-2": [0, 1, 2]}


def test_a_run_that_is_gone_is_made_anew_with_all_its_steps(tmp_path: Path, store: Store) -> None:
    play(tmp_path, ScriptedTracker(store), map(a_point, range(2)))
    other = Store()
    play(tmp_path, ScriptedTracker(other), map(a_point, range(3)))
    assert other.steps == {"run-1": [0, 1, 2]}


def test_another_place_has_a_run_of_its_own(tmp_path: Path, store: Store) -> None:
    play(tmp_path, ScriptedTracker(store), map(a_point, range(2)))
    play(tmp_path, ScriptedTracker(store), map(a_point, range(2)), place="elsewhere")
    assert store.steps == {"run-1": [0, 1], "run-2": [0, 1]}


def test_a_step_that_was_told_and_not_noted_is_not_told_again_where_the_tracker_counts(
    tmp_path: Path, store: Store
) -> None:
    """A kill between the two."""
    play(tmp_path, ScriptedTracker(store), map(a_point, range(2)))
    store.steps["run-1"].append(2)
    play(tmp_path, ScriptedTracker(store, counts=True), map(a_point, range(4)))
    assert store.steps == {"run-1": [0, 1, 2, 3]}
    assert len(noted(tmp_path)["steps"]) == 4  # type: ignore[arg-type]


def test_a_run_that_is_open_is_used_and_what_another_one_knew_is_told_to_it(tmp_path: Path, store: Store) -> None:
    play(tmp_path, ScriptedTracker(store), map(a_point, range(3)), an_end(2))
    store.steps["theirs"] = []
    play(tmp_path, ScriptedTracker(store, attached="theirs"), map(a_point, range(3)), an_end(2))
    assert store.steps == {"run-1": [0, 1, 2], "theirs": [0, 1, 2]}
    play(tmp_path, ScriptedTracker(store, attached="theirs"), map(a_point, range(4)))
    assert store.steps["theirs"] == [0, 1, 2, 3], "and the same one goes on"


@pytest.mark.parametrize("call", ["open", "log", "end", "close"])
def test_a_failure_is_reported_once_counted_and_made_up_for(tmp_path: Path, store: Store, call: str) -> None:
    said = play(tmp_path, ScriptedTracker(store, failing(call, call)), map(a_point, range(3)), an_end(2))
    assert [words.partition(";")[0] for words in said] == [
        "tracker scripted: ConnectionError: no route to the tracker, key (not shown)"
    ]
    found = noted(tmp_path)
    assert found["failures"] in (1, 2)
    assert found["last_failure"] == "ConnectionError: no route to the tracker, key (not shown)"
    assert play(tmp_path, ScriptedTracker(store), map(a_point, range(3)), an_end(2)) == []
    assert store.steps == {"run-1": [0, 1, 2]}
    assert store.ends == {"run-1": ["improved"]}
    assert noted(tmp_path)["failures"] == found["failures"], "it was no failure"


def test_what_one_step_did_not_get_through_goes_with_the_next(tmp_path: Path, store: Store) -> None:
    one = sender(tmp_path, lambda: ScriptedTracker(store, failing("log")), said := [])
    reported = threading.Event()
    one._report = lambda words: (said.append(words), reported.set())  # type: ignore[assignment]
    one.tell(START)
    one.tell(a_point(0))
    assert reported.wait(30)
    one.tell(a_point(1))
    one.stop(Status.KILLED)
    one.join()
    assert store.steps == {"run-1": [0, 1]}
    assert len(said) == 1


def test_a_library_that_ends_the_program_ends_nothing(tmp_path: Path, store: Store) -> None:
    (said,) = play(tmp_path, ScriptedTracker(store, failing("log", error=SystemExit("no login"))), [a_point(0)])
    assert said.startswith("tracker scripted: SystemExit: no login;")


class Speechless(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


@pytest.mark.parametrize(
    "error", [Speechless(), KeyboardInterrupt(), GeneratorExit()], ids=lambda error: type(error).__name__
)
def test_whatever_a_library_raises_is_a_failure_that_is_reported(
    tmp_path: Path, store: Store, error: BaseException
) -> None:
    (said,) = play(tmp_path, ScriptedTracker(store, failing("log", error=error)), [a_point(0)])
    assert said.startswith(f"tracker scripted: {type(error).__name__};")
    assert noted(tmp_path)["last_failure"] == type(error).__name__


def test_a_tracker_that_cannot_be_made_is_a_failure_too(tmp_path: Path) -> None:
    def broken() -> Tracker:
        raise ImportError("half installed")

    one = sender(tmp_path, broken, said := [])
    one.tell(START)
    one.stop(Status.KILLED)
    one.join()
    assert [words.partition(";")[0] for words in said] == ["tracker scripted: ImportError: half installed"]


def test_a_directory_that_is_gone_is_a_failure_and_is_not_made_anew(tmp_path: Path, store: Store) -> None:
    directory = tmp_path / "gone"
    directory.mkdir()
    with never_made_anew(directory):
        directory.rename(tmp_path / "elsewhere")
        (said,) = play(directory, ScriptedTracker(store), [a_point(0)])
    assert "RunDirectoryError" in said
    assert not directory.exists()


def test_a_tracker_that_hangs_holds_up_nobody_and_writes_nothing_when_it_comes_back(
    tmp_path: Path, store: Store
) -> None:
    """More 15: what is left to itself tells and writes nothing later."""
    hangs, goes_on = threading.Event(), threading.Event()

    def hang(call: str) -> None:
        if call == "log":
            hangs.set()
            assert goes_on.wait(30)

    one = sender(tmp_path, lambda: ScriptedTracker(store, hang), said := [])
    for message in (START, a_point(0), a_point(1), an_end()):
        one.tell(message)
    assert hangs.wait(30)
    one.stop(Status.KILLED)
    assert one.at_work
    before = (tmp_path / "trackers.json").read_bytes()
    one.abandon("it hangs")
    goes_on.set()
    one.join()
    assert said == ["tracker scripted: it hangs"]
    assert store.calls == ["open", "log"], "the call that hung came through, and no other followed"
    assert (tmp_path / "trackers.json").read_bytes() == before


@given(
    starts=st.lists(
        st.tuples(st.integers(0, 5), st.booleans(), st.lists(st.sampled_from(["open", "log", "end", "close"]))),
        max_size=5,
    )
)
def test_however_often_it_is_started_and_fails_each_step_is_told_once(
    starts: list[tuple[int, bool, list[str]]],
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        store = Store()
        for steps, ends, fails in [*starts, (6, True, [])]:
            play(
                Path(directory),
                ScriptedTracker(store, failing(*fails)),
                map(a_point, range(steps)),
                an_end(5) if ends else None,
            )
        assert list(store.steps.values()) == [list(range(6))]
        assert store.ends["run-1"] == ["improved"]
