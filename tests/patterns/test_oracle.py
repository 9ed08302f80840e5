"""The oracle `matches` against cases that can be checked by eye; everything else here leans on it."""

import pytest

from guided.patterns.charset import Charset
from guided.patterns.tree import Alternate, Chars, Complement, Concat, Intersect, Literal, Look, Node, Repeat
from tests.oracles import matches

A, B, AB = Literal("a"), Literal("b"), Literal("ab")
ANY = Chars(Charset.UNIVERSE)


def ahead(item: Node, negative: bool = False) -> Look:
    return Look(item, behind=False, negative=negative)


def behind(item: Node, negative: bool = False) -> Look:
    return Look(item, behind=True, negative=negative)


@pytest.mark.parametrize(
    ("node", "members", "others"),
    [
        (Literal(""), [""], ["a"]),
        (AB, ["ab"], ["", "a", "abb", "ba"]),
        (Chars(Charset.of([(0x61, 0x62)])), ["a", "b"], ["", "c", "ab"]),
        (Chars(Charset.EMPTY), [], ["", "a"]),
        (Concat(()), [""], ["a"]),
        (Concat((A, B, A)), ["aba"], ["", "ab", "abab"]),
        (Alternate(()), [], ["", "a"]),
        (Alternate((A, AB)), ["a", "ab"], ["", "b"]),
        (Concat((Alternate((A, AB)), Alternate((B, AB)))), ["ab", "abb", "aab", "abab"], ["a", "aa"]),
        (Repeat(A, 0, None), ["", "a", "aaaa"], ["b", "ab"]),
        (Repeat(A, 2, 3), ["aa", "aaa"], ["", "a", "aaaa"]),
        (Repeat(A, 0, 0), [""], ["a"]),
        (Repeat(A, 2, None), ["aa", "aaaaa"], ["", "a"]),
        (Repeat(Repeat(A, 0, 1), 10**6, None), ["", "a", "aaaaaa"], ["b"]),
        (Repeat(Repeat(A, 0, 1), 2, 3), ["", "a", "aaa"], ["aaaa"]),
        (Repeat(A, 10**6, None), [], ["", "a"]),
        (Repeat(AB, 0, None), ["", "ab", "abab"], ["a", "aba"]),
        (Concat((ahead(AB), Repeat(ANY, 0, None))), ["ab", "abc"], ["", "a", "ba"]),
        (Concat((ahead(AB, negative=True), Repeat(ANY, 0, None))), ["", "a", "ba"], ["ab", "abc"]),
        (Concat((Repeat(ANY, 0, None), behind(AB))), ["ab", "bab"], ["", "b", "aba"]),
        (Concat((Repeat(ANY, 0, None), behind(AB, negative=True))), ["", "b", "aba"], ["ab", "bab"]),
        (Concat((A, ahead(A))), [], ["a", "aa"]),
        (Concat((A, ahead(B), ANY)), ["ab"], ["aa"]),
        (Concat((Repeat(ANY, 0, None), behind(Concat((A, Repeat(B, 0, None)))))), ["a", "ab", "abb", "bab"], ["", "b"]),
        (Complement(A), ["", "b", "aa"], ["a"]),
        (Concat((Complement(A), B)), ["b", "bb", "aab"], ["", "ab", "a"]),
        (Intersect((Repeat(A, 0, None), Repeat(ANY, 2, 2))), ["aa"], ["", "a", "ab", "aaa"]),
        # The operands of Intersect and Complement see only their own span: ahead of B's span comes nothing.
        (Concat((A, Intersect((Concat((B, ahead(A))),)), A)), [], ["aba"]),
        (Concat((A, Concat((B, ahead(A))), A)), ["aba"], []),
        (Concat((A, Complement(Concat((behind(A), B))))), ["a", "ab", "abb"], ["b"]),
    ],
)
def test_by_eye(node: Node, members: list[str], others: list[str]) -> None:
    assert [text for text in members if not matches(node, text)] == []
    assert [text for text in others if matches(node, text)] == []
