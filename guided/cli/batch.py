"""Compiles many specs for one vocabulary.

Each index is written atomically, so an interrupted run leaves only complete files. A spec that fails is an outcome, not an error of the
batch.
"""

import contextlib
import sys
from collections.abc import Iterator, Sequence
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
from guided.index.regular import RegularIndex
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["compile_batch"]


def compile_batch(
    sources: Sequence[Source], vocabulary: Vocabulary, folder: Path, *, explore: int = 0, force: bool = False
) -> Iterator[Outcome]:
    """Compile outdated specs into a folder; yield the outcome of each source.

    Parameters
    ----------
    sources : sequence of Source
        With distinct names.
    vocabulary : Vocabulary
    folder : Path
        Destination of the indices, with those of earlier runs.
    explore : int
        Number of states to compute in advance for an index that grows with its texts.
    force : bool
        Also compile specs that are up to date.
    """
    entries = {} if force else read_manifest(folder)
    for source in sources:
        try:
            # Why: a tools module may print when it is imported.
            with contextlib.redirect_stdout(sys.stderr):
                spec = source.build()
            current = identity(source.name, source.kind, spec, vocabulary, explore)
            entry = entries.get(source.name)
            if entry is not None and is_up_to_date(folder, entry, current):
                outcome = Outcome(source.name, UP_TO_DATE, entry)
            else:
                path = folder / file_name(source.name)
                index = compile_spec(spec, vocabulary)
                if explore:
                    index.explore(explore)
                index.save(path)
                written = {"status": "ok", "file": path.name, "bytes": path.stat().st_size, "sha256": sha256_of(path)}
                outcome = Outcome(source.name, COMPILED, {**current, **written, **_sizes(index)})
        except Exception as error:  # an error of one spec must not affect the others
            failed = {**identity(source.name, source.kind, None, vocabulary), "status": FAILED}
            outcome = Outcome(source.name, FAILED, {**failed, "error": error_data(error)}, error_message(error))
        yield outcome


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
