"""Cold start, memory and files: what each engine costs before its first mask, and what stays.

    python -m benchmarks.footprint [--repeat N] [--json OUT]

Every number comes from a process of its own (``python -m benchmarks.footprint --child WHAT ...``), so that nothing is
imported, compiled or allocated by another. Times are CPU time of the process, all its threads, the least of the repetitions (what the file
system's cache and neighbours add is not the engine's); memory is resident memory, less what the interpreter, the
engine's modules and the list of token bytes take.
"""

import argparse
import contextlib
import ctypes
import gc
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

__all__ = ["main", "run"]

IMPORTS = {
    "guided": "import guided",
    "guided, all that compile needs": "import guided; guided.compile, guided.Regex, guided.Vocabulary",
    "llguidance": "import llguidance",
    "outlines-core": "import outlines_core",
    "xgrammar": "import xgrammar",
}
ENGINES = ("guided", "llguidance", "outlines-core", "xgrammar")
PATTERN = r'"[^"\\\n]{1,100}"'


def resident() -> float:
    """Resident megabytes of this process now; what the allocator keeps of freed memory is given back first."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def child_import(statement: str) -> dict[str, float]:
    before, begin = resident(), time.process_time()
    exec(statement, {})
    return {"seconds": time.process_time() - begin, "MB": resident() - before}


def child_engine(name: str, vocabulary_name: str) -> dict[str, float]:
    """Set-up over a vocabulary, then the usual patterns: seconds and megabytes of each."""
    from benchmarks import engines, vocabularies
    from benchmarks.definitions import load

    vocabulary = vocabularies.vocabulary(vocabulary_name)
    __import__(engines.module(name))
    usual = [pattern for pattern in load().values() if not pattern.name.startswith("string")]
    before, begin = resident(), time.process_time()
    engine = engines.engine(name, vocabulary)
    found = {"setup_s": time.process_time() - begin, "setup_MB": resident() - before}
    cut, before, begin = vocabularies.Cutter(vocabulary), resident(), time.process_time()
    kept = []
    for pattern in usual:
        compiled = engine.compile(pattern.regex)
        compiled.finish()
        kept.append((compiled, *_walked(compiled, [cut(text) for text in pattern.texts])))
    return found | {"patterns_s": time.process_time() - begin, "patterns_MB": resident() - before}


def _walked(compiled: Any, texts: list[list[int]]) -> tuple[Any, ...]:
    for tokens in texts:
        matcher = compiled.start()
        for token in tokens:
            matcher.mask()
            words = matcher.words()
            if not words[token >> 5] >> (token & 31) & 1:
                break
            matcher.advance(token)
    return ()


def child_first(vocabulary_name: str) -> dict[str, float]:
    """The first compile of a process, and the second."""
    from benchmarks import vocabularies

    vocabulary = vocabularies.vocabulary(vocabulary_name)
    begin = time.process_time()
    import guided

    guided.compile(guided.Regex(PATTERN), vocabulary).guide().mask()
    middle = time.process_time()
    guided.compile(guided.Regex(PATTERN), vocabulary).guide().mask()
    return {"first_s": middle - begin, "second_s": time.process_time() - middle}


def child_files(vocabulary_name: str) -> dict[str, Any]:
    """Sizes of index files, and what it takes to write and read them."""
    import guided
    from benchmarks import vocabularies
    from benchmarks.definitions import load

    vocabulary = vocabularies.vocabulary(vocabulary_name)
    begin = time.process_time()
    vocabulary.fingerprint  # noqa: B018 - computed once
    rows: dict[str, Any] = {"fingerprint_ms": 1e3 * (time.process_time() - begin), "patterns": {}}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index"
        for pattern in load().values():
            index = guided.compile(guided.Regex(pattern.regex), vocabulary)
            times: dict[str, list[float]] = {"save_ms": [], "load_ms": [], "map_ms": [], "mapped_mask_ms": []}
            for _ in range(7):
                times["save_ms"].append(_milliseconds(lambda index=index: index.save(path)))
                times["load_ms"].append(_milliseconds(lambda: guided.load_index(path, vocabulary)))
                times["map_ms"].append(_milliseconds(lambda: guided.load_index(path, vocabulary, mmap=True)))
                times["mapped_mask_ms"].append(
                    _milliseconds(lambda: guided.load_index(path, vocabulary, mmap=True).guide().mask())
                )
            arrays = sum(array.nbytes for array in index.tables.arrays().values())
            masks = len(index.tables.mask_state) * index.mask(0).nbytes
            rows["patterns"][pattern.name] = {
                "states": index.n_states, "masks": len(index.tables.mask_state), "file_bytes": path.stat().st_size,
                "array_bytes": arrays, "mask_bytes": masks, **{name: round(min(found), 3) for name, found in times.items()},
            }  # fmt: skip
    return rows


def _of_children() -> float:
    """CPU seconds of the processes that this one has waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _milliseconds(work: Any) -> float:
    begin = time.process_time()
    work()
    return 1e3 * (time.process_time() - begin)


def measured(*arguments: str, environment: dict[str, str] | None = None) -> dict[str, Any]:
    """What a child process prints."""
    command = [sys.executable, "-m", "benchmarks.footprint", "--child", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | (environment or {}))
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def least(repeat: int, *arguments: str) -> dict[str, Any]:
    """The least of each number over some children."""
    rows = [measured(*arguments) for _ in range(repeat)]
    return {key: round(min(row[key] for row in rows), 4) for key in rows[0]}


def run(repeat: int, vocabulary_name: str) -> dict[str, Any]:
    """The whole record."""
    from benchmarks import machine

    record: dict[str, Any] = {
        "command": " ".join(["python -m benchmarks.footprint", *sys.argv[1:]]), **machine.describe(),
        "vocabulary": vocabulary_name,
    }  # fmt: skip
    record["imports"] = {name: _shown(name, least(repeat, "import", text)) for name, text in IMPORTS.items()}
    record["engines"] = {name: _shown(name, least(repeat, "engine", name, vocabulary_name)) for name in ENGINES}
    with tempfile.TemporaryDirectory() as folder:
        empty = {"NUMBA_CACHE_DIR": folder}
        record["first compile, no cache"] = _shown(
            "first compile, no cache", measured("first", vocabulary_name, environment=empty)
        )
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"NUMBA_CACHE_DIR": folder}
        begin = _of_children()
        command = [sys.executable, "-m", "guided", "warmup", "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        kernels = json.loads(done.stdout)["kernels"]
        size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
        record["warmup"] = {"seconds": _of_children() - begin, "kernels": kernels, "cache_MB": size / 1e6}
        after = measured("first", vocabulary_name, environment={"NUMBA_CACHE_DIR": folder})
        record["first compile, after warmup"] = _shown("first compile, after warmup", after)
    record["files"] = measured("files", vocabulary_name)
    record["load at end"] = machine.load()
    return record


def _shown(name: str, row: dict[str, Any]) -> dict[str, Any]:
    print(f"{name:32}", "  ".join(f"{key} {value:.3f}" for key, value in row.items()), flush=True)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", type=Path, help="write the record here")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        what, *arguments = given.child
        children = {"import": child_import, "engine": child_engine, "first": child_first, "files": child_files}
        print(json.dumps(children[what](*arguments)))
        return
    from benchmarks import machine
    from benchmarks.vocabularies import MAIN

    record = run(given.repeat, MAIN)
    if given.json:
        machine.write(record, given.json)


if __name__ == "__main__":
    main()
