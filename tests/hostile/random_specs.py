"""Random specs that are hostile on purpose: schemas, patterns, grammars and tags, as functions of a random generator.

Each part of a schema is a known difficulty: counts beside patterns, contradictions, pigeonholes, towers of ``oneOf`` and ``not``, many
overlapping patterns, references in circles, long multiples. Parts are merged, so difficulties meet in one place; patterns, grammars and
tags nest them. `tests.schema.strategies` and `tests.lalr.random_grammars` make small specs whose results an oracle checks; these are
large, and only invariants are checked (`tests.hostile.client`).
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from tests.hostile.client import Attack
from tests.lalr.random_grammars import sample

__all__ = ["KINDS", "PATTERNS", "attack", "mutated"]

Schema = dict[str, Any]

NAMES = ["a", "b", "ab", "aab", "a1", "b1", "", "é", 'a"', "type", "x" * 40]
STRING_PATTERNS = [
    "^(a|b)*a(a|b){%d}$", "a.{%d}b", "^.{%d}$", "^(?:a{1,%d}b?){1,%d}$", "(?=.*a.{%d}b)", "^(?!.*(a|b).{%d}b)", "^[a-z]{0,%d}x[a-z]{0,%d}$",
    r"\p{L}{%d}", "^a{%d}", "b{%d}$", "^(?:ab|a){0,%d}$", r"^\w{0,%d}$", "^a*$", "^(a|ab)(c|bcd)*$", "[0-9]", "^$", "", "^[^a]", r"\d{%d}",
    "(a?){%d}a{%d}", "^(?:[ab]{%d}|[bc]{%d})*$",
]  # fmt: skip
TYPES = ["null", "boolean", "integer", "number", "string", "array", "object"]
FORMATS = [
    "date",
    "date-time",
    "time",
    "uuid",
    "email",
    "uri",
    "ipv4",
    "ipv6",
    "regex",
    "hostname",
    "json-pointer",
    "idn-email",
]
DIVISORS = [
    1, 2, 3, 7, 10**9 + 7, 2**31 - 1, 12345678901234567891, 10**40 + 1, 0.1, 0.01, 1e-20, 1e-300, 0.3, 1.5, 3.0000000001, 1e300, 997, 9973,
]  # fmt: skip
SMALL, LARGE = [0, 1, 2, 3, 5, 9, 30], [0, 1, 2, 3, 9, 60, 300, 2_000, 20_000, 10**9]


@dataclass
class Maker:
    """Draws parts of schemas.

    Attributes
    ----------
    draw : random.Random
    counts : list of int
        Counts to choose from.
    widths : list of int
        Numbers of names, values and alternatives to choose from.
    left : int
        Number of further subschemas.
    """

    draw: random.Random
    counts: list[int]
    widths: list[int]
    left: int

    def count(self) -> int:
        return self.draw.choice(self.counts)

    def width(self) -> int:
        return self.draw.choice(self.widths)

    def few(self, of: list[Any], most: int = 3) -> list[Any]:
        return self.draw.sample(of, self.draw.randint(0, min(most, len(of))))

    def any_of(self, *parts: Callable[[], Any]) -> Any:
        return self.draw.choice(parts)()

    def names(self) -> list[str]:
        """Names with common prefixes, or a few from the pool."""
        if self.draw.random() < 0.6:
            return self.draw.sample(NAMES, self.draw.randint(1, 4))
        step = self.draw.choice([1, 7])
        return [f"{'a' * (i % 3)}{i * step}" for i in range(self.width())]

    def pattern(self) -> str:
        pattern = self.draw.choice(STRING_PATTERNS)
        return pattern.replace("%d", str(min(self.count(), 40_000)))

    def inner(self) -> Any:
        """A subschema, a simple one where no more are left."""
        self.left -= 1
        if self.left > 0 and self.draw.random() < 0.7:
            return self.schema()
        return self.any_of(
            lambda: True, lambda: False, dict, lambda: {"type": self.draw.choice(TYPES)}, self.reference, self.string, self.number,
            self.values, lambda: {"const": self.value()},
        )  # fmt: skip

    def reference(self) -> Schema:
        return {"$ref": self.draw.choice(["#", "#/$defs/x", "#/$defs/y", "#/$defs/z"])}

    def value(self, depth: int = 2) -> Any:
        if depth == 0 or self.draw.random() < 0.6:
            return self.draw.choice([None, True, 0, 1, -7, 1.5, 1e300, 10**40, "", "a", "ab", "é\n", "x" * 60])
        if self.draw.random() < 0.5:
            return [self.value(depth - 1) for _ in range(self.draw.randrange(4))]
        return {name: self.value(depth - 1) for name in self.few(NAMES)}

    # Parts of one type

    def string(self) -> Schema:
        found: Schema = {}
        if self.draw.random() < 0.7:
            found["pattern"] = self.pattern()
        if self.draw.random() < 0.4:
            found["minLength"] = self.count()
        if self.draw.random() < 0.4:
            found["maxLength"] = self.count()
        if self.draw.random() < 0.1:
            found["format"] = self.draw.choice(FORMATS)
        return found or {"type": "string"}

    def number(self) -> Schema:
        bounds = [0, 1, -1, 10, 1.5, 10**9, -(10**9), 10**40, 1e-9, 0.1, 1e300, 997, 12345678901234567890]
        keys = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]
        found: Schema = {key: self.draw.choice(bounds) for key in self.few(keys, 2)}
        if self.draw.random() < 0.7:
            found["multipleOf"] = self.draw.choice(DIVISORS)
        return found or {"type": "number"}

    def multiples(self) -> Schema:
        return {"allOf": [{"multipleOf": self.draw.choice(DIVISORS)} for _ in range(self.draw.randint(2, 6))]}

    def values(self) -> Schema:
        """An enum with common prefixes."""
        n = self.width()
        return self.any_of(
            lambda: {"enum": [f"{'ab' * (i % 5)}{i}" for i in range(n)] or [""]},
            lambda: {"enum": list(range(n)) or [0]},
            lambda: {"enum": [{"a": i, "b": [i % 7, "x"]} for i in range(n)] or [{}]},
            lambda: {"enum": [[i % 3] * (i % 9) for i in range(n)] or [[]]},
            lambda: {"enum": [self.value() for _ in range(self.draw.randint(1, 6))]},
        )

    def object(self) -> Schema:
        names = self.names()
        found: Schema = {"properties": {name: self.inner() for name in names[:6]} | dict.fromkeys(names[6:], True)}
        keywords: dict[str, Callable[[], Any]] = {
            "required": lambda: self.any_of(lambda: names, lambda: self.few(names), lambda: [*names[:9], *NAMES]),
            "additionalProperties": self.inner,
            "patternProperties": lambda: {self.pattern(): self.inner() for _ in range(self.draw.randint(1, 4))},
            "propertyNames": lambda: self.any_of(self.string, self.values, self.inner),
            "minProperties": self.count,
            "maxProperties": self.count,
            "dependentRequired": self.dependencies,
            "dependentSchemas": lambda: {name: self.inner() for name in self.few(names)},
            "unevaluatedProperties": self.inner,
        }
        for key in self.few(list(keywords), 4):
            found[key] = keywords[key]()
        return self.typed("object", found)

    def dependencies(self) -> dict[str, list[str]]:
        """A chain, a circle, all on all, or on names that nothing declares."""
        names = self.names()
        return self.any_of(
            lambda: {name: [after] for name, after in zip(names, names[1:] + names[:1], strict=True)},
            lambda: {name: [after] for name, after in pairwise(names)},
            lambda: dict.fromkeys(names[:40], names[:40]),
            lambda: {name: [f"no {name}", ""] for name in names},
        )

    def patterned(self) -> Schema:
        """Many patterns of names that overlap."""
        n = self.width()
        return self.typed("object", {"patternProperties": {f"^a{{{i}}}.*b": {"maxLength": i} for i in range(n)}})

    def array(self) -> Schema:
        found: Schema = {}
        keywords: dict[str, Callable[[], Any]] = {
            "items": self.inner,
            "prefixItems": lambda: [self.inner() for _ in range(self.draw.randint(1, 4))],
            "contains": self.inner,
            "minContains": self.count,
            "maxContains": self.count,
            "minItems": self.count,
            "maxItems": self.count,
            "uniqueItems": lambda: True,
            "unevaluatedItems": self.inner,
        }
        for key in self.few(list(keywords), 5):
            found[key] = keywords[key]()
        return self.typed("array", found)

    def pigeons(self) -> Schema:
        """Items that must differ and have few values, or too few."""
        n = self.draw.choice([2, 3, 9, 30])
        values: Schema = self.any_of(
            lambda: {"type": "integer", "minimum": 1, "maximum": n},
            lambda: {"enum": [f"v{i}" for i in range(n)]},
            lambda: {"type": "array", "maxItems": 2, "items": {"type": "boolean"}},
            lambda: {"type": "object", "maxProperties": 1, "propertyNames": {"maxLength": 1}, "additionalProperties": {"type": "null"}},
            self.inner,
        )  # fmt: skip
        found = {"items": values, "uniqueItems": True, "minItems": n + self.draw.choice([-1, 0, 1])}
        if self.draw.random() < 0.4:
            found["contains"] = self.inner()
        return self.typed("array", found)

    def containing(self) -> Schema:
        """Many items that an array must contain."""
        wanted = [
            {"contains": self.any_of(lambda i=i: {"const": i}, lambda i=i: {"multipleOf": i + 2}, self.inner), "minContains": i % 3}
            for i in range(self.draw.randint(2, 8))
        ]  # fmt: skip
        return self.typed("array", {"allOf": wanted, "maxItems": self.draw.choice([1, 3, 9, 10**6])})

    def typed(self, kind: str, found: Schema) -> Schema:
        return {"type": kind, **found} if self.draw.random() < 0.7 else found

    # Parts of all types

    def applied(self) -> Schema:
        several = [self.inner() for _ in range(self.draw.randint(1, 4))]
        return self.any_of(
            lambda: {"allOf": several},
            lambda: {"anyOf": several},
            lambda: {"oneOf": several},
            lambda: {"not": several[0]},
            lambda: {"if": several[0], "then": several[-1], "else": self.inner()},
        )

    def tower(self) -> Schema:
        """One applicator within another, many times, with another condition at each level."""
        found: Any = self.inner()
        for i in range(min(self.width(), 60)):
            more: Any = self.any_of(
                lambda i=i: {"required": [f"a{i}"]},
                lambda i=i: {"minLength": i % 5},
                lambda i=i: {"multipleOf": i + 1},
                lambda i=i: {"maxItems": i},
            )
            found = self.any_of(
                lambda f=found: {"not": f},
                lambda f=found, m=more: {"not": {"allOf": [f, m]}},
                lambda f=found, m=more: {"oneOf": [f, m]},
                lambda f=found, m=more: {"anyOf": [{"not": f}, m]},
                lambda f=found, m=more: {"if": m, "then": f},
            )
        return dict(found) if isinstance(found, dict) else {"not": {}}

    def clauses(self) -> Schema:
        """Propositional logic over names that come or do not."""
        n = self.draw.choice([3, 8, 20])

        def literal() -> Schema:
            wanted = {"required": [f"a{self.draw.randrange(n)}"]}
            return wanted if self.draw.random() < 0.5 else {"not": wanted}

        key = self.draw.choice(["anyOf", "oneOf"])
        return {"allOf": [{key: [literal() for _ in range(3)]} for _ in range(self.draw.choice([n, 4 * n]))]}

    def contradiction(self) -> Schema:
        part = self.any_of(self.string, self.number, self.object, self.array)
        return self.any_of(
            lambda: {"allOf": [part, {"not": part}]},
            lambda: {"oneOf": [part, part]},
            lambda: {"oneOf": [part, {**part, "title": "x"}, self.inner()]},
            lambda: {"type": "array", "minItems": 1, "items": {"allOf": [part, {"not": part}]}},
        )

    def deep(self) -> Schema:
        """Many levels, at the end of which is a difficulty."""
        found: Any = self.inner()
        for _ in range(self.draw.choice([3, 20, 50])):
            found = self.any_of(
                lambda f=found: {"items": f, "minItems": 1, "type": "array"},
                lambda f=found: {"properties": {"a": f}, "required": ["a"], "type": "object"},
                lambda f=found: {"additionalProperties": f},
                lambda f=found: {"contains": f},
                lambda f=found: {"prefixItems": [f, True], "minItems": 2},
            )
        return dict(found)

    def schema(self) -> Schema:
        """One to three parts, merged."""
        kinds = [
            self.string, self.number, self.multiples, self.values, self.object, self.object, self.object, self.patterned, self.array,
            self.array, self.pigeons, self.containing, self.applied, self.applied, self.tower, self.clauses, self.contradiction, self.deep,
            self.reference,
        ]  # fmt: skip
        found: Schema = {}
        for _ in range(self.draw.choice([1, 1, 2, 3])):
            found |= self.draw.choice(kinds)()
        return found


def a_schema(draw: random.Random, *, is_large: bool = False) -> Schema:
    """A hostile schema, with definitions that may refer to each other, and to itself."""
    widths = [0, 3, 30, 300, 3_000] if is_large else [0, 1, 3, 10, 30]
    maker = Maker(draw, LARGE if is_large else SMALL, widths, draw.choice([3, 10, 30] if is_large else [2, 5, 10]))
    found = maker.schema()
    found["$defs"] = {name: maker.inner() for name in "xyz"}
    return found


def options(draw: random.Random) -> dict[str, Any]:
    """Options of `JsonSchema`."""
    return {
        "whitespace": draw.choice(["flexible", "compact", "pretty(2)", "[ ]{0,30}"]),
        "property_order": draw.choice(["schema", "any"]),
        "numbers": draw.choice(["plain", "any", "dumps"]),
        "escapes": draw.choice(["canonical", "any", "dumps"]),
        "unsupported": draw.choice(["refuse", "record"]),
        "additional_properties": draw.random() < 0.7,
        "eager": draw.choice([False, False, "auto", True]),
    }


# Patterns, and pieces that are put into them.
PATTERNS = [
    r"(a|b)*a(a|b){9}", r"\w+@\w+\.(com|org)", r'"(?:[^"\\]|\\.)*"', r"\d{4}-\d{2}-\d{2}", r"(?i)yes|no", "(?:ab?){3,9}",
    r"(?=.*a).{2,8}", r"(?<!a)b|(?<=c)d", r"[^\W\d_]+", r"\b\w{1,5}\b", r"\p{Lu}\p{Ll}*", "(?s).*", "^a$", "a{2,}?", "(?P<n>x)y",
    "(?x) a b # c", "[a-zé-ü€🙂]{1,3}", r"\x41\u00e9\U0001F642\n\0", "(?m)^a$|b", "", "()|a", "[]a]", "[^]a]", r"(?:a{0,3}){0,3}",
    r"\B\w|\W\b",
]  # fmt: skip
PIECES = [
    "(", ")", "(?:", "(?=", "(?!", "(?<=", "(?<!", "(?i)", "(?P<a>", "(?P=a)", "(?(1)", "(?>", "(?#", "[", "]", "[^", "{", "}", "{2}",
    "{0,3}", "{3,1}", "{99999}", "{,}", "{1,99999999999}", "*", "+", "?", "*?", "++", "|", "||", ".", "^", "$", r"\A", r"\Z", r"\b", r"\B",
    r"\d", r"\W", r"\s", r"\1", r"\0", r"\377", r"\8", r"\x", r"\x4", r"\u12", r"\U00110000", r"\ud800", r"\N{DIGIT ONE}", r"\N{nothing}",
    r"\p{L}", r"\P{Greek}", r"\p{", "\\", "a-", "-", "&&", "é", "€", "🙂", "\0", "\n", "\ud800", "\uffff", "\U0010ffff", "a", "b", " ",
    "#", "(?i:", "(?-i:", "(?-", "(?L)", "(?u)", "(?a:", "(?x)", "[[:alpha:]]", "[a-\\d]", "[z-a]",
]  # fmt: skip
# Parts of patterns: what is repeated, and what it is put into.
_ATOMS = [
    "a", "b", "[ab]", ".", r"\w", r"\d", r"\p{L}", r"[^\W\d_]", "(?:a|b|ab|ba)", "(?:a|aa|aaa)", "é", "[a-z]", r"\s", "(?i:k)",
    r"\b", "ab",
]  # fmt: skip
_AROUND = [
    "(?:%s)*", "(?:%s)+", "(?:%s)?", "(?:%s){%d}", "(?:%s){1,%d}", "(?:%s){%d,}", "(?=%s)", "(?!%s)", "(?=.*%s)", "(?!.*%s.{%d})",
    "(?<=a)%s", "(?<!%s)", ".*%s", "%s.*", "(?:%s|a.{%d}b)", "(?:a|%s)*", "(?i:%s)", "%s.{%d}",
]  # fmt: skip


def mutated(draw: random.Random, text: str) -> str:
    """A few random edits: pieces put in, cut out, doubled, put into groups, counted."""
    for _ in range(draw.randint(0, 5)):
        i, j = sorted(draw.choices(range(len(text) + 1), k=2))
        match draw.randrange(7):
            case 0 | 1 | 2:
                text = text[:i] + draw.choice(PIECES) + text[i:]
            case 3:
                text = text[:i] + text[j:]
            case 4:
                text = text[:j] + text[i:j] * draw.choice([1, 2, 9]) + text[j:]
            case 5:
                text = text[:i] + "(" + text[i:j] + ")" + draw.choice(["", "*", "?", "{2,5}", "{30}"]) + text[j:]
            case _:
                text = text + draw.choice(["|", "", "(?:"]) + draw.choice(PATTERNS)
    return text


def a_pattern(draw: random.Random, *, is_large: bool = False) -> str:
    """A pattern of nested repeats, lookarounds and counts, one of many alternatives, or one with random edits."""
    counts = LARGE[:-1] if is_large else SMALL
    if draw.random() < 0.2:
        return mutated(draw, draw.choice(PATTERNS))
    if draw.random() < 0.2:
        word, n = (
            draw.choice(["%d", "a%db", "(?=.*%d)", "x{%d}", "[a-z]{0,9}%d"]),
            draw.choice([3, 30, 300] + [3_000] * is_large),
        )
        return draw.choice(["", ".*", "(?i)", "(?!"]) + draw.choice(["|", "", "?|"]).join(
            word.replace("%d", str(i)) for i in range(n)
        )

    def part(depth: int) -> str:
        if depth == 0 or draw.random() < 0.2:
            return draw.choice(_ATOMS)
        inner = "".join(part(depth - 1) for _ in range(draw.choice([1, 1, 2, 3])))
        return draw.choice(_AROUND).replace("%s", inner, 1).replace("%d", str(draw.choice(counts)))

    return "".join(part(draw.choice([1, 2, 3, 4])) for _ in range(draw.choice([1, 1, 2, 5])))


def a_grammar(draw: random.Random, *, is_large: bool = False) -> str:
    """A small grammar with every notation, or rules over terminals that overlap, look ahead, or have priorities."""
    if draw.random() < 0.4:
        return sample(draw.randrange(10**9)).text
    n = draw.choice([2, 5, 20, 100] if is_large else [2, 3, 5, 9])
    terminals = []
    for i in range(draw.choice([2, 5, 20, 60] if is_large else [2, 3, 6])):
        pattern = draw.choice(
            ["[a-z]*%d", "a{1,%d}", "[a-z]+(?=%d)", "x%d[^;]*;", '%d"', "(a|b)*a(a|b){%d}", r"\\w{1,%d}x", "%d"]
        )
        pattern = pattern.replace("%d", str(draw.choice([i, 3, 9, 30] + [300, 3_000] * is_large)))
        terminals.append(f"T{i}{draw.choice(['', '', f'.{i}'])}: /{pattern}/")
    symbols = [*(f"T{i}" for i in range(len(terminals))), *(f"r{i}" for i in range(n))]

    def item() -> str:
        one = draw.choice([draw.choice(symbols), f'"{draw.choice("abc")}{draw.randrange(n)}"'])
        return draw.choice(
            [
                one,
                one,
                f"({one} {draw.choice(symbols)}){draw.choice('?*+')}",
                f"[{one}]",
                f"{one}~0..{draw.choice([2, 9])}",
            ]
        )

    rules = []
    for i in range(n):
        sides = [" ".join(item() for _ in range(draw.choice([1, 2, 3]))) for _ in range(draw.choice([1, 2, 3]))]
        rules.append(
            f"{draw.choice(['', '', '?'])}r{i}: T{i % len(terminals)} | {' | '.join(sides)}{draw.choice(['', '', ' |'])}"
        )
    ignored = draw.choice(["", '%ignore " "', "%ignore /[ab]+/"])
    return "\n".join(["start: " + " | ".join(f"r{i}" for i in range(0, n, 1 + n // 9)), *rules, *terminals, ignored])


_STYLES = ["json", "json", "qwen_xml", "minimax_xml", "deepseek_xml", "glm_xml"]


def a_tag(draw: random.Random, *, is_large: bool = False) -> dict[str, Any]:
    """Formats within formats: free text around schemas, alternatives that begin alike, chains of optional parts, many triggers."""
    few = [1, 2, 3, 5, 30] if is_large else [1, 2, 3]
    left = 30 if is_large else 9

    def tag(i: int) -> dict[str, Any]:
        return {
            "begin": f"<{'f' * (i % 3)}{i}>",
            "content": form(1),
            "end": draw.choice(["</f>", ["</f>", "|"], "</f>\n"]),
        }

    def form(depth: int) -> dict[str, Any]:
        nonlocal left
        left -= 1
        kinds: list[Callable[[], dict[str, Any]]] = [
            lambda: {"type": "const_string", "value": draw.choice(["a", "<f>", '{"a"', "\n"])},
            lambda: {"type": "json_schema", "json_schema": a_schema(draw), "style": draw.choice(_STYLES)},
            lambda: {
                "type": "json_schema",
                "json_schema": draw.choice([True, {"type": "object"}, {"type": "string", "maxLength": 300}]),
            },
            lambda: {"type": "regex", "pattern": a_pattern(draw)},
            lambda: {
                "type": "any_text",
                "excludes": draw.choice([[], ["<f"], [f"x{i}" for i in range(draw.choice(few))]]),
            },
            lambda: {"type": "any_text", "max_tokens": draw.choice([1, 9, 300])},
        ]
        outer: list[Callable[[], dict[str, Any]]] = [
            lambda: {"type": "sequence", "elements": [form(depth - 1) for _ in range(draw.choice(few))]},
            lambda: {"type": "or", "elements": [form(depth - 1) for _ in range(draw.choice(few))]},
            lambda: {"type": draw.choice(["optional", "plus", "star"]), "content": form(depth - 1)},
            lambda: {"type": "repeat", "content": form(depth - 1), "min": draw.choice([0, 2]), "max": draw.choice([-1, 3, 30])},
            lambda: {"type": "tag", **tag(draw.randrange(9))},
            lambda: {
                "type": "triggered_tags", "triggers": [f"<{'f' * (i % 3)}{i}" for i in range(n)], "tags": [tag(i) for i in range(n)],
                "at_least_one": draw.random() < 0.5,
            },
            lambda: {"type": "tags_with_separator", "tags": [tag(i) for i in range(n)], "separator": draw.choice(["", ",", "<"])},
        ]  # fmt: skip
        n = draw.choice(few)
        return draw.choice(kinds if depth <= 0 or left < 0 or draw.random() < 0.2 else outer)()

    return {"type": "structural_tag", "format": form(draw.choice([1, 2, 3, 4]))}


KINDS: dict[str, Callable[..., Any]] = {"schema": a_schema, "regex": a_pattern, "grammar": a_grammar, "tag": a_tag}


def attack(kind: str, draw: random.Random, *, is_large: bool) -> Attack:
    """A random input of a kind."""
    return Attack(kind, KINDS[kind](draw, is_large=is_large), options=options(draw) if kind == "schema" else {})
