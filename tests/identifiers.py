"""Identifiers of parametrized tests that are the same in every process, as running them in several needs."""

import re

__all__ = ["shown"]


def shown(item: object) -> str:
    """A value as text, without addresses."""
    return re.sub(r" at 0x[0-9a-f]+", "", str(item))[:50]
