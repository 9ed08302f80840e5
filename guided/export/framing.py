"""A frame with embedded values (`guided.schema.pushdown.frames`) as the text of a Lark grammar.

The text so far is left-linear: a rule per cut of the frame (`guided.export.segments`), whose alternatives are another cut's rule followed
by a piece of text or by a value. So the parser's stack is never deeper than the current value requires, and no two rules conflict.

Why the ends of values are copied: if the schema is recursive, then after the brace that ends an object a parser expects both what follows
an inner object and what follows the whole value, and a comma could belong to either. Rules at the end of a whole value are therefore
separate rules, and the lexer never has to distinguish the two.
"""

from collections.abc import Hashable, Mapping

from guided.errors import SchemaError
from guided.export.lark import DEFAULT_RULES, GrammarText, LarkGrammar, rule_text, value_rules
from guided.export.productions import Productions, Symbol, Terminal
from guided.export.segments import Segments, segments
from guided.limits import Limits
from guided.schema.formula.atoms import JsonOptions
from guided.schema.pushdown.frames import Frame, Value
from guided.schema.pushdown.structure import LITERALS

__all__ = ["framed_grammar"]

_SIGNS = b"+-.0123456789Ee"
_NUMBER = b"-0123456789"
_OPENING = {"_lbrace": b"{", "_lsqb": b"[", "string": b'"'}


def framed_grammar(frame: Frame, options: JsonOptions, limits: Limits, *, names: Mapping[int, str]) -> LarkGrammar:
    """Return the grammar of a frame's valid UTF-8 texts.

    ``names``: by label, of the pieces of text that begin at states with it.

    Raises
    ------
    SchemaError
        No context-free grammar expresses a value's schema, or the text after a number could continue it.
    LimitError
        The grammar would be too large.
    """
    found = segments(frame, DEFAULT_RULES)
    if not set(frame.following).isdisjoint(_SIGNS):
        raise SchemaError(
            "the text after a number must not start with a character that continues the number", "", "format"
        )
    text = GrammarText()
    blocks: list[str] = []
    values: dict[int, str | None] = {}
    unenforced: list[tuple[str, str]] = []
    for number in dict.fromkeys(number for number, _ in found.holes.values()):
        value = frame.values[number]
        rules = value_rules(value.schema, options, limits, None, value.pointer)
        unenforced += rules.unenforced
        begun = _restricted(_ends_copied(rules.productions), value)
        values[number] = None
        if begun is not None:
            made, values[number] = text.rules(rules._replace(productions=begun))
            blocks += made
    labels = {cut: names.get(int(frame.automaton.labels[cut]), "part") for cut in _cuts(found)}
    rules_of_cuts = _rules(found, values, labels, text)
    return text.whole([*rules_of_cuts, "", *blocks], options, tuple(unenforced))


def _cuts(found: Segments) -> list[int]:
    """Return all cuts in order of discovery."""
    cuts = [0]
    for piece in found.pieces:
        cuts += [piece.source, piece.target]
    for source, (_, behind) in found.holes.items():
        cuts += [source, behind]
    return list(dict.fromkeys(cuts))


def _rules(
    found: Segments, values: Mapping[int, str | None], labels: Mapping[int, str], text: GrammarText
) -> list[str]:
    """Return the rules of cuts."""
    names = {cut: text.rule_names.fresh(f"_after_{label}") for cut, label in labels.items()}
    bodies: dict[int, list[str]] = {cut: [] for cut in names}
    bodies[0].append("")
    for piece in found.pieces:
        terminal = text.terminal(Terminal(labels[piece.source], piece.pattern))
        bodies[piece.target].append(f"{names[piece.source]} {terminal}")
    for source, (number, behind) in found.holes.items():
        if values[number] is not None:
            bodies[behind].append(f"{names[source]} {values[number]}")
    start = rule_text("start", [names[end] for end in found.ends])
    return [start, *(rule_text(names[cut], lines) for cut, lines in bodies.items() if lines)]


def _ends_copied(found: Productions) -> Productions:
    """Return the productions, with separate rules for the end of a whole value."""
    first = next(iter(found))
    copies: Productions = {}
    todo: list[tuple[Hashable, ...]] = [first]
    while todo:
        key = todo.pop()
        copy = _last(key)
        if copy in copies:
            continue
        copies[copy] = []
        for line in found[key]:
            end = line[-1]
            if not isinstance(end, Terminal):
                todo.append(end)
            copies[copy].append((*line[:-1], end if isinstance(end, Terminal) else _last(end)))
    whole = {**copies, **found}
    needed: dict[tuple[Hashable, ...], None] = {}
    work: list[tuple[Hashable, ...]] = [_last(first)]
    while work:
        key = work.pop()
        if key not in needed:
            needed[key] = None
            work += reversed([one for line in whole[key] for one in line if not isinstance(one, Terminal)])
    return {key: whole[key] for key in needed}


def _last(key: tuple[Hashable, ...]) -> tuple[Hashable, ...]:
    return (*key, "last")


def _restricted(found: Productions, value: Value) -> Productions | None:
    """Return the productions of a value that begins with one of some bytes; None if there are none.

    Raises
    ------
    SchemaError
        The value is a number without a short expression.
    """
    if not value.begins:
        return found
    first = next(iter(found))
    kept: list[tuple[Symbol, ...]] = []
    for line in found[first]:
        begins = _begins(found, line[0])
        allowed = bytes(byte for byte in begins if byte in value.begins)
        if allowed == begins:
            kept.append(line)
        elif allowed:
            if not isinstance(line[0], Terminal):
                raise SchemaError(
                    "no short grammar describes a number by its first character", value.pointer, "multipleOf"
                )
            signs = "".join(map(chr, allowed)).replace("-", r"\-")
            kept.append((line[0]._replace(pattern=f"(?=[{signs}]){line[0].pattern}"), *line[1:]))
    return {**found, first: kept} if kept else None


def _begins(found: Productions, symbol: Symbol) -> bytes:
    """Return the bytes that a value begins with, by its notation."""
    while not isinstance(symbol, Terminal):
        # Every line of a list leads to a bracket; rules of numbers lead to a sign.
        if symbol[0] in ("number", "digits"):
            return _NUMBER
        symbol = next((line[0] for line in found[symbol] if line[0][0] != symbol[0]), found[symbol][0][0])
    if symbol.hint in LITERALS:
        return LITERALS[symbol.hint][:1]
    return _OPENING.get(symbol.hint, _NUMBER)
