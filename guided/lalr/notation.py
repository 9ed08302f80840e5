"""Notations of rules, read to trees: names, literals, groups, alternatives and repeats.

A dialect is a subclass of `Reader` that reads its own literals and statements; groups that are open are kept on a stack.

`tables_of_rules` has Lark make the tables of a grammar to which a dialect was converted; its errors name the rule of the dialect's text.

Linear in the text.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

from guided.automata.steps import Steps
from guided.errors import GrammarError, LimitError
from guided.lalr.loading import tables_of_text
from guided.lalr.tables import LalrTables
from guided.limits import Limits

__all__ = ["Names", "Node", "Reader", "folded", "nodes_of", "tables_of_rules", "with_operators"]

_COUNTS = re.compile(r"\{([0-9, \t]{1,40})\}")
_REPEATS: Mapping[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
# Cost of an item of a rule, in steps of a compile: Python reads it, and visits it some times.
_PER_ITEM = 1_200
_T = TypeVar("_T")


@dataclass(slots=True)
class Node:
    """A node of a rule's body: a leaf, or ``|``, a sequence or a repeat (``kind``) of others.

    A leaf is the name of a rule, or what the dialect has read.
    """

    kind: str
    offset: int
    parts: list["Node"]
    leaf: Any = None
    least: int = 1
    most: int | None = 1


class Reader(ABC):
    """Reads the bodies of rules.

    Attributes
    ----------
    text : str
    place : int
        Where to read on.
    rule : str
        The rule whose body is read, for errors.
    steps : Steps
        Of the whole grammar.
    """

    blank: ClassVar[re.Pattern[str]]
    # The signs that open groups, with those that close them.
    closing: ClassVar[Mapping[str, str]] = {"(": ")"}

    def __init__(self, text: str, limits: Limits) -> None:
        if len(text) > limits.pattern_length:
            raise LimitError("pattern_length", len(text), limits.pattern_length, "the grammar's text is too long")
        self.text, self.place, self.rule, self.steps = text, 0, "grammar", Steps(limits.steps)
        self._most_nested = limits.composition_depth

    @abstractmethod
    def item(self, here: str) -> Node | None:
        """Read a leaf whose first character is `here`; None if none begins with it."""

    def append(self, sequence: list[Node], item: Node) -> None:
        """Append an item to a sequence."""
        sequence.append(item)

    def counts(self, here: str) -> tuple[int, int | None] | None:
        """Read how often the item before is repeated; None if the text does not say so."""
        if here in _REPEATS:
            self.place += 1
            return _REPEATS[here]
        return self.numbers() if here == "{" else None

    def body(self) -> Node:
        """Read alternatives up to the end of the rule."""
        stack, group = list[Node](), _choice(self.place)
        while True:
            begin, here = self.place, self.text[self.place : self.place + 1]
            if self.steps.left < _PER_ITEM:
                raise LimitError(
                    "steps", self.steps.limit + 1, self.steps.limit, f"{self.error('the grammar has too many items')}"
                )
            self.steps.spent += _PER_ITEM
            sequence = group.parts[-1].parts
            if here in self.closing:
                if len(stack) == self._most_nested:
                    raise LimitError("composition_depth", len(stack) + 1, len(stack), "nested groups of a grammar")
                stack.append(group)
                group = _choice(begin)
                self.place += 1
            elif stack and here == self.closing[self.text[group.offset]]:
                item = Node("repeat", group.offset, [group], least=0) if here == "]" else group
                group = stack.pop()
                self.place += 1
                self.append(group.parts[-1].parts, item)
            elif here == "|":
                group.parts.append(Node("sequence", begin, []))
                self.place += 1
            elif (counts := self.counts(here)) is not None:
                if not sequence:
                    raise self.error(f"{here} repeats nothing", begin)
                if counts[1] is not None and counts[1] < counts[0]:
                    raise self.error("a count is from the lower number to the higher", begin)
                sequence[-1] = Node("repeat", begin, [sequence[-1]], least=counts[0], most=counts[1])
            elif not stack and here in ("", "\r", "\n"):
                if not self._continues():
                    return group
            elif not here:
                raise self.error(f"a group is not closed by `{self.closing[self.text[group.offset]]}`", group.offset)
            elif (found := self.item(here)) is not None:
                self.append(sequence, found)
            else:
                advice = "; texts stand in double quotes" if here == "'" else ""
                raise self.error(f"{here!r} cannot come here{advice}", begin)
            self.skip(lines=bool(stack) or here == "|")

    def _continues(self) -> bool:
        """Return whether the next line begins with ``|``, and move there."""
        begin = self.place
        self.skip(lines=True)
        if self.text.startswith("|", self.place):
            return True
        self.place = begin
        return False

    def skip(self, *, lines: bool) -> None:
        """Move past blanks and comments, and line breaks if ``lines``."""
        while True:
            found = self.blank.match(self.text, self.place)
            if found is not None:
                self.place = found.end()
            elif lines and self.text[self.place : self.place + 1] in ("\r", "\n"):
                self.place += 1
            else:
                return

    def numbers(self, omitted: str = "") -> tuple[int, int | None]:
        """Read ``{2}``, ``{2,}`` or ``{2,5}``; ``omitted`` is the lower number if there is none."""
        found = _COUNTS.match(self.text, self.place)
        least, comma, most = (number.strip() for number in found[1].partition(",")) if found else ("", "", "")
        least = least or omitted
        if found is None or not least.isdigit() or not (most.isdigit() or not most):
            raise self.error("a count is written {2}, {2,} or {2,5}")
        self.place = found.end()
        return int(least), int(most) if most else None if comma else int(least)

    def error(self, reason: str, offset: int | None = None) -> GrammarError:
        """Return the error for a place, by default where the reader is."""
        return GrammarError.at(self.text, reason, self.rule, self.place if offset is None else offset)


def _choice(offset: int) -> Node:
    return Node("choice", offset, [Node("sequence", offset, [])])


def folded(body: Node, join: Callable[[Node, list[_T]], _T]) -> _T:
    """Return the value of a body, where ``join`` gives that of a node from those of its parts."""
    values: list[_T] = []
    for node in nodes_of(body):
        first = len(values) - len(node.parts)
        values[first:] = [join(node, values[first:])]
    return values[0]


def nodes_of(body: Node) -> Iterator[Node]:
    """Yield the nodes of a body, each after its parts."""
    stack = [(body, False)]
    while stack:
        node, is_done = stack.pop()
        if is_done or not node.parts:
            yield node
        else:
            stack.append((node, True))
            stack += [(part, False) for part in reversed(node.parts)]


def with_operators(name: str, body: Node) -> Node:
    """Return a body of the same texts in which operators are not ambiguous.

    Theorem: ``x: x o x | p x | x q | a`` has the texts ``u (o u)*`` with ``u: p* a q*``, whatever o, p, q and a are: each alternative leads
    from such texts to such a text, and ``x o x``, ``p x`` and ``x q`` make each of them.
    """
    infix, before, behind, rest = (list[Node]() for _ in range(4))
    for sequence in body.parts if body.kind == "choice" else ():
        items = sequence.parts
        begins, ends = (bool(items) and items[place].leaf == name for place in (0, -1))
        kind = infix if begins and ends else behind if begins else before if ends else rest
        if len(items) > 1 or not begins:
            kind.append(replace(sequence, parts=items[begins : len(items) - ends]))
    if not rest or not (infix or (before and behind)):
        return body

    def any_of(sequences: list[Node]) -> Node:
        return Node("choice", body.offset, sequences)

    def some(sequences: list[Node]) -> list[Node]:
        return [Node("repeat", body.offset, [any_of(sequences)], least=0, most=None)] if sequences else []

    operand = [*some(before), any_of(rest), *some(behind)]
    again = some([Node("sequence", body.offset, [any_of(infix), *operand])]) if infix else []
    return any_of([Node("sequence", body.offset, [*operand, *again])])


class Names:
    """The names for Lark of the rules of a text.

    Attributes
    ----------
    rules : list of str
        The rules that have names, in the order in which they were named.
    """

    def __init__(self) -> None:
        self.rules: list[str] = []
        self._named: dict[str, str] = {}
        self._owners: dict[str, str] = {}

    def of(self, rule: str, owner: str = "") -> str:
        """Return the name of a rule, a new one at first; ``owner``: the rule that errors name for it."""
        found = self._named.get(rule)
        if found is None:
            plain = re.sub(r"[^a-z0-9]", "_", rule.lower())[:40].strip("_")
            plain = plain if plain[:1].isalpha() else f"rule_{plain}".rstrip("_")
            found = plain if plain not in self._owners else f"{plain}_{len(self._owners)}"
            while found in self._owners:
                found += "_"
            self._named[rule], self._owners[found] = found, owner or rule
            self.rules.append(rule)
        return found

    def rule_of(self, name: str) -> str:
        """Return the rule of a name; Lark makes further rules of one for its repeats, such as ``__x_star_0``. By default the first."""
        made_of = (known for known in self._owners if name.startswith(f"__{known}_"))
        return self._owners.get(name) or self._owners.get(max(made_of, key=len, default=""), self.rules[0])


def tables_of_rules(
    lark: str, start: str, reader: Reader, offsets: Mapping[str, int], names: Names, limits: Limits, advice: str = ""
) -> LalrTables:
    """Return the tables of a grammar in Lark's notation, which was made of the rules of a text.

    Parameters
    ----------
    lark : str
        The grammar.
    start : str
        The name of its start rule.
    reader : Reader
        Of the text that it was made of; the steps are added to its own.
    offsets : mapping of str to int
        Where each rule begins in that text.
    names : Names
    limits : Limits
    advice : str
        What else may help if the grammar needs more than LALR(1).

    Raises
    ------
    GrammarError
        Lark refuses the grammar, or it needs more than LALR(1), with the rule of the text, line and column.
    LimitError
    """
    text = reader.text
    try:
        tables = tables_of_text(lark, start=[start], limits=limits, steps=reader.steps)
    except GrammarError as error:
        rule = names.rule_of(error.rule)
        raise GrammarError.at(text, error.reason.partition(":")[0] + advice, rule, offsets[rule]) from None
    for conflict in tables.conflicts:
        rule = names.rule_of(tables.symbols[tables.rules[conflict.rule][0]])
        reason = (
            "a parser that sees only the next part cannot tell whether this rule ends or continues (LALR(1)): make the choice where the "
            "alternatives differ, or leave out one of two optional parts that can match the same text"
        )
        raise GrammarError.at(text, reason + advice, rule, offsets[rule])
    return tables
