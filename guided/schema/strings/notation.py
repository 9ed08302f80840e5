r"""Strings in a `Notation` other than that of JSON, such as the text between ``<parameter=city>`` and ``</parameter>``.

A string is its characters in UTF-8, between an *opening* and a *closing* text. It contains neither the closing text nor one of the
reserved texts. So the first occurrence of the closing text ends it.

An automaton of such strings reads the characters and all of the closing text except its last one, which takes the place of a JSON string's
quote: it is the action that ends the string. So a string has `Notation.n_after` characters more here than its value, and lengths are
compared with that many more (`guided.schema.values.context`).

With an opening text, strings at any depth are written so, and names of members have no quotes: ``{city:<|"|>Oslo<|"|>}``.

Without one, only a whole value is, and JSON is within arrays and objects. A string may then look like another value, and begin like an
array or object. So

- a text that spells a number, ``true``, ``false`` or ``null`` *of the type* is this value, not a string (`SchemaContext.text_formulas`);
- a text that begins with ``[`` is an array if the type has arrays, and one that begins with ``{`` is an object if it has objects.
"""

import json
import re
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from guided.arrays import DEAD, Int32Array
from guided.automata.automaton import Automaton
from guided.automata.minimize import canonical, minimal
from guided.automata.nfa import Operand
from guided.automata.partition import Partition, joint, partition
from guided.automata.steps import Steps
from guided.automata.utf8 import to_bytes
from guided.errors import LimitError
from guided.limits import Limits
from guided.patterns.charset import SURROGATE, Charset
from guided.patterns.tree import Node
from guided.schema.formula.atoms import AFTER_NAME, NAMES, WORDS, JsonOptions, Notation
from guided.schema.formula.memo import Memo
from guided.schema.strings.combination import Language

__all__ = [
    "Texts",
    "as_python",
    "followed",
    "in_json",
    "in_notation",
    "is_name",
    "operand_of",
    "spelled_raw",
    "texts_of",
]


@dataclass(frozen=True, slots=True, repr=False)
class Texts:
    """A set of texts, as an atom of strings: ``("texts", texts)``.

    Attributes
    ----------
    key : hashable
        Equal sets have equal keys.
    name : str
        For messages.
    tree : Node
    """

    key: Hashable
    name: str = field(compare=False)
    tree: Node = field(compare=False)

    def __repr__(self) -> str:
        return self.name


# Why the closing quotes are optional: otherwise each unmatched quote would scan the rest of a malformed text.
_PYTHON = re.compile(rb"""("(?:[^"\\]|\\.)*+"?)|('(?:[^'\\]|\\.)*+'?)|(None|True|False)""", re.DOTALL)
_SINGLE = re.compile(rb"\\(.)|\"", re.DOTALL)
_JSON = re.compile(r"""("(?:[^"\\]|\\.)*+"?)|(true|false|null)""", re.DOTALL)
_IN_JSON = {WORDS["python"][kind]: WORDS["json"][kind] for kind in WORDS["json"]}
# Measured: steps in the time of a state.
_PER_STATE = 1_000
_texts: Memo[Texts] = Memo(1024, 1 << 22)


def texts_of(automaton: Automaton) -> Texts:
    """Return the texts of an automaton over ASCII."""
    key = automaton.table.tobytes(), automaton.classes.tobytes(), automaton.accepting.tobytes()
    found = _texts.get(key)
    if found is None:
        edges = [
            (state, Charset.of([(byte, byte)]), int(automaton.table[state, automaton.classes[byte]]))
            for state in range(automaton.n_states)
            for byte in range(128)
            if automaton.table[state, automaton.classes[byte]] >= 0
        ]
        accepting = tuple(np.flatnonzero(automaton.accepting).tolist())
        found = _texts.put(key, Texts(key, "of numbers", Operand(tuple(edges), accepting, automaton.n_states, 0)))
    return found


def spelled_raw(found: Language, labels: Int32Array, notation: Notation, limits: Limits) -> Automaton:
    """Return the automaton of strings followed by the closing text without its last character."""
    has_feed = notation.padding == "line feeds"
    table, accepting, labels, parts = followed(found, labels, notation.closing[:-1], limits, has_feed=has_feed)
    n = len(table)
    out, classes, final = to_bytes(table, accepting, parts, limits)
    marks = np.zeros(len(out), np.int32)
    marks[:n] = labels
    return Automaton(*canonical(out, classes, final, marks, is_minimal=True))


def followed(
    found: Language, labels: Int32Array, text: str, limits: Limits, *, has_feed: bool = False
) -> tuple[Int32Array, Any, Int32Array, Partition]:
    """Return the minimal automaton of strings followed by a text, with the labels of the strings.

    A subset construction: a state is one of the strings', with the places in texts that may have begun, and their labels. O(states x text).

    ``has_feed``: a line feed may stand before the text. It is not part of the string, which may end in another one. The labels are then
    doubled, and odd behind such a line feed.
    """
    letters_read = dict.fromkeys(text + "\n" * has_feed)
    parts, classes = joint(found.parts, partition([Charset.char(letter) for letter in letters_read]))
    table: Int32Array = found.table[:, classes[:, 0]]
    points = np.array(list(map(ord, text)), np.int32)
    letters = parts.classes[np.searchsorted(parts.starts, points, side="right") - 1].tolist()
    feed = int(parts.classes[np.searchsorted(parts.starts, ord("\n"), side="right") - 1]) if has_feed else -1
    ends: list[tuple[tuple[int, int], ...]] = [
        ((0, label << has_feed),) if is_end else ()
        for is_end, label in zip(found.accepting.tolist(), labels.tolist(), strict=True)
    ]
    # The last member: whether a line feed has just been read, so that no string ends here.
    numbers: dict[tuple[int, tuple[tuple[int, int], ...], bool], int] = {
        (state, (), False): state for state in range(len(table))
    }
    keys = list(numbers)
    rows, accepting, marks, steps = [], list[bool](), list[int](), Steps(limits.steps)
    nothing = np.full(table.shape[1], DEAD, np.int32)
    for state, places, is_behind_feed in keys:  # grows during iteration
        steps.spend(_PER_STATE, "too many string constraints at once")
        row = (table[state] if state >= 0 else nothing).copy()
        own = ends[state] if state >= 0 else ()
        begun = places if is_behind_feed else places + own
        onward: dict[int, list[tuple[int, int]]] = {}
        mark = -1
        for place, label in begun:
            if place == len(text):
                mark = label
            else:
                onward.setdefault(letters[place], []).append((place + 1, label))
        if has_feed and (own or row[feed] >= 0):
            onward.setdefault(feed, []).extend((0, label + 1) for _, label in own)
        for letter, reached in onward.items():
            key = row.item(letter), tuple(reached), letter == feed
            number = numbers.get(key)
            if number is None:
                number = numbers[key] = len(keys)
                keys.append(key)
                if number > limits.states:
                    raise LimitError("states", number, limits.states, "too many string constraints at once")
            row[letter] = number
        rows.append(row)
        accepting.append(mark >= 0)
        marks.append(max(mark, 0))
    return (*minimal(np.array(rows), np.array(accepting), np.array(marks, np.int32)), parts)


def operand_of(found: Language) -> Operand:
    """Return a language as a part of a pattern tree."""
    table, parts = found.table, found.parts
    sets = [parts.charset([number]) for number in range(parts.n_classes)]
    sources, reads = np.nonzero(table >= 0)
    edges = [
        (source, sets[read], target)
        for source, read, target in zip(sources.tolist(), reads.tolist(), table[sources, reads].tolist(), strict=True)
    ]
    return Operand(tuple(edges), tuple(np.flatnonzero(found.accepting).tolist()), len(table), found.steps)


def is_name(name: str) -> bool:
    """Return whether a member may have this name where names have no quotes."""
    return bool(name) and not any(map(name.__contains__, NAMES[0][1])) and not SURROGATE.search(name)


def in_json(data: bytes, options: JsonOptions) -> bytes:
    """Return a value as JSON. O(bytes)."""
    notation = options.notation
    if options.words == "python":
        return _PYTHON.sub(_of_python, data)
    if notation is None:
        return data
    opening, closing, text = notation.opening, notation.closing, data.decode()
    found: list[str] = []
    brackets: list[str] = []
    at = 0
    while at < len(text):
        letter = text[at]
        if text.startswith(opening, at):
            begin = at + len(opening)
            end = text.index(closing, begin)
            found.append(json.dumps(text[begin:end]))
            at = end + len(closing)
            continue
        if letter in "{[":
            brackets.append(letter)
        elif letter in "}]":
            brackets.pop()
        found.append(letter)
        at += 1
        if letter in "{," and brackets[-1:] == ["{"] and text[at : at + 1] != "}":
            end = text.index(AFTER_NAME, at)
            found.append(json.dumps(text[at:end]))
            at = end
    return "".join(found).encode()


def _of_python(match: re.Match[bytes]) -> bytes:
    """Return a string or word of Python as JSON."""
    double, single, word = match.groups()
    if single is None:
        return double or _IN_JSON[word]
    inside = _SINGLE.sub(lambda m: b'\\"' if m[1] is None else b"'" if m[1] == b"'" else m[0], single[1:-1])
    return b'"%s"' % inside


def as_python(text: str) -> str:
    """Return JSON as Python's literals with double quotes."""
    return _JSON.sub(lambda match: match[1] or WORDS["python"][match[2]].decode(), text)


def in_notation(value: Any, notation: Notation) -> str:
    """Return a JSON value in a notation with an opening text."""
    match value:
        case str():
            return f"{notation.opening}{value}{notation.closing}"
        case dict():
            members = (f"{name}{AFTER_NAME}{in_notation(one, notation)}" for name, one in value.items())
            return f"{{{','.join(members)}}}"
        case list():
            return f"[{','.join(in_notation(one, notation) for one in value)}]"
        case _:
            return json.dumps(value, allow_nan=False)
