"""What training carries from one step to the next."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.values import append, measured, rollout, unmeasured

from skillopt.evaluation.repeats import task_means
from skillopt.evaluation.scores import exact, mean_gate_score
from skillopt.rejections import Rejection, Rejections
from skillopt.results import Candidate, Draft, LastSeen, LookBack, MetaSkill, Selected, SlowUpdate, Step
from skillopt.skill.document import Skill
from skillopt.state import Acceptance, Measured, State
from skillopt.types import (
    Action,
    Comparison,
    Decision,
    Discarded,
    Edit,
    EditOutcome,
    EditState,
    Patch,
    Place,
    Rewrite,
    RewriteOutcome,
    Rollout,
)

SEED = measured([0, 0, 1], "# Seed\n")
BEFORE = State(seed=SEED, current=SEED, best=SEED).next_step(epoch=2, budget=3)
CANDIDATE = Candidate(
    Skill.parse("# Candidate\n"),
    (EditOutcome(append("kept"), EditState.APPLIED), EditOutcome(append("lost"), EditState.UNMATCHED)),
    changed=True,
)
GATED = (rollout(2, 1), rollout(0, 1), rollout(1, 1))
"""In the gate's order, which is not that of the split."""


def step(action: Action, *, new_best: bool = False, discarded: tuple[Discarded, ...] = ()) -> Step:
    decision = Decision(action, "the reason", Fraction(1, 3), Fraction(1), rollouts=GATED, new_best=new_best)
    empty = Patch("", (), "failure", discarded=discarded)
    return Step((), (), (empty,), empty, Selected(), CANDIDATE, decision)


def vetted_out(action: Action) -> Step:
    """A step of which two edits were vetted out."""
    out = (
        EditOutcome(append("a", tasks=[0]), EditState.VETTED_OUT, "alone no better"),
        EditOutcome(append("b", tasks=[1]), EditState.VETTED_OUT, "alone worse"),
    )
    whole = step(action)
    return replace(whole, candidate=replace(whole.candidate, outcomes=(*whole.candidate.outcomes, *out)))


def test_the_next_step_counts_over_the_whole_run() -> None:
    assert (BEFORE.epoch, BEFORE.step, BEFORE.budget) == (2, 1, 3)
    assert BEFORE.next_step(epoch=2, budget=2).step == 2


@pytest.mark.parametrize(
    ("action", "new_best"),
    [(Action.ACCEPT_NEW_BEST, True), (Action.ACCEPT, False), (Action.FORCE_ACCEPT, False), (Action.FORCE_ACCEPT, True)],
)
def test_an_accepted_candidate_becomes_the_current_skill_and_the_best_only_if_it_is(
    action: Action, new_best: bool
) -> None:
    after = BEFORE.after(step(action, new_best=new_best))
    assert (after.current.skill, after.current.step) == (CANDIDATE.skill, 1)
    assert after.best is (after.current if new_best else SEED)
    assert (after.seed, after.rejections.entries) == (SEED, ())


def test_its_rollouts_are_kept_in_the_order_of_the_split() -> None:
    """Later steps compare task by task, whatever order the gate measured in."""
    after = BEFORE.after(step(Action.ACCEPT))
    assert [one.task.id for one in after.current.rollouts] == ["t0", "t1", "t2"]


def test_a_rejected_candidate_leaves_its_applied_edits_and_the_reason() -> None:
    """F89, F90: the optimizer is shown what was tried and lost."""
    after = BEFORE.after(step(Action.REJECT))
    assert (after.current, after.best) == (SEED, SEED)
    (rejection,) = after.rejections.entries
    assert (rejection.step, rejection.changes, rejection.reason) == (1, (append("kept"),), "the reason")
    assert rejection.skill == SEED.skill.digest


@pytest.mark.parametrize("action", [Action.SKIP_NO_CHANGE, Action.ACCEPT, Action.REJECT, Action.DEFERRED])
def test_each_edit_that_was_vetted_out_is_remembered_by_itself_however_the_step_ends(action: Action) -> None:
    after = BEFORE.after(vetted_out(action))
    first, second, *bundle = after.rejections.entries
    assert (first, second) == (
        Rejection(1, (append("a", tasks=[0]),), "alone no better", SEED.skill.digest),
        Rejection(1, (append("b", tasks=[1]),), "alone worse", SEED.skill.digest),
    )
    assert [one.changes for one in bundle] == ([(append("kept"),)] if action is Action.REJECT else [])
    assert after.rejected == (action is Action.REJECT)


def test_an_edit_that_was_vetted_out_of_a_draft_lost_on_the_draft() -> None:
    waiting = deferred(BEFORE).next_step(epoch=2, budget=3)
    (first, _) = waiting.after(vetted_out(Action.DEFERRED)).rejections.entries
    assert first.skill == waiting.skill.digest != SEED.skill.digest


def test_what_was_vetted_out_is_remembered_as_long_as_what_the_gate_rejected() -> None:
    for reach, kept in (("off", (0, 0)), ("epoch", (2, 0)), ("run", (2, 2))):
        after = replace(BEFORE, rejections=Rejections(reach=reach)).after(vetted_out(Action.SKIP_NO_CHANGE))
        later = after.next_step(epoch=3, budget=3)
        assert (len(after.rejections.entries), len(later.rejections.entries)) == kept


def test_every_draw_of_a_step_has_places_of_its_own_and_remembers_what_was_lost() -> None:
    lost = step(Action.REJECT)
    again = BEFORE.redraw(lost)
    assert (again.step, again.epoch, again.lost, len(again.rejections.entries)) == (1, 2, (lost,), 1)
    places = {state.place("aggregate", index) for state in (BEFORE, again) for index in (0, 1, 2_019_999)}
    assert len(places) == 6
    assert BEFORE.place("gate") == Place("gate", 2, 1)
    assert again.next_step(epoch=2, budget=1).lost == ()


@pytest.mark.parametrize("action", [Action.SKIP_NO_PATCHES, Action.SKIP_NO_CHANGE, Action.SKIP_UNMEASURED])
def test_no_verdict_changes_nothing(action: Action) -> None:
    """F9, F20: what was not judged was not rejected either."""
    assert BEFORE.after(step(action)) == BEFORE


def test_an_epoch_is_compared_with_what_the_one_before_it_left() -> None:
    """The guidance of a slow update is part of what the next epoch begins with."""
    first = State(seed=SEED, current=SEED, best=SEED).next_step(epoch=1, budget=3)
    assert first.previous == SEED.skill
    later = first.after(step(Action.ACCEPT)).next_step(epoch=1, budget=3)
    assert later.previous == SEED.skill
    guided = Skill.parse("# Guided\n")
    result = SlowUpdate(1, Comparison("mixed", (), (), ()), "", "", guided, step(Action.ACCEPT).decision)
    ended = later.after_slow_update(result)
    assert (ended.current.skill, ended.current.slow_update, ended.current.step) == (guided, 1, 2)
    assert ended.next_step(epoch=2, budget=3).previous == guided


@pytest.mark.parametrize("action", [Action.REJECT, Action.NO_CONTENT, Action.SKIP_NO_CHANGE, Action.SKIP_UNMEASURED])
def test_guidance_that_was_not_accepted_changes_nothing(action: Action) -> None:
    result = SlowUpdate(2, Comparison("mixed", (), (), ()), "", "x", Skill.parse("y"), step(action).decision)
    after = BEFORE.after_slow_update(result)
    assert (after.current, after.best) == (SEED, SEED)


def test_what_was_looked_back_on_is_the_skill_without_the_new_guidance_and_is_gone_with_the_next_step() -> None:
    comparison = Comparison("mixed", (), (), ())
    result = SlowUpdate(2, comparison, "", "x", Skill.parse("y"), step(Action.ACCEPT).decision)
    after = BEFORE.after_slow_update(result)
    assert after.look_back == LookBack(SEED.skill, comparison)
    assert after.next_step(epoch=3, budget=1).look_back is None


def test_the_memory_stays_until_it_is_written_anew() -> None:
    look_back = LookBack(SEED.skill, Comparison("mixed", (), (), ()))
    result = MetaSkill(epoch=2, look_back=look_back, own_rollouts=True, reasoning="", content="m", memory="m",
                       action="updated", reason="")  # fmt: skip
    after = BEFORE.after_meta_skill(result)
    assert after.next_step(epoch=3, budget=1).memory == "m"
    assert after.current == SEED


def test_accepted_edits_are_remembered_with_the_reason() -> None:
    after = BEFORE.after(step(Action.ACCEPT))
    assert after.accepted == (Acceptance(1, (append("kept"),), "the reason"),)
    assert BEFORE.after(step(Action.REJECT)).accepted == ()


def rolled_out(*rollouts: Rollout) -> Step:
    """A step with nothing but what the target did."""
    return replace(step(Action.SKIP_NO_PATCHES), rollouts=rollouts)


def test_the_state_knows_how_each_training_task_stood_when_it_was_last_seen() -> None:
    first = BEFORE.after(rolled_out(rollout(0, 1), rollout(1, 0), unmeasured(2)))
    assert first.last_seen == {"t0": LastSeen(1, True), "t1": LastSeen(1, False), "t2": LastSeen(1, None)}
    assert first.known_training == (1, 2)
    second = first.next_step(epoch=2, budget=3).after(rolled_out(rollout(1, 1), unmeasured(0)))
    assert second.last_seen == {"t0": LastSeen(2, None), "t1": LastSeen(2, True), "t2": LastSeen(1, None)}
    assert second.known_training == (1, 1)
    assert BEFORE.known_training == (0, 0)


def test_a_rewrite_is_remembered_as_one_whether_it_won_or_lost() -> None:
    """F89: what was written is all that is known of it; the suggestions behind it may not be in it."""
    taken = RewriteOutcome(Rewrite("# Candidate", ("said",)), EditState.APPLIED)
    suggested = (EditOutcome(append("x"), EditState.SUGGESTED),)
    candidate = Candidate(Skill.parse("# Candidate\n"), suggested, changed=True, rewrites=(taken,))
    expected = (Rewrite("# Candidate\n", ("said",)),)
    (rejection,) = BEFORE.after(replace(step(Action.REJECT), candidate=candidate)).rejections.entries
    (acceptance,) = BEFORE.after(replace(step(Action.ACCEPT), candidate=candidate)).accepted
    assert (rejection.changes, acceptance.changes) == (expected, expected)


def deferred(before: State, text: str = "# Draft\n") -> State:
    candidate = Candidate(Skill.parse(text), (EditOutcome(append("waits"), EditState.APPLIED),), changed=True)
    return before.after(replace(step(Action.DEFERRED), candidate=candidate))


def test_edits_that_wait_are_the_draft_that_the_next_step_works_on() -> None:
    after = deferred(BEFORE)
    assert after.draft == Draft(Skill.parse("# Draft\n"), (append("waits"),), (1,))
    assert (after.current, after.skill.text, BEFORE.skill) == (SEED, "# Draft\n", SEED.skill)
    later = deferred(after.next_step(epoch=2, budget=3))
    assert later.draft is not None
    assert (later.draft.steps, len(later.draft.changes), later.deferred) == ((1, 2), 2, 2)


@pytest.mark.parametrize(
    ("action", "window", "rejections", "waits"),
    [
        (Action.ACCEPT_NEW_BEST, 5, [], False),
        (Action.REJECT, 2, [(append("waits"), append("kept"))], False),
        (Action.SKIP_UNMEASURED, 5, [], False),
        (Action.SKIP_REPEATED, 5, [], False),
        (Action.DEFERRED, 5, [], True),
    ],
)
def test_after_the_gate_nothing_waits_and_a_rejection_is_one_bundle(
    action: Action, window: int, rejections: list[tuple[Edit, ...]], waits: bool
) -> None:
    before = deferred(replace(BEFORE, window=5)).next_step(epoch=2, budget=3)
    after = before.after(step(action))
    assert (after.draft is not None, after.window) == (waits, window)
    assert [entry.changes for entry in after.rejections.entries] == rejections
    if action is Action.ACCEPT_NEW_BEST:
        assert after.accepted[0].changes == (append("waits"), append("kept"))
        assert (after.deferred, before.gated_steps(step(action).decision)) == (0, (1, 2))


@pytest.mark.parametrize(
    ("action", "kept"), [(Action.REJECT, False), (Action.SKIP_NO_CHANGE, False), (Action.ACCEPT, True)]
)
def test_what_a_dropped_draft_solved_is_forgotten(action: Action, kept: bool) -> None:
    """`unsolved` must draw it again; what the current skill did ahead of the draft still holds."""
    waits = replace(step(Action.DEFERRED), rollouts=(rollout(0, 1), rollout(1, 0)))
    begun = replace(BEFORE, window=3, last_seen={"t2": LastSeen(0, False)}).after(waits)
    later = begun.next_step(epoch=2, budget=3).after(replace(waits, rollouts=(rollout(1, 1),)))
    after = later.next_step(epoch=2, budget=3).after(replace(step(action), rollouts=(rollout(2, 1),)))
    seen = {name: one.solved for name, one in after.last_seen.items()}
    assert seen == {"t0": True, "t1": kept, "t2": kept}
    assert later.last_seen["t1"] == LastSeen(2, True), "as long as the draft waits, it counts"


@pytest.mark.parametrize(("action", "guidance"), [(Action.ACCEPT, "Mind it."), (Action.REJECT, "")])
def test_edits_that_wait_over_an_epochs_end_get_the_new_guidance(action: Action, guidance: str) -> None:
    """Accepted later, they must not undo what the slow update wrote."""
    candidate = SEED.skill.with_section("SLOW_UPDATE", "Mind it.")
    written = SlowUpdate(2, Comparison("mixed", (), (), ()), "", "Mind it.", candidate, step(action).decision)
    draft = deferred(BEFORE).after_slow_update(written).draft
    assert draft is not None
    assert (draft.skill.guidance, "# Draft" in draft.skill.text, draft.steps) == (guidance, True, (1,))


def test_what_was_tried_says_whether_training_went_on_with_it() -> None:
    after = BEFORE.after(step(Action.REJECT)).after(step(Action.ACCEPT))
    assert [one.accepted for one in after.tried] == [False, True]


@pytest.mark.parametrize(("window", "ends"), [(1, [True, True]), (2, [False, True]), (3, [False, False])])
def test_a_window_is_counted_from_the_first_step_that_left_edits(window: int, ends: list[bool]) -> None:
    before = replace(BEFORE, window=window)
    assert [before.window_ends, deferred(before).next_step(epoch=2, budget=3).window_ends] == ends


def test_a_step_is_drawn_again_only_where_it_was_judged_alone() -> None:
    lost = step(Action.REJECT)
    assert BEFORE.draws_again(lost, most=1)
    assert not BEFORE.draws_again(lost, most=0)
    assert not BEFORE.draws_again(step(Action.SKIP_UNMEASURED), most=1)
    assert not BEFORE.draws_again(step(Action.SKIP_NO_CHANGE), most=1)
    assert BEFORE.draws_again(vetted_out(Action.SKIP_NO_CHANGE), most=1)
    assert not BEFORE.draws_again(vetted_out(Action.ACCEPT), most=1)
    assert not BEFORE.redraw(lost).draws_again(lost, most=1)
    assert not deferred(BEFORE).next_step(epoch=2, budget=3).draws_again(lost, most=1)


def test_rejections_in_a_row_are_counted_until_an_acceptance_or_a_fresh_pass() -> None:
    twice = BEFORE.after(step(Action.REJECT)).after(step(Action.SKIP_NO_PATCHES)).after(step(Action.REJECT))
    assert twice.rejected == 2
    assert twice.after(step(Action.ACCEPT)).rejected == 0
    guidance = SlowUpdate(2, Comparison("mixed", (), (), ()), "", "x", Skill.parse("y"), step(Action.REJECT).decision)
    assert twice.after_slow_update(guidance).rejected == 3
    refreshed = twice.refresh(GATED)
    assert (refreshed.rejected, refreshed.next_step(epoch=2, budget=3).refreshed) == (0, None)


@given(st.lists(st.lists(st.sampled_from([0.0, 1 / 3, 0.7, 1.0]), min_size=3, max_size=3), min_size=1, max_size=6))
def test_the_bar_is_the_exact_mean_of_all_passes_task_by_task(fresh: list[list[float]]) -> None:
    """However many fresh passes: no pass counts more than another, and every place that holds the skill has them."""
    other = Measured(Skill.parse("# Other\n"), SEED.rollouts)
    now = replace(BEFORE, best=other)
    for number, shares in enumerate(fresh, start=1):
        assert now.current.next_repeat == number
        now = now.refresh([replace(rollout(task, 0, share), repeat=number) for task, share in enumerate(shares)])
    passes = [[Fraction(0), Fraction(0), Fraction(1)], *([exact(share) for share in shares] for shares in fresh)]
    means = task_means(now.current.rollouts, "soft", weight=0.5)
    assert list(means.values()) == [sum(column) / len(passes) for column in zip(*passes, strict=True)]
    score = mean_gate_score(now.current.rollouts, "soft", weight=0.5)
    assert score == sum(map(sum, passes), Fraction()) / (3 * len(passes))
    assert (now.seed, now.best) == (now.current, other)
    assert now.refreshed is not None
    assert now.refreshed.before.next_repeat == len(fresh)
