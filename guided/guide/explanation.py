"""Explanations of why a token is allowed or rejected: the byte at which it fails, and what was expected there."""

from collections.abc import Sequence
from dataclasses import dataclass

from guided.errors import shown

__all__ = ["Explanation", "describe_bytes", "describe_terminals"]

_TERMINALS_SHOWN = 12


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """Verdict on one token in one state.

    Attributes
    ----------
    token : int
        The token id.
    data : bytes or None
        Its bytes; None for a token without bytes.
    allowed : bool
        Whether the guide would accept it.
    accepted_bytes : int
        Number of its bytes that can follow the text so far.
    expected : str
        What is possible after those bytes, as readable text: ranges of characters, or the end of the text.
    reason : str
        The verdict in one sentence.
    terminals : tuple of str
        In a Lark grammar, the terminals possible after those bytes: strings in quotes, others by name. Empty elsewhere.
    lexeme_begin : int or None
        In a Lark grammar, the offset in the text at which the current lexeme begins.
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
        """Expected terminals of a grammar as a suffix for messages; empty elsewhere."""
        return "" if self.lexeme_begin is None else describe_terminals(self.terminals, self.lexeme_begin)


def describe_bytes(values: Sequence[int], *, may_end: bool) -> str:
    """Describe bytes as ranges: ``'-', '0' to '9' or the end``."""
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
    """Describe terminals as ``, that is "let" or NAME (from byte 4 on)``."""
    if not terminals:
        return ""
    shown = [*terminals[:_TERMINALS_SHOWN]]
    if len(terminals) > _TERMINALS_SHOWN:
        shown.append(f"{len(terminals) - _TERMINALS_SHOWN} more")
    listed = shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"
    return f", that is {listed} (from byte {begin} on)"


def _range(first: int, last: int) -> str:
    if first >= 0x80:
        return f"a character beyond ASCII (bytes {first:#x} to {last:#x})" if first != last else f"the byte {first:#x}"
    shown = [repr(chr(value)) for value in (first, last)]
    if last == first:
        return shown[0]
    return f"{shown[0]}{' and ' if last == first + 1 else ' to '}{shown[1]}"
