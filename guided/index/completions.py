"""Completions of configurations, and the number of tokens they take.

A *completion* is the text that the automaton's policy (`Pushdown.completion_step`) produces step by step. Its number of tokens, by longest
match, is an upper bound of the least number of tokens that completes the text.
Invariant: the policy is a function of the configuration, so after the first token of a completion the rest is the completion there, and
the bound decreases by one.

A *counted* step is not spelled: its number of tokens is known, and no token crosses its beginning or end. A string that needs many more
characters is completed by such a step, a *run*: one byte repeated, in the longest token that consists of it.

A completion of more than `_LONGEST` bytes, besides its counted steps, is not split into tokens. Its bound is its *weight*: its bytes plus
the tokens of its counted steps. The weight is computed once per stack cell and summed, so the completion itself is not materialized. The
count never exceeds the weight, and both decrease with each token.

Successors may depend on the bytes read on top of a recording cell: with ``uniqueItems`` the next item must differ from the current
one. `Completions.most` bounds the completions of all texts possible there. The policy takes the least value that is still allowed, so
a text changes the completion only if it equals a value that the completion would use later: only those values are tried.

Not computed here: the least number of tokens itself.

Complexity: O(tokens x longest token), up to the first step boundary that is also a token boundary and whose bound is known.
"""

from collections.abc import Hashable, Iterator
from typing import NamedTuple, TypeAlias

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
# Number of steps after which the weight of a completion is computed before it is materialized further.
_MANY_STEPS = 256
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
    """

    text: bytes
    after: TextConfiguration
    weight: int
    tokens: int = 0

    @property
    def own(self) -> int:
        """Contribution of the step to the weight."""
        return self.tokens or len(self.text)


# Key of a completion's part on top of a cell: control, cell, target value of the cell, code points needed, and number of cells below.
_Part: TypeAlias = tuple[int, int, Hashable, int, int]


class _Exit(NamedTuple):
    """How completions leave a cell: their weight until then, the configuration without the cells below, and the byte that leaves it."""

    weight: int
    control: int
    cell: int
    needed: int
    byte: bytes


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
        self._exits: dict[_Part, _Exit] = {}
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
            found = self._bounds[text_configuration] = (
                NO_COMPLETION if whole >= _NO_COMPLETION_WEIGHT else min(whole, TOO_LONG)
            )
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

        For a completion that is too long to materialize, only the first steps are cached.
        """
        path: list[tuple[TextConfiguration, Step]] = []
        on_path: set[TextConfiguration] = set()
        ahead: dict[TextConfiguration, Step] = {}
        written = passed = weight = 0
        is_weighed = False
        while not self._stacks.is_end(text_configuration[0]):
            known = self._steps.get(text_configuration)
            if known is not None:
                weight = known.weight
                break
            step = ahead.pop(text_configuration, None)
            if step is None and text_configuration not in on_path:
                step = self._step(text_configuration)
            if step is None:
                weight = _NO_COMPLETION_WEIGHT
                break
            path.append((text_configuration, step))
            on_path.add(text_configuration)
            written += len(step.text)
            passed += step.own
            text_configuration = step.after
            if not is_weighed and not text_configuration[1] and (len(path) > _MANY_STEPS or written > _LONGEST):
                is_weighed = True
                weight = self._far_weight(text_configuration, ahead)
                if weight + passed > _LONGEST:
                    break
                weight = 0
            if written > _LONGEST:
                weight = TOO_LONG
                break
        for before, step in reversed(path):
            weight = min(weight + step.own, _NO_COMPLETION_WEIGHT)
            self._steps[before] = step._replace(weight=weight)
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
                ((control, node, 0, allowed), ()), Step(step.text[at:], step.after, max(step.weight - at, 0))
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
        self._automaton.tables.steps.spend(
            count, "the search for the shortest completion takes too many steps: lower counts, or require less text"
        )

    def _far_weight(self, text_configuration: TextConfiguration, steps: dict[TextConfiguration, Step]) -> int:
        """Return the weight of a completion that may be too long to materialize, as the sum of its parts per stack cell.

        The part on top of a cell depends on the cells below only through their target value, so each distinct part is read once. The steps
        that were taken are added to ``steps``.
        """
        configuration, texts = text_configuration
        weight = 0
        # Open parts: (key, weight before the part, cells below).
        begun: list[tuple[_Part, int, int]] = []
        open_parts: set[Hashable] = set()
        while not self._stacks.is_end(configuration):
            control, node, needed, _ = configuration
            cell, below = self._stacks.top(node)
            depth = self._stacks.depth(node)
            part = control, cell, self.completion_target(below), needed, depth
            found = self._exits.get(part)
            if found is not None:
                weight += found.weight
                on = self._stacks.push(found.cell, below)
                configuration, texts = self.read(((found.control, on, found.needed, UNLIMITED), texts), found.byte)
            else:
                key = part[:4]
                if key in open_parts:
                    return _NO_COMPLETION_WEIGHT
                begun.append((part, weight, depth))
                open_parts.add(key)
                self._stacks.least_depth = depth
                step = self._step((configuration, texts))
                if step is None:
                    return _NO_COMPLETION_WEIGHT
                steps[configuration, texts] = step
                if step.tokens or (self._stacks.least_depth == depth and not step.after[1]):
                    weight += step.own
                    configuration, texts = step.after
                    continue
                before, last = configuration, step.text[-1:]
                for at in range(len(step.text)):
                    last = step.text[at : at + 1]
                    before, (configuration, texts) = configuration, self.read((configuration, texts), last)
                    weight += 1
                    if self._stacks.depth(configuration[1]) < depth:
                        break
                found = _Exit(0, before[0], self._stacks.top(before[1])[0], before[2], last)
            after = self._stacks.depth(configuration[1])
            while begun and begun[-1][2] > after:
                ended, until, _ = begun.pop()
                open_parts.discard(ended[:4])
                self._exits[ended] = found._replace(weight=weight - until)
            if texts:
                # The part on top of this cell depends on what was read, so its weight cannot be reused.
                return 0
        return weight

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
