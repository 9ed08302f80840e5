"""Retries: generate again, with the error in view, while the budget steers the text or validators of a type refuse its value.

A schema's constraints hold in every text, but a validator is code: it can refuse a value that the schema allows. And the budget may have
chosen what a text says. The model then reads its text and the error, and generates another text with a budget of its own:

- after a prompt of messages, the text is an assistant message, and the error a user message;
- after a str, both are appended to it.

The model's cache of what the two prompts have in common is reused.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from typing import Any

from guided.errors import GuidedError, IncompleteError, SchemaError, shown
from guided.events import Done, Event, Refused, Result
from guided.generate.decoding import Decoding, Feed, TextCoroutine
from guided.generate.messages import text_of
from guided.generate.model import LanguageModel, Prompt, common_prefix

__all__ = ["CORRECTED", "budget_error", "prompt_with_error", "with_retries"]

Attempt = tuple[Decoding, TextCoroutine]
# The end of a str prompt that has grown by a refused text and its error.
CORRECTED = "\nCorrected:\n"


def with_retries(first: Attempt, again: Callable[[Result[Any], GuidedError], Attempt], retries: int) -> TextCoroutine:
    """Return the coroutine of a text that is generated anew while its value is refused.

    After ``retries`` further attempts, each made by ``again`` from a refused result and its error: if validators refuse the last text, too,
    ``error`` of the result has all ``attempts``; if the budget steered it, it is the result.
    """
    refused = list[Refused]()
    n_passes = 0
    read: Sequence[int] = ()
    attempt = first
    while True:
        decoding, coroutine = attempt
        result = yield from _forwarded(coroutine, read)
        n_passes += result.forward_passes
        error = result.error if isinstance(result.error, SchemaError) else budget_error(decoding, result.text)
        if error is None:
            break
        refusal = Refused(result.text, error, steered=result.steered is not None)
        if len(refused) == retries:
            if isinstance(error, SchemaError):
                final = SchemaError(error.reason, error.pointer, error.keyword)
                final.attempts = tuple((one.text, one.error) for one in (*refused, refusal))
                final.__cause__ = error.__cause__
                many = f"{len(final.attempts)} texts were refused, the last: " if refused else "the refused text: "
                final.add_note(
                    many + shown(result.text) + ("; max_tokens chose a part of it" if refusal.steered else "")
                )
                result = replace(result, error=final)
            break
        refused.append(refusal)
        yield refusal
        # A search reads its texts in other rows, or from the beginning.
        read = decoding.context
        attempt = again(result, error)
    result = replace(result, refused=tuple(refused), forward_passes=n_passes)
    yield Done(result, steered=result.steered is not None)


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


def budget_error(decoding: Decoding, text: str) -> IncompleteError | None:
    """The error of a text that the budget steered; None if it did not."""
    if decoding.steered is None:
        return None
    return IncompleteError(
        f"the text does not fit max_tokens (or the model's context): the model chose {decoding.steered:,} tokens, and too few were "
        "left to continue as it wanted; a larger max_tokens gives it room",
        text,
    )


def prompt_with_error(
    model: LanguageModel,
    prompt: Prompt,
    tokens: Sequence[int],
    result: Result[Any],
    error: GuidedError,
    tokens_of: Callable[[Prompt], list[int]],
) -> tuple[Prompt, list[int]]:
    """Return the prompt after a refused text, and its tokens; a str stays as it is, only its tokens grow.

    ``tokens_of`` returns the tokens of a prompt of messages.
    """
    if isinstance(prompt, str):
        return prompt, [*tokens, *result.tokens, *model.encode(f"\n\nError: {error}{CORRECTED}")]
    messages = [dict(message) for message in prompt]
    text = result.text
    if messages[-1]["role"] == "assistant" and "tool_calls" not in messages[-1]:
        # The text continues this message.
        text = text_of(messages.pop()) + text
    reason = f"Error: {error}\nAnswer again, corrected."
    longer = [*messages, {"role": "assistant", "content": text}, {"role": "user", "content": reason}]
    return longer, tokens_of(longer)
