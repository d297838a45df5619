"""`skillopt check --no-code`: what a configuration from elsewhere would do, told without doing any of it.

None of the Python code that it names is run, no model is asked, no key is looked up, nothing is written. What can be
checked so is checked: settings, files, splits, tasks and models' names.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import BaseModel

from skillopt.cli.planning import show_plan
from skillopt.cli.terminal import say, say_unbroken
from skillopt.config.load import LoadedConfig
from skillopt.config.model_settings import RoleSettings
from skillopt.config.validation import validate_section
from skillopt.data.splits import Splits
from skillopt.digests import text_digest
from skillopt.environments.load import BUILT_IN
from skillopt.environments.named_code import NamedCode, named_code
from skillopt.errors import ConfigError, RunDirectoryError
from skillopt.models.keys import find_key, is_loopback, owns
from skillopt.models.prices import Prices
from skillopt.models.providers import PROVIDERS, ModelName, Provider, parse_model_name
from skillopt.models.weights import find_weights
from skillopt.run.formats import check_formats
from skillopt.run.models import ROLES, role_settings
from skillopt.run.own_files import EVIDENCE_NAME, refuse_foreign_files
from skillopt.run.plan import plan
from skillopt.run.setup import load_data, prepare, seed_skill
from skillopt.text_files import plain
from skillopt.trackers.chosen import chosen
from skillopt.types import Role


def show_inspection(loaded: LoadedConfig) -> BaseModel | None:
    """Print what a training of a configuration would run, read, send and write; return its environment's settings.

    Raises:
        SkillOptError: If something is wrong with it, as for any check.
    """
    config = loaded.config
    code = named_code(config)
    models = list(_models(loaded))
    setup = None if code else prepare(loaded)
    splits = load_data(config) if setup is None else setup.splits
    skill = seed_skill(loaded) if setup is None else setup.seed_skill
    settings = _settings(loaded) if setup is None else setup.environment.settings
    counts = ", ".join(f"{name} {len(splits[name])}" for name in ("train", "val", "test"))
    say_unbroken(f"settings  ok  {plain(str(loaded.path))}")
    needed = "whether they have what the environment needs, its code would tell" if code else "every one has what the "
    say_unbroken(f"tasks     ok  {counts}; {needed}" + ("" if code else "environment needs"))
    say("No code that it names was run, no model asked, no key looked up, nothing written. A training would do this:")
    for heading, lines in (
        ("run code", list(_code_lines(loaded, code)) or ["none of its own; all of it is skillopt's"]),
        ("read", list(_read_lines(loaded, splits, text_digest(skill.text)))),
        ("ask", models),
        ("write", [_written(loaded)]),
        (
            "tell",
            [f"{one.name}: {one.told}, {one.shown}" for one in chosen(config.trackers)],
        ),
    ):
        for line in lines:
            say_unbroken(f"{heading:<10}{plain(line)}")
    for warning in splits.warnings if setup is None else ():
        say(f"warning: {plain(warning)}", style="yellow")
    if setup is not None:
        show_plan(plan(setup, Prices(config.model, on=datetime.now(UTC).date())))
    return settings


def _settings(loaded: LoadedConfig) -> BaseModel | None:
    """Check the environment's own keys, where it is a built-in one that takes code for its scorer alone."""
    if loaded.config.env.name not in BUILT_IN:
        return None
    from skillopt.environments.question_answering import QuestionAnsweringSettings

    extra = loaded.config.env.model_extra or {}
    return validate_section(QuestionAnsweringSettings, extra, provenance=loaded.provenance)


def _code_lines(loaded: LoadedConfig, code: tuple[NamedCode, ...]) -> Iterator[str]:
    for one in code:
        where = f"{one.path}, sha256 {one.sha256}" if one.path else "a file that only importing it would tell"
        package = f" of {one.package}" if one.package else ""
        led = "".join(f"; {note}" for note in _led(loaded, one.path)) if one.path else ""
        yield f"{where}  ({one.key}: {one.reference}{package}; set in {loaded.provenance[one.key]}{led})"


def _read_lines(loaded: LoadedConfig, splits: Splits, skill_digest: str) -> Iterator[str]:
    for file in loaded.files:
        yield _file_line(loaded, file, what="configuration" if file == loaded.path else "built on by _base_")
    for source in splits.manifest.files:
        yield _file_line(loaded, Path(source.path), what="tasks", digest=source.digest)
    skill = loaded.config.env.skill_init
    if skill is not None:
        yield _file_line(loaded, Path(skill), what="seed skill", digest=skill_digest)
    for role in ROLES:
        name = parse_model_name(role_settings(loaded.config, role).name, key=f"model.{role}.name")
        if name.provider == "local" and _is_file_of_weights(name.model):
            yield _file_line(loaded, Path(name.model).expanduser().absolute(), what=f"weights of the {role}")


def _file_line(loaded: LoadedConfig, path: Path, *, what: str, digest: str = "") -> str:
    shown = f"{path}, sha256 {digest}" if digest else str(path)
    return f"{shown}  ({', '.join((what, *_led(loaded, path)))})"


def _led(loaded: LoadedConfig, path: Path) -> Iterator[str]:
    """Say where a path leads: to another file, and out of the configuration's own directory."""
    path = Path(os.path.normpath(path))
    led = path.resolve()
    if led != path:
        yield f"a link to {led}"
    if not led.is_relative_to(loaded.path.parent.resolve()):
        yield "OUTSIDE of the configuration's directory"


def _is_file_of_weights(model: str) -> bool:
    return model.lower().endswith(".gguf")


def _models(loaded: LoadedConfig) -> Iterator[str]:
    for role in ROLES:
        settings = role_settings(loaded.config, role)
        name = parse_model_name(settings.name, key=f"model.{role}.name")
        try:
            yield f"{role}: {settings.name}, {_model(role, settings, name)}"
        except ConfigError as refusal:
            yield f"{role}: {settings.name}, which a training REFUSES: {refusal.message}"


def _model(role: Role, settings: RoleSettings, name: ModelName) -> str:
    """Say where a model is and what is sent there.

    Raises:
        ConfigError: If a training refuses it, whatever the environment holds.
    """
    if name.provider == "simulated":
        return "within skillopt; nothing is sent"
    if name.provider == "local":
        if not _is_file_of_weights(name.model):
            find_weights(name.model)
        return "served on this machine; nothing is sent"
    provider = PROVIDERS[name.provider]
    if settings.base_url is not None and not settings.api_key_env and not owns(provider, settings.base_url):
        find_key(role, settings, provider, {})  # Raises, with the words that a training would say.
    address = _address(role, settings, provider)
    certain = bool(settings.api_key_env) or provider.key_needed
    variables = (settings.api_key_env,) if settings.api_key_env else provider.key_variables
    keys = [f"the key in {' or '.join(variables)}{'' if certain else ' if it is set'}"] if variables else []
    if provider.client == "adapted" and not certain:
        keys.append("the credentials that the cloud's tools keep on this machine")
    sent = "the key, the skill and the tasks" if keys else "the skill and the tasks"
    return f"with {', or '.join(keys) or 'no key'}; {sent} are sent to {address}"


def _address(role: Role, settings: RoleSettings, provider: Provider) -> str:
    url = settings.base_url or provider.base_url
    if not url:
        if provider.client == "compatible":
            raise ConfigError(f"model.{role}.base_url must say where the server is")
        return "the address in AZURE_OPENAI_ENDPOINT" if provider.name == "azure" else f"{provider.name}'s own address"
    try:
        parts = urlsplit(url.strip())
        host, port = parts.hostname or "", parts.port
    except ValueError:
        host, port, parts = "", None, urlsplit("")
    if not host or parts.scheme not in ("http", "https"):
        raise ConfigError(f"model.{role}.base_url is no http:// or https:// address")
    shown = f"{host}:{port}" if port else host
    if is_loopback(host):
        return f"{shown}, this machine"
    notes = ["WITHOUT ENCRYPTION"] if parts.scheme == "http" else []
    if not owns(provider, f"https://{parts.netloc}"):
        notes.append(f"NOT {provider.name}'s own address")
    if settings.api_key_env:
        meant = [one for one in PROVIDERS.values() if settings.api_key_env in one.key_variables]
        if meant and not any(owns(one, f"https://{parts.netloc}") for one in meant):
            notes.append(f"and the key is for {meant[0].name}")
    return shown + "".join(f", {note}" for note in notes)


def _written(loaded: LoadedConfig) -> str:
    named = loaded.config.env.out_root
    if named is None:
        return f"a directory of its own below {Path.cwd() / 'outputs'}"
    directory = Path(named)
    return f"{directory}  ({', '.join((_found(directory), *_led(loaded, directory)))})"


def _found(directory: Path) -> str:
    """Say what is in the place of a run directory, and what a training would make of it."""
    try:
        if not directory.exists():
            return "made anew"
        if not directory.is_dir():
            return "no directory, so a training REFUSES it"
        if not any(directory.iterdir()):
            return "there already, and empty"
        check_formats(directory)
        refuse_foreign_files(directory)
        if (directory / EVIDENCE_NAME).exists():
            return "there already, with a run, which a training of the same settings and data goes on with"
    except RunDirectoryError as refusal:
        return f"there already, and a training REFUSES it: {refusal.message}"
    except OSError as error:
        return f"it cannot be looked at: {error.strerror or error}"
    return "there already, with files that are NO RUN'S, which a training would leave and write beside"
