"""What trackers are told of a training: settings, a few numbers a step, how it ended, the skills and the picture.

Pure functions of the configuration and of what the event log carries. Tasks, answers, trajectories, proposals and the
words of models are left out, and so are the messages of providers; the skill is what a run is about, so it is sent.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from skillopt import __version__
from skillopt.config.dump import flattened
from skillopt.config.schema import Config
from skillopt.digests import digest, text_digest
from skillopt.events import RunStarted
from skillopt.report.course import StepPoint
from skillopt.report.picture import PICTURE_NAME
from skillopt.run.outcome import EndState
from skillopt.types import JsonValue

BEST_FILE: Final = "best_skill.md"


class Status(StrEnum):
    """What trackers know of the end of a run."""

    FINISHED = "finished"
    FAILED = "failed"
    KILLED = "killed"


@dataclass(frozen=True, slots=True)
class Start:
    """What is known when a training begins.

    Attributes:
        name: Name of the run directory.
        directory: The run directory.
        settings: Every setting by its full key, and the numbers of tasks and steps.
        simulated: Whether the numbers say nothing of real models.
    """

    name: str
    directory: Path
    settings: Mapping[str, JsonValue]
    simulated: bool

    @property
    def tags(self) -> Mapping[str, str]:
        """What the run is told apart by."""
        return {"simulated": str(self.simulated).lower(), "version": __version__}


@dataclass(frozen=True, slots=True)
class Point:
    """The numbers of one step, by names such as `scores/best`; what was not measured has none.

    Attributes:
        step: From 1; 0 is the baseline.
        metrics: The numbers.
    """

    step: int
    metrics: Mapping[str, float]

    @property
    def digest(self) -> str:
        """What two steps share that came out alike."""
        return digest([self.step, dict(self.metrics)])[:16]


@dataclass(frozen=True, slots=True)
class End:
    """How a training ended.

    Attributes:
        step: The last step.
        status: In a tracker's words.
        words: The end state, and scores as k/n, by names such as `test.best`.
        numbers: Shares of tasks solved, by names such as `final/test_best`.
        files: The skills and the picture, by their path in the run directory.
    """

    step: int
    status: Status
    words: Mapping[str, str]
    numbers: Mapping[str, float]
    files: Mapping[str, Path]

    @property
    def digest(self) -> str:
        """What two ends share that came out alike, but for the picture, which shows the same numbers."""
        texts = [(name, text_digest(path.read_text("utf-8"))) for name, path in self.files.items() if _is_skill(name)]
        found = [self.step, self.status, dict(self.words), dict(self.numbers), texts, self.picture is not None]
        return digest(found)[:16]

    @property
    def skills(self) -> Mapping[str, Path]:
        """The skills alone."""
        return {name: path for name, path in self.files.items() if _is_skill(name)}

    @property
    def picture(self) -> Path | None:
        """The picture, where there is one."""
        return self.files.get(PICTURE_NAME)


def start(config: Config, started: RunStarted, directory: Path) -> Start:
    """Return what is known when a training begins."""
    settings = {".".join(key): value for key, value in flattened(config).items() if key[0] != "trackers"}
    settings |= {f"tasks.{split}": count for split, count in started.tasks.items()}
    settings["total_steps"] = started.total_steps
    return Start(started.run_directory, directory, settings, started.simulated)


def point(step: StepPoint) -> Point:
    """Return the numbers of a step, as it stood once everything that followed it was done."""
    candidate = step.candidate
    exact = None if candidate is None or candidate.bound else candidate.score
    bound = candidate.score if candidate is not None and candidate.bound else None
    found: dict[str, float | None] = {
        "scores/train": step.train,
        "scores/current": step.current,
        "scores/best": step.best,
        "scores/candidate": exact,
        "scores/candidate_at_most": bound,
        "scores/slow_update": None if step.slow_update is None else step.slow_update.score,
        "edits/budget": step.budget,
        "edits/proposed": step.proposed,
        "edits/applied": step.applied,
        "edits/accepted": None if candidate is None else float(candidate.accepted),
        "skill/tokens": step.skill_tokens,
    }
    for role, spent in step.spent.items():
        found |= {f"spend/{role}_tokens": spent.tokens, f"spend/{role}_dollars": spent.dollars}
    return Point(step.step, {name: float(value) for name, value in found.items() if value is not None})


def end(state: str, summary: Mapping[str, Any], directory: Path, *, step: int, drawn: bool = True) -> End:
    """Return how a training ended, and what there is to look at by then.

    Args:
        state: The end state.
        summary: What summary.json holds; without scores where the baseline was not measured.
        directory: The run directory.
        step: The last step.
        drawn: Whether the training draws a picture; one that is there all the same may be that of an earlier start.
    """
    splits: dict[str, Mapping[str, Any]] = {split: summary.get(split) or {} for split in ("selection", "test")}
    scores: dict[str, Mapping[str, Any]] = {
        f"{split}.{skill}": found[skill]
        for split, found in splits.items()
        for skill in ("seed", "best")
        if found.get(skill) is not None
    }
    words = {"state": state, **{name: str(found["shown"]) for name, found in scores.items()}}
    if "best_step" in summary:
        words["best_step"] = str(summary["best_step"])
    numbers = {
        f"final/{name.replace('.', '_')}": float(found["hard"])
        for name, found in scores.items()
        if found["hard"] is not None
    }
    return End(step, _STATUS.get(state, Status.FINISHED), words, numbers, _files(directory, drawn=drawn))


_STATUS: Final[Mapping[str, Status]] = {
    EndState.PROVIDER_FAILED: Status.FAILED,
    EndState.INTERRUPTED: Status.KILLED,
}


def _files(directory: Path, *, drawn: bool) -> dict[str, Path]:
    found = [*sorted((directory / "skills").glob("skill_v*.md")), directory / BEST_FILE]
    found += [directory / PICTURE_NAME] if drawn else []
    return {path.relative_to(directory).as_posix(): path for path in found if path.is_file()}


def _is_skill(name: str) -> bool:
    return name.endswith(".md")


def as_text(value: JsonValue) -> str:
    """Return a setting for a tracker that knows texts alone."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
