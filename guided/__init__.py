"""Exact by construction: tool calls, JSON, regular expressions and grammars for language models.

The public names are listed once, in ``__init__.pyi``, which type checkers read too. Names are resolved on first use (PEP 562), so
``import guided`` imports neither numpy nor numba nor torch.

Modules are private, also without an underscore, except those that the last line of their package's docstring names (docs/stability.md).

Public modules: `events`, `resources`, `testing`.
"""

import importlib
import os
from typing import Any

__version__ = "0.3.0"


def _read_homes() -> dict[str, str]:
    """Return a dict from public names to the modules that define them."""
    # Read through the loader, so that the package also works from a zip file.
    data: bytes = __spec__.loader.get_data(os.path.join(os.path.dirname(__file__), "__init__.pyi"))  # type: ignore[name-defined]
    lines = (line.split() for line in data.decode().splitlines() if line.startswith("from "))
    return {name: f"guided.{name}" if home == "guided" else home for _, home, _, name, *_ in lines}


_HOMES = _read_homes()

__all__ = [*sorted(_HOMES), "__version__"]  # noqa: PLE0604, RUF100 - the stub is the one list of names


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        from guided.keywords import attribute_elsewhere

        raise AttributeError(f"module 'guided' has no attribute {name!r}{attribute_elsewhere(name, 'guided', _HOMES)}")
    from guided.interrupts import deferred

    # Why: numpy and numba cannot be imported again once Ctrl-C has interrupted their import.
    with deferred():
        home = importlib.import_module(_HOMES[name])
        value = home if _HOMES[name] == f"guided.{name}" else getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
