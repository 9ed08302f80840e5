"""A frame with values of schemas in it (`guided.schema.frames`) as the text of a Lark grammar.

The text so far is left-linear: a rule for each cut of the frame (`guided.schema.grammar.segments`), whose alternatives are the rule of
another cut and a piece of text, or a value. So a parser's stack is never deeper than the value under way, and no two rules compete.

Why the ends of values are copied: after the brace that ends an object a parser expects what may follow an object within it as well as
what follows the value, if the schema is recursive, and a comma could be either's. Rules at the end of a whole value are therefore rules of
their own, and lexers are never asked to tell the two apart.
"""

from collections.abc import Hashable, Mapping

from guided.errors import SchemaError
from guided.limits import Limits
from guided.schema.atoms import JsonOptions
from guided.schema.frames import Frame, Value
from guided.schema.grammar.lark import MOST_RULES, GrammarText, LarkGrammar, rule_text, value_rules
from guided.schema.grammar.productions import Productions, Symbol, Terminal
from guided.schema.grammar.segments import Segments, segments
from guided.schema.structure import LITERALS

__all__ = ["framed_grammar"]

_SIGNS = b"+-.0123456789Ee"
_NUMBER = b"-0123456789"
_OPENING = {"_lbrace": b"{", "_lsqb": b"[", "string": b'"'}


def framed_grammar(
    frame: Frame, options: JsonOptions, limits: Limits, *, names: Mapping[int, str], most_rules: int = MOST_RULES
) -> LarkGrammar:
    """The grammar of a frame's texts, those that are UTF-8.

    Parameters
    ----------
    frame : Frame
    options : JsonOptions
        Of its values.
    limits : Limits
    names : mapping of int to str
        What to name the pieces of text after that begin at some labels of the frame's states.
    most_rules : int
        Largest number of pieces, and of alternatives of each value.

    Raises
    ------
    SchemaError
        No context-free grammar says what a value's schema asks for, or what follows a number could be part of it.
    LimitError
        The grammar would be too large.
    """
    found = segments(frame, most_rules)
    if not set(frame.following).isdisjoint(_SIGNS):
        raise SchemaError("what follows a number may not begin as one goes on", "", "format")
    text = GrammarText()
    blocks: list[str] = []
    values: dict[int, str | None] = {}
    unenforced: list[tuple[str, str]] = []
    for number in dict.fromkeys(number for number, _ in found.holes.values()):
        value = frame.values[number]
        rules = value_rules(value.schema, options, limits, None, value.pointer, most_rules=most_rules)
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
    """All cuts, in the order in which they are met."""
    cuts = [0]
    for piece in found.pieces:
        cuts += [piece.source, piece.target]
    for source, (_, behind) in found.holes.items():
        cuts += [source, behind]
    return list(dict.fromkeys(cuts))


def _rules(
    found: Segments, values: Mapping[int, str | None], labels: Mapping[int, str], text: GrammarText
) -> list[str]:
    """The rules of cuts."""
    names = {cut: text.fresh(f"_after_{label}") for cut, label in labels.items()}
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
    """The productions, with rules of their own for what stands at the end of a whole value."""
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
    """The productions of a value that begins with one of some bytes; None: there is none.

    Raises
    ------
    SchemaError
        It is a number that no short expression says.
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
                raise SchemaError("no short grammar says a number by its first sign", value.pointer, "multipleOf")
            signs = "".join(map(chr, allowed)).replace("-", r"\-")
            kept.append((line[0]._replace(pattern=f"(?=[{signs}]){line[0].pattern}"), *line[1:]))
    return {**found, first: kept} if kept else None


def _begins(found: Productions, symbol: Symbol) -> bytes:
    """The bytes that a value begins with, by how it is written."""
    while not isinstance(symbol, Terminal):
        # Lists lead to a bracket, whichever of their lines it is; rules of numbers to a sign.
        if symbol[0] in ("number", "digits"):
            return _NUMBER
        symbol = next((line[0] for line in found[symbol] if line[0][0] != symbol[0]), found[symbol][0][0])
    if symbol.hint in LITERALS:
        return LITERALS[symbol.hint][:1]
    return _OPENING.get(symbol.hint, _NUMBER)
