"""Which key goes where: a provider's own key to its own hosts, any other one where the configuration says."""

from __future__ import annotations

from typing import Any

import pytest

from skillopt.config.model_settings import RoleSettings
from skillopt.errors import ConfigError
from skillopt.models.keys import find_key, is_loopback, key_warnings, owns
from skillopt.models.providers import PROVIDERS, key_notes

KEY = "sk-0123456789abcdef"
HOSTED = sorted(name for name, provider in PROVIDERS.items() if provider.hosts or provider.key_needed)
ENVIRONMENT = {variable: KEY for provider in PROVIDERS.values() for variable in provider.key_variables}


def find(name: str, **settings: Any) -> tuple[str | None, str]:
    provider = PROVIDERS[name.partition(":")[0]]
    return find_key("target", RoleSettings(name=name, **settings), provider, {**ENVIRONMENT, "MY_KEY": "mine"})


@pytest.mark.parametrize("name", HOSTED)
@pytest.mark.parametrize(
    "address",
    [
        "https://elsewhere.example/v1",
        "http://api.openai.com/v1",
        "https://api.openai.com.elsewhere.example/v1",
        "https://api-openai.com/v1",
        "https://evil.aliyuncs.com/v1",
        "https://x.execute-api.us-east-1.amazonaws.com/v1",
        "https://storage.googleapis.com/v1",
        "https://[::1",
    ],
)
def test_a_providers_own_key_goes_to_no_other_host_unless_it_is_named_beside_the_address(
    name: str, address: str
) -> None:
    """More 18: an address in a configuration must not be enough to be sent somebody's key."""
    with pytest.raises(ConfigError, match="sent to no other host") as caught:
        find(f"{name}:m", base_url=address)
    assert "api_key_env" in caught.value.hint
    assert KEY not in str(caught.value)
    assert find(f"{name}:m", base_url=address, api_key_env="MY_KEY") == ("mine", "MY_KEY")


@pytest.mark.parametrize("name", HOSTED)
def test_a_providers_own_key_goes_to_its_own_hosts_and_to_this_machine(name: str) -> None:
    provider = PROVIDERS[name]
    assert owns(provider, provider.base_url) or not provider.base_url
    assert owns(provider, "http://localhost:4000/v1")
    assert owns(provider, "http://127.0.0.1:4000/v1")


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("openai", "https://eu.api.openai.com/v1"),
        ("openai", "HTTPS://API.OPENAI.COM./v1"),
        ("qwen", "https://dashscope.aliyuncs.com/compatible-mode/v1"),
        ("minimax", "https://api.minimaxi.com/v1"),
        ("azure", "https://my-resource.openai.azure.com/openai/v1"),
        ("google-cloud", "https://us-central1-aiplatform.googleapis.com"),
        ("bedrock", "https://bedrock-runtime.us-east-1.amazonaws.com"),
        ("bedrock", "https://vpce-1a.bedrock-runtime.us-east-1.vpce.amazonaws.com"),
    ],
)
def test_other_hosts_of_a_provider_are_its_own(name: str, address: str) -> None:
    assert owns(PROVIDERS[name], address)
    assert not owns(PROVIDERS[name], address.lower().replace("https://", "http://"))


@pytest.mark.parametrize("name", ["vllm", "llamacpp", "ollama", "lmstudio", "compatible"])
def test_the_key_of_a_server_of_ones_own_goes_where_the_server_is(name: str) -> None:
    variables = PROVIDERS[name].key_variables
    assert find(f"{name}:m", base_url="http://gpu-7:8000/v1") == ((KEY, variables[0]) if variables else (None, ""))


def test_a_key_over_plain_http_is_told_unless_it_stays_on_this_machine() -> None:
    def notes(**settings: Any) -> list[str]:
        return key_notes("target", RoleSettings(name="compatible:m", **settings), {"MY_KEY": KEY})

    (told,) = notes(base_url="http://gpu-7:8000/v1", api_key_env="MY_KEY")
    assert "MY_KEY goes to gpu-7 over http://" in told
    assert KEY not in told
    assert notes(base_url="http://gpu-7:8000/v1") == []
    assert notes(base_url="https://gpu-7:8000/v1", api_key_env="MY_KEY") == []
    assert notes(base_url="http://127.8.0.1:8000/v1", api_key_env="MY_KEY") == []
    assert key_notes("target", RoleSettings(name="simulated:target"), {}) == []


def test_another_providers_key_that_is_sent_somewhere_is_told() -> None:
    settings = RoleSettings(name="compatible:m", base_url="https://elsewhere.example/v1", api_key_env="OPENAI_API_KEY")
    (told,) = key_notes("optimizer", settings, ENVIRONMENT)
    assert told == (
        "model.optimizer: the key in OPENAI_API_KEY, which is for openai, goes to elsewhere.example, as set"
    )
    own = settings.model_copy(update={"base_url": "https://api.openai.com/v1"})
    assert key_notes("optimizer", own, ENVIRONMENT) == []


def test_no_key_nothing_told() -> None:
    settings = RoleSettings(name="vllm:m", base_url="http://gpu-7:8000/v1")
    assert key_warnings("target", settings, PROVIDERS, provider=PROVIDERS["vllm"], variable="") == []


LOOPBACK = {"localhost": True, "::1": True, "127.0.0.2": True, "": False, "localhost.example": False, "10.0.0.1": False}


@pytest.mark.parametrize("host", LOOPBACK)
def test_loopback_is_this_machine(host: str) -> None:
    assert is_loopback(host) is LOOPBACK[host]
