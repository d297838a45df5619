"""The skill of a run, version by version, and the difference between any two."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from skillopt.dashboard.numbers import number
from skillopt.dashboard.rendering import page_number, paged
from skillopt.dashboard.site import not_found, run_crumbs, run_of
from skillopt.report.draws import skill_diff
from skillopt.report.end_words import made_by
from skillopt.report.gain import best_origin
from skillopt.report.run_files import RunFiles

_MOST_LINES: Final = 2_000
_BEST: Final = "best"


@dataclass(frozen=True, slots=True)
class Version:
    """A skill that was the current one.

    Attributes:
        step: The step after which it was, 0 for the seed.
        made_by: What made it, in words.
        score: Its gate score then, 0 to 1; None where no record says it.
        tokens: Its size, estimated; None where no record says it.
        before: The version that it took the place of; None for the seed.
        best: Whether it is the best skill.
    """

    step: int
    made_by: str
    score: float | None
    tokens: int | None
    before: int | None
    best: bool


def skills_page(request: Request) -> Response:
    """Return the page of the skill's versions and of the difference between the two that the query names."""
    site, entry, files = run_of(request)
    versions = tuple(_versions(files))
    names = [str(one.step) for one in versions] + ([_BEST] if files.best_skill is not None else [])
    if not names:
        raise not_found("There is no skill yet: the baseline was not measured.")
    chosen = {
        "from": _name(request.query_params.get("from") or names[0]),
        "to": _name(request.query_params.get("to") or names[-1]),
    }
    texts = {word: _text(files, name) for word, name in chosen.items()}
    old, new = texts["from"], texts["to"]
    return site.rendering.page(
        request,
        "skills.html.jinja",
        title="The skill",
        crumbs=run_crumbs(entry),
        run=entry,
        versions=paged(versions, page_number(request)),
        # One that brought nothing new is among them where it was asked for.
        names=sorted({*names, *chosen.values()}, key=lambda name: (name == _BEST, len(name), name)),
        chosen=chosen,
        change=skill_diff(old, new, most=_MOST_LINES),
        text=new,
        called=name_in_words,
    )


def name_in_words(name: str) -> str:
    """Return what a version is called: the seed, the best, or the current skill after a step."""
    return {"0": "the seed", _BEST: "the best skill"}.get(name, f"after step {name}")


def _name(asked: str) -> str:
    step = number(asked)
    return asked if step is None else str(step)


def _text(files: RunFiles, name: str) -> str:
    step = number(name)
    text = files.best_skill if name == _BEST else None if step is None else files.skill(step)
    if text is None:
        there = f"It has 0 to {max(files.skill_versions)}, and best." if files.skill_versions else ""
        raise not_found(f"This run has no such version of the skill. {there}")
    return text


def _versions(files: RunFiles) -> Iterator[Version]:
    """Yield the versions that brought something new, as far as the records tell; without records all of them."""
    origin, before, best = None, None, best_origin(files)
    for step in files.skill_versions:
        record = files.record(step)
        maker = "" if record is None else str(record["current_origin"])
        if record is not None and maker == origin:
            continue
        yield Version(
            step,
            made_by(maker),
            None if record is None else record["current_score"],
            None if record is None else record["skill_tokens"],
            before,
            bool(maker) and maker == best,
        )
        origin, before = maker, step
