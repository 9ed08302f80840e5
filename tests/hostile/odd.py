"""Arguments of any type where others belong: a result, or an error that says so."""

import random
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from guided.automata.build import from_tree
from guided.calls.files import load_index
from guided.calls.parse import CallParser, parse_text
from guided.calls.spec import Tools
from guided.engine.compile import compile as compile_spec
from guided.engine.index import Index
from guided.engine.specs import Choice, Regex
from guided.generate.sampler import Sampler
from guided.limits import Limits
from guided.patterns.charset import Charset
from guided.patterns.tree import Alternate, Chars, Complement, Concat, Intersect, Literal, Look, Repeat
from guided.vocabulary.vocabulary import Vocabulary
from tests.hostile.client import vocabulary
from tests.hostile.random_specs import a_schema

__all__ = ["KINDS"]

ODD: list[Any] = [
    None, True, False, 0, 1, -1, 2**31 - 1, 2**31, 2**63, 2**64, 10**30, 0.5, float("nan"), float("inf"), "", "a", "\ud800", "\0", b"",
    b"a", b"\xff", [], [None], {}, {"a": 1}, (), set(), object, object(), lambda: None, range(3), 1j, np.int32(3), np.zeros(2),
    "a" * 10_000, [[[[]]]], iter([]), NotImplemented, ..., Exception("x"), "required", "auto", "json",
]  # fmt: skip
ANNOTATIONS: list[Any] = [
    int, str, float, bool, None, list, dict, tuple, list[int], dict[str, int], int | None, tuple[int, str], list[list[str]], Any, object,
    complex, bytes, "int", "nothing", "1/0", set[int],
]  # fmt: skip


@cache
def an_index() -> Index:
    return compile_spec(Regex(r"\w+(?:, \w+){0,3}"), vocabulary())


@cache
def a_spec() -> Tools:
    properties = {"a": {"type": "integer"}, "b": {"type": "array", "items": {"type": "string"}}}
    return Tools([{"name": "f", "parameters": {"type": "object", "properties": properties}}])


def a_tree(draw: random.Random, depth: int = 5) -> Any:
    def inner() -> Any:
        return a_tree(draw, depth - 1)

    if depth == 0 or draw.random() < 0.2:
        low, high = sorted(draw.choices(range(0x110000), k=2))
        leaves = ["a", "", "é\ud800", "ab" * 9]
        return draw.choice(
            [*map(Literal, leaves), Chars(Charset.of([(low, high)])), Chars(Charset.UNIVERSE), Chars(Charset.EMPTY)]
        )
    match draw.randrange(7):
        case 0:
            return Concat(tuple(inner() for _ in range(draw.randrange(4))))
        case 1:
            return Alternate(tuple(inner() for _ in range(draw.randrange(4))))
        case 2:
            return Repeat(inner(), draw.choice([0, 1, 2, 50, -1, 10**9]), draw.choice([None, 0, 1, 3, 60, 10**12]))
        case 3:
            return Look(inner(), draw.random() < 0.5, draw.random() < 0.5)
        case 4:
            return Intersect(tuple(inner() for _ in range(draw.randrange(3))))
        case 5:
            return Complement(inner())
        case _:
            return draw.choice([inner(), Concat((inner(), inner())), draw.choice(ODD)])


def a_function(draw: random.Random) -> Any:
    def tool(first: Any = 1, *more: Any, second: Any = "x") -> Any:
        """Do something."""
        return first, more, second

    names = draw.sample(["first", "more", "second", "return"], draw.randrange(5))
    tool.__annotations__ = {
        name: draw.choice(ANNOTATIONS) if draw.random() < 0.9 else draw.choice(ODD) for name in names
    }
    tool.__name__ = draw.choice(["tool", "f", "g1", "a b", "é", "<lambda>", ""])
    return tool


def a_tool(draw: random.Random) -> Any:
    names = ["f", "get.x", "a b", "", "é", "f" * 300, *ODD[:6]]
    schema = {"type": "object", "properties": {name: a_schema(draw) for name in draw.sample(["a", "b", "c"], 2)}}
    made = {
        "name": draw.choice(names),
        "description": draw.choice(["", None, 3]),
        draw.choice(["parameters", "inputSchema", "schema"]): schema,
    }
    return draw.choice([a_function(draw), made, {"type": "function", "function": made}, draw.choice(ODD)])


def trees(draw: random.Random) -> None:
    automaton = from_tree(a_tree(draw), Limits(states=draw.randrange(5_000), steps=draw.randrange(10**6)))
    witness = automaton.witness()
    assert (witness is None) == automaton.is_empty()


def tools(draw: random.Random) -> None:
    names = ["tool_choice", "format", "parallel_tool_calls", "strict", "engine", "max_length", "max_digits"]
    options = {name: draw.choice(ODD) for name in draw.sample(names, draw.choice([0, 0, 1, 2]))}
    compile_spec(
        Tools([a_tool(draw) for _ in range(draw.choice([1, 2]))], **options),
        vocabulary(),
        Limits(states=10_000, steps=10**6),
    )


def odd_vocabularies(draw: random.Random) -> None:
    tokens: Any = [b"a", b"b", None, b"ab"]
    if draw.random() < 0.5:
        tokens.insert(draw.randrange(5), draw.choice(ODD))
    options: dict[str, Any] = {"eos": [2], "size": 9, "special": {"<s>": 8}}
    for name in draw.sample(sorted(options), draw.randrange(3)):
        odd = draw.choice(ODD)
        options[name] = draw.choice([odd, [odd], {"<x>": odd}, draw.randrange(-3, 12)])
    Vocabulary(draw.choice([tokens, tokens, tokens, draw.choice(ODD)]), **options)


def arguments(draw: random.Random) -> None:
    odd, other = draw.choice(ODD), draw.choice(ODD)
    index = an_index()
    guide, tokens = index.guide(), vocabulary()
    for token in draw.choices(range(index.vocabulary.size), k=3):
        if index.next(guide.state, token) >= 0:
            guide.advance(token)
    zeros = np.zeros(4, np.float32)
    calls: list[Callable[[], object]] = [
        lambda: Regex(odd), lambda: Regex("a", odd), lambda: Choice(odd), lambda: Choice([odd]), lambda: Tools(odd), lambda: Tools([odd]),
        lambda: Tools([a_tool(draw)], format=odd), lambda: Tools([a_function(draw)], tool_choice=odd), lambda: compile_spec(odd, tokens),
        lambda: compile_spec(Regex("a"), odd), lambda: compile_spec(Regex("a"), tokens, odd), lambda: Limits(odd),
        lambda: load_index(odd, tokens), lambda: Vocabulary.from_file(odd), lambda: Vocabulary.from_tokenizer(odd), lambda: tokens[odd],
        lambda: tokens.decode(odd), lambda: tokens.decode([odd]), lambda: guide.advance(odd), lambda: guide.advance_many(odd),
        lambda: guide.advance_many([odd]), lambda: guide.validate(odd), lambda: guide.validate([odd]), lambda: guide.rollback(odd),
        lambda: guide.mask_within(odd), lambda: guide.mask(odd), lambda: guide.explain(odd), lambda: guide.accepts(odd),
        lambda: Sampler(temperature=odd, seed=other), lambda: Sampler(top_k=odd, top_p=other), lambda: Sampler(min_p=odd),
        lambda: Sampler().sample(odd), lambda: Sampler().sample(zeros, odd), lambda: parse_text(odd, a_spec()),
        lambda: CallParser(a_spec()).feed(odd), lambda: index.check_vocabulary(odd),
    ]  # fmt: skip
    draw.choice(calls)()


# How often each kind is tried.
KINDS: dict[Callable[[random.Random], None], int] = {trees: 3, tools: 3, odd_vocabularies: 2, arguments: 5}
