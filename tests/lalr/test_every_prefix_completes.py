"""A prefix is allowed exactly if Lark parses some text that begins with it: small random grammars against `Lark.parse` alone.

The oracle knows nothing of scanners, stacks or liveness. No text is lost: all texts up to a length are parsed by Lark, and each prefix of
an accepted one must be allowed. There is no dead end: for each prefix that is allowed, a text that begins with it is searched for, and
Lark must parse it. The terminals are those of which dead ends are made: comments up to the end of a line, some of them ignored and some
part of the line's end, keywords and names, terminals that share prefixes, lookaheads, and lexemes that a later character makes longer.
"""

from itertools import product

import lark
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import guided
from guided.errors import GuidedError
from guided.lalr.scanner import scanner_of
from guided.limits import Limits
from tests.lalr.prefixes import Prefixes
from tests.lalr.test_prefix import parsed
from tests.masks import bits
from tests.profiles import examples

ALPHABET = "ai.#\n"
# All texts so long are parsed, and all prefixes so long are compared.
LONGEST, COMPARED = 5, 3
MOST_SEARCHED = 4_000
LIMITS = Limits(steps=20_000_000, states=20_000)
VOCABULARY = guided.Vocabulary([character.encode() for character in ALPHABET] + [None], eos=[len(ALPHABET)])
TERMINALS = {
    "NAME": ("/[ai]+/", "/a[ai]*/", "/[ai]+(?![.])/", "/a+(?=[.i])/"),
    "KEY": ('"i"', '"ai"', '"i".2', "/i(?=a)/"),
    "DOT": ('"."', "/[.]{1,2}/", "/[.](?!a)/"),
    "TAIL": ("/[.][ai]+/", "/a[.]+i/", "/[ai]+[.]#/", '".."'),
    "LINE": (r"/\n/", r"/(\n|#[^\n]*)+/", r"/(\n#?)+/", r"/(#[^\n]*)?\n/"),
    "NOTE": (r"/#[^\n]*/", r"/#.*?\n/", r"/#[^\n]*(?=\n)/", "/#a*/"),
}


@st.composite
def grammars(draw: st.DrawFn) -> str:
    names = list(TERMINALS)
    used = draw(st.lists(st.sampled_from(names), min_size=2, max_size=5, unique=True))
    symbols = st.sampled_from([*used, *used, "x", "y"])
    side = st.lists(symbols, min_size=1, max_size=3).map(" ".join)
    lines = [
        f"start: {draw(st.sampled_from(['x', 'x+', 'x y', '(x | y)* x', 'y*']))}",
        f"x: {draw(st.sampled_from(used))} | {' | '.join(draw(st.lists(side, min_size=1, max_size=2, unique=True)))}",
        f"y: {draw(st.sampled_from(used))} | {draw(side)}",
    ]
    for name in names:
        pattern = draw(st.sampled_from(TERMINALS[name]))
        body, _, priority = pattern.rpartition(".") if pattern.endswith(".2") else (pattern, "", "")
        lines.append(f"{name}{'.2' if priority else ''}: {body}")
    for name in draw(st.lists(st.sampled_from(["NOTE", "NOTE", "LINE", "DOT"]), max_size=2, unique=True)):
        lines.append(f"%ignore {name}")
    return "\n".join(lines)


def completion(prefixes: Prefixes, text: str) -> str | None:
    """The shortest text that begins with another and is accepted; None where a search has not found one."""
    work = [(prefixes.read(prefixes.initial, text.encode()), text)]
    seen = {work[0][0]}
    for state, begun in work:
        if state >= 0 and prefixes.is_accepting(state):
            return begun
        for character in ALPHABET:
            after = prefixes.step(state, ord(character)) if state >= 0 else -1
            if after >= 0 and after not in seen and len(seen) < MOST_SEARCHED:
                seen.add(after)
                work.append((after, begun + character))
    return None


def allowed_texts(index: guided.Index) -> set[str]:
    """The texts up to a length that masks allow, token by token."""
    found = {""}
    work = [("", index.guide())]
    for text, guide in work:
        if len(text) == COMPARED:
            continue
        for token in bits(guide.mask()):
            if token < len(ALPHABET):
                longer = guide.fork()
                longer.advance(token)
                found.add(text + ALPHABET[token])
                work.append((text + ALPHABET[token], longer))
    return found


def check(text: str, lexer: str) -> bool:
    """Compare a grammar, if Lark takes it."""
    try:
        parser = lark.Lark(text, parser="lalr", lexer=lexer)
    except lark.exceptions.LarkError:
        return False
    accepted = {
        word for n in range(LONGEST + 1) for word in map("".join, product(ALPHABET, repeat=n)) if parsed(parser, word)
    }
    spec = guided.Grammar(parser)
    try:
        index = guided.compile(spec, VOCABULARY)
    except GuidedError:
        assert not accepted
        return False
    assert not [note for note in index.notes if note.startswith("dead ends are possible")]
    allowed = allowed_texts(index)
    begun = {word[:n] for word in accepted for n in range(min(len(word), COMPARED) + 1)}
    assert begun <= allowed, begun - allowed
    tables = spec.tables
    prefixes = Prefixes(tables, scanner_of(tables.lexer, LIMITS).within(_bytes()), "start", LIMITS)
    for word in allowed - begun:
        whole = completion(prefixes, word)
        assert whole is not None, f"nothing completes {word!r}"
        assert parsed(parser, whole), whole
    return True


def _bytes() -> bytes:
    return bytes(chr(byte) in ALPHABET for byte in range(256))


@settings(max_examples=examples(8), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(grammars(), st.sampled_from(["contextual", "contextual", "basic"]))
def test_prefixes_are_allowed_exactly_if_lark_parses_some_text_behind_them(text: str, lexer: str) -> None:
    check(text, lexer)


@pytest.mark.parametrize(
    "text",
    [
        # A comment that only the end of the text ends, where something must follow.
        'start: NAME (DOT NAME)*\nNAME: /[ai]+/\nDOT: "."\nNOTE: /#[^\\n]*/\n%ignore NOTE',
        # The line's end takes comments too, where it is expected.
        'start: (x LINE)* x LINE?\nx: NAME (DOT NAME)*\nNAME: /[ai]+/\nDOT: "."\nLINE: /(\\n|#[^\\n]*)+/\nNOTE: /#[^\\n]*/\n%ignore NOTE',
        # What has ended may always turn out to be longer.
        'start: (NAME | DOT | NOTE)+\nNAME: /[ai]/\nDOT: "."\nNOTE: /[.]#a*\\n/',
    ],
)
def test_comments_and_what_never_ends(text: str) -> None:
    assert check(text, "contextual")
