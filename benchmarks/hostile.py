"""Hostile inputs at full size: what each costs, and the tables of docs/limits.md and record/hostile.md. ``make hostile`` runs it.

Each row of `tests.hostile.table`, and each random spec (`tests.hostile.random_specs`), goes to all entries (`tests.hostile.client`) in a
process of its own, whose CPU time and memory are capped: once with the default limits over a real vocabulary, once as a request under the
limits of a server's front end. The costs are CPU seconds of one call, and the memory by which the process grows.

It prints a line for each input, then the ten worst by each cost, and exits with 1 where a call or the memory exceeds its bound, an input
that people write is refused, a random spec compiles and exceeds a limit in a text, or something is neither a result nor a typed error.

``--random N`` is the number of random specs of each kind, ``--seed`` their first number, ``--only REGEX`` takes the rows in whose names the
expression is found, ``--jobs N`` sends N inputs at a time, ``--write`` puts the tables into the documents.
"""

import argparse
import gc
import json
import os
import random
import re
import resource
import select
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from inspect import getdoc
from itertools import islice
from pathlib import Path

from benchmarks import machine
from guided.generate.warming import warm
from guided.integrations.serving import FRONT_END_LIMITS
from guided.limits import Limits
from guided.vocabulary.vocabulary import Vocabulary
from tests.hostile.client import Attack, Client, Endless, limits_over, seconds
from tests.hostile.random_specs import KINDS, attack
from tests.hostile.table import ROWS
from tests.real_vocabularies import real_vocabulary

__all__ = ["DOCUMENT", "RECORD", "limits_table", "main"]

DOCUMENT = Path(__file__).parent.parent / "docs" / "limits.md"
RECORD = Path(__file__).parent / "record" / "hostile.md"
# Bounds: CPU seconds of one call with the default limits and of one check of a server, and megabytes of an input.
CALL_SECONDS, CHECK_SECONDS, MEGABYTES = 2.0, 0.7, 850
# Caps of an input: CPU seconds, and megabytes by which the address space of its process grows.
_CPU_CAP, _MEMORY_CAP = 120, 8 << 10

# What to do where a limit is passed.
ADVICE = {
    "pattern_length": "`Choice` for lists of texts; a shorter pattern",
    "depth": "fewer groups within groups",
    "intervals": "fewer Unicode classes; `(?a)` where ASCII will do",
    "nfa_states": "lower counts, fewer or shorter texts",
    "states": "lower counts; no `.*` before long counts; another language",
    "transitions": "lower counts of Unicode classes (`[a-z]` for `\\w`); fewer different sets",
    "encoding_steps": '`tokenization="any"`; a higher limit for long texts with hardly any choice',
    "prefixes": "a higher `tolerance`",
    "steps": "less ambiguity: fewer `.*`, lookaheads, intersections, complements",
    "tokens": "check the width of the logits",
    "token_length": "check the vocabulary",
    "index_bytes": "as for `transitions`",
    "mask_bytes": "nothing; a higher one makes repeated masks faster",
    "call_steps": "lower `minProperties` or `minItems`; fewer `oneOf`, `not` and `contains` about one value",
    "growth_bytes": "nothing; a higher one makes long and many different texts faster",
    "file_bytes": "a higher limit if you trust the file",
    "assertion_depth": "use fewer nested lookaheads",
    "schema_depth": "`$ref` to a definition",
    "schema_parts": "the same part in fewer places",
    "reference_depth": "fewer schemas within `allOf`, `anyOf`, `not` and `$ref` of each other",
    "composition_depth": "fewer compositions within compositions",
    "grammar_symbols": "fewer terminals and rules",
    "unevaluated_cases": "fewer `anyOf`, `oneOf` and `if` beside the keyword",
    "lookahead": "shorter lookaheads",
    "dead_end_steps": "fewer conflicts and overlapping terminals",
    "dead_end_configurations": "as for `dead_end_steps`",
    "pushes": "rules that nest less per token; a higher limit",
    "digits": "smaller numbers",
    "names": "`additionalProperties` instead of thousands of names",
    "enum_containers": "`properties` and `prefixItems` with an `enum` each",
    "listed_values": "fewer values in `enum`, smaller ranges; no `uniqueItems`",
    "listed_depth": "values that nest less deep; no `uniqueItems`",
    "whitespace_states": '`whitespace="flexible"` or `"compact"`',
    "configurations": '`additional_properties=False`, shorter strings and numbers, `whitespace="compact"`; `eager=False`',
    "readings": "terminals that differ earlier",
}


def limits_table() -> list[str]:
    """The limits with their defaults, and those of a server's checks where they differ, in the words of their own documentation."""
    text = getdoc(Limits) or ""
    said = dict(re.findall(r"^(\w+) : int\n((?: {4}.*\n?)+)", text, flags=re.MULTILINE))
    rows = ["| limit | default | in servers | counts | what to do |", "|---|---:|---:|---|---|"]
    for field in fields(Limits):
        counts = " ".join(said[field.name].split()).replace("``", "`")
        outcome = {
            "mask_bytes": "no error",
            "call_steps": "`LimitError`; `mask_within` excludes undecided tokens",
            "growth_bytes": "`LimitError` if one text needs three quarters of it, known at compile for strings, names and terminals",
            "configurations": '`LimitError`; no error with `eager="auto"`',
            "encoding_steps": "the token counts as a dead end; `VocabularyError` if no text is found",
            "unevaluated_cases": '`SchemaError`; a note with `unsupported="record"`',
            "lookahead": "`GrammarError`",
            "dead_end_steps": "`LimitError`, or a note: dead ends are possible",
            "dead_end_configurations": "the text counts as one that can be completed",
            "file_bytes": "`IndexFormatError`, or the reader's error",
        }.get(field.name)
        beyond = f" *Beyond:* {outcome}." if outcome else ""
        in_servers = getattr(FRONT_END_LIMITS, field.name)
        lower = f"{in_servers:,}" if in_servers != field.default else ""
        rows.append(
            f"| `{field.name}` | {field.default:,} | {lower} | {counts}{beyond} | {ADVICE.get(field.name, '')} |"
        )
    return rows


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an input.

    Attributes
    ----------
    name : str
    has_index : bool
        Whether it gave an index.
    compile, call, server : float
        CPU seconds: of making the spec and its index, of the slowest other call, and of a server's check.
    slowest : str
        The slowest other call.
    stopped : dict of str to float
        Limits and errors that ended calls, with the most CPU seconds of such a call.
    megabytes : int
    finding : str
        What was neither a result nor a typed error.
    in_text : list of str
        Calls of its index that exceeded a limit, each with the limit.
    """

    name: str
    has_index: bool
    compile: float
    call: float
    server: float
    slowest: str
    stopped: dict[str, float]
    megabytes: int
    finding: str
    in_text: list[str]


@dataclass(frozen=True, slots=True)
class Run:
    """An input in a process of its own: its name, the process, and the end of a pipe that its outcome comes from."""

    name: str
    process: int
    pipe: int

    @classmethod
    def of(cls, name: str, make: Callable[[], Attack], tokens: Vocabulary) -> "Run":
        """Start it."""
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                resource.setrlimit(resource.RLIMIT_CPU, (_CPU_CAP, _CPU_CAP))
                most = (_megabytes("VmSize") + _MEMORY_CAP) << 20
                resource.setrlimit(resource.RLIMIT_AS, (most, most))
                os.write(writer, json.dumps(asdict(_sent(name, make, tokens))).encode())
            finally:
                os._exit(0)
        os.close(writer)
        return cls(name, child, reader)

    def outcome(self) -> Outcome:
        """Wait for its end."""
        with os.fdopen(self.pipe, encoding="utf-8") as pipe:
            said = pipe.read()
        _, status = os.waitpid(self.process, 0)
        if said:
            return Outcome(**json.loads(said))
        return Outcome(self.name, False, _CPU_CAP, 0, 0, "", {}, 0, f"it ended with {status}", [])


def outcomes_of(todo: Iterable[tuple[str, Callable[[], Attack]]], tokens: Vocabulary, jobs: int) -> Iterator[Outcome]:
    """Send the inputs, ``jobs`` at a time; the outcomes come as the processes end."""
    waiting, running = iter(todo), dict[int, Run]()
    while True:
        for name, make in islice(waiting, jobs - len(running)):
            started = Run.of(name, make, tokens)
            running[started.pipe] = started
        if not running:
            return
        for pipe in select.select(list(running), [], [])[0]:
            yield running.pop(pipe).outcome()


def _sent(name: str, make: Callable[[], Attack], tokens: Vocabulary) -> Outcome:
    before, finding = _megabytes("VmRSS"), ""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    client = Client(seconds, Limits(), FRONT_END_LIMITS, tokens)
    try:
        client.send(make(), random.Random(name))
    except (Exception, Endless) as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        finding = f"{type(error).__name__}: {str(error)[:200]} at {place.filename}:{place.lineno}"
    most, stopped = {"compile": 0.0, "server": 0.0, "call": 0.0}, dict[str, float]()
    slowest, has_index, in_text = "", False, dict[str, None]()
    for cost in client.costs:
        kind = {"make": "compile", "compile": "compile", "server": "server"}.get(cost.entry, "call")
        has_index = has_index or (cost.entry == "compile" and not cost.outcome)
        slowest = cost.entry if kind == "call" and cost.cost > most["call"] else slowest
        most[kind] = max(most[kind], cost.cost)
        if cost.outcome:
            stopped[cost.outcome] = max(stopped.get(cost.outcome, 0.0), cost.cost)
            # Limits are named by fields, other errors by classes.
            in_text |= {f"{cost.entry}: {cost.outcome}": None} if has_index and cost.outcome.islower() else {}
    return Outcome(
        name,
        has_index,
        **most,
        slowest=slowest,
        stopped=stopped,
        megabytes=_megabytes("VmHWM") - before,
        finding=finding,
        in_text=list(in_text),
    )


def _megabytes(field: str) -> int:
    """Memory of this process: VmRSS, what it has now, VmHWM, the peak, or VmSize, the address space."""
    (found,) = re.findall(rf"{field}:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"))
    return int(found) // 1024


def table(outcomes: Iterable[Outcome]) -> list[str]:
    """A row for each input."""
    rows = [
        "| input | gives | compile, s | slowest call, s | server, s | MB | ended by, s |",
        "|---|---|---:|---:|---:|---:|---|",
    ]
    for one in outcomes:
        ended = ", ".join(f"`{what}` {took:.2f}" for what, took in one.stopped.items())
        gives = "an index" if one.has_index else "an error"
        rows.append(
            f"| {one.name.replace('|', chr(92) + '|')} | {gives} | {one.compile:.2f} | {one.call:.2f} {one.slowest} | {one.server:.2f} | "
            f"{one.megabytes} | {ended} |"
        )
    return rows


def merged(rows: list[str]) -> list[str]:
    """Return the record's table with these rows; those of other inputs stay, so that parts can be measured by themselves."""
    known = (
        RECORD.read_text(encoding="utf-8")
        .partition("<!-- inputs -->\n")[2]
        .partition("<!-- end of inputs -->")[0]
        .splitlines()
    )
    by_input = {row.partition(", n = ")[0]: row for row in [*known, *rows]}
    names = (f"| {name.replace('|', chr(92) + '|')}" for name in ROWS)
    return [*rows[:2], *(by_input[name] for name in names if name in by_input)]


def excess(one: Outcome) -> str:
    """Why an outcome is one too many; empty if it is not."""
    row = ROWS.get(one.name.rpartition(", n = ")[0])
    bounds = {
        "compile": (one.compile, CALL_SECONDS), one.slowest: (one.call, CALL_SECONDS), "server": (one.server, CHECK_SECONDS),
        "megabytes": (one.megabytes, MEGABYTES),
    }  # fmt: skip
    found = [f"{name}: {given:.1f} of {most}" for name, (given, most) in bounds.items() if given > most]
    # Why not of rows: some show what ends in a text (docs/limits.md).
    found += one.in_text if row is None else []
    found += ["refused"] if row is not None and row.is_fine and not one.has_index else []
    return "; ".join([one.finding] * bool(one.finding) + found)


def worst(outcomes: list[Outcome]) -> list[str]:
    """The ten worst by each cost."""
    shown = []
    for name in ("compile", "call", "server", "megabytes"):
        shown += ["", f"most {name}:"]
        for one in sorted(outcomes, key=lambda one, name=name: -getattr(one, name))[:10]:
            cost = getattr(one, name)
            shown.append(
                f"  {cost if name == 'megabytes' else f'{cost:.2f}'}  {one.name}{f' ({one.slowest})' if name == 'call' else ''}"
            )
    return shown


def random_table(outcomes: list[Outcome]) -> list[str]:
    """A row for each kind of random spec: how many, how many indices, and the worst of each cost."""
    rows = [
        "| kind | inputs | indices | compile, s | call, s | server, s | MB |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for kind in KINDS:
        mine = [one for one in outcomes if one.name.startswith(f"random {kind} ")]
        if mine:
            most = [max(getattr(one, name) for one in mine) for name in ("compile", "call", "server")]
            costs = " | ".join(f"{cost:.2f}" for cost in most)
            rows.append(
                f"| {kind} | {len(mine):,} | {sum(one.has_index for one in mine):,} | {costs} | {max(one.megabytes for one in mine)} |"
            )
    return rows


def about() -> str:
    """Where the figures were taken."""
    found = machine.describe()
    words = f"{found['processor']}, {found['cores']} cores shared with other work (load {found['load at start'][0]})"
    return f"Taken on {found['date'][:10]}: {words}, Python {found['python']}, numba {found['versions']['numba']}."


def write(name: str, rows: list[str]) -> None:
    """Put a table into its document."""
    document = DOCUMENT if name == "limits" else RECORD
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    before, _, rest = document.read_text(encoding="utf-8").partition(begin)
    document.write_text(before + begin + "\n".join(rows) + "\n" + end + rest.partition(end)[2], encoding="utf-8")


def main() -> int:
    """Send the inputs; print what each costs, and the worst."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", metavar="REGEX", help="rows in whose names it is found")
    parser.add_argument("--random", type=int, default=0, metavar="N", help="random specs of each kind")
    parser.add_argument("--seed", type=int, default=1, help="the number of the first random spec")
    parser.add_argument("--kinds", default=",".join(KINDS), help="kinds of the random specs")
    parser.add_argument(
        "--jobs", type=int, default=1, help="inputs at a time; times are comparable where each has a core of its own"
    )
    parser.add_argument("--vocabulary", default="llama3-128k", help="a name of tests.real_vocabularies")
    parser.add_argument(
        "--write", action="store_true", help="put the tables into docs/limits.md and benchmarks/record/hostile.md"
    )
    chosen = parser.parse_args()
    warm(lambda _: None)
    tokens = real_vocabulary(chosen.vocabulary)
    for kind in KINDS:
        for number in range(3):
            # What the first specs of a kind load is not their successors' price.
            Client(seconds, limits_over(30), limits_over(30), tokens, 2).send(
                attack(kind, random.Random(number), is_large=False), random.Random(1)
            )
    gc.freeze()
    todo = [
        (f"{name}, n = {row.full:,}", lambda row=row: row.attack(row.full))
        for name, row in ROWS.items()
        if re.search(chosen.only, name)
    ]
    for kind in chosen.kinds.split(",") if chosen.random else ():
        for number in range(chosen.seed, chosen.seed + chosen.random):
            draw = random.Random(f"{kind} {number}")
            todo.append(
                (
                    f"random {kind} {number}",
                    lambda kind=kind, draw=draw, odd=number % 2 == 1: attack(kind, draw, is_large=odd),
                )
            )
    outcomes, too_many, begun = [], list[str](), time.monotonic()
    for count, one in enumerate(outcomes_of(todo, tokens, chosen.jobs), start=1):
        outcomes.append(one)
        why = excess(one)
        too_many += [f"{one.name}: {why}"] * bool(why)
        took = f"compile {one.compile:.2f} s, {one.slowest or 'call'} {one.call:.2f} s, server {one.server:.2f} s, {one.megabytes} MB"
        print(
            f"[{count}/{len(todo)}, {time.monotonic() - begun:.0f} s] {one.name}: {took}{f'  TOO MUCH: {why}' if why else ''}",
            flush=True,
        )
    print("\n".join(worst(outcomes)))
    rows, drawn = (
        [one for one in outcomes if one.name.startswith("random ") == is_random] for is_random in (False, True)
    )
    if chosen.write:
        write("about", [about()])
        if rows:
            write("inputs", merged(table(rows)))
            write("limits", limits_table())
        if drawn:
            write("random", random_table(drawn))
    elif drawn:
        print("", *random_table(drawn), sep="\n")
    print("", f"{len(outcomes):,} inputs, {len(too_many)} too much", *too_many, sep="\n")
    return 1 if too_many else 0


if __name__ == "__main__":
    sys.exit(main())
