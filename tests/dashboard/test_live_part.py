"""What the page of a run shows while it goes: the words of the terminal, and news that are told once."""

from __future__ import annotations

from pathlib import Path

from tests.support.records import committed, edit, spent, started

from skillopt.dashboard.following import Seen, State
from skillopt.dashboard.live_part import LivePart, live_part
from skillopt.events import Event, RunEnded, StageProgress, StageStarted, Warned
from skillopt.report.live import follow_all
from skillopt.report.live_state import NOTHING, STAGES


def shown(*events: Event, state: State = "running", now: float = 100.0) -> LivePart:
    return live_part(
        Seen(follow_all(NOTHING, [(event, float(at)) for at, event in enumerate(events)]), state, None), now=now
    )


def test_the_six_stages_stand_in_their_order_with_what_is_done() -> None:
    part = shown(
        started(), committed(0),
        StageStarted("rollout", 1, 1, 4), StageProgress("rollout", 1, 1, 4, 4, outcome="solved"),
        StageStarted("reflect", 1, 1, 2), StageProgress("reflect", 1, 1, 1, 2), now=6.0,
    )  # fmt: skip
    assert tuple(stage.name for stage in part.stages) == STAGES
    assert [stage.state for stage in part.stages] == ["done", "at work", *["to come"] * 4]
    assert [stage.said for stage in part.stages[:2]] == ["4/4, 1 solved", "1/2, 30.0/min, 2 s left"]
    assert part.place == "step 1/10 (epoch 1)"


def test_a_stage_between_steps_stands_beside_them_while_it_works() -> None:
    part = shown(started(), StageStarted("baseline", 0, 0, 8))
    assert [(stage.name, stage.state) for stage in part.stages] == [("baseline", "at work")]
    part = shown(started(), committed(0), *(StageStarted(name, 1, 1, 4) for name in (*STAGES[:-1], "vet")))
    assert [stage.name for stage in part.stages] == [*STAGES[:-1], "vet", "gate"]


def test_edits_warnings_and_limits_are_shown_the_newest_first() -> None:
    part = shown(
        started(limits={"limits.calls": 10}),
        committed(0),
        committed(1, edit("- one"), edit("- two", status="unmatched")),
        Warned("first"),
        Warned("second"),
        spent(5, 4),
    )
    assert next((line.text, line.verdict) for line in part.edits) == ("- two", "not applied")
    assert part.warnings == ("second", "first")
    assert [limit.share for limit in part.limits] == [0.5]
    assert "6 calls" in part.spent


def test_news_are_told_at_each_step_and_at_each_change_of_state_and_not_in_between() -> None:
    steps = (started(), committed(0), committed(1))
    quiet = (StageStarted("rollout", 1, 2, 4), StageProgress("rollout", 1, 2, 1, 4), spent(5, 5))
    told = shown(*steps).news
    assert told.startswith("Step 1 of 10 is done")
    assert shown(*steps, *quiet).news == told
    assert shown(*steps[:2]).news.startswith("Baseline measured")
    assert "No process works" in shown(*steps, state="broken off").news
    assert "gone" in shown(*steps, state="gone").news
    assert shown(*steps, RunEnded("all_rejected", "", {}), state="ended").news == "Ended: all rejected."


def test_time_stands_still_for_a_run_that_nobody_works_in() -> None:
    events = (started(limits={"limits.minutes": 10}), committed(0), StageStarted("rollout", 1, 1, 4),
              StageProgress("rollout", 1, 1, 2, 4))  # fmt: skip
    stopped = [shown(*events, state="broken off", now=now) for now in (10.0, 10_000.0)]
    assert stopped[0] == stopped[1]
    assert stopped[0].left == ""
    assert shown(*events, now=10.0) != shown(*events, now=10_000.0)


def test_nothing_known_is_a_part_too() -> None:
    part = shown(state="starting")
    assert (part.place, part.stages, part.scores, part.spent, part.news) == ("starting", (), (), "", "")


def test_a_share_of_all_training_tasks_seen_is_not_called_that_of_the_batch() -> None:
    drawn = committed(1, train_acc=0.0, sampling="unsolved", train_known_acc=0.75, train_known_solved=9)
    assert shown(started(), committed(0), drawn).scores[-1] == ("Training tasks seen so far", "9/12 (75.0 %)")


def test_an_ended_run_of_the_product_says_its_scores(runs: Path) -> None:
    from skillopt.dashboard.catalogue import Catalogue
    from skillopt.dashboard.following import Followers

    entry = Catalogue(runs).find("first~run")
    assert entry is not None
    part = live_part(Followers().look(entry), now=0.0)
    assert [name for name, _ in part.scores] == ["Seed skill", "Current skill", "Best skill", "Last training batch"]
    assert part.stages == ()
