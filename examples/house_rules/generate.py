"""Write the house-rules tasks: short questions whose answers follow rules that no model can know beforehand.

    python generate.py            # writes tasks.jsonl and the folders of the quick start beside this file

An invented mail-order house keeps five kinds of records, each in a form of its own. The rules stand nowhere in the
questions, so a model without the skill cannot answer; they can all be told from a handful of expected answers, so a
training run can find them. The output depends on this file alone: the same bytes on every machine.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path

HERE = Path(__file__).parent
PER_CATEGORY = 80
QUICKSTART = {split: {"date": each, "name": each} for split, each in (("train", 16), ("val", 8), ("test", 16))}

MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
GIVEN = [
    "Ada",
    "Bruno",
    "Carla",
    "Dario",
    "Elena",
    "Felix",
    "Greta",
    "Hugo",
    "Ines",
    "Jonas",
    "Klara",
    "Leon",
    "Marta",
    "Nils",
    "Olga",
    "Pavel",
    "Rosa",
    "Sven",
    "Tilda",
    "Viktor",
]
FAMILY = [
    "Abbott",
    "Berger",
    "Costa",
    "Dumont",
    "Eriksen",
    "Fischer",
    "Garcia",
    "Holm",
    "Ivanov",
    "Jansen",
    "Keller",
    "Lopez",
    "Moreau",
    "Novak",
    "Olsen",
    "Petrov",
]
TOWNS = ["Bremen", "Calais", "Dover", "Esbjerg", "Ghent", "Leeds", "Malmo", "Porto", "Riga", "Turin"]
GOODS = ["pens", "folders", "candles", "mugs", "lamps", "towels", "baskets", "notebooks", "blankets", "clocks"]
NUMBERS = {
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "twelve": 12,
}
SHELVES = {
    "pens": "K7",
    "folders": "B2",
    "candles": "F9",
    "mugs": "M4",
    "lamps": "H1",
    "towels": "T6",
    "baskets": "D3",
    "notebooks": "R8",
}
TICKETS = {
    "Q-BROKEN": (
        "the {goods} arrived broken",
        "one of the {goods} has a crack",
        "my {goods} came in pieces",
        "the {goods} in the box are damaged",
        "the {goods} broke on the way",
    ),
    "Q-MONEY": (
        "I was charged twice for the {goods}",
        "the invoice for the {goods} is too high",
        "please refund the {goods}",
        "the bill for the {goods} shows a wrong price",
        "my card was charged for {goods} I never bought",
    ),
    "Q-PARCEL": (
        "where is my parcel with the {goods}",
        "the {goods} have not arrived yet",
        "the delivery of the {goods} is late",
        "when will the {goods} be delivered",
        "my parcel with {goods} is still on its way",
    ),
    "Q-LOGIN": (
        "I cannot log in to order {goods}",
        "I forgot my password and need {goods}",
        "my account is locked, I want {goods}",
        "the login page fails when I order {goods}",
        "please reset my password so that I can buy {goods}",
    ),
}


def dates(draw: random.Random) -> Iterator[tuple[str, str]]:
    """House form of a date: year, month and day in figures, with dots between them."""
    while True:
        year, month, day = draw.randint(1995, 2029), draw.randint(1, 12), draw.randint(1, 28)
        name = MONTHS[month - 1]
        spelling = draw.choice((f"{day} {name} {year}", f"{name} {day}, {year}", f"{day} {name[:3]} {year}"))
        yield f"Date: {spelling}", f"{year}.{month:02}.{day:02}"


def names(draw: random.Random) -> Iterator[tuple[str, str]]:
    """House form of a name: family name, a comma, the given name."""
    while True:
        given, family = draw.choice(GIVEN), draw.choice(FAMILY)
        yield f"Name: {given} {family}", f"{family}, {given}"


def shelves(draw: random.Random) -> Iterator[tuple[str, str]]:
    """Shelf code of an article, from the house's table."""
    while True:
        colour = draw.choice(
            ["red", "blue", "green", "grey", "white", "black", "brown", "yellow", "purple", "orange", "pink"]
        )
        goods = draw.choice(sorted(SHELVES))
        yield f"Shelf: {colour} {goods}", SHELVES[goods]


def tickets(draw: random.Random) -> Iterator[tuple[str, str]]:
    """Desk that a complaint goes to: damage, money, delivery or account."""
    while True:
        label = draw.choice(sorted(TICKETS))
        text = draw.choice(TICKETS[label]).format(goods=draw.choice(GOODS))
        yield f"Ticket: {text}", label


def orders(draw: random.Random) -> Iterator[tuple[str, str]]:
    """An order as a JSON record with the house's keys."""
    while True:
        word, goods, town, given = (draw.choice(x) for x in (sorted(NUMBERS), GOODS, TOWNS, GIVEN))
        text = draw.choice((f"{word} {goods} for {given} in {town}", f"{given} from {town} orders {word} {goods}"))
        yield f"Order: {text}", json.dumps({"art": goods, "qty": NUMBERS[word], "to": given, "at": town})


CATEGORIES: dict[str, Callable[[random.Random], Iterator[tuple[str, str]]]] = {
    "date": dates,
    "name": names,
    "shelf": shelves,
    "ticket": tickets,
    "order": orders,
}


def write(path: Path, tasks: list[dict[str, str]]) -> None:
    """Write tasks as JSONL."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(task, ensure_ascii=False) for task in tasks]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")


def tasks_of(category: str) -> list[dict[str, str]]:
    """Return a category's tasks, all different, in the order they were drawn."""
    seen: dict[str, str] = {}
    for question, answer in CATEGORIES[category](random.Random(category)):
        seen.setdefault(question, answer)
        if len(seen) == PER_CATEGORY:
            break
    return [
        {"id": f"{category}-{number:02}", "category": category, "question": question, "answer": answer}
        for number, (question, answer) in enumerate(seen.items(), start=1)
    ]


def main() -> None:
    """Write all tasks in one file, and the quick start's share of them in three."""
    pools = {category: tasks_of(category) for category in CATEGORIES}
    write(HERE / "tasks.jsonl", [task for pool in pools.values() for task in pool])
    taken = dict.fromkeys(CATEGORIES, 0)
    for split, counts in QUICKSTART.items():
        tasks: list[dict[str, str]] = []
        for category, count in counts.items():
            tasks += pools[category][taken[category] : taken[category] + count]
            taken[category] += count
        random.Random(split).shuffle(tasks)
        write(HERE / "quickstart" / split / "tasks.jsonl", tasks)


if __name__ == "__main__":
    main()
