"""KAMEL (as ToolkenGPT has it): questions about a subject, each answered by one of 234 relations with the subject as its argument.

The first 30 relations are *seen*: 16 examples, one each for 16 of them, stand in every prompt, whatever the inventory. No
documentation does. Five names are those of several relations; a name that is written is right if the right relation has it. There is
no knowledge base here, so the accuracy is that of names.
"""

import json
import random
import re
from pathlib import Path
from typing import Any

from benchmarks.tooldec.problems import Problem, Setting, lines, lookup, prompt_of

__all__ = ["SIZES", "relations", "renamed_relations"]

SIZES = (30, 60, 100, 234)
_SEEN, _EXAMPLES = 30, 16
_SIGNATURE = re.compile(r"(\w+)\((\w+)[^)]*\)")
_CALL = re.compile(r'<f>P\d+\("([^"\\]+)"\)')
_SUBJECTS = (
    "Ada Lovelace",
    "The Sea Wall",
    "Port Ellen",
    "Marble Bridge",
    "Otto Klein",
    "Blue Harvest",
    "Lake Inari",
    "Nina Roth",
)


def relations(folder: Path | None, size: int, count: int, seed: int) -> Setting:
    """Questions over the first ``size`` relations, ``count`` of them drawn by the seed."""
    names = _names(folder)
    known = list(names)[:size]
    blocks = _blocks(_training(folder), list(names)[:_SEEN], names)
    questions = _questions(folder, size)
    chosen = random.Random(seed).sample(range(len(questions)), min(count, len(questions)))
    seen = {names[relation][0] for relation in list(names)[:_SEEN]}
    problems = []
    for place in chosen:
        question, relation = questions[place]
        gold = names[relation][0]
        group = "seen" if gold in seen else "unseen"
        problems.append(Problem(str(place), prompt_of(blocks, question), gold, group=group))
    tools = {names[relation][0]: lookup(names[relation][1]) for relation in known}
    return Setting(f"{size} relations", tools, tuple(problems), max_tokens=32)


def renamed_relations(folder: Path | None, count: int, seed: int) -> tuple[Setting, Setting]:
    """The first 30 relations under their own names and under random ones; the examples are of others, and know none of them."""
    names = _names(folder)
    order = list(names)
    tested, shown = order[:_SEEN], order[_SEEN : 2 * _SEEN]
    taken = {names[relation][0] for relation in tested}
    blocks = _blocks(_training(folder), [relation for relation in shown if names[relation][0] not in taken], names)
    questions = _questions(folder, _SEEN)
    chosen = random.Random(seed).sample(range(len(questions)), min(count, len(questions)))
    letters = random.Random(seed + 1)
    alphabet = "bcdfghjklmnpqrstvwxz"
    strange = {name: "".join(letters.choice(alphabet) for _ in range(8)) for name in dict.fromkeys(sorted(taken))}
    settings = []
    for label, spelled in (("own names", {name: name for name in strange}), ("random names", strange)):
        tools = {spelled[names[relation][0]]: lookup(names[relation][1]) for relation in tested}
        problems = [
            Problem(str(place), prompt_of(blocks, questions[place][0]), spelled[names[questions[place][1]][0]])
            for place in chosen
        ]
        settings.append(Setting(label, tools, tuple(problems), max_tokens=32))
    return settings[0], settings[1]


def _names(folder: Path | None) -> dict[str, tuple[str, str]]:
    """Relation -> its name and its parameter, in the order of the relations."""
    if folder is None:
        return {str(number): (f"{verb}_{noun}", "name") for number, (verb, noun) in enumerate(_own())}
    order: dict[str, int] = _read(folder / "func_dict.json")
    described: dict[str, str] = _read(folder / "api_desc.json")
    found = {}
    for relation in sorted(order, key=order.__getitem__):
        match = _SIGNATURE.match(described[relation])
        assert match is not None, described[relation]
        found[relation] = (match[1], match[2])
    return found


def _own() -> list[tuple[str, str]]:
    """Relations of our own, enough for the largest inventory."""
    things = (
        "author", "river", "color", "capital", "weight", "height", "language", "owner", "age", "teacher",
        "flag", "mayor", "island", "price", "founder", "anthem", "sponsor", "climate",
    )  # fmt: skip
    verbs = (
        "get", "first", "last", "main", "former", "oldest", "newest", "official", "usual", "second", "local", "common", "total",
    )  # fmt: skip
    return [(verb, thing) for verb in verbs for thing in things]


def _training(folder: Path | None) -> list[tuple[str, str, str]]:
    """(question, relation, subject), questions without their answers."""
    if folder is None:
        return [
            (
                f"What is the {verb} {noun} of {_SUBJECTS[number % len(_SUBJECTS)]}?",
                str(number),
                _SUBJECTS[number % len(_SUBJECTS)],
            )
            for number, (verb, noun) in enumerate(_own())
        ]
    found = []
    for item in _read(folder / "train_clean.json"):
        question, mark, _ = item["text"].partition("?")
        match = _CALL.match(item["call"][0])
        if mark and match and match[1] in question and len(question) < 90:
            found.append((question + mark, item["api"], match[1]))
    return found


def _blocks(training: list[tuple[str, str, str]], wanted: list[str], names: dict[str, tuple[str, str]]) -> list[str]:
    """One example for each of the relations until there are enough."""
    blocks = []
    for relation in wanted:
        known = next((item for item in training if item[1] == relation), None)
        if known is not None and len(blocks) < _EXAMPLES:
            blocks.append(lines(("Question", known[0]), ("Tool", f'{names[relation][0]}("{known[2]}")')))
    return blocks


def _questions(folder: Path | None, size: int) -> list[tuple[str, str]]:
    if folder is None:
        own = _own()[:size]
        return [
            (f"What is the {verb} {noun} of {_SUBJECTS[(number + 3) % len(_SUBJECTS)]}?", str(number))
            for number, (verb, noun) in enumerate(own)
        ]
    return [(item["question"].strip(), item["api"]) for item in _read(folder / f"test_first_{size}.json")]


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
