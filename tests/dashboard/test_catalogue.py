"""The runs in a directory: found by a listing, read anew when they change, and nothing outside is reached."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from starlette.testclient import TestClient
from tests.dashboard.conftest import Visit

from skillopt.dashboard.catalogue import Catalogue, RunEntry, no_directory, stamp_of, stamps_of
from skillopt.errors import RunDirectoryError

NAMES = some.text(some.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=30)


class Hand:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def make(*places: Path) -> None:
    for place in places:
        place.mkdir(parents=True)
        (place / "events.jsonl").write_text("", "utf-8")


def test_runs_are_found_two_levels_deep_and_no_deeper(tmp_path: Path) -> None:
    make(
        tmp_path / "one",
        tmp_path / "group/two",
        tmp_path / "group/deep/three",
        tmp_path / ".hidden",
        tmp_path / "one/in",
    )
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("", "utf-8")
    found = Catalogue(tmp_path).runs()
    assert [(entry.id, entry.name) for entry in found] == [("group~two", "group/two"), ("one", "one")]


def test_a_run_itself_may_be_the_directory(tmp_path: Path) -> None:
    make(tmp_path / "run")
    assert Catalogue(tmp_path / "run").runs() == (RunEntry("~", "run", (tmp_path / "run").resolve()),)


def test_links_that_lead_out_are_not_followed(tmp_path: Path) -> None:
    make(tmp_path / "outside", tmp_path / "runs/inside")
    (tmp_path / "runs/link").symlink_to(tmp_path / "outside", target_is_directory=True)
    (tmp_path / "runs/own").symlink_to(tmp_path / "runs/inside", target_is_directory=True)
    (tmp_path / "runs/loop").symlink_to(tmp_path / "runs/loop")
    (tmp_path / "runs/borrowed").mkdir()
    (tmp_path / "runs/borrowed/events.jsonl").symlink_to(tmp_path / "outside/events.jsonl")
    found = Catalogue(tmp_path / "runs").runs()
    assert [entry.name for entry in found] == ["inside", "own"]
    assert {entry.directory for entry in found} == {(tmp_path / "runs/inside").resolve()}


def test_new_runs_appear_and_removed_ones_go_without_a_new_start(tmp_path: Path) -> None:
    clock = Hand()
    catalogue = Catalogue(tmp_path, clock=clock)
    assert catalogue.runs() == ()
    make(tmp_path / "new")
    clock.now = 2.0
    assert [entry.id for entry in catalogue.runs()] == ["new"]
    shutil.rmtree(tmp_path / "new")
    clock.now = 4.0
    assert catalogue.find("new") is None


def test_a_directory_that_takes_long_to_list_is_listed_less_often(tmp_path: Path) -> None:
    make(tmp_path / "one")
    times = iter([0.0, 3.0, 10.0, 62.0, 64.0, 65.0])
    catalogue = Catalogue(tmp_path, clock=lambda: next(times))
    assert len(catalogue.runs()) == 1
    make(tmp_path / "two")
    assert [len(catalogue.runs()) for _ in range(3)] == [1, 1, 2]


def test_a_reader_is_kept_until_the_files_of_its_run_change(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "first/run", tmp_path / "run")
    catalogue = Catalogue(tmp_path)
    (entry,) = catalogue.runs()
    reader = catalogue.files(entry)
    assert catalogue.files(entry) is reader
    (tmp_path / "run/history.json").write_text("[]", "utf-8")
    assert catalogue.files(entry) is not reader
    assert catalogue.files(entry).records == ()


def test_a_reader_is_made_anew_when_the_end_of_its_run_is_logged_and_when_it_starts_again(
    runs: Path, tmp_path: Path
) -> None:
    run = shutil.copytree(runs / "first/run", tmp_path / "run")
    log = run / "events.jsonl"
    start, *_, end = lines = log.read_bytes().splitlines(keepends=True)
    # The summary is written ahead of the event that the run has ended.
    log.write_bytes(b"".join(lines[:-1]))
    catalogue = Catalogue(tmp_path)
    (entry,) = catalogue.runs()
    assert catalogue.files(entry).summary is None
    with log.open("ab") as file:
        file.write(end)
    ended = catalogue.files(entry)
    assert ended.summary is not None
    with log.open("ab") as file:
        file.write(start)
    assert catalogue.files(entry).summary is None
    going_on = catalogue.files(entry)
    with log.open("ab") as file:
        file.write(lines[1])
    assert catalogue.files(entry) is going_on


def test_a_log_that_cannot_be_read_makes_no_reader_stale(tmp_path: Path) -> None:
    make(tmp_path / "run")
    (tmp_path / "run/events.jsonl").unlink()
    (tmp_path / "run/events.jsonl").mkdir()
    assert stamps_of(tmp_path / "run") == stamps_of(tmp_path / "run")


def test_no_more_readers_are_kept_than_fit(runs: Path, tmp_path: Path) -> None:
    for number in range(20):
        make(tmp_path / f"run{number}")
    catalogue = Catalogue(tmp_path)
    readers = [catalogue.files(entry) for entry in catalogue.runs()]
    again = [catalogue.files(entry) for entry in reversed(catalogue.runs())]
    assert sum(one is two for one, two in zip(readers, reversed(again), strict=True)) == 16


def test_a_run_that_has_gone_is_an_error_in_words(tmp_path: Path) -> None:
    make(tmp_path / "run")
    catalogue = Catalogue(tmp_path)
    (entry,) = catalogue.runs()
    shutil.rmtree(tmp_path / "run")
    with pytest.raises(RunDirectoryError, match="no run directory"):
        catalogue.files(entry)
    assert stamp_of(tmp_path / "run") is None
    assert "no directory" in no_directory(tmp_path).message


@given(asked=some.one_of(NAMES, some.sampled_from(["..", ".", "../first", "..~..", "first~..", "/etc", "first/run"])))
def test_no_id_reaches_what_is_not_listed(runs: Path, pages: TestClient, asked: str) -> None:
    listed = {entry.id for entry in Catalogue(runs).runs()}
    assert (Catalogue(runs).find(asked) is not None) == (asked in listed)
    if asked not in listed | {".", ".."}:
        assert pages.get(f"/runs/{quote(asked, safe='')}").status_code in (404, 400)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(
    names=some.sets(
        NAMES.filter(
            lambda name: name not in (".", "..") and not name.startswith(".") and len(os.fsencode(name)) < 200
        ),
        max_size=5,
    )
)
def test_every_name_of_a_directory_gets_an_id_of_its_own_that_leads_to_its_page(
    tmp_path_factory: pytest.TempPathFactory, visit: Visit, names: set[str]
) -> None:
    directory = tmp_path_factory.mktemp("named")
    make(*(directory / name for name in names))
    entries = Catalogue(directory).runs()
    assert {entry.name for entry in entries} == names
    assert len({entry.id for entry in entries}) == len(names)
    page = visit(directory)
    assert {page.get(f"/runs/{quote(entry.id, safe='')}").status_code for entry in entries} <= {200}
