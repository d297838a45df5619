"""The simulated optimizer: it answers every stage of a step from what the prompt shows, right or wrong at set rates.

Its proposals state hidden rules, but only of subjects that the prompt's trajectories speak of. Every choice is drawn
from the world's seed and the request's messages, so the reply to a request depends on neither order nor time.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from skillopt.digests import generator
from skillopt.models.base import ChatReply, ChatRequest
from skillopt.simulation.citing import asks_for_citations, cited
from skillopt.simulation.heeding import (
    KINDS_OF_EDITS,
    earlier_guidance,
    edit_sense,
    kind_of_edit,
    lost_edits,
    memory_text,
    trusts,
)
from skillopt.simulation.lapses import consolidated, notes_asked_for
from skillopt.simulation.reading import (
    ShownEdit,
    Stage,
    lacking,
    list_item,
    meaning,
    prompt_text,
    shown_edits,
    stage_of,
)
from skillopt.simulation.records import HEADING, Rule, plain
from skillopt.simulation.replies import require_share, simulated_identity, simulated_reply
from skillopt.simulation.rewriting import named_budget, rewritten
from skillopt.simulation.world import World
from skillopt.types import JsonValue

EditObject: TypeAlias = dict[str, JsonValue]
"""An edit as it stands in a reply: `op`, `target`, `content`."""

_ABSENT_TARGET = "- This line stands in no skill."


class SimulatedOptimizer:
    """An optimizer model over a world; a `ChatModel`.

    Args:
        world: Whose rules it can state.
        useful: Weight of edits that state a missing rule or delete a harmful sentence.
        useless: Weight of edits that change nothing for the target.
        harmful: Weight of edits that make the target fail every task of one kind.
        malformed: Share of replies that are damaged, 0 to 1: broken JSON, prose, wrong types, cut at the token limit,
            or, for proposals, an edit whose target does not exist.
        most_edits: Most edits of one proposal, at least 1.
        heeds: How much of what a prompt tells of earlier trials it minds, 0 to 1: the chance, for each edit that is
            shown as lost, not to propose it again, and for each proposal, to go by what the memory says of the kinds.
        strays: Chance, 0 to 1, that guidance is drawn as edits are, right or wrong; otherwise it states all that is
            missing.
        discerns: Chance, 0 to 1, to rank an edit as what it is; otherwise it is ranked at random.

    Raises:
        ValueError: If a weight is not from 0 to 1 or all are 0, or another argument is out of its range.
    """

    def __init__(
        self,
        world: World,
        *,
        useful: float = 0.6,
        useless: float = 0.2,
        harmful: float = 0.1,
        malformed: float = 0.1,
        most_edits: int = 4,
        heeds: float = 0.0,
        strays: float = 0.0,
        discerns: float = 1.0,
    ) -> None:
        rates = {"useful": useful, "useless": useless, "harmful": harmful, "malformed": malformed}
        rates |= {"heeds": heeds, "strays": strays, "discerns": discerns}
        for name, value in rates.items():
            require_share(name, value)
        if useful + useless + harmful == 0.0:
            raise ValueError("useful, useless and harmful are all 0; one kind of edit must have a weight")
        if most_edits < 1:
            raise ValueError(f"most_edits is {most_edits}; it must be at least 1")
        self._world = world
        self._settings: Mapping[str, JsonValue] = {**rates, "most_edits": most_edits}
        self._weights = (useful, useless, harmful)
        self._malformed = malformed
        self._most_edits = most_edits
        self._heeds = heeds
        self._strays = strays
        self._discerns = discerns

    @property
    def identity(self) -> Mapping[str, JsonValue]:
        """The world and the rates; says that the model is simulated."""
        return simulated_identity("optimizer", self._world, self._settings)

    async def reply(self, request: ChatRequest) -> ChatReply:
        """Answer the stage that asks; a question of no stage gets a short line."""
        stage = stage_of(request)
        if stage is None:
            return simulated_reply(request, "OK (simulated)")
        draw = generator(self._world.seed, f"simulation.optimizer {meaning(self._world, stage, request)}")
        damaged = draw.random() < self._malformed
        value = self._answer(stage, prompt_text(request), draw)
        if stage == "reflect" and asks_for_citations(request):
            value["edits"] = [*cited(self._world, prompt_text(request), _entries(value))]
        return _damaged(request, value, draw) if damaged else simulated_reply(request, _written(request, value))

    async def close(self) -> None:
        """Nothing to give back."""

    def _answer(self, stage: Stage, text: str, draw: random.Random) -> dict[str, JsonValue]:
        match stage:
            case "reflect":
                edits = self._propose(text, draw)
                return {"reasoning": "What the tasks lacked (simulated).", "edits": [*edits], **notes_asked_for(text)}
            case "aggregate":
                return merged(shown_edits(text))
            case "select":
                ranking = self._ranked(shown_edits(text), draw)
                return {"reasoning": "Rules first (simulated).", "selected_indices": [*ranking]}
            case "update":
                mended = [_mended(edit, text) for edit in shown_edits(text)]
                return {"reasoning": "Targets that exist (simulated).", "edits": [*mended]}
            case "appendix_consolidate":
                return consolidated(text)
            case "rewrite":
                return rewritten(text, [_object(edit) for edit in shown_edits(text)] or self._propose(text, draw))
            case "budget":
                return named_budget(self._world, shown_edits(text))
            case "slow_update":
                content = "\n".join(f"- {sentence}" for sentence in self._guide(text, draw))
                return {"reasoning": "What is still missing (simulated).", "slow_update_content": content}
            case "meta_skill":
                return {"reasoning": "What helped (simulated).", "meta_skill_content": memory_text(self._world, text)}

    def _propose(self, text: str, draw: random.Random) -> list[EditObject]:
        """Return edits of drawn kinds, none twice; as many tries as the trajectories give reason for, at least one."""
        missing, obeyed = lacking(self._world, text)
        deletions: list[EditObject] = [{"op": "delete", "target": list_item(text, sentence)} for sentence in obeyed]
        lines = frozenset(text.splitlines())
        stated = [_rule_edit(self._world, rule, lines, draw) for rule in draw.sample(missing, len(missing))]
        useless, harmful = (
            [_append(sentence) for sentence in draw.sample(pool, len(pool))]
            for pool in (self._world.useless, self._world.harmful)
        )
        return self._drawn((deletions + stated, useless, harmful), text, draw)

    def _guide(self, text: str, draw: random.Random) -> list[str]:
        """Return the sentences of new guidance: the earlier ones that nothing speaks against, and drawn ones."""
        missing, obeyed = lacking(self._world, text)
        kept = [sentence for sentence in earlier_guidance(text) if sentence not in obeyed]
        if not self._strays or draw.random() >= self._strays:
            return list(dict.fromkeys([*kept, *(rule.sentence for rule in missing)]))
        pools = ([rule.sentence for rule in missing], self._world.useless, self._world.harmful)
        useful, useless, harmful = ([_append(sentence) for sentence in draw.sample(pool, len(pool))] for pool in pools)
        drawn = self._drawn((useful, useless, harmful), text, draw)
        return list(dict.fromkeys([*kept, *(plain(str(edit["content"])) for edit in drawn)]))

    def _drawn(self, kinds: Sequence[list[EditObject]], text: str, draw: random.Random) -> list[EditObject]:
        """Return edits of drawn kinds, as many as there are useful ones, at least one and at most `most_edits`."""
        tries, weights = min(self._most_edits, max(1, len(kinds[0]))), self._weights
        if self._heeds:
            lost = lost_edits(text)
            if lost:
                kinds = [
                    [edit for edit in kind if edit_sense(edit) not in lost or draw.random() >= self._heeds]
                    for kind in kinds
                ]
            if draw.random() < self._heeds:
                weights = tuple(weight * trust for weight, trust in zip(weights, trusts(text), strict=True))
        chosen = draw.choices(kinds, weights, k=tries)
        return [kind.pop(0) for kind in chosen if kind]

    def _ranked(self, edits: Sequence[ShownEdit], draw: random.Random) -> tuple[int, ...]:
        """Return all numbers, rules and deletions of harmful sentences first, harmful edits last, as far as it sees."""
        ranks = {edit.number: self._rank(edit) for edit in edits}
        if self._discerns < 1.0:
            ranks = {
                number: rank if draw.random() < self._discerns else draw.randrange(3) for number, rank in ranks.items()
            }
        return tuple(sorted(ranks, key=lambda number: ranks[number]))

    def _rank(self, edit: ShownEdit) -> int:
        return KINDS_OF_EDITS.index(kind_of_edit(self._world, edit.operation, edit.content or edit.target))


def merged(edits: Sequence[ShownEdit]) -> dict[str, JsonValue]:
    """Return a merge reply: the union of the edits; those that bring the same words, or delete the same, are one."""
    groups: dict[tuple[str, str], list[ShownEdit]] = {}
    for edit in edits:
        groups.setdefault((plain(edit.content), "" if edit.content else edit.target), []).append(edit)
    union: list[JsonValue] = [
        {**_object(same[0]), "sources": [edit.number for edit in same]} for same in groups.values()
    ]
    reason = "" if union else "There is no edit to merge."
    return {"reasoning": "The same edits are one (simulated).", "edits": union, "drop_all_reason": reason}


def _append(sentence: str) -> EditObject:
    return {"op": "append", "content": f"- {sentence}"}


def _rule_edit(world: World, rule: Rule, lines: frozenset[str], draw: random.Random) -> EditObject:
    """Return an edit that writes a rule down: at the end, under the heading, or in place of a useless line."""
    content = f"- {rule.sentence}"
    forms: list[EditObject] = [_append(rule.sentence)]
    if HEADING in lines:
        forms.append({"op": "insert_after", "target": HEADING, "content": content})
    forms.extend(
        {"op": "replace", "target": f"- {sentence}", "content": content}
        for sentence in world.useless
        if f"- {sentence}" in lines
    )
    return draw.choice(forms)


def _mended(edit: ShownEdit, text: str) -> EditObject:
    """Return the edit at a place that exists."""
    if edit.operation == "delete":
        return _object(edit)
    if HEADING in text.splitlines():
        return {"op": "insert_after", "target": HEADING, "content": edit.content}
    return {"op": "append", "content": edit.content}


def _object(edit: ShownEdit) -> EditObject:
    fields = {"op": edit.operation, "target": edit.target, "content": edit.content}
    return {name: value for name, value in fields.items() if value}


def _written(request: ChatRequest, value: Mapping[str, JsonValue]) -> str:
    """Return a reply as JSON: bare where a schema asks for it, else fenced, as models tend to write it."""
    text = json.dumps(value, ensure_ascii=False, indent=1)
    return text if request.schema is not None else f"Here is my reply.\n\n```json\n{text}\n```"


def _damaged(request: ChatRequest, value: Mapping[str, JsonValue], draw: random.Random) -> ChatReply:
    """Return a reply with one kind of damage."""
    text = _written(request, value)
    kinds = ["broken", "prose", "types", "cut", *(["target"] if value.get("edits") else [])]
    match draw.choice(kinds):
        case "broken":
            return simulated_reply(request, text.replace('":', '"').replace("}", ""))
        case "prose":
            return simulated_reply(request, "The skill could say more about the house. (simulated)")
        case "types":
            wrong = {name: "all of them" if isinstance(entry, list) else 7 for name, entry in value.items()}
            return simulated_reply(request, _written(request, wrong))
        case "cut":
            return simulated_reply(request, text[: len(text) // 2], finish_reason="length")
        case _:
            edits = [_misplaced(entry) for entry in _entries(value)]
            return simulated_reply(request, _written(request, {**value, "edits": [*edits]}))


def _entries(value: Mapping[str, JsonValue]) -> list[EditObject]:
    edits = value.get("edits")
    return [edit for edit in edits if isinstance(edit, dict)] if isinstance(edits, list) else []


def _misplaced(edit: EditObject) -> EditObject:
    """Return the edit at a place that does not exist."""
    operation = edit["op"] if edit["op"] in ("delete", "replace") else "insert_after"
    return {**edit, "op": operation, "target": _ABSENT_TARGET}
