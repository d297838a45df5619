"""Each edit alone on training tasks that it came from, ahead of the gate."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.support.bench import Bench, OpenBench, look_up, rule
from tests.support.values import append, replace_edit, rollout, state, unmeasured

from skillopt.errors import TransientModelError
from skillopt.events import StageStarted
from skillopt.models.base import ChatRequest
from skillopt.results import Candidate
from skillopt.simulation.scripted import Said
from skillopt.skill.edits import apply_edits
from skillopt.step.vet import vet
from skillopt.types import Edit, EditState, Rollout, Score, Vetting

EXAMPLES = Path(__file__).parents[2] / "examples"
FAILED = [rollout(number, 0) for number in range(4)]
SOLVED = [rollout(number, 1) for number in range(4)]


def candidate_of(edits: Sequence[Edit], text: str = "# Skill\n") -> Candidate:
    """What the update makes of edits."""
    result = apply_edits(state(text=text).current.skill, edits, max_tokens=8000)
    return Candidate(result.skill, result.outcomes, result.changed)


async def vetted(
    bench: Bench, edits: Sequence[Edit], rollouts: Sequence[Rollout], text: str = "# Skill\n"
) -> Candidate:
    return await vet(bench, state(text=text), candidate_of(edits, text), rollouts)


def tried(bench: Bench) -> list[str]:
    """The questions that the target was asked, in the order of the requests."""
    return [request.messages[-1].content for request in bench.target.requests]


def states(candidate: Candidate) -> list[EditState]:
    return [outcome.state for outcome in candidate.outcomes]


async def test_an_edit_that_does_no_better_on_its_tasks_is_taken_out_and_the_others_stay(open_bench: OpenBench) -> None:
    bench = open_bench(settings={"evaluation.vet": 2})
    edits = [append(rule(0), tasks=[0]), append("Be kind.", tasks=[1, 2]), append(rule(3), tasks=[3])]
    candidate = await vetted(bench, edits, FAILED)
    assert states(candidate) == [EditState.APPLIED, EditState.VETTED_OUT, EditState.APPLIED]
    assert candidate.skill.text == f"# Skill\n\n{rule(0)}\n\n{rule(3)}\n"
    assert (candidate.changed, candidate.applied) == (True, (edits[0], edits[2]))
    assert [outcome.vetting for outcome in candidate.outcomes] == [
        Vetting(("t0",), Fraction(0), Fraction(1)),
        Vetting(("t1", "t2"), Fraction(0), Fraction(0)),
        Vetting(("t3",), Fraction(0), Fraction(1)),
    ]
    assert candidate.outcomes[1].detail == "alone no better on 2 of its tasks: hard 0 against 0 without it"
    assert sorted(tried(bench)) == ["q0", "q1", "q2", "q3"]
    (started,) = (event for event in bench.events if isinstance(event, StageStarted))
    assert (started.stage, started.total) == ("vet", 4)


async def test_each_edit_is_tried_alone(open_bench: OpenBench) -> None:
    bench = open_bench(settings={"evaluation.vet": 1})
    await vetted(bench, [append(rule(0), tasks=[0]), append(rule(1), tasks=[1])], FAILED)
    shown = [request.messages[0].content for request in bench.target.requests]
    assert [(rule(0) in text, rule(1) in text) for text in shown] == [(True, False), (False, True)]
    assert {request.place.stage for request in bench.target.requests} == {"vet"}


async def test_without_it_nothing_is_tried(open_bench: OpenBench) -> None:
    bench = open_bench()
    before = candidate_of([append("Be kind.", tasks=[0])])
    assert await vet(bench, state(), before, FAILED) is before
    assert (bench.target.requests, bench.events) == ([], [])


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (append("Be kind.", source="success", tasks=[0, 1]), EditState.APPLIED),
        (replace_edit(rule(1), "q1 = wrong", source="success", tasks=[0, 1]), EditState.VETTED_OUT),
    ],
)
async def test_an_edit_from_successes_may_leave_its_tasks_as_they_are_but_no_worse(
    open_bench: OpenBench, edit: Edit, expected: EditState
) -> None:
    bench = open_bench(settings={"evaluation.vet": 4})
    candidate = await vetted(bench, [edit], SOLVED, f"{rule(0)}\n{rule(1)}\n")
    assert states(candidate) == [expected]
    assert candidate.changed is (expected is EditState.APPLIED)
    assert ("alone worse on 2" in candidate.outcomes[0].detail) == (edit.operation == "replace")


async def test_an_edit_from_failures_is_judged_on_those_of_its_tasks_that_can_get_better(open_bench: OpenBench) -> None:
    """Merged with one from successes it cites solved tasks too, on which nothing is strictly higher."""
    batch = [SOLVED[0], SOLVED[1], FAILED[2], FAILED[3]]
    bench = open_bench(settings={"evaluation.vet": 2})
    edits = [append(rule(2), tasks=[0, 1, 2]), append("Be kind.", tasks=[0, 1, 3]), append("Be brief.", tasks=[0, 1])]
    candidate = await vetted(bench, edits, batch, f"{rule(0)}\n{rule(1)}\n")
    assert states(candidate) == [EditState.APPLIED, EditState.VETTED_OUT, EditState.APPLIED]
    assert [outcome.vetting for outcome in candidate.outcomes] == [
        Vetting(("t2",), Fraction(0), Fraction(1)),
        Vetting(("t3",), Fraction(0), Fraction(0)),
        None,
    ]
    assert sorted(tried(bench)) == ["q2", "q3"]


async def test_an_edit_that_cites_no_task_is_not_judged_whatever_its_analyst_was_shown(open_bench: OpenBench) -> None:
    bench = open_bench(settings={"evaluation.vet": 2})
    candidate = await vetted(bench, [replace(append("Be kind.", tasks=[0, 1]), cited=())], FAILED)
    assert (states(candidate), candidate.outcomes[0].vetting) == ([EditState.APPLIED], None)
    assert (bench.target.requests, bench.events) == ([], [])


async def test_a_criterion_counts_where_the_gate_compares_one(open_bench: OpenBench) -> None:
    """The replies stay too long to solve anything, but one edit makes them right."""
    environment = {"env.name": str(EXAMPLES / "two_criteria" / "right_and_short.py"), "env.most_words": 2}
    bench = open_bench(
        target=lambda request: f"{look_up(request)} so to say",
        settings={**environment, "evaluation.vet": 1, "evaluation.criterion": "right"},
    )
    before = [replace(one, score=Score(0, 0.0, criteria={"right": 0.0, "short": 0.5})) for one in FAILED]
    candidate = await vetted(bench, [append(rule(0), tasks=[0]), append("Be kind.", tasks=[1])], before)
    assert states(candidate) == [EditState.APPLIED, EditState.VETTED_OUT]
    assert candidate.outcomes[1].detail == "alone no better on 1 of its tasks: criterion right 0 against 0 without it"


async def test_at_most_so_many_cited_tasks_are_tried_in_the_order_of_the_batch(open_bench: OpenBench) -> None:
    bench = open_bench(settings={"evaluation.vet": 2})
    batch = [FAILED[number] for number in (3, 0, 2, 1)]
    candidate = await vetted(bench, [append(rule(0), tasks=[0, 1, 2])], batch)
    assert candidate.outcomes[0].vetting == Vetting(("t0", "t2"), Fraction(0), Fraction(1))
    assert sorted(tried(bench)) == ["q0", "q2"]


async def test_partial_credit_counts_where_the_gate_counts_it(open_bench: OpenBench) -> None:
    before = [rollout(0, 0, 0.25)]
    for metric, expected in (("soft", Fraction(1, 4)), ("mixed", Fraction(1, 8)), ("hard", Fraction(0))):
        bench = open_bench(settings={"evaluation.vet": 1, "evaluation.gate_metric": metric})
        candidate = await vetted(bench, [append(rule(0), tasks=[0])], before)
        vetting = candidate.outcomes[0].vetting
        assert vetting is not None
        assert (vetting.before, vetting.after) == (expected, 1)


async def test_what_cannot_be_measured_decides_nothing(open_bench: OpenBench) -> None:
    """F1: neither an edit whose tasks fail to be measured, nor tasks that were not measured before."""

    def outage(request: ChatRequest) -> Said:
        return TransientModelError("down") if request.messages[-1].content == "q1" else look_up(request)

    bench = open_bench(target=outage, settings={"evaluation.vet": 4})
    edits = [append("Be kind.", tasks=[0, 1]), append("Be brief.", tasks=[2]), append("Be short.", tasks=[3])]
    candidate = await vetted(bench, edits, [FAILED[0], FAILED[1], unmeasured(2), FAILED[3]])
    assert states(candidate) == [EditState.APPLIED, EditState.APPLIED, EditState.VETTED_OUT]
    assert candidate.outcomes[0].vetting == Vetting(("t0", "t1"), Fraction(0), None)
    assert candidate.outcomes[1].vetting is None


async def test_only_edits_that_are_in_the_candidate_are_tried_and_no_copy_comes_in_for_one_taken_out(
    open_bench: OpenBench,
) -> None:
    bench = open_bench(settings={"evaluation.vet": 1})
    useless = append("Be kind.", tasks=[0])
    candidate = await vetted(bench, [useless, replace(useless, cited=("t1",)), replace_edit("zzz", "x")], FAILED)
    assert states(candidate) == [EditState.VETTED_OUT, EditState.DUPLICATE, EditState.UNMATCHED]
    assert (candidate.skill.text, candidate.changed) == ("# Skill\n", False)
    assert tried(bench) == ["q0"]


async def test_an_edit_that_builds_on_one_that_is_taken_out_finds_no_target_and_else_it_stays(
    open_bench: OpenBench,
) -> None:
    for first, expected in (
        ("Be kind.", [EditState.VETTED_OUT, EditState.UNMATCHED]),
        (rule(0), [EditState.APPLIED, EditState.APPLIED]),
    ):
        bench = open_bench(settings={"evaluation.vet": 1})
        edits = [append(first, tasks=[0]), replace_edit(first, f"{first}\nBe brief.", tasks=[1])]
        candidate = await vetted(bench, edits, FAILED)
        assert states(candidate) == expected
        assert candidate.outcomes[1].vetting is None


async def test_edits_that_come_to_the_same_skill_are_paid_once(open_bench: OpenBench) -> None:
    """More 1: evidence is of a skill and a task, whichever edit made the skill."""
    bench = open_bench(settings={"evaluation.vet": 2})
    edits = [replace_edit("Be rude.", "Be kind.", tasks=[0, 1]), replace_edit("rude", "kind", tasks=[1, 2])]
    text = "Be rude.\n"
    alone = [apply_edits(state(text=text).current.skill, [edit], max_tokens=99).outcomes[0] for edit in edits]
    both = Candidate(state(text="Be kind.\n").current.skill, tuple(alone), changed=True)
    await vet(bench, state(text=text), both, FAILED)
    assert sorted(tried(bench)) == ["q0", "q1", "q2"]


@pytest.mark.parametrize(("workers", "expected"), [(4, 4), (5, 4), (1, 1)])
async def test_edits_are_tried_side_by_side_as_far_as_there_are_workers(
    open_bench: OpenBench, workers: int, expected: int
) -> None:
    running = most = 0
    full = asyncio.Event()

    async def script(request: ChatRequest) -> Any:
        """Nobody is answered before as many are under way as are expected, and others had the time to join them."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == expected:
            for _ in range(20):
                await asyncio.to_thread(int)
            full.set()
        await full.wait()
        running -= 1
        return look_up(request)

    bench = open_bench(target=script, settings={"evaluation.vet": 2, "env.workers": workers})
    edits = [append(f"Rule {number}.", tasks=[0, 1]) for number in range(3)]
    async with asyncio.timeout(30):
        candidate = await vetted(bench, edits, FAILED)
    assert states(candidate) == [EditState.VETTED_OUT] * 3
    assert most == expected
