"""What a run may use at most, together and by role: no surprise on the bill."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from skillopt.config.section import Positive, Section

Amount = Annotated[float, Field(gt=0.0)]


class AmountSettings(Section):
    """Most that may be used; null sets no limit."""

    calls: Positive | None = None
    """Most calls that are paid, over all starts of the run."""
    tokens: Positive | None = None
    """Most tokens that are paid, of prompts and answers, over all starts of the run."""
    dollars: Amount | None = None
    """Most dollars, over all starts of the run. It does not bind a model whose price is not known."""
    minutes: Amount | None = None
    """Most minutes of one start of the run; no call is begun after them."""


class LimitSettings(AmountSettings):
    """Most that a run may use. At a limit it ends in order, with the best skill so far; a higher one goes on."""

    target: AmountSettings = AmountSettings()
    """Most that the target may use."""
    optimizer: AmountSettings = AmountSettings()
    """Most that the optimizer may use."""

    def by_key(self) -> dict[str, float]:
        """Return every limit that is set, by its key."""
        scopes: dict[str, AmountSettings] = {
            "limits": self,
            "limits.target": self.target,
            "limits.optimizer": self.optimizer,
        }
        amounts = ((key, scope, name) for key, scope in scopes.items() for name in AmountSettings.model_fields)
        found = ((f"{key}.{name}", getattr(scope, name)) for key, scope, name in amounts)
        return {key: float(most) for key, most in found if most is not None}
