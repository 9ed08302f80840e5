"""Budgets of compiles: what is only large works, what explodes is refused, and neither takes more than 5 s of CPU and 1 GB.

Each case runs in a process of its own, forked from one in which kernels are compiled and the vocabulary is read and nothing else is,
so that its CPU time and its peak of memory are its own. ``python -m tests.test_limits [CASE...]`` prints the table of docs/limits.md.
"""

import json
import os
import random
import re
import string
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path

import pytest

from guided.automata.automaton import Automaton
from guided.automata.build import from_tree
from guided.calls.spec import Tools
from guided.engine.compile import compile as compile_spec
from guided.engine.specs import Choice, Regex, Spec
from guided.errors import GuidedError, LimitError, PatternError, SchemaError, VocabularyError
from guided.limits import Limits
from guided.patterns.charset import Charset
from guided.patterns.tree import Alternate, Chars, Complement, Concat, Intersect, Literal, Node, Repeat
from guided.vocabulary.vocabulary import Vocabulary
from tests.real_vocabularies import real_vocabulary

CPU_SECONDS, MEGABYTES = 5.0, 1000
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


INDEX, LIMIT, EITHER = "index", "LimitError", "index or LimitError"
REFUSED = "LimitError or SchemaError"

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
    "lookaheads within a repeat": (LIMIT, lambda: Regex("(?:(?=.*a.{9}).)*(?:(?=.*b.{9}).)*")),
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
    "50 patterns of 15,000 states": (EITHER, lambda: Tools(patterns(50, "^%d(a|b)*a(a|b){13}$"))),
    "50 patterns with lookaheads": (EITHER, lambda: Tools(patterns(50, "^%d(?:(?=.*a.{6}).)*$"))),
    "20 patterns that explode": (LIMIT, lambda: Tools(patterns(20, "^%d(?:(?=.*a.{9}).)*(?:(?=.*b.{9}).)*$"))),
    "arrays 200 deep": (REFUSED, lambda: Tools([nested_schema(200)])),
    "arrays 100,000 deep": (REFUSED, lambda: Tools([nested_schema(100_000)])),
}

# Cases that every run measures; the others are marked slow.
QUICK = (
    "a{1,100000}", "[\\w\\W]{500}", "NUL", "50,000 names", "50,000 names, Choice", "(a|b)*a(a|b){25}", "100,000 nested groups",
    "5 MB of a", "((a{1000}){1000}){1000}", "(a|aa|...|a{600})*", "eight lookaheads", "\\w{1,500}", "[\\w\\w...]", "6,900 CJK characters",
    "20,000 CJK words", "100,000 charsets", "100,000 complements", "one node 2^60 times", "10,000 tools", "arrays 100,000 deep",
    "50 patterns with lookaheads",
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
    import resource

    # Why a limit far above the one that is asserted: a hang must end, and be told as a failure.
    resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = time.process_time()
    try:
        index = compile_spec(make(), shared)
        kind, detail = INDEX, f"{index.n_states:,} states, {len(index.tables.row_targets):,} pairs"
    except GuidedError as error:
        kind, detail = type(error).__name__, str(error).split(";")[0].split("\n")[0]
    seconds = time.process_time() - before
    peak = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"))
    assert peak is not None
    return f"{seconds}\n{int(peak[1]) // 1024}\n{kind}\n{detail}"


def marked(name: str) -> object:
    return pytest.param(name, id=name, marks=() if name in QUICK else pytest.mark.slow)


@pytest.fixture(scope="module")
def measured() -> Iterator[Callable[[str], Outcome]]:
    """Measures a case by its name, in a child of a process without the tests' own memory."""
    vocabulary()
    with subprocess.Popen(
        [sys.executable, "-m", "tests.test_limits", "--serve"],
        cwd=Path(__file__).parents[1],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def ask(name: str) -> Outcome:
            print(name, file=process.stdin, flush=True)
            return Outcome(**json.loads(process.stdout.readline()))

        yield ask
        process.stdin.close()


@pytest.mark.network
@pytest.mark.parametrize("name", [marked(name) for name in CASES])
def test_hostile_cases_are_held(name: str, measured: Callable[[str], Outcome]) -> None:
    expected, outcome = CASES[name][0], measured(name)
    assert outcome.kind in expected.split(" or "), outcome.detail
    assert outcome.seconds < CPU_SECONDS
    assert outcome.megabytes < MEGABYTES


@pytest.mark.parametrize(
    ("pattern", "position"),
    [
        (r"(a)\1", 3),
        (r"(?P<n>a)(?P=n)", 8),
        (r"(a)(?(1)b|c)", 3),
        ("a{2,1}", 2),
        ("(a", 0),
        ("a)", 1),
        ("[a", 0),
        ("*a", 0),
        ("a**", 2),
        ("a\\", 1),
        ("(?>a)", 0),
        ("a++", 1),
        ("(?<=a*)b", 0),
        ("\ud800", 0),
        ("ab\udfff", 2),
        (r"x\ud800", 1),
        ("a{" + "9" * 5_000 + "}", 1),
        (r"\p{Nothing}", 0),
        ("x" * 900_000 + "(", 900_000),
    ],
    ids=lambda value: str(value)[:20].encode("ascii", "backslashreplace").decode(),
)  # fmt: skip
def test_what_is_no_pattern_is_told_with_its_place(pattern: str, position: int) -> None:
    with pytest.raises(PatternError) as error:
        Regex(pattern).lower(Limits())
    assert error.value.position == position
    assert len(str(error.value)) < 500 + 2 * 5_000


SMALL: dict[str, tuple[dict[str, int], Spec]] = {
    "pattern_length": ({"pattern_length": 9}, Regex("a" * 10)),
    "depth": ({"depth": 2}, Regex("(((a)))")),
    "intervals": ({"intervals": 700}, Regex(r"[^\W]")),
    "nfa_states": ({"nfa_states": 100}, Regex("a{200}")),
    "states": ({"states": 100}, Regex("(a|b)*a(a|b){8}")),
    "transitions": ({"transitions": 1_000}, Regex(r"\w{20}")),
    "steps": ({"steps": 1_000}, Regex("(a?b?){30}")),
    "tokens": ({"tokens": 256}, Regex("a")),
    "token_length": ({"token_length": 2}, Regex("a")),
    "index_bytes": ({"index_bytes": 10_000}, Regex("a{1000}")),
}


def test_each_limit_has_a_case() -> None:
    assert {*SMALL, "mask_bytes"} == {field.name for field in fields(Limits)}


def small_vocabulary() -> Vocabulary:
    return Vocabulary([bytes([value]) for value in range(256)] + [b"abc"], eos=[257], size=258)


@pytest.mark.parametrize("what", SMALL)
def test_each_limit_is_told_by_its_name(what: str) -> None:
    budgets, spec = SMALL[what]
    compile_spec(spec, small_vocabulary())
    with pytest.raises(LimitError) as error:
        compile_spec(spec, small_vocabulary(), Limits(**budgets))
    assert error.value.what == what
    assert error.value.given > error.value.limit == budgets[what]


def test_masks_beyond_their_room_are_built_each_time() -> None:
    spec, vocabulary = Regex("(?:ab{0,3}c?){1,9}[de]{2}"), small_vocabulary()
    kept = compile_spec(spec, vocabulary)
    words = len(kept.mask(0))
    bounded = compile_spec(spec, vocabulary, Limits(mask_bytes=3 * 4 * words))
    none = compile_spec(spec, vocabulary, Limits(mask_bytes=0))
    for state in range(kept.n_states):
        for index in (bounded, none):
            assert (index.mask(state) == kept.mask(state)).all()
            assert not index.mask(state).flags.writeable
        assert kept.mask(state) is kept.mask(state)
    assert sum(mask is not None for mask in bounded.tables._masks) == 3
    assert not any(mask is not None for mask in none.tables._masks)


@pytest.mark.parametrize("value", [True, 1.0, "1", None])
def test_a_budget_is_an_int(value: object) -> None:
    with pytest.raises(TypeError, match="states is an int"):
        Limits(states=value)  # type: ignore[arg-type]


def test_a_budget_is_not_negative() -> None:
    with pytest.raises(ValueError, match="steps is not negative"):
        Limits(steps=-1)


def test_the_same_input_passes_or_fails_whatever_came_before() -> None:
    """Caches hold parts of tools; what they hold is counted as if it were built anew."""
    spec = patterns(40, "^%d(?:(?=.*a.{8}).)*$")
    said = set()
    for _ in range(3):
        with pytest.raises(LimitError) as error:
            compile_spec(Tools(spec), small_vocabulary())
        said.add(error.value.what)
    assert said == {"steps"}


# ---------------------------------------------------------------------------------------------- hostile vocabularies


def test_tokens_of_a_hundred_thousand_bytes() -> None:
    tokens = [bytes([value]) for value in range(256)]
    tokens += [b"a" * 100_000, b"ab" * 50_000, b"a" * 99_999 + b"b", bytes(range(256)) * 390]
    vocabulary = Vocabulary(tokens, eos=[len(tokens)], size=len(tokens) + 1)
    index = compile_spec(Regex("(?s).*z"), vocabulary)
    allowed = set(index.allowed(0).tolist())
    assert {256, 257, 258} <= allowed
    assert 259 not in allowed, "it is no UTF-8"
    assert compile_spec(Regex("(?:ab)*"), vocabulary).next(0, 257) == 0


def test_a_million_tokens_and_duplicates() -> None:
    draw = random.Random(4)
    tokens = [bytes([value]) for value in range(256)]
    tokens += [bytes(draw.choices(b"abcdefgh", k=draw.randint(1, 9))) for _ in range(1_000_000 - 256)]
    started = time.process_time()
    index = compile_spec(Regex("[a-h]{3}"), Vocabulary(tokens, eos=[len(tokens)], size=len(tokens) + 1))
    assert index.allowed(0).tolist() == [
        i for i, token in enumerate(tokens) if len(token) <= 3 and 97 <= min(token) <= max(token) <= 104
    ]
    assert time.process_time() - started < 10


def test_all_tokens_may_be_one() -> None:
    vocabulary = Vocabulary([b"ab"] * 1_000, eos=[1_000], size=1_001)
    index = compile_spec(Regex("(?:ab){2}"), vocabulary)
    assert index.allowed(0).tolist() == list(range(1_000))
    with pytest.raises(VocabularyError, match="no sequence of tokens spells"):
        compile_spec(Regex("aba"), vocabulary)


@pytest.mark.parametrize("size", [2**31, 2**31 + 5, 2**63, 2**70])
def test_sizes_beyond_32_bits_are_refused(size: int) -> None:
    with pytest.raises(VocabularyError, match="too large"):
        Vocabulary([b"a"], size=size)


def test_sizes_that_no_model_has_are_refused() -> None:
    with pytest.raises(LimitError, match="tokens: 2,147,483,647 needed, 4,194,304 allowed"):
        compile_spec(Regex("a"), Vocabulary([b"a"], eos=[2**31 - 2], size=2**31 - 1))


def test_deep_definitions_need_no_recursion() -> None:
    schema: dict[str, object] = {}
    for keyword in ("properties", "items", "anyOf", "allOf", "additionalProperties", "definitions") * 5_000:
        inner = {"type": "object", **schema}
        schema = {
            keyword: {"x": inner} if keyword in ("properties", "definitions") else [inner] if "Of" in keyword else inner
        }
    with pytest.raises(SchemaError):
        Tools([{"name": "f", "parameters": {"type": "object", **schema}}])


def main(chosen: list[str]) -> None:
    """Print the table of docs/limits.md, or measure cases whose names are read one by one."""
    if chosen == ["--serve"]:
        vocabulary()
        for line in sys.stdin:
            print(json.dumps(asdict(measure(CASES[line.rstrip("\n")][1]))), flush=True)
        return
    print("| case | result | CPU seconds | peak MB |\n|---|---|---|---|")
    for name in chosen or CASES:
        outcome = measure(CASES[name][1])
        what = outcome.detail if outcome.kind == INDEX else f"`{outcome.kind}`: {outcome.detail}"
        shown = name.replace("|", "\\|")
        print(f"| `{shown}` | {what} | {outcome.seconds:.2f} | {outcome.megabytes} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
