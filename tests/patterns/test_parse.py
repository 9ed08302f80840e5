"""What patterns mean, by tables; what trees they become; and that size and depth are no danger."""

import re
from collections.abc import Iterator

import pytest

from guided.errors import LimitError
from guided.limits import Limits
from guided.patterns.parse import parse
from guided.patterns.render import render
from guided.patterns.tree import Alternate, Chars, Concat, Literal, Look, Node, Repeat
from tests.oracles import matches

# Pattern, texts in its language, texts that are not. Python's re agrees on every row.
MEANINGS: list[tuple[str, list[str], list[str]]] = [
    ("", [""], ["a", "\n"]),
    ("abc", ["abc"], ["", "ab", "abcd"]),
    ("a|", ["a", ""], ["b", "|"]),
    ("|", [""], ["|"]),
    ("a||b", ["a", "", "b"], ["ab"]),
    # Repeats
    ("ab*", ["a", "ab", "abbb"], ["", "abab"]),
    ("(ab)*", ["", "ab", "abab"], ["a", "aba"]),
    ("a+b?", ["a", "aab"], ["", "b", "abb"]),
    ("a{2}", ["aa"], ["a", "aaa"]),
    ("a{2,}", ["aa", "aaaa"], ["a"]),
    ("a{,2}", ["", "a", "aa"], ["aaa", "a{,2}"]),
    ("a{,}", ["", "aaa"], ["a{,}"]),
    ("a{1,2}", ["a", "aa"], ["", "aaa"]),
    ("a*?b+?c??d{1,2}?", ["abd", "bbcdd", "aaabd"], ["ad", "b"]),
    ("(a*)*(b|)+", ["", "a", "aab", "bb"], ["ba"]),
    # A brace that begins no count is a character
    ("a{", ["a{"], ["a"]),
    ("{}", ["{}"], [""]),
    ("a{}", ["a{}"], ["a"]),
    ("a{b}", ["a{b}"], ["ab"]),
    ("a{1", ["a{1"], ["a"]),
    ("a{1,2", ["a{1,2"], ["a"]),
    ("a{ 1}", ["a{ 1}"], ["a"]),
    ("a{-1}", ["a{-1}"], ["a"]),
    ("a{1}}", ["a}"], ["a"]),
    ("{{1}", ["{"], ["{{"]),
    ("a}]", ["a}]"], ["a"]),
    # Sets
    ("[abc]", ["a", "c"], ["", "d", "ab"]),
    ("[a-c]", ["a", "b", "c"], ["d", "-"]),
    ("[^a-c]", ["d", "\n", "é"], ["a", "", "dd"]),
    ("[]a]", ["]", "a"], ["", "[]a]"]),
    ("[^]a]", ["b"], ["]", "a"]),
    ("[a-]", ["a", "-"], ["b"]),
    ("[-a]", ["-", "a"], ["b"]),
    ("[a-c-e]", ["b", "-", "e"], ["d"]),
    (r"[+-\-]", ["+", ",", "-"], ["."]),
    (r"[\d\-x]", ["5", "-", "x"], ["w"]),
    (r"[\]\\]", ["]", "\\"], ["["]),
    (r"[\b]", ["\b"], ["b", ""]),
    (r"[\n-\x0c]", ["\n", "\x0b", "\f"], ["\t", "n"]),
    (r"[^\W\d]", ["a", "_", "é"], ["1", " "]),
    (r"[\S\n]", ["a", "\n"], [" ", "\t"]),
    (r"[\1\18]", ["\x01", "8"], ["1"]),
    ("[.*+?|()^$]", [".", "*", "|", "(", ")", "$", "^"], ["a"]),
    ("[x]y[z]", ["xyz"], ["x"]),
    ("[^x]", ["y", "\n"], ["x", ""]),
    # Escapes
    (r"\a\f\n\r\t\v\\", ["\a\f\n\r\t\v\\"], [r"\a"]),
    (r"\x41\u00e9\U0001F600", ["Aé😀"], ["x41"]),
    (r"\N{DIGIT ONE}\N{em dash}", ["1—"], ["1-"]),
    (r"\0\01\012\08", ["\0\x01\n\x008"], [""]),
    (r"\101\377", ["A\xff"], ["101"]),
    (r"\.\*\[\]\{\-\ \é", [".*[]{- é"], [""]),
    (r"\d\D\w\W\s\S", ["1aé \nx", "٣ _!\x1c-"], ["11é \nx"]),
    (r"(?a)\d\w\s", ["1a "], ["٣a ", "1é ", "1a\x1c"]),
    # Dot and flags
    (".", ["a", "\r", "\u2028", "😀"], ["", "\n", "ab"]),
    ("(?s).", ["\n"], [""]),
    ("(?s:.).", ["\na"], ["a\n"]),
    ("(?s)(?-s:.).", ["a\n"], ["\na"]),
    ("(?i)straße", ["STRAßE", "straße", "STRAẞE", "ſtraße"], ["STRASSE"]),
    ("(?i:a)b", ["Ab", "ab"], ["aB"]),
    ("(?i)a(?-i:b)", ["Ab"], ["aB"]),
    ("(?i)k[^k]", ["kx", "\u212ax", "Kx"], ["kK", "k\u212a"]),
    ("(?ai)k", ["k", "K"], ["\u212a"]),
    (r"(?a:\w)\w", ["aé"], ["éa"]),
    (r"(?a)\w(?u:\w)", ["aé"], ["éa"]),
    ("(?i)(?s)a.", ["A\n"], ["b\n"]),
    # Groups
    ("(a)(?:b)(?P<name>c)", ["abc"], ["ab"]),
    ("((a|b)c|(d))e", ["ace", "bce", "de"], ["ae", "cde"]),
    ("a(?#comment ( [ * )b", ["ab"], ["a"]),
    (r"a(?#\)b)c", ["ac"], ["ab)c"]),
    ("a(?#c)*", ["", "aa"], ["a*"]),
    ("()", [""], ["()"]),
    ("(?:){3}", [""], ["a"]),
    # Verbose
    ("(?x) a b\t# a comment *(\n c", ["abc"], ["a b", "ab"]),
    (r"(?x)a\ b[ #]c", ["a b c", "a b#c"], ["abc"]),
    ("(?x)a # to the end", ["a"], ["a "]),
    ("(?x)a # an escaped \\\n newline b\n c", ["ac"], ["abc"]),
    ("(?x)a {2}", ["aa"], ["a"]),
    ("(?x)a {2 }", ["a{2}"], ["aa"]),
    ("(?x: a b)c d", ["abc d"], ["abcd", "a bc d"]),
    ("(?x)a(?-x: b)", ["a b"], ["ab"]),
    ("(?x)a*# comment\n|b", ["", "aa", "b"], ["ab"]),
    ("#", ["#"], [""]),
    # Anchors
    ("^abc$", ["abc"], ["abc\n", "xabc"]),
    (r"\Aabc\Z", ["abc"], ["abc\n"]),
    ("a^b", [], ["ab", "a^b", "a\nb"]),
    ("(?m)a\n^b", ["a\nb"], ["ab"]),
    ("(?m)a^b", [], ["ab"]),
    ("(?m)a$\nb", ["a\nb"], ["ab"]),
    ("a$\n", ["a\n"], ["a", "a\n\n"]),
    ("a$\nb", [], ["a\nb"]),
    ("a$\n\n", [], ["a\n\n"]),
    ("(?s)a$.", ["a\n"], ["ab"]),
    (r"a\Z\n", [], ["a\n", "a"]),
    ("a(^b)?", ["a"], ["ab"]),
    ("(^a)+", ["a"], ["aa", ""]),
    ("(a$)+", ["a"], ["aa"]),
    ("(?:^|,)a(?:,|$)", ["a", ",a", "a,", ",a,"], ["xa", "aa"]),
    ("(?:a|^)*b", ["b", "aab"], ["ba"]),
    (r"\ba\b", ["a"], ["", "aa"]),
    (r"a\b.", ["a ", "a-"], ["aa", "a"]),
    (r"a\B.", ["aa", "aé", "a1", "a_"], ["a "]),
    (r".\b.", ["a ", " a"], ["aa", "  "]),
    (r".\B.", ["aa", "  "], ["a ", " a"]),
    (r"(?a).\b.", ["éa", "aé"], ["aa", "éé"]),
    (r"\b", [], ["", "a"]),
    # Assertions
    ("(?=a)..", ["ab", "aa"], ["ba", "a"]),
    ("(?!a)..", ["ba"], ["ab", "b"]),
    ("(?!ab$)..?", ["ba", "a", "aa"], ["ab"]),
    (".(?<=a)b", ["ab"], ["bb"]),
    (".(?<!a)b", ["bb"], ["ab"]),
    ("(?<=a)b", [], ["b", "ab"]),
    ("(?<!a)b", ["b"], ["ab"]),
    ("a(?=b)b*", ["ab", "abb"], ["a"]),
    ("(?!.*admin)[a-z]{0,9}", ["a", "root", "admi"], ["admin", "xadminx"]),
    ("(?=.*[0-9])(?=.*[a-z]).{3,5}", ["a1b", "12z45"], ["abc", "123", "a1"]),
    ("(?=a)*b", ["b"], ["ab"]),
    ("(?!)", [], ["", "a"]),
    ("(?=(?!b).)[ab]", ["a"], ["b"]),
    ("..(?<=(?=b).)", ["ab"], ["aa"]),
]


@pytest.mark.parametrize(("pattern", "members", "others"), MEANINGS)
def test_meaning(pattern: str, members: list[str], others: list[str]) -> None:
    tree, compiled = parse(pattern), re.compile(pattern)
    for text, expected in [(text, True) for text in members] + [(text, False) for text in others]:
        assert matches(tree, text) == expected, text
        assert bool(compiled.fullmatch(text)) == expected, f"re does not agree on {text!r}"


# What re refuses and this parser does not.
EXTENSIONS: list[tuple[str, list[str], list[str]]] = [
    (r"\p{Lu}\P{Lu}", ["Aa", "É1"], ["aA", "AA"]),
    (r"[\p{Nd}_]\p{^L}", ["_1", "٣-"], ["_a", "a1"]),
    (".*(?<=a|bc)d", ["ad", "bcd", "xad"], ["d", "cd"]),
    (".*(?<!a{1,3})d", ["d", "bd"], ["ad", "aad"]),
    (r"\w*(?<=\bab?)c", ["ac", "abc"], ["c", "xabc"]),
    ("(?:a{99999999999}|b)?", ["", "b"], ["a"]),
]


@pytest.mark.parametrize(("pattern", "members", "others"), EXTENSIONS)
def test_extensions(pattern: str, members: list[str], others: list[str]) -> None:
    with pytest.raises((re.error, OverflowError)):
        re.compile(pattern)
    assert [text for text in members if not matches(parse(pattern), text)] == []
    assert [text for text in others if matches(parse(pattern), text)] == []


@pytest.mark.parametrize("flags", [re.A, re.I, re.M, re.S, re.U, re.X, re.I | re.S | re.X, re.NOFLAG])
def test_flags_given_as_an_argument(flags: re.RegexFlag) -> None:
    pattern = "k .  # \\w\n|^\\w$"
    tree, compiled = parse(pattern, flags), re.compile(pattern, flags)
    for text in ["k", "K", "kx", "k\n", "\u212ax", "é", "e", "k x  # w\n", "k x  # é\n", "k \n  # w\n"]:
        assert matches(tree, text) == bool(compiled.fullmatch(text)), text


def nodes(root: Node) -> Iterator[Node]:
    """All nodes of a tree, the root first."""
    work = [root]
    while work:
        node = work.pop()
        yield node
        match node:
            case Concat(items) | Alternate(items):
                work.extend(items)
            case Repeat(item) | Look(item):
                work.append(item)


def test_runs_of_characters_are_one_literal() -> None:
    tree = parse(r"a\.b[c]\x64(?#comment)e")
    assert isinstance(tree, Literal)
    assert tree.text == "a.bcde"
    sequence = parse("abc*de")
    assert isinstance(sequence, Concat)
    assert [type(item) for item in sequence.items] == [Literal, Repeat, Literal]
    assert [item.text for item in sequence.items if isinstance(item, Literal)] == ["ab", "de"]


def test_uncased_characters_stay_in_the_literal() -> None:
    assert [type(item) for item in nodes(parse("(?i)12-34"))] == [Literal]
    assert [type(item) for item in nodes(parse("(?i)12a34"))] == [Concat, Literal, Chars, Literal]


@pytest.mark.parametrize(("pattern", "rendered"), [("a|b|c", "[a-c]"), ("a|xy|b|[0-9]", "[0-9ab]|xy"), ("a|a", "a")])
def test_alternatives_of_one_character_are_one_set(pattern: str, rendered: str) -> None:
    assert render(parse(pattern)) == rendered


@pytest.mark.slow
def test_fifty_thousand_alternatives() -> None:
    names = [f"name_{number:05d}" for number in range(50_000)]
    tree = parse("|".join(names))
    assert isinstance(tree, Alternate)
    assert [item.text for item in tree.items if isinstance(item, Literal)] == names


@pytest.mark.slow
@pytest.mark.parametrize(
    "pattern",
    [
        "a" * 900_000,
        r"\." * 300_000,
        "(?x)" + "a \n" * 100_000,
        "(?#" + r"\)" * 400_000 + ")",
        "[" + "ab" * 100_000 + "]",
    ],
    ids=["literal", "escapes", "verbose", "comment", "set"],
)
def test_long_patterns(pattern: str) -> None:
    assert isinstance(parse(pattern), Node)


def test_pattern_length_is_limited() -> None:
    limits = Limits(pattern_length=10)
    assert isinstance(parse("a" * 10, limits=limits), Literal)
    with pytest.raises(LimitError) as caught:
        parse("a" * 11, limits=limits)
    assert (caught.value.what, caught.value.given, caught.value.limit) == ("pattern_length", 11, 10)


@pytest.mark.parametrize("group", ["(", "(?:", "(?=", "(?<=", "(?P<n>"])
def test_depth_is_limited(group: str) -> None:
    limits = Limits(depth=1)
    assert isinstance(parse(f"{group}a)" * 3 if "P" not in group else f"{group}a)", limits=limits), Node)
    with pytest.raises(LimitError) as caught:
        parse("(" + group + "a))", limits=limits)
    assert (caught.value.what, caught.value.given, caught.value.limit) == ("depth", 2, 1)


@pytest.mark.slow
@pytest.mark.parametrize("group", ["(", "(^", "a(", "(?=", "(?<!", "(?i:", "b|("])
def test_depth_needs_no_recursion(group: str) -> None:
    depth = Limits().depth
    tree = parse(group * depth + "a$" + ")" * depth)
    assert isinstance(tree, Node)
    with pytest.raises(LimitError):
        parse(group * 100_000 + "a" + ")" * 100_000)


def test_counts_of_any_size() -> None:
    huge = 10**4000
    tree = parse(f"a{{{huge},{huge + 1}}}")
    assert isinstance(tree, Repeat)
    assert (tree.minimum, tree.maximum) == (huge, huge + 1)


@pytest.mark.parametrize("pattern", [b"a", None, 1, re.compile("a")])
def test_only_text_is_a_pattern(pattern: object) -> None:
    with pytest.raises(TypeError, match="a pattern must be a str"):
        parse(pattern)  # type: ignore[arg-type]
