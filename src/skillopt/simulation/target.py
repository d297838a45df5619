"""The simulated target: it does a task right if, and only if, its skill says how.

It knows the arithmetic of every rule but follows only what stands in its skill. In its reply it says what kept it from
a right answer, as a model would; the simulated optimizer learns from that and from nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from skillopt.digests import digest, generator
from skillopt.models.base import ChatReply, ChatRequest
from skillopt.simulation.lapses import REMINDED_SHARE, lapsing, reminded_codes
from skillopt.simulation.records import Occurrence, Rule, occurrences
from skillopt.simulation.replies import require_share, simulated_identity, simulated_reply
from skillopt.simulation.world import Knowledge, World
from skillopt.types import JsonValue

_UNKNOWN = re.compile(r"I know no house rule for ([A-Z]{2}-[0-9]{2})\b")
_OBEYED = re.compile(r'I obeyed this line: "([^"]+)"')


def complaints(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return what targets complain of in a text: codes they know no rule for, and harmful sentences they obeyed."""
    return frozenset(_UNKNOWN.findall(text)), frozenset(_OBEYED.findall(text))


class SimulatedTarget:
    """A target model over a world; a `ChatModel`.

    The skill is what the system messages say, the task what the last user message asks. An answer tag is used where the
    prompt speaks of one; else the answer is the last line. Equal requests get equal replies. A repeat (`Place.attempt`
    of a rollout) differs only through noise.

    Args:
        world: Whose rules hold.
        noise: Chance, 0 to 1, that a task it can do fails and that one it cannot do succeeds. Drawn from the request
            and the repeat, never from order or time.
        wavering: Share of the tasks, 0 to 1, that the noise applies to: some waver, and the others never slip.
        lapse: Chance, 0 to 1, that it does not follow a rule that stands in the skill, and says so. Drawn from what is
            asked and the repeat, whatever the skill; a reminder in the skill (`lapses.reminder`) leaves it only
            `lapses.REMINDED_SHARE` of its lapses.

    Raises:
        ValueError: If `noise`, `wavering` or `lapse` is out of its range.
    """

    def __init__(self, world: World, *, noise: float = 0.0, wavering: float = 1.0, lapse: float = 0.0) -> None:
        for name, value in (("noise", noise), ("wavering", wavering), ("lapse", lapse)):
            require_share(name, value)
        self._world = world
        self._noise = noise
        self._wavering = wavering
        self._lapse = lapse
        # A skill is read once for all the tasks that it is tried on.
        self._knowledge = lru_cache(maxsize=64)(world.knowledge)

    @property
    def identity(self) -> Mapping[str, JsonValue]:
        """The world and the rates; says that the model is simulated."""
        lapse = {"lapse": self._lapse} if self._lapse else {}
        return simulated_identity("target", self._world, {"noise": self._noise, "wavering": self._wavering, **lapse})

    async def reply(self, request: ChatRequest) -> ChatReply:
        """Do the task with what the skill says."""
        skill = "\n".join(message.content for message in request.messages if message.role == "system")
        asked = next((message.content for message in reversed(request.messages) if message.role == "user"), "")
        repeat, wanted = request.place.attempt, occurrences(asked)
        lapses = self._lapses(reminded_codes(skill), wanted, repeat) if self._lapse else frozenset[str]()
        remarks, answer = self._work(self._knowledge(skill), wanted, lapses, slips=self._slips(request, wanted))
        tagged = any("<answer>" in message.content for message in request.messages)
        lines = (*remarks, f"<answer>{answer}</answer>" if tagged else answer)
        return simulated_reply(request, "\n".join(lines))

    async def close(self) -> None:
        """Nothing to give back."""

    def _slips(self, request: ChatRequest, asked: tuple[Occurrence, ...]) -> bool:
        if not self._noise or not self._world.wavers(asked, self._wavering):
            return False
        said = digest([[message.role, message.content] for message in request.messages])
        draw = generator(self._world.seed, f"simulation.noise {said}", request.place.attempt)
        return draw.random() < self._noise

    def _lapses(self, reminded: Sequence[str], asked: Sequence[Occurrence], repeat: int) -> frozenset[str]:
        """Return the subjects whose rules it does not follow this time, wherever they stand."""
        drawn = {
            each.code: generator(self._world.seed, f"simulation.lapse {each.code} {each.number}", repeat).random()
            for each in asked
        }
        rates = {code: self._lapse * (REMINDED_SHARE if code in reminded else 1.0) for code in drawn}
        return frozenset(code for code, chance in drawn.items() if chance < rates[code])

    def _work(
        self, knowledge: Knowledge, asked: tuple[Occurrence, ...], lapses: frozenset[str], *, slips: bool
    ) -> tuple[tuple[str, ...], str]:
        """Return remarks and an answer; a slip makes a right answer wrong and a wrong one right."""
        if not asked:
            return (), "There is no record to write."
        rules = [self._world.rule_by_code.get(each.code) for each in asked]
        remarks = tuple(
            dict.fromkeys(
                remark
                for each, rule in zip(asked, rules, strict=True)
                if (remark := _obstacle(knowledge, each, rule, lapses))
            )
        )
        if slips and remarks:
            return ("This is a guess.",), " and ".join(map(_right, asked, rules))
        records = [
            str(each.number) if _obstacle(knowledge, each, rule, lapses) else _right(each, rule)
            for each, rule in zip(asked, rules, strict=True)
        ]
        if slips and rules[0] is not None:
            records[0] = rules[0].mistaken_record(asked[0].number)
        return remarks, " and ".join(records)


def _right(asked: Occurrence, rule: Rule | None) -> str:
    return str(asked.number) if rule is None else rule.record(asked.number)


def _obstacle(knowledge: Knowledge, asked: Occurrence, rule: Rule | None, lapses: frozenset[str]) -> str:
    """Return why the target does not follow a rule, in its own words; "" where it does."""
    harm = "" if rule is None else knowledge.harm(rule)
    if harm:
        return f'I obeyed this line: "{harm}"'
    if rule is None or rule.code not in knowledge.codes:
        return f"I know no house rule for {asked.code}."
    if asked.code in lapses:
        return lapsing(asked.code)
    return ""
