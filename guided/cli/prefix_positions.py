"""The terminals that a grammar expects at a position of a text, for the commands that show them."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from guided.lalr.prefix_position import PrefixPosition

__all__ = ["position_as_data", "prefix_position_of"]


def prefix_position_of(spec: object, data: bytes) -> "PrefixPosition | None":
    """Return the state of a grammar after a text; None for other specs, and if the lexer rejects the text."""
    prefix_position = getattr(spec, "prefix_position", None)
    found: PrefixPosition | None = None if prefix_position is None else prefix_position(data)
    return found


def position_as_data(position: "PrefixPosition | None") -> dict[str, Any]:
    """Return the state as JSON data."""
    return {} if position is None else {"terminals": list(position.terminals), "lexeme_begin": position.begin}
