"""Hypothesis strategies that several test modules share, one section per subject."""

import itertools
import re

from hypothesis import strategies as st

from guided.engine.specs import Regex
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
