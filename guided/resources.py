"""The Lark grammars that come with the package: from a name to a file.

A grammar is a data file ``<name>.lark``. In a wheel the files lie in ``guided/grammars``; in a checkout (an editable
install) they lie in ``grammars`` at its top, beside the package. One folder is used, never a mixture: the packaged one
when there is one.

This module finds files. It does not read, parse or cache them.
"""

from pathlib import Path

from guided.errors import GrammarError

__all__ = ["grammar_names", "grammar_path"]

_SUFFIX = ".lark"


def grammar_names() -> tuple[str, ...]:
    """The names that `grammar_path` knows, sorted; empty when the grammars are not installed."""
    return tuple(sorted(path.stem for path in _folder().glob(f"*{_SUFFIX}")))


def grammar_path(name: str) -> Path:
    """The file of a grammar that comes with the package.

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
        No such grammar; the message lists those there are.
    """
    # Invariant: only names from the listing reach the file system, so a name can not lead out of the folder.
    names = grammar_names()
    if name not in names:
        raise GrammarError(f"no grammar of this name; there are: {', '.join(names) or 'none'}", name)
    return _folder() / f"{name}{_SUFFIX}"


def _folder() -> Path:
    package = Path(__file__).resolve().parent
    packaged = package / "grammars"
    return packaged if packaged.is_dir() else package.parent / "grammars"
