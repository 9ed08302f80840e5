"""`guided.Context`: parameters that the program gives, and the model neither sees nor writes."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

import guided
from tests.generate.models import ascii_model


@dataclass
class User:
    """Who is served."""

    name: str


def pay(user: guided.Context[User], amount: bool, note: bool = True) -> str:
    """Pay."""
    return f"{user.name} {amount} {note}"


async def pay_async(amount: bool, user: guided.Context[User]) -> str:
    """Pay."""
    return f"{user.name} {amount}"


def pay_by_position(amount: bool, /, user: guided.Context[User], *notes: bool) -> str:
    """Pay."""
    return f"{user.name} {amount} {notes}"


class Payment:
    """An object that is called."""

    __name__ = "payment"

    def __call__(self, user: guided.Context[User], amount: bool) -> str:
        """Pay."""
        return f"{user.name} {amount}"

    def method(self, amount: bool, user: guided.Context[User]) -> str:
        """Pay."""
        return f"{user.name} {amount}"


TOOLS: list[Any] = [pay, pay_async, pay_by_position, Payment(), Payment().method, partial(pay, note=False)]
ANN = User("Ann")


def generator(tool: Any, **options: Any) -> Any:
    return guided.tools(ascii_model(), [guided.Tool(tool, name="pay")], tool_choice="required", **options)


@pytest.mark.parametrize("tool", TOOLS)
def test_the_model_neither_sees_nor_writes_it(tool: Any) -> None:
    made = guided.Tool(tool, name="pay")
    assert "user" not in json.dumps(made.to_openai()) + made.signature
    result = generator(tool)("p", context=ANN, max_tokens=90)
    (call,) = result.calls
    assert call.error is None
    assert call.result.startswith("Ann ")
    assert "user" not in call.arguments
    assert "user" not in result.text


@pytest.mark.parametrize("tool", TOOLS)
def test_every_way_gives_it(tool: Any) -> None:
    made = generator(tool)
    options: dict[str, Any] = {"context": ANN, "max_tokens": 90}
    wanted = made("p", **options).to_dict()
    assert asyncio.run(made.generate_async("p", **options)).to_dict() == wanted
    assert [result.to_dict() for _, result in made.map(["p", "p"], **options)] == [wanted, wanted]
    assert list(made.stream("p", **options))[-1].result.to_dict() == wanted


@pytest.mark.parametrize("more", [{}, {"minProperties": 1}])
def test_a_definition_with_a_function(more: dict[str, Any]) -> None:
    parameters = {"type": "object", "properties": {"amount": {"type": "boolean"}}, "required": ["amount"], **more}
    tool = guided.Tool({"name": "pay", "parameters": parameters}, run=pay)
    made = guided.tools(ascii_model(), [tool], tool_choice="required")
    assert made("p", context=ANN, max_tokens=90).calls[0].result.startswith("Ann ")


def test_conversations_pass_it_on() -> None:
    class ChatModel(type(ascii_model())):  # type: ignore[misc]
        def prompt_tokens(self, prompt: Any, tools: Any = None) -> list[int]:
            return [1]

    model = ascii_model()
    model.__class__ = ChatModel
    made = guided.tools(model, [pay], tool_choice="required", show_tools="never")
    for result in (
        guided.Conversation(made, context=ANN, max_tokens=90)("Hi"),
        guided.Conversation(made)("Hi", context=ANN, max_tokens=90),
    ):
        assert result.value[0].result.startswith("Ann ")


def test_a_missing_context_is_refused_before_the_text() -> None:
    with pytest.raises(TypeError, match="tool 'pay' needs a context"):
        generator(pay)("p")
    with pytest.raises(TypeError, match="needs a context"):
        list(generator(pay).map(["p"]))
    # Calls that are not run need none.
    assert generator(pay, execute=False)("p", max_tokens=90).finish_reason in ("tool_calls", "length")

    def with_default(amount: bool, user: guided.Context[User | None] = None) -> str:
        return f"{user} {amount}"

    assert generator(with_default)("p", max_tokens=90).calls[0].result.startswith("None ")


def test_other_generators_have_no_context() -> None:
    for made in (
        guided.regex(ascii_model(), "a+"),
        guided.json(ascii_model(), bool),
        guided.choice(ascii_model(), ["a"]),
    ):
        with pytest.raises(TypeError, match="context is for tools"):
            made("p", context=ANN)


def test_arguments_of_a_function_have_no_context() -> None:
    assert guided.JsonSchema(pay).schema["properties"].keys() == {"amount", "note"}


def test_a_name_that_is_not_defined_is_refused_as_before() -> None:
    def broken(user: guided.Context[Missing], amount: bool) -> None:  # type: ignore[name-defined]  # noqa: F821
        """Pay."""

    with pytest.raises(guided.SchemaError, match="Missing"):
        guided.Tool(broken)
