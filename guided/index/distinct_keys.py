"""Completion bounds after keys of objects that count their members.

With ``minProperties`` or ``maxProperties`` every distinct key leads to a distinct state, so computing the completion after each candidate
key would take one search, with tables of its own, per key. Two such states differ only in which key may not be repeated, and the
completion policy takes the least remaining key. The completion after key ``a`` is therefore also the completion after every key that
does not occur in it: only the keys that occur in it need a search of their own.

Not handled here: arrays with ``uniqueItems``. Few values may remain, and then the argument fails.

Complexity: one look-up per key, plus one search for each key that occurs in another key's completion.
"""

from collections.abc import Hashable, Sequence

from guided.automata.stacks import Record, Stacks, TextConfiguration
from guided.index.completions import TOO_LONG, Completions

__all__ = ["DistinctKeyBounds"]


class DistinctKeyBounds:
    """Bounds after keys, for one index. The caller holds the index's lock.

    Parameters
    ----------
    stacks : Stacks
    completions : Completions
    """

    def __init__(self, stacks: Stacks, completions: Completions) -> None:
        self._stacks = stacks
        self._automaton = stacks.automaton
        self._completions = completions
        # Names of keys whose completion was computed to represent others.
        self._examples: set[Hashable] = set()

    def bounds(self, text_configuration: TextConfiguration, texts: Sequence[bytes], keys: Sequence[bytes]) -> list[int]:
        """Return the bounds after texts that lead to one configuration and differ only in the key they end, on top of a differing cell.

        TOO_LONG if the completions are too long to be searched for keys.

        ``keys``: for each text, all bytes read on top of the cell when the key ends.
        """
        cell = self._stacks.top(text_configuration[0][1])[0]
        kinds: dict[Hashable, dict[Hashable, list[int]]] = {}
        for i, key in enumerate(keys):
            kind, name = self._automaton.distinctness_key(cell, key)
            kinds.setdefault(kind, {}).setdefault(name, []).append(i)
        found = [0] * len(texts)
        for names in kinds.values():
            by_name = self._of_kind(text_configuration, {name: texts[at[0]] for name, at in names.items()})
            for name, at in names.items():
                for i in at:
                    found[i] = by_name[name]
        return found

    def _of_kind(self, text_configuration: TextConfiguration, texts: dict[Hashable, bytes]) -> dict[Hashable, int]:
        """Return the bounds after keys of one kind, by name."""
        completions, level = self._completions, len(text_configuration[1]) - 1
        bounds: dict[Hashable, int] = {}
        left = list(texts)
        # Why twice: the first key may be the one that completions use; its own completion then uses another key in its place.
        for _ in range(2):
            if not left:
                break
            # Why prefer names used before: each new name creates tables of its own.
            one = next((name for name in left if name in self._examples), left[0])
            self._examples.add(one)
            after = completions.read(text_configuration, texts[one])
            bound = bounds[one] = completions.bound(after)
            if bound >= TOO_LONG:
                return dict.fromkeys(texts, TOO_LONG)
            later = self._later(after, level)
            left = [name for name in texts if name not in later and name not in bounds]
        for name, text in texts.items():
            if name not in bounds:
                bounds[name] = completions.bound(completions.read(text_configuration, text)) if name in later else bound
        return bounds

    def _later(self, text_configuration: TextConfiguration, level: int) -> set[Hashable]:
        """Return the names of the keys that the completion of a text configuration adds on top of the cell at a level."""
        found: set[Hashable] = set()
        actions = self._automaton.tables.actions
        for step in self._completions.steps(text_configuration):
            records = list[Record]()
            self._completions.read(text_configuration, step.text, records)
            found.update(
                self._automaton.distinctness_key(one.cell, one.data)[1]
                for one in records
                if one.level == level and actions.item(one.action, 2) >= 0
            )
            text_configuration = step.after
            if len(text_configuration[1]) <= level:
                break
        return found
