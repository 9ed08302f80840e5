"""Sums of a run of MaskBench, and its tables.

A file is *right* when the engine compiles it and every verdict is right; files without instances are right when they compile, and
are counted apart. *Refused* is said before the first mask; every other trouble has a name of its own. That no value satisfies a schema
is no refusal but a verdict over all its instances. A file is counted once, by the worst that befell it, in the order of `VERDICTS`.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.maskbench_engines import NO_VALUE
from benchmarks.tables import milliseconds, table

__all__ = ["BRIEF", "VERDICTS", "brief", "common", "keywords", "report", "source", "summary", "tables", "verdict"]

# Statistics of times: all that a report prints, and those of a table with many engines.
_STATISTICS = ("mean", "p50", "p90", "p99", "p99.9", "max")
BRIEF = ("mean", "p50", "p99")
VERDICTS = ("crashed", "over time", "over memory", "failed", "invalid accepted", "valid rejected", "refused", "right")

# Keywords whose members are schemas by name, and those whose value is a schema or a list of them.
_NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies")
_NESTED = (
    "additionalProperties", "additionalItems", "items", "prefixItems", "contains", "propertyNames", "unevaluatedItems",
    "unevaluatedProperties", "allOf", "anyOf", "oneOf", "not", "if", "then", "else",
)  # fmt: skip
_OTHER = (
    "type", "enum", "const", "required", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength",
    "maxLength",
    "pattern", "format", "minItems", "maxItems", "uniqueItems", "minContains", "maxContains", "minProperties", "maxProperties",
    "dependentRequired", "$ref", "$dynamicRef", "$recursiveRef",
)  # fmt: skip


_TARGETS: dict[str, dict[str, float]] = {
    "first mask, ms": {"p50": 0.5, "p99": 5},
    "mask cold, us": {"mean": 12, "p99": 200, "p99.9": 1000},
    "mask warm, us": {"mean": 3, "p99": 20, "p99.9": 100},
}


def source(name: str) -> str:
    """The collection that a file comes from: Github_hard---o123.json is of Github_hard, BFCL_java_20.json of BFCL_java."""
    return name.partition("---")[0] if "---" in name else re.sub(r"_\d+\.json$", "", name)


def keywords(schema: Any) -> set[str]:
    """The keywords that a schema uses somewhere, `format` and `type` with what they say."""
    found: set[str] = set()
    todo = [schema]
    while todo:
        here = todo.pop()
        if isinstance(here, list):
            todo += here
        if not isinstance(here, dict):
            continue
        for name, value in here.items():
            if name in _NAMED and isinstance(value, dict):
                todo += value.values()
            elif name in _NESTED:
                todo.append(value)
            elif name not in _OTHER:
                continue
            found.add(f"format: {value}" if name == "format" else name)
    return found


def _verdict(content: Mapping[str, Any], found: Mapping[str, Any]) -> tuple[str, list[dict[str, Any]]]:
    """The verdict over a file, and its instances that went wrong."""
    wrong: list[dict[str, Any]] = []
    if found.get("reason") == NO_VALUE:
        wrong = [
            {"test": number, "valid": True, "token": 0, "again": 0, "tokens": -1}
            for number, test in enumerate(content["tests"])
            if test["valid"]
        ]
        return ("valid rejected" if wrong else "right"), wrong
    if "cold" in found:
        places = zip(content["tests"], found["tokens"], found["cold"]["places"], found["warm"]["places"], strict=True)
        for number, (test, tokens, cold, warm) in enumerate(places):
            accepted = cold == tokens + 1
            if accepted != test["valid"] or cold != warm:
                wrong.append({"test": number, "valid": test["valid"], "token": cold, "again": warm, "tokens": tokens})
    if found["status"] != "done":
        return found["status"], wrong
    kinds = {test["valid"] for test in wrong}
    return ("invalid accepted" if False in kinds else "valid rejected" if kinds else "right"), wrong


def verdict(content: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    """One of `VERDICTS`."""
    return _verdict(content, found)[0]


def common(found: Iterable[Mapping[str, Mapping[str, Any]]]) -> set[str]:
    """The names of the files that every engine ran, so that times over them compare the same work."""
    return set.intersection(*({name for name, result in files.items() if "cold" in result} for files in found))


def summary(
    paths: Sequence[Path], found: Mapping[str, Mapping[str, Any]], shared: Set[str] | None = None
) -> dict[str, Any]:
    """All that the record keeps of an engine: counts, tables, times, those of the files ``shared`` by all, and each file's verdict."""
    files: dict[str, dict[str, Any]] = {}
    instances = Counter[str]()
    sources: dict[str, Counter[str]] = {}
    words: dict[str, Counter[str]] = {}
    tested = Counter[str]()
    for path in paths:
        content, result = json.loads(path.read_bytes()), found[path.name]
        kind, wrong = _verdict(content, result)
        files[path.name] = {"verdict": kind} | {
            key: result[key] for key in ("reason", "message", "megabytes", "compile", "first") if result.get(key)
        }
        if "cold" in result:
            files[path.name]["slowest mask, us"] = round(max(result["cold"]["masks"], default=0) / 1e3, 1)
        if wrong:
            files[path.name]["wrong"] = wrong
        if content["tests"]:
            tested[kind] += 1
        if "cold" in result or result.get("reason") == NO_VALUE:
            bad = {test["test"]: test for test in wrong}
            for number, test in enumerate(content["tests"]):
                name = "valid" if test["valid"] else "invalid"
                instances[name] += 1
                instances[f"{name} right"] += number not in bad
        sources.setdefault(source(path.name), Counter())[kind] += 1
        for word in keywords(content["schema"]):
            words.setdefault(word, Counter())[kind] += 1
    kinds = Counter(file["verdict"] for file in files.values())
    return {
        "schemas": {
            **{kind: kinds[kind] for kind in reversed(VERDICTS)},
            "wrong": kinds["invalid accepted"] + kinds["valid rejected"],
        },
        "with instances": {"files": tested.total(), **{kind: tested[kind] for kind in reversed(VERDICTS)}},
        "instances": dict(instances),
        "reasons": dict(Counter(_kind(file) for file in files.values() if file["verdict"] == "refused").most_common()),
        "times": _times(found.values()),
        **({} if shared is None else {"times of common files": _times(found[name] for name in sorted(shared))}),
        "by source": {name: dict(sources[name]) for name in sorted(sources)},
        "by keyword": {name: dict(words[name]) for name in sorted(words)},
        "files": files,
    }


def _kind(file: Mapping[str, Any]) -> str:
    """A refusal's kind, without what is particular to one schema."""
    return re.sub(r"\d+", "0", re.sub(r'"[^"]*"|\'[^\']*\'|`[^`]*`', "...", file.get("reason", "?")))[:70]


def _times(found: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    results = list(found)
    ran = [result for result in results if "cold" in result]
    columns: dict[str, tuple[list[Any], float]] = {
        "compile, ms": ([result["compile"] for result in ran], 1e6),
        "first mask, ms": ([result["first"] for result in ran], 1e6),
    }
    for name in ("cold", "warm"):
        parts = [result[name] for result in ran]
        columns[f"mask {name}, us"] = ([time for part in parts for time in part["masks"]], 1e3)
        columns[f"advance {name}, us"] = ([time for part in parts for time in part["advances"]], 1e3)
        columns[f"instance {name}, ms"] = ([time for part in parts for time in part["totals"]], 1e6)
    columns["resident, MB"] = ([result["megabytes"] for result in results if result.get("megabytes")], 1.0)
    return {name: _statistics(np.array(values, float) / unit) for name, (values, unit) in columns.items()}


def _statistics(values: Any) -> dict[str, float]:
    if not len(values):
        return {"count": 0}
    points = {"p50": 50.0, "p90": 90.0, "p99": 99.0, "p99.9": 99.9, "max": 100.0}
    found = {name: round(float(np.percentile(values, point)), 3) for name, point in points.items()}
    return {"count": len(values), "mean": round(float(values.mean()), 3), **found}


def report(record: Mapping[str, Any]) -> str:
    """The tables of a record, as Markdown."""
    engines: Mapping[str, Any] = record["engines"]
    parts = [
        f"{record['files']:,} files, {record['vocabulary']}, CPU time; at most {record['budget']['seconds']:g} s and "
        f"{record['budget']['megabytes']:,g} MB a file",
        *(f"{name}: {json.dumps(told)}" for name, told in record["options"].items() if told),
        _verdicts(engines),
        _clocks(engines),
        *([_clocks(engines, part="times of common files")] if len(engines) > 1 else []),
    ]
    for name, found in engines.items():
        if found["reasons"]:
            rows = [[reason, f"{count:,}"] for reason, count in list(found["reasons"].items())[:15]]
            parts.append(table([f"{name}: refused", "files"], rows))
        bad = [(file, told) for file, told in found["files"].items() if told["verdict"] not in ("right", "refused")]
        if bad:
            rows = [[file, told["verdict"], _where(told)] for file, told in bad[:40]]
            parts.append(table([f"{name}: trouble in {len(bad)} files", "verdict", "where"], rows))
    parts += [_groups(engines, "by source"), _groups(engines, "by keyword")]
    return "\n\n".join(parts)


def brief(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record without what it tells of single files, sources and keywords; its command without where files were."""
    left_out = ("files", "by source", "by keyword", "reasons")
    engines = {
        name: {key: value for key, value in found.items() if key not in left_out}
        for name, found in record["engines"].items()
    }
    words = iter(record["command"].split())
    command = []
    for word in words:
        if word in ("--json", "--brief"):
            next(words, None)
        else:
            command.append(word.rstrip("/").rpartition("/")[2])
    return {**record, "command": " ".join(command), "engines": engines}


def tables(
    record: Mapping[str, Any], name: str = "maskbench", statistics: Sequence[str] = _STATISTICS
) -> dict[str, str]:
    """What the document shows of a brief record: its command, verdicts, these statistics of times, and guided's times beside their targets.

    The keys begin with the name.
    """
    engines: Mapping[str, Any] = record["engines"]
    times = engines["guided"]["times"]
    rows = []
    for clock, points in _TARGETS.items():
        found = [times[clock][point] for point in points]
        rows.append(
            [
                f"{clock}: {' / '.join(points)}",
                " / ".join(f"{most:g}" for most in points.values()),
                " / ".join(milliseconds(value) for value in found),
                "yes" if all(value <= most for value, most in zip(found, points.values(), strict=True)) else "**no**",
            ]
        )
    return {
        f"{name}_command": record["command"],
        f"{name}_about": f"{record['files']:,} files, {record['vocabulary']}; recorded {record['machine']['date']} at commit "
        f"{record['machine']['commit']}, load average {record['machine']['load at start'][0]} to {record['machine']['load at end'][0]} on "
        f"{record['machine']['cores']} cores",
        f"{name}_targets": table(("what", "target", "measured", "met"), rows),
        f"{name}_verdicts": _verdicts(engines),
        f"{name}_times": _clocks(engines, statistics),
    }


def _where(told: Mapping[str, Any]) -> str:
    shown = [
        f"test {test['test']} ({'valid' if test['valid'] else 'invalid'}) at token {test['token']} of {test['tokens']}"
        for test in told.get("wrong", ())
    ]
    return "; ".join([*filter(None, [told.get("reason")]), *shown[:3], *(["..."] if len(shown) > 3 else [])])


def _verdicts(engines: Mapping[str, Any]) -> str:
    rows = [[kind, *(f"{found['schemas'][kind]:,}" for found in engines.values())] for kind in reversed(VERDICTS)]
    rows.append(
        [
            "right, of those with instances",
            *(
                f"{found['with instances']['right']:,}/{found['with instances']['files']:,}"
                for found in engines.values()
            ),
        ]
    )
    for name in ("valid", "invalid"):
        counts = [found["instances"] for found in engines.values()]
        shares = [f"{count.get(f'{name} right', 0):,}/{count.get(name, 0):,}" for count in counts]
        rows += [[f"{name} instances judged right", *shares]]
    return table(["schemas", *engines], rows)


def _clocks(engines: Mapping[str, Any], statistics: Sequence[str] = _STATISTICS, part: str = "times") -> str:
    names = dict.fromkeys(name for found in engines.values() for name in found[part])
    rows = [[name, *(_cell(found[part][name], statistics) for found in engines.values())] for name in names]
    return table([f"{part}: {' / '.join(statistics)}", *engines], rows)


def _cell(times: Mapping[str, float], statistics: Sequence[str]) -> str:
    if not times["count"]:
        return "-"
    return " / ".join(milliseconds(times[point]) for point in statistics)


def _groups(engines: Mapping[str, Any], key: str) -> str:
    """Files of each group, and for each engine right, refused, and wrong or over the budget."""
    groups = sorted({group for found in engines.values() for group in found[key]})
    rows = []
    for group in groups:
        counts = [found[key].get(group, {}) for found in engines.values()]
        rows.append([group, f"{sum(counts[0].values()):,}", *(_counts(count) for count in counts)])
    return table([f"{key} (right, refused, wrong, over)", "files", *engines], rows)


def _counts(count: Mapping[str, int]) -> str:
    wrong = count.get("invalid accepted", 0) + count.get("valid rejected", 0)
    over = sum(count.get(kind, 0) for kind in ("crashed", "over time", "over memory", "failed"))
    return f"{count.get('right', 0)}, {count.get('refused', 0)}, {wrong}, {over}"
