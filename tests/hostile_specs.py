"""Specs that are large, or explode, and what must come of each: an index, or an error that says so.

Each is measured in a process of its own, forked from one in which kernels are compiled and the vocabulary is read and nothing else is,
so that its CPU time and its peak of memory are its own. `tests.test_limits` holds them to their bounds; ``python -m benchmarks.hostile``
prints the table of docs/limits_record.md.
"""

import json
import os
import random
import re
import resource
import string
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from guided.automata.automaton import Automaton
from guided.automata.build import from_tree
from guided.calls.spec import Tools
from guided.engine.algebra import Repeat as SpecRepeat
from guided.engine.compile import compile as compile_spec
from guided.engine.grammar import Grammar
from guided.engine.json_schema import JsonSchema
from guided.engine.specs import Choice, Regex, Spec
from guided.errors import GuidedError
from guided.index.regular import RegularIndex
from guided.limits import Limits
from guided.patterns.charset import Charset
from guided.patterns.tree import Alternate, Chars, Complement, Concat, Intersect, Literal, Node, Repeat
from guided.vocabulary.vocabulary import Vocabulary
from tests.lalr.hostile import GRAMMARS
from tests.real_vocabularies import real_vocabulary

__all__ = [
    "CASES",
    "CPU_SECONDS",
    "INDEX",
    "MEGABYTES",
    "QUICK",
    "Outcome",
    "measure",
    "patterns",
    "slowness",
    "vocabulary",
]

# On the machine that made docs/limits_record.md; `slowness` compares another one with it.
CPU_SECONDS, MEGABYTES = 5.0, 1000
_LOOP_SECONDS = 0.15
ANY = Repeat(Chars(Charset.UNIVERSE), 0, None)


@dataclass(frozen=True)
class Tree:
    """A spec of a pattern tree."""

    node: Node
    fingerprint: str = "tree"

    def lower(self, limits: Limits) -> Automaton:
        return from_tree(self.node, limits)


def nested(depth: int, wrap: Callable[[Node], Node]) -> Tree:
    node: Node = Literal("a")
    for _ in range(depth):
        node = wrap(node)
    return Tree(node)


@cache
def names(count: int = 50_000) -> list[str]:
    draw = random.Random(1)
    found: dict[str, None] = {}
    while len(found) < count:
        found["".join(draw.choices(string.ascii_lowercase, k=draw.randint(5, 25)))] = None
    return list(found)


@cache
def cjk(count: int) -> str:
    return "".join(chr(0x4E00 + 3 * i) for i in range(count))


def cjk_words(count: int) -> list[str]:
    draw = random.Random(2)
    return sorted({"".join(draw.choices(cjk(6_900), k=3)) for _ in range(count)})


def tools(count: int) -> list[dict[str, object]]:
    schema = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}
    return [
        {"name": f"tool_{i}", "description": "", "parameters": {**schema, "required": ["city"]}} for i in range(count)
    ]


def nested_schema(depth: int) -> dict[str, object]:
    schema: dict[str, object] = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "array", "items": schema}
    return {"name": "deep", "parameters": {"type": "object", "properties": {"value": schema}, "required": ["value"]}}


def patterns(count: int, pattern: str) -> list[dict[str, object]]:
    values = {f"p{i}": {"type": "string", "pattern": pattern % i} for i in range(count)}
    return [{"name": "f", "parameters": {"type": "object", "properties": values, "required": list(values)}}]


def enumeration(count: int) -> list[dict[str, object]]:
    value = {"type": "string", "enum": names(count)}
    return [{"name": "pick", "parameters": {"type": "object", "properties": {"value": value}, "required": ["value"]}}]


def shared(depth: int) -> dict[str, object]:
    """A schema whose one object is in two places of each of so many levels."""
    schema: dict[str, object] = {"type": "null"}
    for _ in range(depth):
        schema = {"anyOf": [schema, schema]}
    return schema


def references(count: int) -> dict[str, object]:
    definitions: dict[str, object] = {f"d{i}": {"allOf": [{"$ref": f"#/$defs/d{i + 1}"}]} for i in range(count)}
    return {"$ref": "#/$defs/d0", "$defs": {**definitions, f"d{count}": {"type": "null"}}}


def compositions(depth: int) -> Spec:
    spec: Spec = Regex("a")
    for _ in range(depth):
        spec = SpecRepeat(spec, 1, 2)
    return spec


INDEX, LIMIT, EITHER = "index", "LimitError", "index or LimitError"
REFUSED = "LimitError or SchemaError"
# Whether a large grammar is one of LALR(1) is Lark's to say.
GRAMMAR = "index or LimitError or GrammarError"

# Name: what must come of it, and how it is made.
CASES: dict[str, tuple[str, Callable[[], Spec]]] = {
    "a{1,100000}": (INDEX, lambda: Regex("a{1,100000}")),
    "[\\w\\W]{500}": (INDEX, lambda: Regex(r"[\w\W]{500}")),
    "NUL": (INDEX, lambda: Regex("\0")),
    "50,000 names": (INDEX, lambda: Regex("|".join(names()))),
    "50,000 names, Choice": (INDEX, lambda: Choice(names())),
    "(?i) 50,000 names": (INDEX, lambda: Regex("(?i)" + "|".join(names()))),
    "(50,000 names)*": (INDEX, lambda: Regex("(?:" + "|".join(names()) + ")*")),
    ".*(5,000 names).*": (EITHER, lambda: Regex(".*(?:" + "|".join(names()[:5_000]) + ").*")),
    ".*(20,000 names).*": (EITHER, lambda: Regex(".*(?:" + "|".join(names()[:20_000]) + ").*")),
    "(a|b)*a(a|b){25}": (LIMIT, lambda: Regex("(a|b)*a(a|b){25}")),
    "(a|b)*a(a|b){18}": (INDEX, lambda: Regex("(a|b)*a(a|b){18}")),
    "100,000 nested groups": (LIMIT, lambda: Regex("(" * 100_000 + ")" * 100_000)),
    "5 MB of a": (LIMIT, lambda: Regex("a" * 5_000_000)),
    "900,000 letters": (INDEX, lambda: Regex("".join(random.Random(3).choices(string.ascii_lowercase, k=900_000)))),
    "((a{1000}){1000}){1000}": (LIMIT, lambda: Regex("((a{1000}){1000}){1000}")),
    "((a{0,100}){0,100}){0,100}": (EITHER, lambda: Regex("((a{0,100}){0,100}){0,100}")),
    "(a|aa|...|a{600})*": (INDEX, lambda: Regex("(?:" + "|".join("a" * i for i in range(1, 601)) + ")*")),
    "(a)? 250,000 times": (LIMIT, lambda: Regex("(a)?" * 249_999)),
    "(|) 330,000 times": (EITHER, lambda: Regex("(|)" * 330_000)),
    "a? 20,000 times": (EITHER, lambda: Regex("a?" * 20_000)),
    "a+b+ 240,000 times": (EITHER, lambda: Regex("a+b+" * 240_000)),
    "$ 1,000,000 times": (EITHER, lambda: Regex("$" * 1_000_000)),
    "lookaheads within a repeat": (LIMIT, lambda: Regex("(?:(?=.*a.{14}).)*(?:(?=.*b.{14}).)*")),
    "eight lookaheads": (LIMIT, lambda: Regex("".join(f"(?=.*{c}.*{c}.*{c})" for c in "abcdefgh") + ".*")),
    "not 3,000 names": (LIMIT, lambda: Regex("(?!(?:" + "|".join(names()[:3_000]) + r")\b)\w+")),
    "\\w{1,500}": (INDEX, lambda: Regex(r"\w{1,500}")),
    "\\w{1,2000}": (INDEX, lambda: Regex(r"\w{1,2000}")),
    "\\w{1,3000}": (LIMIT, lambda: Regex(r"\w{1,3000}")),
    ".{1,100000}": (INDEX, lambda: Regex(".{1,100000}")),
    '"[^"]{0,100000}"': (INDEX, lambda: Regex('"[^"]{0,100000}"')),
    "a.*b.*c...": (EITHER, lambda: Regex(".*".join(string.ascii_lowercase * 26))),
    "[\\w\\w...]": (INDEX, lambda: Regex("[" + r"\w" * 499_998 + "]")),
    "[^\\W] 200,000 times": (LIMIT, lambda: Regex(r"[^\W]" * 199_999)),
    "(?i)[\\u0100-\\uffff] 200,000 times": (LIMIT, lambda: Regex("(?i)" + "[\u0100-\uffff]" * 199_999)),
    "6,900 CJK characters": (INDEX, lambda: Regex("[" + cjk(6_900) + "]{1,20}")),
    "20,000 CJK words": (INDEX, lambda: Regex("|".join(cjk_words(20_000)))),
    "100,000 charsets": (
        LIMIT,
        lambda: Regex("".join(f"[{chr(0x4E00 + i % 20_000)}-{chr(0x9FFF + i // 20_000)}]" for i in range(100_000))),
    ),
    "5,000 negated sets": (LIMIT, lambda: Regex("|".join(f"[^{chr(0x4E00 + i)}]{i}" for i in range(5_000)))),
    "2,500 sets with \\w": (EITHER, lambda: Regex("".join(f"[\\w{chr(0x2000 + i)}]" for i in range(2_500)))),
    "100,000 complements": (EITHER, lambda: nested(100_000, Complement)),
    "100,000 intersections": (EITHER, lambda: nested(100_000, lambda node: Intersect((node, Literal("a"))))),
    "complements 2^60 times": (EITHER, lambda: nested(60, lambda node: Alternate((Complement(node), node)))),
    "100,000 repeats": (INDEX, lambda: nested(100_000, lambda node: Repeat(node, 0, 1))),
    "complements of intersections": (EITHER, lambda: nested(2_000, lambda node: Complement(Intersect((node, ANY))))),
    "26 letters in any order": (
        LIMIT,
        lambda: Tree(Intersect(tuple(Concat((ANY, Literal(letter), ANY)) for letter in string.ascii_lowercase))),
    ),
    "not 50,000 names": (LIMIT, lambda: Tree(Complement(Alternate(tuple(map(Literal, names())))))),
    "one node 2^60 times": (LIMIT, lambda: nested(60, lambda node: Concat((node, node)))),
    "nothing 2^60 times": (LIMIT, lambda: nested(60, lambda node: Alternate((node, node)))),
    "1,000,000 nodes deep": (EITHER, lambda: nested(1_000_000, lambda node: Concat((node,)))),
    "26 texts of 300,000 bytes": (LIMIT, lambda: Choice([letter * 300_000 for letter in string.ascii_lowercase])),
    "10,000 tools": (EITHER, lambda: Tools(tools(10_000))),
    "an enum of 50,000 names": (EITHER, lambda: Tools(enumeration(50_000))),
    "(a|b)*a(a|b){25}, interegular": (LIMIT, lambda: Regex("(a|b)*a(a|b){25}", "interegular")),
    "a{1,100000}, interegular": (LIMIT, lambda: Regex("a{1,100000}", "interegular")),
    "50 patterns of 15,000 states": (EITHER, lambda: Tools(patterns(50, "^%d(a|b)*a(a|b){13}$"))),
    "50 patterns with lookaheads": (EITHER, lambda: Tools(patterns(50, "^%d(?:(?=.*a.{6}).)*$"))),
    "20 patterns that explode": (LIMIT, lambda: Tools(patterns(20, "^%d(?:(?=.*a.{9}).)*(?:(?=.*b.{9}).)*$"))),
    "arrays 200 deep": (REFUSED, lambda: Tools([nested_schema(200)])),
    "arrays 100,000 deep": (REFUSED, lambda: Tools([nested_schema(100_000)])),
    "lookaheads 51 deep": (LIMIT, lambda: Regex("(?=" * 51 + "a" + ")" * 51 + "a")),
    "compositions 201 deep": (LIMIT, lambda: compositions(201)),
    "JSON Schema: one part 2^24 times": (LIMIT, lambda: JsonSchema(shared(24))),
    "JSON Schema: 10,001 references in a row": (LIMIT, lambda: JsonSchema(references(10_001))),
    "JSON Schema: a number of 10,001 digits": (LIMIT, lambda: JsonSchema('{"minimum": 0.' + "1" * 10_001 + "}")),
    "JSON Schema: 10,001 names": (LIMIT, lambda: JsonSchema({"properties": {f"p{i}": {} for i in range(10_001)}})),
    "JSON Schema: whitespace of 501 states": (LIMIT, lambda: JsonSchema({}, whitespace=" {0,501}")),
    "JSON Schema: 20,001 configurations": (
        LIMIT,
        lambda: JsonSchema({"type": "string", "maxLength": 20_000}, eager=True),
    ),
    **{f"Lark: {name}": (GRAMMAR, lambda make=make: Grammar(make())) for name, make in GRAMMARS.items()},
}

# Cases that every run measures; the others are marked slow.
QUICK = (
    "a{1,100000}", "[\\w\\W]{500}", "NUL", "50,000 names", "50,000 names, Choice", "(a|b)*a(a|b){25}", "100,000 nested groups",
    "5 MB of a", "((a{1000}){1000}){1000}", "(a|aa|...|a{600})*", "eight lookaheads", "\\w{1,500}", "[\\w\\w...]", "6,900 CJK characters",
    "20,000 CJK words", "100,000 charsets", "100,000 complements", "one node 2^60 times", "10,000 tools", "arrays 100,000 deep",
    "50 patterns with lookaheads", "Lark: 3,000 inlined rules, each the next", "Lark: LR(0) states 2^60", "Lark: operators 500",
    "Lark: 1,000 levels of operators", "Lark: 200 empty rules in a row",
)  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """What came of a case: CPU seconds, peak megabytes, and what it was."""

    seconds: float
    megabytes: int
    kind: str
    detail: str


@cache
def vocabulary() -> Vocabulary:
    """The vocabulary of all cases, read and warmed up before anything is measured."""
    found = real_vocabulary("smollm2")
    for spec in (Regex(r"(?=a)[ab]*"), Regex(r"(?i)(\w|b){3}|\d\b|[^a]c"), Choice(["a", "ab"]), Tools(tools(1))):
        compile_spec(spec, found)
    compile_spec(nested(2, lambda node: Complement(Intersect((node, ANY)))), found)
    for text in ("start: (A | B)*\nA: /a+(?=b)/\nB: /(?<=a)b/", 'start: "[" start* "]"\n%ignore " "'):
        compile_spec(Grammar(text), found)
    return found


def measure(make: Callable[[], Spec]) -> Outcome:
    """Compile in a child process: CPU time and peak memory of the compile, and its result."""
    shared = vocabulary()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        code = 1
        try:
            os.write(writer, _compiled(make, shared).encode())
            code = 0
        except BaseException:
            os.write(writer, f"0\n0\ncrash\n{traceback.format_exc()[-2000:]}".encode())
        finally:
            os._exit(code)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    assert said, f"the process ended with status {status}"
    seconds, megabytes, kind, detail = said.split("\n", 3)
    return Outcome(float(seconds), int(megabytes), kind, detail)


def _compiled(make: Callable[[], Spec], shared: Vocabulary) -> str:
    # Why a limit far above the one that is asserted: a hang must end, and be told as a failure.
    resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = time.process_time()
    try:
        index = compile_spec(make(), shared)
        pairs = f", {len(index.tables.row_targets):,} pairs" if isinstance(index.tables, RegularIndex) else ""
        kind, detail = INDEX, f"{index.n_states:,} states{pairs}"
    except GuidedError as error:
        kind, detail = type(error).__name__, str(error).split(";")[0].split("\n")[0]
    seconds = time.process_time() - before
    return f"{seconds}\n{int(megabytes_of('VmHWM'))}\n{kind}\n{detail}"


def megabytes_of(field: str) -> float:
    """Memory of this process by a field of Linux: VmRSS (now) or VmHWM (the peak); 0 on other systems.

    `resource.getrusage` does not serve: its peak includes what the parent of the process held.
    """
    if not Path("/proc/self/status").exists():
        return 0.0
    found = re.search(rf"{field}:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"))
    assert found is not None
    return int(found[1]) / 1024


def slowness() -> float:
    """Return how many times longer a fixed loop takes than on the machine that made docs/limits_record.md, but at least 1."""

    def loop() -> float:
        before, table = time.process_time(), dict[int, int]()
        for number in range(1_000_000):
            table[number & 4095] = table.get(number * 7 & 4095, 0) + number
        return time.process_time() - before

    return max(1.0, min(loop() for _ in range(3)) / _LOOP_SECONDS)


if __name__ == "__main__":
    # Measures cases whose names are read one by one.
    vocabulary()
    for line in sys.stdin:
        print(json.dumps(asdict(measure(CASES[line.rstrip("\n")][1]))), flush=True)
