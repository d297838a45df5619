"""The two models, and how they are called."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from skillopt.config.section import Positive, Section


class PriceSettings(Section):
    """What a model costs, in dollars for a million tokens, where it is not publicly known or differs."""

    input: Annotated[float, Field(ge=0.0)]
    """Dollars for a million input tokens that were not cached."""
    cached_input: Annotated[float, Field(ge=0.0)] | None = None
    """Dollars for a million cached input tokens; by default the price of fresh ones."""
    output: Annotated[float, Field(ge=0.0)]
    """Dollars for a million output tokens."""


class RoleSettings(Section):
    """One model and how it is called. A plain string stands for `{name: STRING}`."""

    name: str
    """`provider:model`, such as `openai:gpt-5.5`, `ollama:qwen3`, `local:qwen2.5-coder-1.5b` or `compatible:any`."""
    base_url: str | None = None
    """Address of the API up to and including `/v1`; by default the provider's own. The provider's own key is sent to no
    other host than the provider's or this machine: there, `api_key_env` must name the key."""
    api_key_env: str | None = None
    """Name of the environment variable that holds the key; by default the provider's own. Never the key itself."""
    temperature: Annotated[float, Field(ge=0.0, le=2.0)] | None = None
    """Sampling temperature; not sent unless set. 0 for `local:` models unless set."""
    max_tokens: Positive | None = None
    """Most tokens of one reply, reasoning included; not sent unless set (16384 is the public default). 1024 for
    `local:` models unless set."""
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = None
    """How long a reasoning model may think; not sent unless set."""
    thinking: bool | None = None
    """Switch thinking on or off where the provider has a switch; unset leaves it to the server."""
    schema_replies: bool | None = None
    """Ask the provider to constrain replies to a JSON schema; by default where the provider is known to do so."""
    timeout: Annotated[float, Field(gt=0.0)] = 300.0
    """Seconds one call may take, down to the socket; a call that takes longer is cancelled and tried again. A target's
    call ends with `env.exec_timeout` too, and its task is then tried once more."""
    attempts: Positive = 10
    """How often a call is tried when failures are transient; after five timeouts not any more."""
    concurrency: Positive = 16
    """Most calls in flight at once for this role; fewer while the provider answers 429."""
    price: PriceSettings | None = None
    """Prices that override the public price list."""
    extra_body: dict[str, Any] = Field(default_factory=dict)
    """Further fields of the request body, sent as they are."""


class ModelSettings(Section):
    """The two models of the method."""

    optimizer: RoleSettings
    """The model that edits the skill. One that is stronger than the target helps."""
    target: RoleSettings
    """The frozen model that does the tasks with the skill in its prompt."""
