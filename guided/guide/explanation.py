"""Why a token is allowed or not: where its bytes die, and what could have come instead."""

from collections.abc import Sequence
from dataclasses import dataclass

from guided.errors import shown

__all__ = ["Explanation", "describe_bytes", "describe_terminals"]

_MOST_TERMINALS = 12


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """The verdict on one token in one state.

    Attributes
    ----------
    token : int
        The token id.
    data : bytes or None
        Its bytes; None for a token without bytes.
    allowed : bool
        Whether the guide would advance over it.
    accepted_bytes : int
        How many of its bytes can follow the text so far.
    expected : str
        What could come at that place, for people: ranges of characters, or the end of the text.
    reason : str
        The verdict in one sentence.
    terminals : tuple of str
        In a Lark grammar, the terminals that could come at that place: strings in quotes, others by name. Empty elsewhere.
    lexeme_begin : int or None
        There, the byte of the text at which the lexeme under way begins.
    """

    token: int
    data: bytes | None
    allowed: bool
    accepted_bytes: int
    expected: str
    reason: str
    terminals: tuple[str, ...] = ()
    lexeme_begin: int | None = None

    def __repr__(self) -> str:
        return (
            f"Explanation(token={self.token}, data={shown(self.data, 40)}, allowed={self.allowed}, reason={shown(self.reason, 70)}, "
            f"expected={shown(self.expected, 70)})"
        )

    def __str__(self) -> str:
        shown = "no bytes" if self.data is None else repr(self.data)
        verdict = "allowed" if self.allowed else "not allowed"
        return (
            f"token {self.token} ({shown}) is {verdict}: {self.reason}; expected {self.expected}{self.shown_terminals}"
        )

    @property
    def shown_terminals(self) -> str:
        """What a grammar's terminals add to what was expected, for people."""
        return "" if self.lexeme_begin is None else describe_terminals(self.terminals, self.lexeme_begin)


def describe_bytes(values: Sequence[int], *, may_end: bool) -> str:
    """Bytes that may come, as ranges: ``'-', '0' to '9' or the end``."""
    pieces: list[str] = []
    start = previous = -2
    for value in [*values, -2]:
        if value == previous + 1 and (value < 0x80) == (start < 0x80):
            previous = value
            continue
        if start >= 0:
            pieces.append(_range(start, previous))
        start = previous = value
    if may_end:
        pieces.append("the end of the text")
    if not pieces:
        return "nothing"
    return pieces[0] if len(pieces) == 1 else f"{', '.join(pieces[:-1])} or {pieces[-1]}"


def describe_terminals(terminals: Sequence[str], begin: int) -> str:
    """Terminals, as ``, that is "let" or NAME (from byte 4 on)``."""
    if not terminals:
        return ""
    shown = [*terminals[:_MOST_TERMINALS]]
    if len(terminals) > _MOST_TERMINALS:
        shown.append(f"{len(terminals) - _MOST_TERMINALS} more")
    listed = shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"
    return f", that is {listed} (from byte {begin} on)"


def _range(first: int, last: int) -> str:
    if first >= 0x80:
        return f"a character beyond ASCII (bytes {first:#x} to {last:#x})" if first != last else f"the byte {first:#x}"
    shown = [repr(chr(value)) for value in (first, last)]
    if last == first:
        return shown[0]
    return f"{shown[0]}{' and ' if last == first + 1 else ' to '}{shown[1]}"
