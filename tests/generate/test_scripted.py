"""`guided.testing`: models that write what a test says."""

import json
from typing import Annotated, Any

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

import guided


@given(st.text(max_size=20), st.text(max_size=20), st.sampled_from([0.0, 1.0]))
def test_the_text_is_written_after_every_prompt(prompt: str, text: str, temperature: float) -> None:
    model = guided.testing.scripted(text)
    prompt = prompt + "?"
    result = guided.generator(model, None)(prompt, temperature=temperature, seed=1)
    assert result.text == text
    assert model.prompts == [prompt]
    assert [result.text for _, result in guided.generator(model, None).map([prompt] * 3, ordered=True)] == [text] * 3


def test_the_longest_end_of_the_prompt_decides() -> None:
    generate = guided.generator(guided.testing.scripted({"?": "a", "Who?": "b", "!": ""}), None)
    assert [generate(prompt).text for prompt in ("What?", "Who?", "Oh!")] == ["a", "b", ""]
    with pytest.raises(guided.ModelError, match=r"no text after a prompt that ends in 'x'"):
        generate("x")


def test_results_of_tools_are_part_of_the_text() -> None:
    def add(x: int, y: int) -> int:
        """Add."""
        return x + y

    model = guided.testing.scripted("I add. <T>add(x=1, y=2) = 3\nThat is all.")
    result = guided.tools(model, [add], format="tooldec")("Add!")
    assert result.text == "I add. <T>add(x=1, y=2) = 3\nThat is all."
    assert result.calls[0].result == 3


def test_where_the_constraint_departs_the_text_ends_soon() -> None:
    model = guided.testing.scripted("yes, but")
    assert guided.choice(model, ["yes", "yes, and more of it", "no"])("?").text == "yes, and more of it"
    assert guided.regex(model, "[a-z]+(, [a-z]*)?")("?").text == "yes, but"
    assert guided.regex(model, "[a-z]+")("?").text == "yes"
    result = guided.json(guided.testing.scripted('{"total": 18000}'), dict[str, int])("?", max_tokens=14)
    assert result.steered is not None


@pytest.mark.parametrize("value", ["a", {"a": [1, {"b": "c"}]}, [], 12])
def test_forced_tokens_after_the_prompt_are_part_of_the_text(value: Any) -> None:
    text = json.dumps(value)
    model = guided.testing.scripted({"?": text, "": "null"})
    schema = {"type": {str: "string", dict: "object", list: "array", int: "integer"}[type(value)]}
    assert guided.json(model, schema)("Which?").text == text
    assert model.prompts == ["Which?"]
    assert [result.text for _, result in guided.json(model, schema).map(["a?", "a?", "b?"], ordered=True)] == [text] * 3


def test_messages_are_lines() -> None:
    model = guided.testing.scripted("Hello")
    messages: list[Any] = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}]
    assert guided.generator(model, None)(messages).text == "Hello"
    assert model.prompts == ["system: Be kind.\nuser: Hi"]


@pytest.mark.parametrize("prompt", ["Even?", [{"role": "user", "content": "Even?"}]])
def test_a_retry_is_a_prompt(prompt: Any) -> None:
    def even(number: int) -> int:
        if number % 2:
            raise ValueError("it is odd")
        return number

    kind = Annotated[int, pydantic.AfterValidator(even)]
    model = guided.testing.scripted({"Even?": "3", "Corrected:\n": "4", "corrected.": "4"})
    result = guided.json(model, kind)(prompt, retries=1)
    assert [one.text for one in result.refused] == ["3"]
    assert result.text == "4"
    first, second = model.prompts
    assert first.endswith("Even?")
    assert "3\n" in second
    assert "it is odd" in second
    assert second.endswith(("Corrected:\n", "corrected."))
    assert guided.json(model, int)(prompt).text == "3"
    assert model.prompts == [first, second, first]


@pytest.mark.parametrize("prompt", [None, ["one", "two"], [{"user": "Hi"}], {"role": "user", "content": "Hi"}])
def test_what_is_no_prompt_is_refused_as_by_other_models(prompt: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="prompt"):
        guided.generator(guided.testing.scripted("Hello"), None)(prompt)
