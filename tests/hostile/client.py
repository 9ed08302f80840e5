"""A hostile client: it sends one input to every entry that takes such, and notes what each call costs and how it ends.

A call gives a result or a typed error; anything else is a finding, as is a mask that changes, a mask without tokens where the text may not
end, a budget that does not suffice, or an error that moves the guide. Costs are steps (`steps`: calls and returns of Python and C
functions, which are the same on every machine) or CPU seconds (`seconds`).
"""

import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import cache, lru_cache
from typing import Any

from guided.calls.parse import parse_text
from guided.calls.spec import Tools
from guided.engine.compile import compile as compile_spec
from guided.engine.grammar import Grammar
from guided.engine.index import Index
from guided.engine.json_schema import JsonSchema
from guided.engine.specs import Choice, Regex
from guided.engine.structural_tags import StructuralTag
from guided.errors import GuidedError, LimitError, SchemaError
from guided.generate.compositions import captures
from guided.guide.guide import Guide
from guided.integrations.serving import FrontEnd, Options
from guided.limits import Limits
from guided.schema.frontend.json_reader import JsonReader
from guided.schema.frontend.json_values import text_of
from guided.vocabulary.vocabulary import Vocabulary
from tests.masks import bits

__all__ = ["MAKERS", "SERVED", "Attack", "Client", "Cost", "Endless", "limits_over", "seconds", "steps", "vocabulary"]

# The most steps, or CPU seconds, after which a call counts as one that does not end.
MOST_STEPS, MOST_SECONDS = 40_000_000, 60.0
MAKERS: dict[str, Callable[..., Any]] = {
    "schema": JsonSchema, "regex": Regex, "choice": Choice, "grammar": Grammar, "tag": StructuralTag, "tools": Tools,
    "value": JsonSchema, "spec": lambda make: make(),
}  # fmt: skip
# Kinds that a server's requests have, by its names.
SERVED = {"schema": "JSON", "regex": "REGEX", "choice": "CHOICE", "grammar": "GRAMMAR", "tag": "STRUCTURAL_TAG"}
# Limits that are not divided: of a vocabulary, and of what a spec looks like, which would refuse nearly all of them.
_FIXED = {
    "tokens", "token_length", "schema_depth", "listed_depth", "assertion_depth", "unevaluated_cases", "whitespace_states", "digits",
}  # fmt: skip


class Endless(BaseException):
    """A call has run for far longer than its bound."""


@dataclass(frozen=True, slots=True)
class Attack:
    """An input.

    Attributes
    ----------
    kind : str
        A key of `MAKERS`. A ``"value"`` is a schema that no text has.
    given : Any
        What the spec is made of.
    texts : tuple of str
        What a model writes back.
    options : dict
        Options of the spec.
    end_tokens : int
        How many tokens may end the text, besides the vocabulary's.
    """

    kind: str
    given: Any
    texts: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    end_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a call, and how it ended: empty, or the error's class or limit."""

    entry: str
    cost: float
    outcome: str


Meter = Callable[[Callable[[], Any]], tuple[Any, float]]


def steps(run: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result of a function, or its `GuidedError`, and the number of its steps."""
    count = 0

    def step(_frame: object, _event: object, _argument: object) -> None:  # faster than `*_`
        nonlocal count
        count += 1
        if count > MOST_STEPS:
            raise Endless(f"more than {MOST_STEPS:,} steps")

    with _stopping():
        sys.setprofile(step)
        try:
            return run(), count
        except GuidedError as error:
            return error, count
        finally:
            sys.setprofile(None)


def seconds(run: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result of a function, or its `GuidedError`, and its CPU seconds."""
    before = time.process_time()
    with _stopping():
        try:
            return run(), time.process_time() - before
        except GuidedError as error:
            return error, time.process_time() - before


@contextmanager
def _stopping() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise Endless(f"stopped after {MOST_SECONDS} s of CPU")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, MOST_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def limits_over(scale: int, limits: Limits | None = None) -> Limits:
    """The limits, by default the default ones, divided."""
    limits = limits or Limits()
    return Limits(**{one.name: getattr(limits, one.name) // scale for one in fields(Limits) if one.name not in _FIXED})


@cache
def vocabulary() -> Vocabulary:
    """All bytes, pairs of characters that occur in JSON, and longer tokens that cross its punctuation."""
    pieces = 'ab01"{}[]:, \\é-.'
    tokens = {bytes([byte]) for byte in range(256)} | {(one + two).encode() for one in pieces for two in pieces}
    longer = (
        '{"',
        '":',
        '": "',
        '", "',
        '"}',
        '"]',
        "]}",
        "}, {",
        "aaaaaaaa",
        "00000000",
        "bbb",
        'a": {"b',
        "</",
        "<|",
    )
    tokens |= {text.encode() for text in longer}
    return Vocabulary([*sorted(tokens), None], eos=[len(tokens)])


@lru_cache(maxsize=4)
def _marks(tokens: Vocabulary) -> frozenset[int]:
    """Return the tokens that begin with punctuation of JSON or of a tag."""
    return frozenset(token for token, data in enumerate(tokens.tokens) if data and data[:1] in b'{}[]",:<')


class Client:
    """Sends inputs to entries.

    Parameters
    ----------
    meter : callable
        `steps` or `seconds`.
    limits : Limits
        Of compiles and calls.
    front_end : Limits, optional
        Of a server's check; None: there is no server.
    tokens : Vocabulary, optional
    n_tokens : int
        Length of a walk.

    Attributes
    ----------
    costs : list of Cost
        All calls so far.
    n_steps, n_ended : int
        Tokens read, and texts followed to their end.
    """

    def __init__(
        self,
        meter: Meter,
        limits: Limits,
        front_end: Limits | None = None,
        tokens: Vocabulary | None = None,
        n_tokens: int = 12,
    ) -> None:
        self._meter, self._limits, self._front_end = meter, limits, front_end
        self._tokens, self._n_tokens = tokens or vocabulary(), n_tokens
        self.costs: list[Cost] = []
        self.n_steps = self.n_ended = 0

    def call(self, entry: str, run: Callable[[], Any]) -> Any:
        """Return the result of a call, or its `GuidedError`. Any other error is a finding."""
        result, cost = self._meter(run)
        outcome = "" if not isinstance(result, GuidedError) else type(result).__name__
        self.costs.append(Cost(entry, cost, result.what if isinstance(result, LimitError) else outcome))
        return result

    def send(self, attack: Attack, draw: random.Random) -> None:
        """Send an input to all entries.

        Raises
        ------
        AssertionError, Endless
            A finding; so is any other exception, but the TypeError or ValueError of an input of a wrong type.
        """
        if attack.kind in SERVED and self._front_end is not None:
            self._ask_server(attack)
        spec = self.call("make", lambda: MAKERS[attack.kind](attack.given, **attack.options))
        if isinstance(spec, GuidedError):
            return
        for text in attack.texts:
            self.read(spec, text)
        tokens, ends = self._tokens, attack.end_tokens
        if ends:
            tokens = Vocabulary(tokens.tokens, tokens.eos, tokens.size + ends)
        index = self.call("compile", lambda: compile_spec(spec, tokens, self._limits))
        if isinstance(index, GuidedError):
            return
        for text in attack.texts:
            self.call("accepts", lambda text=text: index.accepts(text))
        guide = index.guide([*tokens.eos, *range(tokens.size - ends, tokens.size)] if ends else None)
        self._walk(index, guide, draw, attack.texts[0].encode("utf-8", "replace") if attack.texts else b"")

    def _ask_server(self, attack: Attack) -> None:
        given = attack.given
        try:
            text = given if isinstance(given, str) else text_of(given)
        except SchemaError:
            # It nests more deeply than Python writes.
            return
        options = Options(**{name: value for name, value in attack.options.items() if name in Options.__slots__})
        server = FrontEnd(self._tokens, limits=self._front_end or Limits())
        reason, _ = self.call("server", lambda: server.refusal(SERVED[attack.kind], text, options))
        assert not reason.startswith("the constraint cannot be checked"), reason

    def read(self, spec: Any, text: str) -> None:
        """Have a model's text read by each entry that takes one."""

        def partly() -> None:
            reader = JsonReader()
            try:
                for begin in range(0, len(text), 7):
                    reader.feed(text[begin : begin + 7])
                reader.close()
            except ValueError:
                return

        if isinstance(spec, JsonSchema | Choice):
            self.call("read", lambda: spec.read(text))
            self.call("partial reader", partly)
        elif isinstance(spec, Grammar):
            self.call("parse", lambda: spec.read(text))
        elif isinstance(spec, Tools):
            self.call("parse", lambda: parse_text(text, spec))
        elif hasattr(spec, "parts"):
            self.call("captures", lambda: captures(spec, text, limits=self._limits))

    def _walk(self, index: Index, guide: Guide, draw: random.Random, way: bytes) -> None:
        """Walk along a text as far as it is allowed, then at random, often by punctuation; assert what must hold after each call."""
        marks = _marks(index.vocabulary)
        text = b""
        for _ in range(self._n_tokens):
            mask = self.call("mask", guide.mask)
            least = self.call("remaining", lambda: guide.remaining)
            budget = draw.choice([0, 3, 40])
            within = self.call("mask_within", lambda budget=budget: guide.mask_within(guide.remaining + budget))
            again = self.call("mask", guide.mask)
            if isinstance(mask, GuidedError) or isinstance(again, GuidedError):
                # A call keeps what it computed before it failed, so the next one may succeed. A mask that was evicted may fail.
                return
            assert (mask == again).all(), "the mask changed"
            allowed = bits(mask)
            assert allowed or guide.is_finished, "no token is allowed"
            if not isinstance(within, GuidedError) and not isinstance(least, GuidedError):
                kept = bits(within)
                assert kept or guide.is_finished, "no token fits the least budget"
                assert set(kept) <= set(allowed), "a token fits a budget and is not allowed"
                may_end = self.call("is_accepting", lambda: guide.is_accepting)
                assert isinstance(may_end, GuidedError) or may_end == (least == 0), (
                    "0 remain, or the text may end, but not both"
                )
                if draw.random() < 0.3:
                    self._follow(guide.fork(), least, draw)
                allowed = kept if draw.random() < 0.3 else allowed
            if guide.is_finished:
                return
            along = [token for token in allowed if way and way.startswith(index.vocabulary[token] or b"\0")]
            if along:
                token = max(along, key=lambda token: len(index.vocabulary[token] or b""))
                way = way[len(index.vocabulary[token] or b"") :]
            else:
                token, way = (
                    draw.choice((draw.random() < 0.5 and [token for token in allowed if token in marks]) or allowed),
                    b"",
                )
            state, length = guide.state, len(guide)
            if isinstance(self.call("advance", lambda token=token: guide.advance(token)), GuidedError):
                again = self.call("mask", guide.mask)
                assert isinstance(again, GuidedError) or (again == mask).all(), "an error changed the mask"
                assert (guide.state, len(guide)) == (state, length), "an error moved the guide"
                return
            self.n_steps += 1
            text += index.vocabulary[token] or b""
            self.call("accepts", lambda text=text: index.accepts(text + draw.choice([b"", b"}", b'"]}', b"0" * 50])))

    def _follow(self, guide: Guide, budget: int, draw: random.Random) -> None:
        """Follow masks within a budget that suffices to the end, if that is not far."""
        if budget > 100:
            return
        while budget > 0:
            within = self.call("mask_within", lambda left=budget: guide.mask_within(left))
            if isinstance(within, GuidedError):
                assert isinstance(within, LimitError), "no completion where there was one"
                assert within.what != "max_tokens", "the budget no longer suffices"
                return
            kept = bits(within)
            assert kept, "no token fits the budget"
            if not self._tokens.eos or not {*self._tokens.eos}.isdisjoint(kept):
                break
            before = guide.state
            if isinstance(self.call("advance", lambda kept=kept: guide.advance(draw.choice(kept))), GuidedError):
                assert guide.state == before, "an error moved the guide"
                return
            budget -= 1
        may_end = self.call("is_accepting", lambda: guide.is_accepting)
        assert isinstance(may_end, GuidedError) or may_end, "the budget is spent, and the text may not end"
        self.n_ended += 1
