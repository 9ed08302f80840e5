"""Completions of configurations, and the number of tokens they take.

A *completion* is the text that the automaton's policy (`Pushdown.completion_step`) produces step by step. Its number of tokens, by longest
match, is an upper bound of the least number of tokens that completes the text.
Invariant: the policy is a function of the configuration, so after the first token of a completion the rest is the completion there, and
the bound decreases by one.

A *counted* step is not spelled: its number of tokens is known, and no token crosses its beginning or end. A string that needs many more
characters is completed by such a step, a *run*: one byte repeated, in the longest token that consists of it.

The *weight* of a completion is its bytes plus the tokens of its counted steps. A completion of a larger weight than `_LONGEST` is not split
into tokens: its bound is its weight. The count never exceeds the weight, and both decrease with each token. A completion of more than
`_LONGEST` bytes, besides its counted steps, is `TOO_LONG` for any budget.

Successors may depend on the bytes read on top of a recording cell: with ``uniqueItems`` the next item must differ from the current
one. `Completions.most` bounds the completions of all texts possible there. The policy takes the least value that is still allowed, so
a text changes the completion only if it equals a value that the completion would use later: only those values are tried.

Not computed here: the least number of tokens itself.

Complexity: O(tokens x longest token), up to the first step boundary that is also a token boundary and whose bound is known.
"""

from collections.abc import Hashable, Iterator
from typing import NamedTuple

from guided.automata.pushdown import COUNTS, RUN, UNLIMITED
from guided.automata.stacks import Configuration, Record, Stacks, TextConfiguration, Texts
from guided.errors import SchemaError
from guided.index.pushdown_masks import VocabularyData

__all__ = ["NO_COMPLETION", "TOO_LONG", "Completions", "Step"]

# Sentinel bounds: the completion is too long to materialize; there is no completion.
TOO_LONG = 1 << 30
NO_COMPLETION = TOO_LONG + 1
_NO_COMPLETION_WEIGHT = 1 << 40
_LONGEST = 1 << 16
# Most bytes of a step whose rests are cached.
_SHORT_STEP = 32
# Steps of a call charged for each step of a completion, and for each of its texts that is read again for what it records.
_STEPS, _PER_READ = 10, 5
# Measured bytes of memory of a cached step and of a cached bound.
_PER_STEP, _PER_BOUND = 550, 80
# Maximum number of values of a completion that are tried as the current value.
_VALUES_TRIED = 16


class Step(NamedTuple):
    """One step of a completion.

    Attributes
    ----------
    text : bytes
        The bytes; of a counted step, its first token.
    after : TextConfiguration
    weight : int
        Upper bound of the number of tokens from the beginning of the step to the end of the completion.
    tokens : int
        Tokens of a counted step; 0 for any other.
    size : int
        Bytes of the texts of this step and those after it.
    """

    text: bytes
    after: TextConfiguration
    weight: int
    tokens: int = 0
    size: int = 0

    @property
    def own(self) -> int:
        """Contribution of the step to the weight."""
        return self.tokens or len(self.text)


class _CompletionText:
    """Text of a completion up to its first counted step, produced on demand.

    Attributes
    ----------
    text_configurations : dict of int to TextConfiguration
        Text configurations at the boundaries of steps, by offset.
    """

    __slots__ = ("_following", "_text", "text_configurations")

    def __init__(self, following: Iterator[Step], begin: TextConfiguration | None = None, text: bytes = b"") -> None:
        self._following = following
        self._text = bytearray(text)
        self.text_configurations = {} if begin is None else {0: begin}

    def text(self, at: int, length: int) -> bytes:
        """Return up to ``length`` bytes from an offset; fewer at the end of the text."""
        while len(self._text) < at + length:
            step = next(self._following, None)
            if step is None or step.tokens:
                self._following = iter(())
                break
            self._text += step.text
            self.text_configurations[len(self._text)] = step.after
        return bytes(self._text[at : at + length])


class Completions:
    """Completions of one index. The caller holds the index's lock.

    Text configurations carry no maximum of code points, because the policy does not depend on it.

    Parameters
    ----------
    stacks : Stacks
    shared : VocabularyData
    """

    def __init__(self, stacks: Stacks, shared: VocabularyData) -> None:
        self._stacks = stacks
        self._automaton = stacks.automaton
        self._shared = shared
        self._targets: dict[int, Hashable] = {}
        self._steps: dict[TextConfiguration, Step] = {}
        # Steps whose bytes are recorded and end no text: the same for all texts before them.
        self._unrecorded: dict[Configuration, tuple[bytes, Configuration]] = {}
        self._bounds: dict[TextConfiguration, int] = {}

    @property
    def n_bytes(self) -> int:
        """Approximate bytes of memory in use."""
        return _PER_STEP * (len(self._steps) + len(self._unrecorded)) + _PER_BOUND * len(self._bounds)

    def bound(self, text_configuration: TextConfiguration) -> int:
        """Return the completion's number of tokens by longest match: 0 exactly where a text may end; or TOO_LONG or NO_COMPLETION."""
        found = self._bounds.get(text_configuration)
        if found is not None:
            return found
        whole = self._weight(text_configuration)
        if whole > _LONGEST:
            found = NO_COMPLETION if whole >= _NO_COMPLETION_WEIGHT else min(whole, TOO_LONG)
            self._bounds[text_configuration] = found
            return found
        ahead = _CompletionText(self._following(text_configuration), text_configuration)
        at = count = 0
        passed: list[tuple[TextConfiguration, int]] = []
        while True:
            here = ahead.text_configurations.get(at)
            if here is not None:
                known = 0 if here not in self._steps and self._stacks.is_end(here[0]) else self._bounds.get(here)
                if known is not None:
                    break
                passed.append((here, count))
                step = self._noted(here)
                if step.tokens:
                    count += step.tokens
                    ahead, at = _CompletionText(self._following(step.after), step.after), 0
                    continue
            self._spend(1)
            at += self._match(ahead, at)
            count += 1
        for before, until in passed:
            self._bounds[before] = count - until + known
        return count + known

    def steps(self, text_configuration: TextConfiguration) -> Iterator[Step]:
        """Return the steps of a completion that is not too long to materialize."""
        self._weight(text_configuration)
        return self._following(text_configuration)

    def most(self, text_configuration: TextConfiguration) -> int:
        """Return an upper bound over all texts of the current item or key that lead to one configuration.

        TOO_LONG if none is known: values with members must differ.
        """
        if not _is_recorded(text_configuration[1]):
            return self.bound(text_configuration)
        if self._weight(text_configuration) > _LONGEST:
            return TOO_LONG
        dependencies = self._dependencies(text_configuration)
        if not dependencies:
            return self.bound(text_configuration)
        level = len(text_configuration[1]) - 1
        is_on_top = self._stacks.top(text_configuration[0][1])[0] in self._automaton.tables.differing
        if not is_on_top or list(dependencies) != [level]:
            return TOO_LONG
        return self._most_of_others(text_configuration, dependencies[level])

    def is_text_dependent(self, text_configuration: TextConfiguration) -> bool:
        """Return whether the completion may be another one after another text of the current item or key."""
        return _is_recorded(text_configuration[1]) and (
            self._weight(text_configuration) > _LONGEST or bool(self._dependencies(text_configuration))
        )

    def first(self, text_configuration: TextConfiguration) -> bytes:
        """Return the bytes of the first token of the completion, by longest match."""
        if self._weight(text_configuration) >= _NO_COMPLETION_WEIGHT:
            return b""
        step = self._steps.get(text_configuration)
        if step is not None and step.tokens:
            return step.text
        ahead = _CompletionText(self._following(text_configuration), text_configuration)
        return ahead.text(0, self._match(ahead, 0))

    def read(
        self, text_configuration: TextConfiguration, data: bytes, records: list[Record] | None = None
    ) -> TextConfiguration:
        """Return the text configuration after allowed tokens or a step of a completion.

        Raises
        ------
        GuidedError
            The bytes cannot be read: `Pushdown.no_completion_error`.
        """
        after = self._read(text_configuration, data, records)
        if after is None:
            raise self._automaton.no_completion_error()
        return after

    def _read(
        self, text_configuration: TextConfiguration, data: bytes, records: list[Record] | None = None
    ) -> TextConfiguration | None:
        if records is not None:
            self._spend(_PER_READ)
        configuration, texts = text_configuration[0], list(text_configuration[1])
        after = self._stacks.read(configuration, data, texts, records)
        return None if after is None else ((*after[:3], UNLIMITED), tuple(texts))

    def _following(self, text_configuration: TextConfiguration) -> Iterator[Step]:
        """Yield the steps of a completion that is known not to be too long."""
        # Why this order: the look-up is cheaper than `is_end`, and no step is cached where a text may end.
        while (step := self._steps.get(text_configuration)) is not None or not self._stacks.is_end(
            text_configuration[0]
        ):
            step = step or self._noted(text_configuration)
            yield step
            text_configuration = step.after

    def _noted(self, text_configuration: TextConfiguration) -> Step:
        """Return the next step of a completion that is known not to be too long.

        The step may be missing from the cache if only the weight of a longer completion that ends in this one was computed.
        """
        if text_configuration not in self._steps:
            self._weight(text_configuration)
        return self._steps[text_configuration]

    def _weight(self, text_configuration: TextConfiguration) -> int:
        """Compute and cache the steps of a completion, and return its weight; `_NO_COMPLETION_WEIGHT` if there is no completion.

        For a completion that is too long to materialize, only the first step is cached.
        """
        path: list[tuple[TextConfiguration, Step]] = []
        on_path: set[TextConfiguration] = set()
        written = weight = size = 0
        while not self._stacks.is_end(text_configuration[0]):
            known = self._steps.get(text_configuration)
            if known is not None:
                weight, size = known.weight, known.size
                break
            step = None if text_configuration in on_path else self._step(text_configuration)
            if step is None:
                weight = _NO_COMPLETION_WEIGHT
                break
            path.append((text_configuration, step))
            on_path.add(text_configuration)
            written += len(step.text)
            text_configuration = step.after
            if written > _LONGEST:
                # Why the first step alone: how long the rests of the others are is not known.
                weight, size, path = TOO_LONG, written, path[:1]
                break
        for before, step in reversed(path):
            weight, size = min(weight + step.own, _NO_COMPLETION_WEIGHT), size + len(step.text)
            if size > _LONGEST:
                weight = max(weight, TOO_LONG)
            self._steps[before] = step._replace(weight=weight, size=size)
        if path:
            self._note_within(path[0][0])
        return weight

    def _note_within(self, text_configuration: TextConfiguration) -> None:
        """Cache the rests of a step, as the steps of the configurations within it: other tokens of a mask often lead there."""
        step = self._steps[text_configuration]
        (control, node, needed, allowed), texts = text_configuration
        if needed or texts or step.tokens or len(step.text) > _SHORT_STEP or step.weight >= _NO_COMPLETION_WEIGHT:
            return
        rows = self._automaton.tables.rows
        for at, byte in enumerate(step.text[:-1], 1):
            control = rows.item(control, byte)
            if control < 0:
                break
            self._steps.setdefault(
                ((control, node, 0, allowed), ()),
                Step(step.text[at:], step.after, max(step.weight - at, 0), 0, step.size - at),
            )

    def _step(self, text_configuration: TextConfiguration) -> Step | None:
        """Return the next step of a completion, without its weight; None if there is none.

        Raises
        ------
        LimitError
            The call exceeded its steps.
        """
        self._spend(_STEPS)
        (control, node, needed, _), texts = text_configuration
        is_recorded = _is_recorded(texts)
        known = self._unrecorded.get(text_configuration[0]) if is_recorded else None
        if known is not None:
            return Step(known[0], (known[1], _appended(texts, known[0])), 0)
        cell, below = self._stacks.top(node)
        text = self._automaton.completion_step(control, cell, self.completion_target(below), needed)
        if not text:
            return None
        if is_recorded:
            records = list[Record]()
            after = self.read(text_configuration, text, records)
            if not records and after[1] == _appended(texts, text):
                self._unrecorded[text_configuration[0]] = text, after[0]
            return Step(text, after, 0)
        tables, byte = self._automaton.tables, text[:1]
        if (
            needed > RUN
            and text == byte * RUN
            and tables.rows.item(control, byte[0]) == control
            and tables.info.item(control, COUNTS) == 1
        ):
            # The longest token, up to the length of a run, that repeats the byte.
            spelled, lengths = self._shared.beginning(byte + byte)
            fitting = (length for length in lengths if length <= RUN and byte * length in spelled)
            token = byte * max(fitting, default=1)
            tokens = -(-(needed - RUN) // len(token))
            return Step(token, ((control, node, needed - tokens * len(token), UNLIMITED), texts), 0, tokens)
        return Step(text, self.read(text_configuration, text), 0)

    def _spend(self, count: int) -> None:
        self._automaton.tables.steps.spend(count, "the search for the shortest completion takes too many steps")

    def completion_target(self, node: int) -> Hashable:
        """Return the target value of the content on top of a stack."""
        path = []
        while node >= 0 and node not in self._targets:
            cell, below = self._stacks.top(node)
            path.append((node, cell))
            node = below
        target = self._targets[node] if node >= 0 else None
        for above, cell in reversed(path):
            target = self._targets[above] = self._automaton.completion_target(cell, target)
        return target

    def _match(self, ahead: "_CompletionText", at: int) -> int:
        """Return the length of the longest token at an offset; a token never extends into a run."""
        prefix = ahead.text(at, 2)
        if len(prefix) < 2:
            return len(prefix)
        spelled, lengths = self._shared.beginning(prefix)
        if not lengths:
            return 1
        text = ahead.text(at, lengths[0])
        for length in lengths:
            if length <= len(text) and text[:length] in spelled:
                return length
        return 1

    def _dependencies(self, text_configuration: TextConfiguration) -> dict[int, list["_Dependency"]]:
        """Return the records of each cell whose text the completion depends on, by level, beginning with that of the text itself."""
        found: dict[int, list[_Dependency]] = {
            level: [] for level, text in enumerate(text_configuration[1]) if text is not None
        }
        done: set[int] = set()
        n_read = 0
        for step in self._following(text_configuration):
            if len(done) == len(found):
                break
            if text_configuration[0] in self._unrecorded and _is_recorded(text_configuration[1]):
                n_read += len(step.text)
                text_configuration = step.after
                continue
            for value in step.text:
                byte, records = bytes([value]), list[Record]()
                after = self.read(text_configuration, byte, records)
                n_read += 1
                for record in records:
                    if record.level in found and record.level not in done:
                        found[record.level].append(
                            _Dependency(record, text_configuration, byte, n_read, record.level < len(after[1]))
                        )
                text_configuration = after
                done |= {level for level in found if level >= len(text_configuration[1])}
            # Why not the configuration that was read: of a counted step, `text` is a part only.
            text_configuration = step.after
        return {
            level: dependencies for level, dependencies in found.items() if self._may_change_completion(dependencies)
        }

    def _may_change_completion(self, dependencies: list["_Dependency"]) -> bool:
        """Return whether another text can change the completion: reactions differ, and more than the cell's end follows."""
        if len(dependencies) < 2 or not dependencies[1].stays:
            return False
        _, action, cell, _, reaction = dependencies[0].record
        tables, key = self._automaton.tables, action << 32 | cell
        if key not in tables.reactions:
            self._automaton.compute_reaction(action, cell)
        return tables.reactions[key] != reaction

    def _most_of_others(self, text_configuration: TextConfiguration, dependencies: list["_Dependency"]) -> int:
        """Return the length of the longest completion over all values of the current text.

        Why only values of the completion: it takes the least value still allowed, so it is longest after a value that it would have taken.
        """
        (first, (configuration, texts), byte, n_read, _), *later = dependencies
        most = self._weight(text_configuration)
        others = {one.record.data for one in later if one.record.action == first.action}
        if len(others) > _VALUES_TRIED:
            return TOO_LONG
        reads_byte = len(first.data) > len(texts[first.level] or b"")
        for data in others:
            if reads_byte and not data.endswith(byte):
                return TOO_LONG
            other = (*texts[: first.level], data[:-1] if reads_byte else data, *texts[first.level + 1 :])
            after = self._read((configuration, other), byte)
            if after is not None:
                try:
                    most = max(most, n_read + self._weight(after))
                except (
                    SchemaError
                ):  # Why: the current item may be unable to be this text, and then nothing need follow it
                    return TOO_LONG
        return most if most <= _LONGEST else TOO_LONG


def _is_recorded(texts: Texts) -> bool:
    """Return whether a stack cell records the bytes that are read next."""
    return any(text is not None for text in texts)


def _appended(texts: Texts, data: bytes) -> Texts:
    """Return the texts after more bytes that end none of them."""
    return tuple([None if text is None else text + data for text in texts])


class _Dependency(NamedTuple):
    """A record made during a completion: the configuration before it, its byte, the number of bytes read, and whether the cell stays."""

    record: Record
    before: TextConfiguration
    byte: bytes
    n_read: int
    stays: bool
