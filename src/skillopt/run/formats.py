"""The version of every kind of file in a run directory: `run.json`, and what becomes of files of another version.

Most files are plain lists and documents whose form others rely on, so their versions stand in one file beside them. A
version is raised with every change that an older reader would misunderstand. Of the files that hold more than a view,
`evidence.sqlite` and each line of `events.jsonl` carry their version themselves as well.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, cast

from skillopt import __version__
from skillopt.data.manifest import FORMAT_VERSION as MANIFEST_VERSION
from skillopt.errors import RunDirectoryError
from skillopt.run.event_log import FORMAT_VERSION as EVENTS_VERSION
from skillopt.run.evidence_format import FORMAT as EVIDENCE_VERSION
from skillopt.run.own_files import EVIDENCE_NAME
from skillopt.run.summary import CARD_NAME
from skillopt.run.summary import SCHEMA_VERSION as SUMMARY_VERSION
from skillopt.text_files import write_json_atomically

RUN_FILE = "run.json"

FORMATS: Mapping[str, int] = {
    RUN_FILE: 1,
    EVIDENCE_NAME: int(EVIDENCE_VERSION),
    "events.jsonl": EVENTS_VERSION,
    "run.lock": 1,
    "config.yaml": 1,
    "split_manifest.json": MANIFEST_VERSION,
    CARD_NAME: 1,
    "history.json": 1,
    "ledger.csv": 1,
    "summary.json": SUMMARY_VERSION,
    "trackers.json": 1,
    "best_skill.md": 1,
    "skills/*.md": 1,
    "step_record.json": 1,
    "results.json": 1,
    "trajectories/*.md": 1,
    "patches/*.json": 1,
    "dropped_replies.json": 1,
    "merged_patch.json": 1,
    "ranked_edits.json": 1,
    "edit_apply_report.json": 1,
    "memorised.json": 1,
    "appendix_notes.json": 1,
    "lr_decision.json": 1,
    "rewrite_result.json": 1,
    "candidate_skill.md": 1,
    "slow_result.json": 1,
    "comparison_pairs.json": 1,
    "meta_skill_result.json": 1,
}
"""The version of each kind of file, by the end of its path; a star stands for any name."""

Found = Literal["same", "older"]


def write_run_file(directory: Path) -> None:
    """Say in `run.json` which versions the files of a run directory have."""
    write_json_atomically(directory / RUN_FILE, {"skillopt_version": __version__, "formats": dict(FORMATS)})


def check_formats(directory: Path) -> Found:
    """Compare the versions of a run directory's files with those that this program writes.

    Returns:
        "older" where some file has an older version: all views are to be written anew. "same" also where `run.json` is
        missing or cannot be read: it says nothing of the evidence, which has a version of its own.

    Raises:
        RunDirectoryError: If a file has a newer version, or is of a kind that only a newer program writes.
    """
    found = _read(directory / RUN_FILE)
    formats = found.get("formats")
    if not isinstance(formats, dict):
        return "same"
    known = {name: version for name, version in cast("dict[str, Any]", formats).items() if isinstance(version, int)}
    newer = [name for name, version in known.items() if name not in FORMATS or version > FORMATS[name]]
    if newer:
        told = ", ".join(
            f"{name} has version {known[name]}, known is {FORMATS[name]}"
            if name in FORMATS
            else f"{name} is of a kind that is not known"
            for name in newer[:3]
        )
        raise RunDirectoryError(
            f"{directory} was written by a newer SkillOpt ({found.get('skillopt_version')}): {told}",
            hint="Use that version, or name another directory in env.out_root.",
        )
    return "older" if any(version < FORMATS[name] for name, version in known.items()) else "same"


def _read(path: Path) -> dict[str, Any]:
    try:
        if not path.is_file():  # To read a pipe or a device may wait for ever.
            return {}
        found: object = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}
