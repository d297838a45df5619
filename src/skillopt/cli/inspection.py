"""`skillopt check --no-code`: what a configuration from elsewhere would do, told without doing any of it.

None of the Python code that it names is run, no model is asked, no key is looked up, nothing is written. What can be
checked so is checked: settings, files, splits, tasks and models' names.
"""

from __future__ import annotations

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
from skillopt.models.prices import Prices
from skillopt.models.providers import PROVIDERS, parse_model_name
from skillopt.run.models import ROLES, role_settings
from skillopt.run.plan import plan
from skillopt.run.setup import load_data, prepare, seed_skill
from skillopt.text_files import plain

_HERE = ("localhost", "127.0.0.1", "::1")


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
        yield f"{where}  ({one.key}: {one.reference}{package}; set in {loaded.provenance[one.key]})"


def _read_lines(loaded: LoadedConfig, splits: Splits, skill_digest: str) -> Iterator[str]:
    home = loaded.path.resolve().parent
    for file in loaded.files:
        outside = "" if file.resolve().is_relative_to(home) else ", outside of the configuration's directory"
        yield f"{file}  ({'configuration' if file == loaded.path else f'built on by _base_{outside}'})"
    for source in splits.manifest.files:
        led = Path(source.path).resolve()
        link = "" if led == Path(source.path) else f", a link to {led}"
        yield f"{source.path}, sha256 {source.digest}  (tasks{link})"
    skill = loaded.config.env.skill_init
    if skill is not None:
        yield f"{skill}, sha256 {skill_digest}  (seed skill)"


def _models(loaded: LoadedConfig) -> Iterator[str]:
    for role in ROLES:
        settings = role_settings(loaded.config, role)
        yield f"{role}: {_model(settings, parse_model_name(settings.name, key=f'model.{role}.name').provider)}"


def _model(settings: RoleSettings, provider_name: str) -> str:
    if provider_name == "simulated":
        return f"{settings.name}, within skillopt; nothing is sent"
    if provider_name == "local":
        return f"{settings.name}, served on this machine; nothing is sent"
    provider = PROVIDERS[provider_name]
    variables = (settings.api_key_env,) if settings.api_key_env else provider.key_variables
    key = f"the key in {' or '.join(variables)}" if variables else "no key"
    if provider.client == "adapted" and not (provider.key_needed or settings.api_key_env):
        key += ", or the credentials that the cloud's tools keep on this machine"
    return f"{settings.name}, with {key}; it, skill and tasks are sent to {_address(settings, provider_name)}"


def _address(settings: RoleSettings, provider_name: str) -> str:
    own = PROVIDERS[provider_name].base_url
    url = settings.base_url or own
    if not url:
        return "the address in AZURE_OPENAI_ENDPOINT" if provider_name == "azure" else f"{provider_name}'s own address"
    notes: list[str] = []
    try:
        parts, home = urlsplit(url), urlsplit(own)
        host = parts.hostname or url
        if parts.scheme != "https" and host not in _HERE:
            notes.append("WITHOUT ENCRYPTION")
        if settings.base_url and provider_name != "compatible" and host != home.hostname and host not in _HERE:
            notes.append(f"NOT {provider_name}'s own address")
        shown = f"{host}:{parts.port}" if parts.port else host
    except ValueError:
        return f"{url}, which is no address"
    return shown + "".join(f", {note}" for note in notes)


def _written(loaded: LoadedConfig) -> str:
    directory = loaded.config.env.out_root
    if directory is None:
        return f"a directory of its own below {Path.cwd() / 'outputs'}"
    there = "  (there already; the run in it would go on)" if Path(directory).exists() else ""
    return f"{directory}{there}"
