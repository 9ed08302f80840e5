"""Few-shot prompts from the tools' own examples.

A prompt is a list of questions and answers separated by blank lines, and a last question that ends at ``A:`` (without a space: models
usually begin their answer with a token that has one). An example with a call shows the call in the format, its result, and the answer on a
line of its own. The generated text is cut at ``STOP``, where the model would continue with another question.

The share of plain examples, which need no call, sets how often a model calls: without any, small models answer everything with a call.
They are spread evenly among the others. Names are not listed; small models choose worse with a list.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from guided.calls.parse import parse_text
from guided.calls.reads import Call
from guided.calls.rendering import render_calls, render_results
from guided.calls.spec import Tools
from guided.calls.tool import Example, as_example
from guided.errors import CallError, SchemaError
from guided.schema.frontend.location import pointer_to

__all__ = ["STOP", "few_shot"]

STOP = "\nQ:"


def few_shot(spec: Tools, question: str, plain: Iterable[Example | Mapping[str, Any] | tuple[str, str]] = ()) -> str:
    """Return a few-shot prompt that ends with a question.

    Parameters
    ----------
    spec : Tools
        A spec of running text; the examples of its tools are shown in order.
    question : str
        The question to answer.
    plain : iterable of Example
        Examples without a call; pairs of a question and its answer are accepted.

    Returns
    -------
    str
        Ends at ``A:``.

    Raises
    ------
    SchemaError
        An example is not a call of its tool, there are no examples, or the spec is not running text.
    """
    if not spec.is_running_text:
        raise SchemaError("examples need running text, but this spec only allows calls", "", "tool_choice")
    callable_tools = (tool for tool in spec.tools if tool.name in spec.argument_lists)
    shown = [_with_call(spec, tool.name, example) for tool in callable_tools for example in tool.examples]
    if not shown:
        raise SchemaError("no tool has examples: add them with Tool(..., examples=[...])", "", "examples")
    blocks = _interleaved(shown, [f"Q: {example.question}\nA: {example.answer}" for example in map(as_example, plain)])
    return "\n\n".join([*blocks, f"Q: {question}\nA:"])


def _with_call(spec: Tools, name: str, example: Example) -> str:
    """Render a question, its call, the result and the answer."""
    form = spec.format
    if example.call is None:
        return f"Q: {example.question}\nA: {example.answer}"
    call = render_calls([Call(name, dict(example.call), (0, 0))], spec.argument_lists, form)
    try:
        parse_text(call, spec)
    except CallError as error:
        raise SchemaError(
            f"the example {call!r} is not a call of the tool: {error}", pointer_to(name), "examples"
        ) from error
    (pieces,) = render_results([Call(name, {}, (0, 0), example.result)], form)
    result = "".join(text for text, _ in pieces)
    return f"Q: {example.question}\nA: {call}{result}{example.answer}"


def _interleaved(blocks: list[str], others: list[str]) -> list[str]:
    """Merge two lists in order, the second one spread evenly."""
    places = [max((2 * i + 1) * len(blocks) // (2 * len(others)), 1) for i in range(len(others))]
    found: list[str] = []
    for count, block in enumerate(blocks, start=1):
        found.append(block)
        found.extend(other for other, place in zip(others, places, strict=True) if place == count)
    return found
