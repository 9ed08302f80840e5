"""Every error carries its data, survives pickling, and points at the place."""

import copy
import inspect
import pickle
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guided import errors
from guided.errors import (
    ArgumentError,
    CallError,
    CallRefused,
    GrammarError,
    GuidedError,
    IncompleteError,
    IndexFormatError,
    LimitError,
    ModelError,
    PatternError,
    SchemaError,
    StateEvicted,
    TokenRejected,
    VocabularyError,
)

# One of each, the data it carries, and what its message must say.
SAMPLES = [
    (GuidedError("any"), {}, "any"),
    (
        ArgumentError("stop", "must not be an empty str"),
        {"argument": "stop", "reason": "must not be an empty str"},
        "stop must not be an empty str",
    ),
    (CallRefused("only cities in Europe"), {}, "only cities in Europe"),
    (
        PatternError("unbalanced parenthesis", "a(b", 1),
        {"reason": "unbalanced parenthesis", "pattern": "a(b", "position": 1},
        "unbalanced parenthesis (at position 1)\n    a(b\n     ^",
    ),
    (
        SchemaError("no such type", "/tool/size", "type"),
        {"reason": "no such type", "pointer": "/tool/size", "keyword": "type"},
        "no such type (at /tool/size, type)",
    ),
    (SchemaError("never true", "", "not"), {"pointer": ""}, "never true (at the root, not)"),
    (GrammarError("a conflict", "start"), {"reason": "a conflict", "rule": "start"}, "a conflict (in start)"),
    (VocabularyError("no bytes"), {}, "no bytes"),
    (
        LimitError("states", 1_000_000, 400_000, "raise Limits(states=...)"),
        {"what": "states", "given": 1_000_000, "limit": 400_000},
        "states: 1,000,000 needed, 400,000 allowed; raise Limits(states=...)",
    ),
    (LimitError("depth", 2, 1), {"what": "depth", "given": 2, "limit": 1}, "depth: 2 needed, 1 allowed"),
    (
        StateEvicted(7),
        {"state": 7},
        "state 7 was discarded: the index grew by more than limits.growth_bytes; keep a guide instead of a state number",
    ),
    (
        TokenRejected(7, "a digit"),
        {"token": 7, "expected": "a digit"},
        "token 7 is not allowed here; expected a digit",
    ),
    (IndexFormatError("cut short"), {}, "cut short"),
    (
        CallError("no tool 'ad'", "name", 3),
        {"reason": "no tool 'ad'", "kind": "name", "position": 3},
        "no tool 'ad' at byte 3 (name)",
    ),
    (IncompleteError("cut"), {}, "cut"),
    (ModelError("no logits"), {}, "no logits"),
]


def drawn_tree() -> dict[str, str]:
    """Class -> its parent, as the module's docstring draws them."""
    parents: dict[str, str] = {}
    branch: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        node = re.match(r"(?:    )((?:[│ ]   )*(?:[├└]── )?)([A-Z]\w+)\b", line)
        if node:
            depth = len(node[1]) // 4
            branch[depth:] = [node[2]]
            if depth:
                parents[node[2]] = branch[depth - 1]
    return parents


def test_the_drawn_tree_is_the_tree() -> None:
    classes = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, Exception)]
    assert drawn_tree() == {kind.__name__: kind.__bases__[0].__name__ for kind in classes}
    assert sorted(kind.__name__ for kind in classes) == errors.__all__


def test_there_is_a_sample_of_each() -> None:
    assert {type(error).__name__ for error, _, _ in SAMPLES} == set(errors.__all__)


@pytest.mark.parametrize(("error", "data", "message"), SAMPLES, ids=lambda value: type(value).__name__)
def test_an_error_carries_its_place(error: GuidedError, data: dict[str, object], message: str) -> None:
    assert str(error) == message
    for name, value in data.items():
        assert getattr(error, name) == value


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize(("error", "data", "message"), SAMPLES, ids=lambda value: type(value).__name__)
def test_pickling_keeps_everything(error: GuidedError, data: dict[str, object], message: str, protocol: int) -> None:
    error.add_note("while compiling")
    try:
        for other in (pickle.loads(pickle.dumps(error, protocol)), copy.copy(error), copy.deepcopy(error)):
            assert type(other) is type(error)
            assert str(other) == message
            assert other.args == error.args
            assert vars(other) == vars(error)
            assert other.__notes__ == ["while compiling"]
    finally:
        del error.__notes__


def excerpt(pattern: str, position: int) -> tuple[str, int]:
    """The excerpt in an error's message, without its margin, and the column of the caret in it."""
    head, line, caret = str(PatternError("wrong", pattern, position)).split("\n")
    assert head == f"wrong (at position {position})"
    assert line.startswith("    ")
    assert caret.strip(" ") == "^"
    return line[4:], caret.index("^") - 4


@pytest.mark.parametrize(
    ("pattern", "position", "line", "column"),
    [
        ("abc", 0, "abc", 0),
        ("abc", 2, "abc", 2),
        ("abc", 3, "abc", 3),
        ("", 0, "", 0),
        (r"\d(", 2, r"\d(", 2),
        ("a\nb(", 3, r"a\nb(", 4),
        ("\x00\x1b[31m(", 6, r"\x00\x1b[31m(", 12),
        ("日本(", 2, r"\u65e5\u672c(", 12),
        ("😀(", 1, r"\U0001f600(", 10),
        ("\u202e\u0301(", 2, r"\u202e\u0301(", 12),
        ("'\"(", 2, "'\"(", 2),
        ("'(\"", 1, "'(\"", 1),
        ("\ud800(", 1, r"\ud800(", 6),
    ],
)
def test_the_caret_is_below_the_character(pattern: str, position: int, line: str, column: int) -> None:
    assert excerpt(pattern, position) == (line, column)


@pytest.mark.parametrize("position", [0, 29, 30, 31, 5_000, 9_970, 9_999, 10_000])
def test_a_long_pattern_is_cut_around_the_place(position: int) -> None:
    pattern = "".join(f"{index % 10}" for index in range(10_000))
    line, column = excerpt(pattern, position)
    assert len(line) <= 66
    assert line.startswith("...") == (position > 30)
    assert line.endswith("...") == (position < 9_970)
    assert (line + " ")[column] == (pattern + " ")[position]


@given(st.text(), st.data())
def test_an_excerpt_is_printable_and_points_at_the_character(pattern: str, data: st.DataObject) -> None:
    position = data.draw(st.integers(0, len(pattern)))
    line, column = excerpt(pattern, position)
    assert line.isascii()
    assert line.isprintable()
    here = pattern[position : position + 1]
    assert line[column:].startswith(here if here.isascii() and here.isprintable() else ascii(here)[1:-1])
