"""Searches by their names, for tests of all of them."""

from guided.generate.options import Beam, Rejection, SearchMethod, Smc

__all__ = ["searched"]


def searched(name: str, size: int | None = None) -> SearchMethod | None:
    """Return the search of a name with this many particles, samples or prefixes; None for ``"mask"``."""
    made = {"mask": lambda *_: None, "smc": Smc, "rejection": Rejection, "beam": Beam}[name]
    found: SearchMethod | None = made() if size is None else made(size)
    return found
