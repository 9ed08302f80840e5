"""Reading index files, including those of inventories, which `guided.engine.files` does not import."""

import os

from guided.calls.inventory import Inventory
from guided.engine import files
from guided.engine.files import add_stack_spec, read_index_file
from guided.engine.index import Index
from guided.keywords import suggest_keywords
from guided.limits import Limits
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["load_index", "read_index_file"]

add_stack_spec(Inventory)


@suggest_keywords()
def load_index(
    path: str | os.PathLike[str], vocabulary: Vocabulary, mmap: bool = False, limits: Limits | None = None
) -> Index:
    """Load an index written by `Index.save`.

    Parameters
    ----------
    path : path
        The file.
    vocabulary : Vocabulary
        The vocabulary of the index.
    mmap : bool
        Map the file instead of reading it. Only its header is then checked, so map only files that you wrote yourself (see
        `guided.engine.files.load_index`).
    limits : Limits, optional
        Bounds for the file; the limits stored in it never exceed these. By default the default limits.

    Raises
    ------
    IndexFormatError
        The file is missing, not a regular file, damaged, of another version, compiled for another vocabulary, or exceeds ``limits``.
    TypeError
        ``vocabulary`` is not a Vocabulary, or ``limits`` are not Limits.
    """
    return files.load_index(path, vocabulary, mmap, limits)
