"""An interrupt at any line of what an index computes leaves the index, and the guide that asked, as good as before."""

import linecache
import os
import random
import sys
import weakref
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import guided
from guided.calls.spec import Tools
from guided.engine.algebra import FreeText, Repeat
from guided.engine.compile import compile as compile_spec
from guided.engine.grammar import Grammar
from guided.engine.index import Index
from guided.engine.json_schema import JsonSchema
from guided.engine.specs import Regex
from guided.engine.structural_tags import StructuralTag
from guided.guide.guide import Guide
from guided.limits import Limits
from guided.vocabulary.vocabulary import Vocabulary

SOURCES = str(Path(guided.__file__).parent)
TOKENS = [bytes([value]) for value in range(256)]
TOKENS += [first.encode() + second.encode() for first in 'ab1"{[, ' for second in 'ab1"}]:, (']
TOKENS += [b'": "', b'"]}', b'}, {"', b"</f>", b'<f>{"']
VOCABULARY = Vocabulary([*TOKENS, None], eos=[len(TOKENS)], size=len(TOKENS) + 1)
PERSON = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "array", "items": {"type": "string"}, "uniqueItems": True}},
    "required": ["b"],
}
PERSON_TEXT = b'{"a":1,"b":["ab","b","a1"],"1":{"a":[1,{}]}}'
TAGS = {
    "type": "structural_tag",
    "format": {
        "type": "triggered_tags",
        "triggers": ["<f"],
        "tags": [
            {"type": "tag", "begin": "<f>", "content": {"type": "json_schema", "json_schema": PERSON}, "end": "</f>"},
            {"type": "tag", "begin": "<fa>", "content": {"type": "regex", "pattern": "[0-9]+"}, "end": "</f>"},
        ],
    },
}
# Interrupts of one index before it is checked to the end.
CHAINED = 3
# Name: spec, a text of it, limits; "evicts": the text takes more than the index may grow by.
CASES: dict[str, tuple[Callable[[], Any], bytes, Limits]] = {
    "JSON": (lambda: JsonSchema(PERSON), PERSON_TEXT, Limits()),
    "JSON that evicts": (lambda: JsonSchema(PERSON), PERSON_TEXT, Limits(growth_bytes=350_000)),
    "grammar": (
        lambda: Grammar('start: "(" start* ")" | NAME\nNAME: /[a-z]+/\n%ignore " "'),
        b"(ab (a b) ((a) ) )",
        Limits(),
    ),
    "composition": (
        lambda: Regex("[ab]+") + Repeat(JsonSchema(PERSON), 1, 2, ", ") + (FreeText(stop=["()"], max_tokens=9) | JsonSchema({})),
        b'ab{"b": [ ]}, {"b": ["a", "b"]}a b()',
        Limits(),
    ),
    "composition that evicts": (
        lambda: Repeat(FreeText(stop=["("], max_tokens=4) | Regex("[ab]+1"), 1, 9, ", "),
        b"ab(, a1, 1(, b1, (, (",
        Limits(growth_bytes=6_000),
    ),
    "composition of parts that evict": (
        lambda: Repeat(Regex("a+") | JsonSchema({"type": "array"}), 1, 9, ", "), b'aa, ["b"], [{}, []]', Limits(growth_bytes=50_000),
    ),
    "tags": (lambda: StructuralTag(TAGS), b'a <f>{"b": ["a"]}</f>b<fa>11</f>', Limits()),
    "tools": (
        lambda: Tools([{"name": "f", "parameters": PERSON}, {"name": "a", "parameters": {"properties": {}}}]),
        b'a<tool_call>\n{"name": "f", "arguments": {"b": ["a", "b"]}}\n</tool_call>b',
        Limits(),
    ),
}  # fmt: skip


class _Injected(KeyboardInterrupt):
    pass


@cache
def begins_block(file: str, line: int) -> bool:
    """Whether a line begins with ``with`` or ``try``: traced also where a lock is held that no handler frees, and no signal arrives."""
    return linecache.getline(file, line).lstrip().startswith(("with ", "try:"))


class Interrupts:
    """Interrupts runs at chosen lines of the package, each once.

    Parameters
    ----------
    is_chosen : callable
        Whether a line is chosen, by file and number.
    """

    def __init__(self, is_chosen: Callable[[str, int], bool]) -> None:
        self._is_chosen = is_chosen
        # By the number of a code object: its chosen lines where no run was interrupted yet. Frames of others are not traced.
        self._left: dict[int, set[int]] = {}
        self.done: set[tuple[str, int]] = set()

    def interrupted(self, run: Callable[[], Any]) -> bool:
        """Run, and interrupt it at the first line that is left; whether there was one."""
        before = sys.gettrace()
        sys.settrace(self._trace)
        try:
            run()
        except _Injected:
            return True
        finally:
            sys.settrace(before)
        return False

    def _trace(self, frame: FrameType, _event: str, _argument: object) -> Any:
        code = frame.f_code
        left = self._left.get(id(code))
        if left is None:
            left = self._left[id(code)] = set()
            if code.co_filename.startswith(SOURCES):
                lines = {line for _, _, line in code.co_lines() if line is not None}
                left |= {line for line in lines if self._is_chosen(code.co_filename, line)}
                left -= {line for line in lines if begins_block(code.co_filename, line)}
        # Python ignores what a finalizer raises, and goes on.
        codes = [code] if frame.f_back is None else [code, frame.f_back.f_code]
        is_finalizer = any(one.co_name == "__del__" or one.co_filename == weakref.__file__ for one in codes)
        return self._trace_line if left and not is_finalizer else None

    def _trace_line(self, frame: FrameType, event: str, _argument: object) -> Any:
        left, line = self._left[id(frame.f_code)], frame.f_lineno
        if event == "line" and line in left:
            left.remove(line)
            # Several code objects may have parts of a line.
            if (place := (frame.f_code.co_filename, line)) not in self.done:
                self.done.add(place)
                raise _Injected
        return self._trace_line


def tokens_of(text: bytes) -> list[int]:
    """Tokens of a text: the longest ones, and the shortest ones of its second half."""
    tokens, half = list[int](), text[: len(text) // 2]
    while half:
        tokens.append(max((i for i, one in enumerate(TOKENS) if half.startswith(one)), key=lambda i: len(TOKENS[i])))
        half = half[len(TOKENS[tokens[-1]]) :]
    return [*tokens, *text[len(text) // 2 :]]


def answers(guide: Guide, token: int) -> list[Any]:
    """What a guide says at a place, and after a token."""
    said = [
        guide.mask().tobytes(),
        guide.is_accepting,
        guide.remaining,
        guide.mask_within(guide.remaining).tobytes(),
        guide.mask_within(guide.remaining + 2).tobytes(),
    ]
    guide.advance(token)
    return said


def follow(guide: Guide, tokens: Sequence[int], expected: list[list[Any]]) -> None:
    """Read the tokens that the guide has not read yet; what it says before each is as expected."""
    for place in range(len(guide), len(tokens)):
        assert answers(guide, tokens[place]) == expected[place]
    assert guide.is_accepting


def walk(guide: Guide, index: Index, text: bytes, tokens: Sequence[int], expected: list[list[Any]]) -> None:
    """Follow a text, and ask whether the whole text and one that is shorter are accepted."""
    follow(guide, tokens, expected)
    assert index.accepts(text)
    assert not index.accepts(text[:-2])


def check_lines(name: str, is_chosen: Callable[[str, int], bool]) -> int:
    """Interrupt an index at each line that is chosen, once; return the number of interrupts."""
    make, text, limits = CASES[name]
    tokens = tokens_of(text)
    guide = compile_spec(make(), VOCABULARY, limits).guide()
    expected = [answers(guide, token) for token in tokens]
    interrupts = Interrupts(is_chosen)
    while True:
        # An index that has answered everything computes no more.
        index = compile_spec(make(), VOCABULARY, limits)
        for _ in range(CHAINED):
            # What is asserted after an interrupt is interrupted next, at lines that only an interrupted index runs, too.
            if not interrupts.interrupted(partial(walk, guide := index.guide(), index, text, tokens, expected)):
                return len(interrupts.done)
        # The interrupted guide is before or after the token that it was to read, and goes on.
        follow(guide, tokens, expected)
        walk(index.guide(), index, text, tokens, expected)


def shares(of_index: float, of_others: float) -> Callable[[str, int], bool]:
    """Choose shares of the lines: of the package that publishes states, and of others, which only compute."""

    def is_chosen(file: str, line: int) -> bool:
        path = Path(file).relative_to(SOURCES)
        return random.Random(f"{path.as_posix()}:{line}").random() < (
            of_index if path.parent.name == "index" else of_others
        )

    return is_chosen


SMALL_CASE = "composition that evicts"


@pytest.mark.parametrize("name", CASES)
def test_an_interrupt_at_some_lines_leaves_the_index_usable(name: str) -> None:
    share = (0.1, 0.1) if name == SMALL_CASE else (0.02, 0.002)
    assert check_lines(name, shares(*share)) > 5


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_an_interrupt_at_any_line_leaves_the_index_usable(name: str) -> None:
    """Every line with ``GUIDED_EXHAUSTIVE=1``, in half an hour; else those of the small case, a quarter or a twentieth of the others."""
    share = (1.0, 1.0) if name == SMALL_CASE or os.environ.get("GUIDED_EXHAUSTIVE") else (0.25, 0.05)
    assert check_lines(name, shares(*share)) > 30
