"""Checks that the rules of a grammar keep an Indenter's counts balanced, so that the parser's stack determines them.

An Indenter counts open parentheses and open blocks independently of the parser. If each rule closes what it opens, in order, and nothing
inside parentheses derives a line's end or a block, the counts follow from the stack: a DEDENT or a closing parenthesis can come wherever
the parser can read it, and newlines are dropped exactly where the parser does not expect them.
"""

from collections.abc import Collection

from guided.lalr.items import Items
from guided.lalr.tables import LalrTables

__all__ = ["imbalance"]


def imbalance(tables: LalrTables, items: Items) -> str:
    """Describe the rule that breaks the counts; empty if there is none."""
    indentation = tables.indentation
    if indentation is None:
        return ""
    numbers = {name: number for number, name in enumerate(tables.symbols[: tables.end])}
    opening = {numbers[name] for name in indentation.opening if name in numbers}
    closing = {numbers[name] for name in indentation.closing if name in numbers}
    lines = {numbers[name] for name in (indentation.newline, indentation.indent, indentation.dedent) if name in numbers}
    broken = _deriving(items, lines)
    for rule, side in enumerate(items.sides):
        if not _closes(side, opening, closing) or not _closes(
            side, {numbers.get(indentation.indent, -1)}, {numbers.get(indentation.dedent, -1)}
        ):
            return f"{tables.rules[rule]} has unbalanced parentheses or indents"
        depth = 0
        for symbol in side:
            depth -= symbol in closing
            if depth > 0 and symbol in broken:
                return f"{tables.rules[rule]} has line ends within parentheses"
            depth += symbol in opening
    return ""


def _closes(side: tuple[int, ...], opening: Collection[int], closing: Collection[int]) -> bool:
    depth = 0
    for symbol in side:
        depth += (symbol in opening) - (symbol in closing)
        if depth < 0:
            return False
    return depth == 0


def _deriving(items: Items, symbols: Collection[int]) -> set[int]:
    """Return these symbols and every nonterminal that derives one of them."""
    users: dict[int, set[int]] = {}
    for origin, side in zip(items.origins, items.sides, strict=True):
        for symbol in side:
            users.setdefault(symbol, set()).add(origin)
    found, work = set(symbols), list(symbols)
    while work:
        for origin in users.get(work.pop(), ()):
            if origin not in found:
                found.add(origin)
                work.append(origin)
    return found
