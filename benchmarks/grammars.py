"""Masks of Lark grammars along real texts: ``python -m benchmarks.grammars [--engine NAME ...] [--vocabulary NAME ...] [--json OUT]``.

For each grammar and vocabulary: CPU milliseconds of the spec and of the compile, of the first mask; then a mask and an advance at every
token of texts, cut greedily into the longest tokens, in microseconds of the thread's CPU time: the first pass over the texts; of it the
masks that guided did not have yet (misses); a second pass over the same texts; and the memory that the process grew by. Every token must
be allowed, and the text must be able to end: what is not is counted, not left out. Texts of Python are modules of the standard library
of the Python that runs this.

Each row is made in a process of its own, warmed up with the compile and the masks of JSON. A text of which a token is refused ends there,
unless the engine can go on (SynCode, which is told the whole text at each step).
After ``--seconds`` of CPU time a pass ends where it is; a process that takes four times as long in all is ended, and that is its row.
llguidance takes Lark's syntax with its own meaning, xgrammar an EBNF without a lexer or, with its own meaning, Lark's syntax; what they
refuse is shown with the message. SynCode needs an environment of its own (`benchmarks.grammars_syncode`). `benchmarks.long_texts` has
outputs of 100,000 tokens.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks.clock import no_collection, percentiles
from benchmarks.grammars_engines import NAMES as ENGINES
from benchmarks.grammars_engines import Engine
from benchmarks.grammars_engines import engine as engine_of
from benchmarks.grammars_texts import GRAMMARS, texts_of
from benchmarks.machine import describe, load
from benchmarks.vocabularies import MAIN, NAMES, Cutter, vocabulary

__all__ = ["main"]

# Longer than this the clock on the wall may not run, for each second of CPU time that a process has.
_WALL_FACTOR = 20


def measured(engine: str, name: str, words_name: str, seconds: float) -> dict[str, Any]:
    """The figures of one engine, grammar and vocabulary."""
    words = vocabulary(words_name)
    cut = Cutter(words)
    texts = [cut(text) for text in texts_of(name)]
    before = psutil.Process().memory_info().rss
    try:
        made = engine_of(engine, name, words)
    except ImportError as error:
        return {"refused": f"not installed: {error}"}
    except Exception as error:  # what a peer raises is its answer
        return {"refused": " ".join(str(error).split())[:160] or type(error).__name__}
    first, second = (_pass(made, texts, time.process_time() + seconds) for _ in range(2))
    misses = getattr(made, "misses", None)
    return {
        "spec_ms": made.spec_ms,
        "compile_ms": made.compile_ms,
        "first_ms": first.masks[0] / 1e6,
        "tokens": len(first.masks),
        "tokens_of_texts": sum(map(len, texts)),
        "texts": len(texts),
        "refused_texts": first.refused_texts,
        "refused_tokens": first.refused_tokens,
        "first_pass": percentiles(np.array(first.masks)),
        "misses": None if misses is None else {"count": len(misses), **percentiles(np.array(misses))},
        "second_pass": percentiles(np.array(second.masks)),
        "advance": percentiles(np.array(second.advances)),
        "grown_mb": (psutil.Process().memory_info().rss - before) / 1e6,
    }


@dataclass(slots=True)
class _Pass:
    """Nanoseconds of masks and advances along texts, and what was refused of them."""

    masks: list[int] = field(default_factory=list)
    advances: list[int] = field(default_factory=list)
    refused_texts: int = 0
    refused_tokens: int = 0


def _pass(made: Engine, texts: list[list[int]], end: float) -> _Pass:
    """The texts token by token, until so much CPU time of the process has gone."""
    found = _Pass()
    for tokens in texts:
        step, before = made.start(), found.refused_tokens
        for token in tokens:
            allowed, mask, after = step(token)
            found.masks.append(mask)
            found.advances.append(after)
            found.refused_tokens += not allowed
            if time.process_time() > end or not (allowed or made.goes_on):
                break
        else:
            found.refused_texts += found.refused_tokens == before and not made.end()
        found.refused_texts += found.refused_tokens > before
        if time.process_time() > end:
            break
    return found


def row(engine: str, name: str, words: str, seconds: float) -> dict[str, Any]:
    """The same out of a process of its own, or what became of that."""
    command = [sys.executable, "-m", "benchmarks.grammars", "--row", "--engine", engine, "--grammar", name]
    begin = time.monotonic()
    try:
        done = subprocess.run(
            [*command, "--vocabulary", words, "--seconds", str(seconds)],
            stdout=subprocess.PIPE,
            stderr=None if engine == "guided" else subprocess.DEVNULL,
            cwd=Path(__file__).parent.parent,
            timeout=4 * seconds * _WALL_FACTOR,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"refused": f"over {time.monotonic() - begin:.0f} s by the clock on the wall"}
    lines = done.stdout.splitlines()
    if done.returncode == 0 and lines:
        found: dict[str, Any] = json.loads(lines[-1])
        return found
    return {"refused": f"over {4 * seconds:g} s of CPU time" if done.returncode == -9 else f"exit {done.returncode}"}


def tell(engine: str, name: str, words: str, seconds: float) -> None:
    """What the process of a row does."""
    resource.setrlimit(resource.RLIMIT_CPU, (int(4 * seconds),) * 2)
    # Kernels are loaded, and modules imported, before anything is measured; SynCode's store of JSON takes half a minute by itself.
    if not engine.startswith("syncode"):
        measured(engine, "json", words, 1)
    with no_collection():
        print(json.dumps(measured(engine, name, words, seconds)), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--engine", action="append", choices=ENGINES)
    parser.add_argument("--vocabulary", action="append", choices=NAMES)
    parser.add_argument("--grammar", action="append", choices=GRAMMARS)
    parser.add_argument("--seconds", type=float, default=60, help="CPU time of a pass")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--row", action="store_true", help="one row, in this process")
    given = parser.parse_args()
    engines, vocabularies, names = given.engine or ["guided"], given.vocabulary or [MAIN], given.grammar or GRAMMARS
    if given.row:
        tell(engines[0], names[0], vocabularies[0], given.seconds)
        return
    machine, found = describe(), []
    for words in vocabularies:
        for name in names:
            for engine in engines:
                figures = row(engine, name, words, given.seconds)
                found.append({"engine": engine, "grammar": name, "vocabulary": words, **figures})
                print(json.dumps(found[-1]), flush=True)
    machine["load at end"] = load()
    if given.json is not None:
        given.json.write_text(json.dumps({"machine": machine, "figures": found}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
