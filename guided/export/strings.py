"""Formulas about strings -> regular expressions of JSON strings, with quotes, for backtracking matchers.

A string ends at its first unescaped quote, so a match from quote to quote is the whole string, and several constraints can apply to it:
"and" is lookahead, "not" is negative lookahead, both up to the closing quote. Patterns and formats are kept, character by character, in
the spellings that the options allow. Lookbehind, which would see the bytes of spellings, is refused.

Complexity: linear in the formulas and patterns, which may be copied several times; bounded by `EXPRESSION_PARTS` and `_DEEPEST`.
"""

from collections.abc import Sequence

from guided.errors import LimitError, SchemaError
from guided.export.spelling import lifted_tree, spell_text
from guided.limits import Limits
from guided.patterns.bounds import max_width, min_width
from guided.patterns.charset import Charset
from guided.patterns.render import render
from guided.patterns.tree import (
    Alternate,
    Chars,
    Complement,
    Concat,
    Intersect,
    Literal,
    Look,
    Node,
    Repeat,
    alternate,
    concat,
    fold,
    parts_of,
)
from guided.schema.formula.formulas import TRUE, Atom, Formulas
from guided.schema.strings.languages import ANY_LENGTH, named, tree_of
from guided.schema.strings.spelling import Spelling

__all__ = ["EXPRESSION_PARTS", "Strings", "written"]

# Most nodes of an expanded regular expression.
EXPRESSION_PARTS = 50_000
# Deepest nesting of nodes: Python's parser of regular expressions recurses.
_DEEPEST = 100
# Largest count, as in the automaton of a schema; Python allows up to 2**32 - 2.
_UNLIMITED = 1 << 30

_QUOTE = Literal('"')
_ANYTHING = Repeat(Chars(Charset.UNIVERSE), 0, None)


class Strings:
    """The regular expressions of one schema's strings."""

    def __init__(self, formulas: Formulas, spelling: Spelling, limits: Limits) -> None:
        self._formulas = formulas
        self._spelling = spelling
        self._limits = limits
        self._kept: list[tuple[Node, ...]] = []
        # Tree of each formula's texts, without quotes, to be followed by one.
        self._texts: dict[int, Node] = {TRUE: self._lifted(_ANYTHING)}

    def of(self, formula: int, place: str, but: Sequence[str] = ()) -> str:
        """Return the strings that satisfy a formula over string atoms, without some texts.

        ``place`` is their location, for messages.

        Raises
        ------
        LimitError
            The expression would be too large.
        """
        texts = self._text(formula, place)
        if but:
            texts = concat([_ahead(alternate(self._spelled(text) for text in but), negative=True), texts])
        return written(concat([_QUOTE, texts, _QUOTE]), place)

    def text(self, text: str, place: str) -> str:
        """Return the expression of one string."""
        return written(concat([_QUOTE, self._spelled(text), _QUOTE]), place)

    def _spelled(self, text: str) -> Node:
        return spell_text(text, self._spelling)

    def _lifted(self, values: Node) -> Node:
        found = lifted_tree(values, self._spelling)
        assert found is not None
        return found

    def _text(self, formula: int, place: str) -> Node:
        nodes, texts = self._formulas.nodes, self._texts
        for each in self._formulas.below([formula]):
            if each not in texts:
                node = nodes[each]
                match node[0]:
                    case "&":
                        texts[each] = self._all(node[1])
                    case "|":
                        texts[each] = alternate(texts[member] for member in node[1])
                    case "!":
                        texts[each] = concat([_ahead(texts[node[1]], negative=True), texts[TRUE]])
                    case "1":
                        texts[each] = self._one(node[1])
                    case "F":
                        texts[each] = Chars(Charset.EMPTY)
                    case _:
                        texts[each] = self._atom(node, place)
        return texts[formula]

    def _all(self, members: Sequence[int]) -> Node:
        """Return the texts that satisfy all formulas: lookahead for all but one, which is then read."""
        nodes = self._formulas.nodes
        members = [member for member in members if not self._is_implied(member, members)]
        read = next((member for member in members if nodes[member][0] not in ("!", "length")), None)
        if read is None:
            read = next((member for member in members if nodes[member][0] == "length"), TRUE)
        return concat([*(self._look(member) for member in members if member != read), self._texts[read]])

    def _look(self, formula: int) -> Node:
        node = self._formulas.nodes[formula]
        if node[0] == "!":
            return _ahead(self._texts[node[1]], negative=True)
        return _ahead(self._texts[formula], negative=False)

    def _is_implied(self, member: int, members: Sequence[int]) -> bool:
        """Return whether a formula is a length that an adjacent pattern or format implies."""
        nodes = self._formulas.nodes
        kind, *content = nodes[member]
        if kind != "length":
            return False
        return any(
            _has_lengths(tree_of(nodes[other], self._limits), *content)
            for other in members
            if nodes[other][0] in ("pattern", "format")
        )

    def _one(self, members: Sequence[int]) -> Node:
        ways = []
        for i, member in enumerate(members):
            others = (_ahead(self._texts[other], negative=True) for j, other in enumerate(members) if j != i)
            ways.append(concat([*others, self._texts[member]]))
        return alternate(ways)

    def _atom(self, atom: Atom, place: str) -> Node:
        match atom[0]:
            case "strings":
                return alternate(self._spelled(text) for text in atom[1])
            case "length":
                _, least, most = atom
                any_character = Chars(Charset.UNIVERSE)
                bound = None if most == ANY_LENGTH else min(most, _UNLIMITED)
                return self._lifted(Repeat(any_character, min(least, _UNLIMITED), bound))
        tree = tree_of(atom, self._limits)
        return fold(tree, lambda node, parts: self._whole(node, parts, atom, place), self._operands)

    def _operands(self, node: Node) -> tuple[Node, ...]:
        """Return the parts of a tree that constrain whole strings, if it cannot be lifted as one."""
        if lifted_tree(node, self._spelling) is not None:
            return ()
        if isinstance(node, Intersect | Complement | Alternate):
            return parts_of(node)
        items = _flat(node)
        if isinstance(items[0], Intersect) and _is_split(items[1:]):
            # Why kept alive: folds identify nodes by address.
            self._kept.append(tuple(concat([item, *items[1:]]) for item in items[0].items))
            return self._kept[-1]
        return ()

    def _whole(self, node: Node, parts: Sequence[Node], atom: Atom, place: str) -> Node:
        if not parts:
            found = lifted_tree(node, self._spelling)
            if found is None:
                reason = f"a regular expression of JSON strings cannot look behind, as {named(atom)} does"
                raise SchemaError(reason, place.removeprefix("value"), "pattern")
            return found
        match node:
            case Alternate():
                return alternate(parts)
            case Complement():
                return concat([_ahead(parts[0], negative=True), self._texts[TRUE]])
            case _:
                return concat([*(_ahead(part, negative=False) for part in parts[1:]), parts[0]])


def written(tree: Node, place: str) -> str:
    """Return the regular expression of a tree in the syntax of `re`; ``place`` is for messages.

    Raises
    ------
    LimitError
        It is too large, or too deep.
    """

    def measured(node: Node, parts: Sequence[tuple[int, int]]) -> tuple[int, int]:
        own = len(node.text) if isinstance(node, Literal) else 1
        return own + sum(size for size, _ in parts), 1 + max((depth for _, depth in parts), default=0)

    size, depth = fold(tree, measured)
    if size > EXPRESSION_PARTS:
        raise LimitError(
            "expression", size, EXPRESSION_PARTS, f"the regular expression of a string grows too large, at {place}"
        )
    if depth > _DEEPEST:
        raise LimitError(
            "group_depth", depth, _DEEPEST, f"nested groups in the regular expression of a string, at {place}"
        )
    return render(tree)


def _ahead(texts: Node, *, negative: bool) -> Node:
    """Return a lookahead for a text and then the closing quote."""
    return Look(concat([texts, _QUOTE]), behind=False, negative=negative)


def _has_lengths(tree: Node, least: int, most: int) -> bool:
    widest = max_width(tree)
    return min_width(tree) >= least and (most == ANY_LENGTH or (widest is not None and widest <= most))


def _flat(node: Node) -> list[Node]:
    """Return the items of nested concatenations."""
    found, todo = [], [node]
    while todo:
        top = todo.pop()
        if isinstance(top, Concat):
            todo += reversed(top.items)
        else:
            found.append(top)
    return found or [node]


def _is_split(items: Sequence[Node]) -> bool:
    """Return whether the items begin with a character that does not recur, which marks where they begin."""
    if not items or not isinstance(items[0], Literal) or not items[0].text:
        return False
    first = items[0].text[0]
    rest = concat([Literal(items[0].text[1:]), *items[1:]])

    def holds(node: Node, parts: Sequence[bool]) -> bool:
        if isinstance(node, Literal):
            return first in node.text
        return isinstance(node, Look | Complement) or any(parts) or (isinstance(node, Chars) and first in node.charset)

    return not fold(rest, holds)
