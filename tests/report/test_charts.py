"""The numbers of the interactive charts."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from skillopt.report.charts import chart_data, drawn_percent
from skillopt.report.course import Candidate, Course, Spent, StepPoint
from skillopt.report.live_words import percent
from skillopt.report.run_files import RunFiles


def point(step: int, candidate: Candidate | None = None, dollars: float | None = 0.5, applied: int = 1) -> StepPoint:
    spent = {"target": Spent(10 * step, dollars), "optimizer": Spent(step, 0.25)}
    train = None if step == 0 else 0.5
    verdict = "not judged" if candidate is None else "accepted" if candidate.accepted else "rejected"
    return StepPoint(
        step, min(step, 1), "x", "", verdict, train, 0.25, 0.5, candidate, None, 2, 3, applied, 100, spent  # type: ignore[arg-type]
    )  # fmt: skip


def course(*points: StepPoint) -> Course:
    return Course("run", "hard", points)


def test_there_is_a_number_or_nothing_for_every_step(eventful: Path) -> None:
    files = RunFiles(eventful)
    data = chart_data(files.course)
    lists = [value for name, value in data.items() if isinstance(value, list) and name != "epoch_ends"]
    lists += [line for name in ("tokens", "dollars") for line in data[name].values()]  # type: ignore[union-attr]
    assert len(lists) > 10
    assert {len(values) for values in lists} == {len(files.records)}
    assert data["current"] == [round(100 * record["current_score"], 1) for record in files.records]
    assert data["epoch_ends"] == list(files.course.epoch_ends)


@given(solved=st.integers(0, 60), more=st.integers(0, 60))
def test_a_number_under_the_pointer_is_the_one_in_the_table(solved: int, more: int) -> None:
    """29 of 59 were 49.15 and then 49.1 %; of 1 in 16 a browser made 6.3 %."""
    share = solved / max(1, solved + more)
    assert f"{drawn_percent(share):.1f} %" == percent(share)
    assert f"{drawn_percent(share)}" == percent(share).removesuffix(" %"), "there is nothing left to round"


def test_a_candidate_is_on_the_line_of_its_end() -> None:
    kinds = (Candidate(0.5, bound=False, accepted=True), Candidate(0.5, bound=False, accepted=False),
             Candidate(0.5, bound=True, accepted=False), None)  # fmt: skip
    data = chart_data(course(point(0), *(point(step, kind) for step, kind in enumerate(kinds, start=1))))
    assert data["accepted"] == [None, 50.0, None, None, None]
    assert data["rejected"] == [None, None, 50.0, None, None]
    assert data["rejected_early"] == [None, None, None, 50.0, None]
    assert data["kept"] == [None, 1, None, None, None]
    assert data["lost"] == [1, None, 1, 1, 1]


def test_a_slow_update_is_a_mark_of_its_own() -> None:
    taken, refused = (Candidate(0.75, bound=not yes, accepted=yes) for yes in (True, False))
    points = [
        point(0),
        *(dataclasses.replace(point(1), step=1 + n, slow_update=c) for n, c in enumerate((taken, refused))),
    ]
    data = chart_data(course(*points))
    assert data["slow_accepted"] == [None, 75.0, None]
    assert data["slow_rejected"] == [None, None, 75.0]


def test_edits_that_waited_for_a_later_gate_are_kept() -> None:
    """They are no part of their own step's candidate."""
    waited = dataclasses.replace(point(1), verdict="accepted")
    data = chart_data(course(point(0, applied=0), waited, dataclasses.replace(point(2), verdict="waiting")))
    assert (data["kept"], data["lost"]) == ([None, 1, None], [None, None, 1])


def test_dollars_stand_by_role_where_they_are_known_and_not_nothing() -> None:
    """F11: an unknown price is never shown as nothing."""
    assert chart_data(course(point(0), point(1)))["dollars"] == {"target": [0.5, 0.5], "optimizer": [0.25, 0.25]}
    assert chart_data(course(point(0), point(1, dollars=None)))["dollars"] == {"optimizer": [0.25, 0.25]}
    free = {"target": Spent(1, 0.0), "optimizer": Spent(1, 0.0)}
    assert chart_data(course(dataclasses.replace(point(0), spent=free)))["dollars"] == {}


def test_no_word_of_the_data_is_in_it(eventful: Path) -> None:
    course = dataclasses.replace(RunFiles(eventful).course, name="</script>", metric="</script>")
    assert "script" not in str(chart_data(course))
