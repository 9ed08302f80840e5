"""`Completion`: a short way to complete a text of a Lark grammar, byte by byte.

*The policy.* For each hypothesis of a configuration, it considers the terminals that the current lexeme can become and, if that lexeme has
ended, those of the next one. Each costs the bytes to a lexeme of the terminal plus the cost of the resulting stack (`guided.lalr.costs`).
It takes the first byte of the cheapest option that can be read and starts the intended lexeme; white space is used where nothing else ends
a lexeme. The policy depends only on the configuration, so the rest of a completion is the completion from there.

*The search.* Costs are estimates, because conflicts and lookaheads can rule out a path. Before a policy path is trusted, it is therefore
followed to the end of the text. From a configuration where it fails, a breadth-first search in byte order finds the shortest way to one
where it succeeds; the later configurations on that way have the same rest. If there is no such configuration, the text cannot be ended.

Each policy step and each searched byte spends `_STEPS` of the call's budget (``call_steps`` of the limits).

Invariant: the completion of a configuration never changes once it has been returned.

Complexity: O(terminals that can follow) for a new byte; O(1) for a cached one.
"""

from collections.abc import Iterator
from functools import reduce
from heapq import heapify, heappop, heappush
from operator import or_
from typing import NamedTuple

from guided.automata.pushdown import KEPT, Pushdown
from guided.automata.stacks import Configuration, Stacks
from guided.lalr.costs import INFINITE, Costs
from guided.lalr.hypotheses import Hypothesis, HypothesisReader
from guided.lalr.indents import NO_NEWLINE
from guided.lalr.kernel_parser import Controls, Ended
from guided.lalr.lexeme_paths import LexemePaths, preference
from guided.lalr.tables import bits

__all__ = ["Completion"]

_NONE: frozenset[int] = frozenset()
# Maximum number of consecutive bytes that do not reduce the cost, before a policy path counts as failed.
_BYTES_ASTRAY = 500
# Steps of the call budget for each policy step and each searched byte.
_STEPS = 25
_NOT_FOUND = "the bounded search found no text that completes the prefix"


class _Option(NamedTuple):
    """A candidate lexeme, in the order in which they are tried.

    Attributes
    ----------
    cost : int
    is_exact : bool
        Whether `cost` is more than a lower bound.
    label, byte : int
        The terminal, and the first byte of the lexeme once the cost is exact.
    node, scanned : int
        Stack and scanner state that the lexeme is read on.
    meant : Configuration or None
        The configuration before it if the current lexeme must end first.
    """

    cost: int
    is_exact: bool
    label: int
    byte: int
    node: int
    scanned: int
    meant: Configuration | None


class Completion:
    """Completions of one grammar.

    Parameters
    ----------
    automaton : Pushdown
    reader : HypothesisReader
    controls : Controls
    groups : list of list of int
        The bytes that can occur, grouped by equal behavior in every state.
    """

    def __init__(
        self, automaton: Pushdown, reader: HypothesisReader, controls: Controls, groups: list[list[int]]
    ) -> None:
        self._automaton, self._reader, self._controls = automaton, reader, controls
        self._bytes = sorted((min(group, key=preference) for group in groups), key=preference)
        self._paths = LexemePaths(reader.lexing, sorted(byte for group in groups for byte in group))
        self._stacks = Stacks(automaton)
        self._weights = self._least_weights()
        self._costs = Costs(reader.cells, self._stacks, self._weights)
        self._fed: dict[tuple[int, int, int, int], int] = {}
        # The next byte of each configuration whose completion is known; empty if there is none.
        self._steps: dict[Configuration, bytes] = {}
        # Whether the policy reaches the end from a configuration.
        self._leads: dict[Configuration, bool] = {}

    def _least_weights(self) -> list[int]:
        """Return the cost of each terminal, and 0 for what is ignored, which the parser does not get."""
        lexing, indenter = self._reader.lexing, self._reader.indenter
        starts = sorted({state for row in lexing.starts for state in row if state >= 0})
        found = [INFINITE] * self._reader.end + [0, 0, 0]
        for away, layer in reversed(list(enumerate(self._paths.layers))[1:]):
            for label in bits(reduce(or_, (layer[state] for state in starts))):
                found[label] = min(found[label], away + 1)
        # An INDENT costs one blank of its newline, a DEDENT nothing.
        for weight, terminal in enumerate(reversed(indenter.following)):
            found[terminal] = weight
        return found

    def node(self, cell: int, below: int) -> int:
        """Return the stack with a cell on top of another stack (-1: none)."""
        return self._stacks.push(cell, below)

    def next(self, control: int, cell: int, below: int) -> bytes:
        """Return the next byte of the completion of a configuration where the text cannot end; empty if there is none.

        Raises
        ------
        LimitError
            The call takes too many steps.
        """
        configuration = control, self.node(cell, below), *KEPT
        if configuration not in self._steps and not self._arrives(configuration):
            self._search(configuration)
        return self._steps[configuration]

    # The search

    def _arrives(self, configuration: Configuration) -> bool:
        """Return whether the policy reaches the end of the text, and record the steps on the way."""
        path: dict[Configuration, bytes] = {}
        least, astray = INFINITE, 0
        first, leads = configuration, True
        while not self._stacks.is_end(configuration):
            known = self._leads.get(configuration)
            if known is not None:
                leads = known
                break
            step = None
            cost = self._costs.of(configuration[1])
            astray = 0 if cost < least else astray + 1
            least = min(cost, least)
            if configuration not in path and astray <= _BYTES_ASTRAY:
                self._automaton.tables.steps.spend(_STEPS, _NOT_FOUND)
                step = self._policy(configuration)
            if step is None:
                leads = False
                break
            path[configuration], configuration = step
        if leads:
            self._steps.update(path)
            self._leads.update(dict.fromkeys(path, True))
        else:
            self._leads[first] = False
        return leads

    def _search(self, start: Configuration) -> None:
        """Record the way to the nearest configuration from which the policy reaches the end."""
        came: dict[Configuration, tuple[Configuration, bytes]] = {}
        seen, work = {start}, [start]
        for configuration in work:
            for value in self._bytes:
                byte = bytes([value])
                after = self._stacks.read(configuration, byte)
                self._automaton.tables.steps.spend(_STEPS, _NOT_FOUND)
                if after is None or after in seen:
                    continue
                seen.add(after)
                came[after] = configuration, byte
                if self._stacks.is_end(after) or self._arrives(after):
                    while after != start:
                        after, byte = came[after]
                        self._steps[after] = byte
                    return
                work.append(after)
        self._steps[start] = b""

    # The policy

    def _policy(self, configuration: Configuration) -> tuple[bytes, Configuration] | None:
        """Return the byte of the cheapest option that works, and the configuration after it."""
        for thorough in (False, True):
            options = self._options(configuration, thorough=thorough)
            queue = [(option[:4], number, option) for number, option in enumerate(options)]
            heapify(queue)
            while queue:
                _, number, option = heappop(queue)
                if not option.is_exact:
                    option = self._exact(option)
                    if option.cost < INFINITE:
                        heappush(queue, (option[:4], number, option))
                    continue
                byte = bytes([option.byte])
                after = self._stacks.read(configuration, byte)
                if after is not None and (option.meant is None or self._is_meant(after, option)):
                    return byte, after
        return None

    def _exact(self, option: _Option) -> _Option:
        text, match = self._paths.path(option.scanned, option.label)
        cost = len(text) + 1 + self._after(option.node, match, NO_NEWLINE)
        return _Option(cost, True, option.label, text[0], option.node, option.scanned, option.meant)

    def _is_meant(self, after: Configuration, option: _Option) -> bool:
        """Return whether the byte has started the intended lexeme, so that no other hypothesis is left, or none that excludes it."""
        assert option.meant is not None
        meant = self._stacks.read(option.meant, bytes([option.byte]))
        if meant is None:
            return False
        begun, found = self._bare(meant), self._bare(after)
        return begun <= found if self._reader.lexing.is_scannerless else begun == found

    def _bare(self, configuration: Configuration) -> set[tuple[int, int]]:
        """Return stack and scanner state of each hypothesis of a configuration."""
        return {(self._upon(configuration[1], one.above), one.scanned) for one in self._controls.sets[configuration[0]]}

    def _upon(self, node: int, above: tuple[int, ...]) -> int:
        for cell in above:
            node = self._stacks.push(cell, node)
        return node

    def _options(self, configuration: Configuration, *, thorough: bool) -> Iterator[_Option]:
        for hypothesis in sorted(self._controls.sets[configuration[0]], key=_order):
            if hypothesis.scanned < 0:
                continue
            node = self._upon(configuration[1], hypothesis.above)
            yield from self._onward(hypothesis, node, None, thorough=thorough)
            for label, back, left in () if hypothesis.is_fresh else self._paths.matches(hypothesis.scanned):
                after = None if back else self._ended(node, Ended(label, hypothesis.column, left, hypothesis.watchers))
                if after is None:
                    continue
                for one in sorted(self._controls.sets[after[0]], key=_order):
                    if one.scanned >= 0:
                        yield from self._onward(one, self._upon(after[1], one.above), after, thorough=thorough)

    def _onward(
        self, hypothesis: Hypothesis, node: int, meant: Configuration | None, *, thorough: bool
    ) -> Iterator[_Option]:
        """Yield the lexemes that the current one can become; for a fresh one, up to the first of least possible cost."""
        reader, paths, scanned = self._reader, self._paths, hypothesis.scanned
        cell = self._stacks.top(node)[0]
        labels = reader.cells.known[cell].expected | 1 << reader.lexing.ignored
        is_line = labels & reader.newline and not reader.cells.indents(cell).parentheses
        # Inside parentheses a newline is ignored.
        labels = labels & ~reader.newline if is_line else labels | reader.newline
        least = self._costs.of(node)
        for away, label in paths.reachable(scanned, labels):
            if away:
                bound = away + 1 + max(least - self._weights[label], 0)
                option = _Option(bound, False, label, 0, node, scanned, meant)
                if hypothesis.is_fresh and not thorough and bound <= least:
                    option = self._exact(option)
                if option.cost < INFINITE:
                    yield option
                if option.is_exact and option.cost <= least:
                    break
        if is_line:
            yield from self._lines(hypothesis, node, meant)

    def _lines(self, hypothesis: Hypothesis, node: int, meant: Configuration | None) -> Iterator[_Option]:
        """Yield newlines of an Indenter, up to each column that it accepts."""
        reader, paths = self._reader, self._paths
        label = reader.indenter.newline
        columns = reader.cells.indents(self._stacks.top(node)[0]).columns
        line = paths.line(hypothesis.scanned)
        for column in (*columns, columns[-1] + 1):
            texts = [] if line is None else [line + b" " * column]
            if NO_NEWLINE < hypothesis.column < column:
                texts.append(b" " * (column - hypothesis.column))
            for text in texts:
                state = paths.walked(hypothesis.scanned, text)
                for match in paths.matches(state) if state >= 0 else ():
                    if match[0] != label:
                        continue
                    cost = len(text) + 1 + self._after(node, match, column)
                    if cost < INFINITE:
                        yield _Option(cost, True, label, text[0], node, hypothesis.scanned, meant)

    def _after(self, node: int, match: tuple[int, int, int], column: int) -> int:
        """Return the cost of a stack after a lexeme; INFINITE if the parser rejects it."""
        label, _, left = match
        key = node, label, left, column
        found = self._fed.get(key)
        if found is None:
            after = self._ended(node, Ended(label, column, left, _NONE))
            found = self._fed[key] = INFINITE if after is None else self._costs.of(after[1])
        return found

    def _ended(self, node: int, task: Ended) -> Configuration | None:
        """Return the configuration in which the next lexeme starts after one has ended."""
        return self._stacks.after_action(self._controls.action(task, again=True), node)


def _order(hypothesis: Hypothesis) -> tuple[object, ...]:
    """Sort key that orders the hypotheses of a configuration equally in every process."""
    return *hypothesis[:-1], sorted(hypothesis.watchers)
