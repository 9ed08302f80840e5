"""An interrupt at any line of what an index computes leaves the index, and the guide that asked, as good as before."""

import random
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import guided
from guided.engine.compile import compile as compile_spec
from guided.engine.grammar import Grammar
from guided.engine.index import Index
from guided.engine.json_schema import JsonSchema
from guided.guide.guide import Guide
from guided.vocabulary.vocabulary import Vocabulary
from tests.profiles import examples

SOURCES = str(Path(guided.__file__).parent)
TOKENS = [bytes([value]) for value in range(256)]
TOKENS += [first.encode() + second.encode() for first in 'ab1"{[, ' for second in 'ab1"}]:, (']
VOCABULARY = Vocabulary([*TOKENS, None], eos=[len(TOKENS)], size=len(TOKENS) + 1)
PERSON = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "array", "items": {"type": "string"}, "uniqueItems": True}},
    "required": ["b"],
}
SPECS: dict[str, tuple[Callable[[], Any], bytes]] = {
    "JSON": (lambda: JsonSchema(PERSON), b'{"a":1,"b":["ab","b","a1"],"1":{"a":[1,{}]}}'),
    "grammar": (lambda: Grammar('start: "(" start* ")" | NAME\nNAME: /[a-z]+/\n%ignore " "'), b"(ab (a b) ((a) ) )"),
    "tools": (
        lambda: guided.Tools([{"name": "f", "parameters": PERSON}, {"name": "a", "parameters": {"properties": {}}}]),
        b'<tool_call>\n{"name": "f", "arguments": {"b": ["a", "b"]}}\n</tool_call>',
    ),
}


class _Injected(KeyboardInterrupt):
    pass


def interrupted(run: Callable[[], Any], at: int) -> int:
    """Run, and interrupt it at that line of the package; how many lines were run, fewer where it came to its end before."""
    count = 0

    def trace_line(_frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal count
        if event == "line":
            count += 1
            if count == at:
                raise _Injected
        return trace_line

    def trace(frame: FrameType, _event: str, _argument: object) -> Any:
        return trace_line if frame.f_code.co_filename.startswith(SOURCES) else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    except _Injected:
        pass
    finally:
        sys.settrace(before)
    return count


def steps(guide: Guide, token: int) -> list[Any]:
    """What a guide says at a place, and after a token."""
    said = [
        guide.mask().tobytes(),
        guide.is_accepting,
        guide.remaining,
        guide.mask_within(guide.remaining + 2).tobytes(),
    ]
    guide.advance(token)
    return said


@pytest.mark.parametrize("name", SPECS)
def test_an_interrupt_at_any_line_leaves_the_index_usable(name: str) -> None:
    spec, text = SPECS[name]
    fresh = compile_spec(spec(), VOCABULARY)
    guide = fresh.guide()
    expected = [steps(guide, token) for token in text]
    assert guide.is_accepting
    index, draw = compile_spec(spec(), VOCABULARY), random.Random(1)
    n_lines = interrupted(lambda: _walk(index, text), 0)
    assert n_lines > 1000
    n_interrupts = 0
    for _ in range(examples(100)):
        # Mostly soon after the beginning, where an index that begins anew has most to do.
        at = 1 + int(n_lines * draw.random() ** 3)
        guide, others = index.guide(), index.guide()
        n_interrupts += interrupted(partial(_follow, guide, text), at) == at
        # The interrupted guide stands before or after the token that it was to read, and goes on.
        read = len(guide)
        assert [steps(guide, token) for token in text[read:]] == expected[read:]
        assert guide.is_accepting
        assert [steps(others, token) for token in text] == expected
    assert n_interrupts > 5


def _walk(index: Index, text: bytes) -> None:
    _follow(index.guide(), text)
    index.accepts(text)


def _follow(guide: Guide, text: bytes) -> None:
    for token in text:
        steps(guide, token)
