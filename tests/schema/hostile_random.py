"""Random schemas that are hostile on purpose, and what must hold for each: typed errors, bounded calls, an unchanged guide, an end in time.

Each part of a schema is a known difficulty: counts beside patterns, contradictions, pigeonholes, towers of ``oneOf`` and ``not``, many
overlapping patterns, references in circles, long multiples. Parts are merged, so difficulties meet in one place.
``tests.schema.strategies`` makes small schemas whose results an oracle checks; these are large, and only invariants are checked.

``python -m tests.schema.hostile_random SEED COUNT SCALE`` tries COUNT schemas, with limits divided by SCALE, and prints findings and the
slowest calls; with a fourth argument it tries the schema of that number, and prints it.
"""

import json
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import cache
from itertools import pairwise
from types import FrameType
from typing import Any

from guided.cli.warmup import warm
from guided.engine.compile import compile as compile_spec
from guided.engine.index import Index
from guided.engine.json_schema import JsonSchema
from guided.errors import GuidedError, LimitError
from guided.guide.guide import Guide
from guided.limits import Limits
from guided.vocabulary.vocabulary import Vocabulary
from tests.hostile_specs import megabytes_of
from tests.masks import bits

__all__ = ["Slow", "Trial", "attempt", "limits_over", "options", "schemas", "try_schema"]

Schema = dict[str, Any]

NAMES = ["a", "b", "ab", "aab", "a1", "b1", "", "é", 'a"', "type", "x" * 40]
PATTERNS = [
    "^(a|b)*a(a|b){%d}$", "a.{%d}b", "^.{%d}$", "^(?:a{1,%d}b?){1,%d}$", "(?=.*a.{%d}b)", "^(?!.*(a|b).{%d}b)", "^[a-z]{0,%d}x[a-z]{0,%d}$",
    r"\p{L}{%d}", "^a{%d}", "b{%d}$", "^(?:ab|a){0,%d}$", r"^\w{0,%d}$", "^a*$", "^(a|ab)(c|bcd)*$", "[0-9]", "^$", "", "^[^a]", r"\d{%d}",
    "(a?){%d}a{%d}", "^(?:[ab]{%d}|[bc]{%d})*$",
]  # fmt: skip
TYPES = ["null", "boolean", "integer", "number", "string", "array", "object"]
FORMATS = [
    "date",
    "date-time",
    "time",
    "uuid",
    "email",
    "uri",
    "ipv4",
    "ipv6",
    "regex",
    "hostname",
    "json-pointer",
    "idn-email",
]
DIVISORS = [
    1, 2, 3, 7, 10**9 + 7, 2**31 - 1, 12345678901234567891, 10**40 + 1, 0.1, 0.01, 1e-20, 1e-300, 0.3, 1.5, 3.0000000001, 1e300, 997, 9973,
]  # fmt: skip
SMALL, LARGE = [0, 1, 2, 3, 5, 9, 30], [0, 1, 2, 3, 9, 60, 300, 2_000, 20_000, 10**9]


@dataclass
class Maker:
    """Draws parts of schemas.

    Attributes
    ----------
    draw : random.Random
    counts : list of int
        Counts to choose from.
    widths : list of int
        Numbers of names, values and alternatives to choose from.
    left : int
        Number of further subschemas.
    """

    draw: random.Random
    counts: list[int]
    widths: list[int]
    left: int

    def count(self) -> int:
        return self.draw.choice(self.counts)

    def width(self) -> int:
        return self.draw.choice(self.widths)

    def few(self, of: list[Any], most: int = 3) -> list[Any]:
        return self.draw.sample(of, self.draw.randint(0, min(most, len(of))))

    def any_of(self, *parts: Callable[[], Any]) -> Any:
        return self.draw.choice(parts)()

    def names(self) -> list[str]:
        """Names with common prefixes, or a few from the pool."""
        if self.draw.random() < 0.6:
            return self.draw.sample(NAMES, self.draw.randint(1, 4))
        step = self.draw.choice([1, 7])
        return [f"{'a' * (i % 3)}{i * step}" for i in range(self.width())]

    def pattern(self) -> str:
        pattern = self.draw.choice(PATTERNS)
        return pattern.replace("%d", str(min(self.count(), 40_000)))

    def inner(self) -> Any:
        """A subschema, a simple one where no more are left."""
        self.left -= 1
        if self.left > 0 and self.draw.random() < 0.7:
            return self.schema()
        return self.any_of(
            lambda: True, lambda: False, dict, lambda: {"type": self.draw.choice(TYPES)}, self.reference, self.string, self.number,
            self.values, lambda: {"const": self.value()},
        )  # fmt: skip

    def reference(self) -> Schema:
        return {"$ref": self.draw.choice(["#", "#/$defs/x", "#/$defs/y", "#/$defs/z"])}

    def value(self, depth: int = 2) -> Any:
        if depth == 0 or self.draw.random() < 0.6:
            return self.draw.choice([None, True, 0, 1, -7, 1.5, 1e300, 10**40, "", "a", "ab", "é\n", "x" * 60])
        if self.draw.random() < 0.5:
            return [self.value(depth - 1) for _ in range(self.draw.randrange(4))]
        return {name: self.value(depth - 1) for name in self.few(NAMES)}

    # Parts of one type

    def string(self) -> Schema:
        found: Schema = {}
        if self.draw.random() < 0.7:
            found["pattern"] = self.pattern()
        if self.draw.random() < 0.4:
            found["minLength"] = self.count()
        if self.draw.random() < 0.4:
            found["maxLength"] = self.count()
        if self.draw.random() < 0.1:
            found["format"] = self.draw.choice(FORMATS)
        return found or {"type": "string"}

    def number(self) -> Schema:
        bounds = [0, 1, -1, 10, 1.5, 10**9, -(10**9), 10**40, 1e-9, 0.1, 1e300, 997, 12345678901234567890]
        keys = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]
        found: Schema = {key: self.draw.choice(bounds) for key in self.few(keys, 2)}
        if self.draw.random() < 0.7:
            found["multipleOf"] = self.draw.choice(DIVISORS)
        return found or {"type": "number"}

    def multiples(self) -> Schema:
        return {"allOf": [{"multipleOf": self.draw.choice(DIVISORS)} for _ in range(self.draw.randint(2, 6))]}

    def values(self) -> Schema:
        """An enum with common prefixes."""
        n = self.width()
        return self.any_of(
            lambda: {"enum": [f"{'ab' * (i % 5)}{i}" for i in range(n)] or [""]},
            lambda: {"enum": list(range(n)) or [0]},
            lambda: {"enum": [{"a": i, "b": [i % 7, "x"]} for i in range(n)] or [{}]},
            lambda: {"enum": [[i % 3] * (i % 9) for i in range(n)] or [[]]},
            lambda: {"enum": [self.value() for _ in range(self.draw.randint(1, 6))]},
        )

    def object(self) -> Schema:
        names = self.names()
        found: Schema = {"properties": {name: self.inner() for name in names[:6]} | dict.fromkeys(names[6:], True)}
        keywords: dict[str, Callable[[], Any]] = {
            "required": lambda: self.any_of(lambda: names, lambda: self.few(names), lambda: [*names[:9], *NAMES]),
            "additionalProperties": self.inner,
            "patternProperties": lambda: {self.pattern(): self.inner() for _ in range(self.draw.randint(1, 4))},
            "propertyNames": lambda: self.any_of(self.string, self.values, self.inner),
            "minProperties": self.count,
            "maxProperties": self.count,
            "dependentRequired": self.dependencies,
            "dependentSchemas": lambda: {name: self.inner() for name in self.few(names)},
            "unevaluatedProperties": self.inner,
        }
        for key in self.few(list(keywords), 4):
            found[key] = keywords[key]()
        return self.typed("object", found)

    def dependencies(self) -> dict[str, list[str]]:
        """A chain, a circle, all on all, or on names that nothing declares."""
        names = self.names()
        return self.any_of(
            lambda: {name: [after] for name, after in zip(names, names[1:] + names[:1], strict=True)},
            lambda: {name: [after] for name, after in pairwise(names)},
            lambda: dict.fromkeys(names[:40], names[:40]),
            lambda: {name: [f"no {name}", ""] for name in names},
        )

    def patterned(self) -> Schema:
        """Many patterns of names that overlap."""
        n = self.width()
        return self.typed("object", {"patternProperties": {f"^a{{{i}}}.*b": {"maxLength": i} for i in range(n)}})

    def array(self) -> Schema:
        found: Schema = {}
        keywords: dict[str, Callable[[], Any]] = {
            "items": self.inner,
            "prefixItems": lambda: [self.inner() for _ in range(self.draw.randint(1, 4))],
            "contains": self.inner,
            "minContains": self.count,
            "maxContains": self.count,
            "minItems": self.count,
            "maxItems": self.count,
            "uniqueItems": lambda: True,
            "unevaluatedItems": self.inner,
        }
        for key in self.few(list(keywords), 5):
            found[key] = keywords[key]()
        return self.typed("array", found)

    def pigeons(self) -> Schema:
        """Items that must differ and have few values, or too few."""
        n = self.draw.choice([2, 3, 9, 30])
        values: Schema = self.any_of(
            lambda: {"type": "integer", "minimum": 1, "maximum": n},
            lambda: {"enum": [f"v{i}" for i in range(n)]},
            lambda: {"type": "array", "maxItems": 2, "items": {"type": "boolean"}},
            lambda: {"type": "object", "maxProperties": 1, "propertyNames": {"maxLength": 1}, "additionalProperties": {"type": "null"}},
            self.inner,
        )  # fmt: skip
        found = {"items": values, "uniqueItems": True, "minItems": n + self.draw.choice([-1, 0, 1])}
        if self.draw.random() < 0.4:
            found["contains"] = self.inner()
        return self.typed("array", found)

    def containing(self) -> Schema:
        """Many items that an array must contain."""
        wanted = [
            {"contains": self.any_of(lambda i=i: {"const": i}, lambda i=i: {"multipleOf": i + 2}, self.inner), "minContains": i % 3}
            for i in range(self.draw.randint(2, 8))
        ]  # fmt: skip
        return self.typed("array", {"allOf": wanted, "maxItems": self.draw.choice([1, 3, 9, 10**6])})

    def typed(self, kind: str, found: Schema) -> Schema:
        return {"type": kind, **found} if self.draw.random() < 0.7 else found

    # Parts of all types

    def applied(self) -> Schema:
        several = [self.inner() for _ in range(self.draw.randint(1, 4))]
        return self.any_of(
            lambda: {"allOf": several},
            lambda: {"anyOf": several},
            lambda: {"oneOf": several},
            lambda: {"not": several[0]},
            lambda: {"if": several[0], "then": several[-1], "else": self.inner()},
        )

    def tower(self) -> Schema:
        """One applicator within another, many times, with another condition at each level."""
        found: Any = self.inner()
        for i in range(min(self.width(), 60)):
            more: Any = self.any_of(
                lambda i=i: {"required": [f"a{i}"]},
                lambda i=i: {"minLength": i % 5},
                lambda i=i: {"multipleOf": i + 1},
                lambda i=i: {"maxItems": i},
            )
            found = self.any_of(
                lambda f=found: {"not": f},
                lambda f=found, m=more: {"not": {"allOf": [f, m]}},
                lambda f=found, m=more: {"oneOf": [f, m]},
                lambda f=found, m=more: {"anyOf": [{"not": f}, m]},
                lambda f=found, m=more: {"if": m, "then": f},
            )
        return dict(found) if isinstance(found, dict) else {"not": {}}

    def clauses(self) -> Schema:
        """Propositional logic over names that come or do not."""
        n = self.draw.choice([3, 8, 20])

        def literal() -> Schema:
            wanted = {"required": [f"a{self.draw.randrange(n)}"]}
            return wanted if self.draw.random() < 0.5 else {"not": wanted}

        key = self.draw.choice(["anyOf", "oneOf"])
        return {"allOf": [{key: [literal() for _ in range(3)]} for _ in range(self.draw.choice([n, 4 * n]))]}

    def contradiction(self) -> Schema:
        part = self.any_of(self.string, self.number, self.object, self.array)
        return self.any_of(
            lambda: {"allOf": [part, {"not": part}]},
            lambda: {"oneOf": [part, part]},
            lambda: {"oneOf": [part, {**part, "title": "x"}, self.inner()]},
            lambda: {"type": "array", "minItems": 1, "items": {"allOf": [part, {"not": part}]}},
        )

    def deep(self) -> Schema:
        """Many levels, at the end of which is a difficulty."""
        found: Any = self.inner()
        for _ in range(self.draw.choice([3, 20, 50])):
            found = self.any_of(
                lambda f=found: {"items": f, "minItems": 1, "type": "array"},
                lambda f=found: {"properties": {"a": f}, "required": ["a"], "type": "object"},
                lambda f=found: {"additionalProperties": f},
                lambda f=found: {"contains": f},
                lambda f=found: {"prefixItems": [f, True], "minItems": 2},
            )
        return dict(found)

    def schema(self) -> Schema:
        """One to three parts, merged."""
        kinds = [
            self.string, self.number, self.multiples, self.values, self.object, self.object, self.object, self.patterned, self.array,
            self.array, self.pigeons, self.containing, self.applied, self.applied, self.tower, self.clauses, self.contradiction, self.deep,
            self.reference,
        ]  # fmt: skip
        found: Schema = {}
        for _ in range(self.draw.choice([1, 1, 2, 3])):
            found |= self.draw.choice(kinds)()
        return found


def schemas(draw: random.Random, *, is_large: bool = False) -> Schema:
    """A hostile schema, with definitions that may refer to each other, and to itself."""
    widths = [0, 3, 30, 300, 3_000] if is_large else [0, 1, 3, 10, 30]
    maker = Maker(draw, LARGE if is_large else SMALL, widths, draw.choice([3, 10, 30] if is_large else [2, 5, 10]))
    found = maker.schema()
    found["$defs"] = {name: maker.inner() for name in "xyz"}
    return found


def options(draw: random.Random) -> dict[str, Any]:
    """Options of `JsonSchema`."""
    return {
        "whitespace": draw.choice(["flexible", "compact", "pretty(2)", "[ ]{0,30}"]),
        "property_order": draw.choice(["schema", "any"]),
        "numbers": draw.choice(["plain", "any", "dumps"]),
        "escapes": draw.choice(["canonical", "any", "dumps"]),
        "unsupported": draw.choice(["refuse", "record"]),
        "additional_properties": draw.random() < 0.7,
        "eager": draw.choice([False, False, "auto", True]),
    }


# Limits that are not divided: of a vocabulary, and of what a schema looks like, which would refuse nearly all of them.
_FIXED = {
    "tokens", "token_length", "schema_depth", "listed_depth", "assertion_depth", "unevaluated_cases", "whitespace_states", "digits",
}  # fmt: skip


def limits_over(scale: int) -> Limits:
    """The default limits, divided."""
    return Limits(
        **{one.name: getattr(Limits(), one.name) // scale for one in fields(Limits) if one.name not in _FIXED}
    )


@cache
def vocabulary() -> Vocabulary:
    """All bytes, pairs of bytes that occur in JSON, and longer tokens that cross its punctuation."""
    pieces = 'ab01"{}[]:, \\é-.'
    tokens = {bytes([byte]) for byte in range(256)} | {(one + two).encode() for one in pieces for two in pieces}
    tokens |= {
        text.encode()
        for text in ('{"', '":', '": "', '", "', '"}', '"]', "]}", "}, {", "aaaaaaaa", "00000000", "bbb", 'a": {"b')
    }
    return Vocabulary([*sorted(tokens), None], eos=[len(tokens)])


class Slow(BaseException):
    """A call ran for far longer than its bound."""


@contextmanager
def stopping(seconds: float) -> Iterator[None]:
    """Raise `Slow` once the block has run for that many seconds of CPU."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise Slow(f"stopped after {seconds} s of CPU")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@dataclass
class Trial:
    """What came of one schema.

    Attributes
    ----------
    seconds : float
        Calls are stopped after this many seconds of CPU.
    spent : dict of str to float
        CPU seconds of the slowest call of each name.
    errors : dict of str to int
        Number of typed errors, by call and by class and limit.
    n_steps, n_ended : int
        Tokens read, and texts followed to their end.
    """

    seconds: float
    spent: dict[str, float] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)
    n_steps: int = 0
    n_ended: int = 0

    def call(self, name: str, run: Callable[[], Any]) -> Any:
        """Return the result of a call, or its `GuidedError`; any other error is a finding."""
        before = time.process_time()
        try:
            with stopping(self.seconds):
                return run()
        except GuidedError as error:
            key = f"{name}: {error.what if isinstance(error, LimitError) else type(error).__name__}"
            self.errors[key] = self.errors.get(key, 0) + 1
            return error
        finally:
            self.spent[name] = max(self.spent.get(name, 0.0), time.process_time() - before)


def try_schema(
    schema: Any, given: dict[str, Any], limits: Limits, draw: random.Random, *, seconds: float = 20.0, n_steps: int = 20
) -> Trial:
    """Construct, compile and walk at random; assert what must hold after each call.

    Raises
    ------
    AssertionError, Slow
        A finding; so is any other exception.
    """
    trial = Trial(seconds)
    spec = trial.call("construct", lambda: JsonSchema(schema, **given))
    if isinstance(spec, GuidedError):
        return trial
    index = trial.call("compile", lambda: compile_spec(spec, vocabulary(), limits))
    if isinstance(index, GuidedError):
        return trial
    _walk(trial, index, draw, n_steps)
    return trial


def _walk(trial: Trial, index: Index, draw: random.Random, n_steps: int) -> None:
    guide, text = index.guide(), b""
    for _ in range(n_steps):
        mask = trial.call("mask", guide.mask)
        least = trial.call("remaining", lambda: guide.remaining)
        within = trial.call("mask_within", lambda: guide.mask_within(guide.remaining))
        again = trial.call("mask", guide.mask)
        if isinstance(mask, GuidedError) or isinstance(again, GuidedError):
            # A call keeps what it computed before it failed, so the next one may succeed. A mask that was evicted may fail.
            break
        assert (mask == again).all(), "the mask changed"
        allowed = bits(mask)
        assert allowed or guide.is_finished, "no token is allowed"
        if not isinstance(within, GuidedError) and not isinstance(least, GuidedError):
            kept = bits(within)
            assert kept or guide.is_finished, "no token fits the least budget"
            assert set(kept) <= set(allowed), "a token fits a budget and is not allowed"
            may_end = trial.call("is_accepting", lambda: guide.is_accepting)
            assert isinstance(may_end, GuidedError) or may_end == (least == 0), (
                "0 remain, or the text may end, but not both"
            )
            if draw.random() < 0.3:
                _follow(trial, guide.fork(), least, draw)
            allowed = kept if draw.random() < 0.3 else allowed
        if guide.is_finished:
            break
        token = draw.choice(allowed)
        state, length = guide.state, len(guide)
        if isinstance(trial.call("advance", lambda token=token: guide.advance(token)), GuidedError):
            again = trial.call("mask", guide.mask)
            assert isinstance(again, GuidedError) or (again == mask).all(), "an error changed the mask"
            assert (guide.state, len(guide)) == (state, length), "an error moved the guide"
            break
        trial.n_steps += 1
        text += index.vocabulary[token] or b""
        trial.call("accepts", lambda text=text: index.accepts(text + draw.choice([b"", b"}", b'"]}', b"0" * 50])))


def _follow(trial: Trial, guide: Guide, budget: int, draw: random.Random) -> None:
    """Follow masks within a budget that suffices to the end, if that is not far."""
    if budget > 200:
        return
    while budget > 0:
        within = trial.call("mask_within", lambda left=budget: guide.mask_within(left))
        if isinstance(within, GuidedError):
            assert isinstance(within, LimitError), "no completion where there was one"
            assert within.what != "max_tokens", "the budget no longer suffices"
            return
        kept = bits(within)
        assert kept, "no token fits the budget"
        if vocabulary().eos[0] in kept:
            trial.n_ended += 1
            return
        before = guide.state
        if isinstance(trial.call("advance", lambda kept=kept: guide.advance(draw.choice(kept))), GuidedError):
            assert guide.state == before, "an error moved the guide"
            return
        budget -= 1
    may_end = trial.call("is_accepting", lambda: guide.is_accepting)
    assert isinstance(may_end, GuidedError) or may_end, "the budget is spent, and the text may not end"
    trial.n_ended += 1


def attempt(seed: int, number: int, scale: int, *, is_large: bool, seconds: float = 20.0) -> tuple[Any, Trial]:
    """Make and try the schema of a seed and number."""
    draw = random.Random(f"{seed} {number}")
    schema, given = schemas(draw, is_large=is_large), options(draw)
    return schema, try_schema(schema, given, limits_over(scale), draw, seconds=seconds)


def place_of(error: BaseException) -> str:
    """Where an error was raised."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"


def show(seed: int, number: int, scale: int) -> None:
    """Print and try the schema of a number; a finding is raised."""
    draw = random.Random(f"{seed} {number}")
    schema, given = schemas(draw, is_large=number % 2 == 1), options(draw)
    print(json.dumps(schema), given, sep="\n")
    print(try_schema(schema, given, limits_over(scale), draw))


def main(seed: int, count: int, scale: int) -> None:
    """Try schemas; print findings as they come, and a summary as JSON."""
    warm(lambda _: None)  # what a first process on a machine compiles is not a schema's price
    findings: list[str] = []
    slowest: list[tuple[float, str, int]] = []
    errors: dict[str, int] = {}
    n_steps = n_ended = 0
    for number in range(count):
        try:
            _, trial = attempt(seed, number, scale, is_large=number % 2 == 1)
        except (Exception, Slow) as error:
            findings.append(f"{number}: {type(error).__name__}: {str(error)[:200]} at {place_of(error)}")
            print(findings[-1], flush=True)
            continue
        slowest = sorted([*slowest, *((spent, call, number) for call, spent in trial.spent.items())], reverse=True)[:20]
        for key, times in trial.errors.items():
            errors[key] = errors.get(key, 0) + times
        n_steps, n_ended = n_steps + trial.n_steps, n_ended + trial.n_ended
    summary = {
        "findings": findings,
        "tokens": n_steps,
        "ended": n_ended,
        "megabytes": megabytes_of("VmHWM"),
        "slowest": slowest,
        "errors": errors,
    }
    print(json.dumps(summary))


if __name__ == "__main__":
    arguments = [int(text) for text in sys.argv[1:]]
    if len(arguments) == 4:
        show(arguments[0], arguments[3], arguments[2])
    else:
        main(*arguments)
