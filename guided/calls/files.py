"""Reading index files, those of inventories among them, which `guided.engine.files` alone does not know."""

import os

from guided.calls.inventory import Inventory
from guided.engine import files
from guided.engine.files import add_stack_spec, read_index_file
from guided.engine.index import Index
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["load_index", "read_index_file"]

add_stack_spec(Inventory)


def load_index(path: str | os.PathLike[str], vocabulary: Vocabulary, mmap: bool = False) -> Index:
    """Read an index that `Index.save` wrote.

    Parameters
    ----------
    path : path
        The file.
    vocabulary : Vocabulary
        The one it was compiled for.
    mmap : bool
        Map the file in place of reading it (`guided.engine.files.load_index` has what that means).

    Raises
    ------
    IndexFormatError
        The file is missing, damaged, of another version, or was compiled for another vocabulary.
    TypeError
        ``vocabulary`` is no Vocabulary.
    """
    return files.load_index(path, vocabulary, mmap)
