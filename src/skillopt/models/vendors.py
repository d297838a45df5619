"""How each vendor's model is made with pydantic-ai: address, key and what else the vendor asks for.

One small function a vendor, picked by the provider's name. They import the vendors' libraries and ask nothing of them;
talking to a model is `pydantic_ai`'s part.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from skillopt.errors import ConfigError, MissingDependencyError, install_line

if TYPE_CHECKING:
    from pydantic_ai.models import Model


@dataclass(frozen=True, slots=True)
class Access:
    """How a provider's API is reached.

    Attributes:
        model: The model's name, as the provider knows it.
        base_url: Address of the API, or None for the provider's own.
        key: The key, or None where the provider finds credentials by itself.
        environment: Where further settings, such as a region, are looked up.
        timeout: Seconds one call may take.
    """

    model: str
    base_url: str | None
    key: str | None = field(repr=False)
    environment: Mapping[str, str]
    timeout: float


def _anthropic(access: Access) -> Model[Any]:
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    return AnthropicModel(access.model, provider=AnthropicProvider(api_key=access.key, base_url=access.base_url))


def _azure(access: Access) -> Model[Any]:
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.azure import AzureProvider

    endpoint = access.base_url or access.environment.get("AZURE_OPENAI_ENDPOINT")
    if not endpoint:
        raise ConfigError(
            "azure needs the address of the resource",
            hint="Set base_url, or the environment variable AZURE_OPENAI_ENDPOINT; addresses that end in /v1 need no "
            "OPENAI_API_VERSION.",
        )
    version = None if endpoint.rstrip("/").endswith("/v1") else access.environment.get("OPENAI_API_VERSION")
    provider = AzureProvider(azure_endpoint=endpoint, api_version=version, api_key=access.key)
    return OpenAIChatModel(access.model, provider=provider)


def _google(access: Access) -> Model[Any]:
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    return GoogleModel(access.model, provider=GoogleProvider(api_key=access.key, base_url=access.base_url))


def _google_cloud(access: Access) -> Model[Any]:
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google_cloud import GoogleCloudProvider

    project = access.environment.get("GOOGLE_CLOUD_PROJECT")
    if not (access.key or project):
        raise ConfigError(
            "google-cloud needs a project",
            hint="Set the environment variable GOOGLE_CLOUD_PROJECT (and GOOGLE_CLOUD_LOCATION), or `api_key_env`.",
        )
    location = None if access.key else access.environment.get("GOOGLE_CLOUD_LOCATION", "global")
    provider = GoogleCloudProvider(
        api_key=access.key, project=None if access.key else project, location=location, base_url=access.base_url
    )
    return GoogleModel(access.model, provider=provider)


def _bedrock(access: Access) -> Model[Any]:
    from pydantic_ai.models.bedrock import BedrockConverseModel
    from pydantic_ai.providers.bedrock import BedrockProvider

    region = access.environment.get("AWS_REGION") or access.environment.get("AWS_DEFAULT_REGION")
    if access.key:
        provider = BedrockProvider(
            api_key=access.key, region_name=region, base_url=access.base_url, aws_read_timeout=access.timeout
        )
    else:
        provider = BedrockProvider(region_name=region, base_url=access.base_url, aws_read_timeout=access.timeout)
    return BedrockConverseModel(access.model, provider=provider)


BUILDERS: Mapping[str, Callable[[Access], Model[Any]]] = MappingProxyType(
    {
        "anthropic": _anthropic,
        "azure": _azure,
        "google": _google,
        "google-cloud": _google_cloud,
        "bedrock": _bedrock,
    }
)
"""How each provider's model is made."""


def vendor_errors(provider: str) -> tuple[type[Exception], ...]:
    """Return the errors of a vendor's own library that pydantic-ai lets through, such as missing credentials."""
    if provider == "bedrock":
        from botocore.exceptions import BotoCoreError

        return (BotoCoreError,)
    if provider.startswith("google"):
        from google.auth.exceptions import GoogleAuthError

        return (GoogleAuthError,)
    return ()


def build_backend(provider: str, access: Access) -> Model[Any]:
    """Make the model of a provider in `BUILDERS`, without asking it anything.

    Raises:
        MissingDependencyError: If the extra `[providers]` is not installed.
        ConfigError: If the provider lacks an address, a region or credentials.
    """
    missing = MissingDependencyError(
        f"{provider}: models of this provider need the extra [providers]", hint=install_line("providers")
    )
    try:
        from pydantic_ai.exceptions import UserError
    except ImportError as error:
        raise missing from error
    try:
        return BUILDERS[provider](access)
    except ImportError as error:
        raise missing from error
    except UserError as error:
        raise ConfigError(f"{provider}: {error.message}") from error
