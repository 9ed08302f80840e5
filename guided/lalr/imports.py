"""Restricts ``%import`` of grammars given as text to the grammars bundled with Lark.

Lark tries its import sources in order, then folders of its own choice: for a relative import, the folder of the running script or the
current one. `packaged_only` is placed after the caller's folders and before Lark's defaults. It serves every import from Lark's package or
refuses it, so that an untrusted text opens no file.
"""

from functools import cache
from importlib.resources import files
from typing import Any

from lark.load_grammar import stdlib_loader

from guided.errors import GrammarError

__all__ = ["packaged_only", "packaged_text"]

_SUFFIX = ".lark"


def packaged_text(name: str) -> str | None:
    """Return the text of a grammar bundled with Lark; None if there is none of this name."""
    return files("lark.grammars").joinpath(name + _SUFFIX).read_text(encoding="utf-8") if name in _names() else None


@cache
def _names() -> tuple[str, ...]:
    entries = (entry.name for entry in files("lark.grammars").iterdir())
    return tuple(sorted(name.removesuffix(_SUFFIX) for name in entries if name.endswith(_SUFFIX)))


def packaged_only(base_path: Any, grammar_path: str) -> tuple[Any, str]:
    """Return the text of a grammar bundled with Lark; an import source for Lark.

    Parameters
    ----------
    base_path : None, str or PackageResource
        None for an absolute import, the folder for a relative one.
    grammar_path : str
        Relative path of the file.

    Raises
    ------
    GrammarError
        Lark's package has no such grammar.
    """
    is_relative = isinstance(base_path, str)
    name = grammar_path.replace("\\", "/").removesuffix(_SUFFIX)
    known = _names()
    if is_relative or name not in known:
        dotted = "." * is_relative + name.replace("/", ".")
        raise GrammarError(
            f"%import {dotted}: a grammar given as text imports no files, only Lark's own grammars ({', '.join(known)}); to import files, "
            "give the grammar as a pathlib.Path, name folders in import_paths, or set allow_files=True",
            dotted,
        )
    return stdlib_loader(None if is_relative else base_path, grammar_path)
