"""Requests of serving engines: from what an API hands over to specs, refusals and shared indices.

An engine's front end calls `FrontEnd.refusal` for each request, and answers the request with the reason if there is one. The engine itself
calls `Indices.index`, which compiles a constraint once however many requests ask for it.

Requests come from strangers: a text never names a file, every compile is bounded by `Limits`, and a keyword, option or kind that is not
supported is refused instead of being ignored.

Some engines pass nothing but a text to their compile. `Options.packed` puts the options of a request before its text, where `Indices` reads
them. `FrontEnd` never does: a text of a stranger that begins like packed options is not JSON, and refused.

The front end computes what the engine will: the index over the model's vocabulary, and the first mask. Its budgets are stricter, so what
passes compiles in the engine. The size of a text is asked before it is parsed: Python's own functions of that kind hold the lock of the
interpreter for as long as they run.

Independent of any serving engine; `guided.integrations.vllm` and `guided.integrations.sglang` adapt it.
"""

import gc
import hashlib
import json
import logging
import os
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final, Generic, Literal, TypeVar

from guided.arrays import Int32Array
from guided.automata.build import in_one_budget
from guided.automata.steps import Steps
from guided.engine.compile import compile as compile_index
from guided.engine.grammar import Grammar
from guided.engine.index import Index
from guided.engine.json_schema import JsonSchema
from guided.engine.specs import Choice, Regex
from guided.engine.structural_tags import StructuralTag
from guided.errors import GuidedError, LimitError, SchemaError
from guided.limits import Limits
from guided.locks import Rank, new_lock
from guided.schema.frontend.json_values import parse_json
from guided.vocabulary.files import kind_of_file, read_file
from guided.vocabulary.folders import with_added
from guided.vocabulary.roundtrip import prove_round_trip
from guided.vocabulary.vocabulary import Vocabulary

__all__ = [
    "ENGINE_LIMITS", "FRONT_END_LIMITS", "JSON_KINDS", "KINDS", "WHITESPACE_NAMES", "FrontEnd", "Indices", "Kind", "Options", "Shared",
    "spec_of", "vocabulary_of",
]  # fmt: skip

_Value = TypeVar("_Value")

# The kinds of constraints, by vLLM's names.
Kind = Literal["JSON", "JSON_OBJECT", "REGEX", "CHOICE", "GRAMMAR", "STRUCTURAL_TAG"]
KINDS: Final[tuple[Kind, ...]] = ("JSON", "JSON_OBJECT", "REGEX", "CHOICE", "GRAMMAR", "STRUCTURAL_TAG")

# Budgets of one constraint in the engine, where hundreds of indices share the memory.
ENGINE_LIMITS = Limits(mask_bytes=32 << 20, growth_bytes=32 << 20, index_bytes=256 << 20)
# Budgets of a check: below those of the engine, so that what passes compiles there.
FRONT_END_LIMITS = Limits(
    pattern_length=100_000,
    intervals=500_000,
    nfa_states=200_000,
    states=50_000,
    transitions=4_000_000,
    steps=10_000_000,
    index_bytes=64 << 20,
    mask_bytes=16 << 20,
    growth_bytes=16 << 20,
    call_steps=75_000,
    dead_end_steps=3_000_000,
    schema_depth=100,
    schema_parts=100_000,
    digits=1_000,
    names=5_000,
    file_bytes=1 << 20,
)  # fmt: skip

# The part of its steps that a check gets at first: most real constraints need less, and nothing waits long for those that need more.
_FIRST_SHARE = 8
# How many times the steps of a check a grammar may take, and reading or compiling it alone: that of SQL takes 50 million, 28 of them read.
_GRAMMAR_SHARE, _READING_SHARE = 6, 3
# MB of indices that an engine keeps, unless the variable says otherwise: engines have no setting of their own for plugins.
_INDEX_MB, _INDEX_MB_VARIABLE = 1024, "GUIDED_INDEX_CACHE_MB"
# Refusals kept by a front end, and their longest text.
_KEPT_REFUSALS, _LONGEST_REFUSAL = 4096, 1000
# Measured bytes that the index of a schema keeps for each character of its request, beside its tables.
_PER_CHARACTER = 10
# Beginning of a text with options.
_HEAD = "guided"
# Kinds whose texts may contain JSON, to which `Options` apply.
JSON_KINDS: Final[frozenset[str]] = frozenset({"JSON", "JSON_OBJECT", "STRUCTURAL_TAG"})
# Kinds whose texts are JSON.
_WRITTEN_IN_JSON: Final[frozenset[str]] = frozenset({"JSON", "CHOICE", "STRUCTURAL_TAG"})
# Values of `Options.whitespace` that are names instead of regular expressions.
WHITESPACE_NAMES: Final[frozenset[str]] = frozenset({"flexible", "compact"})

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Options:
    """How the JSON of a request is written.

    Attributes
    ----------
    whitespace : str
        As in `JsonSchema`.
    additional_properties : bool
        As in `JsonSchema`.
    """

    whitespace: str = "flexible"
    additional_properties: bool = True

    def packed(self, text: str, seal: str = "") -> str:
        """Return a text that carries these options to the engine; `unpacked` reads it. It is never valid JSON itself.

        ``seal``: a secret of the front end, by which it recognizes texts that it has packed itself.
        """
        return f"{_HEAD}{json.dumps([seal, self.whitespace, self.additional_properties])}\n{text}"

    def unpacked(self, text: str, seal: str | None = None) -> "tuple[Options, str]":
        """Return the options that a text carries, or these, and the text without them.

        With a ``seal``, only options packed with the same one are read.
        """
        head, line_end, rest = text.partition("\n")
        if not line_end or not head.startswith(f"{_HEAD}[" if seal is None else f"{_HEAD}[{json.dumps(seal)},"):
            return self, text
        _, whitespace, additional_properties = json.loads(head[len(_HEAD) :])
        return Options(whitespace, additional_properties), rest


def spec_of(
    kind: str, text: str, options: Options | None = None, limits: Limits | None = None
) -> JsonSchema[Any] | Regex | Choice[str] | Grammar | StructuralTag:
    r"""Return the spec of a request. Reads no file of the request's choosing.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    text : str
        JSON text of a schema, a list of options or a structural tag; a regular expression, whose classes such as ``\d`` are ASCII's; a
        grammar in Lark's notation, GBNF or llguidance's dialect. Ignored for ``"JSON_OBJECT"``.
    options : Options, optional
    limits : Limits, optional
        Budgets of reading grammars.

    Raises
    ------
    SchemaError, PatternError, GrammarError, LimitError
        The request is malformed or not supported.
    """
    options = options or Options()
    if kind == "JSON":
        return _json_schema(text, options)
    if kind == "JSON_OBJECT":
        return _json_schema('{"type": "object"}', options)
    if kind == "REGEX":
        return Regex(text, ascii=True)
    if kind == "CHOICE":
        return _choice(_parsed(text))
    if kind == "GRAMMAR":
        return Grammar(text, limits=limits)
    if kind == "STRUCTURAL_TAG":
        return StructuralTag(
            _parsed(text),
            whitespace=options.whitespace,
            additional_properties=options.additional_properties,
            limits=limits,
        )
    raise SchemaError(f"unknown kind of constraint; known are {', '.join(KINDS)}", "", str(kind))


def _json_schema(schema: Any, options: Options) -> JsonSchema[Any]:
    return JsonSchema(
        schema, source="schema", whitespace=options.whitespace, additional_properties=options.additional_properties
    )


def _choice(given: Any) -> Choice[str]:
    if not isinstance(given, list) or not all(isinstance(option, str) for option in given):
        raise SchemaError("a choice is a list of strings", "", "choice")
    return Choice(list(dict.fromkeys(given)))


def _parsed(text: str) -> Any:
    try:
        return parse_json(text, levels=Limits.of(None).schema_depth)
    except ValueError as error:
        raise SchemaError(f"the text is not valid JSON: {error}", "", "schema") from error


class Shared(Generic[_Value]):
    """Values computed once for all threads that ask for them; the least recently used ones are dropped beyond a bound.

    Parameters
    ----------
    most : int
        Maximum sum of the weights.
    weigh : callable
        Weight of a value. Values may grow: each call weighs the value that it returns and another one, in turn, again.

    Notes
    -----
    The sum of the weights is kept, so a call is O(1) however many values there are. A value that grows without being asked for is weighed
    again after as many calls as there are values.
    """

    def __init__(self, most: int, weigh: Callable[[_Value], int] = lambda _: 1) -> None:
        self._most, self._weigh = most, weigh
        # Least recently used first.
        self._values: OrderedDict[Hashable, Future[_Value]] = OrderedDict()
        # Weights of the computed values, those first that are to be weighed again, and their sum.
        self._weights: OrderedDict[Hashable, int] = OrderedDict()
        self._total = 0
        # Weight of all values that were dropped so far.
        self.dropped = 0
        self._lock = new_lock(Rank.INDEX)

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: Hashable, compute: Callable[[], _Value]) -> tuple[_Value, bool]:
        """Return the value of a key, and whether it was known. Threads that ask for a value under computation wait for it.

        Raises
        ------
        Exception
            What ``compute`` raises, in every thread that waits. It is not kept: the next call computes again.
        """
        with self._lock:
            known = self._values.get(key)
            future: Future[_Value] = known or Future()
            self._values[key] = future
            self._values.move_to_end(key)
        if known is not None:
            found = known.result()
            self._settle(key, known)
            return found, True
        try:
            future.set_result(compute())
        except BaseException as error:
            with self._lock:
                if self._values.get(key) is future:
                    del self._values[key]
            future.set_exception(error)
            raise
        self._settle(key, future)
        return future.result(), False

    def known(self, key: Hashable) -> _Value | None:
        """Return the value of a key if it has been computed; never waits for a computation."""
        with self._lock:
            future = self._values.get(key)
            if future is None or not future.done():
                return None
            self._values.move_to_end(key)
            return future.result()

    def clear(self) -> None:
        """Drop all values."""
        with self._lock:
            self._values.clear()
            self._weights.clear()
            self._total = 0

    def _settle(self, key: Hashable, future: "Future[_Value]") -> None:
        """Weigh the value of a key and another one, and drop the least recently used ones beyond the bound."""
        with self._lock:
            if self._values.get(key) is not future:
                return
            self._weigh_again(key)
            self._weigh_again(next(iter(self._weights)))
            while self._total > self._most:
                # The value of this call serves a request, and the others that are not weighed are being computed.
                oldest = next((one for one in self._values if one in self._weights and one != key), None)
                if oldest is None:
                    break
                del self._values[oldest]
                weight = self._weights.pop(oldest)
                self._total -= weight
                self.dropped += weight

    def _weigh_again(self, key: Hashable) -> None:
        """Note the weight of a computed value; it is then the last to be weighed again."""
        weight = self._weigh(self._values[key].result())
        self._total += weight - self._weights.get(key, 0)
        self._weights[key] = weight
        self._weights.move_to_end(key)


class Indices:
    """The indices of an engine, by request.

    Parameters
    ----------
    vocabulary : Vocabulary
        The model's.
    options : Options, optional
        Those of requests that carry none.
    limits : Limits, optional
        Budgets of each index.
    max_bytes : int, optional
        Memory of all indices kept, measured whenever one is added. By default 1 GiB, or what ``GUIDED_INDEX_CACHE_MB`` says.

    Raises
    ------
    ValueError
        ``GUIDED_INDEX_CACHE_MB`` is not a whole number.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        options: Options | None = None,
        limits: Limits = ENGINE_LIMITS,
        max_bytes: int | None = None,
    ) -> None:
        self.vocabulary, self._options, self._limits = vocabulary, options or Options(), limits
        self._most = most = _index_cache_bytes() if max_bytes is None else max_bytes
        self._collected = 0
        self._indices = Shared[_Kept](most, lambda kept: kept.index.n_bytes + kept.source_bytes)

    def __len__(self) -> int:
        return len(self._indices)

    def index(self, kind: str, text: str) -> tuple[Index, bool]:
        """Return the index of a request with its first mask, and whether it was known. The text may carry options (`Options.packed`).

        Raises
        ------
        GuidedError
            As `spec_of` and `compile`.
        """
        options, text = self._unpacked(kind, text)
        kept, known = self._indices.get(_key(kind, text, options), lambda: self._compiled(kind, text, options))
        dropped = self._indices.dropped
        if dropped - self._collected > self._most // 4:
            # Why: parts of an index refer to each other, and Python's collector begins by the number of objects, not by their bytes.
            self._collected = dropped
            gc.collect()
        return kept.index, known

    def known(self, kind: str, text: str) -> Index | None:
        """Return what `index` would, if that is known; never waits for a compile."""
        options, text = self._unpacked(kind, text)
        kept = self._indices.known(_key(kind, text, options))
        return None if kept is None else kept.index

    def clear(self) -> None:
        """Drop all indices; guides keep theirs."""
        self._indices.clear()

    def _unpacked(self, kind: str, text: str) -> tuple[Options, str]:
        return self._options.unpacked(text) if kind in JSON_KINDS else (self._options, text)

    def _compiled(self, kind: str, text: str, options: Options) -> "_Kept":
        index = compile_index(spec_of(kind, text, options, self._limits), self.vocabulary, self._limits)
        index.mask(index.initial)
        return _Kept(index, _PER_CHARACTER * len(text))


@dataclass(frozen=True, slots=True)
class _Kept:
    """An index, and about the bytes of what it keeps besides its tables: descriptions and unused definitions, too."""

    index: Index
    source_bytes: int


class FrontEnd:
    """Checks requests before they reach the engine.

    Parameters
    ----------
    vocabulary : Vocabulary
        The model's.
    options : Options, optional
        As the engine's.
    limits : Limits, optional
        Budgets of a check. ``file_bytes`` bounds the text and the options of a request together, in characters; ``schema_parts`` the
        values in JSON.
    """

    def __init__(
        self, vocabulary: Vocabulary, options: Options | None = None, limits: Limits = FRONT_END_LIMITS
    ) -> None:
        self.options, self.limits = options or Options(), limits
        self._vocabulary = vocabulary
        self._refusals = Shared[str | None](_KEPT_REFUSALS)
        self._first_limits = replace(
            self.limits,
            steps=self.limits.steps // _FIRST_SHARE,
            call_steps=self.limits.call_steps // _FIRST_SHARE,
            dead_end_steps=self.limits.dead_end_steps // _FIRST_SHARE,
        )
        # What a check within these limits found; None where they do not decide.
        self._first_refusals = Shared[str | None](_KEPT_REFUSALS)

    def refusal(
        self, kind: str, text: str, options: Options | None = None, allowed: Int32Array | None = None
    ) -> tuple[str, bool]:
        """Return why a request cannot be served, empty if it can, and whether that was known. Raises nothing.

        ``options``: those of the request, if they are not the engine's. ``allowed``: mask of the only tokens that the request allows.
        """
        found, known = self._outcome(self._refusals, self.limits, kind, text, options or self.options, allowed)
        assert found is not None
        return found, known

    def first_refusal(
        self, kind: str, text: str, options: Options | None = None, allowed: Int32Array | None = None
    ) -> tuple[str | None, bool]:
        """Return what `refusal` would if an eighth of the steps decides that, and None if it does not."""
        return self._outcome(self._first_refusals, self._first_limits, kind, text, options or self.options, allowed)

    def known(
        self, kind: str, text: str, options: Options | None = None, allowed: Int32Array | None = None
    ) -> str | None:
        """Return what `refusal` would, if that is known; None if it is not."""
        key = _key(kind, text, options or self.options, allowed)
        found = self._refusals.known(key)
        return self._first_refusals.known(key) if found is None else found

    def check_size(self, kind: str, text: str, options: Options) -> None:
        """Check the size of a request without parsing it.

        Raises
        ------
        LimitError
            ``file_bytes`` or ``schema_parts`` is exceeded.
        """
        n_characters, limits = len(text) + len(options.whitespace), self.limits
        if n_characters > limits.file_bytes:
            raise LimitError("file_bytes", n_characters, limits.file_bytes, "the constraint of a request is too long")
        n_values = sum(map(text.count, ",[{")) if kind in _WRITTEN_IN_JSON else 0
        if n_values > limits.schema_parts:
            raise LimitError(
                "schema_parts", n_values, limits.schema_parts, "the constraint of a request has too many values"
            )

    def _outcome(
        self,
        refusals: Shared[str | None],
        limits: Limits,
        kind: str,
        text: str,
        options: Options,
        allowed: Int32Array | None,
    ) -> tuple[str | None, bool]:
        """Return the outcome of a check of a request, and whether that was known; None if a part of the limits does not decide it."""

        def check() -> str | None:
            try:
                return self._checked(kind, text, options, allowed, limits)
            except LimitError as error:
                return None if limits is self._first_limits else _shortened(f"LimitError: {error}")

        try:
            self.check_size(kind, text, options)
            return refusals.get(_key(kind, text, options, allowed), check)
        except LimitError as error:
            return f"LimitError: {error}", False
        except Exception as error:  # Why all: whatever is wrong with one request, the others are served
            _logger.exception("a check of a request failed")
            return _shortened(f"the constraint cannot be checked ({type(error).__name__}: {error})"), False

    def _checked(self, kind: str, text: str, options: Options, allowed: Int32Array | None, limits: Limits) -> str:
        """Return why a request cannot be served; raise LimitError if that is unknown within the limits."""
        reading = _reading(limits)
        try:
            steps = Steps((_GRAMMAR_SHARE if kind == "GRAMMAR" else _READING_SHARE) * limits.steps)
            spec = in_one_budget(lambda: spec_of(kind, text, options, reading), steps)
            compiling = replace(limits, steps=min(steps.left, reading.steps)) if kind == "GRAMMAR" else limits
            index = compile_index(spec, self._vocabulary, compiling)
            mask = index.mask(index.initial)
        except LimitError:
            raise
        except GuidedError as error:
            return _shortened(f"{type(error).__name__}: {error}")
        except (ValueError, TypeError) as error:
            return _shortened(str(error))
        except RecursionError:
            return "LimitError: it nests too deeply"
        if allowed is not None and not (mask & allowed).any():
            return "allowed_token_ids leaves no token with which a text of the constraint can begin"
        return ""


@lru_cache(maxsize=16)
def _reading(limits: Limits) -> Limits:
    # PERF: making limits takes a tenth of the check of a small schema (`python -m benchmarks.serving`).
    return replace(limits, steps=_READING_SHARE * limits.steps)


@lru_cache(maxsize=16)
def _shortened(reason: str) -> str:
    return reason if len(reason) <= _LONGEST_REFUSAL else f"{reason[: _LONGEST_REFUSAL - 3]}..."


def vocabulary_of(tokenizer: Any, size: int, eos: Sequence[int] | None) -> Vocabulary:
    """Return the vocabulary of a server's tokenizer: a fast one, or one made from a file that can be read.

    Parameters
    ----------
    tokenizer : object
        A fast tokenizer; one of mistral-common, alone or wrapped (tekken.json, SentencePiece); another one with a ``vocab_file``
        (SentencePiece, tiktoken ranks).
    size : int
        Width of the model's logits.
    eos : sequence of int, optional
        Ids that end a sequence.

    Raises
    ------
    VocabularyError
        The tokenizer's format is not supported, or its file does not spell what it encodes.
    TypeError
        It is neither fast nor made from a known file.
    """
    fast = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if hasattr(fast, "to_str"):
        return Vocabulary.from_tokenizer(fast, size, eos=eos)
    path = next(filter(None, (_attribute(tokenizer, names) for names in _FILES)), None)
    if path is None:
        raise TypeError(
            f"the vocabulary of a {type(tokenizer).__name__} cannot be read: serve the model with a fast tokenizer (a folder with "
            "tokenizer.json), or with tekken.json, a SentencePiece model or tiktoken ranks"
        )
    more: dict[str, int] = {} if kind_of_file(path) == "tekken.json" else getattr(tokenizer, "get_added_vocab", dict)()
    found = Vocabulary.of_content(with_added(read_file(path), more), size, eos)
    prove_round_trip(found.tokens, tokenizer.encode, tokenizer.decode, dummy_prefix=True)
    return found


# Attributes that lead from a tokenizer to its file.
_FILES = ("tokenizer.file_path", "tokenizer.instruct_tokenizer.tokenizer.file_path", "vocab_file")


def _attribute(holder: Any, names: str) -> Any:
    for name in names.split("."):
        holder = getattr(holder, name, None)
    return holder


def _index_cache_bytes() -> int:
    given = os.environ.get(_INDEX_MB_VARIABLE, str(_INDEX_MB))
    if not given.isdecimal():
        raise ValueError(f"{_INDEX_MB_VARIABLE} must be a whole number of MB, not {given!r}")
    return int(given) << 20


def _key(kind: str, text: str, options: Options, allowed: Int32Array | None = None) -> Hashable:
    # Why a digest: texts and options have up to megabytes.
    mask, whitespace = b"" if allowed is None else allowed.tobytes(), options.whitespace
    data = f"{len(mask)}:{len(whitespace)}:{whitespace}{options.additional_properties:d}{text}"
    return kind, hashlib.sha256(data.encode("utf-8", "surrogatepass") + mask).digest()
