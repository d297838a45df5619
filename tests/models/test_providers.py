"""From a name in the configuration to exactly one client, for every provider and both roles."""

import subprocess
import sys
from typing import Any, cast

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from hypothesis import given
from hypothesis import strategies as st

from skillopt.config.model_settings import RoleSettings
from skillopt.errors import ConfigError
from skillopt.models.base import ChatRequest
from skillopt.models.client import CompatibleClient
from skillopt.models.providers import (
    ALIASES,
    OPENED_ELSEWHERE,
    PROVIDERS,
    ModelName,
    open_remote_model,
    parse_model_name,
)
from skillopt.models.pydantic_ai import AdaptedModel
from skillopt.models.vendors import BUILDERS
from skillopt.types import Message, Place, Role

KEY = "sk-0123456789abcdefghij"
ENVIRONMENT = {variable: KEY for provider in PROVIDERS.values() for variable in provider.key_variables} | {
    "AZURE_OPENAI_ENDPOINT": "https://resource.openai.azure.com/openai/v1",
    "AWS_REGION": "us-east-1",
    "GOOGLE_CLOUD_PROJECT": "project",
}
ROLES: tuple[Role, ...] = ("target", "optimizer")


def open_model(name: str, *, role: Role = "target", environment: dict[str, str] | None = None, **settings: Any):
    settings_of_role = RoleSettings(name=name, **settings)
    return open_remote_model(role, settings_of_role, ENVIRONMENT if environment is None else environment)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_every_provider_opens_its_own_client_for_every_role(provider: str, role: Role):
    """F100, F13: the provider that was named is the one that is asked; none stands in for another."""
    base_url = "http://localhost:9/v1" if provider == "compatible" else None
    model = open_model(f"{provider}:some-model", role=role, base_url=base_url)
    kind = AdaptedModel if provider in BUILDERS else CompatibleClient
    assert type(model) is kind
    assert (model.identity["provider"], model.identity["model"]) == (provider, "some-model")
    if PROVIDERS[provider].base_url:
        assert model.identity["base_url"] == PROVIDERS[provider].base_url
    assert KEY not in f"{model!r} {model.identity}"
    await model.close()


def test_the_table_and_the_builders_name_the_same_vendors():
    """F100"""
    assert {name for name, provider in PROVIDERS.items() if provider.client == "adapted"} == set(BUILDERS)
    assert set(ALIASES.values()) <= set(PROVIDERS)
    assert not set(ALIASES) & set(PROVIDERS)


@pytest.mark.parametrize(
    ("name", "provider", "model"),
    [
        ("openai:gpt-5.5", "openai", "gpt-5.5"),
        ("openrouter:qwen/qwen3-32b:free", "openrouter", "qwen/qwen3-32b:free"),
        ("bedrock:us.anthropic.claude-sonnet-5-v1:0", "bedrock", "us.anthropic.claude-sonnet-5-v1:0"),
        ("gemini:gemini-3-pro", "google", "gemini-3-pro"),
        ("OpenAI: gpt-5.5 ", "openai", "gpt-5.5"),
        ("local:qwen2.5-coder-1.5b", "local", "qwen2.5-coder-1.5b"),
        ("local:C:\\models\\a b.gguf", "local", "C:\\models\\a b.gguf"),
    ],
)
def test_a_name_is_taken_apart_at_its_first_colon(name: str, provider: str, model: str):
    assert parse_model_name(name) == ModelName(provider, model)


@pytest.mark.parametrize("name", ["gpt-5.5", "", ":", "openai:", ":gpt", "vendor/gpt"])
def test_a_name_without_both_parts_is_an_error_that_shows_the_form(name: str):
    with pytest.raises(ConfigError, match=r"model\.target\.name is .*provider:model") as caught:
        parse_model_name(name, key="model.target.name")
    assert "openrouter" in caught.value.hint


def test_an_unknown_provider_is_an_error_that_names_the_nearest():
    """F13, More 8: a misspelt name is never a default."""
    with pytest.raises(ConfigError, match=r"no provider 'opnai'; did you mean 'openai'\?"):
        parse_model_name("opnai:gpt-5.5")
    with pytest.raises(ConfigError, match="no provider 'vendor-x'") as caught:
        open_model("vendor-x:foo")
    assert "compatible:foo" in caught.value.hint


@given(st.text())
def test_any_name_is_parsed_or_refused(name: str):
    try:
        parsed = parse_model_name(name)
    except ConfigError:
        return
    assert parsed.provider in (*PROVIDERS, *OPENED_ELSEWHERE)


@pytest.mark.parametrize("name", [provider.name for provider in PROVIDERS.values() if provider.key_needed])
def test_a_missing_key_is_an_error_that_names_its_variable(name: str):
    """F2: known before the first call."""
    variable = PROVIDERS[name].key_variables[0]
    for environment in ({}, {variable: " \n"}):
        with pytest.raises(ConfigError, match=f"environment variable {variable} is not set"):
            open_model(f"{name}:m", environment=environment)


def test_a_key_of_ones_own_variable_is_needed_even_where_the_provider_needs_none():
    with pytest.raises(ConfigError, match="MY_KEY is not set"):
        open_model("vllm:m", environment={}, api_key_env="MY_KEY")
    with pytest.raises(ConfigError, match="MY_KEY is not set"):
        open_model("openai:m", api_key_env="MY_KEY")


@pytest.mark.parametrize("pasted", ["sk-proj-abc123", "d41d8cd98f00b204e9800998ecf8427e", "secretkey"])
def test_a_key_pasted_for_its_variables_name_is_not_shown(pasted: str):
    """More 18"""
    with pytest.raises(ConfigError, match="never the key") as caught:
        open_model("openai:m", api_key_env=pasted)
    assert pasted not in f"{caught.value} {caught.value!r}"


@pytest.mark.parametrize(
    ("name", "environment", "sent"),
    [
        ("vllm:m", {}, None),
        ("vllm:m", {"VLLM_API_KEY": " k1\n"}, "Bearer k1"),
        ("compatible:m", {"OPENAI_API_KEY": "k2"}, None),
        ("openai:m", {"OPENAI_API_KEY": "k2"}, "Bearer k2"),
    ],
)
async def test_the_key_of_the_given_environment_is_sent_and_no_other(
    name: str, environment: dict[str, str], sent: str | None, monkeypatch: pytest.MonkeyPatch
):
    """More 18: a key for one provider never goes to a server of another kind."""
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-the-process")
    seen: list[str | None] = []

    async def handle(request: web.Request) -> web.Response:
        seen.append(request.headers.get("Authorization"))
        return web.json_response({"choices": [{"message": {"content": "ok"}}]})

    application = web.Application()
    application.router.add_post("/v1/chat/completions", handle)
    async with TestServer(application) as server:
        model = open_model(name, environment=environment, base_url=str(server.make_url("/v1")))
        await model.reply(ChatRequest((Message("user", "?"),), Place("check")))
        await model.close()
    assert seen == [sent]


def test_a_compatible_server_needs_an_address():
    with pytest.raises(ConfigError, match=r"model\.optimizer\.base_url"):
        open_model("compatible:m", role="optimizer")


@pytest.mark.parametrize("name", OPENED_ELSEWHERE)
def test_models_of_this_machine_are_not_opened_here(name: str):
    with pytest.raises(ConfigError, match="not a model behind a network address"):
        open_model(f"{name}:m")


@pytest.mark.parametrize(
    ("name", "field"),
    [("openai:m", "max_completion_tokens"), ("vllm:m", "max_tokens"), ("openrouter:m", "max_tokens")],
)
def test_the_token_limit_has_the_name_the_provider_knows(name: str, field: str):
    model = cast("CompatibleClient", open_model(name, max_tokens=7))
    assert model._fixed == {"model": "m", field: 7}


def test_importing_the_table_loads_no_client():
    code = "import sys, skillopt.models.providers; print([n for n in ('aiohttp', 'pydantic_ai') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
