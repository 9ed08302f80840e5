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
        Map the file instead of reading it: opening takes the same time for any size, and processes share its memory. Only the header and
        the shapes of the arrays are checked, so map only files from a trusted source. Never overwrite a mapped file in place: the process
        would end with SIGBUS (`Index.save` replaces files, which is safe).
    limits : Limits, optional
        Bounds the size of the tables. Each budget of the index is the smaller of this one and the file's own. Defaults apply if not given,
        so an index compiled with larger limits needs them here again.

    Raises
    ------
    IndexFormatError
        The file is missing, not a regular file, damaged, of another version, compiled for another vocabulary, or exceeds ``limits``.
    TypeError
        ``vocabulary`` is not a Vocabulary, or ``limits`` are not Limits.
    """
    return files.load_index(path, vocabulary, mmap, limits)
