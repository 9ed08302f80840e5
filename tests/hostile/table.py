"""The table of hostile inputs: what strangers send as schema, pattern, choice, grammar, tag, tools or composition, and what a model writes.

A row makes its input from a size. ``small`` is for each run of the tests, ``full`` for ``make hostile``.
"""

import random
import string
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

from guided.automata.automaton import Automaton
from guided.automata.build import from_tree
from guided.engine.algebra import FreeText, Maybe
from guided.engine.algebra import Repeat as SpecRepeat
from guided.engine.json_schema import JsonSchema
from guided.engine.specs import Regex
from guided.limits import Limits
from guided.patterns.charset import Charset
from guided.patterns.tree import Alternate, Chars, Complement, Concat, Intersect, Literal, Node, Repeat
from tests.hostile.client import Attack

__all__ = ["ROWS", "Row"]


@dataclass(frozen=True, slots=True)
class Tree:
    """A spec of a pattern tree."""

    node: Node
    fingerprint: str = "tree"

    def lower(self, limits: Limits) -> Automaton:
        return from_tree(self.node, limits)


@dataclass(frozen=True, slots=True)
class Row:
    """A family of inputs.

    Attributes
    ----------
    kind : str
        As in `Attack`.
    small, full : int
        Sizes.
    make : callable
        Size -> what is given, or the attack.
    is_fine : bool
        Large, but what people write: it must give an index at full size.
    """

    kind: str
    small: int
    full: int
    make: Callable[[int], Any]
    is_fine: bool = False

    def attack(self, size: int) -> Attack:
        """Return the input of a size."""
        given = self.make(size)
        return given if isinstance(given, Attack) else Attack(self.kind, given)


# ------------------------------------------------------------------------------------------------------------ parts


def nested(count: int, step: Callable[[Any, int], Any], inner: Any = None) -> Any:
    """Return what a step makes of what it made, so many times."""
    found = {"type": "string"} if inner is None else inner
    for i in range(count):
        found = step(found, i)
    return found


@cache
def words(count: int, low: int = 4, high: int = 4, alphabet: str = string.ascii_lowercase) -> list[str]:
    """Different words."""
    draw, found = random.Random(count), dict[str, None]()
    while len(found) < count:
        found["".join(draw.choices(alphabet, k=draw.randint(low, high)))] = None
    return list(found)


def either(parts: Iterable[str]) -> str:
    return " | ".join(parts)


def lines(*parts: str | Iterable[str]) -> str:
    return "\n".join(part if isinstance(part, str) else "\n".join(part) for part in parts)


def named(patterns: Iterable[str]) -> list[str]:
    """Terminals T0, T1, ..."""
    return [f"T{i}: {pattern}" for i, pattern in enumerate(patterns)]


def any_of_terminals(patterns: Iterable[str]) -> str:
    terminals = named(patterns)
    return lines(f"start: ({either(line.partition(':')[0].partition('.')[0] for line in terminals)})*", terminals)


def chain(count: int, last: str = '"a"', step: str = "r{next}", sign: str = "?") -> str:
    """Rules that each lead to the next one."""
    rules = [f"{sign}r{i}: " + step.replace("{next}", str(i + 1)).replace("{own}", str(i)) for i in range(count)]
    return lines("start: r0", rules, f"r{count}: {last}")


def random_rules(count: int, n_terminals: int, length: int = 3, sides: int = 2) -> str:
    draw = random.Random(1)
    symbols = [*(f"r{i}" for i in range(count)), *(f"T{i}" for i in range(n_terminals))]
    return lines(
        "start: r0",
        (
            f"r{i}: "
            + either(
                f"T{(i + j) % n_terminals} " + " ".join(draw.choices(symbols, k=draw.randint(0, length)))
                for j in range(sides)
            )
            for i in range(count)
        ),
        named(f'"{word}"' for word in words(n_terminals)),
    )


def powers(count: int) -> str:
    """An LR(0) automaton with 2^count states: which of the rules are under way."""
    rules = [f"r{i}: {either(f'T{j} r{i}' for j in range(count) if j != i)} | T{i} | U{i}" for i in range(count)]
    return lines(
        "start: " + either(f"r{i}" for i in range(count)),
        rules,
        (f'T{i}: "t{i}."\nU{i}: "u{i}."' for i in range(count)),
    )


def clauses(count: int) -> Any:
    """Propositional logic: a name comes or does not."""
    draw = random.Random(3)

    def literal() -> Any:
        wanted = {"required": [f"v{draw.randrange(1 + count // 4)}"]}
        return wanted if draw.random() < 0.5 else {"not": wanted}

    return {"type": "object", "allOf": [{"anyOf": [literal() for _ in range(3)]} for _ in range(count)]}


def pigeons(holes: int) -> Any:
    everywhere = [{"anyOf": [{"required": [f"{p} {h}"]} for h in range(holes)]} for p in range(holes + 1)]
    pairs = [(p, q) for p in range(holes + 1) for q in range(p)]
    alone = [{"not": {"required": [f"{p} {h}", f"{q} {h}"]}} for h in range(holes) for p, q in pairs]
    return {"type": "object", "allOf": everywhere + alone}


def product(outer: str, inner: str, count: int) -> Any:
    def part(i: int, j: int) -> Any:
        return {"properties": {f"p{i}_{j}": {"const": j}}, "required": [f"p{i}_{j}"]}

    return {outer: [{inner: [part(i, j) for j in range(4)]} for i in range(count)]}


def contains(count: int, **bounds: int) -> Any:
    parts = [{"contains": {"multipleOf": n + 2}, "minContains": 3, **bounds} for n in range(count)]
    return {"type": "array", "items": {"type": "integer"}, "allOf": parts}


def shared(count: int) -> Any:
    return nested(count, lambda inner, _: [inner, inner], [1])


def tools(properties: Any, form: str = "json") -> Attack:
    """A tool with arguments, in a call format."""
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    text = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'
    return Attack("tools", [{"name": "f", "parameters": schema}], (text,), {"tool_choice": "required", "format": form})


def tag(form: Any) -> Any:
    return {"type": "structural_tag", "format": form}


def of_repeats(form: Any, most: int) -> Any:
    return {"type": "repeat", "content": form, "min": 0, "max": most}


def schema_format(schema: Any = True, **more: Any) -> Any:
    return {"type": "json_schema", "json_schema": schema, **more}


def triggers(count: int, kind: str) -> Any:
    if kind == "dispatch":
        return tag({"type": "dispatch", "rules": [[f"<t{i}>", schema_format()] for i in range(count)]})
    tags = [{"begin": f"<t{i}>", "content": schema_format(), "end": f"</t{i}>"} for i in range(count)]
    return tag({"type": "triggered_tags", "triggers": [f"<t{i}>" for i in range(count)], "tags": tags})


def in_style(style: str, count: int) -> Any:
    schema = {"type": "object", "properties": {"a": {"type": "string", "maxLength": count}}, "required": ["a"]}
    return tag(schema_format(schema, style=style))


def tree(node: Node) -> Attack:
    return Attack("spec", lambda: Tree(node))


def spec(make: Callable[[], Any], *texts: str) -> Attack:
    return Attack("spec", make, texts)


ANY = Repeat(Chars(Charset.UNIVERSE), 0, None)
OPEN = JsonSchema({"type": "object"})
FEW = JsonSchema({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]})

# ---------------------------------------------------------------------------------------------------------- patterns

PATTERNS: dict[str, tuple[int, int, Callable[[int], str]]] = {
    "1 to n letters": (99, 100_000, lambda n: f"a{{1,{n}}}"),
    "1 to n word characters": (9, 255, lambda n: rf"\w{{1,{n}}}"),
    "any n characters": (9, 500, lambda n: rf"[\w\W]{{{n}}}"),
    "n names": (99, 50_000, lambda n: "|".join(words(n, 5, 25))),
    "n names, whatever their case": (99, 20_000, lambda n: "(?i)" + "|".join(words(n, 5, 25))),
    "n names, repeated": (99, 35_000, lambda n: "(?:" + "|".join(words(n, 5, 25)) + ")*"),
    "n letters": (999, 450_000, lambda n: "".join(random.Random(3).choices(string.ascii_lowercase, k=n))),
    "repeats of 1 to n letters, any number": (9, 600, lambda n: "(?:" + "|".join("a" * i for i in range(1, n + 1)) + ")*"),
    "n CJK characters": (99, 6_900, lambda n: "[" + "".join(chr(0x4E00 + 3 * i) for i in range(n)) + "]{1,20}"),
    "n CJK words": (99, 20_000, lambda n: "|".join(words(n, 3, 3, "".join(chr(0x4E00 + 3 * i) for i in range(6_900))))),
}  # fmt: skip
EXPLODING: dict[str, tuple[int, int, Callable[[int], str]]] = {
    "many more names, whatever their case": (99, 50_000, lambda n: "(?i)" + "|".join(words(n, 5, 25))),
    "many more names, repeated": (99, 60_000, lambda n: "(?:" + "|".join(words(n, 5, 25)) + ")*"),
    "n names within any text": (9, 20_000, lambda n: ".*(?:" + "|".join(words(n, 5, 25)) + ").*"),
    "n names with a suffix": (99, 50_000, lambda n: "(?:" + "|".join(words(n, 5, 25)) + ").*x"),
    "not n names": (9, 3_000, lambda n: "(?!(?:" + "|".join(words(n, 5, 25)) + r")\b)\w+"),
    "a letter n before the end": (12, 25, lambda n: f"(a|b)*a(a|b){{{n}}}"),
    "n nested groups": (99, 100_000, lambda n: "(" * n + ")" * n),
    "n optional groups": (99, 249_999, lambda n: "(a)?" * n),
    "n empty groups": (99, 330_000, lambda n: "(|)" * n),
    "n optional letters": (99, 20_000, lambda n: "a?" * n),
    "n runs of two letters": (99, 240_000, lambda n: "a+b+" * n),
    "n ends": (99, 1_000_000, lambda n: "$" * n),
    "repeats of n within repeats": (9, 1_000, lambda n: f"((a{{{n}}}){{{n}}}){{{n}}}"),
    "repeats of at most n within repeats": (9, 100, lambda n: f"((a{{0,{n}}}){{0,{n}}}){{0,{n}}}"),
    "n word characters": (99, 3_000, lambda n: rf"\w{{1,{n}}}"),
    "n times all but word characters": (99, 199_999, lambda n: r"[^\W]" * n),
    "n sets, whatever their case": (99, 199_999, lambda n: "(?i)" + "[\u0100-\uffff]" * n),
    "n different sets": (99, 100_000, lambda n: "".join(f"[{chr(0x4E00 + i % 20_000)}-{chr(0x9FFF + i // 20_000)}]" for i in range(n))),
    "n negated sets": (99, 5_000, lambda n: "|".join(f"[^{chr(0x4E00 + i)}]{i}" for i in range(n))),
    "n sets with word characters": (9, 2_500, lambda n: "".join(f"[\\w{chr(0x2000 + i)}]" for i in range(n))),
    "26n gaps": (1, 26, lambda n: ".*".join(string.ascii_lowercase * n)),
    "n lookaheads": (3, 30, lambda n: "".join(f"(?=.*a.{{{i}}}b)" for i in range(n)) + ".*"),
    "lookaheads of n within a repeat": (3, 14, lambda n: f"(?:(?=.*a.{{{n}}}).)*(?:(?=.*b.{{{n}}}).)*"),
    "n nested lookaheads": (9, 51, lambda n: "(?=" * n + "a" + ")" * n + "a"),
    "n nested lookarounds": (3, 20, lambda n: nested(n, lambda inner, i: f"(?{'=!'[i % 2]}.*{inner}.*{'ab'[i % 2]})", "a") + ".*"),
    "lookbehinds of n words": (9, 3_000, lambda n: "(?:" + "|".join(rf"(?<={word})x" for word in words(n)) + "|[a-z])*"),
    "n negative lookbehinds": (3, 60, lambda n: "(?:" + "".join(f"(?<!{word})" for word in words(n)) + "[a-z])*"),
    "a letter, n of any script": (9, 400, lambda n: rf"[\p{{L}}\p{{N}}_]{{1,{n}}}"),
}  # fmt: skip
TREES: dict[str, tuple[int, int, Callable[[int], Node]]] = {
    "n complements": (99, 100_000, lambda n: nested(n, lambda node, _: Complement(node), Literal("a"))),
    "n intersections": (99, 100_000, lambda n: nested(n, lambda node, _: Intersect((node, Literal("a"))), Literal("a"))),
    "complements, 2^n": (9, 60, lambda n: nested(n, lambda node, _: Alternate((Complement(node), node)), Literal("a"))),
    "n repeats": (99, 100_000, lambda n: nested(n, lambda node, _: Repeat(node, 0, 1), Literal("a"))),
    "n complements of intersections": (9, 2_000, lambda n: nested(n, lambda node, _: Complement(Intersect((node, ANY))), Literal("a"))),
    "n letters in any order": (5, 26, lambda n: Intersect(tuple(Concat((ANY, Literal(a), ANY)) for a in string.ascii_lowercase[:n]))),
    "all but n names": (9, 50_000, lambda n: Complement(Alternate(tuple(map(Literal, words(n, 5, 25)))))),
    "one node, 2^n": (12, 60, lambda n: nested(n, lambda node, _: Concat((node, node)), Literal("a"))),
    "n nodes deep": (99, 1_000_000, lambda n: nested(n, lambda node, _: Concat((node,)), Literal("a"))),
}  # fmt: skip

# ----------------------------------------------------------------------------------------------------------- schemas

FINE_SCHEMAS: dict[str, tuple[int, int, Callable[[int], Any]]] = {
    "n optional properties": (30, 1_000, lambda n: {"properties": {f"p{i}": {} for i in range(n)}, "additionalProperties": False}),
    "n required properties": (30, 1_000, lambda n: (
        {"properties": {f"p{i}": {} for i in range(n)}, "required": [f"p{i}" for i in range(n)]}
    )),
    "an enum of n strings": (99, 100_000, lambda n: {"enum": [f"value {i}" for i in range(n)]}),
    "a description of n characters": (999, 10_000_000, lambda n: {"description": "x" * n, "$defs": {"unused": {"description": "y" * n}}}),
    "n times a reference to two": (9, 60, lambda n: {
        "$ref": "#/$defs/d0",
        "$defs": {f"d{i}": {"allOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(n)} | {f"d{n}": {"type": "string"}},
    }),
    "n characters": (99, 10**9, lambda n: {"type": "string", "minLength": n, "maxLength": n}),
}  # fmt: skip
SCHEMAS: dict[str, tuple[int, int, Callable[[int], Any]]] = {
    **{
        f"n levels of {key}": (30, 10_000, lambda n, key=key, wrap=wrap: nested(n, lambda inner, _: {key: wrap(inner)}))
        for key, wrap in {
            "items": lambda inner: inner, "properties": lambda inner: {"a": inner}, "allOf": lambda inner: [inner],
            "not": lambda inner: inner, "anyOf": lambda inner: [inner], "contains": lambda inner: inner,
            "propertyNames": lambda inner: inner,
        }.items()
    },
    "a constant of n levels": (15, 10_000, lambda n: {"const": nested(n, lambda inner, _: [inner], 1)}),
    "n levels of JSON text": (30, 10_000, lambda n: '{"items":' * n + "{}" + "}" * n),
    "n brackets": (99, 10_000_000, lambda n: "[" * n),
    "n brackets and a string without end": (40, 2_000, lambda n: Attack("schema", "[" * n + '"' + "a" * 40, ("[" * n + '"' + "a" * 40,))),
    "a model writes n brackets and a string without end": (40, 2_000, lambda n: (
        Attack("schema", True, ("[" * n + '"' + "a" * 40, "[" * n))
    )),
    "a number of n digits": (99, 200_000, lambda n: f'{{"minimum": {"9" * n}}}'),
    "a model writes a number of n digits": (99, 200_000, lambda n: (
        Attack("schema", True, (f'{{"x": {"9" * n}}}', "1" * n, "0." + "1" * n, f"1e{'9' * n}"))
    )),
    "a model writes n blanks, members, and escapes": (99, 200_000, lambda n: Attack("schema", True, (
        " " * n, "[" + "1," * n, "{" + '"a":1,' * n, '"' + "\\u00e9" * n, '"' + "\\" * n, "-" * n, "[" * n + "]" * n, '"' + "\ud800" * n,
    ))),
    "a constant in 2^n places": (4, 60, lambda n: Attack("value", {"const": shared(n)})),
    "a schema in 2^n places": (4, 24, lambda n: Attack("value", nested(n, lambda inner, _: {"anyOf": [inner, inner]}))),
    "n references in a row": (30, 10_001, lambda n: {
        "$ref": "#/$defs/d0", "$defs": {f"d{i}": {"allOf": [{"$ref": f"#/$defs/d{i + 1}"}]} for i in range(n)} | {f"d{n}": {}},
    }),
    "references in a circle of n": (1, 300, lambda n: (
        {"$ref": "#/$defs/d0", "$defs": {f"d{i}": {"$ref": f"#/$defs/d{(i + 1) % n}"} for i in range(n)}}
    )),
    "itself under not": (1, 1, lambda _: {"not": {"$ref": "#"}}),
    "n required members that are the whole": (1, 60, lambda n: {
        "type": "object", "properties": {f"a{i}": {"$ref": "#"} for i in range(n)}, "required": [f"a{i}" for i in range(n)],
    }),
    "an enum of n numbers": (99, 100_000, lambda n: {"enum": list(range(n))}),
    "an enum of n numbers with equal hashes": (30, 4_000, lambda n: {"enum": [k * (2**61 - 1) for k in range(1, n + 1)]}),
    "an enum of n objects": (9, 25_000, lambda n: {"enum": [{"id": i, "name": f"thing {i}", "tags": [i % 7, "x"]} for i in range(n)]}),
    "an enum of n objects and other conditions": (9, 20_000, lambda n: {
        "enum": [{"a": i, "b": [i]} for i in range(n)], "properties": {"a": {"minimum": 3}},
    }),
    "an enum of 20 strings of n characters": (30, 50_000, lambda n: {"enum": [f"{i}" + "ab" * (n // 2) + f"{i}" for i in range(20)]}),
    "n properties": (99, 100_000, lambda n: {"properties": {f"{'p' * 90}{i}": {"type": "string"} for i in range(n)}}),
    "n patterns of names": (9, 1_000, lambda n: {"patternProperties": {f"^a{{{i}}}b": {"maxLength": i} for i in range(n)}}),
    "n patterns of names, with stars": (12, 3_000, lambda n: {"patternProperties": {f"^a{{{i}}}.*b": {"maxLength": i} for i in range(n)}}),
    "a pattern of names of n words": (30, 10_000, lambda n: (
        {"patternProperties": {"^(?:" + "|".join(words(n)) + ")$": {"type": "integer"}}}
    )),
    "n required names": (30, 10_000, lambda n: {"type": "object", "required": [f"name{i}" for i in range(n)]}),
    "500 required names of n characters": (9, 1_500, lambda n: {"type": "object", "required": [f"{'x' * n}{i}" for i in range(500)]}),
    "n members": (9, 5_000, lambda n: {"type": "object", "minProperties": n}),
    "n members, short names": (9, 250, lambda n: {"type": "object", "minProperties": n, "propertyNames": {"pattern": "^[a-d]{4}$"}}),
    "half of n names of a closed object": (20, 1_200, lambda n: {
        "type": "object", "properties": {f"p{i}": {"type": "integer"} for i in range(n)}, "additionalProperties": False,
        "minProperties": n // 2,
    }),
    "n names that need the next": (9, 1_200, lambda n: (
        {"dependentRequired": {f"a{i}": [f"a{(i + 1) % n}"] for i in range(n)}, "minProperties": 1}
    )),
    "n names that need all": (9, 300, lambda n: {"dependentRequired": dict.fromkeys(words(n), words(n)), "minProperties": 1}),
    "n items that differ": (9, 150, lambda n: (
        {"type": "array", "uniqueItems": True, "minItems": n, "items": {"enum": list(range(n + n // 3))}}
    )),
    "n + 1 items that differ, of n": (5, 300, lambda n: (
        {"type": "array", "uniqueItems": True, "minItems": n + 1, "items": {"enum": list(range(n))}}
    )),
    "n items, each with a minimum": (20, 800, lambda n: (
        {"prefixItems": [{"type": "integer", "minimum": i} for i in range(n)], "minItems": n}
    )),
    "n items, and contains": (20, 800, lambda n: (
        {"prefixItems": [{"type": "integer"} for _ in range(n)], "minItems": n, "contains": {"const": 7}}
    )),
    "n items within n": (99, 10**9, lambda n: {"minItems": n, "items": {"minItems": n}}),
    "contains n times": (99, 10**9, lambda n: {"contains": {"const": 1}, "minContains": n}),
    "n kinds of items, three of each": (3, 6, contains),
    "n kinds of items, 3 to 40 of each": (3, 6, lambda n: contains(n, maxContains=40)),
    "n + 1 items in n places": (4, 9, lambda n: {
        "maxItems": n, "type": "array",
        "allOf": [{"contains": {"type": "object", "properties": {"a": {"const": i}}, "required": ["a"]}} for i in range(n + 1)],
    }),
    "n clauses": (30, 640, clauses),
    "n + 1 pigeons in n holes": (3, 9, pigeons),
    "allOf of n anyOf": (4, 12, lambda n: product("allOf", "anyOf", n)),
    "oneOf of n oneOf": (4, 12, lambda n: product("oneOf", "oneOf", n)),
    "oneOf of n open objects": (4, 30, lambda n: {
        "oneOf": [
            {"type": "object", "properties": {f"p{i}": {"type": "integer"}}, "required": [f"p{i}"], "minProperties": 2} for i in range(n)
        ],
    }),
    "anyOf of n closed objects": (4, 60, lambda n: {
        "anyOf": [{"properties": {f"p{i}": {}, "a": {"type": "string"}}, "additionalProperties": False} for i in range(n)],
    }),
    "n conditions in a row": (4, 60, lambda n: nested(n, lambda inner, i: {
        "if": {"properties": {"kind": {"const": i}}, "required": ["kind"]}, "then": {"required": [f"p{i}"]}, "else": inner,
    })),
    "n conditions at once": (4, 60, lambda n: {
        "allOf": [{"if": {"required": [f"a{i}"]}, "then": {"required": [f"a{(i + 1) % n}"], "minProperties": i}} for i in range(n)],
    }),
    "n kinds that overlap, in each other": (3, 9, lambda n: nested(n, lambda inner, i: {"oneOf": [
        {"type": "object", "properties": {"kind": {"const": i}, "of": inner}, "required": ["kind"]},
        {"type": "object", "properties": {"of": inner}},
    ]})),
    "n negated patterns of names": (2, 9, lambda n: {
        "type": "object", "minProperties": 1, "maxProperties": 100,
        "allOf": [{"not": {"patternProperties": {f"^{chr(97 + i)}": {"type": "integer"}}}} for i in range(n)],
    }),
    "allOf of n patterns": (3, 30, lambda n: {"allOf": [{"pattern": f"a.{{{i}}}b"} for i in range(n)]}),
    "allOf of n multiples": (5, 100, lambda n: {"allOf": [{"multipleOf": i} for i in range(2, n + 2)]}),
    "a multiple of n": (99, 1_000_000_007, lambda n: {"type": "integer", "multipleOf": n}),
    "a multiple of 10^-n": (9, 308, lambda n: {"multipleOf": float(f"1e-{n}")}),
    "at most n characters, or a": (99, 32_767, lambda n: (
        {"anyOf": [{"type": "string", "maxLength": n}, {"type": "string", "pattern": "^a"}]}
    )),
    "at most 2n or at least n characters, and a pattern": (20, 1_000, lambda n: {
        "type": "string", "oneOf": [{"maxLength": 2 * n}, {"minLength": n}], "pattern": "^(?:[a-z]+ ?)*$",
    }),
    "a pattern and n characters": (99, 10**6, lambda n: {"pattern": "^(ab|c)*$", "minLength": n, "maxLength": n + 1}),
    "a pattern that explodes": (9, 40, lambda n: {"pattern": f"^(a|b)*a(a|b){{{n}}}$"}),
    "a pattern that explodes, written out": (9, 24, lambda n: {"pattern": "^(a|b)*a" + "(a|b)" * n + "$"}),
    "a pattern of names that explodes, written out": (5, 24, lambda n: {"patternProperties": {"(a|b)*a" + "[ab]" * n + "$": False}}),
    "two counts side by side": (9, 300, lambda n: {"pattern": f"^[a-z]{{0,{n}}}x[a-z]{{0,{n}}}$", "minLength": n // 5}),
    "n alternatives, each with a letter elsewhere": (5, 40, lambda n: (
        {"pattern": "^(?:" + "|".join("." * i + "a" + "." * (n - i) for i in range(n)) + ")$"}
    )),
    "a pattern, ambiguous": (3, 12, lambda n: {"type": "string", "pattern": f"(a|b|ab|ba|aab)*(a.{{{n}}}b|b.{{{n}}}a)"}),
    "n letters of any script": (20, 400, lambda n: {"type": "string", "pattern": rf"^[\p{{L}}\p{{N}}_]{{1,{n}}}$"}),
    "n strings over sets of their own": (3, 200, lambda n: {
        "properties": {f"p{i}": {"type": "string", "pattern": rf"^[\p{{L}}\u{0x2190 + i:04x}]{{1,20}}$"} for i in range(n)},
    }),
    "a regular expression of n characters": (5, 40, lambda n: {"type": "string", "format": "regex", "maxLength": n}),
    "names of all kinds, n times": (1, 99, lambda n: (
        {"properties": {name * n: {} for name in ("", " ", "\0", "\u2028", '"', "\\", "😀", "\ud800")}}
    )),
    "whitespace that looks n ahead": (2, 14, lambda n: (
        Attack("schema", {}, options={"whitespace": f"(?:(?=[ \\n]* .{{{n}}})[ \\n])*(?:(?=[ \\n]*\\n.{{{n}}})[ \\n])*"})
    )),
    "whitespace of n states": (30, 501, lambda n: Attack("schema", {}, options={"whitespace": f" {{0,{n}}}"})),
    "n configurations": (99, 20_000, lambda n: Attack("schema", {"type": "string", "maxLength": n}, options={"eager": True})),
    "n end tokens": (9, 20_000, lambda n: Attack("schema", {"type": "integer"}, end_tokens=n)),
}  # fmt: skip

# ---------------------------------------------------------------------------------------------------------- grammars

GRAMMARS: dict[str, tuple[int, int, Callable[[int], str]]] = {
    "n line breaks": (99, 16_000, lambda n: 'start: "a"' + "\n" * n + 'b: "b"'),
    "n spaces": (99, 40_000, lambda n: 'start: "a"' + " " * n + "?" + " " * n),
    "n names without a colon": (99, 40_000, lambda n: 'start: "a"\n' + "a" * n + "\n" + "a " * n),
    "n rules, each the next": (30, 10_000, lambda n: chain(n, sign="")),
    "n inlined rules, each the next": (30, 3_000, chain),
    "n inlined rules, each the next or a terminal": (30, 3_000, lambda n: chain(n, step='r{next} | "a{own}"')),
    "n rules, each the next or a terminal": (30, 1_000, lambda n: chain(n, step='r{next} | "a{own};"', sign="")),
    "n rules in a row": (30, 3_000, lambda n: chain(n, step='"a" r{next}')),
    "n rules in a row, backwards": (30, 3_000, lambda n: chain(n, step='r{next} "a"')),
    "n rules in a row, both": (30, 3_000, lambda n: chain(n, step='"a" r{next} "b"')),
    "n levels of operators": (9, 1_000, lambda n: chain(n, step='r{next} | r{own} "o{own};" r{next}')),
    "n levels of operators, to the right": (9, 300, lambda n: chain(n, step='r{next} | r{next} "o{own};" r{own}')),
    "n levels of prefixes": (9, 1_000, lambda n: chain(n, step='r{next} | "o{own};" r{own}')),
    "n rules that circle": (9, 2_000, lambda n: chain(n, last='"a" | "b" r0', step='r{next} | "c" r0')),
    "n rules, each twice the next": (9, 2_000, lambda n: chain(n, step="r{next} r{next}")),
    "n rules that are empty": (9, 2_000, lambda n: chain(n, last="", step="r{next} r{next}")),
    "n rules that may be empty": (9, 1_000, lambda n: chain(n, step='r{next} "a{own};" |')),
    "n rules that are empty in a circle": (9, 1_000, lambda n: chain(n, last="r0 |", step='r{next} r{next} "a" |')),
    "n rules that circle without text": (9, 300, lambda n: chain(n, last='r0 | "b"', step='r{next} | "a{own};"')),
    "n optional rules in a row": (9, 500, lambda n: (
        lines("start: " + " ".join(f"r{i}" for i in range(n)), (f'r{i}: "{w}" |' for i, w in enumerate(words(n))))
    )),
    "n alternatives": (99, 10_000, lambda n: "start: " + either(f'"{word}" "{word[::-1]}"' for word in words(n))),
    "n rules": (99, 10_000, lambda n: lines("start: " + either(f"r{i}" for i in range(n)), (f'r{i}: "a{i};"' for i in range(n)))),
    "an alternative of n": (99, 10_000, lambda n: "start: " + '"a" ' * n),
    "n alternatives of 16n": (9, 30, lambda n: (
        "start: " + either(" ".join(f'"{w}"' for w in words(16 * n)[i:] + words(16 * n)[:i]) for i in range(n))
    )),
    "n nested groups": (9, 5_000, lambda n: "start: " + "(" * n + '"a"' + ")+" * n),
    "n nested optional groups": (9, 100, lambda n: "start: " + "(" * n + '"a"' + "".join(f' "b{i};")*' for i in range(n))),
    "n repeats": (9, 2_000, lambda n: "start: " + " ".join(f'("{word}")*' for word in words(n))),
    "n templates": (9, 2_000, lambda n: "start: " + " ".join(f't{{"{word}"}}' for word in words(n)) + "\nt{x}: u{x} | x t{x}\nu{x}: x x"),
    "2^n LR(0) states": (4, 60, powers),
    "n operators": (9, 3_000, lambda n: 'start: "x" | ' + either(f'start "{word}" start' for word in words(n))),
    "n squared": (6, 100, lambda n: (
        lines("start: r0", (f"r{i}: " + either(f'"{i},{j};" r{j}' for j in range(n)) + ' | "."' for i in range(n)))
    )),
    "n random rules": (9, 3_000, lambda n: random_rules(n, 1 + n // 3, sides=1)),
    "n random rules of ten sides": (9, 300, lambda n: random_rules(n, n, sides=10)),
    "n regexes that overlap": (4, 300, lambda n: any_of_terminals(f"/[a-z]*{word}[a-z]*/" for word in words(n))),
    "n regexes that look ahead": (4, 300, lambda n: any_of_terminals(f"/[a-z]+(?={word})/" for word in words(n, 2, 2))),
    "a lookahead of n": (9, 250, lambda n: f"start: (A | B)*\nA: /a(?=.{{{n}}}b)/\nB: /[ab]/"),
    "n keywords": (30, 10_000, lambda n: "start: (NAME | " + either(f'"{word}"' for word in words(n)) + ")*\nNAME: /[a-z]+/"),
    "n lengths of names": (9, 150, lambda n: (
        any_of_terminals([*(f"/[a-z]{{1,{i + 2}}}/" for i in range(n)), *(f'"{word}"' for word in words(n))])
    )),
    "GBNF of n optional parts": (30, 10_000, lambda n: "root ::= " + '"a"? ' * n),
    "GBNF of n alternatives": (99, 20_000, lambda n: "root ::= " + either(f'"{word}"' for word in words(n))),
    "GBNF of n rules": (99, 20_000, lambda n: (
        lines("root ::= " + either(f"r{i}" for i in range(n)), (f'r{i} ::= "{word}"' for i, word in enumerate(words(n))))
    )),
    "GBNF of n rules, each twice the next": (4, 60, lambda n: (
        lines("root ::= r0", (f"r{i} ::= r{i + 1} r{i + 1}" for i in range(n)), f'r{n} ::= "a"')
    )),
    "GBNF of n rules in a row": (30, 3_000, lambda n: lines("root ::= r0", (f'r{i} ::= "a" r{i + 1}' for i in range(n)), f'r{n} ::= "b"')),
    "GBNF of n alternatives that nest": (9, 1_000, lambda n: "root ::= " + either(f'[a-z]+ "{i}" root' for i in range(n)) + ' | "."'),
    "GBNF of n line breaks": (99, 40_000, lambda n: 'root ::= "a"' + "\n" * n + "x"),
    "llguidance: n patterns that match n strings": (9, 300, lambda n: lines(
        "%llguidance {}\nstart: (" + either(f'"{w}" | T{i} "{i};"' for i, w in enumerate(words(n))) + ")*",
        (f"T{i}: /[a-z]*{word}[a-z]*/ & ~/{word}/" for i, word in enumerate(words(n))),
    )),
    "llguidance: n patterns that a text must match": (4, 200, lambda n: (
        "%llguidance {}\nstart: A\nA: " + " & ".join(f"/[a-z]*{word}[a-z]*/" for word in words(n))
    )),
    "llguidance: n lazy lexemes": (9, 200, lambda n: lines(
        "%llguidance {}\nstart: " + either(f'"{i};" r{i}' for i in range(n)),
        (f'r{i}[suffix="{word}"]: /(.|\\n)*/' for i, word in enumerate(words(n))),
    )),
    "llguidance: a lazy lexeme of n characters before": (4, 40, lambda n: f"%llguidance {{}}\nstart: x\nx[lazy]: /[ab]*a[ab]{{{n}}}/"),
    "llguidance: n terminals, each twice the next": (4, 60, lambda n: (
        lines("%llguidance {}\nstart: T0", (f"T{i}: T{i + 1} T{i + 1}" for i in range(n)), f'T{n}: "a"')
    )),
    "llguidance: n optional lexemes that may be empty": (9, 3_000, lambda n: "%llguidance {}\nstart: " + "/a*/? " * n),
    "llguidance: n operators": (9, 2_000, lambda n: '%llguidance {}\nstart: "x" | ' + either(f'start "{word}" start' for word in words(n))),
    "llguidance: n negations": (9, 40_000, lambda n: "%llguidance {}\nstart: A\nA: " + "~" * n + "/a/"),
    "llguidance: a string of n that does not end": (99, 40_000, lambda n: '%llguidance {}\nstart: "' + '\\"' * n),
    "llguidance: n letters in either case": (9, 20_000, lambda n: f'%llguidance {{}}\nstart: NAME | "{"k" * n}"i\nNAME: /[a-z]+/i'),
    "n ignored terminals": (9, 1_000, lambda n: (
        lines('start: "a"*', named(f"/ {word}+/" for word in words(n)), (f"%ignore T{i}" for i in range(n)))
    )),
    "n ignored comments": (3, 100, lambda n: (
        lines('start: "a"*', named(f"/{w}.*?{w}/" for w in words(n)), (f"%ignore T{i}" for i in range(n)))
    )),
    "n lexer contexts": (9, 1_000, lambda n: lines(
        "start: " + either(f'"{i};" r{i}' for i in range(n)), (f"r{i}: T{i} r{i} |" for i in range(n)),
        named(f"/[a-z]+{word}/" for word in words(n)),
    )),
    "n priorities": (9, 500, lambda n: lines(
        f"start: ({either(f'T{i}' for i in range(n))})*", (f"T{i}.{i}: /[a-z]{{{i % 7 + 1}}}{word}/" for i, word in enumerate(words(n))),
    )),
    "n rules that reduce alike": (9, 2_000, lambda n: lines(
        "start: " + either(f"r{i} T{i}" for i in range(n)), (f'r{i}.{i}: "a"' for i in range(n)), named(f'"{word}"' for word in words(n)),
    )),
    "n times dangling else": (9, 500, lambda n: (
        "start: " + either(f'"if{i};" start | "if{i};" start "else{i};" start' for i in range(n)) + ' | "x"'
    )),
    "brackets of n kinds": (9, 3_000, lambda n: "start: " + either(f'"({i}." start "{i})"' for i in range(n)) + ' | "x"'),
    "brackets of n kinds with conflicts": (9, 300, lambda n: (
        "start: " + either(f'"({i}." start "{i})" | "({i}." start start' for i in range(n)) + ' | "x"'
    )),
    "palindromes over n": (9, 300, lambda n: "start: " + either(f'"{w}" start "{w}" | "{w}"' for w in words(n))),
    "imported, n times": (1, 300, lambda n: "%import lark.start -> inner\nstart: " + either(f'"{w}" inner "{w}"' for w in words(n))),
    "(a|b)*a(a|b){n} by rules": (4, 20, lambda n: lines(
        'start: "a" start | "b" start | "a" r0', (f'r{i}: "a" r{i + 1} | "b" r{i + 1}' for i in range(n)), f'r{n}: "c"',
    )),
    "a terminal of n states": (99, 50_000, lambda n: f"start: A\nA: /(ab){{2,{n}}}c/"),
    "ambiguous terminals": (3, 15, lambda n: f"start: (A | B)*\nA: /(a|b|ab|ba)*a.{{{n}}}/\nB: /[ab]+c/"),
}  # fmt: skip

# --------------------------------------------------------------------------------------- tags, compositions and tools

TAGS: dict[str, tuple[int, int, Callable[[int], Any]]] = {
    **{f"{style}, a string of at most n": (30, 4_096, lambda n, style=style: in_style(style, n)) for style in (
        "qwen_xml", "minimax_xml", "glm_xml", "deepseek_xml",
    )},
    "n triggers": (8, 2_000, lambda n: triggers(n, "triggered")),
    "n rules of a dispatch": (8, 500, lambda n: triggers(n, "dispatch")),
    "n brackets and a string without end": (40, 2_000, lambda n: "[" * n + '"' + "a" * 40),
    "alternatives of alternatives, 2^n": (2, 11, lambda n: tag(nested(
        n,
        lambda inner, i: {
            "type": "or", "elements": [inner, {"type": "sequence", "elements": [{"type": "const_string", "value": f"{i}"}, inner]}],
        },
        schema_format(),
    ))),
    "n optional schemas": (5, 100, lambda n: tag({"type": "sequence", "elements": [{"type": "optional", "content": schema_format()}] * n})),
    "n schemas in a row": (5, 100, lambda n: tag({"type": "sequence", "elements": [schema_format()] * n})),
    "n required arguments in XML": (9, 620, lambda n: tag(schema_format(
        {"type": "object", "properties": {f"p{i}": {} for i in range(n)}, "required": [f"p{i}" for i in range(n)]}, style="qwen_xml",
    ))),
    "3 repeats of a text with a budget of n": (3, 99, lambda n: tag(of_repeats({"type": "any_text", "max_tokens": n}, 3))),
    "up to n repeats of a text with a budget": (9, 90, lambda n: tag(of_repeats({"type": "any_text", "max_tokens": 1}, n))),
    "up to n repeats of arguments that may be empty": (
        3, 30, lambda n: tag(of_repeats({"type": "json_schema", "json_schema": {"type": "object"}, "style": "glm_xml"}, n))
    ),
    "n excluded texts": (9, 1_000, lambda n: tag({"type": "any_text", "excludes": words(n)})),
}  # fmt: skip
COMPOSITIONS: dict[str, tuple[int, int, Callable[[int], Attack]]] = {
    "free text, n schemas, free text": (1, 9, lambda n: (
        spec(lambda: nested(n, lambda inner, _: inner + OPEN + FreeText(), FreeText()), 'x {"a": "b c"} {"d')
    )),
    "a regex or a schema": (1, 9, lambda n: (
        spec(lambda: nested(n, lambda inner, _: (Regex("(?s).*") | OPEN) + inner, OPEN), '{"a": "b", "c')
    )),
    "n characters behind 200 brackets": (9, 20_000, lambda n: (
        spec(lambda: FreeText() + JsonSchema({"type": "array"}).named("a") + FreeText(), "[" * 200 + '"' + "a" * n)
    )),
    "n optional schemas": (4, 100, lambda n: spec(lambda: nested(n, lambda inner, _: Maybe(OPEN) + inner, FEW), '{"b": {"a": 1}')),
    "n schemas in a row": (4, 100, lambda n: spec(lambda: nested(n, lambda inner, _: OPEN + inner, FEW), '{"b": "c"}{"a":1}')),
    "n levels of repeats": (4, 201, lambda n: (
        spec(lambda: nested(n, lambda inner, _: SpecRepeat(inner, 1, 2).named("a"), Regex("a")), "a" * 99)
    )),
    "n levels of any number": (2, 60, lambda n: (
        spec(lambda: nested(n, lambda inner, _: SpecRepeat(inner).named("a"), Regex("a|b")), "ab" * 9)
    )),
    "n free texts in a row": (3, 60, lambda n: (
        spec(lambda: nested(n, lambda inner, i: FreeText(stop=f"{i % 9}") + inner, FreeText(stop="x")), "0123x")
    )),
    "a choice of n": (99, 300_000, lambda n: Attack("choice", [f"option {i}" for i in range(n)])),
    "26 texts of n bytes": (99, 300_000, lambda n: Attack("choice", [letter * n for letter in string.ascii_lowercase])),
    "n tools": (9, 10_000, lambda n: Attack("tools", [
        {"name": f"tool_{i}", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}
        for i in range(n)
    ])),
    "n patterns of arguments": (3, 50, lambda n: (
        tools({f"p{i}": {"type": "string", "pattern": f"^{i}(?:(?=.*a.{{6}}).)*$"} for i in range(n)})
    )),
    "an argument of n names": (99, 50_000, lambda n: tools({"value": {"type": "string", "enum": words(n, 5, 25)}})),
    "arguments n deep": (9, 200, lambda n: tools({"value": nested(n, lambda inner, _: {"type": "array", "items": inner})})),
    **{
        f"{name}, a string of at most n": (30, 10_000, lambda n, name=name: tools({"a": {"type": "string", "maxLength": n}}, name))
        for name in ("qwen-coder", "glm", "minimax", "anthropic", "deepseek-v3.2", "seed-oss", "gemma")
    },
}  # fmt: skip

_TREES = {name: (small, full, lambda n, make=make: tree(make(n))) for name, (small, full, make) in TREES.items()}
_TABLES: tuple[tuple[str, str, Any], ...] = (
    ("regex", "pattern", PATTERNS), ("regex", "pattern", EXPLODING), ("spec", "tree", _TREES), ("schema", "schema", FINE_SCHEMAS),
    ("schema", "schema", SCHEMAS), ("grammar", "grammar", GRAMMARS), ("tag", "tag", TAGS), ("spec", "composition", COMPOSITIONS),
)  # fmt: skip
ROWS: dict[str, Row] = {
    f"{prefix}: {name}": Row(kind, small, full, make, table in (PATTERNS, FINE_SCHEMAS))
    for kind, prefix, table in _TABLES
    for name, (small, full, make) in table.items()
}
