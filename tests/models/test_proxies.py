"""The system's proxies: found once, their passwords kept apart, and what is none refused without showing it."""

from __future__ import annotations

import pytest
from yarl import URL

from skillopt.config.model_settings import RoleSettings
from skillopt.errors import ConfigError, MissingDependencyError, ModelError
from skillopt.models.base import ChatRequest
from skillopt.models.providers import open_remote_model
from skillopt.models.proxies import Proxy, find_proxy
from skillopt.types import Message, Place

ADDRESS = URL("https://models.example/v1")
BAD = ["socks5://me:hunter2hunter2@127.0.0.1:9", "ftp://me:hunter2hunter2@h:1", "http://me:hunter2hunter2@[bad"]
VENDORS = {
    "anthropic:c": {"ANTHROPIC_API_KEY": "k-0123456789"},
    "google:gemini-2.5-pro": {"GOOGLE_API_KEY": "k-0123456789"},
    "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0": {
        "AWS_BEARER_TOKEN_BEDROCK": "k-0123456789",
        "AWS_REGION": "us-east-1",
    },
}


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A system without proxies."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def test_credentials_are_kept_apart_from_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://me:p%40ss@proxy:3128")
    proxy = find_proxy(ADDRESS)
    assert (str(proxy.address), proxy.password) == ("http://proxy:3128", "p@ss")
    assert proxy.headers == {"Proxy-Authorization": "Basic bWU6cEBzcw=="}
    assert "p@ss" not in repr(proxy)
    assert "bWU6" not in repr(proxy)


def test_this_machine_and_what_is_excepted_is_reached_without_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "proxy:3128")
    monkeypatch.setenv("no_proxy", "models.example")
    assert (
        find_proxy(ADDRESS) == find_proxy(URL("https://127.0.0.1/v1")) == find_proxy(URL("http://other/v1")) == Proxy()
    )
    assert str(find_proxy(URL("https://other/v1")).address) == "http://proxy:3128"


@pytest.mark.parametrize("named", BAD)
@pytest.mark.parametrize("variable", ["https_proxy", "all_proxy"])
@pytest.mark.parametrize("name", VENDORS)
def test_what_is_no_proxy_is_refused_before_a_vendors_library_words_it(
    name: str, variable: str, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More 18: some of them word it with the password."""
    monkeypatch.setenv(variable, named)
    with pytest.raises(ConfigError, match=f"in {variable}") as caught:
        open_remote_model("target", RoleSettings(name=name), VENDORS[name])
    assert not isinstance(caught.value, MissingDependencyError)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("name", VENDORS)
async def test_a_proxy_that_is_not_there_is_named_without_its_password(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More 18"""
    monkeypatch.setenv("https_proxy", "http://me:hunter2hunter2@127.0.0.1:9")
    model = open_remote_model("target", RoleSettings(name=name, max_tokens=9), VENDORS[name])
    with pytest.raises(ModelError) as caught:
        await model.reply(ChatRequest((Message("user", "?"),), Place("check")))
    await model.close()
    assert "hunter2" not in str(caught.value)
