"""Skill-aware reflection in whole trainings: what reminders gain, and that the gate judges them like all else."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from tests.support.bench import Bench, OpenBench, by_stage, rule, text_of
from tests.support.runs import read_json, views, write_run

from skillopt.api import train as train_from
from skillopt.models.base import ChatRequest
from skillopt.run.outcome import Outcome
from skillopt.simulation.lapses import reminded_codes
from skillopt.simulation.world import World
from skillopt.skill.appendix import notes_of
from skillopt.skill.document import Skill
from skillopt.trainer import train
from skillopt.types import Edit, Note

WORLD = World(11, rules=6, tasks=120)
ON = {"optimizer.use_skill_aware_reflection": True}
ONE_EPOCH: dict[str, Any] = {**ON, "train.num_epochs": 1}
FIELDS = {
    "n_execution_lapse_notes",
    "n_appendix_notes_added",
    "n_appendix_notes_total",
    "n_appendix_notes_consolidated",
}


def lapsing_run(directory: Path, **settings: Any) -> Path:
    """A training whose target follows a rule of its skill half of the time, and whose optimizer is right each time."""
    parameters = urlencode(WORLD.identity)
    names = {
        "model.target.name": f"simulated:target?{parameters}&lapse=0.5",
        "model.optimizer.name": f"simulated:optimizer?{parameters}&useful=1&useless=0&harmful=0&malformed=0",
        "train.num_epochs": 3,
        "train.batch_size": 20,
        "gradient.minibatch_size": 8,
        "optimizer.learning_rate": 4,
    }
    dotted = {key.replace("__", "."): value for key, value in settings.items()}
    return write_run(directory, WORLD, settings={**names, **dotted})


def sections_of(outcome: Outcome) -> list[str]:
    return [section.name for section in outcome.best_skill.sections]


def column(bench: Bench, name: str) -> list[Any]:
    return [record[name] for record in bench.history[1:]]


async def test_reminders_gain_what_edits_alone_cannot_reach(tmp_path: Path) -> None:
    """optimizer.use_skill_aware_reflection: every rule stands in both skills; only one of them is followed."""
    plain = await train_from(lapsing_run(tmp_path / "plain"))
    config = lapsing_run(tmp_path / "aware", optimizer__use_skill_aware_reflection=True)
    aware = await train_from(config)
    for outcome in (plain, aware):
        assert WORLD.knowledge(outcome.best_skill.text).codes == set(WORLD.rule_by_code), "all rules are written down"
    assert plain.summary["test_hard"] < 0.7
    assert aware.summary["test_hard"] >= 0.9
    assert sections_of(plain) == []
    assert sections_of(aware) == ["APPENDIX"]
    assert "## Execution Notes Appendix\n\n- " in aware.best_skill.text

    history = read_json(aware.directory / "history.json")
    assert all(record.keys() >= FIELDS for record in history[1:])
    assert not any(FIELDS & record.keys() for record in read_json(plain.directory / "history.json"))
    totals = [record["n_appendix_notes_total"] for record in history[1:]]
    added = [record["n_appendix_notes_added"] for record in history[1:]]
    assert totals == [sum(added[: number + 1]) for number in range(len(added))]
    assert totals[-1] == len(notes_of(aware.best_skill)) > 0
    for record in history[1:]:
        file = aware.directory / "steps" / f"step_{record['step']:04d}" / "appendix_notes.json"
        shown = read_json(file)["notes"] if file.exists() else []
        assert len(shown) == record["n_execution_lapse_notes"]
    assert not list(plain.directory.rglob("appendix_notes.json"))

    before = views(aware.directory)
    assert await train_from(config) == aware
    assert views(aware.directory) == before


async def test_an_appendix_above_the_threshold_is_written_in_fewer_notes(tmp_path: Path) -> None:
    """optimizer.skill_aware_consolidate_threshold"""
    config = lapsing_run(
        tmp_path, optimizer__use_skill_aware_reflection=True, optimizer__skill_aware_consolidate_threshold=2
    )
    outcome = await train_from(config)
    history = read_json(outcome.directory / "history.json")[1:]
    assert sum(record["n_appendix_notes_consolidated"] for record in history) > 0
    totals = [record["n_appendix_notes_total"] for record in history]
    changes = [record["n_appendix_notes_added"] - record["n_appendix_notes_consolidated"] for record in history]
    assert totals == [sum(changes[: number + 1]) for number in range(len(changes))]
    assert max(totals) <= 2
    assert len(reminded_codes(outcome.best_skill.text)) > 2
    assert outcome.summary["test_hard"] >= 0.9
    asked = sum(record["usage"].get("optimizer.appendix_consolidate", {"calls": 0})["calls"] for record in history)
    assert 0 < asked <= len(history)


async def test_a_target_that_never_lapses_gets_no_appendix(tmp_path: Path) -> None:
    """Where no reminder was accepted, no marker pair is added to the skill."""
    outcome = await train_from(write_run(tmp_path, settings=ON))
    assert sections_of(outcome) == []
    assert not any("APPENDIX" in path.read_text("utf-8") for path in outcome.directory.rglob("*skill*.md"))
    assert {record["n_appendix_notes_total"] for record in read_json(outcome.directory / "history.json")[1:]} == {0}


async def test_reminders_that_lose_at_the_gate_are_in_no_skill_and_are_remembered(open_bench: OpenBench) -> None:
    """F90; unlike the public tool, which appends reminders whatever the gate says."""
    harmful = {"edits": [], "appendix_notes": [rule(5, "wrong")]}
    bench = open_bench(
        optimizer=by_stage(reflect=harmful),
        target=last_wins,
        skill=f"{rule(5)}\n",
        settings={**ON, "train.num_epochs": 2},
    )
    outcome = await train(bench)
    assert column(bench, "action") == ["reject", "skip_repeated"]
    assert outcome.best_skill.text == f"{rule(5)}\n"
    assert column(bench, "n_execution_lapse_notes") == [1, 1]
    assert column(bench, "n_appendix_notes_added") == column(bench, "n_appendix_notes_total") == [0, 0]
    candidate = Skill.load(bench.directory / "steps" / "step_0001" / "candidate_skill.md")
    assert notes_of(candidate) == (rule(5, "wrong"),)
    prompts = [text_of(request) for request in bench.optimizer.requests if request.place.stage == "reflect"]
    assert [f'remind "{rule(5, "wrong")}" (tried in step 1' in prompt for prompt in prompts] == [False, True]


def last_wins(request: ChatRequest) -> str:
    """A target that a reminder confuses: it follows the last line that speaks of a question."""
    lines = [line.removeprefix("- ") for line in text_of(request).splitlines()]
    said = [line.partition(" = ")[2] for line in lines if line.startswith(f"{request.messages[-1].content} = ")]
    return said[-1] if said else "unknown"


async def test_edits_and_reminders_of_a_step_have_one_verdict(open_bench: OpenBench) -> None:
    """The reminder alone would win; with the edit it came with, it loses, and both are gone and remembered together."""
    harmful = {"op": "replace", "target": "\n".join([rule(5), rule(6)]), "content": "Nothing."}
    bench = open_bench(
        optimizer=by_stage(reflect={"edits": [harmful], "appendix_notes": [rule(4)]}),
        skill=f"{rule(5)}\n{rule(6)}\n",
        settings=ONE_EPOCH,
    )
    outcome = await train(bench)
    assert column(bench, "action") == ["reject"]
    assert outcome.best_skill.text == f"{rule(5)}\n{rule(6)}\n"
    (lost,) = bench._state.rejections.entries  # type: ignore[union-attr]
    edit, note = lost.changes
    assert isinstance(edit, Edit) and isinstance(note, Note)
    assert (edit.content, note.text) == ("Nothing.", rule(4))


async def test_a_step_of_reminders_alone_is_a_candidate_and_steps_never_edit_the_appendix(
    open_bench: OpenBench,
) -> None:
    """F61: an edit that aims at a note is refused; the note stays for the rest of the training."""
    replies = iter(
        [
            {"edits": [], "appendix_notes": [f"- {rule(4)}", "two\nlines"]},
            {"edits": [{"op": "delete", "target": rule(4)}, {"op": "append", "content": rule(5)}]},
        ]
    )
    bench = open_bench(
        optimizer=by_stage(reflect=lambda _: next(replies)),
        skill="# Skill\n",
        settings={**ON, "train.num_epochs": 2, "optimizer.use_slow_update": False},
    )
    outcome = await train(bench)
    assert column(bench, "action") == ["accept_new_best"] * 2
    assert column(bench, "n_appendix_notes_added") == [1, 0]
    assert column(bench, "appendix_notes") == [{"applied": 1, "invalid": 1}, {}]
    assert column(bench, "edits")[1]["protected"] == 1
    assert notes_of(outcome.best_skill) == (rule(4),)
    assert outcome.best_skill.body.split() == f"# Skill {rule(5)}".split()


async def test_guidance_and_appendix_stand_side_by_side(open_bench: OpenBench) -> None:
    bench = open_bench(
        optimizer=by_stage(
            reflect=lambda request: {"edits": [], "appendix_notes": [rule(3 + request.place.step)]},
            slow_update={"slow_update_content": rule(7)},
        ),
        settings={**ON, "train.num_epochs": 2},
    )
    outcome = await train(bench)
    assert sections_of(outcome) == ["APPENDIX", "SLOW_UPDATE"]
    assert (notes_of(outcome.best_skill), outcome.best_skill.guidance) == ((rule(4), rule(5)), rule(7))
    (look_back,) = (text_of(one) for one in bench.optimizer.requests if one.place.stage == "meta_skill")
    assert all(f'- remind "{rule(3 + step)}" (step {step}): strictly higher' in look_back for step in (1, 2))


async def test_a_redraw_sees_the_reminders_that_were_just_lost(open_bench: OpenBench) -> None:
    def reflect(request: ChatRequest) -> dict[str, Any]:
        return {"appendix_notes": [rule(4) if 'remind "Be brief."' in text_of(request) else "Be brief."]}

    bench = open_bench(optimizer=by_stage(reflect=reflect), settings={**ONE_EPOCH, "optimizer.redraw": 1})
    outcome = await train(bench)
    assert column(bench, "action") == ["accept_new_best"]
    assert notes_of(outcome.best_skill) == (rule(4),)
    lost = read_json(bench.directory / "steps" / "step_0001" / "draw_01" / "appendix_notes.json")
    assert lost["reminders"] == ["Be brief."]


async def test_a_reminder_that_would_make_the_skill_too_large_is_refused(open_bench: OpenBench) -> None:
    bench = open_bench(
        optimizer=by_stage(reflect={"appendix_notes": [rule(4)]}), settings={**ONE_EPOCH, "skill.max_tokens": 10}
    )
    await train(bench)
    assert column(bench, "action") == ["skip_no_change"]
    assert column(bench, "appendix_notes") == [{"over_budget": 1}]
