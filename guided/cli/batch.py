"""Compiling many specs for one vocabulary, here or in processes.

Each index is written in one step, so an interrupted run leaves whole files only. Processes are started afresh (spawned) and get the
vocabulary once, at their start; they get sources, not specs, since the user's functions can not be sent. A spec that fails is an
outcome, not an error of the batch; so is a process that dies, of memory for example.
"""

import contextlib
import multiprocessing
import os
import signal
import sys
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from guided.cli.boundary import error_data, error_message
from guided.cli.manifest import (
    COMPILED,
    FAILED,
    UP_TO_DATE,
    Outcome,
    file_name,
    identity,
    is_up_to_date,
    read_manifest,
    sha256_of,
)
from guided.cli.sources import Source
from guided.engine.compile import compile as compile_spec
from guided.engine.index import Index
from guided.engine.specs import Spec, StackSpec
from guided.errors import GuidedError
from guided.index.regular import RegularIndex
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["compile_batch"]


# Why: a process takes about a second to start, as long as some dozens of usual specs take.
_SPECS_FOR_A_PROCESS = 16


def compile_batch(
    sources: Sequence[Source],
    vocabulary: Vocabulary,
    folder: Path,
    jobs: int | None = None,
    *,
    explore: int = 0,
    force: bool = False,
) -> Generator[Outcome]:
    """Compile what is not up to date into a folder; the outcomes of all sources, as they come.

    Parameters
    ----------
    sources : sequence of Source
        With distinct names.
    vocabulary : Vocabulary
        Sent to each process once.
    folder : Path
        Where the indices go, and where those of earlier runs lie.
    jobs : int, optional
        How many processes; by default one for each 16 specs, and no more than cores. With one, all is done here.
    explore : int
        How many states of an index that grows with its texts are made ahead.
    force : bool
        Compile also what is up to date.
    """
    work = _Work(vocabulary, folder, explore)
    entries, due = {} if force else read_manifest(folder), list[tuple[Source, Spec | StackSpec]]()
    for source in sources:
        try:
            spec = _built(source)
        except Exception as error:  # one spec's mistake, or a fault that it meets, is not the others' concern
            yield _failed(source, vocabulary, error)
            continue
        entry = entries.get(source.name)
        if entry is not None and is_up_to_date(folder, entry, _identity(source, spec, work)):
            yield Outcome(source.name, UP_TO_DATE, entry)
        else:
            due.append((source, spec))
    count = jobs or min(-(-len(due) // _SPECS_FOR_A_PROCESS), os.cpu_count() or 1)
    if min(count, len(due)) > 1:
        yield from _in_processes([source for source, _ in due], work, count)
    else:
        yield from (_compiled(source, spec, work) for source, spec in due)


@dataclass(frozen=True, slots=True)
class _Work:
    """What all processes of a batch are given."""

    vocabulary: Vocabulary
    folder: Path
    explore: int


def _identity(source: Source, spec: Spec | StackSpec | None, work: _Work) -> dict[str, Any]:
    found = identity(source.name, source.kind, spec, work.vocabulary)
    return {**found, "explore": work.explore} if isinstance(spec, StackSpec) else found


def _built(source: Source) -> Spec | StackSpec:
    # Why: a module of tools may print.
    with contextlib.redirect_stdout(sys.stderr):
        return source.build()


def _compiled(source: Source, spec: Spec | StackSpec, work: _Work) -> Outcome:
    """Compile one spec, and write its index."""
    path = work.folder / file_name(source.name)
    try:
        index = compile_spec(spec, work.vocabulary)
        if work.explore:
            index.explore(work.explore)
        index.save(path)
        facts = {
            "status": "ok",
            "file": path.name,
            "bytes": path.stat().st_size,
            "sha256": sha256_of(path),
            **_sizes(index),
        }
    except Exception as error:  # as above
        return _failed(source, work.vocabulary, error)
    return Outcome(source.name, COMPILED, {**_identity(source, spec, work), **facts})


def _sizes(index: Index) -> dict[str, int]:
    tables = index.tables
    if isinstance(tables, RegularIndex):
        return {
            "states": index.n_states,
            "functions": len(tables.function_size),
            "masks": len(tables.mask_state),
        }
    masks = {id(tables.known_mask(state)) for state in range(tables.explored)}
    return {"states": tables.explored, "masks": len(masks)}


def _failed(source: Source, vocabulary: Vocabulary, error: Exception) -> Outcome:
    entry = {**identity(source.name, source.kind, None, vocabulary), "status": FAILED, "error": error_data(error)}
    return Outcome(source.name, FAILED, entry, error_message(error))


def _in_processes(sources: Sequence[Source], work: _Work, jobs: int) -> Iterator[Outcome]:
    """The outcomes of sources, as they come. Those at hand when a process dies are compiled again, each in a process of its own."""
    waiting, suspects = deque(sources), list[Source]()
    while waiting:
        pool = ProcessPoolExecutor(min(jobs, len(waiting)), multiprocessing.get_context("spawn"), _begin, (work,))
        running: dict[Future[Outcome], Source] = {}
        try:
            # Invariant: no more is handed out than can run, so that an interrupted process has nothing else to begin.
            while waiting or running:
                while waiting and len(running) < jobs:
                    with _deaf():
                        running[pool.submit(_compile, waiting[0])] = waiting[0]
                    waiting.popleft()
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    yield future.result()
                    del running[future]
        except BrokenProcessPool:
            if jobs > 1:
                suspects += running.values()
            else:
                died = GuidedError("the process died while this was compiled (for lack of memory?)")
                yield from (_failed(source, work.vocabulary, died) for source in running.values())
            running.clear()
        finally:
            if running:
                pool.shutdown(wait=False, cancel_futures=True)
                for child in multiprocessing.active_children():
                    child.terminate()
            pool.shutdown(wait=True)
    for source in suspects:
        yield from _in_processes([source], work, 1)


@contextlib.contextmanager
def _deaf() -> Iterator[None]:
    """Processes that are started meanwhile do not hear Ctrl-C, which reaches all processes of a terminal."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


_given: _Work


def _begin(work: _Work) -> None:
    """Begin a process."""
    global _given
    _given = work
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Why: what is being written when the batch is interrupted is removed on the way out.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())


def _compile(source: Source) -> Outcome:
    """Compile a spec in a process."""
    try:
        spec = _built(source)
    except Exception as error:  # as above
        return _failed(source, _given.vocabulary, error)
    return _compiled(source, spec, _given)
