"""`guided.tools`: text, call, result, text; what the model reads; budgets, stops, options.

Models are functions here; one test has the real one.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pytest

from guided.calls.parse import parse_text
from guided.calls.prompts import STOP
from guided.calls.reads import Call
from guided.calls.spec import Tools
from guided.calls.tool import Tool
from guided.engine.compile import compile  # noqa: A004
from guided.engine.specs import Regex
from guided.errors import IndexFormatError, LimitError, SchemaError, VocabularyError
from guided.events import Done, Result, Text, ToolArgument, ToolCall, ToolCallStarted, ToolResult
from guided.generate.api import generator, tools
from guided.generate.function_model import FunctionModel
from guided.generate.tools import ToolsGenerator
from guided.integrations.openai_chunks import openai_chunks
from guided.vocabulary.vocabulary import Vocabulary
from tests.calls.test_prompts import PLAIN, TOOLS
from tests.calls.wanting import SPECIAL, VOCABULARY, Wanting
from tests.generate.models import default_model


def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


def fail(x: int) -> int:
    raise LookupError(f"no {x}")


def get_weather(city: str, day: Literal["today", "tomorrow"] = "today") -> str:
    return f"snow in {city}"


ADDED = "It is <T>add(1, 2)=3 and so on"


def positional(text: str, *functions: Any, **options: Any) -> ToolsGenerator:
    return tools(Wanting(text), functions or [add], format="tooldec-positional", **options)


def test_T25_the_result_is_inserted_and_text_continues() -> None:
    result = positional(ADDED)("?")
    assert isinstance(result, Result)
    assert result.text == ADDED
    (call,) = result.calls
    assert (call.name, call.arguments, call.result, call.error) == ("add", {"a": 1, "b": 2}, 3, None)
    assert result.text[slice(*call.span)] == "<T>add(1, 2)="
    assert result.value == [call]
    assert result.finish_reason == "stop"
    # The model's own tokens: neither the result's nor the end.
    assert VOCABULARY.decode(result.tokens).decode() == "It is <T>add(1, 2)= and so on"


def test_T25_calls_follow_each_other_and_may_begin_and_end_a_text() -> None:
    text = "<T>add(1, 2)=3<T>add(3, -5)=-2 é <T>add(+1, 1)=2"
    result = positional(text)("?")
    assert result.text == text
    assert [call.result for call in result.calls] == [3, -2, 2]
    assert [text[slice(*call.span)] for call in result.calls] == ["<T>add(1, 2)=", "<T>add(3, -5)=", "<T>add(+1, 1)="]


def test_T25_no_token_reaches_beyond_the_end_of_a_call() -> None:
    """``=3`` and ``)= `` are tokens that the model prefers; the result has to come between."""
    for text in (ADDED, "<T>add(1, 2)=3 = 3"):
        result = positional(text)("?")
        assert result.text == text
        pieces = [VOCABULARY[token] for token in result.tokens]
        assert b"=3" not in pieces
        assert b")= " not in pieces
    # Where calls are not run, nothing has to come between.
    result = positional("<T>add(1, 2)= so", execute=False, parallel_tool_calls=True)("?")
    assert b")= " in [VOCABULARY[token] for token in result.tokens]


def test_T25_the_model_reads_on_without_reading_again() -> None:
    generator = positional(ADDED)
    generator("?")
    asked = generator.model.asked  # type: ignore[attr-defined]
    assert asked[0] == b"?"
    for one, two in itertools.pairwise(asked):
        assert two.startswith(one)
    assert b"?It is <T>add(1, 2)=3" in asked


def test_streams_report_events_in_order() -> None:
    events = list(positional(ADDED).stream("?"))
    call = Call("add", {"a": 1, "b": 2}, (6, 19))
    done = Call("add", {"a": 1, "b": 2}, (6, 19), 3)
    others = [event for event in events if not isinstance(event, Text)]
    assert others[:-1] == [
        ToolCallStarted("add"),
        ToolArgument("a", 1, "1"),
        ToolArgument("b", 2, "2"),
        ToolCall(call, "<T>add(1, 2)="),
        ToolResult(done, "3"),
    ]
    last = events[-1]
    assert isinstance(last, Done)
    assert last.result == positional(ADDED)("?")
    joined = "".join(event.text for event in events if isinstance(event, Text | ToolCall | ToolResult))
    assert joined == last.result.text
    first = next(place for place, event in enumerate(events) if not isinstance(event, Text))
    assert "".join(event.text for event in events[:first]) == "It is "  # type: ignore[attr-defined]


def test_batches_give_the_results_of_single_calls() -> None:
    generator = positional(ADDED, add, call_prompt="[add numbers]?It is ")
    for width in (1, 2, 3):
        results = generator.batch(["?", "And?", "So then?"], width=width)
        assert [result.text for result in results] == [ADDED] * 3
        assert [result.calls for result in results] == [generator("?").calls] * 3


def test_T24_a_prompt_is_injected_when_a_call_begins_and_the_context_restored() -> None:
    generator = positional(ADDED, call_prompt="\nThe tool is add(a, b).?It is ")
    result = generator("?")
    assert result.text == ADDED
    asked = generator.model.asked  # type: ignore[attr-defined]
    injected = b"?It is <T>add(" + b"\nThe tool is add(a, b).?It is " + b"<T>add("
    within = [context for context in asked if context.startswith(injected)]
    assert within[0] == injected
    assert within[-1].startswith(injected + b"1, 2")
    outside = [context for context in asked if b"The tool" not in context]
    assert outside[0] == b"?"
    assert outside[-1] == b"?" + ADDED.encode()
    assert b"?It is <T>add(1, 2)=3" in outside


def test_T24_the_prompt_may_depend_on_the_text() -> None:
    said: list[str] = []

    def prompt(text: str) -> str:
        said.append(text)
        return "!?" + text

    result = positional(ADDED.replace("=3 and", "=3 <T>add(4, 5)=9 and"), call_prompt=prompt)("?")
    assert said == ["It is ", "It is <T>add(1, 2)=3 "]
    assert [call.arguments for call in result.calls] == [{"a": 1, "b": 2}, {"a": 4, "b": 5}]


def test_T24_the_prompt_waits_for_the_end_of_a_character() -> None:
    """The trigger and half of a character are one token."""

    def größe(x: int) -> int:
        return x

    def grün(x: int) -> int:
        return x

    begun = "<T>grö".encode()[:-1]
    vocabulary = Vocabulary([*(bytes([value]) for value in range(256)), begun], eos=[280], size=281)
    model = Wanting("Die <T>größe(5)=5.", vocabulary)
    result = tools(model, [größe, grün], format="tooldec-positional", call_prompt="[call]?Die ")("?")
    assert result.text == "Die <T>größe(5)=5."
    within = [context for context in model.asked if b"[call]" in context]
    assert within[0] == b"?Die " + "<T>grö[call]?Die <T>größe(".encode()


def test_T24_a_required_call_has_its_prompt_from_the_start() -> None:
    model = Wanting("add(1, 2)", pieces=False)
    made = tools(model, [add, fail], format="tooldec-positional", tool_choice="required", call_prompt="[call]?")
    assert made("?").text == "add(1, 2)"
    assert model.asked[0] == b"?[call]?"


def test_T24_a_call_whose_tokens_are_all_forced_is_restored_too() -> None:
    def only() -> int:
        return 7

    model = Wanting("<T>only()=7.", pieces=False)
    result = tools(model, [only], format="tooldec-positional", call_prompt="[call]?")("?")
    assert result.text == "<T>only()=7."
    assert model.asked[-1] == b"?<T>only()=7."
    assert not any(context.endswith(b"[call]?") for context in model.asked)


@pytest.mark.parametrize("budget", range(1, 32))
def test_T28_a_budget_never_cuts_a_call(budget: int) -> None:
    generator = positional("So <T>add(123456789, 987654321)=1111111110 it is <T>add(1, 2)=3 yes yes yes yes")
    result = generator("?", max_tokens=budget)
    assert len(result.tokens) <= budget
    parse_text(VOCABULARY.decode(result.tokens), generator.spec)
    # A call that the model would have made longer is closed in time.
    shortest = len("So ") + len([b"<T>add(", b"1", b",", b"2", b")="])
    assert bool(result.calls) == (budget >= shortest)


def test_T28_with_a_random_model_at_any_budget() -> None:
    def logits(tokens: list[int]) -> np.ndarray:
        found = np.random.default_rng([5, *tokens]).normal(size=VOCABULARY.size)
        found[[ord("<"), 256, 257]] += 3
        return found

    model = FunctionModel(logits, VOCABULARY, lambda text: list(text.encode()))
    generator = tools(model, [add, get_weather], format="tooldec")
    for budget in range(1, 60, 3):
        result = generator(f"{budget}?", max_tokens=budget, temperature=1.0, seed=budget)
        assert len(result.tokens) <= budget
        parse_text(VOCABULARY.decode(result.tokens), generator.spec)


def test_stop_strings_apply_to_text_and_not_within_calls() -> None:
    text = 'A <T>get_weather("Q: x")=snow in Q: x. Yes.\nQ: no'
    result = tools(Wanting(text), [get_weather], format="tooldec-positional")("?", stop=["\nQ:", 'Q: x")'])
    assert result.text == 'A <T>get_weather("Q: x")=snow in Q: x. Yes.'
    assert result.finish_reason == "stop_string"


def test_a_stop_string_may_begin_in_an_inserted_result() -> None:
    text = '<T>get_weather(city="X") = snow in X\nQ: no'
    result = tools(Wanting(text), [get_weather], format="tooldec")("?", stop=STOP)
    assert result.text == '<T>get_weather(city="X") = snow in X\n'
    assert result.finish_reason == "stop_string"


def test_a_stop_string_ends_the_text_before_a_call_in_the_same_token() -> None:
    vocabulary = Vocabulary([*(bytes([value]) for value in range(256)), b".<T>add("], eos=[280], size=281)
    result = tools(Wanting("So.<T>add(1, 2)=3", vocabulary), [add], format="tooldec-positional")("?", stop=".")
    assert (result.text, result.calls) == ("So", ())


@pytest.mark.parametrize("options", [{"execute": False}, {}], ids=["not executed", "nothing to run"])
def test_a_call_that_is_not_run_ends_the_text(options: dict[str, Any]) -> None:
    definition = {
        "name": "add",
        "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
    }
    result = tools(Wanting("So <T>add(5)=5 and"), [definition], format="tooldec-positional", **options)("?")
    assert result.text == "So <T>add(5)="
    assert result.finish_reason == "tool_calls"
    assert [(call.arguments, call.result) for call in result.calls] == [({"a": 5}, None)]


ADD_5 = {"name": "add", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}}
IN_TEXT = '<tool_call>{"name": "add", "arguments": {"a": 5}}</tool_call>'
ALONE = '{"name": "add", "arguments": {"a": 5}}'
# Text, options and the reason why it ends where calls are not run; and where they are run.
ENDINGS: list[tuple[str, dict[str, Any], str, str]] = [
    (f"So {IN_TEXT}", {}, "tool_calls", "stop"),
    (f"So {IN_TEXT}{IN_TEXT} done", {"parallel_tool_calls": True}, "tool_calls", "stop"),
    ("no call", {}, "stop", "stop"),
    ("no call", {"tool_choice": "none"}, "stop", "stop"),
    ("no call. End", {"stop": "."}, "stop_string", "stop_string"),
    (f"{IN_TEXT} a. End", {"stop": ".", "parallel_tool_calls": True}, "stop_string", "stop"),
    ("long" * 9, {"max_tokens": 9}, "length", "length"),
    (ALONE, {"tool_choice": "required"}, "tool_calls", "stop"),
    (ALONE, {"tool_choice": "add"}, "tool_calls", "stop"),
    (ALONE, {"tool_choice": ["add"]}, "tool_calls", "stop"),
    (f"[{ALONE}, {ALONE}]", {"tool_choice": "required", "parallel_tool_calls": True}, "tool_calls", "stop"),
    (f"[{ALONE}, {ALONE}]", {"tool_choice": "required", "parallel_tool_calls": (2, 3)}, "tool_calls", "stop"),
    (f"So {IN_TEXT}", {"until": "add"}, "tool_calls", "stop"),
]


@pytest.mark.parametrize(("text", "options", "waiting", "run"), ENDINGS, ids=str)
@pytest.mark.parametrize("execution", ["not executed", "nothing to run", "run"])
def test_the_reason_why_a_text_ends_says_whether_calls_wait(
    text: str, options: dict[str, Any], waiting: str, run: str, execution: str
) -> None:
    options = dict(options)
    called = {name: options.pop(name) for name in ("stop", "max_tokens") if name in options}
    tool = Tool(ADD_5, run=None if execution == "nothing to run" else lambda a: a + 1)
    if execution == "run":
        # The model has lost its place once a result has been inserted, and ends.
        expected = run
    else:
        expected = waiting
    if execution == "nothing to run" and options.get("parallel_tool_calls") is True and "tool_choice" not in options:
        expected = "tool_calls"  # Where calls are run, the first that cannot be run ends the text.
    assistant = tools(Wanting(text), [tool], execute=execution != "not executed", **options)
    result = assistant("?", **called)
    assert result.finish_reason == expected
    events = list(assistant.stream("?", **called))
    assert isinstance(events[-1], Done)
    assert events[-1].result == result
    chunks = list(openai_chunks(events))
    # OpenAI's protocol has no reason of its own for stop strings.
    said = ("tool_calls" if result.calls else "stop") if expected == "stop_string" else expected
    assert chunks[-1]["choices"][0]["finish_reason"] == said


def test_a_definition_with_something_to_run_is_run() -> None:
    definition = {"name": "add", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}
    tool = Tool(definition, run=lambda a: a + 1)
    assert tools(Wanting("<T>add(5)=6."), [tool], format="tooldec-positional")("?").text == "<T>add(5)=6."


def test_calls_that_are_not_run_may_follow_each_other() -> None:
    text = "<T>add(1, 2)=<T>add(3, 4)= done"
    result = positional(text, execute=False, parallel_tool_calls=True)("?")
    assert result.text == text
    assert [call.arguments["a"] for call in result.calls] == [1, 3]


def test_exceptions_of_tools_are_shown_to_the_model_or_raised() -> None:
    text = "<T>fail(4)=error: LookupError: no 4, sorry"
    result = positional(text, fail)("?")
    assert result.text == text
    assert isinstance(result.calls[0].error, LookupError)
    with pytest.raises(LookupError, match="no 4"):
        positional(text, fail, errors="raise")("?")


@dataclass
class Positive:
    n: int

    def __post_init__(self) -> None:
        if self.n < 0:
            raise ValueError("negative")


def test_an_argument_that_its_class_refuses_is_shown_as_an_error() -> None:
    def f(x: Positive) -> int:
        return x.n

    result = positional('<T>f({"n": -1})=', f)("?")
    assert str(result.calls[0].error).startswith(
        "invalid value for argument 'x': the value is invalid: Value error, negative"
    )
    assert result.text.startswith('<T>f({"n": -1})=error: CallError: ')


def test_a_required_call_is_run_after_it_is_complete() -> None:
    model = Wanting('{"name": "add", "arguments": {"a": 1, "b": 2}}')
    result = tools(model, [add], tool_choice="required")("?")
    assert result.text == '{"name": "add", "arguments": {"a": 1, "b": 2}}'
    assert [call.result for call in result.calls] == [3]
    assert result.text[slice(*result.calls[0].span)] == result.text
    assert result.finish_reason == "stop"


def test_several_required_calls_are_run() -> None:
    one = '{"name": "add", "arguments": {"a": 1, "b": 2}}'
    result = tools(Wanting(f"[{one}, {one}]"), [add], tool_choice="required", parallel_tool_calls=True)("?")
    assert [call.result for call in result.calls] == [3, 3]
    assert [result.text[slice(*call.span)] for call in result.calls] == [one, one]
    events = list(tools(Wanting(one), [add], tool_choice="add").stream("?"))
    assert [type(event) for event in events][-3:] == [ToolCall, ToolResult, Done]


def test_none_never_calls() -> None:
    result = tools(Wanting("a <T>add(1, 2)=3"), [add], format="tooldec-positional", tool_choice="none")("?")
    assert result.calls == ()
    assert "<T>" not in result.text


def test_special_tokens_of_the_format_are_used_and_shown() -> None:
    call = '<tool_call>{"name": "add", "arguments": {"a": 1, "b": 2}}</tool_call>'

    class Marking(Wanting):
        def _logits(self, tokens: list[int]) -> np.ndarray:
            logits = super()._logits(tokens)
            said = self.asked[-1][self.asked[-1].rindex(b"?") + 1 :]
            for name, token in SPECIAL.items():
                if self.text.startswith(said + name.encode()):
                    logits[token] = 100
            return logits

    text = f"So {call}\n<tool_response>\n3\n</tool_response>\nDone."
    result = tools(Marking(text), [add])("?")
    assert result.text == text
    assert set(SPECIAL.values()) <= set(result.tokens)
    assert [call.result for call in result.calls] == [3]


def test_an_index_may_be_compiled_before() -> None:
    spec = Tools([add], "tooldec-positional")
    for index in (compile(spec, VOCABULARY), compile(spec.first_call(), VOCABULARY)):
        result = tools(Wanting(ADDED), spec, index=index)("?")
        assert result.text == ADDED
    whole = compile(spec, VOCABULARY)
    assert tools(Wanting(ADDED), spec, index=whole, execute=False)("?").text == "It is <T>add(1, 2)="


def test_indices_of_something_else_are_refused() -> None:
    spec = Tools([add], "tooldec-positional")
    with pytest.raises(IndexFormatError, match="compiled from another spec"):
        tools(Wanting(""), spec, index=compile(Regex("a"), VOCABULARY))
    with pytest.raises(IndexFormatError, match="compiled from another spec"):
        tools(Wanting(""), spec, index=compile(Tools([fail], "tooldec-positional"), VOCABULARY))
    other = Vocabulary([bytes([value]) for value in range(256)], eos=[256], size=257)
    for index in (compile(spec, other), compile(spec.first_call(), other)):
        with pytest.raises(VocabularyError, match="compiled for another vocabulary"):
            tools(Wanting(""), spec, index=index)
    with pytest.raises(TypeError, match="index must be an Index"):
        tools(Wanting(""), spec, index=3)  # type: ignore[arg-type]


def test_generator_makes_one_of_a_spec() -> None:
    made = generator(Wanting(ADDED), Tools([add], "tooldec-positional"))
    assert isinstance(made, ToolsGenerator)
    assert made("?").text == ADDED
    assert repr(made) == "<ToolsGenerator of <Tools add; format 'tooldec-positional', tool_choice 'auto'>>"


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: tools(3, [add]), TypeError, "model must be a guided.Model"),
        (lambda: tools(Wanting(""), []), SchemaError, "tools is empty"),
        (lambda: tools(Wanting(""), [add, add]), SchemaError, "two tools have this name"),
        (lambda: tools(Wanting(""), [add], errors="hide"), ValueError, "errors must be 'show' or 'raise', not 'hide'"),
        (
            lambda: tools(Wanting(""), [add], select="best"),
            ValueError,
            "select must be 'greedy' or 'probability', not 'best'",
        ),
        (lambda: tools(Wanting(""), [add], format="xml"), SchemaError, "unknown format 'xml'"),
        (lambda: tools(Wanting(""), [add], tool_choice="required")("?", max_tokens=5), LimitError, "max_tokens"),
        (lambda: tools(Wanting(""), [add], format="tooldec").few_shot("?"), SchemaError, "no tool has examples"),
    ],
)
def test_errors_are_raised_before_the_first_token(
    make: Callable[[], Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as caught:
        make()
    assert message in str(caught.value)


def test_a_result_that_does_not_fit_the_context_ends_the_text() -> None:
    class Short(Wanting):
        def __init__(self, text: str, context_length: int) -> None:
            super().__init__(text)
            self.context_length = context_length

    def long() -> str:
        return "x" * 50

    text = "<T>long()=" + "x" * 50
    result = tools(Short(text, 40), [long], format="tooldec-positional")("?")
    assert result.text == "<T>long()="
    assert result.finish_reason == "length"
    assert result.calls[0].result == "x" * 50
    assert tools(Short(text, 70), [long], format="tooldec-positional")("?").text == text


def test_guided_tool_calls_have_no_errors_where_unguided_ones_have() -> None:
    """A model that writes an unknown name and a wrong argument is led to the nearest that is allowed."""
    result = positional("<T>adder(1.5, x)=", add)("?")
    assert [call.name for call in result.calls] == ["add"]
    parse_text(VOCABULARY.decode(result.tokens), Tools([add], "tooldec-positional"))


def ab() -> int:
    return 1


def ba() -> int:
    return 2


def abba() -> int:
    return 3


class Myopic(FunctionModel):
    """Begins with ``a`` sooner than with ``b``, but is sure of ``ba`` as a whole."""

    def __init__(self, before: str) -> None:
        super().__init__(self._logits, VOCABULARY, lambda said: list(said.encode()))
        self.before = before.encode()

    def _logits(self, tokens: list[int]) -> np.ndarray:
        said = self.vocabulary.decode(tokens)
        said = said[said.rindex(b"?") + 1 :]
        logits = np.zeros(self.vocabulary.size)
        wanted = {b"": {b"a": 8.6, b"b": 8.2}, b"a": {b"x": 20}, b"ab": {b"x": 20}, b"b": {b"a": 20}, b"ba": {b"(": 20}}
        if self.before.startswith(said) and said != self.before:
            logits[self.before[len(said)]] = 30
        elif said.startswith(self.before):
            for piece, logit in wanted.get(said[len(self.before) :], {b" ": 20}).items():
                logits[piece[0]] = logit
        return logits


@pytest.mark.parametrize(
    ("before", "options"),
    [
        ("So <T>", {"format": "tooldec"}),
        ("", {"format": "tooldec", "tool_choice": "required"}),
        ('{"name": "', {"tool_choice": "required"}),
    ],
)
def test_names_chosen_by_probability_are_chosen_as_a_whole(before: str, options: dict[str, Any]) -> None:
    greedy, whole = (
        tools(Myopic(before), [ab, ba, abba], select=select, **options)("?", max_tokens=60).calls[0].name
        for select in ("greedy", "probability")
    )
    assert greedy.startswith("ab")
    assert whole == "ba"


def test_names_chosen_as_a_whole_fit_the_budget_and_the_injected_prompt() -> None:
    made = tools(Myopic("<T>"), [ab, ba, abba], format="tooldec", select="probability", call_prompt="?")
    result = made("?", max_tokens=40)
    assert result.calls[0].name == "ba"
    for budget in range(1, 12):
        result = made("?", max_tokens=budget)
        assert len(result.tokens) <= budget
        parse_text(VOCABULARY.decode(result.tokens), made.spec)


def test_T1_only_allowed_tokens_have_mass() -> None:
    """Whatever a model prefers, each token that it is given was allowed where it came."""

    def logits(tokens: list[int]) -> np.ndarray:
        return np.random.default_rng([9, *tokens]).normal(size=VOCABULARY.size) * 2

    model = FunctionModel(logits, VOCABULARY, lambda text: list(text.encode()))
    made = tools(model, [add, get_weather], format="tooldec", tool_choice="required")
    for seed in range(10):
        result = made("?", max_tokens=80, temperature=1.5, seed=seed)
        guide = made.index.guide()
        assert guide.advance_many(result.tokens) == len(result.tokens)
        assert guide.is_accepting
        assert parse_text(result.text, made.spec)[0].arguments == result.calls[0].arguments


@pytest.mark.model
def test_a_real_model_calls_a_real_tool_and_answers_from_its_result() -> None:
    made = tools(default_model(), TOOLS, format="tooldec")
    prompt = made.few_shot("Will it be sunny in Berlin tomorrow?", PLAIN)
    result = made(prompt, max_tokens=60, stop=STOP)
    (call,) = result.calls
    assert (call.name, call.arguments) == ("get_weather", {"city": "Berlin", "day": "tomorrow"})
    assert call.result == "sunny, 21 C"
    assert ") = sunny, 21 C\n" in result.text
    assert "Berlin" in result.text.partition("21 C\n")[2]
    assert made(prompt, max_tokens=60, stop=STOP) == result


@pytest.mark.parametrize("given", ["spec", "index of spec"])
def test_the_text_of_a_first_call_ends_with_it(given: str) -> None:
    for must_call in (False, True):
        spec = Tools([add], "tooldec-positional").first_call(must_call)
        whole = spec if given == "spec" else compile(spec, VOCABULARY)
        result = generator(Wanting("It is <T>add(1, 2)= and more"), whole)("?")
        assert (result.text, [call.result for call in result.calls]) == ("It is <T>add(1, 2)=", [3])
        said = generator(Wanting("No."), whole)("?", max_tokens=40)
        assert bool(said.calls) == must_call
        assert (said.text == "No.") != must_call
