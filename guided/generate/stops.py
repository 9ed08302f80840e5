"""Streaming of token bytes as text: whole code points only, and nothing of a stop string.

A token may end within a code point, and a stop string may begin in one token and end in another. So `TextStream` holds back the bytes of an
unfinished code point, and the longest suffix of the text that is a proper prefix of a stop string; it releases them when they are decided.

Invariants: released text is never taken back. The joined pieces are the whole text, independent of the split into tokens. The stop string
that is completed first wins, the longest of those completed together; the text ends before it. An unfinished code point at the end is
dropped; invalid UTF-8 becomes U+FFFD.

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
        Text before this one, in which a stop string may begin.

    Attributes
    ----------
    stops : tuple of str
        As given.
    text : str
        Text released so far.
    stopped : bool
        Whether a stop string was found; everything after it is ignored.
    """

    __slots__ = ("_decoder", "_held", "_known", "stopped", "stops", "text")

    def __init__(self, stops: Sequence[str] = (), before: str = "") -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self.stops = tuple(stops)
        # Length of the held text that belongs to `before`.
        self._known = _undecided(before, self.stops)
        self._held = before[len(before) - self._known :]
        self.text = ""
        self.stopped = False

    def push(self, data: bytes) -> str:
        """Add bytes and return the newly decided text; ``""`` if there is none, or after a stop string."""
        if self.stopped:
            return ""
        found = self._held + self._decoder.decode(data)
        ends = [(place + len(stop), place) for stop in self.stops if (place := found.find(stop)) >= 0]
        if ends:
            self.stopped = True
            _, place = min(ends)
            return self._let_go(found[:place], "")
        held = _undecided(found, self.stops)
        return self._let_go(found[: len(found) - held], found[len(found) - held :])

    def close(self) -> str:
        """Return the rest of the text at the end of input."""
        return self._let_go(self._held, "")

    def _let_go(self, piece: str, held: str) -> str:
        known = min(self._known, len(piece))
        self._known -= known
        self.text += piece[known:]
        self._held = held
        return piece[known:]


def _undecided(text: str, stops: tuple[str, ...]) -> int:
    """Length of the longest suffix of ``text`` that is a proper prefix of a stop string."""
    longest = max((len(stop) for stop in stops), default=1) - 1
    for length in range(min(longest, len(text)), 0, -1):
        tail = text[len(text) - length :]
        if any(stop.startswith(tail) for stop in stops):
            return length
    return 0
