"""Which files a run writes, and in which order, so that a kill between two of them misleads nobody."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.run.conftest import Finished
from tests.support.runs import read_json
from tests.support.values import mean, measured, rollout

from skillopt.results import Candidate, Selected, Step
from skillopt.run import views as views_module
from skillopt.run.views import Views
from skillopt.skill.document import Skill
from skillopt.state import State
from skillopt.types import Action, Decision, Patch


def accepted_step() -> tuple[State, Step]:
    """A step whose candidate solves both tasks, and the state it leaves."""
    seed = measured([0, 0], "# Seed\n")
    before = State(seed=seed, current=seed, best=seed).next_step(epoch=1, budget=4)
    candidate = Candidate(Skill.parse("# Better\n"), changed=True)
    rollouts = (rollout(1, 1), rollout(0, 1))
    decision = Decision(Action.ACCEPT_NEW_BEST, "", mean(0), mean(1), rollouts=rollouts, total=2, new_best=True)
    step = Step((), (), (), Patch("", (), "failure"), Selected(), candidate, decision)
    return before.after(step), step


def test_the_baseline_is_there_before_the_first_step(tmp_path: Path) -> None:
    views = Views(tmp_path)
    views.write_baseline(measured([1, 0], "# Seed\n"), {"step": 0})
    assert (tmp_path / "best_skill.md").read_text("utf-8") == "# Seed\n"
    assert (tmp_path / "skills" / "skill_v0000.md").read_text("utf-8") == "# Seed\n"
    assert read_json(tmp_path / "history.json") == [{"step": 0}]
    assert [row["hard"] for row in read_json(tmp_path / "selection_eval_baseline" / "results.json")] == [1, 0]


def test_a_step_adds_its_record_and_moves_the_skills(tmp_path: Path) -> None:
    after, step = accepted_step()
    views = Views(tmp_path)
    views.write_baseline(after.seed, {"step": 0})
    views.write_step(after, step, {"step": 1})
    assert read_json(tmp_path / "history.json") == views.records == [{"step": 0}, {"step": 1}]
    assert (tmp_path / "best_skill.md").read_text("utf-8") == "# Better\n"
    assert sorted(path.name for path in (tmp_path / "skills").iterdir()) == ["skill_v0000.md", "skill_v0001.md"]
    assert (tmp_path / "steps" / "step_0001" / "candidate_skill.md").read_text("utf-8") == "# Better\n"


@pytest.mark.parametrize("writes_before_the_kill", range(9))
def test_a_kill_between_two_files_leaves_none_that_names_what_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writes_before_the_kill: int
) -> None:
    """F82, F83: a best skill or a record of a step whose files are missing would pass for a committed one."""
    after, step = accepted_step()
    views = Views(tmp_path)
    views.write_baseline(after.seed, {"step": 0})
    left = writes_before_the_kill

    def killed_in_time(path: Path, text: str) -> None:
        nonlocal left
        if not left:
            raise KeyboardInterrupt
        left -= 1
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

    monkeypatch.setattr(views_module, "write_text_atomically", killed_in_time)
    monkeypatch.setattr(views_module, "write_json_atomically", lambda path, value: killed_in_time(path, repr(value)))
    try:
        views.write_step(after, step, {"step": 1})
    except KeyboardInterrupt:
        text = (tmp_path / "history.json").read_text("utf-8")
        assert '"step": 0' in text
        assert "1" not in text
    else:
        assert (tmp_path / "history.json").read_text("utf-8") == "[{'step': 0}, {'step': 1}]"
        assert (tmp_path / "best_skill.md").read_text("utf-8") == "# Better\n"


def test_a_replay_never_takes_history_or_best_skill_back(tmp_path: Path) -> None:
    """F82: a start that is interrupted while it replays would otherwise leave the seed as the best skill."""
    after, step = accepted_step()
    first = Views(tmp_path)
    first.write_baseline(after.seed, {"step": 0})
    first.write_step(after, step, {"step": 1})
    again = Views(tmp_path)
    again.write_baseline(after.seed, {"step": 0})
    assert read_json(tmp_path / "history.json") == [{"step": 0}, {"step": 1}]
    assert (tmp_path / "best_skill.md").read_text("utf-8") == "# Better\n"
    again.write_step(after, step, {"step": 1})
    again.write_step(after, step, {"step": 2})
    assert read_json(tmp_path / "history.json") == [{"step": 0}, {"step": 1}, {"step": 2}]


def test_a_replay_that_passes_the_end_of_an_epoch_takes_nothing_back(tmp_path: Path) -> None:
    """The record of the epoch's last step comes first without and then with what followed it; the guidance stays."""
    guided = measured([1, 1], "# Guided\n", step=1)
    _, step = accepted_step()
    first = Views(tmp_path)
    seed = measured([1, 0], "# Seed\n")
    after = State(seed, seed, seed, 2, 1)
    ended = State(seed, guided, guided, 2, 1)
    step_record = {"step": 1, "action": "reject", "val_acc": 0.5}
    end_record = {**step_record, "val_acc": 1.0, "slow_update": {"action": "accept_new_best"}}

    def shown() -> tuple[list[Any], str]:
        return read_json(tmp_path / "history.json"), (tmp_path / "best_skill.md").read_text("utf-8")

    first.write_baseline(seed, {"step": 0})
    first.write_step(after, step, step_record)
    first.write_epoch_stage(ended, end_record)
    assert shown() == ([{"step": 0}, end_record], "# Guided\n")
    again = Views(tmp_path)
    again.write_baseline(seed, {"step": 0})
    again.write_step(after, step, step_record)
    assert shown() == ([{"step": 0}, end_record], "# Guided\n")
    again.write_epoch_stage(ended, end_record)
    again.write_step(ended, step, {"step": 2})
    assert shown() == ([{"step": 0}, end_record, {"step": 2}], "# Guided\n")
    other = Views(tmp_path)
    other.write_baseline(seed, {"step": 0})
    other.write_step(after, step, {**step_record, "action": "accept"})
    assert shown()[0][1:] == [{**step_record, "action": "accept"}]


@pytest.mark.parametrize("found", ['[{"step": 9}, {"step": 1}]', '[{"step": 0}, {"st', '"no list"', "\ud800"])
def test_a_history_that_is_not_this_replays_is_written_anew(tmp_path: Path, found: str) -> None:
    """F83: other prices change past records; a damaged file is no past at all."""
    (tmp_path / "history.json").write_bytes(found.encode("utf-8", "surrogatepass"))
    (tmp_path / "best_skill.md").write_text("who knows", "utf-8")
    Views(tmp_path).write_baseline(measured([1, 0], "# Seed\n"), {"step": 0})
    assert read_json(tmp_path / "history.json") == [{"step": 0}]
    assert (tmp_path / "best_skill.md").read_text("utf-8") == "# Seed\n"


def write_all(directory: Path, *names: str) -> None:
    for name in names:
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("of another play", "utf-8")


STALE = (
    "steps/step_0001/patches/patch_009_failure.json",
    "steps/step_0001/draw_03/candidate_skill.md",
    "steps/step_0002/step_record.json",
    "steps/step_0041/rollout/trajectories/a.md",
    "skills/skill_v0002.md",
    "slow_update/epoch_01/slow_result.json",
    "meta_skill/epoch_07/meta_skill_result.json",
    "test_eval/results.json",
    "selection_eval_final/results.json",
)
OTHERS = (
    *("notes.md", "noise.json", "steps/notes.md", "skills/mine.md", "slow_update/epochs.txt"),
    *("steps/step_0001/why.md", "steps/step_0041/why.md", "steps/step_0001/patches.aside-1/history.json"),
)


def test_what_another_play_left_of_a_step_and_after_it_goes_and_other_files_stay(tmp_path: Path) -> None:
    """A play whose evidence was lost in part may have gone another way; its pages would pass for this one's."""
    after, step = accepted_step()
    first = Views(tmp_path)
    first.write_baseline(after.seed, {"step": 0})
    baseline = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    write_all(tmp_path, *STALE, *OTHERS)
    first.write_step(after, step, {"step": 1})
    assert [name for name in STALE if (tmp_path / name).exists()] == list(STALE[2:]), "it went before, at step 0"
    again = Views(tmp_path)
    again.write_baseline(after.seed, {"step": 0})
    again.write_step(after, step, {"step": 1, "action": "another"})
    assert [name for name in STALE if (tmp_path / name).exists()] == []
    assert all((tmp_path / name).is_file() for name in OTHERS)
    assert all(path.is_file() for path in baseline)
    assert (tmp_path / "steps" / "step_0001" / "step_record.json").is_file()


def test_a_replay_of_steps_that_stand_removes_nothing(tmp_path: Path) -> None:
    after, step = accepted_step()
    for stale in ((), STALE):
        write_all(tmp_path, *stale)
        views = Views(tmp_path)
        views.write_baseline(after.seed, {"step": 0})
        views.write_step(after, step, {"step": 1})
    assert all((tmp_path / name).is_file() for name in STALE)


def test_the_test_split_is_shown_for_both_skills_where_it_was_measured(tmp_path: Path) -> None:
    Views(tmp_path).write_tests(seed=[rollout(1, 0)], best=[])
    assert [path.name for path in tmp_path.iterdir()] == ["test_eval_baseline"]


def test_a_run_leaves_exactly_the_files_that_are_documented(finished: Finished) -> None:
    names = {path.name for path in finished.directory.iterdir()}
    assert names == {
        "config.yaml", "split_manifest.json", "evidence.sqlite", "events.jsonl", "run.lock", "run.json", "history.json",
        "ledger.csv", "run_card.json",
        "summary.json", "best_skill.md", "skills", "steps", "selection_eval_baseline", "test_eval_baseline",
        "test_eval",
    }  # fmt: skip
    assert sorted(path.name for path in (finished.directory / "skills").iterdir()) == [
        f"skill_v{step:04d}.md" for step in range(11)
    ]
    assert sorted(path.name for path in (finished.directory / "steps").iterdir()) == [
        f"step_{step:04d}" for step in range(1, 11)
    ]
    assert not list(finished.directory.rglob(".*"))


def test_the_best_skill_is_the_snapshot_of_its_step(finished: Finished) -> None:
    best = finished.summary["best_step"]
    snapshot = finished.directory / "skills" / f"skill_v{best:04d}.md"
    assert (finished.directory / "best_skill.md").read_bytes() == snapshot.read_bytes()
    assert finished.outcome.best_skill.text == snapshot.read_text("utf-8")
