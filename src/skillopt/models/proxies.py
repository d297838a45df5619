"""The proxy that the system names for an address, with its password kept apart so that no message shows it.

Looked up once a client: aiohttp's own way asks a thread before every call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.request import getproxies, proxy_bypass

import aiohttp
from yarl import URL

from skillopt.errors import ConfigError
from skillopt.models.keys import is_loopback


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy, or none.

    Attributes:
        address: Where it is, without credentials; None for no proxy.
        headers: Its credentials.
        password: The same, for what must appear in no message; "" for none.
    """

    address: URL | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    password: str = field(default="", repr=False)


def find_proxy(url: URL, *, fall_back: bool = False) -> Proxy:
    """Return the proxy for an address; none for this machine and for what `no_proxy` names.

    Args:
        url: The address.
        fall_back: Whether `all_proxy` counts where nothing else is named, as it does for the vendors' libraries.

    Raises:
        ConfigError: If what the environment names is no HTTP proxy; its value is not shown.
    """
    host = url.host or ""
    known = getproxies()
    named = known.get(url.scheme) or (known.get("all") if fall_back else None)
    if not named or is_loopback(host) or (host and proxy_bypass(host)):
        return Proxy()
    try:
        address = URL(named if "://" in named else f"http://{named}")
        usable = address.scheme in ("http", "https") and bool(address.host) and bool(address.port)
    except ValueError:
        address, usable = URL(), False
    if not usable:
        variable = f"{url.scheme}_proxy" if known.get(url.scheme) else "all_proxy"
        raise ConfigError(
            f"the environment names a proxy for {url.scheme}:// addresses, in {variable}, that is no http:// or "
            "https:// address",
            hint=f"Mend or unset {variable} (also in capitals), or add {host or 'the host'} to no_proxy.",
        )
    if not address.user:
        return Proxy(address)
    credentials = aiohttp.encode_basic_auth(address.user, address.password or "")
    return Proxy(address.with_user(None), {"Proxy-Authorization": credentials}, address.password or "")
