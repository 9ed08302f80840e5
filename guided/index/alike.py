"""Keys that must not come again: of many that end at one place, which have the same completion?

An object that counts its members tells every key from all others, so the tokens that end a key lead to as many spots, and each would need
tables of its own to be completed. But what follows a key hangs on it only in that it must not come again, and completions take the least of
what is left. So a key that the completion after another one has not in it has that completion too. Only the others need one of their own,
and they are as many as keys in a completion.

Not here: items that must differ. What is left to them may be few values, and then any two of these lead on differently.

Complexity: a look at each key, and a completion for each that another completion has in it.
"""

from collections.abc import Hashable, Sequence

from guided.automata.pushdown import ACTION
from guided.automata.stacks import Record, Spot, Stacks
from guided.index.completions import FAR, Completions

__all__ = ["Alike"]


class Alike:
    """Bounds after keys, for one index. The index's lock is held by whoever calls.

    Parameters
    ----------
    stacks : Stacks
    completions : Completions
    """

    def __init__(self, stacks: Stacks, completions: Completions) -> None:
        self._stacks = stacks
        self._automaton = stacks.automaton
        self._completions = completions
        # Keys that stood for others.
        self._examples: set[Hashable] = set()

    def bounds(self, spot: Spot, texts: Sequence[bytes], keys: Sequence[bytes]) -> list[int]:
        """The bounds after texts that lead to the same place, but for the key that they end on top of a cell that differs.

        Negative: no more than an upper bound, where completions are too long to be looked into.

        ``keys``: what will have been read on top of the cell at the end of each key.
        """
        cell = self._stacks.top(spot[0][1])[0]
        kinds: dict[Hashable, dict[Hashable, list[int]]] = {}
        for i, key in enumerate(keys):
            kind, name = self._automaton.told_by(cell, key)
            kinds.setdefault(kind, {}).setdefault(name, []).append(i)
        found = [0] * len(texts)
        for names in kinds.values():
            by_name = self._of_kind(spot, {name: texts[at[0]] for name, at in names.items()})
            for name, at in names.items():
                for i in at:
                    found[i] = by_name[name]
        return found

    def _of_kind(self, spot: Spot, texts: dict[Hashable, bytes]) -> dict[Hashable, int]:
        """The same for keys of one kind, by their names."""
        completions, level = self._completions, len(spot[1]) - 1
        bounds: dict[Hashable, int] = {}
        left = list(texts)
        # Why two: the first may be what completions would take themselves, and then its own has something else instead.
        for _ in range(2):
            if not left:
                break
            # Why those asked for before: each name that is read makes tables of its own.
            one = next((name for name in left if name in self._examples), left[0])
            self._examples.add(one)
            after = completions.read(spot, texts[one])
            bound = bounds[one] = completions.bound(after)
            if bound >= FAR:
                return dict.fromkeys(texts, -FAR)
            later = self._later(after, level)
            left = [name for name in texts if name not in later and name not in bounds]
        for name, text in texts.items():
            if name not in bounds:
                bounds[name] = completions.bound(completions.read(spot, text)) if name in later else bound
        return bounds

    def _later(self, spot: Spot, level: int) -> set[Hashable]:
        """The keys that the completion of a spot has on top of the cell of a level."""
        found: set[Hashable] = set()
        actions = self._automaton.tables.actions
        for step in self._completions.steps(spot):
            records = list[Record]()
            self._completions.read(spot, step.text, records)
            found.update(
                self._automaton.told_by(one.cell, one.data)[1]
                for one in records
                if one.level == level and actions.item(one.action, 2) >= 0
            )
            spot = step.after
            if len(spot[1]) <= level:
                break
        return found

    def key(self, spot: Spot) -> bytes | None:
        """What will have been read on top of a cell that differs when the completion ends the key at hand; None elsewhere."""
        (control, node, needed, _), texts = spot
        cell, below = self._stacks.top(node)
        if cell not in self._automaton.tables.differing:
            return None
        way = self._automaton.way_out(control, cell, self._completions.wish(below), needed)
        length = self.to_label(control, way)
        return (texts[-1] or b"") + way[:length] if length else None

    def to_label(self, control: int, data: bytes) -> int:
        """How many bytes end a key, by an action with a label; 0 where they end none, or something else first."""
        tables = self._automaton.tables
        for count, byte in enumerate(data, 1):
            entry = tables.rows.item(control, byte)
            if entry < 0:
                return count if entry <= ACTION and tables.actions.item(ACTION - entry, 2) >= 0 else 0
            control = entry
        return 0
