"""Where ``%import`` may look when a grammar is given as text: nowhere but among the grammars that come with Lark.

Lark tries its import sources in order, then folders of its own choice: for a relative import that of the running script or the
current one. `packaged_only` stands behind the folders that the caller names and before those: it answers every import from Lark's
package or refuses it, so that a text that strangers wrote opens no file.
"""

from importlib.resources import files
from typing import Any

from lark.load_grammar import stdlib_loader

from guided.errors import GrammarError

__all__ = ["packaged_only"]

_SUFFIX = ".lark"


def packaged_only(base_path: Any, grammar_path: str) -> tuple[Any, str]:
    """The text of an imported grammar of Lark's package, as an import source of Lark.

    Parameters
    ----------
    base_path : None, str or PackageResource
        None for an absolute import, the folder for a relative one.
    grammar_path : str
        Path of the file, relative.

    Raises
    ------
    GrammarError
        It is no grammar of Lark's package.
    """
    is_relative = isinstance(base_path, str)
    name = grammar_path.replace("\\", "/").removesuffix(_SUFFIX)
    known = sorted(
        entry.name.removesuffix(_SUFFIX) for entry in files("lark.grammars").iterdir() if entry.name.endswith(_SUFFIX)
    )
    if is_relative or name not in known:
        dotted = "." * is_relative + name.replace("/", ".")
        raise GrammarError(
            f"%import {dotted}: a grammar given as text imports no files, only Lark's own grammars ({', '.join(known)}); to import files, "
            "give the grammar as a pathlib.Path, name folders in import_paths, or set allow_files=True",
            dotted,
        )
    return stdlib_loader(None if is_relative else base_path, grammar_path)
