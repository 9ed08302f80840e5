"""Bytes of tokens to text for a reader: whole code points only, and nothing of a stop string.

A token may end within a code point, and a stop string may begin in one token and end in another. So `TextStream` holds
back the bytes of an unfinished code point, and the longest end of the text that a stop string begins with; it lets them
go when they are decided.

Invariants: what was let go is never taken back; the pieces joined are the whole text, which does not depend on how it
was cut into tokens. The stop string that is completed first wins, the longest of those completed together; the text
ends before it. Bytes of a code point that is never finished are left out; bytes that can be no UTF-8 become U+FFFD.

Complexity: O(length of the piece times lengths of the stop strings) per push.
"""

import codecs
from collections.abc import Sequence

__all__ = ["TextStream"]


class TextStream:
    """Decodes bytes piece by piece and looks for stop strings.

    Parameters
    ----------
    stops : sequence of str
        Stop strings, none empty.
    before : str
        What the reader has before this text: a stop string may begin in it.

    Attributes
    ----------
    text : str
        What was let go so far.
    stopped : bool
        Whether a stop string was found; everything from it on is ignored.
    """

    __slots__ = ("_decoder", "_held", "_known", "_stops", "stopped", "text")

    def __init__(self, stops: Sequence[str] = (), before: str = "") -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._stops = tuple(stops)
        # How much of what is held the reader has already.
        self._known = _undecided(before, self._stops)
        self._held = before[len(before) - self._known :]
        self.text = ""
        self.stopped = False

    def push(self, data: bytes) -> str:
        """The text that is decided now; ``""`` when nothing is, or after a stop string."""
        if self.stopped:
            return ""
        found = self._held + self._decoder.decode(data)
        ends = [(place + len(stop), place) for stop in self._stops if (place := found.find(stop)) >= 0]
        if ends:
            self.stopped = True
            _, place = min(ends)
            return self._let_go(found[:place], "")
        held = _undecided(found, self._stops)
        return self._let_go(found[: len(found) - held], found[len(found) - held :])

    def close(self) -> str:
        """The rest, once no more bytes come."""
        return self._let_go(self._held, "")

    def _let_go(self, piece: str, held: str) -> str:
        known = min(self._known, len(piece))
        self._known -= known
        self.text += piece[known:]
        self._held = held
        return piece[known:]


def _undecided(text: str, stops: tuple[str, ...]) -> int:
    """Length of the longest end of ``text`` that some stop string begins with (and is longer than)."""
    longest = max((len(stop) for stop in stops), default=1) - 1
    for length in range(min(longest, len(text)), 0, -1):
        tail = text[len(text) - length :]
        if any(stop.startswith(tail) for stop in stops):
            return length
    return 0
