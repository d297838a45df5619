"""Which key is sent where: found in the environment, and sent to the provider that it was meant for only.

A key that `api_key_env` names goes to the address that stands beside it. A provider's own variable, or the credentials
that a cloud's tools left on a machine, go to that provider's own hosts only: whoever sets another address says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from skillopt.config.model_settings import RoleSettings
from skillopt.errors import ConfigError
from skillopt.types import Role

if TYPE_CHECKING:
    from skillopt.models.providers import Provider


def find_key(
    role: Role, settings: RoleSettings, provider: Provider, environment: Mapping[str, str]
) -> tuple[str | None, str]:
    """Return the key and the variable it came from; (None, "") where none is set and none is needed.

    Raises:
        ConfigError: If a key is needed and not there, or it would go to another host than it is meant for.
    """
    asked = settings.api_key_env
    if settings.base_url is not None and not asked and not owns(provider, settings.base_url):
        raise _foreign_address(role, settings, provider)
    for variable in (asked,) if asked else provider.key_variables:
        key = environment.get(variable, "").strip()
        if key:
            return key, variable
    if not asked and not provider.key_needed:
        return None, ""
    if asked and not re.fullmatch(r"[A-Z_][A-Z0-9_]{0,63}", asked):
        # Whoever writes the key itself here must not find it in a log.
        raise ConfigError(
            f"model.{role}.api_key_env names no environment variable that is set",
            hint="It takes the variable's name, never the key. Its value is not shown, since it may be a key.",
        )
    wanted = asked or provider.key_variables[0]
    raise ConfigError(
        f"model.{role}.name is {settings.name!r}, which needs a key, but the environment variable {wanted} is not set",
        hint=f"Set {wanted}, or name another variable in model.{role}.api_key_env. "
        "A server that needs no key: compatible:MODEL with its base_url.",
    )


def owns(provider: Provider, address: str) -> bool:
    """Whether a key that is meant for a provider may go to an address without being asked for.

    So it is for the provider's own hosts over TLS, for this machine, and for servers that are the user's wherever they
    stand, such as vllm.
    """
    if provider.client == "compatible" and not provider.key_needed:
        return True
    scheme, host = _place(address)
    own = _place(provider.base_url)[1]
    its = host != "" and (host == own or re.fullmatch(provider.hosts, host) is not None)
    return is_loopback(host) or (scheme == "https" and its)


def is_loopback(host: str) -> bool:
    """Whether a host is this machine."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def key_warnings(
    role: Role, settings: RoleSettings, providers: Mapping[str, Provider], *, provider: Provider, variable: str
) -> list[str]:
    """Return what a person should know of a key that will be sent, a sentence each.

    Args:
        role: Whose model it is.
        settings: The role's settings.
        providers: All providers, by name.
        provider: The model's.
        variable: The variable that holds the key; "" where none is sent.
    """
    scheme, host = _place(settings.base_url or provider.base_url)
    if not variable or not host or is_loopback(host):
        return []
    found: list[str] = []
    if scheme == "http":
        found.append(
            f"model.{role}: the key in {variable} goes to {host} over http://, so whoever sits between can read it, "
            "the prompts and the replies; use an https:// address, or a tunnel to a loopback address"
        )
    others = [other for other in providers.values() if variable in other.key_variables]
    if others and not any(owns(other, settings.base_url or provider.base_url) for other in others):
        found.append(f"model.{role}: the key in {variable}, which is for {others[0].name}, goes to {host}, as set")
    return found


def _place(address: str) -> tuple[str, str]:
    """Return an address's scheme and host in lower case; ("", "") for what is none."""
    try:
        url = urlsplit(address.strip())
        return url.scheme.lower(), (url.hostname or "").lower().rstrip(".")
    except ValueError:
        return "", ""


def _foreign_address(role: Role, settings: RoleSettings, provider: Provider) -> ConfigError:
    """Word why credentials that were meant for a provider are not sent elsewhere, and how to say that they are."""
    variable = next(iter(provider.key_variables), "")
    credentials = f"the key in {variable}" if variable else "the credentials of this machine"
    meant = f"api_key_env: {variable}" if variable else "api_key_env"
    return ConfigError(
        f"model.{role}.base_url is no https:// address of {provider.name}, and {credentials} is sent to no other host",
        hint=f"If that is meant, name the variable beside the address: {meant}. For a server of your own: "
        f"compatible:{settings.name.partition(':')[2].strip()}, which is sent no key unless api_key_env names one.",
    )
