"""The scorer that is any Python function, named as `module:function` or `file.py:function`.

The names of its parameters say what it gets. Its return value is a `Score`, a truth value, a number from 0 to 1, or a
pair of one of these two and a sentence of feedback. An exception in it is not caught here: the task stays unmeasured,
with the exception as the reason.
"""

from __future__ import annotations

import inspect
import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from skillopt.digests import canonical_json
from skillopt.environments.python_code import load_function as load_named
from skillopt.environments.scorers.base import Scorer, gold_values, trimmed, verdict
from skillopt.errors import EnvironmentLoadError
from skillopt.types import JsonValue, Score, Task, Trajectory

PARAMETERS = ("predicted", "answer", "task", "trajectory")
"""What a scoring function may ask for: the answer found, the field `answer` as it stands, the task, the trajectory."""


@dataclass(frozen=True)
class PythonFunction(Scorer):
    """Solved as the function says; a number alone solves the task only at exactly 1.

    Attributes:
        name: The function's name.
        function: The function.
        wants: The parameters it is called with, by name.
        sha256: Digest of the source file it comes from.
    """

    name: str
    function: Callable[..., object] = field(compare=False)
    wants: tuple[str, ...]
    sha256: str

    @property
    def rule(self) -> str:
        """Only the function knows."""
        return f"the scoring function {self.name} says so"

    @property
    def identity(self) -> Mapping[str, JsonValue]:
        """The function and the bytes of its file; never the path, so that evidence survives a move."""
        return {"function": self.name, "sha256": self.sha256}

    def check(self, task: Task) -> None:
        """A function that asks for `answer` needs one."""
        if "answer" in self.wants:
            gold_values(task)

    def score(self, predicted: str, task: Task, trajectory: Trajectory) -> Score:
        """Call the function and read what it returns.

        Raises:
            ValueError: If it returns NaN or a number outside 0 to 1.
            TypeError: If it returns something else than the forms above.
        """
        given: dict[str, Any] = {
            "predicted": predicted,
            "answer": task.fields.get("answer"),
            "task": task,
            "trajectory": trajectory,
        }
        returned = self.function(**{name: given[name] for name in self.wants})
        if isinstance(returned, Score):
            return replace(returned, predicted=returned.predicted or trimmed(predicted))
        value, feedback = _parts(returned)
        soft = self._share(value, task)
        score = verdict(_golds(task), predicted, soft=soft, hard=soft == 1.0, note=f"score {soft:g}")
        return replace(score, feedback=feedback, note=feedback) if feedback else score

    def _share(self, value: object, task: Task) -> float:
        if not isinstance(value, numbers.Real):  # bool is one
            raise TypeError(
                f"scorer {self.name} returned {value!r} for task {task.id!r}; it must return a Score, a truth value, "
                "a number from 0 to 1, or one of the last two with a sentence of feedback"
            )
        share = float(value)
        if not 0.0 <= share <= 1.0:  # false for NaN as well
            raise ValueError(f"scorer {self.name} returned {share} for task {task.id!r}; it must be from 0 to 1")
        return share


def _parts(returned: object) -> tuple[object, str]:
    if isinstance(returned, tuple):
        pair = cast("tuple[object, ...]", returned)
        if len(pair) == 2 and isinstance(pair[1], str):
            return pair[0], pair[1]
    return cast("object", returned), ""


def load_function(reference: str) -> PythonFunction:
    """Load the scoring function that `module:function` or `file.py:function` names.

    Args:
        reference: The name; a relative file is read from the working directory.

    Raises:
        EnvironmentLoadError: If there is no such file, module or function, or it asks for what there is not.
    """
    loaded = load_named(reference, kind="scorer")
    return PythonFunction(loaded.name, loaded.function, _wanted(reference, loaded.signature), loaded.sha256)


def _wanted(reference: str, signature: inspect.Signature) -> tuple[str, ...]:
    parameters = signature.parameters.values()
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    needed = [parameter for parameter in parameters if parameter.kind not in variadic]
    for parameter in needed:
        optional = parameter.default is not inspect.Parameter.empty
        positional = parameter.kind is inspect.Parameter.POSITIONAL_ONLY
        if (parameter.name not in PARAMETERS and not optional) or positional:
            raise EnvironmentLoadError(
                f"scorer {reference!r} asks for {parameter.name!r}",
                hint=f"Its parameters are given by name; it may ask for {', '.join(PARAMETERS)}.",
            )
    return tuple(parameter.name for parameter in needed if parameter.name in PARAMETERS)


def _golds(task: Task) -> tuple[str, ...]:
    """Return the accepted answers; none where the data names none."""
    answer = task.fields.get("answer")
    values = answer if isinstance(answer, list) else [answer]
    texts = (value if isinstance(value, str) else canonical_json(value) for value in values if value is not None)
    return tuple(text for text in texts if text.strip())
