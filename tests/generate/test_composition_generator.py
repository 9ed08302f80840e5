"""Generation of compositions: typed captures, when they are streamed, budgets of parts, and special tokens."""

from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel

import guided
from guided.events import Captured, Done, Text
from guided.vocabulary.vocabulary import Vocabulary

_BYTES = [bytes([value]) for value in range(256)]


class City(BaseModel):
    """A city."""

    name: str
    population: int


def _model(seed: int = 0, special: dict[str, int] | None = None) -> guided.FunctionModel:
    """A model with random logits that depend on all tokens."""
    vocabulary = Vocabulary([*_BYTES, None, *[None] * len(special or {})], eos=[256], size=260, special=special or {})

    def logits(tokens: Any) -> Any:
        return np.random.default_rng([seed, *tokens]).normal(size=vocabulary.size) * 3

    return guided.FunctionModel(logits, vocabulary, lambda text: list(text.encode()))


def _weather(city: str, days: int = 1) -> str:
    """The weather."""
    return f"{city} {days}"


def test_captures_are_typed() -> None:
    spec = (
        "City: "
        + guided.JsonSchema(City).named("city")
        + "\n"
        + guided.Choice(["yes", "no"]).named("answer")
        + " "
        + guided.FreeText(stop="\n").named("why")
        + guided.Tools([_weather], format="tooldec", tool_choice="required").named("calls")
        + guided.Maybe("!".join("ab") + guided.Regex("[0-9]").named("never"))
    )
    text = 'City: {"name":"Oslo","population":7}\nno because\nweather(city="Oslo")'.replace("weather", "_weather")
    found = guided.captures(spec, text)
    assert found["city"] == City(name="Oslo", population=7)
    assert found["answer"] == "no"
    assert found["why"] == "because"
    assert [(call.name, call.arguments) for call in found["calls"]] == [("_weather", {"city": "Oslo"})]
    assert found["never"] is None
    for wrong, reason in (
        (text + "x", f"is wrong at byte {len(text)} (b'x')"),
        (text[:7], "ends too early"),
    ):
        with pytest.raises(guided.SchemaError) as caught:
            guided.captures(spec, wrong)
        assert caught.value.reason.startswith(f"the text {reason}")
    with pytest.raises(TypeError, match=r"such as spec\.named\('value'\), not Tools"):
        guided.captures(guided.Tools([_weather]), text)  # type: ignore[arg-type]


def test_a_repeated_name_captures_a_list() -> None:
    spec = guided.Repeat(guided.Regex("[a-z]+").named("word"), 1, None, " ")
    assert guided.captures(spec, "a bc d") == {"word": ["a", "bc", "d"]}
    assert guided.captures(guided.Repeat("a", 0, 2) + guided.Maybe(guided.Regex("b").named("x")), "aa") == {"x": None}


@pytest.mark.parametrize("seed", range(5))
def test_streams_capture_as_soon_as_it_is_certain(seed: int) -> None:
    spec = (
        "a"
        + guided.Regex("[bc]{2,4}").named("x")
        + "a"
        + guided.JsonSchema({"type": "boolean"}).named("y")
        + guided.FreeText()
    )
    generator = guided.generator(_model(seed), spec)
    seen, text = dict[str, int](), ""
    for event in generator.stream("p", max_tokens=30, temperature=1.0, seed=seed):
        match event:
            case Text(piece):
                text += piece
            case Captured(name):
                seen[name] = len(text.encode())
            case Done(result):
                last = result
    assert last.captures["x"] == text[1 : text.index("a", 1)]
    # The longest text ends by itself, others by the letter after them.
    end = text.index("a", 1)
    assert seen["x"] == (end if end == 5 else end + 1)
    assert last.captures["y"] is (text[seen["x"] :].startswith("true"))
    assert generator.index is not None
    assert generator.index.accepts(text)


@pytest.mark.parametrize("seed", range(5))
def test_a_part_keeps_to_its_budget(seed: int) -> None:
    spec = guided.FreeText(stop="</think>", max_tokens=12) + guided.JsonSchema(City).named("city")
    result = guided.generator(_model(seed), spec)("p", max_tokens=80, temperature=1.0, seed=seed)
    thought, _, answer = result.text.partition("</think>")
    assert len(thought.encode()) + len("</think>") <= 12
    assert result.captures["city"] == City.model_validate_json(answer)


def test_no_token_is_read_beyond_the_budget_of_a_part() -> None:
    spec = guided.FreeText(max_tokens=3) + guided.Maybe("!" + guided.FreeText(stop=".", max_tokens=2)) + "?"
    index = guided.compile(spec, _model().vocabulary)
    for text in ("ab?", "abc?", "abc!a.?", "abc!.?", "!.?"):
        guide = index.guide()
        for byte in text.encode():
            allowed = guide.mask()
            for token in range(257):
                assert (index.next(guide.state, token) >= 0) == bool(allowed[token >> 5] >> (token & 31) & 1)
            guide.advance(byte)
        assert guide.is_accepting
    for text in ("abcd", "abc!ab"):
        guide = index.guide()
        assert guide.advance_many(text.encode()) == len(text) - 1


def test_a_budget_that_no_text_fits_is_refused() -> None:
    with pytest.raises(guided.LimitError, match="max_tokens"):
        guided.generator(_model(), guided.FreeText(stop="</think>", max_tokens=3) + guided.FreeText())


def test_special_tokens_spell_literals_and_stop_strings() -> None:
    model = _model(special={"</think>": 257, "<tool_call>": 258})
    spec = guided.FreeText(stop="</think>").named("thought") + "<tool_call>" + guided.JsonSchema({"type": "null"})
    guide = guided.compile(spec, model.vocabulary).guide()
    for token in (104, 257, 258, *b"null"):
        guide.advance(token)
    assert guide.is_accepting
    result = guided.generator(model, spec)("p", max_tokens=40, temperature=1.0, seed=1)
    assert guided.captures(spec, result.text) == result.captures


def test_validators_of_types_run() -> None:
    class Even(BaseModel):
        n: int

        def model_post_init(self, _context: Any) -> None:
            raise ValueError("never")

    spec = "x" + guided.JsonSchema(Even).named("even")
    events = guided.generator(_model(), spec).stream("p", max_tokens=30)
    result = next(event.result for event in events if isinstance(event, Done))
    assert isinstance(result.error, guided.SchemaError)
    with pytest.raises(guided.SchemaError, match="never"):
        guided.captures(spec, 'x{"n":1}')


def test_parts_are_checked() -> None:
    with pytest.raises(
        TypeError, match="a part must be a spec, a str, a type, a list of choices or a function, not int"
    ):
        guided.Maybe(3)
    with pytest.raises(TypeError, match="write JsonSchema"):
        guided.Repeat(True)
    with pytest.raises(TypeError):
        guided.Regex("a") + 3  # type: ignore[operator]
    with pytest.raises(ValueError, match="min must be from 0 to max, not min=2, max=1"):
        guided.Repeat("a", 2, 1)
    with pytest.raises(ValueError, match="stop must not be an empty str"):
        guided.FreeText(stop="")
    with pytest.raises(ValueError, match="max_tokens must be at least 1, not 0"):
        guided.FreeText(max_tokens=0)
    with pytest.raises(ValueError, match="a lone surrogate"):
        guided.Maybe("\ud800")
    nested: Any = "a"
    for _ in range(200):
        nested = guided.Maybe(nested)
    with pytest.raises(guided.LimitError, match="the composition nests too deeply"):
        guided.Maybe(nested)
