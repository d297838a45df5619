"""The simulated world: which house rules hold, the tasks that need them, and the truth about any skill.

A world follows from its seed and sizes alone. Its tasks are plain question-answering rows, so they run through the
real environment, harness and evaluation. Nothing here answers a task; that is the target's part.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path

from skillopt.digests import generator
from skillopt.simulation.records import (
    HEADING,
    KINDS,
    MOST_ADVICE,
    USELESS,
    WORDS,
    Kind,
    Occurrence,
    Rule,
    plain,
    question,
    useless_sentences,
)
from skillopt.types import JsonValue

_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
_INTRODUCTION = f"""---
name: house-records
description: How records are written in this (simulated) house.
---

# House records

Write every record exactly as the house rules say.

{HEADING}

"""


@dataclass(frozen=True, slots=True)
class SimulatedTask:
    """A task of the world.

    Attributes:
        id: Unique within the world.
        rules: The rules it takes, in the order of the question.
        numbers: The number that comes up for each of them.
    """

    id: str
    rules: tuple[Rule, ...]
    numbers: tuple[int, ...]

    @property
    def asked(self) -> tuple[Occurrence, ...]:
        """What its question asks records of."""
        return tuple(Occurrence(rule.code, number) for rule, number in zip(self.rules, self.numbers, strict=True))

    @property
    def question(self) -> str:
        """What the target is asked."""
        return question(self.rules, self.numbers)

    @property
    def answer(self) -> str:
        """The right answer; nobody can know it without the rules."""
        return " and ".join(rule.record(number) for rule, number in zip(self.rules, self.numbers, strict=True))


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What a skill gives a target to work with.

    Attributes:
        codes: Subjects whose rule stands in the skill.
        spoiled: Kinds of records whose harmful sentence stands in the skill.
        misled: Subjects whose own harmful sentence stands in the skill.
    """

    codes: frozenset[str]
    spoiled: frozenset[Kind]
    misled: frozenset[str] = frozenset()

    def harm(self, rule: Rule) -> str:
        """Return the harmful sentence that keeps a rule from being followed; "" where none does."""
        if rule.kind in self.spoiled:
            return rule.kind.harmful
        return rule.harmful if rule.code in self.misled else ""

    def suffices_for(self, task: SimulatedTask) -> bool:
        """Return whether every rule of a task can be followed."""
        return all(rule.code in self.codes and not self.harm(rule) for rule in task.rules)


class World:
    """A house with hidden rules, and tasks that need them.

    Args:
        seed: Everything in the world follows from it and the sizes.
        rules: Number of hidden rules, 1 to 200; each governs one subject. Kinds of records take turns.
        tasks: Number of tasks, 1 to 1000 for each rule; the rules take turns, so all are needed about equally often.
        rules_per_task: Most rules one task needs, 1 to `rules`; each task needs between one and so many.
        advice: Number of useless sentences there are to propose, 1 to 506.
        misguided: Number of subjects, 0 to `rules`, for which there is a harmful sentence of its own, beside those that
            harm a whole kind of records.

    Raises:
        ValueError: If a size is out of its range.
    """

    def __init__(
        self,
        seed: int = 0,
        *,
        rules: int = 12,
        tasks: int = 120,
        rules_per_task: int = 1,
        advice: int = len(USELESS),
        misguided: int = 0,
    ) -> None:
        if not 1 <= rules <= 200:
            raise ValueError(f"rules is {rules}; a world has 1 to 200 rules")
        if not 1 <= tasks <= 1000 * rules:
            raise ValueError(f"tasks is {tasks}; with {rules} rules it must be 1 to {1000 * rules}")
        if not 1 <= rules_per_task <= rules:
            raise ValueError(f"rules_per_task is {rules_per_task}; with {rules} rules it must be 1 to {rules}")
        if not 1 <= advice <= MOST_ADVICE:
            raise ValueError(f"advice is {advice}; it must be 1 to {MOST_ADVICE}")
        if not 0 <= misguided <= rules:
            raise ValueError(f"misguided is {misguided}; with {rules} rules it must be 0 to {rules}")
        self.seed = seed
        self.identity: Mapping[str, JsonValue] = {
            "seed": seed,
            "rules": rules,
            "tasks": tasks,
            "rules_per_task": rules_per_task,
            "advice": advice,
            "misguided": misguided,
        }
        self.useless = useless_sentences(advice)
        """Sentences that change nothing."""
        self.rules = _draw_rules(seed, rules)
        self.harmful = (*(kind.harmful for kind in KINDS), *(rule.harmful for rule in self.rules[:misguided]))
        """Sentences that make the target fail every task of one kind of record, or of one subject."""
        self.tasks = _draw_tasks(seed, tasks, self.rules, rules_per_task)

    @cached_property
    def rule_by_code(self) -> Mapping[str, Rule]:
        """The rules by the subject they govern."""
        return {rule.code: rule for rule in self.rules}

    def skill(self, sentences: Sequence[str]) -> str:
        """Return a skill document that holds some sentences as a list."""
        return _INTRODUCTION + "".join(f"- {sentence}\n" for sentence in sentences)

    def seed_skill(self) -> str:
        """Return the skill that training starts from: it holds no rule and one useless sentence."""
        return self.skill(USELESS[:1])

    def perfect_skill(self) -> str:
        """Return a skill that holds every rule and nothing that harms."""
        return self.skill([rule.sentence for rule in self.rules])

    def knowledge(self, skill_text: str) -> Knowledge:
        """Return what a skill says: list markers, emphasis and line breaks do not matter, altered values do."""
        words = plain(skill_text)
        return Knowledge(
            frozenset(rule.code for rule in self.rules if rule.sentence in words),
            frozenset(kind for kind in KINDS if kind.harmful in words),
            frozenset(rule.code for rule in self.rules if rule.harmful in words),
        )

    def solved(self, skill_text: str) -> tuple[SimulatedTask, ...]:
        """Return the tasks that a target without noise solves with a skill."""
        knowledge = self.knowledge(skill_text)
        return tuple(task for task in self.tasks if knowledge.suffices_for(task))

    def wavers(self, asked: Sequence[Occurrence], share: float) -> bool:
        """Return whether a task is one of those, about so large a share of all, whose answers may slip.

        Args:
            asked: What its question asks records of.
            share: Share of the tasks that waver, 0 to 1.
        """
        return share == 1.0 or self._waver_draw(tuple(asked)) < share

    def _waver_draw(self, asked: tuple[Occurrence, ...]) -> float:
        known = self._waver_draws.get(asked)
        return _draw_wavering(self.seed, asked) if known is None else known

    @cached_property
    def _waver_draws(self) -> Mapping[tuple[Occurrence, ...], float]:
        return {task.asked: _draw_wavering(self.seed, task.asked) for task in self.tasks}

    def true_score(self, skill_text: str, *, noise: float = 0.0, wavering: float = 1.0) -> Fraction:
        """Return the exact expected share of all tasks of the world that a target solves with a skill, 0 to 1.

        Args:
            skill_text: The skill.
            noise: The target's chance, 0 to 1, to fail what it can do and to hit what it cannot, in tasks that waver.
            wavering: Share of the tasks that waver, 0 to 1.
        """
        knowledge, chance = self.knowledge(skill_text), Fraction(noise)
        counts = Counter((knowledge.suffices_for(task), self.wavers(task.asked, wavering)) for task in self.tasks)
        right = counts[True, False] + counts[True, True] * (1 - chance) + counts[False, True] * chance
        return right / len(self.tasks)

    def rows(self) -> tuple[Mapping[str, str], ...]:
        """Return the tasks as rows of a question-answering data file: id, question, answer, category."""
        return tuple(
            {"id": task.id, "question": task.question, "answer": task.answer, "category": task.rules[0].kind.name}
            for task in self.tasks
        )

    def write(self, path: Path) -> None:
        r"""Write the tasks as JSONL (UTF-8, line ends `\n`)."""
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in self.rows())
        path.write_text(lines, encoding="utf-8", newline="\n")


def _draw_wavering(seed: int, asked: tuple[Occurrence, ...]) -> float:
    name = " ".join(f"{each.code} {each.number}" for each in asked)
    return generator(seed, f"simulation.wavering {name}").random()


def _draw_rules(seed: int, count: int) -> tuple[Rule, ...]:
    draw = generator(seed, "simulation.rules")
    numbers = draw.sample(range(len(_LETTERS) ** 2 * 90), count)
    return tuple(
        Rule(_code(number), KINDS[index % len(KINDS)], draw.choice(WORDS), draw.randint(2, 89))
        for index, number in enumerate(numbers)
    )


def _code(number: int) -> str:
    """Return a code by its number: BB-10, BB-11, ..., BB-99, BC-10, ..., ZZ-99."""
    letters, last = divmod(number, 90)
    first, second = divmod(letters, len(_LETTERS))
    return f"{_LETTERS[first]}{_LETTERS[second]}-{10 + last}"


def _draw_tasks(seed: int, count: int, rules: tuple[Rule, ...], most: int) -> tuple[SimulatedTask, ...]:
    draw = generator(seed, "simulation.tasks")
    rounds = -(-count // len(rules))
    numbers = [draw.sample(range(100, 10_000), rounds) for _ in rules]  # no question comes twice
    tasks: list[SimulatedTask] = []
    for index in range(count):
        turn, which = divmod(index, len(rules))
        first = rules[which]
        others = draw.sample([rule for rule in rules if rule is not first], draw.randint(1, most) - 1)
        events = (numbers[which][turn], *(draw.randint(100, 9_999) for _ in others))
        tasks.append(SimulatedTask(f"simulated-{index + 1:04d}", (first, *others), events))
    return tuple(tasks)
