"""ECMA-262 patterns against a translation to the regex package, by hand-written cases, and over all short texts."""

import sys
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guided.automata.build import from_tree
from guided.errors import LimitError, PatternError
from guided.limits import Limits
from guided.patterns.tree import Complement, Intersect, Look, Node
from guided.schema.strings.ecma import ecma_tree, parse_ecma
from guided.schema.strings.languages import known, truth
from tests.schema.oracle_ecma import search

TEXTS = ["".join(letters) for n in range(4) for letters in product("ab0_ -\né", repeat=n)]
TEXTS += [
    "\u2028",
    "a\u2028b",
    "\r",
    "\ufeff",
    "\xa0",
    "\u180e",
    "😀",
    "a😀",
    "\x08",
    "{",
    "}",
    "]",
    "\x01",
    "abab",
    "aabb0",
]


def matched(pattern: str, texts: list[str]) -> list[str]:
    found = truth(known(("pattern", pattern), Limits()).dfa, texts)
    return [text for text, is_found in zip(texts, found.tolist(), strict=True) if is_found]


def has_assertions(tree: Node) -> bool:
    stack = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, Look):
            return True
        stack.extend(getattr(node, "items", ()))
        stack.extend([node.item] if hasattr(node, "item") else [])
    return False


# ------------------------------------------------------------------------------------------------------------- the language

PIECES = [
    "a",
    "b",
    "0",
    ".",
    "[ab]",
    "[^a]",
    "[]",
    "[^]",
    "[a-c_]",
    "[\\d-]",
    "[^\\s\\w]",
    "[\\b]",
    "é",
    "\\.",
    "\\/",
    "\\n",
]
PIECES += [
    "\\d",
    "\\D",
    "\\w",
    "\\W",
    "\\s",
    "\\S",
    "\\u2028",
    "\\x61",
    "\\cJ",
    "\\0",
    "\\u{1f600}",
    "\\ud83d\\ude00",
    "]",
]
EDGES = ["^", "$", "\\b", "\\B", ""]
QUANTIFIERS = ["*", "+", "?", "{2}", "{1,2}", "{0,}", "*?", "+?", "{0}"]
OPENINGS = ["(", "(?:", "(?=", "(?!", "(?<=", "(?<!", "(?<n>"]


def pieces() -> st.SearchStrategy[str]:
    def extend(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.one_of(
            st.lists(inner, min_size=1, max_size=3).map("".join),
            st.tuples(st.sampled_from(OPENINGS[:6]), inner, inner).map(
                lambda parts: f"{parts[0]}{parts[1]}|{parts[2]})"
            ),
            st.tuples(st.sampled_from(PIECES[:-1]), st.sampled_from(QUANTIFIERS)).map("".join),
            st.tuples(inner, st.sampled_from(QUANTIFIERS)).map(lambda parts: f"(?:{parts[0]}){parts[1]}"),
        )

    return st.recursive(st.sampled_from(PIECES + EDGES), extend, max_leaves=6)


@given(pieces(), st.sampled_from(["", "^"]), st.sampled_from(["", "$"]))
def test_patterns_match_as_translated(pattern: str, first: str, last: str) -> None:
    pattern = f"{first}{pattern}{last}"
    try:
        found = matched(pattern, TEXTS)
    except LimitError:
        return
    assert found == [text for text in TEXTS if search(pattern, text)]


CASES = [
    # Anchors at the edges, in alternatives, and in places where nothing can meet them.
    ("^", ["", "a"], []),
    ("$", ["", "a"], []),
    ("^$", [""], ["a", "\n"]),
    ("a$", ["a", "ba"], ["a\n", "ab"]),
    ("^a|b$", ["ac", "cb", "ab"], ["ca", "bc"]),
    ("(^|x)a", ["a", "ab", "cxa"], ["ca"]),
    ("a(x|$)", ["ca", "axb"], ["ab"]),
    ("(^a)?b", ["b", "ab", "cb", "cab"], ["a"]),
    ("a^b", [], ["ab", "a\nb"]),
    ("a$b", [], ["ab", "a\nb"]),
    ("(?m)^a$", ["b\na\nc", "b\u2028a", "a\rb"], ["ba"]),
    ("^^a$$", ["a"], ["aa"]),
    # Classes are ASCII, spaces are Unicode's.
    (r"^\d$", ["0"], ["٣", "a"]),
    (r"^\w$", ["_", "z"], ["é", "ſ"]),
    (r"^\s$", ["\u2029", "\ufeff", "\xa0", "\u3000"], ["\u180e", "\u200b", "\x1c"]),
    ("^.$", ["a", "😀", "\x85"], ["\n", "\r", "\u2028", "\u2029", ""]),
    ("(?s)^.$", ["\n", "\u2028"], [""]),
    (r"\bé", ["aé"], ["é", " é"]),
    (r"^\B$", [""], ["a"]),
    # Sets.
    ("^[^]$", ["\n", "a"], [""]),
    ("[]", [], ["", "a", "]"]),
    ("^[a^]$", ["a", "^"], ["b"]),
    (r"^[\w-.]$", ["-", ".", "a"], [","]),
    (r"^[a-\d]$", ["a", "-", "5"], ["b"]),
    (r"^[\b]$", ["\b"], ["b"]),
    ("^[[]$", ["["], ["]"]),
    (r"^[\]]$", ["]"], ["\\"]),
    (r"^[\d\-x]$", ["-", "x", "0"], ["y"]),
    (r"^\p{L}$", ["é", "a"], ["1"]),
    (r"^\p{Letter}$", ["é"], ["1"]),
    (r"^\P{Lu}$", ["a"], ["A"]),
    (r"^\p{Script=Greek}$", ["λ"], ["a"]),
    (r"^[\p{Lu}_]$", ["É", "_"], ["e"]),
    ("^[\\ud83d\\ude00]$", ["😀"], ["\ufffd"]),
    (r"^[\ud83d]$", [], ["😀", "a"]),
    ("^[a-\U0001f600]$", ["é", "😀"], ["A"]),
    # Escapes.
    (r"^\cA\cj$", ["\x01\n"], []),
    (r"^\c$", ["\\c"], ["c"]),
    (r"^[\c1]$", ["\x11"], ["1"]),
    (r"^\0$", ["\0"], ["0"]),
    (r"^\x41\u0042\u{43}$", ["ABC"], []),
    (r"^\x4$", ["x4"], []),
    (r"^\u12$", ["u12"], []),
    (r"^\u{000041}$", ["A"], []),
    (r"^\1$", ["\1"], ["1"]),
    (r"^\101\8$", ["A8"], []),
    (r"^\-\/\_\ $", ["-/_ "], []),
    (r"^\k$", ["k"], []),
    # Quantifiers, and what only looks like one.
    ("^a{2,3}$", ["aa", "aaa"], ["a", "aaaa"]),
    ("^a{,2}$", ["a{,2}"], ["aa"]),
    ("^x{a}$", ["x{a}"], []),
    ("^{$", ["{"], []),
    ("^a}]$", ["a}]"], []),
    ("^(?:a|b)*?c$", ["ababc", "c"], ["ab"]),
    ("^(?=a)*b$", ["b"], ["ab"]),
    # Assertions.
    ("^(?!foo)[a-z]+$", ["bar", "fo"], ["foo", "food"]),
    ("^(?=.*a)(?=.*b).{2}$", ["ab", "ba"], ["aa", "abc"]),
    ("(?<!a)b$", ["b", "cb"], ["ab"]),
    ("(?<=a+)b", ["xaab"], ["b", "xb"]),
    ("^((?!ab).)*$", ["ba", "acb", ""], ["cab"]),
    ("^(?!.*--)[a-z-]+$", ["a-b"], ["a--b"]),
    ("(?<=^a)b", ["ab"], ["aab"]),
    (r"x(?!$)", ["xa"], ["x", "ax"]),
    # What others write.
    ("(?i)^ab$", ["AB", "aB"], ["AC"]),
    ("^(?i:a)b$", ["Ab"], ["AB"]),
    ("(?i)^(?-i:a)b$", ["aB"], ["AB"]),
    (r"\Aab\Z", ["ab"], ["ab\n", "xab"]),
    (r"^ab\z", ["ab"], ["ab\n"]),
    ("^(?P<n>a)(?#comment)b$", ["ab"], []),
    ("^(?<year>a)(?<$x1>b)$", ["ab"], []),
]


@pytest.mark.parametrize(("pattern", "yes", "no"), CASES)
def test_patterns_by_example(pattern: str, yes: list[str], no: list[str]) -> None:
    assert matched(pattern, yes + no) == yes


@pytest.mark.parametrize(
    "pattern", ["^[a-z]+$", "^(a|b$)", "(^a|b)c", "abc", "^(?:a|b)?$", "(^|,)x(,|$)", "^(?!a)b$", "^b(?<!ab)$"]
)
def test_anchors_at_the_edges_leave_no_assertions(pattern: str) -> None:
    assert not has_assertions(ecma_tree(pattern))


def test_assertions_at_the_ends_are_intersections() -> None:
    tree = ecma_tree("^(?!a)(?=b)b*(?<!c)$")
    assert isinstance(tree, Intersect)
    assert [isinstance(item, Complement) for item in tree.items] == [True, False, True, False]


@pytest.mark.parametrize("pattern", ["^(?!ab|c$)[abc]*$", "^(?=a|.b).*$", "^.*(?<!ab)$", "^.*(?<=^b|a)$", "^(?!a)b|c$"])
def test_intersections_equal_assertions(pattern: str) -> None:
    texts = ["".join(letters) for n in range(5) for letters in product("abc", repeat=n)]
    expected = [text for text in texts if search(pattern, text)]
    assert matched(pattern, texts) == expected
    assert [text for text in texts if from_tree(ecma_tree(pattern)).accepts(text.encode())] == expected


# ------------------------------------------------------------------------------------------------------------------ refusals

WRONG = [
    ("(", 0, "unterminated subpattern"),
    ("a)", 1, "unbalanced"),
    ("[a", 0, "unterminated class"),
    ("*a", 0, "nothing to repeat"),
    ("a|*", 2, "nothing to repeat"),
    ("a**", 2, "multiple repeat"),
    ("^*", 1, "nothing to repeat"),
    (r"\b+", 2, "nothing to repeat"),
    ("(?<=a)*", 6, "nothing to repeat"),
    ("a{2,1}", 2, "min repeat greater"),
    ("a" + "{" + "9" * 5000 + "}", 1, "too large"),
    ("[b-a]", 1, "out of order"),
    ("a++", 1, "possessive"),
    ("(?>a)", 0, "atomic"),
    ("(?(1)a)", 0, "conditional"),
    ("(?#a", 0, "comment"),
    ("(?<1>a)", 3, "group name"),
    ("(?<n", 3, ">"),
    ("(?x)a", 2, "unknown flag"),
    ("a(?i)b", 1, "start"),
    ("(?i-m)a", 2, "group only"),
    ("(?i-i:a)", 2, "on and off"),
    ("(?", 0, "invalid group"),
    (r"(a)\1", 3, "backreference"),
    (r"\1(a)", 0, "backreference"),
    (r"(?<n>a)\k<n>", 7, "backreference"),
    ("(?P<n>a)(?P=n)", 8, "backreference"),
    (r"a\q", 1, r"\\q is not an escape"),
    ("a\\", 1, "end of the pattern"),
    (r"\u{110000}", 0, "code point"),
    (r"\p{Nonsense}", 0, "unknown property"),
    (r"\pL", 2, "missing {"),
]


@pytest.mark.parametrize(("pattern", "position", "reason"), WRONG)
def test_refused_input(pattern: str, position: int, reason: str) -> None:
    with pytest.raises(PatternError, match=reason) as caught:
        ecma_tree(pattern)
    assert caught.value.position == position
    assert caught.value.pattern == pattern


def test_patterns_are_text() -> None:
    with pytest.raises(TypeError):
        ecma_tree(b"a")  # type: ignore[arg-type]


def test_deep_patterns_need_no_recursion() -> None:
    depth = 3 * sys.getrecursionlimit()
    tree = ecma_tree(f"^{'(' * depth}a{')' * depth}$")
    assert from_tree(tree).accepts(b"a")
    ecma_tree(f"{'(?:a|^' * depth}b{'|$)?' * depth}")
    with pytest.raises(LimitError):
        parse_ecma("(" * 50 + ")" * 50, Limits(depth=10))
    with pytest.raises(LimitError):
        parse_ecma("a" * 50, Limits(pattern_length=49))


@given(st.text(st.sampled_from("ab()[]{}|*+?^$\\.-,0129<>=!:uxpPkcdbBiI#"), max_size=12))
def test_any_text_is_read_or_refused(pattern: str) -> None:
    position = 0
    try:
        ecma_tree(pattern)
    except PatternError as error:
        position = error.position
    assert 0 <= position <= len(pattern)
