"""Hypothesis strategies that several test modules share, one section per subject."""

import functools
import itertools
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from hypothesis import strategies as st

from guided.calls.spec import Tools
from guided.engine import algebra
from guided.engine.algebra import Alternatives, Composition, Concatenation, FreeText, Maybe, Named, Part
from guided.engine.grammar import Grammar
from guided.engine.json_schema import JsonSchema
from guided.engine.specs import Choice, Regex
from guided.patterns.charset import Charset
from guided.patterns.tree import Alternate, Chars, Complement, Concat, Intersect, Literal, Look, Node, Repeat
from guided.vocabulary.vocabulary import Vocabulary

# ---------------------------------------------------------------------------------------------------- vocabularies


@st.composite
def vocabularies(
    draw: st.DrawFn, alphabet: str = 'ab"é€', max_tokens: int = 24, complete: bool = False, longest: int = 5
) -> Vocabulary:
    """Small vocabularies with everything that real ones have.

    Tokens are byte strings over the UTF-8 of ``alphabet`` (so characters are split), parts of texts over it, runs of
    one byte, and rarely one of more than 1,000 bytes. There are duplicates, ids without bytes, one to three end of
    sequence ids (some beyond the tokens), special tokens and padding.

    Parameters
    ----------
    alphabet : str
        The characters that tokens are made of.
    max_tokens : int
        Most ids before duplicates, end of sequence and special ones are mixed in.
    complete : bool
        Every byte of the alphabet has a token of its own, so all texts over it can be spelled; else bytes may be missing.
    longest : int
        Most characters of an ordinary token.
    """
    values = sorted(set(alphabet.encode()))
    ordinary = st.one_of(
        st.lists(st.sampled_from(values), min_size=1, max_size=longest).map(bytes),
        st.text(st.sampled_from(alphabet), min_size=1, max_size=longest).map(str.encode),
        st.tuples(st.sampled_from(values), st.integers(1, longest)).map(lambda pair: bytes([pair[0]]) * pair[1]),
        st.sampled_from([b"", None]),
    )
    tokens: list[bytes | None] = draw(st.lists(ordinary, max_size=max_tokens))
    tokens += draw(st.lists(st.sampled_from(tokens), max_size=3)) if tokens else []
    if draw(st.integers(0, 19)) == 0:
        tokens.append(bytes([values[0]]) * draw(st.integers(1000, 1100)) + bytes([values[-1]]))
    if complete:
        tokens += [bytes([value]) for value in values]
    n_eos, n_special = draw(st.integers(1, 3)), draw(st.integers(0, 2))
    tokens = draw(st.permutations([*tokens, *[None] * (n_eos + n_special - 1)]))
    size = len(tokens) + draw(st.sampled_from([1, 2, 31, 40]))
    silent = [i for i, token in enumerate(tokens) if not token] + [size - 1]
    chosen = draw(st.permutations(silent))
    special = {f"<|{i}|>": token for i, token in enumerate(chosen[n_eos : n_eos + n_special])}
    return Vocabulary(tokens, eos=chosen[:n_eos], size=size, special=special)


# -------------------------------------------------------------------------------------------------------- patterns

_CHARACTER_ESCAPES = [r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", "."]
_ANCHORS = ["^", "$", r"\A", r"\Z", r"\b", r"\B"]
_REPEATS = ["*", "+", "?", "{2}", "{1,}", "{,2}", "{1,3}", "{0}", "*?", "+?", "??", "{1,2}?"]


def patterns(alphabet: str = "abA\n", max_leaves: int = 8, lookaround: bool = True) -> st.SearchStrategy[str]:
    """Patterns that both `re` and `guided.patterns.parse` accept, with the same language.

    Classes, escapes, anchors, groups of all kinds, greedy and lazy repeats, scoped and global flags, assertions (lookbehind
    only of fixed width, as `re` demands).

    Parameters
    ----------
    alphabet : str
        The characters that literals and classes are made of.
    max_leaves : int
        Most atoms, roughly.
    lookaround : bool
        Whether assertions and anchors occur.
    """
    literals = st.sampled_from(alphabet).map(re.escape)
    members = st.one_of(
        literals,
        st.sampled_from(_CHARACTER_ESCAPES[:-1]),
        st.tuples(st.sampled_from(alphabet), st.sampled_from(alphabet)).map(
            lambda ends: "-".join(re.escape(end) for end in sorted(ends))
        ),
    )
    sets = st.tuples(st.sampled_from(["", "^"]), st.lists(members, min_size=1, max_size=3)).map(
        lambda parts: f"[{parts[0]}{''.join(parts[1])}]"
    )
    characters = st.one_of(literals, literals, literals, sets, st.sampled_from(_CHARACTER_ESCAPES))
    atoms = [characters, characters, characters]
    if lookaround:
        fixed = st.lists(st.one_of(characters, st.sampled_from(_ANCHORS)), max_size=3).map("".join)
        atoms += [st.sampled_from(_ANCHORS), fixed.map("(?<={})".format), fixed.map("(?<!{})".format)]
    flags = st.sampled_from(["i", "s", "m", "a", "x", "-i", "-s", "i-s", "s-im", "u"])

    def extend(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        group = st.one_of(
            inner.map("(?:{})".format),
            inner.map("({})".format),
            inner.map("(?P<n>{})".format),
            st.tuples(flags, inner).map(lambda pair: f"(?{pair[0]}:{pair[1]})"),
        )
        choices = [
            st.lists(inner, max_size=3).map("".join),
            st.lists(inner, min_size=2, max_size=3).map("|".join).map("(?:{})".format),
            st.tuples(group, st.sampled_from(_REPEATS)).map("".join),
            st.tuples(characters, st.sampled_from(_REPEATS)).map("".join),
            group,
        ]
        if lookaround:
            choices += [inner.map("(?={})".format), inner.map("(?!{})".format)]
        return st.one_of(choices)

    bodies = st.recursive(st.one_of(atoms), extend, max_leaves=max_leaves)
    prefixes = st.sampled_from(["", "", "", "(?i)", "(?s)", "(?m)", "(?a)", "(?x)", "(?im)", "(?sx)", "(?ai)"])
    return (
        st.tuples(prefixes, st.lists(bodies, min_size=1, max_size=2).map("|".join))
        .map("".join)
        .map(_with_distinct_names)
    )


def regexes(alphabet: str = "abA\n", max_leaves: int = 6) -> st.SearchStrategy[Regex]:
    """Specs of patterns, with and without ``ascii``; `re` accepts each under its flags."""
    found = st.builds(
        lambda pattern, ascii_only: Regex(pattern, ascii=ascii_only), patterns(alphabet, max_leaves), st.booleans()
    )
    return found.filter(lambda spec: not (spec.ascii and "(?u" in spec.pattern))


def _with_distinct_names(pattern: str) -> str:
    counter = itertools.count()
    return re.sub(r"\(\?P<n>", lambda _: f"(?P<n{next(counter)}>", pattern)


def charsets(alphabet: str = "abA\n") -> st.SearchStrategy[Charset]:
    """Sets of characters of the alphabet, and complements of those."""
    chosen = st.sets(st.sampled_from(alphabet)).map(lambda found: Charset.of((ord(c), ord(c)) for c in found))
    return st.one_of(chosen, chosen.map(lambda charset: ~charset))


def trees(
    alphabet: str = "abA\n", max_leaves: int = 8, lookaround: bool = True, boolean: bool = True, max_count: int = 3
) -> st.SearchStrategy[Node]:
    """Trees of every kind of node, empty ones included.

    Parameters
    ----------
    alphabet : str
        The characters that literals and sets are made of.
    max_leaves : int
        Most literals and sets, roughly.
    lookaround : bool
        Whether `Look` occurs; lookbehind of any width.
    boolean : bool
        Whether `Intersect` and `Complement` occur.
    max_count : int
        Greatest count of a repeat.
    """
    leaves = st.one_of(st.text(st.sampled_from(alphabet), max_size=2).map(Literal), charsets(alphabet).map(Chars))
    counts = st.integers(0, max_count)

    def extend(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
        several = st.lists(inner, max_size=3).map(tuple)
        bounded = st.tuples(inner, counts, counts).map(lambda t: Repeat(t[0], min(t[1:]), max(t[1:])))
        choices: list[st.SearchStrategy[Node]] = [
            several.map(Concat),
            several.map(Alternate),
            bounded,
            st.builds(Repeat, inner, counts, st.none()),
        ]
        if lookaround:
            choices.append(st.builds(Look, inner, st.booleans(), st.booleans()))
        if boolean:
            choices += [inner.map(Complement), st.lists(inner, min_size=1, max_size=3).map(tuple).map(Intersect)]
        return st.one_of(choices)

    return st.recursive(leaves, extend, max_leaves=max_leaves)


def plain_patterns(max_leaves: int = 8) -> st.SearchStrategy[str]:
    r"""Patterns that mean the same everywhere: no assertions, flags, Unicode classes, nor ``]`` first in a class."""
    atoms = st.sampled_from(
        ["a", "b", "é", "😀", ".", "[ab]", "[^a]", "[é-ü]", "[^b-z€]", r"\.", r"\n", "[0-9]", "(?:)"]
    )

    def extend(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        repeats = st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{2,}", "*?", "{0,2}?"])
        return st.one_of(
            st.lists(inner, min_size=1, max_size=3).map("".join),
            st.lists(inner, min_size=2, max_size=3).map("|".join).map("({})".format),
            st.tuples(inner.map("(?:{})".format), repeats).map("".join),
        )

    return st.recursive(atoms, extend, max_leaves=max_leaves)


# ----------------------------------------------------------------------------------------------------- compositions

COMPOSED_ALPHABET = "ab1,()[]="


@dataclass(frozen=True, eq=False)
class Leaf:
    """A leaf of random compositions, with its language by other means.

    Attributes
    ----------
    spec : spec
    accepts : callable
        Whether a text is in the language, for texts over `COMPOSED_ALPHABET`.
    texts : tuple of str
        Some texts.
    """

    spec: Any
    accepts: Callable[[str], bool]
    texts: tuple[str, ...]


def _is_json(text: str, holds: Callable[[Any], bool]) -> bool:
    """Whether a text is the compact JSON of a value with a property."""
    try:
        value = json.loads(text)
    except ValueError:
        return False
    return json.dumps(value, separators=(",", ":")) == text and holds(value)


def _is_nested(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_nested, value))


def _is_nested_a(text: str) -> bool:
    depth = len(text) - len(text.lstrip("("))
    return re.fullmatch(r"\(*a+\)*", text) is not None and text.endswith(")" * depth) and text.count(")") == depth


def _pattern(pattern: str, *texts: str) -> Leaf:
    return Leaf(Regex(pattern), lambda text: re.fullmatch(pattern, text) is not None, texts)


@functools.cache
def composed_leaves() -> tuple[Leaf, ...]:
    """Leaves of all kinds."""

    def a(b: int) -> int:
        """Return b."""
        return b

    recursive = {"$defs": {"n": {"type": "array", "items": {"$ref": "#/$defs/n"}}}, "$ref": "#/$defs/n"}
    numbers = {"type": "array", "items": {"type": "integer", "minimum": 1}, "maxItems": 2}
    compact: dict[str, Any] = {"whitespace": "compact"}
    return (
        Leaf(Grammar('start: "(" start ")" | "a"+'), _is_nested_a, ("a", "(aa)", "((a))")),
        Leaf(
            JsonSchema({"type": "integer", "minimum": 1}, **compact),
            lambda text: re.fullmatch("1+", text) is not None,
            ("1", "11"),
        ),
        Leaf(
            JsonSchema(numbers, **compact),
            lambda text: (
                _is_json(text, lambda value: isinstance(value, list) and len(value) < 3)
                and re.fullmatch(r"\[(1+(,1+)?)?\]", text) is not None
            ),
            ("[]", "[1]", "[1,11]"),
        ),
        Leaf(JsonSchema(recursive, **compact), lambda text: _is_json(text, _is_nested), ("[]", "[[],[[]]]")),
        Leaf(
            Tools([a], format="tooldec", tool_choice="required"),
            lambda text: re.fullmatch(r"a\(b=1+\)", text) is not None,
            ("a(b=1)", "a(b=11)"),
        ),
        Leaf(Choice(["a", "ab"]), lambda text: text in ("a", "ab"), ("a", "ab")),
        _pattern("a*", "", "aa"),
        _pattern("[ab]+", "ba"),
        _pattern("1?a", "a", "1a"),
        _pattern("a(?!b)[ab]*", "aa", "a"),
    )


def composed_leaf(spec: Any) -> Leaf:
    """The entry of `composed_leaves` of a spec."""
    return next(leaf for leaf in composed_leaves() if leaf.spec is spec)


_COMPOSED_LEAF: st.SearchStrategy[Part] = st.one_of(
    st.sampled_from(["a", "b", "1", ",", "(", "[", ""]),
    st.deferred(lambda: st.sampled_from([leaf.spec for leaf in composed_leaves()])),
    st.sampled_from(
        [
            FreeText(),
            FreeText(stop="b"),
            FreeText(stop=("ab", "1")),
            FreeText(excludes="aa"),
            FreeText(stop=")", excludes="1"),
            FreeText("b", "b"),
        ]
    ),
)


def _composed_of(inner: st.SearchStrategy[Part]) -> st.SearchStrategy[Part]:
    parts = st.lists(inner, min_size=1, max_size=3).map(tuple)
    repeats = st.builds(
        lambda part, low, more, separator: algebra.Repeat(part, low, None if more is None else low + more, separator),
        inner,
        st.integers(0, 2),
        st.sampled_from([None, 0, 1, 2]),
        st.one_of(st.sampled_from([None, None, ",", "b"]), inner),
    )
    names = st.builds(lambda part, name: Named((part,), name), inner, st.sampled_from("xyz"))
    return st.one_of(parts.map(Concatenation), parts.map(Alternatives), inner.map(Maybe), repeats, names)


def composed(max_leaves: int = 5) -> st.SearchStrategy[Composition]:
    """Random compositions of parts of all kinds, with names that may occur several times."""
    trees = st.recursive(_COMPOSED_LEAF, _composed_of, max_leaves=max_leaves)
    return st.builds(lambda tree, leaf: Concatenation((tree, leaf)), trees, _COMPOSED_LEAF)


def composed_text(part: Part, random: Random) -> str | None:
    """A random text of a random composition; None if a free text with an excluded stop string was met."""
    if isinstance(part, str):
        return part
    if isinstance(part, FreeText):
        if any(each in stop for each in part.excludes for stop in part.stop):
            return None
        return (random.choice(["", ",", "(("]) if part.excludes != ("aa",) else "a(") + (
            part.stop[-1] if part.stop else ""
        )
    match part:
        case Concatenation():
            parts = list(part.parts)
        case Alternatives():
            parts = [random.choice(part.parts)]
        case Maybe():
            parts = [part.parts[0]] * random.randrange(2)
        case Named():
            parts = [part.parts[0]]
        case algebra.Repeat():
            count = part.min + random.randrange(3 if part.max is None else part.max - part.min + 1)
            parts = (
                [each for _ in range(count) for each in reversed(part.parts)][len(part.parts) - 1 :] if count else []
            )
        case _:
            return random.choice(composed_leaf(part).texts)
    texts = [composed_text(each, random) for each in parts]
    return None if None in texts else "".join(text or "" for text in texts)
