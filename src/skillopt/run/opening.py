"""Opening a run: its directory, evidence, models and log, for the length of a block."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, date, datetime
from pathlib import Path

from skillopt.config.schema import Config
from skillopt.digests import digest
from skillopt.errors import RunDirectoryError
from skillopt.events import RunStarted, Warned
from skillopt.models.prices import Prices
from skillopt.models.retry import Retry
from skillopt.run.accounts import Accounts
from skillopt.run.event_log import EventLog, Subscriber
from skillopt.run.evidence import EvidenceStore
from skillopt.run.identity import claim, claim_models, identity
from skillopt.run.lock import locked
from skillopt.run.models import ROLES, open_models, role_settings, simulated
from skillopt.run.plan import plan
from skillopt.run.run import Run
from skillopt.run.setup import Setup
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
    subscribers: Sequence[Subscriber] = (),
    environment: Mapping[str, str] = os.environ,
) -> AsyncGenerator[Run]:
    """Open a run for training; on an existing directory the same run goes on.

    Args:
        setup: What the run is made of.
        directory: The run directory; made where missing.
        subscribers: Told of every event.
        environment: Where keys are looked up.

    Raises:
        RunDirectoryError: If the directory cannot be used or belongs to another run.
        ConfigError: If a model cannot be opened.
    """
    config = setup.config
    make_directory(directory)
    _refuse_foreign_files(directory)
    with locked(directory), EvidenceStore(directory / "evidence.sqlite") as evidence:
        claim(evidence, setup)
        remove_partial_files(directory)
        accounts = Accounts(Prices(config.model, on=_priced_on(evidence)), evidence)
        with EventLog(directory / "events.jsonl", subscribers) as events:

            def on_retry(role: Role, retry: Retry) -> None:
                events.emit(Warned(f"{role}: {retry.error.message}; attempt {retry.attempt + 1} in {retry.wait:.0f} s"))

            async with open_models(config, accounts, environment=environment, on_retry=on_retry) as models:
                claim_models(evidence, models)
                write_text_atomically(directory / "config.yaml", setup.loaded.to_yaml())
                write_json_atomically(directory / "split_manifest.json", setup.splits.manifest.to_json())
                run = Run(
                    setup, directory=directory, models=models, evidence=evidence, events=events, accounts=accounts
                )
                run.emit(_started(run, config))
                for warning in plan(setup, accounts.prices).warnings:
                    run.warn(warning)
                yield run


_OWN_FILES = ("config.yaml", "best_skill.md", "history.json", "summary.json", "split_manifest.json", "skills", "steps")


def _refuse_foreign_files(directory: Path) -> None:
    """Raise unless the directory is a run's or has nothing that a run would write over."""
    found = [name for name in _OWN_FILES if (directory / name).exists()]
    if found and not (directory / "evidence.sqlite").exists():
        raise RunDirectoryError(
            f"{directory} is no run directory, and it has files that a run would write over: {', '.join(found)}",
            hint="Name another directory in env.out_root.",
        )


def make_directory(directory: Path) -> None:
    """Make a directory with its parents; raises `RunDirectoryError` where that is not possible."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunDirectoryError(f"{directory}: cannot be made: {error.strerror}") from error


def _priced_on(evidence: EvidenceStore) -> date:
    """The day whose prices count: the run's first, so that a replay names the same dollars."""
    recorded = evidence.get_meta("priced_on")
    if recorded is None:
        recorded = datetime.now(UTC).date().isoformat()
        evidence.put_meta("priced_on", recorded)
    return date.fromisoformat(recorded)


def _started(run: Run, config: Config) -> RunStarted:
    return RunStarted(
        run_directory=run.directory.name,
        total_steps=run.total_steps,
        num_epochs=config.train.num_epochs,
        tasks={"train": len(run.splits.train), "val": len(run.splits.val), "test": len(run.splits.test)},
        models={role: role_settings(config, role).name for role in ROLES},
        simulated=simulated(config),
        limits=config.limits.by_key(),
    )
