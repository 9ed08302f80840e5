"""The terminals that a grammar expects at a position of a text, for the commands that show them."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from guided.lalr.prefix_position import PrefixPosition

__all__ = ["standing_as_data", "standing_of"]


def standing_of(spec: object, data: bytes) -> "PrefixPosition | None":
    """Return the state of a grammar after a text; None for other specs, and if the lexer rejects the text."""
    standing = getattr(spec, "standing", None)
    found: PrefixPosition | None = None if standing is None else standing(data)
    return found


def standing_as_data(standing: "PrefixPosition | None") -> dict[str, Any]:
    """Return the state as JSON data."""
    return {} if standing is None else {"terminals": list(standing.terminals), "lexeme_begin": standing.begin}
