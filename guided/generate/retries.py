"""Retries: generate again, with the error in view, while validators of a type refuse the value of a complete text.

A schema's constraints hold in every text, but a validator is code: it can refuse a value that the schema allows. The model then reads its
text and the error, and generates another text with a budget of its own:

- after a prompt of messages, the text is an assistant message, and the error a user message;
- after a str, both are appended to it.

The model's cache of what the two prompts have in common is reused.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from typing import Any

from guided.errors import SchemaError
from guided.events import Done, Event, Refused, Result
from guided.generate.decoding import Decoding, Feed, TextCoroutine
from guided.generate.messages import text_of
from guided.generate.model import LanguageModel, Prompt, common_prefix

__all__ = ["prompt_with_error", "with_retries"]

Attempt = tuple[Decoding, TextCoroutine]


def with_retries(first: Attempt, again: Callable[[Result[Any]], Attempt], retries: int) -> TextCoroutine:
    """Return the coroutine of a text that is generated anew while its value is refused.

    Parameters
    ----------
    first : (Decoding, TextCoroutine)
        The first attempt.
    again : callable
        Returns the next attempt after a refused result.
    retries : int
        Maximum number of further attempts. If the last one fails too, ``error`` of the result has all ``attempts``.
    """
    refused = list[Refused]()
    n_passes = 0
    read: Sequence[int] = ()
    attempt = first
    while True:
        decoding, coroutine = attempt
        result = yield from _forwarded(coroutine, read)
        n_passes += result.forward_passes
        if not isinstance(result.error, SchemaError):
            break
        refusal = Refused(result.text, result.error)
        if len(refused) == retries:
            result = replace(result, error=_final([*refused, refusal]))
            break
        refused.append(refusal)
        yield refusal
        # A search reads its texts in other rows, or from the beginning.
        read = decoding.context
        attempt = again(result)
    yield Done(replace(result, refused=tuple(refused), forward_passes=n_passes))


def _forwarded(coroutine: TextCoroutine, read: Sequence[int]) -> Generator[Any, Any, Result[Any]]:
    """Pass on the items of a coroutine and return its result; its first request is for a prompt after `read`, which it may share."""
    answer, is_first = None, True
    while True:
        item: Event | Any = coroutine.send(answer)
        if isinstance(item, Done):
            result: Result[Any] = item.result
            return result
        if isinstance(item, Feed) and is_first:
            is_first = False
            if read and item.keep is None:
                shared = min(common_prefix(read, item.tokens), len(item.tokens) - 1)
                item = Feed(item.tokens[shared:], shared)
        answer = yield item


def _final(refused: Sequence[Refused]) -> SchemaError:
    """The error of the last text, with all of them."""
    last = refused[-1].error
    error = SchemaError(last.reason, last.pointer, last.keyword)
    error.attempts = tuple((one.text, one.error) for one in refused)
    error.__cause__ = last
    error.add_note(f"{len(refused)} texts were refused")
    return error


def prompt_with_error(
    model: LanguageModel,
    prompt: Prompt,
    tokens: Sequence[int],
    result: Result[Any],
    tokens_of: Callable[[Prompt], list[int]],
) -> tuple[Prompt, list[int]]:
    """Return the prompt after a refused text, and its tokens; a str stays as it is, only its tokens grow.

    Parameters
    ----------
    model : LanguageModel
    prompt : Prompt
        The prompt of the refused text.
    tokens : sequence of int
        Its tokens.
    result : Result
        The refused text with its error.
    tokens_of : callable
        Returns the tokens of a prompt of messages.
    """
    if isinstance(prompt, str):
        return prompt, [*tokens, *result.tokens, *model.encode(f"\n\nError: {result.error}\nCorrected:\n")]
    messages = [dict(message) for message in prompt]
    text = result.text
    if messages[-1]["role"] == "assistant" and "tool_calls" not in messages[-1]:
        # The text continues this message.
        text = text_of(messages.pop()) + text
    error = f"Error: {result.error}\nAnswer again, corrected."
    longer = [*messages, {"role": "assistant", "content": text}, {"role": "user", "content": error}]
    return longer, tokens_of(longer)
