"""Opening a run: its directory, evidence, models and log, for the length of a block."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, date, datetime
from pathlib import Path

from skillopt.config.schema import Config
from skillopt.digests import digest
from skillopt.disk import refused
from skillopt.events import RunStarted, Warned
from skillopt.models.prices import Prices
from skillopt.models.providers import key_notes
from skillopt.models.retry import Retry
from skillopt.run.accounts import Accounts
from skillopt.run.event_log import EventLog, Subscriber
from skillopt.run.evidence import EvidenceStore
from skillopt.run.forking import Fork, check_fork, matching, share_evidence
from skillopt.run.formats import check_formats, write_run_file
from skillopt.run.identity import claim, claim_models, extend, identity
from skillopt.run.lock import locked
from skillopt.run.models import ROLES, Models, open_models, role_settings, simulated
from skillopt.run.own_files import (
    EVIDENCE_NAME,
    clear_the_way,
    refuse_emptied,
    refuse_foreign_files,
    remove_played,
)
from skillopt.run.plan import plan
from skillopt.run.run import Run
from skillopt.run.run_spans import RunSpans
from skillopt.run.setup import Setup
from skillopt.run.summary import CARD_NAME
from skillopt.text_files import readable_name, remove_partial_files, write_json_atomically, write_text_atomically
from skillopt.types import Role


def run_directory(setup: Setup) -> Path:
    """Return the run directory: `env.out_root`, or one under `outputs` that is named after what the run is.

    The name ends with a digest of the run's identity, so the same command finds its run again and goes on with it, and
    any other one gets a directory of its own.
    """
    config = setup.config
    if config.env.out_root is not None:
        return Path(config.env.out_root)
    environment, optimizer = Path(config.env.name).stem, readable_name(config.model.optimizer.name)
    return Path.cwd() / "outputs" / f"skillopt_{environment}_{optimizer}_{digest(identity(setup))[:8]}"


@asynccontextmanager
async def open_run(
    setup: Setup,
    *,
    directory: Path,
    fork: Fork | None = None,
    subscribers: Sequence[Subscriber] = (),
    environment: Mapping[str, str] = os.environ,
) -> AsyncGenerator[Run]:
    """Open a run for training; on an existing directory the same run goes on.

    Args:
        setup: What the run is made of.
        directory: The run directory; made where missing.
        fork: Where the run shares with another one, where that is; None for a run that is no fork.
        subscribers: Told of every event.
        environment: Where keys are looked up.

    Raises:
        RunDirectoryError: If the directory cannot be used or belongs to another run.
        ConfigError: If a model cannot be opened.
    """
    config = setup.config
    with opened_evidence(directory, command="train", fork=fork) as evidence:
        older_files = check_formats(directory) == "older"
        more_epochs = claim(evidence, setup)
        remove_partial_files(directory)
        renamed = clear_the_way(directory)
        accounts = Accounts(Prices(config.model, on=_priced_on(evidence)), evidence)
        spans = RunSpans(directory.name)
        with EventLog(directory / "events.jsonl", (*subscribers, spans)) as events, spans.around(events.emit):

            def on_retry(role: Role, retry: Retry) -> None:
                events.emit(Warned(f"{role}: {retry.error.message}; attempt {retry.attempt + 1} in {retry.wait:.0f} s"))

            def on_slowed(role: Role, allowed: int) -> None:
                said = f"the provider asks for fewer calls; at most {allowed} in flight now, more again as it answers"
                events.emit(Warned(f"{role}: {said}"))

            opened = open_models(config, accounts, environment=environment, on_retry=on_retry, on_slowed=on_slowed)
            async with opened as models:
                claim_models(evidence, models)
                if more_epochs or older_files:
                    # Ahead of the note on whose directory it is: a start that is killed in between does it again.
                    remove_played(directory)
                if more_epochs:
                    extend(evidence, setup, more_epochs)
                write_run_file(directory)
                write_text_atomically(directory / "config.yaml", setup.loaded.to_yaml(out_root="."))
                write_json_atomically(directory / "split_manifest.json", setup.splits.manifest.to_json())
                run = Run(
                    setup, directory=directory, models=models, evidence=evidence, events=events, accounts=accounts
                )
                write_json_atomically(directory / CARD_NAME, run.card)
                run.emit(_started(run, setup, models))
                if more_epochs:
                    run.warn(more_epochs.effect(config.optimizer, steps_per_epoch=run.steps_per_epoch))
                for warning in (*renamed, *plan(setup, accounts.prices).warnings, *_key_notes(config, environment)):
                    run.warn(warning)
                yield run


@contextmanager
def opened_evidence(directory: Path, *, command: str, fork: Fork | None = None) -> Generator[EvidenceStore]:
    """Hold a directory and its evidence for a command: the one way in for whatever pays.

    Args:
        directory: The directory of a run or of an evaluation; made where missing.
        command: What holds it: train, eval or noise.
        fork: Where the evidence comes from first, for a run that is a fork.

    Raises:
        RunDirectoryError: If the directory is in use or cannot be used, has files of somebody else, has lost its
            evidence, or was written by a newer version; or if the fork cannot begin or go on there.
    """
    if fork is not None:
        check_fork(fork)
    # Ahead of the evidence, which a newer version may have written too.
    check_formats(directory)
    place = "--fork" if fork is not None else "env.out_root" if command == "train" else "--out"
    with refused(f"{directory} cannot be made", place=place):
        directory.mkdir(parents=True, exist_ok=True)
    refuse_foreign_files(directory)
    with locked(directory, command=command):
        if fork is not None:
            share_evidence(fork)
        with EvidenceStore(directory / EVIDENCE_NAME) as evidence:
            if evidence.empty:
                refuse_emptied(directory)
            yield evidence


def _key_notes(config: Config, environment: Mapping[str, str]) -> list[str]:
    return [note for role in ROLES for note in key_notes(role, role_settings(config, role), environment)]


def _priced_on(evidence: EvidenceStore) -> date:
    """The day whose prices count: the run's first, so that a replay names the same dollars."""
    recorded = evidence.get_meta("priced_on")
    if recorded is None:
        recorded = datetime.now(UTC).date().isoformat()
        evidence.put_meta("priced_on", recorded)
    return date.fromisoformat(recorded)


def _started(run: Run, setup: Setup, models: Models) -> RunStarted:
    config = setup.config
    return RunStarted(
        run_directory=run.directory.name,
        total_steps=run.total_steps,
        num_epochs=config.train.num_epochs,
        tasks={"train": len(run.splits.train), "val": len(run.splits.val), "test": len(run.splits.test)},
        models={role: role_settings(config, role).name for role in ROLES},
        simulated=simulated(config),
        limits=config.limits.by_key(),
        forked_from="" if run.shared is None else run.shared.name,
        shared={} if run.shared is None else run.shared.counts,
        matching={} if run.shared is None else matching(run.directory, setup, models),
    )
