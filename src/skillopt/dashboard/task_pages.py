"""The tasks of a run: all of them with their history, one of them, what one evaluation made of them, one trajectory."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from skillopt.dashboard.numbers import number_in_query
from skillopt.dashboard.rendering import Crumb, page_number, paged, run_url
from skillopt.dashboard.site import not_found, run_crumbs, run_of
from skillopt.dashboard.skills_page import name_in_words
from skillopt.report.evaluations import Evaluation, evaluation
from skillopt.report.run_files import RunFiles
from skillopt.report.stored_rows import RolloutRow
from skillopt.report.task_history import TaskHistory
from skillopt.run.trajectory_pages import read_trajectory_page
from skillopt.text_files import plain
from skillopt.types import Action

_SPLITS: Final[Mapping[str, str]] = {"train": "training", "val": "selection", "test": "test"}

_WENT: Final[Mapping[str, tuple[str, Callable[[TaskHistory], bool]]]] = {
    "solved": ("solved, last time", lambda task: task.last == "solved"),
    "partly": ("solved in some passes, last time", lambda task: task.last == "partly"),
    "failed": ("failed, last time", lambda task: task.last == "failed"),
    "unmeasured": ("not measured, last time", lambda task: task.last == "unmeasured"),
    "never": ("never came up", lambda task: task.last is None),
    "unsolved": ("never solved", lambda task: bool(task.measured) and task.first("solved") is None),
}
_CHANGED: Final[Mapping[str, tuple[str, Callable[[TaskHistory], bool]]]] = {
    "yes": ("not always the same", lambda task: task.changed),
    "better": ("failed first, solved last", lambda task: _from_to(task) == ("failed", "solved")),
    "worse": ("solved first, failed last", lambda task: _from_to(task) == ("solved", "failed")),
    "no": ("always the same", lambda task: bool(task.measured) and not task.changed),
}
_ROWS: Final[Mapping[str, tuple[str, Callable[[RolloutRow], bool]]]] = {
    "solved": ("solved", lambda row: row.hard == 1),
    "failed": ("failed", lambda row: row.hard == 0),
    "unmeasured": ("not measured", lambda row: not row.measured),
}

_MARKS: Final = 60
"""Marks of a history that a line shows, the last ones; the task's own page has all of it."""

_LONGEST_HEADING: Final = 300
"""Characters of an id that a heading shows; below it the page has all of it."""


@dataclass(frozen=True, slots=True)
class TimeShown:
    """One time that a task came up: the evaluation and its rows of the task, one a pass."""

    evaluation: Evaluation
    rows: tuple[RolloutRow, ...]


def tasks_page(request: Request) -> Response:
    """Return the page of all tasks, or of those that the query asks for."""
    site, entry, files = run_of(request)
    every = site.histories.history(files).tasks
    asked = {name: request.query_params.get(name, "") for name in ("split", "outcome", "changed", "text")}
    shown = [task for task in every if _fits(task, asked)]
    return site.rendering.page(
        request,
        "tasks.html.jinja",
        title="Tasks",
        crumbs=run_crumbs(entry),
        run=entry,
        tasks=paged(shown, page_number(request)),
        every=len(every),
        marks=_MARKS,
        asked=asked,
        splits=_SPLITS,
        outcomes={key: words for key, (words, _) in _WENT.items()},
        changes={key: words for key, (words, _) in _CHANGED.items()},
    )


def task_page(request: Request) -> Response:
    """Return the page of one task: each time that it came up, with links to what the target did."""
    site, entry, files = run_of(request)
    history, wanted = site.histories.history(files), request.query_params.get("id", "")
    task = next((task for task in history.tasks if task.id == wanted), None)
    if task is None:
        raise not_found(_no_task(wanted, [task.id for task in history.tasks]))
    there = history.evaluations
    shown = paged(task.marks, page_number(request))
    times = [
        TimeShown(one, tuple(row for row in files.rollouts(one.place) if row.id == wanted))
        for one in (there[mark.evaluation] for mark in shown.items)
    ]
    firsts = {word: task.first(word) for word in ("failed", "solved")}
    return site.rendering.page(
        request,
        "task.html.jinja",
        title=_heading(wanted),
        crumbs=[*run_crumbs(entry), Crumb("Tasks", run_url(entry.id, "tasks"))],
        run=entry,
        task=task,
        split=_SPLITS.get(task.split or "", "no"),
        times=times,
        question=_question(files, times),
        shown=shown,
        firsts={word: there[mark.evaluation] for word, mark in firsts.items() if mark is not None},
    )


def evaluation_page(request: Request) -> Response:
    """Return the page of one evaluation: its rows, or those that the query asks for."""
    site, entry, files = run_of(request)
    one = _evaluation(request, files)
    rows = files.rollouts(one.place)
    asked = {name: request.query_params.get(name, "") for name in ("outcome", "text")}
    went = _ROWS.get(asked["outcome"])
    shown = [row for row in rows if (went is None or went[1](row)) and _holds(asked["text"], row.id, row.category)]
    return site.rendering.page(
        request,
        "evaluation.html.jinja",
        title=one.title.capitalize(),
        crumbs=[*run_crumbs(entry), *_step_crumb(entry.id, one)],
        run=entry,
        evaluation=one,
        counts={words: sum(map(test, rows)) for words, test in _ROWS.values()},
        rows=paged(shown, page_number(request)),
        every=len(rows),
        asked=asked,
        outcomes={key: words for key, (words, _) in _ROWS.items()},
    )


def trajectory_page(request: Request) -> Response:
    """Return the page of what the target did on a task in one evaluation."""
    site, entry, files = run_of(request)
    one = _evaluation(request, files)
    rows, wanted = files.rollouts(one.place), request.query_params.get("task", "")
    passes = [row.repeat for row in rows if row.id == wanted]
    # Numbers of passes go on from one evaluation of a skill to the next, so the first one here need not be 0.
    repeat = number_in_query(request, "repeat", default=min(passes, default=0))
    at = next((at for at, row in enumerate(rows) if (row.id, row.repeat) == (wanted, repeat)), None)
    if at is None:
        if passes:
            raise not_found(f"There is no such pass of this task. There are: {', '.join(map(str, passes))}.")
        raise not_found(_no_task(wanted, [row.id for row in rows]))
    page = files.trajectory(one.place, wanted, repeat=rows[at].repeat)
    return site.rendering.page(
        request,
        "trajectory.html.jinja",
        title=_heading(wanted),
        crumbs=[
            *run_crumbs(entry),
            *_step_crumb(entry.id, one),
            Crumb(one.title.capitalize(), run_url(entry.id, "evaluation", of=one.place)),
        ],
        run=entry,
        evaluation=one,
        row=rows[at],
        trajectory=None if page is None else read_trajectory_page(page),
        skill=_skill_read(entry.id, files, one),
        place=at + 1,
        rows=len(rows),
        before=rows[at - 1] if at else None,
        after=rows[at + 1] if at + 1 < len(rows) else None,
    )


def _heading(task: str) -> str:
    return task if 0 < len(task) <= _LONGEST_HEADING else f"{task[:_LONGEST_HEADING]}..." if task else "(no id)"


def _question(files: RunFiles, times: Sequence[TimeShown]) -> str:
    """Return what the target was asked, as it stands where a task came up last; "" where no page of that is there."""
    for time in reversed(times):
        for row in time.rows:
            page = files.trajectory(time.evaluation.place, row.id, repeat=row.repeat)
            turns = () if page is None else read_trajectory_page(page).turns
            if turns and turns[0].role == "user":
                return turns[0].content
    return ""


def _evaluation(request: Request, files: RunFiles) -> Evaluation:
    found = evaluation(files, request.query_params.get("of", ""))
    if found is None:
        raise not_found("This run has no such evaluation, or none yet.")
    return found


def _skill_read(run: str, files: RunFiles, one: Evaluation) -> Crumb | None:
    """Return where the skill stands that the target read; None where no page has just that one."""
    if one.place.endswith("_baseline"):
        return Crumb(name_in_words("0"), run_url(run, "skills", to=0))
    if one.step is None:
        return None if one.epoch is not None else Crumb(name_in_words("best"), run_url(run, "skills", to="best"))
    if one.place.endswith(("/rollout", "/selection_eval_refresh")):
        before = files.record(one.step - 1)
        if before is None or before["action"] == Action.DEFERRED:  # The batch may have met edits that still waited.
            return None
        return Crumb(name_in_words(str(one.step - 1)), run_url(run, "skills", to=one.step - 1))
    place = "lost" if "/draw_" in one.place else "update"
    return Crumb(f"a candidate of step {one.step}", f"{run_url(run, 'steps', one.step)}#{place}")


def _step_crumb(run: str, one: Evaluation) -> tuple[Crumb, ...]:
    if one.step is None:
        return ()
    return (Crumb(f"Step {one.step}" if one.step else "Baseline", run_url(run, "steps", one.step)),)


def _fits(task: TaskHistory, asked: Mapping[str, str]) -> bool:
    went, changed = _WENT.get(asked["outcome"]), _CHANGED.get(asked["changed"])
    return (
        (asked["split"] not in _SPLITS or task.split == asked["split"])
        and (went is None or went[1](task))
        and (changed is None or changed[1](task))
        and _holds(asked["text"], task.id, task.category)
    )


def _holds(text: str, *places: str) -> bool:
    # What a person sees of an id is what they can ask for.
    return not text or any(text.casefold() in plain(place).casefold() for place in places)


def _from_to(task: TaskHistory) -> tuple[str, str]:
    measured = task.measured
    return (measured[0].outcome, measured[-1].outcome) if measured else ("", "")


def _no_task(wanted: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(wanted[:200], known, n=3, cutoff=0.5)
    return "There is no such task here." + (f" Near it: {', '.join(near)}." if near else "")
