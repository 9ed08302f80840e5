"""Compiles many specs for one vocabulary, in this process or in several.

Each index is written atomically, so an interrupted run leaves only complete files. Processes are spawned and receive the vocabulary once,
at their start; they receive sources instead of specs, because the user's functions cannot be pickled. A spec that fails is an outcome, not
an error of the batch, and so is a process that dies, for example of memory.
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
from guided.interrupts import deferred
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["compile_batch"]


# Why: starting a process takes about a second, as long as some dozens of typical specs.
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
    """Compile outdated specs into a folder; yield the outcomes of all sources as they complete.

    Parameters
    ----------
    sources : sequence of Source
        With distinct names.
    vocabulary : Vocabulary
        Sent to each process once.
    folder : Path
        Destination of the indices, with those of earlier runs.
    jobs : int, optional
        Number of processes; by default one for each 16 specs, at most the number of cores. With one, everything runs in this process.
    explore : int
        Number of states to compute in advance for an index that grows with its texts.
    force : bool
        Also compile specs that are up to date.
    """
    work = _Work(vocabulary, folder, explore)
    entries, due = {} if force else read_manifest(folder), list[tuple[Source, Spec | StackSpec]]()
    for source in sources:
        try:
            spec = _built(source)
        except Exception as error:  # an error of one spec must not affect the others
            yield _failed(source, vocabulary, error)
            continue
        entry = entries.get(source.name)
        if entry is not None and is_up_to_date(
            folder, entry, identity(source.name, source.kind, spec, work.vocabulary, work.explore)
        ):
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
    """The data that all processes of a batch receive."""

    vocabulary: Vocabulary
    folder: Path
    explore: int


def _built(source: Source) -> Spec | StackSpec:
    # Why: a tools module may print when it is imported.
    with contextlib.redirect_stdout(sys.stderr):
        return source.build()


def _compiled(source: Source, spec: Spec | StackSpec, work: _Work) -> Outcome:
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
    return Outcome(
        source.name, COMPILED, {**identity(source.name, source.kind, spec, work.vocabulary, work.explore), **facts}
    )


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
    """Yield outcomes as they complete. If a process dies, each running source is compiled again in a process of its own."""
    waiting, suspects = deque(sources), list[Source]()
    while waiting:
        pool = ProcessPoolExecutor(min(jobs, len(waiting)), multiprocessing.get_context("spawn"), _begin, (work,))
        running: dict[Future[Outcome], Source] = {}
        try:
            # Invariant: at most as many tasks as workers are submitted, so that no task starts after an interrupt.
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
                died = GuidedError("the process died during this compile (out of memory?)")
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
    """Hold Ctrl-C back until the end, and have processes started meanwhile ignore it: a terminal sends it to the whole process group."""
    with deferred():
        if sys.platform == "win32":
            yield
            return
        # Why not SIG_IGN, which they would inherit too: an interrupt of this process would be lost.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


_given: _Work


def _begin(work: _Work) -> None:
    global _given
    _given = work
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Why: partially written files are removed on exit when the batch is interrupted.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())


def _compile(source: Source) -> Outcome:
    try:
        spec = _built(source)
    except Exception as error:  # as above
        return _failed(source, _given.vocabulary, error)
    return _compiled(source, spec, _given)
