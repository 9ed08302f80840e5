"""`Index`: a compiled spec over a vocabulary, immutable to its users and shared by threads."""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from operator import index as as_index
from typing import Any

import numpy as np

from guided.arrays import Int32Array
from guided.caching import Kept, cached_property
from guided.engine.explorer import drawing_of, explorer_page
from guided.engine.reading import loaded_reader, stored_reader
from guided.engine.specs import STORED_SPECS, StoredSpec, impossible_parts
from guided.errors import VocabularyError, brief, kind_of, shown
from guided.guide.end_tokens import EndTokens
from guided.guide.explanation import Explanation, describe_bytes
from guided.guide.guide import Guide
from guided.index.composition import CompositionIndex
from guided.index.pushdown import PushdownIndex
from guided.index.pushdown_files import explored_arrays
from guided.index.regular import KIND, RegularIndex
from guided.index.storage import write_arrays
from guided.limits import Limits
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["Index", "Origin"]

# Sets of end tokens whose `EndTokens` are cached.
_KEPT_END_TOKENS = 16


@dataclass(frozen=True, slots=True)
class Origin:
    """Source of an index with a stack, for files and other processes."""

    # Makes the index from an origin and a vocabulary.
    remake: Callable[["Origin", Vocabulary], "Index"] = field(repr=False)
    # Serialized as text.
    spec: StoredSpec
    limits: Limits

    def __reduce__(self) -> Any:
        # Why the inner classes: a new process knows a kind of specs once its class has been imported.
        return _origin_of, (self.remake, type(self.spec), self.spec.data, self.limits, getattr(self.spec, "inner", ()))


def _origin_of(
    remake: Callable[[Origin, Vocabulary], "Index"],
    kind: type[StoredSpec],
    data: str,
    limits: Limits,
    inner: Iterable[type[StoredSpec]],
) -> Origin:
    STORED_SPECS.update((each.kind, each) for each in inner)
    return Origin(remake, kind.from_data(data), limits)


def _remade(
    origin: Origin, vocabulary: Vocabulary, journal: dict[int, tuple[int, bytes]], last: int, summary: str
) -> "Index":
    index = replace(origin.remake(origin, vocabulary), summary=summary)
    assert not isinstance(index.tables, RegularIndex)
    if isinstance(index.tables, PushdownIndex):
        index.tables.replay(journal)
    # Guides of the other index may hold any state up to this one; those that are not here count as evicted.
    index.tables.last = last
    return index


@dataclass(frozen=True, eq=False, repr=False)
class Index:
    """Compiled constraint: for every state the allowed tokens and their successor states. Created by `guided.compile`.

    Attributes
    ----------
    tables : RegularIndex, PushdownIndex or CompositionIndex
        Tables of a finite automaton, of a pushdown automaton, or of several of them.
    vocabulary : Vocabulary
        The vocabulary it was compiled for.
    unenforced : tuple of (str, str)
        Constraints of the spec that the index does not enforce, as JSON Pointer and keyword; empty unless the spec allows such.
    notes : tuple of str
        Remarks of the compiler. The parts of a schema that no value ever has are searched when the notes are first read.
    origin : Origin, optional
        Source of an index with a stack.
    summary : str
        Short form of the spec; empty if the index was loaded from a file, or has the origin that it was compiled with.
    reader : spec or None
        Reads values of texts (`guided.engine.reading`); None if they are the texts. In files and other processes, values of Python types
        are plain JSON, and those of tools are texts.
    """

    tables: RegularIndex | PushdownIndex | CompositionIndex
    vocabulary: Vocabulary
    _fingerprint: str
    unenforced: tuple[tuple[str, str], ...] = field(default=())
    _notes: tuple[str, ...] = field(default=())
    origin: "Origin | None" = field(default=None, repr=False)
    summary: str = ""
    reader: Any = field(default=None, repr=False)

    def __reduce__(self) -> Any:
        if not isinstance(self.tables, RegularIndex):
            assert self.origin is not None, "an index with a stack knows its spec"
            journal = self.tables.journal if isinstance(self.tables, PushdownIndex) else {}
            return _remade, (self.origin, self.vocabulary, journal, self.tables.last, self._spec_name)
        return Index, (
            self.tables,
            self.vocabulary,
            self._fingerprint,
            self.unenforced,
            self._notes,
            None,
            self.summary,
            loaded_reader(stored_reader(self.reader)),
        )

    def __repr__(self) -> str:
        states = f"{self.n_states:,} states{'' if self.origin is None else ' so far'}"
        limits = "" if self.origin is None or self.origin.limits == Limits() else ", limits of its own"
        return f"<Index of {self._spec_name}: {len(self.vocabulary):,} tokens, {states}{limits}>"

    def _repr_svg_(self) -> str | None:
        """A drawing of a small automaton, for notebooks; None for others."""
        return drawing_of(self.tables.automaton) if isinstance(self.tables, RegularIndex) else None

    @property
    def _spec_name(self) -> str:
        return self.summary or (
            f"spec {self._fingerprint[:12]}" if self.origin is None else brief(self.origin.spec, 110)
        )

    @property
    def spec_fingerprint(self) -> str:
        """Fingerprint of the compiled spec."""
        return self._fingerprint if self.origin is None else self.origin.spec.fingerprint

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Remarks of the compiler."""
        if self.origin is None:
            return self._notes
        return (*self._notes, *impossible_parts(self.origin.spec, self.origin.limits))

    @property
    def initial(self) -> int:
        """State of the empty text."""
        return 0

    @cached_property
    def final(self) -> int:
        """State after EOS; it has no successors."""
        return self.tables.final

    @property
    def n_states(self) -> int:
        """Number of states without `final`; for an index that grows with its texts, those created so far."""
        return self.tables.n_states

    @property
    def n_bytes(self) -> int:
        """Approximate bytes of memory of tables and masks, without the vocabulary and what indices share."""
        return self.tables.n_bytes + sum(steps.n_bytes for steps in list(self._by_end_tokens.values()))

    @property
    def labels(self) -> Int32Array:
        """Label of each state, as given by the spec: int32, shape (n_states,). An index with a stack has none."""
        if not isinstance(self.tables, RegularIndex):
            raise TypeError("an index with a stack has no labels")
        return self.tables.automaton.labels

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index to a file atomically; `guided.load_index` reads it.

        Equal indices give equal bytes in every process. docs/format.md describes the file.

        Raises
        ------
        IndexFormatError
            The path cannot be written; an existing file is unchanged.
        """
        fields = {
            "spec": self.spec_fingerprint,
            "vocabulary": self.vocabulary.fingerprint,
            "tokens": len(self.vocabulary),
            "unenforced": [f"{pointer} {keyword}" for pointer, keyword in self.unenforced],
            "notes": list(self.notes),
        }
        if not isinstance(self.tables, RegularIndex):
            assert self.origin is not None, "an index with a stack knows its spec"
            # A composition is stored without the states that were explored.
            arrays = explored_arrays(self.tables) if isinstance(self.tables, PushdownIndex) else {}
            data = self.origin.spec.data.encode("utf-8", "surrogatepass")
            made_of = {"limits": asdict(self.origin.limits), "kind": self.origin.spec.kind}
            write_arrays(path, {**fields, **made_of}, {**arrays, "data": np.frombuffer(data, np.uint8)})
        else:
            reader = stored_reader(self.reader)
            reads = {} if reader is None else {"reads": reader}
            write_arrays(path, {**fields, **reads, "kind": KIND}, self.tables.arrays())

    def explore(self, n_states: int) -> None:
        """Create states and masks ahead of use, breadth first from the start, until there are ``n_states``.

        For an index that grows with its texts: a server starts warm, and so does a process that loads the saved index. Equal calls create
        equal states. Other indices already have all their states.

        Raises
        ------
        ValueError
            ``n_states`` is negative.
        LimitError
            A budget was exceeded.
        """
        if as_index(n_states) < 0:
            raise ValueError(f"explore needs a number of states, not {shown(n_states)}")
        if not isinstance(self.tables, RegularIndex):
            self.tables.explore(as_index(n_states))

    def explore_html(self, max_states: int = 1000) -> str:
        """Return one self-contained HTML page in which a person enters tokens and sees what is allowed and why.

        Parameters
        ----------
        max_states : int
            Largest number of states to explore of an index with a stack; a regular index is there whole.

        Returns
        -------
        str
            The page; about as large as the vocabulary.

        Raises
        ------
        ValueError
            ``max_states`` is less than 1.
        LimitError
            A budget was exceeded.
        """
        if as_index(max_states) < 1:
            raise ValueError(f"explore_html needs at least 1 state, not {shown(max_states)}")
        return explorer_page(self.tables, self.vocabulary, self.next, self._spec_name, as_index(max_states))

    def guide(self, end_tokens: Iterable[int] | None = None) -> Guide:
        """Return a new guide at the empty text.

        Parameters
        ----------
        end_tokens : iterable of int, optional
            Tokens that end this text, instead of those of the vocabulary: masks allow them exactly where the text is complete, and
            ``advance`` with one of them finishes the guide. The vocabulary's own end tokens are then never allowed, unless listed here.

        Raises
        ------
        ValueError
            The list is empty, or an id is beyond the logits, has bytes, or is a special token that the index reads by its name.
        TypeError
            An id is not an integer.
        """
        if end_tokens is None:
            return Guide(self)
        if isinstance(end_tokens, int | str | bytes):
            raise TypeError(f"end_tokens must be a list of token ids, not {type(end_tokens).__name__}")
        ids = tuple(sorted({as_index(token) for token in end_tokens}))
        if ids == tuple(sorted(self.vocabulary.eos)):
            return Guide(self)
        found = self._by_end_tokens.get(ids)
        if found is None:
            self._check_end_tokens(ids)
            found = self._by_end_tokens[ids] = EndTokens(self, self.vocabulary.eos, ids, self.vocabulary.size)
        return Guide(found)

    @cached_property
    def _by_end_tokens(self) -> Kept[tuple[int, ...], EndTokens]:
        return Kept(_KEPT_END_TOKENS)

    def _check_end_tokens(self, ids: tuple[int, ...]) -> None:
        if not ids:
            raise ValueError("end_tokens is empty: pass at least one token that ends a text")
        for token in ids:
            if not 0 <= token < self.vocabulary.size:
                raise ValueError(f"end token {shown(token)}: ids run from 0 to {self.vocabulary.size - 1}")
            if token < len(self.vocabulary) and self.vocabulary[token]:
                raise ValueError(
                    f"end token {token} is an ordinary token, {shown(self.vocabulary[token])}: only tokens without bytes can end a text"
                )
            if token not in self.vocabulary.eos and self.tables.reads(token):
                raise ValueError(f"end token {token} is a special token that texts of this index contain")

    def allowed(self, state: int) -> Int32Array:
        """Return the ids of the tokens allowed in a state, EOS included: int32, ascending. O(size)."""
        return self.tables.allowed(self._checked(state))

    def next(self, state: int, token: int) -> int:
        """Return the state after a token; -1 if the token is not allowed or ``state`` is -1. O(1)."""
        return self.tables.next(state, token)

    def mask(self, state: int) -> Int32Array:
        """Return the shared, read-only mask of a state: int32, shape (ceil(size / 32),)."""
        # PERF: called at every step, so the check is inlined (python -m benchmarks.regex; a guide's mask takes 0.22 us instead of 0.39).
        tables = self.tables
        if not 0 <= state <= tables.last and state != self.final:
            self._checked(state)
        return tables.mask(state)

    def state_after(self, tokens: Sequence[int]) -> int:
        """Return the state after tokens that were read from the start before, even if the index has evicted it. O(bytes).

        Raises
        ------
        ValueError
            The tokens are not allowed in this order.
        """
        return self.tables.state_after(tokens)

    def mask_within(self, state: int, budget: int) -> Int32Array:
        """Return the mask of the tokens after which at most ``budget - 1`` more complete the text."""
        return self.tables.mask_within(self._checked(state), budget)

    def is_accepting(self, state: int) -> bool:
        """Return whether a text may end in this state."""
        return self._checked(state) == self.final or self.tables.is_accepting(state)

    def remaining(self, state: int) -> int:
        """Return a number of tokens that suffices to reach acceptance, EOS not counted; see `Guide.remaining`."""
        return 0 if self._checked(state) == self.final else self.tables.remaining(state)

    def accepts(self, data: str | bytes) -> bool:
        """Return whether a whole text, a str or its UTF-8, is in the language. O(len(data))."""
        return self.tables.accepts(data)

    def forced(self, state: int) -> bytes:
        """Return the bytes that every continuation of a state begins with."""
        return b"" if self._checked(state) == self.final else self.tables.forced(state)

    def explain(self, state: int, token: int, read: Sequence[int] | None = None) -> Explanation:
        """Explain why a token is allowed or rejected in a state.

        ``read``: the tokens that led to the state. With them the result names a grammar's terminals and the start of the current lexeme.
        """
        found = self._explained(self._checked(state), token)
        prefix_position = getattr(self.origin and self.origin.spec, "prefix_position", None)
        if prefix_position is None or read is None or state == self.final:
            return found
        text = b"".join(self.vocabulary[one] or b"" for one in read) + (found.data or b"")[: found.accepted_bytes]
        position = prefix_position(text)
        return found if position is None else replace(found, terminals=position.terminals, lexeme_begin=position.begin)

    def diagnose(self, read: Sequence[int]) -> str:
        """Return what a schema finds wrong with the text of some tokens, the last of which is rejected.

        Empty if that is not known, and for other specs.
        """
        find = getattr(self.origin and self.origin.spec, "diagnosis", None)
        words = self.vocabulary
        text = b"".join(words[token] or b"" for token in read if 0 <= token < len(words))
        return "" if find is None or self.origin is None else str(find(text, self.origin.limits))

    def _explained(self, state: int, token: int) -> Explanation:
        data = self.vocabulary[token] if 0 <= token < len(self.vocabulary) else None
        allowed = self.next(state, token) >= 0
        if state == self.final:
            return Explanation(token, data, False, 0, "nothing", "the text has ended")
        if data is None:
            return self._explain_without_bytes(state, token, allowed)
        place, count = self.tables.trace(state, data)
        expected = describe_bytes(self.tables.onward(place), may_end=self.is_accepting(place) and count == 0)
        if allowed:
            reason = "all its bytes fit"
        elif count < len(data):
            reason = f"its byte {count} ({data[count : count + 1]!r}) is not allowed there"
        else:
            reason = "its bytes fit, but no sequence of tokens completes the text after it"
        return Explanation(token, data, allowed, count, expected, reason)

    def _explain_without_bytes(self, state: int, token: int, allowed: bool) -> Explanation:
        expected = describe_bytes(self.tables.onward(state), may_end=self.is_accepting(state))
        if not 0 <= token < self.vocabulary.size:
            reason = f"unknown token: ids run from 0 to {self.vocabulary.size - 1}"
        elif token in self.vocabulary.eos:
            reason = "the text may end here" if allowed else "it ends the text, which is not complete"
        elif allowed:
            reason = "it is a special token, allowed by its name"
        elif self.tables.reads(token):
            reason = "it is a special token whose name is not allowed here"
        else:
            reason = "it is a special or padding token without bytes"
        return Explanation(token, None, allowed, 0, expected, reason)

    def _checked(self, state: int) -> int:
        last = max(self.final, self.tables.last)
        if not 0 <= state <= last:
            raise ValueError(f"states run from 0 to {last}, not {shown(state)}")
        return state

    def check_vocabulary(self, vocabulary: Vocabulary) -> None:
        """Raise VocabularyError unless the index was compiled for this vocabulary."""
        if not isinstance(vocabulary, Vocabulary):
            raise TypeError(f"expected a Vocabulary, not {kind_of(vocabulary)}")
        if vocabulary is not self.vocabulary and vocabulary.fingerprint != self.vocabulary.fingerprint:
            own = self.vocabulary
            differ = f", whose end tokens are {list(vocabulary.eos)}, not {list(own.eos)}"
            raise VocabularyError(
                f"the index was compiled for another vocabulary ({own.fingerprint[:12]}, {len(own)} tokens) than the model's "
                f"({vocabulary.fingerprint[:12]}, {len(vocabulary)} tokens){differ if vocabulary.eos != own.eos else ''}: "
                "compile it for this one"
            )
