r"""A schema as the text of a Lark grammar: ``lark.Lark(text, parser="lalr")`` accepts exactly the schema's texts.

The grammar is designed for Lark's unmodified lexer: leftmost-first, over the terminals that the parser's state expects. Terminals that
are expected together have no text in common, and none matches a prefix of another's text (`guided.export.rules`), so neither order nor
priorities matter. Nothing is ignored: whitespace, which is bounded, belongs to the punctuation.

Rules of values are named after their location in the schema. Rules that begin with an underscore are parts of objects and arrays; Lark
omits them, and the punctuation, from its trees.

If interegular is installed, Lark compares all terminals that may occur together and have the same priority, which would take minutes. So
each terminal has its own priority, and a flag (``u``) that has no effect in Python and that interegular skips.

Texts have no lone surrogates, which UTF-8 cannot encode. Does not import lark.
"""

import re
from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

from guided.errors import SchemaError
from guided.export.exploring import explored
from guided.export.productions import Productions, Terminal
from guided.export.rules import Punctuation, productions
from guided.limits import Limits
from guided.patterns.parse import parse
from guided.patterns.render import render
from guided.schema.containers.opening import Containers
from guided.schema.formula.atoms import JsonOptions
from guided.schema.formula.formulas import Formulas
from guided.schema.frontend.lowering import Lowering
from guided.schema.pushdown.layout import FLEXIBLE, gaps_of
from guided.schema.pushdown.structure import structure_of
from guided.schema.report.contradictions import contradiction
from guided.schema.strings.spelling import unwritable
from guided.schema.values.context import SchemaContext

__all__ = ["DEFAULT_RULES", "LarkGrammar", "lark_grammar"]

DEFAULT_RULES = 20_000
_ALL_BYTES = bytes([1] * 256)
# Most characters of a name.
_LONGEST = 40
_NO_WORD = re.compile(r"[^a-z0-9]+")
_WIDTH = 100


class LarkGrammar(NamedTuple):
    """A grammar as text."""

    text: str
    n_rules: int
    n_terminals: int
    # JSON Pointer and keyword of each constraint that is recorded instead of enforced, if the options request it.
    unenforced: tuple[tuple[str, str], ...] = ()


def lark_grammar(
    schema: Any,
    options: JsonOptions,
    limits: Limits,
    registry: Mapping[str, Any] | None = None,
    *,
    most_rules: int = DEFAULT_RULES,
) -> LarkGrammar:
    """Return the grammar of the texts that a schema allows under some options.

    ``most_rules``: the largest number of states and of alternatives of rules.

    Raises
    ------
    SchemaError
        The schema is malformed, unsatisfiable, or not context-free; with the location.
    LimitError
        The grammar, or an intermediate result, would be too large.
    """
    found = value_rules(schema, options, limits, registry, most_rules=most_rules)
    return GrammarText().written(found, options)


class ValueRules(NamedTuple):
    """The productions of a schema's values."""

    # The rules of the values, the whole value first.
    productions: Productions
    # Location of each value in the schema.
    places: list[str]
    # The value of each state of objects and arrays.
    owners: list[int]
    unenforced: tuple[tuple[str, str], ...] = ()


def value_rules(
    schema: Any,
    options: JsonOptions,
    limits: Limits,
    registry: Mapping[str, Any] | None = None,
    pointer: str = "",
    *,
    most_rules: int = DEFAULT_RULES,
) -> ValueRules:
    """Return the productions of the values of the schema at a JSON Pointer in a document. Raises as `lark_grammar`."""
    if options.indent is not None:
        raise SchemaError("a context-free grammar cannot indent by the depth of a value", "", "whitespace")
    if unwritable(options.escapes):
        reason = "a grammar of a schema needs strings of all characters: use a list with \", \\ and u, or 'canonical', 'any' or 'dumps'"
        raise SchemaError(reason, "", "escapes")
    formulas = Formulas()
    lowering = Lowering(schema, options, formulas, limits, registry, pointer=pointer)
    lowering.check()
    structure = structure_of(options, _ALL_BYTES)
    context = SchemaContext(formulas, lowering, options, limits, structure.alphabet)
    graph = explored(Containers(context), most_rules)
    if not graph.values[0].valuations:
        raise SchemaError("no value satisfies the schema", *contradiction(schema, options, limits, registry, pointer))
    found = productions(graph, context, _punctuation(options), most_rules)
    places = [value.place for value in graph.values]
    owners = [state.owner for state in graph.states]
    return ValueRules(found, places, owners, tuple(lowering.unenforced))


def _punctuation(options: JsonOptions) -> Punctuation:
    """Return the punctuation, including the whitespace next to values and keys."""

    def whole(source: str) -> str:
        # The whitespace must match as a whole, whatever a matcher prefers.
        return source if source in ("", FLEXIBLE) else rf"(?:{render(parse(source))})(?![ \t\n\r])"

    comma, colon, others = gaps_of(options)
    before = others if others in ("", FLEXIBLE) else f"(?:{render(parse(others))})"
    after = {",": whole(comma), ":": whole(colon)}
    signs = {"{": r"\{", "}": r"\}", "[": r"\[", "]": r"\]"}

    def sign(name: str, character: str, *, has_before: bool, has_after: bool) -> Terminal:
        pattern = signs.get(character, character)
        return Terminal(
            name, f"{before if has_before else ''}{pattern}{after.get(character, whole(others)) if has_after else ''}"
        )

    return Punctuation(
        sign("_lbrace", "{", has_before=False, has_after=True),
        sign("_lsqb", "[", has_before=False, has_after=True),
        sign("_rbrace", "}", has_before=True, has_after=False),
        sign("_rsqb", "]", has_before=True, has_after=False),
        sign("_rbrace_empty", "}", has_before=False, has_after=False),
        sign("_rsqb_empty", "]", has_before=False, has_after=False),
        sign("_comma", ",", has_before=True, has_after=True),
        sign("_colon", ":", has_before=True, has_after=True),
    )


class _Names:
    """A supply of unique names."""

    def __init__(self, *taken: str) -> None:
        self._taken = set(taken)
        self._counts: dict[str, int] = {}

    def fresh(self, base: str) -> str:
        """Return the name, with a number if it is taken."""
        name, count = base, self._counts.get(base, 1)
        while name in self._taken:
            count += 1
            name = f"{base}_{count}"
        self._counts[base] = count
        self._taken.add(name)
        return name


class GrammarText:
    """Builds the text of a grammar, rule by rule."""

    def __init__(self) -> None:
        self.rule_names = _Names("start")
        self._terminal_names = _Names()
        self._terminals: dict[str, str] = {}

    def written(self, found: ValueRules, options: JsonOptions) -> LarkGrammar:
        """Return the text of one schema's values: rules in order of discovery, then terminals."""
        rules, start = self.rules(found)
        return self.whole([f"start: {start}", *rules], options, found.unenforced)

    def whole(self, rules: list[str], options: JsonOptions, unenforced: tuple[tuple[str, str], ...]) -> LarkGrammar:
        """Return the text of some rules with all terminals named so far."""
        terminals = [
            f"{name}.{priority}: /{_regex(pattern)}/u"
            for priority, (pattern, name) in enumerate(self._terminals.items(), 1)
        ]
        text = "\n".join([*_title(options, unenforced), "", *rules, "", *terminals, ""])
        return LarkGrammar(text, len(rules), len(terminals), unenforced)

    def rules(self, found: ValueRules) -> tuple[list[str], str]:
        """Return the rules of a schema's values, and the name of the first."""
        names: dict[tuple[Hashable, ...], str] = {}

        def named(key: tuple[Hashable, ...]) -> str:
            if key not in names:
                names[key] = self.rule_names.fresh(_base(key, found))
            return names[key]

        start = named(next(iter(found.productions)))
        blocks = []
        for key, lines in found.productions.items():
            bodies = [
                " ".join(self.terminal(one) if isinstance(one, Terminal) else named(one) for one in line)
                for line in lines
            ]
            comment = f"// {_comment(found.places[key[1]])}\n" if key[0] == "value" else ""  # type: ignore[call-overload]
            blocks.append(comment + rule_text(named(key), bodies))
        return blocks, start

    def terminal(self, terminal: Terminal) -> str:
        """Return the name of a terminal."""
        found = self._terminals.get(terminal.pattern)
        if found is None:
            word = terminal.hint if terminal.hint[0] == "_" else _word(terminal.hint)
            found = self._terminals[terminal.pattern] = self._terminal_names.fresh(word.upper())
        return found


def rule_text(name: str, bodies: list[str]) -> str:
    """Return a rule with its alternatives, on one line if they fit."""
    head = f"{name}: "
    one_line = head + " | ".join(bodies)
    return one_line if len(one_line) <= _WIDTH else head + ("\n" + " " * (len(head) - 2) + "| ").join(bodies)


def _base(key: tuple[Hashable, ...], found: ValueRules) -> str:
    """Return the base of a rule's name."""
    kind, number = key[0], key[1]
    assert isinstance(number, int)
    if kind in ("number", "digits"):
        return f"_{kind}"
    if kind == "value":
        return _word(found.places[number])
    return f"_{_word(found.places[found.owners[number]])}_{kind}"


def _title(options: JsonOptions, unenforced: tuple[tuple[str, str], ...]) -> list[str]:
    named = (
        (name, getattr(options, name)) for name in ("whitespace", "property_order", "numbers", "escapes", "format")
    )
    chosen = ", ".join(f"{name}={value!r}" for name, value in named)
    missed = [f"// Not enforced: {_comment(f'{pointer}/{keyword}')}" for pointer, keyword in unenforced]
    return [f"// The JSON texts of a schema, for Lark's LALR parser: {_comment(chosen)}.", *missed]


def _word(text: str) -> str:
    """Return the letters and digits of a text as a name or the beginning of one."""
    word = _NO_WORD.sub("_", text.lower())[-_LONGEST:].strip("_")
    return word if word[:1].isalpha() else f"value_{word}".rstrip("_")


def _comment(text: str) -> str:
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)


def _regex(pattern: str) -> str:
    r"""Return a regular expression for use between the slashes of a Lark grammar.

    Lark first reads escapes of Python strings in it, but keeps a backslash before a backslash, or before a sign that needs one. Escapes
    that `render` writes with ``\x``, ``\u`` and ``\n`` denote literal characters. Lark takes a quote after two backslashes for an escaped
    one.
    """
    return pattern.replace("/", r"\x2f").replace(r"\"", r"\\x22")
