"""Planners: thoughts, actions and observations take turns until an answer is given; and what a text of several segments keeps."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from guided.calls.formats.files import format_named
from guided.calls.parse import parse_text
from guided.calls.spec import Tools
from guided.engine.compile import compile  # noqa: A004
from guided.errors import LimitError, SchemaError
from guided.events import Result
from guided.generate.api import tools
from guided.generate.function_model import FunctionModel
from guided.generate.tools import ToolsGenerator
from tests.calls.wanting import VOCABULARY, Wanting


def look_up(name: str) -> str:
    return f"{name} is old"


def add(a: int, b: int) -> int:
    return a + b


def finish(answer: str) -> str:
    if answer == "no":
        raise ValueError("answer the question")
    return answer


PLAN = """Thought: I take the Action of looking. Action: none yet, Action Input: {}
Action: look_up
Action Input: {"name": "Rome"}
Observation: Rome is old
Thought: Action comes next.
Action: add
Action Input: {"a": 1, "b": 2}
Observation: 3
Thought: I know.
Action: finish
Action Input: {"answer": "old, and 3"}"""
INVENTORY = [look_up, add, finish]


def random_model(seed: int = 0) -> FunctionModel:
    """Says anything, and likes what begins calls."""

    def logits(tokens: list[int]) -> np.ndarray:
        found = np.random.default_rng([seed, *tokens]).normal(size=VOCABULARY.size)
        found[[ord("<"), 256, 257]] += 3
        return found

    return FunctionModel(logits, VOCABULARY, lambda text: list(text.encode()))


def planner(text: str = PLAN, **options: Any) -> ToolsGenerator:
    return tools(Wanting(text), INVENTORY, format="react", until="finish", **options)


def named(result: Any) -> list[str]:
    assert isinstance(result, Result)
    return [call.name for call in result.calls]


def test_T4_thoughts_actions_and_observations_take_turns() -> None:
    result = planner()("?", max_tokens=300)
    assert result.text == PLAN
    assert [(call.name, call.result) for call in result.calls] == [  # type: ignore[attr-defined]
        ("look_up", "Rome is old"),
        ("add", 3),
        ("finish", "old, and 3"),
    ]
    assert result.finish_reason == "stop"


def test_T4_the_word_action_in_a_thought_does_not_switch() -> None:
    """Only a line that begins so does; neither the word, nor ``Action:`` within a line, nor a name of a tool."""
    thought = "Thought: Action! Action: add, Action Input: {} look_up(1)\n Action: add\nAction : add\nActions: add\n"
    text = f'{thought}Action: add\nAction Input: {{"a": 4, "b": 5}}\nObservation: 9\nyes'
    result = tools(Wanting(text), INVENTORY, format="react")("?")
    assert result.text == text
    assert named(result) == ["add"]
    spec = Tools(INVENTORY, "react")
    index = compile(spec, VOCABULARY)
    assert index.accepts(thought.encode())
    assert not index.accepts(thought.encode() + b"\nAction: subtract")
    guide = index.guide()
    assert guide.advance_many(list(b"Thought: the Action")) == len(b"Thought: the Action")
    mask = guide.mask()
    assert all(int(mask[token >> 5]) >> (token & 31) & 1 for token in range(256))


def test_a_text_continues_until_the_tool_is_called() -> None:
    """The model would end after the first observation; it is led to go on."""
    short = PLAN[: PLAN.index("Thought: Action comes")]
    result = planner(short)("?", max_tokens=200)
    assert result.text.startswith(short)
    assert named(result)[-1] == "finish"
    assert named(result).count("finish") == 1


def test_the_text_continues_after_the_last_tool_refuses() -> None:
    text = """\nAction: finish
Action Input: {"answer": "no"}
Observation: error: ValueError: answer the question
Thought: well.
Action: finish
Action Input: {"answer": "yes"}"""
    result = planner(text)("?", max_tokens=200)
    assert result.text == text
    assert [call.result for call in result.calls] == [None, "yes"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("form", ["react", "tooldec", "json", "hermes"])
def test_T28_a_plan_ends_within_any_budget(form: str) -> None:
    made = tools(random_model(), INVENTORY, format=form, until="finish")
    least = compile(Tools([finish], form).first_call(must_call=True), VOCABULARY).guide().remaining
    with pytest.raises(LimitError, match="max_tokens"):
        made("?", max_tokens=least - 1)
    for budget in [*range(least, least + 12), *range(least + 12, 5 * least, 37)]:
        result = made("?", max_tokens=budget, temperature=1.0, seed=budget)
        assert len(result.tokens) <= budget
        names = named(result)
        if result.calls[-1].error is None:  # type: ignore[attr-defined]
            assert (names[-1], names.count("finish")) == ("finish", 1)
        else:
            assert result.steered is not None
        assert result.finish_reason == ("stop" if result.steered is None else "length")


def test_T28_the_last_tokens_are_for_the_answer() -> None:
    """A model that thinks on and on is stopped in time, and gives an answer."""
    made = planner("Thought: " + "well, " * 1000)
    for budget in range(45, 200, 7):
        result = made("?", max_tokens=budget)
        assert named(result)[-1:] == ["finish"]
        assert len(result.tokens) <= budget


def test_results_that_leave_too_little_of_the_context_end_the_text() -> None:
    def long() -> str:
        return "x" * 60

    class Short(Wanting):
        def __init__(self, text: str, context_length: int) -> None:
            super().__init__(text)
            self.context_length = context_length

    text = (
        "\nAction: long\nAction Input: {}\nObservation: "
        + "x" * 60
        + '\n\nAction: finish\nAction Input: {"answer": ""}'
    )
    for length in range(80, 170, 5):
        result = tools(Short(text, length), [long, finish], format="react", until="finish")("?", max_tokens=300)
        if named(result) == ["long"]:
            assert result.finish_reason == "length"
            assert "Observation" not in result.text
        else:
            assert named(result)[-1] == "finish"
    assert result.text == text


def test_a_planner_is_a_format_in_a_few_words() -> None:
    """With the next thought begun for the model."""
    form = replace(format_named("react"), name="mine", result="\nObservation: {result}\nThought:")
    text = PLAN.replace("Observation: 3\nThought: I", "Observation: 3\nThought: I")
    made = tools(Wanting(text), INVENTORY, format=form, until="finish")
    result = made("?", max_tokens=300)
    assert result.text == text
    assert "Thought" not in VOCABULARY.decode(result.tokens).decode()[10:]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"until": "end"}, SchemaError, "unknown tool 'end'; known tools are look_up, add, finish"),
        ({"until": "finish", "tool_choice": "required"}, ValueError, "until= needs tool_choice='auto'"),
        ({"until": "finish", "execute": False, "parallel_tool_calls": True}, ValueError, "calls that are run"),
    ],
)
def test_conflicting_options_are_refused(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        tools(Wanting(""), INVENTORY, format="tooldec", **options)


def test_a_text_that_ends_with_its_first_call_does_not_continue() -> None:
    spec = Tools(INVENTORY, "tooldec").first_call()
    with pytest.raises(ValueError, match=r"texts that continue after a call, not a first_call\(\)"):
        tools(Wanting(""), spec, until="finish")
    with pytest.raises(ValueError, match="leave index= out"):
        tools(Wanting(""), INVENTORY, format="tooldec", until="finish", index=compile(spec, VOCABULARY))


def test_reasoning_with_a_beginning_may_follow_each_result() -> None:
    text = "<think>a <T></think>So <T>add(1, 2)=3<think>b <T>add(</think>or <T>add(3, 4)=7."
    made = tools(Wanting(text), [add], format="tooldec-positional", reasoning=("<think>", "</think>"))
    result = made("?", max_tokens=120)
    assert result.text == text
    assert named(result) == ["add", "add"]


def test_reasoning_begun_by_the_prompt_occurs_once() -> None:
    text = "a <T></think>So <T>add(1, 2)=3 and </think> <T>add(3, 4)=7."
    made = tools(Wanting(text), [add], format="tooldec-positional", reasoning=("", "</think>"))
    result = made("?", max_tokens=120)
    assert result.text == text
    assert named(result) == ["add", "add"]
    model = Wanting('a</think><T>finish("x")=x')
    ended = tools(model, INVENTORY, format="tooldec-positional", until="finish", reasoning=("", "</think>"))
    assert named(ended("?", max_tokens=120)) == ["finish"]


@pytest.mark.parametrize("most", [1, 2, 3])
def test_calls_that_are_run_are_counted_too(most: int) -> None:
    text = "a <T>add(1, 2)=3 <T>add(3, 4)=7 <T>add(5, 6)=11 <T>add(7, 8)=15 b"
    made = tools(Wanting(text), [add], format="tooldec-positional", parallel_tool_calls=(1, most))
    result = made("?", max_tokens=80)
    assert named(result) == ["add"] * most
    assert result.text.count("<T>") == most


@pytest.mark.slow
@pytest.mark.parametrize("fewest", [2, 3])
def test_no_call_is_missing_at_the_end(fewest: int) -> None:
    made = tools(Wanting("a <T>add(1, 2)=3 b"), [add], format="tooldec-positional", parallel_tool_calls=(fewest, 4))
    assert fewest <= len(named(made("?", max_tokens=100))) <= 4
    assert named(tools(Wanting("nothing"), [add], format="tooldec-positional", parallel_tool_calls=(2, 4))("?")) == []
    for budget in range(1, 60):
        made = tools(random_model(fewest), [add], format="tooldec-positional", parallel_tool_calls=(fewest, 4))
        result = made("?", max_tokens=budget, temperature=1.0, seed=budget)
        assert len(result.tokens) <= budget
        assert len(named(result)) in {0, *range(fewest, 5)}
        parse_text(VOCABULARY.decode(result.tokens), Tools([add], "tooldec-positional"))
