"""What each vendor's model needs before it can be asked, and what is said where it is missing."""

import builtins
from typing import Any

import pytest

from skillopt.errors import ConfigError, MissingDependencyError, install_line
from skillopt.models.vendors import BUILDERS, Access, build_backend, vendor_errors


def access(**changes: Any) -> Access:
    given: dict[str, Any] = {"model": "m", "base_url": None, "key": "k-0123456789", "environment": {}, "timeout": 5.0}
    return Access(**(given | changes))


def test_azure_needs_the_address_of_its_resource():
    with pytest.raises(ConfigError, match="azure needs the address") as caught:
        build_backend("azure", access())
    assert "AZURE_OPENAI_ENDPOINT" in caught.value.hint
    with pytest.raises(ConfigError, match="OPENAI_API_VERSION"):
        build_backend("azure", access(base_url="https://r.openai.azure.com"))
    dated = {"OPENAI_API_VERSION": "2024-12-01-preview"}
    assert build_backend("azure", access(base_url="https://r.openai.azure.com", environment=dated)).base_url
    assert build_backend("azure", access(base_url="https://r.openai.azure.com/openai/v1", environment=dated)).base_url


def test_google_cloud_needs_a_project_or_a_key():
    with pytest.raises(ConfigError, match="google-cloud needs a project"):
        build_backend("google-cloud", access(key=None))
    assert build_backend("google-cloud", access(key=None, environment={"GOOGLE_CLOUD_PROJECT": "p"})).base_url
    assert build_backend("google-cloud", access()).base_url


def test_bedrock_needs_a_region(monkeypatch: pytest.MonkeyPatch):
    for variable in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    with pytest.raises(ConfigError, match=r"bedrock: .*region"):
        build_backend("bedrock", access())
    assert "us-west-2" in build_backend("bedrock", access(environment={"AWS_REGION": "us-west-2"})).base_url


@pytest.mark.parametrize("provider", BUILDERS)
@pytest.mark.parametrize("absent", ["pydantic_ai", "vendor"])
def test_a_missing_extra_is_named_with_the_line_that_installs_it(
    provider: str, absent: str, monkeypatch: pytest.MonkeyPatch
):
    real = builtins.__import__

    def importing(name: str, *rest: Any, **named: Any) -> Any:
        if name.startswith("pydantic_ai" if absent == "pydantic_ai" else "pydantic_ai.providers."):
            raise ModuleNotFoundError(f"No module named {name!r}")
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", importing)
    with pytest.raises(MissingDependencyError, match=r"extra \[providers\]") as caught:
        build_backend(provider, access())
    assert caught.value.hint == install_line("providers")


@pytest.mark.parametrize("provider", BUILDERS)
def test_errors_of_the_vendors_own_libraries_are_known(provider: str):
    assert bool(vendor_errors(provider)) == (provider not in ("anthropic", "azure"))


def test_a_key_is_not_in_the_repr():
    """More 18"""
    assert "k-0123456789" not in repr(access())
