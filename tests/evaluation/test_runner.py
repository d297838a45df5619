"""Measuring a skill on tasks: what fails is a reason and never a score."""

from __future__ import annotations

import asyncio
import io
import math
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.support.bench import IN_MEMORY, look_up, rule
from tests.support.values import task

from skillopt.environments.base import Environment, EnvironmentSettings, Presentation
from skillopt.environments.question_answering import QuestionAnswering, QuestionAnsweringSettings
from skillopt.errors import FatalModelError, MeasurementError, RateLimitError, TransientModelError, UnusableReplyError
from skillopt.evaluation.runner import Evaluator, unmeasured_allowed
from skillopt.harness.chat import ChatHarness
from skillopt.models.base import ChatModel, ChatRequest
from skillopt.models.limiter import LimitedModel, Limiter
from skillopt.models.retry import RetryingModel
from skillopt.run.evidence import EvidenceStore
from skillopt.simulation.scripted import Said, Script, ScriptedModel
from skillopt.skill.document import Skill
from skillopt.types import Message, Place, Rollout, Score, Task, Trajectory

PLACE = Place("rollout", 1, 1)
TASKS = tuple(task(number) for number in range(4))
SKILL = Skill.parse(f"{rule(0)}\n{rule(1)}\n{rule(2)}\n")
QA: Environment[Any] = QuestionAnswering(QuestionAnsweringSettings())


@pytest.fixture
def store() -> Iterator[EvidenceStore]:
    with EvidenceStore(IN_MEMORY) as store:
        yield store


class Watched:
    """An evaluator with its target and what its observer was told: task id, measured, recorded."""

    def __init__(self, store: EvidenceStore, script: Script = look_up, **settings: Any) -> None:
        self.target = ScriptedModel(script)
        self.told: list[tuple[str, bool, bool]] = []
        defaults: dict[str, Any] = {"workers": 4, "deadline": 60.0, "max_unmeasured": 1.0, "remember_failures": True}
        environment = settings.pop("environment", QA)
        wrap: Callable[[ChatModel], ChatModel] = settings.pop("wrap", lambda target: target)
        self._evaluator = Evaluator(
            environment, ChatHarness(wrap(self.target)), store, observer=self._observe, **(defaults | settings)
        )

    def _observe(self, place: Place, key: str, rollout: Rollout, *, recorded: bool) -> None:
        self.told.append((rollout.task.id, rollout.measured, recorded))

    async def measure(
        self, skill: Skill = SKILL, tasks: Sequence[Task] = TASKS, place: Place = PLACE, **settings: Any
    ) -> tuple[Rollout, ...]:
        return await self._evaluator.measure(skill, tasks, place, **settings)

    @property
    def asked(self) -> list[str]:
        return [request.messages[-1].content for request in self.target.requests]


def failing(*numbers: int, error: Exception | None = None) -> Callable[[ChatRequest], Said]:
    """A target that looks up its skill but fails on some tasks."""
    questions = {f"q{number}" for number in numbers}

    def script(request: ChatRequest) -> Said:
        return (error or TransientModelError("down")) if request.messages[-1].content in questions else look_up(request)

    return script


async def hang_on_three(request: ChatRequest) -> Said:
    if request.messages[-1].content != "q0":
        await asyncio.Event().wait()
    return look_up(request)


async def test_rollouts_come_in_the_order_of_the_tasks_with_their_scores(store: EvidenceStore) -> None:
    rollouts = await Watched(store).measure()
    assert [rollout.task for rollout in rollouts] == list(TASKS)
    assert [rollout.score.hard for rollout in rollouts if rollout.score] == [1, 1, 1, 0]
    assert {rollout.skill_digest for rollout in rollouts} == {SKILL.digest}
    assert rollouts[3].score is not None
    assert "a3" in rollouts[3].score.feedback


async def test_no_more_tasks_are_under_way_than_there_are_workers(store: EvidenceStore) -> None:
    running = most = 0
    full = asyncio.Event()

    async def script(request: ChatRequest) -> Said:
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == 2:
            full.set()
        await full.wait()
        await asyncio.sleep(0)
        running -= 1
        return look_up(request)

    await Watched(store, script, workers=2).measure()
    assert most == 2


async def test_three_of_four_timeouts_are_an_error_and_never_a_quarter(store: EvidenceStore) -> None:
    """F1: the deadline cancels, and nothing is computed from what is left."""
    watched = Watched(store, hang_on_three, deadline=0.05, max_unmeasured=0.5)
    with pytest.raises(MeasurementError, match="3 of 4 tasks could not be measured, at most 2 may be missing") as error:
        await watched.measure()
    assert "timeout in target: no answer within 0.05 seconds" in error.value.message
    assert "what was measured is kept" in (error.value.hint or "")


async def test_a_timeout_is_unmeasured_with_its_reason(store: EvidenceStore) -> None:
    """F1: one of one measured, three lost."""
    rollouts = await Watched(store, hang_on_three, deadline=0.05).measure()
    assert [rollout.measured for rollout in rollouts] == [True, False, False, False]
    failure = rollouts[1].failure
    assert failure is not None
    assert (failure.kind, failure.stage, failure.message) == ("timeout", "target", "no answer within 0.05 seconds")


async def test_a_timeout_cancels_the_work_and_nothing_writes_later(store: EvidenceStore) -> None:
    """More 15."""
    cancelled, release = list[str](), asyncio.Event()

    async def script(request: ChatRequest) -> Said:
        try:
            await release.wait()
        except asyncio.CancelledError:
            cancelled.append(request.messages[-1].content)
            raise
        return look_up(request)

    watched = Watched(store, script, deadline=0.05)
    await watched.measure(tasks=TASKS[:2])
    release.set()
    await asyncio.sleep(0)
    assert sorted(cancelled) == ["q0", "q0", "q1", "q1"]
    again = Watched(store, remember_failures=False)
    await again.measure(tasks=TASKS[:2], place=Place("eval"))
    assert again.asked == ["q0", "q1"]


async def test_a_task_that_took_too_long_is_tried_once_more(store: EvidenceStore) -> None:
    """F1: a call that hung by chance leaves no task unmeasured."""
    asked = 0

    async def script(request: ChatRequest) -> Said:
        nonlocal asked
        asked += 1
        if asked == 1:
            await asyncio.Event().wait()
        return look_up(request)

    (rollout,) = await Watched(store, script, deadline=0.05).measure(tasks=TASKS[:1])
    assert (rollout.measured, asked) == (True, 2)


async def test_what_a_second_try_failed_of_is_the_reason(store: EvidenceStore) -> None:
    asked = 0

    async def script(request: ChatRequest) -> Said:
        nonlocal asked
        asked += 1
        if asked == 1:
            await asyncio.Event().wait()
        return TransientModelError("simulated: 503: overloaded")

    (rollout,) = await Watched(store, script, deadline=0.05).measure(tasks=TASKS[:1])
    assert rollout.failure is not None
    assert (rollout.failure.message, asked) == ("simulated: 503: overloaded", 2)


async def test_standing_in_line_for_a_slot_costs_a_task_nothing_of_its_deadline(store: EvidenceStore) -> None:
    """F1: with fewer slots than workers the last in line would time out before it is asked."""

    async def script(request: ChatRequest) -> Said:
        await asyncio.sleep(0.2)
        return look_up(request)

    watched = Watched(store, script, workers=6, deadline=0.75, wrap=lambda target: LimitedModel(target, Limiter(1)))
    rollouts = await watched.measure(tasks=[task(number) for number in range(6)])
    assert all(rollout.measured for rollout in rollouts)


async def test_a_wait_that_the_provider_asks_for_costs_a_task_nothing_of_its_deadline(store: EvidenceStore) -> None:
    """F1: one 429 with a long Retry-After is no timeout."""
    busy = [RateLimitError("slow down", retry_after=0.6)] * 2
    watched = Watched(store, [*busy, "a0"], deadline=0.5, wrap=lambda target: RetryingModel(target, 3, seed=1))
    (rollout,) = await watched.measure(tasks=TASKS[:1])
    assert rollout.score == Score(1, 1.0, "Right: 'a0'.", "a0", "a0")


async def test_a_timeout_after_a_failed_attempt_keeps_the_providers_words(store: EvidenceStore) -> None:
    failed = False

    async def script(request: ChatRequest) -> Said:
        nonlocal failed
        if not failed:
            failed = True
            return TransientModelError("simulated: 503: overloaded")
        await asyncio.Event().wait()
        return ""

    watched = Watched(store, script, deadline=0.05, wrap=lambda target: RetryingModel(target, 3, seed=1))
    (rollout,) = await watched.measure(tasks=TASKS[:1])
    assert rollout.failure is not None
    assert rollout.failure.kind == "timeout"
    assert rollout.failure.message == (
        "no answer within 0.05 seconds (an earlier attempt failed: simulated: 503: overloaded)"
    )


async def test_when_every_rollout_fails_it_stops_early_with_the_first_error(store: EvidenceStore) -> None:
    """F2: hours of training on a wrong address are not spent."""
    tasks = [task(number) for number in range(100)]
    watched = Watched(store, lambda _: TransientModelError("connection refused"), workers=2, max_unmeasured=0.1)
    with pytest.raises(MeasurementError, match=r"11 of 100 .*\(error in target: connection refused\)"):
        await watched.measure(tasks=tasks)
    assert len(watched.asked) <= 12


async def test_each_distinct_reason_is_named_once_and_the_first_first(store: EvidenceStore) -> None:
    """F2."""
    errors = [TransientModelError(text) for text in ("b", "a", "b", "c", "d")]
    watched = Watched(store, errors, workers=1, max_unmeasured=0.8)
    with pytest.raises(MeasurementError, match="target: b; error in target: a; error in target: c; and 1 more reason"):
        await watched.measure(tasks=[task(number) for number in range(5)])


async def test_a_fatal_error_ends_it_at_once_with_the_providers_words(store: EvidenceStore) -> None:
    """F2: a bad key fails every task the same way."""
    watched = Watched(store, lambda _: FatalModelError("invalid key", status=401), workers=1)
    with pytest.raises(FatalModelError, match="invalid key"):
        await watched.measure()
    assert watched.asked == ["q0"]


async def test_a_fatal_error_cancels_what_is_under_way(store: EvidenceStore) -> None:
    cancelled, waiting = list[str](), asyncio.Event()

    async def script(request: ChatRequest) -> Said:
        if request.messages[-1].content == "q3":
            await waiting.wait()
            return FatalModelError("invalid key", status=401)
        try:
            waiting.set()
            await asyncio.Event().wait()
        finally:
            cancelled.append(request.messages[-1].content)
        return ""

    with pytest.raises(FatalModelError):
        await Watched(store, script).measure()
    assert sorted(cancelled) == ["q0", "q1", "q2"]


@pytest.mark.parametrize("error", [RateLimitError("slow down"), UnusableReplyError("only reasoning")])
async def test_what_may_pass_leaves_a_task_unmeasured(store: EvidenceStore, error: Exception) -> None:
    rollouts = await Watched(store, failing(2, error=error)).measure()
    failure = rollouts[2].failure
    assert failure is not None
    assert (failure.kind, failure.stage, failure.error_type) == ("error", "target", type(error).__name__)


class Foreign(Environment[EnvironmentSettings]):
    """An environment as a user may write it; what it does goes wrong in one place."""

    name = "foreign"

    def __init__(self, *, present: Callable[[], Any] = str, score: Callable[[], Any] = lambda: Score(1, 1.0)) -> None:
        super().__init__(EnvironmentSettings())
        self._present, self._score = present, score

    def present(self, task: Task) -> Presentation:
        wrong = self._present()
        return wrong or Presentation((Message("user", str(task.fields["question"])),))

    def score(self, task: Task, trajectory: Trajectory) -> Score:
        return self._score()


class Half(QuestionAnswering):
    """Questions with another scorer."""

    name = "half"

    def score(self, task: Task, trajectory: Trajectory) -> Score:
        return Score(0, 0.5)


def raise_key_error() -> Any:
    raise KeyError("answer")


@pytest.mark.parametrize(
    ("environment", "stage", "error_type", "says"),
    [
        (Foreign(score=raise_key_error), "score", "KeyError", "answer"),
        (Foreign(score=lambda: Score(1, math.nan)), "score", "ValueError", "soft is nan"),
        (Foreign(score=lambda: 0.5), "score", "TypeError", "score returned 0.5, which is no Score"),
        (Foreign(score=lambda: None), "score", "TypeError", "score returned None"),
        (Foreign(score=lambda: [][0]), "score", "IndexError", "list index"),
        (Foreign(present=raise_key_error), "present", "KeyError", "answer"),
        (Foreign(present=lambda: "a prompt"), "present", "TypeError", "which is no Presentation"),
    ],
)
async def test_what_a_users_environment_does_wrong_is_a_failure_with_its_stage(
    store: EvidenceStore, environment: Foreign, stage: str, error_type: str, says: str
) -> None:
    """F6, F9, More 3: never a score of 0, and never a traceback in the middle of a run."""
    (rollout,) = await Watched(store, environment=environment).measure(tasks=TASKS[:1])
    assert rollout.failure is not None
    assert (rollout.failure.stage, rollout.failure.error_type) == (stage, error_type)
    assert says in rollout.failure.message


@pytest.mark.parametrize("stage", ["present", "score"])
async def test_an_environment_that_takes_too_long_holds_up_nothing_else(store: EvidenceStore, stage: str) -> None:
    """Its code cannot be ended, so it is left to itself: the task is unmeasured, and the others go on."""
    release, stuck = threading.Event(), list[str]()

    def sticks_once() -> Any:
        if not stuck:
            stuck.append(stage)
            release.wait()
        return None if stage == "present" else Score(1, 1.0)

    environment = Foreign(present=sticks_once) if stage == "present" else Foreign(score=sticks_once)
    rollouts = await Watched(store, environment=environment, environment_seconds=1.0).measure()
    release.set()
    (failure,) = [rollout.failure for rollout in rollouts if rollout.failure]
    assert (failure.kind, failure.stage, failure.message) == ("timeout", stage, f"{stage} took longer than 1 seconds")


async def test_an_environment_does_one_thing_at_a_time(store: EvidenceStore) -> None:
    """A user's code need not be safe for threads."""
    inside, overlaps = threading.Lock(), list[bool]()

    def score() -> Score:
        overlaps.append(not inside.acquire(blocking=False))
        threading.Event().wait(0.001)
        inside.release()
        return Score(1, 1.0)

    await Watched(store, environment=Foreign(score=score)).measure(tasks=[task(number) for number in range(12)])
    assert overlaps == [False] * 12


@pytest.mark.parametrize("wrong", [raise_key_error, lambda: Score(1, 1.0, None), lambda: 7])  # type: ignore[arg-type]
async def test_a_mended_scorer_pays_for_no_reply_again(store: EvidenceStore, wrong: Callable[[], Any]) -> None:
    """F6: what was paid is on disk before it is scored."""
    broken = Watched(store, environment=Foreign(score=wrong), remember_failures=False)
    assert not any(rollout.measured for rollout in await broken.measure())
    mended = Watched(store, environment=Foreign(), remember_failures=False)
    assert all(rollout.measured for rollout in await mended.measure())
    assert (len(broken.asked), mended.asked) == (4, [])


async def test_another_scorer_scores_what_the_target_did_anew_and_for_nothing(store: EvidenceStore) -> None:
    await Watched(store).measure()
    half = Watched(store, environment=Half(QuestionAnsweringSettings()))
    assert [rollout.score for rollout in await half.measure()] == [Score(0, 0.5)] * 4
    assert half.asked == []


async def test_a_score_of_zero_is_evidence_like_any_other(store: EvidenceStore) -> None:
    """More 3."""
    await Watched(store).measure(Skill.parse(""))
    again = Watched(store)
    rollouts = await again.measure(Skill.parse(""))
    assert again.asked == []
    assert [rollout.score.soft for rollout in rollouts if rollout.score] == [0.0] * 4


async def test_the_second_time_the_evidence_answers(store: EvidenceStore) -> None:
    first = await Watched(store).measure()
    again = Watched(store)
    assert await again.measure(tasks=TASKS[::-1], place=Place("gate", 2, 9)) == first[::-1]
    assert again.asked == []
    assert [recorded for _, _, recorded in again.told] == [True] * 4


async def test_another_skill_or_task_content_in_the_same_store_makes_its_own_calls(store: EvidenceStore) -> None:
    """More 1: evidence is keyed by what it measured, never by a directory or an id."""
    await Watched(store).measure()
    other_skill, other_content = Watched(store), Watched(store)
    await other_skill.measure(Skill.parse(SKILL.text + "\n"), TASKS[:2])
    await other_content.measure(tasks=[Task("t0", {"question": "q0", "answer": "another"})])
    assert (other_skill.asked, other_content.asked) == (["q0", "q1"], ["q0"])
    assert len(await Watched(store).measure(tasks=TASKS[:2])) == 2


async def test_a_repeat_that_is_asked_for_is_measured_anew(store: EvidenceStore) -> None:
    watched = Watched(store)
    await watched.measure(tasks=TASKS[:1])
    (rollout,) = await watched.measure(tasks=TASKS[:1], repeat=1)
    assert (len(watched.asked), rollout.repeat) == (2, 1)
    assert watched.target.requests[1].place.attempt == 1


async def test_an_error_is_no_evidence_and_is_tried_again_elsewhere(store: EvidenceStore) -> None:
    """F14."""
    await Watched(store, failing(1)).measure()
    again = Watched(store)
    rollouts = await again.measure(place=Place("gate", 1, 1))
    assert again.asked == ["q1"]
    assert all(rollout.measured for rollout in rollouts)


async def test_a_replay_goes_on_without_what_its_place_went_on_without(store: EvidenceStore) -> None:
    """The finished run is the one that was never killed, even where another place measured the task since."""
    first = await Watched(store, failing(1)).measure()
    await Watched(store).measure(place=Place("rollout", 2, 5))
    replay = Watched(store)
    assert await replay.measure() == first
    assert replay.asked == []
    assert replay.told[1] == ("t1", False, True)


async def test_what_stopped_the_run_is_tried_again_by_the_next_start(store: EvidenceStore) -> None:
    """A mended cause lets the same command go on: only what the run went on without is written down."""
    first, again = Watched(store, failing(1), workers=1), Watched(store)
    with pytest.raises(MeasurementError, match="none may be missing"):
        await first.measure(most_unmeasured=0)
    rollouts = await again.measure(most_unmeasured=0)
    assert all(rollout.measured for rollout in rollouts)
    assert (first.asked, again.asked) == (["q0", "q1"], ["q1", "q2", "q3"])


@pytest.mark.parametrize("most", [0, -1])
async def test_a_lower_limit_does_not_judge_what_the_run_went_on_without_already(
    store: EvidenceStore, most: int
) -> None:
    """Else a run with a lower `evaluation.max_unmeasured` would stop for ever at a step that it has behind it."""
    first = await Watched(store, failing(1)).measure()
    assert await Watched(store, failing(1)).measure(most_unmeasured=most) == first
    with pytest.raises(MeasurementError, match="1 of 4"):
        await Watched(store, failing(1)).measure(place=Place("rollout", 1, 2), most_unmeasured=most)


async def test_an_evaluation_by_itself_tries_again_whatever_is_missing(store: EvidenceStore) -> None:
    await Watched(store, failing(1), remember_failures=False).measure()
    again = Watched(store, remember_failures=False)
    await again.measure()
    assert again.asked == ["q1"]


@pytest.mark.parametrize(
    ("share", "tasks", "most"), [(0.1, 9, 0), (0.1, 10, 1), (0.29, 100, 29), (0.0, 5, 0), (1.0, 5, 5)]
)
def test_the_allowed_share_is_rounded_down_exactly(share: float, tasks: int, most: int) -> None:
    assert unmeasured_allowed(share, tasks) == most


@pytest.mark.parametrize(
    "error", [SystemExit(0), GeneratorExit(), asyncio.CancelledError(), BaseExceptionGroup("g", [KeyError("a")])]
)
async def test_foreign_code_cannot_end_the_process(store: EvidenceStore, error: BaseException) -> None:
    """F6: whatever a scorer raises is a failure with its type; `sys.exit(0)` is no success."""

    def end() -> Score:
        raise error

    (rollout, *_) = await Watched(store, environment=Foreign(score=end)).measure()
    assert rollout.failure is not None
    assert (rollout.failure.stage, rollout.failure.error_type) == ("score", type(error).__name__)


class Greedy(QuestionAnswering):
    """A scorer that takes every answer it saw into the task's own list of right ones."""

    def score(self, task: Task, trajectory: Trajectory) -> Score:
        golds: Any = task.fields["answer"]
        right = trajectory.output in golds
        golds.append(trajectory.output)
        return Score(int(right), float(right))


async def test_what_foreign_code_does_to_a_task_reaches_no_later_score(store: EvidenceStore) -> None:
    tasks = [Task("t0", {"question": "q0", "answer": ["right"]})]
    watched = Watched(store, lambda _: "wrong", environment=Greedy(QuestionAnsweringSettings()))
    for text in ("", "Another skill.\n"):
        (rollout,) = await watched.measure(Skill.parse(text), tasks)
        assert rollout.score is not None and rollout.score.hard == 0


async def test_a_call_that_was_given_up_on_disturbs_no_program_that_has_moved_on(
    store: EvidenceStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it changed is put back when it is given up, and not once more when it ends."""
    ends, threads = threading.Event(), list[threading.Thread]()
    for name in ("home", "away", "elsewhere"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "home")
    streams = sys.stdout

    class Hangs(QuestionAnswering):
        def score(self, task: Task, trajectory: Trajectory) -> Score:
            threads.append(threading.current_thread())
            os.chdir(tmp_path / "away")
            sys.stdout = io.StringIO()
            ends.wait()
            return super().score(task, trajectory)

    environment = Hangs(QuestionAnsweringSettings())
    (rollout,) = await Watched(store, environment=environment, environment_seconds=0.2).measure(tasks=TASKS[:1])
    assert not rollout.measured
    assert (Path.cwd(), sys.stdout) == (tmp_path / "home", streams)
    monkeypatch.chdir(tmp_path / "elsewhere")
    own = io.StringIO()
    monkeypatch.setattr(sys, "stdout", own)
    ends.set()
    for thread in threads:
        thread.join()
    assert (Path.cwd(), sys.stdout) == (tmp_path / "elsewhere", own)
