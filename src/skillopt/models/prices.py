"""What the tokens of a model cost, in dollars.

Prices given in the configuration come first. What runs on this machine is free; for everything else there is the public
price list that ships with genai-prices. It is read from the installed package only: nothing is fetched and no thread is
started. An unknown price stays unknown, and so does that of a server elsewhere, whoever it belongs to.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from urllib.parse import urlsplit

from skillopt.config.model_settings import ModelSettings, PriceSettings, RoleSettings
from skillopt.models.keys import is_loopback
from skillopt.models.providers import ALIASES, OPENED_ELSEWHERE, PROVIDERS
from skillopt.types import Role, Usage

SELF_SERVED = frozenset({"llamacpp", "lmstudio", "ollama", "vllm"})
"""Servers that anybody may run, and that cost nothing on this machine."""

_MILLION = 1_000_000


class Prices:
    """The prices of both roles.

    Args:
        models: The two models as configured.
        on: The day whose public prices hold, at noon UTC where they change within a day. A run takes its first day,
            so that a later start of it finds the same prices.
    """

    def __init__(self, models: ModelSettings, *, on: date) -> None:
        self._models: dict[Role, RoleSettings] = {"target": models.target, "optimizer": models.optimizer}
        self._at = datetime.combine(on, time(12), tzinfo=UTC)

    def dollars(self, role: Role, usage: Usage) -> float | None:
        """Return what tokens of a role's model cost in dollars, or None where nobody knows.

        Exact for the usage of one call; for a sum of calls a price that rises with the length of a prompt is the one
        of a single long prompt.
        """
        settings = self._models[role]
        named, _, model = settings.name.partition(":")
        provider = ALIASES.get(named.lower(), named.lower())
        if usage.calls == 0 and usage.tokens == 0:
            return 0.0
        if settings.price is None and _is_here(provider, settings.base_url):
            return 0.0
        if usage.tokens == 0:
            return None  # The server did not say how many tokens it used.
        if settings.price is not None:
            return _given(settings.price, usage)
        return self._public(provider, model, usage)

    def _public(self, provider: str, model: str, usage: Usage) -> float | None:
        # A large table, half a second to load: only runs on hosted models pay for it.
        from genai_prices import Usage as PricedUsage
        from genai_prices import calc_price

        if not provider or not model:
            return None
        tokens = PricedUsage(
            input_tokens=usage.fresh_tokens + usage.cached_tokens,
            cache_read_tokens=usage.cached_tokens,
            output_tokens=usage.output_tokens,
        )
        try:
            price = calc_price(tokens, model, provider_id=provider, genai_request_timestamp=self._at)
        except LookupError:
            return None
        return float(price.total_price)


def _is_here(provider: str, base_url: str | None) -> bool:
    """Whether a provider's models run on this machine."""
    if provider not in SELF_SERVED:
        return provider in OPENED_ELSEWHERE
    try:
        return is_loopback(urlsplit(base_url or PROVIDERS[provider].base_url).hostname or "")
    except ValueError:
        return False


def _given(price: PriceSettings, usage: Usage) -> float:
    cached = price.input if price.cached_input is None else price.cached_input
    return (
        usage.fresh_tokens * price.input + usage.cached_tokens * cached + usage.output_tokens * price.output
    ) / _MILLION
