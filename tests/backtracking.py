"""The work of Python's `re`, in steps: a backtracking matcher over its parse tree that counts each test of a character or position.

`re` tries alternatives in the same order, so it takes at most as many steps; it skips some by look-ups of the first characters.
"""

import re
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, TypeAlias

__all__ = ["MOST", "Matcher", "hostile_texts"]

# Steps beyond which the matcher gives up.
MOST = 100_000

_Rest: TypeAlias = Callable[[int], bool]
_Part: TypeAlias = Callable[[int, _Rest], bool]
_REPEATS = {codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT}
_CHARACTERS = {codes.LITERAL, codes.NOT_LITERAL, codes.ANY, codes.IN}
# At least one character of each kind that patterns tell apart.
_LETTERS = "a1A_ \n\t\r\"'\\-./:#=<>(){}[]|!,\u00e9\0"
_CATEGORIES = {
    codes.CATEGORY_DIGIT: r"\d", codes.CATEGORY_NOT_DIGIT: r"\D", codes.CATEGORY_SPACE: r"\s",
    codes.CATEGORY_NOT_SPACE: r"\S", codes.CATEGORY_WORD: r"\w", codes.CATEGORY_NOT_WORD: r"\W",
}  # fmt: skip


class TooMuch(Exception):
    """More than `MOST` steps."""


class Matcher:
    """A pattern that is matched step by step."""

    def __init__(self, pattern: "re.Pattern[Any]") -> None:
        source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
        self.tree = parser.parse(source, pattern.flags & ~re.UNICODE)
        self.flags = pattern.flags
        self._whole = self._sequence(self.tree)
        self._text, self._steps, self._groups = "", 0, dict[int, tuple[int, int]]()

    def steps(self, text: str, method: str) -> int:
        """Return the steps of one call of a method of `re.Pattern`; `MOST` if there are more."""
        self._text, self._steps = text, 0
        at, ends = 0, list[int]()

        def end(place: int) -> bool:
            ends.append(place)
            return method != "fullmatch" or place == len(text)

        before = sys.getrecursionlimit()
        sys.setrecursionlimit(20_000)
        try:
            while at <= len(text):
                ends.clear()
                found = self._whole(at, end)
                if method in ("match", "fullmatch") or (found and method == "search"):
                    break
                at = max(at + 1, ends[-1]) if found else at + 1
        except TooMuch:
            return MOST
        finally:
            sys.setrecursionlimit(before)
        return self._steps

    def _sequence(self, items: Any) -> _Part:
        parts = [self._part(code, value) for code, value in items]
        if len(parts) == 1:
            return parts[0]

        def matched(at: int, rest: _Rest, place: int = 0) -> bool:
            if place == len(parts):
                return rest(at)
            return parts[place](at, lambda after: matched(after, rest, place + 1))

        return matched

    def _part(self, code: Any, value: Any) -> _Part:
        if code in _CHARACTERS:
            holds = cache(partial(self.holds, code, value))
            return lambda at, rest: self._step() and at < len(self._text) and holds(self._text[at]) and rest(at + 1)
        if code in _REPEATS:
            least, most, body = value
            repeat = self._repeat(self._sequence(body), least, most, is_lazy=code is codes.MIN_REPEAT)
            return self._first(repeat) if code is codes.POSSESSIVE_REPEAT else repeat
        if code is codes.ATOMIC_GROUP:
            return self._first(self._sequence(value))
        if code is codes.BRANCH:
            branches = [self._sequence(branch) for branch in value[1]]
            return lambda at, rest: any(branch(at, rest) for branch in branches)
        if code is codes.SUBPATTERN:
            return self._sequence(value[3])
        if code in (codes.ASSERT, codes.ASSERT_NOT):
            direction, parts = value
            inner, behind = self._sequence(parts), parts.getwidth()[0] if direction < 0 else 0
            return lambda at, rest: (
                (at >= behind and inner(at - behind, lambda _: True)) == (code is codes.ASSERT) and rest(at)
            )
        assert code is codes.AT, code
        written = {
            codes.AT_BEGINNING: "^", codes.AT_BEGINNING_LINE: "(?m:^)", codes.AT_BOUNDARY: r"\b",
            codes.AT_END: "$", codes.AT_END_STRING: r"\Z",
        }[value if not (value is codes.AT_BEGINNING and self.flags & re.MULTILINE) else codes.AT_BEGINNING_LINE]  # fmt: skip
        place = re.compile(written)
        return lambda at, rest: self._step() and place.match(self._text, at) is not None and rest(at)

    def _step(self) -> bool:
        self._steps += 1
        if self._steps >= MOST:
            raise TooMuch
        return True

    def _first(self, part: _Part) -> _Part:
        """Return the part without a second try."""

        def matched(at: int, rest: _Rest) -> bool:
            ends: list[int] = []
            return part(at, lambda after: ends.append(after) is None) and rest(ends[0])

        return matched

    def _repeat(self, body: _Part, least: int, most: int, *, is_lazy: bool) -> _Part:
        def matched(at: int, rest: _Rest, count: int = 0) -> bool:
            def again() -> bool:
                # Why the comparison: an empty pass would repeat for ever.
                return count < most and body(
                    at, lambda after: (after > at or count < least) and matched(after, rest, count + 1)
                )

            if count < least:
                return again()
            return (rest(at) or again()) if is_lazy else (again() or rest(at))

        return matched

    def holds(self, code: Any, value: Any, character: str) -> bool:
        """Return whether an element that tests one character accepts it."""
        if code is codes.ANY:
            return bool(self.flags & re.DOTALL) or character != "\n"
        if code is codes.LITERAL or code is codes.NOT_LITERAL:
            return (ord(character) == value) == (code is codes.LITERAL)
        is_negated = value[0][0] is codes.NEGATE
        return any(self._is_in(*item, character) for item in value) != is_negated

    def _is_in(self, code: Any, value: Any, character: str) -> bool:
        if code is codes.RANGE:
            return value[0] <= ord(character) <= value[1]
        if code is codes.CATEGORY:
            return re.match(_CATEGORIES[value], character) is not None
        return code is codes.LITERAL and ord(character) == value


def hostile_texts(matcher: Matcher, size: int) -> Iterator[str]:
    """Yield texts that lead to a repeat of a pattern, then repeat one or two characters that some repeat accepts, and may go wrong."""
    tests, repeated = list(_tests(matcher.tree)), list(_repeated(matcher.tree))
    some = [*_LETTERS, *(chr(value) for code, value in tests if code is codes.LITERAL)]
    letters = list(
        {(one == "\n", *(matcher.holds(*test, one) for test in tests)): one for one in reversed(some)}.values()
    )
    pumped = [one for one in letters if any(matcher.holds(*test, one) for test in repeated)] or letters[:1]
    wrong = [one for one in letters if one not in pumped][:3]
    for head in dict.fromkeys(_heads(matcher, letters, matcher.tree, "")):
        for number, first in enumerate(pumped, 1):
            for second in ("", *pumped[number:]):
                body = (first + second) * (size // len(first + second))
                yield from (head + body + end for end in ("", *wrong))


def _repeated(items: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the tests of characters within repeats."""
    for code, value in items:
        for inner in _inner(code, value):
            yield from (_tests if code in _REPEATS else _repeated)(inner)


def _tests(items: Any) -> Iterator[tuple[Any, Any]]:
    for code, value in items:
        if code in _CHARACTERS:
            yield code, value
        for inner in _inner(code, value):
            yield from _tests(inner)


def _inner(code: Any, value: Any) -> list[Any]:
    if code in _REPEATS:
        return [value[2]]
    if code is codes.BRANCH:
        return list(value[1])
    if code is codes.SUBPATTERN:
        return [value[3]]
    if code is codes.ATOMIC_GROUP:
        return [value]
    return [value[1]] if code in (codes.ASSERT, codes.ASSERT_NOT) else []


def _heads(matcher: Matcher, letters: list[str], items: Any, before: str) -> Iterator[str]:
    """Yield a text that leads to each repeat."""
    for code, value in items:
        if code in _REPEATS:
            yield before
        for inner in _inner(code, value):
            yield from _heads(matcher, letters, inner, before)
        before += _sample(matcher, letters, [(code, value)])


def _sample(matcher: Matcher, letters: list[str], items: Any) -> str:
    found = ""
    for code, value in items:
        if code in _CHARACTERS:
            found += next((one for one in letters if matcher.holds(code, value, one)), "")
        elif code in (codes.ASSERT, codes.ASSERT_NOT):
            continue
        elif inner := _inner(code, value):
            found += _sample(matcher, letters, inner[0]) * (max(value[0], 1) if code in _REPEATS else 1)
    return found
