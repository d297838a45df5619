"""What tokens cost, and what nobody knows."""

from __future__ import annotations

import subprocess
import sys
import threading
from datetime import date

import pytest

from skillopt.config.model_settings import ModelSettings, PriceSettings, RoleSettings
from skillopt.models.prices import SELF_SERVED, Prices
from skillopt.types import Usage

DAY = date(2026, 11, 1)
MIXED = Usage(calls=1, fresh_tokens=1000, cached_tokens=2000, output_tokens=500)


def dollars(
    name: str,
    usage: Usage = MIXED,
    *,
    price: PriceSettings | None = None,
    base_url: str | None = None,
    on: date = DAY,
) -> float | None:
    target = RoleSettings(name=name, price=price, base_url=base_url)
    models = ModelSettings(optimizer=RoleSettings(name="local:other"), target=target)
    return Prices(models, on=on).dollars("target", usage)


def test_a_public_price_tells_fresh_cached_and_output_apart() -> None:
    """F123: cached tokens cost less than fresh ones, and output more."""
    fresh, cached, output = (
        dollars("openai:gpt-5.2", Usage(1, *tokens)) for tokens in ((1000, 0, 0), (0, 1000, 0), (0, 0, 1000))
    )
    assert fresh is not None
    assert cached is not None
    assert output is not None
    assert 0 < cached < fresh < output
    assert dollars("openai:gpt-5.2") == pytest.approx(fresh + 2 * cached + output / 2)


@pytest.mark.parametrize(
    "name",
    ["openai:no-such-model", "vendor-x:foo", "compatible:any", "openai:", ":gpt-5.2", "gpt-5.2", "", "openrouter:x/y"],
)
def test_an_unknown_price_stays_unknown(name: str) -> None:
    """F11: an unknown price is neither zero nor an abort."""
    assert dollars(name) is None


HERE = [None, "http://localhost:1/v1", "http://127.0.0.1:8000/v1", "http://127.8.9.1/v1", "https://[::1]:8000/v1"]
ELSEWHERE = [
    "http://10.0.0.5:8000/v1",
    "https://ollama.com/v1",
    "http://localhost.example.com/v1",
    "http://[2001:db8::1]/v1",
    "http://user:localhost@gpu.example.com/v1",
    "http://[bad/v1",
    "nonsense",
]


@pytest.mark.parametrize("provider", ["local", "simulated"])
def test_models_of_this_process_cost_nothing(provider: str) -> None:
    assert dollars(f"{provider}:gpt-5.2") == 0.0
    assert dollars(f"{provider}:gpt-5.2", Usage(calls=1)) == 0.0


@pytest.mark.parametrize("provider", [*sorted(SELF_SERVED), "llama.cpp", "Ollama"])
@pytest.mark.parametrize("base_url", HERE)
def test_servers_on_this_machine_cost_nothing(provider: str, base_url: str | None) -> None:
    assert dollars(f"{provider}:gpt-5.2", base_url=base_url) == 0.0
    assert dollars(f"{provider}:gpt-5.2", Usage(calls=1), base_url=base_url) == 0.0


@pytest.mark.parametrize("provider", sorted(SELF_SERVED))
@pytest.mark.parametrize("base_url", ELSEWHERE)
def test_servers_elsewhere_have_no_known_price_unless_it_is_given(provider: str, base_url: str) -> None:
    """F11: an unknown price is not nothing; rented machines and paid services speak the same protocols."""
    assert dollars(f"{provider}:gpt-5.2", base_url=base_url) is None
    free = PriceSettings(input=0.0, output=0.0)
    assert dollars(f"{provider}:gpt-5.2", base_url=base_url, price=free) == 0.0


def test_a_price_in_the_configuration_goes_before_every_other() -> None:
    """F11: a price can be given where none is public, and where the public one is wrong."""
    price = PriceSettings(input=2.0, cached_input=0.5, output=10.0)
    for name in ("vendor-x:foo", "openai:gpt-5.2", "vllm:qwen"):
        assert dollars(name, price=price) == (1000 * 2.0 + 2000 * 0.5 + 500 * 10.0) / 1e6


def test_cached_tokens_cost_what_fresh_ones_do_unless_said_otherwise() -> None:
    assert dollars("vendor-x:foo", price=PriceSettings(input=2.0, output=0.0)) == 3000 * 2.0 / 1e6
    assert dollars("vendor-x:foo", price=PriceSettings(input=2.0, cached_input=0.0, output=0.0)) == 1000 * 2.0 / 1e6


def test_a_reply_without_token_counts_has_no_known_price() -> None:
    assert dollars("openai:gpt-5.2", Usage(calls=1)) is None
    assert dollars("openai:gpt-5.2", Usage(calls=1), price=PriceSettings(input=1.0, output=1.0)) is None
    assert dollars("openai:gpt-5.2", Usage()) == 0.0, "no call, no cost"


def test_each_role_has_its_own_price() -> None:
    models = ModelSettings(
        optimizer=RoleSettings(name="vendor-x:foo", price=PriceSettings(input=1.0, output=0.0)),
        target=RoleSettings(name="vendor-x:foo", price=PriceSettings(input=2.0, output=0.0)),
    )
    prices = Prices(models, on=DAY)
    usage = Usage(1, fresh_tokens=1_000_000)
    assert (prices.dollars("optimizer", usage), prices.dollars("target", usage)) == (1.0, 2.0)


def test_the_day_that_is_named_decides_and_not_the_clock() -> None:
    """The price list knows prices that begin at a date: o3 became cheaper in June 2025."""
    before, after = (dollars("openai:o3", on=date(year, 1, 1)) for year in (2025, 2026))
    assert before is not None
    assert after is not None
    assert before > after


def test_no_thread_is_started() -> None:
    before = threading.active_count()
    assert dollars("anthropic:claude-sonnet-4-6") is not None
    assert threading.active_count() == before


def test_the_price_list_is_loaded_only_when_it_is_needed() -> None:
    modules = "skillopt.models.prices, skillopt.models.structured"
    code = f"import sys, {modules}; print({{'genai_prices', 'json_repair'}} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"
