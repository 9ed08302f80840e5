"""Masks within a budget for automata with a stack: the tokens after which the text can still be completed in time.

A text that follows completions (`guided.index.completions`) ends within its bound. A mask within a budget is never empty while the bound
is within the budget, because it contains the next token of the completion.

Such a mask needs the bound after each token. Tokens that lead to one configuration share a bound, and the configurations are few
(`guided.index.token_classes`). The largest bound after any token of a state is cached: if the budget exceeds it, the mask is the state's
own, and the answer is a look-up.

The mask is conservative. It may omit a token after which a text shorter than the completion exists. If the bound depends on the text of an
item, all its texts get the largest bound. The work of one call on
tokens other than the completion's next is limited to a share of `call_steps`: tokens undecided by then are omitted.

Complexity: per state, one bound for each configuration that tokens lead to, and a pass over the mask if the budget excludes tokens; then
O(1).
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from guided.arrays import Int32Array, allow, freeze
from guided.automata.pushdown import ACTION, UNLIMITED
from guided.automata.stacks import Stacks, TextConfiguration
from guided.caching import cached_property
from guided.errors import GuidedError, LimitError
from guided.index.completions import NO_COMPLETION, Completions
from guided.index.distinct_keys import DistinctKeyBounds
from guided.index.pushdown_masks import MaskMaker
from guided.index.token_classes import TokenClasses, TokenClassifier
from guided.kernels.masks import count_classes, keep_below

__all__ = ["Budgets", "StateConfigurations"]

_Answer = TypeVar("_Answer")

# Bytes of memory of the states whose classes and bounds are kept, and measured bytes of a state and of each of its classes.
_EVALUATED_BYTES, _PER_EVALUATED, _PER_CLASS = 1 << 22, 600, 150
# Share of a call's steps (one in this many) for tokens other than the completion's next.
_SHARE = 2
# Up to this many tokens whose result depends on texts are read one by one; of larger classes one representative is read.
_FEW = 8


class StateConfigurations(Protocol):
    """Interface of an index as budgets use it."""

    stacks: Stacks

    def text_configuration(self, state: int) -> TextConfiguration:
        """Return the configuration and recorded texts of a state."""

    def mask(self, state: int) -> Int32Array:
        """Return the mask of a state."""


class _Evaluated(NamedTuple):
    """Bounds after the allowed tokens of a state.

    Attributes
    ----------
    stays : ndarray[int32], shape (size,) or (0,)
        `TokenClasses.stays`.
    least, most : int
        Range of the bounds of the classes in ``stays``.
    tokens, classes : ndarray[int32], shape (n,)
        Tokens with another class, and that class.
    bounds : ndarray[int32], shape (n_classes,)
        An upper bound for each class.
    """

    stays: Int32Array
    least: int
    most: int
    tokens: Int32Array
    classes: Int32Array
    bounds: Int32Array

    @property
    def n_bytes(self) -> int:
        """Approximate bytes of memory, without ``stays``, which states share."""
        return _PER_EVALUATED + self.tokens.nbytes + self.classes.nbytes + _PER_CLASS * len(self.bounds)

    def keep(self, mask: Int32Array, budget: int, words: Int32Array) -> int:
        """Write the tokens that fit to ``words``, and return the largest bound."""
        return keep_below(
            mask, self.stays, self.least, self.most, self.tokens, self.classes, self.bounds, budget, words
        )


class Budgets:
    """Masks within a budget for one index. The caller holds the index's lock.

    Parameters
    ----------
    configurations : StateConfigurations
    tokens : sequence of (bytes or None)
    eos : set of int
    masker : MaskMaker
        Builds the masks of the index.
    """

    def __init__(
        self,
        configurations: StateConfigurations,
        tokens: tuple[bytes | None, ...],
        eos: frozenset[int],
        masker: MaskMaker,
    ) -> None:
        self._configurations = configurations
        self._stacks = configurations.stacks
        self._tokens = tokens
        self._eos = eos
        self._masker = masker
        self._completions = Completions(configurations.stacks, masker.shared)
        self._key_bounds = DistinctKeyBounds(configurations.stacks, self._completions)
        self._evaluated: dict[int, _Evaluated] = {}
        self._n_evaluated_bytes = 0
        self.peaks: dict[int, int] = {}

    @cached_property
    def _classifier(self) -> TokenClassifier:
        """PERF: scratch arrays of 1.5 MB for Llama-3, which texts without budgets never need (`benchmarks.first_mask`)."""
        return TokenClassifier(self._stacks, self._masker)

    @property
    def n_bytes(self) -> int:
        """Approximate bytes of memory in use for texts."""
        return self._completions.n_bytes + self._n_evaluated_bytes

    def bound(self, state: int) -> int:
        """Return the number of tokens of a state's completion: 0 exactly where a text may end.

        Raises
        ------
        GuidedError
            No completion exists: `Pushdown.no_completion_error`.
        LimitError
            The search for the completion exceeded its steps.
        """
        found = self._completions.bound(self._text_configuration(state))
        if found == NO_COMPLETION:
            raise self._stacks.automaton.no_completion_error()
        return found

    def mask_within(self, state: int, budget: int) -> Int32Array:
        """Return the mask of the tokens after which the bound is below ``budget``.

        Tokens whose bounds together take too many steps are omitted, but never the completion's next token.

        Raises
        ------
        LimitError
            The completion itself takes too many steps.
        """
        mask = self._configurations.mask(state)
        peak = self.peaks.get(state)
        if peak is not None and peak < budget:
            return mask
        steps = self._stacks.automaton.tables.steps
        # First the completion's next token: only other tokens may be omitted for lack of steps.
        if state not in self._evaluated:
            text_configuration = self._text_configuration(state)
            self._bound(self._completions.read(text_configuration, self._completions.first(text_configuration)))
        try:
            with steps.at_most(steps.limit // _SHARE):
                words = self._kept(state, mask, budget)
        except LimitError:
            words = np.zeros_like(mask)
        if words is not mask:
            allow(words, self._own(state, budget, is_needed=not words.any()))
            if self._stacks.is_end(self._configurations.text_configuration(state)[0]):
                allow(words, self._eos)
        return freeze(words)

    def _kept(self, state: int, mask: Int32Array, budget: int) -> Int32Array:
        """Return the mask itself, or a new one with the tokens that fit."""
        peak = self.peaks.get(state)
        found = self._evaluate(state)
        if peak is None:
            peak = self.peaks[state] = int(found.bounds.max())
            if peak < budget:
                return mask
        words: Int32Array = np.empty(len(mask), np.int32)
        peak = self.peaks[state] = found.keep(mask, budget, words)
        return mask if peak < budget else words

    def _own(self, state: int, budget: int, *, is_needed: bool) -> list[int]:
        """Return the completion's next token, with its duplicates, if it fits; its bound may have taken too many steps, or not be exact."""
        text_configuration = self._text_configuration(state)
        bound = self.bound(state) if is_needed else self._bound(text_configuration)
        return self._masker.shared.spelled(self._completions.first(text_configuration)) if 0 < bound <= budget else []

    def _text_configuration(self, state: int) -> TextConfiguration:
        """Return the text configuration of a state without a maximum of code points, which short completions never come near."""
        (control, node, needed, _), texts = self._configurations.text_configuration(state)
        return (control, node, needed, UNLIMITED), texts

    def _evaluate(self, state: int) -> _Evaluated:
        found = self._evaluated.get(state)
        if found is None:
            classes = self._classifier.of(self._configurations.text_configuration(state)[0])
            text_dependent = [
                i
                for i, configuration in enumerate(classes.configurations)
                if configuration and self._stacks.n_recording(configuration[1])
            ]
            single = set(text_dependent)
            bounds = [
                0 if configuration is None or i in single else self._bound((configuration, ()))
                for i, configuration in enumerate(classes.configurations)
            ]
            if text_dependent or classes.deferred:
                self._bound_text_dependent(state, classes, bounds, text_dependent)
            of_stays = [bounds[i] for i in range(1, classes.n_stays + 1) if classes.configurations[i]]
            found = _Evaluated(
                classes.stays if of_stays else classes.stays[:0],
                min(of_stays, default=0),
                max(of_stays, default=0),
                *classes.listed(),
                np.array(bounds, np.int32),
            )
            self._evaluated[state] = found
            self._n_evaluated_bytes += found.n_bytes
            while self._n_evaluated_bytes > _EVALUATED_BYTES:
                self._n_evaluated_bytes -= self._evaluated.pop(next(iter(self._evaluated))).n_bytes
        return found

    def _bound_text_dependent(
        self, state: int, classes: TokenClasses, bounds: list[int], text_dependent: list[int]
    ) -> None:
        """Fill in the bounds of text-dependent classes and of tokens without a class."""
        text_configuration = self._text_configuration(state)
        single: dict[int, int] = {}
        class_of = classes.class_of()
        first, counts = self._first_of(state, classes, class_of)
        for number in text_dependent:
            count = counts.item(number)
            if not count:
                continue
            after = self._after(text_configuration, first.item(number))
            if count > _FEW:
                bounds[number] = _or(NO_COMPLETION, self._completions.most, after)
            elif count == 1 or not _or(True, self._completions.is_text_dependent, after):
                bounds[number] = self._bound(after)
            else:
                mask, tokens = self._configurations.mask(state), np.flatnonzero(class_of == number)
                for token in tokens[mask[tokens >> 5] >> (tokens & 31) & 1 > 0].tolist():
                    single[token] = self._bound(self._after(text_configuration, token))
        single.update(self._bounds_of_deferred(text_configuration, self._deferred(state, classes)))
        numbers: dict[int, int] = {}
        for bound in single.values():
            if bound not in numbers:
                numbers[bound] = len(bounds)
                bounds.append(bound)
        classes.add(np.array(list(single), np.int32), np.array([numbers[bound] for bound in single.values()], np.int32))

    def _deferred(self, state: int, classes: TokenClasses) -> list[int]:
        """Return the allowed tokens without a class, ascending."""
        mask = self._configurations.mask(state)
        return [token for token in sorted(set(classes.deferred)) if mask.item(token >> 5) >> (token & 31) & 1]

    def _first_of(self, state: int, classes: TokenClasses, class_of: Int32Array) -> tuple[Int32Array, Int32Array]:
        """Return the first allowed token of each class, and the number of its tokens."""
        first, counts = np.zeros((2, len(classes.configurations)), np.int32)
        count_classes(self._configurations.mask(state), class_of, first, counts)
        return first, counts

    def _after(self, text_configuration: TextConfiguration, token: int) -> TextConfiguration:
        return self._completions.read(text_configuration, self._tokens[token] or b"")

    def _bounds_of_deferred(
        self, text_configuration: TextConfiguration, tokens: list[int]
    ) -> Iterator[tuple[int, int]]:
        """Yield each token with the bound after it, for tokens whose result depends on earlier bytes.

        Tokens that end a key on a differing cell are handled together if they end it by the same byte and continue with the same bytes.
        """
        todo = [(text_configuration, [(token, self._tokens[token] or b"") for token in tokens])]
        while todo:
            text_configuration, texts = todo.pop()
            is_of_keys = self._stacks.top(text_configuration[0][1])[0] in self._stacks.automaton.tables.differing
            keys: dict[tuple[int, bytes], list[tuple[int, bytes, int]]] = {}
            groups: dict[bytes, list[tuple[int, bytes]]] = {}
            for token, data in texts:
                length, entry = self._to_action(text_configuration[0][0], data)
                if (
                    is_of_keys
                    and entry <= ACTION
                    and self._stacks.automaton.tables.actions.item(ACTION - entry, 2) >= 0
                ):
                    keys.setdefault((entry, data[length:]), []).append((token, data, length))
                else:
                    groups.setdefault(data[:length], []).append((token, data))
            for same in keys.values():
                read = [(text_configuration[1][-1] or b"") + data[:length] for _, data, length in same]
                bounds = _or(
                    [NO_COMPLETION] * len(same),
                    self._key_bounds.bounds,
                    text_configuration,
                    [data for _, data, _ in same],
                    read,
                )
                yield from zip([token for token, *_ in same], bounds, strict=True)
            for begin, some in groups.items():
                if begin and len(some) > _FEW:
                    todo.append(
                        (
                            self._completions.read(text_configuration, begin),
                            [(token, data[len(begin) :]) for token, data in some],
                        )
                    )
                else:
                    yield from (
                        (token, self._bound(self._completions.read(text_configuration, data))) for token, data in some
                    )

    def _bound(self, text_configuration: TextConfiguration) -> int:
        """Return the bound of a configuration; NO_COMPLETION if none is found within the limits, so that other tokens are still allowed."""
        return _or(NO_COMPLETION, self._completions.bound, text_configuration)

    def _to_action(self, control: int, data: bytes) -> tuple[int, int]:
        """Return the number of bytes up to and including the first action from a control, and its entry; all bytes if there is none."""
        rows = self._stacks.automaton.tables.rows
        for count, byte in enumerate(data, 1):
            control = rows.item(control, byte)
            if control < 0:
                return count, control
        return len(data), control

    def different(self, state: int) -> list[int]:
        """Return one allowed token per successor configuration, ascending; within an item, one per control."""
        classes, text_configuration = (
            self._classifier.of(self._configurations.text_configuration(state)[0]),
            self._text_configuration(state),
        )
        first, counts = self._first_of(state, classes, classes.class_of())
        found = {self._after(text_configuration, token): token for token in reversed(self._deferred(state, classes))}
        return sorted({*first[counts > 0].tolist(), *found.values()})


def _or(otherwise: _Answer, ask: Callable[..., _Answer], *arguments: Any) -> _Answer:
    """Return the answer of ``ask``; ``otherwise`` if none is found within the limits."""
    try:
        return ask(*arguments)
    except GuidedError:
        return otherwise
