"""A budget never changes a value in silence: each text is the model's own, or says from which token on it is not."""

import asyncio
import itertools
import logging
from collections.abc import Callable
from functools import cache
from typing import Any, Literal

import numpy as np
import pytest
from pydantic import BaseModel

import guided
from guided.calls.formats.files import format_named
from guided.calls.rendering import render_results
from guided.events import Call, Captured, Done, Result, Text, ToolCall, ToolResult, ValueCompleted
from guided.generate.decoding import Decoding
from guided.generate.generator import Generator
from guided.generate.options import Rejection, Smc, search_named
from guided.generate.sampler import Sampler
from guided.guide.guide import Guide
from tests.calls.wanting import VOCABULARY
from tests.generate.chats import PLAIN, Chatting
from tests.generate.models import ascii_model
from tests.integrations.tiny import tiny_tokenizer
from tests.profiles import examples

# Of so many budgets one is tried in every way to generate, the others in one or two ways.
SOME = 5 if examples(5, by_default=1) == 1 else 1
RAN: list[tuple[str, int]] = []


class Invoice(BaseModel):
    total: int
    status: Literal["open", "paid", "void"]


def pay(amount: int) -> str:
    """Pay."""
    RAN.append(("", amount))
    return "done"


def transfer(to: str, amount: int) -> str:
    """Transfer money."""
    RAN.append((to, amount))
    return "done"


def finish(answer: str) -> str:
    """End the text."""
    return answer


OWN = ({"to": "Bob Smith", "amount": 25000}, {"amount": 250}, {"answer": "paid"})
INVOICE = '{"total":18000,"status":"paid"}'
SUM = 'start: NUMBER ("+" NUMBER)*\nNUMBER: /[0-9]+/'
THOUGHT = (guided.FreeText(stop="</t>").named("thought") + guided.JsonSchema(Invoice).named("invoice"),)
CALL = '{"name": "transfer", "arguments": {"to": "Bob Smith", "amount": 25000}}'
HERMES = '<tool_call>\n{"name": "pay", "arguments": {"amount": 250}}\n</tool_call>'
ANSWER = "".join(
    text for text, _ in render_results([Call("pay", {}, (0, 0), result="done")], format_named("hermes"))[0]
)
TEXTS: dict[str, tuple[str, Callable[[Any], Generator[Any]]]] = {
    "regex": ("hello, wide world!", lambda model: guided.regex(model, "[a-z]+(,? [a-z]+)*!")),
    "open regex": ("hello", lambda model: guided.regex(model, "[a-z]+")),
    "choice": ("not at all", lambda model: guided.choice(model, ["no", "not at all", "yes"])),
    "likely choice": (
        "not at all",
        lambda model: guided.choice(model, ["no", "not at all", "yes"], probabilities=True),
    ),
    "json": (INVOICE, lambda model: guided.json(model, Invoice)),
    "grammar": ("12+3456+78", lambda model: guided.grammar(model, SUM)),
    "composition": (f"hm, well</t>{INVOICE}", lambda model: guided.generator(model, THOUGHT[0])),
    "free text": ("whatever it is", lambda model: guided.generator(model, None)),
    "call": (CALL, lambda model: guided.tools(model, [transfer], format="json", tool_choice="required")),
    "calls": (
        f"{HERMES}\n{HERMES}",
        lambda model: guided.tools(
            model, [pay], format="hermes", tool_choice="required", parallel_tool_calls=(2, 2), execute=False
        ),
    ),
    "call in text": (
        f"Well, {HERMES}{ANSWER}It is done.",
        lambda model: guided.tools(model, [pay], format="hermes"),
    ),
    "likely call": (
        f"Well, {HERMES}{ANSWER}It is done.",
        lambda model: guided.tools(model, [pay, finish], format="hermes", select="probability"),
    ),
    "plan": (
        '\nAction: pay\nAction Input: {"amount": 250}\nObservation: done'
        '\nAction: finish\nAction Input: {"answer": "paid"}',
        lambda model: guided.tools(model, [pay, finish], format="react", until="finish"),
    ),
}


class Sure(guided.FunctionModel):
    """Says a text after a prompt that ends in ``?``, byte by byte and with a probability near 1, and then ends."""

    def __init__(self, text: str) -> None:
        super().__init__(self._logits, VOCABULARY, lambda said: list(said.encode()))
        self._text = text.encode()
        self._spelled = [VOCABULARY[token] or b"" for token in range(VOCABULARY.size)]
        for name, token in VOCABULARY.special.items():
            self._spelled[token] = name.encode()

    def _logits(self, tokens: list[int]) -> np.ndarray:
        context = b"".join([self._spelled[token] for token in tokens])
        said = context[context.rindex(b"?") + 1 :]
        logits = np.zeros(VOCABULARY.size)
        logits[VOCABULARY.eos[0]] = 10
        if self._text.startswith(said) and len(said) < len(self._text):
            logits[self._text[len(said)]] = 60
        return logits


@cache
def generator_of(name: str) -> Generator[Any]:
    text, make = TEXTS[name]
    return make(Sure(text))


@cache
def own_text(name: str) -> Result[Any]:
    """What the model writes with tokens to spare."""
    result = generator_of(name)("?", max_tokens=400)
    assert (result.text, result.steered) == (TEXTS[name][0], None)
    return result


def least_tokens(made: Generator[Any]) -> int:
    """The least budget that a generator accepts."""
    for budget in itertools.count(1):
        try:
            made("?", max_tokens=budget)
        except guided.LimitError:
            continue
        return budget
    raise AssertionError


@cache
def budgets(name: str) -> range:
    """Budgets from the least to more than a text needs: all of them, or every second one in a run of minutes."""
    return range(least_tokens(generator_of(name)), len(own_text(name).tokens) + 3, 1 if SOME == 1 else 2)


@cache
def within(name: str, budget: int) -> Result[Any]:
    """The text within a budget. Calls that it runs are the model's own."""
    RAN.clear()
    result = generator_of(name)("?", max_tokens=budget)
    assert set(RAN) <= {("Bob Smith", 25000), ("", 250)}
    return result


def plain(result: Result[Any]) -> tuple[Any, ...]:
    """What can be compared: errors are not equal."""
    calls = getattr(result, "calls", ())
    captures = str(result.captures)
    return result.text, result.tokens, result.finish_reason, result.steered, str(result.error), str(calls), captures


def check(result: Result[Any], own: Result[Any], budget: int) -> None:
    """A text is the model's own, or says from where it is not."""
    assert len(result.tokens) <= budget
    if result.steered is None:
        assert (result.text, result.finish_reason) == (own.text, own.finish_reason)
        assert result.value == own.value
        return
    assert result.finish_reason == "length"
    steered = result.steered
    assert result.tokens[:steered] == own.tokens[:steered]
    # The next token is another one, or the text ends, unless the model would end there, too.
    assert result.tokens[steered : steered + 1] != own.tokens[steered : steered + 1] or steered == len(own.tokens)


@pytest.mark.parametrize("name", TEXTS)
def test_no_budget_changes_a_text_in_silence(name: str) -> None:
    made, own = generator_of(name), own_text(name)
    seen = set[bool]()
    for budget in budgets(name):
        result = within(name, budget)
        check(result, own, budget)
        seen.add(result.steered is None)
        *events, last = made.stream("?", max_tokens=budget)
        assert isinstance(last, Done)
        assert plain(last.result) == plain(result)
        assert last.steered == (result.steered is not None)
        if budget % SOME == 0:
            assert list(map(plain, made.batch(["?"] * 2, max_tokens=budget))) == [plain(result)] * 2
            assert plain(asyncio.run(made.generate_async("?", max_tokens=budget))) == plain(result)
        for event in events:
            if isinstance(event, Text | ValueCompleted | Captured) and not event.steered:
                assert not isinstance(event, Text) or event.text in own.text
                assert not isinstance(event, ValueCompleted) or event.value in (18000, "paid", own.value)
                assert not isinstance(event, Captured) or event.value in own.captures.values()
            if isinstance(event, ToolCall | ToolResult):
                assert event.steered == event.call.steered
                assert event.call.steered or event.call.arguments in OWN
    assert seen == {True, False}


def test_a_cut_text_may_be_shorter_than_any_whole_one() -> None:
    made = guided.regex(ascii_model(), "[ab]{9}")
    (result,) = made.batch(["?"], max_tokens=4, on_budget="truncate")
    assert (len(result.tokens), result.finish_reason) == (4, "length")
    assert isinstance(result.error, guided.IncompleteError)
    for on_budget in ("raise", "complete"):
        with pytest.raises(guided.LimitError, match="max_tokens: 9 needed, 4 allowed"):
            made("?", max_tokens=4, on_budget=on_budget)


@pytest.mark.parametrize("on_budget", ["raise", "truncate"])
@pytest.mark.parametrize("name", TEXTS)
def test_a_budget_raises_or_cuts_where_that_is_asked_for(name: str, on_budget: Any) -> None:
    text, made, own = TEXTS[name][0], generator_of(name), own_text(name)
    for budget in budgets(name):
        completed = within(name, budget)
        (result,) = made.batch(["?"], max_tokens=budget, on_budget=on_budget)
        assert result.finish_reason == completed.finish_reason
        assert own.text.startswith(result.text)
        if completed.steered is None:
            assert plain(result) == plain(completed)
            continue
        assert result.steered == len(result.tokens)
        assert result.tokens == own.tokens[: len(result.tokens)]
        if on_budget == "truncate":
            assert len(result.tokens) == budget or isinstance(made.index, type(None)) or not result.error
            assert plain(made("?", max_tokens=budget, on_budget="truncate")) == plain(result)
            continue
        assert completed.steered is not None
        assert result.steered is not None
        assert result.steered <= completed.steered
        with pytest.raises(guided.IncompleteError, match="max_tokens") as raised:
            made("?", max_tokens=budget, on_budget="raise")
        assert text.startswith(raised.value.text)
        if budget % SOME == 0:
            with pytest.raises(guided.IncompleteError, match="max_tokens"):
                asyncio.run(made.generate_async("?", max_tokens=budget, on_budget="raise"))
            *_, last = made.stream("?", max_tokens=budget, on_budget="raise")
            assert isinstance(last.result.error, guided.IncompleteError)


@pytest.mark.parametrize("name", ["regex", "open regex", "choice", "json", "grammar", "composition", "call", "plan"])
@pytest.mark.parametrize(
    "options",
    [{"search": "beam"}, {"search": "smc"}, {"search": Rejection(attempts=5)}, {"temperature": 1.0}, {"scores": True}],
)
def test_searches_and_draws_tell_too(name: str, options: Any) -> None:
    text, made = TEXTS[name][0], generator_of(name)
    for budget in budgets(name):
        if budget % SOME > 1:
            continue
        try:
            result = made(
                "?",
                max_tokens=budget,
                seed=1,
                **options,
            )
        except (guided.LimitError, guided.ModelError):
            assert isinstance(search_named(options.get("search")), Rejection | Smc)
            continue
        assert result.text == text or result.steered is not None
        assert (result.finish_reason == "length") == (result.steered is not None)
        for sample in result.samples:
            assert sample.text == text or sample.steered is not None or sample.weight < 1e-3


def test_a_repetition_of_canonical_tokens_is_no_steering() -> None:
    """Dead ends of canonical encodings are excluded by the constraint, not by the budget."""
    vocabulary = guided.Vocabulary.from_tokenizer(tiny_tokenizer())
    model = guided.FunctionModel(
        lambda _: np.arange(vocabulary.size, 0, -1.0), vocabulary, lambda text: list(text.encode())
    )
    made = guided.regex(model, "(ab|bb|19){3,6}")
    own = made("?", tokenization="canonical", max_tokens=100)
    assert own.steered is None
    for budget in range(3, 9):
        result = made("?", tokenization="canonical", max_tokens=budget)
        assert result.text == own.text or result.steered is not None


def steered_payments(**options: Any) -> list[Any]:
    """Results of a payment for all budgets that are too small for it."""
    made = guided.tools(Sure(CALL), [transfer], format="json", tool_choice="required", **options)
    RAN.clear()
    return [made("?", max_tokens=budget) for budget in range(len(CALL) - 19, len(CALL))]


def test_a_steered_call_does_not_run() -> None:
    asked = []
    for result in steered_payments(confirm=lambda call: asked.append(call) or True, errors="raise"):
        (call,) = result.calls
        assert (call.steered, call.result) == (True, None)
        assert isinstance(call.error, guided.CallRefused)
        assert "max_tokens" in str(call.error)
    assert RAN == asked == []


def test_a_steered_call_runs_where_that_is_asked_for() -> None:
    amounts = []
    for result in steered_payments(run_steered=True, confirm=lambda call: amounts.append(call.steered) or "no"):
        assert result.calls[0].steered
    assert (RAN, amounts) == ([], [True] * 19)
    for result in steered_payments(run_steered=True):
        assert result.calls[0].result == "done"
    assert len(RAN) == 19
    with pytest.raises(TypeError, match="run_steered must be a bool, not str"):
        guided.tools(Sure(""), [transfer], run_steered="yes")  # type: ignore[arg-type]


def test_the_last_call_of_a_plan_runs_and_says_that_it_is_steered() -> None:
    result: Any = within("plan", budgets("plan")[0])
    assert [(call.name, call.steered, call.error) for call in result.calls] == [("finish", True, None)]
    assert result.finish_reason == "length"


def test_the_model_reads_that_its_call_was_not_run() -> None:
    """Its next call is its own again, and runs."""
    scripts = "<T>transfer(to='Bob and Alice and all the others', amount=25000)=", "<T>pay(amount=3)="

    def logits(tokens: list[int]) -> np.ndarray:
        said = bytes(VOCABULARY.decode(tokens)).decode()
        script = scripts["not run" in said]
        begin = said.rindex("not run\n") + len("not run\n") if script is scripts[1] else said.index("?") + 1
        result = np.zeros(VOCABULARY.size)
        result[VOCABULARY.eos[0]] = 1
        for token, data in enumerate(VOCABULARY):
            if data and script.encode().startswith(said[begin:].encode() + data):
                result[token] = 9 + len(data)
        return result

    model = guided.FunctionModel(logits, VOCABULARY, lambda text: list(text.encode()))
    made = guided.tools(model, [transfer, pay], format="tooldec", parallel_tool_calls=[2, 2])
    for budget in range(46, 70, 5):
        RAN.clear()
        result = made("?", max_tokens=budget)
        assert [(call.name, call.steered) for call in result.calls] == [("transfer", True), ("pay", False)]
        assert RAN == [("", 3)]
        assert result.finish_reason == "length"


def test_a_steered_answer_is_generated_again() -> None:
    """With its error in view, the model writes a shorter one."""

    def logits(tokens: list[int]) -> np.ndarray:
        said = bytes(tokens).decode()
        number = said.count("Corrected:\n")
        script = ("12345678", "12345", "12")[min(number, 2)]
        begin = said.rindex("Corrected:\n") + len("Corrected:\n") if number else said.index("?") + 1
        rest = script[len(said) - begin :]
        result = np.zeros(VOCABULARY.size)
        result[ord(rest[0]) if rest else VOCABULARY.eos[0]] = 9
        return result

    model = guided.FunctionModel(logits, VOCABULARY, lambda text: list(text.encode()))
    for made in (guided.json(model, int), guided.regex(model, "[0-9]+"), guided.grammar(model, "start: /[0-9]+/")):
        result = made("?", max_tokens=4, retries=5)
        assert (result.text, result.steered, result.finish_reason) == ("12", None, "stop")
        assert [refused.text for refused in result.refused] == ["1234", "1234"]
        assert all(isinstance(refused.error, guided.IncompleteError) for refused in result.refused)
        assert all("max_tokens" in str(refused.error) for refused in result.refused)
        last = made("?", max_tokens=4, retries=1)
        assert (last.text, last.steered, len(last.refused)) == ("1234", 4, 1)
        with pytest.raises(guided.IncompleteError):
            made("?", max_tokens=4, retries=1, on_budget="raise")
        assert made("?", max_tokens=4, retries=2, on_budget="raise").text == "12"


def test_turns_of_conversations_tell() -> None:
    for generator in (guided.json, lambda model, _: guided.tools(model, [transfer], tool_choice="required")):
        text = INVOICE if generator is guided.json else CALL
        chat: Any = guided.Conversation(generator(Chatting(PLAIN, [text] * 4), Invoice))  # type: ignore[operator]
        result = chat("Bill?", max_tokens=len(text) - 1)
        assert result.steered is not None
        assert result.finish_reason == "length"
        *_, last = chat.stream("Bill?", max_tokens=len(text) - 1)
        assert last.steered
        assert last.result.steered == result.steered
        before = list(chat.messages)
        with pytest.raises(guided.IncompleteError):
            chat("Bill?", max_tokens=len(text) - 1, on_budget="raise")
        with pytest.raises(guided.IncompleteError):
            asyncio.run(chat.generate_async("Bill?", max_tokens=len(text) - 1, on_budget="raise"))
        assert chat.messages == before


def test_the_budget_costs_nothing_while_it_is_far() -> None:
    """No mask of a budget is computed, and the model is asked no more often, unless a token does not fit."""
    asked = list[int]()

    class Watched(Guide):
        def mask_within(self, budget: int) -> Any:
            asked.append(budget)
            return super().mask_within(budget)

    index = guided.compile(guided.JsonSchema(Invoice), VOCABULARY)
    for budget, is_near in ((200, False), (len(INVOICE), False), (len(INVOICE) - 1, True)):
        asked.clear()
        decoding = Decoding(Watched(index.tables), Sampler(), VOCABULARY, [63], budget)
        model = Sure(INVOICE)
        steps = decoding.next()
        for _ in range(budget):
            try:
                answer = None
                while True:
                    request = steps.send(answer)
                    answer = model.session().feed([*decoding.context, *request.tokens])
            except StopIteration as done:
                if done.value is None:
                    break
            steps = decoding.next()
        assert bool(asked) == is_near == (decoding.steered is not None)


def test_on_budget_is_checked() -> None:
    with pytest.raises(ValueError, match="on_budget must be 'complete', 'raise' or 'truncate', not 'stop'"):
        guided.regex(Sure(""), "a")("?", on_budget="stop")  # type: ignore[arg-type]


def test_texts_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    made = guided.json(Sure(INVOICE), Invoice)
    with caplog.at_level(logging.INFO, "guided.generate"):
        results = [made("?"), *made.batch(["?"] * 2, max_tokens=len(INVOICE) - 1)]
        results.append(asyncio.run(made.generate_async("?", max_tokens=len(INVOICE) - 1, retries=1)))
    records: list[Any] = [record for record in caplog.records if record.name == "guided.generate"]
    assert [record.steered for record in records] == [result.steered for result in results]
    assert [record.finish_reason for record in records] == ["stop", "length", "length", "length"]
    assert [record.n_tokens for record in records] == [len(result.tokens) for result in results]
    assert [record.retries for record in records] == [0, 0, 0, 1]
    assert all(record.seconds >= 0 and record.error is None for record in records)
    assert "paid" not in caplog.text
    RAN.clear()
    caplog.clear()
    with caplog.at_level(logging.INFO, "guided.calls"):
        steered_payments()
    assert len(caplog.records) == 19
    assert all("max_tokens" in record.getMessage() for record in caplog.records)
