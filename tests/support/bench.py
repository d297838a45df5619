"""The real run over scripted models, for tests of one stage and of whole runs in process.

Configuration, data, environment, evidence, journal, evaluator, event log and files are the real ones; only the two
models are scripts. The world is one that can be seen through: task `tN` asks `qN` and the answer is `aN`, and a target
that looks up its skill answers with what stands behind `qN = ` there.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import date
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import pytest

from skillopt.config.load import load_config
from skillopt.events import Event
from skillopt.models.base import ChatModel, ChatRequest
from skillopt.models.prices import Prices
from skillopt.run.accounts import Accounts
from skillopt.run.event_log import EventLog
from skillopt.run.evidence import EvidenceStore
from skillopt.run.models import Models
from skillopt.run.run import Run
from skillopt.run.setup import Setup, prepare
from skillopt.simulation.scripted import Script, ScriptedModel

Row: TypeAlias = Callable[[str, int], Mapping[str, Any]]
"""A task's row in the data, by its split and number."""

IN_MEMORY = Path(":memory:")
"""SQLite's name for a database without a file: the real store, spared the disk's waits."""


def look_up(request: ChatRequest) -> str:
    """Answer a question with what the skill says of it: the target of the bench's world."""
    skill = "\n".join(message.content for message in request.messages if message.role == "system")
    found = re.search(rf"^(?:- )?{re.escape(request.messages[-1].content)} = (.+)$", skill, re.MULTILINE)
    return found[1] if found else "unknown"


def rule(number: int, answer: str | None = None) -> str:
    """The line of a skill that solves task N, or answers it wrong."""
    return f"q{number} = {answer or f'a{number}'}"


def short_row(_split: str, number: int) -> Mapping[str, str]:
    """The task `tN`: the question `qN` with the answer `aN`."""
    return {"id": f"t{number}", "question": f"q{number}", "answer": f"a{number}"}


def appends(*contents: str) -> dict[str, Any]:
    """An optimizer's reply that appends."""
    return {"reasoning": "scripted", "edits": [{"op": "append", "content": content} for content in contents]}


NOTHING_BETWEEN_EPOCHS: Mapping[str, Any] = {
    "slow_update": {"slow_update_content": ""},
    "meta_skill": {"meta_skill_content": ""},
}
"""What an optimizer says between epochs that has nothing to say there."""


def by_stage(**replies: Any) -> Callable[[ChatRequest], Any]:
    """A script that says one thing to each stage; what is callable is called with the request.

    Between epochs it has nothing to say, unless it is told what.
    """
    said_at = {**NOTHING_BETWEEN_EPOCHS, **replies}

    def script(request: ChatRequest) -> Any:
        said = said_at[request.place.stage]
        return said(request) if callable(said) else said

    return script


def text_of(request: ChatRequest) -> str:
    """All that a request says."""
    return "\n".join(message.content for message in request.messages)


class Bench(Run):
    """The real run, with what it counted and emitted kept in sight."""

    setup: Setup
    target: ScriptedModel
    optimizer: ScriptedModel

    def __init__(self, *arguments: Any, **named: Any) -> None:
        self.counted: Counter[str] = Counter()
        self.events: list[Event] = []
        super().__init__(*arguments, **named)

    def count(self, name: str) -> None:
        self.counted[name] += 1
        super().count(name)

    def emit(self, event: Event) -> None:
        self.events.append(event)
        super().emit(event)

    @property
    def history(self) -> list[dict[str, Any]]:
        """What history.json holds."""
        return json.loads((self.directory / "history.json").read_text("utf-8"))


class OpenBench(Protocol):
    """Opens a bench; see `open_bench`."""

    def __call__(
        self,
        *,
        optimizer: Script | ChatModel = (),
        target: Script | ChatModel = look_up,
        skill: str = "",
        splits: Mapping[str, Sequence[int]] | None = None,
        settings: Mapping[str, Any] | None = None,
        evidence: Path = IN_MEMORY,
        row: Row = short_row,
    ) -> Bench: ...


def write_world(directory: Path, *, skill: str, splits: Mapping[str, Sequence[int]], row: Row = short_row) -> Path:
    """Write the data, the seed skill and a configuration; return the latter's path."""
    for name, numbers in splits.items():
        rows = (row(name, number) for number in numbers)
        (directory / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (directory / "seed.md").write_text(skill, "utf-8")
    path = directory / "config.yaml"
    path.write_text(
        "model: {optimizer: simulated:optimizer, target: simulated:target}\n"
        f"env: {{split_dir: {json.dumps(str(directory))}, skill_init: {json.dumps(str(directory / 'seed.md'))}}}\n",
        "utf-8",
    )
    return path


SPLITS: Mapping[str, Sequence[int]] = {"train": range(4), "val": range(4, 8), "test": range(8, 10)}

PLAIN: Mapping[str, Any] = {
    "train.sampling": "all",
    "optimizer.learning_rate": 4,
    "optimizer.lr_scheduler": "cosine",
    "evaluation.vet": 0,
}
"""The published loop; what goes beyond it is asked for by the tests that are about it."""


@pytest.fixture
def open_bench(tmp_path: Path) -> Iterator[OpenBench]:
    """Open benches that close at the end of the test.

    `optimizer` and `target` are scripts or models; `skill` is the seed; `splits` names the tasks of each split by
    number; `settings` are those of the configuration, by dotted key; `evidence` is kept where two benches share it;
    `row` makes a task of its split and number.
    """
    with ExitStack() as stack:

        def open_one(
            *,
            optimizer: Script | ChatModel = (),
            target: Script | ChatModel = look_up,
            skill: str = "",
            splits: Mapping[str, Sequence[int]] | None = None,
            settings: Mapping[str, Any] | None = None,
            evidence: Path = IN_MEMORY,
            row: Row = short_row,
        ) -> Bench:
            path = write_world(tmp_path, skill=skill, splits={**SPLITS, **(splits or {})}, row=row)
            overrides = [f"{key}={json.dumps(value)}" for key, value in {**PLAIN, **(settings or {})}.items()]
            setup = prepare(load_config(path, overrides))
            directory = tmp_path / "run"
            directory.mkdir(exist_ok=True)
            models = Models({"target": _model(target, "target"), "optimizer": _model(optimizer, "optimizer")})
            bench = Bench(
                setup,
                directory=directory,
                models=models,
                evidence=stack.enter_context(EvidenceStore(evidence)),
                events=stack.enter_context(EventLog(directory / "events.jsonl")),
                accounts=Accounts(Prices(setup.config.model, on=date(2026, 1, 1))),
            )
            bench.setup = setup
            bench.target, bench.optimizer = models.target, models.optimizer  # type: ignore[assignment]
            return bench

        yield open_one


def _model(script: Script | ChatModel, name: str) -> ChatModel:
    return script if hasattr(script, "reply") else ScriptedModel(script, name=name)  # type: ignore[return-value,arg-type]
