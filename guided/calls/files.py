"""Reading index files, those of inventories among them, which `guided.engine.files` alone does not know."""

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
    """Read an index that `Index.save` wrote.

    Parameters
    ----------
    path : path
        The file.
    vocabulary : Vocabulary
        The one it was compiled for.
    mmap : bool
        Map the file in place of reading it: only its header is checked then, so map only files that you made yourself
        (`guided.engine.files.load_index` has more).
    limits : Limits, optional
        What the file may ask for; its own budgets never exceed these. The defaults if not given.

    Raises
    ------
    IndexFormatError
        The file is missing, not a regular file, damaged, of another version, compiled for another vocabulary, or exceeds ``limits``.
    TypeError
        ``vocabulary`` is not a Vocabulary, or ``limits`` are not Limits.
    """
    return files.load_index(path, vocabulary, mmap, limits)
