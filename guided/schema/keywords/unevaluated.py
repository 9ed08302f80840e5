"""``unevaluatedProperties`` and ``unevaluatedItems``."""

from typing import Any

from guided.schema.site import Site

__all__ = ["unevaluated_items", "unevaluated_properties"]


def unevaluated_properties(site: Site, _: Any) -> None:
    """``unevaluatedProperties``."""
    site.unenforced("unevaluatedProperties", "what is evaluated depends on the value")


def unevaluated_items(site: Site, _: Any) -> None:
    """``unevaluatedItems``."""
    site.unenforced("unevaluatedItems", "what is evaluated depends on the value")
