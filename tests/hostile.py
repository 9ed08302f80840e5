"""What an attacker might send, as functions of a random generator: each makes one input, uses it, and asserts what must hold.

A function returns, or raises what the package raised, or fails an assertion where a result is wrong: a text that an index leads to and
that `re`, the list of options or the parser of calls does not take, or a call that is read and not allowed.
"""

import base64
import json
import random
import re
import signal
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from guided.automata.build import from_tree
from guided.calls.parse import CallParser, parse_call, parse_text
from guided.calls.spec import Tools
from guided.engine.compile import compile as compile_spec
from guided.engine.files import load_index
from guided.engine.index import Index
from guided.engine.specs import Choice, Regex
from guided.errors import CallError, GuidedError
from guided.generate.sampler import Sampler
from guided.limits import Limits
from guided.patterns.charset import Charset
from guided.patterns.tree import Alternate, Chars, Complement, Concat, Intersect, Literal, Look, Node, Repeat
from guided.vocabulary.vocabulary import Vocabulary
from tests.calls.languages import Language
from tests.masks import bits

__all__ = ["KINDS", "MIXED_UP", "warm_up"]

PATTERNS = [
    r"(a|b)*a(a|b){9}", r"\w+@\w+\.(com|org)", r'"(?:[^"\\]|\\.)*"', r"\d{4}-\d{2}-\d{2}", r"(?i)yes|no", "(?:ab?){3,9}",
    r"(?=.*a).{2,8}", r"(?<!a)b|(?<=c)d", r"[^\W\d_]+", r"\b\w{1,5}\b", r"\p{Lu}\p{Ll}*", "(?s).*", "^a$", "a{2,}?", "(?P<n>x)y",
    "(?x) a b # c", "[a-zé-ü€🙂]{1,3}", r"\x41\u00e9\U0001F642\n\0", "(?m)^a$|b", "", "()|a", "[]a]", "[^]a]", r"(?:a{0,3}){0,3}",
    r"\B\w|\W\b",
]  # fmt: skip
PIECES = [
    "(", ")", "(?:", "(?=", "(?!", "(?<=", "(?<!", "(?i)", "(?P<a>", "(?P=a)", "(?(1)", "(?>", "(?#", "[", "]", "[^", "{", "}", "{2}",
    "{0,3}", "{3,1}", "{99999}", "{,}", "{1,99999999999}", "*", "+", "?", "*?", "++", "|", "||", ".", "^", "$", r"\A", r"\Z", r"\b", r"\B",
    r"\d", r"\W", r"\s", r"\1", r"\0", r"\377", r"\8", r"\x", r"\x4", r"\u12", r"\U00110000", r"\ud800", r"\N{DIGIT ONE}", r"\N{nothing}",
    r"\p{L}", r"\P{Greek}", r"\p{", "\\", "a-", "-", "&&", "é", "€", "🙂", "\0", "\n", "\ud800", "\uffff", "\U0010ffff", "a", "b", " ",
    "#", "(?i:", "(?-i:", "(?-", "(?L)", "(?u)", "(?a:", "(?x)", "[[:alpha:]]", "[a-\\d]", "[z-a]",
]  # fmt: skip
ODD: list[Any] = [
    None, True, False, 0, 1, -1, 2**31 - 1, 2**31, 2**63, 2**64, 10**30, 0.5, float("nan"), float("inf"), "", "a", "\ud800", "\0", b"",
    b"a", b"\xff", [], [None], {}, {"a": 1}, (), set(), object, object(), lambda: None, range(3), 1j, np.int32(3), np.zeros(2),
    "a" * 10_000, [[[[]]]], iter([]), NotImplemented, ..., Exception("x"), "required", "auto", "json",
]  # fmt: skip
KEYWORDS = [
    "type", "properties", "required", "items", "enum", "const", "anyOf", "oneOf", "allOf", "not", "pattern", "minLength", "maxLength",
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems", "uniqueItems",
    "additionalProperties", "prefixItems", "format", "$ref", "$defs", "definitions", "nullable", "default", "description", "title", "if",
    "then", "patternProperties", "propertyNames", "contains", "x-unknown",
]  # fmt: skip
TYPES = ["string", "integer", "number", "boolean", "null", "array", "object", "any", "", "String"]
FORMATS = ["date", "date-time", "time", "uuid", "email", "uri", "ipv4", "regex", "nothing"]
NUMBERS = [0, 1, 2, 5, 30, 2.5, 0.1, -3, 10**9, 10**40, 1e308, "1", None, True]
ANNOTATIONS: list[Any] = [
    int, str, float, bool, None, list, dict, tuple, list[int], dict[str, int], int | None, tuple[int, str], list[list[str]], Any, object,
    complex, bytes, "int", "nothing", "1/0", set[int],
]  # fmt: skip


# ---------------------------------------------------------------------------------------------------------- what is made


def mutated(draw: random.Random, text: str) -> str:
    """A few random edits: pieces put in, cut out, doubled, put into groups, counted."""
    for _ in range(draw.randint(0, 5)):
        i, j = sorted(draw.choices(range(len(text) + 1), k=2))
        match draw.randrange(7):
            case 0 | 1 | 2:
                text = text[:i] + draw.choice(PIECES) + text[i:]
            case 3:
                text = text[:i] + text[j:]
            case 4:
                text = text[:j] + text[i:j] * draw.choice([1, 2, 9]) + text[j:]
            case 5:
                text = text[:i] + "(" + text[i:j] + ")" + draw.choice(["", "*", "?", "{2,5}", "{30}"]) + text[j:]
            case _:
                text = text + draw.choice(["|", "", "(?:"]) + draw.choice(PATTERNS)
    return text


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


def a_json(draw: random.Random, depth: int = 2) -> Any:
    if depth == 0 or draw.random() < 0.6:
        return draw.choice([None, True, 0, -7, 3.5, 1e300, "", "a", "é\n", "\ud800", 10**40, "x" * 300])
    if draw.random() < 0.5:
        return [a_json(draw, depth - 1) for _ in range(draw.randrange(4))]
    return {draw.choice(["a", "b", "", "é"]): a_json(draw, depth - 1) for _ in range(draw.randrange(3))}


def a_schema(draw: random.Random, depth: int = 3) -> Any:
    if draw.random() < 0.04:
        return draw.choice([*ODD[:20], a_json(draw)])
    found: dict[str, Any] = {"type": draw.choice([*TYPES[:7], *TYPES[:7], draw.choice(TYPES), draw.sample(TYPES, 2)])}
    if depth and found["type"] == "object":
        names = draw.sample(["a", "b", "c d", "é", "", "type", "x" * 70], draw.randrange(3))
        found["properties"] = {name: a_schema(draw, depth - 1) for name in names}
        found["required"] = draw.sample(names, draw.randint(0, len(names))) if draw.random() < 0.9 else draw.choice(ODD)
    if depth and found["type"] == "array":
        found["items"] = a_schema(draw, depth - 1)
    for _ in range(draw.choice([0, 0, 0, 1, 1, 2])):
        keyword = draw.choice(KEYWORDS)
        match keyword:
            case "anyOf" | "oneOf" | "allOf" | "prefixItems" if depth:
                found[keyword] = [a_schema(draw, depth - 1) for _ in range(draw.randrange(3))]
            case "enum":
                found[keyword] = [a_json(draw) for _ in range(draw.randrange(4))]
            case "pattern":
                found[keyword] = mutated(draw, draw.choice(PATTERNS))
            case "format":
                found[keyword] = draw.choice(FORMATS)
            case "$ref":
                found[keyword] = draw.choice(["#", "#/$defs/a", "#/definitions/a", "http://x", "#/%zz", 3])
            case "$defs" | "definitions" if depth:
                found[keyword] = {"a": a_schema(draw, depth - 1)}
            case _ if keyword.startswith(("min", "max", "excl", "multi")):
                found[keyword] = draw.choice(NUMBERS)
            case _:
                found[keyword] = draw.choice([a_json(draw), a_schema(draw, 0)])
    return found


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
    if draw.random() < 0.03:
        return draw.choice(ODD)
    if draw.random() < 0.2:
        return a_function(draw)
    properties = {name: a_schema(draw) for name in draw.sample(["a", "b", "c"], draw.randrange(3))}
    names = ["f", "g", "get.x", "a b", "", "é", "f" * 300, *ODD[:6]]
    definition: dict[str, Any] = {
        "name": draw.choice(names) if draw.random() < 0.2 else f"f{draw.randrange(9)}",
        "description": draw.choice(["", "x", None, 3]),
        draw.choice(["parameters", "parameters", "inputSchema", "input_schema", "schema"]): a_schema(draw)
        if draw.random() < 0.15
        else {"type": "object", "properties": properties},
    }
    return {"type": "function", "function": definition} if draw.random() < 0.3 else definition


def a_vocabulary(draw: random.Random) -> Vocabulary:
    """Mostly with all bytes, so that something compiles."""
    tokens: list[bytes | None] = [bytes([value]) for value in range(256)] if draw.random() < 0.8 else []
    for _ in range(draw.randrange(60)):
        noise = bytes(draw.choices(range(256), k=draw.randrange(6)))
        tokens.append(draw.choice([noise, "é🙂ab1".encode()[draw.randrange(4) :], b"ab" * draw.randrange(9), None]))
    width = len(tokens) + draw.randrange(40)
    silent = [i for i in range(width) if i >= len(tokens) or not tokens[i]]
    return Vocabulary(tokens, draw.sample(silent, min(len(silent), draw.randrange(3))), width)


@cache
def vocabulary() -> Vocabulary:
    pairs = [bytes([first, second]) for first in range(97, 107) for second in range(97, 107)]
    words = ["é".encode(), "é".encode()[:1], b"true", b'{"', b'":', b'", "', b"\xf0\x9f", b"\x99\x82", b"12", b"  "]
    tokens = [*(bytes([value]) for value in range(256)), *pairs, *words]
    return Vocabulary(tokens, eos=[len(tokens), len(tokens) + 2], size=len(tokens) + 5)


@cache
def an_index() -> Index:
    return compile_spec(Regex(r"\w+(?:, \w+){0,3}"), vocabulary())


@cache
def a_spec() -> Tools:
    properties = {"a": {"type": "integer"}, "b": {"type": "array", "items": {"type": "string"}}}
    return Tools([{"name": "f", "parameters": {"type": "object", "properties": properties}}])


@cache
def a_language() -> Language:
    return Language(a_spec())


def spoken(draw: random.Random, index: Index, longest: int = 40) -> bytes | None:
    """A text that random allowed tokens spell, then the shortest way to its end; None where that takes too long."""
    guide, said = index.guide(), bytearray()
    for step in range(longest * 6):
        if guide.remaining > 200:
            return None
        is_late = step >= longest
        if guide.is_accepting and (is_late or draw.random() < 0.1):
            break
        mask = guide.mask_within(guide.remaining) if is_late else guide.mask()
        allowed = bits(mask)
        assert allowed, "nothing is allowed where the text may not end"
        with_bytes = [token for token in allowed if index.vocabulary[token] is not None]
        if not with_bytes:
            break
        guide.advance(token := draw.choice(with_bytes))
        said += index.vocabulary[token] or b""
    return bytes(said) if guide.is_accepting else None


# ------------------------------------------------------------------------------------------------------------ kinds


def patterns(draw: random.Random) -> None:
    pattern = mutated(draw, draw.choice(PATTERNS))
    index = compile_spec(Regex(pattern), vocabulary())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expression = re.compile(pattern)
        except re.error:
            return
    # Why short ones only: `re` goes back and forth for ever on long ones.
    if len(pattern) >= 60:
        return
    text = spoken(draw, index)
    if text is not None and len(text) < 25:
        assert found_by(expression, text.decode()) is not False, (pattern, text)
        assert index.accepts(text)
    other = "".join(draw.choices('abc1é \n-@"x', k=draw.randrange(6)))
    assert found_by(expression, other) in (None, index.accepts(other.encode())), (pattern, other)


def found_by(expression: re.Pattern[str], text: str) -> bool | None:
    """Does it match from end to end? None where `re` goes back and forth for more than a second."""

    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, 1)
    try:
        return bool(expression.fullmatch(text))
    except TimeoutError:
        return None
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def long_patterns(draw: random.Random) -> None:
    piece = mutated(draw, draw.choice(PATTERNS))[:40]
    separator = draw.choice(["", "|", "|", " ", ")|("])
    compile_spec(Regex(separator.join([piece] * draw.choice([10, 100, 1_000, 5_000]))), vocabulary())


def trees(draw: random.Random) -> None:
    node: Node = a_tree(draw)
    budgets = Limits() if draw.random() < 0.7 else Limits(states=draw.randrange(50), steps=draw.randrange(10**6))
    automaton = from_tree(node, budgets)
    witness = automaton.witness()
    assert (witness is None) == automaton.is_empty()
    assert witness is None or automaton.accepts(witness)


def limits(draw: random.Random) -> None:
    names = [field.name for field in fields(Limits)]
    chosen = {name: draw.choice([0, 1, 7, 100, 10_000, 10**9]) for name in draw.sample(names, 3)}
    if draw.random() < 0.2:
        chosen[draw.choice(names)] = draw.choice(ODD)
    compile_spec(Regex(draw.choice(PATTERNS)), vocabulary(), Limits(**chosen))


def choices(draw: random.Random) -> None:
    options: list[Any] = ["".join(draw.choices('abé🙂\0\n"', k=draw.randrange(5))) for _ in range(draw.randrange(9))]
    if draw.random() < 0.2:
        options.insert(draw.randint(0, len(options)), draw.choice(ODD))
    given = draw.choice([options, tuple(options), iter(options), dict.fromkeys(map(str, options))])
    spec = Choice(given if draw.random() < 0.9 else draw.choice(ODD))
    text = spoken(draw, compile_spec(spec, vocabulary()))
    assert text is None or text.decode() in spec.options


def tools(draw: random.Random) -> None:
    given = [a_tool(draw) for _ in range(draw.choice([1, 1, 2, 4]))]
    options: dict[str, Any] = {
        "tool_choice": draw.choice(["auto", "required", "required", "none"]),
        "format": draw.choice(["json", "json", "tooldec", "tooldec-positional"]),
        "parallel_tool_calls": draw.random() < 0.3,
        "strict": draw.random() < 0.5,
    }
    if draw.random() < 0.4:
        options |= {"max_length": draw.choice([1, 5, 40]), "max_digits": draw.choice([1, 3, 12])}
    spec = Tools(given, **options)
    text = spoken(draw, compile_spec(spec, vocabulary()))
    if text is None:
        return
    try:
        calls = parse_text(text, spec)
    except CallError as error:
        raise AssertionError(f"{text[:300]!r} is allowed and not read: {error}") from error
    assert spec.is_running_text or calls
    assert {call.name for call in calls} <= {tool.name for tool in spec.tools}


def odd_options(draw: random.Random) -> None:
    names = ["tool_choice", "format", "parallel_tool_calls", "strict", "engine", "max_length", "max_digits"]
    options = {name: draw.choice(ODD) for name in draw.sample(names, draw.randint(1, 2))}
    compile_spec(Tools([a_tool(draw), *a_spec().tools], **options), vocabulary())


def hostile_calls(draw: random.Random) -> None:
    spec = a_spec()
    text = bytearray(b'Well <tool_call>{"name": "f", "arguments": {"a": 12, "b": ["x", "\\u00e9"]}}</tool_call>.')
    for _ in range(draw.randrange(6)):
        i = draw.randrange(len(text) + 1)
        match draw.randrange(4):
            case 0:
                long = [b"[" * 5_000, b"9" * 5_000, b"\xff" * 9, b"<tool_call>" * 20, b"1e999"]
                text[i:i] = draw.choice([b'"', b"\\", b"}", b"\0", b"nan", *long])
            case 1:
                del text[i : i + draw.randrange(9)]
            case _:
                text[i : i + 1] = bytes([draw.randrange(256)])
    accepted = a_language().accepts(bytes(text))
    try:
        parse_text(bytes(text), spec)
    except CallError:
        assert not accepted, bytes(text[:300])
    else:
        assert accepted, bytes(text[:300])


def made_vocabularies(draw: random.Random) -> None:
    made = a_vocabulary(draw)
    index = compile_spec(Regex(draw.choice(PATTERNS)), made)
    state = draw.randrange(index.n_states)
    allowed = set(index.allowed(state).tolist())
    automaton = index.tables.automaton
    for token in draw.choices(range(made.size), k=20):
        data = made[token]
        target = automaton.run(data, state) if data else -1
        if data:
            assert (token in allowed) == (target >= 0 and index.remaining(target) >= 0)
        else:
            assert (token in allowed) == (token in made.eos and bool(automaton.accepting[state]))
    spoken(draw, index)


def odd_vocabularies(draw: random.Random) -> None:
    tokens: Any = [b"a", b"b", None, b"ab"]
    if draw.random() < 0.5:
        tokens.insert(draw.randrange(5), draw.choice(ODD))
    options: dict[str, Any] = {"eos": [2], "size": 9, "special": {"<s>": 8}}
    for name in draw.sample(sorted(options), draw.randrange(3)):
        odd = draw.choice(ODD)
        options[name] = draw.choice([odd, [odd], {"<x>": odd}, draw.randrange(-3, 12)])
    Vocabulary(draw.choice([tokens, tokens, tokens, draw.choice(ODD)]), **options)


def odd_arguments(draw: random.Random) -> None:
    """Anything where something else belongs."""
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
        lambda: parse_call(odd, [a_function(draw)]), lambda: CallParser(a_spec()).feed(odd), lambda: index.check_vocabulary(odd),
    ]  # fmt: skip
    draw.choice(calls)()


def guides(draw: random.Random) -> None:
    """Random walks with tokens that are not allowed, ids that are none, rollbacks too far: the state is what the history says."""
    index = an_index()
    guide, history = index.guide(), [0]
    for _ in range(30):
        state, token = guide.state, draw.randrange(-5, index.vocabulary.size + 5)
        assert state == history[-1]
        try:
            if draw.random() < 0.3:
                count = draw.randrange(-1, 5)
                guide.rollback(count)
                history = history[: len(history) - count]
            else:
                guide.advance(token)
                history.append(index.next(state, token))
                assert history[-1] >= 0
        except (GuidedError, ValueError, TypeError):
            assert guide.state == state


@cache
def files() -> list[bytes]:
    """An index, a table of ranks, a tokenizer.json: small and whole."""
    with tempfile.TemporaryDirectory() as folder:
        an_index().save(path := Path(folder) / "index")
        index = path.read_bytes()
    ranks = b"".join(b"%s %d\n" % (base64.b64encode(bytes([value])), value) for value in range(256))
    alphabet = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = {chr(value): i for i, value in enumerate([*alphabet, *range(256, 512 - len(alphabet))])}
    model = {"type": "BPE", "vocab": letters, "merges": [], "unk_token": None}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    tokenizer = {"version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": level, "decoder": level}
    return [index, ranks, json.dumps({**tokenizer, "model": model}).encode()]


def damaged_files(draw: random.Random) -> None:
    which = draw.randrange(3)
    data = bytearray(files()[which])
    for _ in range(draw.randrange(5)):
        i = draw.randrange(len(data) or 1)
        match draw.randrange(4):
            case 0:
                data[i : i + 1] = bytes([draw.randrange(256)])
            case 1:
                del data[i:]
            case 2:
                del data[i : i + draw.randrange(20)]
            case _:
                noise = bytes(draw.choices(range(256), k=9))
                data[i:i] = draw.choice([b"\0" * 9, b"[" * 3_000, b'{"a":', b"9" * 40, noise])
    with tempfile.NamedTemporaryFile(suffix=draw.choice(["", ".json", ".model", ".gguf", ".tiktoken"])) as file:
        file.write(data)
        file.flush()
        if which == 0:
            found = load_index(file.name, vocabulary())
            assert bytes(data) == files()[0]
            assert found.n_states == an_index().n_states
        else:
            Vocabulary.from_file(file.name)


def warm_up() -> None:
    """Compile kernels, fill caches."""
    for make in (an_index, a_spec, files):
        make()
    for kind in KINDS:
        for number in range(3):
            try:
                kind(random.Random(number))
            except Exception:  # noqa: S112, PERF203, RUF100 - what is wrong is found when it is counted
                continue


# How often each kind is tried.
KINDS: dict[Callable[[random.Random], None], int] = {
    patterns: 40, long_patterns: 3, trees: 10, limits: 5, choices: 5, tools: 25, odd_options: 3, hostile_calls: 5, made_vocabularies: 8,
    odd_vocabularies: 5, odd_arguments: 10, guides: 4, damaged_files: 8,
}  # fmt: skip

# Kinds whose arguments are of any type.
MIXED_UP = (odd_arguments, odd_options, odd_vocabularies, choices, limits, trees)
