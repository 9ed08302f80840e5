"""The values and states of a schema as productions: objects right-linear, arrays left-linear, a rule per value and valuation.

Symbols of the grammar, where b is a valuation; impossible ones are omitted:

    value(v, b)     a value with valuation b: a literal, string or number; ``{`` and more(s, b); some list(s, t) and ``]``; or empty
    more(s, b)      a member and what follows it: key, colon, value(v, c), rest(t, b); or more of the state that s links to
    rest(s, b)      the closing brace, or a comma and more(s, b)
    list(s, t)      ``[`` and the items that take an array from state s to state t: list(s, r), comma, value(v, c)
    number(n)       some digits(n, q), if no regular expression of reasonable size denotes automaton n
    digits(n, q)    the beginning of a number that leads to state q: digits(n, p) and a sign

The automaton of a schema is deterministic, and each symbol carries only a state and a valuation. So productions can conflict only at their
ends, where the next terminal decides: the grammar is LALR(1) by construction. Terminals that are expected together have no text in
common, and none is a prefix of another's text, so a contextual lexer cannot go wrong: strings end at their quote, a number at the first
character that no number contains, and all other terminals begin differently.

Why not one form for both: left-linear objects need a line per pair of optional names, and right-linear arrays of up to a thousand items
make lookahead computation, which Lark does by recursion, equally deep.

Complexity: linear in the states and edges of the graph, times the valuations.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

from guided.errors import LimitError
from guided.export.graph import ARRAY, ITEMS, Edge, Graph, Leaf
from guided.export.numbers import Number
from guided.export.productions import Productions, Symbol, Terminal, check_depth, shortened
from guided.export.strings import Strings, written
from guided.patterns.render import render
from guided.patterns.tree import Chars
from guided.schema.formula.formulas import TRUE, Formulas
from guided.schema.pushdown.structure import LITERALS
from guided.schema.strings.spelling import spelling_of
from guided.schema.values.context import SchemaContext
from guided.schema.values.key_table import KeyTable
from guided.schema.values.keys import OTHER

__all__ = ["Punctuation", "productions"]


@dataclass(frozen=True, slots=True)
class Punctuation:
    """The punctuation with adjacent whitespace: each gap belongs to the sign before or after it."""

    open_object: Terminal
    open_array: Terminal
    close_object: Terminal
    close_array: Terminal
    close_empty_object: Terminal
    close_empty_array: Terminal
    comma: Terminal
    colon: Terminal


def productions(graph: Graph, context: SchemaContext, signs: Punctuation, most: int) -> Productions:
    """Return the productions of all rules that value 0 needs, its own first.

    Raises
    ------
    LimitError
        There are more than ``most`` alternatives, or a regular expression is too large.
    """
    found = shortened(_Writer(graph, context, signs, most).written())
    check_depth(found)
    return found


class _Writer:
    def __init__(self, graph: Graph, context: SchemaContext, signs: Punctuation, most: int) -> None:
        self._graph = graph
        self._context = context
        self._signs = signs
        self._most = most
        self._formulas: Formulas = context.formulas
        self._strings = Strings(context.formulas, spelling_of(context.options.escapes), context.limits)
        self._arrays: dict[int, dict[int, list[tuple[int, Edge]]]] = {}
        self._keys: dict[tuple[KeyTable, int], Terminal] = {}
        self._leaves: dict[Leaf, Symbol] = {}
        self._numbers: list[Number] = []

    def written(self) -> Productions:
        """Return the rules in order of discovery."""
        start = ("value", 0, 0)
        found: Productions = {}
        todo: list[tuple[Hashable, ...]] = [start]
        count = 0
        while todo:
            key = todo.pop()
            if key in found:
                continue
            found[key] = list(self._alternatives(key))
            count += len(found[key])
            if count > self._most:
                raise LimitError("rules", count, self._most, f"the grammar grows too large{self._where(key)}")
            later = [symbol for line in found[key] for symbol in line if not isinstance(symbol, Terminal)]
            todo += reversed(later)
        return found

    def _where(self, key: tuple[Hashable, ...]) -> str:
        match key:
            case ("value", int(number), _):
                return f", at {self._graph.values[number].place}"
            case ("more" | "rest" | "list", int(number), _):
                return f", at {self._graph.values[self._graph.states[number].owner].place}"
        return ""

    def _alternatives(self, key: tuple[Hashable, ...]) -> Iterator[tuple[Symbol, ...]]:
        match key:
            case ("value", int(number), int(bits)):
                yield from self._value(number, bits)
            case ("more", int(number), int(bits)):
                yield from self._more(number, bits)
            case ("rest", int(number), int(bits)):
                yield from self._rest(number, bits)
            case ("list", int(start), int(last)):
                yield from self._list(start, last)
            case ("number", int(number)):
                yield from ((("digits", number, state),) for state in self._numbers[number].ends)
            case ("digits", int(number), int(state)):
                yield from self._digits(number, state)

    def _value(self, number: int, bits: int) -> Iterator[tuple[Symbol, ...]]:
        value, signs = self._graph.values[number], self._signs
        for one in value.opens:
            state = self._graph.states[one]
            if state.kind in (ARRAY, ITEMS):
                if state.close == bits:
                    yield signs.open_array, signs.close_empty_array
                for last in self._array(one):
                    if self._graph.states[last].close == bits:
                        yield ("list", one, last), signs.close_array
            else:
                if state.close == bits:
                    yield signs.open_object, signs.close_empty_object
                if self._has_more(one, bits):
                    yield signs.open_object, ("more", one, bits)
        for leaf in value.leaves:
            if leaf.bits == bits:
                yield (self._leaf(leaf, value.place),)

    def _array(self, start: int) -> dict[int, list[tuple[int, Edge]]]:
        """Return, for each state that an array can reach by its items, the edges that lead there with their sources."""
        found = self._arrays.get(start)
        if found is None:
            found = self._arrays[start] = {}
            todo = [start]
            seen = {start}
            while todo:
                source = todo.pop()
                for edge in self._graph.states[source].edges:
                    if self._graph.states[edge.state].valuations:
                        found.setdefault(edge.state, []).append((source, edge))
                        if edge.state not in seen:
                            seen.add(edge.state)
                            todo.append(edge.state)
        return found

    def _list(self, start: int, last: int) -> Iterator[tuple[Symbol, ...]]:
        into = self._array(start)
        for source, edge in into[last]:
            item = ("value", edge.value, edge.bits)
            if source == start:
                yield self._signs.open_array, item
            if source in into:
                yield ("list", start, source), self._signs.comma, item

    def _has_more(self, number: int, bits: int) -> bool:
        state = self._graph.states[number]
        return any(bits in self._graph.states[edge.state].valuations for edge in state.edges) or (
            state.link >= 0 and bits in self._graph.states[state.link].valuations
        )

    def _more(self, number: int, bits: int) -> Iterator[tuple[Symbol, ...]]:
        state = self._graph.states[number]
        place = self._graph.values[state.owner].place
        for edge in state.edges:
            if bits in self._graph.states[edge.state].valuations:
                assert edge.label is not None
                key = self._key(edge.label, place)
                yield key, self._signs.colon, ("value", edge.value, edge.bits), ("rest", edge.state, bits)
        if state.link >= 0 and bits in self._graph.states[state.link].valuations:
            yield (("more", state.link, bits),)

    def _rest(self, number: int, bits: int) -> Iterator[tuple[Symbol, ...]]:
        if self._graph.states[number].close == bits:
            yield (self._signs.close_object,)
        if self._has_more(number, bits):
            yield self._signs.comma, ("more", number, bits)

    # Terminals

    def _key(self, label: tuple[KeyTable, int], place: str) -> Terminal:
        found = self._keys.get(label)
        if found is None:
            table = label[0]
            name, bits = table.labels[label[1]]
            if name != OTHER:
                found = Terminal(f"key {table.names[name]}", self._strings.text(table.names[name], place))
            else:
                wanted = self._reporting(TRUE, table.patterns, bits)
                found = Terminal("key", self._strings.of(wanted, place, but=table.names))
            self._keys[label] = found
        return found

    def _leaf(self, leaf: Leaf, place: str) -> Symbol:
        found = self._leaves.get(leaf)
        if found is None:
            if leaf.kind in LITERALS:
                found = Terminal(leaf.kind, LITERALS[leaf.kind].decode())
            elif leaf.kind == "string":
                must, *observed = leaf.wanted
                found = Terminal("string", self._strings.of(self._reporting(must, observed, leaf.bits), place))
            else:
                found = self._number(leaf)
            self._leaves[leaf] = found
        return found

    def _reporting(self, must: int, observed: Sequence[int], bits: int) -> int:
        """Return the formula of what satisfies one formula and has a valuation of others."""
        literals = (one if bits >> i & 1 else self._formulas.negation(one) for i, one in enumerate(observed))
        return self._formulas.conjunction([must, *literals])

    def _number(self, leaf: Leaf) -> Symbol:
        made = self._context.leaves.numbers(leaf.wanted)
        number = Number.of(made.automaton, made.bits, leaf.bits)
        tree = number.expression()
        if tree is None:
            self._numbers.append(number)
            return "number", len(self._numbers) - 1
        is_integer = any(atom[0] == "integer" for atom in self._formulas.atoms(leaf.wanted[0]))
        return Terminal("integer" if is_integer else "number", written(tree, ""))

    def _digits(self, number: int, state: int) -> Iterator[tuple[Symbol, ...]]:
        for source, charset, target in self._numbers[number].edges:
            if target == state:
                sign = Terminal("digit", render(Chars(charset)))
                if source == 0:
                    yield (sign,)
                else:
                    yield ("digits", number, source), sign
