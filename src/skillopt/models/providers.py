"""Which model a name means: the table of providers, and the one way from settings to a model behind the network.

A name picks exactly one provider and one client; nothing falls back to another. `local:` and simulated models are
opened elsewhere.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from skillopt.config.model_settings import RoleSettings
from skillopt.errors import ConfigError
from skillopt.models.base import ChatModel
from skillopt.models.keys import find_key, key_warnings
from skillopt.models.wire import Dialect
from skillopt.types import Role

_PLAIN = Dialect()
_TEMPLATE = Dialect(thinking="chat_template")
_TEMPLATE_WITH_SCHEMA = Dialect(thinking="chat_template", constrains_schema=True)


@dataclass(frozen=True, slots=True)
class Provider:
    """One provider of models.

    Attributes:
        name: The word ahead of the colon.
        client: `compatible` for the lean client, `adapted` for pydantic-ai.
        base_url: Address of its API; "" where the configuration or the client's own library gives it.
        key_variables: Environment variables that may hold its key, the first one set counts.
        key_needed: Whether it answers nothing without a key.
        hosts: Further hosts of its own besides that of `base_url`, as a pattern; see `keys.owns`.
        dialect: Where its API differs; for the lean client only.
    """

    name: str
    client: Literal["compatible", "adapted"]
    base_url: str = ""
    key_variables: tuple[str, ...] = ()
    key_needed: bool = True
    hosts: str = ""
    dialect: Dialect = _PLAIN


@dataclass(frozen=True, slots=True)
class ModelName:
    """A model's name in its two parts.

    Attributes:
        provider: A name in `PROVIDERS`, or one of `OPENED_ELSEWHERE`.
        model: What the provider calls the model; may hold colons and slashes.
    """

    provider: str
    model: str


def _hosted(name: str, base_url: str, variable: str, dialect: Dialect, *, hosts: str = "") -> Provider:
    return Provider(name, "compatible", base_url, (variable,), hosts=hosts, dialect=dialect)


def _served(name: str, base_url: str, variable: str, dialect: Dialect) -> Provider:
    return Provider(name, "compatible", base_url, (variable,) if variable else (), key_needed=False, dialect=dialect)


PROVIDERS: Mapping[str, Provider] = MappingProxyType(
    {
        provider.name: provider
        for provider in (
            _hosted(
                "openai",
                "https://api.openai.com/v1",
                "OPENAI_API_KEY",
                Dialect("max_completion_tokens", constrains_schema=True),
                hosts=r"(us|eu)\.api\.openai\.com",
            ),
            _hosted(
                "openrouter",
                "https://openrouter.ai/api/v1",
                "OPENROUTER_API_KEY",
                Dialect(thinking="reasoning", constrains_schema=True),
            ),
            _hosted("deepseek", "https://api.deepseek.com", "DEEPSEEK_API_KEY", Dialect(thinking="enabled_type")),
            # Alibaba's own service has the switch as a field of its own; vLLM, which serves the same models, has not.
            _hosted(
                "qwen",
                "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
                "DASHSCOPE_API_KEY",
                Dialect(thinking="enable_thinking"),
                hosts=r"(cn-hongkong\.)?dashscope(-us)?\.aliyuncs\.com",
            ),
            _hosted(
                "minimax",
                "https://api.minimax.io/v1",
                "MINIMAX_API_KEY",
                Dialect(thinking="adaptive_type"),
                hosts=r"api\.minimaxi\.com",
            ),
            _hosted(
                "moonshot",
                "https://api.moonshot.ai/v1",
                "MOONSHOT_API_KEY",
                Dialect(thinking="enabled_type"),
                hosts=r"api\.moonshot\.cn",
            ),
            _hosted(
                "zai",
                "https://api.z.ai/api/paas/v4",
                "ZAI_API_KEY",
                Dialect(thinking="enabled_type"),
                hosts=r"open\.bigmodel\.cn",
            ),
            _hosted("mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY", Dialect(constrains_schema=True)),
            _hosted("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY", Dialect("max_completion_tokens")),
            _hosted("together", "https://api.together.xyz/v1", "TOGETHER_API_KEY", _PLAIN),
            _hosted("xai", "https://api.x.ai/v1", "XAI_API_KEY", Dialect(constrains_schema=True)),
            _hosted(
                "fireworks",
                "https://api.fireworks.ai/inference/v1",
                "FIREWORKS_API_KEY",
                Dialect(constrains_schema=True),
            ),
            _served("vllm", "http://localhost:8000/v1", "VLLM_API_KEY", _TEMPLATE_WITH_SCHEMA),
            _served("llamacpp", "http://localhost:8080/v1", "LLAMA_API_KEY", _TEMPLATE_WITH_SCHEMA),
            _served(
                "ollama",
                "http://localhost:11434/v1",
                "OLLAMA_API_KEY",
                Dialect(thinking="effort", constrains_schema=True),
            ),
            _served("lmstudio", "http://localhost:1234/v1", "", Dialect(constrains_schema=True)),
            _served("compatible", "", "", _TEMPLATE),
            Provider("anthropic", "adapted", key_variables=("ANTHROPIC_API_KEY",), hosts=r"api\.anthropic\.com"),
            Provider(
                "azure",
                "adapted",
                key_variables=("AZURE_OPENAI_API_KEY",),
                hosts=r"[\w-]+\.(openai|services\.ai|cognitiveservices)\.azure\.(com|us|cn)",
            ),
            Provider(
                "google",
                "adapted",
                key_variables=("GOOGLE_API_KEY", "GEMINI_API_KEY"),
                hosts=r"generativelanguage\.googleapis\.com",
            ),
            # These two may also take the credentials that their clouds' tools leave on a machine.
            Provider("google-cloud", "adapted", key_needed=False, hosts=r"([\w-]+[.-])?aiplatform\.googleapis\.com"),
            Provider(
                "bedrock",
                "adapted",
                key_variables=("AWS_BEARER_TOKEN_BEDROCK",),
                key_needed=False,
                hosts=r"([\w-]+\.)?bedrock-runtime(-fips)?\.[\w-]+\.(vpce\.)?amazonaws\.com(\.cn)?",
            ),
        )
    }
)
"""Every provider that is reached by network, by its name."""

ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "gemini": "google",
        "google-vertex": "google-cloud",
        "dashscope": "qwen",
        "grok": "xai",
        "llama.cpp": "llamacpp",
        "moonshotai": "moonshot",
        "openai_compatible": "compatible",
    }
)
"""Other words for the same providers."""

OPENED_ELSEWHERE = ("local", "simulated")
"""Providers whose models run on this machine without a server of the user's."""


def parse_model_name(name: str, *, key: str = "the model's name") -> ModelName:
    """Take a model's name apart at its first colon; an alias becomes the provider's own name.

    Args:
        name: Such as `openai:gpt-5.5` or `openrouter:qwen/qwen3-32b:free`.
        key: Where the name was set, for messages, such as `model.target.name`.

    Raises:
        ConfigError: If there is no provider, no model, or no provider of that name.
    """
    provider, colon, model = (part.strip() for part in name.partition(":"))
    known = (*PROVIDERS, *OPENED_ELSEWHERE)
    listing = f"Providers: {', '.join(known)}."
    if not colon or not provider or not model:
        raise ConfigError(
            f"{key} is {name!r}; it must be provider:model, such as openai:gpt-5.5 or ollama:qwen3", hint=listing
        )
    provider = ALIASES.get(provider.lower(), provider.lower())
    if provider not in known:
        near = difflib.get_close_matches(provider, (*known, *ALIASES), n=1)
        suggestion = f"; did you mean {near[0]!r}?" if near else ""
        raise ConfigError(
            f"{key} is {name!r}, but there is no provider {provider!r}{suggestion}",
            hint=f"{listing} Any other OpenAI-compatible server: compatible:{model} with its base_url.",
        )
    return ModelName(provider, model)


def open_remote_model(role: Role, settings: RoleSettings, environment: Mapping[str, str]) -> ChatModel:
    """Open the model that settings name, without asking it anything.

    Args:
        role: Whose model it is, for messages.
        settings: The role's settings.
        environment: Where keys are looked up; the caller passes `os.environ`.

    Returns:
        The bare model: retry, limiter, meter and journal are put around it by the caller, who closes it.

    Raises:
        ConfigError: If the name, the address or the key is missing or wrong.
        MissingDependencyError: If the provider needs the extra `[providers]`.
    """
    name = parse_model_name(settings.name, key=f"model.{role}.name")
    if name.provider in OPENED_ELSEWHERE:
        raise ConfigError(f"model.{role}.name is {settings.name!r}, which is not a model behind a network address")
    provider = PROVIDERS[name.provider]
    key, variable = find_key(role, settings, provider, environment)
    if provider.client == "adapted":
        from skillopt.models.pydantic_ai import open_adapted_model

        return open_adapted_model(
            name.provider, name.model, settings=settings, key=key, key_variable=variable, environment=environment
        )
    base_url = settings.base_url or provider.base_url
    if not base_url:
        raise ConfigError(
            f"model.{role}.name is {settings.name!r}, so model.{role}.base_url must say where the server is",
            hint="It is the API's address up to and including /v1, such as http://localhost:8000/v1.",
        )
    from skillopt.models.client import CompatibleClient

    return CompatibleClient(
        name.provider,
        name.model,
        base_url=base_url,
        settings=settings,
        dialect=provider.dialect,
        key=key,
        key_variable=variable,
    )


def key_notes(role: Role, settings: RoleSettings, environment: Mapping[str, str]) -> list[str]:
    """Return what a person should know of where a model's key is sent, a sentence each; see `keys.key_warnings`.

    Raises:
        ConfigError: If the model's name or key is missing or wrong.
    """
    name = parse_model_name(settings.name, key=f"model.{role}.name")
    if name.provider in OPENED_ELSEWHERE:
        return []
    provider = PROVIDERS[name.provider]
    _, variable = find_key(role, settings, provider, environment)
    return key_warnings(role, settings, PROVIDERS, provider=provider, variable=variable)
