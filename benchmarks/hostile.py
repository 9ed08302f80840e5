"""Hostile inputs, measured: the tables of docs/limits.md and docs/limits_record.md.

``python -m benchmarks.hostile`` prints them: the limits, what comes of each large or exploding spec (CPU time, peak of memory), what
calls cost on indices of hostile schemas (`benchmarks.hostile_calls`), and what comes of random hostile inputs.
``--fuzz SECONDS`` is how much CPU time these get (600 by default, 0 for none), ``--seed`` the
first seed, ``--write`` puts the tables into the documents.

Every spec is compiled in a process of its own (`tests.hostile_specs`); random inputs come from `tests.hostile` and are judged by
`tests.test_hostile`.
"""

import argparse
import re
import sys
from collections import Counter
from dataclasses import fields
from inspect import getdoc
from pathlib import Path

from benchmarks import machine
from benchmarks.hostile_calls import calls_table
from guided.limits import Limits

__all__ = ["DOCUMENT", "RECORD", "limits_table", "main"]

DOCUMENT = Path(__file__).parent.parent / "docs" / "limits.md"
RECORD = DOCUMENT.with_name("limits_record.md")

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
    "call_steps": "lower `minProperties`, or `minItems` with `uniqueItems`; fewer `oneOf`, `not` and `contains` about one value",
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
    "listed_values": "fewer values in `enum`, smaller ranges; no `uniqueItems`",
    "listed_depth": "values that nest less deep; no `uniqueItems`",
    "whitespace_states": '`whitespace="flexible"` or `"compact"`',
    "configurations": '`additional_properties=False`, shorter strings and numbers, `whitespace="compact"`; `eager=False`',
    "readings": "terminals that differ earlier",
}


def limits_table() -> list[str]:
    """The limits with their defaults, in the words of their own documentation, and the CPU times of the record."""
    text = getdoc(Limits) or ""
    said = dict(re.findall(r"^(\w+) : int\n((?: {4}.*\n?)+)", text, flags=re.MULTILINE))
    seconds = _most_seconds(RECORD.read_text(encoding="utf-8"))
    rows = ["| limit | default | counts | CPU s | if exceeded | what to do |", "|---|---|---|---|---|---|"]
    for field in fields(Limits):
        counts = " ".join(said[field.name].split()).replace("``", "`")
        outcome = {
            "mask_bytes": "no error",
            "call_steps": "`LimitError`; `mask_within` excludes undecided tokens",
            "growth_bytes": "`LimitError` only for a text that alone takes three quarters of it",
            "configurations": '`LimitError`; no error with `eager="auto"`',
            "encoding_steps": "the token counts as a dead end; `VocabularyError` if no text is found",
            "unevaluated_cases": '`SchemaError`; a note with `unsupported="record"`',
            "lookahead": "`GrammarError`",
            "dead_end_steps": "`LimitError`, or a note: dead ends are possible",
            "dead_end_configurations": "the text counts as one that can be completed",
            "file_bytes": "`IndexFormatError`, or the reader's error",
        }.get(field.name, "`LimitError`")
        took = f"{seconds[field.name]:.1f}" if field.name in seconds else "-"
        rows.append(
            f"| `{field.name}` | {field.default:,} | {counts} | {took} | {outcome} | {ADVICE.get(field.name, '')} |"
        )
    return rows


def _most_seconds(record: str) -> dict[str, float]:
    """For each limit, the most CPU time that an input of the record takes until it exceeds the limit."""
    specs = re.findall(r"\| `LimitError`: (\w+): .*?\| ([\d.]+) \|", record)
    calls = [(what, took) for took, what in re.findall(r"\| ([\d.]+) `LimitError`: `(\w+)`", record)]
    found: dict[str, float] = {}
    for what, took in specs + calls:
        found[what] = max(found.get(what, 0.0), float(took))
    return found


def specs_table() -> list[str]:
    """What comes of each spec, CPU seconds and peak of memory."""
    from tests.hostile_specs import CASES, INDEX, measure

    rows = ["| spec | outcome | CPU seconds | peak MB |", "|---|---|---:|---:|"]
    for name, (_, make) in CASES.items():
        outcome = measure(make)
        # The allowed number is in the table of limits, and the advice of an error in the error.
        detail = re.sub(r", [\d,]+ allowed$", "", outcome.detail)
        detail = detail.partition(": ")[0] if outcome.kind == "GrammarError" else detail
        what = detail if outcome.kind == INDEX else f"`{outcome.kind}`: {detail}"
        shown = name.replace("|", "\\|")
        rows.append(f"| `{shown}` | {what} | {outcome.seconds:.2f} | {outcome.megabytes} |")
        print(rows[-1], file=sys.stderr)
    return rows


def fuzz_table(seconds: float, seed: int) -> list[str]:
    """Kinds of inputs, how many were tried, what came of them."""
    from tests.test_hostile import run

    results: Counter[str] = Counter()
    findings, spent, first = [], 0.0, seed
    while spent < seconds:
        some, found, took = run(seed, 500, 300)
        results, spent, seed = results + some, spent + took, seed + 1
        findings += found
        print(f"{results.total():,} inputs, {spent:.0f} s, {len(findings)} findings", file=sys.stderr)
    for finding in findings:
        print(finding, file=sys.stderr)
    kinds = sorted({name.partition(": ")[0] for name in results})
    rows = ["| kind | inputs | results | typed errors |", "|---|---:|---:|---|"]
    for kind in kinds:
        mine = {name.partition(": ")[2]: count for name, count in results.items() if name.startswith(f"{kind}: ")}
        n_results = mine.pop("result", 0)
        errors = ", ".join(f"{name} {count:,}" for name, count in sorted(mine.items()))
        total = n_results + sum(mine.values())
        rows.append(f"| {kind.replace('_', ' ')} | {total:,} | {n_results:,} | {errors or 'none'} |")
    total, tail = results.total(), f"seeds {first} to {seed - 1} of 500 inputs each"
    rows += ["", f"{total:,} inputs in {spent:.0f} s of CPU, {len(findings)} findings ({tail})."]
    return rows


def about() -> list[str]:
    """Where the figures were taken."""
    from tests.hostile_specs import slowness

    found = machine.describe()
    words = f"{found['processor']}, {found['cores']} cores shared with other work (load {found['load at start'][0]})"
    return [
        f"Taken on {found['date'][:10]}: {words}, Python {found['python']}, numba {found['versions']['numba']}. "
        f"The machine takes {slowness():.2f} times as long as the one that the tests' limits are for."
    ]


def main() -> int:
    """Print the tables, or put them into the documents."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--fuzz", type=float, default=600, metavar="SECONDS", help="CPU time for random inputs")
    parser.add_argument("--seed", type=int, default=1, help="the first seed of the random inputs")
    parser.add_argument("--only", choices=("limits", "specs", "calls", "fuzz"), help="one table")
    parser.add_argument(
        "--write", action="store_true", help="put the tables into docs/limits.md and docs/limits_record.md"
    )
    chosen = parser.parse_args()
    tables: dict[str, list[str]] = {}
    if chosen.only in (None, "limits"):
        tables["limits"] = limits_table()
    if chosen.only in (None, "specs"):
        tables["about"] = about()
        tables["specs"] = specs_table()
    if chosen.only in (None, "calls"):
        tables["calls"] = calls_table(done=lambda row: print(row, file=sys.stderr))
    if chosen.only in (None, "fuzz") and chosen.fuzz > 0:
        tables["fuzz"] = fuzz_table(chosen.fuzz, chosen.seed)
    for name, rows in tables.items():
        table = "\n".join(rows)
        if chosen.write:
            document = DOCUMENT if name == "limits" else RECORD
            begin, end = f"<!-- {name} -->\n", f"\n<!-- end of {name} -->"
            before, _, rest = document.read_text(encoding="utf-8").partition(begin)
            document.write_text(before + begin + table + end + rest.partition(end)[2], encoding="utf-8")
        else:
            print(table, end="\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
