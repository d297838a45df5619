"""The providers that speak no OpenAI-compatible API, through pydantic-ai's direct requests (extra `[providers]`).

pydantic-ai knows each vendor's wire form; this adapter turns its values and errors into ours. Retries inside the
vendors' libraries are switched off where they can be, since waiting is `retry`'s part. Nothing heavy is imported
before a model is opened.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from yarl import URL

from skillopt.config.model_settings import RoleSettings
from skillopt.errors import ConfigError, ModelError
from skillopt.models.base import ChatModel, ChatReply, ChatRequest
from skillopt.models.failures import Reporter, paid_for, provider_words, shown_address
from skillopt.models.proxies import find_proxy
from skillopt.models.token_counts import with_estimates
from skillopt.models.vendors import Access, build_backend, vendor_errors
from skillopt.models.wire import model_identity
from skillopt.types import JsonValue, Message, Usage

if TYPE_CHECKING:
    from pydantic_ai.exceptions import AgentRunError
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import Model, ModelRequestParameters
    from pydantic_ai.settings import ModelSettings


def open_adapted_model(
    provider: str,
    model: str,
    *,
    settings: RoleSettings,
    key: str | None,
    key_variable: str,
    environment: Mapping[str, str],
) -> AdaptedModel:
    """Open a model of a provider in `vendors.BUILDERS`, without asking it anything.

    Raises:
        MissingDependencyError: If the extra `[providers]` is not installed.
        ConfigError: If the provider lacks an address, a region or credentials, cannot send `extra_body`, or the
            system's proxy is none.
    """
    if settings.extra_body and provider == "bedrock":
        raise ConfigError("bedrock takes no extra_body", hint="Remove it, or reach the model by another provider.")
    # Found before the vendor's library words what is wrong with it, in some of them with the password.
    proxy = find_proxy(URL(settings.base_url or "https://"), fall_back=True)
    backend = build_backend(provider, Access(model, settings.base_url, key, environment, settings.timeout))
    secrets = tuple(secret for secret in (key, proxy.password) if secret)
    return AdaptedModel(provider, model, backend, settings=settings, secrets=secrets, key_variable=key_variable)


class AdaptedModel(ChatModel):
    """A chat model behind one of pydantic-ai's.

    Args:
        provider: The provider's name.
        model: The model's name, as the provider knows it.
        backend: pydantic-ai's model.
        settings: How the model is called.
        secrets: The key and the proxy's password, so that no message shows them.
        key_variable: Name of the environment variable that held the key.
    """

    def __init__(
        self,
        provider: str,
        model: str,
        backend: Model[Any],
        *,
        settings: RoleSettings,
        secrets: tuple[str, ...],
        key_variable: str,
    ) -> None:
        address = shown_address(URL(backend.base_url or ""))
        self._reporter = Reporter(f"{provider}:{model}", address, key_variable, secrets)
        self._backend = backend
        self._vendor_errors = vendor_errors(provider)
        self._entered = False
        self._timeout = settings.timeout
        self._settings = _model_settings(provider, settings)
        able = bool(backend.profile.get("supports_json_schema_output"))
        self._constrain = able and settings.schema_replies is not False
        self._identity = model_identity(provider, model, address, settings=settings, constrain=self._constrain)

    def __repr__(self) -> str:
        return f"AdaptedModel({self._reporter.model!r}, base_url={self._reporter.address!r})"

    @property
    def identity(self) -> Mapping[str, JsonValue]:
        """Provider, model, address and every setting that shapes a reply; unset ones as None."""
        return self._identity

    async def reply(self, request: ChatRequest) -> ChatReply:
        """Ask once.

        Raises:
            TransientModelError: If the connection or the provider failed, or the answer cannot be read.
            RateLimitError: If the provider asks to wait.
            FatalModelError: If the provider refused for good.
        """
        from pydantic_ai.direct import model_request
        from pydantic_ai.exceptions import AgentRunError, ContentFilterError, UserError

        if not self._entered:
            self._entered = True
            await self._backend.__aenter__()
        history, parameters = _messages(request.messages), self._parameters(request)
        try:
            response = await model_request(
                self._backend, history, model_settings=self._settings, model_request_parameters=parameters
            )
        except ContentFilterError:
            return with_estimates(ChatReply("", "content_filter"), request)
        except AgentRunError as error:
            raise self._failure(error) from error
        except (UserError, *self._vendor_errors) as error:
            raise self._vendor_failure(error) from error
        except Exception as error:  # the seam to foreign code: on a malformed answer it fails in ways of its own
            words = f"{type(error).__name__}: {self._reporter.quote(str(error))}"
            raise paid_for(self._reporter.transient(f"the answer cannot be read: {words}")) from error
        reply = _read_response(response, self._reporter)
        if response.finish_reason == "error":
            raise paid_for(self._reporter.transient("the provider broke the generation off"), reply.usage)
        return with_estimates(reply, request)

    async def close(self) -> None:
        """Close the connections; safe to call twice."""
        if self._entered:
            self._entered = False
            await self._backend.__aexit__(None, None, None)
            if self._identity["provider"] == "bedrock":  # pydantic-ai leaves the connections of this library open
                client: Any = getattr(self._backend, "client", None)
                client.close()

    def _parameters(self, request: ChatRequest) -> ModelRequestParameters | None:
        if request.schema is None or not self._constrain:
            return None
        from pydantic_ai.models import ModelRequestParameters
        from pydantic_ai.output import OutputObjectDefinition

        form = OutputObjectDefinition(json_schema=dict(request.schema.schema), name=request.schema.name)
        return ModelRequestParameters(output_mode="native", output_object=form)

    def _failure(self, error: AgentRunError) -> ModelError:
        from pydantic_ai.exceptions import (
            ModelAPIError,
            ModelHTTPError,
            ModelQuotaExceededError,
            ModelRequestRejectedError,
            ModelRequestTimeout,
        )

        reporter = self._reporter
        if isinstance(error, ModelRequestTimeout):
            return reporter.timeout(self._timeout)
        # A vendor's library that finds no JSON in a successful answer calls it a failed connection.
        if not isinstance(error, ModelAPIError) or isinstance(error.__cause__, ValueError):
            return paid_for(reporter.transient(f"the answer cannot be read: {reporter.quote(str(error))}"))
        words = provider_words(error.body)[0] or error.message
        if isinstance(error, ModelHTTPError):
            code = "insufficient_quota" if isinstance(error, ModelQuotaExceededError) else ""
            return reporter.refusal(error.status_code, words, code=code, wait=error.retry_after)
        status = _redirect(error)
        if status:
            return reporter.refusal(status, "the server redirects to another address")
        if isinstance(error, ModelQuotaExceededError | ModelRequestRejectedError):
            return reporter.fatal(reporter.quote(words))
        return reporter.transient(f"the connection broke: {reporter.quote(words)}")

    def _vendor_failure(self, error: Exception) -> ModelError:
        """Word what the vendor's own library found before it asked: credentials, a region, a setting it cannot send."""
        words = f"{type(error).__name__}: {self._reporter.quote(str(error))}"
        may_pass = getattr(error, "retryable", False) is True
        return self._reporter.transient(words) if may_pass else self._reporter.fatal(words)


def _redirect(error: Exception) -> int:
    """Return the status of a redirect, which no vendor's library follows as pydantic-ai sets it up; 0 for all else."""
    for name in ("status_code", "code"):
        status = getattr(error.__cause__, name, None)
        if isinstance(status, int) and 300 <= status < 400:
            return status
    return 0


def _model_settings(provider: str, settings: RoleSettings) -> ModelSettings:
    chosen: ModelSettings = {"request_timeout": settings.timeout}
    if provider != "bedrock":  # has neither switch; its read timeout is set where it is made
        chosen["timeout"] = settings.timeout
        chosen["max_retries"] = 0
    # The skill and the prompts of the optimizer stand first and are asked with again and again; vendors that cache
    # only on demand are told so. The first use costs a quarter more, each further one a tenth.
    chosen["cache"] = {"messages": False}
    if settings.temperature is not None:
        chosen["temperature"] = settings.temperature
    if settings.max_tokens is not None:
        chosen["max_tokens"] = settings.max_tokens
    effort = settings.reasoning_effort
    if settings.thinking is False or effort == "none":
        chosen["thinking"] = False
    elif effort is not None:
        chosen["thinking"] = effort
    elif settings.thinking is True:
        chosen["thinking"] = True
    if settings.extra_body:
        chosen["extra_body"] = dict(settings.extra_body)
    return chosen


def _messages(messages: tuple[Message, ...]) -> list[ModelMessage]:
    from pydantic_ai.messages import ModelRequest, ModelResponse, SystemPromptPart, TextPart, UserPromptPart

    history: list[ModelMessage] = []
    for message in messages:
        if message.role == "assistant":
            history.append(ModelResponse(parts=[TextPart(message.content)]))
        elif message.role == "system":
            history.append(ModelRequest(parts=[SystemPromptPart(message.content)]))
        else:  # a plain conversation has no call ids, so a tool's words go as the user's
            history.append(ModelRequest(parts=[UserPromptPart(message.content)]))
    return history


def _read_response(response: ModelResponse, reporter: Reporter) -> ChatReply:
    from pydantic_ai.messages import TextPart, ThinkingPart

    usage = response.usage
    cached = min(usage.input_tokens, usage.cache_read_tokens)
    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    reasoning = "".join(part.content for part in response.parts if isinstance(part, ThinkingPart))
    return ChatReply(
        text=reporter.without_secrets(text),
        finish_reason=response.finish_reason or "stop",
        reasoning=reporter.without_secrets(reasoning),
        usage=Usage(1, usage.input_tokens - cached, cached, usage.output_tokens),
        model=reporter.name(response.model_name),
    )
