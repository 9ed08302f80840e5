"""Completions of places, and how many tokens they take.

A *completion* of a place is the text that the automaton's policy gives (`Pushdown.way_out`), step by step; the number of its
tokens, by longest match, bounds the least number that completes a text from there. The policy is a function of the place, so the
completion after a token of a completion is its rest, and the bound falls by one.

A string that still needs many characters is completed by a *run*: one byte over and over, in the longest token that consists of it.
A completion of more than `_LONGEST` bytes, runs left out, is not cut into tokens. Its bound is its *weight*: its bytes, and the
tokens of its runs. The weight is computed part by part, one part for each cell of the stack, and each part once; so a completion can
be much longer than what is read of it. Weight and count agree: the count is never above the weight, and both fall with each token.

What comes next may hang on the very bytes read on top of a cell that records: the next item of an array differs from this one. Then
`Completions.most` bounds the completions of all texts that may stand there. The policy takes the least of what differs, so a text
changes its completion only where it is something that the completion would have brought in later: those few are tried.

Not here: the least number itself.

Complexity: O(tokens x longest token) to the first step at whose end a token ends and from where the number is known.
"""

from collections.abc import Hashable, Iterator
from typing import NamedTuple, TypeAlias

from guided.automata.pushdown import COUNTS, RUN, UNLIMITED
from guided.automata.stacks import Record, Spot, Stacks
from guided.errors import SchemaError
from guided.index.plans import WalkTrie

__all__ = ["FAR", "NEVER", "Completions", "Step"]

# The bound of a place whose completion is too long to be written down, and of one that has none.
FAR = 1 << 30
NEVER = FAR + 1
_NOWHERE = 1 << 40
_LONGEST = 1 << 16
_MOST_PLACES = 1 << 20
# Steps after which a completion is weighed before it is written down further.
_MANY_STEPS = 256
# Steps of a call for each step of a completion.
_STEPS = 10
# Bytes of memory, as measured, of a step that is noted and of a bound.
_PER_STEP, _PER_BOUND = 550, 80
# Values of a completion that the one at hand may be instead.
_MOST_OTHERS = 16


class Step(NamedTuple):
    """A step of a completion.

    Attributes
    ----------
    text : bytes
        Of a run: the token that it consists of.
    after : Spot
    weight : int
        Of the completion from the beginning of the step: an upper bound of its tokens.
    tokens : int
        Of a run: how often the token comes; 0 for any other step.
    """

    text: bytes
    after: Spot
    weight: int
    tokens: int = 0

    @property
    def own(self) -> int:
        """What the step adds to the weight."""
        return self.tokens or len(self.text)


# What a completion hangs on until it leaves a cell: control, cell, wish, code points needed, and how many cells are below.
_Part: TypeAlias = tuple[int, int, Hashable, int, int]


class _Exit(NamedTuple):
    """How completions leave a cell: their weight until then, and the place (but for what is below the cell) and byte that leaves it."""

    weight: int
    control: int
    cell: int
    needed: int
    byte: bytes


class _Ahead:
    """The text of a completion as far as it has been asked for, up to its first run.

    Attributes
    ----------
    spots : dict of int to Spot
        Where the steps begin and end, by their offset.
    """

    __slots__ = ("_following", "_text", "spots")

    def __init__(self, following: Iterator[Step], begin: Spot) -> None:
        self._following = following
        self._text = bytearray()
        self.spots = {0: begin}

    def text(self, at: int, length: int) -> bytes:
        """So many bytes from an offset on, or fewer where there are no more."""
        while len(self._text) < at + length:
            step = next(self._following, None)
            if step is None or step.tokens:
                self._following = iter(())
                break
            self._text += step.text
            self.spots[len(self._text)] = step.after
        return bytes(self._text[at : at + length])


class Completions:
    """Completions of one index. The index's lock is held by whoever calls.

    Spots have no maximum of code points: what the policy gives does not hang on it.

    Parameters
    ----------
    stacks : Stacks
    tokens : sequence of (bytes or None)
    trie : WalkTrie
    """

    def __init__(self, stacks: Stacks, tokens: tuple[bytes | None, ...], trie: WalkTrie) -> None:
        self._stacks = stacks
        self._automaton = stacks.automaton
        self._tokens = tokens
        self._trie = trie
        self._wishes: dict[int, Hashable] = {}
        self._steps: dict[Spot, Step] = {}
        self._exits: dict[_Part, _Exit] = {}
        self._bounds: dict[Spot, int] = {}
        self._by_prefix: dict[bytes, tuple[frozenset[bytes], int]] = {}

    @property
    def n_bytes(self) -> int:
        """About how many bytes of memory are kept."""
        return _PER_STEP * len(self._steps) + _PER_BOUND * len(self._bounds)

    def bound(self, spot: Spot) -> int:
        """Number of tokens of the completion, by longest match: 0 exactly where a text may end; FAR: too long; NEVER: none."""
        found = self._bounds.get(spot)
        if found is not None:
            return found
        if len(self._bounds) > _MOST_PLACES:
            self._bounds.clear()
        whole = self._weight(spot)
        if whole > _LONGEST:
            found = self._bounds[spot] = NEVER if whole >= _NOWHERE else min(whole, FAR)
            return found
        ahead = _Ahead(self._following(spot), spot)
        at = count = 0
        passed: list[tuple[Spot, int]] = []
        while True:
            here = ahead.spots.get(at)
            if here is not None:
                known = 0 if here not in self._steps and self._stacks.is_end(here[0]) else self._bounds.get(here)
                if known is not None:
                    break
                passed.append((here, count))
                step = self._noted(here)
                if step.tokens:
                    count += step.tokens
                    ahead, at = _Ahead(self._following(step.after), step.after), 0
                    continue
            at += self._match(ahead, at)
            count += 1
        for before, until in passed:
            self._bounds[before] = count - until + known
        return count + known

    def steps(self, spot: Spot) -> Iterator[Step]:
        """The steps of a completion that is not too long to be written down."""
        self._weight(spot)
        return self._following(spot)

    def most(self, spot: Spot) -> tuple[int, bool]:
        """An upper bound for all texts of the item or key at hand that lead to the same place, and whether it is the bound of each.

        FAR where none is known: where values with members must differ.
        """
        if not any(text is not None for text in spot[1]):
            return self.bound(spot), True
        if self._weight(spot) > _LONGEST:
            return FAR, False
        asked = self._asked(spot)
        if not asked:
            return self.bound(spot), True
        level = len(spot[1]) - 1
        is_on_top = self._stacks.top(spot[0][1])[0] in self._automaton.tables.differing
        return (self._most_of_others(spot, asked[level]) if is_on_top and list(asked) == [level] else FAR), False

    def first(self, spot: Spot) -> bytes:
        """The bytes of the first token of the completion, by longest match."""
        if self._weight(spot) > _LONGEST:
            return b""
        ahead = _Ahead(self._following(spot), spot)
        return ahead.text(0, self._match(ahead, 0))

    def read(self, spot: Spot, data: bytes, records: list[Record] | None = None) -> Spot:
        """The spot after allowed tokens or a way out.

        Raises
        ------
        GuidedError
            They cannot be read: `Pushdown.unending`.
        """
        after = self._read(spot, data, records)
        if after is None:
            raise self._automaton.unending()
        return after

    def _read(self, spot: Spot, data: bytes, records: list[Record] | None = None) -> Spot | None:
        place, texts = spot[0], list(spot[1])
        after = self._stacks.read(place, data, texts, records)
        return None if after is None else ((*after[:3], UNLIMITED), tuple(texts))

    def _following(self, spot: Spot) -> Iterator[Step]:
        """The steps of a completion that is known to be not too long."""
        # Why asked for first: whether a text may end is a longer question, and where it may, no step is noted.
        while (step := self._steps.get(spot)) is not None or not self._stacks.is_end(spot[0]):
            step = step or self._noted(spot)
            yield step
            spot = step.after

    def _noted(self, spot: Spot) -> Step:
        """The next step of a completion that is known to be not too long.

        It is not noted yet where a longer completion was weighed that ends in this one.
        """
        if spot not in self._steps:
            self._weight(spot)
        return self._steps[spot]

    def _weight(self, spot: Spot) -> int:
        """An upper bound of the tokens of a completion: its bytes, but for runs; `_NOWHERE` where there is none. Its steps are noted.

        Of one that is too long to be written down only the first steps are.
        """
        if len(self._steps) > _MOST_PLACES:
            self._steps.clear()
        path: list[tuple[Spot, Step]] = []
        on_path: set[Spot] = set()
        written = passed = weight = 0
        is_weighed = False
        while not self._stacks.is_end(spot[0]):
            known = self._steps.get(spot)
            if known is not None:
                weight = known.weight
                break
            step = None if spot in on_path else self._step(spot)
            if step is None:
                weight = _NOWHERE
                break
            path.append((spot, step))
            on_path.add(spot)
            written += len(step.text)
            passed += step.own
            spot = step.after
            if not is_weighed and not spot[1] and (len(path) > _MANY_STEPS or written > _LONGEST):
                is_weighed = True
                weight = self._far_weight(spot)
                if weight + passed > _LONGEST:
                    break
                weight = 0
            if written > _LONGEST:
                weight = FAR
                break
        for before, step in reversed(path):
            weight = min(weight + step.own, _NOWHERE)
            self._steps[before] = step._replace(weight=weight)
        return weight

    def _step(self, spot: Spot) -> Step | None:
        """The next step of a completion, without its weight; None where there is none.

        Raises
        ------
        LimitError
            The call takes too many steps.
        """
        self._automaton.tables.steps.spend(_STEPS, "the shortest completion takes too much")
        (control, node, needed, _), texts = spot
        cell, below = self._stacks.top(node)
        text = self._automaton.way_out(control, cell, self.wish(below), needed)
        if not text:
            return None
        if (
            needed > RUN
            and not any(one is not None for one in texts)
            and text == text[:1] * RUN
            and self._is_loop(control, text[0])
        ):
            token = self._longest_of(text[:1])
            tokens = -(-(needed - RUN) // len(token))
            return Step(token, ((control, node, needed - tokens * len(token), UNLIMITED), texts), 0, tokens)
        return Step(text, self.read(spot, text), 0)

    def _is_loop(self, control: int, byte: int) -> bool:
        """Does a byte lead from a control to itself, as one character?"""
        tables = self._automaton.tables
        return tables.rows.item(control, byte) == control and tables.info.item(control, COUNTS) == 1

    def _longest_of(self, byte: bytes) -> bytes:
        """The longest token, up to the length of a run, that a byte makes alone."""
        spelled, most = self._tokens_with(byte + byte)
        longest = max((length for length in range(2, min(most, RUN) + 1) if byte * length in spelled), default=1)
        return byte * longest

    def _far_weight(self, spot: Spot) -> int:
        """The weight of a completion that may be too long to be written down, by what its parts on top of each cell weigh.

        A completion reads the same on top of a cell, whatever is below it, as long as the same is wished; so each part is read once.
        """
        place, texts = spot
        weight = 0
        # Parts that have begun: (what they hang on, weight before, cells below).
        begun: list[tuple[_Part, int, int]] = []
        open_parts: set[Hashable] = set()
        while not self._stacks.is_end(place):
            control, node, needed, _ = place
            cell, below = self._stacks.top(node)
            depth = self._stacks.depth(node)
            part = control, cell, self.wish(below), needed, depth
            found = self._exits.get(part)
            if found is not None:
                weight += found.weight
                on = self._stacks.push(found.cell, below)
                place, texts = self.read(((found.control, on, found.needed, UNLIMITED), texts), found.byte)
            else:
                key = part[:4]
                if key in open_parts:
                    return _NOWHERE
                begun.append((part, weight, depth))
                open_parts.add(key)
                step = self._step((place, texts))
                if step is None:
                    return _NOWHERE
                if step.tokens:
                    weight, place = weight + step.tokens, step.after[0]
                    continue
                before, last = place, step.text[-1:]
                for at in range(len(step.text)):
                    last = step.text[at : at + 1]
                    before, (place, texts) = place, self.read((place, texts), last)
                    weight += 1
                    if self._stacks.depth(place[1]) < depth:
                        break
                found = _Exit(0, before[0], self._stacks.top(before[1])[0], before[2], last)
            after = self._stacks.depth(place[1])
            while begun and begun[-1][2] > after:
                ended, until, _ = begun.pop()
                open_parts.discard(ended[:4])
                self._exits[ended] = found._replace(weight=weight - until)
            if texts:
                # What is read on top of this cell hangs on what has been: its parts do not weigh the same each time.
                return 0
        return weight

    def wish(self, node: int) -> Hashable:
        """What is wished of the value that stands on a stack."""
        path = []
        while node >= 0 and node not in self._wishes:
            cell, below = self._stacks.top(node)
            path.append((node, cell))
            node = below
        wish = self._wishes[node] if node >= 0 else None
        for above, cell in reversed(path):
            wish = self._wishes[above] = self._automaton.wish(cell, wish)
        return wish

    def _match(self, ahead: "_Ahead", at: int) -> int:
        """The length of the longest token that comes at an offset; it does not go from other text into a run."""
        prefix = ahead.text(at, 2)
        if len(prefix) < 2:
            return len(prefix)
        spelled, most = self._tokens_with(prefix)
        text = ahead.text(at, most)
        for length in range(len(text), 1, -1):
            if text[:length] in spelled:
                return length
        return 1

    def _tokens_with(self, prefix: bytes) -> tuple[frozenset[bytes], int]:
        """The tokens that begin with two bytes, and the length of the longest."""
        found = self._by_prefix.get(prefix)
        if found is None:
            trie, spelled = self._trie, frozenset[bytes]()
            node = int(trie.child[prefix[0] + 1, prefix[1]])
            if node >= 0:
                ids = trie.token_ids[trie.token_indptr[node] : trie.token_indptr[trie.skip[node]]]
                spelled = frozenset(self._tokens[token] or b"" for token in ids.tolist())
            found = self._by_prefix[prefix] = spelled, max(map(len, spelled), default=1)
        return found

    # Texts on top of cells that record

    def _asked(self, spot: Spot) -> dict[int, list["_Asked"]]:
        """Of each text that the completion hangs on, by the level of its cell: what the cell is asked on the way, that text first."""
        found: dict[int, list[_Asked]] = {level: [] for level, text in enumerate(spot[1]) if text is not None}
        done: set[int] = set()
        n_read = 0
        for step in self._following(spot):
            if len(done) == len(found):
                break
            for value in step.text:
                byte, records = bytes([value]), list[Record]()
                after = self.read(spot, byte, records)
                n_read += 1
                for record in records:
                    if record.level in found and record.level not in done:
                        found[record.level].append(_Asked(record, spot, byte, n_read, record.level < len(after[1])))
                spot = after
                done |= {level for level in found if level >= len(spot[1])}
        return {level: asked for level, asked in found.items() if self._is_told(asked)}

    def _is_told(self, asked: list["_Asked"]) -> bool:
        """Does a cell go on otherwise after another text? Not if its reaction is the same for all, or all that follows is its end."""
        if len(asked) < 2 or not asked[1].stays:
            return False
        _, action, cell, _, reaction = asked[0].record
        tables, key = self._automaton.tables, action << 32 | cell
        if key not in tables.reactions:
            self._automaton.react(action, cell)
        return tables.reactions[key] != reaction

    def _most_of_others(self, spot: Spot, asked: list["_Asked"]) -> int:
        """The length of the longest completion, whatever the text is.

        Why these: a completion takes the least of what differs, so it is the longest after a text that it would have taken itself.
        """
        (first, (place, texts), byte, n_read, _), *later = asked
        most = self._weight(spot)
        others = {one.record.data for one in later if one.record.action == first.action}
        if len(others) > _MOST_OTHERS:
            return FAR
        reads_byte = len(first.data) > len(texts[first.level] or b"")
        for data in others:
            if reads_byte and not data.endswith(byte):
                return FAR
            other = (*texts[: first.level], data[:-1] if reads_byte else data, *texts[first.level + 1 :])
            after = self._read((place, other), byte)
            if after is not None:
                try:
                    most = max(most, n_read + self._weight(after))
                except (
                    SchemaError
                ):  # Why: the item at hand may be unable to be this text, and then nothing need follow it
                    return FAR
        return most if most <= _LONGEST else FAR


class _Asked(NamedTuple):
    """A record on the way of a completion: where the text stood, by which byte and after how many, and whether the cell's level stays."""

    record: Record
    before: Spot
    byte: bytes
    n_read: int
    stays: bool
