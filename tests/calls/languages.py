"""What a spec of calls allows, byte by byte, whether its automaton has a stack or not."""

from guided.automata.automaton import Automaton
from guided.automata.pushdown import KEPT
from guided.automata.stacks import Configuration, Stacks
from guided.calls.spec import Tools
from guided.limits import Limits

__all__ = ["Language", "accepts", "died_at"]


class Language:
    """The texts of a spec."""

    def __init__(self, spec: Tools) -> None:
        lowered = spec.lower(Limits())
        self._automaton = lowered if isinstance(lowered, Automaton) else None
        self._stacks = None
        if not isinstance(lowered, Automaton):
            self._stacks = Stacks(lowered.pushdown(Limits(), bytes([1] * 256)).automaton)

    def accepts(self, data: bytes) -> bool:
        if self._stacks is None:
            assert self._automaton is not None
            return self._automaton.accepts(data)
        place, count = self._read(self._stacks, data)
        return count == len(data) and self._stacks.is_end(place)

    def died_at(self, data: bytes) -> int:
        """Offset of the first byte after which nothing is possible; the length if there is none."""
        if self._stacks is not None:
            return self._read(self._stacks, data)[1]
        assert self._automaton is not None
        states = (self._automaton.run(data[: n + 1]) for n in range(len(data)))
        return next((n for n, state in enumerate(states) if state < 0), len(data))

    @staticmethod
    def _read(stacks: Stacks, data: bytes) -> tuple[Configuration, int]:
        place: Configuration = (stacks.automaton.start, 0, *KEPT)
        texts: list[bytes] = []
        for count, byte in enumerate(data):
            after = stacks.read(place, bytes([byte]), texts)
            if after is None:
                return place, count
            place = after
        return place, len(data)


def accepts(spec: Tools, text: str) -> bool:
    """Is a text one of a spec's?"""
    return Language(spec).accepts(text.encode())


def died_at(spec: Tools, text: str) -> int:
    """As `Language.died_at`."""
    return Language(spec).died_at(text.encode())
