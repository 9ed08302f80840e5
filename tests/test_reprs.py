"""What the public objects print: short, without addresses of memory, whatever they are made of."""

import enum
import os
import re
import subprocess
import sys
import traceback
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

import guided
from guided.events import Call, Result
from guided.generate.function_model import FunctionModel
from guided.vocabulary.vocabulary import Vocabulary
from tests.generate.models import ASCII, ascii_model

LONG = "x\N{SNOWMAN}\n" * 3_000
COLORS = enum.Enum("COLORS", {f"name{number}": f"value {number}" for number in range(2_000)})  # type: ignore[misc]


class Opaque:
    """Prints its address."""


def tool(city: str, day: Literal["today", "tomorrow"] = "today") -> str:
    """Weather."""
    return f"{city} {day}"


def long_tools() -> list[dict[str, Any]]:
    return [{"name": f"{'n' * 60}{number}", "description": LONG, "parameters": {}} for number in range(60)]


def object_schema(n: int) -> dict[str, Any]:
    return {"type": "object", "properties": {f"p{number}": {"description": LONG} for number in range(n)}}


def advanced() -> guided.Guide:
    guide = guided.compile(guided.Regex("a{3,9}"), ASCII).guide()
    assert guide.accepts("aaa")
    guide.advance_many([next(token for token, data in enumerate(ASCII) if data == b"a")] * 4)
    return guide


# Public class -> makers of objects of it, the worst ones among them.
OBJECTS: dict[str, list[Callable[[], object]]] = {
    "Automaton": [lambda: guided.Regex("[a-z]{1,500}").lower(guided.Limits())],
    "Beam": [lambda: guided.Beam(10**6)],
    "Choice": [lambda: guided.Choice([f"{number}{LONG}" for number in range(5_000)]), lambda: guided.Choice(COLORS)],
    "Conversation": [lambda: guided.Conversation(guided.tools(ascii_model(), [tool]))],
    "Example": [lambda: guided.Example(LONG, LONG, {LONG: LONG}, Opaque())],
    "Explanation": [lambda: advanced().explain(5)],
    "Format": [lambda: guided.Tools([tool]).format],
    "FunctionModel": [ascii_model],
    "Generator": [
        lambda: guided.regex(ascii_model(), "a" * 5_000),
        lambda: guided.choice(ascii_model(), ["a", "b"]),
        lambda: guided.json(ascii_model(), object_schema(100)),
        lambda: guided.tools(ascii_model(), long_tools()),
        lambda: guided.generator(ascii_model(), None),
    ],
    "Grammar": [lambda: guided.Grammar('start: "a" | "b" start')],
    "Guide": [advanced],
    "Index": [
        lambda: guided.compile(guided.Regex("a" * 5_000), ASCII),
        lambda: guided.compile(guided.Regex("a"), ASCII, guided.Limits(states=9)),
        lambda: guided.compile(guided.JsonSchema(object_schema(100)), ASCII, guided.Limits(mask_bytes=9)),
        lambda: guided.compile(guided.Tools(long_tools()), ASCII),
        lambda: guided.compile(guided.Grammar('start: "a" | "b" start'), ASCII),
        lambda: guided.compile(guided.Choice([f"{number}" for number in range(5_000)]), ASCII),
    ],
    "JsonSchema": [
        lambda: guided.JsonSchema(object_schema(500)),
        lambda: guided.JsonSchema(list[dict[str, tuple[int, str] | COLORS]], whitespace="[ \\t]" * 40),  # type: ignore[valid-type]
        lambda: guided.JsonSchema(tool),
    ],
    "LanguageModel": [ascii_model],
    "Maybe": [lambda: guided.Maybe(guided.Choice([f"{number}{LONG}" for number in range(99)]) + LONG)],
    "Repeat": [lambda: guided.Repeat(guided.JsonSchema(object_schema(500)) | LONG, 1, 9, LONG)],
    "StructuralTag": [
        lambda: guided.StructuralTag(
            {"format": {"type": "sequence", "elements": [{"type": "const_string", "value": LONG}] * 200}}
        )
    ],
    "FreeText": [lambda: guided.FreeText(stop=[LONG] * 50, excludes=LONG, max_tokens=5)],
    "Limits": [
        guided.Limits,
        lambda: guided.Limits(**{one.name: one.metadata.get("most", 10**5_000) for one in fields(guided.Limits)}),
    ],
    "Substring": [lambda: guided.Substring(LONG), lambda: guided.Substring([LONG] * 99)],
    "Rejection": [guided.Rejection],
    "Smc": [lambda: guided.Smc(particles=9)],
    "Regex": [lambda: guided.Regex(LONG), lambda: guided.Regex("a", builder="interegular")],
    "Result": [
        lambda: Result(LONG, Opaque(), tuple(range(9_999)), "stop", 1),
        lambda: Result(LONG, None, (), "stop_string", 1, guided.IncompleteError(LONG)),
        lambda: Result(LONG, [], (), "stop", 1, calls=(Call(LONG, {LONG: LONG}, (0, 1)),)),
    ],
    "Tool": [lambda: guided.Tool(tool, description=LONG), lambda: guided.Tool(long_tools()[0])],
    "Tools": [
        lambda: guided.Tools([tool]),
        lambda: guided.Tools(long_tools()),
        lambda: guided.Tools([tool], "tooldec"),
    ],
    "Vocabulary": [lambda: ASCII, lambda: Vocabulary([b"a", None], eos=[1])],
}
# Their objects need torch: tests/integrations has theirs.
ELSEWHERE = {"LogitsProcessor", "Model"}
ERRORS = {name for name in guided.__all__ if name.endswith("Error")} | {"CallRefused", "StateEvicted", "TokenRejected"}


def check(text: str, width: int = 300) -> None:
    assert 0 < len(text) < width, text
    assert not re.search(r" at 0x[0-9a-f]+", text), text
    assert "\n" not in text


def test_every_public_class_is_here() -> None:
    classes = {name for name in guided.__all__ if isinstance(getattr(guided, name), type)}
    # Keyword arguments: a dict at run time.
    assert classes - {"GenerationOptions"} == OBJECTS.keys() | ELSEWHERE | ERRORS
    assert not isinstance(guided.Result, ModuleType)


@pytest.mark.parametrize("name", sorted(OBJECTS))
def test_objects_print_in_short(name: str) -> None:
    for make in OBJECTS[name]:
        item = make()
        assert isinstance(item, getattr(guided, name))
        check(repr(item), 200 if name == "Index" else 300)


@pytest.mark.parametrize("name", sorted(ERRORS))
def test_errors_print_in_short(name: str) -> None:
    kind = getattr(guided, name)
    arguments: dict[str, tuple[Any, ...]] = {
        "ArgumentError": ("name", LONG),
        "CallError": (LONG, "name", 3),
        "LimitError": (LONG, 10, 5),
        "PatternError": (LONG, LONG, 3),
        "SchemaError": (LONG, LONG, LONG),
        "GrammarError": (LONG, LONG),
        "StateEvicted": (5,),
        "TokenRejected": (5, LONG),
    }
    check(repr(kind(*arguments.get(name, (LONG,)))))


@given(st.text(), st.lists(st.text(alphabet=st.characters(codec="utf-8")), min_size=1, unique=True))
def test_specs_of_any_text_print_in_short(text: str, options: list[str]) -> None:
    check(repr(guided.Regex(text)))
    check(repr(guided.Choice(options)))
    check(repr(guided.JsonSchema({"const": text, "enum": options, text: text})))
    check(repr(guided.Example(text, text, {text: options}, options)))


def test_an_index_has_a_repr(tmp_path: Path) -> None:
    index = guided.compile(guided.Regex("a|b"), ASCII)
    assert repr(index) == f"<Index of Regex('a|b'): {len(ASCII)} tokens, {index.n_states} states>"
    index.save(tmp_path / "index")
    loaded = guided.load_index(tmp_path / "index", ASCII)
    assert (
        repr(loaded) == f"<Index of spec {index.spec_fingerprint[:12]}: {len(ASCII)} tokens, {index.n_states} states>"
    )
    guide = index.guide()
    assert repr(guide) == "<Guide after 0 tokens, not complete>"
    guide.advance(next(token for token, data in enumerate(ASCII) if data == b"a"))
    assert repr(guide) == "<Guide after 1 tokens, may end>"
    guide.advance(ASCII.eos[0])
    assert repr(guide) == "<Guide after 2 tokens, finished>"
    assert repr(guided.Limits(states=7)) == "Limits(states=7)"
    assert repr(guided.Choice(["a", "b"])) == "<Choice of 2: a, b>"


def test_notebooks_draw_small_automata() -> None:
    small = guided.compile(guided.Regex("a<b|c"), ASCII)._repr_svg_()
    assert small is not None
    assert small.count("<svg") == 1
    assert guided.compile(guided.Regex("[a-z]{200}"), ASCII)._repr_svg_() is None
    assert guided.compile(guided.JsonSchema(True), ASCII)._repr_svg_() is None


def test_errors_have_their_caret_below_the_position_in_tracebacks() -> None:
    """Notebooks and terminals print a traceback's last lines as they are, in a fixed width."""
    for make, marked in [
        (lambda: guided.Regex("(abc").lower(guided.Limits()), "("),
        (lambda: guided.Grammar("start: a\na: c"), "c"),
    ]:
        with pytest.raises(guided.GuidedError) as caught:
            make()
        *_, line, caret = "".join(traceback.format_exception_only(caught.value)).splitlines()
        assert caret.strip() == "^"
        assert line[caret.index("^")] == marked


NOTEBOOK = r"""
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
shell.run_line_magic("colors", "NoColor")
cells = [
    "import guided\nascii = guided.Vocabulary([*(bytes([byte]) for byte in range(128)), None], eos=[128])",
    "guided.compile(guided.Regex('ab(cd'), ascii)",
    "guided.Grammar('start: a\\na: c')",
    "def answer(tokens):\n    guided.compile(guided.JsonSchema({'type': 'strin'}), ascii)",
    "guided.regex(guided.FunctionModel(answer, ascii, lambda text: [0]), 'a|b')('')",
    "%xmode Verbose",
    "guided.compile(guided.Regex('ab(cd'), ascii)",
]
for number, cell in enumerate(cells):
    print(f"CELL {number}")
    shell.run_cell(cell)
"""


@pytest.mark.slow
def test_notebooks_show_the_frames_of_the_user_and_the_caret(tmp_path: Path) -> None:
    pytest.importorskip("IPython", reason="pip install -e '.[dev]'")
    done = subprocess.run(
        [sys.executable, "-c", NOTEBOOK],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"IPYTHONDIR": str(tmp_path)},
        cwd=Path(guided.__file__).parent.parent,
        timeout=300,
    )
    _, pattern, grammar, _, callback, _, verbose = re.split(r"^CELL \d\n", done.stdout, flags=re.MULTILINE)[1:]
    assert pattern.endswith(
        "----> 1 guided.compile(guided.Regex('ab(cd'), ascii)\n\n"
        "PatternError: missing ), unterminated subpattern (at position 2)\n    ab(cd\n      ^\n"
    )
    assert grammar.endswith("(in c, line 2, column 4)\n    a: c\n       ^\n")
    assert callback.index("guided.regex(") < callback.index("answer(tokens)") < callback.index("SchemaError: a type")
    for text in (pattern, grammar, callback):
        assert "File " not in text, text
    assert "engine/compile.py" in verbose
    assert verbose.endswith("    ab(cd\n      ^\n")


def test_a_function_model_has_a_repr() -> None:
    model = FunctionModel(lambda tokens: [], ASCII, lambda text: [])
    check(repr(model))
