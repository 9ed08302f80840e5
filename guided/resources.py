"""Bundled Lark grammars: from a name to a file.

A grammar is a data file ``<name>.lark``. In a wheel the files are in ``guided/grammars``; in a checkout (an editable
install) they are in ``grammars`` at its top, beside the package. Only one folder is used: the packaged one
if it exists.

This module finds files. It does not read, parse or cache them.
"""

from pathlib import Path

from guided.errors import GrammarError

__all__ = ["grammar_names", "grammar_path"]

_SUFFIX = ".lark"


def grammar_names() -> tuple[str, ...]:
    """Return the names that `grammar_path` knows, sorted; empty if the grammars are not installed."""
    return tuple(sorted(path.stem for path in _folder().glob(f"*{_SUFFIX}")))


def grammar_path(name: str) -> Path:
    """Return the file of a bundled grammar.

    Parameters
    ----------
    name : str
        Name without folder and suffix, such as ``"json"``.

    Returns
    -------
    Path
        An existing file, absolute.

    Raises
    ------
    GrammarError
        The grammar does not exist; the message lists the available ones.
    """
    # Invariant: only names from the listing reach the file system, so a name cannot lead out of the folder.
    names = grammar_names()
    if name not in names:
        raise GrammarError(f"unknown grammar; bundled grammars are: {', '.join(names) or 'none'}", name)
    return _folder() / f"{name}{_SUFFIX}"


def _folder() -> Path:
    package = Path(__file__).resolve().parent
    packaged = package / "grammars"
    return packaged if packaged.is_dir() else package.parent / "grammars"
