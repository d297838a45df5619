"""The files of a run directory by name: which of them make it a run's, and what stands in the place of one.

What they hold is known elsewhere: all of them but the evidence are views. Only what is named like one is ever removed.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from skillopt.disk import refused
from skillopt.errors import RunDirectoryError
from skillopt.run.lock import LOCK_NAME

EVIDENCE_NAME = "evidence.sqlite"
"""The one file of a run directory that cannot be made again."""

DAMAGED = "damaged"
"""What the name of evidence says that was moved aside by a recovery: `evidence.sqlite.damaged-1`."""

_FILES = re.compile(
    r"(best_skill|skill_v\d{4}|candidate_skill)\.md|events\.jsonl|config\.yaml|ledger\.csv"
    r"|(run|run_card|history|summary|trackers|split_manifest|results|dropped_replies|merged_patch|ranked_edits|edit_apply_report|memorised"
    r"|step_record|slow_result|comparison_pairs|meta_skill_result|appendix_notes|lr_decision|rewrite_result"
    r"|patch_\d{3}_[a-z]+)\.json"
)
_DIRECTORIES = re.compile(
    r"skills|steps|step_\d{4}|draw_\d\d|slow_update|meta_skill|epoch_\d\d|patches|trajectories|rollout(_prev|_curr)?"
    r"|(selection|test)_eval(_[a-z_]+)?"
)
PLAYED = (
    "best_skill.md",
    "history.json",
    "summary.json",
    "ledger.csv",
    "skills",
    "steps",
    "slow_update",
    "meta_skill",
    "selection_eval_baseline",
    "selection_eval_final",
    "selection_eval_final_baseline",
    "test_eval",
    "test_eval_baseline",
)
"""What a play of a run writes into its directory, files and directories."""

LOG, INDEX = "-wal", "-shm"
"""What the names of a database's write-ahead log and of its index end in."""

_BESIDE = (LOG, INDEX, "-journal")
"""What the names of the files end in that a database keeps beside it."""

_WRITTEN_OVER = ("config.yaml", "split_manifest.json", "run.json", "run_card.json", *PLAYED)


def beside(database: Path, end: str) -> Path:
    """Return the file that a database keeps beside it, by what its name ends in."""
    return database.with_name(database.name + end)


def refuse_foreign_files(directory: Path) -> None:
    """Raise unless the directory is a run's or has nothing that a run would write over.

    Raises:
        RunDirectoryError: If it has, or if it was a run's and the evidence is gone: a run that began anew there would
            pay for everything again, and write over what the old one came to. Also if the evidence or the lock is a
            link: the database would write where it leads.
    """
    for path in (directory / f"{name}{end}" for name in (EVIDENCE_NAME, LOCK_NAME) for end in ("", *_BESIDE)):
        if path.is_symlink():
            raise RunDirectoryError(
                f"{path} is a link, and a run writes nothing outside of its directory",
                hint="Put the file itself in its place, or move the whole run directory and link to that.",
            )
    evidence = directory / EVIDENCE_NAME
    log = beside(evidence, LOG)
    found = [name for name in _WRITTEN_OVER if (directory / name).exists()]
    ours = (directory / LOCK_NAME).exists() or (directory / "events.jsonl").exists()
    if evidence.exists():
        # The database itself would throw the log away that belongs to an empty file.
        if evidence.is_file() and not evidence.stat().st_size and (found or log.exists()):
            raise RunDirectoryError(f"{evidence} is empty: what it held is gone", hint=_LOST)
    elif damaged_files(directory):
        raise RunDirectoryError(
            f"{evidence} is missing, and there is a damaged one that was moved aside",
            hint=f"{_LOST} Or keep what is whole of the damaged one: skillopt recover {shlex.quote(str(directory))}",
        )
    elif log.exists() or (found and ours):
        raise RunDirectoryError(
            f"{evidence} is missing: the run in this directory has lost its evidence, all that it paid for", hint=_LOST
        )
    elif found:
        raise RunDirectoryError(
            f"{directory} is no run directory, and it has files that a run would write over: {', '.join(found)}",
            hint="Name another directory: env.out_root of a training, --out of eval and noise.",
        )


def refuse_emptied(directory: Path) -> None:
    """Raise if a run whose evidence holds nothing has a history: what it came from is lost.

    Raises:
        RunDirectoryError: If so.
    """
    if (directory / "history.json").exists():
        evidence = directory / EVIDENCE_NAME
        raise RunDirectoryError(f"{evidence} holds nothing, although the run has a history", hint=_LOST)


_LOST = (
    f"Put {EVIDENCE_NAME} back, with {EVIDENCE_NAME}-wal if there is one, and the run goes on. To begin anew and pay "
    "again, move the directory away or name another one (env.out_root of a training, --out of eval and noise)."
)


def damaged_files(directory: Path) -> tuple[Path, ...]:
    """Return the evidence that recoveries have moved aside, oldest first."""
    named = ((path, re.fullmatch(rf"{EVIDENCE_NAME}\.{DAMAGED}-(\d+)", path.name)) for path in directory.iterdir())
    return tuple(path for _, path in sorted((int(number[1]), path) for path, number in named if number))


def clear_the_way(directory: Path) -> tuple[str, ...]:
    """Rename directories in the place of a run's files, files in that of its directories, and links in that of both.

    What is written into a link, or removed below it, would be written or removed elsewhere.

    Returns:
        What was renamed, as sentences.

    Raises:
        RunDirectoryError: If something cannot be renamed.
    """
    said: list[str] = []
    with refused(f"{directory} cannot be cleared of what is in the place of the run's own files"):
        for path in _in_the_way(directory):
            aside = aside_name(path, "aside")
            path.rename(aside)
            said.append(f"{path} was in the place of one of the run's own files; it was renamed {aside.name}")
    return tuple(said)


def is_view(path: Path, *, directory: Path) -> bool:
    """Whether a file has the name and the place of one that a run writes, and can write again, in its directory."""
    above = path.parent.relative_to(directory).parts
    return _is_ours(path) and all(_DIRECTORIES.fullmatch(part) for part in above)


def remove_views(directory: Path) -> None:
    """Remove the views in a directory of a run's own, and such directories as are empty then; links are not followed.

    Raises:
        RunDirectoryError: If one cannot be removed.
    """
    if directory.is_symlink() or not directory.is_dir():
        return
    with refused(f"{directory} cannot be cleared of what another play of the run has left"):
        for path in sorted(directory.iterdir()):
            if _DIRECTORIES.fullmatch(path.name):
                remove_views(path)
            elif _is_ours(path) and not path.is_dir():
                path.unlink()
        if not any(directory.iterdir()):
            directory.rmdir()


def remove_played(directory: Path) -> None:
    """Remove all that an earlier play of a run wrote, since this one would not write all of it anew.

    Raises:
        RunDirectoryError: If something cannot be removed.
    """
    for path in (directory / name for name in PLAYED):
        if path.is_dir():
            remove_views(path)
        else:
            with refused(f"{path} cannot be removed"):
                path.unlink(missing_ok=True)


def aside_name(path: Path, word: str) -> Path:
    """Return the first free name of the form `NAME.WORD-N` beside a path."""
    names = (path.with_name(f"{path.name}.{word}-{number}") for number in count(1))
    return next(name for name in names if not os.path.lexists(name))


def _is_ours(path: Path) -> bool:
    """Whether a file has the name of one that a run writes into such a directory."""
    return bool(_FILES.fullmatch(path.name)) or (path.parent.name == "trajectories" and path.suffix == ".md")


def _in_the_way(directory: Path) -> Iterator[Path]:
    """Find them from the top down; below a directory that is none of ours, nothing is."""
    for path in sorted(directory.iterdir()):
        ours, of_ours = _is_ours(path), _DIRECTORIES.fullmatch(path.name)
        if (ours or of_ours) and path.is_symlink():
            yield path
        elif ours:
            if path.is_dir():
                yield path
        elif of_ours:
            if path.is_dir():
                yield from _in_the_way(path)
            else:
                yield path
